"""The verdict of an audit."""

from dataclasses import dataclass, replace
from typing import Literal

from privbandits_cli.accounting import gaussian
from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.accounting.rounding import at_least, at_most

Verdict = Literal["VIOLATION", "CONSISTENT", "NOT AUDITABLE"]

EXACT = 1e-6  # relative error of what is measured or computed, not estimated


@dataclass(frozen=True)
class Audit:
    """The result of an audit."""

    verdict: Verdict
    claim: str
    found: str  # the finding, in words
    cost: int  # about how many rounds were played
    epsilon_seen: float | None = None  # a lower limit on ε, where the view has one
    refutable: float | None = None  # the least true ε for which these games would have refuted the claim
    played: str = ""  # the games that were played
    assumed: str = ""  # what was not tested


def judged(
    so_far: Audit,
    claim: Guarantee,
    size: float,
    datum: str = "a datum",
    law: str = ", exactly",
    normal: bool = False,
    worst: str = "",
) -> Audit:
    """The verdict on what a datum costs.

    size: the cost, a μ if the noise is `normal`, else an ε; law: words on what the cost follows from; datum, worst:
    words for any datum, and for the one that costs most, if it is known.
    """
    seen, allowed, mu = size, claim.epsilon, f"μ = {size:.6g}" * normal
    if normal:
        seen, allowed = gaussian.epsilon_of(size, claim.delta), gaussian.mu_of(claim.epsilon, claim.delta)
    if size > (1 + EXACT) * allowed:
        found = f"{worst or datum} costs ε = {at_least(seen)}, {mu + ' ' * normal}where {allowed:.6g} is allowed"
        return replace(so_far, verdict="VIOLATION", found=found, epsilon_seen=seen)
    seen = min(seen, claim.epsilon)
    found = f"{datum} costs at most ε = {at_most(seen)}{law}{', ' * normal}{mu}"
    least = gaussian.epsilon_of((1 + EXACT) * allowed, claim.delta) if normal else (1 + EXACT) * allowed
    return replace(so_far, verdict="CONSISTENT", found=found, epsilon_seen=seen, refutable=least)


def like_these(rounds: int, horizon: float) -> str:
    """The assumption on the rounds that were not played, in words; "" if all were."""
    return f"rounds after {rounds:,} are like these" if rounds < int(horizon) else ""


def assuming(*words: str) -> str:
    """Join the words on what was not tested; empty ones and repeated ones are left out."""
    return "; ".join(dict.fromkeys(filter(None, words)))
