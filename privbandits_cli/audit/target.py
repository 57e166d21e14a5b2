"""The target of an audit, and the compiled loops that play it and record the observable of its view."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.random import Generator

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.games.drawing import fill_of
from privbandits_cli.games.players import Contexts, Setting
from privbandits_cli.games.views import Place, View, reader
from privbandits_cli.numerics.jit import Records, cached_per_mode, compile_once, compile_step, unbound
from privbandits_cli.numerics.streams import stream
from privbandits_cli.numerics.types import Floats

choose: Any = unbound  # these are bound when a loop over bandits is compiled
update: Any = unbound
released: Any = unbound
probabilities: Any = unbound
canary: Any = unbound
values: Any = unbound
choice: Any = unbound
trial: Any = unbound
settled: Any = unbound

GRIDS = 2, 3, 4, 10  # round gains are multiples of 1 over these
TAIL = 53  # the rarest numbers that are tried have the probability 2^-TAIL
SPARSE = 0.5  # share of the sets of arms with coordinates that are 0
LONG = 0.5  # share of the sets with an arm of the largest length
Steps = dict[str, Callable[..., Any]]
V = TypeVar("V", bound=View, covariant=True)


@dataclass(frozen=True)
class Target(Generic[V]):
    """A tuned algorithm, its view and its claim. A mutant has other steps, or another first state, than its algorithm.

    alpha: level of the test; budget: the most rounds of a game with contexts; seed: for the audit's own random numbers.
    """

    algorithm: Any  # an algorithm of the game that the view belongs to
    setting: Setting
    view: V
    steps: Steps
    state: Records
    claim: Guarantee
    alpha: float
    budget: int
    seed: int
    more: bool = False  # its steps ask for other numbers than one uniform and one Laplace number a round
    gaussian: bool = False  # the numbers that hide the gains of a bandit are normal

    @property
    def noise(self) -> str:
        """The kind of the numbers that hide gains in a bandit."""
        return "normal" if self.gaussian else "laplace"

    def stream(self, name: str) -> Generator:
        """Random numbers for this purpose."""
        return stream(self.seed, "audit", name, trial=0)

    def numbers(self, kind: str, n: int, game: int) -> Floats:
        """Random numbers of this kind, `[n]`, drawn as in a game."""
        out = np.empty(n)
        fill_of(kind, stream(self.seed, "audit", kind, trial=game))(out)
        return out

    def loop(self, template: Callable[..., Any], **bound: Any) -> Callable[..., Any]:
        """Compile a template. Its names become the steps, the readers of what the view releases, and `bound`."""
        return _compiled(compile_step, template, self._names(template, bound))

    def call(self, template: Callable[..., Any], **bound: Any) -> Callable[..., Any]:
        """Like `loop`, for a function that many loops call: its code is not copied into them."""
        return _compiled(compile_once, template, self._names(template, bound))

    def _names(self, template: Callable[..., Any], bound: Steps) -> tuple[tuple[str, Callable[..., Any]], ...]:
        called = template.__code__.co_names
        places = {name: place for name, place in vars(self.view).items() if name in called}
        places = {name: place for name, place in places.items() if isinstance(place, str) or callable(place)}
        places = {name: _reader(place, str(self.state.dtype.descr)) for name, place in places.items()}
        return tuple((name, step) for name, step in (self.steps | places | bound).items() if name in called)


def inside(rng: Generator, rounds: int) -> Floats:
    """Random gains in [0, 1], `[rounds]`, many of which are round numbers, for a step that waits for one."""
    gains: Floats = rng.random(rounds)
    for step, grid in enumerate(GRIDS):
        gains[step :: 2 * len(GRIDS)] = np.round(grid * gains[step :: 2 * len(GRIDS)]) / grid
    return gains


def rare(kind: str, shape: int | tuple[int, ...], rng: Generator) -> Floats:
    """Numbers of a kind at both ends of their law, with probabilities down to 2^-TAIL."""
    from scipy import special

    tail, high = np.power(0.5, TAIL * rng.random(shape)), rng.integers(0, 2, shape) > 0
    if kind == "uniform":
        return np.where(high, 1.0 - tail, tail)
    return np.where(high, -1.0, 1.0) * (np.log(tail) if kind == "laplace" else special.ndtri(tail / 2.0))


def sets_of_arms(known: Contexts, n_arms: int, sets: int, rng: Generator) -> Floats:
    """Random arms within the bounds of the game, `[sets, d, k]`.

    Many arms have coordinates that are 0. In some sets one arm has the largest length, but never two: two such arms
    along an axis could be equal, and rounding would decide between them.
    """
    arms = rng.standard_normal((sets, known.dimension, n_arms))
    arms *= (rng.random(arms.shape) < 0.5) | (rng.random((sets, 1, 1)) > SPARSE)
    length, longest = rng.random((sets, 1, n_arms)), rng.integers(0, n_arms, (sets, 1, 1))
    length[(np.arange(n_arms) == longest) & (rng.random((sets, 1, 1)) < LONG)] = 1.0
    arms *= known.norm * length / np.maximum(np.linalg.norm(arms, axis=1, keepdims=True), 1e-300)
    return np.abs(arms) if known.nonnegative else arms


def truths(known: Contexts, reward: float) -> Floats:
    """θ, the best and the worst reward, of two games in which opposite arms are good, `[2, d + 2]`."""
    theta = np.ones(known.dimension) / (known.norm * math.sqrt(known.dimension))
    rewards = reward, 0.0 if known.nonnegative else -reward
    return np.array([[*theta, *rewards], [*-theta, *rewards]])


@cached_per_mode
def _compiled(
    how: Callable[..., Any], template: Callable[..., Any], names: tuple[tuple[str, Callable[..., Any]], ...]
) -> Callable[..., Any]:
    made: Callable[..., Any] = how(template, **dict(names))
    return made


@cached_per_mode
def _reader(place: Place, layout: str) -> Callable[..., Any]:
    return reader(place)  # one for each layout: numba confuses records that begin with the same fields
