"""Audit of the noisy Gram matrices that a contextual learner plays by, if a counter sums them.

The games are those of `ellipsoids`. The arms must be chosen by V and u~ alone, and these must be the true sums with the
counter's noise. The audit also computes the counter's noise again, from a copy of the generator of game A. Every
release of A must have exactly this noise, made of the same normal numbers in the same order. No statistics are needed.
All releases are then a linear function of normal numbers, and their μ is exactly that of the counter.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.random import Generator

from privbandits_cli.audit.ellipsoids import EARLY, Trio, longest
from privbandits_cli.audit.gram_reports import lower
from privbandits_cli.audit.target import Target
from privbandits_cli.audit.verdict import Audit, accounted
from privbandits_cli.games.contextual import Floats
from privbandits_cli.games.linear import Draws
from privbandits_cli.games.steps import mechanism
from privbandits_cli.games.views import CountedGram
from privbandits_cli.numerics.jit import Record, Records, compile_step, record, unbound
from privbandits_cli.numerics.types import Ints

sums: Any = unbound  # these are bound when a loop is compiled
counter_add_item: Any = unbound
counter_release: Any = unbound

DIGITS = 1e-9  # the relative error of a release's noise that counts as rounding
TINY = 1e-300
ROOT_2 = math.sqrt(2)


def force(state: Record, wanted: Record, moved: Floats, depth: int) -> None:
    """Give the next release the noise of the release of `wanted`, moved by the difference of the true sums."""
    ours, theirs, place = sums(state), sums(wanted), 0
    for i in range(len(moved)):
        for j in range(i):
            ours[0, place + j] = theirs[0, place + j] + moved[i, j]
        ours[0, place + i] = theirs[0, place + i] + moved[i, i] / ROOT_2
        ours[0, place + i + 1] = theirs[0, place + i + 1] + moved[i, len(moved)]
        place += i + 2


def hold(state: Record, out: Floats) -> None:
    """Copy nothing, because the noise of A is computed from its numbers."""


def released(state: Record, truth: Floats, out: Floats) -> None:
    """Set out = the noisy sums from which V and u~ are computed."""
    noise, d, place = sums(state)[0], len(out), 0
    for i in range(d):
        for j in range(i):
            out[i, j] = truth[i, j] + noise[place + j]
        out[i, i] = truth[i, i] + ROOT_2 * noise[place + i]
        out[i, d] = truth[i, d] + noise[place + i + 1]
        place += i + 2


def drawn_by_choose(state: Record, before: Floats, t: int, out: Floats) -> int:
    """Set out[0] = the noise of the release."""
    noise, d, place = sums(state)[0], out.shape[1], 0
    for i in range(d):
        for j in range(d + 1):
            out[0, i, j] = 0.0
        for j in range(i):
            out[0, i, j] = noise[place + j]
        out[0, i, i] = ROOT_2 * noise[place + i]
        out[0, i, d] = noise[place + i + 1]
        place += i + 2
    return 1


def drawn_by_update(state: Record, before: Floats, row: Floats, out: Floats) -> int:
    """Return 0 matrices, because what `update` draws is in the next release."""
    return 0


def trio(target: Target[CountedGram]) -> Trio:
    """The games of a target."""
    knowing = force, hold, released, drawn_by_choose, drawn_by_update
    return Trio(target, knowing, 1, lambda rounds: rounds, compared=False)


def add_up(counter: Records, numbers: Floats, marks: Ints, out: Floats) -> None:
    """Fill `out[rounds, coordinates]` with the noise of the sums of 0, 1, ... items.

    The numbers of item t are those from `marks[t]` to `marks[t + 1]`.
    """
    for t in range(len(out)):
        own = numbers[marks[t] : marks[t + 1]]
        counter_release(counter[0], out[t], Draws(own, own, own))
        if len(own):  # the sum of all items is in no release
            counter_add_item(counter[0], Draws(own, own, own))


def noise_of(view: CountedGram, rng: Generator, games: int, rounds: int, size: int) -> Floats:
    """The noise of the releases of `games` games whose numbers this generator draws, `[games, rounds, size]`."""
    loop = compile_step(add_up, **mechanism(type(view.counter).__module__))
    items = np.arange(1, rounds + 1)
    marks = np.concatenate([[0], np.cumsum(np.where(items <= view.counter.n, view.counter.draws(items)["normal"], 0))])
    out = np.zeros((games, rounds, size))
    for game in range(games):
        state = record(**view.counter.state(size, view.noise.sigma))
        loop(state, rng.standard_normal(size * marks[-1]), size * marks, out[game])
    return out


def audit_counted(target: Target[CountedGram]) -> Audit:
    """Whether the releases are the counter's, and whether they reveal more about a datum than (ε, δ) allows."""
    setting, view = target.setting, target.view
    d, rounds = setting.known().dimension, max(2, longest(target, target.budget))
    words = (
        f"{target.claim} of all releases in {int(setting.horizon):,} rounds with d = {d}, Gaussian noise of "
        f"{view.counter.title}, σ = {view.noise.sigma:.4g}"
    )
    short = min(EARLY, rounds)
    series = ("a long game", rounds, 1), ("early rounds", short, EARLY)
    played, so_far = trio(target).series(words, "counter", *series)
    if so_far.verdict != "CONSISTENT":
        return so_far
    free = lower(d)
    scale = (1 + (ROOT_2 - 1) * np.eye(d, d + 1))[free]
    for games, (name, length, count) in zip(played, series, strict=True):
        found = games.noise[..., free] / scale
        known = noise_of(view, target.stream(f"noise of {name}"), count, length, int(free.sum()))
        wrong = np.abs(found - known) > DIGITS * (np.abs(known).max() + view.noise.sigma)
        if wrong.any():
            game, t, _ = np.argwhere(wrong)[0]
            size = np.linalg.norm(found[game, t]) / (np.linalg.norm(known[game, t]) + TINY)
            text = f"the noise of release {t + 1:,} is not that of {view.counter.title} with the same numbers"
            return replace(so_far, verdict="VIOLATION", found=f"{text}: its norm is {size:.3g} times that")
    mu = view.counter.sensitivity() * setting.known().row_norm() ** 2 / view.noise.sigma
    return accounted(target, so_far, mu)
