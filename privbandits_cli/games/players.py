"""The players of any game, adversaries and algorithms, and what they may know of it."""

import math
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from functools import wraps
from inspect import isfunction
from typing import Any, ClassVar, Literal, NamedTuple, ParamSpec, Self, TypeVar

from privbandits_cli.accounting.guarantee import Guarantee, group, leading
from privbandits_cli.accounting.rounding import COMPUTED
from privbandits_cli.convex.spaces import Space
from privbandits_cli.games.parameters import Parameters
from privbandits_cli.games.views import View
from privbandits_cli.numerics.jit import Records
from privbandits_cli.numerics.types import Floats

P = ParamSpec("P")
R = TypeVar("R")
Game = Literal["bandit", "linear", "contextual", "best_arm"]
Read = Literal["paper", "code", "secondary"]


class Contexts(NamedTuple):
    """What an algorithm may know of a contextual game: bounds on the arms x, the parameter θ and the rewards.

    sigma: a reward is its mean <θ, x> plus σ-subgaussian noise. reward: the largest |reward|, which may be infinite.
    nonnegative: no coordinate of an arm and no reward is below 0. fixed: every round has the same arms.
    """

    dimension: int  # d
    norm: float = 1.0  # L, of an arm
    theta_norm: float = 1.0  # S
    sigma: float = 1.0
    reward: float = 1.0
    nonnegative: bool = False
    fixed: bool = False

    def row_norm(self) -> float:
        """L~, the largest norm of an arm with its reward (Shariff & Sheffet 2018, Assumption 6)."""
        return math.hypot(self.norm, self.reward)


class Contamination(NamedTuple):
    """Outliers in a heavy-tailed game: the share of gains that they replace, their size, and what they replace.

    after: reports of local learners are replaced, not gains. A gain is then infinite, which no gain of a user is.
    """

    alpha: float
    outlier: float
    after: bool = False


class Setting(NamedTuple):
    """What an algorithm may know before the game: the horizon in rounds (T/tau inside a mini-batch) and the arms.

    v, u: for heavy-tailed gains X, v in (0, 1] and u, a bound on E|X|^(1+v) over the arms. space: the decision set of a
    linear game, with `n_arms` its dimension; signed: whether losses on the simplex may be negative. contexts: the
    bounds of a contextual game; its `horizon` is the planned one, and fewer rounds may be played. confidence: in the
    game best_arm the least probability of a right answer, and `horizon` is a cap; None: `horizon` is a fixed budget.
    switches: S, if regret is counted against the best sequence of arms or experts that has at most S switches.
    contamination: of heavy-tailed gains, if some are replaced.
    """

    horizon: float
    n_arms: int
    v: float | None = None
    u: float | None = None
    space: Space | None = None
    signed: bool = False
    contexts: Contexts | None = None
    confidence: float | None = None
    rounds_per_person: int = 1
    switches: int = 0
    contamination: Contamination | None = None

    @property
    def beta(self) -> float:
        """β = 1 - confidence, how often an answer of the game best_arm may be wrong."""
        if self.confidence is None:
            raise ValueError("this game has no confidence")
        return float(1 - Decimal(repr(self.confidence)))

    def known(self) -> Contexts:
        """The bounds of a contextual game; a plain bandit is one whose arms are the standard basis."""
        return self.contexts or Contexts(self.n_arms)

    def largest_regret(self) -> float:
        """The most that a round can add to the regret, whatever is played: a bound must be below it to say anything."""
        if self.space is not None:
            return self.space.width(self.signed)
        if self.contexts is not None:
            return 2 * min(self.contexts.norm * self.contexts.theta_norm, self.contexts.reward)
        if self.v is None or self.u is None:
            return 1.0
        return 2 * float(self.u ** (1 / (1 + self.v)))  # means are at most u^(1/(1+v)) in absolute value

    def decisions(self) -> Space:
        """The decision set of a linear game."""
        if self.space is None:
            raise ValueError("this game has no decision set")
        return self.space


def papers_delta(setting: Setting) -> float:
    """T^-2, the δ of Tossou & Dimitrakakis 2017; at most 1/4, as for T = 1 it would be 1."""
    return float(min(0.25, setting.horizon**-2.0))


class Adversary(Parameters):
    """The source of the rounds of a game."""

    bounded: ClassVar[bool] = True  # every gain is in [0, 1], every loss in the loss set
    estimate: ClassVar[str] = ""  # what the regret is, where it is only an estimate
    counts: ClassVar[str] = ""  # what the regret is the number of, if of anything

    def revealed(self, setting: Setting) -> Setting:
        """What an algorithm may know of the game against this adversary, tuned."""
        return setting

    def tuned(self, setting: Setting) -> Self:
        """The same adversary, with the paper's values for parameters that were left out."""
        return self

    def reads(self) -> tuple[str, ...]:
        """The paths of the data files that it plays."""
        return ()

    def remarks(self, setting: Setting) -> list[str]:
        """Warnings before a run."""
        return []

    def errors(self, setting: Setting) -> Iterator[str]:
        """The reasons why this adversary cannot play in this setting."""
        yield from ()


# What a Guarantee that does not say so has for neighbours and view; in the game bandit these are its defaults.
WORDS: Mapping[str, Mapping[str, Any]] = {
    "linear": {"neighbours": "the loss vector of one round replaced", "view": "all points played"},
    "contextual": {"neighbours": "the arms and the reward of one round replaced"},
    "public arms": {"neighbours": "the reward of one round replaced"},
}
NEED_VALUES = ("state", "bounds", "guarantee", "facts", "view", "regret_bound")  # methods that need tuned parameters


def of_tuned(method: Callable[P, R]) -> Callable[P, R]:
    """A method of an algorithm that raises TypeError if parameters that were left out have no values yet."""

    @wraps(method)
    def checked(*given: P.args, **named: P.kwargs) -> R:
        algorithm: Any = given[0]
        if algorithm.untuned():
            raise TypeError(f"these parameters of {algorithm.name} are not tuned: use what `tuned(setting)` returns")
        return method(*given, **named)

    return checked


class Algorithm(Parameters):
    """A learner's parameters, tuning and guarantees; its two steps are functions of the same file.

    A config gives the parameters. Those that it leaves out get their values from `tuned`.
    """

    read: ClassVar[Read | None] = None  # what its file was written from; None: it is ours, or the file does not say
    also: ClassVar[Mapping[str, str]] = {}  # other games that its file plays, and the class of the file for each
    private: ClassVar[bool] = False  # designed to be private: legends show its epsilon
    local: ClassVar[bool] = False  # noise on each gain before it is used: each report is private by itself
    distributed: ClassVar[bool] = False  # a server sees noisy sums over many users, and no report
    public_arms: ClassVar[bool] = False  # its privacy is that of rewards; arms with features are known to all
    bounded: ClassVar[bool] = True  # it needs gains in [0, 1]
    calibrations: ClassVar[Mapping[str, Mapping[str, Any]]] = {"certified": {}}  # the choices of `tune`, beside ε and δ
    reasons: ClassVar[Mapping[str, str]] = {}  # why the ε of a calibration may differ from the one that is asked for

    @classmethod
    def __pydantic_init_subclass__(cls, **given: Any) -> None:
        """Make the methods of a subclass that need tuned parameters raise TypeError if these are not tuned."""
        for name in NEED_VALUES:
            if isfunction(vars(cls).get(name)):
                setattr(cls, name, of_tuned(vars(cls)[name]))

    @classmethod
    def trust(cls) -> Literal["central", "distributed", "local"]:
        """The kind of its privacy: who sees the data is the learner, a server only as noisy sums, or nobody."""
        return "local" if cls.local else "distributed" if cls.distributed else "central"

    @classmethod
    def plays(cls, game: str) -> bool:
        """Whether its file plays this game."""
        return game == cls.game or game in cls.also

    def in_game(self, game: str) -> "Algorithm":
        """The same parameters in another game that its file plays."""
        model = getattr(sys.modules[type(self).__module__], self.also[game])
        found: Algorithm = model.model_validate(dict(self))
        return found

    def tuned(self, setting: Setting) -> Self:
        """The same parameters, with the paper's values for those that were left out."""
        base = self._wrapped()
        return self if base is None else self.model_copy(update={"base": base.tuned(setting)})

    def built_on(self) -> str | None:
        """The module of the counter or oracle whose steps fill in placeholders of its file (`games.steps`)."""
        return None

    def _wrapped(self) -> "Algorithm | None":
        """The parameter `base` of an algorithm that wraps another one."""
        return getattr(self, "base", None) if "base" in type(self).model_fields else None

    @of_tuned
    def state(self, setting: Setting) -> Records:
        """The learner before the first round, as a `record`."""
        raise NotImplementedError(f"{self.name} has no method `state`")

    @of_tuned
    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """All known privacy bounds at `delta`, from above and from below.

        sensitivity: the largest change of a gain that the algorithm sees; 1/tau inside a mini-batch.
        """
        return []

    @of_tuned
    def facts(self, setting: Setting) -> dict[str, float]:
        """Numbers that follow from the tuned parameters in this setting, such as the size of the noise, by their names.

        Those of a base have names like `base.sigma`.
        """
        base = self._wrapped()
        return {} if base is None else {f"base.{name}": value for name, value in base.facts(setting).items()}

    def caveats(self, setting: Setting) -> list[str]:
        """Notes for a reader of the bounds: where the paper is wrong or silent."""
        return []

    def remarks(self, setting: Setting) -> list[str]:
        """Warnings before a run, and below the bounds: why results may differ from what the paper claims.

        Also why there is no `regret_bound`, if other parameters have one. By default the remarks of a base.
        """
        base = self._wrapped()
        return [] if base is None else base.remarks(setting)

    def promises(self) -> bool:
        """Whether the algorithm or its base is designed to be private; legends then show its epsilon."""
        base = self._wrapped()
        return self.private or (base is not None and base.promises())

    def mechanism(self) -> str:
        """What makes the algorithm private, in a few words; empty if it is not."""
        return ""

    @of_tuned
    def view(self, setting: Setting) -> View | None:
        """What an audit observes of a tuned algorithm: what its proof makes private; None if nothing is claimed."""
        return None

    @of_tuned
    def guarantee(self, setting: Setting, delta: float | None = None, sensitivity: float = 1.0) -> Guarantee | None:
        """The one of `bounds` to quote; None if there is none from above. A subclass may only find the same one faster.

        delta: by default `stated_delta`; T^-2 if nothing is known at 0.
        """
        at = self.stated_delta(setting) if delta is None else delta
        found = leading(self.bounds(setting, at, sensitivity))
        if found is None and delta is None and at == 0:
            found = leading(self.bounds(setting, papers_delta(setting), sensitivity))
        return None if found is None else self._in_words(found)

    def _in_words(self, bound: Guarantee) -> Guarantee:
        """A bound with the words of its game in place of the defaults."""
        words = WORDS.get("public arms" if self.public_arms else self.game, {}).items()
        return replace(bound, **{name: own for name, own in words if getattr(bound, name) == getattr(Guarantee, name)})

    def of_person(self, setting: Setting, delta: float) -> list[Guarantee]:
        """`bounds` for all rounds of one person together, at most `setting.rounds_per_person`."""
        rounds, bounds = setting.rounds_per_person, [*map(self._in_words, self.bounds(setting, delta))]
        if rounds == 1:
            return bounds
        found = [made for bound in bounds if (made := bound.of_person(rounds)) is not None]
        best = leading(bounds)
        if best is not None and best.delta and best.spent is None:
            grouped = group(lambda smaller: self.guarantee(setting, smaller), rounds, delta)
            found += [] if grouped is None else [grouped]
        return found

    def promise(self, setting: Setting, delta: float | None = None) -> Guarantee | None:
        """`guarantee` for all rounds of one person together, at the same δ; infinite ε if nothing is known there."""
        one = self.guarantee(setting, delta)
        if one is None or setting.rounds_per_person == 1:
            return one
        at = one.delta if delta is None else delta
        found = leading(self.of_person(setting, at))
        return replace(one.about(setting.rounds_per_person), epsilon=math.inf) if found is None else found

    def epsilon_at(self, setting: Setting, delta: float) -> float | None:
        """The least ε that is proved at δ, a point of the privacy profile; None if none is."""
        found = self.promise(setting, delta)
        proved = found is not None and found.status != "paper" and found.delta <= delta and found.epsilon < math.inf
        return found.epsilon if found is not None and proved else None

    def people_at(self, setting: Setting, epsilon: float, delta: float) -> int | None:
        """The most rounds of one person, up to the horizon, for which ε is proved at δ; None if not even for one."""

        def proved(rounds: int) -> bool:
            found = self.epsilon_at(setting._replace(rounds_per_person=rounds), delta)
            return found is not None and found <= epsilon * (1 + 10.0**-COMPUTED)

        high = 1
        while high <= setting.horizon and proved(high):
            high *= 2
        between = range(high // 2 + 1, min(high, int(setting.horizon) + 1))
        return high // 2 + bisect_left(between, True, key=lambda rounds: not proved(rounds)) or None

    def stated_delta(self, setting: Setting) -> float:
        """The δ of the bound to quote: the parameter δ, T^-2 if left out; 0 if designed to be private without one."""
        own: float | None = getattr(self, "delta", None)
        pure = self.private and "delta" not in type(self).model_fields
        return own or (0.0 if pure else papers_delta(setting))

    @classmethod
    def for_epsilon(cls, epsilon: float, delta: float, horizon: int, given: dict[str, Any]) -> dict[str, Self]:
        """Parameters, not yet tuned, that reach epsilon at delta: `certified` by proof, `paper` as printed.

        horizon: rounds, if the cost of a release depends on them.
        """
        if "epsilon" not in cls.model_fields:
            return {}
        own = {"epsilon": epsilon, "delta": delta} if "delta" in cls.model_fields else {"epsilon": epsilon}
        return {choice: cls.model_validate({**own, **values, **given}) for choice, values in cls.calibrations.items()}

    @of_tuned
    def regret_bound(self, rounds: Floats, setting: Setting, memory: int = 0) -> Floats | None:
        """Bound on the expected regret after each of `rounds`; None without a theorem.

        memory: the number of past rounds that the adversary reacts to (0 oblivious, 1 switching costs).
        """
        return None

    def errors(self, setting: Setting) -> Iterator[str]:
        """The reasons why this algorithm cannot play in this setting; by default, those of its base."""
        base = self._wrapped()
        yield from () if base is None else base.errors(setting)
