"""The verdict of an audit."""

from dataclasses import dataclass, replace
from typing import Literal

from privbandits_cli.accounting import gaussian
from privbandits_cli.accounting.rounding import at_least, at_most
from privbandits_cli.audit.evidence import Conformance
from privbandits_cli.audit.target import Target
from privbandits_cli.games.views import Noisy, Release, View

Verdict = Literal["VIOLATION", "CONSISTENT", "NOT AUDITABLE"]

OBSERVED: dict[type[View], str] = {
    Release: "each noisy gain",
    Noisy: "all noisy numbers of the arms",
}
EXACT = 1e-6  # relative error of what is measured or computed, not estimated


@dataclass(frozen=True)
class Audit:
    """The result of an audit."""

    verdict: Verdict
    claim: str
    found: str  # the finding, in words
    cost: int  # observations used, or all of the budget
    epsilon_seen: float | None = None  # a lower limit on ε, where the view has one
    refutable: float | None = None  # the least true ε for which this budget would have refuted the claim
    played: str = ""  # the games that were played
    assumed: str = ""  # what was not tested


def law_words(conforms: Conformance, level: float) -> str:
    """The result of the test of the noise and its power, in words."""
    if conforms.p < level:
        where = f" in {conforms.where}" if conforms.where else ""
        return f"the noise{where} does not have this law (p = {conforms.p:.2g})"
    words = f"noise conforms (p = {conforms.p:.2g})"
    if conforms.more < level:
        words = f"noise is larger than the claim needs (p = {conforms.more:.2g})"
    if conforms.share is None:
        return words
    return f"{words}; noise x {conforms.share:.2g} in {conforms.weakest or 'all rounds'} would be found"


def accounted(target: Target[View], so_far: Audit, mu: float) -> Audit:
    """The verdict on Gaussian noise, whose exact μ for a datum is known."""
    claim = target.claim
    seen, allowed = gaussian.epsilon_of(mu, claim.delta), gaussian.mu_of(claim.epsilon, claim.delta)
    if mu > (1 + EXACT) * allowed:
        found = f"a datum costs ε = {at_least(seen)}, μ = {mu:.6g} where {allowed:.6g} is allowed"
        return replace(so_far, verdict="VIOLATION", found=found, epsilon_seen=seen)
    found = f"a datum costs at most ε = {at_most(seen)}, exactly: μ = {mu:.6g}"
    least = gaussian.epsilon_of((1 + EXACT) * max(mu, allowed), claim.delta)
    return replace(so_far, found=found, epsilon_seen=seen, refutable=least)


def accounted_purely(target: Target[View], so_far: Audit, seen: float) -> Audit:
    """The verdict on Laplace noise, whose exact ε for a datum is known."""
    most = (1 + EXACT) * target.claim.epsilon
    if seen > most:
        return replace(so_far, verdict="VIOLATION", found=f"a datum costs ε = {at_least(seen)}", epsilon_seen=seen)
    return replace(
        so_far, found=f"a datum costs at most ε = {at_most(seen)}, exactly", epsilon_seen=seen, refutable=most
    )


def like_these(rounds: int, horizon: float) -> str:
    """The assumption on the rounds that were not played, in words; "" if all were."""
    return f"rounds after {rounds:,} are like these" if rounds < int(horizon) else ""


def claimed(target: Target[View]) -> str:
    """The claim in words, for a view with one number for each gain."""
    return f"{target.claim} of {OBSERVED[type(target.view)]}, {'Gaussian' if target.gaussian else 'Laplace'} noise"
