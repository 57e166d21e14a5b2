"""Audits of an experiment's algorithms and of the mutants, as plain data."""

from typing import Any

from privbandits_cli.audit.auditor import audit
from privbandits_cli.audit.mutants import CORRECT, MUTANTS
from privbandits_cli.audit.verdict import Audit, Test
from privbandits_cli.experiment.config import Experiment
from privbandits_cli.ledger import titled_algorithms


def audit_experiment(experiment: Experiment, alpha: float, budget: int, seed: int, test: Test) -> list[dict[str, Any]]:
    """A row per algorithm, in the config's order."""
    return [
        _row(title, audit(algorithm, setting, alpha, budget, seed, test=test))
        for title, algorithm, setting in titled_algorithms(experiment)
    ]


def audit_mutants(alpha: float, budget: int, seed: int, test: Test) -> list[dict[str, Any]]:
    """A row per correct algorithm (passed or accused) and per mutant of it (caught or missed)."""
    rows = []
    for name, subject in CORRECT.items():
        found = subject.audited(alpha, budget, seed, test)
        right = "passed" if found.verdict == "CONSISTENT" else "accused"
        rows.append(_row(f"{subject.title()}, correct", found) | {"verdict": right})
        for mutant in MUTANTS:
            if mutant.subject == name:
                found = mutant.audited(alpha, budget, seed, test)
                seen = "caught" if found.verdict == "VIOLATION" else "missed"
                rows.append(_row(f"{subject.title()}, {mutant.name}", found) | {"verdict": seen})
    return rows


def _row(title: str, found: Audit) -> dict[str, Any]:
    return {"algorithm": title} | dict(vars(found))
