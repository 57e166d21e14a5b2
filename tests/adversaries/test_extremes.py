"""Every adversary at the ends of its parameters and of its game: valid gains, losses and arms, or an error."""

import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

from privbandits_cli.convex.losses import SLACK
from privbandits_cli.convex.spaces import Cube, Simplex, Sphere
from privbandits_cli.data.files import PlaysFile
from privbandits_cli.games.linear import loss_set
from privbandits_cli.games.players import Contexts, Setting
from privbandits_cli.games.rewards import REWARDS
from privbandits_cli.plugins.registry import Registry
from tests.conftest import foe, some
from tests.extremes import unfit, variants

ADVERSARIES = [name for name, model in Registry().every("adversaries") if not issubclass(model, PlaysFile)]
HORIZONS = (1, 17, 2**62)
ROUNDS = 50  # that are looked at, in two blocks
SPACES = (Simplex(2), Simplex(1000), Sphere(1), Sphere(1000), Cube(1), Cube(1000))
GAMES = {
    "bandit": [(2, {}), (3, {})],
    "linear": [(space.dimension, {"space": space}) for space in SPACES],
    "contextual": [(k, {"contexts": Contexts(d)}) for d, k in ((1, 2), (2, 2), (20, 1000))],
}


def blocks(setting: Setting) -> list[range]:
    """Two blocks of rounds, or a single one of the only round."""
    last = int(min(ROUNDS, setting.horizon))
    middle = last // 2 + 1
    return [block for block in (range(1, middle), range(middle, last + 1)) if len(block)]


def wrong_gains(adversary: Any, setting: Setting, rng: Any) -> Iterator[str]:
    means = adversary.mean_gains(setting)
    if means is not None and not np.isfinite(means).all():
        yield f"means {means}"
    for gains in adversary.gains(setting, rng, blocks(setting)):
        if not np.isfinite(gains).all() or (adversary.bounded and not ((gains >= 0) & (gains <= 1)).all()):
            yield f"gains {gains}"


def wrong_losses(adversary: Any, setting: Setting, rng: Any) -> Iterator[str]:
    for rounds, losses in zip(blocks(setting), adversary.losses(setting, rng, blocks(setting)), strict=True):
        yield from filter(None, [loss_set(setting).violation(losses, rounds)])


def wrong_arms(adversary: Any, setting: Setting, rng: Any) -> Iterator[str]:
    known = setting.known()
    lowest = max(REWARDS[adversary.law()].lowest_mean, -known.norm * known.theta_norm)
    for arms, means in adversary.arms(setting, rng, blocks(setting)):
        if not (np.sqrt(np.einsum("tdk,tdk->tk", arms, arms)) <= known.norm * (1 + SLACK)).all():
            yield f"arms beyond L = {known.norm}"
        if not ((means >= lowest - SLACK) & (means <= known.norm * known.theta_norm + SLACK)).all():
            yield f"means {means}"


WRONG = {"bandit": wrong_gains, "linear": wrong_losses, "contextual": wrong_arms}


@pytest.mark.parametrize("every", some([1, 11], 11))
@pytest.mark.parametrize("name", some(ADVERSARIES, *ADVERSARIES[::3]))
def test_rounds_at_the_ends_are_valid_or_an_error(name: str, every: int) -> None:
    """Each variant in one of `every` settings, which rotate; warnings are errors."""
    model = Registry().find("adversaries", name)
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        settings = [Setting(horizon, n, **words) for n, words in GAMES[model.game] for horizon in HORIZONS]
        for i, given in enumerate(variants(model, partial(foe, name))):
            for setting in settings[i % every :: every]:
                try:
                    if unfit(given, setting):
                        continue
                    adversary = given.tuned(setting)
                    known = adversary.revealed(setting)
                    assert known.u is None or 0 < known.u < np.inf
                    assert not list(WRONG[given.game](adversary, known, np.random.Generator(np.random.SFC64(1))))
                except BaseException as error:
                    raise AssertionError(f"{given!r} in {setting}: {error!r}") from error
