"""Views: what an audit observes of an algorithm, one class for each kind of observable.

An algorithm's `view(setting)` returns a view of what its proof of privacy makes private. The auditor chooses its test
by the class of the view and reads everything else from the fields: where the state keeps the observable, how noise
enters it, and in which range a gain acts. A `Place` is the name of a field of the state, with dots where states nest
(`wrapped.losses`), or a function of the state.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

from privbandits_cli.accounting.dartboard import Dartboard
from privbandits_cli.accounting.exponential_weights import ExponentialWeights
from privbandits_cli.accounting.whole import DiscreteLaplace, Skellam
from privbandits_cli.numerics.jit import PluginError, Record, compile_step, unbound

Place = str | Callable[[Record], Any]
Range = Callable[[Record], tuple[float, float]]

FIELD = ""  # bound, as `rest` is, when a reader is compiled
rest: Any = unbound


def unit(state: Record) -> tuple[float, float]:
    """The range [0, 1] of a gain."""
    return 0.0, 1.0


@dataclass(frozen=True)
class View:
    """What an audit observes."""

    def in_blocks(self, rounds: int) -> "View":
        """The view of an algorithm that receives the mean gain of each block."""
        return Unseen(f"no audit supports a views.{type(self).__name__} of mean gains of blocks: audit the base alone")


@dataclass(frozen=True)
class Release(View):
    """The noisy gain `released(state, gain, rng)`, a step of the algorithm's file.

    It has Laplace noise, or is one bit, which `rng.uniform` draws. In the game linear it is the noisy loss of a point,
    `released(state, x, loss, rng)`, with noise that is linear in the Laplace numbers of the round.
    rounds: how many rounds one release covers; the noise is on their mean gain.
    """

    rounds: int = 1
    canary: Range = unit

    def in_blocks(self, rounds: int) -> View:
        """One release for each block, which covers all of its rounds."""
        return replace(self, rounds=self.rounds * rounds)


@dataclass(frozen=True)
class Noisy(View):
    """The noisy numbers that are the only path by which private data act.

    The audit finds when noise enters a number, and how long it stays there.

    In a bandit there is one number for each arm, a noisy sum, mean, report or draw; gains of the arm act only by it.
    Its noise is a scale times `rng.laplace`, or times `rng.normal`, whichever the algorithm asks for. If it asks for K
    normal numbers a round and no others, `choose` draws the numbers of all arms anew, and number a makes the noise of
    arm a. canary: the range outside which a gain has no larger effect.

    In the game linear there is one number for each coordinate: the noisy sum of the losses so far, after `choose`.
    Its noise is linear in the numbers of `rng.laplace`, or of `rng.normal`.

    With contexts there are the noisy sums of x x' and x y after `choose`, `[d, d + 1]`, where only the lower triangle
    of the square part counts; or the noisy sum of x y alone, `[d]`. Their noise is linear in numbers
    `rng.standard_normal`, or `rng.laplace` if δ = 0, and each of these enters one entry in its round. Or it is the
    noise of `mechanisms.wishart`. public: the arms of all rounds are public, so that only rewards are private.
    fixed: they are the same in every round, too; then a reward may enter any noisy numbers in any way, `[C]`.

    modulus, noise: the number of an arm is the last noisy sum of its batch, a whole number mod M. Its discrete noise
    has this law, and is drawn with the batch's last gain. A gain is rounded to a whole number.
    """

    values: Place
    canary: Range = unit
    public: bool = False
    fixed: bool = False
    modulus: Place | None = None
    noise: DiscreteLaplace | Skellam | None = None


@dataclass(frozen=True)
class Arms(View):
    """The arms that EXP3 plays, or the experts that a shrinking dartboard draws, in the game linear.

    model: its law; rounds: the number of rounds that a drawn arm is played; EXP3 receives their mean gain.
    """

    model: ExponentialWeights | Dartboard
    rounds: int = 1

    def in_blocks(self, rounds: int) -> View:
        """Each arm is played for a block; one gain moves the mean of its block by its share."""
        if self.rounds > 1 or isinstance(self.model, Dartboard):
            return super().in_blocks(rounds)  # no canary is known for blocks of blocks
        return replace(self, rounds=rounds, model=replace(self.model, sensitivity=self.model.sensitivity / rounds))


@dataclass(frozen=True)
class Leader(View):
    """The experts that are played, by report-noisy-max: the noisy sums of losses are secret.

    In some rounds `choose` has a number `rng.laplace[i]` or `rng.uniform[i]` for each expert i, which makes its noise,
    and the expert with the least noisy sum is chosen. Until the next such round, losses do not act on the points.
    """


@dataclass(frozen=True)
class Answer(View):
    """The arm of a round whose own arms are secret, too, by randomised response with this ε.

    base: the algorithm whose arm is hidden; the later rounds are observed by its own view of the field `wrapped`.
    """

    epsilon: float
    base: Any
    wrapped: str = "wrapped"


@dataclass(frozen=True)
class Fits(View):
    """The predictor that a private oracle fits to each batch; the records of a batch act only by it.

    oracle: an `Oracle` (mechanisms/oracle.py), with its noise; theta: the predictor that was fitted last, `[d]`, or all
    predictors, `[fits, d]`, of which `probabilities` receives all predictions, `[fits, k]`. numbers: a field with
    uniform numbers that `choose` draws anew in each round, before the number that draws the arm, for `probabilities`.
    grams: if the oracle also releases the matrix Σ x x' of each batch, a field with the sum S of these matrices and
    with V^-1, `[2, d, d]`. V is c I + S, where c is the first of 1, 2, 4, ... with which V is positive definite. Then
    `theta` is the last predictor alone, and `probabilities` receives the predictions and √(x' V^-1 x), `[2, k]`.
    """

    oracle: Any
    theta: Place = "theta"
    numbers: str | None = None
    grams: str | None = None


@dataclass(frozen=True)
class Unseen(View):
    """A view that no audit supports; `needs` says why, and what an audit would need."""

    needs: str

    def in_blocks(self, rounds: int) -> View:
        """The same, of the view within the blocks."""
        return self


def read(state: Record, place: Place) -> Any:
    """The value at this place of the state."""
    return place(state) if callable(place) else reduce(lambda part, name: part[name], place.split("."), state)


@dataclass(frozen=True)
class Inner:
    """A function of a state that is a field of another one."""

    field: str
    place: Callable[[Record], Any]

    def __call__(self, state: Record) -> Any:
        return read(read(state, self.field), self.place)


def within(view: View, field: str) -> View:
    """The same view of an algorithm whose state is a field of another state."""
    places = {name: place for name, place in vars(view).items() if isinstance(place, str) or callable(place)}
    inner = {name: Inner(field, place) if callable(place) else f"{field}.{place}" for name, place in places.items()}
    return replace(view, **inner)


def reader(place: Place) -> Callable[[Record], Any]:
    """`read` of one place, compiled."""
    if isinstance(place, Inner):
        step, names = compile_step(place.place), place.field
    elif callable(place):
        return compile_step(place)
    else:
        step, names = compile_step(lambda part: part), place
    for name in reversed(names.split(".")):
        step = compile_step(_part, FIELD=name, rest=step)
    return step


def _part(state: Record) -> Any:
    return rest(state[FIELD])


class NoView(PluginError, AttributeError):
    """The name of a view that does not exist."""


if not TYPE_CHECKING:  # mypy would accept every name

    def __getattr__(name: str) -> Any:
        classes = [found for found in globals().values() if isinstance(found, type) and issubclass(found, View)]
        kinds = ", ".join(found.__name__ for found in classes if not found.__subclasses__())
        raise NoView(f"there is no views.{name}; the views are {kinds}")
