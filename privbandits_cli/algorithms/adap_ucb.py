"""AdaP-UCB (Azize & Basu 2022): UCB in doubling episodes, each of which forgets the earlier ones.

In each episode the arm with the largest index is played as often as it was played before, or once if it never was.
From then on the arm's mean is that of this episode's m gains, with Laplace noise of scale 1/(ε m):
index = mean + √(β ln t / (2m)) + β ln t / (ε m), β > 3. Each gain enters one mean, so the algorithm is ε-DP. Its regret
is at most Σ_a (16 β ln T / min(Δ_a, ε) + 3 β/(β - 3)) (Theorem 5.3 of Azize 2024).
The paper writes N/2 for m, where N counts the plays so far. For an arm that was played once we take m = 1, because the
sensitivity of that mean is the range of a single gain.
"""

import numpy as np
from pydantic import Field

from privbandits_cli.games import bandit
from privbandits_cli.games.bandit import Draws, Floats, Setting
from privbandits_cli.mechanisms.phased import Pure, begin, phases
from privbandits_cli.numerics.jit import Record, Records, record


class Parameters(Pure):
    """ε, and β of the confidence width."""

    read = "paper"
    display = "AdaP-UCB"

    beta: float = Field(3.1, gt=3, le=1e9, description="β; 3.1 in the paper's experiments")

    def state(self, setting: Setting) -> Records:
        return record(beta=self.beta, **phases(setting.n_arms, 1 / self.epsilon))

    def instance_regret_bound(self, rounds: Floats, means: Floats, setting: Setting) -> Floats | None:
        """Theorem 5.3 of Azize 2024: Σ_a (16 β ln T / min(Δ_a, ε) + 3 β/(β - 3))."""
        gaps = bandit.gaps(means)
        rate = 16 * self.beta * np.sum(1 / np.minimum(gaps, self.epsilon))
        return rate * np.log(rounds) + len(gaps) * 3 * self.beta / (self.beta - 3)


def choose(state: Record, rng: Draws) -> int:
    if state.played == 0:
        width = state.beta * np.log(state.t)
        wide, far = np.sqrt(0.5 * width), state.scale * width
        for i in range(len(state.index)):
            if state.plays[i] > 0:
                m = state.counts[i]
                state.index[i] = state.sums[i] / m + wide * (1.0 / np.sqrt(m)) + far * (1.0 / m)
        begin(state)
    return int(state.arm)
