"""Audit of noisy sums of whole numbers mod M, whose noise is drawn at once: pairs of games with equal sums.

Game B has other gains than game A; their sums differ by a few deviations of the noise. When a batch of an arm ends,
both games try the same TRIES tables of random numbers. Two facts are exact:

- With the same table, the sums of both games must differ by exactly as much as their gains. Then the noise does not
  depend on gains, and a gain is in one sum. The audit measures what the last gain adds to the sum.
- Some table of A and some table of B lead to the same sum. The games go on with these, and must play the same arms.
  Otherwise a gain acts past the sums.

A sum minus its gains is noise. Each table gives one sample of this noise, given all that was released before. The
audit tests the samples against the law that the view names. For this, a random number within each whole number makes
the law continuous. The law then gives the ε of a gain.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.accounting import whole
from privbandits_cli.accounting.whole import Noise, Skellam
from privbandits_cli.audit.coupling import LONGEST
from privbandits_cli.audit.lockstep import compiled, values_settled
from privbandits_cli.audit.numbers import laplace_number
from privbandits_cli.audit.target import Target, choice, settled, trial, values
from privbandits_cli.audit.twins import AFTER, A, B, copy, leak
from privbandits_cli.audit.verdict import Audit, judged, like_these
from privbandits_cli.games.bandit import Draws, Floats
from privbandits_cli.games.views import Noisy
from privbandits_cli.numerics.bits import stream, uniform
from privbandits_cli.numerics.jit import PluginError, Records, unbound

modulus: Any = unbound  # bound when a loop is compiled

GAMES = 32
ROUNDS = 2**21  # rounds of all games, about
TRIES = 2048  # tables of random numbers for the end of a batch
SAMPLES = 64  # how many of these tables give samples of noise that are tested
LARGEST = TRIES**2 / 500.0  # deviation of the noise, in whole numbers, at most
TWICE = 16  # equal sums of one game, at least, if its noise is not far larger than LARGEST
LARGER = 1.1  # noise whose deviation is more than this multiple of the claimed one is tested at its own deviation
FEWEST = 1024  # a test of noise needs at least so many numbers
SLOTS = 2**16  # slots of a hash table of sums, a power of two

AGREED, ARM, BARE, OTHER, NUMBER, LARGE = range(6)  # what ends a pair of games
FOUND = {
    BARE: "a sum depends on gains, and its noise does not hide them",
    OTHER: "a sum is not that of its batch's gains and of noise that does not depend on gains",
    NUMBER: "the arm depends on the random number that hides its gain",
}


def drawn(word: Any, i: int) -> Draws:
    """The i-th table of a round's numbers."""
    return Draws(uniform(word, 2 * i), laplace_number(word, 2 * i + 1))


def centred(number: float, size: float) -> float:
    """A number mod `size` that is as small as possible."""
    rest: float = number - size * np.floor(number / size + 0.5)
    return rest


def distance(spread: float, unit: float) -> float:
    """By how much the gains of a batch may differ in two games, so that about 100 pairs of TRIES² have equal sums.

    Two normal numbers of deviation s differ by cs with probability 0.28 e^(-c²/4)/s, other noise does so more often.
    A distance of 1 and more is a whole number. unit: what a gain added to the last sum; it at most doubles.
    """
    s = max(1.0, 2.0 * unit * spread)
    far = spread * 2.0 * math.sqrt(max(1.0, math.log(TRIES**2 / (400.0 * s))))
    return far if far < 1.0 else math.floor(far)


def couple(
    states: Records, table: Floats, spread: float, word: Any, noise: Floats, seen: Floats
) -> tuple[int, int, int]:
    """Play the games A and B; the others, of four, are scratch space.

    table: `[arm, rounds + 2]`, the gains of A in the order of an arm's plays. B has the two gains of each pair of plays
    in reverse order. In each batch, the gains of B add up to more than those of A, or to less. spread: that of the
    noise, in units of what a gain adds.
    Filled in for each sum: `noise[sum, SAMPLES]`; `seen[sum]`, what a gain adds, the arm, the number of gains, and the
    last gain.

    Returned: what ended the games, the number of rounds before that, and the number of sums.
    """
    n_arms, rounds = len(table), table.shape[1] - 2
    plays, played = np.zeros(n_arms, np.int64), np.zeros(n_arms, np.int64)
    owed, sums, others = np.full(n_arms, distance(spread, LARGEST / spread)), np.zeros(n_arms), np.zeros(n_arms)
    ours, theirs, slots = np.zeros(TRIES), np.zeros(TRIES), np.zeros(SLOTS, np.int64)
    closed = 0
    for t in range(rounds):
        own = stream(word, t)
        rng = drawn(own, 0)
        arm = choice(states, A, rng.uniform, rng.laplace)
        if choice(states, B, rng.uniform, rng.laplace) != arm:
            return ARM, t, closed
        gain, other = table[arm, plays[arm]], table[arm, plays[arm] ^ 1]
        plays[arm] += 1
        played[arm] += 1
        more = min(owed[arm], 1.0 - other if arm % 2 == 0 else other)
        owed[arm] -= more
        other += more if arm % 2 == 0 else -more
        sums[arm] += gain
        others[arm] += other
        last, size = values(states[A])[arm], modulus(states[A])
        u, z = rng.uniform, rng.laplace
        low, high = trial(states, A, arm, 0.0, u, z), trial(states, A, arm, 1.0, u, z)
        first = second = 0
        if low != last or high != last:  # the sum is released
            unit = centred(high - low, size)
            if abs(unit) * spread > LARGEST:
                return LARGE, t, closed
            rounding = 0.0 if others[arm] == np.floor(others[arm]) else 1.0  # if a gain is neither 0 nor 1
            for i in range(TRIES):
                now = drawn(own, i)
                if choice(states, A, now.uniform, now.laplace) != arm:
                    return NUMBER, t, closed
                ours[i] = trial(states, A, arm, gain, now.uniform, now.laplace)
                theirs[i] = trial(states, B, arm, other, now.uniform, now.laplace)
                if abs(centred(theirs[i] - ours[i] - unit * (others[arm] - sums[arm]), size)) > rounding:
                    return OTHER, t, closed
                if i < SAMPLES:
                    noise[closed, i] = centred(ours[i] - unit * sums[arm], size)
            seen[closed, 0], seen[closed, 1], seen[closed, 2], seen[closed, 3] = unit, arm, played[arm], gain
            closed += 1
            first, again = -1, 0
            slots[:] = -1
            for i in range(TRIES):
                slot = int(ours[i]) & (SLOTS - 1)
                again += slots[slot] >= 0 and ours[slots[slot]] == ours[i]
                slots[slot] = i
            for i in range(TRIES):
                j = slots[int(theirs[i]) & (SLOTS - 1)]
                if j >= 0 and ours[j] == theirs[i]:
                    first, second = j, i
            if again < TWICE:  # the noise is far larger than the view says
                return LARGE, t, closed
            if first < 0:
                return BARE, t, closed
            owed[arm], sums[arm], others[arm], played[arm] = distance(spread, abs(unit)), 0.0, 0.0, 0
        for game in range(2):
            rng = drawn(own, first if game == 0 else second)
            trial(states, game, arm, gain if game == 0 else other, rng.uniform, rng.laplace)
            copy(states, AFTER, game)
        if not settled(states):
            return OTHER, t, closed
    return AGREED, rounds, closed


class Played(NamedTuple):
    """What the games showed: the noise of each sum `[sum, SAMPLES]`, other facts about it, and the rounds of a game."""

    noise: Floats
    seen: Floats
    rounds: int


def audit_sums(target: Target[Noisy]) -> Audit:
    """Whether gains act through the sums alone, and whether the noise of each sum is enough for the claim."""
    law, claim = target.view.noise, target.claim
    assert law is not None
    if isinstance(law, Skellam) and claim.delta == 0:
        lacks = "view returned Skellam noise, which needs a guarantee with δ > 0"
        raise PluginError(lacks, type(target.algorithm).view)
    words = f"{claim} of all noisy sums, {law.words}"
    if isinstance(law, Skellam) and claim.epsilon > whole.EXPONENT:
        return Audit("NOT AUDITABLE", words, f"ε > {whole.EXPONENT:g} takes probabilities that floats do not have", 0)
    rounds = int(min(target.setting.horizon, LONGEST))
    games = max(2, min(GAMES, ROUNDS // rounds))
    found = _played(target, law, games, rounds)
    if isinstance(found, str):
        return Audit("VIOLATION", words, found, games * rounds)
    if len(found.seen) * SAMPLES < FEWEST:
        few = f"only {len(found.seen)} sums have noise of at most {LARGEST:,.0f} whole numbers"
        return Audit("NOT AUDITABLE", words, few, games * rounds)
    return _judged(target, law, words, found, games)


def _played(target: Target[Noisy], law: Noise, games: int, rounds: int) -> Played | str:
    """Play pairs of games of this many rounds; a violation in words if one is found.

    Games become shorter if the noise becomes larger than can be audited.
    """
    n_arms, rng = target.setting.n_arms, target.stream("sums")
    loops, parts = compiled(target), []
    calls = {"choice": loops.choice, "trial": loops.trial, "settled": target.call(values_settled)}
    loop = target.loop(couple, **calls)
    for _ in range(games):
        table = (rng.random((n_arms, rounds + 2)) < rng.random((n_arms, 1))).astype(float)
        states, word = np.repeat(target.state, 4), rng.integers(2**64, dtype=np.uint64)
        noise, seen = np.empty((rounds, SAMPLES)), np.empty((rounds, 4))
        outcome, t, closed = loop(states, table, law.spread, word, noise, seen)
        if outcome == ARM:
            with np.errstate(over="ignore"):
                own = drawn(stream(word, t), 0)
            fields = loops.carriers(states[:1], states[1:2], own.uniform, own.laplace)
            return leak(t, "sums", "different arms", "gains", fields)
        if outcome in FOUND:
            return f"in round {t + 1:,} {FOUND[outcome]}"
        parts.append((noise[:closed].copy(), seen[:closed].copy()))
        rounds = t
    noises, numbers = zip(*parts, strict=True)
    return Played(np.concatenate(noises), np.concatenate(numbers), rounds)


def _excess(law: Noise, found: Played) -> float:
    """The deviation of the noise over that of its law, in the batches in which it is least."""
    shares = []
    for unit, gains in np.unique(np.abs(found.seen[:, [0, 2]]), axis=0).tolist():
        own = whole.masses(law, unit, 0.0)
        noise = found.noise[(np.abs(found.seen[:, [0, 2]]) == (unit, gains)).all(axis=1)]
        shares.append(float(np.mean(noise**2)) / float(2.0 * own @ np.arange(len(own)) ** 2.0))
    return math.sqrt(min(shares))


def _judged(target: Target[Noisy], law: Noise, words: str, found: Played, games: int) -> Audit:
    """Test the noise of all sums by its law, and compute what a gain costs under it."""
    claim, level = target.claim, target.alpha / 2
    units, within = np.abs(found.seen[:, 0]), target.stream("within").random(found.noise.shape)
    noise, grids = np.empty_like(found.noise), np.unique(units).tolist()
    excess = _excess(law, found)
    tested = replace(law, spread=excess * law.spread) if excess > LARGER else law
    for unit in grids:
        own = units == unit
        masses = whole.masses(tested, unit, np.abs(found.noise[own]).max())
        noise[own] = whole_as_laplace(found.noise[own], within[own], masses)

    def cost_at(share: float) -> float:
        less = replace(law, spread=share * law.spread)
        return max(whole.cost(less, unit, claim.delta) for unit in grids)

    cost = cost_at(1.0)
    each = np.repeat(found.seen, SAMPLES, axis=0)
    groups = {f"sums of {int(n):,} gains": each[:, 2] == n for n in np.unique(each[:, 2])}
    groups |= {f"sums of arm {int(arm) + 1}": each[:, 1] == arm for arm in np.unique(each[:, 1])}
    groups |= {f"sums with a last gain of {int(gain)}": each[:, 3] == gain for gain in (0, 1)}
    conforms = by_groups(noise.ravel(), groups, level)
    played = f"{games} pairs of games of {found.rounds:,} rounds with {len(found.seen):,} equal sums"
    later = like_these(found.rounds, target.setting.horizon)
    result = Audit("VIOLATION", words, law_words(conforms, level), games * found.rounds, None, None, played, later)
    if conforms.p < level:
        return result
    why = f", by the view's law of noise; a gain is in one sum, equal sums lead to equal arms; {result.found}"
    result = judged(result, claim, cost, "a gain", why)
    least = max(claim.epsilon, cost_at(conforms.share))
    return result if result.verdict == "VIOLATION" else replace(result, refutable=least)


# ------------------------------------------------------------------------------------- noise whose law is known


@dataclass(frozen=True)
class Conformance:
    """How noise compares with its law.

    p: the p-value of noise that is too small, or not of this law, over all tests (Bonferroni); where: the group of
    numbers that has this p-value; more: the p-value of noise that is merely too large, which wastes accuracy, but no
    privacy. share: if noise in the group `weakest` had this share of its scale, it would be found with probability
    0.95.
    """

    p: float
    where: str
    more: float
    share: float
    weakest: str


def by_groups(noise: Floats, groups: Mapping[str, NDArray[np.bool_]], level: float) -> Conformance:
    """Test whether numbers are independent standard Laplace noise, all together and in groups.

    noise: `[n]`, with the numbers of one release next to each other; groups: which numbers belong to each; level: the
    level of the test, on which `share` depends.

    In every group, the size is tested by Σ|noise|, whose law is Gamma(n), and the shape by the Kolmogorov-Smirnov test.
    For all numbers together, independence is tested by the correlation of the ranks of neighbours: it is not 0 if the
    numbers of one release share noise.
    """
    from scipy import stats

    parts = {"": noise} | {name: noise[members] for name, members in groups.items() if members.any()}
    sizes = {name: (len(own), float(np.abs(own).sum())) for name, own in parts.items()}
    tests = 2 * len(parts) + 1
    larger = min(1.0, tests * min(float(stats.gamma.sf(total, n)) for n, total in sizes.values()))
    scale = max(1.0, sizes[""][1] / len(noise)) if larger < level else 1.0  # larger noise is tested at its own scale
    found = {
        name: min(float(stats.gamma.cdf(total, n)), float(stats.kstest(parts[name] / scale, stats.laplace.cdf).pvalue))
        for name, (n, total) in sizes.items()
    }
    found[""] = min(found[""], _independence(noise))
    where = min(found, key=lambda name: found[name])
    weakest = min(sizes, key=lambda name: sizes[name][0])  # the group with the fewest numbers
    share = _share(sizes[weakest][0], level / tests)
    return Conformance(min(1.0, tests * found[where]), where, larger, share, weakest)


def _share(n: int, level: float) -> float:
    """The share of its scale at which the size of n Laplace numbers is found too small with probability 0.95."""
    from scipy import stats

    return float(stats.gamma.ppf(level, n) / stats.gamma.ppf(0.95, n))


def _independence(noise: Floats) -> float:
    """The p-value of the correlation of neighbours' ranks, by the normal limit."""
    from scipy import stats

    if len(noise) < FEWEST:  # too few for the normal limit
        return 1.0
    ranks = stats.laplace.cdf(noise) - 0.5
    products = 12 * ranks[1:] * ranks[:-1]  # mean 0, variance 1, uncorrelated
    return float(2 * stats.norm.sf(abs(products.sum()) / math.sqrt(len(products))))


def whole_as_laplace(noise: Floats, within: Floats, own: Floats) -> Floats:
    """Turn noise of whole numbers k into standard Laplace noise, if its law is P(k) = `own[|k|]`.

    within: uniform numbers. They make the tail probability uniform within each whole number. The sign of 0 becomes that
    of 2 `within` - 1.
    """
    size, tails = np.abs(noise).astype(np.int64), np.append(np.cumsum(own[::-1])[::-1][1:], 0.0)
    zero = size == 0
    share = np.where(zero, np.abs(2.0 * within - 1.0) / 2.0, within)
    tail = np.maximum(tails[size] + share * own[size], 1e-300)
    made: Floats = np.sign(np.where(zero, 2.0 * within - 1.0, noise)) * -np.log(2.0 * tail)
    return made


def law_words(conforms: Conformance, level: float) -> str:
    """The result of the test of the noise and its power, in words."""
    if conforms.p < level:
        where = f" in {conforms.where}" if conforms.where else ""
        return f"the noise{where} does not have this law (p = {conforms.p:.2g})"
    words = f"noise conforms (p = {conforms.p:.2g})"
    if conforms.more < level:
        words = f"noise is larger than the claim needs (p = {conforms.more:.2g})"
    return f"{words}; noise x {conforms.share:.2g} in {conforms.weakest or 'all rounds'} would be found"
