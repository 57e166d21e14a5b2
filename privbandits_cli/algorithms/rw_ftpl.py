"""RW-FTPL (Devroye, Lugosi & Neu 2013; Jacobsen & Fawaz 2026): the leader on losses that users perturb themselves.

x_t = argmin over x in X of <x, Σ_(s<t) (l_s + Z_s)>, where Z_s is normal with deviation σ in each coordinate. User s
adds Z_s to the loss vector, and nobody sees the vector without it. So the privacy is local, and the noise of the sums,
a random walk, is at the same time the perturbation of the leader.

A report is one Gaussian mechanism: it is μ-GDP with μ = max |l - l'|_2 / σ, exactly. All N losses of a user may change,
so the distance is √N for experts. Everything else is post-processing.

The steps of the walk of Devroye et al. are ±1/2. Jacobsen & Fawaz take normal ones, and show that the algorithm is then
locally private. Of their paper we know the abstract and a summary of the paper. The tuning, the other two sets and the
regret bound are ours: σ is the least that ε and δ allow, or, if it is larger, the one with the least bound.
"""

import math
from collections.abc import Iterator
from typing import Self

import numpy as np
from pydantic import Field

from privbandits_cli.accounting import gaussian
from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.accounting.releases import LOSSES, Release, noised
from privbandits_cli.accounting.rounding import at_most
from privbandits_cli.algorithms import ftpl
from privbandits_cli.algorithms.ftpl import follow
from privbandits_cli.games import linear, views
from privbandits_cli.games.linear import Draws, Floats, Ints, Setting, Simplex, loss_set, papers_delta
from privbandits_cli.games.parameters import Chance, left_out
from privbandits_cli.numerics.jit import Record, Records


class Parameters(linear.Algorithm):
    """ε and δ of each report."""

    read = "secondary"
    display = "RW-FTPL"
    private = True
    local = True

    epsilon: float = Field(ge=1e-9, description="ε of each report")
    delta: Chance = left_out("δ of Gaussian noise; default T^-2")

    def errors(self, setting: Setting) -> Iterator[str]:
        yield from ftpl.Parameters().errors(setting)

    def tuned(self, setting: Setting) -> Self:
        return self.replace(delta=self.delta or papers_delta(setting))

    def least(self, setting: Setting) -> float:
        """The σ with the least regret bound, Aσ + 2B/σ in the words of FTPL."""
        if isinstance(setting.space, Simplex):
            return setting.largest_regret() / math.sqrt(2)
        return 1 / math.sqrt(setting.n_arms)

    def scale(self, setting: Setting) -> float:
        """σ, the deviation of a step in each coordinate."""
        return max(loss_set(setting).changes()[1] / gaussian.mu_of(self.epsilon, self.delta), self.least(setting))

    def state(self, setting: Setting) -> Records:
        return ftpl.Parameters(sigma=self.scale(setting)).state(setting)

    def draws(self, setting: Setting, rounds: Ints) -> dict[str, int]:
        return {"normal": setting.n_arms}

    def mechanism(self) -> str:
        return "Gaussian noise on each loss vector"

    def view(self, setting: Setting) -> views.View | None:
        return views.Noisy("losses")

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """The exact ε of one noisy vector."""
        mu = loss_set(setting).changes()[1] * sensitivity / self.scale(setting)
        one, source = Release("gaussian", mu, fresh=True), f"Gaussian noise on each loss vector, {mu:.4g}-GDP"
        return noised(one, delta, source, "report", "all noisy losses", surely=one, neighbours=LOSSES)

    def facts(self, setting: Setting) -> dict[str, float]:
        return {"scale": self.scale(setting)}

    def caveats(self, setting: Setting) -> list[str]:
        own = gaussian.epsilon_of(loss_set(setting).changes()[1] / self.least(setting), self.delta)
        return [
            f"The bound is least with σ = {self.least(setting):.4g}, which gives ε = {at_most(own)} at δ = "
            f"{at_most(self.delta, 2)}: from that ε upwards privacy costs nothing. Here σ = {self.scale(setting):.4g}."
        ]

    def regret_bound(self, rounds: Floats, setting: Setting, memory: int = 0) -> Floats:
        """W + Aσ √(t-1) + 2B √(t-1)/σ against all oblivious losses, with FTPL's A and B and the largest regret W.

        Proof (ours). Let F_s(L) be the mean of min <L + sZ, x> over x in X, where Z is standard normal. x_t has the
        mean ∇F_s(L_(t-1)) with s = σ √(t-1). F_s is concave, so <x_t, l_t> is on average at most F_s(L_t) -
        F_s(L_(t-1)) + B/s. Between two rounds s grows, and F falls by at most A times the growth, Aσ √(t-1) in total.
        The last F is at most min <L_t, x>. The sum of 1/√(t-1) over rounds 2 to t is at most 2 √(t-1). Round 1 has no
        noise, and costs at most W.
        """
        root, sigma = np.sqrt(np.maximum(rounds - 1, 1)), self.scale(setting)
        return setting.largest_regret() + root * ftpl.perturbed(sigma, np.full_like(root, 2.0), setting)


def choose(state: Record, x: Floats, rng: Draws) -> None:
    follow(state.kind, state.losses, x)


def update(state: Record, losses: Floats, rng: Draws) -> None:
    for i in range(len(losses)):
        state.losses[i] += losses[i] + state.sigma * rng.normal[i]
