"""matplotlib: the only module that imports it. It draws into files, and needs no window."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

if "matplotlib" in sys.modules or "MPLBACKEND" not in os.environ:
    import matplotlib
else:  # it may name the window of another environment, as in a notebook: matplotlib could then not be imported
    window = os.environ.pop("MPLBACKEND")
    import matplotlib

    os.environ["MPLBACKEND"] = window
    with suppress(ValueError):
        matplotlib.rcParams["backend"] = window

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

__all__ = [
    "Axes",
    "Axis",
    "Figure",
    "FigureCanvasAgg",
    "FixedLocator",
    "FuncFormatter",
    "Line2D",
    "LogLocator",
    "MaxNLocator",
    "NullFormatter",
    "NullLocator",
    "styled",
]

STYLE = Path(__file__).with_name("privbandits.mplstyle")


@contextmanager
def styled() -> Iterator[None]:
    """Draw in the style of all figures."""
    with matplotlib.rc_context(fname=STYLE):
        yield
