"""What an audit is told and what it finds, and the steps that its loops are bound to."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from privbandits_cli.audit import evidence
from privbandits_cli.games.bandit import Draws
from privbandits_cli.jit import Record, compile_step

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
def _loop(template: Callable[..., None], names: tuple[tuple[str, Callable[..., Any]], ...]) -> Callable[..., None]:
    return compile_step(template, **dict(names))


def compiled(template: Callable[..., None], bound: Steps) -> Callable[..., None]:
    """A loop over these steps, compiled once a process."""
    wanted = ("choose", "update", "released", "canary")
    return _loop(template, tuple((name, bound[name]) for name in wanted if name in bound))
