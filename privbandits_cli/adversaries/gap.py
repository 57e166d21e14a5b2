"""One expert, axis or direction is better than the others by a gap (for Agarwal & Singh 2017, Corollary 3.2).

Experts: Bernoulli losses with mean 1/2 - gap for the first and 1/2 for the others. Sphere: unit vectors with mean -gap
along the first axis and a random direction orthogonal to it. Cube and polytopes: with probability gap the negative
first axis, otherwise any signed axis. A learner must identify the best; its regret is largest at an intermediate gap.
"""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.random import Generator
from pydantic import Field

from privbandits_cli.games import linear
from privbandits_cli.games.linear import Floats, Ints, Setting, Simplex, loss_set
from privbandits_cli.numerics.text import exact


class Parameters(linear.Adversary):
    """The gap."""

    display = "Gap"

    gap: float = Field(gt=0, le=1, description="the gap between the mean losses; for experts at most 1/2")

    def losses(self, setting: Setting, rng: Generator, blocks: Iterable[range]) -> Iterator[Floats]:
        draw = loss_set(setting).leaning(rng)
        for rounds in blocks:
            yield draw(self.lean(setting, np.arange(rounds.start, rounds.stop)))

    def lean(self, setting: Setting, rounds: Ints) -> Floats:
        """How much smaller the mean losses are than without a gap, `[rounds, N]`."""
        lean = np.zeros((len(rounds), setting.n_arms))
        lean[:, 0] = self.gap
        return lean

    def errors(self, setting: Setting) -> Iterator[str]:
        if isinstance(setting.space, Simplex) and self.gap > 0.5:
            yield f"gap = {exact(self.gap)}: the mean loss 1/2 - gap of an expert would be negative; take at most 0.5"
