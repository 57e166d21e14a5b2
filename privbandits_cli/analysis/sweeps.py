"""Curves of a sweep -> the lines of a figure: joined along one parameter, at the worst value of another."""

import json
import re
from collections.abc import Sequence, Set

import numpy as np

from privbandits_cli.numerics.types import Floats
from privbandits_cli.plugins.registry import Registry

Row = dict[str, str]
Curve = list[Row]  # the rows of one curve in summary.csv, one a checkpoint

NOTES = re.compile(r" \((?P<notes>[^()]*)\)$")


def without(label: str, names: Set[str]) -> str:
    """A label less the notes `name = value` at its end that tell of these parameters."""
    found = NOTES.search(label)
    if not found:
        return label
    kept = [note for note in found["notes"].split(", ") if note.partition(" = ")[0] not in names]
    return label[: found.start()] + (f" ({', '.join(kept)})" if kept else "")


def base(label: str) -> str:
    """A label without the notes in parentheses at its end."""
    return label.partition(" (")[0]


def panel(row: Row, folded: Set[str], registry: Registry) -> str:
    """The panel that a curve belongs to: its adversary, whatever the values of the folded parameters; and its own."""
    parameters = json.loads(row["parameters"])
    if "dimension" in folded:
        folded = folded | {"N", "d"}  # its names in a title
    if "label" in parameters["adversary"]:
        title = without(str(parameters["adversary"]["label"]), folded)
    else:
        known = dict(registry.every("adversaries"))
        title = known[row["adversary"]].display if row["adversary"] in known else row["adversary"]
    own = parameters["algorithm"].get("panel", "")
    return f"{title}, {own}" if own else title


def line(row: Row, swept: Sequence[str], folded: Set[str]) -> tuple[str, ...]:
    """What the curves of one line have in common: the algorithm, its label, all that is swept but not folded."""
    base = row["label"].partition(" (")[0]
    return row["algorithm"], base, *(row[name] for name in swept if name not in folded)


def named(row: Row, swept: Sequence[str], folded: Set[str]) -> str:
    """The legend of a line: its label, with what is swept of the algorithm but not folded."""
    algorithm = json.loads(row["parameters"])["algorithm"]
    notes = [
        f"{'ε' if name == 'epsilon' else name} = {row[name]}"
        for name in swept
        if name not in folded and row[name] and name.partition(".")[0] in algorithm
    ]
    if "horizon" in swept and "horizon" not in folded:
        notes.append(f"T = {power(int(row['horizon']))}")
    return row["label"].partition(" (")[0] + (f" ({', '.join(notes)})" if notes else "")


def power(n: int) -> str:
    """A number as the power of 2 that it is, if it is one that is hard to read."""
    return f"2^{n.bit_length() - 1}" if n >= 1024 and n & (n - 1) == 0 else str(n)


def game(row: Row, swept: Sequence[str], folded: Set[str]) -> tuple[str, ...]:
    """What is swept of the game but not folded: not of the algorithm, which may be one of several in the same."""
    algorithm = json.loads(row["parameters"])["algorithm"]
    return tuple(row[name] if name.partition(".")[0] not in algorithm else "" for name in swept if name not in folded)


def spell_out(rows: Sequence[Row], name: str) -> None:
    """Give rows a column of a parameter that was not swept, but stands there with several values."""
    for row in rows:
        parameters = json.loads(row["parameters"])
        row[name] = str(parameters["algorithm"].get(name, parameters["adversary"].get(name, "")))
    if not any(row[name] for row in rows):
        raise ValueError(f"nothing to draw against: no curve has a parameter '{name}'")


def worst(curves: Sequence[Curve], parameter: str, swept: Sequence[str], registry: Registry) -> list[Curve]:
    """Of the curves that differ in this parameter alone the one whose mean regret ends highest."""
    found: dict[tuple[str, ...], Curve] = {}
    for curve in curves:
        kin = (panel(curve[0], {parameter}, registry), *line(curve[0], swept, {parameter}))
        if kin not in found or float(curve[-1]["mean"]) > float(found[kin][-1]["mean"]):
            found[kin] = curve
    return list(found.values())


def joined(curves: Sequence[Curve], against: str, swept: Sequence[str], folded: Set[str]) -> list[Curve]:
    """The last rows of the curves of each line, in the order of the parameter that they are drawn against."""
    grouped: dict[tuple[str, ...], Curve] = {}
    for curve in curves:
        grouped.setdefault(line(curve[0], swept, folded), []).append(curve[-1])
    return [sorted(rows, key=lambda row: float(row[against] or 0)) for rows in grouped.values()]


def slope(x: Floats, mean: Floats, error: Floats, together: bool = False) -> tuple[float, float]:
    """Slope of log mean over log x by least squares, and its standard error; all arrays `[points]`, positive.

    error: standard errors of the means, which are independent; to first order log mean has error / mean.
    together: the means are of the same trials; the errors are added, as if the worst had come together.
    """
    centred = np.log(x) - np.log(x).mean()
    weights = centred / np.sum(centred**2)
    parts = np.abs(weights) * error / mean
    return float(weights @ np.log(mean)), float(parts.sum() if together else np.sqrt(np.sum(parts**2)))
