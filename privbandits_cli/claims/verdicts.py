"""Claims and results -> verdicts: whether the trials support what the paper claims.

A claim HOLDS or FAILS if the 95 % confidence interval lies on one side of its limit. The confidence is joint over all
comparisons of the claim (Bonferroni). The intervals are those of `analysis.estimates`: paired by trial, or, before the
horizon, where only means and deviations are recorded, with the standard errors added, which is valid under any
dependence. A verdict that one further trial could change takes the interval for regrets of any law. The worst value of
a parameter is the one with the highest mean, as in the figures.

In the game best_arm, times take the place of regrets. Shares of trials and medians have the intervals of
`analysis.counts`. Two of these hold jointly by Bonferroni, whether or not the trials are shared.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from privbandits_cli.accounting.guarantee import MEANINGLESS
from privbandits_cli.accounting.rounding import at_most
from privbandits_cli.analysis.estimates import Two, two
from privbandits_cli.analysis.format import counted
from privbandits_cli.claims.comparisons import Comparison, comparisons
from privbandits_cli.claims.quantities import ESTIMATORS, privacy
from privbandits_cli.claims.results import Absent, Results, Unknown, results
from privbandits_cli.experiment.claims import Claim
from privbandits_cli.experiment.config import Experiment
from privbandits_cli.experiment.expressions import NUMBER, Expression, Relation
from privbandits_cli.experiment.plan import Curve

CONFIDENCE = 0.95
FRAGILE = "; one further trial could change this, so it is judged for regrets of any law"

Judgement = Literal["HOLDS", "FAILS", "NOT DECIDED", "NOT PLAYED"]


@dataclass(frozen=True)
class Verdict:
    """The result of checking a claim."""

    claim: str
    source: str  # the place in the paper
    verdict: Judgement
    figures: str  # the numbers that decide it, their interval, the number of trials
    note: str  # explains the verdict
    epsilon: str  # certified for the private algorithms that the claim names, if too large to protect anybody
    partial: bool  # whether trials are missing


def verdicts(folder: Path, experiment: Experiment) -> list[Verdict]:
    """The verdict on each claim of an experiment, from the summary.csv and final.csv of its results folder.

    NOT PLAYED if results are missing, NOT DECIDED if trials are missing. ValueError: the CSVs cannot be read.
    """
    if not experiment.claims:
        return []
    found = results(folder, experiment)
    return [_verdict(claim, found) for claim in experiment.claims]


@dataclass(frozen=True)
class _Outcome:
    """The judgement on one comparison of a claim."""

    judgement: Judgement
    comparison: str
    slack: float  # distance from its limit, of an estimate in half lengths of the interval; negative: it violates it
    figures: str
    deciding: float = math.inf  # about how many trials would decide it


def _verdict(claim: Claim, found: Results) -> Verdict:
    expression = claim.expression
    curves: list[Curve] = []
    partial = ""
    try:
        compared = comparisons(expression, found)
        curves = [curve for one in compared for curve in (*one.left, *one.right)]
        if expression.left.quantity == "epsilon":
            each = {(one.left[0].label, one.left[0].setting): one for one in compared}  # it is the same in every panel
            proved = [_proved(expression, one) for one in each.values()]
            judgement, figures = _joined(list({one.figures: one for one in proved}.values()), trials=False)
        else:
            confidence = 1 - (1 - CONFIDENCE) / len(compared)
            judgement, figures = _joined([_estimated(expression, one, found, confidence) for one in compared])
            partial = found.partial(curves)
            if partial:
                judgement, figures = "NOT DECIDED", f"PARTIAL, {partial}; so far: {figures}"
    except Absent as error:
        judgement, figures = "NOT DECIDED" if isinstance(error, Unknown) else "NOT PLAYED", str(error)
    return Verdict(claim.text, claim.source, judgement, figures, claim.note, _meaningless(curves), bool(partial))


def _estimated(expression: Expression, comparison: Comparison, found: Results, confidence: float) -> _Outcome:
    """A comparison judged by confidence intervals over trials."""
    left, right = (
        ESTIMATORS[side.quantity].estimate(curves, expression.scope, found)
        for side, curves in ((expression.left, comparison.left), (expression.right, comparison.right))
    )
    pair = two(left, right)
    figures, fragile = _figures(expression, pair, confidence), False
    each = []  # by limit
    for factor, relation in expression.limits:
        judgement: Judgement
        judgement, changing = pair.judged(factor, confidence, partial(_judged, relation), "NOT DECIDED")
        fragile |= changing
        slack = _slack(relation, left.value - factor * right.value, pair.half(factor, confidence))
        each.append(_Outcome(judgement, comparison.name, slack, figures, pair.deciding(factor, confidence)))
    undecided = [one for one in each if one.judgement == "NOT DECIDED"]
    return _Outcome(
        judgement=_all([one.judgement for one in each]),
        comparison=comparison.name,
        slack=min(one.slack for one in each),
        figures=figures + FRAGILE * fragile,
        deciding=_deciding(undecided).deciding if undecided and not fragile else math.inf,
    )


def _deciding(undecided: Sequence[_Outcome]) -> _Outcome:
    """The one expected to decide a claim: the first that seems to fail, or the last if all seem to hold."""
    failing = [one for one in undecided if one.slack < 0]
    if failing:
        return min(failing, key=lambda one: one.deciding)
    return max(undecided, key=lambda one: one.deciding)


def _proved(expression: Expression, comparison: Comparison) -> _Outcome:
    """A comparison of epsilon, judged by proofs and attacks; no trial decides it."""
    low, high, figures = privacy(comparison.left)
    judgements, slacks = [], []
    for limit, relation in expression.limits:
        judgements.append(_judged(relation, low - limit, high - limit))
        ends = [limit - high, limit - low] if relation in ("<", "<=") else [low - limit, high - limit]
        slacks.append(max(ends) if judgements[-1] == "FAILS" else min(ends))  # of the end that decides
    return _Outcome(_all(judgements), comparison.name, min(slacks), figures)


def _judged(relation: Relation, low: float, high: float) -> Judgement:
    """Whether a number in [low, high] satisfies the relation to 0."""
    if relation in (">", ">="):
        low, high, relation = -high, -low, "<" if relation == ">" else "<="
    if high < 0 or (high == 0 and relation == "<="):
        return "HOLDS"
    return "FAILS" if low > 0 or (low == high == 0) else "NOT DECIDED"


def _slack(relation: Relation, apart: float, half: float) -> float:
    right = -apart if relation in ("<", "<=") else apart
    return right / half if half else math.copysign(math.inf, right) if right else 0.0


def _all(judgements: Sequence[Judgement]) -> Judgement:
    """The judgement on a conjunction."""
    return next((one for one in ("FAILS", "NOT DECIDED") if one in judgements), "HOLDS")


def _joined(outcomes: Sequence[_Outcome], trials: bool = True) -> tuple[Judgement, str]:
    """The judgement on all comparisons of a claim, and the figures of the one that decides it.

    trials: whether trials decide them; where proofs do, the undecided one that is farthest from its limit counts.
    """
    judgement = _all([one.judgement for one in outcomes])
    same = [one for one in outcomes if one.judgement == judgement]
    undecided = judgement == "NOT DECIDED" and trials
    decisive = _deciding(same) if undecided else min(same, key=lambda one: one.slack)
    n = len(outcomes)
    if n == 1:
        head = ""
    elif judgement == "HOLDS":
        head = f"closest of {n}, {decisive.comparison}: "
    elif judgement == "FAILS":
        head = f"fails in {len(same)} of {n}, most in {decisive.comparison}: "
    else:
        needs = (
            f" needs the {'fewest' if decisive.slack < 0 else 'most'} further trials"
            if trials and len(same) > 1
            else ""
        )
        head = f"{len(same)} of {n} undecided; {decisive.comparison}{needs}: "
    if judgement == "NOT DECIDED" and math.isfinite(decisive.deciding):
        return judgement, f"{head}{decisive.figures}; about {_rounded_up(decisive.deciding)} trials would decide"
    return judgement, head + decisive.figures


def _rounded_up(trials: float) -> str:
    """Up to two significant digits."""
    size = 10 ** max(0, math.floor(math.log10(trials)) - 1)
    return f"{math.ceil(trials / size) * size:,}"


HOW = {"alone": "", "paired": ", paired", "Welch": ", unpaired", "unpaired": ", errors added"}


def _figures(expression: Expression, pair: Two, confidence: float) -> str:
    """The numbers of a comparison: both sides, their ratio or difference, its interval, how they were compared."""
    left, right = ESTIMATORS[expression.left.quantity], ESTIMATORS[expression.right.quantity]
    a, b = pair.a.value, pair.b.value
    basis = f"{HOW[pair.how]}, {counted(pair.trials, 'trial')}" if pair.trials else ""
    if expression.right.quantity == NUMBER:
        low, high = map(left.text, pair.interval(0.0, confidence))
        return f"{left.text(a)}{pair.a.remark} ({low} to {high}){basis}"
    against = f"{left.text(a)}{pair.a.remark} against {right.prefix}{right.text(b)}{pair.b.remark}"
    ratio = pair.ratio(confidence)
    if ratio is None:
        low, high = map(left.text, pair.interval(1.0, confidence))
        return f"{against}: {left.text(a - b)} apart ({low} to {high}){basis}"
    return f"{against}: {_ratio(a / b)} times ({_ratio(ratio[0])} to {_ratio(ratio[1])}){basis}"


def _ratio(value: float) -> str:
    return f"{value:#.3g}".rstrip(".")


def _meaningless(curves: Sequence[Curve]) -> str:
    """The private algorithms whose certified epsilon is too large to protect anybody, each with its epsilon."""
    found: dict[str, float] = {}
    for curve in {(curve.label, curve.setting): curve for curve in curves}.values():
        if curve.algorithm.promises():
            promised = curve.algorithm.promise(curve.setting)
            epsilon = math.inf if promised is None else promised.epsilon
            if epsilon > MEANINGLESS:
                name = curve.label.base
                found[name] = max(epsilon, found.get(name, 0.0))
    return ", ".join(f"{name} {at_most(epsilon)}" for name, epsilon in sorted(found.items()))
