"""Audit of a release: the noisy gain before the accept or ignore step, in one run with every round a canary."""

import numpy as np

from privbandits_cli.audit import evidence
from privbandits_cli.audit.verdict import LEARN, SEEN, TESTS, Audit, Steps, Test, choose, compiled, released, update
from privbandits_cli.games.bandit import SOURCES, Draws, Floats
from privbandits_cli.jit import Records
from privbandits_cli.streams import stream


def watch_releases(states: Records, gains: Floats, uniform: Floats, laplace: Floats, seen: Floats) -> None:
    """Play rounds with these gains of the arm played; `seen` is what is released of each.

    `states[1]` is a copy on which the tap is taken, so that a release that keeps a state advances once a round.
    """
    for t in range(len(gains)):
        rng = Draws(uniform[t], laplace[t])
        arm = choose(states[0], rng)
        states[1] = states[0]
        seen[t] = released(states[1], gains[t], rng)
        update(states[0], arm, gains[t], rng)


def audit_release(
    bound: Steps, state: Records, n_arms: int, epsilon: float, alpha: float, budget: int, seed: int, test: Test
) -> Audit:
    """Every round a canary: gain 1 or 0 by a coin, then the noisy gain is looked at."""
    coins = stream(seed, "audit", "coins", trial=0).integers(0, 2, budget).astype(float)
    draws = _draws(seed, budget)
    seen = np.empty(budget)
    compiled(watch_releases, bound)(np.repeat(state, 2), coins, draws["uniform"], draws["laplace"], seen)
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
    if _sees_more(bound, state, 1 / epsilon, n_arms):
        more = "two gains under noise that makes them one release lead to different arms: more is used than is released"
        return Audit("VIOLATION", claim, more, 2, None, most)
    if stopped is not None:
        return Audit("VIOLATION", claim, f"refuted after {stopped} pairs of gains", 2 * stopped, guessed, most)
    if conforms < level:
        law = f"the noise is not Laplace of that scale (p = {conforms:.2g})"
        return Audit("VIOLATION", claim, law, budget, guessed, most)
    return Audit(
        "CONSISTENT", claim, f"noise conforms (p = {conforms:.2g}); not refuted by {test}", budget, guessed, most
    )


def _sees_more(bound: Steps, state: Records, scale: float, n_arms: int) -> bool:
    """Whether the next arm depends on the gain by another way than what is released of it.

    Gain 1 with noise 0 and gain 0 with noise 1 should be released as one number, up to rounding; if they are, the
    probabilities of the next arm must be the same, too.
    """
    seen, after = [], []
    for gain, noise in ((1.0, 0.0), (0.0, 1.0 / scale)):
        fork, tapped, out = state.copy(), state.copy(), np.empty(n_arms)
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
