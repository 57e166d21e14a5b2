"""The noise of counters -> Figure: a panel for each law of the noise."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.figures.mpl import FigureCanvasAgg, styled
from privbandits_cli.figures.plot import COLUMN, Figure, finish
from privbandits_cli.figures.styles import MARKERS, PALETTE, STROKES
from privbandits_cli.numerics.types import Floats

BOUND = {"color": "#444444", "ls": (0, (1, 1.5)), "lw": 0.9}


@dataclass(frozen=True)
class Curve:
    """The noise of one counter: after how many prefixes, `[points]`, and E of these prefixes, `[points]`."""

    counter: str
    law: str
    prefixes: NDArray[np.int64]
    rms: Floats


def figure(counters: Sequence[Curve], least: Floats) -> Figure:
    """Draw the root mean square of E over the first t prefixes; least: the bound for Gaussian noise, `[points]`."""
    laws = list(dict.fromkeys(noise.law for noise in counters))
    with styled():
        out = Figure(figsize=(2 * COLUMN, 3.3), layout="constrained")
        FigureCanvasAgg(out)
        axes = out.subplots(1, len(laws), squeeze=False)[0]
        for axis, law in zip(axes, laws, strict=True):
            own = [noise for noise in counters if noise.law == law]
            for i, noise in enumerate(own):
                style = {"color": PALETTE[i % len(PALETTE)], "marker": MARKERS[i], "ls": (0, STROKES[i] or None)}
                label = f"{noise.counter} ({noise.rms[-1]:.3g})"
                axis.plot(noise.prefixes, noise.rms, markevery=(i % 4, 8), label=label, lw=0.9, **style)
            if law == "Gaussian":
                axis.plot(own[0].prefixes, least, label=f"bound ({least[-1]:.3g})", **BOUND)
            axis.set_xscale("log", base=2)
            axis.set_ylim(0)
            axis.set_title(f"{law} noise")
            axis.set_xlabel("t")
            axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=2, fontsize=6)
        axes[0].set_ylabel("E, root mean square over the first t prefixes")
        finish(out, [], 1, 1)
        return out
