"""summary.csv -> Figure -> pdf, png, svg: the only module that imports matplotlib.

Everything drawn stands in the CSV; a config beside it adds the title and the error bars' kind.
"""

import csv
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import yaml
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from privbandits_cli import registry
from privbandits_cli.games.bandit import Adversary, Algorithm, Setting

Floats = NDArray[np.float64]

STYLE = Path(__file__).with_name("privbandits.mplstyle")
FORMATS = ("pdf", "png", "svg")
COLUMN = 3.5  # inches: one column of a two-column paper

# Okabe-Ito without yellow: distinct also for the colour-blind. Fixed per algorithm, so that figures agree.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES = ("-", "--", "-.", (0, (4, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (6, 2)), (0, (3, 1)), (0, (2, 2)))
STYLES = {
    name: i
    for i, name in enumerate(
        ("exp3", "dp_exp3_lap", "exp3_tau", "tsallis_inf", "dp_lambda_lap", "mini_batch", "ucb1", "uniform")
    )
}
BARS = {
    "gini": "Gini's mean difference below and above",
    "sd": "one standard deviation",
    "quantiles": "5 % and 95 % quantiles",
    "bootstrap": "95 % bootstrap interval of the mean",
}
CENTRES = {"median_of_means": "median of means", "mean": "mean", "median": "median"}


@dataclass(frozen=True)
class Line:
    """One curve of a panel; all arrays `[checkpoints]`, in rounds."""

    algorithm: str
    label: str
    rounds: Floats
    regret: Floats
    below: Floats  # lengths of the error bars
    above: Floats
    trials: int
    bound: Floats | None


@dataclass(frozen=True)
class Table:
    """A summary.csv with what its config adds."""

    title: str
    panels: dict[str, list[Line]]
    centre: str
    bars: str
    bar_rounds: int
    log: bool
    wanted: int  # trials of a complete curve


def read(folder: Path, bounds: bool = False) -> Table:
    """Read a results folder; raises FileNotFoundError or ValueError with what is wrong."""
    path = folder / "summary.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    if not rows or "regret" not in rows[0]:
        raise ValueError(f"{path} has no rows to draw")
    config_path = folder / "config.yaml"
    config = yaml.safe_load(config_path.read_text(encoding="utf-8")) if config_path.exists() else {}
    summary, plot = config.get("summary", {}), config.get("plot", {})
    bars = summary.get("bars", "gini")
    panels: dict[str, list[Line]] = {}
    for curve in _curves(rows):
        parameters = json.loads(curve[0]["parameters"])
        panels.setdefault(_panel_title(parameters["adversary"]), []).append(
            _line(curve, parameters, bars, bounds or plot.get("bounds", False), config)
        )
    return Table(
        title=config.get("title", ""),
        panels=panels,
        centre=CENTRES[summary.get("centre", "median_of_means")],
        bars=BARS[bars],
        bar_rounds=plot.get("bars", 12),
        log=plot.get("log", False),
        wanted=config.get("trials", max(int(row["trials"]) for row in rows)),
    )


def _curves(rows: Sequence[dict[str, str]]) -> Iterator[list[dict[str, str]]]:
    """The rows of each curve, in the file's order."""
    found: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for row in rows:
        found.setdefault((row["label"], row["parameters"]), []).append(row)
    yield from found.values()


def _panel_title(adversary: Mapping[str, Any]) -> str:
    if "label" in adversary:
        return str(adversary["label"])
    try:
        return registry.find("adversaries", adversary["name"]).display
    except KeyError:
        return str(adversary["name"])


def _line(
    rows: list[dict[str, str]], parameters: dict[str, Any], bars: str, bounds: bool, config: Mapping[str, Any]
) -> Line:
    def column(name: str) -> Floats:
        return np.array([float(row[name]) for row in rows])

    regret, rounds = column("regret"), column("round")
    below, above = {
        "gini": lambda: (column("gmd_below"), column("gmd_above")),
        "sd": lambda: (column("sd"), column("sd")),
        "quantiles": lambda: (regret - column("q05"), column("q95") - regret),
        "bootstrap": lambda: (regret - column("boot_low"), column("boot_high") - regret),
    }[bars]()
    setting = Setting(config.get("horizon", rounds[-1]), config.get("arms", 4))
    return Line(
        algorithm=rows[0]["algorithm"],
        label=rows[0]["label"],
        rounds=rounds,
        regret=regret,
        below=np.maximum(below, 0),
        above=np.maximum(above, 0),
        trials=int(rows[-1]["trials"]),
        bound=_bound(parameters, rounds, setting) if bounds else None,
    )


def _bound(parameters: dict[str, Any], rounds: Floats, setting: Setting) -> Floats | None:
    """The algorithm's regret bound against the adversary's memory, where a theorem speaks."""
    adversary = {k: v for k, v in parameters["adversary"].items() if k != "label"}
    opponent = registry.rebuilt("adversaries", adversary)
    algorithm = registry.rebuilt("algorithms", parameters["algorithm"])
    assert isinstance(opponent, Adversary) and isinstance(algorithm, Algorithm)
    return algorithm.regret_bound(rounds, setting, memory=opponent.reaction()[0])


# ---------------------------------------------------------------------------------------------- drawing


def figure(table: Table, log: bool = False) -> Figure:
    """Draw a table: a panel per adversary, one legend in the free cell or below."""
    log = log or table.log
    n = len(table.panels)
    n_columns = 1 if n == 1 else 2
    n_rows = math.ceil((n + (n > 1)) / n_columns)  # with two columns, the legend takes a cell
    with matplotlib.rc_context(fname=STYLE):
        height = 2.9 if n == 1 else 1.42 * n_rows
        out = Figure(figsize=(COLUMN, height), layout="constrained")
        FigureCanvasAgg(out)
        axes = list(out.subplots(n_rows, n_columns, squeeze=False).flat)
        for i, (title, lines) in enumerate(table.panels.items()):
            _panel(axes[i], lines, table, log)
            axes[i].set_title(f"({'abcdefghijklmnopqrstuvwxyz'[i % 26]}) {title}" if n > 1 else title or table.title)
            if i % n_columns == 0:
                axes[i].set_ylabel("regret")
            if i + n_columns >= n:
                axes[i].set_xlabel("round $t$")
        for spare in axes[n:]:
            spare.axis("off")
        _legend(out, axes, table, n)
        _watermark(out, table)
        return out


def _panel(axis: Axes, lines: list[Line], table: Table, log: bool) -> None:
    repeats: dict[str, int] = {}
    for k, line in enumerate(lines):
        style = _style(line.algorithm, repeats.setdefault(line.algorithm, 0))
        repeats[line.algorithm] += 1
        marked = _bar_positions(line.rounds, table.bar_rounds, k, len(lines), log)
        axis.plot(line.rounds, line.regret, label=line.label, markevery=list(marked), **style)
        if len(marked):
            spread = np.array([line.below[marked], line.above[marked]])
            axis.errorbar(
                line.rounds[marked], line.regret[marked], spread, fmt="none", ecolor=style["color"],
                elinewidth=0.6, capsize=1.2, capthick=0.6, alpha=0.8,
            )  # fmt: skip
        if line.bound is not None:
            axis.plot(line.rounds, line.bound, color=style["color"], lw=0.7, ls=(0, (1, 1.5)))
    if log:
        axis.set_xscale("log")
        axis.set_yscale("log")
    else:
        axis.set_xlim(0, max(line.rounds[-1] for line in lines) * 1.02)
        thousands = FuncFormatter(lambda x, _: f"{x / 1000:g}k" if abs(x) >= 1000 else f"{x:g}")
        axis.xaxis.set_major_formatter(thousands)
        axis.yaxis.set_major_formatter(thousands)
        axis.xaxis.set_major_locator(MaxNLocator(4))
        axis.yaxis.set_major_locator(MaxNLocator(5))


def _style(algorithm: str, repeat: int) -> dict[str, Any]:
    """Colour, marker and line of an algorithm; a repeat of it takes the next free look."""
    first = STYLES.get(algorithm, sum(algorithm.encode()) % len(PALETTE))
    look = (first + repeat * 3) % len(PALETTE)
    return {"color": PALETTE[look], "marker": MARKERS[look], "ls": LINES[look], "markeredgewidth": 0}


def _bar_positions(rounds: Floats, n: int, k: int, of: int, log: bool) -> NDArray[np.int64]:
    """About `n` of the checkpoints, evenly on the axis, those of curve `k` shifted so that bars do not hide."""
    if n == 0:
        return np.array([], np.int64)
    axis = np.log(rounds) if log else rounds
    shift = (k + 1) / (of + 1)
    wanted = axis[0] + (axis[-1] - axis[0]) * (np.arange(n) + shift) / n
    return np.unique(np.abs(axis[:, None] - wanted).argmin(axis=0))


def _legend(out: Figure, axes: list[Axes], table: Table, n: int) -> None:
    handles: dict[str, Any] = {}
    for axis in axes[:n]:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            handles.setdefault(label.replace(" (", "\n("), handle)
    trials = min(line.trials for lines in table.panels.values() for line in lines)
    note = f"{table.centre} of {trials} trials\nbars: {table.bars.replace(' below', chr(10) + 'below')}"
    if any(line.bound is not None for lines in table.panels.values() for line in lines):
        note += "\ndotted: the theorem's bound"
    if n == 1:
        place = {"loc": "outside lower center", "ncols": 2}
        out.legend(handles.values(), handles.keys(), title=note.replace("\n", "; ", 1).replace("\n", " "),
                   title_fontsize=6, **place)  # fmt: skip
    else:
        axes[n].legend(
            handles.values(), handles.keys(), loc="center", title=note, title_fontsize=5.5,
            borderaxespad=0, handlelength=2.6, labelspacing=0.5,
        )  # fmt: skip


def _watermark(out: Figure, table: Table) -> None:
    """An incomplete figure says so across its face."""
    done = min(line.trials for lines in table.panels.values() for line in lines)
    if done < table.wanted:
        out.text(0.5, 0.5, f"PARTIAL {done}/{table.wanted}", ha="center", va="center", rotation=30, fontsize=26,
                 color="#b00000", alpha=0.35, zorder=10)  # fmt: skip


def save(drawn: Figure, folder: Path, name: str, formats: Sequence[str]) -> list[Path]:
    """Write the figure, byte for byte the same each time; raises ValueError on an unknown format."""
    unknown = [kind for kind in formats if kind not in FORMATS]
    if unknown:
        raise ValueError(f"unknown format {unknown[0]!r} (known: {', '.join(FORMATS)})")
    paths = []
    undated = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {"Software": None}}
    with matplotlib.rc_context(fname=STYLE):
        for kind in formats:
            paths.append(folder / f"{name}.{kind}")
            partial = folder / f".{name}.tmp.{kind}"
            drawn.savefig(partial, format=kind, metadata=undated[kind])
            partial.replace(paths[-1])
    return paths
