"""Who plays a game, whichever it is: what an adversary and an algorithm are, and what they may know."""

import math
from collections.abc import Iterator
from typing import Any, ClassVar, Literal, NamedTuple, Self

from privbandits_cli.accounting.guarantee import Guarantee, leading
from privbandits_cli.convex.spaces import Space
from privbandits_cli.games.parameters import Parameters
from privbandits_cli.games.views import View
from privbandits_cli.numerics.jit import Records
from privbandits_cli.numerics.types import Floats

Game = Literal["bandit", "linear", "contextual"]


class Contexts(NamedTuple):
    """What an algorithm may know of a contextual game: bounds on its arms x, its parameter θ and its rewards.

    sigma: a reward is its mean <θ, x> and σ-subgaussian noise. reward: the largest |reward|, infinite where none is.
    """

    dimension: int  # d
    norm: float = 1.0  # L, of an arm
    theta_norm: float = 1.0  # S
    sigma: float = 1.0
    reward: float = 1.0

    def row_norm(self) -> float:
        """L~, the largest norm of an arm with its reward (Shariff & Sheffet 2018, Assumption 6)."""
        return math.hypot(self.norm, self.reward)


class Setting(NamedTuple):
    """What an algorithm may know before the game: `horizon` in rounds (T/tau inside a mini-batch), arms.

    Of heavy-tailed gains X also v, in (0, 1], and u, a bound on E|X|^(1+v) over the arms. Of a linear game the
    decision set, whose dimension then stands for the arms, and whether losses on the simplex may be negative. Of a
    contextual game its bounds; there `horizon` is the planned one, and fewer rounds may be played.
    """

    horizon: float
    n_arms: int
    v: float | None = None
    u: float | None = None
    space: Space | None = None
    signed: bool = False
    contexts: Contexts | None = None

    def known(self) -> Contexts:
        """The bounds of a contextual game; a plain bandit is one whose arms are the standard basis."""
        return self.contexts or Contexts(self.n_arms)

    def decisions(self) -> Space:
        """The decision set of a linear game."""
        assert self.space is not None, "a bandit's setting has no decision set"
        return self.space


def papers_delta(setting: Setting) -> float:
    """T^-2, the δ of Tossou & Dimitrakakis 2017; 1/4 for the single round at which that is no δ."""
    return float(min(0.25, setting.horizon**-2.0))


class Adversary(Parameters):
    """What produces the rounds of a game."""

    bounded: ClassVar[bool] = True  # every gain lies in [0, 1], every loss in the loss set

    def revealed(self, setting: Setting) -> Setting:
        """What an algorithm may know of the game when it meets this adversary, tuned."""
        return setting

    def tuned(self, setting: Setting) -> "Adversary":
        """The same with every parameter that was left out set as the paper says."""
        return self

    def errors(self, setting: Setting) -> Iterator[str]:
        """Why this adversary cannot play in this setting."""
        yield from ()


class Algorithm(Parameters):
    """A learner's parameters, tuning and promise; its two steps are functions of the same file.

    `Parameters` is what a config gives. A file with parameters that may be left out has a class `Tuned(Parameters)`, in
    which they are numbers: `tuned` makes it, and it holds all that depends on them, from `state` to `regret_bound`.
    """

    private: ClassVar[bool] = False  # made to be private: legends carry its epsilon
    local: ClassVar[bool] = False  # each report is private by itself, whoever collects them
    bounded: ClassVar[bool] = True  # it needs gains in [0, 1]

    def tuned(self, setting: Setting) -> "Algorithm":
        """The same with every parameter that was left out set as the paper says."""
        return self

    def state(self, setting: Setting) -> Records:
        """The learner before the first round, as a `record`."""
        self._check_tuned()
        raise NotImplementedError(f"{self.name} has no method `state`")

    def _check_tuned(self) -> None:
        """Raise TypeError for parameters of which some are still to be tuned."""
        if not isinstance(self, self.tuned_class()):
            raise TypeError(f"these parameters of {self.name} are not tuned: ask `tuned(setting)`")

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """What is known of its privacy at `delta`, from above and below, tuned parameters assumed.

        sensitivity: by how much one of the gains that it sees may differ; 1/tau inside a mini-batch.
        """
        self._check_tuned()
        return []

    def caveats(self, setting: Setting) -> list[str]:
        """What a reader of the bounds should know: where the paper is wrong or silent."""
        return []

    def remarks(self, setting: Setting) -> list[str]:
        """What a run says before it starts: why it may not show what it is meant to."""
        return []

    def promises(self) -> bool:
        """Whether it is made to be private: a legend then carries its epsilon. A wrapper's base counts."""
        base = getattr(self, "base", None)
        return self.private or (isinstance(base, Algorithm) and base.promises())

    def mechanism(self) -> str:
        """What makes it private, in a few words; empty where nothing does."""
        return ""

    def view(self, setting: Setting) -> View | None:
        """What an audit observes of a tuned algorithm: what its proof makes private; None if nothing is claimed."""
        return None

    def guarantee(self, setting: Setting, delta: float | None = None, sensitivity: float = 1.0) -> Guarantee | None:
        """The bound to quote, at `delta` or T^-2, the paper's; None if nothing is promised."""
        return leading(self.bounds(setting, papers_delta(setting) if delta is None else delta, sensitivity))

    @classmethod
    def for_epsilon(cls, epsilon: float, delta: float, given: dict[str, Any]) -> dict[str, Self]:
        """Parameters (not yet tuned) that reach epsilon at delta: `certified` by proof, `paper` as printed."""
        known = "epsilon" in cls.model_fields
        return {"certified": cls.model_validate({"epsilon": epsilon, **given})} if known else {}

    def regret_bound(self, rounds: Floats, setting: Setting, memory: int = 0) -> Floats | None:
        """Bound on the expected regret after `rounds` rounds, or None where no theorem speaks.

        memory: how many rounds back the adversary reacts to (0 oblivious, 1 switching costs).
        """
        self._check_tuned()
        return None

    def errors(self, setting: Setting) -> Iterator[str]:
        """Why this algorithm cannot play in this setting."""
        yield from ()
