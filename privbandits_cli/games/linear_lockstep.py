"""The loop of the game `linear` for WIDTH trials in lockstep (`games.lockstep`)."""

from typing import Any

from privbandits_cli.games import lockstep
from privbandits_cli.games.drawing import WIDTH
from privbandits_cli.games.guards import guarded
from privbandits_cli.games.linear_draws import Draws
from privbandits_cli.games.lockstep import Loop, in_words, place
from privbandits_cli.numerics.jit import kept, unbound
from privbandits_cli.numerics.types import Floats
from privbandits_cli.spmd.source import Step

choose: Any = unbound
update: Any = unbound
FULL = GUARDED = False


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


@kept
def loop(modules: tuple[str, ...], layout: Any, n: int, full: bool) -> Loop:
    """The loop of a composition with records of this layout, for points with n coordinates; full: full information."""
    step = Step(play_round, {**lockstep.steps(modules), "FULL": full, "GUARDED": guarded(modules)})
    words = in_words(layout)
    program = lambda code: code.linear(step, WIDTH, words, n)  # noqa: E731
    return lockstep.bound(step, words, program, place(words, "player", "loss"))
