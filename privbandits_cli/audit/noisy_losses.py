"""Audit of the noisy loss that a linear bandit releases: one run, every round a canary along the point played.

A coin decides whether the loss is the largest or the smallest that a loss vector can have there. Its noise is one
Laplace number, or <Z, x> with N Laplace numbers Z. The law of <Z, x> depends on the point, so the noise is transformed
to standard Laplace noise (laws.py). Rounds in which the coordinates of the point are too nearly equal for that are left
out. Which rounds these are depends on the points alone, not on the noise.
"""

from typing import Any

import numpy as np

from privbandits_cli.audit import evidence, laws
from privbandits_cli.audit.bypass import Round, bypassed
from privbandits_cli.audit.evidence import Conformance
from privbandits_cli.audit.releases import FEWEST
from privbandits_cli.audit.target import Target
from privbandits_cli.audit.verdict import Audit, judge
from privbandits_cli.games.linear import Draws, Floats, Sphere, choose, loss_set, update
from privbandits_cli.games.views import NoisyLoss
from privbandits_cli.numerics.jit import Records, unbound

released: Any = unbound  # bound when a loop is compiled

NUMBERS = 2**22  # coordinates of the points of all rounds together, at most


def observe_losses(
    states: Records, coins: Floats, round_ball: bool, numbers: Draws, points: Floats, observed: Floats
) -> None:
    """Play on; fill `points[round, N]` with the points played, `observed[round, 2]` with the canaries and releases.

    round_ball: whether losses are in the Euclidean unit ball, not in the l1 ball. numbers: `[rounds, ...]`.
    The release is read on a copy, `states[1]`, so that a stateful release advances once a round.
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
    """Whether the noisy losses reveal more about a canary than ε allows, and whether their noise has the right law."""
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
        more = "two losses with the same release lead to different points: more is used than is released"
        return Audit("VIOLATION", f"{claim} of each noisy loss, {law}", more, 2)
    most, noisy = observed.T
    noise = (noisy - np.where(coins > 0, most, -most)) / scale
    tail = laws.log_tail_of_point(noise, points) if vector else laws.log_tail(noise, 1, False)
    known = ~np.isnan(tail)
    if known.sum() < min(FEWEST, len(coins) / 2):
        few = f"the law of the noise is known to enough digits at only {known.sum()} points"
        return Audit("NOT AUDITABLE", str(claim), few, len(coins))
    conforms = evidence.conformance(laws.as_laplace(noise, tail)[known], 1.0)
    moved = most > 0
    unit = (noisy[moved] / most[moved] + 1) / 2
    return judge(target, unit, coins[moved], "loss", Conformance(conforms), law)


def _bypassed(target: Target[NoisyLoss], states: Records, sizes: dict[str, int]) -> bool:
    """Whether the next points, for each random number that may select them, depend on more than the noisy loss."""
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
