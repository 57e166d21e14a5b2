"""Audits of what one round of a contextual learner tells: its report, and the arm itself where that is private, too.

A report is watched in `state.reports`, by which alone a datum may act: V - 2Υ I and u~ of the next choice must be
their sum. One run, every round a canary: one of two unit arms with rewards 1 and -1, at the angle where a report moves
most. An answer is the arm of a round in which one of two arms is best by far, by a coin; the rounds are forks of one
state, since other rounds are what the base's own audit is for.
"""

import math
from dataclasses import replace

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from privbandits_cli.accounting import gaussian
from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.algorithms.ldp_linucb import Parameters as Local
from privbandits_cli.algorithms.plain_dp_linucb import Parameters as Plain
from privbandits_cli.audit import evidence, laws
from privbandits_cli.audit.grams import beside, strays
from privbandits_cli.audit.verdict import Audit, Contest, Steps, Test, compiled, contest, refuted_share
from privbandits_cli.games.contextual import Floats, Setting, choose, update
from privbandits_cli.games.ellipsoid import optimistic
from privbandits_cli.numerics.jit import Records
from privbandits_cli.numerics.streams import stream

COSINE = 0.25  # between the arms of the two canaries: a report moves by √4.5
ROUNDS = 2**15  # of reports, at most: later sums have fewer digits of each


def watch_rows(
    states: Records, coins: Floats, data: Floats, arms: Floats, seen: Floats, wrong: NDArray[np.int64], rng: Generator
) -> None:
    """`seen[round, d, d + 1]` is what a round reports; data: the two canaries, `[2, d + 1]`."""
    d = data.shape[1] - 1
    v, u = np.zeros((d, d)), np.zeros(d)
    state = states[0]
    before = state.reports.copy()
    for t in range(len(coins)):
        stale = state.indefinite
        wrong[0] += choose(state, arms, rng) != optimistic(state, arms)
        shift = 2.0 * state.growth * np.sqrt(state.t)
        for i in range(d):
            for j in range(i + 1):
                v[i, j] = v[j, i] = state.reports[i, j]
            v[i, i] += shift
            u[i] = state.reports[i, d]
        if state.indefinite == stale:
            wrong[1] += strays(state, v, u)
        row = data[int(coins[t])]
        update(state, row[:d], row[d], rng)
        seen[t] = state.reports - before
        before[:] = state.reports


def audit_rows(
    algorithm: Local, setting: Setting, bound: Steps, state: Records, claim: Guarantee, alpha: float,
    budget: int, seed: int, test: Test,
) -> Audit:  # fmt: skip
    """Whether reports tell more of their round than (ε, δ), and whether their noise has its law."""
    d, sigma, rounds = setting.known().dimension, algorithm.sigma(), min(budget, ROUNDS)
    data = np.zeros((2, d + 1))
    data[:, -1], data[:, 0] = (1.0, -1.0), 1.0
    if d > 1:
        data[1, :2] = COSINE, math.sqrt(1 - COSINE**2)
    coins = stream(seed, "audit", "coins", trial=0).integers(0, 2, rounds).astype(float)
    arms = stream(seed, "audit", "arms", trial=0).standard_normal((d, setting.n_arms))
    seen, wrong = np.empty((rounds, d, d + 1)), np.zeros(2, np.int64)
    rng = stream(seed, "audit", "noise", trial=0)
    compiled(watch_rows, bound | beside(str(state.dtype.descr)))(state.copy(), coins, data, arms, seen, wrong, rng)
    said = f"{claim} of each report, Gaussian noise of σ = {sigma:.4g} on it"
    if wrong.any():
        what = "another arm is played than the sum of the reports asks for" if wrong[0] else "more is used than reports"
        return Audit("VIOLATION", said, f"{what}, in {wrong.max()} of {rounds} rounds", rounds)
    kept = np.tril(np.ones((d, d + 1), bool)) | (np.arange(d + 1) == d)
    ends = (data[:, :-1, None] * data[:, None, :])[:, kept] / sigma
    truth, found_rows = ends[coins.astype(int)], seen[:, kept] / sigma
    level = alpha / 2  # half for the bet, half for the noise's law

    def met(share: float) -> Contest:
        """The bet, had there been this share of the noise."""
        score = (truth + share * (found_rows - truth)) @ (ends[1] - ends[0])
        return contest(score, coins, claim.epsilon, claim.delta, level, test)

    noise = (found_rows - truth).ravel()
    found, conforms = met(1.0), evidence.conformance(laws.as_laplace(noise, laws.log_tail(noise, 1, True)), 1.0)
    limit = found.limit(claim.delta)
    if found.stopped is not None:
        return Audit("VIOLATION", said, f"refuted after {found.stopped} pairs", 2 * found.stopped, limit)
    if conforms < level:
        return Audit("VIOLATION", said, f"the noise does not have that law (p = {conforms:.2g})", rounds, limit)
    most = None
    if share := refuted_share(lambda share: met(share).stopped is not None):
        most = gaussian.epsilon_of(gaussian.mu_of(claim.epsilon, claim.delta) / share, claim.delta)
    return Audit("CONSISTENT", said, f"noise conforms (p = {conforms:.2g}); not refuted by {test}", rounds, limit, most)


def watch_answers(states: Records, coins: Floats, best: Floats, played: NDArray[np.int64], rng: Generator) -> None:
    """`played[fork]`, the arm of a fork of the state; best: of each coin the arms, `[2, d, k]`."""
    for t in range(len(coins)):
        states[1] = states[0]
        played[t] = choose(states[1], best[int(coins[t])], rng)


def audit_answers(
    algorithm: Plain, setting: Setting, bound: Steps, state: Records, alpha: float, budget: int, seed: int, test: Test
) -> Audit:
    """Whether an arm tells more of its own round's arms than ε; what later ones tell is for the audit of the base."""
    said, level = f"ε = {algorithm.epsilon:.4g} of the arm of a round", alpha / 2
    rounds = max(64, budget // 4)
    best = np.zeros((2, setting.known().dimension, setting.n_arms))
    best[0, 0, 0] = best[1, 0, 1] = setting.known().norm
    coins = stream(seed, "audit", "coins", trial=0).integers(0, 2, rounds).astype(float)
    played, rng = np.empty(rounds, np.int64), stream(seed, "audit", "noise", trial=0)
    compiled(watch_answers, bound)(np.repeat(state, 2), coins, best, played, rng)
    score = 1.0 * (played == 1) - 1.0 * (played == 0)
    found = contest(score, coins, algorithm.epsilon, 0.0, level, test)
    limit, most = found.limit(0.0), found.refutable(algorithm.epsilon, 0.0, level)
    if found.stopped is not None:
        return Audit("VIOLATION", said, f"refuted after {found.stopped} pairs", 2 * found.stopped, limit)
    return Audit("CONSISTENT", said, f"not refuted by {test}", rounds, limit, most)


def both(own: Audit, base: Audit) -> Audit:
    """Of the arm of a round and of the base: the worse verdict, in the words of both."""
    worse = base if own.verdict == "CONSISTENT" else own
    claim, words = f"{own.claim}; {base.claim}", f"{own.found}; {base.found}"
    return replace(worse, claim=claim, found=words, cost=own.cost + base.cost, refutable=own.refutable)
