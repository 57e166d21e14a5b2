"""A user's file, played in lockstep, by the compiled loop for one trial, and in plain Python, to compare bytes."""

import itertools
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import pytest

from privbandits_cli.games import bandit, guards, lockstep
from privbandits_cli.numerics import jit
from privbandits_cli.numerics.jit import uncompiled
from privbandits_cli.plugins import loader
from privbandits_cli.spmd.source import Unsupported
from tests.conftest import foe, match

ROUNDS, TRIALS, BLOCK = 24, 16, 16
NUMBER = itertools.count()


class Alone(Exception):
    """Lockstep left the block to the loop for one trial, because of an error."""


class Played(NamedTuple):
    """What came of a game: regrets and last states to the bit, and the error that ended it."""

    regrets: bytes = b""
    states: bytes = b""
    error: Exception | None = None


def game_of(text, folder, rounds=ROUNDS):
    """A game of a user's file with this text, always of one name, which the random numbers depend on."""
    path = folder / f"{next(NUMBER)}" / "fuzz.py"  # for each place a loop is compiled anew
    path.parent.mkdir()
    path.write_text(text)
    algorithm = loader.module(loader.read(path)).Parameters()
    return match(foe("stochastic"), [algorithm], rounds, checkpoints=range(1, rounds + 1))


def plainly(game):
    """Played in plain Python."""
    with uncompiled(), np.errstate(all="ignore"):
        return _play(game)


def one_by_one(game):
    """Played by the compiled loop for one trial."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lockstep, "loop", lambda *_: lockstep.NONE)
        patch.setattr(bandit, "loop", bandit.loop.__wrapped__)
        return _play(game)


def together(game, width=lockstep.WIDTH, again=False):
    """Played in lockstep, by a loop compiled now; the error is Unsupported if there is no form for several trials.

    Where the loop for one trial has to play a block again, the error is Alone, unless it plays `again`.
    """

    def loop(*words):
        found = lockstep.loop.__wrapped__(*words)
        if found.play is None:
            raise Unsupported(found.reason)
        return found

    def alone(*_):
        raise Alone

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bandit, "lockstep", Lockstep(loop, lockstep.Together, lockstep.NONE))
        patch.setattr(bandit, "loop", bandit.loop.__wrapped__ if again else lambda *_: alone)
        for module in (lockstep, bandit):
            patch.setattr(module, "WIDTH", width)
        return _play(game)


class Lockstep(NamedTuple):
    """What `bandit` needs of `lockstep`."""

    loop: object
    Together: object
    NONE: object


@contextmanager
def _not_kept() -> Iterator[None]:
    """No kernel is read from disk, where it may be of another compiler, or written there; states may hold NaN."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setattr(jit, "_kernels", lambda *_: None)
        patch.setattr(guards, "missing_numbers", lambda *_: ())
        warnings.simplefilter("ignore")
        yield


def _play(game):
    last = []

    def watched(kernel, table, modules, rounds, states):
        kernel(*table)
        last.append(states.copy())

    with _not_kept(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(guards, "play_block", watched)
        try:
            regrets = bandit.play(game, range(TRIALS), block=BLOCK)
        except Exception as error:
            return Played(error=error)
    return Played(regrets.tobytes(), _bytes(last[-1]))


def _bytes(records):
    """The bytes of records, with one NaN for all: LLVM leaves open which bits a NaN has beside being one."""
    parts = []
    for name in records.dtype.names:
        own = records[name]
        if own.dtype.names is not None:
            parts.append(_bytes(own))
            continue
        own = own.copy()
        if own.dtype.kind == "f":
            own[np.isnan(own)] = np.nan
        parts.append(own.tobytes())
    return b"".join(parts)
