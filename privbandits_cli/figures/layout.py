"""The size of a figure in a paper, and the grid of its panels."""

import math

COLUMN, PAGE = 3.3, 6.9  # inches: one column of a two-column paper, and both
WIDTHS = {"one": COLUMN, "two": PAGE}
NARROWEST = 1.6  # inches of a panel with its numbers
MOST_SHARE = 0.2  # part of the figure that a legend, or cells without a panel, may take
NAMES, MORE = 0.5, 1.25  # names at the ends of lines take this part of a panel's height, if it grows only so much
LOW, HIGH = 1.45, 2.2  # inches of a row of panels


def letter(place: int, panels: int) -> str:
    """`(a) `, before the title of a panel; empty for one panel, or more than there are letters."""
    return f"({chr(97 + place)}) " if 1 < panels <= 26 else ""


def widths(panels: int, wanted: str | float | None) -> list[float]:
    """The widths in inches to try, in this order: one panel fits in one column if its legend does."""
    if wanted is None:
        return [COLUMN, PAGE] if panels == 1 else [PAGE]
    return [WIDTHS[wanted] if isinstance(wanted, str) else wanted]


def columns(panels: int, width: float) -> int:
    """The panels of a row: three if possible; cells without a panel take at most a fifth, where the legend is then."""
    most = min(panels, max(1, int(width / NARROWEST)))
    for n in (3, 4, 2, 1):
        cells = n * math.ceil(panels / n)
        square = n == 4 and panels == 4  # two rows of two, not one of four
        if n <= most and not square and (cells - panels) / cells <= MOST_SHARE:
            return n
    return 1


def height(panels: int, width: float) -> float:
    """The height in inches of all rows of panels."""
    n = columns(panels, width)
    return math.ceil(panels / n) * min(HIGH, max(LOW, 0.6 * width / n + 0.35))
