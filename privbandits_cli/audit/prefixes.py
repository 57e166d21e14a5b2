"""Audit of the noisy prefixes of losses that a leader is given, over the whole game.

Most of the noise is measured, not estimated. The audit moves the numbers of all nodes. The prefixes then show how much
noise each node has, and whether each prefix has the noise of its own nodes and no other. The cost of a loss follows.
Then a twin receives other losses in every round, while the numbers of its nodes are moved so that all prefixes stay the
same. The twin must play the same points. Top-up noise, which hides no loss, and the shape of all noise are tested by
statistics.
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.accounting import gaussian, trees
from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.audit import evidence, laws
from privbandits_cli.audit.draws import ALIKE, assumed, check_view, drawn, played, silent, step_of
from privbandits_cli.audit.evidence import ENOUGH, Conformance
from privbandits_cli.audit.prefix_games import Bench, Game, bench
from privbandits_cli.audit.target import Target
from privbandits_cli.audit.twins import carrier
from privbandits_cli.audit.verdict import EXACT, Audit, Verdict, law_words
from privbandits_cli.games.linear import Draws, Floats, Ints, Setting, loss_set
from privbandits_cli.games.views import Prefix
from privbandits_cli.numerics.jit import Records

CLEAR = 1e3  # a scale can be measured if it is this many times the rounding of a prefix
CLASSES = 64  # classes of rounds at most; the numbers of the nodes are searched for in each class
BARE = "does not have top-up noise for the levels that it lacks; if it needs none, give the view `top_up=False`"


class Law(NamedTuple):
    """The noise that a claim needs in each coordinate of a node: its scale, or its deviation if it is Gaussian.

    levels: the largest number of nodes that contain a loss; tree: whether the nodes are those of a tree; seen: μ of the
    prefixes as a share of that of all nodes of a loss, of which fresh top-up noise hides a part.
    """

    scale: float
    gaussian: bool
    levels: int
    tree: bool
    seen: float = 1.0

    @property
    def kind(self) -> str:
        """The kind of random numbers that the noise is made of."""
        return "normal" if self.gaussian else "laplace"

    def words(self) -> str:
        """The law in words."""
        return f"{'Gaussian' if self.gaussian else 'Laplace'} noise of {self.scale:.4g} a node"

    def parents(self, rounds: int) -> Ints:
        """Prefix t is prefix `parents[t]` and the node that loss t closes, `[rounds]`."""
        t = np.arange(rounds)
        return t & (t - 1) if self.tree else np.maximum(0, t - 1)

    def nodes(self, prefixes: Floats) -> Floats:
        """The part of each prefix that lies in the node closed last, `[round, N]`; prefix 0 itself."""
        own = prefixes - prefixes[self.parents(len(prefixes))]
        own[0] = prefixes[0]
        return own

    def totals(self, own: Floats) -> tuple[Floats, Ints]:
        """The sum of `own[t]` over the nodes t that contain a loss, and their number, for losses 1, 2, ..."""
        rounds = len(own)
        loss, total, met = np.arange(1, rounds), np.zeros(rounds - 1), np.zeros(rounds - 1, np.int64)
        for level in range(rounds.bit_length() if self.tree else 1):
            end = (((loss - 1) >> level) + 1) << level  # of the 2^level losses; their node if it is an odd multiple
            inside = (end < rounds) & ((end >> level) & 1 == 1) if self.tree else end < rounds
            total[inside] += own[end[inside]]
            met += inside
        return total, met


def expected(view: Prefix, setting: Setting, claim: Guarantee) -> Law:
    """The noise that the claim needs."""
    levels, (l1, l2) = view.levels or 1, loss_set(setting).changes()
    scale = levels * l1 / claim.epsilon
    if view.gaussian:
        fresh = view.levels is not None and view.top_up and not view.shared
        seen = trees.fresh_top_up(math.ceil(setting.horizon) - 1) / math.sqrt(levels) if fresh else 1.0
        scale = seen * math.sqrt(levels) * l2 / gaussian.mu_of(claim.epsilon, claim.delta)
        return Law(scale, True, levels, view.levels is not None, seen)
    return Law(scale, False, levels, view.levels is not None)


class Refuted(Exception):
    """A finding that refutes the claim."""


class Unclear(Exception):
    """A reason why an algorithm cannot be audited."""


@dataclass(frozen=True)
class Nodes:
    """The noise of all nodes of a game, as measured.

    where: the position of the number that is the noise of node t in a coordinate, `[round, N]`, -1 if there is none;
    scale: what it is multiplied with.
    """

    where: Ints
    scale: Floats


def audit_prefixes(target: Target[Prefix]) -> Audit:
    """Whether the prefixes reveal more about a loss than (ε, δ) allows, and whether the points reveal any more."""
    check_view(target, "full", target.view.gaussian)
    law = expected(target.view, target.setting, target.claim)
    table, seen = bench(target, law.kind), None
    levels = f", {(table.rounds - 1).bit_length()} levels" if law.tree else ""
    games = f"games of {played(target, table.marks)}{levels}; the noise of every node moved, every loss replaced"

    def verdict(word: Verdict, found: str) -> Audit:
        claimed = f"{target.claim} of all noisy prefixes, {law.words()}"
        return Audit(
            word, claimed, found, table.cost, seen, None, games, assumed(target, table.marks, table.first.points)
        )

    try:
        nodes = measured(table, law)
        seen = costs(law, nodes, target.claim, target.setting)
        explained(table, law, nodes)
        conforms = tested(table, law, nodes)
    except Unclear as reason:
        return verdict("NOT AUDITABLE", str(reason))
    except Refuted as finding:
        return verdict("VIOLATION", str(finding))
    noise = law_words(replace(conforms, share=None), target.alpha)
    if conforms.p < target.alpha:
        return verdict("VIOLATION", noise)
    cost = f"every node has its noise, any less would be found: a loss costs at most ε = {seen:.4g}"
    found = f"{cost}; twins play the same points; {noise}"
    return replace(verdict("CONSISTENT", found), refutable=(1 + EXACT) * target.claim.epsilon)


# ------------------------------------------------------------------------------------- the noise of the nodes


def measured(table: Bench, law: Law) -> Nodes:
    """The noise of each node, from games in which its numbers are moved.

    Raises Refuted if a node has no noise, if the noise of a prefix is not that of its own nodes alone, or if another
    step uses the same numbers.
    """
    if law.scale < CLEAR * table.slack(table.first):
        raise Unclear(f"noise of {law.scale:.2g} is lost in the rounding of sums of losses")
    where, later = located(table, law)
    size = step_of(float(np.abs(table.first.prefixes).max()) / law.scale)
    steps = size * table.target.stream("signs").choice([-1.0, 1.0], where.shape)
    others = table.own(drawn(table.target, table.marks, "second")) - table.own(table.numbers)
    shift = np.where(where >= 0, others[where], 0.0)
    games = [table.nudged(where, by, later) for by in (steps, shift)]
    once, again = (law.nodes(game.prefixes - table.first.prefixes) for game in games)
    scale = np.where(where >= 0, once / steps, 0.0)
    slack = table.slack(table.first, *games)
    silent = first_row(np.abs(scale[1:]) <= slack / size) + 1
    mixed = first_row(~(np.abs(again - scale * shift) <= slack * (1 + np.abs(shift) / size)))
    if silent < mixed:
        raise Refuted(f"no noise of its own hides the loss of round {silent:,}")
    if mixed < table.rounds:
        words = f"noise was dropped, drawn anew, or is no multiple of `rng.{law.kind}`"
        raise Refuted(f"prefix {mixed:,} does not have the noise of its nodes: {words}")
    t = min(apart(table, table.nudged(where, shift, not later), table.first))
    if t < table.rounds:
        step = "update" if later else "choose"
        raise Refuted(f"by round {t + 1:,}, `{step}` uses random numbers that are the noise of a node, too")
    return Nodes(where, scale)


def located(table: Bench, law: Law) -> tuple[Ints, bool]:
    """The position of the number of each node, `[round, N]`, and whether `choose` draws it in the next round.

    Rounds that have as many numbers, and whose nodes are of one level, have it at the same place.
    """
    mark, t = table.mark(), np.arange(1, table.rounds)
    for later in (False, True):
        start, count = (part[:-1] if not later else part[1:] for part in (mark[:-1], np.diff(mark)))
        classes, member = np.unique(np.stack([count, t & -t if law.tree else 0 * t]), axis=1, return_inverse=True)
        if classes.shape[1] > CLASSES:
            raise Unclear(f"rounds have too many different numbers of `rng.{table.kind}`: give each the same number")
        where = np.full(table.given.shape, -1)
        for own in range(classes.shape[1]):
            rows = np.flatnonzero(member == own)
            places = _moving(table, int(t[rows[0]]), later)
            where[t[rows]] = np.where(places >= 0, start[rows, None] + places, -1)
        if (where >= 0).any():
            return where, later
    anew = table.play(drawn(table.target, table.marks, "second")).prefixes
    if len(table.own(table.numbers)) == 0 and not np.array_equal(anew, table.first.prefixes):
        raise Unclear(f"the noise is not made of `rng.{table.kind}`: the audit cannot move it")
    raise Refuted("no noise of its own hides the loss of round 1")


def _moving(table: Bench, t: int, later: bool) -> Ints:
    """The number of the round that moves one coordinate of prefix t alone, `[N]`; -1 if there is none."""
    part, found = table.cut(range(t - 1, t + 1)), np.full(table.given.shape[1], -1)
    start, stop = part.mark()[int(later) :][:2]
    for k in range(stop - start):
        place = start + np.array([k])
        game = part.nudged(place, -part.own(part.numbers)[place], later)
        hit = np.flatnonzero(np.abs(game.prefixes[1] - part.first.prefixes[1]) > table.slack(table.first))
        if len(hit) == 1 and found[hit[0]] < 0:
            found[hit[0]] = k
    return found


def apart(table: Bench, game: Game, other: Game) -> tuple[int, int]:
    """The first rounds, counted from 0, in which two games have other prefixes, and other points."""
    near = ALIKE * table.target.setting.decisions().radius()
    prefixes = ~(np.abs(game.prefixes - other.prefixes) <= table.slack(game, other))
    return first_row(prefixes), first_row(~(np.abs(game.points - other.points) <= near))


def first_row(wrong: NDArray[np.bool_]) -> int:
    """The first row of `wrong[round, N]` with a True; the number of rows if there is none."""
    rows = np.flatnonzero(wrong.any(axis=1))
    return int(rows[0]) if len(rows) else len(wrong)


def costs(law: Law, nodes: Nodes, claim: Guarantee, setting: Setting) -> float:
    """The largest ε of a loss, from the noise of all nodes that contain it.

    Raises Refuted if it is above the loss's share of ε. A loss that lies in fewer nodes than the claim counts may cost
    only as much as these.
    """
    least, (l1, l2) = np.abs(nodes.scale).min(axis=1), loss_set(setting).changes()
    least[0] = np.inf  # prefix 0 closes no node
    total, met = law.totals((l2 / least) ** 2 if law.gaussian else l1 / least)
    allowed, _ = law.totals(np.full(len(least), (l2 / law.scale) ** 2 if law.gaussian else l1 / law.scale))
    allowed *= np.minimum(1.0, law.levels / met)

    def epsilon(spent: float) -> float:
        return gaussian.epsilon_of(law.seen * math.sqrt(spent), claim.delta) if law.gaussian else spent

    above = total > (1 + EXACT) * allowed
    if above.any():
        worst = int(np.argmax(np.where(above, total, 0.0)))
        t = int(np.argmax(least < (1 - EXACT) * law.scale)) or worst + 1
        share, level = least[t] / law.scale, (t & -t).bit_length() - 1
        node = f"the node that round {t:,} closes" + (f" at level {level}" if law.tree else "")
        most = f"ε = {epsilon(total[worst]):.6g} where {epsilon(allowed[worst]):.6g} is allowed"
        raise Refuted(f"the loss of round {worst + 1:,} costs {most}; {node} has {share:.6g} of its noise")
    return epsilon(float(total.max()))


# -------------------------------------------------------------------------------------------------- twins


def explained(table: Bench, law: Law, nodes: Nodes) -> None:
    """Raise Refuted if a twin, whose noise makes up for other losses, has other prefixes or plays other points."""
    for other in table.others:
        ahead = np.zeros_like(table.given)
        ahead[1:] = np.cumsum(table.given - other, axis=0)[:-1]
        shift = np.divide(law.nodes(ahead), nodes.scale, out=np.zeros_like(ahead), where=nodes.where >= 0)
        numbers = table.moved(nodes.where, shift)
        prefix, point = apart(table, table.first, table.play(numbers, given=other))
        if prefix < table.rounds and prefix <= point:
            raise Refuted(f"prefix {prefix:,} is not the sum of the losses and of noise that does not depend on them")
        if point < table.rounds:
            words = f"in round {point + 1:,}, two games with the same prefixes play different points"
            raise Refuted(f"{words}: {carrier_of(table, point, numbers, other)} carries the losses past the view")


def carrier_of(table: Bench, t: int, numbers: Draws, losses: Floats) -> str:
    """The fields of the state that make the twin with these numbers and losses play differently in this round."""
    own = table.play(rounds=range(t)).state
    other = table.play(numbers, given=losses, rounds=range(t)).state

    def first_apart(mixed: Records) -> tuple[int, int]:
        game, right = (table.play(rounds=range(t, t + 1), state=state) for state in (mixed, own))
        return apart(table, game, right)

    past = carrier(own, other, lambda mixed: first_apart(mixed) == (1, 0))  # the same prefix, another point
    return (
        past or carrier(own, other, lambda mixed: first_apart(mixed)[1] == 0) or "a random number, or several fields,"
    )


# -------------------------------------------------------------------------------------------------- statistics


def tested(table: Bench, law: Law, nodes: Nodes) -> Conformance:
    """Test the noise of the nodes, by level and by rounds, and the top-up noise, by the levels that it stands for.

    Noise that is larger than the claim needs, which wastes accuracy, not privacy, is tested at its own scale.
    """
    excess = max(1.0, float(np.abs(nodes.scale[1:]).min()) / law.scale)
    law = law._replace(scale=excess * law.scale)
    own = table.own(table.numbers)[nodes.where][1:].T.ravel()  # the scale of each was measured
    t = np.tile(np.arange(1, table.rounds), table.given.shape[1])
    groups = evidence.windows(t)
    if law.tree:
        groups |= {f"level {level}": t & -t == 1 << level for level in range((table.rounds - 1).bit_length())}
    parts = [laws.as_laplace(own, laws.log_tail(own, 1, law.gaussian))]
    parts += (topped := top_ups(table, law, nodes) if law.tree and table.target.view.top_up else {}).values()
    part = np.repeat(np.arange(len(parts)), [len(noise) for noise in parts])
    groups = {name: np.pad(held, (0, len(part) - len(own))) for name, held in groups.items() if held.sum() >= ENOUGH}
    groups |= {name: part == i for i, name in enumerate(topped, 1)}
    width = max(1e-12, table.slack(table.first) / law.scale)
    found = evidence.by_groups(np.concatenate(parts), groups, table.target.alpha, width=width)
    return replace(found, more=0.0) if excess > 1 + EXACT else found


def top_ups(table: Bench, law: Law, nodes: Nodes) -> dict[str, Floats]:
    """The top-up noise as standard Laplace numbers, by what it stands for."""
    if table.target.view.shared:
        return _shared_top_ups(table, law, nodes)
    missing = law.levels - np.bitwise_count(np.arange(table.rounds)).astype(int)
    noise = _top_up(table, nodes, table.numbers, table.rounds) / law.scale
    bare = first_row((noise == 0).all(axis=1, keepdims=True) & (missing > 0)[:, None])
    if bare < table.rounds:
        raise Refuted(f"prefix {bare:,} {BARE}")
    found = {}
    for number in np.unique(missing[missing > 0]):
        own = noise[missing == number].T.ravel()
        found[f"the top-up of {number} nodes"] = laws.as_laplace(own, laws.log_tail(own, int(number), law.gaussian))
    return found


def _top_up(table: Bench, nodes: Nodes, own: Draws, rounds: int) -> Floats:
    """The noise of each prefix without that of its nodes, `[rounds, N]`."""
    quiet = table.with_nodes(silent(table.marks), nodes.where)
    noisy, rest = (table.play(numbers, table.numbers, rounds=range(rounds)).prefixes for numbers in (own, quiet))
    return noisy - rest


def _shared_top_ups(table: Bench, law: Law, nodes: Nodes) -> dict[str, Floats]:
    """The top-up noise of each level, from several games; raises Refuted if it is not the same for all prefixes."""
    levels, found = (table.rounds - 1).bit_length(), []
    t = np.arange(1 + (1 << levels - 1))
    for game in range(math.ceil(ENOUGH / table.given.shape[1])):
        own = table.with_nodes(drawn(table.target, table.marks, f"top-up {game}"), nodes.where)
        noise = _top_up(table, nodes, own, len(t))
        each = noise[0] - noise[1 << np.arange(levels)]  # prefix 2^j lacks all levels but j
        rest = law.nodes(noise)[1:] + each[np.bitwise_count((t[1:] & -t[1:]) - 1)]
        wrong = first_row(~(np.abs(rest) <= table.slack(table.first)))
        if wrong < len(rest) or not each.all():
            raise Refuted(f"prefix {0 if wrong == len(rest) else wrong + 1:,} {BARE}")
        found.append(each / law.scale)
    return {
        f"the top-up of level {level}": laws.as_laplace(own, laws.log_tail(own, 1, law.gaussian))
        for level, own in enumerate(np.concatenate(found, axis=1))
    }
