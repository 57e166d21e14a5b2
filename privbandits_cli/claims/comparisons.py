"""A statement and a folder's results -> its cases: one for each panel and each swept value that it leaves open."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from privbandits_cli.analysis import estimates
from privbandits_cli.analysis.estimates import Estimate
from privbandits_cli.analysis.measured import Identity, Measured, differing, foreign, identity, planned, read
from privbandits_cli.experiment.config import Experiment
from privbandits_cli.experiment.expressions import Place, Selection, Side, Statement
from privbandits_cli.experiment.plan import Curve, make_plan
from privbandits_cli.experiment.variants import flat
from privbandits_cli.games import arms


class Absent(Exception):
    """What a claim speaks of has not been measured; the message says what."""


@dataclass(frozen=True)
class Results:
    """An experiment as it is planned, and what a folder has of it."""

    experiment: Experiment
    curves: tuple[Curve, ...]
    measured: Mapping[Identity, Measured]
    fault: str  # why there is nothing, if there is

    def of(self, curve: Curve) -> Measured:
        """What was measured of a planned curve; Absent if nothing was, or with other parameters."""
        if self.fault:
            raise Absent(self.fault)
        wanted = planned(curve)
        found = self.measured.get(identity(wanted))
        if found is None or not found.finals:
            raise Absent(f"no trial of {wanted.title}")
        other = differing(found.parameters, wanted.parameters)
        if other or max(found.rounds, default=0) != curve.horizon:
            raise Absent(f"{wanted.title} was played with another {' and '.join(other) or 'horizon'}")
        return found

    def partial(self, curves: Iterable[Curve]) -> str:
        """`12 of 720 trials` of the curve that has the fewest; empty if all are complete."""
        wanted = self.experiment.keys.trials
        fewest = min(len(self.of(curve).finals) for curve in curves)
        return f"{fewest} of {wanted} trials" if fewest < wanted else ""


def results(folder: Path, experiment: Experiment) -> Results:
    """What a folder has of an experiment; ValueError where its CSVs cannot be read."""
    curves = make_plan(experiment).curves
    if not (folder / "summary.csv").exists() or not (folder / "final.csv").exists():
        return Results(experiment, curves, {}, f"no results in {folder.name}")
    fault = foreign(folder, experiment)
    if fault:
        return Results(experiment, curves, {}, f"{folder.name} is of another experiment: {fault}")
    return Results(experiment, curves, read(folder), "")


@dataclass(frozen=True)
class Case:
    """One panel, and one value of all that is swept and left open; of a slope and of a worst value all curves."""

    name: str
    left: tuple[Curve, ...]
    right: tuple[Curve, ...]


Kin = tuple[str, dict[str, str]]  # the panel, and the swept values that tell its cases apart


def cases(statement: Statement, found: Results) -> list[Case]:
    """The cases of a statement; Absent where one side of a case has no curve."""
    folded = _folded(statement, found.experiment)
    left = _grouped(statement.left, statement.place, folded, found.curves)
    if statement.right.curve is None:
        return [Case(_name(kin), curves, ()) for kin, curves in left]
    right = _grouped(statement.right, statement.place, folded, found.curves)
    paired = [
        Case(_name((a[0], a[1] | b[1])), one, other)
        for a, one in left
        for b, other in right
        if a[0] == b[0] and all(b[1].get(name, value) == value for name, value in a[1].items())
    ]
    for groups, sides in ((left, [case.left for case in paired]), (right, [case.right for case in paired])):
        used = {curve.key for side in sides for curve in side}
        alone = [kin for kin, curves in groups if curves[0].key not in used]
        if alone:
            raise Absent(f"nothing to compare with at {_name(alone[0])}")
    return paired


def _folded(statement: Statement, experiment: Experiment) -> set[str]:
    """The swept parameters whose values belong to one case."""
    worst, against = statement.place.worst, experiment.keys.plot.against
    folded = {worst[0]} if worst else set()
    return folded | ({against} if statement.left.kind == "slope" and against else set())


def _grouped(
    side: Side, place: Place, folded: set[str], curves: Sequence[Curve]
) -> list[tuple[Kin, tuple[Curve, ...]]]:
    """The curves of a side, those of a case together."""
    assert side.curve is not None
    pinned = {condition.name for condition in side.curve.where}
    found: dict[str, tuple[Kin, tuple[Curve, ...]]] = {}
    for curve in curves:
        if _selects(side.curve, curve) and _lies(place, curve):
            apart = {k: str(v) for k, v in curve.swept.items() if k not in folded | pinned}
            kin = (_panel(curve), apart)
            found[str(kin)] = kin, (*found.get(str(kin), (kin, ()))[1], curve)
    if not found:
        raise Absent(f"no {side.curve.name} there")
    return list(found.values())


def _panel(curve: Curve) -> str:
    """The panel of a curve without the notes of what is swept."""
    return curve.adversary_title.without(curve.swept)


def _name(kin: Kin) -> str:
    notes = [f"{'ε' if name == 'epsilon' else name} = {value}" for name, value in kin[1].items()]
    return ", ".join([kin[0], *notes])


def _selects(selection: Selection, curve: Curve) -> bool:
    name = curve.label.base if selection.labelled else curve.algorithm.name
    described = {**flat(curve.algorithm.described()), **curve.swept, "panel": curve.panel}
    return name == selection.name and all(
        condition.admits(described.get(condition.name)) for condition in selection.where
    )


def _lies(place: Place, curve: Curve) -> bool:
    """Whether a curve is in the place; a condition on what a curve does not have does not concern it."""
    names = {curve.adversary.name, _panel(curve)}
    described: dict[str, Any] = (
        flat(curve.adversary.described()) | flat(curve.algorithm.described()) | dict(curve.swept)
    )
    known = [condition for condition in place.where if described.get(condition.name) is not None]
    panels = [panel for panel, _ in place.panels]
    return (not panels or bool(names & set(panels))) and all(c.admits(described[c.name]) for c in known)


# --------------------------------------------------------------------------------------------- what a side is worth


def estimate(side: Side, curves: Sequence[Curve], place: Place, found: Results) -> Estimate:
    """What is known of a side in a case; a number is 1. Absent where it was not measured."""
    if side.curve is None:
        return Estimate(1.0)
    if side.kind == "slope":
        return _slope(curves, place, found)
    curve = _worst(curves, place, found)
    rounds = place.round[0] if place.round else curve.horizon
    if side.kind == "bound":
        memory = curve.adversary.reaction()[0] if isinstance(curve.adversary, arms.Adversary) else 0
        bound = curve.algorithm.regret_bound(np.array([float(rounds)]), curve.setting, memory)
        if bound is None:
            raise Absent(f"no theorem bounds the regret of {curve.label}")
        return Estimate(float(bound[0]))
    return _regret(found.of(curve), curve.horizon, rounds)


def _regret(measured: Measured, horizon: int, rounds: int) -> Estimate:
    """The mean regret after some rounds; single trials are known at the horizon only."""
    if rounds == horizon:
        return estimates.mean(measured.game, measured.finals)
    if rounds not in measured.rounds:
        raise Absent(f"{measured.title} is not recorded after {rounds} rounds")
    mean, sd, trials = measured.rounds[rounds]
    return Estimate(mean, sd / np.sqrt(trials) if trials > 1 else np.inf, trials)


def _worst(curves: Sequence[Curve], place: Place, found: Results) -> Curve:
    """Of the curves of a case the one whose mean regret ends highest; but for the worst value there is only one."""
    if place.worst is None and len(curves) > 1:
        raise Absent(f"{len(curves)} curves are {curves[0].label}: the claim must say which")
    horizon = curves[0].horizon
    return max(curves, key=lambda curve: _regret(found.of(curve), horizon, horizon).value)


def _slope(curves: Sequence[Curve], place: Place, found: Results) -> Estimate:
    """The slope of log mean regret over what the figure is drawn against, or over the rounds of one curve."""
    against = found.experiment.keys.plot.against
    if against:
        level = [curve.label for curve in curves if against not in curve.swept]
        if level:
            raise Absent(f"{level[0]} has no {against}: a slope needs several")
        by_x: dict[float, list[Curve]] = {}
        for curve in curves:
            by_x.setdefault(float(curve.swept[against]), []).append(curve)
        points = {x: _worst(kin, place, found) for x, kin in sorted(by_x.items())}
        measured = [_regret(found.of(curve), curve.horizon, curve.horizon) for curve in points.values()]
        x = np.array(list(points))
    else:
        curve = _worst(curves, place, found)
        own = found.of(curve)
        x = np.array(sorted(own.rounds), float)
        measured = [_regret(own, 0, int(rounds)) for rounds in x]
    mean, error = (np.array([getattr(one, name) for one in measured]) for name in ("value", "error"))
    trials = min(one.trials for one in measured)
    if len(x) < 2 or (mean <= 0).any():
        raise Absent("a slope needs two points or more, and means above 0")
    slope, deviation = estimates.slope(x, mean, error, together=not against)
    return Estimate(slope, deviation, trials)
