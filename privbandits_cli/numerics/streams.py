"""Random streams, each of a seed, names (of the kind of number, of the player) and a trial.

The numbers of a stream depend on nothing else: not on the player's parameters or its opponent, on the order in which
streams are made, on how many there are, or on the number of jobs. Adding an algorithm, raising the number of trials or
resuming an interrupted run therefore changes no other number.
"""

from functools import lru_cache
from hashlib import blake2b

from numpy.random import SFC64, Generator, SeedSequence


@lru_cache(maxsize=4096)
def _words(name: str) -> tuple[int, ...]:
    """The name as two 32-bit words of a SeedSequence key."""
    digest = blake2b(name.encode(), digest_size=8).digest()
    return int.from_bytes(digest[:4], "little"), int.from_bytes(digest[4:], "little")


def stream(seed: int, *names: str, trial: int) -> Generator:
    """The random stream of these names in this trial of the experiment with this seed."""
    key = [word for name in names for word in _words(name)]
    return Generator(SFC64(SeedSequence(seed, spawn_key=(*key, trial))))
