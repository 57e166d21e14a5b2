"""Elimination in phases among arms that stay the same, each phase played by a G-optimal design.

Lattimore & Szepesvári 2020, chapters 21 and 22, Algorithm 12. A design π has a weight for each arm that remains, and
V_π = Σ π_x x x'. The least possible value of the largest x' V_π^-1 x is the dimension r of the span of these arms
(Kiefer & Wolfowitz 1960). In phase l, arm x is played ⌈c π_x⌉ times, so that x' V^-1 x <= g/c, where V is the sum of x
x' over the phase, and g the value of the design. The estimate is θ^ = V^-1 Σ x y, with the rewards of this phase alone.
An algorithm's file chooses c so that |<θ^ - θ, x>| <= β = 2^-l for all arms with probability 1 - α/(l (l + 1)). Then
arms whose estimate is more than 2 β below the largest leave. The best arm remains, and an arm with a gap above 4 β
leaves.

The design is computed by Frank-Wolfe steps with away steps (Todd & Yıldırım 2007), from r arms of equal weight, until g
<= 1.01 r. It is computed anew only if arms have left. A direction in which no remaining arm reaches 1e-5 of the longest
one is not in the span.

All vectors are in coordinates along orthonormal `axes` of the span. Coordinates from r on are 0, and V is there the
identity.
"""

import math
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.random import Generator
from pydantic import Field

from privbandits_cli.games import contextual
from privbandits_cli.games.contextual import Contexts, Floats, Setting
from privbandits_cli.games.ellipsoid import invert
from privbandits_cli.games.parameters import Chance, left_out
from privbandits_cli.numerics.jit import Record, once

CLOSE = 1e-2  # g is at most 1 + CLOSE times the dimension of the span
SPAN = 1e-10  # square of the share of the longest arm beyond which a direction is in the span
STEPS = 10_000  # of Frank-Wolfe, at most; some hundreds are enough for hundreds of arms
EVER = 2**62  # rounds


class Designed(contextual.Algorithm):
    """A learner that plays G-optimal designs among arms that stay; a file adds noise, and computes c.

    Its step `update`, for rewards without noise of their own, is in this module.
    """

    public_arms = True

    alpha: Chance = left_out("α, failure probability of all estimates; default 1/T")

    def errors(self, setting: Setting) -> Iterator[str]:
        known = setting.known()
        if not known.fixed:
            yield "its arms must be the same in every round: choose `fixed_arms` or `basis_arms`"
        if self.private and math.isinf(known.reward):
            yield "its noise hides bounded rewards only, and these are unbounded: choose a bounded law of `rewards`"

    def caveats(self, setting: Setting) -> list[str]:
        return ["The arms are public, and the same in every round: only rewards are private."]

    def neighbours(self, setting: Setting) -> str:
        """The inputs that are to be indistinguishable."""
        most = setting.known().reward
        return f"the reward of one round replaced, in [{most - width_of(setting.known()):.4g}, {most:.4g}]"

    def tuned(self, setting: Setting) -> Self:
        return self.replace(alpha=self.alpha or min(0.5, 1 / setting.horizon))

    def length(self, setting: Setting, phase: int, dimension: float, support: float) -> float:
        """c of a phase, for a design on so many arms whose value is 1 + CLOSE times the dimension; at most that."""
        raise NotImplementedError

    def releases(self, setting: Setting) -> bool:
        """Whether a phase ends in this game if only one arm is not 0."""
        return math.ceil(self.length(setting, 1, 1 / (1 + CLOSE), 1)) <= math.floor(setting.horizon)

    def regret_bound(self, rounds: Floats, setting: Setting, memory: int = 0) -> Floats:
        """In phase l > 1 no gap exceeds 4 · 2^(1-l), unless an estimate has failed, which costs at most α T Δ_max.

        It is largest if each phase has as many rounds as it may have.
        """
        d, worst = min(setting.known().dimension, setting.n_arms), setting.largest_regret()
        left, bound, phase = np.array(rounds, float), self.alpha * np.asarray(rounds) * worst, 1
        while (left > 0).any():
            most = self.length(setting, phase, d, setting.n_arms) + setting.n_arms
            played = np.minimum(left, most)
            bound, left = bound + played * min(worst, 8.0 * 2.0**-phase), left - played
            phase += 1
        return np.minimum(bound, np.asarray(rounds) * worst)


class Laplacian(Designed):
    """A learner whose noise is Laplace numbers of scale b = w/ε, where w is the most by which two rewards differ."""

    private = True

    epsilon: float = Field(ge=1e-6, le=1e6, description="ε")

    def scale(self, setting: Setting) -> float:
        """b."""
        return width_of(setting.known()) / self.epsilon

    def facts(self, setting: Setting) -> dict[str, float]:
        return {"scale": self.scale(setting)}


def width_of(known: Contexts) -> float:
    """The most by which two rewards differ."""
    return known.reward if known.nonnegative else 2 * known.reward


def logarithm_of(n_arms: float, phase: int, alpha: float) -> float:
    """ln(K l (l + 1)/α): all arms and phases together fail with probability α."""
    return math.log(n_arms * phase * (phase + 1) / alpha)


def enough(beta: float, gauss: float, tail: float) -> float:
    """The c for which gauss/√c + tail/c = β."""
    root: float = (gauss + np.sqrt(gauss * gauss + 4.0 * beta * tail)) / (2.0 * beta)
    return root * root


def contest(known: Contexts, n_arms: int) -> dict[str, Any]:
    """The fields of the state that the functions of this module use."""
    d = known.dimension
    return {
        "phase": 0,  # l
        "beta": 1.0,
        "arms": np.arange(n_arms),  # the first `left` remain
        "left": n_arms,
        "changed": 1,  # whether arms have left since the design was computed
        "rank": 0,  # r
        "value": 0.0,  # g of the design
        "weights": np.zeros(n_arms),  # π
        "counts": np.zeros(n_arms, np.int64),  # ⌈c π⌉
        "place": 0,  # of the arm that is played, in `arms`
        "arm": 0,
        "plays": 0,  # of this arm, still to come
        "rounds": 0,  # of the phase, still to come
        "sums": np.zeros(n_arms),  # of the rewards of an arm in its last phase, or in this one if it was played in it
        "axes": np.zeros((d, d)),
        "points": np.zeros((n_arms, d)),  # the arms in coordinates
        "squares": np.zeros(n_arms),  # x' V^-1 x
        "inverse": np.eye(d),  # V_π^-1, and then V^-1
        "step": np.zeros(d),
        "theta": np.zeros(d),  # θ^
    }


# ------------------------------------------------------------------------------------------------- the design


def design(state: Record, arms: Floats) -> float:
    """Begin a phase: set l, β, and the design, if arms have left. Returns g."""
    state.phase += 1
    state.beta *= 0.5
    if state.changed:
        for a in range(len(state.points)):
            for i in range(len(arms)):
                state.points[a, i] = arms[i, a]
    return designed(state)


@once
def designed(state: Record) -> float:
    """The design, if arms have left. Returns g."""
    if state.changed:
        state.changed = 0
        span(state)
        improve(state)
    value: float = settle(state, state.weights)
    state.value = value
    return value


def span(state: Record) -> None:
    """Set r, the axes, the coordinates of the arms that remain, and weights 1/r of r arms that span.

    The next of these arms is the one with the longest part across the axes so far.
    """
    axes, step, longest, d, state.rank = state.axes, state.step, 0.0, len(state.step), 0
    for a in range(len(state.weights)):
        state.weights[a] = 0.0
    for turn in range(d):
        best, chosen = 0.0, 0
        for n in range(state.left):
            square = across(state, state.arms[n])
            best, chosen = (square, state.arms[n]) if square > best else (best, chosen)
        longest = max(longest, best)
        if not best > SPAN * longest:
            break
        across(state, chosen)
        for i in range(d):
            axes[turn, i] = step[i] / np.sqrt(best)
        state.rank += 1
        state.weights[chosen] = 1.0
    for n in range(state.left):
        a = state.arms[n]
        state.weights[a] /= max(1.0, state.rank)
        for j in range(d):
            step[j] = 0.0
            for i in range(d if j < state.rank else 0):
                step[j] += axes[j, i] * state.points[a, i]
        for j in range(d):
            state.points[a, j] = step[j]


@once
def across(state: Record, a: int) -> float:
    """The square of the part of an arm across the axes so far; `step` is this part."""
    step, square = state.step, 0.0
    for i in range(len(step)):
        step[i] = state.points[a, i]
    for _ in range(2):  # the second time removes what rounding has left
        for j in range(state.rank):
            along = 0.0
            for i in range(len(step)):
                along += state.axes[j, i] * step[i]
            for i in range(len(step)):
                step[i] -= along * state.axes[j, i]
    for i in range(len(step)):
        square += step[i] * step[i]
    return square


def improve(state: Record) -> None:
    """Frank-Wolfe: move weight to the arm with the largest x' V^-1 x, or away from the one with the least.

    With ω = x' V^-1 x, the step λ = (ω - r)/(r (ω - 1)) to π = (1 - λ) π + λ e_x maximises det V.
    """
    r, weights, squares = float(state.rank), state.weights, state.squares
    settle(state, weights)
    for _ in range(STEPS):
        up, down, high, low = 0, 0, 0.0, np.inf
        for n in range(state.left):
            a = state.arms[n]
            up, high = (a, squares[a]) if squares[a] > high else (up, high)
            down, low = (a, squares[a]) if weights[a] > 0.0 and squares[a] < low else (down, low)
        if high <= (1.0 + 0.9 * CLOSE) * r:  # the rest is for rounding
            break
        a, drop = up, False
        share = (high - r) / (r * (high - 1.0))
        if r - low > high - r:
            a, least = down, -weights[down] / (1.0 - weights[down])
            drop = low <= 1.0 or (low - r) / (r * (low - 1.0)) <= least
            share = least if drop else (low - r) / (r * (low - 1.0))
        for n in range(state.left):
            weights[state.arms[n]] *= 1.0 - share
        weights[a] = 0.0 if drop else weights[a] + share
        follow(state, a, share)


def follow(state: Record, a: int, share: float) -> None:
    """V^-1 and x' V^-1 x after a step to arm a, by the formula of Sherman & Morrison."""
    inverse, step, r = state.inverse, state.step, state.rank
    for i in range(r):
        step[i] = 0.0
        for j in range(r):
            step[i] += inverse[i, j] * state.points[a, j]
    factor, rest = share / (1.0 - share + share * state.squares[a]), 1.0 - share
    for n in range(state.left):
        along = 0.0
        for i in range(r):
            along += step[i] * state.points[state.arms[n], i]
        state.squares[state.arms[n]] = (state.squares[state.arms[n]] - factor * along * along) / rest
    for i in range(r):
        for j in range(r):
            inverse[i, j] = (inverse[i, j] - factor * step[i] * step[j]) / rest


@once
def settle(state: Record, weights: Any) -> float:
    """`inverse` = the inverse of Σ weight x x'. Returns the largest x' V^-1 x of the arms that remain (`squares`)."""
    inverse = state.inverse
    for i in range(len(inverse)):
        for j in range(len(inverse)):
            inverse[i, j] = 1.0 if i == j and i >= state.rank else 0.0
    for n in range(state.left):
        a = state.arms[n]
        for i in range(state.rank if weights[a] > 0 else 0):
            for j in range(state.rank):
                inverse[i, j] += weights[a] * state.points[a, i] * state.points[a, j]
    invert(inverse)
    largest = 0.0
    for n in range(state.left):
        a = state.arms[n]
        state.squares[a] = product(state, a, a)
        largest = max(largest, state.squares[a])
    return largest


@once
def product(state: Record, a: int, b: int) -> float:
    """x' V^-1 z for the arms x and z."""
    total = 0.0
    for i in range(state.rank):
        for j in range(state.rank):
            total += state.points[a, i] * state.inverse[i, j] * state.points[b, j]
    return total


# -------------------------------------------------------------------------------------------------- the phase


@once
def allot(state: Record, c: float) -> float:
    """Give each arm ⌈c π⌉ plays, and set V^-1. Returns the largest x' V^-1 x.

    If one arm remains, or only arms that are 0, the first of them is played for ever.
    """
    state.rounds = 0
    for n in range(state.left):
        a = state.arms[n]
        state.counts[a] = int(min(np.ceil(c * state.weights[a]), 2.0**50))
        state.rounds += state.counts[a]
    largest = settle(state, state.counts)
    state.place = -1
    if state.left == 1 or state.rank == 0:
        state.place, state.arm, state.plays, state.rounds = 0, state.arms[0], EVER, EVER
    else:
        advance(state)
    return largest


def advance(state: Record) -> None:
    """Pass to the next arm that the phase plays."""
    state.place += 1
    while state.counts[state.arms[state.place]] == 0:
        state.place += 1
    state.arm = state.arms[state.place]
    state.plays = state.counts[state.arm]


def played(state: Record, reward: float) -> bool:
    """Add a reward to the sum of its arm. Returns whether it is the arm's last one in this phase."""
    if state.plays == state.counts[state.arm]:
        state.sums[state.arm] = 0.0
    state.sums[state.arm] += reward
    state.plays -= 1
    state.rounds -= 1
    return bool(state.plays == 0)


def update(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    if played(state, reward) and state.rounds > 0:
        advance(state)


@once
def estimate(state: Record, sums: Floats) -> int:
    """θ^ = V^-1 Σ x S_x, with these sums of the rewards of each arm; then `eliminate`."""
    total(state, sums)
    for i in range(state.rank):
        state.theta[i] = 0.0
        for j in range(state.rank):
            state.theta[i] += state.inverse[i, j] * state.step[j]
    return eliminate(state)


def total(state: Record, sums: Floats) -> None:
    """`step` = Σ x S_x over the arms of the phase."""
    for i in range(state.rank):
        state.step[i] = 0.0
    for n in range(state.left):
        a = state.arms[n]
        for i in range(state.rank if state.counts[a] > 0 else 0):
            state.step[i] += state.points[a, i] * sums[a]


@once
def eliminate(state: Record) -> int:
    """Drop the arms whose estimate is more than 2 β below the largest. Returns how many remain."""
    best, scores = -np.inf, state.squares
    for n in range(state.left):
        a = state.arms[n]
        scores[a] = 0.0
        for i in range(state.rank):
            scores[a] += state.theta[i] * state.points[a, i]
        best = max(best, scores[a])
    kept = 0
    for n in range(state.left):
        if best - scores[state.arms[n]] <= 2.0 * state.beta:
            state.arms[kept] = state.arms[n]
            kept += 1
    state.changed = 1 if kept < state.left else 0
    state.left = kept
    return kept
