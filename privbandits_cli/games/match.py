"""The input of a game."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.games.players import Adversary, Algorithm, Setting


class Match(NamedTuple):
    """One adversary, the algorithms that play against it, and the rounds to record."""

    adversary: Adversary
    algorithms: Sequence[Algorithm]  # tuned
    setting: Setting
    checkpoints: NDArray[np.int64]  # increasing, at most the horizon
    seed: int

    @property
    def game(self) -> str:
        """The game that its algorithms play."""
        return self.algorithms[0].game
