"""Who plays the game `bandit`: what an adversary and an algorithm over arms are."""

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, NamedTuple

from numpy.random import Generator
from numpy.typing import NDArray

from privbandits_cli.games import players
from privbandits_cli.games.players import Setting, papers_delta
from privbandits_cli.numerics.types import Floats

__all__ = ["Adversary", "Algorithm", "Draws", "Floats", "Setting", "papers_delta"]


class Draws(NamedTuple):
    """The random numbers of one round, each from a stream of its own."""

    uniform: float  # on [0, 1)
    laplace: float  # standard Laplace


class Adversary(players.Adversary):
    """What produces the gains."""

    game: ClassVar[str] = "bandit"
    binary: ClassVar[bool] = False  # every gain is 0 or 1: a block is then kept in an eighth of the memory

    def gains(self, setting: Setting, rng: Generator, blocks: Iterable[range]) -> Iterator[NDArray[Any]]:
        """For each block of rounds (counted from 1) yield its gains `[rounds, arms]`, in [0, 1] where `bounded`.

        The draws from `rng` must run through the rounds in order, so that no number depends on where a
        block ends.
        """
        raise NotImplementedError

    def mean_gains(self, setting: Setting) -> Floats | None:
        """The arms' mean gains `[arms]` where regret is counted on these; None: on the gains themselves."""
        return None

    def reaction(self) -> tuple[int, bool]:
        """(m, observed): a gain counts only once its arm has been held for m rounds; m = 0 is oblivious.

        `observed`: the learner sees the 0 in its place.
        """
        return 0, True


class Algorithm(players.Algorithm):
    """A learner's parameters, tuning and promise; its two steps are functions of the same file.

    `choose(state, rng) -> arm` and `update(state, arm, gain, rng)` are compiled into the game's loop; `rng`
    holds the `Draws` of the round. `probabilities(state, out)` fills the distribution of the next arm.
    """

    game: ClassVar[str] = "bandit"

    def tuned(self, setting: Setting) -> "Algorithm":
        """The same with every parameter that was left out set as the paper says."""
        return self

    def periods(self) -> dict[str, int]:
        """Which fields of `Draws` its steps use, and the period: in the first and the last of every so many rounds."""
        return {"uniform": 1}
