"""A study with a few planned looks: it may end early, and never has more than a fixed number of users (ours).

All arms are played equally. At look i of M, after n_i plays of each arm that is still in the study, the gains since the
last look and one number Lap(1/ε) are added to the noisy sum of each of these arms. An arm is dropped if the evidence
against it exceeds a threshold. If one arm is left, it is the answer, which is *certified*. After the last look the
answer is the arm with the largest noisy sum among those that are left.

Half of δ is spent on drops, which are right whatever the means are. The other half is spent on the last answer, which
relies on a lead of at least `gap`. docs/privacy/best_arm.md has the proof.

Units: plays of an arm, users in all. Domain: K >= 2, gains in [0, 1], 0 < ε <= infinity, 0 < δ < 1.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.identification.costs import noisy_transport, private_transport, transport
from privbandits_cli.identification.designs import one_shot_plays
from privbandits_cli.identification.thresholds import gamma_tail
from privbandits_cli.numerics.jit import compiled
from privbandits_cli.numerics.kl import clipped
from privbandits_cli.numerics.streams import stream
from privbandits_cli.numerics.types import Floats, Ints

LOOKS = 4  # after an eighth, a quarter, a half, and all of the plays


class Looks(NamedTuple):
    """A plan of looks."""

    n_arms: int
    epsilon: float
    plays: tuple[int, ...]  # n_1 < ... < n_M, of each arm
    bar: float  # the threshold for the evidence

    @property
    def users(self) -> int:
        """The most users that the study can need."""
        return self.n_arms * self.plays[-1]


class Studies(NamedTuple):
    """What some simulated studies came to, `[trials]` each."""

    users: Ints
    answers: Ints
    certified: NDArray[np.bool_]


def planned(
    n_arms: int, gap: float, epsilon: float, delta: float, centre: float = 0.5, looks: int = LOOKS, numbers: int = 0
) -> Looks:
    """The plan with the fewest plays whose error is at most δ if the lead is at least `gap`.

    numbers: the Laplace numbers that are counted in the last sums; by default all, which is one for each look.
    """
    n = one_shot_plays(n_arms, gap, epsilon, 0.5 * delta, centre, numbers or looks)
    plays = sorted({-(-n // 2**i) for i in range(looks)})
    return Looks(n_arms, epsilon, tuple(plays), threshold(n_arms, 0.5 * delta, len(plays)))


def threshold(n_arms: int, delta: float, looks: int) -> float:
    """The c with (1 + c) e^-c = δ/((K - 1) M): any wrong drop at M looks has probability at most δ."""
    return gamma_tail(math.log((n_arms - 1) * looks / delta))


# ------------------------------------------------------------------------------------------ simulation


def fill_studies(
    sums: Floats, plays: Floats, epsilon: float, bar: float, users: Ints, answers: Ints, certified: Ints
) -> None:
    """Hold studies with the noisy sums `[trial, look, arm]`; each of the last three is filled, `[trial]`."""
    trials, looks, n_arms = sums.shape
    for trial in range(trials):
        left, out, before = n_arms, np.zeros(n_arms), 0.0
        for look in range(looks):
            n, leader = plays[look], -1
            users[trial] += int(left * (n - before))
            before = n
            for a in range(n_arms):
                if out[a] == 0.0 and (leader < 0 or sums[trial, look, a] > sums[trial, look, leader]):
                    leader = a
            answers[trial] = leader
            up = clipped(sums[trial, look, leader] / n)
            for a in range(n_arms):
                low = clipped(sums[trial, look, a] / n)
                if a != leader and out[a] == 0.0 and evidence(up, low, n, look + 1.0, epsilon, bar) > bar:
                    out[a] = 1.0
                    left -= 1
            if left == 1:
                certified[trial] = 1
                break


def evidence(up: float, low: float, n: float, numbers: float, epsilon: float, bar: float) -> float:
    """The evidence against the arm with the noisy mean `low`; a larger one, if that is not above `bar` either."""
    if epsilon == math.inf:
        return transport(up, low, n, n)
    most = private_transport(up, low, n, n, epsilon)
    return noisy_transport(up, low, n, numbers, n, numbers, epsilon) if most > bar else most


def simulate(plan: Looks, means: Sequence[float] | Floats, trials: int, seed: int) -> Studies:
    """Studies with Bernoulli gains; the first ones do not depend on the number of all."""
    steps = np.diff(plan.plays, prepend=0)[:, None]
    shape = trials, len(plan.plays), plan.n_arms
    gains = stream(seed, "gains", "looks", trial=0).binomial(steps, np.asarray(means, float), shape)
    sums = np.cumsum(gains, axis=1).astype(float)
    if plan.epsilon < math.inf:
        noise = stream(seed, "laplace", "looks", trial=0).laplace(0.0, 1 / plan.epsilon, shape)
        sums += np.cumsum(noise, axis=1)
    users, answers, certified = (np.zeros(trials, np.int64) for _ in range(3))
    plays = np.array(plan.plays, float)
    compiled(fill_studies)(sums, plays, plan.epsilon, plan.bar, users, answers, certified)
    return Studies(users, answers, certified == 1)
