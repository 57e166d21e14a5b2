"""The loop of the game `linear` for WIDTH trials in lockstep (`games.lockstep`)."""

from typing import Any

import numpy as np

from privbandits_cli.games import lockstep
from privbandits_cli.games.drawing import WIDTH
from privbandits_cli.games.guards import guarded
from privbandits_cli.games.linear_draws import Draws
from privbandits_cli.games.lockstep import Loop, Words, in_words, place
from privbandits_cli.numerics.jit import kept, unbound
from privbandits_cli.numerics.types import Floats, Ints
from privbandits_cli.spmd.source import Step

choose: Any = unbound
update: Any = unbound
play_rounds: Any = unbound
FULL = GUARDED = False
LOSS = 0


def play_round(state: Any, player: Any, rng: Draws, losses: Floats, point: Floats) -> None:
    """A round of one trial; point: to be filled with the point played, if it is checked."""
    choose(state, player.x, rng)
    loss = 0.0
    for j in range(len(losses)):
        loss += losses[j] * player.x[j]
        if GUARDED:
            point[j] = player.x[j]
    player.loss += loss
    if FULL:
        update(state, losses, rng)
    else:
        update(state, player.x, loss, rng)


def play_block(
    words: Words,
    marks: Ints,
    suffered: Floats,
    losses: Floats,
    numbers: Draws,
    ends: tuple[Ints, Ints, Ints],
    points: Any,
) -> bool:
    """Play one block; returns whether all is well. `suffered[trial, i]` are the losses after `marks[i]` rounds.

    words: the records, `[1, word, WIDTH]`. losses: `[round, N, WIDTH]`. numbers: of each kind, those of all rounds in
    order, `[number, WIDTH]`; a round's numbers end at `ends[kind][round + 1]`. points: room like theirs.
    """
    t, well, found = np.int64(0), True, words.view(np.float64)
    for i in range(len(marks)):
        if t < marks[i]:
            inputs = words, losses, numbers.uniform, numbers.laplace, numbers.normal, ends[0], ends[1], ends[2], points
            well &= play_rounds(t, marks[i], WIDTH, inputs)
            t = marks[i]
        for trial in range(WIDTH):
            suffered[trial, i] = found[0, LOSS, trial]
    return well


@kept
def loop(modules: tuple[str, ...], layout: Any, n: int, full: bool) -> Loop:
    """The loop of a composition with records of this layout, for points with n coordinates; full: full information."""
    step = Step(play_round, {**lockstep.steps(modules), "FULL": full, "GUARDED": guarded(modules)})
    words = in_words(layout)
    program = lambda code: code.linear(step, WIDTH, words, n)  # noqa: E731
    return lockstep.bound(play_block, step, words, program, LOSS=place(words, "player", "loss"))
