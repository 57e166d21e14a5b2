"""The claims of a config: each read, and checked against the players and rounds of its experiment."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from privbandits_cli.experiment.document import Error
from privbandits_cli.experiment.errors import suggestion
from privbandits_cli.experiment.expressions import ClaimError, Condition, Place, Selection, Statement, parse
from privbandits_cli.experiment.keys import Keys
from privbandits_cli.experiment.settings import listed
from privbandits_cli.experiment.variants import Variant, flat


@dataclass(frozen=True)
class Claim:
    """A statement that a paper makes of this experiment."""

    text: str
    source: str  # the paper and the place in it
    note: str  # why it comes out as it does
    statement: Statement


def claims(
    keys: Keys,
    adversaries: Sequence[Variant],
    algorithms: Sequence[Variant],
    rounds: Sequence[int],
    errors: list[Error],
) -> tuple[Claim, ...]:
    """The claims of a config as statements; those that cannot be read or checked are errors.

    rounds: those at which regret is recorded, whatever the horizon.
    """
    out = []
    for i, said in enumerate(keys.claims):
        try:
            statement = parse(said.claim)
            _check(statement, keys, adversaries, algorithms, rounds)
        except ClaimError as error:
            errors.append(Error(("claims", i, "claim"), str(error), offset=error.at))
        else:
            out.append(Claim(said.claim, said.source, said.note, statement))
    return tuple(out)


def _check(
    statement: Statement,
    keys: Keys,
    adversaries: Sequence[Variant],
    algorithms: Sequence[Variant],
    rounds: Sequence[int],
) -> None:
    place = statement.place
    for name, at in place.panels:
        known = dict.fromkeys(title for variant in adversaries for title in titles(variant))
        if name not in known:
            raise ClaimError(f"no panel '{name}' here" + suggestion(name, known), at)
    if place.round is not None and place.round[0] not in rounds:
        wanted, at = place.round
        near = ", ".join(map(str, sorted(sorted(rounds, key=lambda known: abs(known - wanted))[:3])))
        raise ClaimError(f"regret is not recorded after {wanted} rounds, but after {near}", at)
    _check_place(place, keys, [*adversaries, *algorithms])
    for side in statement.sides():
        assert side.curve is not None
        _check_curve(side.curve, algorithms)
        if side.kind == "slope" and place.round is not None:
            raise ClaimError("a slope is fitted over the rounds, or over what is drawn against", place.round[1])


def _check_place(place: Place, keys: Keys, players: Sequence[Variant]) -> None:
    swept = dict.fromkeys(name for variant in players for name in variant.swept)
    swept |= dict.fromkeys(key for key in ("horizon", "set", "dimension") if isinstance(getattr(keys, key), list))
    if place.worst is not None and place.worst[0] not in swept:
        raise ClaimError(
            f"no parameter '{place.worst[0]}' is swept" + suggestion(place.worst[0], swept), place.worst[1]
        )
    for condition in place.where:
        values = list(_values(condition.name, keys, players))
        _check_condition(condition, values, swept)


def _values(name: str, keys: Keys, players: Iterable[Variant]) -> Iterator[Any]:
    """The values that a parameter takes somewhere in the experiment."""
    if name in ("horizon", "set", "dimension"):
        yield from listed(getattr(keys, name))
    for variant in players:
        described = {**flat(variant.parameters.described()), **variant.swept}
        yield from [described[name]] if described.get(name) is not None else []


def _check_condition(condition: Condition, values: Sequence[Any], known: Iterable[str]) -> None:
    if not values:
        raise ClaimError(f"no parameter '{condition.name}' here" + suggestion(condition.name, known), condition.at)
    if not any(condition.admits(value) for value in values):
        shown = ", ".join(dict.fromkeys(str(value) for value in values))
        words = f"{condition.name} {condition.relation} {condition.value}"
        raise ClaimError(f"nobody plays with {words}; there are: {shown}", condition.at)


def _check_curve(curve: Selection, algorithms: Sequence[Variant]) -> None:
    named = [variant for variant in algorithms if curve.name in _names(variant, curve.labelled)]
    if not named:
        known = dict.fromkeys(name for variant in algorithms for name in _names(variant, curve.labelled))
        what = "label" if curve.labelled else "algorithm"
        raise ClaimError(f"no {what} '{curve.name}' plays here" + suggestion(curve.name, known), curve.at)
    for condition in curve.where:
        described = [described_of(variant) for variant in named]
        values = [each[condition.name] for each in described if each.get(condition.name) is not None]
        _check_condition(condition, values, dict.fromkeys(name for each in described for name in each))
    meant = [v for v in named if all(c.admits(described_of(v).get(c.name)) for c in curve.where)]
    entries = {variant.loc for variant in meant}
    if len(entries) > 1:
        hint = "by its 'label' or by parameters in [ ]"
        raise ClaimError(f"'{curve.name}' stands here {len(entries)} times: say which, {hint}", curve.at)
    if not entries:
        raise ClaimError(f"no '{curve.name}' has all of these parameters", curve.at)


def described_of(variant: Variant) -> dict[str, Any]:
    """What a curve can be told from others by: its parameters, its panel."""
    return {**flat(variant.parameters.described()), **variant.swept, "panel": variant.panel}


def _names(variant: Variant, labelled: bool) -> tuple[str, ...]:
    return (variant.label or variant.parameters.title,) if labelled else (variant.parameters.name,)


def titles(variant: Variant) -> tuple[str, ...]:
    """By what an adversary's panel can be named: its name, its label or title."""
    return variant.parameters.name, variant.label or variant.parameters.title
