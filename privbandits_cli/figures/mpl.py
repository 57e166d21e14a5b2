"""matplotlib: the only module that imports it. It draws into files, and needs no window."""

import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

if "matplotlib" in sys.modules or "MPLBACKEND" not in os.environ:
    import matplotlib
else:  # it may name the window of another environment, as in a notebook: matplotlib could then not be imported
    window = os.environ.pop("MPLBACKEND")
    import matplotlib

    os.environ["MPLBACKEND"] = window
    with suppress(ValueError):
        matplotlib.rcParams["backend"] = window

# `X as X`: other modules take X from here.
import matplotlib.style
from matplotlib.axes import Axes as Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg as FigureCanvasAgg
from matplotlib.cm import ScalarMappable as ScalarMappable
from matplotlib.colors import LinearSegmentedColormap as LinearSegmentedColormap
from matplotlib.colors import LogNorm as LogNorm
from matplotlib.colors import Normalize as Normalize
from matplotlib.figure import Figure as Figure
from matplotlib.font_manager import FontProperties, findfont
from matplotlib.legend import Legend as Legend
from matplotlib.lines import Line2D as Line2D
from matplotlib.text import Annotation as Annotation
from matplotlib.textpath import text_to_path
from matplotlib.ticker import FixedLocator as FixedLocator
from matplotlib.ticker import LogLocator as LogLocator
from matplotlib.ticker import MaxNLocator as MaxNLocator
from matplotlib.ticker import NullFormatter as NullFormatter
from matplotlib.ticker import NullLocator as NullLocator
from matplotlib.transforms import Bbox as Bbox

from privbandits_cli.experiment.errors import suggestion

STYLE = Path(__file__).with_name("privbandits.mplstyle")
TEXT: dict[Any, Any] = {"pdf.fonttype": 42, "ps.fonttype": 42, "svg.fonttype": "none", "svg.hashsalt": "privbandits"}


class FontWarning(UserWarning):
    """What the font of a figure lacks."""


@contextmanager
def styled(font: str | None = None, style: str = "") -> Iterator[None]:
    """Draw in the style of all figures; font: an installed one, whose signs are taken first.

    style: a style sheet of matplotlib by its name, or a file, which comes after that of all figures. Fonts are embedded
    and texts remain texts whatever it says. Raises ValueError if there is none.
    """
    with matplotlib.rc_context(fname=STYLE):
        if style:
            try:
                matplotlib.style.use(style)
            except OSError as error:
                known = suggestion(style, matplotlib.style.available)
                raise ValueError(f"no style sheet '{style}'{known}: name one of matplotlib's, or a file") from error
        missing = missing_font(font) if font else ""
        if missing:
            warnings.warn(missing, FontWarning, stacklevel=3)
        own = [font] if font and not missing else []
        with matplotlib.rc_context({**TEXT, "font.family": [*own, *matplotlib.rcParams["font.family"]]}):
            yield


def missing_font(font: str) -> str:
    """The message that a font is not installed; empty if it is."""
    try:
        findfont(FontProperties(family=font), fallback_to_default=False)
    except ValueError:
        lists = Path(matplotlib.get_cachedir()) / "fontlist*.json"
        text = f"no font is called {font!r} here: give another name as `font` of `plot`"
        return f"{text}, or, if you have just installed it, delete {lists}"
    return ""


def inches(text: str, size: float) -> float:
    """The width of a line of text in the font of the figure, of a size in points."""
    return _inches(text, size, tuple(matplotlib.rcParams["font.family"]))


@lru_cache(8192)  # a text is measured again in each layout that is tried
def _inches(text: str, size: float, family: tuple[str, ...]) -> float:
    font = FontProperties(family=list(family), size=size)
    with glyphs():
        points: float = text_to_path.get_text_width_height_descent(text, font, False)[0]
    return points / 72


@contextmanager
def glyphs() -> Iterator[set[str]]:
    """Collect the signs that no font has, in place of a warning for each of them."""
    lacking = set[str]()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        yield lacking
    for one in said:
        found = re.match(r"Glyph (\d+) ", str(one.message))
        if found:
            lacking.add(chr(int(found[1])))
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
