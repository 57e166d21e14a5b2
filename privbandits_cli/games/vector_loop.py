"""The loop of the game `contextual` for eight trials at once, in vectors (`numerics.vectors`).

It plays algorithms whose steps do not branch on floating-point numbers (`Algorithm.in_vectors`), where there are few
coordinates and the arms are drawn ahead. The steps are those of one trial, and each trial has its numbers to the bit.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.games import ellipsoid
from privbandits_cli.games.rewards import reward
from privbandits_cli.games.steps import in_loop
from privbandits_cli.numerics.jit import Records, bind, compile_step, kept, record, unbound
from privbandits_cli.numerics.lanes import aligned
from privbandits_cli.numerics.types import Floats
from privbandits_cli.numerics.vectors import WIDTH, generators, lane, vectors_of, where, widened

choose: Any = unbound
update: Any = unbound


def play_block(
    rounds: Records,
    numbers: Records,
    marks: NDArray[np.int64],
    regrets: Floats,
    seats: Records,
    states: Records,
    words: Records,
    layers: Records,
) -> None:
    """Play one block; `regrets[:, i]` are the learners' regrets after `marks[i]` rounds, `[WIDTH, marks]`.

    rounds: of each round its arms `[d, k]`, their means `[k]`, and the largest of these. numbers: the random number of
    each round's reward. seats, states, words: one record each, of the games' sums, the learners' states and their
    generators. layers: those of the normal law.
    """
    seat, player, state = seats[0], vectors_of(seats, 0), vectors_of(states, 0)
    rng = generators(vectors_of(words, 0), layers[0])
    t = 0
    for i in range(len(marks)):
        while t < marks[i]:
            dealt, table, number = vectors_of(rounds, t), rounds[t], vectors_of(numbers, t).number
            arm = choose(state, dealt.arms, rng)
            for k in range(WIDTH):
                a = lane(arm, k)
                seat.played[k] = table.means[a, k]
                for j in range(len(seat.x)):
                    seat.x[j, k] = table.arms[j, a, k]
            square = 0.0
            for j in range(len(player.x)):
                square += player.x[j] * player.x[j]
            player.beyond = where(square <= player.most, player.beyond, square)
            player.regret += dealt.best - player.played
            update(state, player.x, reward(seat.law, player.played, number), rng)
            t += 1
        for k in range(WIDTH):
            regrets[k, i] = seat.regret[k]


def turn(arms: Floats, means: Floats, rounds: Records) -> None:
    """Fill the rounds from `arms[trial, round, d, k]` and `means[trial, round, k]`."""
    for t in range(len(rounds)):
        here = rounds[t]
        for trial in range(WIDTH):
            here.best[trial] = means[trial, t, 0]
        for a in range(means.shape[2]):
            for trial in range(WIDTH):
                here.means[a, trial] = means[trial, t, a]
                here.best[trial] = max(here.best[trial], means[trial, t, a])
        for i in range(arms.shape[2]):
            for a in range(arms.shape[3]):
                for trial in range(WIDTH):
                    here.arms[i, a, trial] = arms[trial, t, i, a]


def turn_back(rounds: Records, arms: Floats, means: Floats, best: Floats) -> None:
    """The reverse; `best[trial, round]` are the largest means."""
    for t in range(len(rounds)):
        here = rounds[t]
        for trial in range(WIDTH):
            best[trial, t] = here.best[trial]
        for a in range(means.shape[2]):
            for trial in range(WIDTH):
                means[trial, t, a] = here.means[a, trial]
        for i in range(arms.shape[2]):
            for a in range(arms.shape[3]):
                for trial in range(WIDTH):
                    arms[trial, t, i, a] = here.arms[i, a, trial]


NUMBER = widened(record(number=0.0).dtype)  # of a round


@kept
def turner(loop: Callable[..., None]) -> Callable[..., None]:
    """The compiled `turn` or `turn_back`."""
    return bind(loop)


@kept
def loop(modules: tuple[str, ...], layout: str) -> Callable[..., None]:
    """The compiled `play_block` of a composition whose records have this layout."""
    names = in_loop(modules, optimistic=compile_step(ellipsoid.optimistic_in_vectors))
    return bind(play_block, **names)


def new_rounds(dimension: int, n_arms: int, n: int) -> Records:
    """Empty records of n rounds of WIDTH trials. A record has the arms, their means, and the largest mean."""
    one = record(arms=np.zeros((dimension, n_arms)), means=np.zeros(n_arms), best=0.0)
    return aligned((n,), widened(one.dtype))


def turned(arms: Floats, means: Floats) -> Records:
    """Rounds from `arms[trial, round, d, k]` and their means `[trial, round, k]`."""
    _, n, dimension, n_arms = arms.shape
    rounds = new_rounds(dimension, n_arms, n)
    turner(turn)(arms, means, rounds)
    return rounds


def apart(rounds: Records) -> tuple[Floats, Floats, Floats]:
    """The inverse of `turned`: the arms, their means, and the largest means `[trial, round]`."""
    n, (dimension, n_arms, _) = len(rounds), rounds.dtype["arms"].shape
    arms, means, best = np.empty((WIDTH, n, dimension, n_arms)), np.empty((WIDTH, n, n_arms)), np.empty((WIDTH, n))
    turner(turn_back)(rounds, arms, means, best)
    return arms, means, best
