"""A claim's text -> Statement: a small grammar for what papers say of their curves.

    at round 2^18 in switching_costs: exp3_tau < exp3
    at the worst gap, dimension = 10: dp_ftrl[epsilon=1] within 10% of ftrl

    claim      [place:] side < | <= | > | >= side     or  side within P% of side  or  side in X +- Y  or  side in X to Y
    place      at ITEM, ... and in PANEL, ..., each once, in any order; without `in`, or `in all`: in every panel
    item       round N, the worst NAME, NAME = | <= | >= VALUE
    side       [FACTOR x] QUANTITY, or on the right a number
    quantity   CURVE or final(CURVE), its mean regret; slope(CURVE), slope(CURVE, PANEL); bound(CURVE); epsilon(CURVE)
    curve      an algorithm's name or a 'LABEL' (with '' for '), with [NAME = VALUE, ...] where these are several

What a claim leaves open of what is swept, it says of every value.
"""

import math
import re
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from privbandits_cli.experiment.document import number

Relation = Literal["<", "<=", ">", ">="]
Kind = Literal["regret", "slope", "bound", "epsilon", "number"]

MIRRORED: dict[str, Relation] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
QUANTITIES: dict[str, Kind] = {"final": "regret", "slope": "slope", "bound": "bound", "epsilon": "epsilon"}


class ClaimError(ValueError):
    """A claim that cannot be read; `at` counts its characters from 0."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.at = at


@dataclass(frozen=True)
class Condition:
    """`epsilon = 1`, `horizon >= 2^14`, `tuning = printed`."""

    name: str
    relation: Literal["=", "<=", ">="]
    value: float | str
    at: int = 0

    def admits(self, value: object) -> bool:
        """Whether a parameter's value is meant."""
        if isinstance(self.value, str) or not isinstance(value, int | float):
            return self.relation == "=" and str(value) == str(self.value)
        if self.relation == "=":
            return math.isclose(value, self.value, rel_tol=1e-9)
        return value <= self.value if self.relation == "<=" else value >= self.value


@dataclass(frozen=True)
class Selection:
    """Which curve of a panel: by its algorithm's name or its label, and by parameters."""

    name: str
    labelled: bool = False  # the name is a label
    where: tuple[Condition, ...] = ()
    at: int = 0


@dataclass(frozen=True)
class Side:
    """What stands on one side of a relation; a number is 1 of the kind `number`, its size is in the limits."""

    kind: Kind
    curve: Selection | None = None
    panel: tuple[str, int] | None = None  # of a slope that names its own


@dataclass(frozen=True)
class Place:
    """Of which games a claim speaks."""

    panels: tuple[tuple[str, int], ...] = ()  # with where each stands; none: all
    round: tuple[int, int] | None = None  # and where it stands; None: the horizon
    worst: tuple[str, int] | None = None
    where: tuple[Condition, ...] = ()


@dataclass(frozen=True)
class Statement:
    """left < factor x right, for each (factor, relation) of the limits, in every game of the place."""

    left: Side
    right: Side
    limits: tuple[tuple[float, Relation], ...]
    place: Place = Place()

    def sides(self) -> tuple[Side, ...]:
        """Those that are of a curve."""
        return tuple(side for side in (self.left, self.right) if side.curve is not None)


class _Token(NamedTuple):
    kind: str  # text, number, name, sign; end after the last
    text: str
    at: int


_TOKEN = re.compile(
    r"(?P<text>'(?:[^']|'')*')|(?P<number>\d+\^\d+|(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?)|(?P<name>[A-Za-z_][\w.]*)"
    r"|(?P<sign><=|>=|\+-|[<>=%,:()\[\]])|(?P<space>\s+)"
)


def _tokens(text: str) -> list[_Token]:
    found, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            what = "this quote is not closed" if text[at] == "'" else f"'{text[at]}' has no meaning in a claim"
            raise ClaimError(what, at)
        if match.lastgroup != "space":
            found.append(_Token(str(match.lastgroup), match[0], at))
        at = match.end()
    return [*found, _Token("end", "the end", len(text))]


def parse(text: str) -> Statement:
    """Read a claim; raises ClaimError where it is none."""
    tokens = _tokens(text)
    reader = _Reader(tokens)
    place = reader.place() if any(token.text == ":" for token in tokens) else Place()
    statement = reader.relation()
    reader.expect("the end")
    own = [side.panel for side in statement.sides() if side.panel]
    if own and place.panels:
        raise ClaimError("the panel is named twice: once is enough", own[0][1])
    return replace(statement, place=replace(place, panels=tuple(dict.fromkeys(own)) or place.panels))


class _Reader:
    """The tokens of a claim, read from left to right."""

    def __init__(self, tokens: list[_Token]) -> None:
        self.tokens = tokens
        self.i = 0

    @property
    def next(self) -> _Token:
        """The token that comes."""
        return self.tokens[self.i]

    def take(self) -> _Token:
        """The token that comes, taken."""
        self.i += 1
        return self.tokens[self.i - 1]

    def accept(self, *texts: str) -> bool:
        """Take the next token if it is one of these."""
        taken = self.next.kind != "text" and self.next.text in texts
        self.i += taken
        return taken

    def expect(self, *texts: str) -> _Token:
        """Take one of these, or say that it is missing."""
        token = self.next
        if not self.accept(*texts):
            wanted = " or ".join(text if text == "the end" else f"'{text}'" for text in texts)
            raise ClaimError(f"expected {wanted} here, found {token.text}", token.at)
        return token

    def number(self, what: str) -> float:
        """A number; `what` says of what."""
        token = self.take()
        if token.kind != "number":
            raise ClaimError(f"expected {what} here, found {token.text}", token.at)
        return float(number(token.text))

    def word(self, what: str) -> tuple[str, int]:
        """A name, or a text in quotes, and where it stands."""
        token = self.take()
        if token.kind not in ("name", "text"):
            raise ClaimError(f"expected {what} here, found {token.text}", token.at)
        text = token.text[1:-1].replace("''", "'") if token.kind == "text" else token.text
        return text, token.at

    def place(self) -> Place:
        """`at ... in ...:`, the colon taken."""
        place, seen = Place(), set()
        while not self.accept(":"):
            head = self.expect("at", "in", ":")
            if head.text in seen:
                raise ClaimError(f"a second '{head.text}': join them with a comma", head.at)
            seen.add(head.text)
            if head.text == "in":
                panels = [self.word("a panel")]
                while self.accept(","):
                    panels.append(self.word("a panel"))
                place = replace(place, panels=tuple(panel for panel in panels if panel[0] != "all"))
            else:
                place = self.item(place)
                while self.accept(","):
                    place = self.item(place)
        return place

    def item(self, place: Place) -> Place:
        """One item of `at`, added to a place."""
        at = self.next.at
        if self.accept("round"):
            return replace(place, round=(int(self.number("a round")), at))
        if self.accept("the"):
            self.expect("worst")
            return replace(place, worst=self.word("a swept parameter"))
        return replace(place, where=(*place.where, self.condition("=", "<=", ">=")))

    def condition(self, *relations: Literal["=", "<=", ">="]) -> Condition:
        """`NAME = VALUE`."""
        name, at = self.word("a parameter")
        relation = self.expect(*relations).text
        if self.next.kind == "number":
            value: float | str = self.number("a value")
        else:
            value = self.word("a value")[0]
        return Condition(name, next(known for known in relations if known == relation), value, at)

    def relation(self) -> Statement:
        """What follows the place."""
        at = self.next.at
        factor, left = self.side()
        if left.kind in ("number", "bound"):
            raise ClaimError("a curve's regret, slope or epsilon comes first; numbers and bounds stand right", at)
        sign = self.expect("<", "<=", ">", ">=", "within", "in")
        at = self.next.at
        limits: list[tuple[float, Relation]]
        if sign.text == "in":
            limits, right = self.range(), Side("number")
        elif sign.text == "within":
            part = self.number("a percentage") / 100
            self.expect("%")
            self.expect("of")
            at = self.next.at
            scale, right = self.side()
            limits = [((1 - part) * scale, ">="), ((1 + part) * scale, "<=")]
        else:
            scale, right = self.side()
            limits = [(scale, MIRRORED[MIRRORED[sign.text]])]
        fitting = {"number", left.kind} | ({"bound"} if left.kind == "regret" else set())
        if right.kind not in fitting:
            raise ClaimError(f"a {left.kind} cannot be compared with a {right.kind}", at)
        return Statement(left, right, tuple((limit / factor, relation) for limit, relation in limits))

    def range(self) -> list[tuple[float, Relation]]:
        """`X +- Y` or `X to Y`, as limits."""
        first = self.number("a number")
        if self.expect("+-", "to").text == "+-":
            width = self.number("a number")
            return [(first - width, ">="), (first + width, "<=")]
        return [(first, ">="), (self.number("a number"), "<=")]

    def side(self) -> tuple[float, Side]:
        """A factor, and of what."""
        factor = 1.0
        if self.next.kind == "number":
            at = self.next.at
            factor = self.number("a number")
            if factor <= 0:
                raise ClaimError("a factor is positive", at)
            if not self.accept("x"):
                return factor, Side("number")
        kind = (
            QUANTITIES.get(self.next.text) if self.tokens[min(self.i + 1, len(self.tokens) - 1)].text == "(" else None
        )
        if kind is None:
            return factor, Side("regret", self.curve())
        self.take()
        self.expect("(")
        side = Side(kind, self.curve())
        if kind == "slope" and self.accept(","):
            side = replace(side, panel=self.word("a panel"))
        self.expect(")")
        return factor, side

    def curve(self) -> Selection:
        """A curve's name, and its parameters in brackets."""
        labelled = self.next.kind == "text"
        name, at = self.word("an algorithm or a 'label'")
        where: list[Condition] = []
        if self.accept("["):
            where.append(self.condition("="))
            while self.accept(","):
                where.append(self.condition("="))
            self.expect("]")
        return Selection(name, labelled, tuple(where), at)
