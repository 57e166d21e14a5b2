"""Seeded mutations of the shipped configs: wrong types, odd numbers, sweeps, nesting, aliases, tags, broken text."""

import copy
import random
from collections.abc import Iterator
from functools import cache
from typing import Any

import yaml

from tests.conftest import ROOT

CONFIGS = sorted((ROOT / "configs").glob("*.yaml"))

PLACE = "PLACE"

# What a value is replaced by, as YAML. Functions are for the long ones.
ODD = [
    *["null", "true", "false", "''", "[]", "{}", "[[]]", "[null]", "[{}]", "{a: b}", "{name: exp3}", "[exp3, exp3]"],
    *["-1", "0", "1", "2", "3.5", "0.3", "7", "100", "1e-9", "1e-320", "1e9", "1e308", "2^62", "2^63", "2^1000"],
    *["9^9^9", ".inf", "-.inf", ".nan", "inf", "nan", "0x10", "1_000", "12:30", "2001-01-01", "٣", "-0.0", "1e400"],
    *["'\\0'", '"\\0"', '"a\\0b"', "é", "🎲", '"\\uFEFF"', '"\\e[31m"', '"\\ud800"', "'%s {0}'"],
    *["../../etc/passwd", "/dev/zero"],
    *["!!python/object/apply:os.abort []", "!!python/name:os.system", "!!binary aGk=", "!!set {a, b}", "!own x"],
    *["!!int x", "!!float [1]", "!!str 3", "!!null x", "!!bool 7", "!!timestamp x", "!!omap [a: 1]", "!!merge x"],
    *["{? [a, b] : c}", "{? {a: b} : c}", "{null: 1}", "{1: 2}", "{<<: 3}", "&a [*a]", "&a {b: *a}", "*nowhere"],
    *["&a 1", "{<<: [&b {name: exp3}], gamma: 1}", "[1, 2]", "[0.1, 1, 10]", "[x, y]", "[[1, 2], [3, 4]]", "[true]"],
    *["corollary_3.2", "simplex", "[simplex, cube, sphere]", "{a: [[1]], b: [1]}", "{a: [[1, 0], [0, 1]], b: [1]}"],
    *["{a: [[1, 0], [-1, 0], [0, 1], [0, -1]], b: [1, 1, 1, 1]}", "{a: [[1, 0], [-1, 0]], b: [-3, 1]}"],
    *["linear", "[C1, C2]", "[linear, 1]", "d^2", "contextual", "bandit", "full", "rho_min=abc", "rho_min=inf", "0.5x"],
    lambda: "[" * 60 + "]" * 60,
    lambda: "[" * 3_000 + "]" * 3_000,
    lambda: "{a: " * 400 + "1" + "}" * 400,
    lambda: "x" * 5_000,
    lambda: "9" * 400,
    lambda: "9" * 5_000,
    lambda: "0." + "3" * 5_000,
    lambda: "'" + "-" * 400_000 + "'",
    lambda: listed(range(1, 300)),
    lambda: listed(range(1, 3_000)),
    lambda: listed(0.001 * i for i in range(1, 2_000)),
    lambda: listed([*["exp3"] * 500]),
    lambda: listed(f"{{name: exp3, gamma: {0.0003 * i}}}" for i in range(1, 3_000)),
    lambda: "{" + ", ".join(f"key{i}: {i}" for i in range(2_000)) + "}",
    lambda: (
        f"{{name: dp_exp3_lap, epsilon: {listed(range(1, 200))}, base: {{name: exp3, gamma: [{listed(range(200))}]}}}}"
    ),
]
CLAIMS = ["at round", "2^18", "in", "all", ":", "exp3", "<", "within", "10%", "of", "+-", "to", "slope(", "bound(", ")"]
CLAIMS += ["epsilon(", "[", "]", "gamma = 1", "the worst gap", "''", "'", ",", "9^99", "9^999", "1e999", "9" * 400]
CLAIMS += ["٣", "\0"]


def listed(values: Any) -> str:
    """A YAML list."""
    return "[" + ", ".join(map(str, values)) + "]"


@cache
def shipped() -> list[str]:
    return [path.read_text() for path in CONFIGS]


def mutant(seed: int) -> bytes:
    """The mutated config of a seed."""
    rng = random.Random(seed)
    text = rng.choice(shipped())
    structural = rng.choice([0, 1, 1, 1, 2, 2, 4])
    if structural:
        data = yaml.safe_load(text)
        for _ in range(structural):
            restructure(rng, data)
        text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True)
        while PLACE in text:
            text = text.replace(PLACE, odd(rng), 1)
    for _ in range(rng.choice([0, 0, 1]) if structural else rng.choice([1, 1, 2])):
        text = rng.choice(TEXTUAL)(rng, text)
    encoding = rng.choices(["utf-8", "utf-16", "latin-1"], [80, 1, 1])[0]
    return text.encode(encoding, "replace")


def places(data: Any) -> Iterator[tuple[Any, Any]]:
    """Every (holder, key) of nested data."""
    for key in range(len(data)) if isinstance(data, list) else data if isinstance(data, dict) else ():
        yield data, key
        yield from places(data[key])


def restructure(rng: random.Random, data: Any) -> None:
    """Replace, remove, copy, wrap or rename a value, or add one."""
    found = list(places(data))
    if not found:
        return
    (holder, key), (other, other_key) = rng.choice(found), rng.choice(found)
    action = rng.choice(["odd"] * 5 + ["remove", "copy", "wrap", "nest", "rename", "add"])
    if action == "odd":
        holder[key] = PLACE
    elif action == "remove":
        del holder[key]
    elif action == "copy":
        holder[key] = copy.deepcopy(other[other_key])
    elif action == "wrap":
        holder[key] = [holder[key], PLACE][: rng.choice([1, 2])]
    elif action == "nest":
        holder[key] = {rng.choice(["name", "base", "a"]): holder[key]}
    elif action == "rename" and isinstance(holder, dict):
        holder[rng.choice([PLACE, f"{key}s", "name", "base", "epsilon", "include"])] = holder.pop(key)
    elif action == "add" and isinstance(holder, dict):
        new = ["base", "epsilon", "delta", "gap", "means", "include", "set", "label", "planned_horizon", "smoke"]
        holder[rng.choice(new)] = PLACE


def odd(rng: random.Random) -> str:
    """An odd value as YAML."""
    found = rng.choice(ODD)
    return found if isinstance(found, str) else found()


def relined(rng: random.Random, text: str) -> str:
    """Lines are repeated, dropped, swapped, or indented by a tab."""
    lines = text.splitlines()
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    action = rng.randrange(5)
    if action == 0:
        lines.insert(j, lines[i])
    elif action == 1:
        del lines[i]
    elif action == 2:
        lines[i], lines[j] = lines[j], lines[i]
    elif action == 3:
        lines[i] = "\t" + lines[i]
    else:
        lines[i] = lines[i].partition(":")[0] + ": " + odd(rng)
    return "\n".join(lines) + "\n"


def respelt(rng: random.Random, text: str) -> str:
    """Characters are dropped, doubled or replaced, or the text ends early."""
    at = rng.randrange(len(text) or 1)
    new = rng.choice(["", *"\0\x07\t\u2028'\"[]{}:&*!%|\ufeff", "- ", "?"])
    return text[:at] if rng.random() < 0.1 else text[:at] + new + text[at + rng.choice([0, 1]) :]


def bombed(rng: random.Random, text: str) -> str:
    """Aliases of aliases, merges of merges, deep blocks, many documents, long files."""
    wide, deep = rng.choice([2, 9, 50]), rng.choice([3, 12, 60])
    laughs = ["x0: &x0 [1, 2, 3]"] + [f"x{i}: &x{i} [{', '.join([f'*x{i - 1}'] * wide)}]" for i in range(1, deep)]
    merges = ["x0: &x0 {a: 1}"] + [f"x{i}: &x{i} {{<<: [{', '.join([f'*x{i - 1}'] * wide)}]}}" for i in range(1, deep)]
    block = "\n".join("  " * i + "a:" for i in range(400))
    more = rng.choice(
        [
            "\n".join(laughs),
            "\n".join(merges),
            "\n".join([*laughs, f"algorithms: *x{deep - 1}"]),
            f"deep:\n{block}",
            "deep: " + "- " * rng.choice([50, 2_000]),
            "deep: " + "[" * rng.choice([50, 2_000, 100_000]),
            "deep: " + "{a: " * 2_000,
            "deep: " + "? " * 2_000,
            "deep: |\n" + "  x\n" * 200_000,
            "#" * 1_000_000,
            "# \n" * 500_000,
            "\n" * 2_000_000,
            "long: " + "x " * 500_000,
            "\n".join(f"k{i}: {i}" for i in range(20_000)),
            "---\na: 1\n---\nb: 2",
            "%YAML 9.9\n---",
            "...\n",
            "smoke: {horizon: 0, trials: x, algorithms: [exp4], claims: 3}",
        ]
    )
    return f"{text}\n{more}\n" if rng.random() < 0.7 else f"{more}\n{text}"


def reclaimed(rng: random.Random, text: str) -> str:
    """A claim of other words."""
    words = " ".join(rng.choice(CLAIMS) for _ in range(rng.randrange(1, 9))).replace('"', "")
    return f'{text}\nclaims:\n  - {{claim: "{words}", source: "x"}}\n'


TEXTUAL = [relined, relined, respelt, respelt, bombed, reclaimed]
