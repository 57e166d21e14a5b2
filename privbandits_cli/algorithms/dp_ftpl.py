"""Private FTPL (Agarwal & Singh 2017, Algorithm 3): the leader on prefixes that a counter with Gaussian noise releases.

x_t = argmin over x in X of <x, L~_{t-1}>, where L~_t is the sum of the first t losses with the noise of a counter. The
paper's counter is a tree: L~_t has the noise of m = ⌈log2 T⌉ nodes. The noise of a prefix is at the same time the
perturbation of FTPL. So the ε of a tree whose prefixes have FTPL's own deviation σ costs no regret.

A tree has this noise, or more if ε and δ require it. With other counters the noise is not the same for all prefixes.
L~_t then also has a perturbation that is drawn once, so that both together have FTPL's deviation, root mean square over
the prefixes. The parameter `calibration` determines what ε and δ require:

`exact`: the least noise of this counter that is (ε, δ)-private.

`nodes`: √m |l - l'|_2 / μ(ε, δ) on each node of a tree, which counts all nodes of a loss.

`printed` (Theorem 3.5): max{|Y|_2 √(T/(√N log T)), (√N/ε) log T log(log T/δ)}. The second term comes from Jain, Kothari
& Thakurta 2012, who take the square root of the last logarithm. With that root the deviation is 4.9 times the least
that suffices, without it 20.0 times (3.9 and 15.7 times that of `nodes`; experts, N = 10, T = 2^16, ε = 1, δ = 1e-6).
The term also has √N in place of |Y|_2, which is 1 on the sphere and the cube.
"""

import math
from collections.abc import Iterator
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from privbandits_cli.accounting import gaussian
from privbandits_cli.accounting.rounding import at_most
from privbandits_cli.algorithms import ftpl
from privbandits_cli.algorithms.dp_ftrl import Aggregating, log2
from privbandits_cli.algorithms.ftpl import follow
from privbandits_cli.games.linear import Draws, Floats, Ints, Setting, loss_set, papers_delta
from privbandits_cli.games.parameters import Chance, left_out
from privbandits_cli.mechanisms.counter import counter_release
from privbandits_cli.numerics.jit import Record, Records, record


class Parameters(Aggregating):
    """ε and δ, and how they determine the noise; FTPL's own perturbation is under `base`."""

    read = "paper"
    display = "DP-FTPL"
    calibrations: ClassVar = {
        "certified": {},
        "blt": {"counter": "blt"},
        "paper": {"calibration": "printed"},
    }

    epsilon: float = Field(ge=1e-9, description="ε")
    delta: Chance = left_out("δ of Gaussian noise; default T^-2")
    calibration: Literal["exact", "nodes", "printed"] = Field(
        "exact", description="the least noise that is private, that which hides all nodes of a loss, or Theorem 3.5's"
    )
    base: ftpl.Parameters = Field(ftpl.Parameters(), description="FTPL; its σ is the least sd of a prefix's noise")

    def errors(self, setting: Setting) -> Iterator[str]:
        yield from super().errors(setting)
        if self.counter != "tree" and self.calibration == "printed":
            yield "the paper's σ is for its tree: leave calibration out, or set counter: tree"

    def tuned(self, setting: Setting) -> Self:
        delta = self.delta or papers_delta(setting)
        return self.replace(**self.resolved(setting), base=self.base.tuned(setting), delta=delta)

    def node_scale(self, setting: Setting) -> float:
        """The deviation that privacy requires. A tree with top-up noise has at least FTPL's own in every prefix."""
        counter = self.sums(setting)
        if self.calibration == "printed":
            log_t = log2(setting.horizon)
            private = math.sqrt(setting.n_arms) / self.epsilon * log_t * math.log(log_t / self.delta)
            return max(ftpl.general(setting) / math.sqrt(log_t), private)
        nodes = self.calibration == "nodes"
        private = counter.scale(loss_set(setting).changes(), self.epsilon, self.delta, counted=nodes)
        return max(private, self.base.sigma / math.sqrt(counter.spread()[0])) if self.even() else private

    def even(self) -> bool:
        """Whether every prefix, also the empty one, has noise of the same law."""
        return self.counter == "tree" and self.spare != "none"

    def start(self, setting: Setting) -> float:
        """The deviation of the perturbation that is drawn once. At least one number's, because prefix 0 needs some."""
        if self.even():
            return 0.0
        scale = self.node_scale(setting)
        return math.sqrt(max(self.base.sigma**2 - scale**2 * self.sums(setting).spread()[0], scale**2))

    def deviation(self, setting: Setting) -> float:
        """The largest deviation of a prefix, including the perturbation that is drawn once."""
        return math.hypot(super().deviation(setting), self.start(setting))

    def mean_deviation(self, setting: Setting) -> float:
        """The root mean square deviation of the prefixes, including that perturbation."""
        return math.hypot(super().mean_deviation(setting), self.start(setting))

    def state(self, setting: Setting) -> Records:
        own = super().state(setting)
        fields = {name: own[name].reshape(own[name].shape[1:]) for name in own.dtype.names or ()}
        return record(**fields, start=self.start(setting))

    def draws(self, setting: Setting, rounds: Ints) -> dict[str, Ints]:
        """The counter's numbers, and those of the perturbation before them in the first round."""
        begun = np.where(rounds == 1, 0 if self.even() else setting.n_arms, 0)
        return {"normal": super().draws(setting, rounds)["normal"] + begun}

    def facts(self, setting: Setting) -> dict[str, float]:
        """The facts of the counter, and the deviation of the perturbation that is drawn once."""
        return super().facts(setting) if self.even() else super().facts(setting) | {"start": self.start(setting)}

    def own_epsilon(self, setting: Setting) -> float:
        """The ε at `delta` of prefixes whose noise has just FTPL's own deviation, root mean square."""
        change = self.sums(setting).rms() * loss_set(setting).changes()[1]
        return gaussian.epsilon_of(change / self.base.sigma, self.delta)

    def caveats(self, setting: Setting) -> list[str]:
        notes = [
            f"FTPL's own perturbation has deviation {self.base.sigma:.4g}, which gives "
            f"ε = {at_most(self.own_epsilon(setting))} at δ = {at_most(self.delta, 2)}: "
            "from that ε upwards privacy costs nothing. "
            f"Here the noise of a prefix has deviation {self.mean_deviation(setting):.4g}.",
        ]
        if self.calibration == "printed":
            notes.append("Theorem 3.5 states ε-privacy with δ in σ, but Gaussian noise is only (ε, δ)-private.")
        return notes

    def regret_bound(self, rounds: Floats, setting: Setting, memory: int = 0) -> Floats | None:
        """FTPL's bound Aσ + B t/σ, or None if the noise of prefixes grows and falls, as without top-up noise.

        If the deviation of prefixes grows, the first σ is its last value and the second σ its first value.
        """
        largest = self.deviation(setting)
        if self.even():
            return ftpl.perturbed(largest, rounds, setting)
        if not self.sums(setting).steady:
            return None
        start = self.start(setting)
        return ftpl.perturbed(largest, 0 * rounds, setting) + (
            ftpl.perturbed(start, rounds, setting) - ftpl.perturbed(start, 0 * rounds, setting)
        )


def choose(state: Record, x: Floats, rng: Draws) -> None:
    if state.t == 0 and state.start > 0.0:
        for i in range(len(x)):
            state.prefix[i] = state.start * rng.normal[i]
    for i in range(len(x)):
        state.wrapped.losses[i] = state.prefix[i]
    counter_release(state.counter, state.wrapped.losses, rng)
    follow(state.wrapped.kind, state.wrapped.losses, x)
