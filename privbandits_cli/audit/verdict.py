"""The verdict of an audit: a bet between two worlds on what was observed, and a test of the law of the noise."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.accounting import gaussian
from privbandits_cli.accounting.rounding import at_least, at_most
from privbandits_cli.audit import evidence
from privbandits_cli.audit.evidence import Conformance, Test
from privbandits_cli.audit.target import Target
from privbandits_cli.games.views import Noisy, Release, View
from privbandits_cli.numerics.types import Floats

Verdict = Literal["VIOLATION", "CONSISTENT", "NOT AUDITABLE"]

Scores = Callable[[float], Floats]

OBSERVED: dict[type[View], str] = {
    Release: "each noisy gain",
    Noisy: "all noisy numbers of the arms",
}
LEARN = 0.25  # share of the budget on which events are chosen; the rest decides
EXACT = 1e-6  # relative error of what is measured or computed, not estimated
REPORTED = 0.05  # level of the lower limits on ε that are reported; verdicts have the level asked for

TESTS = {"bets": evidence.bet, "counts": evidence.counts}


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


@dataclass(frozen=True)
class Contest:
    """A bet between two worlds: an event is chosen on the first `learn` scores, and the claim is tested on the rest.

    hits: which pairs lie in the event, in the world where it is likelier and in the other. stopped: the number of pairs
    after which the claim (ε, δ) was refuted at this level, or None.
    """

    epsilon: float
    delta: float
    level: float
    test: Test
    event: evidence.Event
    learn: int
    hits: tuple[NDArray[np.bool_], NDArray[np.bool_]]
    stopped: int | None

    def limit(self) -> float:
        """A lower limit on ε, from the counts of the event."""
        return evidence.epsilon_from_counts(*self.hits, self.delta, REPORTED)

    def refutable(self, p: float | None = None) -> float | None:
        """The least true ε that this many pairs refute, for an event of probability p; default: its frequency."""
        pairs = len(self.hits[0])
        p = p or max(1 / pairs, float(self.hits[0].mean()))
        return evidence.refutable(pairs, p, self.epsilon, self.delta, self.level)


def contest(target: Target[View], score: Floats, coins: Floats, epsilon: float, delta: float = 0.0) -> Contest:
    """Test the claim (ε, δ) on these scores at half of the target's level; the law of the noise has the other half."""
    learn, level = int(LEARN * len(score)), target.alpha / 2
    pairs = min(int(np.sum(coins[learn:] == c)) for c in (0, 1))
    x, y = (score[learn:][coins[learn:] == c][:pairs] for c in (1, 0))
    early = [score[:learn][coins[:learn] == c] for c in (1, 0)]
    event = evidence.best_event(early[0], early[1], epsilon, delta)
    hits = event.hits(x, y)
    stopped = TESTS[target.test](*hits, epsilon, delta, level)
    return Contest(epsilon, delta, level, target.test, event, learn, hits, stopped)


def decided(claim: str, found: Contest, limit: float, conforms: Conformance, cost: int, rounds: int = 1) -> Audit:
    """A violation if the contest refutes the claim, or if the noise does not have its law.

    limit: the lower limit on ε to report; cost: all rounds observed; rounds: the rounds of each observation.
    """
    if found.stopped is not None:
        pairs = f"{found.stopped} pairs" + (" of games" if rounds > 1 else "")
        return Audit("VIOLATION", claim, f"refuted after {pairs}", 2 * rounds * found.stopped, limit)
    words = law_words(conforms, found.level)
    if conforms.p < found.level:
        return Audit("VIOLATION", claim, words, cost, limit)
    return Audit("CONSISTENT", claim, f"{words}; not refuted by {found.test}", cost, limit)


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


def refuted_share(met: Callable[[float], Contest]) -> float | None:
    """The largest share of its noise at which an algorithm is refuted, to one part in 50; None if 1/64 is not."""
    few, many = 1 / 64, 1.0
    if met(few).stopped is None:
        return None
    while many / few > 1.02:
        middle = math.sqrt(few * many)
        few, many = (middle, many) if met(middle).stopped is not None else (few, middle)
    return few


def accounted(target: Target[View], so_far: Audit, mu: float, conforms: Conformance | None = None) -> Audit:
    """The verdict on Gaussian noise, whose exact μ for a datum is known; conforms: the test of the law, if any."""
    claim, level = target.claim, target.alpha / 2
    words = "" if conforms is None else f"{law_words(conforms, level)}; "
    if conforms is not None and conforms.p < level:
        return replace(so_far, verdict="VIOLATION", found=law_words(conforms, level))
    seen, allowed = gaussian.epsilon_of(mu, claim.delta), gaussian.mu_of(claim.epsilon, claim.delta)
    if mu > (1 + EXACT) * allowed:
        most = f"μ = {mu:.6g} where {allowed:.6g} is allowed"
        return replace(
            so_far, verdict="VIOLATION", found=f"a datum costs ε = {at_least(seen)}, {most}", epsilon_seen=seen
        )
    found = f"{words}a datum costs at most ε = {at_most(seen)}, exactly: μ = {mu:.6g}"
    share = 1.0 if conforms is None else conforms.share
    least = None if share is None else gaussian.epsilon_of((1 + EXACT) * max(mu / share, allowed), claim.delta)
    return replace(so_far, found=found, epsilon_seen=seen, refutable=least)


def weighed(
    target: Target[View],
    words: str,
    scores: Scores,
    coins: Floats,
    conforms: Conformance,
    cost: int,
    rounds: int,
    noise: str,
) -> Audit:
    """The verdict on the claim (ε, δ) by `scores(share)`, log-likelihood ratios under this share of the noise.

    The least ε that the budget refutes is that of the same algorithm with less noise: Gaussian, or Laplace.
    """
    claim = target.claim

    def met(share: float) -> Contest:
        return contest(target, scores(share), coins, claim.epsilon, claim.delta)

    found = met(1.0)
    result = decided(words, found, found.limit(), conforms, cost, rounds)
    if result.verdict == "VIOLATION":
        return result
    if noise == "Wishart":  # less of it is no Wishart noise
        return replace(result, refutable=found.refutable())
    share = refuted_share(met)
    if share is None:
        return result
    if noise == "Laplace":
        return replace(result, refutable=claim.epsilon / share)
    mu = gaussian.mu_of(claim.epsilon, claim.delta) / share
    return replace(result, refutable=gaussian.epsilon_of(mu, claim.delta))


def like_these(rounds: int, horizon: float) -> str:
    """The assumption on the rounds that were not played, in words; "" if all were."""
    return f"rounds after {rounds:,} are like these" if rounds < int(horizon) else ""


def claimed(target: Target[View]) -> str:
    """The claim in words, for a view with one number for each gain."""
    return f"{target.claim} of {OBSERVED[type(target.view)]}, {'Gaussian' if target.gaussian else 'Laplace'} noise"
