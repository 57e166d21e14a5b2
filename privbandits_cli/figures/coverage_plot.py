"""The coverage of intervals -> Figure: a panel for each world, over the number of rows."""

from collections.abc import Sequence

import numpy as np

from privbandits_cli.figures.mpl import FigureCanvasAgg, FixedLocator, NullLocator, styled
from privbandits_cli.figures.plot import COLUMN, Figure, finish
from privbandits_cli.figures.styles import MARKERS, PALETTE, STROKES

NAMES = {"ips": "IPS", "snips": "SNIPS", "direct": "direct method", "doubly_robust": "doubly robust"}
LOWEST = 0.6  # coverage at the lower end of the axis
Point = tuple[str, str, int, float, float, float]  # world, estimator, rows, coverage and its interval


def figure(points: Sequence[Point], logs: int) -> Figure:
    """Draw the coverage of 95 % intervals; coverages below the axis are marked at its lower end."""
    worlds = list(dict.fromkeys(point[0] for point in points))
    with styled():
        out = Figure(figsize=(2 * COLUMN, 2.7), layout="constrained")
        FigureCanvasAgg(out)
        axes = out.subplots(1, len(worlds), squeeze=False, sharey=True)[0]
        for axis, world in zip(axes, worlds, strict=True):
            axis.axhline(0.95, color="#444444", lw=0.8, ls=(0, (1, 1.5)))
            for i, (estimator, name) in enumerate(NAMES.items()):
                own = [point[2:] for point in points if point[:2] == (world, estimator)]
                rows, coverage, low, high = np.array(own, float).T
                style = {"color": PALETTE[i], "marker": MARKERS[i], "ls": (0, STROKES[i] or None)}
                apart = rows * 1.03 ** (i - 1.5)  # so that bars stand beside each other
                shown = np.maximum(coverage, LOWEST)
                bars = np.array([shown - np.maximum(low, LOWEST), np.maximum(high, LOWEST) - shown])
                axis.errorbar(apart, shown, bars, label=name, elinewidth=0.6, capsize=1.5, **style)
                for x, value in zip(apart, coverage, strict=True):
                    if value < LOWEST:
                        axis.text(x, LOWEST + 0.008, f"{100 * value:.0f} %", ha="center", va="bottom", fontsize=5)
            axis.set_xscale("log")
            axis.xaxis.set_major_locator(FixedLocator(sorted({point[2] for point in points})))
            axis.xaxis.set_minor_locator(NullLocator())
            axis.xaxis.set_major_formatter(lambda value, position: f"{value:,.0f}")
            axis.set_title(world)
            axis.set_xlabel("rows of the log")
        axes[0].set_ylim(LOWEST, 1.0)
        axes[0].set_ylabel("coverage of 95 % intervals")
        handles, labels = axes[0].get_legend_handles_labels()
        title = f"{logs:,} simulated logs; bars: 95 % intervals of the coverage"
        out.legend(handles, labels, loc="outside lower center", ncols=4, title=title)
        finish(out, [], 1, 1)
        return out
