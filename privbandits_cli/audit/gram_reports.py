"""Audit of the reports of a locally private contextual learner: one run, every round a canary.

The canary is one of two unit arms, with rewards 1 and -1, at the angle at which a report moves most. Observed is what
each round adds to the sums of reports, through which alone a datum may act: V without its shift, and u~, of the next
choice must be these sums.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from privbandits_cli.accounting import gaussian
from privbandits_cli.audit import evidence, laws
from privbandits_cli.audit.ellipsoids import bound, indefinite, inverse, lower, shift, strays, theta
from privbandits_cli.audit.target import Target
from privbandits_cli.audit.verdict import Audit, Contest, contest, decided, refuted_share
from privbandits_cli.games.contextual import Floats, choose, update
from privbandits_cli.games.ellipsoid import optimistic
from privbandits_cli.games.views import GramReport
from privbandits_cli.numerics.jit import Records, unbound

reports: Any = unbound  # bound when a loop is compiled

COSINE = 0.25  # between the arms of the two canaries: a report moves by √4.5
ROUNDS = 2**15  # at most: later sums have fewer digits of each report


def observe_reports(
    states: Records,
    coins: Floats,
    data: Floats,
    arms: Floats,
    observed: Floats,
    wrong: NDArray[np.int64],
    rng: Generator,
) -> None:
    """`observed[round, d, d + 1]` is what a round reports; data: the two canaries, `[2, d + 1]`.

    wrong: in how many rounds the arm, or V or u~, is not the one of the sums, `[2]`.
    """
    d = data.shape[1] - 1
    v, u = np.zeros((d, d)), np.zeros(d)
    state = states[0]
    before = reports(state).copy()
    for t in range(len(coins)):
        stale = indefinite(state)
        wrong[0] += choose(state, arms, rng) != optimistic(state, arms)
        sums = reports(state)
        for i in range(d):
            for j in range(i + 1):
                v[i, j] = v[j, i] = sums[i, j]
            v[i, i] += shift(state)
            u[i] = sums[i, d]
        if indefinite(state) == stale:
            wrong[1] += strays(inverse(state), theta(state), v, u)
        row = data[int(coins[t])]
        update(state, row[:d], row[d], rng)
        observed[t] = reports(state) - before
        before[:] = reports(state)


def audit_reports(target: Target[GramReport]) -> Audit:
    """Whether reports reveal more of their round than (ε, δ), and whether their noise has its law."""
    view, claim, test = target.view, target.claim, target.test
    d, sigma, rounds = target.setting.known().dimension, view.noise.sigma, min(target.budget, ROUNDS)
    data = np.zeros((2, d + 1))
    data[:, -1], data[:, 0] = (1.0, -1.0), 1.0
    if d > 1:
        data[1, :2] = COSINE, math.sqrt(1 - COSINE**2)
    coins = target.coins(rounds)
    arms = target.stream("arms").standard_normal((d, target.setting.n_arms))
    observed, wrong = np.empty((rounds, d, d + 1)), np.zeros(2, np.int64)
    loop = target.loop(observe_reports, reports=target.at(view.reports), **bound(target))
    loop(target.state.copy(), coins, data, arms, observed, wrong, target.stream("noise"))
    words = f"{claim} of each report, Gaussian noise of σ = {sigma:.4g} on it"
    if wrong.any():
        what = "another arm is played than the sum of the reports asks for" if wrong[0] else "more is used than reports"
        return Audit("VIOLATION", words, f"{what}, in {wrong.max()} of {rounds} rounds", rounds)
    free = lower(d)
    ends = (data[:, :-1, None] * data[:, None, :])[:, free] / sigma
    truth, noisy = ends[coins.astype(int)], observed[:, free] / sigma
    level = target.alpha / 2  # half for the bet, half for the noise's law

    def met(share: float) -> Contest:
        """The contest on this share of the noise."""
        score = (truth + share * (noisy - truth)) @ (ends[1] - ends[0])
        return contest(score, coins, claim.epsilon, claim.delta, level, test)

    noise = (noisy - truth).ravel()
    found, conforms = met(1.0), evidence.conformance(laws.as_laplace(noise, laws.log_tail(noise, 1, True)), 1.0)
    result = decided(words, found, found.limit(claim.delta), conforms, level, test, rounds)
    share = refuted_share(lambda share: met(share).stopped is not None) if result.verdict == "CONSISTENT" else None
    if share is None:
        return result
    most = gaussian.epsilon_of(gaussian.mu_of(claim.epsilon, claim.delta) / share, claim.delta)
    return replace(result, refutable=most)
