"""The claims of a config: parsed, and checked against the curves and checkpoints of its experiment."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

from privbandits_cli.experiment.consistency import SWEEPABLE
from privbandits_cli.experiment.document import Error
from privbandits_cli.experiment.errors import ENOUGH, suggestion
from privbandits_cli.experiment.expressions import QUANTITIES, ClaimError, Condition, Expression, Scope, Side, parse
from privbandits_cli.experiment.keys import Keys
from privbandits_cli.experiment.settings import listed
from privbandits_cli.experiment.variants import Variant, flat
from privbandits_cli.numerics.text import exact


@dataclass(frozen=True)
class Claim:
    """What a paper claims about an experiment."""

    text: str
    source: str  # the paper, and the place in it
    note: str  # explains the verdict
    expression: Expression


@dataclass(frozen=True)
class Known:
    """What is known of the experiment that claims are about; None where its own errors leave it unknown."""

    keys: Keys
    adversaries: Sequence[Variant] | None
    algorithms: Sequence[Variant] | None  # as given
    tuned: Sequence[Variant] | None  # the algorithms in all settings
    rounds: Collection[int] | None  # the checkpoints of all horizons together
    swept: bool  # whether the swept keys are valid


def claims(stated: Any, known: Known, errors: list[Error]) -> tuple[Claim, ...]:
    """The claims of a config; one that is malformed, or does not fit the experiment, is added to the errors."""
    out = []
    for i, entry in enumerate(stated if isinstance(stated, list) else ()):
        text = entry.get("claim") if isinstance(entry, dict) else None
        if not isinstance(text, str) or len(errors) > ENOUGH:
            continue  # an error of the keys
        try:
            expression = parse(text)
            _check_scope(expression.scope, known)
            _check_parameters(expression.scope, known)
            for side in expression.sides():
                _check_side(side, expression.scope, known)
        except ClaimError as error:
            errors.append(Error(("claims", i, "claim"), str(error), offset=error.at))
        else:
            out.append(Claim(text, str(entry.get("source", "")), str(entry.get("note", "")), expression))
    return tuple(out)


def _check_scope(scope: Scope, known: Known) -> None:
    panels = [title for one in known.adversaries or () for title in (one.parameters.name, one.title)]
    for name, at in scope.panels:
        if known.adversaries is not None and name not in panels:
            raise ClaimError(f"this experiment has no panel '{name}'" + suggestion(name, panels), at)
    if scope.round is not None and known.rounds is not None and scope.round[0] not in known.rounds:
        wanted, at = scope.round
        near = ", ".join(map(str, sorted(sorted(known.rounds, key=lambda t: (abs(t - wanted), t))[:3])))
        raise ClaimError(f"round {wanted} is not a checkpoint; the nearest checkpoints are {near}", at)


def _check_parameters(scope: Scope, known: Known) -> None:
    if known.adversaries is None or known.tuned is None or not known.swept:
        return
    players = [*known.adversaries, *known.tuned]
    swept = dict.fromkeys(name for variant in players for name in variant.swept)
    swept |= dict.fromkeys(key for key in SWEEPABLE if isinstance(getattr(known.keys, key), list))
    if scope.worst is not None and scope.worst[0] not in swept:
        name, at = scope.worst
        raise ClaimError(f"this experiment does not sweep a parameter '{name}'" + suggestion(name, swept), at)
    described = [{key: value} for key in SWEEPABLE for value in listed(getattr(known.keys, key))]
    described += map(_described, players)
    for condition in scope.where:
        _check_condition(condition, described, swept)


def _described(variant: Variant) -> dict[str, Any]:
    return {**flat(variant.parameters.described()), **variant.swept}


def _check_condition(condition: Condition, described: Iterable[Mapping[str, Any]], known: Iterable[str]) -> None:
    values = [each[condition.name] for each in described if each.get(condition.name) is not None]
    if not values:
        hint = suggestion(condition.name, known)
        raise ClaimError(f"no curve has a parameter '{condition.name}'" + hint, condition.at)
    if not any(condition.admits(value) for value in values):
        wanted = condition.value if isinstance(condition.value, str) else exact(condition.value)
        shown = ", ".join(dict.fromkeys(str(value) for value in values))
        message = f"no curve has {condition.name} {condition.relation} {wanted}; the values are {shown}"
        raise ClaimError(message, condition.at)


def _check_side(side: Side, scope: Scope, known: Known) -> None:
    curve = side.curve
    assert curve is not None
    if known.keys.game not in QUANTITIES[side.quantity].games:
        fit = [name for name, each in QUANTITIES.items() if known.keys.game in each.games]
        shown = ", ".join(f"{name}(...)" for name in fit)
        raise ClaimError(f"claims about the game {known.keys.game} are on {shown}, not {side.quantity}(...)", curve.at)
    if known.keys.game == "best_arm" and scope.round is not None:
        raise ClaimError("a claim about the game best_arm is about whole trials, and has no round", scope.round[1])
    if QUANTITIES[side.quantity].fitted and scope.round is not None:
        raise ClaimError(f"a {side.quantity} is fitted to several points, so it has no round", scope.round[1])
    if QUANTITIES[side.quantity].sorts and scope.round is not None:
        told = "needs single trials, which are recorded after the last round only: leave out the round"
        raise ClaimError(f"{side.quantity}(...) {told}", scope.round[1])
    if known.algorithms is None:
        return
    named = [v for v in known.tuned or known.algorithms if curve.name == _name(v, curve.labelled)]
    if not named:
        names = dict.fromkeys(_name(variant, curve.labelled) for variant in known.algorithms)
        what = "label" if curve.labelled else "algorithm"
        raise ClaimError(f"this experiment has no {what} '{curve.name}'" + suggestion(curve.name, names), curve.at)
    if known.tuned is None:  # conditions are on tuned parameters
        return
    described = [_described(variant) | {"panel": variant.panel} for variant in named]
    for condition in curve.where:
        _check_condition(condition, described, dict.fromkeys(name for each in described for name in each))
    selects = [all(c.admits(each.get(c.name)) for c in curve.where) for each in described]
    entries = {variant.loc for variant in compress(named, selects)}
    if len(entries) > 1:
        hint = "select one by its 'label' or by parameters in [ ]"
        raise ClaimError(f"'{curve.name}' is {len(entries)} entries of this experiment: {hint}", curve.at)
    if not entries:
        raise ClaimError(f"no '{curve.name}' has all of these parameters", curve.at)


def _name(variant: Variant, labelled: bool) -> str:
    return variant.title if labelled else variant.parameters.name
