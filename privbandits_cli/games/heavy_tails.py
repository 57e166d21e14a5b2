"""Arms with known means and one known moment: i.i.d. gains, heavy-tailed gains, and the learners for them.

A heavy-tailed gain has E|X|^(1+v) <= u for some v in (0, 1], and possibly no variance (Bubeck, Cesa-Bianchi & Lugosi
2013). A share α of the gains may be replaced by outliers (Huber contamination: Wu, Zhou, Tao & Wang 2023; Zhou & Zhang
2024). Regret is counted on the means without outliers.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, Literal, Self, get_args

import numpy as np
from numpy.random import Generator
from pydantic import Field

from privbandits_cli.games.bandit import Adversary, Algorithm, Floats, Setting
from privbandits_cli.games.drawing import side_by_side
from privbandits_cli.games.parameters import Or, Size, left_out
from privbandits_cli.games.players import Contamination
from privbandits_cli.numerics.arrays import aligned
from privbandits_cli.numerics.jit import compiled
from privbandits_cli.numerics.text import exact
from privbandits_cli.numerics.types import Blocks, Tables

Moment = Annotated[float, Field(ge=0.1, le=1)]  # v; below 0.1 no game is long enough to learn anything
Factor = Annotated[float, Field(ge=1e-6, le=1e6)]  # multiplies a constant that a paper prints

Replaced = Annotated[float, Field(ge=0, le=0.5)]  # α; more than half cannot be told from the gains themselves

Preset = Literal["linear", "convex", "concave", "zhou", "C1", "C2", "C3", "C4"]

HIGHEST = 0.9  # mean of the best arm of the instances of Tao et al.


def preset(name: Preset, n_arms: int) -> Floats:
    """Means `[n_arms]`, the best arm first; with five arms the numbers are the papers'.

    linear, convex, concave: from 0.9 to 0.1, after Tao et al. 2022, whose experiment section was not available; the
    shapes are those of Sajed & Sheffet 2019. C1 to C4: the instances of Sajed & Sheffet. zhou: 0.9/i (Zhou & Zhang
    2024, appendix A.2).
    """
    down = np.linspace(1.0, 0.0, n_arms)  # 1, 3/4, 1/2, 1/4, 0
    means: dict[Preset, Floats] = {
        "linear": 0.1 + 0.8 * down,
        "convex": 0.1 + 0.8 * down**2,
        "concave": 0.9 - 0.8 * (1 - down) ** 2,
        "zhou": HIGHEST / np.arange(1, n_arms + 1),
        "C1": np.where(down == 1, 0.75, 0.7),
        "C2": 0.25 + 0.5 * down,
        "C3": 0.25 + 0.5 * down**2,
        "C4": 0.75 - 0.5 * (1 - down) ** 2,
    }
    return means[name]


def instances(annotation: Any, n_arms: int) -> dict[str, list[float]]:
    """The means of the instances that a parameter of this type may name; none for any other type."""
    named = Preset in (annotation, *get_args(annotation))
    return {name: preset(name, n_arms).tolist() for name in get_args(Preset) if named}


class Stationary(Adversary):
    """The gains of different rounds are independent and have one law; the regret is pseudo-regret.

    In each round, one random number determines the gains of all arms. Only the gain of the arm played is observed, so
    the dependence between arms changes neither the law of the game nor the pseudo-regret, and all algorithms play the
    same game.
    """

    means: Preset | list[float] | None = Field(
        None, description=f"mean gains, one for each arm, or {', '.join(get_args(Preset))}; default linear"
    )
    gap: float | None = Field(
        None, gt=0, lt=HIGHEST, description="in place of means: 0.9 for arm 1 and 0.9 - gap for all others"
    )

    def tuned(self, setting: Setting) -> Self:
        given = self.means is not None or self.gap is not None
        return self if given else self.model_copy(update={"means": "linear"})

    def mean_gains(self, setting: Setting) -> Floats:
        if self.gap is not None:
            return np.array([HIGHEST] + [HIGHEST - self.gap] * (setting.n_arms - 1))
        return np.array(self.means) if isinstance(self.means, list) else preset(self.means or "linear", setting.n_arms)

    def errors(self, setting: Setting) -> Iterator[str]:
        if self.gap is not None and self.means is not None:
            yield "gap replaces means: give one of them"
        elif isinstance(self.means, list) and len(self.means) != setting.n_arms:
            yield f"{len(self.means)} means for {setting.n_arms} arms: list as many, or set arms: {len(self.means)}"


def limit(u: float, alpha: float, v: float) -> float:
    """(u/α)^(1/(1+v)), the largest gain to keep if a share α may be replaced: there αB = u B^-v.

    A larger B lets the outliers move a mean farther, by αB; a smaller one cuts more from it, at most u B^-v.
    """
    return math.inf if alpha == 0 else float((u / alpha) ** (1 / (1 + v)))


class HeavyTailed(Stationary):
    """Gains location[arm] + scale[arm] z with one variable z per round; algorithms know a moment of order 1 + v.

    With probability α, each round by itself, the gains of a round are replaced by outliers that favour the wrong arms:
    -x for the best arms and x for all others. `order: before` (CTL of Zhou & Zhang 2024) replaces the gain, which a
    local learner then reports with its noise. `order: after` (LTC) replaces the report itself, so that no noise hides
    it. Learners whose reports are not local see an infinite gain in its place, which they cut.
    """

    bounded = False

    v: Moment = Field(1.0, description="algorithms know v and u, the largest E|gain|^(1+v) of the arms")
    contamination: Replaced = Field(0.0, description="α, the share of the gains that are replaced by outliers")
    outlier: Size | None = Field(
        None, description="x, the size of an outlier; default (u/α)^(1/(1+v)), the largest that a learner with α keeps"
    )
    order: Literal["before", "after"] = Field(
        "before", description="what is replaced: gains, before local learners report them, or their reports"
    )

    def errors(self, setting: Setting) -> Iterator[str]:
        yield from super().errors(setting)
        if self.contamination == 0 and (self.outlier is not None or self.order == "after"):
            yield "no gain is replaced: set `contamination` above 0, or leave `outlier` and `order` out"

    def replaced(self, setting: Setting) -> Contamination | None:
        """What is replaced; None if nothing is."""
        alpha, size = self.contamination, self.outlier
        if alpha == 0:
            return None
        if size is None:
            size = limit(float(self.moments(setting).max()), alpha, self.v)
        return Contamination(alpha, size, self.order == "after")

    def location_scale(self, setting: Setting) -> tuple[Floats, Floats]:
        """Location and scale of the arms, `[arms]` each."""
        raise NotImplementedError

    def standard(self, rng: Generator) -> Callable[[int], Floats]:
        """A source of the variable z: each call draws the next n rounds."""
        raise NotImplementedError

    def moments(self, setting: Setting) -> Floats:
        """E|gain|^(1+v) of the arms, `[arms]`."""
        raise NotImplementedError

    def revealed(self, setting: Setting) -> Setting:
        u = float(self.moments(setting).max())
        return setting._replace(v=self.v, u=u, contamination=self.replaced(setting))

    def gains_in_lanes(self, setting: Setting, rngs: Sequence[Generator], rounds: Blocks) -> Tables:
        location, scale = map(np.array, np.broadcast_arrays(*self.location_scale(setting)))
        draws, foul = [self.standard(rng) for rng in rngs], self.replaced(setting)
        chances = [rng.spawn(1)[0] for rng in rngs] if foul else []  # the other gains are those of the clean game
        for block in rounds():
            z = np.empty((len(block), len(rngs)))
            side_by_side(np.array([draw(len(block)) for draw in draws]), z)
            gains = aligned((len(block), len(location), len(rngs)), np.float64)
            compiled(stretch)(z, location, scale, gains)
            if foul:
                hit = np.array([chance.random(len(block)) < foul.alpha for chance in chances])
                np.copyto(gains, self.outliers(setting, foul)[:, None], where=hit.T[:, None])
            yield gains

    def outliers(self, setting: Setting, foul: Contamination) -> Floats:
        """What replaces the gains of the arms, `[arms]`; infinite if it stands for a replaced report."""
        means, size = self.mean_gains(setting), math.inf if foul.after else foul.outlier
        return np.where(means == means.max(), -size, size)

    def _too_heavy(self, name: str, value: float | None) -> Iterator[str]:
        """The error if a tail of this index has no moment of order 1 + v; it only has those of smaller orders."""
        if value is not None and value <= 1 + self.v:
            lower = f", or v below {value - 1:.12g}" if value > 1 else ""
            order = f"1 + v = {1 + self.v:.12g}"
            yield f"{name} = {exact(value)} has no moment of order {order}: set {name} above it{lower}"


def stretch(z: Floats, location: Floats, scale: Floats, gains: Floats) -> None:
    """Fill `gains[round, arm, lane]` with location + scale z, where z is `[round, lane]`, location and scale `[arm]`.

    NumPy would need two passes, and twice the time.
    """
    for t in range(len(z)):
        for a in range(len(scale)):
            for lane in range(z.shape[1]):
                gains[t, a, lane] = scale[a] * z[t, lane] + location[a]


def sent(report: float, gain: float, outlier: float) -> float:
    """What reaches a local learner: the report of a gain, or where the gain is infinite an outlier with its sign.

    An outlier replaces the report itself, and is no function of a user's gain, so it reveals nothing of one.
    """
    replaced = outlier if gain > 0.0 else -outlier
    return report if abs(gain) < np.inf else replaced


class Robust(Algorithm):
    """A learner that knows only v and u with E|gain|^(1+v) <= u, and α if it is to withstand outliers.

    With α it keeps no gain above B = (u/α)^(1/(1+v)). This B is ours: it displaces a mean by the order α^(v/(1+v)) that
    both papers state.
    """

    bounded = False

    v: Moment = left_out("E|gain|^(1+v) <= u; default the adversary's, or 1 for gains in [0, 1]")
    u: Annotated[Size, Or(str)] = left_out(
        "default the adversary's exact value (1 for gains in [0, 1]); `0.5x` is half of it"
    )
    alpha: Annotated[Replaced, Or(Literal["known"])] = Field(
        0.0, description="α, the share of the gains that may be replaced; `known` is the adversary's"
    )

    def tuned(self, setting: Setting) -> Self:
        exact = 1.0 if setting.u is None else setting.u
        u = exact if self.u is None else self._factor() * exact if isinstance(self.u, str) else self.u
        foul = setting.contamination
        alpha = (0.0 if foul is None else foul.alpha) if isinstance(self.alpha, str) else self.alpha
        return self.replace(v=self.v or setting.v or 1.0, u=u, alpha=alpha)

    def limit(self, factor: float = 1.0) -> float:
        """The largest gain that it keeps after any number of plays; factor: how much farther an outlier reaches."""
        return limit(self.u, factor * self.alpha, self.v)

    def displacement(self) -> float:
        """How far a mean of gains up to `limit` may be from that of all gains, on average (the Huber term; ours).

        Cutting moves it by at most u B^-v = u^(1/(1+v)) α^q with q = v/(1+v). Outliers move it by at most
        α (B + u^(1/(1+v))), as the mean of the kept gains is at most u^(1/(1+v)) in absolute value.
        """
        unit, share = self.u ** (1 / (1 + self.v)), self.alpha ** (self.v / (1 + self.v))
        return float(unit * (2 * share + self.alpha))

    def outlier(self, setting: Setting) -> float:
        """The size of a replaced report."""
        return 0.0 if setting.contamination is None else setting.contamination.outlier

    def without_cut_reports(self, setting: Setting) -> Iterator[str]:
        """The error if α is to withstand replaced reports of any size."""
        foul = setting.contamination
        if foul is not None and foul.after and self.alpha != 0:
            yield (
                "a report that is replaced after its noise may have any size, which alpha does not withstand: "
                "set alpha: 0, or use ldp_robust_ucb with `report: bernoulli`"
            )

    def neighbours(self, setting: Setting) -> str:
        """Which inputs are to be indistinguishable: gains of any size, unless the adversary states no moment."""
        return f"the gains of one round replaced by any others{' in [0, 1]' * (setting.v is None)}"

    def share(self, bound: float, setting: Setting, sensitivity: float) -> float:
        """The largest change of a gain x 1{|x| <= B} as a fraction of 2B, if gains change by at most `sensitivity`.

        Gains of any size attain 2B. Gains in [0, 1] are not cut if B >= 1. If B < 1, a gain a little above B is cut to
        0, and differs by B from a gain at B.
        """
        if setting.v is not None:
            return 1.0
        return float((sensitivity if bound >= 1 else bound) / (2 * bound))

    def errors(self, setting: Setting) -> Iterator[str]:
        if isinstance(self.u, str) and self._factor() <= 0:
            yield f"u = {self.u}: give a positive number, or a multiple of the adversary's u such as 0.5x"
        if self.v is not None and setting.v not in (None, self.v) and not isinstance(self.u, float):
            theirs, own = exact(setting.v), exact(self.v)
            yield f"the adversary's u is for v = {theirs}: with v = {own} give u as a number, or leave v out"

    def _factor(self) -> float:
        """The factor of a multiple such as 0.5x; 0 for any other text."""
        multiple = re.fullmatch(r"(\d+|\d*\.\d+)x", str(self.u))
        return float(multiple[1]) if multiple else 0.0
