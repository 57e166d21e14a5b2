"""The settings of an experiment, one for each horizon and each dimension: what its players may know of the game."""

from collections.abc import Mapping
from itertools import product
from typing import Any, NamedTuple

from privbandits_cli.convex.polytope import Polytope
from privbandits_cli.convex.spaces import SPACES, Space
from privbandits_cli.experiment.keys import Inequalities, Keys
from privbandits_cli.games.players import Adversary, Algorithm, Contexts, Setting


def listed(value: Any) -> list[Any]:
    """The values of a key that may be swept."""
    return value if isinstance(value, list) else [value]


def settings(keys: Keys) -> list[Setting]:
    """A setting for each horizon and, within a horizon, for each decision set or dimension."""
    most = (keys.unit.rounds_per_person if keys.unit else None) or 1
    return [setting._replace(rounds_per_person=min(most, int(setting.horizon))) for setting in _settings(keys)]


def _settings(keys: Keys) -> list[Setting]:
    horizons = listed(keys.horizon)
    if keys.game == "bandit":
        return [Setting(horizon, n_arms(keys, 1), switches=keys.switches or 0) for horizon in horizons]
    if keys.game == "best_arm":
        pairs = product(horizons, listed(keys.confidence))
        return [Setting(horizon, n_arms(keys, 1), confidence=confidence) for horizon, confidence in pairs]
    if keys.game == "contextual":
        return [
            Setting(keys.planned_horizon or horizon, n_arms(keys, d), contexts=Contexts(d, fixed=True))
            for horizon, d in product(horizons, listed(keys.dimension))
        ]
    pairs, switches = product(horizons, spaces(keys)), keys.switches or 0
    return [Setting(horizon, space.dimension, space=space, switches=switches) for horizon, space in pairs]


def n_checkpoints(keys: Keys) -> int:
    """The number of rounds at which regret is recorded; the horizon may be one more."""
    wanted = keys.checkpoints
    return wanted if isinstance(wanted, int) else len(wanted) if isinstance(wanted, list) else wanted.count


def n_arms(keys: Keys, dimension: int) -> int:
    """K, or d^2 where the config has it so; 0 if each adversary lists its own means."""
    return keys.arms if isinstance(keys.arms, int) else dimension**2 if keys.arms == "d^2" else 0


def sized(player: object, setting: Setting) -> Setting:
    """The setting with as many arms as an adversary lists means, if the setting leaves their number to it."""
    means = getattr(player, "means", None)
    return setting if setting.n_arms or not isinstance(means, list) else setting._replace(n_arms=len(means))


def played(keys: Keys, setting: Setting) -> int:
    """The number of rounds played in a setting: its horizon, unless a longer one is planned."""
    return int(setting.horizon) if keys.planned_horizon is None else listed(keys.horizon)[0]


def spaces(keys: Keys) -> list[Space]:
    """The decision sets of a linear game, one for each dimension of each kind."""
    if isinstance(keys.set, Inequalities):
        a = tuple(map(tuple, keys.set.a))
        return [Polytope(len(a[0]), a, tuple(keys.set.b))]
    return [SPACES[name](n) for name, n in product(listed(keys.set), listed(keys.dimension))]


SURE = 0.99  # the confidence with which to show a player of the game best_arm that needs one


class Size(NamedTuple):
    """The size of a game in which to show a player."""

    horizon: int
    arms: int  # coordinates in a linear game
    space: str | None = None  # the decision set of a linear game, by default the first in which the player can play
    dimension: int | None = None  # the dimension of contextual arms; in a linear game it replaces `arms`

    def setting(self, player: Adversary | Algorithm) -> Setting:
        """The setting; ValueError for a dimension in the game bandit, or for a set in a game other than linear."""
        if self.space is not None and player.game != "linear":
            raise ValueError(f"{player.name} plays the game {player.game}, which has no decision set: leave --set out")
        n = self.dimension or self.arms
        if player.game == "contextual":
            return Setting(self.horizon, self.arms, contexts=Contexts(n, fixed=True))
        if player.game in ("bandit", "best_arm"):
            if self.dimension is not None:
                raise ValueError(
                    f"{player.name} plays the game {player.game}, which has no dimension: leave --dimension out, or "
                    "set --arms"
                )
            sizes = product((self.arms, 2), (None, SURE))  # two arms for a test that has no more
            every = [Setting(self.horizon, n, confidence=known) for n, known in sizes]
            return next((setting for setting in every if not list(player.errors(setting))), every[0])
        every = [Setting(self.horizon, n, space=SPACES[name](n)) for name in ([self.space] if self.space else SPACES)]
        return next((setting for setting in every if not list(player.errors(setting))), every[0])


def swept(keys: Keys, setting: Setting) -> dict[str, Any]:
    """The values in a setting of the keys that the experiment sweeps."""
    name = setting.space.name if setting.space else None
    dimension = setting.n_arms if setting.contexts is None else setting.contexts.dimension
    values = {"horizon": int(setting.horizon), "set": name, "dimension": dimension, "confidence": setting.confidence}
    return {name: value for name, value in values.items() if len(listed(getattr(keys, name))) > 1}


def swept_notes(setting: Setting, values: Mapping[str, Any]) -> dict[str, str]:
    """The notes in a title on the swept values of its setting, by parameter: `cube`, `N = 10`, `T = 1,024`."""
    letter = "N" if setting.contexts is None else "d"
    texts = {"set": "{}", "dimension": letter + " = {}", "horizon": "T = {:,}", "confidence": "confidence = {}"}
    return {name: text.format(values[name]) for name, text in texts.items() if name in values}
