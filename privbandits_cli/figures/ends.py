"""Labels at the ends of lines: moved apart where they would overlap, each with a thin leader from its line."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privbandits_cli.figures.mpl import Annotation, Axes, Figure
from privbandits_cli.numerics.types import Floats

SIZE = 6.0  # points
LEADER, SAMPLE, SPACE = 7.0, 15.0, 3.0  # points: from the frame to the sample of the line, its length, and to the text
ROOM = LEADER + SAMPLE + SPACE
BETWEEN = 1.0  # points between labels


@dataclass(frozen=True)
class End:
    """The end of a line, with the style and the text of its label."""

    x: float
    y: float
    text: str
    style: dict[str, Any]


@dataclass(frozen=True)
class Labels:
    """The labels of a panel; their widths count for the layout, their places follow from it."""

    axis: Axes
    ends: list[End]
    texts: list[Annotation]


def reserve(axis: Axes, ends: Sequence[End]) -> Labels:
    """Write the labels beside the panel, still over each other."""
    texts = [
        axis.annotate(
            end.text, (1, 0.5), (ROOM, 0), xycoords="axes fraction", textcoords="offset points", va="center",
            fontsize=SIZE, linespacing=1.05,
        )
        for end in ends
    ]  # fmt: skip
    return Labels(axis, list(ends), texts)


def least(text: str) -> float:
    """The height in inches that labels with the lines of this text need at least."""
    return (1 + text.count("\n")) * (SIZE + BETWEEN) / 72


def settled(out: Figure, labels: Labels) -> bool:
    """Move the labels of a panel, whose layout is fixed, to the ends of their lines; False if they do not fit there."""
    axis = labels.axis
    box = axis.get_window_extent()
    point = out.dpi / 72
    heights = np.array([text.get_window_extent().height for text in labels.texts]) / box.height
    between = BETWEEN * point / box.height
    to_axes = axis.transData + axis.transAxes.inverted()
    places = np.array([to_axes.transform((end.x, end.y)) for end in labels.ends])
    if heights.sum() + between * (len(heights) - 1) > 1 or (np.abs(places - 0.5) > 0.501).any():
        return False
    middles = apart(places[:, 1], heights + between)
    across = LEADER * point / box.width, (LEADER + SAMPLE) * point / box.width
    for end, text, place, y in zip(labels.ends, labels.texts, places, middles, strict=True):
        text.xy = (1, y)
        colour = end.style["color"]
        beyond = {"transform": axis.transAxes, "clip_on": False, "in_layout": False, "color": colour}
        axis.plot([place[0], 1 + 0.15 * across[0], 1 + across[0]], [place[1], place[1], y], lw=0.4, **beyond)
        axis.plot([1 + across[0], sum(across) / 2 + 1, 1 + across[1]], [y] * 3, markevery=[1], **end.style | beyond)
    return True


def apart(wanted: Floats, heights: Floats) -> Floats:
    """The middles of labels between 0 and 1 that do not overlap, as near as possible to the wanted ones."""
    from scipy.optimize import isotonic_regression  # slow to import

    order = np.argsort(wanted, kind="stable")
    sizes = heights[order]
    below = np.cumsum(sizes) - sizes / 2  # the middles if all stand on each other from 0 on
    moved = isotonic_regression(wanted[order] - below).x
    middles = np.empty(len(wanted))
    middles[order] = below + np.clip(moved, 0, max(0.0, 1 - sizes.sum()))
    return middles
