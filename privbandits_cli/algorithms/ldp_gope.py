"""LDP-GOPE (ours, after Hanna, Girgis, Fragouli & Diggavi 2022): Phased GOPE on rewards that are private one by one.

Phased elimination on G-optimal designs (`phased_gope`). A round reports its reward plus Laplace noise of scale b = w/ε,
where w is the most by which two rewards differ; this is ε-private by itself. The learner sees the reports alone.

Width: as in `adap_gope`, but each round has a Laplace number of its own, with the weight h_t of its reward. So the
error of an estimate is sub-gamma with variance factor (σ² + 2 b²) G and scale b G, where G is the largest x' V^-1 x <=
g/c, and exceeds √(2 (σ² + 2 b²) G L) + b G L with probability at most e^-L. c makes this β for G = g/c.
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
    allot,
    contest,
    design,
    enough,
    estimate,
    logarithm_of,
)
from privbandits_cli.mechanisms.phased_design import update as learn
from privbandits_cli.numerics.jit import Record, Records, record


class Parameters(Laplacian):
    """ε of a report, and the failure probability."""

    display = "LDP-GOPE"
    local = True

    def variance(self, setting: Setting) -> float:
        """σ² + 2 b²."""
        return float(setting.known().sigma ** 2 + 2 * self.scale(setting) ** 2)

    def length(self, setting: Setting, phase: int, dimension: float, support: float) -> float:
        """c, for a design of value 1.01 d; by `enough`."""
        value, log = (1 + CLOSE) * dimension, logarithm_of(setting.n_arms, phase, self.alpha)
        gauss = math.sqrt(2 * self.variance(setting) * value * log)
        return enough(2.0**-phase, gauss, self.scale(setting) * value * log)

    def state(self, setting: Setting) -> Records:
        known = setting.known()
        own = {"variance": self.variance(setting), "scale": self.scale(setting), "alpha": self.alpha}
        return record(**own, **contest(known, setting.n_arms))

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """ε of a report; the attack is a reward at the ends of its range."""
        view, neighbours = "the round's report, and so all later arms", self.neighbours(setting)
        one = Release("laplace", self.epsilon * sensitivity, fresh=True)
        source = "Laplace noise of scale w/ε on each reward"
        return noised(one, delta, source, "report", view, surely=one, neighbours=neighbours)

    def mechanism(self) -> str:
        return "Laplace noise on each reward"

    def view(self, setting: Setting) -> views.View | None:
        return views.Noisy("sums", public=True, fixed=True)


def choose(state: Record, arms: Floats, rng: Generator) -> int:
    if state.rounds == 0:
        if state.phase > 0:
            estimate(state, state.sums)
        value = design(state, arms)
        log = logarithm_of(len(state.arms), state.phase, state.alpha)
        allot(state, enough(state.beta, np.sqrt(2.0 * state.variance * value * log), state.scale * value * log))
    return int(state.arm)


def update(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    learn(state, x, reward + state.scale * rng.laplace(0.0, 1.0), rng)
