"""What the text of a user's file tells before it runs: ways without `return`, draws from outside or unasked, prints.

Found here because what they lead to comes late and far from their line: an arm `None` in the game's loop, two runs
that differ, a line printed in every round.
"""

import ast
from collections.abc import Iterable, Iterator

Place = tuple[int, str]  # line, what is wrong there
OWN_STREAMS = ("default_rng", "Generator", "SeedSequence", "PCG64", "Philox")  # repeatable if they are given a seed
STEPS = ("choose", "update")
DRAWN = {  # a random number in a step of each game
    "bandit": "rng.uniform",
    "linear": "rng.uniform[0], as many as the method `draws` says",
    "contextual": "rng.random()",
}
KINDS = {"bandit": ("uniform", "laplace"), "linear": ("uniform", "laplace", "normal")}  # that may be asked for
ASKING = {"bandit": "periods", "linear": "draws"}  # the method that asks for them
UNASKED = {  # and what a number that it does not ask for is
    "bandit": 'no number: `periods(self)` returns {{"uniform": 1, "laplace": 1}} for one of each a round',
    "linear": 'empty: `draws(self, setting, rounds)` returns {{"{kind}": np.full(len(rounds), 2)}} for two a round',
}


def errors(text: str, game: str, table: str) -> Iterator[Place]:
    """Where the source of a file of this game breaks the rules.

    table: the method of an adversary that yields the rounds, else empty.
    """
    tree = ast.parse(text)
    known = _random_names(tree)
    for step in _steps(tree):
        for node, name in _random_calls(step, known):
            told = f"draw from `rng`, for example {DRAWN[game]}"
            yield node.lineno, f"{name} in a step draws anew in every run: {told}"
        if step.name == "choose":
            yield from _rebound(step) if game == "linear" else _unreturned(step)
        if game in KINDS:
            yield from _unasked(step, tree, game)
    for method in _methods(tree):
        for node, name in _random_calls(method, known):
            if name.split(".")[-1] not in OWN_STREAMS or not (node.args or node.keywords):
                yield node.lineno, f"{name} draws anew in every run: draw from the `rng` that a game's table is given"
        if method.name == table and not _gives(method):
            yield method.lineno, f"`{method.name}` has no `yield`: yield a table for each of `blocks`"


def prints(text: str) -> Iterator[int]:
    """The lines of its steps that print: compiled, they would in every round of every trial."""
    for step in _steps(ast.parse(text)):
        for node in ast.walk(step):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
                yield node.lineno


def _steps(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """The two steps and the functions of the file that they call, and those that these call."""
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    waiting, seen = [name for name in STEPS if name in functions], set[str]()
    while waiting:
        name = waiting.pop(0)
        if name not in seen:
            seen.add(name)
            yield functions[name]
            waiting += [n.id for n in ast.walk(functions[name]) if isinstance(n, ast.Name) and n.id in functions]


def _models(tree: ast.Module) -> Iterator[ast.ClassDef]:
    yield from (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Parameters")


def _methods(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    yield from (node for model in _models(tree) for node in model.body if isinstance(node, ast.FunctionDef))


def _random_names(tree: ast.Module) -> dict[str, str]:
    """What names of the file stand for: NumPy, or the modules and functions that draw from no stream of ours."""
    known: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in ("random", "numpy") or (alias.name == "numpy.random" and alias.asname):
                    known[alias.asname or alias.name] = alias.name
                elif alias.name == "numpy.random":
                    known["numpy"] = "numpy"
        elif isinstance(node, ast.ImportFrom) and node.module in ("random", "numpy", "numpy.random"):
            for alias in node.names:
                if node.module != "numpy" or alias.name == "random":
                    known[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return known


def _random_calls(function: ast.FunctionDef, known: dict[str, str]) -> Iterator[tuple[ast.Call, str]]:
    """Calls of Python's or NumPy's global random numbers, as they are written."""
    own = {argument.arg for argument in function.args.args}
    for node in ast.walk(function):
        if not isinstance(node, ast.Call):
            continue
        written = ast.unparse(node.func)
        head, _, rest = written.partition(".")
        full = f"{known[head]}.{rest}".rstrip(".") if head in known and head not in own else ""
        if full.startswith(("random.", "numpy.random.")) and "(" not in written:
            yield node, written


def _gives(method: ast.FunctionDef) -> bool:
    """Whether a table's method yields, or returns what may."""
    return any(
        isinstance(node, ast.Yield | ast.YieldFrom | ast.Raise) or (isinstance(node, ast.Return) and node.value)
        for node in ast.walk(method)
    )


def _unasked(step: ast.FunctionDef, tree: ast.Module, game: str) -> Iterator[Place]:
    """Random numbers of a step that the class does not ask for, as far as its text tells."""
    bases = [ast.unparse(base) for node in _models(tree) for base in node.bases]
    asking = [method for method in _methods(tree) if method.name == ASKING[game]]
    said = {node.value for method in asking for node in ast.walk(method) if isinstance(node, ast.Constant)}
    asked = said & {*KINDS[game]} if asking else {"uniform"} if game == "bandit" else set[str]()
    if (asking and not asked) or not all(base.endswith("Algorithm") for base in bases):
        return
    given = [argument.arg for argument in step.args.args]  # the steps' last is `rng`; a helper's keeps the name
    rng = {"rng", *given[-1:]} if step.name in STEPS else {"rng"}
    for node in ast.walk(step):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=kind) if name in rng and kind in {*KINDS[game]} - asked:
                yield node.lineno, f"{name}.{kind} is {UNASKED[game].format(kind=kind)}"


def _unreturned(choose: ast.FunctionDef) -> Iterator[Place]:
    for node in ast.walk(choose):
        if isinstance(node, ast.Return) and (
            node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None)
        ):
            yield node.lineno, "choose returns no arm here: return an int"
    if not _ends(choose.body):
        yield choose.body[-1].lineno, "choose can end after this without `return`: return an arm on every way"


def _rebound(choose: ast.FunctionDef) -> Iterator[Place]:
    """Where the point to fill, its second argument, is made another array."""
    for point in (argument.arg for argument in choose.args.args[1:2]):
        for node in ast.walk(choose):
            if isinstance(node, ast.Assign) and any(isinstance(x, ast.Name) and x.id == point for x in node.targets):
                yield node.lineno, f"this makes another array of {point}: fill it in place, `{point}[:] = ...`"


def _breaks(nodes: Iterable[ast.AST]) -> bool:
    """Whether a `break` among these statements leaves the loop that they stand in."""
    return any(
        isinstance(node, ast.Break)
        or _breaks(node.orelse if isinstance(node, ast.For | ast.While) else ast.iter_child_nodes(node))
        for node in nodes
    )


def _ends(body: list[ast.stmt]) -> bool:
    """Whether no way leads past the last of these statements."""
    last = body[-1]
    match last:
        case ast.Return() | ast.Raise():
            return True
        case ast.If():
            return bool(last.orelse) and _ends(last.body) and _ends(last.orelse)
        case ast.While(test=ast.Constant(value=value)) if value:
            return not _breaks(last.body)
        case ast.For() | ast.While():
            return bool(last.orelse) and _ends(last.orelse)
        case ast.With():
            return _ends(last.body)
        case ast.Match():
            whole = any(isinstance(case.pattern, ast.MatchAs) and not case.pattern.pattern for case in last.cases)
            return whole and all(_ends(case.body) for case in last.cases)
        case ast.Try():
            tried = _ends(last.orelse or last.body) and all(_ends(handler.body) for handler in last.handlers)
            return tried or (bool(last.finalbody) and _ends(last.finalbody))
    return False
