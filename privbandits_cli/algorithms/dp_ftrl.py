"""Private FTRL (Agarwal & Singh 2017, Algorithm 1): FTRL on prefixes of the losses that a noisy tree releases.

x_t = argmin over x in X of η <x, L~_{t-1}> + R(x), where L~_t is the sum of the first t losses and of m = ⌈log2 T⌉ node
noises in every coordinate, Laplace or Gaussian (mechanisms/tree.py). Each loss is in at most m nodes.

`counter: blt` replaces the tree by correlated Gaussian noise that is close to the least possible (mechanisms/blt.py).
"""

import math
from collections.abc import Iterator
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field

from privbandits_cli.accounting import gaussian, laplace, toeplitz
from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.algorithms import ftrl
from privbandits_cli.convex.losses import UnitCube
from privbandits_cli.games import linear, views
from privbandits_cli.games.linear import Cube, Draws, Floats, Ints, Setting, Sphere, loss_set
from privbandits_cli.games.parameters import Chance, Size
from privbandits_cli.mechanisms import tree
from privbandits_cli.mechanisms.blt import add_item
from privbandits_cli.mechanisms.tree import close_vector, ones
from privbandits_cli.numerics.jit import Record, Records, record, unbound

base_choose: Any = unbound

ONE_OF = "give either epsilon or blur"
BUFFERS = 3  # of a BLT: at T = 2^16 its noise is 2 % above that of the square root
VIEW = "all noisy prefixes"
NOTHING = Guarantee(0.0, 0.0, "no prefix with a loss is released", "exact", neighbours=laplace.REPLACED, view=VIEW)


class Aggregating(linear.Algorithm):
    """A leader that sees the losses only through TreeBasedAgg (Algorithm 2)."""

    private = True

    delta: Chance | None = Field(None, description="δ of Gaussian nodes; default T^-2")
    spare: Literal["fresh", "once"] = Field(
        "fresh", description="top-up noise: fresh for every prefix, or one node per level shared by all; the same law"
    )
    base: linear.Algorithm

    def gaussian(self) -> bool:
        """Whether nodes have Gaussian noise; otherwise it is Laplace."""
        return True


class Tree(Aggregating):
    """The same algorithm when the scale of its noise is known."""

    def node_scale(self, setting: Setting) -> float:
        """Scale λ of a node's Laplace noise, or deviation σ of its Gaussian noise, in one coordinate."""
        raise NotImplementedError

    def deviation(self, setting: Setting) -> float:
        """Standard deviation of the noise of a prefix in one coordinate."""
        return self.node_scale(setting) * math.sqrt(tree.height(setting.horizon) * (1 if self.gaussian() else 2))

    def state(self, setting: Setting) -> Records:
        n, levels = setting.n_arms, tree.height(setting.horizon)
        return record(
            t=0,
            levels=levels,
            gaussian=self.gaussian(),
            once=self.spare == "once",
            buffered=False,
            scale=self.node_scale(setting),
            prefix=np.zeros(n),
            noise=np.zeros((levels + 1, n)),
            shared=np.zeros((levels, n)),
            buffers=np.zeros((1, n)),
            weights=np.zeros(1),
            rates=np.zeros(1),
            wrapped=self.base.state(setting),
        )

    def draws(self, setting: Setting, rounds: Ints) -> dict[str, Ints]:
        """Numbers for the top-up noise of the prefix before the round, then for a node; see `begin` and `top_up`."""
        n, levels = setting.n_arms, tree.height(setting.horizon)
        node, topped = np.full_like(rounds, n), np.full_like(rounds, n if self.spare == "fresh" else 0)
        if self.spare == "once":
            node += np.where(rounds == 1, levels * n, 0)
        if self.gaussian():
            return {"normal": topped + node}
        missing = levels - np.bitwise_count(rounds - 1).astype(np.int64)
        return {"uniform": topped * missing, "normal": topped, "laplace": node}

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """The bounds for ⌈log2 T⌉ nodes and the replacement of a loss; a game of one round releases no loss at all.

        With shared top-up noise the prefixes reveal the nodes. Fresh top-up noise hides part of them: the bound that is
        proved for the nodes may then not be tight at δ > 0, so no attack is claimed there.
        """
        if setting.horizon <= 1:
            return [NOTHING]
        levels, scale = tree.height(setting.horizon), self.node_scale(setting) / sensitivity
        losses, once = loss_set(setting), self.spare == "once"
        if not self.gaussian():
            found = laplace.vectors(levels, scale, losses.changes(), isinstance(losses, UnitCube), delta, VIEW)
            return [bound for bound in found if once or not bound.lower or bound.delta == 0]
        mu = math.sqrt(levels) * losses.changes()[1] / scale if scale > 0 else math.inf
        epsilon = gaussian.epsilon_of(mu, delta)
        known = partial(Guarantee, epsilon, delta, neighbours=laplace.REPLACED, view=VIEW)
        upper = known(source=f"{levels} Gaussian nodes, {mu:.4g}-GDP", status="exact" if once else "proved")
        return [upper, known(source="attack: all nodes of one loss", status="exact", lower=True)] if once else [upper]

    def guarantee(self, setting: Setting, delta: float | None = None, sensitivity: float = 1.0) -> Guarantee | None:
        """By default at the δ of Gaussian nodes, and at δ = 0 for Laplace nodes."""
        return super().guarantee(setting, (self.delta or 0.0) if delta is None else delta, sensitivity)

    def mechanism(self) -> str:
        kind = "Gaussian" if self.gaussian() else "Laplace"
        return f"{kind} noise on the nodes of a tree"

    def view(self, setting: Setting) -> views.View | None:
        levels, shared = tree.height(setting.horizon), self.spare == "once"
        return views.Prefix("wrapped.losses", levels=levels, shared=shared, gaussian=self.gaussian())


class Parameters(Aggregating):
    """ε, or the size of the noise instead; FTRL's own parameters are under `base`."""

    display = "DP-FTRL"
    later = frozenset({"counter", "buffers"})

    epsilon: float | None = Field(None, ge=1e-9, description="ε")
    nodes: Literal["laplace", "gaussian"] = Field(
        "laplace", description="the law of a node's noise; `gaussian` is (ε, δ)-private"
    )
    counter: Literal["tree", "blt"] = Field(
        "tree",
        description="what sums the losses: a tree, or `blt`: correlated Gaussian noise, near the least possible",
    )
    buffers: int | None = Field(None, ge=1, le=8, description="buffers of a BLT; default 3")
    blur: Size | None = Field(None, description="instead of ε: η times the (largest) deviation of a prefix's noise")
    calibration: Literal["honest", "printed"] = Field(
        "honest", description="λ = m |l - l'|_1 / ε; `printed`: |l|_1 log2 T / ε"
    )
    base: ftrl.Parameters = Field(ftrl.Parameters(), description="FTRL, its η and its regulariser")

    def gaussian(self) -> bool:
        """Whether `nodes` is `gaussian`."""
        return self.nodes == "gaussian"

    def errors(self, setting: Setting) -> Iterator[str]:
        yield from super().errors(setting)
        if (self.epsilon is None) == (self.blur is None):
            yield ONE_OF
        if not self.gaussian() and self.delta is not None:
            yield "Laplace nodes need no delta: leave it out, or set nodes: gaussian"
        if self.gaussian() and self.calibration == "printed":
            yield "the paper has no Gaussian nodes for FTRL: leave calibration out, or set nodes: laplace"
        if self.counter == "tree" and self.buffers is not None:
            yield "a tree has no buffers: leave buffers out, or set counter: blt"
        if self.counter == "blt" and not self.gaussian():
            yield "the noise of a BLT is Gaussian: set nodes: gaussian, or counter: tree"
        if self.counter == "blt" and self.spare == "once":
            yield "a BLT needs no top-up noise: leave spare out, or set counter: tree"

    @classmethod
    def for_epsilon(cls, epsilon: float, delta: float, given: dict[str, Any]) -> dict[str, Self]:
        laplace = cls.model_validate({"epsilon": epsilon, **given})
        gauss = laplace.model_copy(update={"nodes": "gaussian", "delta": delta})
        return {
            "certified": laplace,
            "gaussian": gauss,
            "blt": gauss.model_copy(update={"counter": "blt"}),
            "paper": laplace.model_copy(update={"calibration": "printed"}),
        }

    def tuned(self, setting: Setting) -> "Tuned":
        delta = (self.delta or linear.papers_delta(setting)) if self.gaussian() else None
        buffers = (self.buffers or BUFFERS) if self.counter == "blt" else None
        found = dict(self) | {"base": self.base.tuned(setting), "delta": delta, "buffers": buffers}
        return Tuned.of(self.counter)(**found)

    @classmethod
    def tuned_from(cls, values: dict[str, Any]) -> "Tuned":
        return Tuned.of(values.get("counter")).model_validate(values, strict=False)


class Tuned(Parameters, Tree):
    """The tree, around FTRL with its η; Gaussian nodes have a δ, Laplace ones none."""

    base: ftrl.Tuned

    @classmethod
    def of(cls, counter: Any) -> "type[Tuned]":
        """The class for this counter."""
        return TunedBlt if counter == "blt" else cls

    def node_scale(self, setting: Setting) -> float:
        """The scale that follows from ε and the law of the nodes, or from `blur`."""
        levels = tree.height(setting.horizon)
        if self.blur is not None:
            return self.blur / self.base.eta / math.sqrt(levels * (1 if self.gaussian() else 2))
        if self.epsilon is None:
            raise ValueError(ONE_OF)
        losses = loss_set(setting)
        if self.delta is not None:  # the nodes are Gaussian
            return math.sqrt(levels) * losses.changes()[1] / gaussian.mu_of(self.epsilon, self.delta)
        if self.calibration == "printed":  # log T in place of the levels, the norm of a loss in place of its change
            return losses.norms()[0] * log2(setting.horizon) / self.epsilon
        return levels * losses.changes()[0] / self.epsilon

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        printed = self.epsilon is not None and self.calibration == "printed"
        stated = [Guarantee(self.epsilon or 0.0, 0.0, "Theorem 3.1", "paper")] if printed else []
        return [*stated, *super().bounds(setting, delta, sensitivity)]

    def caveats(self, setting: Setting) -> list[str]:
        deviation = self.deviation(setting)
        notes = [
            f"The noise in each coordinate of a prefix has standard deviation {deviation:.4g} = "
            f"{self.base.eta * deviation:.3g}/η: "
            "below 0.5/η the noise costs little, above 5/η it causes most of the regret.",
        ]
        if self.calibration == "printed":
            notes.append(
                "Definition 2.1 replaces a loss, which changes a signed loss by up to twice its norm, and a loss is in "
                "⌈log2 T⌉ nodes: the printed λ gives up to 2ε."
            )
        return notes

    def regret_bound(self, rounds: Floats, setting: Setting, memory: int = 0) -> Floats:
        """FTRL's bound plus D_noise = E [max <Z, x> - min <Z, x>] (Theorem 3.4)."""
        return self.base.regret_bound(rounds, setting) + noise_width(self, setting)


class TunedBlt(Tuned):
    """The same with a BLT in place of the tree; the scale σ is that of the numbers from which its noise is made."""

    delta: float
    buffers: int

    def blt(self, setting: Setting) -> toeplitz.Blt:
        """The BLT fitted to the prefixes 1, ..., T - 1."""
        return toeplitz.fitted(last_prefix(setting), self.buffers)

    def node_scale(self, setting: Setting) -> float:
        """σ = |c| |l - l'|_2 / μ(ε, δ), or from `blur`."""
        last, blt = last_prefix(setting), self.blt(setting)
        if self.blur is not None:
            return self.blur / self.base.eta / blt.deviation(last)
        if self.epsilon is None:
            raise ValueError(ONE_OF)
        return blt.sensitivity(last) * loss_set(setting).changes()[1] / gaussian.mu_of(self.epsilon, self.delta)

    def deviation(self, setting: Setting) -> float:
        """The largest standard deviation of the noise of a prefix in one coordinate, that of the last prefix."""
        return self.node_scale(setting) * self.blt(setting).deviation(last_prefix(setting))

    def state(self, setting: Setting) -> Records:
        n, blt = setting.n_arms, self.blt(setting)
        return record(
            t=0,
            levels=0,
            gaussian=True,
            once=False,
            buffered=True,
            scale=self.node_scale(setting),
            prefix=np.zeros(n),
            noise=np.zeros((1, n)),
            shared=np.zeros((1, n)),
            buffers=np.zeros((self.buffers, n)),
            weights=blt.weights(),
            rates=blt.rates,
            wrapped=self.base.state(setting),
        )

    def draws(self, setting: Setting, rounds: Ints) -> dict[str, Ints]:
        """A number for each coordinate."""
        return {"normal": np.full_like(rounds, setting.n_arms)}

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """The exact ε: the prefixes are as private as Gaussian noise on C l, which a loss moves by |c| |l - l'|_2."""
        if setting.horizon <= 1:
            return [NOTHING]
        change = self.blt(setting).sensitivity(last_prefix(setting)) * loss_set(setting).changes()[1] * sensitivity
        scale = self.node_scale(setting)
        mu = change / scale if scale > 0 else math.inf
        known = partial(Guarantee, gaussian.epsilon_of(mu, delta), delta, neighbours=laplace.REPLACED, view=VIEW)
        return [
            known(source=f"BLT with {self.buffers} buffers, {mu:.4g}-GDP", status="exact"),
            known(source="attack: all prefixes from the first loss on", status="exact", lower=True),
        ]

    def mechanism(self) -> str:
        return f"Gaussian noise of a BLT with {self.buffers} buffers"

    def view(self, setting: Setting) -> views.View | None:
        return views.Correlated("wrapped.losses")

    def caveats(self, setting: Setting) -> list[str]:
        blt, last = self.blt(setting), last_prefix(setting)
        rates, weights = (", ".join(f"{x:.4g}" for x in found) for found in (blt.rates, blt.weights()))
        return [
            *super().caveats(setting),
            f"The BLT is fitted to {last:,} prefixes: 1 - θ = {rates}; ω = {weights}; "
            f"|c| = {blt.sensitivity(last):.6g}; σ = {self.node_scale(setting):.4g}. "
            "It promises nothing in a longer game.",
        ]


def last_prefix(setting: Setting) -> int:
    """The last prefix that is released, T - 1; at least 1."""
    return max(1, math.ceil(setting.horizon) - 1)


def log2(horizon: float) -> float:
    """log2 T where the paper counts levels with it, and at least 1."""
    return max(1.0, math.log2(horizon))


def noise_width(algorithm: Tree, setting: Setting) -> float:
    """A bound on E [max <Z, x> - min <Z, x>] over X, where Z is the noise of a prefix.

    Sphere: 2 E |Z|_2. Cube: 2 E |Z|_1. Simplex: the range of N numbers, which is at most 2 (ln N + ln M(s))/s for each
    s, where M is the moment generating function, (1 - λ²s²)^-m for m Laplace numbers.
    """
    n, deviation = setting.n_arms, algorithm.deviation(setting)
    if isinstance(setting.space, Sphere):
        return 2 * deviation * math.sqrt(n)
    if isinstance(setting.space, Cube):
        return 2 * deviation * n
    if algorithm.gaussian():
        return 2 * deviation * math.sqrt(2 * math.log(n))
    levels, scale = tree.height(setting.horizon), algorithm.node_scale(setting)
    u = np.linspace(0, 1, 1001)[1:-1]
    return float(2 * scale * np.min((math.log(n) - levels * np.log1p(-(u**2))) / u))


def choose(state: Record, x: Floats, rng: Draws) -> None:
    release(state, x, rng)
    base_choose(state.wrapped, x, rng)


def release(state: Record, scratch: Floats, rng: Draws) -> None:
    """L~_t for the base: the prefix and its noise; with a tree, also top-up noise for each zero of t in binary."""
    n = len(state.prefix)
    if state.once and state.t == 0:
        begin(state, rng.normal if state.gaussian else rng.laplace)
    for i in range(n):
        state.wrapped.losses[i] = state.prefix[i] + state.noise[0, i]
    if not state.once and not state.buffered:
        top_up(state, scratch, rng)


def begin(state: Record, numbers: Floats) -> None:
    """The shared top-up noise, one node for each level, from the first `levels` N numbers."""
    n = len(state.prefix)
    for level in range(state.levels - 1, -1, -1):
        for i in range(n):
            state.shared[level, i] = state.scale * numbers[level * n + i]
            state.noise[level, i] = state.noise[level + 1, i] + state.shared[level, i]


def top_up(state: Record, scratch: Floats, rng: Draws) -> None:
    """Fresh noise of r nodes at once, from one normal number for each coordinate.

    The sum of r normal numbers is distributed as √r times one. The sum of r Laplace numbers is distributed as √(2 E)
    times a normal number, where E is the sum of r exponential numbers, which is -ln of a product of r uniform numbers.
    """
    n = len(state.prefix)
    if state.gaussian:
        scale = state.scale * np.sqrt(float(state.levels - ones(state.t)))
        for i in range(n):
            state.wrapped.losses[i] += scale * rng.normal[i]
        return
    for i in range(n):
        scratch[i] = 1.0
    for first in range(0, len(rng.uniform), n):
        for i in range(n):
            scratch[i] *= 1.0 - rng.uniform[first + i]
    for i in range(n):
        state.wrapped.losses[i] += state.scale * np.sqrt(-2.0 * np.log(scratch[i])) * rng.normal[i]


def update(state: Record, losses: Floats, rng: Draws) -> None:
    state.t += 1
    if state.buffered:
        add_item(state.buffers, state.noise[0], state.weights, state.rates, state.scale, rng.normal)
    elif state.t >> state.levels:  # t is T, a power of 2: the prefix of all losses is never used
        return
    else:
        numbers = rng.normal if state.gaussian else rng.laplace
        close_vector(state.noise, state.shared, state.t, state.scale, numbers[len(numbers) - len(losses) :])
    for i in range(len(state.prefix)):
        state.prefix[i] += losses[i]
