"""Private FTPL (Agarwal & Singh 2017, Algorithm 3): the leader on prefixes that a tree with Gaussian nodes releases.

x_t = argmin over x in X of <x, L~_{t-1}>, where L~_t is the sum of the first t losses and of m = ⌈log2 T⌉ node noises.
The noise of a prefix doubles as the perturbation of FTPL. Nodes of deviation σ/√m, where σ is FTPL's own, make the
prefixes μ-Gaussian-private with μ = m |l - l'|_2 / σ. This much privacy is therefore free.

Nodes have the larger of that deviation and the one that ε and δ require. The parameter `sigma` determines the latter:

`exact`: √m |l - l'|_2 / μ(ε, δ), where μ is the largest that is (ε, δ)-private. From FTPL's own ε upwards, privacy
costs nothing.

`printed` (Theorem 3.5): max{|Y|_2 √(T/(√N log T)), (√N/ε) log T log(log T/δ)}. The second term comes from Jain, Kothari
& Thakurta 2012, who take the square root of the last logarithm. With that root the deviation is 3.9 times that of
`exact`, without it 15.7 times (experts, N = 10, T = 2^16, ε = 1, δ = 1e-6). The term also has √N in place of |Y|_2,
which is 1 on the sphere and the cube.
"""

import math
from typing import ClassVar, Literal

from pydantic import Field

from privbandits_cli.accounting import gaussian
from privbandits_cli.accounting.rounding import at_most
from privbandits_cli.algorithms import ftpl
from privbandits_cli.algorithms.dp_ftrl import Aggregating, Tree, log2, release, update
from privbandits_cli.algorithms.ftpl import follow
from privbandits_cli.games.linear import Draws, Floats, Setting, loss_set, papers_delta
from privbandits_cli.mechanisms import tree
from privbandits_cli.numerics.jit import Record

__all__ = ["Parameters", "choose", "update"]


class Parameters(Aggregating):
    """ε and δ, and how they determine the noise; FTPL's own perturbation is under `base`."""

    display = "DP-FTPL"
    calibrations: ClassVar = {"certified": {}, "paper": {"sigma": "printed"}}

    epsilon: float = Field(ge=1e-9, description="ε")
    sigma: Literal["exact", "printed"] = Field("exact", description="a node's sd: the least private, or Theorem 3.5's")
    base: ftpl.Parameters = Field(ftpl.Parameters(), description="FTPL; its σ is the least sd of a prefix's noise")

    def tuned(self, setting: Setting) -> "Tuned":
        delta = self.delta or papers_delta(setting)
        return Tuned(**dict(self) | {"base": self.base.tuned(setting), "delta": delta})


class Tuned(Parameters, Tree):
    """The tree with its δ, around FTPL with its σ."""

    delta: float
    base: ftpl.Tuned

    def node_scale(self, setting: Setting) -> float:
        """The larger of FTPL's own deviation and the one that privacy requires."""
        if self.sigma == "printed":
            log_t = log2(setting.horizon)
            private = math.sqrt(setting.n_arms) / self.epsilon * log_t * math.log(log_t / self.delta)
            return max(ftpl.general(setting) / math.sqrt(log_t), private)
        root = math.sqrt(tree.height(setting.horizon))
        return max(
            self.base.sigma / root, root * loss_set(setting).changes()[1] / gaussian.mu_of(self.epsilon, self.delta)
        )

    def own_epsilon(self, setting: Setting) -> float:
        """The ε at `delta` of nodes that carry FTPL's own perturbation and no more."""
        levels = tree.height(setting.horizon)
        return gaussian.epsilon_of(levels * loss_set(setting).changes()[1] / self.base.sigma, self.delta)

    def caveats(self, setting: Setting) -> list[str]:
        notes = [
            f"FTPL's own perturbation has deviation {self.base.sigma:.4g}, which gives "
            f"ε = {at_most(self.own_epsilon(setting))} at δ = {at_most(self.delta, 2)}: "
            "from that ε upwards privacy costs nothing. "
            f"Here the noise of a prefix has deviation {self.deviation(setting):.4g}.",
        ]
        if self.sigma == "printed":
            notes.append("Theorem 3.5 states ε-privacy with δ in σ, but Gaussian noise is only (ε, δ)-private.")
        return notes

    def regret_bound(self, rounds: Floats, setting: Setting, memory: int = 0) -> Floats | None:
        """FTPL's bound with the deviation of a prefix's noise."""
        return ftpl.perturbed(self.deviation(setting), rounds, setting)


def choose(state: Record, x: Floats, rng: Draws) -> None:
    release(state, x, rng)
    follow(state.wrapped.kind, state.wrapped.losses, x)
