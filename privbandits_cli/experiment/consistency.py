"""Errors between keys that are each valid by themselves."""

from collections.abc import Collection, Iterator, Sequence

from privbandits_cli.convex.spaces import SPACES
from privbandits_cli.experiment.document import Error
from privbandits_cli.experiment.errors import suggestion
from privbandits_cli.experiment.keys import Inequalities, Keys
from privbandits_cli.experiment.settings import listed, n_arms, spaces
from privbandits_cli.experiment.variants import Variant
from privbandits_cli.games.players import Algorithm

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


def foreign_keys(keys: Keys) -> list[str]:
    """The keys that do not belong to the game, or that another key implies."""
    return [*FOREIGN[keys.game], *(["dimension"] if isinstance(keys.set, Inequalities) else [])]


def size_errors(keys: Keys, invalid: Collection[str]) -> Iterator[Error]:
    """Errors between trials, groups, horizon and checkpoints, as far as these are valid."""
    groups, trials = keys.summary.groups, keys.trials
    grouped = keys.summary.centre == "median_of_means" and not {"trials", "summary"} & {*invalid}
    if grouped and trials % groups:
        nearest = " or ".join(str(n * groups) for n in (trials // groups, trials // groups + 1) if n)
        hint = f"take {nearest}, or `summary: {{centre: mean}}`"
        yield Error(("trials",), f"{trials} trials are not a multiple of {groups} groups (summary.groups); {hint}")
    if isinstance(keys.checkpoints, list) and not {"horizon", "checkpoints"} & {*invalid}:
        shortest = min(listed(keys.horizon))
        for i, checkpoint in enumerate(keys.checkpoints):
            if checkpoint > shortest:
                yield Error(("checkpoints", i), f"round {checkpoint} is beyond the horizon {shortest}")


def plot_errors(keys: Keys, players: Sequence[Variant]) -> Iterator[Error]:
    """Errors of a figure over a parameter that is not swept, or with a floor that does not play."""
    swept = {name: None for variant in players for name in variant.swept}
    # a resolved config has no sweeps: it lists each variant
    spread = {name for variant in players for name in variant.parameters.described() if not swept}
    swept |= dict.fromkeys(key for key in ("horizon", "set", "dimension") if isinstance(getattr(keys, key), list))
    for key in ("against", "worst"):
        name = getattr(keys.plot, key)
        if name and name.removeprefix("adversary.") not in swept.keys() | spread:
            known = suggestion(name, swept) if swept else "; give it a list of values"
            yield Error(("plot", key), f"no parameter '{name}' is swept{known}")
    floor = keys.plot.price.floor if keys.plot.price else None
    playing = dict.fromkeys(one.parameters.name for one in players if isinstance(one.parameters, Algorithm))
    if floor and floor not in playing:
        message = f"this experiment has no algorithm '{floor}'" + suggestion(floor, playing)
        yield Error(("plot", "price", "floor"), message)
    if floor and not keys.plot.against:
        yield Error(("plot", "price"), "the price of privacy is drawn against a swept parameter: name it in `against`")
    if keys.plot.slopes and not keys.plot.against:
        yield Error(("plot", "slopes"), "slopes are fitted over `against`: name a swept parameter there")


def game_errors(keys: Keys) -> Iterator[Error]:
    """Keys that do not belong to the game, and decision sets on which no game can be played."""
    for key in FOREIGN[keys.game]:
        if key in keys.model_fields_set:
            yield Error((key,), f"the game {keys.game} has no '{key}': {INSTEAD[keys.game]}", at_key=True)
    if keys.game == "linear":
        yield from _set_errors(keys)
    elif keys.game == "contextual":
        yield from _context_errors(keys)
    elif not isinstance(keys.arms, int):
        yield Error(("arms",), f"'{keys.arms}' is for the game contextual: give a number")


def _context_errors(keys: Keys) -> Iterator[Error]:
    if "dimension" not in keys.model_fields_set:
        yield Error((), "missing key 'dimension': d, the number of coordinates of an arm")
    elif any(n_arms(keys, d) < 2 for d in listed(keys.dimension)):
        yield Error(("arms",), "d^2 is a single arm where d = 1: give a number")
    if keys.planned_horizon is not None and isinstance(keys.horizon, list):
        yield Error(("horizon",), "a planned_horizon needs a single horizon, the number of rounds to simulate")
    elif keys.planned_horizon is not None and keys.planned_horizon < listed(keys.horizon)[0]:
        message = f"it is shorter than the horizon {keys.horizon}: plan at least as many rounds"
        yield Error(("planned_horizon",), message)


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
        yield Error(("dimension",), "the rows of a give a polytope's dimension: leave this key out", at_key=True)
    ragged = [i for i, row in enumerate(a) if len(row) != len(a[0]) or not row]
    if ragged:
        yield Error(("set", "a", ragged[0]), f"row {ragged[0] + 1} has {len(a[ragged[0]])} numbers, row 1 {len(a[0])}")
    elif len(a) != len(b):
        yield Error(("set", "b"), f"{len(b)} numbers for {len(a)} rows of a: give one for each row")
    else:
        yield from (Error(("set",), message) for space in spaces(keys) for message in space.errors())
