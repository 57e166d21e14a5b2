"""Checks of a user's file while it plays. The built-in files have tests instead, and cost nothing here.

The checks of an algorithm look at its state, at the random numbers that it asks for and reads, and at its steps: what
`choose` returns, that no NaN is left, that nothing is written into an array that other algorithms see. The checks of an
adversary look at every block that it yields.
"""

import functools
import reprlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.convex.losses import SLACK, LossSet
from privbandits_cli.convex.spaces import Space
from privbandits_cli.games.contract import CONTRACTS, Contract, One
from privbandits_cli.games.players import Contexts, Setting, papers_delta
from privbandits_cli.numerics.jit import PluginError, Records, is_users, jit_off_here
from privbandits_cli.numerics.text import exact
from privbandits_cli.numerics.types import Floats

OUTSIDE = 1e-6  # how far outside its set a point may be, as a fraction of the set's radius
MAKERS = "privbandits_cli.numerics.bits"


class NotANumber(PluginError):
    """A state or a point that holds NaN."""


class WrongArm(Exception):
    """Raised in a compiled loop: arm, number of arms, round of the block."""

    step = "choose"  # what returned this arm


class WrongAnswer(WrongArm):
    """An answer that is no arm."""

    step = "stop"


class WrongAdvice(WrongArm):
    """A recommendation that is no arm."""

    step = "recommend"


def guarded(modules: tuple[str, ...]) -> bool:
    """Whether a composition contains a user's file."""
    return any(map(is_users, modules))


def is_own(player: Any) -> bool:
    """Whether a player's class is defined in a user's file."""
    return guarded((type(player).__module__,))


# ------------------------------------------------------------------------------------------ a user's algorithm


def first_state(algorithm: Any, setting: Setting) -> Records:
    """The state of an algorithm before the first round; PluginError if a user's algorithm returns no record."""
    state: Records = algorithm.state(setting)
    if is_own(algorithm) and not (isinstance(state, np.ndarray) and state.shape == (1,) and state.dtype.names):
        raise PluginError(f"state returned {_short(state)}: return a `record(...)`", type(algorithm).state)
    return state


def check_promise(algorithm: Any, setting: Setting) -> None:
    """Raise PluginError if a user's file states privacy other than by `Guarantee`, or facts that are not numbers."""
    bounds, facts = type(algorithm).bounds, type(algorithm).facts
    if is_users(bounds.__module__):
        found = algorithm.bounds(setting, papers_delta(setting))
        if not isinstance(found, list) or not all(isinstance(bound, Guarantee) for bound in found):
            wanted = "a list, [Guarantee(epsilon, delta, source, status), ...]"
            raise PluginError(f"bounds returned {_short(found)}: return {wanted}", bounds)
    if is_users(facts.__module__):
        found = algorithm.facts(setting)
        if not isinstance(found, dict) or not all(type(x) is str and isinstance(found[x], int | float) for x in found):
            raise PluginError(f"facts returned {_short(found)}: return numbers by name, {{'sigma': 2.0}}", facts)


def random_needs(algorithm: Any, setting: Setting, *rounds: NDArray[Any]) -> dict[str, Any]:
    """What `draws` asks for, by kind; PluginError where a user's file asks for random numbers that do not exist.

    rounds: those for which it is asked, in the game linear.
    """
    function, contract = type(algorithm).draws, CONTRACTS[algorithm.game]
    found: dict[str, Any] = algorithm.draws(setting, *rounds)
    if not is_users(function.__module__) or contract.asking is None:
        return found
    shapes, (allowed, wanted) = [(), *(each.shape for each in rounds)], contract.asking

    def fits(value: Any) -> bool:
        array = np.asarray(value)
        one = isinstance(value, One) and not rounds
        return one or (array.shape in shapes and array.dtype.kind in "iu" and bool(np.all(allowed(array))))

    if not isinstance(found, dict) or not found.keys() <= {*contract.kinds} or not all(map(fits, found.values())):
        message = f"return a dict with keys among {', '.join(contract.kinds)}; a value is {wanted}"
        raise PluginError(f"draws returned {_short(found)}: {message}", function)
    return found


def check_optimistic(modules: tuple[str, ...], rule: Callable[..., Any]) -> None:
    """Raise PluginError if a user's file promises to read arms only by this rule, but imports another rule, or none."""
    for name in filter(is_users, modules):
        file = import_module(name)
        if not hasattr(file, "base_choose") and getattr(file, "optimistic", None) is not rule:
            message = "`optimistic = True` promises that `choose` itself calls `optimistic(state, arms)`"
            raise PluginError(f"{message}: import it from {rule.__module__}, or drop the line", file.choose)


def protected(array: Floats, modules: tuple[str, ...]) -> Floats:
    """A shared array as the steps of one composition see it: read-only if they include a user's file."""
    if not guarded(modules):
        return array
    view = array.view()
    view.flags.writeable = False
    return view


@contextmanager
def arms_named(modules: tuple[str, ...], rounds: range) -> Iterator[None]:
    """Context in which a user's file plays a block; an arm that does not exist raises PluginError."""
    try:
        yield
    except WrongArm as error:
        arm, n_arms, t = error.args
        message = f"{error.step} returned arm {arm} in round {rounds[t]}; the arms are 0 to {n_arms - 1}"
        own = _own(modules)
        raise PluginError(message, getattr(own, error.step, own.choose)) from None


def check_numbers(states: Records, modules: tuple[str, ...], rounds: range) -> None:
    """Raise PluginError for a NaN in the state of a user's file."""
    for name in missing_numbers(states):
        raise NotANumber(f"{name} is not a number (NaN) by round {rounds[-1]}", _own(modules).update)


def _own(modules: tuple[str, ...]) -> Any:
    """The outermost user's file of a composition."""
    return import_module(next(filter(is_users, modules)))


def missing_numbers(state: Any, prefix: str = "state") -> Iterator[str]:
    """The fields of a record that hold NaN."""
    for name in state.dtype.names:
        value = state[name]
        if value.dtype.names is not None:
            yield from missing_numbers(value, f"{prefix}.{name}")
        elif value.dtype.kind == "f" and np.isnan(value).any():
            yield f"{prefix}.{name}"


def check_points(points: Floats, space: Space, rounds: range, modules: tuple[str, ...]) -> None:
    """Raise PluginError if one of the `points[rounds, N]` that a user's file chose is outside the set."""
    wrong = ~(space.excess(points) <= OUTSIDE * space.radius())
    if wrong.any():
        t, choose = int(np.argmax(wrong)), _own(modules).choose
        if np.isnan(points[t]).any():
            raise NotANumber(f"choose gave a point with NaN in round {rounds[t]}", choose)
        message = f"choose gave a point outside {space} in round {rounds[t]}: {space.violation(points[t])}"
        raise PluginError(message if points[t].any() else f"{message}; fill x in place: `x[:] = ...`", choose)


class _Declared:
    """The random numbers of a round in plain Python; PluginError for a kind that the algorithm does not ask for."""

    def __init__(self, numbers: Any, contract: Contract) -> None:
        self.numbers, self.contract = numbers, contract

    def __getattr__(self, kind: str) -> Any:
        if kind.startswith("__"):  # NumPy asks whether this is an array
            raise AttributeError(kind)
        found = getattr(self.numbers, kind, np.nan if kind in self.contract.kinds else None)
        if found is None:
            kinds = ", ".join(f"rng.{known}" for known in self.contract.kinds)
            others = f", of which {MAKERS} makes others" if "bits" in self.contract.kinds else ""
            raise PluginError(f"there is no rng.{kind}; the random numbers of a round are {kinds}{others}")
        if np.isnan(found).any():
            raise PluginError(f"rng.{kind} holds no random numbers: {self.contract.numbers.format(kind=kind)}")
        return found


def watched(name: str, step: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
    """A user's plain step with a check of what it did; a compiled step is returned as it is."""
    if not jit_off_here() or not is_users(original.__module__) or name not in ("choose", "update", "stop", "recommend"):
        return step
    if name in ("stop", "recommend"):

        @functools.wraps(step)
        def answering(state: Any) -> Any:
            found = step(state)
            _check_arm(original, state, (), found)
            return found

        return answering
    contract = CONTRACTS[import_module(original.__module__).Parameters.game]
    check = _check_update if name == "update" else _check_arm if contract.returns_arm else _check_point

    @functools.wraps(step)
    def watching(state: Any, *seen: Any) -> Any:
        *shown, rng = seen
        with np.errstate(over="ignore"):  # random bits wrap around by design, as all integers do once compiled
            found = step(state, *shown, _Declared(rng, contract) if contract.kinds and isinstance(rng, tuple) else rng)
        check(original, state, seen, found)
        return found

    return watching


def _check_arm(choose: Callable[..., Any], _: Any, __: Any, found: Any) -> None:
    if isinstance(found, bool) or not isinstance(found, int | np.integer):
        name = choose.__name__
        raise PluginError(f"{name} returned {found!r}, a {type(found).__name__}: make it an int", choose)


def _check_point(choose: Callable[..., Any], _: Any, seen: Any, found: Any) -> None:
    if found is not None:
        raise PluginError(f"choose returned {_short(found)}: fill x in place, `x[:] = ...`, and return nothing", choose)
    if np.isnan(seen[0]).any():
        raise NotANumber("choose left NaN in x", choose)


def _check_update(update: Callable[..., Any], state: Any, seen: Any, _: Any) -> None:
    for field in missing_numbers(state):
        raise NotANumber(f"update left NaN in {field}, after seeing {', '.join(map(_short, seen[:-1]))}", update)


def _short(thing: Any) -> str:
    """A value, shortened for a message."""
    with np.printoptions(precision=3, threshold=6, edgeitems=2):
        return str(thing) if isinstance(thing, np.ndarray | np.generic) else reprlib.repr(thing)


# ------------------------------------------------------------------------------------------ a user's adversary


def next_gains(table: Iterator[Any], adversary: Any, rounds: range, n_arms: int) -> NDArray[Any]:
    """The next block of gains; PluginError if a user's adversary yields none, or numbers that are not valid gains."""
    if not is_own(adversary):
        return next(table)
    gains = type(adversary).gains
    found = _block(_next(table, rounds, gains), {"rounds": len(rounds), "arms": n_arms}, gains)
    least, most = (0, 1) if adversary.bounded else (-np.inf, np.inf)
    wrong = ~((found >= least) & (found <= most)) | ~np.isfinite(found)
    if wrong.any():
        t, arm = np.argwhere(wrong)[0]
        message = f"the gain of round {rounds[t]}, arm {arm} is {exact(found[t, arm])}"
        hint = f"{message}: outside [0, 1]; rescale it, or set `bounded = False` in the class"
        raise PluginError(hint if adversary.bounded else message, gains)
    return found


def next_losses(table: Iterator[Any], adversary: Any, rounds: range, allowed: LossSet) -> Floats:
    """The next block of losses; PluginError if a user's adversary yields none, or losses outside the set."""
    if not is_own(adversary):
        return next(table)
    losses = type(adversary).losses
    found = _block(_next(table, rounds, losses), {"rounds": len(rounds), "coordinates": allowed.dimension}, losses)
    message = allowed.violation(found, rounds)
    if message is not None:
        raise PluginError(f"{message}: rescale the losses", losses)
    return found


def next_arms(
    table: Iterator[Any], adversary: Any, rounds: range, n_arms: int, known: Contexts, lowest: float
) -> tuple[Floats, Floats]:
    """The next arms and means; PluginError if a user's adversary yields none, or exceeds its own bounds.

    lowest: the lowest mean that the law of the rewards allows.
    """
    if not is_own(adversary):
        arms, means = next(table)
        return arms, means
    method, n = type(adversary).arms, len(rounds)
    found = _next(table, rounds, method)
    if not isinstance(found, tuple | list) or len(found) != 2:
        raise PluginError("arms did not yield a pair of arrays, the arms and their means", method)
    arms = _block(found[0], {"rounds": n, "d": known.dimension, "k": n_arms}, method)
    means = _block(found[1], {"rounds": n, "k": n_arms}, method)
    norms = np.sqrt(np.einsum("tdk,tdk->tk", arms, arms))
    most = known.norm * known.theta_norm
    least, most = max(lowest, -most), min(known.reward, most)
    wide, far = ~(norms <= known.norm * (1 + SLACK)), ~((means >= least - SLACK) & (means <= most + SLACK))
    least_of = arms.min(axis=1)  # of each arm's coordinates
    for wrong, word, values, limit in (
        (wide, "norm", norms, f"over L = {exact(known.norm)}, by `bounds`"),
        ((least_of < 0) & known.nonnegative, "least coordinate", least_of, "below 0, but the class is `nonnegative`"),
        (far, "mean", means, f"outside [{exact(least)}, {exact(most)}], by `law` and `bounds`"),
    ):
        if wrong.any():
            t, arm = np.argwhere(wrong)[0]
            raise PluginError(f"the {word} of round {rounds[t]}, arm {arm} is {values[t, arm]:.10g}: {limit}", method)
    return arms, means


def _next(table: Any, rounds: range, method: Callable[..., Any]) -> Any:
    """The block of a table for these rounds; PluginError if it is not an iterator or has ended."""
    if not isinstance(table, Iterator):
        raise PluginError(f"`{method.__name__}` has no `yield`: yield a table for each of `blocks`", method)
    try:
        return next(table)
    except StopIteration:
        message = f"{method.__name__} yielded no block for the rounds from {rounds.start} on"
        raise PluginError(f"{message}: yield one for each of `blocks`", method) from None


def _block(found: Any, shape: dict[str, int], method: Callable[..., Any]) -> NDArray[Any]:
    """A table's block as an array; PluginError if it has another shape, or numbers of another kind."""
    array, sizes = np.asarray(found), tuple(shape.values())
    if array.shape != sizes:
        message = f"{method.__name__} yielded a block of shape {array.shape}, not {sizes}: {', '.join(shape)}"
        raise PluginError(message, method)
    if not np.can_cast(array.dtype, np.float64):
        message = f"{method.__name__} yielded {array.dtype} numbers: make them float64"
        raise PluginError(message, method)
    return np.ascontiguousarray(array, np.float64)
