"""What an audit is told and what it finds, and the steps that its loops are bound to."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.audit import evidence
from privbandits_cli.games.bandit import Draws, Floats
from privbandits_cli.numerics.jit import Record, compile_step

Verdict = Literal["VIOLATION", "CONSISTENT", "NOT AUDITABLE"]
Test = Literal["bets", "counts"]
Steps = dict[str, Callable[..., Any]]

LEARN = 0.25  # share of the budget on which events are chosen; the rest decides
SEEN = 0.05  # level of the lower limits on ε that are reported; verdicts have the level asked for


TESTS = {"bets": evidence.bet, "counts": evidence.counts}


@dataclass(frozen=True)
class Audit:
    """What an audit found."""

    verdict: Verdict
    claim: str
    found: str  # in words
    cost: int  # observations used, or all of the budget
    epsilon_seen: float | None = None  # a lower limit on ε, where the view has one
    refutable: float | None = None  # the least true ε for which this budget would have refuted the claim


@dataclass(frozen=True)
class Contest:
    """Two worlds by a coin: an event was chosen on the first `learn` scores, the claim put to the test on the rest.

    hits: which of the pairs lie in the event, in the likelier world and in the other; stopped: the pairs it took.
    """

    event: evidence.Event
    learn: int
    hits: tuple[NDArray[np.bool_], NDArray[np.bool_]]
    stopped: int | None

    def limit(self, delta: float) -> float:
        """A lower limit on ε, from the counts of the event."""
        return evidence.epsilon_from_counts(*self.hits, delta, SEEN)

    def refutable(self, epsilon: float, delta: float, level: float, p: float | None = None) -> float | None:
        """The least true ε that as many pairs refute, by an event of probability p, or of the one that was seen."""
        pairs = len(self.hits[0])
        return evidence.refutable(pairs, p or max(1 / pairs, float(self.hits[0].mean())), epsilon, delta, level)


def contest(score: Floats, coins: Floats, epsilon: float, delta: float, level: float, test: Test) -> Contest:
    """Put the claim (ε, δ) to the test on these scores, at this level."""
    learn = int(LEARN * len(score))
    pairs = min(int(np.sum(coins[learn:] == c)) for c in (0, 1))
    x, y = (score[learn:][coins[learn:] == c][:pairs] for c in (1, 0))
    early = [score[:learn][coins[:learn] == c] for c in (1, 0)]
    event = evidence.best_event(early[0], early[1], epsilon, delta)
    hits = event.hits(x, y)
    return Contest(event, learn, hits, TESTS[test](*hits, epsilon, delta, level))


def refuted_share(refuted: Callable[[float], bool]) -> float | None:
    """The largest share of its noise at which an algorithm is refuted, to a part in 50; None if 1/64 is too much."""
    few, many = 1 / 64, 1.0
    if not refuted(few):
        return None
    while many / few > 1.02:
        middle = math.sqrt(few * many)
        few, many = (middle, many) if refuted(middle) else (few, middle)
    return few


def choose(state: Record, rng: Draws) -> int:
    """Stands for the algorithm's step until the loop is bound."""
    raise NotImplementedError


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """Stands for the algorithm's step until the loop is bound."""
    raise NotImplementedError


def released(state: Record, gain: float, rng: Draws) -> float:
    """Stands for the algorithm's tap until the loop is bound."""
    raise NotImplementedError


def canary(state: Record) -> tuple[float, float]:
    """The ends of the range of gains that noise must hide, unless the algorithm's file says otherwise."""
    return 0.0, 1.0


@cache
def compiled_canary(layout: str) -> Callable[..., Any]:
    """The canary of algorithms whose file has none, for states of this layout."""
    return compile_step(canary)


@cache
def _loop(template: Callable[..., None], names: tuple[tuple[str, Callable[..., Any]], ...]) -> Callable[..., None]:
    return compile_step(template, **dict(names))


def compiled(template: Callable[..., None], bound: Steps) -> Callable[..., None]:
    """A loop over these steps, compiled once a process."""
    wanted = ("choose", "update", "released", "canary", "optimistic")
    return _loop(template, tuple((name, bound[name]) for name in wanted if name in bound))
