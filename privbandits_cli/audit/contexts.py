"""Audit of the noisy sums by which a contextual learner plays: arms and rewards must act on later arms by them alone.

Games are coupled on one tape. A is played with its random numbers. A first twin has other arms and rewards; every other
twin has other arms and another reward in one round. In each round the fresh normal numbers of a twin are moved until it
releases what A does. How the release grows with each number is measured. A first game has the first twin alone. It
shows which releases have little noise, and the records before these are among those that the second game changes. If
there are few rounds, a third game has a twin for each record. In one more game with the first twin alone, some rounds
have rare numbers.

- Shown the arms of A, each twin must then play the arm of A. Otherwise data have acted past the release. This also
  holds in rounds whose V is not positive definite: what a learner then does follows from the releases.
- The moves of a twin must fit how A's release grows with the numbers. Otherwise data act on the noise.
- If each number of a release has one fresh number, the moves are the only ones that hide a record, and their Euclidean
  norm is its exact cost μ. Otherwise, as in a tree whose nodes are drawn anew, the numbers that still act are followed
  (`Layers`): all releases are then a linear function of normal numbers, and Kalman's filter gives the exact μ.
- If the claim has δ = 0, Laplace numbers are moved, each of which must be the only one that enters a number of the
  release in its round. The sum of the sizes of the moves is the exact ε of a record.

From the moves of one pair of records follow those of every other pair, and so the costliest pair. If all rounds have
the same arms, a record is the reward of the arm that is played, and the release may depend on it in any linear way.

Wishart noise is not linear in its numbers. The audit computes it again from the same numbers, as
`mechanisms.matrix_tree` does. It changes the lowest node of the first twin until the twin releases what A does. The
arms of this twin are shorter, so that the changed node stays positive definite. If the releases are the true sums with
this noise, the account of `accounting.wishart` holds for them.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from privbandits_cli.accounting import wishart
from privbandits_cli.audit import context_loops as loops
from privbandits_cli.audit.context_loops import Deal, Effects, Layers, Now, Played
from privbandits_cli.audit.tape import KNOWN, LAPLACE, MOST, NAMES, NORMAL, PLACE, UNIFORM, new_tape, rewind
from privbandits_cli.audit.target import Target, sets_of_arms, truths
from privbandits_cli.audit.twins import carrier
from privbandits_cli.audit.verdict import EXACT, Audit, assuming, judged, like_these
from privbandits_cli.games.guards import WrongArm
from privbandits_cli.games.players import Contexts
from privbandits_cli.games.views import Noisy, read
from privbandits_cli.mechanisms import matrix_tree
from privbandits_cli.numerics.jit import PluginError, Records, jit_off, record
from privbandits_cli.numerics.types import Floats, Ints

LONGEST = 2**16  # rounds of a game
NUMBERS = 2**21  # d (d + 1) times the rounds of a game, at most
GAMES, EARLY = 16, 64  # short games, and their rounds
SETS = 1021  # sets of arms; each round shows one of them
PLACES = 64  # layers whose numbers act on a release
SHORTER = 0.5  # the arms of the twins, as a share of those of A
TIED = 1e-3  # share of the rounds that may have near ties
STARTS = 8  # random starting points of the search for the costliest pair
RUN = 64  # rounds in which rewards are alike
NEVER = 2**62  # more rounds than any game has
RARE = 61  # one round in so many has rare numbers, in one game
QUIET = 4  # rounds with little noise, by each of two measures
BEFORE = 64  # rounds before the fault in which earlier noise is searched for
AFTER = 16  # rounds from the fault on whose releases must have such noise
RELEASES = 4  # releases without new noise that are tried: each must have numbers of its own from earlier rounds
REDRAWN = 4  # how often the other numbers of a round are drawn anew
FEW = 2**10  # rounds of a game, at most, in which each record is changed alone
FAULTS = {
    loops.ARM: "with the same releases but other data before, another arm is played",
    loops.DRAWS: "with the same releases but other data before, other random numbers are drawn",
    loops.BARE: "what is released depends on the data, and no fresh `rng.{}` hides it",
    loops.SCALE: "the noise depends on the data, or is not linear in `rng.{}`",
    loops.HIDDEN: "no noise of its own hides an earlier record in what is released",
    loops.OWN: "what is released depends on the arms of its own round, which no noise hides",
    loops.WILD: "what is released is not a finite number: its noise has no law",
    loops.LAW: "V or u~ is not the true sum with the Wishart noise of `mechanisms.matrix_tree` of the same numbers",
}
UNKNOWN = {
    loops.CURVED: "what is released is not linear in `rng.{}`: let the view name a true sum plus a multiple of it, "
    "before it is rounded, clipped or changed in another way",
    loops.SEVERAL: "one `rng.{}` acts on several numbers of the release: give each of them its own",
    loops.LONG: f"more than {MOST:,} random numbers are drawn in a round",
}
OF_OTHERS = "the noise of what is released is made of `rng.{}`: make it of `rng.{}`{}"
PURE = {NORMAL: "", LAPLACE: ", or claim a δ > 0 for normal noise"}
KEPT = (
    "the noise of a release is an `rng.{}` of an earlier round: draw it in the round in which the release changes, in "
    "`choose` or in the `update` before it"
)
SHARED = "several `rng.laplace` enter a number of the release in one round: let one alone enter it"


class Bench(NamedTuple):
    """The compiled loops of a target."""

    play: Callable[..., None]
    follow: Callable[..., int]
    turn: Callable[..., int]
    again: Callable[..., int]


def compiled(target: Target[Noisy], wishart: bool) -> Bench:
    """The loops with the steps of a target, which may have Wishart noise."""
    if not jit_off():
        import_module("privbandits_cli.audit.compiled")  # compiled steps know the methods of a tape
    matrix = np.ndim(read(target.state[0], target.view.values)) == 2
    calls: dict[str, Any] = {"flat": target.call(loops.flat_matrix if matrix else loops.flat_vector)}
    calls["turn"] = target.call(loops.one_turn, **calls)
    steps = loops.again, loops.measure, loops.gauge, loops.follow, loops.tied, loops.grow
    for step in (*steps, loops.conforms, loops.follow_wishart):
        calls[step.__name__] = target.call(step if wishart or step in steps else loops.unprepared, **calls)
    return Bench(target.loop(loops.play, **calls), *(calls[step] for step in ("follow", "turn", "again")))


def products(row: Floats, size: int) -> Floats:
    """What a record adds to the release: x x' and x y, or x y alone, `[C]`."""
    one, other = factors(len(row) - 1, size)
    found: Floats = row[one] * row[other]
    return found


@cache
def factors(d: int, size: int) -> tuple[Ints, Ints]:
    """For each number of a release of this size, which two numbers of a record it is the product of."""
    pairs = [(i, j) for i in range(d) for j in (*range(0 if size == d else i + 1), d)]
    one, other = np.array(pairs).T
    return one, other


def costliest(weights: Floats, known: Contexts, public: bool, rng: np.random.Generator, power: int = 2) -> float:
    """The largest Σ weights |difference of what two records add|^power, over pairs of records; found by search."""
    from scipy import optimize

    d, low = known.dimension, 0.0 if known.nonnegative else -known.reward
    rows, (one, other) = np.zeros((2, d + 1)), factors(d, len(weights))

    def cost(point: Floats, rewards: tuple[float, float]) -> float:
        arms = point.reshape(2, d)[[0, 0] if public else [0, 1]]
        rows[:, :d] = arms * (known.norm / np.maximum(1.0, np.sqrt((arms**2).sum(axis=1))))[:, None]
        rows[:, d] = rewards
        first, second = rows[:, one] * rows[:, other]
        return -float(weights @ np.abs(first - second) ** power)

    same = rng.standard_normal(d)
    points = [np.concatenate([same, same]), *rng.standard_normal((STARTS, 2 * d))]
    pairs = (known.reward, low), (known.reward, known.reward), (low, low)
    return -min(float(optimize.minimize(cost, 2 * p, (pair,), tol=1e-12).fun) for p in points for pair in pairs)


def quietest(sizes: Floats) -> list[int]:
    """The rounds of the records before the releases with the least new noise; sizes: see `Effects`.

    There are two measures. The first one is the new noise in a number of the release. The second one is this noise over
    its median in all rounds whose index, from 0, has as many trailing binary zeros. In a tree, the new nodes of these
    rounds have the same level. If one node of a level has less noise than most, so is the round of its first record.
    """
    rounds = np.arange(len(sizes))
    levels, least, share = rounds & -rounds, np.where(sizes > 0.0, sizes, np.inf), np.full(sizes.shape, np.inf)
    for c in range(sizes.shape[1]):
        for level in np.unique(levels[sizes[:, c] > 0.0]):
            same = (levels == level) & (sizes[:, c] > 0.0)
            share[same, c] = sizes[same, c] / np.median(sizes[same, c])
    by = least.min(axis=1), share.min(axis=1)
    worst = [int(np.argmin(np.where(levels == level, by[1], np.inf))) for level in np.unique(levels[1:])]
    first = [t - int(levels[t]) for t in worst if by[1][t] < 1 - EXACT]
    return [int(t) - 1 for one in by for t in np.argsort(one, kind="stable")[:QUIET] if one[t] < np.inf] + first


class Games:
    """The coupled games of a target."""

    def __init__(self, target: Target[Noisy]) -> None:
        self.target, self.known = target, target.setting.known()
        self.public, self.fixed = target.view.public, target.view.fixed
        self.kind = NORMAL if target.claim.delta > 0 else LAPLACE
        shape = np.shape(read(target.state[0], target.view.values))
        d = self.known.dimension
        self.size = shape[0] if len(shape) == 1 else d * (d + 3) // 2
        self.reward = self.known.reward if math.isfinite(self.known.reward) else 1.0
        self.bench = compiled(target, wishart="k" in target.algorithm.facts(target.setting))  # else `play` finds out
        self.longest = int(max(2, min(target.setting.horizon, LONGEST, target.budget, NUMBERS // (d * (d + 1)))))

    def canaries(self, rounds: int, quiet: Sequence[int]) -> list[int]:
        """The rounds, from 0, of the records that are changed alone: early, late and random ones, the last ones before
        a release with little noise (`quiet`), and those that a tree whose nodes are drawn anew hides worst. Counted
        from 1, these have the binary digits 1, 11, 101, 1011, 10101, ...
        """
        worst = [(2**k + 1) // 3 - 1 for k in range(1, rounds.bit_length())]
        some = self.target.stream("canaries").integers(0, rounds, 3)
        late = rounds // 2, rounds - 3, rounds - 2
        return sorted({int(t) for t in (*worst, 1, *late, *some, *quiet) if 0 <= t < rounds - 1})

    def dealt(self, name: str, rounds: int, canaries: Sequence[int] = ()) -> Deal:
        """The arms, rewards and records of a game; canaries: the rounds of records that are changed alone."""
        known, k, rng, d = self.known, self.target.setting.n_arms, self.target.stream(name), self.known.dimension
        bank = sets_of_arms(known, k, 2 * SETS, self.target.stream("arms")).reshape(2, SETS, d, k)
        bank[:, :] = bank[0, 0] if self.fixed else bank
        bank[1] *= SHORTER
        starts = np.array([-1, *canaries])
        canary = np.zeros(rounds, np.int64)
        canary[starts[1:]] = np.arange(1, len(starts))
        records = rng.standard_normal((len(starts), 2, d + 1))
        records[:, 1, :d] = records[:, 0, :d] if self.public else records[:, 1, :d]
        size = known.norm * np.array([1.0, 1.0 if self.public else 0.7])[:, None]
        records[..., :d] *= size / np.linalg.norm(records[..., :d], axis=2, keepdims=True)
        truth = truths(known, self.reward)
        records[..., d] = truth[0, d:]
        records[1::2, :, d] = records[1::2, ::-1, d]
        if known.nonnegative:
            records = np.abs(records)
        shown, numbers = rng.integers(0, SETS, (2, rounds)), rng.uniform(-1, 1, (2, rounds))
        runs = np.arange(rounds) // RUN % 8  # in some runs, rewards are good in A and bad in the twin, or the reverse
        same = np.flatnonzero(runs == 4)  # in others, all rounds have the same arms
        shown[:, same] = shown[:, same // RUN * RUN]
        numbers += np.array([[-1.0], [1.0]]) * 3.0 * (np.array([0, 0, 1, 0, 0, 0, -1, 0])[runs])
        numbers = np.clip(numbers, -1.0, 1.0)
        return Deal(bank, shown, self.public, self.fixed, numbers, truth, starts, canary, records)

    def play(self, name: str, rounds: int, canaries: Sequence[int] = (), places: int = 0, every: int = NEVER) -> Played:
        """Play games of so many rounds, with as many places for layers; one round in `every` has rare numbers."""
        deal, c, setting = self.dealt(name, rounds, canaries), self.size, self.target.setting
        n, tape = len(deal.starts), new_tape(self.target.stream(f"noise of {name}"))
        states = np.repeat(self.target.state, loops.TWINS + n + places)
        counter = matrix_tree.state(setting.horizon, self.known.dimension, self.known.row_norm() ** 2, 0.0)
        jitter = self.target.stream("jitter").uniform(-1.5, 1.5, 1009)
        where, (enters, ranks), none = np.full(MOST, -1), np.zeros((2, MOST), np.int64), np.zeros(1, np.int64)
        effects = Effects(self.kind, where, np.zeros(MOST), none, enters, ranks, jitter, np.zeros((rounds, c)))
        alive, some = np.zeros((2, places), np.int64)
        shapes = (places, c), (c, places, places), (c, places, n), (n, c)
        layers = Layers(alive, some, *map(np.zeros, shapes))
        moved, found, counters = np.zeros((n, c)), np.zeros(loops.FOUND, np.int64), record(**counter)
        words = states.view(np.int64).reshape(len(states), -1)
        rows, alike = np.zeros((2, self.known.dimension + 1)), np.zeros((2, *deal.bank.shape[2:]))
        dealt = deal, effects, layers, counters, moved, found, rows, alike, every
        played = Played(states, words, tape, tape.twin(), *dealt)
        try:
            self.bench.play(played)
        except WrongArm as error:
            arm, k, t = error.args
            message = f"choose returned arm {arm} in round {t + 1}; the arms are 0 to {k - 1}"
            raise PluginError(message, getattr(self.target.steps["choose"], "py_func", None)) from None
        if found[loops.END] == loops.GAMMAS:
            self.bench = compiled(self.target, wishart=True)
            return self.play(name, rounds, canaries, places, every)
        return played

    def cost(self, played: Played) -> float:
        """The largest μ of a record, or its largest ε by Laplace noise.

        If all rounds have the same arms, the rewards of the records are at both ends of their range already.
        """
        if self.fixed:
            most = float(played.moved[1:].sum(axis=1).max())
            return math.sqrt(most) if self.kind == NORMAL else most
        pairs = [[products(row, self.size) for row in pair] for pair in played.deal.records]
        power = 2 if self.kind == NORMAL else 1
        weights = played.moved[1:] / np.abs([one - other for one, other in pairs[1:]]) ** power
        rng, best = self.target.stream("pairs"), np.argsort(weights.sum(axis=1))[-2:]
        most = max(costliest(weights[i], self.known, self.public, rng, power) for i in best)
        return math.sqrt(most) if self.kind == NORMAL else most

    def fault(self, played: Played) -> tuple[int, Now]:
        """The arm that A plays in the round of the fault, and this round."""
        t, right = int(played.found[loops.ROUND]), np.zeros(self.size)
        now = Now(t, played.rows[0], arms_shown(played, t), played.other, right, 0.0)
        loops.still(played.other)
        arm = self.bench.again(played.states, loops.BEFORE, now, right)
        return arm, now._replace(slack=rounding(right))

    def carrier(self, played: Played) -> str:
        """The fields of a twin's state that make it play another arm than A; "" if no field does so alone."""
        states, other, rows = played.states, played.other, played.rows
        twin, (arm, now) = loops.TWINS + int(played.found[loops.TWIN]), self.fault(played)
        kept = states.copy()

        def agrees(state: Records, now: Now) -> bool:
            """Whether a twin in this state plays the arm of A."""
            states[twin] = state[0]
            return bool(self.bench.follow(states, twin, now, played.effects, np.zeros(self.size)) == arm)

        first, second = kept[twin : twin + 1], kept[loops.BEFORE : loops.BEFORE + 1]
        for row in rows:
            now = now._replace(row=row)
            if not agrees(first, now) and (fields := carrier(first, second, partial(agrees, now=now))):
                return fields
        for state, row in (
            (first[0], last_row(played)),
            (second[0], rows[0]),
        ):  # else a field that the last record changes may do so
            rewind(other, other.own.at[KNOWN])
            self.target.steps["update"](state, row[:-1], row[-1], other)
            if other.own.at[PLACE] > 0:
                return ""
        return carrier(first, second, partial(agrees, now=now._replace(t=0)))


def audit_contexts(target: Target[Noisy]) -> Audit:
    """Whether arms follow from the releases alone, and whether these reveal more about a record than (ε, δ) allows."""
    games, setting, claim = Games(target), target.setting, target.claim
    rounds, short = games.longest, min(EARLY, games.longest)
    so_far = Audit("CONSISTENT", f"{claim} of all noisy sums", "", 0, assumed=like_these(rounds, setting.horizon))
    longs, shorts = [games.play("a long game", rounds)], list[Played]()
    first = costs = longs[0]
    if first.found[loops.END] == loops.AGREED:
        if first.found[loops.MANY] and games.kind == LAPLACE:
            return replace(so_far, verdict="NOT AUDITABLE", found=SHARED)
        shorts = [games.play(f"game {game}", short) for game in range(GAMES)]
        some, places = games.canaries(rounds, quietest(first.effects.sizes)), PLACES if first.found[loops.MANY] else 0
        groups = [some, range(rounds - 1)] if rounds <= FEW else [some]
        if not first.counter["k"]:
            longs.append(games.play("a game with rare numbers", rounds, every=RARE))
            longs += [games.play("a long game", rounds, group, places) for group in groups]
        costs = longs[-1]
    shape = f"T = {int(setting.horizon):,}, d = {games.known.dimension}, {setting.n_arms} arms"
    so_far = replace(so_far, played=f"games: {len(longs)} of {rounds:,} rounds, {GAMES} of {short:,} rounds; {shape}")
    cost, assumed = 0, [so_far.assumed]
    for one in (*longs, *shorts):
        end, t = int(one.found[loops.END]), int(one.found[loops.ROUND])
        cost += t + 1
        if end == loops.AGREED and one.found[loops.TIES] > 1 + TIED * len(one.deal.canary):
            end = loops.ARM
        if end in UNKNOWN:
            return replace(so_far, verdict="NOT AUDITABLE", found=UNKNOWN[end].format(NAMES[games.kind]))
        if end != loops.AGREED:
            if excuse := excuse_of(games, one):
                return replace(so_far, verdict="NOT AUDITABLE", found=excuse, cost=cost)
            fields = games.carrier(one) if end == loops.ARM and not one.counter["k"] else ""
            words = f"in round {t + 1:,} {FAULTS[end].format(NAMES[games.kind])}"
            words += f": the field `{fields}` of the state carries them" if fields else ""
            return replace(so_far, verdict="VIOLATION", found=words, cost=cost)
    so_far = replace(so_far, cost=cost)
    if unforced := sum(int(one.found[loops.UNFORCED]) for one in (*longs, *shorts)):
        assumed.append(f"choose reads V and u~ alone, in {unforced:,} of {cost:,} rounds")
    if games.public:
        assumed.append(f"the arms of all rounds are public{', and the same' if games.fixed else ''}")
    if rows := float(first.counter["k"][0]):
        return of_wishart(target, replace(so_far, assumed=assuming(*assumed)), rows)
    if costs.found[loops.FULL]:
        assumed.append(f"records after round {costs.found[loops.ROUND]:,} cost at most what those before it cost")
    if (alone := len(costs.moved) - 1) < rounds - 1:
        assumed.append(f"records cost at most what the {alone:,} cost that were changed alone")
    return judged(replace(so_far, assumed=assuming(*assumed)), claim, games.cost(costs), normal=games.kind == NORMAL)


def of_wishart(target: Target[Noisy], so_far: Audit, rows: float) -> Audit:
    """The verdict on Wishart noise of so many rows on each node, by its account."""
    setting, claim, stated = target.setting, target.claim, target.algorithm.facts(target.setting).get("k", rows)
    if rows < (1 - EXACT) * stated:
        found = f"the Wishart noise has k = {rows:g} rows, and the algorithm states k = {stated:g}"
        return replace(so_far, verdict="VIOLATION", found=found)
    k = min(rows, wishart.MOST_FREEDOM)
    seen = wishart.epsilon(claim.delta, k - setting.known().dimension, matrix_tree.n_levels(setting.horizon))
    return judged(so_far, claim, seen, "a record", f", by the account of Wishart noise with k = {rows:g} rows")


# ------------------------------------------------------------------------------------- excuses


def excuse_of(games: Games, played: Played) -> str:
    """What to write, if these games do not refute the algorithm after all; "" if they do.

    The games move random numbers of one kind, which are drawn in the round of a release. An honest learner may hide its
    records by other noise. In the round at fault, this noise must then enter each number of the release that no moved
    number enters.
    """
    if played.found[loops.END] not in (loops.BARE, loops.HIDDEN) or played.counter["k"]:
        return ""
    now = games.fault(played)[1]
    bare = bare_numbers(games, played, now)
    other = other_kind(games, played, now, bare)
    if other >= 0:
        return OF_OTHERS.format(NAMES[other], NAMES[games.kind], PURE[games.kind])
    return KEPT.format(NAMES[games.kind]) if is_kept(games, played, bare) else ""


def bare_numbers(games: Games, played: Played, now: Now) -> list[int]:
    """The numbers of the release that no moved number enters, in which the twin at fault differs from A."""
    twin, seen = loops.TWINS + int(played.found[loops.TWIN]), np.zeros(games.size)
    games.bench.again(played.states, twin, now._replace(row=last_row(played)), seen)
    noisy = played.effects.enters[: now.tape.own.at[KNOWN]]
    return [c for c in differing(now, seen) if c not in noisy]


def last_row(played: Played) -> Floats:
    """The last record of the twin at fault."""
    t, i = played.found[loops.ROUND], played.found[loops.TWIN]
    if i == 0:
        return np.ascontiguousarray(played.rows[1])
    return np.ascontiguousarray(played.deal.records[i, 1] if t == played.deal.starts[i] + 1 else played.rows[0])


def rounding(right: Floats) -> float:
    """How far two such releases may differ by rounding."""
    return loops.DIGITS * (1.0 + float(np.abs(right).max()))


def differing(now: Now, seen: Floats) -> list[int]:
    """The numbers in which a release clearly differs from that of this round."""
    found: list[int] = np.flatnonzero(~(np.abs(seen - now.right) <= loops.CLEAR * now.slack)).tolist()
    return found


def arms_shown(played: Played, t: int) -> Floats:
    """The arms that A is shown in a round."""
    deal, canary = played.deal, played.deal.canary[t]
    arms: Floats = deal.bank[0, deal.shown[0, t]]
    return np.repeat(deal.records[canary, 0, :-1, None], arms.shape[1], 1) if canary and not deal.fixed else arms


def other_kind(games: Games, played: Played, now: Now, bare: list[int]) -> int:
    """The kind of those random numbers that are not moved and enter each of these numbers of the release; or -1."""
    tape, rng = now.tape, games.target.stream("other numbers")
    kinds = tape.dealt.kinds[: tape.own.at[KNOWN]].copy()
    for kind in {*kinds.tolist()} - {games.kind}:
        changed = set[int]()
        for _ in range(REDRAWN):
            loops.still(tape)
            own, found = np.flatnonzero(kinds == kind), np.zeros(games.size)
            drawn = tape.dealt.numbers[own]
            tape.own.moves[own] = (rng.random(len(own)) if kind == UNIFORM else 2 * drawn) - drawn
            games.bench.again(played.states, loops.BEFORE, now, found)
            changed.update(differing(now, found))
        if bare and changed.issuperset(bare):
            return int(kind)
    return -1


def is_kept(games: Games, played: Played, bare: list[int]) -> bool:
    """Whether releases from the fault on have noise of their own that was drawn in earlier rounds."""
    t = int(played.found[loops.ROUND])
    rounds = replayable(games, played, max(0, t - BEFORE), t + AFTER)
    begin = [first_effects(games, rounds, s) for s in range(len(rounds))]
    found = 0
    for q in range(min(t, BEFORE), len(rounds)):
        new = {c for c in bare if q > 0 and rounds[q][1].right[c] != rounds[q - 1][1].right[c]}
        at_once, earlier = begin[q].get(q, set()), {c for s in range(q) for c in begin[s].get(q, set())}
        if new - at_once - earlier:
            return False
        found += bool(new - at_once)
        if found == RELEASES:
            break
    return found > 0


def replayable(games: Games, played: Played, start: int, end: int) -> list[tuple[Records, Now]]:
    """The rounds from `start` to `end` of a game with the arms of A and other random numbers, to play them again.

    Each is the state before the round, and the round.
    """
    deal, d, rng = played.deal, games.known.dimension, games.target.stream("kept noise")
    states, row, found = np.repeat(games.target.state, 1), np.zeros(d + 1), list[tuple[Records, Now]]()
    tape = new_tape(rng)
    for t in range(min(end, deal.shown.shape[1])):
        tape = new_tape(rng) if t > start else tape
        rewind(tape, 0)
        before, out = states.copy(), np.zeros(games.size)
        now = Now(t, row.copy(), arms_shown(played, t), tape, out, 0.0)
        arm = games.bench.turn(states, 0, now, out)
        loops.earn(now.arms, arm, deal.truth[0], float(deal.numbers[0, t]), t, row)
        if t >= start:
            found.append((before, now._replace(slack=rounding(out))))
    return found


def first_effects(games: Games, rounds: list[tuple[Records, Now]], s: int) -> dict[int, set[int]]:
    """By round, the numbers of the release that a random number of round s changes when it first acts."""
    found: dict[int, set[int]] = {}
    own, out = rounds[s][1].tape, np.zeros(games.size)
    for j in np.flatnonzero(own.dealt.kinds[: own.own.at[KNOWN]] == games.kind).tolist():
        states = rounds[s][0].copy()
        own.own.moves[j] = 1.0
        for q, (_, now) in enumerate(rounds[s:], s):
            rewind(now.tape, now.tape.own.at[KNOWN])
            games.bench.turn(states, 0, now, out)
            if changed := differing(now, out):
                found.setdefault(q, set()).update(changed)
                break
        own.own.moves[j] = 0.0
    return found
