"""Phased elimination on G-optimal designs (Lattimore & Szepesvári 2020, Algorithm 12), for arms that stay the same.

Phase l plays each arm ⌈c π⌉ times by the G-optimal design π, with c = 2 g σ² ln(K l (l + 1)/α)/β² and β = 2^-l. Then
arms whose estimate is more than 2 β below the largest leave. `mechanisms.phased_design` has the rest. The book has d in
place of g, the value of the design, which is at most 1.01 times the dimension d of the arms' span; and σ = 1. It is
recalled here, and its constants agree with the proof: the width of each estimate is at most β.
"""

from numpy.random import Generator

from privbandits_cli.games.contextual import Floats, Setting
from privbandits_cli.mechanisms.phased_design import CLOSE, Designed, allot, contest, design, estimate, logarithm_of
from privbandits_cli.numerics.jit import Record, Records, record


class Parameters(Designed):
    """The failure probability."""

    read = "secondary"
    display = "Phased GOPE"

    def length(self, setting: Setting, phase: int, dimension: float, support: float) -> float:
        """c, for a design of value 1.01 d."""
        variance = setting.known().sigma ** 2
        log = logarithm_of(setting.n_arms, phase, self.alpha)
        return 2 * (1 + CLOSE) * dimension * variance * log * 4.0**phase

    def state(self, setting: Setting) -> Records:
        known = setting.known()
        return record(variance=known.sigma**2, alpha=self.alpha, **contest(known, setting.n_arms))

    def caveats(self, setting: Setting) -> list[str]:
        return ["The arms played are a function of the rewards observed: no ε holds at any δ < 1."]


def choose(state: Record, arms: Floats, rng: Generator) -> int:
    if state.rounds == 0:
        if state.phase > 0:
            estimate(state, state.sums)
        design(state, arms)
        log = logarithm_of(len(state.arms), state.phase, state.alpha)
        allot(state, 2.0 * state.value * state.variance * log / (state.beta * state.beta))
    return int(state.arm)
