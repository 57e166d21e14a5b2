"""Mutants: correct algorithms with one plausible error, as changes of their source text.

An auditor must detect every mutant, against the claim of the correct algorithm.
"""

import ast
import dataclasses
import hashlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from privbandits_cli.audit.auditor import audit, reduced
from privbandits_cli.audit.target import Steps
from privbandits_cli.audit.verdict import Audit
from privbandits_cli.games.steps import composition, steps
from privbandits_cli.numerics.jit import Records, record, without_jit
from tests.audit.subjects import CORRECT, ROUNDS, Subject

PACKAGE = "privbandits_cli."
ROOMS = PACKAGE + "algorithms", PACKAGE + "mechanisms"


@dataclass(frozen=True)
class Mutant:
    """A broken algorithm: the subject whose claim it is audited against, and what differs from it.

    changes: what is replaced in the source of `file` (`mechanisms.tree`), by default that of the algorithm; each text
    must occur once. share: what `field` is multiplied with, the scale of the noise in the state or in its counter or
    oracle. kept: the state has one more field `kept`, 0 or an array of zeros, for the changed steps.
    """

    name: str
    subject: str
    changes: Mapping[str, str] = dataclasses.field(default_factory=dict, hash=False)
    file: str = ""
    share: float = 1.0
    field: str = "scale"
    kept: bool = False

    def __str__(self) -> str:
        return f"{self.subject}, {self.name}"

    def caught(self) -> bool:
        """Whether the audit detects it: in a short game, which plain Python plays, or else in that of its subject."""
        if self.subject in ROUNDS:
            with without_jit(), np.errstate(over="ignore"):
                short = self.audited(0.001, 2**10, 0, CORRECT[self.subject].shorter(ROUNDS[self.subject]))
            if short.verdict == "VIOLATION":
                return True
        return self.audited(0.001, 2**18, 0).verdict == "VIOLATION"

    def audited(self, alpha: float, budget: int, seed: int, subject: Subject | None = None) -> Audit:
        """The audit of this mutant against the claim of its subject."""
        subject = subject or CORRECT[self.subject]
        parameters = subject.make()
        setting = reduced(parameters.tuned(subject.setting), subject.setting)
        parameters = parameters.tuned(setting)
        state = parameters.state(setting)
        if self.kept:
            d = setting.known().dimension
            shape = (d, d + 1) if setting.contexts else (setting.n_arms,) if setting.space else ()
            state = with_field(state, "kept", np.zeros(shape))
        if self.share != 1.0:
            part = next((part for part in ("counter", "oracle") if part in (state.dtype.names or ())), None)
            held = state if part is None else state[part]
            held[self.field] *= self.share
        return audit(parameters, setting, alpha, budget, seed, self.steps(composition(parameters)), state)

    def steps(self, modules: tuple[str, ...]) -> Steps:
        """The compiled steps of the algorithm of these modules, with the changes."""
        return steps(self.changed(modules))

    def changed(self, modules: tuple[str, ...]) -> tuple[str, ...]:
        """The names of these modules with the changes; an error if a change has no place, or is not Python."""
        file = PACKAGE + self.file if self.file else modules[0]
        made = tuple(patched(module, file, tuple(self.changes.items())) for module in modules)
        assert not self.changes or made != modules, f"{self.subject} does not use {file}"
        return made


@cache
def patched(module: str, file: str, changes: tuple[tuple[str, str], ...]) -> str:
    """The name of a copy of a module for which a file has these changes; its own name if it does not use the file."""
    inner = {name: patched(name, file, changes) for name in imports(module)}
    inner = {name: made for name, made in inner.items() if made != name}
    if not changes or (module != file and not inner):
        return module
    text = source(module)
    for old, new in changes if module == file else ():
        assert text.count(old) == 1, f"{file} has {text.count(old)} times: {old}"
        text = text.replace(old, new)
    made = ModuleType(f"{module}_{hashlib.sha256(repr((ast.dump(ast.parse(text)), inner)).encode()).hexdigest()[:16]}")
    made.__file__ = import_module(module).__file__
    sys.modules[made.__name__] = made
    with pytest.MonkeyPatch.context() as patch:
        for name, other in inner.items():
            room, _, stem = name.rpartition(".")
            patch.setitem(sys.modules, name, sys.modules[other])
            patch.setattr(sys.modules[room], stem, sys.modules[other])
        exec(compile(text, str(made.__file__), "exec"), vars(made))
    return made.__name__


def source(module: str) -> str:
    """The text of a module."""
    return Path(str(import_module(module).__file__)).read_text(encoding="utf-8")


@cache
def imports(module: str) -> list[str]:
    """The algorithms and mechanisms that a module imports."""
    found = [node for node in ast.walk(ast.parse(source(module))) if isinstance(node, ast.ImportFrom)]
    names = [str(node.module) for node in found]
    names += [f"{node.module}.{one.name}" for node in found for one in node.names if node.module in ROOMS]
    return [name for name in names if name.rpartition(".")[0] in ROOMS and name in sys.modules]


def with_field(state: Records, name: str, value: Any) -> Records:
    """The state with one more field, which comes first: numba confuses a record with one that it begins with."""
    names = state.dtype.names or ()
    fields = {old: state[old].reshape(()) if state[old].dtype.names else state[old][0] for old in names}
    return record(**{name: value}, **fields)
