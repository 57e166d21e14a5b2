"""Guarantees of privacy, and the choice of the one to quote."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from privbandits_cli.accounting import rounding

Status = Literal["paper", "proved", "exact", "numeric"]

MEANINGLESS = 20.0  # an epsilon above it lets a single round change a likelihood 5e8-fold


@dataclass(frozen=True)
class Guarantee:
    """A guarantee of (ε, δ)-differential privacy, with its source.

    epsilon: in nats, >= 0; delta: in [0, 1).
    status: `paper`, as printed there; `proved`, an upper bound; `exact`, the value itself, or of a lower bound what a
    stated test of stated inputs costs, computed without an approximation; `numeric`, supported by a computation only.
    lower: the bound is an attack: the algorithm is not (epsilon', delta)-private for any smaller epsilon'.
    neighbours, unit, view: which inputs are to be indistinguishable, what one unit is, what the observer sees.
    """

    epsilon: float
    delta: float
    source: str
    status: Status
    lower: bool = False
    neighbours: str = "the gains of one round replaced"
    unit: str = "one round"
    view: str = "all arms played"

    def __post_init__(self) -> None:
        if not self.epsilon >= 0:
            raise ValueError(f"epsilon must not be negative, got {self.epsilon}")
        if not 0 <= self.delta < 1:
            raise ValueError(f"delta must lie in [0, 1), got {self.delta}")
        if self.status not in get_args(Status):
            raise ValueError(f"status must be one of {', '.join(get_args(Status))}, got {self.status!r}")

    def __str__(self) -> str:
        """As in a legend, rounded up: `ε = 243.3`, or `ε = 1.504, δ = 1.5e-11`."""
        return rounding.pair(self.epsilon, self.delta)


def wasted_noise(wanted: float, promised: Guarantee | None) -> list[str]:
    """A warning if the noise is proved to give less than half of the ε that a config wants."""
    if promised is None or promised.epsilon >= wanted / 2:
        return []
    return [f"the noise is far larger than the ε of the config requires, it gives {promised}: set `calibration: exact`"]


def leading(bounds: Iterable[Guarantee]) -> Guarantee | None:
    """The bound to quote: the least that is proved or exact, else the paper's; never a numeric one.

    Of bounds that are equal in four digits it is the one with the least δ.
    """
    upper = [bound for bound in bounds if not bound.lower]
    for statuses in ({"proved", "exact"}, {"paper"}):
        found = [bound for bound in upper if bound.status in statuses]
        if found:
            return min(found, key=lambda bound: (float(f"{bound.epsilon:.4g}"), bound.delta, bound.epsilon))
    return None
