"""The claims of a config: parsed, and checked against the curves and checkpoints of its experiment."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from privbandits_cli.experiment.document import Error
from privbandits_cli.experiment.errors import suggestion
from privbandits_cli.experiment.expressions import (
    QUANTITIES,
    ClaimError,
    Condition,
    Expression,
    Scope,
    Side,
    parse,
)
from privbandits_cli.experiment.keys import Keys
from privbandits_cli.experiment.settings import listed
from privbandits_cli.experiment.variants import Variant, flat


@dataclass(frozen=True)
class Claim:
    """What a paper claims about an experiment."""

    text: str
    source: str  # the paper, and the place in it
    note: str  # explains the verdict
    expression: Expression


def claims(
    keys: Keys,
    adversaries: Sequence[Variant],
    algorithms: Sequence[Variant],
    rounds: Sequence[int],
    errors: list[Error],
) -> tuple[Claim, ...]:
    """The claims of a config; one that is malformed, or does not fit the experiment, is added to the errors.

    rounds: the checkpoints of all horizons together.
    """
    out = []
    for i, entry in enumerate(keys.claims):
        try:
            expression = parse(entry.claim)
            _check_scope(expression.scope, adversaries, rounds)
            _check_parameters(expression.scope, keys, [*adversaries, *algorithms])
            for side in expression.sides():
                _check_side(side, expression.scope, algorithms)
        except ClaimError as error:
            errors.append(Error(("claims", i, "claim"), str(error), offset=error.at))
        else:
            out.append(Claim(entry.claim, entry.source, entry.note, expression))
    return tuple(out)


def _check_scope(scope: Scope, adversaries: Sequence[Variant], rounds: Sequence[int]) -> None:
    for name, at in scope.panels:
        known = dict.fromkeys(title for variant in adversaries for title in titles(variant))
        if name not in known:
            raise ClaimError(f"this experiment has no panel '{name}'" + suggestion(name, known), at)
    if scope.round is not None and scope.round[0] not in rounds:
        wanted, at = scope.round
        near = ", ".join(map(str, sorted(sorted(rounds, key=lambda known: abs(known - wanted))[:3])))
        raise ClaimError(f"round {wanted} is not a checkpoint; the nearest checkpoints are {near}", at)


def _check_parameters(scope: Scope, keys: Keys, players: Sequence[Variant]) -> None:
    swept = dict.fromkeys(name for variant in players for name in variant.swept)
    swept |= dict.fromkeys(key for key in ("horizon", "set", "dimension") if isinstance(getattr(keys, key), list))
    if scope.worst is not None and scope.worst[0] not in swept:
        name, at = scope.worst
        raise ClaimError(f"this experiment does not sweep a parameter '{name}'" + suggestion(name, swept), at)
    for condition in scope.where:
        _check_condition(condition, list(_values(condition.name, keys, players)), swept)


def _values(name: str, keys: Keys, players: Iterable[Variant]) -> Iterator[Any]:
    """All values that a parameter takes in the experiment."""
    if name in ("horizon", "set", "dimension"):
        yield from listed(getattr(keys, name))
    for variant in players:
        described = {**flat(variant.parameters.described()), **variant.swept}
        yield from [described[name]] if described.get(name) is not None else []


def _check_condition(condition: Condition, values: Sequence[Any], known: Iterable[str]) -> None:
    if not values:
        hint = suggestion(condition.name, known)
        raise ClaimError(f"no curve has a parameter '{condition.name}'" + hint, condition.at)
    if not any(condition.admits(value) for value in values):
        wanted = condition.value if isinstance(condition.value, str) else f"{condition.value:g}"
        shown = ", ".join(dict.fromkeys(str(value) for value in values))
        message = f"no curve has {condition.name} {condition.relation} {wanted}; the values are {shown}"
        raise ClaimError(message, condition.at)


def _check_side(side: Side, scope: Scope, algorithms: Sequence[Variant]) -> None:
    curve = side.curve
    assert curve is not None
    named = [variant for variant in algorithms if curve.name == _name(variant, curve.labelled)]
    if not named:
        known = dict.fromkeys(_name(variant, curve.labelled) for variant in algorithms)
        what = "label" if curve.labelled else "algorithm"
        raise ClaimError(f"this experiment has no {what} '{curve.name}'" + suggestion(curve.name, known), curve.at)
    for condition in curve.where:
        described = [described_of(variant) for variant in named]
        values = [each[condition.name] for each in described if each.get(condition.name) is not None]
        _check_condition(condition, values, dict.fromkeys(name for each in described for name in each))
    selected = [v for v in named if all(c.admits(described_of(v).get(c.name)) for c in curve.where)]
    entries = {variant.loc for variant in selected}
    if len(entries) > 1:
        hint = "select one by its 'label' or by parameters in [ ]"
        raise ClaimError(f"'{curve.name}' is {len(entries)} entries of this experiment: {hint}", curve.at)
    if not entries:
        raise ClaimError(f"no '{curve.name}' has all of these parameters", curve.at)
    if QUANTITIES[side.quantity].fitted and scope.round is not None:
        raise ClaimError(f"a {side.quantity} is fitted to several points, so it has no round", scope.round[1])


def described_of(variant: Variant) -> dict[str, Any]:
    """What distinguishes the curves of an algorithm: its parameters and its panel."""
    return {**flat(variant.parameters.described()), **variant.swept, "panel": variant.panel}


def _name(variant: Variant, labelled: bool) -> str:
    return variant.label or variant.parameters.title if labelled else variant.parameters.name


def titles(variant: Variant) -> tuple[str, ...]:
    """The names by which a claim may refer to an adversary's panel."""
    return variant.parameters.name, variant.label or variant.parameters.title
