"""The best expert, axis or direction drifts from the first to the second (for Agarwal & Singh 2017).

At round t the mean loss is smaller by gap cos²θ along the first and by gap sin²θ along the second, θ = π/2 turns t/T.
With one turn, the first is the better one in the first half of the game and the second in the other half. Apart from
the mean, the law of the losses is that of `gap`.
"""

from collections.abc import Iterator

import numpy as np
from pydantic import Field

from privbandits_cli.adversaries import gap
from privbandits_cli.games.linear import Floats, Ints, Setting


class Parameters(gap.Parameters):
    """The gap, and how often the better side changes."""

    display = "Drifting"

    gap: float = Field(0.1, gt=0, le=1, description="the gap between the mean losses; for experts at most 1/2")
    turns: int = Field(1, ge=1, description="how often the best one changes over the horizon")

    def lean(self, setting: Setting, rounds: Ints) -> Floats:
        """Shared by the first two coordinates."""
        angle = np.pi / 2 * self.turns * rounds / setting.horizon
        lean = np.zeros((len(rounds), setting.n_arms))
        lean[:, 0], lean[:, 1] = self.gap * np.cos(angle) ** 2, self.gap * np.sin(angle) ** 2
        return lean

    def errors(self, setting: Setting) -> Iterator[str]:
        yield from super().errors(setting)
        if setting.n_arms < 2:
            yield "drifting needs two coordinates: set a dimension of at least 2"
