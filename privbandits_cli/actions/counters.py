"""The noise of the counters at a privacy level, as plain data."""

from typing import Any

from privbandits_cli.accounting.counters import COUNTERS, rms
from privbandits_cli.accounting.gaussian import mu_of
from privbandits_cli.accounting.toeplitz import least_rms


def counters(horizon: int, epsilon: float, delta: float) -> list[dict[str, Any]]:
    """One row for each counter, by the law of its noise: E max, E rms, and the deviation at (ε, δ), root mean square.

    The last row is the bound for all factorisations with Gaussian noise. horizon: T >= 2; T - 1 items are summed.
    """
    n = horizon - 1
    private = {"Gaussian": mu_of(epsilon, delta), "Laplace": epsilon}
    rows = []
    for counter in COUNTERS:
        errors = counter.errors(n)
        made = {"counter": counter.name, "noise": counter.law, "memory": counter.memory}
        size = {"max": float(errors.max()), "rms": rms(errors), "deviation": rms(errors) / private[counter.law]}
        rows.append(made | size | {"source": counter.source})
    least = least_rms(n)
    bound = {"max": None, "rms": least, "deviation": least / private["Gaussian"]}
    return [*rows, {"counter": "bound", "noise": "Gaussian", "memory": "", **bound, "source": "any factorisation"}]
