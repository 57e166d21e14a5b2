"""Fully oblivious adversary (Tossou & Dimitrakakis 2017, section 4; Audibert & Bubeck 2010).

Every round each arm draws a number p, uniform in [0.5, 0.5 + 2 spread] for arm 1, the best, and uniform in
[0.5 - spread, 0.5 + spread] for the others, and then its gain from Bern(p). As p is never seen and never
used again, the gains have the law of the stochastic adversary with means 0.5 + spread and 0.5.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import Field

from privbandits_cli.games import bandit


def bernoulli_rows(rng: Generator, n: int, n_arms: int, spread: float) -> NDArray[np.bool_]:
    """Draw `n` rows of gains `[n, arms]`; each row takes its numbers p, then its gains, from `rng`."""
    uniform = rng.random((n, 2, n_arms))
    p = 0.5 - spread + 2 * spread * uniform[:, 0]
    p[:, 0] += spread
    return uniform[:, 1] < p


class Parameters(bandit.Adversary):
    """Half the width of p's interval."""

    display = "Fully oblivious"

    spread: float = Field(0.05, ge=0, le=0.25, description="the paper's ε: half the width of p's interval")

    def gains(self, setting: bandit.Setting, rng: Generator, blocks: Iterable[range]) -> Iterator[NDArray[Any]]:
        for rounds in blocks:
            yield bernoulli_rows(rng, len(rounds), setting.n_arms, self.spread)
