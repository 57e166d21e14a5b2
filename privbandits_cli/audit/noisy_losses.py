"""Audit of the noisy loss that a linear bandit releases: one run, every round a canary along the point played.

The loss is the largest or the least that a loss vector may have there, by a coin. Its noise is one Laplace number, or
<Z, x> of N of them, whose law depends on the point; it is transformed to standard Laplace noise by its own law
(laws.py). Rounds whose point has coordinates too nearly equal for that are left out. The point alone decides which
rounds these are, not its noise.
"""

from typing import Any

import numpy as np

from privbandits_cli.audit import evidence, laws
from privbandits_cli.audit.bypass import Round, bypassed
from privbandits_cli.audit.releases import FEWEST
from privbandits_cli.audit.target import Target
from privbandits_cli.audit.verdict import Audit, judge
from privbandits_cli.games.linear import Draws, Floats, Sphere, choose, loss_set, update
from privbandits_cli.games.views import NoisyLoss
from privbandits_cli.numerics.jit import Records, unbound

released: Any = unbound  # bound when a loop is compiled

NUMBERS = 2**22  # of the points of all rounds, at most


def observe_losses(
    states: Records, coins: Floats, round_ball: bool, numbers: Draws, points: Floats, observed: Floats
) -> None:
    """Play on; `points[round, N]` are those played, `observed[round, 2]` the canary's size and what is released of it.

    round_ball: whether losses are of the Euclidean unit ball, and not of that of the l1 norm. numbers: `[rounds, ...]`.
    `states[1]` is a copy on which the release is read, so that one that keeps a state advances once a round.
    """
    for t in range(len(coins)):
        rng = Draws(numbers.uniform[t], numbers.laplace[t], numbers.normal[t])
        x = points[t]
        choose(states[0], x, rng)
        most = np.sqrt((x * x).sum()) if round_ball else np.abs(x).max()
        loss = most if coins[t] > 0 else -most
        states[1] = states[0]
        observed[t, 0] = most
        observed[t, 1] = released(states[1], x, loss, rng)
        update(states[0], x, loss, rng)


def audit_losses(target: Target[NoisyLoss]) -> Audit:
    """Whether the noisy losses reveal more of a canary than ε, and whether their noise has its law at every point."""
    setting, claim, vector = target.setting, target.claim, target.view.vector
    rounds, states = min(target.budget, NUMBERS // setting.n_arms), np.repeat(target.state, 2)
    asked = target.algorithm.draws(setting, np.array([1]))
    sizes = {kind: int(asked.get(kind, np.zeros(1))[0]) for kind in Draws._fields}
    numbers = Draws(*(target.numbers(kind, rounds * n).reshape(rounds, n) for kind, n in sizes.items()))
    coins, points, observed = target.coins(rounds), np.empty((rounds, setting.n_arms)), np.empty((rounds, 2))
    ball = isinstance(setting.decisions(), Sphere)
    target.loop(observe_losses)(states, coins, ball, numbers, points, observed)
    change = loss_set(setting).changes()[0] if vector else 2 * setting.decisions().largest_loss()
    scale = change / claim.epsilon
    law = f"<Z, x> of Laplace noise Z of scale {scale:.4g}" if vector else f"Laplace noise of scale {scale:.4g}"
    if _bypassed(target, states, sizes):
        more = "two losses that are released as one lead to different points: more is used than is released"
        return Audit("VIOLATION", f"{claim} of each noisy loss, {law}", more, 2)
    most, noisy = observed.T
    noise = (noisy - np.where(coins > 0, most, -most)) / scale
    tail = laws.log_tail_of_point(noise, points) if vector else laws.log_tail(noise, 1, False)
    known = ~np.isnan(tail)
    if known.sum() < min(FEWEST, len(coins) / 2):
        few = f"at only {known.sum()} points is the noise's law known to enough digits"
        return Audit("NOT AUDITABLE", str(claim), few, len(coins))
    conforms = evidence.conformance(laws.as_laplace(noise, tail)[known], 1.0)
    moved = most > 0
    unit = (noisy[moved] / most[moved] + 1) / 2
    return judge(target, unit, coins[moved], "loss", law, conforms)


def _bypassed(target: Target[NoisyLoss], states: Records, sizes: dict[str, int]) -> bool:
    """Whether the next points, for each number that may draw them, depend on more than the noisy loss."""
    setting, steps, drawn = target.setting, target.steps, 2 * target.setting.n_arms

    def play(end: int, numbers: Floats) -> Round:
        fork, x = states[:1].copy(), np.zeros(setting.n_arms)
        rng = Draws(np.full(sizes["uniform"], 0.3), numbers.copy(), np.empty(0))
        steps["choose"](fork[0], x, rng)
        loss = (2.0 * end - 1.0) * float(np.abs(x).max())
        found = np.array([steps["released"](fork.copy()[0], x, loss, rng)])
        steps["update"](fork[0], x, loss, rng)
        points = np.zeros((drawn, setting.n_arms))
        for i in range(drawn):
            steps["choose"](fork[0], points[i], Draws(np.array([(i + 0.5) / drawn]), rng.laplace, rng.normal))
        return Round(found, points)

    return bypassed(play, sizes["laplace"])
