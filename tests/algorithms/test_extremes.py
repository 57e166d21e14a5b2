"""Every algorithm at the ends of its parameters and of its game: finite numbers, or an error that says what is wrong.

The parameters and their ends are read from the models in the registry, so a new algorithm is tested by being there.
"""

import math
import re
import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest

from privbandits_cli.convex.polytope import Polytope
from privbandits_cli.convex.spaces import Cube, Simplex, Sphere
from privbandits_cli.games import bandit, contextual, linear
from privbandits_cli.games.match import Match
from privbandits_cli.games.players import Contexts, Setting
from privbandits_cli.numerics.jit import without_jit
from privbandits_cli.plugins import loader
from privbandits_cli.plugins.registry import Registry
from tests import extremes
from tests.conftest import first, make, watch_states
from tests.extremes import numbers, ours, unfit

HORIZONS = (1, 2, 17, 2**12, 2**50, 2**62)
DELTAS = (1e-12, 0.9)
SLIVER = Polytope(2, ((1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)), (1.0, 1.0, 1e-3, 1e-3))
SPACES = (Simplex(2), Simplex(1000), Sphere(1), Sphere(1000), Cube(1), Cube(1000), SLIVER)
HEAVY = ((None, None), (0.1, 1e12), (0.1, 1e-12), (1.0, 1e40))  # (v, u)
ALGORITHMS = Registry().names("algorithms")

GAMES = {
    "bandit": [(k, {"v": v, "u": u}) for k in (2, 1000) for v, u in HEAVY],
    "linear": [(s.dimension, {"space": s}) for s in SPACES] + [(4, {"space": Simplex(4), "signed": True})],
    "contextual": [
        (k, {"contexts": Contexts(d, sigma=sigma, reward=reward, fixed=True)})
        for d, k in ((1, 2), (20, 1000))
        for sigma, reward in ((1.0, 1.0), (0.5, 1.0), (1.0, math.inf))
    ],
    "best_arm": [(k, {"confidence": sure}) for k in (2, 1000) for sure in (None, 0.5 + 1e-9, 1 - 1e-16)],
}


def settings(game: str) -> list[Setting]:
    """The game at all horizons, with few arms or coordinates and with many."""
    return [Setting(horizon, n, **known) for horizon in HORIZONS for n, known in GAMES[game]]


def variants(name: str, pairs: bool) -> list[Any]:
    """An algorithm with each parameter at each of its ends, and in `pairs` with each of these at the ends of ε."""
    return extremes.variants(Registry().find("algorithms", name), partial(make, name), pairs)


def unlimited(algorithm: Any) -> bool:
    """Whether ε is so large that nothing is promised: an infinite ε is then the right answer."""
    budget = getattr(algorithm, "epsilon", None)
    return isinstance(budget, float) and budget > 1e200


def check(given: Any, setting: Setting) -> None:
    """Every number that an algorithm states in a setting."""
    if unfit(given, setting):
        return
    tuned = given.tuned(setting)
    assert tuned.identity()
    assert not any(np.isnan(part).any() for part in numbers(tuned.state(setting)[0]))
    promised = tuned.guarantee(setting)
    for bound in [*(bound for delta in DELTAS for bound in tuned.bounds(setting, delta)), *filter(None, [promised])]:
        assert math.isfinite(bound.epsilon) or unlimited(given), bound
    assert "nan" not in str(promised)
    rounds = np.array([1.0, setting.horizon])
    for memory in (0, 1):
        bound = tuned.regret_bound(rounds, setting, memory)
        assert bound is None or (np.isfinite(bound).all() and (np.asarray(bound) >= 0).all()), bound
    if isinstance(tuned, bandit.Algorithm):
        n = int(setting.n_arms)
        for means in (np.linspace(0.2, 0.8, n), np.linspace(0.0, 1.0, n), np.full(n, 0.5)) if n < 100 else ():
            bound = tuned.instance_regret_bound(rounds, means, setting)
            assert bound is None or (np.isfinite(bound).all() and (np.asarray(bound) >= 0).all()), bound
    tuned.view(setting)
    for text in (tuned.mechanism(), *tuned.caveats(setting), *tuned.remarks(setting)):
        assert not re.search(r"\bnan\b", text) and (unlimited(given) or not re.search(r"\binf\b|∞", text)), text


# These have many variants or long rounds: one setting in so many, which rotate with the variant, is enough.
SHARES = dict.fromkeys(("dp_ftrl", "dp_ftpl", "exp3_tau", "noisy_ftrl"), 3) | {"dp_linucb": 9, "ftpl_frechet": 9}
WHOLE = [(name, SHARES.get(name, 1)) for name in ALGORITHMS]


def few(every: int) -> list[Any]:
    """Every third algorithm in one of `every` settings, and those of `SHARES` in fewer; the rest is slow."""
    fewer = [(name, every * SHARES.get(name, 1)) for name in ALGORITHMS]
    kept = [row for row in fewer[::3] if row[0] != "dp_linucb"]  # which has the most variants
    return first(len(kept), kept + [row for row in fewer if row not in kept] + [(name, every) for name in SHARES])


def check_all(name: str, every: int, pairs: bool = True) -> None:
    """Each variant in one of `every` settings, which rotate; warnings are errors."""
    here = settings(Registry().find("algorithms", name).game)
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        for i, variant in enumerate(variants(name, pairs)):
            for setting in here[i % every :: every]:
                try:
                    check(variant, setting)
                except BaseException as error:
                    raise AssertionError(f"{variant!r} in {setting}: {error!r}") from error


@pytest.mark.parametrize(("name", "every"), few(73))
def test_what_an_algorithm_states_is_finite_or_an_error(name: str, every: int) -> None:
    check_all(name, every, pairs=False)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "every"), WHOLE + [(name, 29) for name in SHARES])  # and some of the other settings
def test_what_an_algorithm_states_is_finite_or_an_error_everywhere(name: str, every: int) -> None:
    check_all(name, every)


# ------------------------------------------------------------------------------------------- played games

SIDES = {"least": (0,), "most": (1,), "both": (0, 1)}  # the ends of what may happen, round by round


class Gains(bandit.Adversary):
    """Gains of 0, of 1, or of both in turn."""

    side: str

    def gains(self, setting, rng, blocks):
        for rounds in blocks:
            values = np.resize(np.array(SIDES[self.side], float), max(rounds))[rounds.start - 1 :]
            yield np.repeat(values[:, None], setting.n_arms, axis=1)


class OneBest(Gains):
    """The same, whatever the means are said to be."""

    def mean_gains(self, setting):
        return np.arange(setting.n_arms) / setting.n_arms


class Losses(linear.Adversary):
    """Losses at one end of the loss set, at the other, or at both in turn."""

    side: str

    def losses(self, setting, rng, blocks):
        two = np.array(linear.loss_set(setting).ends())
        for rounds in blocks:
            yield two[np.resize(np.array(SIDES[self.side]), max(rounds))[rounds.start - 1 :]]


class Arms(contextual.Adversary):
    """Rewards of 0, of 1, or of both in turn, of arms that are all alike."""

    fixed = True
    side: str

    def law(self):
        return "bernoulli"

    def arms(self, setting, rng, blocks):
        for rounds in blocks:
            means = np.resize(np.array(SIDES[self.side], float), max(rounds))[rounds.start - 1 :]
            arms = np.zeros((len(rounds), setting.known().dimension, setting.n_arms))
            arms[:, 0, :] = 1.0
            yield arms, np.repeat(means[:, None], setting.n_arms, axis=1)


FOES = {"bandit": Gains, "linear": Losses, "contextual": Arms, "best_arm": OneBest}
FEW, MANY = (1, 2, 3, 17, 64), (3,)  # rounds, in games with few arms or coordinates and with many
PLAYED = {
    "bandit": [(2, {}), (1000, {})],
    "linear": [(s.dimension, {"space": s}) for s in SPACES],
    "contextual": [(k, {"contexts": Contexts(d, fixed=True)}) for d, k in ((1, 2), (3, 2), (9, 101))],
    "best_arm": [(k, {"confidence": sure}) for k in (2, 1000) for sure in (None, 0.5 + 1e-9, 1 - 1e-16)],
}


def games(game: str) -> list[tuple[Setting, str]]:
    """Short games with the ends of what may happen in them."""
    return [
        (Setting(horizon, n, **known), side)
        for n, known in PLAYED[game]
        for horizon in (MANY if n > 100 else FEW)
        for side in SIDES
    ]


def play(given: Any, setting: Setting, side: str, states: list[Any]) -> None:
    """One trial in plain Python; the states after each block are in `states`."""
    if unfit(given, setting):
        return
    model = FOES[given.game]
    adversary = model(side=side)
    known = adversary.revealed(setting)
    if unfit(given, known):
        return
    match = Match(adversary, [given.tuned(known)], known, np.unique([1, setting.horizon]), 3)
    states.clear()
    try:
        regrets = loader.GAMES[given.game].play(match, [0])
    except ArithmeticError as error:  # an error of the trial, with our message
        if not ours(error):
            raise
        return
    assert np.isfinite(regrets).all(), regrets
    assert states and not any(np.isnan(part).any() for state in states for part in numbers(state))


def play_all(name: str, every: int, monkeypatch: pytest.MonkeyPatch, pairs: bool = True) -> None:
    """Each variant in one of `every` games, which rotate; warnings are errors."""
    here = games(Registry().find("algorithms", name).game)
    states: list[Any] = []
    watch_states(monkeypatch, states.append)
    wraps = "bits" in getattr(Registry().find("algorithms", name), "drawn", ())  # random bits wrap around by design
    over = "ignore" if wraps else "raise"
    with without_jit(), warnings.catch_warnings(), np.errstate(all="raise", under="ignore", over=over):
        warnings.simplefilter("error")
        for i, variant in enumerate(variants(name, pairs)):
            for setting, side in here[i % every :: every]:
                try:
                    play(variant, setting, side, states)
                except BaseException as error:
                    raise AssertionError(f"{variant!r} in {setting}, {side}: {error!r}") from error


@pytest.mark.parametrize(("name", "every"), few(61))
def test_games_at_the_ends_have_finite_regrets_or_an_error(
    name: str, every: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    play_all(name, every, monkeypatch, pairs=False)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "every"), WHOLE + [(name, 31) for name in SHARES])
def test_all_games_at_the_ends_have_finite_regrets_or_an_error(
    name: str, every: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    play_all(name, every, monkeypatch)


def test_a_tree_whose_arms_are_played_once_at_most():
    """With more arms than rounds: the number of an arm's plays is not below 1."""
    setting = Setting(2, 1000)
    for bonus in ("mishra_thakurta", "chernoff"):
        found = make("dp_ucb", epsilon=1.0, bonus=bonus).tuned(setting).guarantee(setting, 0.0)
        assert found is not None and found.epsilon == 1.0
