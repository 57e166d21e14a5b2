"""Bernoulli gains with given means, or with those of a named instance: C1 to C4 are those of Sajed & Sheffet 2019.

An arm's gain is 1 if the round's number, uniform on [0, 1), is below the arm's mean. The regret is pseudo-regret.
"""

from collections.abc import Iterator, Sequence

from numpy.random import Generator

from privbandits_cli.games.bandit import Floats, Setting
from privbandits_cli.games.drawing import filled, rows_of
from privbandits_cli.games.heavy_tails import Stationary
from privbandits_cli.numerics.jit import Record, record
from privbandits_cli.numerics.sfc64 import uniform, words_of
from privbandits_cli.numerics.types import Blocks, Tables


def coins_row(state: Record, layers: Record, out: Floats) -> None:
    """The gains of a round."""
    number = uniform(state.words)
    for arm in range(len(out)):
        out[arm] = 1.0 if number < state.means[arm] else 0.0


class Parameters(Stationary):
    """The means."""

    display = "Bernoulli"

    def gains_in_lanes(self, setting: Setting, rngs: Sequence[Generator], rounds: Blocks) -> Tables:
        means = self.mean_gains(setting)
        fill = filled(coins_row, [record(means=means, **words_of(rng)) for rng in rngs], (len(means),))
        yield from map(rows_of(fill, len(means), len(rngs)), map(len, rounds()))

    def coins(self, setting: Setting) -> Floats:
        return self.mean_gains(setting)

    def errors(self, setting: Setting) -> Iterator[str]:
        yield from super().errors(setting)
        if isinstance(self.means, list) and not all(0 <= mean <= 1 for mean in self.means):
            yield "a Bernoulli gain is 0 or 1, so its mean must be in [0, 1]; for other means use student_t"
