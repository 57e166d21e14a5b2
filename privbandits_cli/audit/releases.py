"""Audits of noisy gains and reports, in one run with a canary in every round, and of means, with one canary each."""

import numpy as np

from privbandits_cli.audit.bypass import Round
from privbandits_cli.audit.evidence import by_groups
from privbandits_cli.audit.target import Target, canary, choose, released, update, values
from privbandits_cli.audit.verdict import Audit, judge
from privbandits_cli.games.bandit import Draws, Floats
from privbandits_cli.games.views import Kept, Mean, Release, Report, read
from privbandits_cli.numerics.jit import Records

FEWEST = 1024  # numbers to test: the smallest budget


def observe_gains(
    states: Records, coins: Floats, uniform: Floats, laplace: Floats, observed: Floats, rest: int
) -> None:
    """Play rounds whose gain is one end of the canary's range; `observed` is its release, rescaled to [0, 1].

    rest: rounds of a block before the canary in its last round; their gains are at the low end, and the canary moves
    the block's mean. The release is read on a copy, `states[1]`, so that a stateful release advances once a round.
    """
    for t in range(len(coins)):
        rng = Draws(uniform[t], laplace[t])
        low, high = canary(states[0])
        for _ in range(rest):
            update(states[0], choose(states[0], rng), low, rng)
        arm = choose(states[0], rng)
        gain = high if coins[t] > 0 else low
        states[1] = states[0]
        observed[t] = (released(states[1], gain, rng) - low) / (high - low) * (rest + 1)
        update(states[0], arm, gain, rng)


def observe_kept(
    states: Records, coins: Floats, uniform: Floats, laplace: Floats, observed: Floats, again: bool
) -> None:
    """Play the same rounds; `observed` is the change of the arm's value: 0 or 1 without noise, NaN if nothing changes.

    again: every round is played from the same state, `states[2]`.
    """
    none = Draws(0.0, 0.0)
    for t in range(len(coins)):
        rng = Draws(uniform[t], laplace[t])
        if again:
            states[0] = states[2]
        arm = choose(states[0], rng)
        low, high = canary(states[0])
        states[1] = states[0]
        update(states[1], arm, low, none)
        least = values(states[1])[arm]
        states[1] = states[0]
        update(states[1], arm, high, none)
        most = values(states[1])[arm]
        update(states[0], arm, high if coins[t] > 0 else low, rng)
        observed[t] = (values(states[0])[arm] - least) / (most - least) if most != least else np.nan


def audit_release(target: Target[Release]) -> Audit:
    """Every round is a canary: a coin puts the gain at one end of its range, and the noisy gain is observed."""
    if _bypassed(target):
        claim = f"ε = {target.claim.epsilon:.4g} of each noisy gain"
        more = "two gains with the same release lead to different arms: more is used than is released"
        return Audit("VIOLATION", claim, more, 2)
    coins, observed = _observed(target, np.repeat(target.state, 2), target.budget)
    conforms = by_groups(target.claim.epsilon * (observed - coins), {}, target.alpha / 2)
    return judge(target, observed, coins, "gain", conforms)


def audit_report(target: Target[Report]) -> Audit:
    """Whether the stored report of a canary reveals more about it than ε allows, in every round."""
    return moved_from_outside(target, target.state) or _audit_kept(target, target.state, "report", again=False)


def audit_mean(target: Target[Mean]) -> Audit:
    """Whether the first mean, after gains of 0, reveals more about its last gain than ε allows."""
    view, state = target.view, target.state.copy()
    if view.played and view.length:
        state[view.played] = state[view.length] - 1
    return moved_from_outside(target, state) or _audit_kept(target, state, "mean", again=True)


def _audit_kept(target: Target[Kept], state: Records, what: str, again: bool) -> Audit:
    rounds = target.budget
    coins, observed = target.coins(rounds), np.empty(rounds)
    uniform, laplace = target.numbers("uniform", rounds), target.numbers("laplace", rounds)
    target.loop(observe_kept)(np.repeat(state, 3), coins, uniform, laplace, observed, again)
    moved = ~np.isnan(observed)  # an elimination algorithm with one arm left stores no gains
    if moved.sum() < FEWEST:
        few = f"only {moved.sum()} gains change a {what}"
        return Audit("NOT AUDITABLE", f"ε = {target.claim.epsilon:.4g}", few, rounds)
    noise = target.claim.epsilon * (observed - coins)[moved]
    return judge(target, observed[moved], coins[moved], what, by_groups(noise, {}, target.alpha / 2))


def moved_from_outside(target: Target[Kept], state: Records) -> Audit | None:
    """The violation if gains are unbounded and one far outside the canary's range moves what is kept further than it.

    state: before that gain.
    """
    if target.algorithm.bounded:
        return None
    low, high = target.at(target.view.canary)(state[0])
    kept, none = [], Draws(0.0, 0.0)
    for gain in (low, high, 1000 * low - high, 1000 * high - low):
        fork = state.copy()
        arm = target.steps["choose"](fork[0], none)
        target.steps["update"](fork[0], arm, gain, none)
        kept.append(float(read(fork[0], target.view.values)[arm]))
    slack = 1e-9 * (max(kept[:2]) - min(kept[:2]))
    if min(kept) >= min(kept[:2]) - slack and max(kept) <= max(kept[:2]) + slack:
        return None
    return Audit("VIOLATION", str(target.claim), "a gain outside the canary's range moves more than that range", 4)


def _bypassed(target: Target[Release]) -> bool:
    """Whether the next arm depends on the gain other than through its release.

    The high end under no noise and the low end under noise of ε scales should be released as one number, up to
    rounding; if they are, the probabilities of the next arm must be the same, too. Some rounds are played before,
    as an algorithm may ignore its first gains.
    """
    steps, begun, draws = target.steps, np.repeat(target.state, 2), Draws(0.3, 0.0)
    low, high = target.at(target.view.canary)(target.state[0])
    _observed(target, begun, FEWEST)
    for _ in range(target.view.rounds - 1):
        steps["update"](begun[0], steps["choose"](begun[0], draws), low, draws)

    def play(gain: float, noise: float) -> Round:
        fork, copy, out = begun[:1].copy(), begun[:1].copy(), np.empty(target.setting.n_arms)
        rng = Draws(0.3, noise)
        arm = steps["choose"](fork[0], rng)
        noisy = np.array(steps["released"](copy[0], gain, rng))
        steps["update"](fork[0], arm, gain, rng)
        steps["probabilities"](fork[0], out)
        return Round(noisy, out)

    first, twin = play(high, 0.0), play(low, target.claim.epsilon)
    same = np.isclose(first.released, twin.released, rtol=1e-9)
    return bool(same) and not np.allclose(first.points, twin.points, rtol=1e-9, atol=0)


def _observed(target: Target[Release], states: Records, rounds: int) -> tuple[Floats, Floats]:
    """The coins of a run and the releases, `[rounds]` each; `states`, two of them, are played on."""
    coins, observed = target.coins(rounds), np.empty(rounds)
    uniform, laplace = target.numbers("uniform", rounds), target.numbers("laplace", rounds)
    target.loop(observe_gains)(states, coins, uniform, laplace, observed, target.view.rounds - 1)
    return coins, observed
