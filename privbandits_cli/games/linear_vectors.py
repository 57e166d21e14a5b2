"""The loop of the game `linear` for eight trials at once, in vectors (`numerics.vectors`).

It plays algorithms whose steps do not branch on floating-point numbers (`Algorithm.in_vectors`), with full information.
The steps are those of one trial, and each trial has its numbers to the bit.
"""

from collections.abc import Callable
from typing import Any

from privbandits_cli.games.linear_draws import Draws
from privbandits_cli.games.steps import in_loop
from privbandits_cli.numerics.jit import Records, bind, kept, unbound
from privbandits_cli.numerics.types import Floats, Ints
from privbandits_cli.numerics.vectors import WIDTH, rows_of, vectors_of

choose: Any = unbound
update: Any = unbound


def play_block(
    losses: Floats,
    marks: Ints,
    suffered: Floats,
    players: Records,
    states: Records,
    x: Floats,
    numbers: Draws,
    ends: tuple[Ints, Ints, Ints],
) -> None:
    """Play one block; `suffered[:, i]` are the learners' losses after `marks[i]` rounds, `[WIDTH, marks]`.

    losses: `[round N + coordinate, WIDTH]`. x: room for the points, `[N, WIDTH]`. numbers: of each kind, those of all
    rounds in order, `[number, WIDTH]`; a round's numbers end at `ends[kind][round + 1]`.
    """
    player, state = vectors_of(players, 0), vectors_of(states, 0)
    all_losses, point = rows_of(losses), rows_of(x)
    uniform, laplace, normal = rows_of(numbers.uniform), rows_of(numbers.laplace), rows_of(numbers.normal)
    u, v, w = ends
    t, n = 0, len(point)
    for i in range(len(marks)):
        while t < marks[i]:
            rng = Draws(uniform[u[t] : u[t + 1]], laplace[v[t] : v[t + 1]], normal[w[t] : w[t + 1]])
            choose(state, point, rng)
            seen = all_losses[t * n : (t + 1) * n]
            loss = 0.0
            for j in range(n):
                loss += seen[j] * point[j]
            player.loss += loss
            update(state, seen, rng)
            t += 1
        for k in range(WIDTH):
            suffered[k, i] = players[0].loss[k]


@kept
def loop(modules: tuple[str, ...], layout: str) -> Callable[..., None]:
    """The compiled `play_block` of a composition whose state for WIDTH trials has this layout."""
    return bind(play_block, **in_loop(modules))
