"""Learners that play arms in phases: at the end of a phase, its gains enter the arm's sum with one random number.

Every arm has a first phase, in turn. At the start of a later phase, the learner's file sets the `index` of every arm,
and `begin` takes the arm with the largest index. An arm's first phase has `first` rounds. A later phase, after N plays
of the arm, has ⌈αN⌉ - N rounds, at least one. The arm's noisy sum S~ (`sums`) holds n gains (`counts`) and m random
numbers (`noises`). They are those of all phases of the arm, or of its last phase alone. Each gain enters one sum, once.
So all sums together are as private as one of them.
"""

import math
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.accounting.releases import Release, noised
from privbandits_cli.games import bandit, views
from privbandits_cli.games.bandit import Draws, Setting
from privbandits_cli.numerics.jit import Record
from privbandits_cli.numerics.types import Floats

Ratio = Annotated[float, Field(gt=1, le=1e9)]


class Phased(bandit.Algorithm):
    """A learner whose gains act through the noisy sums of its phases alone."""

    private = True

    def mechanism(self) -> str:
        return f"{'Gaussian' if 'normal' in self.drawn else 'Laplace'} noise on the sum of each phase"

    def view(self, setting: Setting) -> views.View | None:
        return views.Noisy("sums")


class Pure(Phased):
    """A learner that adds Lap(1/ε) to the sum of each phase; its step `update` is in this module."""

    drawn = ("laplace",)
    seen: ClassVar[str] = "all noisy sums, and so all arms played"

    epsilon: float = Field(ge=1e-9, le=1e9, description="ε")

    def first_phase(self, setting: Setting) -> int:
        """The number of rounds in an arm's first phase."""
        return 1

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """ε, because phases are disjoint, and noise is added to the sum of each once.

        The test of the sign of a noisy sum gives the lower bound.
        """
        return sums_bounds(self.epsilon * sensitivity, self.first_phase(setting), setting, delta, self.seen)


def sums_bounds(total: float, first: int, setting: Setting, delta: float, seen: str) -> list[Guarantee]:
    """The bounds of noisy sums of disjoint gains. Each has one Laplace number, at which a gain costs `total`.

    first: the plays that enter the first of these sums; seen: what an observer sees.
    """
    one = Release("laplace", total)
    share = float(first <= math.floor(setting.horizon))
    return noised(one, delta, "a gain is in one noisy sum", "noisy sum", seen, surely=one.part(share))


class Growing(Pure):
    """A learner with parameters for the growth of its phases, and for the length of an arm's first phase."""

    alpha: Ratio = Field(2.0, description="α, by which the plays of an arm grow in a phase")
    first: float = Field(0.0, ge=0, le=1e9, description="an arm's first phase has ⌈first/ε⌉ rounds, at least one")

    def first_phase(self, setting: Setting) -> int:
        """⌈first/ε⌉, at least one and at most all rounds of the game."""
        return max(1, math.ceil(min(self.first / self.epsilon, setting.horizon)))


def phases(n_arms: int, scale: float, alpha: float = 2.0, first: int = 1, forget: bool = True) -> dict[str, object]:
    """The fields of the state.

    scale: the scale of the noise that a phase adds. forget: whether a sum holds its arm's last phase alone.
    """
    return {
        "t": 1,
        "arm": 0,
        "first": first,
        "length": first,  # the number of rounds of the phase
        "played": 0,  # the rounds of the phase so far
        "total": 0.0,  # of the phase's gains
        "plays": np.zeros(n_arms, np.int64),
        "sums": np.zeros(n_arms),  # S~
        "counts": np.zeros(n_arms),  # n, the number of gains in S~
        "noises": np.zeros(n_arms),  # m, the number of random numbers in S~
        "index": np.zeros(n_arms),
        "alpha": alpha,
        "scale": scale,
        "forget": int(forget),
    }


def begin(state: Record) -> None:
    """Begin a phase: one of each arm in turn, and later of the arm with the largest index (in a tie, the first)."""
    turn = (state.t - 1) // state.first
    arm = turn if turn < len(state.index) else int(np.argmax(state.index))
    state.arm = arm
    state.length = phase(state.plays[arm], state.alpha) if state.plays[arm] else state.first


def phase(plays: int, alpha: float) -> int:
    """The length of the next phase of an arm that was played `plays` times."""
    return max(1, int(min(np.ceil(alpha * plays), 2.0**62)) - plays)


def ended(state: Record, gain: float) -> bool:
    """Add a gain to its phase. Returns whether it is the last gain of the phase."""
    state.total += gain
    state.played += 1
    state.t += 1
    return bool(state.played == state.length)


def end(state: Record, arm: int, noise: float) -> None:
    """Add the gains of the phase and one random number to the arm's sum."""
    if state.forget:
        state.sums[arm] = state.counts[arm] = state.noises[arm] = 0.0
    state.plays[arm] += state.length
    state.sums[arm] += state.total + noise
    state.counts[arm] += state.length
    state.noises[arm] += 1.0
    state.total = 0.0
    state.played = 0


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    if ended(state, gain):
        end(state, arm, state.scale * rng.laplace)


# ------------------------------------------------------ the regret of upper confidence bounds (ours, see `dp_klucb`)

# Values of λ, as shares of min(ε, LARGEST). Every λ gives a valid bound.
GRID = np.concatenate([np.logspace(-6, -1, 200), np.linspace(0.1, 1, 301)[1:-1]])
LARGEST = 30.0  # the largest λ; 1 - e^-30 is still less than 1 in floats


class Phases(NamedTuple):
    """The numbers on which an arm's index depends, after each of its phases, `[phases]`."""

    plays: Floats  # N, the plays of the arm
    gains: Floats  # n <= N, the gains in its noisy sum
    noises: Floats  # m, the Laplace numbers in its noisy sum


class Limit(NamedTuple):
    """An upper confidence bound on a mean, for the noisy mean x of an arm in round t.

    Each λ gives the q with -λx - ln(1 - q + q e^-λ) = (ln t + m cost)/n. The bound is the least of them.
    """

    rates: Floats  # λ, `[rates]`
    cost: Floats  # what one Laplace number adds at each λ, `[rates]`


def rates_of(epsilon: float) -> tuple[Floats, Floats]:
    """Values of λ below ε, and -ln(1 - λ²/ε²) = ln E e^(λZ) for a number Z ~ Lap(1/ε); both `[rates]`."""
    rates = min(epsilon, LARGEST) * GRID
    return rates, -np.log1p(-((rates / epsilon) ** 2))


def pulls(phases: Phases, limit: Limit, epsilon: float, mean: float, best: float, rounds: Floats) -> Floats:
    """A bound on the expected plays of an arm with mean `mean` after each number of `rounds`, `[points]`.

    best: the mean of a best arm. epsilon: ε, where the Laplace numbers have scale 1/ε. The arm begins a phase in round
    t only if its limit is then at least `best` (`high`), or if the limit of a best arm is below `best` (`low`). Such a
    phase adds its length to the plays.
    """
    plays, n, m = phases
    rates, noise = rates_of(epsilon)
    after = np.add.outer(plays, plays)  # `[phases of the arm, phases of a best arm]`: rounds before a phase, at least
    found = []
    for t in rounds:
        spent = (np.log(t) + np.multiply.outer(m, limit.cost)) / n[:, None]
        # The noisy mean at which the limit of the arm is `best`.
        least = ((-np.log1p(best * np.expm1(-limit.rates)) - spent) / limit.rates).max(1)
        exponent = np.multiply.outer(least, rates) - np.log1p(mean * np.expm1(rates)) - np.multiply.outer(m / n, noise)
        high = np.where(least > 0, np.exp(-n * np.maximum(exponent.max(1), 0.0)), 1.0)
        low = np.where(after < t, 1 / (after + 1), 0.0).sum(1)
        lengths = np.diff(np.minimum(plays, t), append=t)
        found.append(min(t, plays[0]) + lengths @ np.minimum(1.0, high + low))
    return np.array(found)
