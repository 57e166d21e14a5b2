"""What each game asks of the files of its algorithms and adversaries. The checks of users' files read it."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

MOST = 2**16  # the most random numbers of one kind in a round of the game bandit


class One(NamedTuple):
    """One random number of a kind, `rng.uniform`, in the first and in the last round of each period."""

    period: int = 1  # in rounds: by default every round has one


class Counts(NamedTuple):
    """How many random numbers of a kind the method `draws` of an algorithm may ask for."""

    allowed: Callable[[Any], Any]  # whether a number, or each of an array, is allowed
    wanted: str  # the same in words, for messages


class Contract(NamedTuple):
    """What one game asks of the files of its players."""

    choose: str  # the arguments of the step `choose`
    update: Mapping[str, str]  # the arguments of the step `update`, by the feedback that the class names
    returns_arm: bool  # whether `choose` returns an arm; otherwise it fills its argument x
    rounds: str  # the method of an adversary that yields its rounds
    others: tuple[str, ...]  # the other methods that an adversary must have
    kinds: tuple[str, ...]  # the kinds of random numbers in `rng`; none if `rng` is a NumPy generator
    asking: Counts | None  # what `draws` may ask for; None if there is no such method
    numbers: str  # a message: what to write in the file to get random numbers
    rehearsed: tuple[int, int]  # trials and rounds of the rehearsal before a run, which takes some tenths of a second
    stops: bool = False  # whether there is a step `stop(state)`, and there may be a step `recommend(state)`


CONTRACTS = {
    "bandit": Contract(
        choose="state, rng",
        update={"full": "state, arm, gain, rng"},
        returns_arm=True,
        rounds="gains",
        others=(),
        kinds=("uniform", "laplace", "normal", "bits"),
        asking=Counts(
            lambda n: (n >= 1) & (n <= MOST), f"an int, 1 to {MOST:,}: how many numbers in a round, or One() for one"
        ),
        numbers="name the kind in the class, `drawn = (..., {kind!r})`, or return its count in a method `draws`",
        rehearsed=(8, 250),
    ),
    "linear": Contract(
        choose="state, x, rng",
        update={"full": "state, losses, rng", "bandit": "state, x, loss, rng"},
        returns_arm=False,
        rounds="losses",
        others=(),
        kinds=("uniform", "laplace", "normal"),
        asking=Counts(lambda n: n >= 0, "an int >= 0, or one for each of `rounds`, [rounds]"),
        numbers="write `draws(self, setting, rounds)`, which returns the counts of each kind",
        rehearsed=(2, 50),
    ),
    "contextual": Contract(
        choose="state, arms, rng",
        update={"full": "state, x, reward, rng"},
        returns_arm=True,
        rounds="arms",
        others=("law",),
        kinds=(),
        asking=None,
        numbers="`rng` is a NumPy generator, from which the steps draw",
        rehearsed=(2, 50),
    ),
}
CONTRACTS["best_arm"] = CONTRACTS["bandit"]._replace(stops=True, rehearsed=(8, 500))
