"""AdaP-GOPE (ours, after Hanna, Girgis, Fragouli & Diggavi 2022 and Azize & Basu 2023): Phased GOPE with ε-privacy.

Phased elimination on G-optimal designs (`phased_gope`). At the end of a phase, the sum of the rewards of each arm that
it played gets Laplace noise of scale b = w/ε, where w is the most by which two rewards differ. Estimates use these
noisy sums alone.

Privacy: the arms are public and stay the same, and the reward of one round is replaced. Which arms are played, and how
often, follows from the arms and the noisy sums before. A reward is in one sum, which is released once, and moves it by
at most w. So all noisy sums together are ε-private.

Width: the error of the estimate of x is Σ h_t η_t + Σ h_a Z_a. The first sum is over the rounds of the phase, with h_t
= x' V^-1 x_t and σ-subgaussian noise η; the squares of these h_t sum to x' V^-1 x <= G. The second sum is over the arms
a of the phase, with h_a = x' V^-1 a, |h_a| <= G, and Laplace numbers Z of scale b; let A² be the largest Σ h_a². For 0
<= λ b G < 1 the logarithm of the second sum's moment-generating function is Σ -ln(1 - λ² b² h_a²) <= λ² b² A²/(1 - λ b
G). So the error is sub-gamma with variance factor σ² G + 2 b² A² and scale b G, and exceeds √(2 (σ² G + 2 b² A²) L) + b
G L with probability at most e^-L (Boucheron, Lugosi & Massart 2013, Theorem 2.3). L = ln(K l (l + 1)/α) for phase l: it
is enough that the best arm's estimate is not too low, and that those of the others are not too high. c is as small as
it can be with this width at most β, up to 5 %.
"""

import math

import numpy as np
from numpy.random import Generator

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.accounting.releases import Release, noised
from privbandits_cli.games import views
from privbandits_cli.games.contextual import Floats, Setting
from privbandits_cli.mechanisms.phased_design import (
    CLOSE,
    Laplacian,
    advance,
    allot,
    contest,
    design,
    enough,
    estimate,
    logarithm_of,
    played,
    product,
)
from privbandits_cli.numerics.jit import Record, Records, once, record

GROWTH = 1.05  # c grows by this factor until the width is at most β


class Parameters(Laplacian):
    """ε, and the failure probability."""

    display = "AdaP-GOPE"

    def length(self, setting: Setting, phase: int, dimension: float, support: float) -> float:
        """A <= √s G for s arms; rounding to whole plays makes h_a no larger than G <= g/c."""
        value, log = (1 + CLOSE) * dimension, logarithm_of(setting.n_arms, phase, self.alpha)
        gauss = setting.known().sigma * math.sqrt(2 * value * log)
        tail = self.scale(setting) * value * (2 * math.sqrt(support * log) + log)
        return GROWTH * enough(2.0**-phase, gauss, tail)

    def state(self, setting: Setting) -> Records:
        known, k = setting.known(), setting.n_arms
        return record(
            variance=known.sigma**2,
            scale=self.scale(setting),
            alpha=self.alpha,
            noisy=np.zeros(k),  # the noisy sum of each arm in the last phase that played it
            **contest(known, k),
        )

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """ε, because a reward is in one sum, which is noised once; the attack is a reward at the ends of its range."""
        view, neighbours = "all noisy sums, and so all arms played", self.neighbours(setting)
        one, source = Release("laplace", self.epsilon * sensitivity), "a reward is in one noisy sum"
        surely = one.part(float(self.releases(setting)))
        return noised(one, delta, source, "noisy sum", view, surely=surely, neighbours=neighbours)

    def mechanism(self) -> str:
        return "Laplace noise on each arm's sum of rewards in a phase"

    def view(self, setting: Setting) -> views.View | None:
        return views.Noisy("noisy", public=True, fixed=True)


def choose(state: Record, arms: Floats, rng: Generator) -> int:
    if state.rounds == 0:
        if state.phase > 0:
            estimate(state, state.noisy)
        design(state, arms)
        share(state)
    return int(state.arm)


@once
def share(state: Record) -> float:
    """Allot c plays to the arms, the least c with a width of at most β, up to GROWTH. Returns c."""
    log, value = logarithm_of(len(state.arms), state.phase, state.alpha), state.value
    tail = state.scale * (2.0 * spread(state, state.weights) * np.sqrt(log) + value * log)
    c = enough(state.beta, np.sqrt(2.0 * state.variance * value * log), tail)
    while True:
        largest = allot(state, c)
        square = 2.0 * (state.scale * spread(state, state.counts)) ** 2
        if np.sqrt(2.0 * (state.variance * largest + square) * log) + state.scale * largest * log <= state.beta:
            return c
        c *= GROWTH


@once
def spread(state: Record, weights: Floats) -> float:
    """A, the largest root of Σ (x' V^-1 a)² over the arms a with a weight."""
    largest = 0.0
    for n in range(state.left):
        square = 0.0
        for m in range(state.left):
            if weights[state.arms[m]] > 0:
                square += product(state, state.arms[n], state.arms[m]) ** 2
        largest = max(largest, square)
    root: float = np.sqrt(largest)
    return root


def update(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    if played(state, reward):
        state.noisy[state.arm] = state.sums[state.arm] + state.scale * rng.laplace(0.0, 1.0)
        if state.rounds > 0:
            advance(state)
