"""Private SCRiBLe: Algorithm 4 around SCRiBLe (Agarwal & Singh 2017, Theorem 4.5).

The base receives <l, x> + <Z, x>, where Z has N Laplace numbers, or <l, x> plus one Laplace number. It learns nothing
else of the loss. The noise has mean 0, so the expected regret is that of the base on the noisy losses (Lemma 4.3).
There is no regret bound with constants: Theorem 4.5 is an O(·), because η N times a noisy loss is at most 1/4 only with
high probability.
"""

import math
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.accounting.releases import Release, noised
from privbandits_cli.algorithms import scrible
from privbandits_cli.convex.polytope import Polytope
from privbandits_cli.games import linear, views
from privbandits_cli.games.linear import Draws, Feedback, Floats, Ints, Setting, loss_set
from privbandits_cli.numerics.jit import Record, Records, record, unbound

base_choose: Any = unbound
base_update: Any = unbound


class Parameters(linear.Algorithm):
    """ε and the noise; SCRiBLe's own parameters are under `base`."""

    read = "paper"
    feedback: ClassVar[Feedback] = "bandit"
    display = "DP-SCRiBLe"
    private = True
    local = True
    calibrations: ClassVar = {"certified": {}, "paper": {"calibration": "printed"}}

    epsilon: Annotated[float, Field(ge=1e-9)] = Field(description="ε")
    noise: Literal["vector", "scalar"] = Field(
        "vector", description="<Z, x> with N Laplace numbers Z, as printed; or one, with up to N times less variance"
    )
    calibration: Literal["corrected", "printed"] = Field(
        "corrected",
        description="noise scaled to the replacement of a loss; `printed`: to its norm, which gives twice the ε",
    )
    base: scrible.Parameters = Field(scrible.Parameters(), description="SCRiBLe and its η")

    def scale(self, setting: Setting) -> float:
        """λ = Δ/ε of each number that is drawn; `printed` has Δ/2 in place of Δ."""
        return (self._change(setting) if self.calibration == "corrected" else self._norm(setting)) / self.epsilon

    def variance(self, setting: Setting) -> float:
        """The largest variance of the noise on a loss: 2 λ² |x|_2² for the vector, 2 λ² for one number."""
        stretch = setting.decisions().radius() if self.noise == "vector" else 1.0
        return 2 * (self.scale(setting) * stretch) ** 2

    def _norm(self, setting: Setting) -> float:
        """The paper's Δ, the difference of a loss and 0: |Y|_1 for the vector, and likewise M for one number."""
        return loss_set(setting).norms()[0] if self.noise == "vector" else setting.decisions().largest_loss()

    def _change(self, setting: Setting) -> float:
        """Δ such that Δ/λ is the ε for the replacement of a loss: for one number, the largest |<l - l', x>|.

        The log-density of <Z, x> has slope at most 1/(λ |x|_∞), so for the vector Δ is max |<l - l', x>| / |x|_∞ <=
        |l - l'|_1. Both are the norm of one loss times the largest distance of two losses in norms, which is 2 in these
        symmetric loss sets.
        """
        losses = loss_set(setting)
        return self._norm(setting) * losses.changes()[0] / losses.norms()[0]

    def tuned(self, setting: Setting) -> Self:
        """η of Theorem 4.5, √(ν ln T / (2 N² T (M² + v))), where the variance v of the noise replaces λ² N |X|_2²."""
        return self.model_copy(update={"base": self.base.tuned_for(setting, self.variance(setting), math.sqrt(1 / 2))})

    def state(self, setting: Setting) -> Records:
        return record(vector=self.noise == "vector", scale=self.scale(setting), wrapped=self.base.state(setting))

    def draws(self, setting: Setting, rounds: Ints) -> dict[str, int]:
        return self.base.draws(setting, rounds) | {"laplace": setting.n_arms if self.noise == "vector" else 1}

    def view(self, setting: Setting) -> views.View | None:
        return views.Release()

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """Lemma 4.2 for the replacement of a loss, which is tight; lower bound at δ: the test of the first noisy loss.

        That round plays an axis over √2, each with probability 1/N. If the losses along one axis differ by 2, they move
        the noisy loss by √2, which is ε_1 = √2/λ for one number, and 2/λ for the vector. `noised` has no number that is
        moved with probability 1/N only: its δ at ε' is 1/N of that of a Laplace number that is moved by ε_1.
        """
        n, vector = setting.n_arms, self.noise == "vector"
        scale = self.scale(setting) or math.ulp(0.0)  # ε = ∞ draws no noise, and promises nothing
        one = Release("pure" if vector else "laplace", sensitivity * self._change(setting) / scale, fresh=True)
        far = one if setting.horizon > n else None  # large noise in N rounds may move the leader to any point
        neighbours, view = "the loss of one round replaced", "all noisy losses, so all plays"
        source, what = "Lemma 4.2, a loss replaced", "noisy loss at the border"
        found = noised(one, delta, source, what, view, surely=None, possibly=far, neighbours=neighbours)
        if self.calibration == "printed":
            paper = Guarantee(sensitivity * self.epsilon, 0.0, "Theorem 4.5", "paper", view=view, neighbours=neighbours)
            found.append(paper)
        if far and not isinstance(setting.space, Polytope) and 0 < n * delta < 1:
            first = Release("laplace", sensitivity * (2 if vector else math.sqrt(2)) / scale)
            test, least = "attack: the first noisy loss", first.bracket(n * delta)[0]
            found.append(Guarantee(least, delta, test, "exact", lower=True, view=view, neighbours=neighbours))
        return found

    def facts(self, setting: Setting) -> dict[str, float]:
        return {"scale": self.scale(setting), **super().facts(setting)}

    def mechanism(self) -> str:
        return "Laplace noise on " + ("the loss vector" if self.noise == "vector" else "the loss suffered")

    def caveats(self, setting: Setting) -> list[str]:
        deviation, most = math.sqrt(self.variance(setting)), setting.decisions().largest_loss()
        notes = [f"The noise has standard deviation up to {deviation:.4g} on losses of at most {most:.4g}."]
        if self.calibration == "printed":
            notes.append("Definition 2.1 replaces a loss, which changes <l, x> by twice what Lemma 4.2 counts: 2ε.")
        if self.noise == "vector":
            notes.append(
                "One Laplace number on <l, x> gives the same ε with up to N times less variance (`noise: scalar`)."
            )
        return notes


def choose(state: Record, x: Floats, rng: Draws) -> None:
    base_choose(state.wrapped, x, rng)


def released(state: Record, x: Floats, loss: float, rng: Draws) -> float:
    """The noisy loss, the only thing that the base and any observer learn of the loss vector."""
    noise = rng.laplace[0]
    if state.vector:
        noise *= x[0]
        for i in range(1, len(x)):
            noise += rng.laplace[i] * x[i]
    noisy: float = loss + state.scale * noise
    return noisy


def update(state: Record, x: Floats, loss: float, rng: Draws) -> None:
    base_update(state.wrapped, x, released(state, x, loss, rng), rng)
