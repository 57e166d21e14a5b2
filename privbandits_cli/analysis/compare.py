"""Two results folders -> how far the mean final regrets of each curve are apart."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from privbandits_cli.analysis import estimates
from privbandits_cli.analysis.estimates import Estimate, Two, two
from privbandits_cli.analysis.measured import Identity, Measured, differing, read

CONFIDENCE = 0.95

Judgement = Literal["identical", "within", "beyond", "not decided", "only in A", "only in B"]


@dataclass(frozen=True)
class Difference:
    """One curve of two folders."""

    curve: str
    verdict: Judgement
    a: float | None  # mean final regrets
    b: float | None
    low: float | None  # 95 % interval of a - b
    high: float | None
    basis: str  # paired or not, and the trials


def compare(a: Path, b: Path, tolerance: float) -> list[Difference]:
    """The curves of both folders, in the first one's order, then those of the second alone.

    tolerance: the part of b's mean that a's may be away from it. A curve is `within` or `beyond` where a 95 %
    interval of the difference says so. Trials are paired where the seeds and the parameters of both players are the
    same and trials are common to both; else the means are independent (Welch). FileNotFoundError or ValueError where
    a folder's CSVs are missing or no tables of regrets.
    """
    one, other = (read(folder) for folder in (a, b))
    seeds = [_config(folder).get("seed", math.nan) for folder in (a, b)]
    return [_difference(key, one.get(key), other.get(key), seeds[0] == seeds[1], tolerance) for key in {**one, **other}]


def _config(folder: Path) -> dict[str, Any]:
    try:
        found = yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return {}
    return found if isinstance(found, dict) else {}


def _difference(
    key: Identity, a: Measured | None, b: Measured | None, seeded_alike: bool, tolerance: float
) -> Difference:
    found = a or b
    assert found is not None
    if a is None or b is None or not a.finals or not b.finals:
        there = a if a and a.finals else b
        mean = estimates.mean("", there.finals).value if there and there.finals else None
        if there is a:
            return Difference(found.title, "only in A", mean, None, None, None, "")
        return Difference(found.title, "only in B", None, mean, None, None, "")
    if a.finals == b.finals and a.rounds == b.rounds and a.parameters == b.parameters:
        mean = estimates.mean("", a.finals).value
        return Difference(found.title, "identical", mean, mean, 0.0, 0.0, f"{len(a.finals)} trials")
    pair = _paired(a, b, seeded_alike)
    low, high = pair.interval(1.0, CONFIDENCE)
    return Difference(found.title, _judged(pair, tolerance), pair.a.value, pair.b.value, low, high, _basis(pair, a, b))


def _paired(a: Measured, b: Measured, seeded_alike: bool) -> Two:
    common = a.finals.keys() & b.finals.keys()
    alike = seeded_alike and not differing(a.parameters, b.parameters) and max(a.rounds) == max(b.rounds)
    if alike and len(common) > 1:
        ends = [estimates.mean("one game", {trial: x[trial] for trial in sorted(common)}) for x in (a.finals, b.finals)]
        return two(*ends)
    return two(estimates.mean("A", a.finals), estimates.mean("B", b.finals))


def _judged(pair: Two, tolerance: float) -> Judgement:
    """Whether |a - b| <= tolerance x |b|, by the intervals of both ends."""
    a, b = pair.a, pair.b
    if b.value < 0:
        pair = two(_mirrored(a), _mirrored(b))
    below = pair.interval(1 - tolerance, CONFIDENCE)
    above = pair.interval(1 + tolerance, CONFIDENCE)
    if below[0] >= 0 and above[1] <= 0:
        return "within"
    return "beyond" if below[1] < 0 or above[0] > 0 else "not decided"


def _mirrored(one: Estimate) -> Estimate:
    return estimates.mean(one.game, {trial: -x for trial, x in one.regrets.items()})


def _basis(pair: Two, a: Measured, b: Measured) -> str:
    if pair.how == "paired":
        return f"paired, {pair.trials} trials"
    return f"unpaired, {len(a.finals)} and {len(b.finals)} trials"


def remarks(a: Path, b: Path) -> list[str]:
    """Why the two may differ for reasons of how they were played, in words: horizons, trials left out."""
    one, other = (read(folder) for folder in (a, b))
    met = [(one[key], other[key]) for key in one if key in other and one[key].finals and other[key].finals]
    rounds = sorted({(max(x.rounds), max(y.rounds)) for x, y in met if max(x.rounds) != max(y.rounds)})
    out = []
    if rounds:
        told = ", ".join(f"{x:,} rounds in A against {y:,} in B" for x, y in rounds)
        out.append(f"The horizons differ: {told}. Final regrets of games of different lengths are compared.")
    sizes = sorted({(len(x.finals), len(y.finals)) for x, y in met if x.finals.keys() != y.finals.keys()})
    if sizes:
        told = ", ".join(f"{x:,} in A against {y:,} in B" for x, y in sizes)
        out.append(f"The trials differ: {told}. Curves that are paired leave out the trials that only one of them has.")
    return out


def counts(differences: Sequence[Difference]) -> dict[Judgement, int]:
    """How many curves came out in which way."""
    return dict(Counter(one.verdict for one in differences))
