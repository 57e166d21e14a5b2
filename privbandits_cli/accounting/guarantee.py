"""Guarantees of privacy, what they say of a person who is in several rounds, and the choice of the one to quote."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, get_args

from privbandits_cli.accounting import rounding

Status = Literal["paper", "proved", "exact", "numeric"]

LEAST_DELTA = 1e-280  # the least δ at which group privacy looks for the guarantee of one round
MEANINGLESS = 20.0  # an epsilon above it lets a single round change a likelihood 5e8-fold
NO_NOISE = 1e6  # a larger ε is that of an algorithm which is played without noise


class Spent(Protocol):
    """What a round releases, as far as it says more of several rounds of one person than group privacy does."""

    def of_person(self, rounds: int, delta: float, lower: bool = False) -> float:
        """A bound on the least ε at δ of all rounds of a person together; lower: from below."""

    def words(self, rounds: int) -> str:
        """Why, for the source of the bound."""


@dataclass(frozen=True)
class Guarantee:
    """A guarantee of (ε, δ)-differential privacy, with its source.

    epsilon: in nats, >= 0; delta: in [0, 1).
    status: `paper`, as printed there; `proved`, an upper bound; `exact`, the value itself, or of a lower bound what a
    stated test of stated inputs costs, computed without an approximation; `numeric`, supported by a computation only.
    lower: the bound is an attack: the algorithm is not (epsilon', delta)-private for any smaller epsilon'.
    neighbours, unit, view: which inputs are to be indistinguishable, what one unit is, what the observer sees.
    spent: of a bound on one round: what it releases; None: of more rounds only group privacy is known.
    """

    epsilon: float
    delta: float
    source: str
    status: Status
    lower: bool = False
    neighbours: str = "the gains of one round replaced"
    unit: str = "one round"
    view: str = "all arms played"
    spent: Spent | None = field(default=None, compare=False, repr=False)

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

    def described(self) -> dict[str, Any]:
        """The bound as plain data."""
        return {name: value for name, value in vars(self).items() if name != "spent"}

    def about(self, rounds: int) -> "Guarantee":
        """The same numbers with the words for a person in at most so many rounds: of the unit and of the neighbours."""
        if rounds == 1:
            return replace(self, spent=None)
        neighbours = self.neighbours.replace("one round", "each round of one person")
        unit = f"one person, in at most {rounds:,} rounds"
        return replace(self, neighbours=neighbours, unit=unit, spent=None)

    def of_person(self, rounds: int) -> "Guarantee | None":
        """The bound for a person who is in at most so many rounds; None for an upper bound that says nothing at its δ.

        An attack on one of the person's rounds is one on the person. Without `spent`, ε = 0 and δ = 0 are multiplied.
        """
        made = self.about(rounds)
        if self.spent is not None:
            found = self.spent.of_person(rounds, self.delta, self.lower)
            status: Status = "proved" if self.status == "exact" and not self.lower else self.status
            return replace(made, epsilon=found, status=status, source=f"{self.source}; {self.spent.words(rounds)}")
        if self.lower:
            return replace(made, source=f"{self.source}; {BY_ONE}")
        if self.epsilon == self.delta == 0:
            return made
        grown = replace(made, epsilon=rounds * self.epsilon, source=f"{self.source}; {BY_GROUPS}")
        return grown if self.delta == 0 else None


BY_GROUPS = "by group privacy"
BY_ONE = "only one round of the person is attacked"


def group(profile: Callable[[float], Guarantee | None], rounds: int, delta: float) -> Guarantee | None:
    """Group privacy: what the guarantee of one round at some smaller δ says of a person; None if nothing at `delta`.

    m rounds that are each (ε, δ')-private are together (mε, δ' Σ_(i<m) e^(iε))-private (Dwork & Roth 2014, Theorem 2.2,
    with the sum that its proof gives). profile: the guarantee of one round at δ'. δ' decreases until the sum fits.
    """
    log, wanted = math.log(delta), math.log(delta)
    while log > math.log(LEAST_DELTA):
        found = profile(math.exp(log))
        if found is None or not found.delta or found.epsilon == math.inf:
            return None
        fits = wanted - _log_sum(found.epsilon, rounds)
        if log <= fits:
            source = f"{found.source}; {BY_GROUPS}, from δ = {rounding.at_most(found.delta, 2)} a round"
            status: Status = "proved" if found.status == "exact" else found.status
            made = found.about(rounds)
            return replace(made, epsilon=rounds * found.epsilon, delta=delta, source=source, status=status)
        log = fits + 1e-4 * fits  # a little less, so that it ends
    return None


def _log_sum(epsilon: float, rounds: int) -> float:
    """ln Σ_(i<m) e^(iε)."""
    if epsilon < 1e-12:
        return math.log(rounds) + rounds * epsilon
    return (rounds - 1) * epsilon + math.log(math.expm1(-rounds * epsilon) / math.expm1(-epsilon))


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
