"""Audit of the arms that EXP3 plays, in single rounds or in blocks: one prefix, many forks with and without a canary.

The prefix, in which arm 1 becomes rare, is played once. There the canary's gain is 1 or 0. Many continuations in which
no arm earns anything are forked from each of the two states, and the draws of arm 1 are counted. The proved ε is too
large for any count to refute. The claim tested is EXP3's exact law on this game: (1, δ), or (0.02, δ) with blocks, with
the δ between the two exact laws of the count. An EXP3 that loses more than that is not EXP3.
"""

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from privbandits_cli.accounting.exponential_weights import hockey_stick, raised
from privbandits_cli.accounting.rounding import at_most
from privbandits_cli.audit import evidence
from privbandits_cli.audit.target import Target, choose, update
from privbandits_cli.audit.verdict import Audit, contest
from privbandits_cli.games.bandit import Draws, Floats
from privbandits_cli.games.views import Arms
from privbandits_cli.numerics.jit import Records

CANARY = 2.0  # arm 1 is at (1 + this) times the floor when the canary is sent
ROUNDS_A_FORK = 128  # a fork takes thousands of rounds, so the budget buys fewer of them


def observe_arms(states: Records, uniform: Floats, rest: int, counts: NDArray[np.int64]) -> None:
    """Fork: each state plays on and earns nothing; `counts[fork]` is how often it starts a block with arm 1.

    uniform: `[forks, draws]`; rest: rounds of a block after its first.
    """
    for fork in range(len(states)):
        for t in range(uniform.shape[1]):
            rng = Draws(uniform[fork, t], 0.0)
            arm = choose(states[fork], rng)
            update(states[fork], arm, 0.0, rng)
            counts[fork] += arm == 0
            for _ in range(rest):
                update(states[fork], choose(states[fork], rng), 0.0, rng)


def audit_arms(target: Target[Arms]) -> Audit:
    """Fork the game where arm 1 is rare, with and without the canary's gain, and count the draws of arm 1."""
    model, rounds, forks = target.view.model, target.view.rounds, max(64, target.budget // ROUNDS_A_FORK)
    if model.gamma == 1:
        return Audit("NOT AUDITABLE", "EXP3's law", "no canary is known for uniform play", 0)
    silent = min(model.k, int(7 / model.floor))
    prefix, p = _rare(target)
    if p < model.floor * (1 - 1e-9):
        below = f"arm 1 is played with probability {p:.3g}, below EXP3's floor {model.floor:.3g}"
        return Audit("VIOLATION", "EXP3's law", below, 1)
    if p > (1 + CANARY) * model.floor:
        return Audit("NOT AUDITABLE", "EXP3's law", "within this horizon arm 1 does not become rare", 0)
    lifted = raised(model, p, model.sensitivity)
    epsilon = 1.0 if rounds == 1 else 0.02
    delta = hockey_stick(silent, lifted, p, epsilon)
    claim = f"EXP3's law: (ε, δ) = ({epsilon:g}, {at_most(delta, 3)}) over {silent} draws after a canary at p = {p:.4g}"
    rng = target.stream("forks")
    x, y = (_counts(target, _sent(target, prefix, gain), forks, silent, rng) for gain in (1.0, 0.0))
    contested = contest(target, np.column_stack([x, y]).ravel(), np.tile([1.0, 0.0], forks), epsilon, delta)
    limit, most, stopped = contested.limit(), contested.refutable(), contested.stopped
    if stopped is not None:
        return Audit("VIOLATION", claim, f"refuted after {stopped} pairs of forks", stopped, limit, most)
    counts = ((x, lifted), (y, p))
    conforms = min(evidence.binomial_conformance(int(z.sum()), forks * silent, share) for z, share in counts)
    if conforms < target.alpha / 4:
        law = f"arm 1 is not drawn as EXP3 draws it (p = {conforms:.2g})"
        return Audit("VIOLATION", claim, law, forks, limit, most)
    found = f"draws conform (p = {conforms:.2g}); not refuted by {target.test}"
    return Audit("CONSISTENT", claim, found, forks, limit, most)


def _rare(target: Target[Arms]) -> tuple[Records, float]:
    """The state after gain 1 for every arm but the first until that one is rare, and the probability of that arm."""
    model, rounds, rng = target.view.model, target.view.rounds, target.stream("prefix")
    state, out = target.state.copy(), np.empty(target.setting.n_arms)
    for _ in range(int(target.setting.horizon / rounds) + 1):
        target.steps["probabilities"](state[0], out)
        if out[0] <= (1 + CANARY) * model.floor:
            break
        draws = Draws(rng.random(), 0.0)
        for _ in range(rounds):
            arm = target.steps["choose"](state[0], draws)
            target.steps["update"](state[0], arm, float(arm != 0), draws)
    return state, float(out[0])


def _sent(target: Target[Arms], prefix: Records, gain: float) -> Records:
    """The state after arm 1 was played for a block that earned `gain` in its first round, then nothing."""
    state = prefix.copy()
    draws = Draws(0.0, 0.0)  # the number that leads to arm 1
    for t in range(target.view.rounds):
        arm = target.steps["choose"](state[0], draws)
        target.steps["update"](state[0], arm, gain if t == 0 else 0.0, draws)
    return state


def _counts(target: Target[Arms], world: Records, forks: int, silent: int, rng: Generator) -> Floats:
    """How often arm 1 is drawn in each of the forks of a world."""
    counts = np.zeros(forks, np.int64)
    loop = target.loop(observe_arms)
    at_once = max(1, 2**22 // silent)
    for first in range(0, forks, at_once):
        part = counts[first : first + at_once]
        loop(np.repeat(world, len(part)), rng.random((len(part), silent)), target.view.rounds - 1, part)
    return counts.astype(float)
