"""The grammar of claims: the text of a claim -> Expression.

    at round 2^18 in switching_costs: exp3_tau < exp3
    at the worst gap, dimension = 10: dp_ftrl[epsilon=1] within 10% of ftrl

    claim      [scope:] side < | <= | > | >= side     or  side within P% of side  or  side in X +- Y  or  side in X to Y
    scope      at ITEM, ... and in PANEL, ..., each once, in any order; without `in`, or with `in all`: every panel
    item       round N, the worst NAME, NAME = | <= | >= VALUE
    side       [FACTOR x] QUANTITY; the right side may also be a number, which may be negative, as are X and Y
    quantity   CURVE or final(CURVE), the mean regret; cvar(CURVE), that of the worst trials, at the level of `summary`;
               slope(CURVE), slope(CURVE, PANEL); epsilon(CURVE);
               on the right only: bound(CURVE), of its theorem; lower_bound(CURVE), of all learners as private as it is
               in the game best_arm: pulls(CURVE), the mean time; median_pulls(CURVE); wrong(CURVE) and capped(CURVE),
               shares of the trials; lower_bound(CURVE), of the mean time
    curve      an algorithm's name or a 'LABEL' (write '' for '), with [NAME = VALUE, ...] where several curves match

A claim holds for every value of a swept parameter that it does not fix.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from privbandits_cli.experiment.document import number
from privbandits_cli.experiment.errors import suggestion

Relation = Literal["<", "<=", ">", ">="]
INEQUALITIES: tuple[Relation, ...] = ("<", "<=", ">", ">=")

NUMBER = "number"  # the quantity of a side that is a plain number


REGRETS, ANSWERS = ("bandit", "linear", "contextual"), ("best_arm",)  # games that are scored by regrets, or by answers


@dataclass(frozen=True)
class Quantity:
    """A quantity that a claim can state about a curve; `claims/quantities.py` computes it."""

    against: tuple[str, ...]  # the quantities on the right of it; empty: it is on the right only
    games: tuple[str, ...] = REGRETS
    fitted: bool = False  # to all points along the x-axis of the figure, or to all checkpoints; not read at one of them
    sorts: bool = False  # it sorts the regrets of single trials, which are known at the horizon only


REGRET = "final"  # the quantity meant by a curve's name alone
QUANTITIES = {
    REGRET: Quantity((NUMBER, REGRET, "bound", "lower_bound")),
    "cvar": Quantity((NUMBER, "cvar", REGRET), sorts=True),
    "slope": Quantity((NUMBER, "slope"), fitted=True),
    "bound": Quantity(()),
    "lower_bound": Quantity((), (*REGRETS, *ANSWERS)),
    "epsilon": Quantity((NUMBER,), (*REGRETS, *ANSWERS)),
    "pulls": Quantity((NUMBER, "pulls", "lower_bound"), ANSWERS),
    "median_pulls": Quantity((NUMBER, "median_pulls"), ANSWERS),
    "wrong": Quantity((NUMBER, "wrong"), ANSWERS),
    "capped": Quantity((NUMBER, "capped"), ANSWERS),
}


class ClaimError(ValueError):
    """A claim that cannot be read or does not fit its experiment; `at` is the position of the error in its text."""

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
        """Whether a parameter's value satisfies the condition."""
        if isinstance(self.value, str) or not isinstance(value, int | float):
            return self.relation == "=" and str(value) == str(self.value)
        if self.relation == "=":
            return math.isclose(value, self.value, rel_tol=1e-9)
        return value <= self.value if self.relation == "<=" else value >= self.value


@dataclass(frozen=True)
class Selection:
    """A curve, selected by its algorithm's name or its label, and by parameters."""

    name: str
    labelled: bool = False  # the name is a label
    where: tuple[Condition, ...] = ()
    at: int = 0


@dataclass(frozen=True)
class Side:
    """One side of a relation. The value of a plain number is in the limits of the expression."""

    quantity: str
    curve: Selection | None = None  # None: a number
    panel: tuple[str, int] | None = None  # the PANEL of `slope(CURVE, PANEL)`, and its position


@dataclass(frozen=True)
class Scope:
    """The panels, rounds and parameter values for which a claim is made; each with its position in the text."""

    panels: tuple[tuple[str, int], ...] = ()  # empty: all
    round: tuple[int, int] | None = None  # None: the horizon
    worst: tuple[str, int] | None = None
    where: tuple[Condition, ...] = ()


@dataclass(frozen=True)
class Expression:
    """left RELATION factor x right, for each (factor, RELATION) of the limits, everywhere in the scope."""

    left: Side
    right: Side
    limits: tuple[tuple[float, Relation], ...]
    scope: Scope = Scope()

    def sides(self) -> tuple[Side, ...]:
        """The sides that name a curve."""
        return tuple(side for side in (self.left, self.right) if side.curve is not None)


class _Token(NamedTuple):
    kind: str  # text, number, name, sign; the last token is `end`
    text: str
    at: int


_TOKEN = re.compile(
    r"(?P<text>'(?:[^']|'')*')|(?P<number>\d+\^\d+|-?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?)|(?P<name>[A-Za-z_][\w.]*)"
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


def parse(text: str) -> Expression:
    """Read a claim; ClaimError if its text does not follow the grammar."""
    tokens = _tokens(text)
    reader = _Reader(tokens)
    scope = reader.scope() if any(token.text == ":" for token in tokens) else Scope()
    expression = reader.expression()
    reader.expect("the end")
    own = [side.panel for side in expression.sides() if side.panel]
    if own and scope.panels:
        raise ClaimError("the panel is named twice: name it once", own[0][1])
    return replace(expression, scope=replace(scope, panels=tuple(dict.fromkeys(own)) or scope.panels))


def _shown(quantities: Iterable[str]) -> str:
    return " or ".join("a number" if name == NUMBER else f"{name}(...)" for name in quantities)


class _Reader:
    """Reads the tokens of a claim from left to right."""

    def __init__(self, tokens: list[_Token]) -> None:
        self.tokens = tokens
        self.i = 0

    @property
    def next(self) -> _Token:
        """The next token, which stays in place."""
        return self.tokens[self.i]

    def take(self) -> _Token:
        """Take the next token."""
        self.i += 1
        return self.tokens[self.i - 1]

    def accept(self, *texts: str) -> bool:
        """Take the next token if it is one of these."""
        taken = self.next.kind != "text" and self.next.text in texts
        self.i += taken
        return taken

    def expect(self, *texts: str) -> _Token:
        """Take the next token, which must be one of these."""
        token = self.next
        if not self.accept(*texts):
            wanted = " or ".join(text if text == "the end" else f"'{text}'" for text in texts)
            raise ClaimError(f"expected {wanted} here, found {token.text}", token.at)
        return token

    def number(self, what: str, signed: bool = False) -> float:
        """A number; `what` names it in an error message. signed: it may be negative."""
        token = self.take()
        if token.kind != "number" or (token.text.startswith("-") and not signed):
            raise ClaimError(f"expected {what} here, found {token.text}", token.at)
        try:
            return float(number(token.text))
        except ValueError as error:
            raise ClaimError(str(error), token.at) from error

    def word(self, what: str) -> tuple[str, int]:
        """A name or a quoted text, and its position; `what` names it in an error message."""
        token = self.take()
        if token.kind not in ("name", "text"):
            raise ClaimError(f"expected {what} here, found {token.text}", token.at)
        text = token.text[1:-1].replace("''", "'") if token.kind == "text" else token.text
        return text, token.at

    def scope(self) -> Scope:
        """`at ... in ...:`, including the colon."""
        scope, read = Scope(), set()
        while not self.accept(":"):
            head = self.expect("at", "in", ":")
            if head.text in read:
                raise ClaimError(f"a second '{head.text}': join the two with a comma", head.at)
            read.add(head.text)
            if head.text == "in":
                panels = [self.word("a panel")]
                while self.accept(","):
                    panels.append(self.word("a panel"))
                scope = replace(scope, panels=tuple(panel for panel in panels if panel[0] != "all"))
            else:
                scope = self.item(scope)
                while self.accept(","):
                    scope = self.item(scope)
        return scope

    def item(self, scope: Scope) -> Scope:
        """One item after `at`, added to the scope."""
        at = self.next.at
        if self.accept("round"):
            return replace(scope, round=(int(self.number("a round")), at))
        if self.accept("the"):
            self.expect("worst")
            return replace(scope, worst=self.word("a swept parameter"))
        return replace(scope, where=(*scope.where, self.condition("=", "<=", ">=")))

    def condition(self, *relations: Literal["=", "<=", ">="]) -> Condition:
        """`NAME = VALUE`."""
        name, at = self.word("a parameter")
        relation = self.expect(*relations).text
        if self.next.kind == "number":
            value: float | str = self.number("a value")
        else:
            value = self.word("a value")[0]
        return Condition(name, next(known for known in relations if known == relation), value, at)

    def expression(self) -> Expression:
        """Everything after the scope."""
        at = self.next.at
        factor, left = self.side()
        known = QUANTITIES.get(left.quantity)
        if known is None or not known.against:
            leading = _shown(name for name, quantity in QUANTITIES.items() if quantity.against)
            raise ClaimError(f"a claim begins with a curve or {leading}", at)
        sign = self.expect(*INEQUALITIES, "within", "in").text
        at = self.next.at
        limits, right = self.limits(sign)
        if right.quantity not in known.against:
            raise ClaimError(f"{_shown([left.quantity])} can only be compared with {_shown(known.against)}", at)
        return Expression(left, right, tuple((limit / factor, relation) for limit, relation in limits))

    def limits(self, sign: str) -> tuple[list[tuple[float, Relation]], Side]:
        """What follows a relation: the right side of an inequality, `P% of SIDE`, or `X +- Y` or `X to Y`."""
        if sign == "in":
            low = self.number("a number", signed=True)
            joint = self.expect("+-", "to").text
            high = self.number("a number", signed=joint == "to")
            if joint == "+-":
                low, high = low - high, low + high
            return [(low, ">="), (high, "<=")], Side(NUMBER)
        if sign == "within":
            part = self.number("a percentage") / 100
            self.expect("%")
            self.expect("of")
            scale, right = self.side()
            return [((1 - part) * scale, ">="), ((1 + part) * scale, "<=")], right
        scale, right = self.side()
        return [(scale, next(known for known in INEQUALITIES if known == sign))], right

    def side(self) -> tuple[float, Side]:
        """`[FACTOR x] QUANTITY`, or a number: its factor, and the side."""
        factor = 1.0
        if self.next.kind == "number":
            at = self.next.at
            factor = self.number("a number", signed=True)
            if not self.accept("x"):
                return factor, Side(NUMBER)
            if factor <= 0:
                raise ClaimError("a factor must be positive", at)
        kind, quantity, at = self.next
        if kind != "name" or self.tokens[self.i + 1].text != "(":
            return factor, Side(REGRET, self.curve())
        if quantity not in QUANTITIES:
            raise ClaimError(f"there is no quantity '{quantity}'" + suggestion(quantity, QUANTITIES), at)
        self.take()
        self.expect("(")
        side = Side(quantity, self.curve())
        if QUANTITIES[quantity].fitted and self.accept(","):
            side = replace(side, panel=self.word("a panel"))
        self.expect(")")
        return factor, side

    def curve(self) -> Selection:
        """`NAME[NAME = VALUE, ...]` or `'LABEL'[...]`."""
        labelled = self.next.kind == "text"
        name, at = self.word("an algorithm or a 'label'")
        where: list[Condition] = []
        if self.accept("["):
            where.append(self.condition("="))
            while self.accept(","):
                where.append(self.condition("="))
            self.expect("]")
        return Selection(name, labelled, tuple(where), at)
