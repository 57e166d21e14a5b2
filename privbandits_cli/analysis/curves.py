"""The measured curves of a results folder as a figure shows them: sorted into panels and lines."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from privbandits_cli.accounting.guarantee import NO_NOISE
from privbandits_cli.analysis.folder import read_config
from privbandits_cli.analysis.measured import AGAIN, Measured, curves_of
from privbandits_cli.experiment.keys import Plot
from privbandits_cli.experiment.names import Name, symbol
from privbandits_cli.experiment.variants import flat
from privbandits_cli.numerics.text import number_of

Line = tuple[object, ...]  # what the curves of one line have in common


@dataclass(frozen=True)
class Curves:
    """The curves of a results folder, whose legends have the field's symbols, and what its config says of the figure.

    A parameter that the figure is drawn against, or at its worst, counts as swept even if no curve sweeps it.
    """

    folder: Path
    every: list[Measured]
    drawn: list[Measured]  # of curves that differ in `plot.worst` only, the worst; in those of `plot.best`, the best
    plot: Plot
    config: dict[str, Any]  # empty if the folder has none
    unplaced: list[str] = field(default_factory=list)  # legends of curves without an ε at the δ of the axis

    def symbol(self, parameter: str) -> str:
        """A parameter as the field writes it; the dimension is d in a contextual game and N in a linear one."""
        letter = "d" if self.config.get("game") == "contextual" else "N"
        return letter if parameter == "dimension" else symbol(parameter)

    @property
    def of_people(self) -> bool:
        """Whether the axis is the ε of a person who is in several rounds, while the parameter ε is that of one."""
        return self.plot.against == "epsilon" and any(curve.people > 1 for curve in self.every)

    @property
    def timed(self) -> bool:
        """Whether trials are compared by their times: in the game best_arm with a confidence."""
        return self.config.get("game") == "best_arm" and self.config.get("confidence") is not None

    @property
    def wanted(self) -> int:
        """The trials of a complete curve, as the config has it, or else of the curve that has most."""
        most = max(numbers["trials"] for curve in self.every for numbers in curve.rounds.values())
        return int(self.config.get("trials", most))

    def panels(self) -> dict[Name, list[Measured]]:
        """The drawn curves by the title of their panel; a panel needs a curve with the parameter on the x axis."""
        found: dict[Name, list[Measured]] = {}
        for curve in self.drawn:
            found.setdefault(curve.panel_title(self.plot.folded), []).append(curve)
        against = self.plot.against
        return {title: each for title, each in found.items() if not against or any(against in c.swept for c in each)}

    def lines(self, members: Sequence[Measured]) -> list[list[Measured]]:
        """The curves of each line of a panel, in the order of the parameter that the figure is drawn against."""
        against = self.plot.against
        if not against:
            return [[curve] for curve in members]
        found: dict[Line, list[Measured]] = {}
        for curve in members:
            found.setdefault(_line(curve, self.plot.folded), []).append(curve)
        return [sorted(line, key=lambda curve: float(curve.swept.get(against, 0))) for line in found.values()]

    def line_name(self, curve: Measured) -> Name:
        """The legend of the line that a curve belongs to; with more notes if other lines would have the same one.

        A level line is one curve, so it has the guarantee of this curve, unless the axis has it.
        """
        against, plain = self.plot.against, _line_name(curve, self.plot.folded)
        if not against:
            return curve.legend
        level = against not in curve.swept
        name = _promising(plain, curve) if level and not self.plot.placed else plain
        if level and self._sharing[plain, False]:
            has = flat(curve.parameters["algorithm"]).get(against) is not None
            name = curve.legend if has else curve.legend.noted({against: f"without {self.symbol(against)}"})
        algorithms = self._sharing[plain, level]
        return name.noted({"name": f"name = {curve.algorithm}"}) if len(algorithms) > 1 else name

    @cached_property
    def _sharing(self) -> dict[tuple[str, bool], set[str]]:
        """The algorithms of the lines with the same legend, of which some are level and some are not."""
        found: dict[tuple[str, bool], set[str]] = defaultdict(set)
        for curve in self.drawn:
            found[_line_name(curve, self.plot.folded), self.plot.against not in curve.swept].add(curve.algorithm)
        return found


def _line(curve: Measured, folded: Set[str]) -> Line:
    """What the curves of one line share: the algorithm, its name, the swept values that are not folded."""
    values = (kept(part, folded).items() for part in (curve.of_game, curve.own, _apart(curve)))
    return (curve.algorithm, curve.legend.base, frozenset(folded & curve.swept.keys()), *map(tuple, values))


def _line_name(curve: Measured, folded: Set[str]) -> Name:
    """The legend of its line: without the guarantee, which varies along a line."""
    own = kept(curve.own | _apart(curve), folded)
    notes = {name: f"{symbol(name)} = {value}" for name, value in own.items()}
    if "horizon" in kept(curve.of_game, folded):
        notes["horizon"] = f"T = {_power(int(curve.of_game['horizon']))}"
    return Name(curve.legend.base, notes)


def _promising(name: Name, curve: Measured) -> Name:
    """The name with the guarantee of a curve that has noise, in place of the notes on ε and δ that this repeats."""
    if NO_NOISE < (curve.record.get("epsilon") or 0.0) < math.inf:
        return name
    notes = {key: note for key, note in curve.legend.notes.items() if key in ("guarantee", "unit")}
    said = {key: "" for key in name.notes if f"{symbol(key)} = " in notes.get("guarantee", "")}
    return name.revised(said).noted(notes)


def _apart(curve: Measured) -> dict[str, str]:
    """The given parameters in which a curve differs from those of the same name."""
    found = {name: x for name, x in curve.record["algorithm"]["apart"].items() if x not in (None, "")}
    return {name: f"{x:.10g}" if isinstance(x, float) else str(x) for name, x in found.items()}


def kept(values: Mapping[str, str], folded: Set[str]) -> dict[str, str]:
    """The values of parameters that are not folded."""
    return {name: value for name, value in values.items() if name not in folded}


class NothingToDraw(ValueError):
    """No curve has a place on the axis of the figure, or no two curves can be paired."""


def _power(n: int) -> str:
    """A number as text; a large power of 2 as such."""
    return f"2^{n.bit_length() - 1}" if n >= 1024 and n & (n - 1) == 0 else str(n)


def read(folder: Path, against: str = "", finals: bool = False, quantity: str = "") -> Curves:
    """Read a results folder; finals: with the final regret of each trial, as slopes and the game best_arm need it.

    against, quantity: replace the config's own.

    Raises FileNotFoundError or ValueError with what is wrong. Executes no file of the user's.
    """
    config = read_config(folder)
    plot = _redirected(Plot.model_validate(config.get("plot", {})), against)
    if quantity:
        if config.get("game") != "best_arm":
            raise ValueError(f"{quantity} is drawn of the game best_arm only, and {folder} has another game")
        plot = plot.model_copy(update={"quantity": quantity})
    finals = finals or plot.slopes or config.get("game") == "best_arm"
    curves = curves_of(folder, finals, named=True)
    if not curves:
        raise ValueError(f"{folder / 'summary.csv'} has no rows to draw")
    if finals and not all(curve.finals for curve in curves):
        raise ValueError(f"{folder / 'final.csv'} and summary.csv are of different runs: {AGAIN}")
    every = [replace(curve, legend=curve.legend.in_symbols()) for curve in curves]
    unplaced = []
    if plot.placed:
        unplaced = [str(curve.legend) for curve in every if curve.record.get("converted", 0.0) is None]
        every = _placed([curve for curve in every if curve.record.get("converted", 0.0) is not None], plot.against)
    for name in filter(None, (plot.against, plot.worst)):
        if not any(name in curve.swept for curve in every):
            every = [_sweeping(curve, name) for curve in every]
        if not any(name in curve.swept for curve in every):
            where = f"an ε that is proved at δ = {plot.at_delta:g}" if unplaced else f"a parameter '{name}'"
            raise NothingToDraw(f"nothing to draw against: no curve has {where}")
    if against and len({_number(curve, against) for curve in every if against in curve.swept}) < 2:
        raise NothingToDraw(f"nothing to draw against: '{against}' takes only one value")
    drawn = _extreme(every, {*plot.best}, -1.0) if plot.best else every
    drawn = _extreme(drawn, {plot.worst}, 1.0) if plot.worst else drawn
    if plot.against == "epsilon" and not plot.placed:
        drawn = [_of_a_person(curve) for curve in drawn]
        unplaced = [str(curve.legend) for curve in drawn if curve.own.get("epsilon") == "inf"]
        drawn = [curve for curve in drawn if curve.own.get("epsilon") != "inf"]
        if not any("epsilon" in curve.swept for curve in drawn):
            raise NothingToDraw("nothing to draw against: no ε of a person is proved for any curve that sweeps it")
    return Curves(folder, every, drawn, plot, config, unplaced)


def _redirected(plot: Plot, against: str) -> Plot:
    """The plot against another parameter, without the options that the config sets for its own."""
    if not against or against == plot.against:
        return plot
    kept = {
        "worst": "" if plot.worst == against else plot.worst,
        "best": [x for x in plot.best or () if x != against] or None,
        "at_delta": None,
        "at_epsilon": None,
    }
    return plot.model_copy(update={"against": against, "slopes": False, "price": None, **kept})


def _placed(curves: Sequence[Measured], against: str) -> list[Measured]:
    """The curves with what is proved for them in place of the given parameters that it depends on."""
    found = []
    for curve in curves:
        if (value := curve.record.get("converted")) is None:
            found.append(curve)
            continue
        kin = [one for one in curves if (one.algorithm, one.legend.base) == (curve.algorithm, curve.legend.base)]
        spent = {name for one in kin for name in _moving(curve, one)} | {"epsilon"}
        apart = {name: x for name, x in curve.record["algorithm"]["apart"].items() if name not in spent}
        record = {**curve.record, "algorithm": {**curve.record["algorithm"], "apart": apart}}
        own = {name: x for name, x in curve.own.items() if name not in spent} | {against: str(value)}
        found.append(replace(curve, own=own, record=record))
    return found


def _of_a_person(curve: Measured) -> Measured:
    """The curve with the ε of a person in place of a swept ε of a round: `inf` if none is proved.

    The ε of an algorithm that promises no privacy is another parameter, which stays.
    """
    if curve.people == 1 or "epsilon" not in curve.own or "guarantee" not in curve.legend.notes:
        return curve
    found = curve.record.get("epsilon")
    return replace(curve, own=curve.own | {"epsilon": "inf" if found is None else str(found)})


def _moving(one: Measured, other: Measured) -> set[str]:
    """The number among the algorithm's parameters in which alone two curves differ, if the ε of their records does."""
    a, b = ({**curve.record["algorithm"]["apart"], **curve.own} for curve in (one, other))
    differ = {name for name in a.keys() | b.keys() if str(a.get(name)) != str(b.get(name))}
    same = one.of_game != other.of_game or one.record.get("converted") == other.record.get("converted")
    numbers = all(number_of(str((a | b)[name])) is not None for name in differ)
    return differ if len(differ) == 1 and numbers and not same else set()


def _number(curve: Measured, name: str) -> float:
    """The value of a parameter; ValueError if it is not a number."""
    found = number_of(curve.swept[name])
    if found is None:
        raise ValueError(f"'{name}' is '{curve.swept[name]}' in a curve: an axis needs numbers")
    return found


def _sweeping(curve: Measured, name: str) -> Measured:
    """The curve with one more swept parameter, if its algorithm or else its adversary has it."""
    own, of_game = (flat(curve.parameters[side]).get(name) for side in ("algorithm", "adversary"))
    if own is not None:
        return replace(curve, own=curve.own | {name: str(own)})
    return curve if of_game is None else replace(curve, of_game=curve.of_game | {name: str(of_game)})


def _extreme(curves: Sequence[Measured], parameters: Set[str], sign: float) -> list[Measured]:
    """Of the curves that differ in these parameters only, the one whose mean regret, times the sign, ends highest."""
    found: dict[Line, Measured] = {}
    for curve in curves:
        kin = curve.panel_title(parameters), *_line(curve, parameters)
        if kin not in found or sign * curve.last["mean"] > sign * found[kin].last["mean"]:
            found[kin] = curve
    return list(found.values())
