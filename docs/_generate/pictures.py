"""A small picture for each algorithm and adversary: regret in a small game, simulated during the build.

The games are the configs in `games/`; `privbandits run docs/_generate/games/NAME.yaml` plays one with the same numbers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from _generate import DOCS
from _generate.experiments import names
from privbandits_cli import load, run, summary
from privbandits_cli.experiment.config import Experiment
from privbandits_cli.figures.styles import Drawn
from privbandits_cli.plugins.registry import Registry

GAMES = DOCS / "_generate" / "games"
RESULTS = DOCS / "_build" / "games"  # finished trials stay there, so that the next build simulates nothing
MOST = 7  # lines in the picture of an adversary; of a game with more algorithms, it shows those of SHOWN
SHOWN = (
    *("uniform", "exp3", "tsallis_inf", "exp3_tau", "dp_exp3_lap", "batched_htinf"),
    *("ftrl", "dp_ftrl", "dp_ftpl", "noisy_ftrl", "shrinking_dartboard", "rnm_ftnl", "rw_ftpl"),
    *("linucb", "lints", "dp_linucb", "ldp_linucb", "squarecb", "bpo"),
)
BEST_ARM = tuple(name for name, model in Registry().every("algorithms") if model.game == "best_arm")
NO_PICTURE = (
    "log",
    "replay",
    "ratings",
    "table",
    *BEST_ARM,
)  # they play a file of the user's own, or a game without regret


@dataclass(frozen=True)
class Picture:
    """The picture on the page of an algorithm or adversary."""

    game: str  # the name of a config in `games/`
    adversary: str
    algorithms: tuple[str, ...]  # the lines; the first is that of the page, if it is an algorithm's
    own: bool  # whether it is the picture of an algorithm


@cache
def games() -> dict[str, Experiment]:
    """The configs of the small games."""
    return {path.stem: load(path) for path in sorted(GAMES.glob("*.yaml"))}


@cache
def planned() -> dict[str, Picture]:
    """The picture of every algorithm and adversary, by name."""
    found: dict[str, Picture] = {}
    for game, experiment in games().items():
        every = [variant.parameters for variant in experiment.algorithms]
        adversaries = [variant.parameters.name for variant in experiment.adversaries]
        for algorithm in every:
            wanted = dict.fromkeys([*names(algorithm.described()), every[0].name])
            lines = tuple(name for name in wanted if name in {other.name for other in every})
            found.setdefault(algorithm.name, Picture(game, adversaries[0], lines, own=True))
        lines = tuple(parameters.name for parameters in every)
        shown = lines if len(lines) <= MOST else tuple(name for name in SHOWN if name in lines)
        for adversary in adversaries:
            found.setdefault(adversary, Picture(game, adversary, shown, own=False))
    return found


def draw(folder: Path) -> Iterator[Path]:
    """Play the small games and draw every picture; yields the files."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = {game: summary(run(experiment, results=RESULTS)) for game, experiment in games().items()}
    for name, picture in planned().items():
        path = folder / f"{name}.svg"
        _draw(picture, [row for row in rows[picture.game] if row["adversary"] == picture.adversary], path)
        yield path


def _draw(picture: Picture, rows: Sequence[dict[str, Any]], path: Path) -> None:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    settings = {"svg.fonttype": "none", "svg.hashsalt": path.stem, "font.size": 9, "font.family": "sans-serif"}
    with rc_context(settings):
        figure = Figure(figsize=(6, 2.8), layout="constrained")
        axes = figure.subplots()
        for name in dict.fromkeys([*picture.algorithms, *(row["algorithm"] for row in rows)]):
            points = [row for row in rows if row["algorithm"] == name]
            x, y = [row["round"] for row in points], [row["mean"] for row in points]
            if name in picture.algorithms:
                place = picture.algorithms.index(name)
                width = 2.2 if picture.own and not place else 1.3
                style = Drawn(name, name, points[0]["certified_epsilon"] is not None).style()
                look = {"color": style.colour, "ls": (0, style.stroke) if style.stroke else "-"}
                axes.plot(x, y, lw=width, label=points[0]["label"], zorder=3 - place / 10, **look)
            elif picture.own:
                axes.plot(x, y, color="#cccccc", lw=0.8, zorder=1)
        axes.set(xlabel="round", ylabel="mean regret", xlim=(0, max(row["round"] for row in rows)))
        axes.locator_params(axis="x", nbins=4)
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.yaxis.set_major_formatter("{x:,.0f}")
        if picture.own:
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.spines[["top", "right"]].set_visible(False)
        figure.legend(loc="outside right upper", frameon=False)
        figure.savefig(path, metadata={"Date": None})
