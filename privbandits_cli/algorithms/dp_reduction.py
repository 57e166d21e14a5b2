"""The reduction to a non-private bandit algorithm (Agarwal & Singh 2017, Algorithm 4): Laplace noise on every gain.

The base receives g + Lap(1/ε), neither clipped nor scaled, so it sees gains outside [0, 1]. Its expected regret on the
noisy gains equals that on the true ones (Lemma 4.3). Each gain is used once, with fresh noise: ε-DP (Lemma 4.2).
"""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar

from pydantic import Field

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.accounting.releases import Release, noised
from privbandits_cli.games import bandit, views
from privbandits_cli.games.bandit import Draws, Floats, One, Setting
from privbandits_cli.numerics.jit import Record, Records, record, unbound

base_choose: Any = unbound
base_update: Any = unbound
base_probabilities: Any = unbound


class NoisyGains(bandit.Algorithm):
    """A base that sees each gain only with Laplace noise of scale λ = 1/ε."""

    private = True
    local = True
    drawn = ("laplace",)
    theorem: ClassVar[str]

    epsilon: float = Field(description="ε")
    base: bandit.Algorithm = Field(description="the algorithm that is made private")

    def view(self, setting: Setting) -> views.View | None:
        return views.Release()

    def errors(self, setting: Setting) -> Iterator[str]:
        unfit = list(super().errors(setting))
        yield from unfit
        if not unfit and "laplace" in bandit.random_needs(self.base.tuned(setting), setting):
            yield f"{self.base.title} draws Laplace noise itself: one layer of noise cannot reuse another's"

    def scale(self) -> float:
        """λ = 1/ε: gains lie in [0, 1], so replacing one changes it by at most 1."""
        return 1 / self.epsilon

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """The theorem's bound; lower bound: the test of one noisy gain, which has δ(ε') = 1 - e^((ε' - ε)/2)."""
        source = f"{self.theorem}: each gain seen once, under fresh noise"
        view = "all noisy gains, and so all arms played"
        one = Release("laplace", self.epsilon * sensitivity, fresh=True)
        return noised(one, delta, source, "noisy gain", view, surely=one)

    def facts(self, setting: Setting) -> dict[str, float]:
        return {"scale": self.scale(), **super().facts(setting)}

    def mechanism(self) -> str:
        return f"Laplace noise of scale {self.scale():.4g}"


class Parameters(NoisyGains):
    """ε and the base."""

    read = "paper"
    display = "DP-{base}"
    theorem = "Lemma 4.2 of Agarwal & Singh"

    epsilon: Annotated[float, Field(ge=1e-9)] = Field(description="ε; the noise has scale 1/ε")

    def state(self, setting: Setting) -> Records:
        return record(scale=self.scale(), wrapped=self.base.state(setting))

    def draws(self, setting: Setting) -> dict[str, int | One]:
        return bandit.random_needs(self.base, setting)  # the base sees every round, so it has its own periods

    def caveats(self, setting: Setting) -> list[str]:
        return [
            "λ = 1/ε is exact for gains in [0, 1]. Replacing one of the losses in [-1, 1] of Theorem 4.1 changes it by "
            "up to 2, so the same noise gives 2ε there.",
            f"{self.base.title} sees gains of any size and sign: its own theorems, on gains in [0, 1], cover the noisy "
            "game only where they say so.",
        ]

    def regret_bound(self, rounds: Floats, setting: Setting, memory: int = 0) -> Floats | None:
        """The base's bound under this noise, if a theorem has one; by Lemma 4.3 it holds for the true gains, too."""
        scale = self.scale()
        if scale == 0:
            return self.base.regret_bound(rounds, setting, memory)
        return self.base.noisy_regret_bound(rounds, setting, scale) if memory == 0 else None


def choose(state: Record, rng: Draws) -> int:
    arm: int = base_choose(state.wrapped, rng)
    return arm


def released(state: Record, gain: float, rng: Draws) -> float:
    """The noisy gain g', the only thing that the base and any observer learn of the gain."""
    noisy: float = gain + state.scale * rng.laplace
    return noisy


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    base_update(state.wrapped, arm, released(state, gain, rng), rng)


def probabilities(state: Record, out: Floats) -> None:
    base_probabilities(state.wrapped, out)
