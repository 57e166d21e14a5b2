"""Simulated logs for off-policy evaluation: contexts whose mean rewards are known, and a policy that plays in them."""

from typing import NamedTuple

import numpy as np

from privbandits_cli.analysis.off_policy import Log, check_policy, check_rows
from privbandits_cli.convex.losses import SLACK
from privbandits_cli.games.contextual import Adversary, Law, Setting
from privbandits_cli.games.drawing import fill_of
from privbandits_cli.games.rewards import REWARDS, reward
from privbandits_cli.numerics.exponential import exponential
from privbandits_cli.numerics.jit import compiled
from privbandits_cli.numerics.streams import stream
from privbandits_cli.numerics.types import Floats


class World(NamedTuple):
    """Contexts whose mean rewards are known, to be logged."""

    features: Floats  # [n, p] or [n, K, p]
    means: Floats  # [n, K]
    law: Law  # of the rewards, given their mean


def linear_world(theta: Floats, rows: int, seed: int, trial: int, law: Law = "gaussian") -> World:
    """Contexts x uniform in [-1, 1]^p; action a has the mean `theta[a, 0] + <theta[a, 1:], x>`, theta `[K, p + 1]`."""
    x: Floats = stream(seed, "off-policy contexts", trial=trial).uniform(-1.0, 1.0, (rows, theta.shape[1] - 1))
    return World(x, theta[:, 0] + (x[:, None] * theta[:, 1:]).sum(axis=2), law)


def contextual_world(adversary: Adversary, setting: Setting, rows: int, seed: int, trial: int) -> World:
    """The arms of the first rounds of a contextual game, as features of every action."""
    rng = stream(seed, "contexts", adversary.name, trial=trial)
    arms, means = next(iter(adversary.arms(setting, rng, [range(1, rows + 1)])))
    return World(arms.transpose(0, 2, 1).copy(), means.copy(), adversary.law())


def softmax(means: Floats, temperature: float, share: float) -> Floats:
    """The policy `[n, K]` that plays a uniform action with probability `share`, else a with e^(mean / temperature)."""
    powers = (means - means.max(axis=1, keepdims=True)) / temperature
    compiled(exponentials)(powers)
    probabilities: Floats = (1 - share) * powers / powers.sum(axis=1, keepdims=True) + share / means.shape[1]
    return probabilities


def exponentials(x: Floats) -> None:
    """Replace the numbers of `x[n, K]`, at most 0, by their exponentials."""
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[i, j] = exponential(x[i, j])


def logged(world: World, logging: Floats, seed: int, trial: int) -> Log:
    """A log of the policy `logging` `[n, K]` in a world, with its exact propensities."""
    n, k = world.means.shape
    law, place, rows, numbers = REWARDS[world.law], [*REWARDS].index(world.law), np.arange(n), np.empty(n)
    check_policy(logging, (n, k))
    allowed = (world.means >= law.lowest_mean - SLACK) & (world.means <= law.largest + SLACK)
    check_rows(allowed.all(axis=1), lambda i: f"{world.law} rewards cannot have the means {world.means[i]}")
    uniform = stream(seed, "off-policy actions", trial=trial).random((n, 1))
    actions = (np.cumsum(logging, axis=1)[:, :-1] <= uniform).sum(axis=1)
    fill_of(law.kind, stream(seed, "off-policy rewards", trial=trial))(numbers)
    rewards = [reward(place, mean, number) for mean, number in zip(world.means[rows, actions], numbers, strict=True)]
    return Log(world.features, actions, np.array(rewards), logging[rows, actions], k)
