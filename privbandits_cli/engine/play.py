"""Play one chunk: its adversary against each of its algorithms, with the regret at the checkpoints. Pure."""

import math
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass

import numpy as np

from privbandits_cli.engine import rehearsal
from privbandits_cli.experiment.plan import Chunk
from privbandits_cli.games.lockstep import LANES
from privbandits_cli.games.steps import composition
from privbandits_cli.numerics.jit import jit_off_here
from privbandits_cli.numerics.types import Floats
from privbandits_cli.plugins import messages
from privbandits_cli.plugins.loader import GAMES

MEASURED = 2.0  # seconds of play from which the time of a run is estimated
SAMPLED = 12  # games at most that are played for it


@dataclass(frozen=True)
class Failure:
    """A trial that raised."""

    key: str  # of the curve
    trial: int
    error: str  # one line
    trace: str


@dataclass(frozen=True)
class Played:
    """The results of a chunk."""

    chunk: Chunk
    regrets: dict[str, tuple[tuple[int, ...], Floats]]  # curve key -> trials, regrets [trials, checkpoints]
    failures: tuple[Failure, ...]
    seconds: float


def loops(chunks: Iterable[Chunk]) -> list[Chunk]:
    """Games of one round and one algorithm, which together need every loop that the chunks need, each once."""
    found: dict[object, Chunk] = {}
    for chunk in chunks:
        together = GAMES[chunk.match.game].Games.together(chunk.match) if len(chunk.trials) > 1 else 1
        parts = chunk.trials[:together], chunk.trials[len(chunk.trials) // together * together :]
        for algorithm, key in zip(chunk.match.algorithms, chunk.keys, strict=True):
            once = chunk.match._replace(algorithms=(algorithm,), checkpoints=np.ones(1, np.int64))
            for trials in filter(None, parts):
                kind = (type(once.adversary).__module__, once.setting.n_arms, composition(algorithm), len(trials))
                found.setdefault(kind, Chunk(once, (key,), trials))
    return list(found.values())


def load(loop: Chunk) -> None:
    """Compile the loop, or load it if it was compiled before.

    Errors are ignored here: the chunk encounters the same error and reports it.
    """
    with suppress(Exception, SystemExit):
        GAMES[loop.match.game].play(loop.match, loop.trials)


def play_chunk(chunk: Chunk) -> Played:
    """Play a chunk. If anything in it raises, its trials are played one by one, so that only those that raise fail.

    In uncompiled code, which is for debugging, the error is raised.
    """
    start = time.perf_counter()
    failures: list[Failure] = []
    try:
        regrets = _checked(chunk)
        found = {key: (chunk.trials, regrets[i]) for i, key in enumerate(chunk.keys)}
    except BaseException as raised:  # whatever an algorithm or adversary raises is reported as a failure of its trial
        if jit_off_here() or not messages.of_a_file(raised):
            raise
        found = {}
        for i, key in enumerate(chunk.keys):
            alone = chunk.match._replace(algorithms=chunk.match.algorithms[i : i + 1])
            rows: dict[int, Floats] = {}
            for trial in chunk.trials:
                try:
                    rows[trial] = _checked(Chunk(alone, (key,), (trial,)))[0, 0]
                except BaseException as error:
                    if not messages.of_a_file(error):
                        raise
                    message = rehearsal.message(error, alone, key, trial)
                    trace = f"{message}\n{traceback.format_exc()}"
                    failures.append(Failure(key, trial, message.splitlines()[0], trace))
            if rows:
                found[key] = (tuple(rows), np.array(list(rows.values())))
    return Played(chunk, found, tuple(failures), time.perf_counter() - start)


def estimated(
    chunks: Sequence[Chunk], wait: Callable[[], AbstractContextManager[None]] = nullcontext
) -> tuple[float, int]:
    """Seconds that one core takes for the chunks, from rounds that are played now, and how many; takes some seconds.

    A few games are played, whose loops are compiled before, each for an equal share of the time; the others are taken
    to be as fast as these on average. Raises what an algorithm or adversary raises; `wait` is entered before each game.
    """
    games = list({chunk.keys: chunk for chunk in chunks}.values())
    games = games[:: math.ceil(len(games) / SAMPLED)]
    paces: dict[tuple[str, ...], float] = {}  # by the keys of a game's curves: seconds for each round
    start, rounds = time.perf_counter(), 0
    for chunk in games:
        with wait():
            pass
        if not paces or time.perf_counter() - start < MEASURED:
            played, paces[chunk.keys] = _pace(chunk, MEASURED / len(games))
            rounds += played
    mean = sum(paces.values()) / len(paces)
    return sum(chunk.rounds * paces.get(chunk.keys, mean) for chunk in chunks), rounds


def _pace(chunk: Chunk, least: float) -> tuple[int, float]:
    """The rounds played, and the seconds for each of them, over so many that they take at least this time."""
    horizon, trials = int(chunk.match.checkpoints[-1]), chunk.trials[:LANES]

    def seconds(n: int) -> float:
        start = time.perf_counter()
        _checked(Chunk(chunk.match._replace(checkpoints=np.array([n], np.int64)), chunk.keys, trials))
        return time.perf_counter() - start

    seconds(1)  # compiles
    n, start = 1, seconds(1)  # the states and tables of a game take longer than its first round
    took = start
    while n < horizon and took - start < least and (n == 1 or took < 4 * least):
        n = min(horizon, max(256, 2 * n))
        took = seconds(n)
    rounds = n * len(trials) * len(chunk.keys)
    return rounds, max(took - start if n > 1 else took, 1e-9) / rounds


def lost(chunk: Chunk, error: str) -> Played:
    """The result of a chunk whose process died: all of its trials failed."""
    return Played(
        chunk, {}, tuple(Failure(key, trial, error, error) for key in chunk.keys for trial in chunk.trials), 0
    )


def _checked(chunk: Chunk) -> Floats:
    regrets: Floats = GAMES[chunk.match.game].play(chunk.match, chunk.trials)
    if not np.isfinite(regrets).all():
        raise FloatingPointError("the regret is not a finite number")
    return regrets
