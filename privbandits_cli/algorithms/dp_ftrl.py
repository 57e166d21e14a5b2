"""Private FTRL (Agarwal & Singh 2017, Algorithm 1): FTRL on prefixes of the losses that a counter releases.

x_t = argmin over x in X of η <x, L~_{t-1}> + R(x), where L~_t is the sum of the first t losses with the noise of a
counter in every coordinate. The paper's counter is a tree (mechanisms/fresh_top_up.py): L~_t has the noise of
m = ⌈log2 T⌉ nodes, Laplace or Gaussian, and each loss is in at most m nodes. Other counters (mechanisms/counter.py)
have less noise at the same privacy.
"""

import math
from collections.abc import Iterator
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.accounting.releases import LOSSES, Release, noised, vectors
from privbandits_cli.algorithms import ftrl
from privbandits_cli.convex.losses import UnitCube
from privbandits_cli.games import linear, views
from privbandits_cli.games.linear import Cube, Draws, Floats, Ints, Setting, Sphere, loss_set
from privbandits_cli.games.parameters import Chance, Size, left_out
from privbandits_cli.mechanisms import counters
from privbandits_cli.mechanisms.counter import Counter, Law, counter_add_item, counter_release
from privbandits_cli.mechanisms.counters import last_prefix
from privbandits_cli.numerics.jit import Record, Records, record, unbound

base_choose: Any = unbound

ONE_OF = "give either epsilon or blur"
BUFFERS = 3  # of a BLT: at T = 2^16 its noise is 2 % above that of the square root
VIEW = "all noisy prefixes"
UNSTEADY = (
    "No theorem bounds the regret: the noise of {} rises and falls from prefix to prefix, so an adversary can play "
    "against quiet and loud rounds differently. For a bound set {}."
)
NOTHING = Guarantee(0.0, 0.0, "no prefix with a loss is released", "exact", neighbours=LOSSES, view=VIEW)


class Aggregating(linear.Algorithm):
    """A leader that receives the losses only through a counter (TreeBasedAgg, Algorithm 2, or another one)."""

    private = True

    delta: Chance | None = Field(None, description="δ of Gaussian noise; default T^-2")
    spare: counters.Spare = Field(
        "fresh",
        description="top-up noise of a tree: fresh for every prefix, or one node per level shared by all, with the "
        "same law; or `none`",
    )
    counter: Literal[counters.Name, "auto"] = Field(
        "tree",
        description="what sums the losses: a tree, or a counter with less noise; `auto`: the least for its law (`blt` "
        "if Gaussian)",
    )
    buffers: int | None = Field(None, ge=1, le=8, description="buffers of a BLT; default 3")
    base: linear.Algorithm

    def law(self) -> Law:
        """The law of the noise."""
        return "gaussian"

    def view(self, setting: Setting) -> views.View | None:
        return views.Noisy("wrapped.losses")

    def errors(self, setting: Setting) -> Iterator[str]:
        yield from super().errors(setting)
        yield from counters.law_errors(self.counter, self.law(), self.spare, "nodes" in type(self).model_fields)
        yield from counters.errors(self.counter, self.buffers, setting.horizon)

    def resolved(self, setting: Setting) -> dict[str, Any]:
        """The values of the counter's parameters that were left out."""
        n = last_prefix(setting.horizon)
        name = counters.best(n, self.law()) if self.counter == "auto" else self.counter
        return {"counter": name, "buffers": (self.buffers or BUFFERS) if name == "blt" else None}

    def node_scale(self, setting: Setting) -> float:
        """Scale λ of a Laplace number of the noise, or deviation σ of a Gaussian one, in one coordinate."""
        raise NotImplementedError

    def sums(self, setting: Setting) -> Counter:
        """The counter that releases the prefixes 1, ..., T - 1."""
        n = last_prefix(setting.horizon)
        return counters.counter(self.known_counter(), n, self.law(), self.spare, self.buffers)

    def known_counter(self) -> counters.Name:
        """The counter's name; `tuned` replaces `auto` by it."""
        if self.counter == "auto":
            raise ValueError("these parameters are not tuned: which counter is the best depends on the horizon")
        return self.counter

    def built_on(self) -> str:
        return counters.class_of(self.known_counter(), self.spare).__module__

    def deviation(self, setting: Setting) -> float:
        """The largest standard deviation of the noise of a prefix in one coordinate."""
        return self.node_scale(setting) * math.sqrt(self.sums(setting).spread()[1])

    def remarks(self, setting: Setting) -> list[str]:
        """That the noise of the prefixes varies, and which counters have a bound; nothing if it does not vary."""
        if self.sums(setting).steady:
            return []
        tree = "counter: tree with spare: fresh or once"
        return [UNSTEADY.format(self.named(), f"{tree}, or counter: blt" if self.law() == "gaussian" else tree)]

    def mean_deviation(self, setting: Setting) -> float:
        """The standard deviation of the noise of a prefix in one coordinate, root mean square over the prefixes."""
        return self.node_scale(setting) * math.sqrt(self.sums(setting).spread()[0])

    def state(self, setting: Setting) -> Records:
        n = setting.n_arms
        return record(
            t=0,
            last=last_prefix(setting.horizon),
            prefix=np.zeros(n),
            counter=record(**self.sums(setting).state(n, self.node_scale(setting))),
            wrapped=self.base.state(setting),
        )

    def draws(self, setting: Setting, rounds: Ints) -> dict[str, Ints]:
        """The counter's numbers for each coordinate: for the prefix before the round, and then for its loss."""
        return {kind: setting.n_arms * many for kind, many in self.sums(setting).draws(rounds).items()}

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """The bounds for the replacement of a loss; a game of one round releases no loss at all.

        Gaussian noise has its exact ε. Laplace noise has that of the nodes of one loss. Top-up noise hides part of
        them, so that their bound may not be tight at δ > 0; no attack is claimed there. The nodes of a tree with
        negative digits are used before their losses come, which only the bound at δ = 0 allows. Noise that is drawn
        once, before the first round, is what the empty prefix reveals. Without that prefix, a tree with shared top-up
        noise would be more private: at n = 15 it would have μ = 1.654, not 2.
        """
        if setting.horizon <= 1:
            return [NOTHING]
        counter, losses = self.sums(setting), loss_set(setting)
        scale = self.node_scale(setting) / sensitivity
        if self.law() == "laplace":
            box = isinstance(losses, UnitCube)
            hidden, at = self.counter == "tree" and self.spare != "none", delta
            if self.counter == "negative_digits":
                at = 0.0
            levels, changes = round(counter.sensitivity()), losses.changes()
            return vectors(levels, scale, changes, box, at, VIEW, hidden=hidden, growth=counter.growth)
        mu = counter.sensitivity() * losses.changes()[1] / scale if scale > 0 else math.inf
        release, source = Release("gaussian", mu, growth=counter.growth), f"{self.named()}, {mu:.4g}-GDP"
        what = "release of all prefixes, the empty one included"
        return noised(release, delta, source, what, VIEW, surely=release, neighbours=LOSSES)

    def stated_delta(self, setting: Setting) -> float:
        """The parameter δ; without one 0, as Laplace noise needs none."""
        return self.delta or 0.0

    def named(self) -> str:
        """The counter in words."""
        title = counters.class_of(self.known_counter(), self.spare).title
        return f"{title} with {self.buffers} buffers" if self.buffers else title

    def facts(self, setting: Setting) -> dict[str, float]:
        """The scale of the counter's noise, its largest and root mean square deviation, and what was fitted."""
        return {
            "scale": self.node_scale(setting),
            "deviation": self.deviation(setting),
            "deviation_rms": self.mean_deviation(setting),
            **self.sums(setting).facts(),
            **super().facts(setting),
        }

    def mechanism(self) -> str:
        return f"{self.law().title()} noise {'on' if self.counter == 'tree' else 'of'} {self.named()}"


class Parameters(Aggregating):
    """ε, or the size of the noise instead; FTRL's own parameters are under `base`."""

    read = "paper"
    display = "DP-FTRL"

    epsilon: float | None = Field(None, ge=1e-9, description="ε")
    nodes: Literal["laplace", "gaussian"] = Field(
        "laplace", description="the law of the noise; `gaussian` is (ε, δ)-private"
    )
    blur: Size | None = Field(
        None, description="instead of ε: η times the deviation of a prefix's noise, root mean square over the prefixes"
    )
    calibration: Literal["exact", "nodes", "printed"] = left_out(
        "the exact ε of the noise (the default), or that of all nodes of a loss, an upper bound; "
        "`printed`: λ = |l|_1 log2 T / ε",
    )
    base: ftrl.Parameters = Field(ftrl.Parameters(), description="FTRL, its η and its regulariser")

    def law(self) -> Law:
        """The law `nodes`."""
        return self.nodes

    def errors(self, setting: Setting) -> Iterator[str]:
        yield from super().errors(setting)
        if (self.epsilon is None) == (self.blur is None):
            yield ONE_OF
        if self.nodes == "laplace" and self.delta is not None:
            yield "Laplace nodes need no delta: leave it out, or set nodes: gaussian"
        if self.nodes == "gaussian" and self.calibration == "printed":
            yield "the paper has no Gaussian nodes for FTRL: leave calibration out, or set nodes: laplace"
        elif self.counter != "tree" and self.calibration == "printed":
            yield "the paper's λ is for its tree: leave calibration out, or set counter: tree"

    @classmethod
    def for_epsilon(cls, epsilon: float, delta: float, horizon: int, given: dict[str, Any]) -> dict[str, Self]:
        laplace = cls.model_validate({"epsilon": epsilon, **given})
        gauss = laplace.model_copy(update={"nodes": "gaussian", "delta": delta})
        return {
            "certified": laplace,
            "laplace": laplace.model_copy(update={"counter": "auto"}),
            "gaussian": gauss,
            "blt": gauss.model_copy(update={"counter": "blt"}),
            "paper": laplace.model_copy(update={"calibration": "printed"}),
        }

    def tuned(self, setting: Setting) -> Self:
        """Only Gaussian noise gets a δ. If the calibrations `nodes` and `exact` agree, it is named `exact`."""
        delta = (self.delta or linear.papers_delta(setting)) if self.nodes == "gaussian" else None
        found = self.replace(**self.resolved(setting), base=self.base.tuned(setting), delta=delta)
        sums = found.sums(setting)
        agree = self.calibration == "nodes" and sums.counted() == sums.sensitivity()
        return found.replace(calibration="exact" if agree else self.calibration or "exact")

    def node_scale(self, setting: Setting) -> float:
        """The scale of the noise: `blur`, if given, else what ε and the law of the noise imply."""
        counter, losses = self.sums(setting), loss_set(setting)
        if self.blur is not None:
            return self.blur / self.base.eta / math.sqrt(counter.spread()[0])
        if self.epsilon is None:
            raise ValueError(ONE_OF)
        if self.calibration == "printed":  # log T in place of the levels, the norm of a loss in place of its change
            return losses.norms()[0] * log2(setting.horizon) / self.epsilon
        return counter.scale(losses.changes(), self.epsilon, self.delta, counted=self.calibration == "nodes")

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        printed = self.epsilon is not None and self.calibration == "printed"
        paper = Guarantee(self.epsilon or 0.0, 0.0, "Theorem 3.1", "paper", neighbours=LOSSES, view=VIEW)
        return [*[paper] * printed, *super().bounds(setting, delta, sensitivity)]

    def caveats(self, setting: Setting) -> list[str]:
        deviation = self.mean_deviation(setting)
        mean = "" if self.deviation(setting) == deviation else ", root mean square over the prefixes,"
        notes = [
            f"The noise in each coordinate of a prefix has standard deviation{mean} {deviation:.4g} = "
            f"{self.base.eta * deviation:.3g}/η: "
            "below 0.5/η the noise costs little, above 5/η it causes most of the regret.",
        ]
        if self.calibration == "printed":
            notes.append(
                "Definition 2.1 replaces a loss, which changes a signed loss by up to twice its norm, and a loss is in "
                "⌈log2 T⌉ nodes: the printed λ gives up to 2ε."
            )
        if self.counter in ("blt", "square_root"):
            n = last_prefix(setting.horizon)
            notes.append(f"{self.named()} is made for {n:,} prefixes; it promises nothing beyond.")
        return notes

    def regret_bound(self, rounds: Floats, setting: Setting, memory: int = 0) -> Floats | None:
        """FTRL's bound plus D_noise = E [max <Z, x> - min <Z, x>] (Theorem 3.4).

        The theorem needs one law of noise for all prefixes. Gaussian noise may also grow (ours). Proof: let F_σ(L) be
        the mean of min <L + σZ, x> + R(x)/η over x in X. x_t has the mean ∇F_σ(L_(t-1)), and F_σ is as smooth as
        FTRL's own minimum, so <x_t, l_t> is on average at most F_σ(L_t) - F_σ(L_(t-1)) + ηG. Between two rounds σ
        grows, and F falls by at most E max <Z, x> times the growth. All falls together are at most D_noise for the
        last σ. If σ falls, F rises, and nothing limits how often: the bound is None.
        """
        if not self.sums(setting).steady:
            return None
        return self.base.regret_bound(rounds, setting) + noise_width(self, setting)


def log2(horizon: float) -> float:
    """log2 T where the paper counts levels with it, and at least 1."""
    return max(1.0, math.log2(horizon))


def noise_width(algorithm: Aggregating, setting: Setting) -> float:
    """A bound on E [max <Z, x> - min <Z, x>] over X, where Z is the noise of a prefix.

    Sphere: 2 E |Z|_2. Cube: 2 E |Z|_1. Simplex: the range of N numbers, which is at most 2 (ln N + ln M(s))/s for each
    s, where M is the moment generating function, (1 - λ²s²)^-m for the m Laplace numbers of a prefix, at most.
    """
    n, deviation = setting.n_arms, algorithm.deviation(setting)
    if isinstance(setting.space, Sphere):
        return 2 * deviation * math.sqrt(n)
    if isinstance(setting.space, Cube):
        return 2 * deviation * n
    if algorithm.law() == "gaussian":
        return 2 * deviation * math.sqrt(2 * math.log(n))
    levels, scale = algorithm.sums(setting).spread()[1] / 2, algorithm.node_scale(setting)
    u = np.linspace(0, 1, 1001)[1:-1]
    return float(2 * scale * np.min((math.log(n) - levels * np.log1p(-(u**2))) / u))


def choose(state: Record, x: Floats, rng: Draws) -> None:
    for i in range(len(x)):
        state.wrapped.losses[i] = state.prefix[i]
    counter_release(state.counter, state.wrapped.losses, rng)
    base_choose(state.wrapped, x, rng)


def update(state: Record, losses: Floats, rng: Draws) -> None:
    state.t += 1
    if state.t > state.last:  # the prefix of all losses is never used
        return
    counter_add_item(state.counter, rng)
    for i in range(len(losses)):
        state.prefix[i] += losses[i]
