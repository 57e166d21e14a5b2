"""What a theorem promises of an algorithm's privacy."""

from dataclasses import dataclass
from typing import Literal

Status = Literal["paper", "proved", "exact", "numeric"]


@dataclass(frozen=True)
class Guarantee:
    """An (epsilon, delta)-differential-privacy statement and where it comes from.

    epsilon: in nats, >= 0; delta: in [0, 1).
    neighbours: which inputs must look alike; view: what the observer sees.
    status: `paper` as printed, `proved` where a proof holds, `exact` where it is the value itself,
    `numeric` where only a computation speaks for it.
    """

    epsilon: float
    delta: float
    source: str
    status: Status
    neighbours: str = "the gains of one round replaced"
    view: str = "all actions"

    def __post_init__(self) -> None:
        if not self.epsilon >= 0:
            raise ValueError(f"epsilon must not be negative, got {self.epsilon}")
        if not 0 <= self.delta < 1:
            raise ValueError(f"delta must lie in [0, 1), got {self.delta}")

    def __str__(self) -> str:
        """As in a legend: `ε = 243.3`, or `ε = 240.2, δ = 1.5e-11`."""
        epsilon = "∞" if self.epsilon == float("inf") else f"{self.epsilon:.4g}"
        return f"ε = {epsilon}" + (f", δ = {self.delta:.2g}" if self.delta else "")
