"""Audits of tuned algorithms: an empirical attempt to refute what each claims, valid at level alpha.

What is watched is what the proof privatises (`Algorithm.tap`):

- `release`: the noisy gain before the accept or ignore step. Every round is a canary of gain 0 or 1.
- `arms`: the arms of EXP3, or of its blocks. The prefix in which arm 1 becomes rare is played once; there the
  canary's gain is 1 or 0, and many continuations are forked in which nothing is earned. Arm 1 is counted. The claim
  put to the test is not the ledger's bound, which no count could reach, but EXP3's exact law on this game: (1, δ)
  with the δ that `canary` computes. An EXP3 that leaks more than that is not EXP3.

The auditor uses `choose`, `update`, `probabilities` and the taps alone, so an algorithm joins by declaring its tap.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from privbandits_cli.accounting.exponential_weights import hockey_stick, raised
from privbandits_cli.algorithms import exp3, mini_batch
from privbandits_cli.audit import evidence
from privbandits_cli.games.bandit import FILLS, Algorithm, Draws, Floats, Setting, composition, steps
from privbandits_cli.jit import Record, Records, compile_step
from privbandits_cli.streams import stream

Verdict = Literal["VIOLATION", "CONSISTENT", "NOT AUDITABLE"]
Test = Literal["bets", "counts"]
Steps = dict[str, Callable[..., Any]]

LEARN = 0.25  # share of the budget on which events are chosen; the rest decides
SEEN = 0.05  # level of the lower limits on ε that are reported; verdicts have the level asked for
ROUNDS_A_FORK = 128  # a fork of an EXP3 costs thousands of rounds, so the budget buys fewer


TESTS = {"bets": evidence.bet, "counts": evidence.counts}


@dataclass(frozen=True)
class Audit:
    """What an audit found."""

    verdict: Verdict
    claim: str
    found: str  # in words
    cost: int  # observations used, or all of the budget
    epsilon_seen: float | None = None  # a lower limit on ε, where the view has one
    refutable: float | None = None  # the least true ε for which this budget would have refuted the claim


def audit(
    algorithm: Algorithm,
    setting: Setting,
    alpha: float = 0.001,
    budget: int = 2**18,
    seed: int = 0,
    bound: Steps | None = None,
    state: Records | None = None,
    test: Test = "bets",
) -> Audit:
    """Audit a tuned algorithm; `bound` and `state` replace its steps and state, as a mutant's do.

    budget: rounds observed of a release; forks are budget / ROUNDS_A_FORK.
    test: `bets` stop as soon as they have won; `counts` compare Clopper-Pearson limits at the end of the budget.
    """
    bound = steps(composition(algorithm)) if bound is None else bound
    state = algorithm.state(setting) if state is None else state
    tap = algorithm.tap()
    if tap == "release":
        promised = algorithm.guarantee(setting)
        assert promised is not None
        return _audit_release(bound, state, promised.epsilon, alpha, budget, seed, test)
    if tap == "arms":
        return _audit_arms(algorithm, setting, bound, state, alpha, max(64, budget // ROUNDS_A_FORK), seed, test)
    why = "nothing is promised" if algorithm.guarantee(setting) is None else "its arms do not depend on the gains"
    return Audit("NOT AUDITABLE", "none", why, 0)


# --------------------------------------------------------------------------------------------- releases


def choose(state: Record, rng: Draws) -> int:
    """Stands for the algorithm's step until the loop is bound."""
    raise NotImplementedError


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """Stands for the algorithm's step until the loop is bound."""
    raise NotImplementedError


def released(state: Record, gain: float, rng: Draws) -> float:
    """Stands for the algorithm's tap until the loop is bound."""
    raise NotImplementedError


def watch_releases(states: Records, gains: Floats, uniform: Floats, laplace: Floats, seen: Floats) -> None:
    """Play rounds with these gains of the arm played; `seen` is what is released of each."""
    for t in range(len(gains)):
        rng = Draws(uniform[t], laplace[t])
        arm = choose(states[0], rng)
        seen[t] = released(states[0], gains[t], rng)
        update(states[0], arm, gains[t], rng)


def _audit_release(
    bound: Steps, state: Records, epsilon: float, alpha: float, budget: int, seed: int, test: Test
) -> Audit:
    """Every round a canary: gain 1 or 0 by a coin, then the noisy gain is looked at."""
    coins = stream(seed, "audit", "coins", trial=0).integers(0, 2, budget).astype(float)
    draws = _draws(seed, budget)
    seen = np.empty(budget)
    _compiled(watch_releases, bound)(state.copy(), coins, draws["uniform"], draws["laplace"], seen)
    claim = f"ε = {epsilon:.4g} of each noisy gain, Laplace noise of scale {1 / epsilon:.4g}"
    level = alpha / 2  # one half for the bet, one for the noise's law
    conforms = evidence.conformance(seen - coins, 1 / epsilon)
    learn = int(LEARN * budget)
    pairs = min(int(np.sum(coins[learn:] == c)) for c in (0, 1))
    x, y = (seen[learn:][coins[learn:] == c][:pairs] for c in (1, 0))
    early = [seen[:learn][coins[:learn] == c] for c in (1, 0)]
    event = evidence.best_event(early[0], early[1], epsilon, 0.0)
    stopped = TESTS[test](*event.hits(x, y), epsilon, 0.0, level)
    guessed = guesses_lower_limit(seen, coins, event, learn)
    most = evidence.refutable(pairs, 0.5, epsilon, 0.0, level)  # Laplace noise: half of it lies beyond the gain
    if stopped is not None:
        return Audit("VIOLATION", claim, f"refuted after {stopped} pairs of gains", 2 * stopped, guessed, most)
    if conforms < level:
        law = f"the noise is not Laplace of that scale (p = {conforms:.2g})"
        return Audit("VIOLATION", claim, law, budget, guessed, most)
    return Audit(
        "CONSISTENT", claim, f"noise conforms (p = {conforms:.2g}); not refuted by {test}", budget, guessed, most
    )


def guesses_lower_limit(seen: Floats, coins: Floats, event: evidence.Event, learn: int) -> float:
    """ε from one run: guess each coin from its noisy gain where it lies outside [0, 1], else abstain.

    For Laplace noise these are the guesses that are right with the full odds e^ε. Where the event that was learnt
    lies elsewhere (no noise, or none that is fresh) it guesses the rounds after it, and the better counts, at
    half the level each.
    """
    by_model = np.where(seen > 1, 1.0, np.where(seen < 0, 0.0, np.nan))
    by_event = np.where((seen > event.threshold) == (event.above != event.swapped), 1.0, 0.0)
    by_event[:learn] = np.nan
    limits = []
    for guess in (by_model, by_event):
        made = ~np.isnan(guess)
        right = int(np.sum(guess[made] == coins[made]))
        limits.append(evidence.epsilon_from_guesses(right, int(made.sum()), SEEN / 2))
    return max(limits)


# ------------------------------------------------------------------------------------------------- arms


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


def _audit_arms(
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
    tau = algorithm.tau if isinstance(algorithm, mini_batch.Parameters) else 1
    core = algorithm.base if isinstance(algorithm, mini_batch.Parameters) else algorithm
    assert isinstance(core, exp3.Parameters) and isinstance(tau, int)
    leak = core.leak(setting._replace(horizon=setting.horizon / tau), 1 / tau)
    silent = min(leak.k, int(7 / leak.floor))
    prefix = _rare(bound, state, leak.floor, tau, setting, stream(seed, "audit", "prefix", trial=0))
    out = np.empty(setting.n_arms)
    bound["probabilities"](prefix[0], out)
    p = float(out[0])
    lifted = raised(leak, p)
    epsilon = 1.0 if tau == 1 else 0.02
    delta = hockey_stick(silent, lifted, p, epsilon)
    claim = f"EXP3's law: ({epsilon:g}, {delta:.3g}) over {silent} draws after a canary at p = {p:.4g}"
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
    loop = _compiled(watch_arms, bound)
    at_once = max(1, 2**22 // silent)
    for first in range(0, forks, at_once):
        part = counts[first : first + at_once]
        loop(np.repeat(world, len(part)), 0.0, rng.random((len(part), silent)), tau - 1, part)
    return counts.astype(float)


def _draws(seed: int, rounds: int) -> dict[str, Floats]:
    out = {kind: np.empty(rounds) for kind in FILLS}
    for kind, fill in FILLS.items():
        fill(stream(seed, "audit", kind, trial=0), out[kind])
    return out


@cache
def _loop(template: Callable[..., None], names: tuple[tuple[str, Callable[..., Any]], ...]) -> Callable[..., None]:
    return compile_step(template, **dict(names))


def _compiled(template: Callable[..., None], bound: Steps) -> Callable[..., None]:
    """A loop over these steps, compiled once a process."""
    wanted = ("choose", "update", "released")
    return _loop(template, tuple((name, bound[name]) for name in wanted if name in bound))
