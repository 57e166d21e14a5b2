"""Audits of noisy gains and reports in one run with a canary in every round, and of noisy means with a canary each."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.accounting import gaussian
from privbandits_cli.audit.evidence import by_groups, windows
from privbandits_cli.audit.laws import as_laplace, log_tail
from privbandits_cli.audit.target import Target, canary, choose, released, update, values
from privbandits_cli.audit.twins import copy
from privbandits_cli.audit.verdict import Audit, claimed, judge
from privbandits_cli.games.bandit import Draws, Floats
from privbandits_cli.games.views import Kept, Mean, Release, Report, read
from privbandits_cli.numerics.jit import Records

FEWEST = 1024  # numbers to test: the smallest budget
UNMOVED = (
    "let the view name numbers that every gain changes, and make their noise of `rng.laplace`; if an arm is left out "
    "early, raise `--budget`"
)


def observe_gains(
    states: Records,
    coins: Floats,
    uniform: Floats,
    laplace: Floats,
    observed: Floats,
    scale: Floats,
    arms: NDArray[np.int64],
    rest: int,
    length: int,
) -> None:
    """Play rounds whose gain is one end of the canary's range; `observed` is its release, rescaled to [0, 1].

    Filled in as well: scale, the growth of the release with the Laplace number; arms, those played. rest: rounds of a
    block before the canary in its last round; their gains are at the low end, and the canary moves the block's mean.
    length: releases of one game, after which the next begins from `states[2]`. The release is read on a copy,
    `states[1]`, so that a stateful release advances once a round.
    """
    for t in range(len(coins)):
        if t % length == 0:
            copy(states, 2, 0)
        rng = Draws(uniform[t], laplace[t])
        low, high = canary(states[0])
        for _ in range(rest):
            update(states[0], choose(states[0], rng), low, rng)
        gain = high if coins[t] > 0 else low
        moved = Draws(uniform[t], laplace[t] + 1.0)
        copy(states, 0, 1)
        choose(states[1], moved)
        more = released(states[1], gain, moved)
        arms[t] = choose(states[0], rng)
        copy(states, 0, 1)
        noisy = released(states[1], gain, rng)
        observed[t] = (noisy - low) / (high - low) * (rest + 1)
        scale[t] = (more - noisy) / (high - low) * (rest + 1)
        update(states[0], arms[t], gain, rng)


def observe_kept(
    states: Records,
    coins: Floats,
    uniform: Floats,
    laplace: Floats,
    observed: Floats,
    scale: Floats,
    arms: NDArray[np.int64],
    length: int,
) -> None:
    """Play the same rounds; `observed` is the change of the arm's value: 0 or 1 without noise, NaN if nothing changes.

    scale, arms, length: as for `observe_gains`.
    """
    none = Draws(0.5, 0.0)  # noise that is made of a uniform number is 0, too
    for t in range(len(coins)):
        rng, silent, moved = Draws(uniform[t], laplace[t]), Draws(uniform[t], 0.0), Draws(uniform[t], laplace[t] + 1.0)
        if t % length == 0:
            copy(states, 2, 0)
        copy(states, 0, 3)
        arm = choose(states[0], rng)
        low, high = canary(states[0])
        gain = high if coins[t] > 0 else low
        copy(states, 3, 1)
        choose(states[1], silent)
        update(states[1], arm, low, none)
        least = values(states[1])[arm]
        copy(states, 3, 1)
        choose(states[1], silent)
        update(states[1], arm, high, none)
        most = values(states[1])[arm]
        copy(states, 3, 1)
        choose(states[1], moved)
        update(states[1], arm, gain, moved)
        update(states[0], arm, gain, rng)
        value = values(states[0])[arm]
        observed[t] = (value - least) / (most - least) if most != least else np.nan
        scale[t] = (values(states[1])[arm] - value) / (most - least) if most != least else np.nan
        arms[t] = arm


def audit_release(target: Target[Release], exact: bool = False) -> Audit:
    """Every round is a canary: a coin puts the gain at one end of its range, and the noisy gain is observed."""
    block = target.view.rounds
    length = max(1, int(target.setting.horizon) // block)
    return _judged(target, target.state, exact, "gain", observe_gains, length, block - 1)


def audit_report(target: Target[Report], exact: bool = False) -> Audit:
    """Whether the stored report of a canary reveals more about it than ε allows, in every round."""
    length = int(target.setting.horizon)
    return moved_from_outside(target, target.state) or _judged(
        target, target.state, exact, "report", observe_kept, length
    )


def audit_mean(target: Target[Mean], exact: bool = False) -> Audit:
    """Audit whether the first mean, after gains of 0, reveals more about its last gain than the claim allows."""
    view, state = target.view, target.state.copy()
    if view.played and view.length:
        state[view.played] = state[view.length] - 1
    found = moved_from_outside(target, state) or _judged(target, state, exact, "mean", observe_kept, 1)
    return found if exact else replace(found, assumed="later means have noise like the first one")


def _judged(
    target: Target[Kept | Release],
    state: Records,
    exact: bool,
    what: str,
    observe: Callable[..., None],
    length: int,
    *rest: int,
) -> Audit:
    """Play the budget in games of this length, and judge the noisy numbers.

    exact: whether the scale of their noise is known to suffice; then each number is compared with its own scale.
    """
    rounds, level = target.budget, target.alpha / 2
    coins, observed, scale, arms = target.coins(rounds), np.empty(rounds), np.empty(rounds), np.empty(rounds, np.int64)
    uniform, laplace = target.numbers("uniform", rounds), target.numbers(target.noise, rounds)
    target.loop(observe)(np.repeat(state, 4), coins, uniform, laplace, observed, scale, arms, *rest, length)
    moved = ~np.isnan(observed)  # an elimination algorithm with one arm left stores no gains
    if moved.sum() < FEWEST:
        few = f"only {moved.sum():,} gains change a {what}, and the test needs {FEWEST:,}: {UNMOVED}"
        return Audit("NOT AUDITABLE", claimed(target), few, rounds)
    noise, sides = (observed - coins)[moved], coins[moved]
    noise = in_own_scale(noise, scale[moved] * exact, rate(target))
    if target.gaussian:
        noise = as_laplace(noise, log_tail(noise, 1, True))
    groups = windows((np.arange(rounds) % length + 1)[moved]) if length > 1 else {}
    rounding = max(1e-12, 1e-15 * target.claim.epsilon)
    law = by_groups(noise, groups, level, sides, rounding, arms[moved])
    found = judge(target, observed[moved], sides, replace(law, share=None) if exact else law)
    count, short = -(-rounds // length), min(rounds, length)
    games = f"{count:,} game{'s' * (count > 1)} of {short:,} {what}s" if length > 1 else f"{rounds:,} {what}s"
    return replace(found, played=games)


def rate(target: Target[Kept | Release]) -> float:
    """The reciprocal of the least scale of noise that a release may have: ε for Laplace, μ for Gaussian noise."""
    claim = target.claim
    return gaussian.mu_of(claim.epsilon, claim.delta) if target.gaussian else claim.epsilon


def in_own_scale(noise: Floats, scale: Floats, rate: float) -> Floats:
    """Each number of the noise in units of its own scale, or in units of 1/rate where its scale is 0."""
    return np.divide(noise, scale, out=rate * noise, where=scale != 0)


def moved_from_outside(target: Target[Kept], state: Records) -> Audit | None:
    """The violation if an unbounded gain moves the stored value further than the canary's range, else None.

    state: before that gain.
    """
    if target.algorithm.bounded:
        return None
    low, high = target.at(target.view.canary)(state[0])
    kept, none = [], Draws(0.0, 0.0)
    for gain in (low, high, 1000 * low - high, 1000 * high - low):
        fork = state.copy()
        arm = target.steps["choose"](fork[0], none)
        target.steps["update"](fork[0], arm, gain, none)
        kept.append(float(read(fork[0], target.view.values)[arm]))
    slack = 1e-9 * (max(kept[:2]) - min(kept[:2]))
    if min(kept) >= min(kept[:2]) - slack and max(kept) <= max(kept[:2]) + slack:
        return None
    return Audit("VIOLATION", claimed(target), "a gain outside the canary's range moves more than that range", 4)
