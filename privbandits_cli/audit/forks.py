"""Audit of the arms of EXP3 and of its blocks: one prefix, many forks with and without a canary's gain."""

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from privbandits_cli.accounting.exponential_weights import hockey_stick, raised
from privbandits_cli.algorithms import exp3, mini_batch
from privbandits_cli.audit import evidence
from privbandits_cli.audit.verdict import LEARN, SEEN, TESTS, Audit, Steps, Test, choose, compiled, update
from privbandits_cli.games.bandit import Algorithm, Draws, Floats, Setting
from privbandits_cli.numerics.jit import Records
from privbandits_cli.numerics.streams import stream


def watch_arms(states: Records, gain: float, uniform: Floats, rest: int, counts: NDArray[np.int64]) -> None:
    """Fork: each state plays on, `gain` for every arm; `counts[fork]` is how often it starts a block with arm 1.

    uniform: `[forks, draws]`; rest: rounds of a block after its first.
    """
    for fork in range(len(states)):
        for t in range(uniform.shape[1]):
            rng = Draws(uniform[fork, t], 0.0)
            arm = choose(states[fork], rng)
            update(states[fork], arm, gain, rng)
            counts[fork] += arm == 0
            for _ in range(rest):
                update(states[fork], choose(states[fork], rng), gain, rng)


CANARY = 2.0  # arm 1 is at (1 + this) times the floor when the canary is sent


def audit_arms(
    algorithm: Algorithm,
    setting: Setting,
    bound: Steps,
    state: Records,
    alpha: float,
    forks: int,
    seed: int,
    test: Test,
) -> Audit:
    """Fork the game where arm 1 is rare, with and without the canary's gain, and count arm 1 in silence."""
    tau, core = (algorithm.tau, algorithm.base) if isinstance(algorithm, mini_batch.Tuned) else (1, algorithm)
    if not isinstance(core, exp3.Tuned) or core.gamma == 1:
        return Audit("NOT AUDITABLE", "EXP3's law", "no canary is known for blocks of blocks, or for uniform play", 0)
    leak = core.leak(setting._replace(horizon=setting.horizon / tau), 1 / tau)
    silent = min(leak.k, int(7 / leak.floor))
    prefix = _rare(bound, state, leak.floor, tau, setting, stream(seed, "audit", "prefix", trial=0))
    out = np.empty(setting.n_arms)
    bound["probabilities"](prefix[0], out)
    p = float(out[0])
    if p < leak.floor * (1 - 1e-9):
        below = f"arm 1 is played with probability {p:.3g}, below EXP3's floor {leak.floor:.3g}"
        return Audit("VIOLATION", "EXP3's law", below, 1)
    if p > (1 + CANARY) * leak.floor:
        return Audit("NOT AUDITABLE", "EXP3's law", "within this horizon arm 1 does not become rare", 0)
    lifted = raised(leak, p, leak.sensitivity)
    epsilon = 1.0 if tau == 1 else 0.02
    delta = hockey_stick(silent, lifted, p, epsilon)
    claim = f"EXP3's law: (ε, δ) = ({epsilon:g}, {delta:.3g}) over {silent} draws after a canary at p = {p:.4g}"
    rng = stream(seed, "audit", "forks", trial=0)
    worlds = [_sent(bound, prefix, first_gain, tau) for first_gain in (1.0, 0.0)]
    x, y = (_counts(bound, world, forks, silent, tau, rng) for world in worlds)
    learn = int(LEARN * forks)
    hits = evidence.best_event(x[:learn], y[:learn], epsilon, delta).hits(x[learn:], y[learn:])
    limit = evidence.epsilon_from_counts(*hits, delta, SEEN)
    most = evidence.refutable(forks - learn, float(hits[0].mean()), epsilon, delta, alpha / 2)
    stopped = TESTS[test](*hits, epsilon, delta, alpha / 2)
    if stopped is not None:
        return Audit("VIOLATION", claim, f"refuted after {stopped} pairs of forks", stopped, limit, most)
    counts = ((x, lifted), (y, p))
    conforms = min(evidence.binomial_conformance(int(z.sum()), forks * silent, share) for z, share in counts)
    if conforms < alpha / 4:
        law = f"arm 1 is not drawn as EXP3 draws it (p = {conforms:.2g})"
        return Audit("VIOLATION", claim, law, forks, limit, most)
    return Audit("CONSISTENT", claim, f"draws conform (p = {conforms:.2g}); not refuted by {test}", forks, limit, most)


def _rare(bound: Steps, state: Records, floor: float, tau: int, setting: Setting, rng: Generator) -> Records:
    """Play with gain 1 for every arm but the first until that is rare, at the start of a block."""
    state = state.copy()
    out = np.empty(setting.n_arms)
    for _ in range(int(setting.horizon / tau)):
        bound["probabilities"](state[0], out)
        if out[0] <= (1 + CANARY) * floor:
            break
        draws = Draws(rng.random(), 0.0)
        for _ in range(tau):
            arm = bound["choose"](state[0], draws)
            bound["update"](state[0], arm, float(arm != 0), draws)
    return state


def _sent(bound: Steps, prefix: Records, gain: float, tau: int) -> Records:
    """The state after arm 1 was played for a block that earned `gain` in its first round, then nothing."""
    state = prefix.copy()
    draws = Draws(0.0, 0.0)  # the number that leads to arm 1
    for t in range(tau):
        arm = bound["choose"](state[0], draws)
        bound["update"](state[0], arm, gain if t == 0 else 0.0, draws)
    return state


def _counts(bound: Steps, world: Records, forks: int, silent: int, tau: int, rng: Generator) -> Floats:
    """How often arm 1 is drawn in each of the forks of a world."""
    counts = np.zeros(forks, np.int64)
    loop = compiled(watch_arms, bound)
    at_once = max(1, 2**22 // silent)
    for first in range(0, forks, at_once):
        part = counts[first : first + at_once]
        loop(np.repeat(world, len(part)), 0.0, rng.random((len(part), silent)), tau - 1, part)
    return counts.astype(float)
