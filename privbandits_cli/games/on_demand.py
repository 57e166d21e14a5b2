"""Arms that are drawn only if they may be played.

In each round one arm has the mean `best`, <θ, x>, and is otherwise a random direction. The others are independent and
uniformly random unit vectors, given that their means are in [low, high]. An optimistic learner plays the arm with the
largest score, <θ~, x> + β √(x' V^-1 x).

The best arm is drawn first, and then only those arms whose scores exceed its score, as `games.contenders` proposes
them. If that takes many proposals, a higher level is tried first. If no arm exceeds the level, a lower level follows.
It is then known that no arm exceeds the earlier level, so an arm that does is drawn again. If even that does not help,
all arms are drawn. What is never drawn has no effect, so the game keeps its law. But which numbers are drawn depends on
θ~, so each algorithm meets a θ and arms of its own.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from privbandits_cli.games.contenders import (
    SHORT,
    any_cell,
    chance,
    contenders_room,
    coordinate,
    dot,
    fit_envelope,
    propose,
    score,
)
from privbandits_cli.games.ellipsoid import beta, copy
from privbandits_cli.numerics.jit import Record, Records, borrow, borrower, cached_per_mode, compile_step, once, record
from privbandits_cli.numerics.sfc64 import fill_normal, source, uniform
from privbandits_cli.numerics.types import Floats

SOME = 40.0  # arms that are proposed at most, in the mean, at the first level
FEWER = 12.0  # a round with more proposals than these plus 1.5 times those after the last Λ is worth a new Λ
NEXT = 3.0  # proposals in a round; while there are no more, the shares serve later rounds
FEW = 1.0  # while fewer would be proposed, a lower level serves more rounds
DOWN = 4.0  # times as many are proposed at the next level
MOST = 0.25  # the largest share of the arms to be proposed at the first level; at twice that, all arms are drawn
LATER = 256  # τ and κ are kept for t/256 rounds
SHORTEST, LONGEST = 0.05, 0.7  # the smallest and the largest step of ln τ and ln κ
CLOSE = 1.6  # times as many or as few proposals as wanted are close enough
STEPS = 40
NOTHING = 1e-100  # proposals; fewer say nothing of the slope
TRIES = 64


class ArmLaw(NamedTuple):
    """The law of a round's arms: the mean of the best, and the least and largest mean of the others."""

    best: float
    low: float
    high: float


class LazyArms(NamedTuple):
    """What an algorithm's `choose` gets in place of arms `[d, k]`."""

    shape: tuple[int, int]  # d, k
    records: Records
    table: Floats  # room for the arms, `[d, k]`, if the learner reads all of them


def new_crowd(crowd: ArmLaw, dimension: int, n_arms: int, lasting: bool, rng: Generator) -> Records:
    """The record of a crowd; θ is a random direction. lasting: V^-1 only becomes smaller.

    ValueError for means that no unit vectors have.
    """
    if not (dimension >= 2 and -1 <= crowd.low < crowd.high <= crowd.best < 1):
        raise ValueError(f"no unit vectors in {dimension} dimensions have the means of {crowd}")
    from scipy import stats

    d, law = dimension, stats.beta((dimension - 1) / 2, (dimension - 1) / 2)  # the law of (1 + <θ, x>)/2
    high, low = (1 + crowd.high) / 2, (1 + crowd.low) / 2
    return record(
        t=0,
        best=crowd.best,
        low=crowd.low,
        high=crowd.high,
        lasting=lasting,
        others=n_arms - 1,
        share=law.cdf(high) - law.cdf(low) if low < 0.5 else law.sf(low) - law.sf(high),  # directions in range
        nearest=np.arccos(crowd.high),  # the angles of these means, and the largest sine between them
        farthest=np.arccos(crowd.low),
        widest=1.0 if crowd.low < 0 < crowd.high else math.sqrt(1 - min(crowd.low**2, crowd.high**2)),
        theta=direction(d, rng),
        place=0,  # the number of the best arm
        arm=0,  # the arm chosen so far
        x=np.zeros(d),  # its coordinates
        most=0.0,  # and its score
        front=np.zeros(d),  # the best arm's coordinates
        other=np.zeros(d),
        asked=0,  # the last round with a choice, and what it depended on:
        estimate=np.zeros(d),
        inverse=np.zeros((d, d)),
        wide=0.0,
        ceiling=np.inf,  # the scores of the arms that are not drawn are known to be at most this
        level=0.0,  # the level l for which `shares` was computed
        first=0.0,  # l, of the last round with a level above the best arm's
        scale=0.0,  # about how much l rises if e times fewer arms are proposed
        fresh=0.0,  # arms proposed after Λ was computed
        due=0,  # the round in which τ or κ is improved
        turn=0,  # 0: τ, 1: κ
        steps=np.full(2, LONGEST),  # the next steps of ln τ and ln κ
        **contenders_room(d),
        **source(rng),
    )


def direction(dimension: int, rng: Generator) -> Floats:
    """A random direction, `[d]`."""
    x = rng.standard_normal(dimension)
    x /= np.linalg.norm(x)
    return x


# ------------------------------------------------------------------------------------------------- the arms


def deal(dealer: LazyArms, t: int) -> LazyArms:
    """The next round's best arm; the others wait for the choice."""
    crowd = dealer.records[0]
    crowd.t += 1
    crowd.place = int(uniform(crowd.words) * (crowd.others + 1))
    draw_best(crowd, crowd.front)
    choose_arm(crowd, crowd.place, crowd.front)
    return dealer


def choose_arm(crowd: Record, arm: int, x: Floats) -> None:
    """Choose this arm so far."""
    crowd.arm = arm
    for i in range(len(x)):
        crowd.x[i] = x[i]


def draw_best(crowd: Record, x: Floats) -> None:
    """Set x to the best arm: its mean, and a random direction orthogonal to θ."""
    square = 0.0
    while square < SHORT:
        fill_normal(crowd.words, crowd, crowd.normals)
        along = dot(crowd.theta, crowd.normals)
        for i in range(len(x)):
            x[i] = crowd.normals[i] - along * crowd.theta[i]
        square = dot(x, x)
    size = np.sqrt((1.0 - crowd.best * crowd.best) / square)
    for i in range(len(x)):
        x[i] = crowd.best * crowd.theta[i] + size * x[i]


def draw_other(crowd: Record, x: Floats) -> None:
    """Set x to one of the other arms: a random direction, or after some tries one that is turned to a mean in range."""
    mean = np.inf
    for _ in range(TRIES):
        fill_normal(crowd.words, crowd, crowd.normals)
        over = 1.0 / np.sqrt(dot(crowd.normals, crowd.normals))
        for i in range(len(x)):
            x[i] = over * crowd.normals[i]
        mean = dot(crowd.theta, x)
        if crowd.low <= mean <= crowd.high:
            return
    new = coordinate(crowd.words, crowd.nearest, crowd.farthest, crowd.widest, len(x) - 2)
    across = 0.0
    for i in range(len(x)):
        x[i] -= mean * crowd.theta[i]
        across += x[i] * x[i]
    size = np.sqrt((1.0 - new * new) / across)
    for i in range(len(x)):
        x[i] = new * crowd.theta[i] + size * x[i]


def deal_all(dealer: LazyArms, t: int) -> LazyArms:
    """The next round, with all arms in the dealer's table, for a learner that reads them itself."""
    crowd, arms = deal(dealer, t).records[0], dealer.table
    for a in range(arms.shape[1]):
        if a != crowd.place:
            draw_other(crowd, crowd.other)
        for i in range(len(arms)):
            arms[i, a] = crowd.front[i] if a == crowd.place else crowd.other[i]
    return dealer


def arms_of(dealer: LazyArms) -> LazyArms:
    """What `choose` gets in place of arms: `optimistic` draws the arms that it needs."""
    return dealer


def all_arms_of(dealer: LazyArms) -> Floats:
    """What `choose` gets where all arms are drawn, `[d, k]`."""
    return borrow(dealer.table)


def take(dealer: LazyArms, arm: int, x: Floats) -> tuple[float, float]:
    """Copy an arm to x; returns its mean and the largest mean of the round.

    If the arm is neither the choice nor the best, it is drawn now, in each call: a random one of the others, given that
    its score does not exceed that of the choice. A game makes one call in a round.
    """
    crowd = dealer.records[0]
    if arm != crowd.arm:
        if arm == crowd.place:
            choose_arm(crowd, arm, crowd.front)
        else:
            ceiling = crowd.most if crowd.asked == crowd.t else np.inf
            draw_below(crowd, ceiling, crowd.estimate, crowd.inverse, crowd.wide)
            choose_arm(crowd, arm, crowd.other)
    for i in range(len(x)):
        x[i] = crowd.x[i]
    return crowd.best if arm == crowd.place else dot(crowd.theta, x), crowd.best


def take_any(dealer: LazyArms, arm: int, x: Floats) -> tuple[float, float]:
    """`take` for a game in which all arms are drawn."""
    crowd = dealer.records[0]
    for i in range(len(x)):
        x[i] = dealer.table[i, arm]
    return crowd.best if arm == crowd.place else dot(crowd.theta, x), crowd.best


# ----------------------------------------------------------------------------------------------- the choice


def optimistic(state: Record, arms: LazyArms) -> int:
    """An arm with the largest <θ~, x> + β √(x' V^-1 x), `ellipsoid.optimistic` of a crowd."""
    crowd, theta, inverse, wide = arms.records[0], state.theta, state.inverse, beta(state)
    if crowd.asked == crowd.t:
        raise ValueError("`optimistic(state, arms)` was called twice in a round: remove `optimistic = True`")
    crowd.asked, crowd.wide, crowd.ceiling = crowd.t, wide, np.inf
    copy(inverse, crowd.inverse)
    for i in range(len(theta)):
        crowd.estimate[i] = theta[i]
    crowd.most = score(crowd.x, theta, inverse, wide, crowd.row)
    top, few = np.divide(crowd.most, wide), wanted(crowd)
    moved = keep_up(crowd, theta, inverse, wide, top)
    while moved < np.inf and few < crowd.others:
        level = max(top, level_for(crowd, top, moved, few))
        if not proposals(crowd) < 2.0 * MOST * crowd.others:
            break
        draw_above(crowd, wide * level, theta, inverse, wide)
        if crowd.arm != crowd.place or not level > top:
            return int(crowd.arm)
        crowd.ceiling = min(crowd.ceiling, wide * level)
        few *= DOWN
    draw_all(crowd, theta, inverse, wide)
    return int(crowd.arm)


def wanted(crowd: Record) -> float:
    """How many arms are proposed at the first level, in the mean, at most."""
    most: float = min(SOME, MOST * crowd.others)
    return most


def keep_up(crowd: Record, theta: Floats, inverse: Floats, wide: float, top: float) -> float:
    """Compute Λ anew if that pays; returns how far φ is from that of Λ, infinity if there is no Λ."""
    moved = distance(crowd.phi, theta, wide)
    if crowd.tau > 0.0 and crowd.lasting:
        if top - moved >= crowd.level and proposals(crowd) <= NEXT:
            return moved
        found = at(crowd, top - moved)
        if found <= min(wanted(crowd), FEWER + 1.5 * crowd.fresh):
            return moved
    if not fit_envelope(crowd, theta, inverse, wide):
        return np.inf
    if crowd.t >= crowd.due:
        crowd.due = crowd.t + crowd.t // LATER
        if not improve(crowd, theta, inverse, wide, top):
            return np.inf
    crowd.fresh = at(crowd, top)
    return 0.0


def improve(crowd: Record, theta: Floats, inverse: Floats, wide: float, top: float) -> bool:
    """Try another τ or κ, in turn, and keep it if fewer arms are proposed at the same level; False if there is no Λ."""
    level, weight, steep, step = top, crowd.weight, crowd.steep, crowd.steps[crowd.turn]
    before = at(crowd, level)
    if before > CLOSE * wanted(crowd):
        level = max(top, crowd.first)
        before = at(crowd, level)
    if crowd.turn == 0:
        crowd.weight *= np.exp(step)
    else:
        crowd.steep *= np.exp(step)
    better = fit_envelope(crowd, theta, inverse, wide) and at(crowd, level) < before
    crowd.steps[crowd.turn] = (
        max(-LONGEST, min(LONGEST, 1.5 * step)) if better else -np.copysign(max(SHORTEST, 0.7 * abs(step)), step)
    )
    crowd.turn = 1 - crowd.turn
    if better:
        return True
    crowd.weight, crowd.steep = weight, steep
    return fit_envelope(crowd, theta, inverse, wide)


def distance(phi: Floats, theta: Floats, wide: float) -> float:
    """|φ - θ~/β|."""
    square, over = 0.0, np.divide(1.0, wide)
    for i in range(len(phi)):
        gap = theta[i] * over - phi[i]
        square += gap * gap
    return float(np.sqrt(square))


def at(crowd: Record, level: float) -> float:
    """The mean number of arms that are proposed in a round at this level; the crowd keeps the level."""
    crowd.level = level
    chance(crowd, level)
    return proposals(crowd)


def proposals(crowd: Record) -> float:
    """The mean number of arms that are proposed in a round at the level that is kept."""
    number: float = np.divide(crowd.others * crowd.whole, crowd.share)  # infinite if no direction has such a mean
    return number


def level_for(crowd: Record, top: float, moved: float, few: float) -> float:
    """The level of the best arm, or the one at which about `few` arms are proposed, if that is higher."""
    low = top - moved
    if low >= crowd.level and proposals(crowd) <= NEXT:
        return top
    found = proposals(crowd) if low == crowd.level else at(crowd, low)
    if found > CLOSE * few:
        level = search(crowd, max(low, crowd.first), few)
        if few <= wanted(crowd):
            crowd.first = level
        return level + moved if level > low else top
    step = crowd.scale
    while crowd.lasting and found < FEW and 0.0 < step < 0.5 * abs(low):
        last, found = crowd.level, at(crowd, low - step)
        if found > NEXT:
            at(crowd, last)
        step *= 2.0
    return top


def search(crowd: Record, level: float, few: float) -> float:
    """A level at which about `few` arms are proposed, by secants of ln z, or else by bisection."""
    if crowd.scale == 0.0:
        crowd.scale = 0.05 * (abs(level) + crowd.length)
    many, none = -np.inf, np.inf  # levels at which more and fewer arms are proposed
    before, count = 0.0, 0.0
    for _ in range(STEPS):
        found = at(crowd, level)
        if few < CLOSE * found and found < CLOSE * few:
            break
        if found > few:
            many = max(many, level)
        else:
            none = min(none, level)
        now = np.log(max(found, NOTHING))
        if count > NOTHING and found > NOTHING and found != count:
            scale = np.divide(level - before, np.log(count) - now)
            if 0.0 < scale < np.inf:
                crowd.scale = min(scale, 2.0 * crowd.scale)
        elif count > 0.0:  # no slope: all arms are proposed, or none
            crowd.scale *= 2.0
        before, count = level, found
        level += max(-2.0, min(2.0, now - np.log(few))) * crowd.scale
        if not many < level < none and -np.inf < many and none < np.inf:
            level = 0.5 * (many + none)
    return float(crowd.level)


@once
def draw_above(crowd: Record, least: float, theta: Floats, inverse: Floats, wide: float) -> None:
    """Draw the arms whose scores exceed `least`, and choose the best of them.

    The numbers of arms between those that are proposed are geometric. An arm above the ceiling is drawn again.
    """
    a, words, over = -1.0, crowd.words, np.divide(1.0, np.log1p(-crowd.whole / crowd.share))
    while True:
        a += 1.0 + np.floor(over * np.log(1.0 - uniform(words)))
        if not a < crowd.others:
            return
        if propose(crowd, any_cell(crowd), crowd.other) and crowd.low <= dot(crowd.theta, crowd.other) <= crowd.high:
            found = score(crowd.other, theta, inverse, wide, crowd.row)
            if found > crowd.ceiling:
                a -= 1.0
            elif found > least:
                prefer(crowd, int(a), found)


@once
def draw_all(crowd: Record, theta: Floats, inverse: Floats, wide: float) -> None:
    """Draw all arms, given that no score exceeds the ceiling, and choose the best."""
    for a in range(crowd.others):
        prefer(crowd, a, draw_below(crowd, crowd.ceiling, theta, inverse, wide))


@once
def draw_below(crowd: Record, ceiling: float, theta: Floats, inverse: Floats, wide: float) -> float:
    """Set `other` to an arm whose score does not exceed the ceiling; returns its score."""
    while True:
        draw_other(crowd, crowd.other)
        found = score(crowd.other, theta, inverse, wide, crowd.row)
        if not found > ceiling:
            return found


def prefer(crowd: Record, a: int, found: float) -> None:
    """Choose the arm `other`, the a-th beside the best one, if its score is the largest so far."""
    if found > crowd.most:
        crowd.most = found
        choose_arm(crowd, a + (a >= crowd.place), crowd.other)


def steps(optimist: bool) -> dict[str, Callable[..., Any]]:
    """What fills in a loop whose arms are drawn on demand; optimist: whether its learner chooses by `optimistic`."""
    if optimist:
        return {"deal_round": compile_step(deal), "arms_of": compile_step(arms_of), "take": compile_step(take)}
    own = compile_step(all_arms_of, borrow=borrower())
    return {"deal_round": compile_step(deal_all), "arms_of": own, "take": compile_step(take_any)}


@cached_per_mode
def rule() -> Callable[..., Any]:
    """The compiled `optimistic`."""
    return compile_step(optimistic)
