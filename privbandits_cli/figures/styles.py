"""Colours, markers and strokes of curves, the same in every figure and on every page."""

from collections.abc import Iterable
from dataclasses import dataclass

# Okabe-Ito without yellow: distinct also for the colour-blind. Fixed per algorithm, so that figures agree.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
# Strokes and gaps in widths of the line; () is solid.
STROKES: tuple[tuple[float, ...], ...] = (
    (),
    (3.7, 1.6),
    (6.4, 1.6, 1, 1.6),
    (4, 1, 1, 1, 1, 1),
    (1, 1),
    (6, 2),
    (3, 1),
    (2, 2),
)
AGAIN = (2, 3, 1, 4, 0, 5, 6, 7)  # of the palette, for algorithms beyond its eight: half as strong, other markers
LIGHT = 0.45  # mean of red, green and blue from which on a colour has more room to darken
FIXED = {
    name: i
    for i, name in enumerate(
        ("exp3", "dp_exp3_lap", "exp3_tau", "tsallis_inf", "dp_lambda_lap", "mini_batch", "ucb1", "uniform")
    )
}


@dataclass(frozen=True)
class Look:
    """How a curve is drawn."""

    colour: int  # in the palette
    pale: float  # how far the colour fades into the paper, from 0; below 0 how far it darkens
    marker: str  # one of MARKERS
    stroke: tuple[float, ...]  # one of STROKES

    def mixed(self) -> tuple[float, float, float]:
        """The colour on white paper: red, green and blue from 0 to 1."""
        parts = (int(PALETTE[self.colour][i : i + 2], 16) / 255 for i in (1, 3, 5))
        red, green, blue = (
            part + (1 - part) * self.pale if self.pale > 0 else part * (1 + self.pale) for part in parts
        )
        return red, green, blue


def looks(curves: Iterable[tuple[str, str]]) -> dict[str, Look]:
    """Looks by label, of curves (algorithm, label): fixed for the first of an algorithm, free ones for its others."""
    named = dict.fromkeys(curves)
    owners = list(dict.fromkeys(algorithm for algorithm, _ in named))
    taken = [FIXED[owner] for owner in owners if owner in FIXED]
    free = [i for i in range(len(PALETTE)) if i not in taken]
    again = list(AGAIN) * (1 + len(owners) // len(AGAIN))
    found = {}
    for owner in owners:
        spent = owner not in FIXED and not free
        own = FIXED[owner] if owner in FIXED else again.pop(0) if spent else free.pop(0)
        siblings = [label for algorithm, label in named if algorithm == owner]
        for k, label in enumerate(siblings):
            shape = (own + k + 4 * spent) % len(MARKERS)
            pale = 0.5 + 0.3 * k / max(1, len(siblings) - 1) if spent else _shade(own, k, len(siblings))
            found[label] = Look(own, pale, MARKERS[shape], STROKES[shape])
    return {label: found[label] for _, label in named}


def _shade(own: int, k: int, of: int) -> float:
    """How pale the k-th curve of a colour is: from the colour itself on to pale, or to dark where it is light."""
    red, green, blue = Look(own, 0.0, "", ()).mixed()
    away = -0.65 if red + green + blue > 3 * LIGHT else 0.65
    return away * k / max(1, of - 1)
