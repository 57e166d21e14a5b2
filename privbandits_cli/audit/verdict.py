"""The verdict of an audit: a bet between two worlds on what was observed, and a test of the law of the noise."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.accounting import gaussian
from privbandits_cli.audit import evidence
from privbandits_cli.audit.evidence import Test
from privbandits_cli.audit.target import Target
from privbandits_cli.games.views import View
from privbandits_cli.numerics.types import Floats

Verdict = Literal["VIOLATION", "CONSISTENT", "NOT AUDITABLE"]

Scores = Callable[[float], Floats]

LAW = "Laplace noise of scale 1/ε times its range"
LEARN = 0.25  # share of the budget on which events are chosen; the rest decides
REPORTED = 0.05  # level of the lower limits on ε that are reported; verdicts have the level asked for

TESTS = {"bets": evidence.bet, "counts": evidence.counts}


@dataclass(frozen=True)
class Audit:
    """The result of an audit."""

    verdict: Verdict
    claim: str
    found: str  # in words
    cost: int  # observations used, or all of the budget
    epsilon_seen: float | None = None  # a lower limit on ε, where the view has one
    refutable: float | None = None  # the least true ε for which this budget would have refuted the claim


@dataclass(frozen=True)
class Contest:
    """Two worlds by a coin: an event was chosen on the first `learn` scores, the claim put to the test on the rest.

    hits: which of the pairs lie in the event, in the likelier world and in the other; stopped: after how many pairs
    the claim (ε, δ) was refuted at this level.
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
        """The least true ε that as many pairs refute, by an event of probability p; default: the observed share."""
        pairs = len(self.hits[0])
        p = p or max(1 / pairs, float(self.hits[0].mean()))
        return evidence.refutable(pairs, p, self.epsilon, self.delta, self.level)


def contest(target: Target[View], score: Floats, coins: Floats, epsilon: float, delta: float = 0.0) -> Contest:
    """Put the claim (ε, δ) to the test on these scores, at half of the target's level; the noise's law has the rest."""
    learn, level = int(LEARN * len(score)), target.alpha / 2
    pairs = min(int(np.sum(coins[learn:] == c)) for c in (0, 1))
    x, y = (score[learn:][coins[learn:] == c][:pairs] for c in (1, 0))
    early = [score[:learn][coins[:learn] == c] for c in (1, 0)]
    event = evidence.best_event(early[0], early[1], epsilon, delta)
    hits = event.hits(x, y)
    stopped = TESTS[target.test](*hits, epsilon, delta, level)
    return Contest(epsilon, delta, level, target.test, event, learn, hits, stopped)


def decided(claim: str, found: Contest, limit: float, conforms: float, cost: int, rounds: int = 1) -> Audit:
    """A violation if the contest refutes the claim, or if the p-value `conforms` of the noise's law is below the level.

    limit: the lower limit on ε to report; cost: all rounds observed; rounds: of each of the contest's observations.
    """
    if found.stopped is not None:
        pairs = f"{found.stopped} pairs" + (" of games" if rounds > 1 else "")
        return Audit("VIOLATION", claim, f"refuted after {pairs}", 2 * rounds * found.stopped, limit)
    if conforms < found.level:
        return Audit("VIOLATION", claim, f"the noise does not have this law (p = {conforms:.2g})", cost, limit)
    return Audit("CONSISTENT", claim, f"noise conforms (p = {conforms:.2g}); not refuted by {found.test}", cost, limit)


def refuted_share(met: Callable[[float], Contest]) -> float | None:
    """The largest share of its noise at which an algorithm is refuted, to one part in 50; None if 1/64 is too much."""
    few, many = 1 / 64, 1.0
    if met(few).stopped is None:
        return None
    while many / few > 1.02:
        middle = math.sqrt(few * many)
        few, many = (middle, many) if met(middle).stopped is not None else (few, middle)
    return few


def weighed(
    target: Target[View], words: str, scores: Scores, coins: Floats, conforms: float, cost: int, rounds: int, noise: str
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


def judge(
    target: Target[View], observed: Floats, coins: Floats, what: str, law: str = LAW, conforms: float | None = None
) -> Audit:
    """The verdict on noisy numbers `observed` that would equal their coins without noise of this law.

    conforms: the p-value of the noise, if its scale, or the canary's range, varies from round to round. The least ε
    that the budget refutes is then found by a contest on a smaller share of the same noise.
    """
    epsilon = target.claim.epsilon

    def met(share: float) -> Contest:
        less = observed if share == 1 else coins + share * (observed - coins)
        return contest(target, less, coins, epsilon)

    found, varies = met(1.0), conforms is not None
    limit = guesses_lower_limit(observed, coins, found.event, found.learn)
    if conforms is None:
        conforms = evidence.conformance(observed - coins, 1 / epsilon)
    result = decided(f"ε = {epsilon:.4g} of each noisy {what}, {law}", found, limit, conforms, len(observed))
    if not varies:  # half of the noise lies beyond the canary
        return replace(result, refutable=found.refutable(0.5))
    share = refuted_share(met) if result.verdict == "CONSISTENT" else None
    return replace(result, refutable=epsilon / share) if share else result


def guesses_lower_limit(observed: Floats, coins: Floats, event: evidence.Event, learn: int) -> float:
    """A lower limit on ε from one run: guess each coin from a noisy number that lies outside [0, 1], else abstain.

    Under Laplace noise these guesses are right with the full odds e^ε. If the event that was chosen lies elsewhere, as
    without noise or with stale noise, it guesses the rounds after the first `learn`. Each of the two limits has half
    the level, and the larger one counts.
    """
    by_model = np.where(observed > 1, 1.0, np.where(observed < 0, 0.0, np.nan))
    by_event = np.where((observed > event.threshold) == (event.above != event.swapped), 1.0, 0.0)
    by_event[:learn] = np.nan
    limits = []
    for guess in (by_model, by_event):
        made = ~np.isnan(guess)
        right = int(np.sum(guess[made] == coins[made]))
        limits.append(evidence.epsilon_from_guesses(right, int(made.sum()), REPORTED / 2))
    return max(limits)
