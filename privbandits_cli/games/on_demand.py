"""Arms that are drawn only as far as a learner must look at them.

The score of an arm x is <θ~, x> + β |x|, |x|² = x' V^-1 x. For a unit vector |x|² is at most the largest eigenvalue of
V^-1. So an arm whose <θ~, x> is small cannot have the largest score, and its other coordinates do not matter. At first
each arm has only its coordinates along θ and along e, the unit vector orthogonal to θ for which both span θ~. The other
coordinates are drawn for those arms alone that the bounds leave (`games.looks`). What is never drawn has no effect, so
the game keeps its law. But the numbers depend on θ~, so each algorithm meets a θ and arms of its own.

This holds for unit vectors whose directions around θ are uniform and independent, given their means. The adversary's
file has the step `meet(crowd)`: it sets the coordinates of a round's arms along θ, `first[k]`, which are their means,
and along a unit vector orthogonal to θ, `second[k]`. The game decides which vector that is. `meet` may leave out arms
that are shorter than `least` in the plane of both vectors, and list the others, in order, in `met[:n_met]`. Then the
step `meet_others(crowd)` sets what it has left out. `least` is at most the `cap` that such an adversary gives, 0
otherwise.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from privbandits_cli.games.ellipsoid import beta
from privbandits_cli.games.looks import apply, dot, look, look_at, looks_room, scale, score, shorten, without
from privbandits_cli.games.rough_scores import ROUNDING, largest_eigenvalue
from privbandits_cli.numerics.jit import Record, Records, compile_once, compile_step, kept, record, unbound
from privbandits_cli.numerics.sfc64 import source, streams_of
from privbandits_cli.numerics.types import Floats

LASTING = 16  # rounds at least for which a bound on the eigenvalues is kept where V only grows
LATER = 128  # it is kept for t/128 rounds, as by then V changes little
ROUNDED = 1e-9  # relative; more than all rounding in double precision
ALIKE = 1e-24  # if less than this share of |θ~|² is orthogonal to θ, it is rounding
MANY = 16  # coordinates, from which on most arms are short in a plane
LIKELY = 0.9  # of the length that would have been enough in the last round

Indices = NDArray[np.int64]

meet: Any = unbound
meet_others: Any = unbound


class Dealer(NamedTuple):
    """What an algorithm's `choose` gets in place of arms `[d, k]`."""

    shape: tuple[int, int]  # d, k
    records: Records
    table: Floats  # room for the arms, `[d, k]`, if the learner reads all of them


def new_crowd(dimension: int, n_arms: int, best: float, lasting: int, rng: Generator, **own: Any) -> Records:
    """The record of a crowd, with fields of the adversary's own; θ is a random direction.

    best: the largest mean of every round. lasting: for how many rounds at least a bound on the eigenvalues of V^-1 is
    kept; 0 if it is computed in every choice.
    """
    d, k, theta, own = dimension, n_arms, direction(dimension, rng), {"cap": 0.0} | own
    streams = streams_of(rng)  # before `source`, whose words are the next ones of rng
    return record(
        t=0,
        best=best,
        lasting=lasting,
        theta=theta,
        across=beside(theta),  # e
        first=np.zeros(k),  # <θ, x>, the means
        second=np.zeros(k),  # <e, x>
        along=np.zeros(k),  # <θ~, x>
        least=0.0,  # shorter arms do not matter, as far as the last round tells
        met=np.arange(k),
        n_met=k,
        asked=0,  # the last round in which e was turned
        top=0.0,  # no eigenvalue of V^-1 exceeds it
        due=0,  # the round in which it is computed anew
        powers=np.zeros((2, d, d), np.float32),
        **looks_room(d, k),
        **source(rng),
        **streams,
        **own,
    )


def direction(dimension: int, rng: Generator) -> Floats:
    """A random direction, `[d]`."""
    x = rng.standard_normal(dimension)
    x /= np.linalg.norm(x)
    return x


def beside(theta: Floats) -> Floats:
    """A unit vector orthogonal to θ, `[d]`."""
    x = np.zeros(len(theta))
    x[np.argmin(abs(theta))] = 1.0
    for _ in range(2):  # the second time without the rounding of the first
        shorten(x, without(x, theta))
    return x


# ------------------------------------------------------------------------------------------------- the arms


def deal(dealer: Dealer, t: int) -> Dealer:
    """The next round's arms, drawn along θ and across it."""
    crowd = dealer.records[0]
    crowd.t += 1
    crowd.used = 0
    list_all(crowd)
    meet(crowd)
    return dealer


def list_all(crowd: Record) -> None:
    """List all arms as met."""
    if crowd.n_met < len(crowd.met):
        crowd.n_met = len(crowd.met)
        for a in range(len(crowd.met)):
            crowd.met[a] = a


def meet_all(crowd: Record) -> None:
    """Meet the arms that were left out."""
    if crowd.n_met < len(crowd.met):
        meet_others(crowd)
        list_all(crowd)


def deal_all(dealer: Dealer, t: int) -> Floats:
    """All coordinates of the next round's arms, `[d, k]`, for a learner that reads them itself."""
    crowd, arms = deal(dealer, t).records[0], dealer.table
    for a in range(arms.shape[1]):
        x = look(crowd, a)
        for i in range(len(x)):
            arms[i, a] = x[i]
    return arms


def take(dealer: Dealer, t: int, arm: int, x: Floats) -> tuple[float, float]:
    """Copy an arm to x; returns its mean and the largest mean of the round."""
    crowd = dealer.records[0]
    found = look(crowd, arm)
    for i in range(len(x)):
        x[i] = found[i]
    return crowd.first[arm], crowd.best


def span(crowd: Record, theta: Floats) -> None:
    """Turn e so that θ and e span the learner's θ~; it stays as it is if θ~ is a multiple of θ."""
    other = crowd.other
    for i in range(len(theta)):
        other[i] = theta[i]
    square = without(other, crowd.theta)
    if square > ALIKE * dot(theta, theta):
        shorten(other, square)
        shorten(other, without(other, crowd.theta))  # again, without the rounding of the first time
        for i in range(len(theta)):
            crowd.across[i] = other[i]


# ----------------------------------------------------------------------------------------------- the choice


class Plane(NamedTuple):
    """V^-1 p for p = u θ + v e: coefficients of p' V^-1 p, and of |q|², q its part orthogonal to the plane."""

    uu: float
    uv: float
    vv: float
    q_uu: float
    q_uv: float
    q_vv: float


def optimistic(state: Record, arms: Dealer) -> int:
    """An arm with the largest <θ~, x> + β √(x' V^-1 x), `ellipsoid.optimistic` of a crowd.

    The second call in a round looks at all arms: e must stay as it is, and need not span the new θ~.
    """
    crowd, theta, inverse, wide = arms.records[0], state.theta, state.inverse, beta(state)
    again, along = crowd.asked == crowd.t, crowd.along
    if not again:
        crowd.asked = crowd.t
        span(crowd, theta)
    if crowd.t >= crowd.due:
        crowd.top = bound_of(crowd, inverse)
        crowd.due = crowd.t + (max(crowd.lasting, crowd.t // LATER) if crowd.lasting > 0 else 0)
    length, factor, plane = np.sqrt(dot(theta, theta)), max(0.0, wide), plane_of(crowd, inverse)
    rounding, short = ROUNDED * length, crowd.least * length * (1.0 + ROUNDED)
    reach = factor * np.sqrt(crowd.top) * (1.0 + ROUNDED) + rounding
    best = foremost(crowd, theta)
    left_out = crowd.n_met < len(along)
    if left_out and (again or not along[best] > short + rounding):
        meet_all(crowd)
        best = foremost(crowd, theta)
    most = score(look(crowd, best), theta, inverse, wide, crowd.row)  # it rules out most of the others
    if left_out and not short + reach < most:
        meet_all(crowd)
        foremost(crowd, theta)
    n = 0
    for c in range(crowd.n_met):
        a = crowd.met[c]
        far = along[a] + reach < most or along[a] + factor * norm_within(crowd, a, plane) + rounding < most
        if again or (not far and crowd.seen[a] == crowd.t):
            best, most = better(crowd, best, most, a, theta, inverse, wide)
        elif not far:
            crowd.near[n] = a
            n += 1
        if n == len(crowd.near) or (n > 0 and c == crowd.n_met - 1):
            best, most = best_of_near(crowd, best, most, n, theta, inverse, wide, rounding)
            n = 0
    if crowd.cap > 0.0 and len(theta) >= MANY:
        crowd.least = min(crowd.cap, max(0.0, LIKELY * np.divide(most - reach, length)))
    return best


def best_of_near(
    crowd: Record, best: int, most: float, n: int, theta: Floats, inverse: Floats, wide: float, rounding: float
) -> tuple[int, float]:
    """`better` for the arms `near[:n]`, which are drawn together; few of their scores are computed."""
    if crowd.used == 0:
        scale(crowd, inverse)
    look_at(crowd, n)
    for c in range(n):
        a = crowd.near[c]
        if not crowd.along[a] + max(0.0, wide) * np.sqrt(crowd.squares[c]) + rounding < most:
            best, most = better(crowd, best, most, a, theta, inverse, wide)
    return best, most


def better(
    crowd: Record, best: int, most: float, a: int, theta: Floats, inverse: Floats, wide: float
) -> tuple[int, float]:
    """Arm a and its score, if this is larger than the score of the best arm so far; else that arm and its score."""
    found = score(look(crowd, a), theta, inverse, wide, crowd.row)
    return (a, found) if found > most else (best, most)


def foremost(crowd: Record, theta: Floats) -> int:
    """The arm with the largest <θ~, x> of those met; sets it for all of them."""
    along, met = crowd.along, crowd.met
    on_theta, on_across = dot(theta, crowd.theta), dot(theta, crowd.across)
    if crowd.n_met == len(met):
        for a in range(len(along)):
            along[a] = on_theta * crowd.first[a] + on_across * crowd.second[a]
    else:
        for c in range(crowd.n_met):
            along[met[c]] = on_theta * crowd.first[met[c]] + on_across * crowd.second[met[c]]
    best = met[0]
    for c in range(1, crowd.n_met):
        if along[met[c]] > along[best]:
            best = met[c]
    return int(best)


def plane_of(crowd: Record, inverse: Floats) -> Plane:
    """V^-1 on the plane of θ and e."""
    unit, across, row, other = crowd.theta, crowd.across, crowd.row, crowd.other
    apply(inverse, unit, row)
    apply(inverse, across, other)
    a, b, c = dot(unit, row), dot(unit, other), dot(across, other)
    away = dot(row, row) - a * a - b * b, dot(row, other) - a * b - b * c, dot(other, other) - b * b - c * c
    return Plane(a, b, c, *away)


def norm_within(crowd: Record, a: int, plane: Plane) -> float:
    """A closer bound on |x| of arm a, from both of its coordinates in the plane; infinite if it cannot be computed.

    x = p + z with z orthogonal to the plane, so x' V^-1 x = p' V^-1 p + 2 z' V^-1 p + z' V^-1 z, where
    z' V^-1 p <= |z| |q| and z' V^-1 z <= |z|² top. |q|² is a difference, and its root is wrong by 1e-8 top or so; `top`
    exceeds the largest eigenvalue by a larger share, that of its own rounding in single precision.
    """
    u, v = crowd.first[a], crowd.second[a]
    rest = max(0.0, 1.0 - u * u - v * v)
    inside = u * u * plane.uu + 2.0 * u * v * plane.uv + v * v * plane.vv
    between = u * u * plane.q_uu + 2.0 * u * v * plane.q_uv + v * v * plane.q_vv
    square = inside + 2.0 * np.sqrt(rest * max(0.0, between)) + (rest + ROUNDED) * crowd.top
    return (1.0 + ROUNDED) * np.sqrt(square) if square > 0.0 else np.inf


def bound_of(crowd: Record, inverse: Floats) -> float:
    """An upper bound on the eigenvalues of V^-1, in single precision with its rounding; infinite for a strange V^-1."""
    scale(crowd, inverse)
    bound: float = crowd.unit * (largest_eigenvalue(crowd.scaled, crowd.powers, crowd.sums) + 2.0 * ROUNDING)
    return bound if 0.0 < bound < np.inf else np.inf


@kept
def steps(adversary: str) -> dict[str, Callable[..., Any]]:
    """What fills in a loop and its algorithm where this module's adversary draws its arms on demand."""
    module = import_module(adversary)
    meeting, others = compile_once(module.meet), compile_once(getattr(module, "meet_others", module.meet))
    everybody = compile_step(meet_all, meet_others=others)
    return {
        "optimistic": compile_step(optimistic, meet_all=everybody),
        "deal": compile_step(deal, meet=meeting),
        "deal_all": compile_step(deal_all, deal=compile_step(deal, meet=meeting)),
        "take": compile_step(take),
        "meet_all": everybody,
    }
