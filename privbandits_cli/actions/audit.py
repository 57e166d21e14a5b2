"""Audits of an experiment's algorithms and of the mutants, as plain data."""

import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any

from privbandits_cli.actions.privacy import titled_algorithms
from privbandits_cli.audit.auditor import audit
from privbandits_cli.audit.evidence import Test
from privbandits_cli.audit.mutants import CORRECT, MUTANTS
from privbandits_cli.audit.verdict import Audit
from privbandits_cli.engine.runner import cores
from privbandits_cli.experiment.config import Experiment

# Each correct algorithm, then its mutants by their index in MUTANTS: they hold functions, which cannot be pickled.
CASES = [
    (name, i) for name in CORRECT for i in (None, *(i for i, mutant in enumerate(MUTANTS) if mutant.subject == name))
]


def audit_experiment(experiment: Experiment, alpha: float, budget: int, seed: int, test: Test) -> list[dict[str, Any]]:
    """One row per algorithm, in the config's order."""
    return [
        _row(title, audit(algorithm, setting, alpha, budget, seed, test=test))
        for title, algorithm, setting in titled_algorithms(experiment)
    ]


def audit_mutants(alpha: float, budget: int, seed: int, test: Test) -> Iterator[dict[str, Any]]:
    """One row per correct algorithm (passed or accused) and per mutant (caught or missed), computed on all cores."""
    audited = partial(_audit_case, alpha=alpha, budget=budget, seed=seed, test=test)
    with ProcessPoolExecutor(cores(), get_context("spawn"), _leave_ctrl_c_to_the_parent) as pool:
        yield from pool.map(audited, CASES)


def _leave_ctrl_c_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _audit_case(case: tuple[str, int | None], alpha: float, budget: int, seed: int, test: Test) -> dict[str, Any]:
    name, i = case
    title = CORRECT[name].title()
    if i is None:
        found = CORRECT[name].audited(alpha, budget, seed, test)
        return _row(f"{title}, correct", found) | {"verdict": "passed" if found.verdict == "CONSISTENT" else "accused"}
    found = MUTANTS[i].audited(alpha, budget, seed, test)
    verdict = "caught" if found.verdict == "VIOLATION" else "missed"
    return _row(f"{title}, {MUTANTS[i].name}", found) | {"verdict": verdict}


def _row(title: str, found: Audit) -> dict[str, Any]:
    return {"algorithm": title} | dict(vars(found))
