"""Privacy profiles as a figure: for each δ the least ε that is proved for an algorithm."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from privbandits_cli.experiment.names import Name
from privbandits_cli.figures.layout import PAGE
from privbandits_cli.figures.mpl import Line2D, styled
from privbandits_cli.figures.panel import fit
from privbandits_cli.figures.plot import SIZE, Figure, canvas, finish, line_styles
from privbandits_cli.figures.scales import spanning
from privbandits_cli.figures.styles import Drawn, styles_of
from privbandits_cli.figures.words import on_lines
from privbandits_cli.numerics.types import Floats

HIGH, LINE = 3.1, 0.13  # inches: of the panel with its labels, and of a row of the legend
COLUMNS = 2  # of the legend
NOTES = "the true δ of the game may be smaller; "
LOCAL, PEOPLE = "a local algorithm's ε is that of one report", "ε is that of a person in up to {:,} rounds"


class Profile(NamedTuple):
    """What is proved about an algorithm: for each δ of the grid an ε, `[points]`; NaN where nothing is, not all NaN."""

    title: str
    algorithm: str
    delta: Floats
    epsilon: Floats


def figure(profiles: Sequence[Profile], rounds: int = 1) -> Figure:
    """δ against ε on logarithmic axes, a line for each profile; ValueError without any.

    rounds: the most rounds of the person whose ε it is.
    """
    if not profiles:
        raise ValueError("no ε is proved for any of these algorithms: there is no profile to draw")
    every = np.concatenate([one.epsilon[one.epsilon > 0] for one in profiles])
    styles = line_styles(styles_of([Drawn(one.algorithm, Name(one.title), True, {}) for one in profiles]))
    rows = -(-len(profiles) // COLUMNS)
    with styled():
        out, (axis,) = canvas((PAGE, HIGH + LINE * rows), 1, 1)
        for k, one in enumerate(profiles):
            own = styles[Name(one.title)] | {"markevery": (k % 6, 6)}
            axis.plot(np.where(one.epsilon > 0, one.epsilon, np.nan), one.delta, **own)
        fit(axis, "x", spanning(float(np.nanmin(every)), float(np.nanmax(every)), "log"))
        fit(axis, "y", spanning(float(profiles[0].delta.min()), float(profiles[0].delta.max()), "log"))
        axis.set_xlabel("ε")
        axis.set_ylabel("δ")
        axis.set_title("Privacy profiles: what is proved")
        handles = [Line2D([], [], **styles[Name(one.title)]) for one in profiles]
        texts = [on_lines(one.title, PAGE / COLUMNS - 0.6, SIZE) for one in profiles]
        notes = NOTES + (LOCAL if rounds == 1 else PEOPLE.format(rounds))
        out.legend(handles, texts, loc="outside lower center", ncols=COLUMNS, title=notes, fontsize=SIZE)
        finish(out, [], 1, 1)
        return out
