"""The loop of the game `contextual` for eight trials at once, in vectors (`numerics.vectors`).

It plays algorithms whose steps do not branch on floating-point numbers (`Algorithm.in_vectors`), where there are few
coordinates and the arms are drawn ahead. The steps are those of one trial, and each trial has its numbers to the bit.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from privbandits_cli.games import ellipsoid
from privbandits_cli.games.steps import in_loop
from privbandits_cli.numerics.jit import Records, bind, compile_step, kept, record, unbound
from privbandits_cli.numerics.lanes import aligned
from privbandits_cli.numerics.sfc64 import words_of
from privbandits_cli.numerics.types import Floats
from privbandits_cli.numerics.vectors import WIDTH, generators, lane, vectors_of, where, widely, widened

choose: Any = unbound
update: Any = unbound
reward: Any = unbound


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
    each round's reward.
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
            update(state, player.x, reward(player.played, number), rng)
            t += 1
        for k in range(WIDTH):
            regrets[k, i] = seat.regret[k]


def turn(arms: Floats, means: Floats, rounds: Records) -> None:
    """Fill the rounds from `arms[trial, round, d, k]` and `means[trial, round, k]`."""
    for t in range(len(rounds)):
        here = rounds[t]
        for k in range(WIDTH):
            here.best[k] = means[k, t, 0]
        for a in range(means.shape[2]):
            for k in range(WIDTH):
                here.means[a, k] = means[k, t, a]
                here.best[k] = max(here.best[k], means[k, t, a])
        for i in range(arms.shape[2]):
            for a in range(arms.shape[3]):
                for k in range(WIDTH):
                    here.arms[i, a, k] = arms[k, t, i, a]


NUMBER = widened(record(number=0.0).dtype)  # of a round


@kept
def turner(dimension: int, n_arms: int) -> Callable[..., None]:
    """The compiled `turn`."""
    return bind(turn, "contextual.turn", str(dimension), str(n_arms))


@kept
def loop(modules: tuple[str, ...], layout: str, law: Callable[[float, float], float]) -> Callable[..., None]:
    """The compiled `play_block` of a composition whose records have this layout, for this law of rewards."""
    names = in_loop(modules, optimistic=compile_step(ellipsoid.optimistic_in_vectors))
    return bind(play_block, *modules, layout, law.__name__, **names, reward=compile_step(law))


def new_rounds(dimension: int, n_arms: int, n: int) -> Records:
    """Room for n rounds of WIDTH trials: their arms, the means of these, and the largest mean."""
    one = record(arms=np.zeros((dimension, n_arms)), means=np.zeros(n_arms), best=0.0)
    return aligned((n,), widened(one.dtype))


def words_of_trials(rngs: Sequence[Generator]) -> Records:
    """The words of the generators of WIDTH trials."""
    out = widely(record(**words_of(rngs[0])))
    for k, rng in enumerate(rngs):
        out["words"][0, :, k] = words_of(rng)["words"]
    return out


def turned(arms: Floats, means: Floats) -> Records:
    """Rounds from `arms[trial, round, d, k]` and their means `[trial, round, k]`."""
    _, n, dimension, n_arms = arms.shape
    rounds = new_rounds(dimension, n_arms, n)
    turner(dimension, n_arms)(arms, means, rounds)
    return rounds
