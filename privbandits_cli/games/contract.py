"""What each game asks of the files of algorithms and adversaries: the checks of users' files are made of it."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

MOST = 2**16  # random numbers of a kind in a round of a bandit


class Counts(NamedTuple):
    """The values of a dict by which an algorithm asks for random numbers, by kind."""

    allowed: Callable[[Any], Any]
    wanted: str  # the same in words


class Contract(NamedTuple):
    """What a game asks of the files of its players."""

    choose: str  # the arguments of this step
    update: Mapping[str, str]  # likewise, by the feedback that the class names
    returns_arm: bool  # whether `choose` returns an arm; otherwise it fills its argument x
    rounds: str  # the method of an adversary that yields its rounds
    others: tuple[str, ...]  # the other methods that an adversary must have
    kinds: tuple[str, ...]  # of random numbers in `rng`; none if that is a NumPy generator
    asking: Mapping[str, Counts]  # the methods by which an algorithm asks for them
    numbers: str  # what to write for them
    rehearsed: tuple[int, int]  # trials and rounds before a run, which take some tenths of a second


CONTRACTS = {
    "bandit": Contract(
        choose="state, rng",
        update={"full": "state, arm, gain, rng"},
        returns_arm=True,
        rounds="gains",
        others=(),
        kinds=("uniform", "laplace", "normal", "bits"),
        asking={
            "periods": Counts(lambda n: n == 1, "1: one number in a round; the method `draws` asks for several"),
            "draws": Counts(lambda n: (n >= 1) & (n <= MOST), f"an int, 1 to {MOST:,}: how many numbers in a round"),
        },
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
        asking={"draws": Counts(lambda n: n >= 0, "an int >= 0 for each of `rounds`, [rounds]")},
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
        asking={},
        numbers="`rng` is a NumPy generator, from which the steps draw",
        rehearsed=(2, 50),
    ),
}
