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

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.accounting.releases import Release, noised
from privbandits_cli.algorithms.dp_ucb import noisy_leader
from privbandits_cli.games import bandit, views
from privbandits_cli.games.bandit import Draws, Floats, Setting
from privbandits_cli.numerics.jit import Record, Records, record


class Parameters(bandit.Algorithm):
    """ε, and β of the confidence width."""

    read = "paper"
    display = "AdaP-UCB"
    private = True
    drawn = ("laplace",)
    made_private_by = "Laplace noise on the mean of each episode"
    observed = views.Noisy("means")
    general_caveats = (
        "The test of the noise observes the mean of each arm's first episode, which has a single gain. Coupled games "
        "observe all episodes.",
    )

    epsilon: float = Field(ge=1e-9, le=1e9, description="ε")
    beta: float = Field(3.1, gt=3, le=1e9, description="β; 3.1 in the paper's experiments")

    def state(self, setting: Setting) -> Records:
        n_arms = setting.n_arms
        return record(
            t=1,
            arm=0,
            left=0,  # rounds that remain in the episode
            total=0.0,
            plays=np.zeros(n_arms, np.int64),
            means=np.full(n_arms, np.inf),  # arms that were never played come first
            roots=np.zeros(n_arms),  # 1/√m
            inverses=np.zeros(n_arms),  # 1/m
            beta=self.beta,
            scale=1 / self.epsilon,
        )

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """Theorem 5.2 of Azize 2024: the episodes are disjoint, and the mean of each is noised once.

        Lower bound: the test of the sign of the first mean, that of one gain.
        """
        source, view = "a gain enters the mean of one episode", "all noisy means, and so all arms played"
        one = Release("laplace", self.epsilon * sensitivity)
        return noised(one, delta, source, "noisy mean", view, surely=one)

    def coin_regret_bound(self, rounds: Floats, means: Floats, setting: Setting) -> Floats | None:
        """Theorem 5.3 of Azize 2024: Σ_a (16 β ln T / min(Δ_a, ε) + 3 β/(β - 3))."""
        gaps = bandit.gaps(means)
        rate = 16 * self.beta * np.sum(1 / np.minimum(gaps, self.epsilon))
        return rate * np.log(rounds) + len(gaps) * 3 * self.beta / (self.beta - 3)


def choose(state: Record, rng: Draws) -> int:
    if state.left == 0:
        width = state.beta * np.log(state.t)
        state.arm = noisy_leader(state.means, state.roots, state.inverses, np.sqrt(0.5 * width), state.scale * width)
    arm: int = state.arm
    return arm


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    m = ended(state, arm, gain)
    if m > 0:
        state.means[arm] = (state.total + state.scale * rng.laplace) / m
        state.roots[arm] = 1.0 / np.sqrt(m)
        state.inverses[arm] = 1.0 / m


def ended(state: Record, arm: int, gain: float) -> int:
    """Add a gain to its episode. Returns the episode's number of gains if this is the last one, else 0."""
    if state.left == 0:  # an episode begins
        state.left = max(1, state.plays[arm])
        state.total = 0.0
    state.total += gain
    state.left -= 1
    state.t += 1
    if state.left > 0:
        return 0
    m: int = max(1, state.plays[arm])
    state.plays[arm] += m
    return m


def probabilities(state: Record, out: Floats) -> None:
    out[:] = 0.0
    out[choose(state, Draws(0.0, 0.0))] = 1.0
