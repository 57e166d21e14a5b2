"""Uniform play: every arm with probability 1/K in every round, whatever its gains. A reference baseline.

Its actions do not depend on the gains, so it is 0-differentially private.
"""

from numpy.typing import NDArray

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.games import bandit
from privbandits_cli.numerics.jit import Record, Records, record


class Parameters(bandit.Algorithm):
    """No parameters."""

    bounded = False
    display = "Uniform"

    def state(self, setting: bandit.Setting) -> Records:
        return record(n_arms=setting.n_arms)

    def bounds(self, setting: bandit.Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        return [Guarantee(0.0, 0.0, "its arms do not depend on the gains", "exact")]

    def regret_bound(self, rounds: bandit.Floats, setting: bandit.Setting, memory: int = 0) -> bandit.Floats | None:
        if setting.u is not None:  # gaps may have any size
            return None
        return (1 - 1 / setting.n_arms) * rounds if memory == 0 else 1.0 * rounds


def choose(state: Record, rng: bandit.Draws) -> int:
    return int(rng.uniform * state.n_arms)


def update(state: Record, arm: int, gain: float, rng: bandit.Draws) -> None:
    pass


def probabilities(state: Record, out: NDArray) -> None:  # type: ignore[type-arg]
    out[:] = 1.0 / state.n_arms
