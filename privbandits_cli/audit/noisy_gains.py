"""Audits of bandits with noise: pairs of games with equal releases, in which all gains differ, or one at a time."""

import math
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.random import Generator

from privbandits_cli.accounting.rounding import at_most
from privbandits_cli.audit import coupling, excuses
from privbandits_cli.audit.coupling import SLACK, WEAKER, Played, Spent, game_of, pairs
from privbandits_cli.audit.lockstep import AGREED, GRAIN, compiled
from privbandits_cli.audit.target import Target
from privbandits_cli.audit.verdict import Audit, assuming, like_these
from privbandits_cli.games.views import Release

WEAKEST = 4  # releases with the least noise, whose gains are canaries
HIDDEN = 0.1  # share of ε, or of LITTLE if ε is less, that rounding may hide
LITTLE = 1e-4
UNMOVED = "no gain changes what the view names: let it name numbers that every gain changes"
ROUNDED = f"numbers of a field that differ by less than {GRAIN:g} of its largest one differ by rounding"
TOGETHER = 2**24  # rounds of all games with one other gain, about


def audit_noise(target: Target[Any]) -> Audit:
    """Whether arms follow from the releases alone, and whether these reveal more about a gain than (ε, δ) allows.

    Pairs of games with equal releases are played. First all gains differ, and then one gain at a time.
    """
    rounds, rng, loops = int(min(target.setting.horizon, coupling.LONGEST)), target.stream("couple"), compiled(target)
    canaries: set[int] = set()
    clear, worst, rounded, known = True, Spent(), False, 0.0
    most = HIDDEN * max(target.claim.epsilon, LITTLE)
    local = target.algorithm.local or isinstance(target.view, Release)
    games = f"pairs of games of {rounds:,} rounds with equal releases"
    seen = "each noisy gain" if isinstance(target.view, Release) else "all noisy numbers of the arms"
    claim = f"{target.claim} of {seen}, {'Gaussian' if target.gaussian else 'Laplace'} noise"
    unknown = Audit("NOT AUDITABLE", claim, "", 0)
    for number, pair in enumerate(pairs(rounds, target)):
        game = game_of(target, loops, pair, number, rounds)
        whole = game.all_different()
        first, chosen = whole[0], []
        clear &= first.hidden <= most
        if first.outcome == AGREED and not whole[1].excess and clear:
            cost = float(first.trace.costs[first.trace.arms == pair.best].max(initial=0.0))
            chosen = _few(first, pair.best)
            if cost > (1 + WEAKER) * known:
                chosen = _weakest(first, pair.best) if known else _canaries(first, rng)
                known = cost
        for alone, (found, spent) in enumerate(chain([whole], game.one_different(first, chosen))):
            clear, worst, rounded = clear and found.hidden <= most, max(worst, spent), rounded or found.rounded
            canaries |= {spent.gain} if alone else set()
            violation = game.violation(found, spent, local)
            excuse = excuses.of(game, found, spent) if violation else ""
            if excuse:
                return replace(unknown, found=excuse.format(target.noise))
            if violation:
                least = spent.loss if spent.excess else None  # what a leak reveals is not measured
                return Audit("VIOLATION", claim, violation, rounds, least, played=games)
    if not clear or not worst.loss:
        return replace(unknown, found=UNMOVED if clear else excuses.transformed(target))
    few = target.setting.n_arms > coupling.ARMS
    assumed = [
        like_these(rounds, target.setting.horizon),
        few * f"no arm after arm {coupling.ARMS} is ever the best one",
        (len(canaries) < rounds) * f"gains cost at most what the {len(canaries):,} cost that were changed alone",
        rounded * ROUNDED,
    ]
    at = " at δ = 0" if target.claim.delta > 0 and not target.gaussian else ""
    cost_words = f"a gain costs at most ε = {at_most(worst.loss)}{at}, exactly: less noise would be found"
    return Audit(
        "CONSISTENT",
        claim,
        f"equal releases lead to equal arms; {cost_words}",
        rounds,
        worst.loss,
        target.claim.epsilon,
        f"{games}, {len(canaries):,} with one other gain",
        assuming(*assumed),
    )


def _canaries(found: Played, rng: Generator) -> list[int]:
    """The rounds, counted from 0, whose gain is a canary, given a game without them: all of a short game.

    In a longer one they are the first rounds, those around powers of two, random ones, those around releases with the
    least noise, and those that begin a node with the least noise of its level. In a binary tree, a gain is in many
    nodes if the number of earlier plays of its arm is a multiple of a large power of two.
    """
    rounds = len(found.trace.costs)
    if rounds <= coupling.EVERY:
        return list(range(rounds))
    powers = 2 ** np.arange(int(math.log2(rounds)) + 1)
    some = rng.integers(0, rounds, min(coupling.CANARIES, TOGETHER // rounds))
    kept = [*range(8), *(powers - 2), *(powers - 1), *powers, *some, *_weakest(found), *_starts(found)]
    return sorted({int(t) for t in kept if 0 <= t < rounds})


def _starts(found: Played) -> list[int]:
    """The round of the first gain of the node that the least noise hides, for each level of the arms' binary trees."""
    arms, costs = found.trace.arms, found.trace.costs
    plays, kept = np.zeros(len(arms), np.int64), list[int]()
    for arm in np.unique(arms):
        plays[arms == arm] = np.arange(1, (arms == arm).sum() + 1)
    sizes = plays & -plays  # of the node that a play closes
    for size in np.unique(sizes):
        t = int(np.argmax(np.where(sizes == size, costs, -1.0)))
        kept.append(int(np.flatnonzero(arms == arms[t])[plays[t] - size]))
    return kept


def _few(found: Played, best: int) -> list[int]:
    """The rounds of four gains of an arm: the first one, those after a half and after most plays, and the last one."""
    own = np.flatnonzero(found.trace.arms == best)
    return sorted({int(own[i]) for i in (0, len(own) // 2, len(own) * 3 // 4, len(own) - 1)}) if len(own) else []


def _weakest(found: Played, best: int | None = None) -> list[int]:
    """The rounds of gains that the least noise hides, of one arm or of all: see `_canaries`."""
    arms, kept = found.trace.arms, set[int]()
    costs = np.where((arms == best) | (best is None), found.trace.costs, 0.0)
    costly = np.flatnonzero(costs >= (1 - SLACK) * costs.max())
    for t in [*costly[: WEAKEST // 2], *costly[-WEAKEST // 2 :]]:
        own = np.flatnonzero(arms == arms[t])
        sizes = 2 ** np.arange(len(own).bit_length())
        starts = np.searchsorted(own, t) // sizes * sizes
        kept |= set(own[np.minimum([*starts, *(starts + sizes)], len(own) - 1)].tolist())
    return sorted(kept)
