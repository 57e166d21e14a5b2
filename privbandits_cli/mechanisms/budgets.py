"""Best-arm identification with a fixed budget: the learner plays at most T rounds, and then answers.

It uses fewer rounds than T if T is no multiple of the plays that it divides them into; it never uses more.
"""

from collections.abc import Iterator

from privbandits_cli.games import best_arm
from privbandits_cli.games.bandit import Setting


class Budgeted(best_arm.Algorithm):
    """A learner whose budget T is the horizon of the game."""

    def least(self, n_arms: int) -> int:
        """The least budget with which every arm is played in every phase that it is in."""
        raise NotImplementedError

    def errors(self, setting: Setting) -> Iterator[str]:
        least = self.least(setting.n_arms)
        if setting.horizon < least:
            yield f"{setting.horizon:,.0f} rounds are too few for {setting.n_arms} arms: set horizon to {least} or more"
