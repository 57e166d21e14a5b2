"""Audit of the noisy sums of rewards of a contextual learner whose arms are public.

Two games, A and B, have the same arms and the same random numbers, but other rewards. In each `update` the noisy sum of
B is moved by the difference of the true sums since the last release, so that both release the same. If B still behaves
differently, rewards have acted past the release, or have acted on the noise or on when it is drawn. So both must play
the same arms, and release the same sums in the same rounds.

The audit also draws the numbers of A again. The noise of every release must be the next d normal numbers times σ. No
statistics are needed: each reward is in one release, and moves it by at most 2 L B.
"""

import math
from typing import Any

import numpy as np
from numpy.random import Generator

from privbandits_cli.audit.ellipsoids import EARLY, LONGEST, SETS
from privbandits_cli.audit.target import Target
from privbandits_cli.audit.three_games import earn
from privbandits_cli.audit.verdict import Audit, accounted, like_these
from privbandits_cli.games.contextual import Floats, choose, update
from privbandits_cli.games.guards import WrongArm
from privbandits_cli.games.views import PhaseSums
from privbandits_cli.numerics.jit import PluginError, Records, unbound
from privbandits_cli.numerics.types import Ints

sums: Any = unbound  # bound when the loop is compiled

DIGITS = 1e-9  # the relative error of sums that counts as rounding
ARM, RELEASE = 1, 2
FAULTS = {
    ARM: "with the same noisy sums but other rewards before, another arm is played",
    RELEASE: "with the same random numbers but other rewards, the noise is different, or it is drawn in another round",
}


def play(
    states: Records,
    rngs: tuple[Generator, Generator],
    bank: Floats,
    shown: Ints,
    numbers: Floats,
    truth: Floats,
    noise: Floats,
    rounds: Ints,
    found: Ints,
) -> None:
    """Play A and B up to the first fault.

    shown: the set of arms of each round, as its place in the bank `[sets, d, k]`; truth: θ and the size of rewards of A
    and B, `[2, d + 1]`; numbers: they decide the rewards (see `earn`), `[2, rounds]`.

    Filled in: `noise[releases, d]`, `rounds[releases]`, and `found`: the fault, its round, and the number of releases.
    """
    d, k = bank.shape[1], bank.shape[2]
    recent, rows, before, moved, kept = np.zeros((2, d)), np.zeros((2, d + 1)), np.zeros(d), np.zeros(d), np.zeros(d)
    for t in range(len(shown)):
        found[1] = t
        arms = bank[shown[t]]
        arm, other = choose(states[0], arms, rngs[0]), choose(states[1], arms, rngs[1])
        if arm < 0 or arm >= k:
            raise WrongArm(arm, k, t)
        if arm != other:
            found[0] = ARM
            return
        for side in range(2):
            earn(arms, arm, truth[side], numbers[side, t], t, rows[side])
            for i in range(d):
                recent[side, i] += rows[side, i] * rows[side, d]
        for i in range(d):
            before[i], kept[i] = sums(states[0])[i], sums(states[1])[i]
            moved[i] = kept[i] + recent[0, i] - recent[1, i]
            sums(states[1])[i] = moved[i]
        for side in range(2):
            update(states[side], rows[side, :d], rows[side, d], rngs[side])
        released, size = False, 1.0
        for i in range(d):
            released |= sums(states[0])[i] != before[i]
            size += abs(sums(states[0])[i]) + abs(before[i]) + abs(recent[0, i]) + abs(recent[1, i])
        for i in range(d):
            wanted = sums(states[0])[i] if released else moved[i]
            if not abs(sums(states[1])[i] - wanted) <= DIGITS * size:
                found[0] = RELEASE
                return
            if not released:
                sums(states[1])[i] = kept[i]
            else:
                noise[found[2], i] = sums(states[0])[i] - before[i] - recent[0, i]
                recent[:, i] = 0.0
        if released:
            rounds[found[2]] = t
            found[2] += 1


def audit_phases(target: Target[PhaseSums]) -> Audit:
    """Whether only noisy sums act on the play, and whether their noise is that of the claim, drawn anew for each."""
    setting, sigma = target.setting, target.view.noise.sigma
    known, long = setting.known(), int(max(2, min(setting.horizon, LONGEST, target.budget)))
    short, cost = min(EARLY, long), 0
    claim = (
        f"{target.claim} of all noisy sums in {int(setting.horizon):,} rounds with d = {known.dimension}, "
        f"Gaussian noise of σ = {sigma:.4g} on each"
    )
    played = f"games: 1 of {long:,} rounds, {EARLY} of {short} rounds; d = {known.dimension}, {setting.n_arms} arms"
    for game, rounds in enumerate([long] + [short] * EARLY):
        words, at = one_game(target, f"game {game}", rounds)
        cost += at
        if words:
            return Audit("VIOLATION", claim, f"in round {at:,} {words}", cost, played=played)
    mu = 2 * known.norm * known.reward / sigma
    assumed = like_these(long, setting.horizon)
    return accounted(target, Audit("CONSISTENT", claim, "", cost, played=played, assumed=assumed), mu)


def one_game(target: Target[PhaseSums], name: str, rounds: int) -> tuple[str, int]:
    """The first fault of a game, in words, or "", and the rounds until then."""
    known, sigma, rng = target.setting.known(), target.view.noise.sigma, target.stream(name)
    d = known.dimension
    bank = rng.standard_normal((SETS, d, target.setting.n_arms))
    bank *= known.norm * rng.random((SETS, 1, target.setting.n_arms)) / np.sqrt((bank**2).sum(axis=1, keepdims=True))
    truth = np.zeros((2, d + 1))
    truth[:, :d] = np.array([[1.0], [-1.0]]) / (known.norm * math.sqrt(d))
    truth[:, d] = known.reward
    shown, numbers = rng.integers(0, SETS, rounds), rng.uniform(-1, 1, (2, rounds))
    noise, at, found = np.zeros((rounds, d)), np.zeros(rounds, np.int64), np.zeros(3, np.int64)
    one, two, again = (target.stream(f"noise of {name}") for _ in range(3))
    states = np.repeat(target.state, 2)
    try:
        target.loop(play, earn=earn)(states, (one, two), bank, shown, numbers, truth, noise, at, found)
    except WrongArm as error:
        arm, k, t = error.args
        message = f"choose returned arm {arm} in round {t + 1}; the arms are 0 to {k - 1}"
        raise PluginError(message, getattr(target.steps["choose"], "py_func", None)) from None
    kind, last, count = found.tolist()
    expected = sigma * again.standard_normal((count, d))
    slack = DIGITS * (sigma + known.norm * known.reward * rounds)
    wrong = np.flatnonzero((np.abs(noise[:count] - expected) > slack).any(axis=1))
    if len(wrong):
        size = np.linalg.norm(noise[wrong[0]]) / np.linalg.norm(expected[wrong[0]])
        words = f"the noise of the sum is not σ times the next {d} normal numbers: its norm is {size:.3g} times that"
        return words, int(at[wrong[0]]) + 1
    return FAULTS.get(kind, ""), last + 1
