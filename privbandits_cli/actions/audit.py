"""Audits of an experiment's algorithms, as plain data."""

from typing import Any

from privbandits_cli.actions.privacy import titled_algorithms
from privbandits_cli.audit.auditor import audit
from privbandits_cli.experiment.config import Experiment


def audit_experiment(experiment: Experiment, alpha: float, budget: int, seed: int) -> list[dict[str, Any]]:
    """One row per algorithm, in the config's order."""
    return [
        {"algorithm": title} | vars(audit(algorithm, setting, alpha, budget, seed))
        for title, algorithm, setting in titled_algorithms(experiment)
    ]
