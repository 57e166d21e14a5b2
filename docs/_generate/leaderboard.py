"""The leaderboard: which algorithms are not beaten in the committed results, question by question.

`make reproducibility` writes it to results/LEADERBOARD.md, too.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from _generate import ROOT
from _generate.experiments import committed
from _generate.markdown import code, line, table
from _generate.standings import BUDGETS, KINDS, NOISE, Entry, Instance, Kind, Player, Row, instances, kinds
from privbandits_cli.accounting.rounding import at_most
from privbandits_cli.analysis.format import whole

MOST = 4  # players in a cell of an instance
BEST = 2  # players in a cell of the short answers
ASKED = (Kind(0), Kind(2))  # what every question is answered for, if only by saying that nothing was played


PLAYS = "Numbers are plays until the answer. *Stylised* are thresholds without a proof that the answers are right."


HEAD = """\
# Leaderboard

`make reproducibility` writes this file from the results that git has. [How to read it, and how it is
judged](../docs/start/leaderboard.md).
"""
LINKS = {  # of the site, and what they are in results/LEADERBOARD.md
    r"^\(board-.*\)=\n": "",
    r"\(#board-": "(#",
    r"\(#experiment-(\w+)\)": r"(\1/\1.png)",
    r"\(\.\./algorithms/(\w+)\.md\)": r"(../privbandits_cli/algorithms/\1.py)",
    r"\(\.\./papers/": "(../docs/papers/",
}


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
        note="All games here are tables; no log was played. Each row of a table is a visitor, with features. An arm is "
        "a class, and the right one pays 1. In a log only the reward of the arm that was shown is known. At ε = 1 "
        "nobody learns much from so few rows: see [contextual bandits](../papers/contextual.md). With a log of your "
        "own, `privbandits evaluate` estimates what a policy earns.",
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
    """The fragments: the short answers, and all instances."""
    yield "_generated/leaderboard_short.md", short(board())
    yield "_generated/leaderboard.md", "\n".join(written(board())) + "\n"


def alone(every: Sequence[Instance]) -> str:
    """The text of results/LEADERBOARD.md: all of it, with links to files that git has."""
    text = "\n".join([HEAD, short(every), *written(every)]) + "\n"
    for link, file in LINKS.items():
        text = re.sub(link, file, text, flags=re.MULTILINE)
    return text


def _asked(every: Sequence[Instance]) -> dict[Question, list[Instance]]:
    return {question: [one for one in every if question.holds(one)] for question in QUESTIONS}


def short(every: Sequence[Instance]) -> str:
    """The short answers."""
    heads = ["your question", "privacy", *(f"ε ≤ {epsilon:g}" for epsilon in BUDGETS)]
    return table(heads, (row for one in _asked(every).items() for row in _short(*one))) + "\n"


def written(every: Sequence[Instance]) -> Iterator[str]:
    """A table for each question and kind of privacy."""
    for question, own in _asked(every).items():
        for kind in kinds(own):
            yield from _section(question, kind, own)


def _short(question: Question, own: Sequence[Instance]) -> Iterator[list[str]]:
    """The short answers to a question, a row for each kind of privacy."""
    known = kinds(own)
    for kind in (kind for kind in KINDS if kind in known or kind in ASKED):
        head = question.head if kind == Kind(0) else ""
        name = KINDS[kind].replace(" privacy", "").replace(" trust", "")
        linked = f"[{name}](#{_anchor(question, kind)})" if kind in known else name
        yield [head, linked, *_answers(own, kind)]


def _section(question: Question, kind: Kind, own: Sequence[Instance]) -> Iterator[str]:
    """All instances of a question with a kind of privacy."""
    rows = [row for one in own for row in one.rows(kind)]
    yield f"({_anchor(question, kind)})=\n## {_head(question, kind)}\n"
    if question.note:
        yield question.note + "\n"
    if lacking := _lacking(own, kind):
        yield lacking + "\n"
    if rows:
        what = "plays" if question.timed else "regret"
        names = ["game, rounds", "ε ≤", f"not beaten: mean {what} (95 % interval)", "next best", "without privacy"]
        known = any(row.instance.guess is not None for row in rows)
        yield table([*names, *["guessing"] * known], (_cells(row)[: len(names) + known] for row in _news(rows))) + "\n"


def _head(question: Question, kind: Kind) -> str:
    return f"{question.head}, {KINDS[kind]}"


def _anchor(question: Question, kind: Kind) -> str:
    return "board-" + "-".join(_head(question, kind).lower().replace(",", "").split())


def _answers(own: Sequence[Instance], kind: Kind) -> Iterator[str]:
    """For each ε the best players.

    Without any that were played near this ε: the column that answers, or the least ε that was played.
    """
    rows, before = [row for one in own for row in one.rows(kind)], ""
    for epsilon in BUDGETS:
        here = [row for row in rows if row.epsilon == epsilon]
        found = "<br>".join(_best(here))
        none = "nothing beats guessing" if here else f"as for ε ≤ {before}" if before else _none(own, kind)
        yield found or none
        before = f"{epsilon:g}" if found else before


def _best(rows: Sequence[Row]) -> Iterator[str]:
    """The best player and the best of those that it met, with the games in which neither rivals nor guessing beat them.

    Each has the parameters with which it beats most. One that met no rival is named only if all others did not either.
    """
    opposed = [row for row in rows if len(row.players) > 1]
    played = Counter(player for row in opposed for player in row.players)
    won: Counter[Player] = Counter()
    given: dict[Player, Counter[str]] = {}
    for row in opposed or rows:
        for entry in filter(row.learned, row.unbeaten):
            won[entry.player] += 1
            given.setdefault(entry.player, Counter())[row.parameters(entry)] += 1 + len(row.beaten(entry))
    for one in _ranked(won, opposed):
        score = f"{won[one]} of {played[one]}" if opposed else "no rival"
        yield f"{_player(one[0], given[one].most_common(1)[0][0])} ({score})"


def _ranked(won: Mapping[Player, int], rows: Sequence[Row]) -> Iterator[Player]:
    """The best players that have won a game, at most BEST of them, best first. Each has met those before it.

    One leads another if it beats it in more games than the other way round. A player that another one leads comes after
    it; else the one that leads more others is first. So wins in games that another did not play put nobody before it.
    """
    met: dict[Player, set[Player]] = {one: set() for one in won}
    lead: Counter[tuple[Player, Player]] = Counter()
    for row in rows:
        for player, entry in row.players.items():
            met.setdefault(player, set()).update(row.players)
            for other in row.beaten(entry) if row.learned(entry) else ():
                lead[player, other] += 1
                lead[other, player] -= 1
    score = {one: sum((lead[one, other] > 0) - (lead[one, other] < 0) for other in met[one]) for one in won}
    left = sorted(won, key=lambda one: (-score[one], -won[one], one))
    for _ in range(min(BEST, len(left))):
        free = (one for one in left if not any(lead[other, one] > 0 for other in left))
        best = next(free, left[0])  # where each is led by another, as a by b, b by c and c by a
        yield best
        left = [one for one in left if one != best and one in met[best]]
        if not left:
            return


def _least(own: Sequence[Instance], kind: Kind) -> Entry | None:
    """The entry with the smallest ε of this kind of privacy; not 0, with which nothing is learned."""
    every = [entry for one in own for entry in one.eligible(kind, math.inf) if entry.epsilon > 0]
    return min(every, key=lambda entry: entry.epsilon, default=None)


def _none(own: Sequence[Instance], kind: Kind) -> str:
    """A cell without an answer."""
    least = _least(own, kind)
    return "nothing played" if least is None else f"nothing played below ε = {at_most(least.epsilon, 3)}"


def _lacking(own: Sequence[Instance], kind: Kind) -> str:
    """What to do below the smallest ε that was played; empty if all of BUDGETS have an answer."""
    least = _least(own, kind)
    if least is None or least.epsilon <= BUDGETS[1]:
        return ""
    config = min(entry.folder for one in own for entry in one.eligible(kind, least.epsilon * NOISE))
    return (
        f"**Below ε = {at_most(least.epsilon, 3)} nothing was played here**, so this page has no answer there. That "
        f"says nothing against these algorithms: they take a smaller ε, too. Play yours, such as `privbandits run "
        f"{config} experiment=mine plot='{{}}' algorithms='[{{name: {least.algorithm}, epsilon: 0.5}}]'`."
    )


def _player(algorithm: str, parameters: str) -> str:
    """An algorithm by its name in a config, linked to its page, and its parameters as in a config."""
    return f"[{code(algorithm)}](../algorithms/{algorithm}.md)" + (f" {code(parameters)}" if parameters else "")


def _news(rows: Sequence[Row]) -> Iterator[Row]:
    """The rows but those that repeat the one before, at a larger ε."""
    for before, row in zip([None, *rows], rows, strict=False):
        if before is None or before.instance is not row.instance or before.unbeaten != row.unbeaten:
            yield row


def _cells(row: Row) -> list[str]:
    plain = row.instance.plain()
    more = len(row.unbeaten) - MOST
    shown = [_entry(row, entry) for entry in row.unbeaten[:MOST]] + [f"and {more} more"] * (more > 0)
    folders = dict.fromkeys(entry.folder for entry in row.unbeaten[:MOST])
    figures = ", ".join(f"[{name}](#experiment-{name})" for name in folders)
    return [
        f"{line(row.instance.title)}, {row.instance.rounds:,}<br>{figures}",
        f"{row.epsilon:g}",
        "<br>".join(shown),
        _next(row),
        f"{_player(plain[0].algorithm, '')}: {_amount(plain[0].mean.value)}" if plain else "–",
        _guess(row),
    ]


def _guess(row: Row) -> str:
    """What guessing costs, with two digits; bold if no learner is surely better."""
    if row.instance.guess is None:
        return "–"
    size = float(f"{row.instance.guess:.2g}")
    return _amount(size) if any(map(row.learned, row.unbeaten)) else f"**{_amount(size)}**"


def _next(row: Row) -> str:
    """The best of those that are not named, and how far it is behind the first."""
    if len(row.players) == 1:
        return "no rival"
    entry, first = row.next, row.unbeaten[0].mean.value
    if entry is None:
        return "all are named"
    behind = f", {_times(entry.mean.value / first)} times" if entry.mean.value > first > 0 else ""
    more = len(row.players) - len(row.unbeaten) - 1
    others = f"<br>and {more} more" if more else ""
    return f"{_player(entry.algorithm, row.parameters(entry))}: {_amount(entry.mean.value)}{behind}{others}"


def _times(ratio: float) -> str:
    return f"{ratio:.1f}" if ratio < 10 else f"{ratio:,.0f}"


def _entry(row: Row, entry: Entry) -> str:
    low, high = map(_amount, entry.interval)
    delta = f", δ = {at_most(entry.delta, 2)}" if entry.delta else ""
    promised = f"ε = {at_most(entry.epsilon, 3)}{delta}"
    shown = _player(entry.algorithm, row.parameters(entry))
    return f"{shown} ({promised}): **{_amount(entry.mean.value)}** ({low} to {high})"


def _amount(value: float) -> str:
    return whole(value) if abs(value) >= 10 else f"{value:z.2g}"


if __name__ == "__main__":
    (ROOT / "results" / "LEADERBOARD.md").write_text(alone(board()), encoding="utf-8")
