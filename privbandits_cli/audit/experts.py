"""Audit of experts that are drawn as by the shrinking dartboard. What is released is the experts, and nothing else.

Games with several tables of losses are played. In every round, the law of the next expert follows from the losses and
the experts so far, and the round's uniform numbers must draw the expert by it. Then the algorithm is the one of the
proof. A claim with δ = 0 is refuted if a sequence of experts is likelier by more than e^ε in one of two games that
differ in a loss vector; the model gives such a sequence.
"""

from typing import Any

import numpy as np

from privbandits_cli.accounting.dartboard import Dartboard
from privbandits_cli.accounting.rounding import at_least
from privbandits_cli.audit.arms import OTHERS, ROUNDING
from privbandits_cli.audit.linear_games import OTHER_LOSSES, TWINS, again, dealt, losses_of
from privbandits_cli.audit.target import Target
from privbandits_cli.audit.twins import copy
from privbandits_cli.audit.verdict import EXACT, Audit, assuming, like_these
from privbandits_cli.games.linear import Draws, Floats, choose, update
from privbandits_cli.games.views import Arms
from privbandits_cli.numerics.jit import PluginError, Records

NEEDS = "let `rng.uniform[0]` keep the expert if it is below the probability, and `rng.uniform[1]` draw one in order"
SPREAD = 2**14  # tables of uniform numbers in a round whose experts are not drawn in their order
GOLDEN = 0.6180339887498949  # the step of the second number in evenly spread pairs of numbers
NEAR = 32.0 / SPREAD  # how far the share of an expert in such tables may be from its probability, for each expert

AGREED, DRAWN, OTHER = range(3)  # what ends a game


def expert_of(states: Records, first: float, second: float, x: Floats) -> int:
    """The expert that `states[0]` plays with these two numbers, -1 if it is none. `states[1]` is scratch space."""
    copy(states, 0, 1)
    none = np.zeros(0)
    x[:] = 0.0
    choose(states[1], x, Draws(np.array([first, second]), none, none))
    best = int(np.argmax(x))
    return best if x[best] == 1.0 and np.abs(x).sum() == 1.0 else -1


def in_order(states: Records, low: float, high: float, near: float, expert: int, shares: Floats, x: Floats) -> bool:
    """Whether first numbers up to `low` keep the expert, and from `high` on the second draws the experts in order.

    The second numbers that draw an expert are an interval. Its middle is tried, and a point near each end.

    low: negative if no expert was played yet; near: how far these points are from the ends, as a share of the length.
    """
    for u in (0.0, 0.5, 1.0 - ROUNDING):
        if low >= 0.0 and not (expert_of(states, 0.0, u, x) == expert and expert_of(states, low, u, x) == expert):
            return False
    below = 0.0
    for i in range(len(shares)):
        for u in (below + near * shares[i], below + shares[i] / 2.0, below + (1.0 - near) * shares[i]):
            if not (expert_of(states, high, u, x) == i and expert_of(states, 1.0 - ROUNDING, u, x) == i):
                return False
        below += shares[i]
    return True


def follows(states: Records, law: Floats, x: Floats, counts: Floats) -> bool:
    """Whether evenly spread pairs of numbers draw the experts by this law."""
    counts[:] = 0.0
    for j in range(SPREAD):
        i = expert_of(states, (j + 0.5) / SPREAD, j * GOLDEN % 1.0, x)
        if i < 0:
            return False
        counts[i] += 1.0
    return bool(np.abs(counts / SPREAD - law).max() <= NEAR * len(law))


def observe_experts(
    states: Records, given: Floats, uniform: Floats, eta: float, p: float, draws: int
) -> tuple[int, int]:
    """Play `states[0]` with `given[round, N]`; what ended the game, and the rounds before that.

    uniform: `[round, 2 + OTHERS]`, the numbers of the round, and others for the second one.

    A game ends early when its draws might be used up, as the law then depends on draws that cannot be seen.
    """
    n, used, expert, decay = given.shape[1], 0, 0, np.log1p(-eta)
    sums, law, counts, x = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    none = np.zeros(0)
    for t in range(len(given)):
        shares = np.exp(decay * (sums - sums.min()))
        shares /= shares.sum()
        keep = (1.0 - p) * np.exp(decay * given[t - 1, expert]) if t > 0 else 0.0
        if used > draws:
            return AGREED, t
        near = min(ROUNDING, keep / 4.0, (1.0 - keep) / 4.0)
        if not in_order(states, keep - near if t > 0 else -1.0, keep + near, ROUNDING, expert, shares, x):
            law[:] = (1.0 - keep) * shares
            law[expert] += keep
            plain = in_order(states, 0.0 if t > 0 else -1.0, 1.0 - ROUNDING, 0.25, expert, shares, x)
            return OTHER if t < 2 and not plain and follows(states, law, x, counts) else DRAWN, t
        for j in range(1, len(uniform[t])):
            again = expert if t > 0 and uniform[t, 0] < keep else int(np.searchsorted(shares.cumsum(), uniform[t, j]))
            if expert_of(states, uniform[t, 0], uniform[t, j], x) != min(again, n - 1):
                return DRAWN, t
        used += uniform[t, 0] >= keep
        x[:] = 0.0
        choose(states[0], x, Draws(uniform[t, :2].copy(), none, none))
        expert = int(np.argmax(x))
        update(states[0], given[t].copy(), Draws(uniform[t, :2].copy(), none, none))
        sums += given[t]
    return AGREED, len(given)


def audit_experts(target: Target[Arms]) -> Audit:
    """Whether the algorithm draws experts as its model says, and whether its claim survives an attack on the model."""
    model, n, claim, numbers = target.view.model, target.setting.n_arms, target.claim, dealt(target)
    assert isinstance(model, Dartboard)
    if [np.unique(np.diff(mark)).tolist() for mark in numbers[3:]] != [[2], [0], [0]]:
        needs = "two numbers `rng.uniform` in each round, and no others"
        raise PluginError(f"view returned a views.Arms in the game linear, which needs {needs}", type(target.algorithm))
    calls: dict[str, Any] = {"expert_of": target.call(expert_of)}
    calls |= {"in_order": target.call(in_order, **calls), "follows": target.call(follows, **calls)}
    play, rounds, words = target.loop(observe_experts, **calls), numbers.rounds, f"{claim}: the dartboard's law"
    one = np.zeros((rounds, n))
    one[:, 0] = 1.0
    tables = [*(losses_of(target, rounds, number) for number in range(1 + TWINS)), one, 1.0 - one, 0.0 * one]
    lengths = []
    for number, given in enumerate(tables):
        own = again(target, numbers, f"experts {number}").uniform.reshape(-1, 2)
        uniform = np.hstack([own, target.stream(f"others {number}").random((rounds, OTHERS))])
        outcome, t = play(np.repeat(target.state, 2), given, uniform, model.eta, model.p, model.draws)
        if outcome == OTHER:
            return Audit("NOT AUDITABLE", words, NEEDS, t + 1)
        if outcome == DRAWN:
            return Audit("VIOLATION", words, f"in round {t + 1:,} an expert is not drawn by the dartboard's law", t + 1)
        lengths.append(t)
    played, cost = f"{len(tables)} games of {min(lengths):,} rounds or more, N = {n}", sum(lengths)
    worst = model.attack(n, int(target.setting.horizon))
    if claim.delta == 0 and worst > (1 + EXACT) * claim.epsilon:
        found = f"a loss costs at least ε = {at_least(worst)}: a sequence of experts shows it"
        return Audit("VIOLATION", words, found, cost, worst, played=played)
    text = f"every expert is drawn by the law of the proof; at δ = 0 a loss costs at least ε = {at_least(worst)}"
    later = assuming(OTHER_LOSSES, like_these(min(lengths), target.setting.horizon))
    return Audit("CONSISTENT", words, text, cost, worst, claim.epsilon, played, later)
