"""DP-SE (Sajed & Sheffet 2019): successive elimination on noisy means, for gains in [0, 1].

In epoch e = 1, 2, ... each arm of S is played R times in turn. With D = 2^-e: R = ⌈max(32 ln(8 |S| e²/β) / D²,
8 ln(4 |S| e²/β) / (ε D))⌉ + 1. The mean of these R gains alone gets noise Lap(1/(ε R)). An arm leaves S if its noisy
mean is more than 2h + 2c below the largest; h = √(ln(8 |S| e²/β) / (2R)), c = ln(4 |S| e²/β) / (R ε).
Each gain is in one epoch of one arm, so the algorithm is ε-DP.

In the game best_arm it stops when one arm is left, which is wrong with probability at most β.
"""

from collections.abc import Mapping
from typing import ClassVar, Self

import numpy as np
from pydantic import Field

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.accounting.releases import Release, noised
from privbandits_cli.games import best_arm, views
from privbandits_cli.games.bandit import Draws, Setting
from privbandits_cli.games.parameters import Chance, left_out
from privbandits_cli.mechanisms.elimination import Eliminating, contest, pulled, reaches_a_mean
from privbandits_cli.numerics.jit import Record, Records, record


class Parameters(Eliminating):
    """ε, and the confidence β."""

    read = "paper"
    display = "DP-SE"
    also: ClassVar[Mapping[str, str]] = {"best_arm": "InBestArm"}
    private = True
    drawn = ("laplace",)

    epsilon: float = Field(ge=1e-9, le=1e9, description="ε")
    beta: Chance = left_out("β, failure probability of the confidence; default 1/T")

    def tuned(self, setting: Setting) -> Self:
        return self.replace(beta=self.beta or min(0.5, 1 / setting.horizon))

    def state(self, setting: Setting) -> Records:
        state = record(**contest(setting.n_arms), beta=self.beta, epsilon=self.epsilon)
        begin(state[0])
        return state

    def mechanism(self) -> str:
        return "Laplace noise on the mean of each epoch"

    def view(self, setting: Setting) -> views.View | None:
        return views.Noisy("means")

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """Epochs and arms are disjoint, and each mean is noised once; lower bound: the test of a noisy mean's sign."""
        source, view = "a gain is in one noisy mean", "all noisy means, and so all arms played"
        share = float(reaches_a_mean(self.state(setting)[0], setting))
        one = Release("laplace", self.epsilon * sensitivity)
        return noised(one, delta, source, "noisy mean", view, surely=one.part(share))


class InBestArm(Parameters, best_arm.Sure):
    """ε, and the confidence β, by default that of the experiment."""

    def tuned(self, setting: Setting) -> Self:
        return self.replace(beta=self.beta or setting.beta)


def begin(state: Record) -> None:
    """Start the next epoch: its length, and how far below the best an arm may be."""
    state.epoch += 1
    sampling = np.log(8.0 * state.left * state.epoch**2 / state.beta)
    noising = np.log(4.0 * state.left * state.epoch**2 / state.beta)
    gap = 0.5**state.epoch
    rounds = np.ceil(max(32.0 * sampling / gap**2, 8.0 * noising / (state.epsilon * gap))) + 1.0
    state.cycles = int(min(rounds, 2.0**62))
    state.threshold = 2.0 * np.sqrt(sampling / (2.0 * state.cycles)) + 2.0 * noising / (state.cycles * state.epsilon)


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    noise = rng.laplace / (state.cycles * state.epsilon)  # Lap(1/(εR))
    if state.left > 1 and pulled(state, arm, gain, noise):
        begin(state)
