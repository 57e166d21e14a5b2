"""Mistakes that are rejected in a user's file before a run: they would show late, far from their line, or never.

Random numbers without the seed make two runs differ; a `choose` that ends without `return` gives the compiled loop
no arm; a compiled `print` writes a line in every round of every trial.
"""

import ast
import dis
import random
from collections.abc import Iterator
from functools import reduce
from types import FunctionType, ModuleType

import numpy as np

GLOBAL = random.Random | np.random.RandomState | np.random.Generator  # owners of a state that all trials would share

TUNED = (
    'there is no second class any more: move its methods into `Parameters`, write `eta: float = left_out("...")` there '
    "(from privbandits_cli.games.parameters) for what may be left out, and let `tuned` return `self.replace(eta=...)`"
)
ATTRIBUTES = {  # attributes that a class no longer has, and the methods that replace them
    "made_private_by": "def mechanism(self): return {}",
    "observed": "def view(self, setting): return {}",
    "general_caveats": "def caveats(self, setting): return list({})",
}
METHODS = {  # methods that a class no longer defines, and what to write in their place
    "guarantee": "let `bounds(self, setting, delta, sensitivity=1.0)` return a list with this guarantee, and write "
    "`private = True` in the class",
    "periods": "name the kinds in the class, `drawn = (...)`; if they depend on parameters, write `drawn = ()` and let "
    "`draws(self, setting)` return `One()` for each (from privbandits_cli.games.bandit)",
    "coin_regret_bound": "its name is `instance_regret_bound`, as it holds for all gains in [0, 1]",
    "unbounded": "let `remarks(self, setting)` return a list with this sentence",
}


def retired(text: str) -> Iterator[tuple[int, str]]:
    """The lines that follow an older contract, each with what to write today."""
    for node in (node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)):
        if node.name == "Tuned":
            yield node.lineno, TUNED
        names = {line.name for line in node.body if isinstance(line, ast.FunctionDef)}
        old = METHODS.keys() - (
            {"guarantee"} if "bounds" in names else ()
        )  # beside `bounds` it only finds the same one faster
        for line in node.body:
            if node.name == "Parameters" and isinstance(line, ast.FunctionDef) and line.name in old:
                yield line.lineno, f"a class does not define `{line.name}` any more: {METHODS[line.name]}"
            targets = line.targets if isinstance(line, ast.Assign) else [getattr(line, "target", None)]
            gone = [target.id for target in targets if isinstance(target, ast.Name) and target.id in ATTRIBUTES]
            if gone and isinstance(line, ast.Assign | ast.AnnAssign) and line.value is not None:
                method = ATTRIBUTES[gone[0]].format(ast.unparse(line.value))
                yield line.lineno, f"a class has no attribute `{gone[0]}` any more: write `{method}`"


def unseeded(text: str, module: ModuleType) -> Iterator[tuple[int, str]]:
    """Line and name of each call, in the functions of the file, that draws random numbers independent of the seed."""
    tree, names = ast.parse(text), vars(module)
    arguments = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    calls = [node for function in functions for node in ast.walk(function) if isinstance(node, ast.Call)]
    for call in calls:
        name = ast.unparse(call.func)
        head, *rest = name.split(".")
        if head in names and head not in arguments:
            called = reduce(lambda owner, part: getattr(owner, part, None), rest, names[head])
            home = str(getattr(called, "__module__", ""))
            library = home == "random" or home.startswith("numpy.random")
            if isinstance(getattr(called, "__self__", None), GLOBAL) or (library and not call.args + call.keywords):
                yield call.lineno, name


def unreturned(function: FunctionType) -> Iterator[int]:
    """Lines where a step returns None; Python has already removed unreachable code."""
    before = None
    for step in dis.get_instructions(function):
        loaded = before is not None and before.opname == "LOAD_CONST" and before.argval is None
        if (loaded and step.opname == "RETURN_VALUE") or (step.opname == "RETURN_CONST" and step.argval is None):
            place = step.positions
            yield (place and place.lineno) or function.__code__.co_firstlineno
        before = step


def prints(module: ModuleType) -> Iterator[int]:
    """Lines that print, in the steps and in the functions of the file that they call."""
    names = vars(module)
    functions = [names["choose"], names["update"]]
    for function in functions:  # grows as calls are found
        for step in dis.get_instructions(function):
            called = names.get(step.argval) if step.opname == "LOAD_GLOBAL" else None
            if step.opname == "LOAD_GLOBAL" and step.argval == "print" and step.positions and step.positions.lineno:
                yield step.positions.lineno
            elif isinstance(called, FunctionType) and called.__module__ == module.__name__ and called not in functions:
                functions.append(called)
