"""The value of each quantity of a claim in a comparison."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from privbandits_cli.accounting.rounding import at_least, at_most, is_vacuous
from privbandits_cli.analysis import counts, estimates, stopping
from privbandits_cli.analysis.estimates import Estimate
from privbandits_cli.analysis.format import amount, counted
from privbandits_cli.analysis.measured import Measured
from privbandits_cli.analysis.rates import least_regret, pure_epsilon, regret_bound
from privbandits_cli.claims.results import Absent, Results, Unknown
from privbandits_cli.experiment.expressions import NUMBER, Scope
from privbandits_cli.experiment.keys import LEVEL
from privbandits_cli.experiment.plan import Curve
from privbandits_cli.games import bandit
from privbandits_cli.games.heavy_tails import Stationary
from privbandits_cli.games.players import papers_delta


@dataclass(frozen=True)
class Estimator:
    """How a quantity is estimated from the curves of one side, and how its value is written."""

    estimate: Callable[[Sequence[Curve], Scope, Results], Estimate]  # raises Absent if the results lack it
    text: Callable[[float], str]
    prefix: str = ""  # before the value, on the right side


def _number(curves: Sequence[Curve], scope: Scope, found: Results) -> Estimate:
    """The unit that the limits of the expression multiply."""
    return Estimate(1.0)


def _final(curves: Sequence[Curve], scope: Scope, found: Results) -> Estimate:
    """The mean regret at the round of the scope, by default at the horizon."""
    curve = _worst(curves, scope, found)
    rounds = scope.round[0] if scope.round else curve.horizon
    return _regret(found, curve, rounds)


def _cvar(curves: Sequence[Curve], scope: Scope, found: Results) -> Estimate:
    """The mean regret of the worst trials, at the level of the config's summary."""
    chosen = found.experiment.keys.summary.level
    level = LEVEL if chosen is None else chosen
    made = estimates.cvar(found.of(_worst(curves, scope, found)).finals, level)
    return replace(made, remark=f" (the worst {amount(100 * (1 - level), digits=3)} %)")


def limits(curve: Curve, rounds: int) -> tuple[float, float]:
    """Between which the regret of each trial lies after so many rounds; on arms with known means it is not below 0."""
    if isinstance(curve.adversary, Stationary):
        gaps = bandit.gaps(curve.adversary.mean_gains(curve.setting))
        return 0.0, rounds * float(gaps.max(initial=0.0))
    most = rounds * curve.setting.largest_regret()
    return -most, most


def _bound(curves: Sequence[Curve], scope: Scope, found: Results) -> Estimate:
    """The regret bound of the algorithm's theorem at the same round."""
    curve = _worst(curves, scope, found)
    rounds = scope.round[0] if scope.round else curve.horizon
    bound = regret_bound(curve.algorithm, curve.adversary, curve.setting, np.array([float(rounds)]))
    if bound is None:
        raise Absent(f"no theorem bounds the regret of {curve.label}")
    value, most = float(bound[0]), rounds * curve.setting.largest_regret()
    vacuous = f" (vacuous: no regret exceeds {at_most(most, 3)})" if is_vacuous(value, most) else ""
    return Estimate(value, remark=vacuous)


def _lower_bound(curves: Sequence[Curve], scope: Scope, found: Results) -> Estimate:
    """`least_regret` at the same round: the asymptotic lower bound for all learners that are as private.

    In the game best_arm, that of 2025 on the mean time of all learners that are as private and as sure.
    """
    curve = _worst(curves, scope, found)
    if curve.setting.confidence is not None:
        times = stopping.lower_bounds(curve)
        if times is None:
            raise Absent(f"no lower bound on the time of {curve.label} is known")
        return Estimate(times[1])
    coins = curve.adversary.coins(curve.setting) if isinstance(curve.adversary, bandit.Adversary) else None
    if coins is None:
        panel = curve.adversary_title
        raise Absent(f"the arms of {panel} are not Bernoulli arms with fixed means: no lower bound is known")
    rounds = np.array([float(scope.round[0] if scope.round else curve.horizon)])
    value = float(least_regret(rounds, coins, pure_epsilon(curve.algorithm, curve.setting))[0])
    return Estimate(value, remark=" (asymptotic)")


def _pulls(curves: Sequence[Curve], scope: Scope, found: Results) -> Estimate:
    """The mean time; unknown if a trial reached the cap."""
    curve = _slowest(curves, scope, found)
    measured = found.of(curve)
    capped = sum(math.isinf(time) for time in _times(measured))
    if capped:
        known = f"{capped} of {counted(len(measured.finals), 'trial')} of {measured.title} reached the cap"
        raise Unknown(f"{known}, so the mean time is unknown: claim median_pulls(...)")
    times = {trial: float(time) for trial, time in measured.pulls.items()}
    return estimates.mean(times, (1.0, float(curve.horizon)))


def _median_pulls(curves: Sequence[Curve], scope: Scope, found: Results) -> Estimate:
    """The median time; unknown if half of the trials reached the cap."""
    measured = found.of(_slowest(curves, scope, found))
    made = counts.median(_times(measured))
    if math.isinf(made.value):
        raise Unknown(f"at least half of the trials of {measured.title} reached the cap: claim capped(...)")
    return made


def _wrong(curves: Sequence[Curve], scope: Scope, found: Results) -> Estimate:
    """The share of the trials with a wrong answer; one that reached the cap has none."""
    return _share(curves, scope, found, lambda regret: regret > 0)


def _capped(curves: Sequence[Curve], scope: Scope, found: Results) -> Estimate:
    """The share of the trials without an answer."""
    return _share(curves, scope, found, math.isnan)


def _share(curves: Sequence[Curve], scope: Scope, found: Results, holds: Callable[[float], bool]) -> Estimate:
    every = [found.of(curve).finals.values() for curve in _single(curves, scope)]
    return max((counts.share(sum(map(holds, each)), len(each)) for each in every), key=lambda one: one.value)


def _slowest(curves: Sequence[Curve], scope: Scope, found: Results) -> Curve:
    """The curve with the largest median time; without `the worst` in the claim there must be only one."""
    return max(_single(curves, scope), key=lambda curve: float(np.median(_times(found.of(curve)))))


def _times(measured: Measured) -> list[float]:
    """The time of each trial; infinite if it reached the cap."""
    ends = measured.finals
    return [math.inf if math.isnan(ends[trial]) else float(time) for trial, time in measured.pulls.items()]


def _slope(curves: Sequence[Curve], scope: Scope, found: Results) -> Estimate:
    """The slope of log mean regret over the logarithm of the figure's x-axis, by default of one curve's rounds."""
    against = found.experiment.keys.plot.against
    if against:
        level = [curve.label for curve in curves if against not in curve.swept]
        if level:
            raise Absent(f"{level[0]} has no {against}: a slope needs several")
        by_x: dict[float, list[Curve]] = {}
        for curve in curves:
            by_x.setdefault(float(curve.swept[against]), []).append(curve)
        points = {x: _worst(group, scope, found) for x, group in sorted(by_x.items())}
        means = [_regret(found, curve, curve.horizon) for curve in points.values()]
        x = np.array(list(points))
    else:
        curve = _worst(curves, scope, found)
        x = np.array(sorted(found.of(curve).rounds), float)
        means = [_regret(found, curve, int(rounds)) for rounds in x]
    if len(x) < 2 or any(one.value <= 0 for one in means):
        raise Absent("a slope needs at least two points, with positive means")
    return estimates.slope_of(x, means)


def _regret(found: Results, curve: Curve, rounds: int) -> Estimate:
    """The mean regret after some rounds; before the horizon the regrets of single trials are not recorded."""
    measured, ends = found.of(curve), limits(curve, rounds)
    if rounds == curve.horizon:
        return estimates.mean(measured.finals, ends)
    if rounds not in measured.rounds:
        raise Absent(f"{measured.title} is not recorded after {rounds} rounds")
    numbers = measured.rounds[rounds]
    trials = int(numbers["trials"])
    error = numbers["sd"] / math.sqrt(trials) if trials > 1 else math.inf
    return Estimate(numbers["mean"], error, trials, limits=ends)


def _worst(curves: Sequence[Curve], scope: Scope, found: Results) -> Curve:
    """The curve with the highest final mean regret; without `the worst` in the claim there must be only one."""
    if len(_single(curves, scope)) == 1:
        return curves[0]
    return max(curves, key=lambda curve: _regret(found, curve, curve.horizon).value)


def _single(curves: Sequence[Curve], scope: Scope) -> Sequence[Curve]:
    """The curves, of which there must be only one without `the worst` in the claim."""
    if scope.worst is None and len(curves) > 1:
        raise Absent(f"{len(curves)} curves are called {curves[0].label}: the claim must select one")
    return curves


def privacy(curves: Sequence[Curve]) -> tuple[float, float, str]:
    """The epsilon that an attack proves necessary, the epsilon that is proved sufficient, and both as text.

    Of several curves, those of the one with the largest sufficient epsilon; infinity if nothing is proved.
    """
    low, high, text = 0.0, 0.0, ""
    for curve in curves:
        best = curve.algorithm.promise(curve.setting)
        delta = (best.delta if best else 0.0) or papers_delta(curve.setting)
        proved = math.inf if best is None or best.status == "paper" else best.epsilon
        if proved >= high:
            bounds = curve.algorithm.of_person(curve.setting, delta)
            low, high = max((bound.epsilon for bound in bounds if bound.lower and bound.delta > 0), default=0.0), proved
            proof = f"proved ε ≤ {at_most(high)} ({best.source})" if best and high < math.inf else "nothing proved"
            at = f" at δ = {at_most(delta, 3)}" if best and best.delta else ""
            text = f"{proof}{at}, attack ε ≥ {at_least(low)} at δ = {at_least(delta, 3)}"
    return low, high, text


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


REGRET = partial(amount, digits=3)
# `epsilon` is not estimated from trials: `privacy` brackets it.
ESTIMATORS = {
    NUMBER: Estimator(_number, REGRET),
    "final": Estimator(_final, REGRET),
    "cvar": Estimator(_cvar, REGRET),
    "bound": Estimator(_bound, partial(at_most, digits=3), prefix="a bound of "),
    "lower_bound": Estimator(_lower_bound, partial(at_least, digits=3), prefix="a lower bound of "),
    "slope": Estimator(_slope, "{:.3f}".format),
    "pulls": Estimator(_pulls, REGRET),
    "median_pulls": Estimator(_median_pulls, REGRET),
    "wrong": Estimator(_wrong, _percent),
    "capped": Estimator(_capped, _percent),
}
