"""The mini-batch loop around any base algorithm (Dekel, Tewari & Arora 2012; Tossou & Dimitrakakis, section 3.2).

Rounds come in blocks of τ. The base names one arm, which is played for the whole block; at its end the base
is fed the average gain of the block. A last block that is not full is never fed. The base is tuned for the
T/τ rounds that it sees.
"""

import math
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import Field

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.games import bandit
from privbandits_cli.games.bandit import Draws, Floats, Setting
from privbandits_cli.jit import Record, Records, record, unbound

base_choose: Any = unbound
base_update: Any = unbound
base_probabilities: Any = unbound

Rule = Literal["corollary_3.2", "corollary_3.3", "corollary_3.3_printed"]


class Parameters(bandit.Algorithm):
    """The length of a block, as a number or by a rule, and the base."""

    tau: Annotated[int, Field(ge=1)] | Rule = Field(
        "corollary_3.2",
        description="τ, rounds in a block; `corollary_3.2`: (T / (7 K ln K))^(1/3); `corollary_3.3`: from epsilon "
        "and delta, corrected so that Theorem 3.5 gives ε; `corollary_3.3_printed`: as printed. Rounded up",
    )
    epsilon: float | None = Field(None, gt=0, description="ε that `tau: corollary_3.3` is to reach")
    delta: float | None = Field(None, gt=0, lt=1, description="δ of the guarantee; default T^-2")
    base: bandit.Algorithm = Field(description="the algorithm that sees the averages")

    @property
    def title(self) -> str:
        return f"{self.base.title}-τ"

    def inner(self, setting: Setting) -> Setting:
        """The game as the base sees it: T/τ rounds."""
        assert isinstance(self.tau, int), "tune the parameters first"
        return setting._replace(horizon=setting.horizon / self.tau)

    def tuned(self, setting: Setting) -> Self:
        delta = self.delta or setting.horizon**-2.0
        tau = self.tau if isinstance(self.tau, int) else self._rule(self.tau, delta, setting)
        ready = self.model_copy(update={"tau": tau, "delta": delta})
        return ready.model_copy(update={"base": self.base.tuned(ready.inner(setting))})

    def _rule(self, rule: Rule, delta: float, setting: Setting) -> int:
        horizon, n_arms = setting
        if rule == "corollary_3.2":
            cube = horizon / (7 * n_arms * math.log(n_arms))
        else:
            assert self.epsilon is not None
            epsilon, log_delta = self.epsilon, math.log(1 / delta)
            if rule == "corollary_3.3_printed":
                cube = horizon * (4 * epsilon + 2 * log_delta) / epsilon**2
            else:
                # With x = T/τ³ this gives 4x + √(8 x ln(1/δ)) = ε (y/2 + √(1 - y)) <= ε, y = ε/(ε + ln(1/δ));
                # the printed τ reaches nearly 2ε for small ε.
                cube = 8 * horizon * (epsilon + log_delta) / epsilon**2
        return max(1, math.ceil(math.pow(cube, 1 / 3)))

    def state(self, setting: Setting) -> Records:
        return record(tau=self.tau, arm=0, played=0, gain=0.0, wrapped=self.base.state(self.inner(setting)))

    def draws(self) -> frozenset[str]:
        return self.base.draws()

    def faults(self, setting: Setting) -> Iterator[str]:
        if str(self.tau).startswith("corollary_3.3") and self.epsilon is None:
            yield f"tau: {self.tau} needs an epsilon"
            return
        tau = self.tuned(setting).tau
        if isinstance(tau, int) and tau > setting.horizon:
            yield f"a block of {tau} rounds does not fit into the horizon of {setting.horizon:g}"
        yield from self.base.faults(setting)

    def guarantee(self, setting: Setting) -> Guarantee | None:
        """The base's: one changed round changes one average in [0, 1]."""
        return self.base.guarantee(self.inner(setting))

    def regret_bound(self, rounds: Floats, setting: Setting, memory: int = 0) -> Floats | None:
        """Theorem 3.4's form for any base: τ times its bound on t/τ rounds, + t m/τ + τ, for m < τ."""
        assert isinstance(self.tau, int)
        base = self.base.regret_bound(rounds / self.tau, self.inner(setting))
        return None if base is None or memory >= self.tau else self.tau * base + rounds * memory / self.tau + self.tau


def choose(state: Record, rng: Draws) -> int:
    if state.played == 0:
        state.arm = base_choose(state.wrapped, rng)
    arm: int = state.arm
    return arm


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    state.gain += gain
    state.played += 1
    if state.played == state.tau:
        base_update(state.wrapped, arm, state.gain / state.tau, rng)
        state.gain = 0.0
        state.played = 0


def probabilities(state: Record, out: Floats) -> None:
    if state.played == 0:
        base_probabilities(state.wrapped, out)
    else:
        out[:] = 0.0
        out[state.arm] = 1.0
