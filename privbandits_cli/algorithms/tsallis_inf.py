"""Tsallis-INF (Zimmert & Seldin 2021), α = 1/2, importance-weighted losses, anytime: η_t = 2/√t.

p = argmin_w <w, L> - (4/η_t) Σ_i √w_i over the simplex, that is p_i = 4 / (η_t (L_i - x))² with the x for which they
sum to 1. After arm i is played with loss l = 1 - gain: L_i += l / p_i.
"""

import numpy as np

from privbandits_cli.algorithms.exp3_p import drawn
from privbandits_cli.games import bandit
from privbandits_cli.games.bandit import Draws, Floats, Setting
from privbandits_cli.numerics.arrays import smallest
from privbandits_cli.numerics.jit import Record, Records, record


class Parameters(bandit.Algorithm):
    """No parameters."""

    read = "paper"
    display = "Tsallis-INF"

    def state(self, setting: Setting) -> Records:
        uniform = np.full(setting.n_arms, 1 / setting.n_arms)
        return record(t=1, sigma=1.0, losses=np.zeros(setting.n_arms), p=uniform)

    def caveats(self, setting: Setting) -> list[str]:
        return ["No privacy is proved: Lemma A needs gains; with losses, the difference of two tables is amplified."]

    def regret_bound(self, rounds: Floats, setting: Setting, memory: int = 0) -> Floats | None:
        """4 √(K T) + 1 against oblivious adversaries (Zimmert & Seldin 2021, Theorem 1).

        It is the sum of the stability Σ_t η_t/2 Σ_i √p_i <= 2 √(K T) and the penalty 4 (√K - 1)/η_T <= 2 √(K T).
        """
        return 4 * np.sqrt(setting.n_arms * rounds) + 1 if memory == 0 else None


PASSES = 100  # of Newton's method, at most


def solve(losses: Floats, eta: float, p: Floats) -> None:
    """Newton's method for x, started where the best arm alone has weight 1, so that the sum decreases to 1.

    It iterates to full precision, because with losses later rounds amplify a small error.
    """
    x: float = smallest(losses) - np.divide(2.0, eta)
    for _ in range(PASSES):
        closer = next_x(losses, eta, x, p)
        if closer >= x:
            break
        x = closer
    normalise(p)


def next_x(losses: Floats, eta: float, x: float, p: Floats) -> float:
    """A pass of Newton's method, which fills p for x; "/" would check for 0, which prevents vectors."""
    total, slope = 0.0, 0.0
    for i in range(len(p)):
        root = np.divide(2.0, eta * (losses[i] - x))  # √p_i
        own = root * root
        p[i] = own
        total += own
        slope += eta * own * root  # dp_i/dx
    closer: float = x - np.divide(total - 1.0, slope)
    return closer


def normalise(p: Floats) -> None:
    """Divide p by its sum."""
    total = 0.0
    for i in range(len(p)):
        total += p[i]
    for i in range(len(p)):
        p[i] = np.divide(p[i], total)


def rate(state: Record) -> float:
    """η = 2/(σ√t). Tsallis-INF has σ = 1, and HTINF the size of its losses."""
    eta: float = np.divide(2.0, state.sigma * np.sqrt(state.t))
    return eta


def choose(state: Record, rng: Draws) -> int:
    solve(state.losses, rate(state), state.p)
    return drawn(state.p, rng.uniform)


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    state.losses[arm] += (1.0 - gain) / state.p[arm]
    state.t += 1


def probabilities(state: Record, out: Floats) -> None:
    solve(state.losses, rate(state), out)
