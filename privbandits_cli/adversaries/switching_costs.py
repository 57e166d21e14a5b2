"""Switching costs: the multi-scale random walk of Dekel, Ding, Koren & Peres 2014, Figure 1.

W_0 = 0, W_t = W_ρ(t) + ξ_t, where the ξ_t are i.i.d. N(0, σ²) and ρ(t) is t with its lowest set bit cleared. One
uniformly random arm χ is better by `gap`: the loss of arm x is W_t + 1/2 - gap 1{x = χ}, clipped to [0, 1], and the
gain is one minus the loss. At horizon T with K arms, σ = 1/(9 log2 T) and gap = K^(1/3) T^(-1/3) / (9 log2 T).

A switch earns 0 ("by giving the lowest possible gain of 0", Tossou & Dimitrakakis 2017, section 2.1), and the learner
observes that 0. The paper does not say what its code showed the learner; `penalty_observed: false` shows the forfeited
gain. `memory: m` is the m-bounded memory adversary of Theorem 3.4: a gain counts only once its arm has been held for m
rounds, and m = 1 is plain switching costs. The first play is no switch, and the best fixed arm never pays. The gap is
so small (40 gains in total at T = 2^18) that the regret here is the price of switching.
"""

import math
from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.random import Generator
from pydantic import Field

from privbandits_cli.games import bandit
from privbandits_cli.games.drawing import fill_of
from privbandits_cli.games.parameters import left_out
from privbandits_cli.numerics.arrays import aligned
from privbandits_cli.numerics.jit import compiled
from privbandits_cli.numerics.types import Blocks, Floats, Tables


def walk(nodes: Floats, first: int, steps: Floats, advantage: Floats, gains: Floats) -> None:
    """Fill `gains[round, arm, lane]` from round `first` on with 1/2 - W + advantage, clipped; `steps[round, lane]`: ξ.

    `nodes[j]` is W at the last round so far with its j lowest bits cleared, of each lane. Rounds with lowest set bit j
    are computed after those with a higher one, which contain their ρ(t).
    """
    w, (n_arms, n) = np.empty_like(steps), advantage.shape
    last = first + len(steps) - 1
    top = 0
    while last >> top > 1:
        top += 1
    for j in range(top, -1, -1):
        for t in range((first + (1 << j) - 1 >> j | 1) << j, last + 1, 2 << j):
            parent = t - (1 << j)
            before = w[parent - first] if parent >= first else nodes[j + 1]
            for lane in range(n):
                w[t - first, lane] = before[lane] + steps[t - first, lane]
    for j in range(top + 1):
        node = last >> j << j
        if node >= first:
            for lane in range(n):
                nodes[j, lane] = w[node - first, lane]
    for k in range(len(steps)):
        for arm in range(n_arms):
            for lane in range(n):
                gains[k, arm, lane] = min(1.0, max(0.0, 0.5 - w[k, lane] + advantage[arm, lane]))


class Parameters(bandit.Adversary):
    """The scale and gap of the walk, and the cost of a switch."""

    display = "Switching costs"

    sigma: float = left_out("σ, deviation of a step; default 1/(9 log2 T)", gt=0, le=1e9)
    gap: float = left_out("gap of the best arm; default K^(1/3) T^(-1/3) / (9 log2 T)", ge=0, le=1)
    memory: int = Field(1, ge=0, description="m: rounds an arm must have been held before a gain counts")
    penalty_observed: bool = Field(True, description="whether the learner observes the 0 of a switch")

    def reaction(self) -> tuple[int, bool]:
        return self.memory, self.penalty_observed

    def tuned(self, setting: bandit.Setting) -> Self:
        sigma = 1 / (9 * max(1.0, math.log2(setting.horizon)))
        gap = min(1.0, (setting.n_arms / setting.horizon) ** (1 / 3) * sigma)
        return self.replace(sigma=self.sigma or sigma, gap=gap if self.gap is None else self.gap)

    def gains_in_lanes(self, setting: bandit.Setting, rngs: Sequence[Generator], rounds: Blocks) -> Tables:
        advantage = np.zeros((setting.n_arms, len(rngs)))
        for lane, rng in enumerate(rngs):
            advantage[rng.integers(setting.n_arms), lane] = self.gap
        draw = fill_of("normal", *rngs)
        nodes, room, steps = np.zeros((64, len(rngs))), np.empty(0), np.empty(0)
        for block in rounds():
            if len(room) != len(block):
                room, steps = aligned((len(block), *advantage.shape), np.float64), np.empty((len(block), len(rngs)))
            draw(steps)
            steps *= self.sigma
            compiled(walk)(nodes, block.start, steps, advantage, room)
            yield room
