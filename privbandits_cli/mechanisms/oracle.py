"""What a regression oracle is: it fits a predictor of rewards, θ, to the records (x, y) of one batch.

An oracle's file has a class, which knows its noise and its account, and three steps for the compiled loop:
`learn(oracle, x, y)` adds a record, `fit(oracle, theta, rng)` sets θ and begins an empty batch, and
`predict(theta, arms, out)` predicts the rewards of arms. `oracle` is a field of the algorithm's state, a record.
An algorithm's file imports the placeholders `oracle_learn`, `oracle_fit` and `oracle_predict`, and gives the oracle's
module in `built_on`; `games.steps` fills them in.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

from numpy.random import Generator

from privbandits_cli.games.players import Contexts
from privbandits_cli.numerics.jit import unbound
from privbandits_cli.numerics.types import Floats

oracle_learn: Any = unbound
oracle_fit: Any = unbound
oracle_predict: Any = unbound


class Fit(NamedTuple):
    """What a fit releases: the predictor θ, `[d]`, and with some oracles the noisy matrix Σ x x', `[d, d]`."""

    theta: Floats
    gram: Floats | None = None


@dataclass(frozen=True)
class Oracle(ABC):
    """An oracle for these records, and λ. pure: its fits need no δ; source: what its account rests on."""

    pure: ClassVar[bool] = False
    source: ClassVar[str]

    known: Contexts
    ridge: float

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest reward."""
        return 0.0 if self.known.nonnegative else -self.known.reward, self.known.reward

    @property
    def predictions(self) -> tuple[float, float]:
        """What it predicts for the lowest and for the highest reward."""
        return self.range

    @classmethod
    @abstractmethod
    def tuned(cls, known: Contexts, ridge: float, epsilon: float | None, delta: float, printed: bool) -> Self:
        """The oracle whose fits are (ε, δ)-private; without ε it has no noise. printed: by the published account."""

    @abstractmethod
    def epsilon(self, delta: float) -> float:
        """The ε of a fit at δ when one record is replaced; infinite without noise."""

    @abstractmethod
    def state(self, records: int) -> dict[str, Any]:
        """The fields of the record `oracle`; records: the most in a batch."""

    @abstractmethod
    def fitted(self, rows: Floats, rewards: Floats, rng: Generator) -> Fit:
        """The fit of records `rows[n, d]`, `rewards[n]`: the plain twin of the steps, with the same random numbers."""

    def predicted(self, theta: Floats, arms: Floats) -> Floats:
        """The predicted rewards of `arms[d, k]`, `[k]`: the plain twin of `predict`."""
        return theta @ arms

    def facts(self) -> dict[str, float]:
        """The size of its noise, where it does not depend on the batch."""
        return {}

    @abstractmethod
    def mechanism(self) -> str:
        """Its noise in words."""


def ends(x: Floats) -> tuple[int, int]:
    """The first coordinate that is not 0, and the one after the last: of the features of a class, most are 0."""
    first, last = 0, len(x)
    while first < last and x[first] == 0.0:
        first += 1
    while last > first and x[last - 1] == 0.0:
        last -= 1
    return first, last


def eliminate(a: Floats) -> bool:
    """Reduce `a[d, n]`, the upper triangle of a symmetric matrix with n - d right-hand sides, to a triangular system.

    Returns whether the matrix is positive definite; if it is not, the reduction is not complete.
    """
    d, n = a.shape
    for k in range(d):
        if not a[k, k] > 0.0:
            return False
        for i in range(k + 1, d):
            factor = a[k, i] / a[k, k]
            if factor != 0.0:  # blocks of classes have nothing in common without noise
                for j in range(i, n):
                    a[i, j] -= factor * a[k, j]
    return True


def solve(a: Floats, out: Floats) -> None:
    """Solve the triangular system `a[d, d + 1]`."""
    d = len(a)
    for i in range(d - 1, -1, -1):
        total = a[i, d]
        for j in range(i + 1, d):
            total -= a[i, j] * out[j]
        out[i] = total / a[i, i]
