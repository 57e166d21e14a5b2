"""Arms with known means and one known moment: i.i.d. gains, heavy-tailed gains, and the learners for them.

A heavy-tailed gain has E|X|^(1+v) <= u for some v in (0, 1], and possibly no variance (Bubeck, Cesa-Bianchi & Lugosi
2013).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Any, Literal, Self, get_args

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import Field

from privbandits_cli.games.bandit import Adversary, Algorithm, Floats, Setting
from privbandits_cli.games.drawing import side_by_side
from privbandits_cli.games.parameters import Or, Size, left_out
from privbandits_cli.numerics.arrays import aligned
from privbandits_cli.numerics.jit import compiled
from privbandits_cli.numerics.text import exact

Moment = Annotated[float, Field(ge=0.1, le=1)]  # v; below 0.1 no game is long enough to learn anything
Factor = Annotated[float, Field(ge=1e-6, le=1e6)]  # multiplies a constant that a paper prints

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


class HeavyTailed(Stationary):
    """Gains location[arm] + scale[arm] z with one variable z per round; algorithms know a moment of order 1 + v."""

    bounded = False

    v: Moment = Field(1.0, description="algorithms know v and u, the largest E|gain|^(1+v) of the arms")

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
        return setting._replace(v=self.v, u=float(self.moments(setting).max()))

    def gains_in_lanes(
        self, setting: Setting, rngs: Sequence[Generator], rounds: Callable[[], Iterable[range]]
    ) -> Iterator[NDArray[Any]]:
        location, scale = map(np.array, np.broadcast_arrays(*self.location_scale(setting)))
        draws = [self.standard(rng) for rng in rngs]
        for block in rounds():
            z = np.empty((len(block), len(rngs)))
            side_by_side(np.array([draw(len(block)) for draw in draws]), z)
            gains = aligned((len(block), len(location), len(rngs)), np.float64)
            compiled(stretch)(z, location, scale, gains)
            yield gains

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


class Robust(Algorithm):
    """A learner that knows only v and u with E|gain|^(1+v) <= u."""

    bounded = False

    v: Moment = left_out("E|gain|^(1+v) <= u; default the adversary's, or 1 for gains in [0, 1]")
    u: Annotated[Size, Or(str)] = left_out(
        "default the adversary's exact value (1 for gains in [0, 1]); `0.5x` is half of it"
    )

    def tuned(self, setting: Setting) -> Self:
        exact = 1.0 if setting.u is None else setting.u
        u = exact if self.u is None else self._factor() * exact if isinstance(self.u, str) else self.u
        return self.replace(v=self.v or setting.v or 1.0, u=u)

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
