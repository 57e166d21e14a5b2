"""The players of the game `bandit`: adversaries and algorithms over arms."""

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, NamedTuple

from numpy.random import Generator
from numpy.typing import NDArray

from privbandits_cli.games import players
from privbandits_cli.games.players import Setting, papers_delta
from privbandits_cli.numerics.types import Floats

__all__ = ["Adversary", "Algorithm", "Draws", "Floats", "Setting", "papers_delta"]


class Draws(NamedTuple):
    """The random numbers of one round, each from its own stream."""

    uniform: float  # on [0, 1)
    laplace: float  # standard Laplace


class Adversary(players.Adversary):
    """The source of the gains."""

    game: ClassVar[str] = "bandit"
    binary: ClassVar[bool] = False  # every gain is 0 or 1, so a block takes an eighth of the memory

    def gains(self, setting: Setting, rng: Generator, blocks: Iterable[range]) -> Iterator[NDArray[Any]]:
        """For each block of rounds (counted from 1) yield its gains `[rounds, arms]`, in [0, 1] where `bounded`.

        Draw from `rng` in the order of the rounds, so that no number depends on where a block ends.
        """
        raise NotImplementedError

    def mean_gains(self, setting: Setting) -> Floats | None:
        """The mean gains `[arms]` if regret is counted on these; None if it is counted on the gains themselves."""
        return None

    def reaction(self) -> tuple[int, bool]:
        """(m, observed): a gain counts as 0 until its arm has been held for m rounds; m = 0 is oblivious.

        observed: the learner sees this 0, not the gain.
        """
        return 0, True


class Algorithm(players.Algorithm):
    """A learner's parameters, tuning and guarantee; its two steps are functions of the same file.

    `choose(state, rng) -> arm` and `update(state, arm, gain, rng)` are compiled into the game's loop; `rng` holds the
    `Draws` of the round. `probabilities(state, out)`, if defined, fills the distribution of the next arm.
    """

    game: ClassVar[str] = "bandit"

    def tuned(self, setting: Setting) -> "Algorithm":
        """The same parameters, with the paper's values for those that were left out."""
        return self

    def periods(self) -> dict[str, int]:
        """The fields of `Draws` that its steps use, with a period: they hold numbers in its first and last round."""
        return {"uniform": 1}
