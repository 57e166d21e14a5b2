"""Colours, markers and strokes of curves, the same in every figure and on every page."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

# Okabe-Ito without yellow: colour-blind readers can tell these colours apart.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p", "h")
Stroke = tuple[float, ...]  # lengths of strokes and gaps in widths of the line; () is solid
STROKES: tuple[Stroke, ...] = (
    (), (3.7, 1.6), (6.4, 1.6, 1, 1.6), (4, 1, 1, 1, 1, 1), (1, 1), (9, 2), (5, 1, 2, 1), (1, 2.2),
    (9, 2, 1, 2), (1.8, 0.9), (9, 1.5, 3, 1.5), (5, 1, 5, 1, 1, 1),
)  # fmt: skip
# Markers with strokes, by their places: the first curves of a figure share neither, further ones never both.
SHAPES = [(m, (m + again) % len(STROKES)) for again in range(len(STROKES)) for m in range(len(MARKERS))]
AGAIN = (2, 3, 1, 4, 0, 5, 6, 7)  # the order of colours for a ninth algorithm and more: paler, with other markers
LIGHT = 0.45  # colours whose mean of red, green and blue is larger are darkened, the others are made paler
OWNERS = ("exp3", "dp_exp3_lap", "exp3_tau", "tsallis_inf", "dp_lambda_lap", "mini_batch", "ucb1", "uniform")
FIXED = {name: colour for colour, name in enumerate(OWNERS)}


@dataclass(frozen=True)
class Style:
    """How a curve is drawn."""

    colour: int  # in the palette
    pale: float  # from 0, the colour itself, to 1, white; below 0: down to -1, black
    marker: str  # one of MARKERS
    stroke: Stroke  # one of STROKES

    def mixed(self) -> tuple[float, float, float]:
        """The colour on white paper: red, green and blue from 0 to 1."""
        parts = (int(PALETTE[self.colour][i : i + 2], 16) / 255 for i in (1, 3, 5))
        red, green, blue = (
            part + (1 - part) * self.pale if self.pale > 0 else part * (1 + self.pale) for part in parts
        )
        return red, green, blue


def styles_of(curves: Iterable[tuple[str, str]]) -> dict[str, Style]:
    """The styles of curves (algorithm, label), by label: no two have the same marker with the same stroke.

    The first curve of an algorithm in FIXED has a fixed style, so that figures agree; the others take what is free.
    """
    named = list(dict.fromkeys(curves))
    labels: dict[str, list[str]] = {}
    for algorithm, label in named:
        labels.setdefault(algorithm, []).append(label)
    taken = [FIXED[algorithm] for algorithm in labels if algorithm in FIXED]
    free = [i for i in range(len(PALETTE)) if i not in taken]
    again = list(AGAIN) * (1 + len(labels) // len(AGAIN))
    shapes = SHAPES * (1 + len(named) // len(SHAPES))
    found = {}
    later = []
    for algorithm, own_labels in labels.items():
        if algorithm in FIXED or free:
            own = FIXED[algorithm] if algorithm in FIXED else free.pop(0)
            shades = [_shade(own, k, len(own_labels)) for k in range(len(own_labels))]
            found[own_labels[0]] = Style(own, 0.0, MARKERS[own], STROKES[own])
            shapes.remove((own, own))
        else:
            own = again.pop(0)
            shades = np.linspace(0.5, 0.8, len(own_labels)).tolist()
        later += [(label, own, shade) for label, shade in zip(own_labels, shades, strict=True) if label not in found]
    for label, own, shade in later:
        used = {(style.colour, style.marker) for style in found.values()}
        shape = next((shape for shape in shapes if (own, MARKERS[shape[0]]) not in used), shapes[0])
        shapes.remove(shape)
        found[label] = Style(own, shade, MARKERS[shape[0]], STROKES[shape[1]])
    return {label: found[label] for _, label in named}


def _shade(own: int, k: int, of: int) -> float:
    """How pale the k-th of several curves of one colour is: from the colour itself to a paler or a darker one."""
    red, green, blue = Style(own, 0.0, "", ()).mixed()
    most = -0.65 if red + green + blue > 3 * LIGHT else 0.5
    return most * k / max(1, of - 1)
