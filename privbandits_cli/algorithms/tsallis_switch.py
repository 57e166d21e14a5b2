"""Tsallis-Switch (Rouyer, Seldin & Cesa-Bianchi 2021): Tsallis-INF in growing blocks, when each switch costs λ.

Block n plays one arm for B_n = max(⌈a_n⌉, 1) rounds, where a_n = (3λ/2) √(n/K). Tsallis-INF draws the arm, with
η_n = 2/(a_n + 1) √(2/n). After arm i was played with losses l_t = 1 - gain: L_i += Σ_t l_t / p_i. The paper's bound on
the regret, with the cost of switches, is 5.25 (λK)^(1/3) T^(2/3) + O(√(KT)) against oblivious adversaries.

We had only the paper's abstract. B_n and η_n are recalled. The bound is our own derivation: at λ = 1, the first term of
`regret_bound` is that of the paper, with 5.243 for its 5.25.
"""

import math

import numpy as np
from pydantic import Field

from privbandits_cli.algorithms.exp3_p import drawn
from privbandits_cli.algorithms.tsallis_inf import solve
from privbandits_cli.games import bandit
from privbandits_cli.games.bandit import Draws, Floats, Setting
from privbandits_cli.numerics.jit import Record, Records, record


class Blocks(bandit.Algorithm):
    """What Tsallis-Switch and DP-Tsallis-Switch share: λ, and the first state."""

    cost: float = Field(1.0, ge=1e-9, le=1e9, description="λ, the cost of a switch")

    def first(self, setting: Setting, scale: float = 0.0) -> Records:
        """The state before the first block; scale: that of the Laplace noise on the loss of a block."""
        n_arms = setting.n_arms
        state = record(
            n=1,
            arm=0,
            played=0,  # rounds of the block so far
            length=0,
            loss=0.0,  # the loss of the block so far
            eta=0.0,
            growth=1.5 * self.cost / math.sqrt(n_arms),
            scale=scale,
            variance=2 * scale**2,
            losses=np.zeros(n_arms),
            p=np.full(n_arms, 1 / n_arms),
        )
        begin(state[0])
        return state


class Parameters(Blocks):
    """λ."""

    read = "secondary"
    display = "Tsallis-Switch"

    def state(self, setting: Setting) -> Records:
        return self.first(setting)

    def caveats(self, setting: Setting) -> list[str]:
        return ["No privacy is proved: with losses, the difference between two tables is amplified."]

    def regret_bound(self, rounds: Floats, setting: Setting, memory: int = 0) -> Floats | None:
        """3√2 (λN + √(KN)) + mN, where N = min(t, 1 + (t √K/λ)^(2/3)) is at least the number of blocks so far.

        Our own derivation. The first term is the sum of the stability, Σ_n η_n/2 √K B_n² <= √2 (3/2 λN + 2 √(KN))
        because B_n <= a_n + 1, and of the penalty, 4 (√K - 1)/η_N <= √2 (3/2 λN + √(KN)). Memory m costs at most m
        rounds of each block. N follows from the length of blocks 1 to N - 1, at least λ (N - 1)^(3/2)/√K rounds. The
        last block may be cut short.
        """
        k = setting.n_arms
        blocks = np.minimum(rounds, 1 + (rounds * math.sqrt(k) / self.cost) ** (2 / 3))
        bound: Floats = 3 * math.sqrt(2) * (self.cost * blocks + np.sqrt(k * blocks)) + memory * blocks
        return bound


def begin(state: Record) -> None:
    """Set the length and the learning rate of block n. With noise, (a_n + 1)² grows by the variance of the noise."""
    a = state.growth * np.sqrt(state.n)
    state.length = max(1, int(np.ceil(a)))
    state.eta = 2.0 * np.sqrt(2.0 / (state.n * ((a + 1.0) ** 2 + state.variance)))


def choose(state: Record, rng: Draws) -> int:
    if state.played == 0:
        solve(state.losses, state.eta, state.p)
        state.arm = drawn(state.p, rng.uniform)
    return int(state.arm)


def ends(state: Record, gain: float) -> bool:
    """Add a gain to its block. Returns whether it is the last one."""
    state.loss += 1.0 - gain
    state.played += 1
    return bool(state.played == state.length)


def end(state: Record, arm: int, noise: float) -> None:
    """Add the loss of the block to the estimate of its arm, and begin the next block."""
    state.losses[arm] += (state.loss + noise) / state.p[arm]
    state.loss = 0.0
    state.played = 0
    state.n += 1
    begin(state)


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    if ends(state, gain):
        end(state, arm, 0.0)


def probabilities(state: Record, out: Floats) -> None:
    if state.played == 0:
        solve(state.losses, state.eta, out)
    else:
        out[:] = 0.0
        out[state.arm] = 1.0
