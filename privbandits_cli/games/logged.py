"""The contextual game on a log: rejection replay (Li, Chu, Langford & Wang 2011, algorithm 2).

In a round the learner is shown the next event of the log. If it chooses the logged action, it learns the logged reward,
and the round ends; if not, the event is skipped, and the next one is shown. If all actions were logged with the same
probability, the events that a learner keeps are a random sample of all events, whatever it does. So its mean reward in
T rounds of replay has the same expectation as in T rounds that it plays itself.

Each learner has its own place in the log. It may be asked several times in a round. So an algorithm must draw the noise
of a round only once (see `mechanisms.matrix_tree`), or draw it in `update`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from privbandits_cli.games import guards
from privbandits_cli.numerics.jit import Record, Records, compile_step, record, unbound
from privbandits_cli.numerics.types import Floats, Ints

choose: Any = unbound


class Exhausted(Exception):
    """Raised in a compiled loop: the log has no more events."""


class Events(NamedTuple):
    """The events of a trial, and the place of one learner in them."""

    places: Records  # how many events this learner has seen, and how many of them it has kept
    order: Ints  # the events that are shown, by their places in the log
    rows: Floats  # features of the log, [n, p]
    low: Floats  # [p]
    factor: Floats  # [p]: (x - low) factor is what the learner sees
    half: float  # the constant feature, as the learner sees it
    actions: Ints  # [n]
    rewards: Floats  # [n]
    best: float  # the value of the best single action
    arms: Floats  # room for an event's arms, [d, k]
    shown: Floats  # the same, as the learner sees it

    def opened(self, modules: tuple[str, ...]) -> "Events":
        """The events for a learner with the steps of these modules; it has seen none of them."""
        arms = np.zeros(self.arms.shape)
        return self._replace(places=new_place(), arms=arms, shown=guards.protected(arms, modules))


def new_place() -> Records:
    """The record of a learner that has seen nothing."""
    return record(seen=0, kept=0)


def deal(events: Events, t: int) -> Events:
    """The next round; its events are shown by `ask`."""
    return events


def arms_of(events: Events) -> Events:
    """What `ask` gets in place of arms."""
    return events


def ask(state: Record, events: Events, rng: Generator) -> int:
    """The learner's arm in the next event in which it chooses the logged action."""
    place, arms = events.places[0], events.arms
    width = events.rows.shape[1] + 1
    while place.seen < len(events.order):
        i = events.order[place.seen]
        place.seen += 1
        for a in range(arms.shape[1]):  # all other coordinates remain 0
            arms[a * width, a] = events.half
            for j in range(width - 1):
                arms[a * width + 1 + j, a] = (events.rows[i, j] - events.low[j]) * events.factor[j]
        arm: int = choose(state, events.shown, rng)
        if arm == events.actions[i] or arm < 0 or arm >= arms.shape[1]:  # the loop reports an arm that does not exist
            place.kept += 1
            return arm
    raise Exhausted


def take(events: Events, arm: int, x: Floats) -> tuple[float, float]:
    """Copy an arm to x; returns the logged reward and the value of the best single action."""
    for i in range(len(x)):
        x[i] = events.arms[i, arm]
    return events.rewards[events.order[events.places[0].seen - 1]], events.best


def steps(choose: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    """The functions that fill in the game's loop for a learner with this compiled `choose`."""
    own = {"deal_round": compile_step(deal), "arms_of": compile_step(arms_of), "take": compile_step(take)}
    return own | {"choose": compile_step(ask, choose=choose)}
