"""Errors between keys that are each valid by themselves."""

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from numbers import Real

from privbandits_cli.convex.spaces import SPACES
from privbandits_cli.experiment.document import Error
from privbandits_cli.experiment.errors import suggestion
from privbandits_cli.experiment.keys import Inequalities, Keys
from privbandits_cli.experiment.settings import listed, n_arms, n_checkpoints, spaces
from privbandits_cli.experiment.variants import Variant

FOREIGN = {
    "bandit": ("set", "dimension", "feedback", "planned_horizon", "confidence"),
    "linear": ("arms", "planned_horizon", "confidence"),
    "contextual": ("set", "feedback", "confidence", "switches"),
    "best_arm": ("set", "dimension", "feedback", "planned_horizon", "switches"),
}
# What is played, and what regret is counted against; and that with the unit, of which a setting is made.
GAME = ("game", "horizon", "planned_horizon", "arms", "set", "dimension", "feedback", "confidence", "switches")
SETTING = {*GAME, "unit"}
SWEEPABLE = ("horizon", "set", "dimension", "confidence")
MOST_CURVES = 10_000
MOST_ROWS = 2_000_000  # the most rows that summary.csv may have


def foreign_keys(keys: Keys) -> list[str]:
    """The keys that do not belong to the game, or that another key implies."""
    return [*FOREIGN[keys.game], *(["dimension"] if isinstance(keys.set, Inequalities) else [])]


def errors(keys: Keys, given: Collection[str], invalid: Collection[str]) -> Iterator[Error]:
    """Errors between the keys, as far as these are valid by themselves."""
    for needed, rule in RULES:
        if not needed & {*invalid}:
            yield from rule(keys, {*given})


def _groups(keys: Keys, given: set[str]) -> Iterator[Error]:
    groups, trials = keys.summary.groups, keys.trials
    if keys.game != "best_arm" and keys.summary.centre == "median_of_means" and trials % groups:
        nearest = " or ".join(str(n * groups) for n in (trials // groups, trials // groups + 1) if n)
        hint = f"take {nearest}, or `summary: {{centre: mean}}`"
        counted = "1 trial is" if trials == 1 else f"{trials} trials are"
        yield Error(("trials",), f"{counted} not a multiple of {groups} groups (summary.groups); {hint}")


def _level(keys: Keys, given: set[str]) -> Iterator[Error]:
    if keys.summary.level is not None and not keys.summary.tail:
        yield Error(("summary", "level"), "is of `centre: cvar` and `centre: quantile` only: choose one of them")
    if keys.summary.tail and keys.game == "best_arm":
        yield Error(("summary", "centre"), f"{keys.summary.centre} is of regrets, and best_arm has times and answers")


def _rounds(keys: Keys, given: set[str]) -> Iterator[Error]:
    shortest = min(listed(keys.horizon))
    for i, checkpoint in enumerate(keys.checkpoints if isinstance(keys.checkpoints, list) else ()):
        if checkpoint > shortest:
            yield Error(("checkpoints", i), f"round {checkpoint} is beyond the horizon {shortest}")


def _plotted(keys: Keys, given: set[str]) -> Iterator[Error]:
    if keys.plot.price and not keys.plot.against:
        yield Error(("plot", "price"), "the price of privacy is drawn against a swept parameter: name it in `against`")
    if keys.plot.over and (keys.plot.price or keys.plot.slopes or keys.game != "bandit"):
        instead = "leave out `price` and `slopes`" if keys.game == "bandit" else "it is known of the game bandit only"
        yield Error(("plot", "over"), f"regrets are multiples of one thing, here of a lower bound: {instead}")
    if keys.plot.at_delta and not keys.plot.at_epsilon and keys.plot.against != "epsilon":
        yield Error(("plot", "at_delta"), "it says where curves stand on an axis of ε: write `against: epsilon`")
    if keys.plot.at_epsilon and not (keys.plot.at_delta and keys.plot.against == "rounds_per_person"):
        instead = "write `against: rounds_per_person` and a δ, `at_delta`"
        yield Error(("plot", "at_epsilon"), f"it says where curves stand on an axis of rounds per person: {instead}")
    if keys.plot.slopes and not keys.plot.against:
        yield Error(("plot", "slopes"), "slopes are fitted over `against`: name a swept parameter there")


def _foreign(keys: Keys, given: set[str]) -> Iterator[Error]:
    for key in FOREIGN[keys.game]:
        if key in given:
            message = f"the game {keys.game} has no '{key}': leave it out, or choose another game"
            yield Error((key,), message, at_key=True)
    only = {"d^2": "contextual", "means": "best_arm"}
    if isinstance(keys.arms, str) and keys.game not in ("linear", only[keys.arms]):
        yield Error(("arms",), f"'{keys.arms}' is for the game {only[keys.arms]}: give a number")


def _needed(keys: Keys, given: set[str]) -> Iterator[Error]:
    if keys.game == "contextual" and "dimension" not in given:
        yield Error((), "missing key 'dimension': d, the number of coordinates of an arm")
    if keys.game == "linear" and not isinstance(keys.set, Inequalities):
        if "set" not in given:
            yield Error((), f"missing key 'set': {', '.join(SPACES)}, or {{a: rows, b: numbers}}")
        if "dimension" not in given:
            yield Error((), "missing key 'dimension': N, the number of experts or coordinates")


def _single(keys: Keys, given: set[str]) -> Iterator[Error]:
    if keys.game == "contextual" and "dimension" in given and any(n_arms(keys, d) < 2 for d in listed(keys.dimension)):
        yield Error(("arms",), "d^2 is a single arm where d = 1: give a number")
    named = keys.game == "linear" and not isinstance(keys.set, Inequalities) and {"set", "dimension"} <= given
    if named and "simplex" in listed(keys.set) and 1 in listed(keys.dimension):
        yield Error(("dimension",), "a single expert leaves nothing to choose: take at least 2")


def _dynamic(keys: Keys, given: set[str]) -> Iterator[Error]:
    if keys.switches and keys.game == "linear" and (given & {"set"}) and listed(keys.set) != ["simplex"]:
        yield Error(("switches",), "sequences are of arms or of experts: set `set: simplex`, or leave it out")


def _planned(keys: Keys, given: set[str]) -> Iterator[Error]:
    if keys.game != "contextual" or keys.planned_horizon is None:
        return
    if isinstance(keys.horizon, list):
        yield Error(("horizon",), "a planned_horizon needs a single horizon, the number of rounds to simulate")
    elif keys.planned_horizon < keys.horizon:
        message = f"it is shorter than the horizon {keys.horizon}: plan at least as many rounds"
        yield Error(("planned_horizon",), message)


def _unit(keys: Keys, given: set[str]) -> Iterator[Error]:
    if keys.unit is not None and (keys.unit.rounds_per_person is None) == (keys.unit.person is None):
        message = "write `{rounds_per_person: m}`, or, for a log or a table, `{person: COLUMN}`: one of the two"
        yield Error(("unit",), message)
    elif keys.unit is not None and keys.unit.person is not None and keys.game != "contextual":
        message = f"the game {keys.game} plays neither a log nor a table: set `unit: {{rounds_per_person: m}}`"
        yield Error(("unit", "person"), message)


def _polytope(keys: Keys, given: set[str]) -> Iterator[Error]:
    if keys.game != "linear" or not isinstance(keys.set, Inequalities):
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


# Each rule with the keys that it reads; it is given the keys that the config has.
RULES: tuple[tuple[set[str], Callable[[Keys, set[str]], Iterator[Error]]], ...] = (
    ({"game", "trials", "summary"}, _groups),
    ({"game", "summary"}, _level),
    ({"horizon", "checkpoints"}, _rounds),
    ({"plot"}, _plotted),
    ({"game", "arms"}, _foreign),
    ({"game", "set"}, _needed),
    ({"game", "arms", "set", "dimension"}, _single),
    ({"game", "set", "switches"}, _dynamic),
    ({"game", "horizon", "planned_horizon"}, _planned),
    ({"game", "set"}, _polytope),
    ({"game", "unit"}, _unit),
)


def excess_errors(keys: Keys, n_adversaries: int, n_algorithms: int) -> Iterator[Error]:
    """Errors of an experiment with too many curves or rows, as far as it is known."""
    n_settings = math.prod(len(listed(getattr(keys, key))) for key in SWEEPABLE if key not in foreign_keys(keys))
    curves = max(1, n_adversaries) * max(1, n_algorithms) * n_settings
    rows = curves * n_checkpoints(keys)
    if curves > MOST_CURVES:
        yield Error((), f"this experiment has {curves:,} curves, more than {MOST_CURVES:,}: sweep fewer values")
    elif rows > MOST_ROWS:
        message = f"{curves:,} curves with so many checkpoints give {rows:,} rows, more than {MOST_ROWS:,}: take fewer"
        yield Error(("checkpoints",), message)


def plot_errors(
    keys: Keys, adversaries: Sequence[Variant], algorithms: Sequence[Variant], invalid: Collection[str]
) -> Iterator[Error]:
    """Errors of a figure over a parameter that is not swept, or with a floor that does not play."""
    if "plot" in invalid:
        return
    if not {*SWEEPABLE} & {*invalid}:
        yield from _axis_errors(keys, [*adversaries, *algorithms])
    floor = keys.plot.price.floor if keys.plot.price else None
    playing = dict.fromkeys(variant.parameters.name for variant in algorithms)
    if floor and floor not in playing:
        message = f"this experiment has no algorithm '{floor}'" + suggestion(floor, playing)
        yield Error(("plot", "price", "floor"), message)


def _axis_errors(keys: Keys, players: Sequence[Variant]) -> Iterator[Error]:
    swept: dict[str, list[object]] = {}
    for name, value in (pair for variant in players for pair in variant.swept.items()):
        swept.setdefault(name, []).append(value)
    # a resolved config has no sweeps: it lists each variant
    spread = {name for variant in players for name in variant.parameters.described() if not swept}
    swept |= {key: listed(getattr(keys, key)) for key in SWEEPABLE if isinstance(getattr(keys, key), list)}
    named = [
        ("against", "" if keys.plot.placed else keys.plot.against),
        ("worst", keys.plot.worst),
        *(("best", name) for name in keys.plot.best or ()),
    ]
    for key, name in named:
        known = swept.get(name) or swept.get(name.removeprefix("adversary."))
        if name and known is None and name.removeprefix("adversary.") not in spread:
            hint = suggestion(name, swept) if swept else "; give it a list of values"
            yield Error(("plot", key), f"no parameter '{name}' is swept{hint}")
        elif known and key != "best" and not all(isinstance(value, Real) for value in known):
            words = ", ".join(dict.fromkeys(str(value) for value in known if not isinstance(value, Real)))
            yield Error(("plot", key), f"an axis takes numbers, and '{name}' is swept over others: {words}")
