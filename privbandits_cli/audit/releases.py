"""Audits of noisy numbers: gains and reports, in one run with every round a canary, and means, with one canary each."""

from collections.abc import Callable
from typing import Literal

import numpy as np

from privbandits_cli.audit import evidence
from privbandits_cli.audit.verdict import (
    SEEN,
    Audit,
    Contest,
    Steps,
    Test,
    canary,
    choose,
    compiled,
    contest,
    refuted_share,
    released,
    update,
)
from privbandits_cli.games.bandit import Draws, Floats
from privbandits_cli.games.steps import SOURCES
from privbandits_cli.numerics.jit import Records
from privbandits_cli.numerics.streams import stream

Watch = Callable[..., None]

FEWEST = 1024  # numbers to judge, as the least budget


def watch_gains(states: Records, coins: Floats, uniform: Floats, laplace: Floats, rest: int, seen: Floats) -> None:
    """Play rounds in which the gain is one end of the canary's range; `seen` is its release, the range made [0, 1].

    rest: rounds of a block before the canary, its last, at the low end; the canary then moves their mean.
    `states[1]` is a copy on which the tap is taken, so that a release that keeps a state advances once a round.
    """
    for t in range(len(coins)):
        rng = Draws(uniform[t], laplace[t])
        low, high = canary(states[0])
        for _ in range(rest):
            update(states[0], choose(states[0], rng), low, rng)
        arm = choose(states[0], rng)
        gain = high if coins[t] > 0 else low
        states[1] = states[0]
        seen[t] = (released(states[1], gain, rng) - low) / (high - low) * (rest + 1)
        update(states[0], arm, gain, rng)


def watch_reports(states: Records, coins: Floats, uniform: Floats, laplace: Floats, seen: Floats) -> None:
    """Play such rounds; `seen` is what the sum of the arm's reports gains by it, from 0 to 1 without noise.

    NaN where nothing is kept of a gain.
    """
    none = Draws(0.0, 0.0)
    for t in range(len(coins)):
        rng = Draws(uniform[t], laplace[t])
        arm = choose(states[0], rng)
        low, high = canary(states[0])
        states[1] = states[0]
        update(states[1], arm, low, none)
        least = states[1].sums[arm]
        states[1] = states[0]
        update(states[1], arm, high, none)
        most = states[1].sums[arm]
        update(states[0], arm, high if coins[t] > 0 else low, rng)
        seen[t] = (states[0].sums[arm] - least) / (most - least) if most != least else np.nan


def watch_means(states: Records, coins: Floats, uniform: Floats, laplace: Floats, seen: Floats) -> None:
    """Play one such round, which completes a mean, again and again; `seen` is the mean, as with reports."""
    none = Draws(0.0, 0.0)
    low, high = canary(states[0])
    for t in range(len(coins)):
        rng = Draws(uniform[t], laplace[t])
        states[1] = states[0]
        arm = choose(states[1], rng)
        update(states[1], arm, low, none)
        least = states[1].means[arm]
        states[1] = states[0]
        update(states[1], arm, high, none)
        most = states[1].means[arm]
        states[1] = states[0]
        update(states[1], arm, high if coins[t] > 0 else low, rng)
        seen[t] = (states[1].means[arm] - least) / (most - least) if most != least else np.nan


def audit_release(
    bound: Steps,
    state: Records,
    n_arms: int,
    rest: int,
    epsilon: float,
    alpha: float,
    budget: int,
    seed: int,
    test: Test,
) -> Audit:
    """Every round a canary: the gain is at one end of its range by a coin, then the noisy gain is looked at.

    rest: where one number is released of a block of rounds, how many come before the canary, its last.
    """
    if _sees_more(bound, state, epsilon, n_arms, rest, seed):
        claim = f"ε = {epsilon:.4g} of each noisy gain"
        more = "two gains under noise that makes them one release lead to different arms: more is used than is released"
        return Audit("VIOLATION", claim, more, 2)
    coins, seen = _watch(watch_gains, bound, np.repeat(state, 2), budget, seed, rest)
    return judge(seen, coins, epsilon, "gain", alpha, test)


def audit_kept(
    bound: Steps,
    state: Records,
    tap: Literal["report", "mean"],
    epsilon: float,
    alpha: float,
    budget: int,
    seed: int,
    test: Test,
) -> Audit:
    """Whether what `update` keeps of a canary tells more of it than ε: of every round, or of the one state given."""
    template = watch_reports if tap == "report" else watch_means
    coins, seen = _watch(template, bound, np.repeat(state, 2), budget, seed)
    moved = ~np.isnan(seen)  # as soon as one arm is left, an elimination keeps nothing
    if moved.sum() < FEWEST:
        return Audit("NOT AUDITABLE", f"ε = {epsilon:.4g}", f"only {moved.sum()} gains move a {tap}", budget)
    return judge(seen[moved], coins[moved], epsilon, tap, alpha, test)


def completing(state: Records) -> Records:
    """The first state, or where epochs are longer than a round that before an epoch's last gain, after gains of 0."""
    last = state.copy()
    if "cycle" in (state.dtype.names or ()):
        last["cycle"] = last["cycles"] - 1
    return last


def reaches_further(bound: Steps, state: Records, field: str) -> bool:
    """Whether a gain beyond the canary's range moves what is kept in this field further than the range does."""
    low, high = bound["canary"](state[0])
    kept, none = [], Draws(0.0, 0.0)
    for gain in (low, high, 1000 * low - high, 1000 * high - low):
        fork = state.copy()
        arm = bound["choose"](fork[0], none)
        bound["update"](fork[0], arm, gain, none)
        kept.append(float(fork[0][field][arm]))
    slack = 1e-9 * (max(kept[:2]) - min(kept[:2]))
    return min(kept) < min(kept[:2]) - slack or max(kept) > max(kept[:2]) + slack


def _watch(
    template: Watch, bound: Steps, states: Records, budget: int, seed: int, *given: int
) -> tuple[Floats, Floats]:
    """The coins of a run and what was seen of them, `[budget]` each; `states`, two of them, are played on."""
    coins = stream(seed, "audit", "coins", trial=0).integers(0, 2, budget).astype(float)
    draws, seen = _draws(seed, budget), np.empty(budget)
    compiled(template, bound)(states, coins, draws["uniform"], draws["laplace"], *given, seen)
    return coins, seen


def judge(
    seen: Floats,
    coins: Floats,
    epsilon: float,
    what: str,
    alpha: float,
    test: Test,
    law: str = "Laplace noise of scale 1/ε of what it may move",
    conforms: float | None = None,
) -> Audit:
    """The verdict on releases of 0 and 1 by the coins, under noise of this law.

    conforms: the p-value of the noise, if it has not the same scale 1/ε in all rounds, nor its canary the same weight:
    what the budget refutes is then found by trying less of that noise.
    """
    claim, level = f"ε = {epsilon:.4g} of each noisy {what}, {law}", alpha / 2  # half for the bet, half for the law

    def met(share: float) -> Contest:
        """The bet, had there been this share of the noise."""
        less = seen if share == 1 else coins + share * (seen - coins)
        return contest(less, coins, epsilon, 0.0, level, test)

    found, varies = met(1.0), conforms is not None
    guessed = guesses_lower_limit(seen, coins, found.event, found.learn)
    if conforms is None:
        conforms = evidence.conformance(seen - coins, 1 / epsilon)
    most = None if varies else found.refutable(epsilon, 0.0, level, 0.5)  # half of the noise lies beyond the gain
    if found.stopped is not None:
        said = f"refuted after {found.stopped} pairs"
        return Audit("VIOLATION", claim, said, 2 * found.stopped, guessed, most)
    if conforms < level:
        said = f"the noise does not have that law (p = {conforms:.2g})"
        return Audit("VIOLATION", claim, said, len(seen), guessed, most)
    if varies and (share := refuted_share(lambda share: met(share).stopped is not None)):
        most = epsilon / share
    said = f"noise conforms (p = {conforms:.2g}); not refuted by {test}"
    return Audit("CONSISTENT", claim, said, len(seen), guessed, most)


def _sees_more(bound: Steps, state: Records, epsilon: float, n_arms: int, rest: int, seed: int) -> bool:
    """Whether the next arm depends on the gain by another way than what is released of it.

    The high end under no noise and the low end under noise of ε scales should be released as one number, up to
    rounding; if they are, the probabilities of the next arm must be the same, too. Some rounds are played before,
    as an algorithm may begin by looking at no gain.
    """
    seen, after = [], []
    low, high = bound["canary"](state[0])
    begun = np.repeat(state, 2)
    _watch(watch_gains, bound, begun, FEWEST, seed, rest)
    for _ in range(rest):
        draws = Draws(0.3, 0.0)
        bound["update"](begun[0], bound["choose"](begun[0], draws), low, draws)
    for gain, noise in ((high, 0.0), (low, epsilon)):
        fork, tapped, out = begun[:1].copy(), begun[:1].copy(), np.empty(n_arms)
        draws = Draws(0.3, noise)
        arm = bound["choose"](fork[0], draws)
        seen.append(bound["released"](tapped[0], gain, draws))
        bound["update"](fork[0], arm, gain, draws)
        bound["probabilities"](fork[0], out)
        after.append(out)
    return bool(np.isclose(seen[0], seen[1], rtol=1e-9)) and not np.allclose(after[0], after[1], rtol=1e-9, atol=0)


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


def _draws(seed: int, rounds: int) -> dict[str, Floats]:
    out = {kind: np.empty(rounds) for kind in SOURCES}
    for kind, source in SOURCES.items():
        source(stream(seed, "audit", kind, trial=0))(out[kind])
    return out
