"""EXP3 (Auer, Cesa-Bianchi, Freund & Schapire 2003; eq. 2.1 of Tossou & Dimitrakakis 2017).

p_i = (1 - γ) exp(γ/K G_i) / Σ_j exp(γ/K G_j) + γ/K. After arm i is played with gain g: G_i += g / p_i.
"""

import math
from typing import Self

import numpy as np

from privbandits_cli.accounting import bounded_range
from privbandits_cli.accounting.composition import COUNTED, advanced, basic, optimal
from privbandits_cli.accounting.draw import composed, draw
from privbandits_cli.accounting.exponential_weights import ExponentialWeights, attack, pure_attack
from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.games import bandit, views
from privbandits_cli.games.bandit import Draws, Floats, Setting
from privbandits_cli.games.parameters import Share, left_out
from privbandits_cli.numerics.arrays import largest
from privbandits_cli.numerics.exponential import small_exponential
from privbandits_cli.numerics.jit import Record, Records, record

CANARY = "attack: canary on a rare arm, the random prefix replaced by its mean"
REPLAYED = "attack, at δ = 0: the canary's arm replayed, the same prefix"


class Parameters(bandit.Algorithm):
    """The exploration rate γ, which is K times the learning rate."""

    read = "paper"
    display = "EXP3"

    gamma: Share = left_out("γ; default min(1, √(K ln K / ((e-1) T)))")

    def tuned(self, setting: Setting) -> Self:
        horizon, n_arms = setting.horizon, setting.n_arms
        gamma = self.gamma or min(1.0, math.sqrt(n_arms * math.log(n_arms) / ((math.e - 1) * horizon)))
        return self.replace(gamma=gamma)  # Auer et al. 2003, Corollary 3.2, with g = T

    def state(self, setting: Setting) -> Records:
        n_arms = setting.n_arms
        blocks = 1 << (math.ceil(n_arms / SPAN) - 1).bit_length()  # a power of two
        arms = np.zeros(2 * blocks)
        arms[blocks:] = np.clip(n_arms - SPAN * np.arange(blocks), 0, SPAN)
        add_up(arms)
        return record(
            gamma=self.gamma,
            rate=self.gamma / n_arms,
            gains=np.zeros(n_arms),  # γ/K G_i
            offset=0.0,
            weights=np.ones(n_arms),  # exp(γ/K G_i - offset)
            arms=arms,  # per node of the tree over blocks of arms: the number of arms below it, ...
            sums=arms,  # ... and the sum of their weights
        )

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """From a loss of 2Δ (Theorem 3.3) or Δ (Lemma A) per draw, Δ the sensitivity; lower bound: a canary attack."""
        game = self.privacy_model(setting, sensitivity)
        k, one = game.k, sensitivity
        costs = {"2Δ a draw": 2 * one, "Lemma A": one} if k <= COUNTED else {}
        return [
            *(self._printed(setting, delta) if sensitivity == 1 else []),
            Guarantee(basic(2 * one, k), 0.0, "2Δ a draw, basic composition", "proved"),
            Guarantee(advanced(2 * one, k, delta), delta, "2Δ a draw, advanced composition", "proved"),
            *(
                Guarantee(optimal(cost, k, delta), delta, f"{by}, optimal composition", "proved")
                for by, cost in costs.items()
            ),
            *lemmas(game, delta),
            Guarantee(attack(game, delta, 1 - one), delta, CANARY, "numeric", lower=True),
            Guarantee(pure_attack(game, 1 - one), 0.0, REPLAYED, "numeric", lower=True),
        ]

    def guarantee(self, setting: Setting, delta: float | None = None, sensitivity: float = 1.0) -> Guarantee:
        """The smallest proved bound, without computing the others."""
        delta = bandit.papers_delta(setting) if delta is None else delta
        return min(lemmas(self.privacy_model(setting, sensitivity), delta), key=lambda bound: bound.epsilon)

    def view(self, setting: Setting) -> views.View | None:
        return views.Arms(self.privacy_model(setting, 1.0))

    def privacy_model(self, setting: Setting, sensitivity: float) -> ExponentialWeights:
        """The privacy model of this EXP3: a draw per round, gains that differ by at most `sensitivity`."""
        return ExponentialWeights(self.gamma, setting.n_arms, math.ceil(setting.horizon), sensitivity)

    def _printed(self, setting: Setting, delta: float) -> list[Guarantee]:
        """The terms of Theorem 3.3; the third with Chernoff's √(T ln(1/δ)/2) in place of the printed √(2 ln T/T)."""
        horizon, n_arms, gamma = setting.horizon, setting.n_arms, self.gamma
        exploited = (1 - gamma) * horizon + math.sqrt(-horizon * math.log(delta) / 2)
        return [
            Guarantee(2 * horizon, 0.0, "Theorem 3.3, first term", "paper"),
            Guarantee(horizon * math.log((n_arms * (1 - gamma) + gamma) / gamma), 0.0, "Theorem 3.3, second", "paper"),
            Guarantee(2 * min(exploited, horizon), delta, "Theorem 3.3, third, as Chernoff gives it", "paper"),
        ]

    def caveats(self, setting: Setting) -> list[str]:
        return [
            "The sketch of Theorem 3.3 omits that one gain changes all later importance weights; Lemma A "
            "shows that this feedback does no harm, with half the loss per draw.",
            "With γ of order 1/√T, ε grows like √T at δ > 0 (Lemma B): the paper's conclusion that it must grow "
            "linearly rests on an upper bound.",
        ]

    def regret_bound(self, rounds: Floats, setting: Setting, memory: int = 0) -> Floats | None:
        """Auer et al. 2003, Theorem 3.1 with G_max <= t: (e-1) γ t + K ln K / γ; oblivious adversaries."""
        if memory > 0:
            return None
        return (math.e - 1) * self.gamma * rounds + setting.n_arms * math.log(setting.n_arms) / self.gamma


def lemmas(game: ExponentialWeights, delta: float) -> list[Guarantee]:
    """The bounds of Lemmas A and B, one of which is the smallest of all proved bounds."""
    one, k = game.sensitivity, game.k
    return [
        Guarantee(basic(one, max(1, k - 1)), 0.0, "Lemma A: Δ a draw, basic composition", "proved"),
        Guarantee(bounded_range.composed(one, k, delta), delta, "Lemma A, bounded range (Rényi)", "proved"),
        Guarantee(composed(draw(game), k, delta), delta, "Lemma B: one draw's variance (Rényi)", "proved"),
    ]


NOTHING = -0.0  # start of sums: x + -0.0 is x for every x, so the compiler removes it, unlike x + 0.0
SMALL, LARGE = 1e-200, 1e200  # weights outside are recomputed, with another offset before all of them vanish
NEAR = 1.0005  # a gain of 1 makes a step of at most 1, apart from rounding
SPAN = 8  # arms in a block; a draw descends a binary tree to a block and then scans its arms: O(log K)


def block_of(arm: int, n_arms: int) -> tuple[int, int]:
    """The first arm of the block of `arm`, and the arm after its last."""
    if n_arms <= SPAN:  # a constant for the compiler, which then unrolls loops over the block
        return 0, n_arms
    first = arm // SPAN * SPAN
    return first, min(first + SPAN, n_arms)


def add_up(tree: Floats) -> None:
    """Fill the inner nodes of a tree: node i is the sum of nodes 2i and 2i + 1, and the second half are leaves."""
    for node in range(len(tree) // 2 - 1, 0, -1):
        tree[node] = tree[2 * node] + tree[2 * node + 1]


def choose(state: Record, rng: Draws) -> int:
    total = state.sums[1]
    floor = state.rate * total  # p_i Σ_j weights is (1 - γ) weight + floor, eq. 2.1
    arm, end, threshold = descend(state, rng.uniform * total, floor)
    reached = NOTHING
    for i in range(arm, end - 1):
        reached += (1.0 - state.gamma) * state.weights[i] + floor
        arm = i + 1 if threshold >= reached else arm  # `reached` only grows
    return min(arm, len(state.weights) - 1)  # rounding may lead past the last block


def descend(state: Record, threshold: float, floor: float) -> tuple[int, int, float]:
    """Descend to the block in which the cumulative p_i Σ_j weights reach the threshold: its ends, and the remainder.

    floor: the share of exploration for each arm; a node has `state.arms` arms below it.
    """
    leaves = len(state.sums) // 2
    node = 1
    while node < leaves:
        node *= 2
        left = (1.0 - state.gamma) * state.sums[node] + floor * state.arms[node]
        if threshold >= left:
            threshold -= left
            node += 1
    first, end = block_of((node - leaves) * SPAN, len(state.weights))
    return first, end, threshold


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    weight, total = state.weights[arm], state.sums[1]
    mass = (1.0 - state.gamma) * weight + state.rate * total  # p_i Σ_j weights at the draw
    step = state.rate * gain * total / mass  # of any size and sign if gains are noisy
    state.gains[arm] += step
    near = abs(step) < NEAR and SMALL < weight < LARGE  # the usual case
    grown = weight * small_exponential(step)
    if not near:
        grown = np.exp(min(state.gains[arm] - state.offset, 500.0))  # exp overflows at 709, ...
    put(state, arm, grown)
    if not near:
        far = state.gains[arm] - state.offset
        if far > 500.0 or state.sums[1] < SMALL:  # ... and underflows at -745
            restart(state, state.gains[arm] if far > 500.0 else largest(state.gains))


def put(state: Record, arm: int, weight: float) -> None:
    """Set a weight, and recompute all sums that contain it."""
    first, end = block_of(arm, len(state.weights))
    node = len(state.sums) // 2 + first // SPAN
    total = NOTHING
    for i in range(first, end):  # writing all of them frees later reads from waiting for the index
        own = weight if i == arm else state.weights[i]
        state.weights[i] = own
        total += own
    state.sums[node] = total
    while node > 1:
        node //= 2
        state.sums[node] = state.sums[2 * node] + state.sums[2 * node + 1]


def restart(state: Record, offset: float) -> None:
    """Recompute all weights with another offset."""
    leaves = len(state.sums) // 2
    state.offset = offset
    for i in range(len(state.gains)):
        state.weights[i] = np.exp(state.gains[i] - offset)
    for leaf in range(leaves):
        first, end = block_of(SPAN * leaf, len(state.weights))
        total = 0.0
        for i in range(first, end):  # in the order of `put`, unlike NumPy's sum
            total += state.weights[i]
        state.sums[leaves + leaf] = total
    add_up(state.sums)


def probabilities(state: Record, out: Floats) -> None:
    for i in range(len(out)):
        out[i] = (1.0 - state.gamma) * state.weights[i] / state.sums[1] + state.rate
