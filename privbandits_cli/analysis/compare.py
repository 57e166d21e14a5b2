"""Two results folders -> the difference of the mean final regrets of each curve.

In the game best_arm with a confidence, nearly all regrets are 0, so the mean times τ are compared in their place.
"""

import math
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Literal

from privbandits_cli.analysis import estimates
from privbandits_cli.analysis.estimates import Estimate, Two, two
from privbandits_cli.analysis.folder import read_config, rows_of
from privbandits_cli.analysis.format import counted
from privbandits_cli.analysis.measured import Identity, Measured, differing, read

CONFIDENCE = 0.95

Judgement = Literal["identical", "summary differs", "within", "beyond", "not decided", "only in A", "only in B"]


@dataclass(frozen=True)
class Difference:
    """One curve of two folders."""

    curve: str
    verdict: Judgement
    a: float | None  # mean final regrets, or mean times
    b: float | None
    low: float | None  # 95 % interval of a - b
    high: float | None
    basis: str  # whether the trials are paired, and their number
    fragile: bool = False  # whether it is not decided only because one further trial could change the verdict
    summary: str = ""  # a number that differs in summary.csv, although final.csv is identical


def compare(a: Path, b: Path, tolerance: float) -> list[Difference]:
    """The curves of both folders, in the order of the first, followed by those of the second only.

    tolerance: the largest difference of the means, as a part of b's, that counts as `within`. A curve is `within` or
    `beyond` only if the 95 % interval of the difference lies on that side of the tolerance, and one further trial could
    not change this. With the same seed the trials that both folders have are paired; else the means are independent
    (Welch). FileNotFoundError or ValueError if a folder's CSVs are missing or are no tables of regrets.
    """
    one, other = _scored(a, b)
    seeds = [read_config(folder).get("seed", math.nan) for folder in (a, b)]
    return [_difference(one.get(key), other.get(key), seeds[0] == seeds[1], tolerance) for key in {**one, **other}]


def of_times(a: Path, b: Path) -> bool:
    """Whether times are compared, not regrets: both are games best_arm with a confidence."""
    return all(read_config(folder).get("confidence") is not None for folder in (a, b))


def _scored(a: Path, b: Path) -> list[dict[Identity, Measured]]:
    """The curves of both folders; `finals` has what is compared."""
    both = [read(folder) for folder in (a, b)]
    if not of_times(a, b):
        return both
    return [
        {
            key: replace(curve, finals={trial: float(n) for trial, n in curve.pulls.items()})
            for key, curve in one.items()
        }
        for one in both
    ]


def _difference(a: Measured | None, b: Measured | None, seeded_alike: bool, tolerance: float) -> Difference:
    found = a or b
    assert found is not None
    if a is None or b is None or not a.finals or not b.finals:
        there = a if a and a.finals else b
        mean = estimates.mean(there.finals).value if there and there.finals else None
        if there is a:
            return Difference(found.title, "only in A", mean, None, None, None, "")
        return Difference(found.title, "only in B", None, mean, None, None, "")
    if a.finals == b.finals:
        mean = estimates.mean(a.finals).value
        summary = _summary(a, b)
        same = a.rounds.keys() == b.rounds.keys() and a.parameters == b.parameters
        verdict: Judgement = "summary differs" if summary else "identical" if same else "within"
        return Difference(found.title, verdict, mean, mean, 0.0, 0.0, counted(len(a.finals), "trial"), summary=summary)
    pair = _paired(a, b, seeded_alike)
    low, high = pair.interval(1.0, CONFIDENCE)
    verdict, fragile = _judged(pair, tolerance)
    return Difference(found.title, verdict, pair.a.value, pair.b.value, low, high, _basis(pair, a, b), fragile)


def _summary(a: Measured, b: Measured) -> str:
    """The first number of summary.csv that differs at a checkpoint of both; empty if all are equal."""
    pairs = [
        (f"{column} after round {rounds:,}", value, b.rounds[rounds][column])
        for rounds in sorted(a.rounds.keys() & b.rounds.keys())
        for column, value in a.rounds[rounds].items()
        if column in b.rounds[rounds]
    ]
    other = [(place, x, y) for place, x, y in pairs if x != y and not (math.isnan(x) and math.isnan(y))]
    if not other:
        return ""
    place, x, y = other[0]
    return f"{place} is {x:.10g} in A, {y:.10g} in B" + (f", and {len(other) - 1:,} more differ" if other[1:] else "")


def _paired(a: Measured, b: Measured, seeded_alike: bool) -> Two:
    common = a.finals.keys() & b.finals.keys()
    if seeded_alike and len(common) > 1:
        one, other = (estimates.mean({trial: x[trial] for trial in sorted(common)}) for x in (a.finals, b.finals))
        return two(one, other)
    return two(estimates.mean(a.finals), estimates.mean(b.finals), independent=True)


def _judged(pair: Two, tolerance: float) -> tuple[Judgement, bool]:
    """Whether |a - b| <= tolerance x |b|, by the intervals of a - (1 - tolerance) b and (1 + tolerance) b - a.

    Also whether it is not decided only because one further trial could change the verdict: no limits of the regrets are
    known here, so there is no interval for regrets of any law.
    """
    a, b = pair.a, pair.b
    if b.value < 0:
        pair = replace(pair, a=_mirrored(a), b=_mirrored(b))
    low, low_fragile = pair.judged(1 - tolerance, CONFIDENCE, _side, "not decided")
    high, high_fragile = pair.judged(1 + tolerance, CONFIDENCE, lambda x, y: _side(-y, -x), "not decided")
    verdict: Judgement = "within" if low == high == "within" else "beyond" if "beyond" in (low, high) else "not decided"
    return verdict, verdict == "not decided" and (low_fragile or high_fragile)


def _side(low: float, high: float) -> Judgement:
    """Whether a number in [low, high] is at least 0."""
    return "within" if low >= 0 else "beyond" if high < 0 else "not decided"


def _mirrored(one: Estimate) -> Estimate:
    return estimates.mean({trial: -x for trial, x in one.regrets.items()})


def _basis(pair: Two, a: Measured, b: Measured) -> str:
    if pair.how == "paired":
        return f"paired, {counted(pair.trials, 'trial')}"
    return f"unpaired, {len(a.finals)} and {counted(len(b.finals), 'trial')}"


def remarks(a: Path, b: Path) -> list[str]:
    """Differences in what was played, as sentences: horizons, checkpoints, parameters, trials of only one of them."""
    one, other = _scored(a, b)
    met = [(one[key], other[key]) for key in one if key in other and one[key].finals and other[key].finals]
    rounds = sorted({(max(x.rounds), max(y.rounds)) for x, y in met if max(x.rounds) != max(y.rounds)})
    out = []
    if rounds:
        text = ", ".join(f"{x:,} rounds in A against {y:,} in B" for x, y in rounds)
        what = "Times with different caps" if of_times(a, b) else "Final regrets of games of different lengths"
        out.append(f"The horizons differ: {text}. {what} are compared.")
    capped = [sum(t >= max(one.rounds) for one in side for t in one.finals.values()) for side in zip(*met, strict=True)]
    if of_times(a, b) and any(capped):
        text = " against ".join(f"{n:,} in {name}" for n, name in zip(capped, "AB", strict=True))
        out.append(f"Trials that reached the cap: {text}. They count as if they had ended there.")
    if any(x.rounds.keys() != y.rounds.keys() for x, y in met if max(x.rounds) == max(y.rounds)):
        out.append("The checkpoints differ: summary.csv is compared where both have one.")
    names = dict.fromkeys(name for x, y in met for name in differing(x.parameters, y.parameters))
    if names:
        out.append(f"The parameters differ: {', '.join(names)}.")
    sizes = sorted({(len(x.finals), len(y.finals)) for x, y in met if x.finals.keys() != y.finals.keys()})
    if sizes:
        text = ", ".join(f"{x:,} in A against {y:,} in B" for x, y in sizes)
        out.append(f"The trials differ: {text}. Paired curves leave out the trials that only one of them has.")
    return out


def columns(a: Path, b: Path) -> list[str]:
    """The columns in which two CSVs differ, row by row; `rows` if one has more of them."""
    if a.read_bytes() == b.read_bytes():
        return []
    names: dict[str, None] = {}
    for one, other in zip_longest(rows_of(a, ()), rows_of(b, ())):
        if one is None or other is None:
            return [*names, "rows"]
        names |= {name: None for name in {**one, **other} if one.get(name) != other.get(name)}
    return list(names)
