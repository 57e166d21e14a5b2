"""The mini-batch loop around any base algorithm (Dekel, Tewari & Arora 2012; Tossou & Dimitrakakis, section 3.2).

Rounds come in blocks of τ. The base chooses one arm, which is played for the whole block. At the end of the block the
base receives the block's average gain; it never receives that of an incomplete last block. The base is tuned for the
T/τ rounds that it sees.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from pydantic import Field

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.games import bandit, views
from privbandits_cli.games.bandit import Draws, Floats, One, Setting
from privbandits_cli.games.parameters import Chance, Or, left_out
from privbandits_cli.numerics.jit import Record, Records, record, unbound
from privbandits_cli.numerics.text import exact

base_choose: Any = unbound
base_update: Any = unbound
base_probabilities: Any = unbound
base_released: Any = unbound

RuleName = Literal["corollary_3.2", "corollary_3.3", "corollary_3.3_printed", "certified", "shortest"]


class Parameters(bandit.Algorithm):
    """The length τ of a block, as a number or by a rule, and the base."""

    read = "paper"
    display = "{base}-τ"
    drawn = ()
    calibrations: ClassVar = {
        "certified": {"tau": "certified"},
        "shortest": {"tau": "shortest"},
        "paper": {"tau": "corollary_3.3_printed"},
    }
    reasons: ClassVar = {
        "certified": "Of the blocks that reach the target ε, these have the smallest bound against switching costs; "
        "longer blocks also have a smaller ε.",
        "shortest": "No shorter block reaches the target ε. Its ε can be smaller: a block is a whole number of rounds.",
        "paper": "Corollary 3.3 as printed, whose blocks are mostly longer than the proved ε requires.",
    }

    tau: Annotated[int, Field(ge=1), Or(RuleName)] = left_out(
        "τ, rounds in a block; `corollary_3.2`: (T / (7 K ln K))^(1/3); `corollary_3.3`: from epsilon "
        "and delta, corrected so that Theorem 3.5 gives ε; `corollary_3.3_printed`: as printed; `certified`: the best "
        "τ against switching costs that provably gives ε; `shortest`: the best without switching costs. Rounded up",
        word="corollary_3.2",
    )
    epsilon: float | None = Field(
        None, ge=1e-9, le=1e9, description="the target ε of `corollary_3.3`, `certified` and `shortest`"
    )
    delta: Chance | None = Field(None, description="δ of the guarantee; default T^-2")
    base: bandit.Algorithm = Field(description="the algorithm that sees the averages")

    def errors(self, setting: Setting) -> Iterator[str]:
        rule = RULES.get(self.tau)
        if rule and rule.needs_epsilon and self.epsilon is None:
            yield self._missing()
            return
        if rule and not rule.needs_epsilon and self.epsilon is not None:
            yield f"tau: {self.tau} does not use epsilon: write tau: certified, or leave epsilon out"
        tau = self.tuned(setting).tau
        if rule and rule.certified and tau > setting.horizon:
            wanted = f"{self.epsilon}-private in {exact(setting.horizon)} rounds"
            length = f"no block length makes {self.title} provably {wanted}"
            known = math.isfinite(self._costs(int(setting.horizon), setting))
            yield length if known else f"nothing is proved about the privacy of {self.title} for any block length"
        elif tau > setting.horizon:
            yield f"a block of {tau} rounds does not fit into the horizon of {exact(setting.horizon)}"
        else:
            yield from self.base.errors(shortened(setting, tau))

    def _missing(self) -> str:
        return f"tau: {self.tau} needs an epsilon"

    def tuned(self, setting: Setting) -> Self:
        rule = RULES.get(self.tau)
        return self._with(rule.length(self, setting) if rule else self.tau, setting)

    def target(self, setting: Setting) -> tuple[float, float]:
        """(ε, δ) that a rule is to reach; ValueError without `epsilon`."""
        if self.epsilon is None:
            raise ValueError(self._missing())
        return self.epsilon, self._delta(setting)

    def _delta(self, setting: Setting) -> float:
        return self.delta or bandit.papers_delta(setting)

    def _with(self, tau: int, setting: Setting) -> Self:
        """These parameters with blocks of tau rounds, and the base tuned for them."""
        base = self.base.tuned(shortened(setting, tau))
        return self.replace(tau=tau, delta=self._delta(setting), base=base)

    def certified(self, switching: bool, setting: Setting) -> int:
        """The τ with the smallest regret bound, with or without switching costs, among those whose proved ε suffices.

        It exceeds the horizon if no τ suffices.

        The proved ε decreases in τ except where T/τ is small. So the lengths on a grid are tried in the order of their
        regret bounds; the grid is then refined between the neighbours of the first one that suffices.
        """
        epsilon, _ = self.target(setting)
        low, high = 1 + switching, int(setting.horizon)  # Theorem 3.4 needs m < τ
        while True:
            lengths = [int(tau) for tau in np.unique(np.geomspace(min(low, high), high, 200).round())]
            by_loss = sorted(lengths, key=lambda tau: self._loses(tau, setting)) if switching else lengths
            best = next((tau for tau in by_loss if self._costs(tau, setting) <= epsilon), None)
            if best is None:
                return int(setting.horizon) + 1  # `errors` reports it
            if len(lengths) == lengths[-1] - lengths[0] + 1:
                return best
            i = lengths.index(best)
            low, high = lengths[max(0, i - 1)], lengths[min(i + 1, len(lengths) - 1)]

    def _loses(self, tau: int, setting: Setting) -> float:
        """The regret bound at the horizon against switching costs with blocks of tau rounds; 0 without a theorem."""
        bound = self._with(tau, setting).regret_bound(np.array([float(setting.horizon)]), setting, memory=1)
        return 0.0 if bound is None else float(bound[0])

    def _costs(self, tau: int, setting: Setting) -> float:
        """The proved ε of blocks of tau rounds."""
        promised = self._with(tau, setting).guarantee(setting)
        return math.inf if promised is None or promised.status == "paper" else promised.epsilon

    def state(self, setting: Setting) -> Records:
        return record(tau=self.tau, arm=0, played=0, gain=0.0, wrapped=self.base.state(shortened(setting, self.tau)))

    def draws(self, setting: Setting) -> dict[str, int | One]:
        """One number of a kind is used at the ends of a block only."""
        own = bandit.random_needs(self.base, shortened(setting, self.tau))
        return {kind: One(self.tau * n.period) if isinstance(n, One) else n for kind, n in own.items()}

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """The bounds of the base, which sees T/τ averages; one round changes an average by at most 1/τ."""
        return [*map(self._of_blocks, self.base.bounds(shortened(setting, self.tau), delta, sensitivity / self.tau))]

    def _of_blocks(self, bound: Guarantee) -> Guarantee:
        """A bound of the base. Several rounds of one person may be in a block, so what it knows of them does not apply.

        If the base is local, it reports averages, which somebody must know who sees the gains.
        """
        view = "each report of a block's mean; who computes the mean sees the gains" if self.base.local else bound.view
        return replace(bound, spent=None, view=view)

    def facts(self, setting: Setting) -> dict[str, float]:
        return super().facts(shortened(setting, self.tau))

    def remarks(self, setting: Setting) -> list[str]:
        return super().remarks(shortened(setting, self.tau))

    def mechanism(self) -> str:
        inner = self.base.mechanism()
        return f"blocks of {self.tau} rounds" + (f", {inner}" if inner else "")

    def view(self, setting: Setting) -> views.View | None:
        view = self.base.view(shortened(setting, self.tau))
        return None if view is None else view.in_blocks(self.tau)

    def guarantee(self, setting: Setting, delta: float | None = None, sensitivity: float = 1.0) -> Guarantee | None:
        """The base's guarantee for averages, by default at the parameter `delta`; at 0 if the base is private so."""
        base, shorter = self.base, shortened(setting, self.tau)
        own = 0.0 if base.stated_delta(shorter) == 0 else self.delta
        found = base.guarantee(shorter, delta or own, sensitivity / self.tau)
        return None if found is None else self._of_blocks(found)

    def regret_bound(self, rounds: Floats, setting: Setting, memory: int = 0) -> Floats | None:
        """Theorem 3.4 for any base: τ times its bound on t/τ rounds, + t m/τ + τ, for m < τ."""
        base = self.base.regret_bound(rounds / self.tau, shortened(setting, self.tau))
        return None if base is None or memory >= self.tau else self.tau * base + rounds * memory / self.tau + self.tau


def shortened(setting: Setting, tau: int) -> Setting:
    """The game of a base that sees T/τ averages."""
    return setting._replace(horizon=setting.horizon / tau)


def corollary_3_2(setting: Setting) -> int:
    """τ = (T / (7 K ln K))^(1/3)."""
    return _root(setting.horizon / (7 * setting.n_arms * math.log(setting.n_arms)))


def corollary_3_3(epsilon: float, delta: float, setting: Setting) -> int:
    """τ = (8 T (ε + ln(1/δ)) / ε²)^(1/3), at which Theorem 3.5 gives ε.

    With x = T/τ³ its 4x + √(8 x ln(1/δ)) is ε (y/2 + √(1 - y)) <= ε, y = ε/(ε + ln(1/δ)).
    """
    return _root(8 * setting.horizon * (epsilon - math.log(delta)) / epsilon**2)


def corollary_3_3_printed(epsilon: float, delta: float, setting: Setting) -> int:
    """τ = (T (4ε + 2 ln(1/δ)) / ε²)^(1/3), at which Theorem 3.5 gives nearly 2ε for small ε."""
    return _root(setting.horizon * (4 * epsilon - 2 * math.log(delta)) / epsilon**2)


def _root(cube: float) -> int:
    """The cube root, rounded up."""
    return max(1, math.ceil(math.pow(cube, 1 / 3)))


class Rule(NamedTuple):
    """How τ follows from the other parameters; `certified`: its ε is proved, and τ exceeds the horizon if none is."""

    length: Callable[[Parameters, Setting], int]
    needs_epsilon: bool = True
    certified: bool = False


RULES: dict[int | RuleName, Rule] = {
    "corollary_3.2": Rule(lambda given, setting: corollary_3_2(setting), needs_epsilon=False),
    "corollary_3.3": Rule(lambda given, setting: corollary_3_3(*given.target(setting), setting)),
    "corollary_3.3_printed": Rule(lambda given, setting: corollary_3_3_printed(*given.target(setting), setting)),
    "certified": Rule(lambda given, setting: given.certified(True, setting), certified=True),
    "shortest": Rule(lambda given, setting: given.certified(False, setting), certified=True),
}


def choose(state: Record, rng: Draws) -> int:
    if state.played == 0:
        state.arm = base_choose(state.wrapped, rng)
    return int(state.arm)


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    state.gain += gain
    state.played += 1
    if state.played == state.tau:
        base_update(state.wrapped, arm, state.gain / state.tau, rng)
        state.gain = 0.0
        state.played = 0


def released(state: Record, gain: float, rng: Draws) -> float:
    """The base's release of the block's mean if this gain is the block's last."""
    noisy: float = base_released(state.wrapped, (state.gain + gain) / state.tau, rng)
    return noisy


def probabilities(state: Record, out: Floats) -> None:
    if state.played == 0:
        base_probabilities(state.wrapped, out)
    else:
        out[:] = 0.0
        out[state.arm] = 1.0
