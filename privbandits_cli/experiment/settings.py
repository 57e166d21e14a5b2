"""What an experiment's game lets its players know: the settings, one for each horizon and each dimension."""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from privbandits_cli.convex.polytope import Polytope
from privbandits_cli.convex.spaces import SPACES, Space
from privbandits_cli.experiment.document import Error
from privbandits_cli.experiment.keys import Inequalities, Keys
from privbandits_cli.games.players import Adversary, Algorithm, Contexts, Setting


def listed(value: Any) -> list[Any]:
    """A swept key's values."""
    return value if isinstance(value, list) else [value]


def settings(keys: Keys) -> list[Setting]:
    """A setting for each horizon, within it for each decision set."""
    horizons = listed(keys.horizon)
    if keys.game == "bandit":
        return [Setting(horizon, _n_arms(keys, 1)) for horizon in horizons]
    if keys.game == "contextual":
        return [
            Setting(keys.planned_horizon or horizon, _n_arms(keys, d), contexts=Contexts(d))
            for horizon, d in product(horizons, listed(keys.dimension))
        ]
    return [Setting(horizon, space.dimension, space=space) for horizon, space in product(horizons, spaces(keys))]


def _n_arms(keys: Keys, dimension: int) -> int:
    return keys.arms if isinstance(keys.arms, int) else dimension**2


def played(keys: Keys, setting: Setting) -> int:
    """The rounds that are played in a setting: its horizon, unless a longer one is planned."""
    return int(setting.horizon) if keys.planned_horizon is None else listed(keys.horizon)[0]


def spaces(keys: Keys) -> list[Space]:
    """The decision sets of a linear game, one for each dimension of each kind."""
    if isinstance(keys.set, Inequalities):
        a = tuple(map(tuple, keys.set.a))
        return [Polytope(len(a[0]), a, tuple(keys.set.b))]
    return [SPACES[name](n) for name, n in product(listed(keys.set), listed(keys.dimension))]


def example(
    player: Adversary | Algorithm, horizon: int, size: int, space: str | None = None, dimension: int | None = None
) -> Setting:
    """A setting to show somebody in: of a linear game in the set named, or in the first where they can play.

    dimension: of a contextual game's arms, by default as many as there are, the standard basis; of a linear game in
    place of `size`. ValueError for a bandit's, and for a set outside of a linear game.
    """
    if space is not None and player.game != "linear":
        raise ValueError(f"{player.name} plays the game {player.game}, on no decision set: leave --set out")
    if player.game == "contextual":
        return Setting(horizon, size, contexts=Contexts(dimension or size))
    if player.game == "bandit":
        if dimension is not None:
            raise ValueError(f"{player.name} plays arms, which have no dimension: leave --dimension out, or set --arms")
        return Setting(horizon, size)
    n = dimension or size
    found = [Setting(horizon, n, space=SPACES[name](n)) for name in ([space] if space else SPACES)]
    return next((setting for setting in found if not list(player.errors(setting))), found[0])


def swept(keys: Keys, setting: Setting) -> dict[str, Any]:
    """Of a setting what the experiment sweeps."""
    name = setting.space.name if setting.space else None
    dimension = setting.n_arms if setting.contexts is None else setting.contexts.dimension
    values = {"horizon": int(setting.horizon), "set": name, "dimension": dimension}
    return {name: value for name, value in values.items() if len(listed(getattr(keys, name))) > 1}


def swept_notes(setting: Setting, values: Mapping[str, Any]) -> dict[str, str]:
    """The notes in a title on the swept values of its setting, by parameter: `cube`, `N = 10`, `T = 1,024`."""
    letter = "N" if setting.contexts is None else "d"
    texts = {"set": "{}", "dimension": letter + " = {}", "horizon": "T = {:,}"}
    return {name: text.format(values[name]) for name, text in texts.items() if name in values}


FOREIGN = {
    "bandit": ("set", "dimension", "feedback", "planned_horizon"),
    "linear": ("arms", "planned_horizon"),
    "contextual": ("set", "feedback"),
}
INSTEAD = {
    "bandit": "it has arms",
    "linear": "it has a set and a dimension",
    "contextual": "it has arms and a dimension",
}


def foreign(keys: Keys) -> list[str]:
    """The keys that do not belong to the game."""
    derived = ["dimension"] if isinstance(keys.set, Inequalities) else []
    return [*FOREIGN[keys.game], *derived]


def errors(keys: Keys) -> Iterator[Error]:
    """Keys that do not belong to the game, and decision sets in which nobody can play."""
    given = keys.model_fields_set
    for key in FOREIGN[keys.game]:
        if key in given:
            yield Error((key,), f"the game {keys.game} has no '{key}': {INSTEAD[keys.game]}", at_key=True)
    if keys.game == "linear":
        yield from _set_errors(keys)
    elif keys.game == "contextual":
        yield from _context_errors(keys)
    elif not isinstance(keys.arms, int):
        yield Error(("arms",), f"'{keys.arms}' is for the game contextual: give a number")


def _context_errors(keys: Keys) -> Iterator[Error]:
    if "dimension" not in keys.model_fields_set:
        yield Error((), "missing key 'dimension': d, the coordinates of an arm")
    elif any(_n_arms(keys, d) < 2 for d in listed(keys.dimension)):
        yield Error(("arms",), "d^2 is one arm where d = 1: give a number")
    if keys.planned_horizon is not None and isinstance(keys.horizon, list):
        yield Error(("horizon",), "with a planned_horizon give one horizon, up to which it is played")
    elif keys.planned_horizon is not None and keys.planned_horizon < listed(keys.horizon)[0]:
        yield Error(("planned_horizon",), f"it ends before the horizon {keys.horizon}: plan at least as many rounds")


def _set_errors(keys: Keys) -> Iterator[Error]:
    given = keys.model_fields_set
    if not isinstance(keys.set, Inequalities):
        if "set" not in given:
            yield Error((), f"missing key 'set': {', '.join(SPACES)}, or {{a: rows, b: numbers}}")
        if "dimension" not in given:
            yield Error((), "missing key 'dimension': N, the number of experts or coordinates")
        elif "simplex" in listed(keys.set) and 1 in listed(keys.dimension):
            yield Error(("dimension",), "a single expert leaves nothing to choose: take at least 2")
        return
    a, b = keys.set.a, keys.set.b
    if "dimension" in given:
        yield Error(("dimension",), "a polytope's dimension is that of the rows of a: leave it out", at_key=True)
    ragged = [i for i, row in enumerate(a) if len(row) != len(a[0]) or not row]
    if ragged:
        yield Error(("set", "a", ragged[0]), f"row {ragged[0] + 1} has {len(a[ragged[0]])} numbers, row 1 {len(a[0])}")
    elif len(a) != len(b):
        yield Error(("set", "b"), f"{len(b)} numbers for {len(a)} rows of a: each row needs its own")
    else:
        yield from (Error(("set",), message) for space in spaces(keys) for message in space.errors())
