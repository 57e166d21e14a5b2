"""Audit of the arms that EXP3 plays, in single rounds or in blocks. What is released is the arms, and nothing else.

Games with several tables of gains are played. In every round the probabilities of the arms must be those of EXP3, which
follow from the gains and arms so far, and the round's uniform number must draw the arm with them. Then the algorithm is
the one of the proof.

In a second game one gain is different, and the same arms are played. The logarithm of the ratio of the probabilities of
these arms, all together, is a lower limit on ε, without statistics. The proved ε is larger: it holds for the worst
arms. A claim is also refuted if it is below the ε that an attack on the model finds (`accounting.exponential_weights`).
"""

import numpy as np

from privbandits_cli.accounting.exponential_weights import ExponentialWeights, attack, pure_attack
from privbandits_cli.accounting.rounding import at_least
from privbandits_cli.audit.coupling import DEEP, LONGEST
from privbandits_cli.audit.lockstep import choose_on_copy
from privbandits_cli.audit.target import Target, choice, choose, inside, probabilities, update
from privbandits_cli.audit.twins import A, B
from privbandits_cli.audit.verdict import EXACT, Audit, like_these
from privbandits_cli.games.bandit import Draws, Floats
from privbandits_cli.games.views import Arms
from privbandits_cli.numerics.jit import Records

ROUNDING = 1e-9  # rounding error of a probability
ROUGH = 0.01  # relative error of the attack's ε, as it computes with mean weights
OTHERS = 8  # further uniform numbers that draw an arm, in every round
STRATA = 2**14  # uniform numbers that are tried in a round whose arms are not drawn in their order
SOME = 64  # such rounds in which the STRATA numbers are tried: the first ones, and as many random ones

AGREED, LAW, DRAWN, BLOCK = range(4)  # what ends a game
FOUND = {
    LAW: "the probabilities of the arms are not those of EXP3",
    DRAWN: "an arm is not drawn with EXP3's probability",
    BLOCK: "another arm is played before the block of the last one ends",
}


def ordered(states: Records, p: Floats, some: Floats) -> bool:
    """Whether the uniform number draws the arms in their order with these probabilities. `states[AFTER]` is scratch.

    It tries both ends and the middle of the numbers of each arm, and `some` further numbers.
    """
    below = 0.0
    for arm in range(len(p)):
        near = min(ROUNDING, p[arm] / 4.0)
        for u in (below + near, below + p[arm] / 2.0, below + p[arm] - near):
            if choice(states, A, u, 0.0) != arm:
                return False
        below += p[arm]
    for u in some:
        arm = choice(states, A, u, 0.0)
        below = p[:arm].sum()
        if not below - ROUNDING <= u <= below + p[arm] + ROUNDING:
            return False
    return True


def drawn(states: Records, p: Floats, some: Floats, lengths: Floats) -> bool:
    """Whether the uniform number draws the arms with these probabilities, in any order.

    Where two numbers that are about 1/STRATA apart draw different arms, the number between them is found at which the
    arm changes. some: random numbers; lengths: scratch space. Arms that are rarer than that may be overlooked.
    """
    lengths[:] = 0.0
    last, start, before, missed = -1, 0.0, 0.0, 1e-6
    for j in range(STRATA + 1):
        u = min((j + some[j % len(some)]) / STRATA, 1.0 - 2.0**-53)
        arm = choice(states, A, u, 0.0)
        if j > 0 and arm != last:
            low, high = before, u
            for _ in range(40):
                middle = (low + high) / 2.0
                if choice(states, A, middle, 0.0) == last:
                    low = middle
                else:
                    high = middle
            lengths[last] += high - start
            start = high
        last, before = arm, u
    lengths[last] += 1.0 - start
    for rare in p:
        missed += rare if rare < 2.0 / STRATA else 0.0
    return bool(np.abs(lengths - p).max() <= missed)


def observe_play(
    states: Records, n_arms: int, gains: Floats, uniform: Floats, gamma: float, rest: int, best: int, canary: int
) -> tuple[int, int, float]:
    """Play the game A with `gains[round]`.

    The arm `best` earns the gains, the others earn 1 minus them. uniform: `[rounds, 1 + OTHERS]`; rest: rounds of a
    block after its first; canary: the round in which B earns another gain. Returned: what ended the game, the rounds
    before that, and the log-ratio of the probabilities of all arms of A in both games.
    """
    loose, ratio = 0, 0.0
    sums, p, out, others = np.zeros(n_arms), np.zeros(n_arms), np.zeros(n_arms), np.zeros(n_arms)
    for t in range(0, len(gains) - rest, rest + 1):
        weights = np.exp(sums - sums.max())
        p[:] = (1 - gamma) * weights / weights.sum() + gamma / n_arms
        probabilities(states[A], out)
        if not np.abs(out - p).max() <= ROUNDING:
            return LAW, t, ratio
        if not ordered(states, p, uniform[t]) and (loose < SOME or uniform[t, -1] * len(gains) < SOME):
            loose += 1
            if not drawn(states, p, uniform[t], others):
                return DRAWN, t, ratio
        probabilities(states[B], others)
        first, total = 0, 0.0
        for r in range(t, t + rest + 1):
            rng = Draws(uniform[r, 0], 0.0)
            arm = choose(states[A], rng)
            first = arm if r == t else first
            if arm != first:
                return BLOCK, r, ratio
            gain = gains[r] if arm == best else 1.0 - gains[r]
            choose(states[B], rng)
            update(states[A], arm, gain, rng)
            update(states[B], arm, 1.0 - gain if r == canary else gain, rng)
            total += gain
        ratio += np.log(out[first] / others[first])
        sums[first] += gamma / n_arms * total / (rest + 1) / p[first]
    return AGREED, len(gains), ratio


def audit_arms(target: Target[Arms]) -> Audit:
    """Whether the algorithm is EXP3, and whether the arms of some games reveal more about a gain than ε allows."""
    model, rest, n_arms = target.view.model, target.view.rounds - 1, target.setting.n_arms
    rounds, rng = int(min(target.setting.horizon, LONGEST)), target.stream("play")
    assert isinstance(model, ExponentialWeights)
    if rounds <= rest:
        return Audit("NOT AUDITABLE", "EXP3's law", f"no block of {rest + 1:,} rounds ends in this game", 0)
    tries = {"choice": target.call(choose_on_copy)}
    play = target.loop(observe_play, ordered=target.call(ordered, **tries), drawn=target.call(drawn, **tries))
    tables = [((rng.random(rounds) < DEEP).astype(float), 0), (inside(rng, rounds), n_arms - 1)]
    tables += [(np.ones(rounds), arm) for arm in {0, n_arms - 1}]  # all other arms become rare
    worst, claim = 0.0, "EXP3's law, in every round"
    for gains, best in tables:
        canary, numbers = int(rng.integers(0, rounds - rest)), rng.random((rounds, 1 + OTHERS))
        plan = gains, numbers, model.gamma, rest, best, canary
        outcome, t, ratio = play(np.repeat(target.state, 3), n_arms, *plan)
        if outcome != AGREED:
            return Audit("VIOLATION", claim, f"in round {t + 1:,} {FOUND[outcome]}", t + 1)
        worst = max(worst, float(abs(ratio)))
    played, cost = f"{len(tables)} games of {rounds:,} rounds", rounds * len(tables)
    if worst > (1 + EXACT) * target.claim.epsilon and target.claim.delta == 0:
        found = f"a gain costs at least ε = {at_least(worst)}, for the arms of a game"
        return Audit("VIOLATION", claim, found, cost, worst, played=played)
    delta, bases = target.claim.delta, {0.0, 1.0 - model.sensitivity}
    least = max(attack(model, delta, base) if delta > 0 else pure_attack(model, base) for base in bases)
    if (1 - ROUGH) * least > target.claim.epsilon:
        found = f"in this model of EXP3 an attack finds a gain that costs at least ε = {at_least(least)}"
        return Audit("VIOLATION", claim, found, cost, least, played=played)
    cost_seen = f"given the arms of a game a gain cost ε = {at_least(worst)}"
    found = f"every probability is that of EXP3, and every draw follows it; {cost_seen}"
    later = like_these(rounds, target.setting.horizon)
    return Audit("CONSISTENT", claim, found, cost, worst, target.claim.epsilon, played, later)
