"""Who plays the game `bandit`: what an adversary and an algorithm over arms are, and what they may know."""

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from privbandits_cli.accounting.guarantee import Guarantee, leading
from privbandits_cli.games.parameters import Parameters
from privbandits_cli.jit import Records

Floats = NDArray[np.float64]
Tap = Literal["arms", "release", "report", "mean", "tree"]


class Setting(NamedTuple):
    """What an algorithm may know before the game: `horizon` in rounds (T/tau inside a mini-batch), arms.

    Of heavy-tailed gains X also v, in (0, 1], and u, a bound on E|X|^(1+v) over the arms.
    """

    horizon: float
    n_arms: int
    v: float | None = None
    u: float | None = None


def papers_delta(setting: Setting) -> float:
    """T^-2, the δ of Tossou & Dimitrakakis 2017; 1/4 for the single round at which that is no δ."""
    return float(min(0.25, setting.horizon**-2.0))


class Draws(NamedTuple):
    """The random numbers of one round, each from a stream of its own."""

    uniform: float  # on [0, 1)
    laplace: float  # standard Laplace


class Adversary(Parameters):
    """What produces the gains."""

    game: ClassVar[str] = "bandit"
    binary: ClassVar[bool] = False  # every gain is 0 or 1: a block is then kept in an eighth of the memory
    bounded: ClassVar[bool] = True  # every gain lies in [0, 1]

    def gains(self, setting: Setting, rng: Generator, blocks: Iterable[range]) -> Iterator[NDArray[Any]]:
        """For each block of rounds (counted from 1) yield its gains `[rounds, arms]`, in [0, 1] where `bounded`.

        The draws from `rng` must run through the rounds in order, so that no number depends on where a
        block ends.
        """
        raise NotImplementedError

    def mean_gains(self, setting: Setting) -> Floats | None:
        """The arms' mean gains `[arms]` where regret is counted on these; None: on the gains themselves."""
        return None

    def told(self, setting: Setting) -> Setting:
        """What an algorithm may know of the game when it meets this adversary, tuned."""
        return setting

    def reaction(self) -> tuple[int, bool]:
        """(m, observed): a gain counts only once its arm has been held for m rounds; m = 0 is oblivious.

        `observed`: the learner sees the 0 in its place.
        """
        return 0, True

    def tuned(self, setting: Setting) -> Self:
        """The same with every parameter that was left out set as the paper says."""
        return self

    def faults(self, setting: Setting) -> Iterator[str]:
        """Why this adversary cannot play in this setting."""
        yield from ()


class Algorithm(Parameters):
    """A learner's parameters, tuning and promise; its two steps are functions of the same file.

    `choose(state, rng) -> arm` and `update(state, arm, gain, rng)` are compiled into the game's loop; `rng`
    holds the `Draws` of the round. `probabilities(state, out)` fills the distribution of the next arm.
    """

    game: ClassVar[str] = "bandit"
    private: ClassVar[bool] = False  # made to be private: legends carry its epsilon
    local: ClassVar[bool] = False  # each report is private by itself, whoever collects them
    bounded: ClassVar[bool] = True  # it needs gains in [0, 1]

    def tuned(self, setting: Setting) -> Self:
        """The same with every parameter that was left out set as the paper says."""
        return self

    def state(self, setting: Setting) -> Records:
        """The learner before the first round, as a `record`."""
        raise NotImplementedError

    def draws(self) -> dict[str, int]:
        """Which fields of `Draws` its steps use: on the first and the last of every so many rounds."""
        return {"uniform": 1}

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """What is known of its privacy at `delta`, from above and below, tuned parameters assumed.

        sensitivity: by how much one of the gains that it sees may differ; 1/tau inside a mini-batch.
        """
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

    def tap(self) -> Tap | None:
        """What an audit watches: what the proof privatises. None: there is no claim to refute.

        `arms`: the arms played, of EXP3 or blocks of it; `release`: `released(state, gain, rng)` of the file. The
        others watch what `update` keeps of the arm played, by which alone its gains may act: `report`, what a round
        adds to `state.sums`; `mean`, an epoch's in `state.means`; `tree`, all sums, `state.means` times the plays.
        `canary(state)` of the file has the ends of the range in which a gain counts, if they are not 0 and 1.
        """
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
        return None

    def faults(self, setting: Setting) -> Iterator[str]:
        """Why this algorithm cannot play in this setting."""
        yield from ()
