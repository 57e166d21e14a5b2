"""The leaderboard: which algorithms are not beaten in the committed results, question by question."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from _generate import ROOT
from _generate.experiments import committed
from _generate.markdown import line, table
from privbandits_cli.accounting.rounding import at_most
from privbandits_cli.analysis.format import whole
from privbandits_cli.analysis.leaderboard import BUDGETS, KINDS, Entry, Instance, Kind, Row, instances, kinds

MOST = 4  # algorithms in a cell of an instance
BEST = 2  # algorithms in a cell of the short answers


PLAYS = "Numbers are plays until the answer. *Stylised* are thresholds without a proof that the answers are right."


class Question(NamedTuple):
    """What a reader has: a game, and adversaries or, without any, the kind of feedback or whether times count."""

    head: str
    game: str
    adversaries: frozenset[str] = frozenset()
    feedback: str = ""
    timed: bool = False
    note: str = ""

    def holds(self, one: Instance) -> bool:
        """Whether an instance belongs to it."""
        own = not self.adversaries or one.adversary in self.adversaries
        return (one.game, one.feedback, one.timed, own) == (self.game, self.feedback, self.timed, True)


def _of(*names: str) -> frozenset[str]:
    return frozenset(names)


QUESTIONS = (
    Question("Arms with fixed means", "bandit", _of("bernoulli", "stochastic", "fully_oblivious")),
    Question("Arms whose gains may change", "bandit", _of("deterministic", "oblivious", "constrained", "replay")),
    Question("Arms where a change of arm costs", "bandit", _of("switching_costs")),
    Question("Heavy-tailed gains", "bandit", _of("pareto", "student_t", "lognormal")),
    Question(
        "A table, or a log of clicks",
        "contextual",
        _of("table", "log"),
        note="Each row of a table is a visitor, with features. An arm is a class, and the right one pays 1: this is a "
        "log of clicks in which every answer is known. With a log of your own, `privbandits evaluate` estimates what a "
        "policy earns.",
    ),
    Question("Arms with features", "contextual", _of("sphere_arms", "fixed_arms", "basis_arms")),
    Question("Experts, or points of a set", "linear", feedback="full"),
    Question("Points of a set, where only the own loss is seen", "linear", feedback="bandit"),
    Question("The best arm, as soon as possible", "best_arm", timed=True, note=PLAYS),
    Question("The best arm, with a budget", "best_arm", note="Numbers are regrets of one answer."),
)


@cache
def board() -> list[Instance]:
    """The instances of the committed results."""
    return instances(ROOT / "results" / name for name in sorted(committed()))


def pages() -> Iterator[tuple[str, str]]:
    """The fragment with all tables."""
    yield "_generated/leaderboard.md", "\n".join(written(board())) + "\n"


def written(every: Sequence[Instance]) -> Iterator[str]:
    """The short answers, and a table for each question and kind of privacy."""
    parts = []
    for question in QUESTIONS:
        own = [one for one in every if question.holds(one)]
        parts += [(question, kind, [row for one in own for row in one.rows(kind)]) for kind in kinds(own)]
    parts = [(question, kind, rows) for question, kind, rows in parts if rows]
    heads = ["", *(f"ε ≤ {epsilon:g}" for epsilon in BUDGETS)]
    answers = [
        [f"[{_head(question, kind)}](#{_anchor(question, kind)})", *_answers(rows)] for question, kind, rows in parts
    ]
    yield "## Short answers\n\n" + table(heads, answers) + "\n"
    for question, kind, rows in parts:
        yield f"({_anchor(question, kind)})=\n## {_head(question, kind)}\n"
        if question.note:
            yield question.note + "\n"
        names = [
            "instance, rounds",
            "ε ≤",
            "not beaten, with its ε and 95 % interval",
            "of",
            "without privacy",
            "figure",
        ]
        yield table(names, map(_cells, _news(rows))) + "\n"


def _head(question: Question, kind: Kind) -> str:
    return f"{question.head}, {KINDS[kind]}"


def _anchor(question: Question, kind: Kind) -> str:
    return "board-" + "-".join(_head(question, kind).lower().replace(",", "").split())


def _answers(rows: Sequence[Row]) -> Iterator[str]:
    """For each ε the unbeaten algorithms that beat most others, with the instances in which they are unbeaten."""
    for epsilon in BUDGETS:
        here = [row for row in rows if row.epsilon == epsilon]
        best = Counter(entry.name.base for row in here for entry in row.unbeaten)
        played = Counter(name for row in here for name in row.names)
        beaten: Counter[str] = Counter()
        for row in here:
            beaten.update({entry.name.base: row.beaten(entry) for entry in row.unbeaten})
        page = {entry.name.base: entry.algorithm for row in here for entry in row.unbeaten}
        order = sorted(best, key=lambda name: (-beaten[name], -best[name], name))[:BEST]
        yield "<br>".join(f"{_link(name, page[name])} ({best[name]} of {played[name]})" for name in order)


def _news(rows: Sequence[Row]) -> Iterator[Row]:
    """The rows but those that repeat the one before, at a larger ε."""
    for before, row in zip([None, *rows], rows, strict=False):
        if before is None or before.instance is not row.instance or before.unbeaten != row.unbeaten:
            yield row


def _cells(row: Row) -> list[str]:
    plain = row.instance.plain()
    more = len(row.unbeaten) - MOST
    shown = [_entry(entry) for entry in row.unbeaten[:MOST]] + [f"and {more} more"] * (more > 0)
    return [
        f"{line(row.instance.title)}, {row.instance.rounds:,}",
        f"{row.epsilon:g}",
        "<br>".join(shown),
        str(len(row.names)),
        f"{_link(plain[0].algorithm, plain[0].algorithm)}: {_amount(plain[0].mean.value)}" if plain else "",
        ", ".join(f"[{name}](#experiment-{name})" for name in dict.fromkeys(e.folder for e in row.unbeaten[:MOST])),
    ]


def _link(text: str, algorithm: str) -> str:
    return f"[{line(text)}](../algorithms/{algorithm}.md)"


def _entry(entry: Entry) -> str:
    low, high = map(_amount, entry.interval)
    delta = f", δ = {at_most(entry.delta, 2)}" if entry.delta else ""
    promised = f"ε = {at_most(entry.epsilon, 3)}{delta}"
    return f"{_link(entry.name, entry.algorithm)} ({promised}): **{_amount(entry.mean.value)}** ({low} to {high})"


def _amount(value: float) -> str:
    return whole(value) if abs(value) >= 10 else f"{value:z.2g}"
