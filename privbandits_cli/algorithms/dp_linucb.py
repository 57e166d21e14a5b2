"""Jointly private LinUCB (Shariff & Sheffet 2018, Algorithm 1 and section 4).

The learner is LinUCB on a noisy sum of the matrices [x; y] [x; y]'. The first d rows and columns of this sum are V, its
last column is u~. The sum comes from a tree: every release has the noise of m = 1 + ⌈log2 n⌉ nodes and is shifted by a
multiple of the identity. The arm with the largest <θ~, x> + β |x| in the norm of V^-1 is played, where θ~ = V^-1 u~ and
β is that of Proposition 4.

The noise is symmetric Gaussian (Proposition 11) or Wishart, with or without shift (Proposition 9). `calibration`
determines its size:

- code, the authors': σ = 4 √m L~² ln(4/δ)/ε. Advanced composition leaves ε' = ε/√(8 m ln((m + 1)/δ)) and
  δ' = δ/(m + 1) for a node, so k = d + 1 + ⌊28 ln(4/δ')/ε'²⌋. α' = α/2N, where N is the least power of two that is at
  least n. The ellipsoid has α/2.
- printed: the same σ; k = d + 1 + ⌈224 m ε^-2 ln(8m/δ) ln(2/δ)⌉; α' = α/2n. The ellipsoid has α. The paper prints
  W(L~ I, k) where its Theorem 8 needs W(L~² I, k).
- nodes: the least noise with which m nodes are (ε, δ)-private by the exact distribution of their privacy losses when a
  row is replaced. For Wishart noise this assumes that a row orthogonal to the other, or a row of zeros, is the worst
  case, which was computed, not proved: at ε = 1, δ = 0.1 and 5e7 rounds, k = 40 gives ε = 0.999 numerically, while the
  proved bound is 2.571.
- exact: the least noise with which all releases are (ε, δ)-private. The releases hide most of what the nodes would
  reveal: in 5e7 rounds they are as private as 1.873² nodes, while `nodes` counts 27 (`accounting.trees.redrawn`). No
  such account is known for Wishart noise, so `exact` means `nodes` there.

The authors' tree is `counter: redrawn`. The other counters (mechanisms/counter.py) have less Gaussian noise. They sum
vectors, which hold the lower triangle, with the diagonal divided by √2, and the last column. Replacing a row moves the
matrix by at most √2 L~², and so the vector by at most L~². Round t uses the sum of t - 1 rows, so n - 1 sums are
released, and the first round has no noise.

There are four choices of ρ_min: the paper's; the one that minimises Theorem 5's bound (`shift: optimal`); the number
`rho`; and `deviations` times the largest standard deviation of a release's noise off the diagonal. `shift:
rho_min=VALUE` and `shift: noise=VALUE` are other names of the last two. The noise of the other counters grows with the
round. With `shift_by: round` the shift grows, too: up to each power of two, ρ_min is in proportion to the largest
deviation of the noise until then (`games.ellipsoid`).

If V is not positive definite in a round, which the shift makes very unlikely, the last V and θ~ are used again.
"""

import math
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.random import Generator
from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from privbandits_cli.accounting import gaussian as gdp
from privbandits_cli.accounting import wishart as losses
from privbandits_cli.accounting.guarantee import Guarantee, wasted_noise
from privbandits_cli.accounting.releases import Release, noised
from privbandits_cli.games import contextual, regularisers, views
from privbandits_cli.games.contextual import Floats, Setting
from privbandits_cli.games.ellipsoid import optimistic, room, settle, width
from privbandits_cli.games.parameters import Chance, Size, left_out
from privbandits_cli.games.regularisers import Regularisers
from privbandits_cli.mechanisms import counters, matrix_tree
from privbandits_cli.mechanisms.counter import Counter, Noise, counter_add_item, counter_release
from privbandits_cli.mechanisms.matrix_tree import n_levels
from privbandits_cli.mechanisms.tree import trailing_zeros
from privbandits_cli.numerics.jit import Record, Records, record

BUFFERS = 5  # of a BLT: at 5e7 rounds its noise is 2 % above that of the square root
MEANT = {"rho_min=": "rho", "noise=": "deviations"}  # `shift: noise=3` is `deviations: 3`


class Numbers(NamedTuple):
    """What a counter draws its noise from: the normal numbers of a round or, for matrices, the generator itself."""

    normal: Floats
    laplace: Floats
    generator: Generator


NEIGHBOURS = "the arms and the reward of one round replaced"
VIEW = "all arms played in the rounds after it (joint privacy)"
jointly = partial(Guarantee, neighbours=NEIGHBOURS, view=VIEW)  # privacy under continual observation (Definition 1)


class Parameters(contextual.Algorithm):
    """ε and δ, the noise, and the shift."""

    read = "paper"
    display = "DP-LinUCB"
    optimistic = True
    private = True
    calibrations: ClassVar = {
        "certified": {"calibration": "exact"},
        "blt": {"calibration": "exact", "counter": "blt"},
        "paper": {"calibration": "printed"},
    }

    epsilon: float = Field(ge=1e-6, le=1e6, description="ε")
    delta: Chance = Field(description="δ")
    noise: Literal["gaussian", "wishart", "wishart_unshifted"] = Field("gaussian", description="law of a node's noise")
    shift: Literal["paper", "optimal"] = Field(
        "paper",
        description="paper: ρ_min is Υ, or 4 L~² √(mk) D for Wishart noise; optimal: minimises Theorem 5's bound",
    )
    rho: Size | None = Field(None, description="ρ_min, instead of the value that `shift` implies")
    calibration: Literal["code", "printed", "nodes", "exact"] = Field(
        "exact",
        description="how ε and δ determine the noise: the least that suffices (for Wishart noise by a computation, "
        "status numeric), the least by a count of nodes, or the authors' far larger noise",
    )
    alpha: Chance = left_out("α, failure probability of the ellipsoid; default 1/T")
    counter: Literal["redrawn", "tree", "honaker", "smooth", "square_root", "blt", "auto"] = Field(
        "redrawn",
        description="what sums the matrices: the authors' tree, or one with less Gaussian noise; `auto` is a BLT",
    )
    buffers: int | None = Field(None, ge=1, le=8, description=f"buffers of a BLT; default {BUFFERS}")
    eigenvalues: Literal["paper", "exact"] = Field(
        "paper", description="bounds on the eigenvalues of Gaussian noise: Proposition 11's, or the exact ones"
    )
    deviations: Size | None = Field(None, description="ρ_min in standard deviations of a release's noise")
    shift_by: Literal["game", "round"] = Field(
        "game", description="one shift for the game, or one that grows with the noise of a counter"
    )

    @property
    def wishart(self) -> bool:
        """Whether the noise is Wishart."""
        return self.noise != "gaussian"

    @model_validator(mode="before")
    @classmethod
    def _named_rho_min(cls, given: Any) -> Any:
        """Read `shift: rho_min=VALUE` as `rho: VALUE`; any other text is left to the validation of `shift`."""
        shift = given.get("shift") if isinstance(given, dict) else None
        for form, meant in MEANT.items():
            if isinstance(shift, str) and shift.startswith(form) and meant not in given:
                with suppress(ValueError):
                    number = float(shift.removeprefix(form))
                    if 0 < number < math.inf:  # for any other number the error is that of `shift`
                        return {name: value for name, value in given.items() if name != "shift"} | {meant: number}
        return given

    @field_validator("shift", mode="before")
    @classmethod
    def _known_shift(cls, shift: Any) -> Any:
        """Refuse any other text, with all forms in the message."""
        if shift not in ("paper", "optimal"):
            raise PydanticCustomError(
                "shift",
                "should be paper, optimal, rho_min=NUMBER or noise=NUMBER with a positive number, and no `rho` or "
                "`deviations` beside it",
            )
        return shift

    def errors(self, setting: Setting) -> Iterator[str]:
        if math.isinf(setting.known().reward):
            yield "its noise hides bounded rewards only, and these are unbounded: choose a bounded law of `rewards`"
            return
        if sum([self.rho is not None, self.deviations is not None, self.shift == "optimal"]) > 1:
            yield "rho, deviations and shift: optimal replace each other: keep one of them"
        foreign = list(self._foreign(setting))
        yield from foreign
        if self.noise == "wishart_unshifted" and (self.rho is not None or self.shift == "optimal"):
            yield "wishart_unshifted has no shift: for a shift, set `noise: wishart`"
        elif not foreign and not self.tuned(setting).regularisers(setting).rho_min > 0:
            few = "with so few rows of Wishart noise V may not be positive definite: set `noise: wishart`"
            yield few if self.wishart else "ρ_min is 0 up to rounding: set a larger rho or more deviations"

    def _foreign(self, setting: Setting) -> Iterator[str]:
        """Errors about parameters that this noise or counter does not have."""
        if self.wishart:
            for name in ("counter", "eigenvalues", "deviations"):
                if getattr(self, name) != type(self).model_fields[name].default:
                    yield f"{name} is for Gaussian noise: leave it out, or set noise: gaussian"
        if self.counter != "redrawn" and self.calibration != "exact":
            yield f"calibration {self.calibration} is that of the authors' tree: set it to exact, or leave counter out"
        if self.counter == "redrawn" and self.shift_by == "round":
            yield "the noise of the authors' tree does not grow: leave shift_by out, or set counter: blt"
        yield from counters.errors(self.counter, self.buffers, setting.horizon)

    def kind(self) -> type[Noise]:
        """The counter's class."""
        if self.counter == "redrawn":
            return matrix_tree.Redrawn
        return counters.class_of("blt" if self.counter == "auto" else self.counter, "none")

    def sums(self, setting: Setting) -> Noise:
        """The counter of the sums of 1, ..., n - 1 rows."""
        last = math.ceil(setting.horizon) - 1
        if self.counter == "redrawn":
            return matrix_tree.Redrawn(last, "gaussian")
        name: counters.Name = "blt" if self.counter == "auto" else self.counter
        return counters.counter(name, max(1, last), "gaussian", "none", self.buffers)

    def built_on(self) -> str:
        return self.kind().__module__

    def sigma(self, setting: Setting) -> float:
        """σ of a Gaussian node. Its μ is L~²/σ: replacing a row moves M by at most √2 L~², in units of √2 σ."""
        m, square = n_levels(setting.horizon), setting.known().row_norm() ** 2
        if self.calibration in ("nodes", "exact"):
            counter = self.sums(setting)
            cost = counter.counted() if self.calibration == "nodes" else counter.sensitivity()
            return cost * square / gdp.mu_of(self.epsilon, self.delta)
        return math.sqrt(16 * m) * square * math.log(4 / self.delta) / self.epsilon

    def rows(self, setting: Setting) -> int:
        """k of a Wishart node."""
        m, d, epsilon, delta = n_levels(setting.horizon), setting.known().dimension, self.epsilon, self.delta
        if self.calibration in ("nodes", "exact"):
            return d + math.ceil(losses.freedom(epsilon, delta, m))
        if self.calibration == "printed":
            return d + 1 + math.ceil(224 * m / epsilon**2 * math.log(8 * m / delta) * math.log(2 / delta))
        node, node_delta = epsilon / math.sqrt(8 * m * math.log((m + 1) / delta)), delta / (m + 1)
        return d + 1 + math.floor(28 * math.log(4 / node_delta) / node**2)

    def tuned(self, setting: Setting) -> Self:
        counter = "blt" if self.counter == "auto" else self.counter
        buffers = (self.buffers or BUFFERS) if counter == "blt" else None
        alpha = self.alpha or min(0.5, 1 / setting.horizon)
        return self.replace(alpha=alpha, counter=counter, buffers=buffers)

    def _confidence(self, setting: Setting) -> tuple[float, float]:
        """(α of the ellipsoid, ln α' of a round's regulariser); the ellipsoid and the regularisers share α."""
        printed = self.calibration == "printed"
        papers = printed or self.shift == "optimal" or self.eigenvalues == "exact"
        union = setting.horizon if papers else 2.0 ** (n_levels(setting.horizon) - 1)
        return self.alpha if printed else self.alpha / 2, math.log(self.alpha / 2) - math.log(union)

    def regularisers(self, setting: Setting) -> Regularisers:
        """The regularisers for the largest noise of the game, with the shift."""
        known, m = setting.known(), n_levels(setting.horizon)
        alpha, log_alpha = self._confidence(setting)
        if self.wishart:
            shifted = self.noise == "wishart" and self.rho is None and self.shift == "paper"
            made = regularisers.wishart(known, self.rows(setting), m, log_alpha, shifted)
        else:
            by = regularisers.gaussian if self.eigenvalues == "paper" else regularisers.gaussian_by_density
            made = by(known, self.sigma(setting), self.sums(setting).spread()[1], log_alpha)
        if self.rho is not None:
            return made.shifted_to(self.rho)
        if self.deviations is not None:
            return made.shifted_to(self.deviations * self.deviation(setting))
        return regularisers.optimal(known, made, setting.horizon, alpha) if self.shift == "optimal" else made

    def deviation(self, setting: Setting) -> float:
        """The largest standard deviation of a release's noise off the diagonal."""
        return self.sigma(setting) * math.sqrt(self.sums(setting).spread()[1])

    def shares(self, setting: Setting) -> Floats:
        """The regularisers as shares of the largest, `[octaves + 1]`, by the number of binary digits of the rows."""
        counter, octaves = self.sums(setting), counters.last_prefix(setting.horizon).bit_length()
        if self.shift_by == "game":
            return np.ones(octaves + 1)
        ends = 2 ** np.arange(1, octaves) - 1  # a tree has its largest noise there; a Toeplitz matrix's noise grows
        variances = np.append(counter.variances(ends), counter.spread()[1])
        grown = np.sqrt(np.maximum.accumulate(variances) / variances[-1])
        return np.append(grown[:1], grown)

    def state(self, setting: Setting) -> Records:
        known, made, shares = setting.known(), self.regularisers(setting), self.shares(setting)
        d, square, counter = known.dimension, known.row_norm() ** 2, self.sums(setting)
        size = d * (d + 3) // 2
        if not isinstance(counter, Counter):
            k = float(self.rows(setting)) if self.wishart else 0.0
            scale = square if self.wishart else self.sigma(setting)
            summed, drawn = matrix_tree.state(setting.horizon, d, scale, k), np.zeros(len(shares), np.int64)
        else:
            summed = counter.state(size, self.sigma(setting))
            drawn = counter.draws(2 ** np.arange(len(shares)))["normal"]
        constants = width(known, self._confidence(setting)[0], shares[0] * made.rho_min, made.rho_max, made.gamma)
        return record(
            t=0,
            last=counters.last_prefix(setting.horizon),
            indefinite=0.0,
            gram=np.zeros((d, d + 1)),
            v=np.zeros((d, d)),
            u=np.zeros(d),
            inverse=np.eye(d) / made.rho_min,
            theta=np.zeros(d),
            logdet=d * math.log(made.rho_min),
            shift=made.shift,
            octave=0,
            shifts=made.shift * shares,
            widths=constants["fixed"] * np.sqrt(shares),
            on_diagonal=math.sqrt(2) if isinstance(counter, Counter) else 1.0,
            noise=np.zeros(size),
            drawn=drawn * size,
            numbers=np.zeros(max(drawn) * size),
            counter=record(**summed),
            **constants,
            **room(known, setting.n_arms),
        )

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """The printed bound, and those from the exact privacy losses of all releases, or of m Wishart nodes.

        There is no attack on the releases: the view has only the arms played. Wishart noise adds to no number that an
        item moves, so its bounds are those of `accounting.wishart`, not of `accounting.releases`.
        """
        m, d = n_levels(setting.horizon), setting.known().dimension
        out = []
        if self.calibration in ("code", "printed") and delta >= self.delta:
            source = "Theorem 8, advanced composition" if self.wishart else "section 4.2"
            out.append(jointly(self.epsilon, self.delta, source, "paper"))
        if not self.wishart:
            counter = self.sums(setting)
            mu = counter.sensitivity() * setting.known().row_norm() ** 2 / self.sigma(setting)
            source = f"all releases with Gaussian noise of {self.named()}, {mu:.4g}-GDP"
            sums = Release("gaussian", mu, growth=counter.growth)
            seen = noised(sums, delta, source, "release", VIEW, surely=None, possibly=sums, neighbours=NEIGHBOURS)
            return [*out, *seen]
        k = min(self.rows(setting), int(losses.MOST_FREEDOM))  # more rows only add noise
        if delta < losses.LEAST_DELTA or k - d <= 2:
            return out
        proved = losses.epsilon_by_halves(delta, k / 2 - d, m) if k / 2 - d > 2 else math.inf
        if proved < math.inf:
            out.append(jointly(proved, delta, f"Wishart noise on {m} nodes, by halves", "proved"))
        found = losses.epsilon(delta, float(k - d), m)
        source = f"Wishart noise on {m} nodes, the worst of a row orthogonal to the other, removed or added"
        return [*out, jointly(found, delta, source, "numeric")]

    def facts(self, setting: Setting) -> dict[str, float]:
        """The tree's levels, σ or k of a node, the bounds on V that follow from them, and the shift."""
        made, counter = self.regularisers(setting), self.sums(setting)
        node = {"k": float(self.rows(setting))} if self.wishart else {"sigma": self.sigma(setting)}
        summed = {} if isinstance(counter, Counter) else {"levels": float(n_levels(setting.horizon))}
        spread = {} if self.wishart else {"deviation": self.deviation(setting)}
        return {**summed, **node, **spread, **made.facts(), **counter.facts()}

    def regret_bound(self, rounds: Floats, setting: Setting, memory: int = 0) -> Floats:
        """Theorem 5, with probability 1 - α."""
        made, (alpha, _), least = self.regularisers(setting), self._confidence(setting), self.shares(setting)[0]
        return np.array([regularisers.regret_bound(setting.known(), made, n, alpha, least) for n in rounds])

    def named(self) -> str:
        """The counter in words."""
        return f"{self.kind().title} with {self.buffers} buffers" if self.buffers else self.kind().title

    def mechanism(self) -> str:
        if self.counter != "redrawn":
            return f"symmetric Gaussian noise of {self.named()}"
        return f"a tree, {'Wishart' if self.wishart else 'symmetric Gaussian'} noise on every node"

    def view(self, setting: Setting) -> views.View | None:
        return views.Noisy(noisy)

    def remarks(self, setting: Setting) -> list[str]:
        promised = self.guarantee(setting)
        least = self.calibration in ("nodes", "exact")
        if self.wishart and least and promised is not None and promised.epsilon > 1.001 * self.epsilon:
            return [f"ε = {self.epsilon:g} of this Wishart noise is a computation; proved is {promised}"]
        return wasted_noise(self.epsilon, promised)

    def caveats(self, setting: Setting) -> list[str]:
        notes = ["Joint privacy: the arm played in a round may reveal that round's own arms, but no other round's."]
        if self.wishart:
            notes.append(
                "The worst case, two orthogonal rows of full norm or one of them and a row of zeros, was found by "
                "computation, not by proof."
            )
        return notes


def choose(state: Record, arms: Floats, rng: Generator) -> int:
    for i in range(len(state.noise)):
        state.noise[i] = 0.0
    counter_release(state.counter, state.noise, Numbers(state.numbers, state.numbers, rng))
    refresh(state)
    return optimistic(state, arms)


def refresh(state: Record) -> None:
    """Compute V, θ~ and ln det V from this round's release, and the round's constants."""
    noise, d, place = state.noise, len(state.v), 0
    state.shift, state.fixed = state.shifts[state.octave], state.widths[state.octave]
    for i in range(d):
        for j in range(i):
            state.v[i, j] = state.gram[i, j] + noise[place + j]
            state.v[j, i] = state.v[i, j]
        state.v[i, i] = state.gram[i, i] + state.on_diagonal * noise[place + i] + state.shift
        state.u[i] = state.gram[i, d] + noise[place + i + 1]
        place += i + 2
    settle(state)


def noisy(state: Record) -> Floats:
    """[V | u~] of the last release, without the shift, `[d, d + 1]`; of V, the lower triangle."""
    out: Floats = state.gram.copy()
    place = 0
    for i in range(len(out)):
        for j in range(i + 1):
            out[i, j] += state.noise[place + j] * (state.on_diagonal if i == j else 1.0)
        out[i, len(out)] += state.noise[place + i + 1]
        place += i + 2
    return out


def update(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    for i in range(len(x)):
        for j in range(i + 1):
            state.gram[i, j] += x[i] * x[j]
        state.gram[i, len(x)] += x[i] * reward
    state.t += 1
    if state.t > state.last:  # the sum of all n rows is never used
        return
    many = state.drawn[trailing_zeros(state.t)]
    for i in range(many):
        state.numbers[i] = rng.standard_normal()
    counter_add_item(state.counter, Numbers(state.numbers[:many], state.numbers[:many], rng))
    if state.t >> state.octave:
        state.octave += 1
