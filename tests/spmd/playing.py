"""A user's file, played in lockstep, by the compiled loop for one trial, and in plain Python, to compare bytes."""

import itertools
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import NamedTuple

import numpy as np
import pytest

from privbandits_cli.convex.spaces import Simplex
from privbandits_cli.games import bandit, contextual, guards, linear, lockstep
from privbandits_cli.games.drawing import WIDTH
from privbandits_cli.games.match import Match
from privbandits_cli.games.players import Contexts
from privbandits_cli.numerics import jit
from privbandits_cli.numerics.jit import without_jit
from privbandits_cli.plugins import loader
from privbandits_cli.spmd.source import Unsupported
from tests.conftest import foe, match, watch_states

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
    return match(foe("stochastic"), [_algorithm(text, folder)], rounds, checkpoints=range(1, rounds + 1))


def _algorithm(text, folder):
    path = folder / f"{next(NUMBER)}" / "fuzz.py"  # for each place a loop is compiled anew
    path.parent.mkdir()
    path.write_text(text)
    return loader.module(loader.read(path)).Parameters()


def plainly(game):
    """Played in plain Python."""
    with without_jit(), np.errstate(all="ignore"):
        return _play(game)


def one_by_one(game):
    """Played by the compiled loop for one trial."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lockstep, "loop", lambda *_, **__: lockstep.NONE)
        patch.setattr(bandit, "loop", bandit.loop.__wrapped__)
        return _play(game)


def together(game, width=lockstep.LANES, again=False):
    """Played in lockstep, by a loop compiled now; the error is Unsupported if there is no form for several trials.

    Where the loop for one trial has to play a block again, the error is Alone, unless it plays `again`.
    """
    made = lockstep.loop.__wrapped__

    def loop(*words, **names):
        found = made(*words, **names)
        if found.play is None:
            raise Unsupported(found.reason)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lockstep, "loop", loop)
        if again:
            patch.setattr(bandit, "loop", bandit.loop.__wrapped__)
        else:
            patch.setattr(bandit.Seat, "play_alone", alone)
        patch.setattr(bandit.Games, "width", width)
        return _play(game)


def alone(*_):
    """Takes the place of the loop for one trial."""
    raise Alone


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
    with _not_kept(), pytest.MonkeyPatch.context() as patch:
        watch_states(patch, lambda states: last.append(states.copy()))
        patch.setattr(guards, "arms_named", lambda *_: nullcontext())
        try:
            regrets = bandit.play(game, range(TRIALS), block=BLOCK)
        except Exception as error:
            return Played(error=error)
    return Played(regrets.tobytes(), _bytes(last[-1][:TRIALS]))  # without the copies that complete a vector


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


# ------------------------------------------------------------------------------------------ other games


GAMES = {"linear": linear, "contextual": contextual}


def other_game_of(text, folder, game, size, rounds=ROUNDS):
    """The same of another game. size: the coordinates of a point, or the number of arms, in four dimensions."""
    if game == "linear":
        adversary, setting = foe("iid_uniform"), linear.Setting(rounds, size, space=Simplex(size))
    else:
        adversary, setting = foe("sphere_arms", gap=0.1), contextual.Setting(rounds, size, contexts=Contexts(4))
    adversary = adversary.tuned(setting)
    known = adversary.revealed(setting)
    return Match(adversary, [_algorithm(text, folder).tuned(known)], known, np.arange(1, rounds + 1), 7)


def play_other(game, trials, block, width, again=False):
    """Another game: regrets of these trials, and states after each block; with a width of 1 one trial after the other.

    The error is Unsupported or Alone in the same cases as in `together`.
    """
    (algorithm,) = game.algorithms
    module, real, states = GAMES[algorithm.game], jit._kernels, {}

    def seen(found, modules, rounds):
        states.setdefault(rounds, []).extend(_bytes(found[k : k + 1]) for k in range(len(found)))

    def kernels(step, digest):  # those of random numbers, of which all programs have the same, are kept
        return None if step.__name__ in ("play_block", "play_trial") else real(step, digest)

    with _not_kept(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(jit, "_kernels", kernels)
        patch.setattr(guards, "check_numbers", seen)
        if width > 1 and not again:
            patch.setattr(module.Seat, "play_alone", alone)
        try:
            loop = module.Games.loop(game, algorithm)
            if width > 1 and loop.play is None:
                raise Unsupported(loop.reason)
            regrets = module.play(game, trials, block=block, width=width)
        except Exception as error:
            return Played(error=error)
    lanes = WIDTH if width > 1 else 1  # of a group of trials, of which the last may be spare
    places = [k // width * lanes + k % width for k in range(len(trials))]
    return Played(regrets.tobytes(), b"".join(own[k] for own in states.values() for k in places))
