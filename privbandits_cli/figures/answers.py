"""Lines of the game best_arm: the plays until the answer, how many trials go on, and how many answers are wrong.

`plot.quantity` of the config chooses between times and errors, and `plot.against` what they are drawn over:

- `pulls` against a parameter: the mean time with its interval. If trials reached the cap, the mean is unknown; then the
  median with quantiles, and a number that says how many. If more than half did, nothing.
- `pulls` over the rounds: the share of the trials that have not stopped.
- `wrong` against a parameter: the share of the trials with a wrong answer, with its interval.
- `wrong` over the rounds: the share of wrong ones among the arms that would be named then.

Units: plays, shares of the trials. Intervals have 95 %.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from privbandits_cli.analysis.curves import Curves, kept
from privbandits_cli.analysis.estimates import quantile
from privbandits_cli.analysis.format import whole
from privbandits_cli.analysis.measured import Measured
from privbandits_cli.analysis.statistics import FEWEST_TRIALS
from privbandits_cli.analysis.stopping import CONFIDENCE, clopper_pearson
from privbandits_cli.experiment.names import Name
from privbandits_cli.figures.line import Line, levelled
from privbandits_cli.numerics.types import Floats

STEPS = 200  # rounds at which the share of trials that go on is drawn


class Point(NamedTuple):
    """A number of some trials with the lengths of its bar."""

    x: float
    y: float
    below: float = 0.0
    above: float = 0.0
    hollow: bool = False  # nothing was counted: y is the upper end of the interval
    mark: str = ""  # above the point


@dataclass(frozen=True)
class AnswerKind:
    """What a figure shows, in words, and how it is computed."""

    y: str
    centre: str
    bars: str
    points: Callable[[Measured], Sequence[Point]]  # of a curve; against a parameter there is one at most, without its x
    bounded: bool = False  # whether there are lower bounds


def kind(found: Curves) -> AnswerKind:
    """What the figure of a results folder shows."""
    sure = found.config.get("confidence") is not None
    quantity = found.plot.quantity or ("pulls" if sure else "wrong")
    return KINDS[quantity, bool(found.plot.against)]


def lines(found: Curves, members: Sequence[Measured], shown: AnswerKind) -> Iterator[tuple[Line, list[Measured]]]:
    """The lines of a panel, each with its curves; a learner without the parameter on the x axis is a level line."""
    against = found.plot.against
    values = [float(curve.swept[against]) for curve in members if against in curve.swept]
    for joined in found.lines(members):
        points = [
            point._replace(x=float(one.swept.get(against, point.x))) for one in joined for point in shown.points(one)
        ]
        if points:
            line = _line(found, joined[0], points, min(len(one.pulls) for one in joined))
            level = against and against not in joined[0].swept
            yield levelled(line, (min(values), max(values))) if level else line, joined


def _line(found: Curves, first: Measured, points: Sequence[Point], trials: int) -> Line:
    x, y, below, above, hollow, marks = zip(*points, strict=True)
    bars = float(trials >= FEWEST_TRIALS)
    folded = found.plot.folded
    return Line(
        algorithm=first.algorithm,
        adversary=first.adversary,
        label=found.line_name(first),
        x=np.array(x),
        regret=np.array(y),
        below=bars * np.array(below),
        above=bars * np.array(above),
        trials=trials,
        bound=None,
        own=kept(first.own, folded),
        game=kept(first.of_game, folded),
        parameters=first.parameters["algorithm"],
        private=first.private,
        hollow=np.array(hollow),
        marked=tuple(marked for marked in zip(x, y, marks, strict=True) if marked[2]),
    )


def _times(curve: Measured) -> list[Point]:
    """The mean time; the median if trials reached the cap; nothing if more than half did."""
    times, capped, n = _pulls(curve), sum(map(math.isnan, curve.finals.values())), len(curve.pulls)
    if capped > n / 2:
        return []
    if capped:
        low, middle, high = np.quantile(times, (0.1, 0.5, 0.9)).tolist()
        return [Point(math.nan, middle, middle - low, high - middle, mark=f"{whole(capped)}/{whole(n)}")]
    half = quantile(n - 1, CONFIDENCE) * float(times.std(ddof=1)) / math.sqrt(n) if n > 1 else 0.0
    return [Point(math.nan, float(times.mean()), half, half)]


def _going_on(curve: Measured) -> list[Point]:
    """The share of the trials that have not stopped after so many rounds, as long as there are any."""
    times, cap = _pulls(curve), float(max(curve.rounds))
    ends = np.where(np.isnan([curve.finals[trial] for trial in curve.pulls]), np.inf, times)
    rounds = np.unique(np.rint(np.geomspace(max(1.0, times.min() - 1), cap, STEPS)))
    shares = np.mean(ends[:, None] > rounds, axis=0)
    return [Point(x, y) for x, y in zip(rounds.tolist(), shares.tolist(), strict=True) if y > 0]


def _errors(curve: Measured) -> list[Point]:
    """The share of the trials with a wrong answer; one at the cap has none."""
    return [_share(math.nan, sum(regret > 0 for regret in curve.finals.values()), len(curve.finals))]


def _anytime(curve: Measured) -> list[Point]:
    """The same at each checkpoint, of the arms that would be named then."""
    always = any(row["stopped"] == 0 and not math.isnan(row["wrong_low"]) for row in curve.rounds.values())
    named = "trials" if always else "stopped"
    counts = [(t, int(row["wrong"]), int(row[named])) for t, row in curve.rounds.items()]
    return [_share(float(t), wrong, n) for t, wrong, n in counts if n]


def _share(x: float, wrong: int, n: int) -> Point:
    low, high = clopper_pearson(wrong, n)
    if wrong == 0:
        return Point(x, high, hollow=True)
    return Point(x, wrong / n, wrong / n - low, high - wrong / n)


def _pulls(curve: Measured) -> Floats:
    return np.array(list(curve.pulls.values()), float)


EXACT = "95 % interval of Clopper & Pearson"
KINDS = {  # by `plot.quantity`, and whether it is drawn against a parameter
    ("pulls", True): AnswerKind("plays until the answer", "mean", "95 % interval of the mean", _times, bounded=True),
    ("pulls", False): AnswerKind("share of trials without an answer yet", "share", "", _going_on),
    ("wrong", True): AnswerKind("share of wrong answers", "share", EXACT, _errors),
    ("wrong", False): AnswerKind("share of wrong recommendations", "share", EXACT, _anytime),
}


def promised(found: Curves) -> float | None:
    """The largest share of wrong answers with the confidence of the game, if the figure shows wrong answers."""
    confidence = found.config.get("confidence")
    shows = kind(found).points is _errors
    return round(1 - confidence, 12) if shows and isinstance(confidence, float) else None


def remarks(found: Curves, panels: Mapping[Name, Sequence[Line]]) -> list[str]:
    """What hollow markers, numbers above points, gaps and grey lines of the figure say."""
    every = [line for lines in panels.values() for line in lines]
    notes = []
    if kind(found).points is _times and any(not _times(curve) for curve in found.drawn):
        notes.append("no point where more than half of the trials reached the cap")
    if any(line.hollow is not None and line.hollow.any() for line in every):
        notes.append("hollow: no trial was wrong, and the marker is at the upper end of the interval")
    if promised(found) is not None:
        notes.append("level line: 1 - confidence, the most that a learner with a proof may have")
    if any(line.marked for line in every):
        capped = "so many trials reached the cap, so the median and the quantiles 10 % and 90 % are drawn"
        notes.append(f"numbers above points: {capped}")
    if any(line.rates for line in every):
        notes.append(
            "lower bounds: on the mean, for every learner with this confidence and this ε of the central model"
        )
    return notes
