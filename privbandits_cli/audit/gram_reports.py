"""Audit of the reports of a locally private contextual learner: one run, every round a canary.

The canary is one of two unit arms, with rewards 1 and -1, at the angle that changes a report most. The audit observes
what each round adds to the sums of reports. A datum may act only through these sums: at the next choice, V without its
shift, and u~, must be equal to them.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from privbandits_cli.audit import laws
from privbandits_cli.audit.evidence import Conformance
from privbandits_cli.audit.target import Steps, Target
from privbandits_cli.audit.verdict import Audit, weighed
from privbandits_cli.games.contextual import Contexts, Floats, choose, update
from privbandits_cli.games.ellipsoid import optimistic
from privbandits_cli.games.views import Ellipsoid, GramReport
from privbandits_cli.numerics.jit import Record, Records, bind, unbound

reports: Any = unbound  # these are bound when a loop is compiled
shift: Any = unbound
inverse: Any = unbound
theta: Any = unbound
indefinite: Any = unbound

Counts = NDArray[np.int64]

COSINE = 0.25  # between the arms of the two canaries: a report moves by √4.5
ROUNDS = 2**15  # at most: later sums have fewer digits of each report
ROUNDING = 1e-7  # of V^-1 V


def bound(target: Target[Ellipsoid]) -> Steps:
    """What loops over this view call: the optimistic rule, and the check of what the learner plays by."""
    return {"optimistic": _rule(str(target.state.dtype.descr)), "strays": target.loop(strays)}


@cache
def _rule(layout: str) -> Callable[..., Any]:
    return bind(optimistic, "audit", layout)  # compiled on its own: not anew for each loop that calls it


def strays(state: Record, sums: Floats) -> bool:
    """Whether V^-1 and θ~ are not those of the V and u~ of these sums, `[d, d + 1]`, of which one triangle counts."""
    d = len(sums)
    triangle, u = np.tril(sums[:, :d]), sums[:, d]
    v = triangle + np.tril(triangle, -1).T + shift(state) * np.eye(d)
    size = np.abs(u).sum() + np.abs(v).max() * np.abs(theta(state)).sum()
    for i in range(d):
        for k in range(d):
            if not abs((v[i] * inverse(state)[:, k]).sum() - (1.0 if i == k else 0.0)) < ROUNDING:
                return True
        if not abs((v[i] * theta(state)).sum() - u[i]) <= ROUNDING * size:
            return True
    return False


def canaries(known: Contexts, cosine: float) -> Floats:
    """Two rows of full norm, `[2, d + 1]`: rewards ±B, and arms with this cosine between them."""
    rows = np.zeros((2, known.dimension + 1))
    rows[:, -1] = known.reward, -known.reward
    rows[:, 0] = known.norm
    if known.dimension > 1:
        rows[1, :2] = known.norm * cosine, known.norm * math.sqrt(1 - cosine**2)
    return rows


def moments(rows: Floats) -> Floats:
    """What a datum adds to the sums, `[d, d + 1]`, for each row: x x' and x y."""
    return rows[:, :-1, None] * rows[:, None, :]


def lower(d: int) -> NDArray[np.bool_]:
    """Which of the numbers `[d, d + 1]` are free: the lower triangle of a symmetric matrix, and the last column."""
    free: NDArray[np.bool_] = np.tril(np.ones((d, d + 1), bool)) | (np.arange(d + 1) == d)
    return free


def observe_reports(
    states: Records, coins: Floats, data: Floats, arms: Floats, observed: Floats, wrong: Counts, rng: Generator
) -> None:
    """`observed[round, d, d + 1]` is what a round reports; data: the two canaries, `[2, d + 1]`.

    wrong: the number of rounds in which [the arm, V or u~] does not follow from the sums, `[2]`.
    """
    state, d = states[0], data.shape[1] - 1
    before = reports(state).copy()
    for t in range(len(coins)):
        stale = indefinite(state)
        wrong[0] += choose(state, arms, rng) != optimistic(state, arms)
        if indefinite(state) == stale:
            wrong[1] += strays(state, reports(state))
        row = data[int(coins[t])]
        update(state, row[:d], row[d], rng)
        observed[t] = reports(state) - before
        before[:] = reports(state)


def audit_reports(target: Target[GramReport]) -> Audit:
    """Whether a report reveals more about its round than (ε, δ) allows, and whether its noise has the claimed law."""
    d, sigma, rounds = target.setting.known().dimension, target.view.noise.sigma, min(target.budget, ROUNDS)
    coins, data = target.coins(rounds), canaries(Contexts(d), COSINE)
    arms = target.stream("arms").standard_normal((d, target.setting.n_arms))
    observed, wrong = np.empty((rounds, d, d + 1)), np.zeros(2, np.int64)
    loop = target.loop(observe_reports, **bound(target))
    loop(target.state.copy(), coins, data, arms, observed, wrong, target.stream("noise"))
    words = f"{target.claim} of each report, Gaussian noise of σ = {sigma:.4g} on it"
    if wrong.any():
        what = "the arm does not follow from the sums of reports" if wrong[0] else "more is used than the reports"
        return Audit("VIOLATION", words, f"{what}, in {wrong.max()} of {rounds} rounds", rounds)
    ends, noisy = moments(data)[:, lower(d)] / sigma, observed[:, lower(d)] / sigma
    truth = ends[coins.astype(int)]

    def scores(share: float) -> Floats:
        shared: Floats = (truth + share * (noisy - truth)) @ (ends[1] - ends[0])
        return shared

    conforms = Conformance(laws.conformance(noisy - truth, 1, True))
    return weighed(target, words, scores, coins, conforms, rounds, 1, "Gaussian")
