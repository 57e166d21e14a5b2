"""Random steps in plain Python: texts that a grammar makes, one user's file for each seed.

A name in braces stands for any of the texts of that name: leaves when a text is deep enough, and longer texts before.
`{n}` is a number that no other text of the file has. Texts that need a loop, or end a function, are in tables of their
own. Every variable has one kind in the whole file, so that numba can compile it for one trial, too.
"""

import random
import re

# F: float. I: int, small. B: condition. U: unsigned, 64 bits. T: int. X, Y, Z: index below 4, 12, 5. A: a whole array
LEAVES = {
    "F": """u; v; w; state.x; state.inner.y; rng.uniform; gain; 0.5; -1.25; 0.0; -0.0; state.f[{X}]; state.g[{Y}]
        state.m[{X}, {Z}]; float({T}); np.inf; TABLE[{X}]; (np.inf - np.inf); state.f[-1]""",
    "I": "{T}; {T}; {T}; state.c; state.a[{X}]; state.inner.a[{X}]; arm; state.t; 3; -2; 0; 7; WHOLE[{X}]; state.a[-2]",
    "B": "p; u > v; state.t % 3 == 0; state.c > 2; rng.uniform < 0.5; rng.uniform < 0.06; arm == 1; j == k; u == u",
    "U": "h; state.b; rng.bits; np.uint64(11400714819323198485); np.uint64(5)",
    "X": "arm; j & 3; i & 3; 0; 2; state.c & 3; -1; -(k & 3) - 1; {T} % 4",
    "Y": "3; abs(j) % 12; abs(i) % 12; arm + 8; -2; -1 - abs(k) % 12",
    "Z": "4; abs(j) % 5; -5; abs({T}) % 5",
    "A": """state.f; (state.f * {F}); (state.f + state.v); state.v; (np.minimum(state.f, {F}) + 0.0); state.g[2:6]
        state.m[1:5, {Z}]""",
    "R": "4; 2; 1; 3; j & 3; state.c & 3; 1, 3; 0; arm; 3, -1, -1; k & 1, 5, 2; 9",
    "S": """u = {C}; v = {C}; w = {F}; j = {I} % 17; k = {I} & 15; state.x = {C}; state.inner.y = {C}; p = {B}
        state.f[{X}] = {C}; state.g[{Y}] = {C}; state.m[{X}, {Z}] = {C}; state.a[{X}] = {I} % 23; state.c = {I} % 11
        state.inner.a[{X}] = {I} % 7; h = {U}; state.b = {U}; u, v = v, u; j, k = k, j; state.v[{X}] = {F}
        state.f[{X}] += {C}; state.x *= 0.5; state.c = (state.c + 1) % 7; u += {F}; j -= 1""",
    "LEAVE": "break; continue",
}
LONGER = {
    "D": "max(-9.0, min(9.0, {F}))",
    "C": "max(-9.0, min(9.0, {F})); max(-9.0, min(9.0, {F})); min(2.0, {F}); {F}",
    "F": """({F} + {F}); ({F} - {F}); ({F} * {F}); ({F} / (abs({F}) + 1.0)); ({F} if {B} else {F}); min({F}, {F})
        max({F}, {F}, {F}); (np.minimum({F}, {F}) + 0.0); (np.maximum({F}, {F}) + 0.0); abs({F}); -{F}
        np.sqrt({F}); np.floor({F})
        math.exp(-abs({F})); math.log(1.0 + abs({F})); first({F}, {I}); second(state, {I}, {F}, rng); ({A}.sum() + 0.0)
        (np.sum({A}) + 0.0); ({F} % (abs({C}) + 0.5)); ({F} // 1.5); {A}[{X}]; (0.5 * ({B})); np.divide({F}, {F})
        float({U} >> np.uint64(11)); ({I} + {F}); ({I} / 4.0); ({F} if {B} else {I}); np.ceil({F}); pair({F}, {F})[1]
        max({I}, {F}); first(u=float({I}), n={I}); math.log1p(abs({F})); ({A}.min() + 0.0); (np.max({A}) + 0.0)
        (sum(state.f) + 0.0); ({F} // (w - w) if w > 1e300 else {F})""",
    "I": """({I} + {I}); ({I} - {I}); ({I} * 3); ({I} // 3); ({I} // -4); ({I} % 5); ({I} % -6); ({I} & {I})
        ({I} | {I})
        ({I} ^ {I}); ({I} << 2); ({I} >> 1); ({I} % (({I} & 3) + 1)); ({I} // (({I} & 3) - 5)); min({I}, {I})
        max({I}, {I})
        int({D} * 4.0); ({I} if {B} else {I}); np.argmin({A}); {A}.argmax(); np.argmax(state.g); abs({I}); -{I}
        third({I}, {B}); int({B}); np.int64({U} >> np.uint64(58)); math.floor({D}); len(state.g); ~{I}; state.a.sum()
        ({I} & 1023) * ({I} & 15); ({I} or {I}); ({I} and {I}); state.a[1:].sum(); np.argmin(state.a)
        state.a.max()""",
    "B": """{F} < {F}; {F} > {F}; {F} <= {F}; {F} >= {F}; {F} == {F}; {F} != {F}; {I} < {I}; {I} == {I}; {I} != {I}
        ({B} and {B}); ({B} or {B}); not {B}; ({F} < {F} <= {F}); ({I} < {I} < {I}); {U} > {U}; np.isnan({F})
        ({B} if {B} else {B}); (state.a[0] != 0 and 6 // int(state.a[0]) > {I})
        (state.c == 3 or {F} / float(state.c - 3) > {F}); ({B} and {B} or {B})
        (0 <= j < 4 and state.f[int(j)] > {F}); {I} > {F}""",
    "U": """({U} ^ {U}); ({U} + {U}); ({U} * {U}); ({U} - {U}); ({U} >> np.uint64(13)); ({U} << np.uint64(7))
        ({U} & {U})
        ({U} | {U}); mixed({U}); ({U} if {B} else {U}); ({U} % np.uint64(7)); ({U} // ({U} | np.uint64(3)))""",
    "A": """({A} + {A}); ({A} * {F}); ({A} - {F}); (np.maximum({A}, {A}) + 0.0); np.abs({A}); np.sqrt({A})
        np.floor({A}); -{A}; (+{A}); ({A} / {F}); ({A} / {A})""",
    "S": """if {B}:|    {BLOCK}
        if {B}:|    {BLOCK}|else:|    {BLOCK}
        if {B}:|    {BLOCK}|elif {B}:|    {BLOCK}|else:|    {BLOCK}
        for i in range({R}):|    {LOOP}
        for i{n} in range({R}):|    {LOOP}
        for i{n} in range({R}):|    for i in range({R}):|        {LOOP}|    {LOOP}
        w{n} = 0|while w{n} < 5 and {B}:|    w{n} += 1|    {LOOP}
        w{n} = 0|while w{n} < 6 and tick(state) != 7 and {B}:|    w{n} += 1|    {LOOP}
        w{n} = 0|while True:|    w{n} += 1|    if w{n} > 4 or {B}:|        break|    {LOOP}
        for i{n} in range(1):|    {LOOP}
        if {B}:|    z{n} = {C}|else:|    z{n} = {C}|u = z{n}
        if {B}:|    z{n} = {C}|    v = z{n} * z{n}
        z{n} = 0|if {B}:|    z{n} = {C}|w = z{n} * 0.5
        z{n} = 0|for i{n} in range({R}):|    z{n} = z{n} * 0.5 + {C}|w = 0.5 * z{n}
        z{n} = False|if {B}:|    z{n} = {I} % 9|j = 2 * z{n}
        for i{n} in range({R}):|    z{n} = {C}|    if {B}:|        z{n} = v|    w = z{n}
        state.f[:] = {A}; state.v[:] = {A}; state.f[1:3] = {C}; state.g[2:6] = {A}; state.m[{X}, :] = {C}
        state.g[:] = {C}; state.f[:] = state.f[::-1]; state.m[{X}, 1:] = {A}; state.m[1:3, {Z}] = state.v[:2]
        row{n} = state.m[{X}]|row{n}[{Z}] = {C}|u = row{n}[{Z}] + row{n}.argmin()
        state.f *= {C}; state.v += {A}; state.f[1:] -= {C}; state.f += state.v; row{n} = state.m[{X}]|row{n} -= {C}
        state.a += {I} % 5; state.f += state.a
        old{n} = {A}|state.f[{X}] = {C}|state.v[{X}] = old{n}[{X}]
        old{n} = {A} + 0.0|{S}|state.v[:] = old{n}
        state.f[{X}], state.f[{X}] = state.f[{X}], state.v[{X}]
        u, v = pair({F}, {F}); u, (v, w) = {F}, ({F}, {F}); state.a[:] = state.a % 5 + {I} % 3
        t{n} = ({F}, {F}) if {B} else ({F}, {F})|u, w = t{n}
        mess(state, {I}, rng); x{n} = y{n} = {F}|w = x{n} + y{n}; state.x: float = {C}; w = second(state, {I}, {F}, rng)
        j = tick(state); state.b = mixed(state.b); state.a[{X}] %= 7; state.a[{X}] ^= {I} % 4""",
    "LEAVE": """if {B}:|    {BLOCK}|    break
        if {B}:|    continue
        if {B}:|    break|else:|    {BLOCK}
        if {B}:|    {BLOCK}|    continue|else:|    break""",
    "RETURN": """if {B}:|    {OUT}
        if {B}:|    {BLOCK}|    {OUT}|else:|    {BLOCK}
        if {B}:|    {BLOCK}|else:|    {OUT}
        for i in range({R}):|    if {B}:|        {OUT}|    {LOOP}""",
    "ERROR": """if {B} and rng.uniform < 0.02:|    raise ValueError("a rare case")
        u = 1.0 / float(j - 6)
        j = 40 // int(k - 5)
        k = 40 % int(state.c - 7)
        u = state.f[int(j) - 9]
        state.g[int(k) + 2] = {C}
        v = TABLE[int(k) - 7]
        assert rng.uniform > 0.01, "too small"
        if state.t == 9 and {B}:|    raise IndexError("late")""",
}
HEAD = '''"""Fuzz: a random program."""

import math

import numpy as np

from privbandits_cli.games import bandit
from privbandits_cli.numerics.jit import record

TABLE = np.array([0.25, -1.5, 3.0, 0.125])
WHOLE = np.array([2, -3, 5, 11])


class Parameters(bandit.Algorithm):
    drawn = ("uniform", "bits")

    def state(self, setting):
        inner = record(y=-0.5, a=np.arange(4))
        return record(
            t=0, c=3, x=0.25, f=np.arange(4) / 7.0, v=np.array([1.0, np.nan, -2.0, 0.5]), g=np.zeros(12),
            a=np.arange(4) * 3, m=np.zeros((5, 5)), b=np.uint64(9), inner=inner,
        )  # fmt: skip


def mixed(z):
    z = (z ^ (z >> np.uint64(30))) * np.uint64(13787848793156543929)
    return z ^ (z >> np.uint64(27))


def tick(state):
    state.c = (state.c + 1) % 11
    return state.c


def first(u: float, n: int) -> float:
    v = 0.25
    if n > 3:
        return u * 0.5
    for k in range(n & 3):
        v = v * 0.5 + u
        if v > 1.0:
            return v - u
        if k == n - 1:
            continue
        v -= 0.125
    return v


def third(n: int, p: bool) -> int:
    while n > 4:
        n = n // 2 if p else n - 3
        if n == 6:
            break
    return n if n > -9 else 0


def pair(u, v):
    if u < v:
        return u, v
    return v, 0.5 * u
'''
# What NumPy computes otherwise than numba: the last bit, and the sign of 0
COMPILED = {
    "F": """np.minimum({F}, {F}); np.maximum({F}, {F}); np.exp({D}); np.log({F}); ({F} ** 2); ({F} ** 3); ({F} ** 1)
        np.sin({D}); (state.g * {F}).sum(); np.sum(state.g); ({D} ** {D}); float({I}); ({F} ** 0); ({F} or {F})
        state.g.sum(); np.log1p({F}); (2.0 ** {I}); math.exp({F}); math.log({F})""",
    "I": "(({I} & 1023) ** 2); int({D}); np.int64({D}); ({I} >> ({I} & 63))",
    "A": "np.minimum({A}, {A}); np.maximum({A}, {F}); np.exp({A}); np.log({A}); ({A} ** 2)",
    "B": "({F} and {B}); not {F}; not {I}",
}
START = {"u": "0.125", "v": "0.75", "w": "-0.5", "j": "1", "k": "6", "i": "0", "h": "np.uint64(77)", "p": "False"}
START |= {"gain": "0.5", "arm": "1"}
STARTS = {  # in a game with points of so many coordinates, or so many arms
    ("linear", 4): {"x": "state.v", "losses": "state.f", "loss": "0.5"},
    ("linear", 12): {"x": "state.g", "losses": "state.g", "loss": "0.5"},
    ("contextual", 5): {"x": "state.v", "arms": "state.m[1:]", "reward": "0.5"},
}
# What replaces a bandit's names in other games, and further texts of these games. P: index of a point
OTHER = {
    "linear": {"rng.uniform": "rng.uniform[{X}]", "rng.bits": "state.b", "gain": "loss"},
    "contextual": {"rng.uniform": "rng.random()", "rng.bits": "state.b", "gain": "reward"},
}
GIVEN = {
    "linear": {
        "F": """x[{P}]; x[-1]; losses[{P}]; losses[{P}]; rng.uniform[-1]; rng.normal[{X}]; rng.normal[-1 - (k & 3)]
            rng.normal[len(rng.normal) - 1]; rng.uniform[k % len(rng.uniform)]
            (rng.laplace[{X}] if len(rng.laplace) > 0 else {F}); rng.uniform[j % -4]
            (rng.laplace[-1 - abs(j) % len(rng.laplace)] if len(rng.laplace) else 0.25); losses[::-1][{P}]
            taken(losses, {P}); taken(rng.normal, {X}); x[1:][-1]; losses[state.b & np.uint64(3)]""",
        "I": "len(rng.laplace); len(x); np.argmax(losses[:4]); x[:4].argmin()",
        "X": "int(4.0 * rng.uniform[0]); -1 - int(4.0 * rng.uniform[-1])",
        "Y": "int(12.0 * rng.uniform[0]); -1 - int(12.0 * rng.uniform[-1])",
        "A": "losses[:4]; losses[-4:]; x[:4]; x[3::-1]; losses[3::-1]; x[-1:-5:-1]; (losses[:4] * x[-4:])",
        "R": "len(x); len(rng.laplace); len(rng.normal) - 1, -1, -1; len(rng.uniform)",
        "S": """x[{P}] = {C}; x[{P}] += {F}; x[:] = {C}; x[:4] = {A}; x[-4:] = {A}; x *= {C}; x[-4:] += {A}
            for i{n} in range(len(rng.laplace)):|    u += rng.laplace[i{n}]
            for i{n} in range(len(x)):|    x[i{n}] -= 0.5 * losses[i{n}]; row{n} = x[:4]|row{n}[{X}] = {C}
            for i{n} in range(len(losses)):|    v = {C} + losses[-1 - i{n}]
            drawn{n} = rng.normal|u = drawn{n}[{X}] + len(drawn{n}); x[{P}], x[{P}] = x[{P}], x[{P}]; taken(x, {P})
            u = 0.5 + shifted(x)[{P}]; seen{n} = losses|v = seen{n}[{P}]; state.m[{X}][:4] = losses[:4]""",
        "ERROR": """u = losses[int(j) - 9]; v = rng.uniform[int(k) + 1]; x[int(k) - 9] = {C}; x[int(j)] += {F}
            u = rng.laplace[{X}]; w = rng.normal[int(j) - 7]; v = losses[int(k) + 2]
            if {B}:|    u = losses[12]; if {B}:|    x[-13] = {C}; u = losses[1:][int(j) - 5]; u = losses[h ^ state.b]
            v = taken(rng.uniform, int(k)); u = rng.laplace[-1]; u = x[2:][{X}]; w = losses[-4:][int(j) & 7]""",
    },
    "contextual": {
        "F": """x[{X}]; x[-1]; arms[{X}, {Z}]; arms[{X}, {Z}]; arms[-1, {Z}]; arms[{X}][{Z}]; arms[:, {Z}][{X}]
            rng.standard_normal(); rng.standard_exponential(); rng.standard_gamma(1.5); arms[{X}].max()
            taken(arms[:, {Z}], {X}); taken(arms, {X})[{Z}]; arms[1:, {Z}][-3]; arms[::2, 1:][{I} & 1, {X}]
            arms[::-1, {Z}][{X}]; arms[state.b & np.uint64(3), {Z}]""",
        "X": "int(4.0 * rng.random()); -1 - int(4.0 * rng.random())",
        "Z": "int(5.0 * rng.random()); -1 - int(5.0 * rng.random())",
        "I": "arms[{X}].argmax(); np.argmin(arms[:, {Z}]); arms.shape[1]; len(arms)",
        "A": """arms[:, {Z}]; arms[:, {Z}]; arms[{X}, 1:]; arms[{X}][:4]; arms[::-1, {Z}]; x; x[::-1]
            (x * arms[:, {Z}])""",
        "R": "arms.shape[1]; len(arms) - 1, -1, -1; len(x)",
        "S": """x[{X}] = {C}; x[{X}] += {F}; x[:] = {C}; x[:] = {A}; x *= {C}; x[2:] = state.f[:2]; x += {A}
            u = rng.standard_gamma(1.0 + abs({C})); w = rng.standard_gamma(1.0); v = rng.standard_normal()
            column{n} = arms[:, {Z}]|u = column{n}[{X}] - column{n}.min(); row{n} = arms[{X}]|v = row{n}[{Z}]
            for i{n} in range(arms.shape[1]):|    w += arms[{X}, i{n}]; old{n} = x * {F}|x[:] = arms[:, {Z}] + old{n}
            for i{n} in range(len(x)):|    u += x[i{n}] * arms[i{n}, {Z}]
            column{n} = arms[:, {Z}]|{S}|v = column{n}[{X}] + column{n}.argmax(); u = shifted(x)[{X}]
            x[{X}], x[{X}] = x[{X}], rng.random(); state.m[{X}] = arms[{X}]
            b{n} = 0|for i{n} in range(1, 5):|    if ({A} * arms[:, i{n}]).sum() > w:|        b{n} = i{n}|j = b{n}
            while rng.random() < 0.5:|    {LOOP}; p = {B} and rng.random() < 0.5 or rng.random() < {F}""",
        "ERROR": """u = arms[int(j) - 9, {Z}]; v = arms[{X}, int(k) + 1]; x[int(k) - 7] = {C}
            w = arms[:, int(j) - 8][2]; u = arms[{X}][int(k) - 9]; x[int(j)] += {F}
            if {B}:|    u = arms[4, 0]; if {B}:|    u = arms[0, -6]; u = arms[1:, {Z}][{X}]; u = taken(arms[1:, 0], {X})
            v = arms[1:, {Z}][int(j) & 3]; w = arms[h ^ state.b, {Z}]
            column{n} = arms[:, int(k) - 8]|u = column{n}[{X}]""",
    },
}
DRAWS = """    def draws(self, setting, rounds):
        return {"uniform": 4 + rounds % 3, "laplace": 4 * (rounds % 2), "normal": 4 + 9 * (rounds % 8 == 0)}
"""
PARTS = """

def taken(array, n):
    return array[n]


def shifted(array):
    array[-1] += 0.5
    return array
"""
POINT = """

def bounded(x):
    for k in range(len(x)):
        x[k] = 0.01 + max(0.0, min(9.0, abs(x[k])))
    x /= sum(x)
"""
HEADS = {
    "bandit": HEAD,
    "linear": re.sub(r"\bbandit\b", "linear", HEAD.replace('    drawn = ("uniform", "bits")\n', DRAWS)) + PARTS + POINT,
    "contextual": re.sub(r"\bbandit\b", "contextual", HEAD.replace('    drawn = ("uniform", "bits")\n\n', "")) + PARTS,
}


def texts(table: str) -> list[str]:
    """The texts of a table, with `;` or a line between them, and a tight `|` between the lines of a text."""
    return [
        re.sub(r"(?<! )\|", "\n", part.strip())
        for line in table.splitlines()
        for part in line.split(";")
        if part.strip()
    ]


SHORT = {name: texts(table) for name, table in LEAVES.items()}
LONG = {name: texts(table) for name, table in LONGER.items()}
MORE = {name: texts(table) for name, table in COMPILED.items()}


def of_game(game: str, tables: dict[str, list[str]], own: dict[str, str]) -> dict[str, list[str]]:
    """The texts of a game in place of those of a bandit."""
    found = {}
    for name, some in tables.items():
        for old, new in OTHER.get(game, {}).items():
            some = [re.sub(rf"\b{old}\b", new, text) for text in some]
        found[name] = some + texts(own.get(name, ""))
    return found


class Writer:
    """Writes the file of a seed.

    errors: the chance that a statement may raise an error; compiled: for compiled loops only, not for plain Python.
    """

    def __init__(self, seed: int, errors: float = 0.0, compiled: bool = False, game: str = "bandit") -> None:
        self.random, self.errors, self.game = random.Random(seed), errors, game
        self.size = self.random.choice([4, 12]) if game == "linear" else 5  # of the points; or the number of arms
        given = GIVEN.get(game, {})
        self.short = of_game(game, SHORT, given)
        self.short["P"] = self.short["X" if self.size == 4 else "Y"]
        long = {name: own + MORE.get(name, []) * compiled for name, own in LONG.items()}
        self.long = of_game(game, long, {name: own for name, own in given.items() if name not in SHORT})
        self.count, self.turns = 0, ["j", "k", "i"]
        self.looping, self.out = False, ""  # whether this is in a loop; how this function returns
        self.unknown = {"second(", "mess("}  # functions that are not yet there

    def text(self, name: str, depth: int) -> str:
        """Any text of a name."""
        if name == "T":
            return self.random.choice(self.turns)
        if name in ("BLOCK", "LOOP"):
            before, self.looping = self.looping, self.looping or name == "LOOP"
            made = "\n".join(self.statement(depth) for _ in range(self.random.randint(1, 2)))
            self.looping = before
            return made
        if name == "OUT":
            return self.filled(self.out, 1)
        short = name in self.short and (name not in self.long or depth <= 0 or self.random.random() < 0.25)
        every = (self.short if short else self.long)[name]
        known = [one for one in every if not any(call in one for call in self.unknown)]
        return self.filled(self.random.choice(known), depth - 1)

    def statement(self, depth: int) -> str:
        """A statement; some leave the loop or the function, or may raise an error."""
        chance = self.random.random()
        if chance < self.errors:
            return self.text("ERROR", 1)
        if chance > 0.85 and self.looping:
            return self.text("LEAVE", depth)
        if chance > 0.93 and depth > 0:
            return self.text("RETURN", depth)
        return self.text("S", depth)

    def filled(self, text: str, depth: int) -> str:
        """A text with others in place of the names in it."""
        if "{n}" in text:
            self.count += 1
            text = text.replace("{n}", str(self.count))
        before, lines = self.turns, []
        for line in text.split("\n"):
            bare = line.lstrip()
            made = re.sub(r"\{(\w+)\}", lambda found: self.text(found[1], depth), bare)
            lines += [line[: len(line) - len(bare)] + part for part in made.split("\n")]
            if own := re.match(r"for (i\d+)", bare):
                self.turns = [*self.turns, own[1], own[1]]
        self.turns = before
        return "\n".join(lines)

    def function(self, head: str, out: str, statements: int, begin: str = "") -> str:
        """A function of so many statements; out: how it returns; begin: its first line."""
        self.out = out
        start = START | STARTS.get((self.game, self.size), {})
        lines = [f"{name} = {value}" for name, value in start.items() if not re.search(rf"\b{name}\b", head)]
        lines += [begin, *(self.statement(3) for _ in range(statements)), self.filled(out, 1)]
        body = "\n".join("    " + line for part in lines for line in part.split("\n") if line)
        self.unknown -= {head.split("(")[0] + "("}
        return f"\n\ndef {head}:\n{body}\n"

    def file(self, statements: int = 3) -> str:
        """A user's file."""
        wrong = self.random.random() < 3 * self.errors
        head, choice, out, seen = HEADS[self.game], "state, rng", "return {I} & 3", "state, arm, gain, rng"
        if self.game == "linear":
            choice, out, seen = "state, x, rng", "bounded(x)\nreturn", "state, losses, rng"
            if self.random.random() < 0.3:
                head, seen = head.replace("    def", '    feedback = "bandit"\n\n    def', 1), "state, x, loss, rng"
        elif self.game == "contextual":
            choice, out, seen = "state, arms, rng", "return {I} % 5", "state, x, reward, rng"
        if wrong:
            out = out.replace("{I} & 3", "{I} % 5") if self.game == "bandit" else out.replace("% 5", "% 6")
        return (
            head
            + self.function("second(state, j, u, rng)", "return {F} + 0.0", 1)
            + self.function("mess(state, k, rng)", "return", 1)
            + self.function(f"choose({choice})", out, statements)
            + self.function(f"update({seen})", "return", 2 * statements, "state.t += 1")
        )
