"""Audit of the arms that EXP3 plays, in single rounds or in blocks: one prefix, many forks with and without a canary.

The prefix, in which arm 1 becomes rare, is played once. There the canary's gain is 1 or 0. Many continuations in which
no arm earns anything are forked from each of the two states, and the draws of arm 1 are counted. The proved ε is too
large for any count to refute. The claim tested is EXP3's exact law on this game: (1, δ), or (0.02, δ) with blocks, with
the δ between the two exact laws of the count. An EXP3 that loses more than that is not EXP3.

Before that, the configured game is played with random gains. In each round the probabilities of the arms must be those
of EXP3, which follow from the gains and arms so far, and in each window of rounds the arms must be drawn with them.
"""

import math

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from privbandits_cli.accounting.exponential_weights import hockey_stick, raised
from privbandits_cli.accounting.rounding import at_most
from privbandits_cli.audit import evidence
from privbandits_cli.audit.coupling import DEEP, LONGEST
from privbandits_cli.audit.target import Target, choose, probabilities, update
from privbandits_cli.audit.twins import copy
from privbandits_cli.audit.verdict import Audit, contest, like_these
from privbandits_cli.games.bandit import Draws, Floats
from privbandits_cli.games.views import Arms
from privbandits_cli.numerics.jit import Records

CANARY = 2.0  # arm 1 is at (1 + this) times the floor when the canary is sent
ROUNDS_A_FORK = 128  # a fork takes thousands of rounds, so the budget buys fewer of them
COPIES = 8  # draws of a round's arm on copies
NUMBERS = 25.0  # the least variance of a count for the normal limit
ROUNDING = 1e-9  # of a probability


def observe_play(
    states: Records, gains: Floats, uniform: Floats, gamma: float, rest: int, hits: Floats, laws: Floats
) -> int:
    """Play the game with `gains[round]`; return the first round, from 0, whose law is not EXP3's, or -1.

    Arm 0 earns the gains; the other arms earn 1 minus them, and become rare. uniform: `[rounds, 1 + COPIES]`; rest:
    rounds of a block after its first. Filled in for each window of rounds and arm: `hits[window, arm]`, the draws on
    copies; `laws[window, arm, 2]`, their mean and variance under EXP3.
    """
    n_arms = hits.shape[1]
    sums, p, out = np.zeros(n_arms), np.zeros(n_arms), np.zeros(n_arms)
    for t in range(0, len(gains) - rest, rest + 1):
        window = int(math.log2(t + 1))
        weights = np.exp(sums - sums.max())
        p[:] = (1 - gamma) * weights / weights.sum() + gamma / n_arms
        probabilities(states[0], out)
        if np.abs(out - p).max() > ROUNDING:
            return t
        for j in range(1, uniform.shape[1]):
            copy(states, 0, 1)
            hits[window, choose(states[1], Draws(uniform[t, j], 0.0))] += 1.0
        laws[window, :, 0] += (uniform.shape[1] - 1) * p
        laws[window, :, 1] += (uniform.shape[1] - 1) * p * (1 - p)
        total, arm = 0.0, 0
        for r in range(t, t + rest + 1):
            rng = Draws(uniform[r, 0], 0.0)
            arm = choose(states[0], rng)
            gain = gains[r] if arm == 0 else 1.0 - gains[r]
            update(states[0], arm, gain, rng)
            total += gain
        sums[arm] += gamma / n_arms * total / (rest + 1) / p[arm]
    return -1


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
    strange, length = _unlike_exp3(target)
    if strange is not None:
        return Audit("VIOLATION", "EXP3's law", strange, length)
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
    law = f"(ε, δ) = ({epsilon:g}, {at_most(delta, 3)}) over {silent:,} draws after a canary at p = {p:.4g}"
    claim = f"EXP3's law: {law}"
    rng = target.stream("forks")
    x, y = (_counts(target, _sent(target, prefix, gain), forks, silent, rng) for gain in (1.0, 0.0))
    contested = contest(target, np.column_stack([x, y]).ravel(), np.tile([1.0, 0.0], forks), epsilon, delta)
    limit, most, stopped = contested.limit(), contested.refutable(), contested.stopped
    if stopped is not None:
        return Audit("VIOLATION", claim, f"refuted after {stopped} pairs of forks", stopped, limit, most)
    counts = ((x, lifted), (y, p))
    conforms = min(evidence.binomial_conformance(int(z.sum()), forks * silent, share) for z, share in counts)
    if conforms < target.alpha / 8:
        law = f"arm 1 is not drawn as EXP3 draws it (p = {conforms:.2g})"
        return Audit("VIOLATION", claim, law, forks, limit, most)
    found = f"all probabilities are EXP3's; draws conform (p = {conforms:.2g}); not refuted by {target.test}"
    played = f"a game of {length:,} rounds; {2 * forks:,} forks of {silent * rounds:,} rounds"
    later = like_these(length, target.setting.horizon)
    return Audit("CONSISTENT", claim, found, forks, limit, most, played, later)


def _unlike_exp3(target: Target[Arms]) -> tuple[str | None, int]:
    """(difference from EXP3 or None, rounds played) of the configured game."""
    from scipy import stats

    rounds, rest, n_arms = int(min(target.setting.horizon, LONGEST)), target.view.rounds - 1, target.setting.n_arms
    rng, windows = target.stream("play"), rounds.bit_length()
    hits, laws, gains = np.zeros((windows, n_arms)), np.zeros((windows, n_arms, 2)), 1.0 * (rng.random(rounds) < DEEP)
    play = target.loop(observe_play)
    numbers = rng.random((rounds, 1 + COPIES))
    stopped = play(np.repeat(target.state, 2), gains, numbers, target.view.model.gamma, rest, hits, laws)
    if stopped >= 0:
        return f"in round {stopped + 1:,} the probabilities of the arms are not those of EXP3", stopped + 1
    tested = laws[..., 1] >= NUMBERS
    unit = np.abs(hits - laws[..., 0])[tested] / np.sqrt(laws[..., 1][tested])
    p = 2 * stats.norm.sf(unit) * max(1, len(unit))
    if len(p) and p.min() < target.alpha / 8:
        window, arm = np.argwhere(tested)[int(np.argmin(p))]
        where = f"rounds {2**window:,} to {2 ** (window + 1) - 1:,}"
        return f"arm {arm + 1} is not drawn with EXP3's probability in {where} (p = {p.min():.2g})", rounds
    return None, rounds


def _rare(target: Target[Arms]) -> tuple[Records, float]:
    """The state in which arm 1 has become rare, as only the other arms earned, and the probability of arm 1."""
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
