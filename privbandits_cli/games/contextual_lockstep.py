"""The loop of the game `contextual` for WIDTH trials in lockstep (`games.lockstep`), with arms that are drawn ahead."""

from typing import Any

from privbandits_cli.games import lockstep
from privbandits_cli.games.drawing import WIDTH
from privbandits_cli.games.guards import WrongArm, guarded
from privbandits_cli.games.lockstep import Loop, in_words, place
from privbandits_cli.games.rewards import reward
from privbandits_cli.numerics.jit import Quick, kept, unbound
from privbandits_cli.numerics.types import Floats
from privbandits_cli.spmd.source import Step

choose: Any = unbound
update: Any = unbound
GUARDED = False


def play_round(state: Any, player: Any, rng: Any, arms: Floats, means: Floats, best: float, number: float) -> None:
    """A round of one trial."""
    arm = choose(state, arms, rng)
    if GUARDED and (arm < 0 or arm >= len(means)):
        raise WrongArm(arm)
    mean, square = means[arm], 0.0
    for j in range(len(player.x)):
        player.x[j] = arms[j, arm]
        square += player.x[j] * player.x[j]
    if not square <= player.most:
        player.beyond = square
    player.regret += best - mean
    update(state, player.x, reward(player.law, mean, number), rng)


@kept
def loop(modules: tuple[str, ...], layout: Any, d: int, k: int) -> Loop:
    """The loop of a composition with records of this layout, for k arms in d dimensions."""
    step, words = Step(play_round, {**lockstep.steps(modules), "GUARDED": guarded(modules)}), in_words(layout)
    program = lambda code: code.contextual(step, WIDTH, words, d, k)  # noqa: E731
    found = lockstep.bound(step, words, program, place(words, "player", "regret"), (d, k))
    return found._replace(play=found.play and Quick(found.play))  # a round is long, and no faster at a higher level
