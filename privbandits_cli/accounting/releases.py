"""The bounds on what the release of noisy numbers costs: from the law of the noise, its sensitivity, and a count.

An item moves several numbers with independent noise. Which numbers these are may depend on what was released before:
the pair of laws of one number, moved and not, dominates all that an item may do to it, and dominating pairs compose
adaptively (Zhu, Dong & Wang 2022). So the bounds from above are those of all these numbers at once.

A person who is in m rounds moves more numbers, or the same ones farther. At worst all m rounds move the same numbers:
two numbers with Laplace noise that are moved by a and b reveal no more than one that is moved by a + b, and Gaussian
noise and pure releases are alike (`docs/privacy/people.md` has the proofs). If every round has numbers of its own, the
m rounds are composed.

An attack states less where a game may not release all of them. At δ = 0 it is enough that a test distinguishes two
items in some outcome: there the noise is far out, so that an arm is played on and its numbers are released. At δ > 0
only numbers count that are released in every outcome.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, Self

from privbandits_cli.accounting import gaussian, laplace, whole
from privbandits_cli.accounting.composition import COUNTED, concentrated, optimal
from privbandits_cli.accounting.guarantee import Guarantee

LARGEST = 500.0  # ε, beyond which all but one number with Laplace noise is only accounted at δ = 0
WIDEST = 2**18  # whole numbers; noise that reaches farther is not accounted exactly
GAINS = "the gains of one round replaced"
LOSSES = "the loss vector of one round replaced"


@dataclass(frozen=True)
class Release:
    """Numbers that an item moves, all by as much: the law of their noise, what they cost together, and their count.

    total: with Laplace noise ε at δ = 0, the sum of the moves in scales of the noise; with Gaussian noise μ; `pure` is
    any noise, and total the sum of the numbers' ε; `bit` is randomised response. All >= 0.
    fresh: every round moves numbers of its own. growth: otherwise, by what factor the total grows if one person is in m
    rounds; by default m, as if all of them moved the same numbers.
    """

    law: Literal["laplace", "gaussian", "pure", "bit"]
    total: float
    count: int = 1
    fresh: bool = False
    growth: Callable[[int], float] | None = field(default=None, compare=False)

    def part(self, share: float) -> Self | None:
        """One number that is moved by this share of the total; None if it is not moved."""
        return replace(self, total=share * self.total, count=1) if share > 0 else None

    def of_person(self, rounds: int, delta: float, lower: bool = False) -> float:
        """A bound on the least ε at δ of all numbers that m rounds of one person move; lower: from below.

        From below, only one round counts if rounds may share numbers: a game need not have such numbers.
        """
        if lower and not self.fresh:
            return self.bracket(delta)[0]
        most = replace(self, total=rounds * self.total, count=self.count * (rounds if self.fresh else 1))
        if self.law == "gaussian":
            growth = math.sqrt(rounds) if self.fresh else self.growth(rounds) if self.growth else rounds
            return gaussian.epsilon_of(growth * self.total, delta)
        pure = most.total if self.growth is None else self.growth(rounds) * self.total
        if delta == 0 or not most.accounted():
            return self.bracket(delta)[0] if lower and delta else pure
        return most.bracket(delta)[0] if lower else min(pure, most.bracket(delta)[1])

    def accounted(self) -> bool:
        """Whether `bracket` knows more than the total at δ > 0."""
        most = math.inf if self.law == "laplace" and self.count == 1 else LARGEST
        return 0 < self.total <= most and self.total < math.inf and self.count <= COUNTED

    def words(self, rounds: int) -> str:
        """How several rounds of one person are counted."""
        if self.fresh:
            return f"composed over {rounds:,} rounds"
        return f"the worst {rounds:,} rounds" if self.growth else f"{rounds:,} rounds may move the same numbers"

    def counted(self, what: str) -> str:
        """The count, in words."""
        return f"one {what}" if self.count == 1 else f"{self.count:,} {what}s"

    def bracket(self, delta: float) -> tuple[float, float]:
        """A lower and an upper bound on the least ε at δ. They are equal for Gaussian noise, one number and δ = 0.

        One Laplace number has δ(ε) = 1 - e^((ε - total)/2). `pure`: the optimal composition from above, 0 from below.
        """
        if self.law == "gaussian":
            found = gaussian.epsilon_of(self.total, delta)
        elif delta == 0:
            found = self.total
        elif self.law in ("pure", "bit"):
            found = optimal(self.total / self.count, self.count, delta)
            return (found if self.law == "bit" else 0.0), found
        elif self.count > 1:
            return laplace.bracket(self.count, self.total / self.count, delta)
        else:
            found = max(0.0, self.total + 2 * math.log1p(-delta))
        return found, found


def noised(
    release: Release,
    delta: float,
    source: str,
    what: str,
    view: str,
    *,
    surely: Release | None,
    possibly: Release | None = None,
    neighbours: str = GAINS,
) -> list[Guarantee]:
    """The bounds of a release, from above and from below, at δ = 0 and at `delta`; Gaussian noise has none at δ = 0.

    source: why an item moves no more; what: one of the numbers, in words. surely: what a stated pair of items moves in
    every outcome of this game; None if nothing. possibly: what it moves in some outcome; by default the same.
    """
    farthest = possibly or surely
    known = partial(Guarantee, view=view, neighbours=neighbours, spent=release)
    source = source if farthest else f"{source}; this game ends before the first {what}"
    attack = partial(known, status="exact", lower=True, spent=surely if surely and surely.fresh else None)
    bounds = []
    if release.law != "gaussian":
        bounds.append(known(release.total, 0.0, source, "proved"))
        if farthest:
            bounds.append(attack(farthest.total, 0.0, f"attack, at δ = 0: {farthest.counted(what)}, far out"))
        if not release.accounted():
            return bounds
    if delta == 0:
        return bounds
    tight = surely == release and release.law == "gaussian"
    several = source if release.count == 1 else f"{source}: {release.counted(what)}"
    bounds.append(known(release.bracket(delta)[1], delta, several, "exact" if tight else "proved"))
    if surely:
        bounds.append(attack(surely.bracket(delta)[0], delta, f"attack: {surely.counted(what)}"))
    return bounds


def bit(epsilon: float, share: float, delta: float, source: str, what: str, view: str) -> list[Guarantee]:
    """Bounds for a bit whose chance to be 1 lies between 1/(1 + e^ε) and e^ε/(1 + e^ε), and is released once.

    share: an item moves that chance by at most this part of the range, in (0, 1]. It costs most if it moves it from an
    end of the range: from p = 1/(1 + e^ε) to q it has δ(ε') = q - e^ε' p. Domain: 0 <= ε <= 700.
    """
    odds, bounds = math.exp(epsilon), []
    reports = Release("bit" if share == 1 else "pure", math.log(1 + share * (odds - 1)), fresh=True)
    q = 1 / (1 + odds) + share * (odds - 1) / (1 + odds)
    for at in sorted({0.0, delta}):
        found = math.log(max(1.0, (q - at) * (1 + odds)))
        bounds.append(Guarantee(found, at, source, "proved", view=view, spent=reports))
        own = reports if share == 1 else None
        bounds.append(Guarantee(found, at, f"attack: one {what}", "exact", lower=True, view=view, spent=own))
    return bounds


@dataclass(frozen=True)
class Concentrated:
    """A ρ-zCDP release of a round; m rounds of one person are m²ρ-zCDP (Bun & Steinke 2016, Proposition 1.9)."""

    rho: float

    def of_person(self, rounds: int, delta: float, lower: bool = False) -> float:
        """The ε of m²ρ-zCDP; there is none from below."""
        return 0.0 if lower else concentrated(rounds**2 * self.rho, delta)

    def words(self, rounds: int) -> str:
        """The factor."""
        return f"{rounds**2:,} ρ for {rounds:,} rounds"


def zcdp(
    rho: float, delta: float, source: str, what: str, view: str, *, share: float = 1.0, neighbours: str = GAINS
) -> list[Guarantee]:
    """The bounds of one Gaussian release that is ρ-zCDP: from ρ, and from √(2ρ)-GDP, which it is as well.

    share: the part of its sensitivity that a stated pair of items has in every outcome. For the others see `noised`.
    """
    one, told = Release("gaussian", math.sqrt(2 * rho)), f"ρ-zCDP with ρ = {rho:.4g}, converted"
    by_rho = Guarantee(
        concentrated(rho, delta), delta, told, "proved", view=view, neighbours=neighbours, spent=Concentrated(rho)
    )
    return [by_rho, *noised(one, delta, source, what, view, surely=one.part(share), neighbours=neighbours)]


def halves(total: float, delta: float, source: str, view: str, both: bool) -> list[Guarantee]:
    """Bounds if a gain is in two sums, each with noise that hides it with ε = total/2.

    The first gain is in one sum with one Laplace number; both: some outcome of this game has two such sums.
    """
    half = Release("laplace", total / 2)
    possibly = Release("laplace", total, 2) if both else half
    return noised(Release("pure", total, 2), delta, source, "noisy sum", view, surely=half, possibly=possibly)


def vectors(
    m: int,
    scale: float,
    changes: tuple[float, float],
    box: bool,
    delta: float,
    view: str,
    *,
    hidden: bool = False,
    fresh: bool = False,
    growth: Callable[[int], float] | None = None,
) -> list[Guarantee]:
    """Bounds for m vectors with Laplace noise of this scale in every coordinate, if one item affects all of them.

    changes: the largest l1 and l2 distances of two items. They are cw and √c w, attained by items that differ by w in c
    coordinates. At δ = 0 the l1 distance determines ε; at δ > 0 these c m numbers are an attack. box: no coordinate
    differs by more than w. Then that attack is the worst case, as a smaller shift is post-processing of a larger one.
    Otherwise the vectors are composed like any releases of the same pure ε. hidden: further noise hides part of the
    vectors, unless it is far out. view: what the observer sees of them. fresh, growth: as of a `Release`.
    """
    (l1, l2), pure = changes, m * changes[0] / scale if scale > 0 else math.inf
    numbers = Release("laplace", pure, m * round((l1 / l2) ** 2), fresh, growth)
    release = numbers if box else replace(numbers, law="pure", count=m)
    source = f"Lemma 3.3 with {m} nodes, a loss replaced" if m > 1 else "Laplace noise"
    seen = {"possibly": numbers, "surely": None if hidden else numbers}
    return noised(release, delta, source, "Laplace number", view, neighbours=LOSSES, **seen)


def summed(
    law: whole.Noise,
    batches: Iterable[tuple[float, float]],
    first: tuple[float, float, float] | None,
    delta: float,
    source: str,
    view: str,
) -> list[Guarantee]:
    """Bounds for sums of whole numbers with this noise, if an item changes one of them.

    batches: g, in which the spread of the noise is counted, and the largest change, of each sum that a game may have;
    first: g, the change and M of a sum that it surely has and that is seen mod M; None if there is none.
    """
    known, sums = partial(Guarantee, view=view), list(batches)
    bounds = []
    if isinstance(law, whole.DiscreteLaplace):
        pure = max(change / g for g, change in sums) / law.spread
        bounds.append(known(pure, 0.0, source, "proved"))
    if delta > 0 and max(change + g * law.spread * whole.REACH for g, change in sums) < WIDEST:
        found = max(whole.cost(law, g, delta, change) for g, change in sums)
        if found < math.inf:
            worst = f"{source}, the worst of {len(sums)} batches" if len(sums) > 1 else source
            bounds.append(known(found, delta, worst, "proved"))
    if first and max(*first, first[0] * law.spread * whole.REACH) < WIDEST:
        g, change, modulus = first
        for at in sorted({0.0, delta}):
            found = whole.cost(law, g, at, change, modulus)
            if found < math.inf:
                bounds.append(known(found, at, "attack: one sum of the first batch, mod M", "exact", lower=True))
    return bounds
