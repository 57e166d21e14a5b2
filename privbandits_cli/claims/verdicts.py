"""Claims and results -> verdicts: what the trials say of what the paper says.

A claim HOLDS or FAILS where an interval of 95 %, in common over all panels and values that it speaks of, lies on one
side. The interval is of the mean regret over trials, by Student's t: of the difference trial by trial where both sides
met the same games, else of independent means; of rounds before the horizon only means and deviations are kept, and the
errors are added, which is right however the two depend on each other. A slope is that of log mean regret, by least
squares with the error of `estimates.slope` and the t of one of its points; over the rounds of one run the errors of its
points are added, too. The worst value of a parameter is that of the highest mean, as in the figures.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from privbandits_cli.accounting.guarantee import MEANINGLESS
from privbandits_cli.analysis.estimates import Two, two
from privbandits_cli.claims.comparisons import Absent, Case, Results, cases, estimate, results
from privbandits_cli.experiment.claims import Claim
from privbandits_cli.experiment.config import Experiment
from privbandits_cli.experiment.expressions import Relation, Statement
from privbandits_cli.experiment.plan import Curve
from privbandits_cli.games.players import papers_delta

CONFIDENCE = 0.95
T = TypeVar("T")

Judgement = Literal["HOLDS", "FAILS", "NOT DECIDED", "NOT PLAYED"]


@dataclass(frozen=True)
class Verdict:
    """What came of a claim."""

    claim: str
    source: str  # the place in the paper
    verdict: Judgement
    figures: str  # what it rests on: the numbers, their interval, the trials
    note: str  # why it came out so
    epsilon: str  # certified, of the algorithms named, where it promises nothing


def verdicts(folder: Path, experiment: Experiment) -> list[Verdict]:
    """The verdict on each claim of an experiment, from the summary.csv and final.csv of its results folder.

    What is absent is NOT PLAYED, what is incomplete NOT DECIDED. ValueError: the CSVs cannot be read.
    """
    if not experiment.claims:
        return []
    found = results(folder, experiment)
    return [_verdict(claim, found) for claim in experiment.claims]


@dataclass(frozen=True)
class _Outcome:
    """One case of a claim, judged."""

    judgement: Judgement
    case: str
    slack: float  # how far on the right side, in half lengths of the interval
    figures: str
    deciding: float = math.inf  # about how many trials would decide


def _verdict(claim: Claim, found: Results) -> Verdict:
    statement = claim.statement
    curves: list[Curve] = []
    try:
        met = cases(statement, found)
        curves = [curve for case in met for curve in (*case.left, *case.right)]
        if statement.left.kind == "epsilon":
            alike = {(case.left[0].label, case.left[0].setting): case for case in met}  # it is the same in every panel
            proved = [_proved(statement, case) for case in alike.values()]
            judgement, figures = _joined(list({one.figures: one for one in proved}.values()))
        else:
            confidence = 1 - (1 - CONFIDENCE) / len(met)
            judgement, figures = _joined([_measured(statement, case, found, confidence) for case in met])
            partial = found.partial(curves)
            if partial:
                judgement, figures = "NOT DECIDED", f"PARTIAL, {partial}; so far: {figures}"
    except Absent as error:
        judgement, figures = "NOT PLAYED", str(error)
    return Verdict(claim.text, claim.source, judgement, figures, claim.note, _meaningless(curves))


def _measured(statement: Statement, case: Case, found: Results, confidence: float) -> _Outcome:
    """A case judged by its trials."""
    left = estimate(statement.left, case.left, statement.place, found)
    right = estimate(statement.right, case.right, statement.place, found)
    pair = two(left, right)
    judgements, slacks, deciding = [], [], []
    for factor, relation in statement.limits:
        judgements.append(_judged(relation, *pair.interval(factor, confidence)))
        slacks.append(_slack(relation, left.value - factor * right.value, pair.half(factor, confidence)))
        if judgements[-1] == "NOT DECIDED":
            deciding.append((slacks[-1], pair.deciding(factor, confidence)))
    _, trials = _deciding(deciding, lambda one: one) if deciding else (0.0, 0.0)
    return _Outcome(_all(judgements), case.name, min(slacks), _told(statement, pair, confidence), trials)


def _deciding(open_: Sequence[T], ends: Callable[[T], tuple[float, float]]) -> T:
    """What will decide among all that is open: the first to fail, as one is enough; if all seem to hold, the last.

    ends: the slack of each and the trials that decide it.
    """
    failing = [one for one in open_ if ends(one)[0] < 0]
    return min(failing, key=lambda one: ends(one)[1]) if failing else max(open_, key=lambda one: ends(one)[1])


def _proved(statement: Statement, case: Case) -> _Outcome:
    """A case about privacy, judged by what is proved of its algorithm and by what attacks show; no trial decides it."""
    worst, figures = (0.0, 0.0), ""
    for curve in case.left:
        best = curve.algorithm.guarantee(curve.setting)
        delta = (best.delta if best else 0.0) or papers_delta(curve.setting)
        bounds = curve.algorithm.bounds(curve.setting, delta)
        high = math.inf if best is None or best.status == "paper" else best.epsilon
        low = max((bound.epsilon for bound in bounds if bound.lower and bound.delta > 0), default=0.0)
        if high >= worst[1]:
            proof = f"proved ε ≤ {high:.4g} ({best.source})" if best and high < math.inf else "nothing proved"
            at = f"at δ = {delta:.2g}"
            worst, figures = (low, high), f"{proof}{f' {at}' if best and best.delta else ''}, attack ε ≥ {low:.4g} {at}"
    judgements = [_judged(relation, worst[0] - limit, worst[1] - limit) for limit, relation in statement.limits]
    return _Outcome(_all(judgements), case.name, 0.0, figures)


def _judged(relation: Relation, low: float, high: float) -> Judgement:
    """Whether what lies between low and high is below 0, or above."""
    if relation in (">", ">="):
        low, high, relation = -high, -low, "<" if relation == ">" else "<="
    if high < 0 or (high == 0 and relation == "<="):
        return "HOLDS"
    return "FAILS" if low > 0 or (low == high == 0) else "NOT DECIDED"


def _slack(relation: Relation, apart: float, half: float) -> float:
    right = -apart if relation in ("<", "<=") else apart
    return right / half if half else math.copysign(math.inf, right) if right else 0.0


def _all(judgements: Sequence[Judgement]) -> Judgement:
    """The judgement on what must hold in each."""
    return next((one for one in ("FAILS", "NOT DECIDED") if one in judgements), "HOLDS")


def _joined(outcomes: Sequence[_Outcome]) -> tuple[Judgement, str]:
    """All cases of a claim: the judgement, and the figures of the case that decides it."""
    judgement = _all([one.judgement for one in outcomes])
    same = [one for one in outcomes if one.judgement == judgement]
    if judgement == "NOT DECIDED":
        told = _deciding(same, lambda one: (one.slack, one.deciding))
    else:
        told = min(same, key=lambda one: one.slack)
    n = len(outcomes)
    if n == 1:
        head = ""
    elif judgement == "HOLDS":
        head = f"closest of {n}, {told.case}: "
    elif judgement == "FAILS":
        head = f"fails in {len(same)} of {n}, most in {told.case}: "
    else:
        head = f"open in {len(same)} of {n}, decided {'first' if told.slack < 0 else 'last'} in {told.case}: "
    if judgement == "NOT DECIDED" and math.isfinite(told.deciding):
        return judgement, f"{head}{told.figures}; about {_rounded(told.deciding)} trials would decide"
    return judgement, head + told.figures


def _rounded(trials: float) -> str:
    """Up to two significant digits."""
    size = 10 ** max(0, math.floor(math.log10(trials)) - 1)
    return f"{math.ceil(trials / size) * size:,}"


HOW = {"alone": "", "paired": ", paired", "Welch": ", unpaired", "unpaired": ", errors added"}


def _told(statement: Statement, pair: Two, confidence: float) -> str:
    """The numbers of a case in a person's words."""
    say = _decimals if statement.left.kind == "slope" else _regret
    a, b = pair.a.value, pair.b.value
    basis = f"{HOW[pair.how]}, {pair.trials} trials" if pair.trials else ""
    if statement.right.kind == "number":
        low, high = (say(end) for end in pair.interval(0.0, confidence))
        return f"{say(a)} ({low} to {high}){basis}"
    what = "a bound of " if statement.right.kind == "bound" else ""
    ratio = pair.ratio(confidence)
    if ratio is None:
        low, high = (say(end) for end in pair.interval(1.0, confidence))
        return f"{say(a)} against {what}{say(b)}: {say(a - b)} apart ({low} to {high}){basis}"
    return f"{say(a)} against {what}{say(b)}: {_ratio(a / b)} times ({_ratio(ratio[0])} to {_ratio(ratio[1])}){basis}"


def _regret(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _ratio(value: float) -> str:
    return f"{value:#.3g}".rstrip(".")


def _decimals(value: float) -> str:
    return f"{value:.3f}"


def _meaningless(curves: Sequence[Curve]) -> str:
    """The certified epsilon of those private algorithms whose promise is none."""
    found: dict[str, float] = {}
    for curve in {(curve.label, curve.setting): curve for curve in curves}.values():
        if curve.algorithm.promises():
            promised = curve.algorithm.guarantee(curve.setting)
            epsilon = math.inf if promised is None else promised.epsilon
            if epsilon > MEANINGLESS:
                name = curve.label.base
                found[name] = max(epsilon, found.get(name, 0.0))
    return ", ".join(f"{name} {epsilon:.4g}" for name, epsilon in sorted(found.items()))
