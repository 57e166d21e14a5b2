"""A results folder -> Table: the lines of each panel, ready to draw.

The numbers come from summary.csv, slopes from final.csv, the names from manifest.json, the title and the kind of error
bars from config.yaml.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from privbandits_cli.accounting.rounding import at_most
from privbandits_cli.analysis import curves, estimates
from privbandits_cli.analysis.curves import Curves, kept
from privbandits_cli.analysis.format import counted, whole
from privbandits_cli.analysis.measured import Measured
from privbandits_cli.analysis.rates import Rate, Theory
from privbandits_cli.analysis.statistics import FEWEST_TRIALS
from privbandits_cli.analysis.theories import Game, theory_between, theory_of
from privbandits_cli.experiment.keys import LEVEL, Plot, Price, Summary
from privbandits_cli.experiment.names import Name
from privbandits_cli.experiment.received import NOBODY, Trust, copies
from privbandits_cli.figures import answers, prices
from privbandits_cli.figures.bulk import Bulk
from privbandits_cli.figures.line import Line, alike, levelled
from privbandits_cli.figures.scales import Scale, axes_of, bar_positions, beyond
from privbandits_cli.numerics.types import Floats, Ints
from privbandits_cli.plugins.registry import Registry, including

BARS = {
    "gini": "Gini's mean difference below and above",
    "sd": "one standard deviation",
    "quantiles": "5 % and 95 % quantiles",
    "bootstrap": "95 % bootstrap interval of the mean",
    "tail": "95 % bootstrap interval, too short for few trials",
}
WORDS = {"dimension": "dimension", "horizon": "horizon"}  # before the symbol at an axis
MEANINGS_OF_RHO = {"bandit": "zCDP", "contextual": "regulariser"}  # by game
UNEVEN = "5 % and 95 % quantiles of trials that are heavy-tailed, lopsided or in groups"
OF_SPREAD = "gini", "sd"  # bars that tell nothing of a long tail: quantiles replace them there
BETWEEN = 64  # values of x at which theory is drawn
CENTRES = {"median_of_means": "median of means", "cvar": "CVaR"}  # the others are written as in a config


@dataclass(frozen=True)
class Table:
    """A figure over rounds, or against a swept parameter, as data."""

    panels: dict[Name, list[Line]]
    x_label: str  # `round`, or the swept parameter in words and symbols
    centre: str
    bars: str
    plot: Plot  # what the config says of the figure
    wanted: int  # trials of a complete curve
    floor: str = ""  # the floor's name in a figure
    quantity: str = ""  # what the y axis shows, if it is no regret
    remarks: tuple[str, ...] = ()  # further notes
    promised: float | None = None  # the largest share of wrong answers with the confidence of the game
    switches: int = 0  # of the best sequence of arms, with which the learner is compared; 0: with the best arm
    best: tuple[str, ...] = ()  # parameters, as the field writes them, that are at their best at each point

    @property
    def lines(self) -> list[Line]:
        """The lines of all panels."""
        return [line for lines in self.panels.values() for line in lines]

    @property
    def fewest(self) -> int:
        """Trials of the line that has the fewest."""
        return min(line.trials for line in self.lines)

    @property
    def regret(self) -> str:
        """What the regret is called."""
        met = [line.adversary for line in self.lines]
        kind = "dynamic regret" if self.switches else "estimated regret" if estimates_of(met) else "regret"
        return counts_of(met) or kind

    @property
    def final(self) -> str:
        """What the regret at the horizon is called."""
        return self.regret.replace("regret", "final regret")

    def labels(self) -> tuple[str, str]:
        """The labels of both axes."""
        if self.quantity:
            return self.x_label, self.quantity
        y = self.final if self.swept else self.regret
        y = f"{self.centre} of the {y}" if self.bars == BARS["tail"] else y
        return self.x_label, f"{y} / {self.unit.removeprefix('the ')}" if self.ratio else y

    def notes(self, numbers: bool = False) -> list[str]:
        """What the lines and bars of the figure show, besides its marks; numbers: where bars are numbers in a table."""
        every = self.lines
        notes = [f"{self.centre} of {counted(self.fewest, 'trial')}"]
        notes += [f"bars: {self.lengths if numbers else self.spread}"] if self.bars else []
        notes += estimates_of([line.adversary for line in every])
        if self.switches:
            notes.append(f"against the best sequence with at most {counted(self.switches, 'change')}")
        if self.best:
            notes.append(f"each point at the best {', '.join(self.best)} of the grid, chosen by its regret")
        vacuous = {line.label: np.isnan(line.bound).all() for line in every if line.bound is not None}
        if vacuous:
            notes.append("dotted: the theorem's bound, where it is not vacuous (above what any algorithm can lose)")
        if any(vacuous.values()):
            notes.append(f"vacuous bounds: {', '.join(label for label, everywhere in vacuous.items() if everywhere)}")
        if any(line.free is not None for line in every):
            notes.append(f"dotted down: from there on within {100 * self.free:.0f} % of {self.floor}")
        notes += self.remarks
        known = {rate.asymptotic for line in every for rate in line.rates if rate.asymptotic or not rate.lower}
        if True in known:
            notes.append("lower bounds: on the mean, and asymptotic: a regret at finite t may be smaller")
        if False in known:
            notes.append("thin: bounds for every learner that is equally private; orders are drawn with constant 1")
        notes += dict.fromkeys(f"no bound of {line.label.base}: {line.untold}" for line in every if line.untold)
        return notes

    def axes(self, lines: Sequence[Line]) -> tuple[Scale, Scale]:
        """The axes of a panel; a logarithmic one of regrets has room for the numbers that stand at its lower end."""
        x, y = axes_of(lines, self.plot.log, self.plot.top)
        cut = any(beyond(line, points, y) for line, points in zip(lines, self.marked(lines), strict=True))
        numbered = cut or any(line.free is not None for line in lines)
        return x, replace(y, low=y.low / 2.5) if numbered and y.kind == "log" else y

    def marked(self, lines: Sequence[Line]) -> list[Ints]:
        """The points of each line of a panel that have a marker and a bar."""
        n, log = self.plot.bars, self.plot.log
        return [bar_positions(line.x, n, k, len(lines), log) for k, line in enumerate(lines)]

    @property
    def spread(self) -> str:
        """What the bars show, or why there are none."""
        if all(line.trials < FEWEST_TRIALS for line in self.lines):
            return f"none (fewer than {FEWEST_TRIALS} trials)"
        return self.bars + (f", drawn for at least {FEWEST_TRIALS} trials" if self.fewest < FEWEST_TRIALS else "")

    @property
    def lengths(self) -> str:
        """What bars show whose lengths a table prints: where a figure makes them pale, the table has to say why."""
        spreads, last = {BARS[bars] for bars in OF_SPREAD}, 0 if self.swept else -1
        bulks = [line.bulk for line in self.lines if line.bulk and line.trials >= FEWEST_TRIALS]
        uneven = any(bulk.uneven()[last:].any() for bulk in bulks)
        return self.spread + f", or {UNEVEN}" * (uneven and self.bars in spreads)

    def seen(self) -> tuple["Table", list[str]]:
        """The table without panels in which nothing can be seen, and the titles of these; all if that is in all."""
        hidden = [title for title, lines in self.panels.items() if not lines or alike(lines)]
        if len(hidden) in (0, len(self.panels)):
            return self, []
        kept = {title: lines for title, lines in self.panels.items() if title not in hidden}
        return replace(self, panels=kept), [str(title) for title in hidden]

    @property
    def swept(self) -> bool:
        """Whether the figure is drawn against a parameter, not over rounds."""
        return self.x_label != "round"

    @property
    def ratio(self) -> bool:
        """Whether regrets are multiples, of `unit`."""
        return self.plot.over is not None or (self.plot.price is not None and self.plot.price.ratio)

    @property
    def unit(self) -> str:
        """What they are multiples of."""
        return "the lower bound" if self.plot.over else f"{self.floor}'s"

    @property
    def level(self) -> float | None:
        """Where a level line is drawn: at the floor or bound, or at the largest share of wrong answers promised."""
        return 1.0 if self.ratio else self.promised

    def text(self, regret: float) -> str:
        """A regret as text: a whole number, or a multiple with two decimals."""
        return f"{regret:.2f}" if self.ratio else whole(regret)

    @property
    def free(self) -> float:
        """Privacy counts as free if the regret exceeds the floor's by at most this part."""
        return self.plot.price.free if self.plot.price else 0.0


def read(
    folder: Path,
    bounds: bool = False,
    against: str = "",
    trust: Trust = NOBODY,
    quantity: str = "",
) -> Table:
    """Read a results folder; bounds: with the theorems' regret bounds; against: a swept parameter for the x axis.

    quantity: what is drawn of the game best_arm, `pulls` or `wrong`.
    Raises FileNotFoundError or ValueError with what is wrong. For `trust` see `table`.
    """
    return table(curves.read(folder, against, quantity=quantity), bounds, trust)


def table(found: Curves, bounds: bool = False, trust: Trust = NOBODY) -> Table:
    """The lines of the curves; trust: the users' files that may be executed, if theory is drawn."""
    config, plot = found.config, found.plot
    chosen = Summary.model_validate(config.get("summary", {}))
    bars = "tail" if chosen.tail else chosen.bars
    level = f"{LEVEL if chosen.level is None else chosen.level:g} " if chosen.tail else ""
    x = plot.against
    words = {**WORDS, "rho": MEANINGS_OF_RHO.get(config.get("game", ""), "")}
    registry = _registry(found.folder, trust) if trust else Registry()
    game = Game(config, registry, trust) if bounds or plot.bounds or plot.over else None
    x_label = f"{words.get(x, '')} {found.symbol(x)}".strip() if x else "round"
    if config.get("game") == "best_arm":
        return _of_answers(found, game, x_label)
    panels = {
        title: _swept_lines(found, members, bars, game)
        if plot.against
        else [_line_over_rounds(curve, bars, game) for curve in members]
        for title, members in found.panels().items()
    }
    if plot.price:
        panels = {title: _priced(lines, plot.price) for title, lines in panels.items()}
    remarks = _kinds(found)
    if plot.over:
        panels, more = _over(panels)
        remarks += more
    at = f" at {_level(plot)}" if x and plot.placed else ""
    floors = [curve.legend.base for curve in found.every if plot.price and curve.algorithm == plot.price.floor]
    return Table(
        panels=panels,
        x_label=x_label + at,
        centre=level + CENTRES.get(chosen.centre, chosen.centre),
        bars=BARS[bars],
        plot=plot,
        wanted=found.wanted,
        floor=next(iter(floors), ""),
        switches=config.get("switches", 0),
        best=tuple(map(found.symbol, plot.best or ())),
        remarks=tuple(remarks),
    )


def _over(panels: Mapping[Name, list[Line]]) -> tuple[dict[Name, list[Line]], list[str]]:
    """The lines as multiples of lower bounds, with remarks; ValueError if no lower bound is known."""
    made = {title: prices.over_lower_bounds(lines) for title, lines in panels.items()}
    made = {title: lines for title, lines in made.items() if lines}
    if not made:
        raise ValueError("plot.over: no lower bound is known: it needs Bernoulli arms with fixed means")
    kept = {line.label for lines in made.values() for line in lines}
    every = dict.fromkeys(str(line.label) for lines in panels.values() for line in lines if line.label not in kept)
    asymptotic = "lower bound: on the mean, and asymptotic: a regret at finite t may be below it"
    return made, [asymptotic] + [f"no lower bound, so left out: {', '.join(every)}"] * bool(every)


def _level(plot: Plot) -> str:
    """The privacy at which curves stand on the axis."""
    epsilon = f"ε = {at_most(plot.at_epsilon)}, " if plot.at_epsilon else ""
    return f"{epsilon}δ = {at_most(plot.at_delta, 2)}"


def _kinds(found: Curves) -> list[str]:
    """What ε means for which lines of an axis of ε, if it does not mean the same for all; who has no place there.

    The δ of a line is the largest of its points, at which all of them are private.
    """
    against, at = found.plot.against, found.plot.placed
    if not at and against != "epsilon":
        return []
    known, names = dict(Registry().every("algorithms")), dict[tuple[str, str], dict[str, None]]()
    for line in (line for members in found.panels().values() for line in found.lines(members)):
        deltas = [delta for _, delta in filter(None, map(_guarantee, line))]
        if against in line[0].swept and deltas:
            local = getattr(known.get(line[0].algorithm), "local", False)
            who = "one report" if local else "a game"
            if (rounds := max(curve.people for curve in line)) > 1 or found.plot.at_epsilon:
                who = f"a person in up to {rounds:,} rounds" if rounds > 1 else "a person"
            level, name = "" if at else f"δ = {at_most(max(deltas), 2)}", found.line_name(line[0]).base
            names.setdefault((who, level), {})[name] = None
    most = max(names, key=lambda meaning: len(names[meaning]), default=("", ""))
    others = []
    for meaning, own in names.items():
        apart = [part for part, usual in zip(meaning, most, strict=True) if part != usual]
        told = ", ".join(part for part in apart if not all(part in name for name in own))
        others += [" and ".join(own) + (f" ({told})" if told else "")] if apart else []
    but = f", but for {', '.join(others)}" if others else ""
    notes = [f"ε is that of {', '.join(filter(None, most))}{but}"] if others or (names and found.of_people) else []
    most_of = found.plot.at_epsilon
    lack = f"ε = {at_most(most_of)} is proved not even for one round" if most_of else "no ε is proved at this δ"
    none = f"{lack}, so left out: {', '.join(dict.fromkeys(found.unplaced))}"
    return notes + [none] * bool(found.unplaced)


def _of_answers(found: Curves, game: Game | None, x_label: str) -> Table:
    """The lines of the game best_arm."""
    plot, shown = found.plot, answers.kind(found)
    panels: dict[Name, list[Line]] = {}
    for title, members in found.panels().items():
        panels[title] = []
        for line, joined in answers.lines(found, members, shown):
            if game and shown.bounded and not line.level and not any(one.rates for one in panels[title]):
                x = np.array([float(curve.swept[plot.against]) for curve in joined])
                known = _with_theory(replace(line, x=x), joined, game, plot.against)
                rates = tuple(rate._replace(regret=rate.regret[np.isin(x, line.x)]) for rate in known.rates)
                line = replace(line, rates=rates, fine=known.fine)
            panels[title].append(line)
    return Table(
        panels={title: lines for title, lines in panels.items() if lines},
        x_label=x_label,
        centre=shown.centre,
        bars=shown.bars,
        plot=plot.model_copy(update={"price": None, "top": None}),  # these are of regrets
        wanted=found.wanted,
        quantity=shown.y,
        remarks=(*answers.remarks(found, panels), *_kinds(found)),
        promised=answers.promised(found),
    )


def estimates_of(adversaries: Iterable[str]) -> list[str]:
    """What the regret against these adversaries is, where it is only an estimate."""
    known = dict(Registry().every("adversaries"))
    said = {name: getattr(known[name], "estimate", "") for name in adversaries if name in known}
    return [f"regret against {name}: an estimate, {text}" for name, text in said.items() if text]


def counts_of(adversaries: Iterable[str]) -> str:
    """What the regret against these adversaries is the number of; empty if they have no such thing in common."""
    known = dict(Registry().every("adversaries"))
    counts = {getattr(known.get(name), "counts", "") for name in adversaries}
    return counts.pop() if len(counts) == 1 else ""


def _registry(folder: Path, trust: Trust) -> Registry:
    """The registry with the users' files that are trusted, which are executed here; those that are named come first."""
    trust.check(folder)
    named = {path.name for path in trust.include}
    copied = [copy for copy in copies(folder) if copy.name not in named] if trust.kept else []
    registry, errors = including([*trust.include, *copied])
    if errors:
        raise ValueError(errors[0])
    return registry


def _priced(lines: list[Line], price: Price) -> list[Line]:
    """The lines with the point from which privacy is free, and as multiples of the floor if the config says so."""
    lines = [replace(line, free=prices.free_from(line, lines, price.floor, price.free)) for line in lines]
    return prices.as_multiples(lines, price.floor) if price.ratio else lines


def _line_over_rounds(curve: Measured, bars: str, game: Game | None) -> Line:
    rounds = np.array([*curve.rounds], float)
    line = _line([*curve.rounds.values()], rounds, curve, curve.legend, bars, folded=set())
    if game is None:
        return line
    known = theory_of(curve, rounds, game)
    if isinstance(known, str):
        return replace(line, untold=known)
    line = replace(line, **known._asdict())
    if curve.record.get("theory") is not None and not game.trust:
        return line
    fine = np.union1d(np.rint(np.geomspace(rounds[0], rounds[-1], BETWEEN)), rounds)
    between = theory_of(curve, fine, game)
    return line if isinstance(between, str) else replace(line, fine=(fine, between))


def _swept_lines(found: Curves, members: Sequence[Measured], bars: str, game: Game | None) -> list[Line]:
    """Regret at the horizon against a swept parameter; an algorithm without that parameter is a level line."""
    against = found.plot.against
    values = [float(curve.swept[against]) for curve in members if against in curve.swept]
    lines = []
    for joined in found.lines(members):
        first, rows = joined[0], [curve.last for curve in joined]
        x = np.array([float(curve.swept.get(against, "nan")) for curve in joined])
        line = _line(rows, x, first, found.line_name(first), bars, found.plot.folded)
        if against not in first.swept:
            line = levelled(line, (min(values), max(values)))
        else:
            # the parameters between two such points are not known
            between = "" if found.plot.placed or found.of_people else against
            line = line if game is None else _with_theory(line, joined, game, between)
            line = _with_slope(line, joined) if found.plot.slopes and len(joined) > 1 else line
        lines.append(line)
    return lines


def _with_slope(line: Line, curves: Sequence[Measured]) -> Line:
    """The line with the slope of its means on logarithmic axes, if all of them are positive."""
    means = [estimates.mean(curve.finals) for curve in curves]
    if any(one.value <= 0 for one in means):
        return line
    slope = estimates.slope_of(line.x, means)
    return replace(line, slope=(slope.value, slope.error))


def _with_theory(line: Line, curves: Sequence[Measured], game: Game, against: str) -> Line:
    """The line with the bound and the rates that apply to all of its points, and to values between them."""
    points = [theory_of(curve, np.array([max(curve.rounds)], float), game) for curve in curves]
    known = [point for point in points if isinstance(point, Theory)]
    if len(known) < len(points):
        return replace(line, untold=next(point for point in points if isinstance(point, str)))
    line = _of_points(line, known)
    if against and len(curves) > 1 and line.x.min() > 0:
        x = np.union1d(np.geomspace(line.x.min(), line.x.max(), BETWEEN), line.x)
        between = theory_between(curves, known, against, x, game)
        if between is not None:
            joined = _of_points(replace(line, x=x), between)
            line = replace(line, fine=(x, Theory(joined.bound, joined.rates)))
    return line


def _of_points(line: Line, known: Sequence[Theory]) -> Line:
    """The line with the bound and the rates that are known at all of its points."""
    bounds = [bound for bound, _ in known if bound is not None]
    named = [{rate.name: rate for rate in found} for _, found in known]
    common = [[found[name] for found in named] for name in named[0] if all(name in other for other in named)]
    return replace(
        line,
        bound=np.concatenate(bounds) if len(bounds) == len(known) else None,
        rates=tuple(map(_joined, common)),
    )


def _joined(points: Sequence[Rate]) -> Rate:
    """One rate of several points; it has an ε only if all of them have the same."""
    same = len({rate.epsilon for rate in points}) == 1
    joined = np.concatenate([rate.regret for rate in points])
    return Rate(points[0].name, joined, points[0].epsilon if same else None)


def _line(
    rows: Sequence[Mapping[str, float]], x: Floats, curve: Measured, label: Name, bars: str, folded: Set[str]
) -> Line:
    """One line from its rows, one for each x; folded: the swept parameters in which its points differ."""

    def column(name: str) -> Floats:
        return np.array([row[name] for row in rows])

    regret = column("regret")
    below, above = {
        "gini": lambda: (column("gmd_below"), column("gmd_above")),
        "sd": lambda: (column("sd"), column("sd")),
        "quantiles": lambda: (regret - column("q05"), column("q95") - regret),
        "bootstrap": lambda: (regret - column("boot_low"), column("boot_high") - regret),
    }["bootstrap" if bars == "tail" else bars]()
    trials = column("trials")
    bulk = Bulk(column("mean"), column("sd"), column("q05"), column("q50"), column("q95"), trials)
    if bars in OF_SPREAD:
        swap = bulk.uneven()
        below, above = np.where(swap, regret - bulk.low, below), np.where(swap, bulk.high - regret, above)
    enough = trials >= FEWEST_TRIALS
    return Line(
        algorithm=curve.algorithm,
        adversary=curve.adversary,
        label=label,
        x=x,
        regret=regret,
        below=np.where(enough, np.fmax(below, 0), 0),
        above=np.where(enough, np.fmax(above, 0), 0),
        trials=min(int(row["trials"]) for row in rows),
        bound=None,
        own=kept(curve.own, folded),
        game=kept(curve.of_game, folded),
        parameters=curve.parameters["algorithm"],
        bulk=None if bars == "tail" else bulk,  # a centre in the tail is meant to be outside
        widened=bars != "quantiles",
        private=curve.private,
        guarantee=_guarantee(curve),
    )


def _guarantee(curve: Measured) -> tuple[float, float] | None:
    epsilon, delta = curve.record.get("epsilon"), curve.record.get("delta")
    return None if epsilon is None or delta is None else (float(epsilon), float(delta))
