"""Play one chunk: its adversary against each of its algorithms, with the regret at the checkpoints. Pure."""

import time
import traceback
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass

import numpy as np

from privbandits_cli.engine import rehearsal
from privbandits_cli.experiment.plan import Chunk
from privbandits_cli.games.steps import composition
from privbandits_cli.numerics.jit import plain
from privbandits_cli.numerics.types import Floats
from privbandits_cli.plugins.loader import GAMES


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


def warm(chunks: Iterable[Chunk], wait: Callable[[], AbstractContextManager[None]] = nullcontext) -> None:
    """Compile or load every loop that the chunks need before jobs share them; `wait` is entered before each loop.

    Errors are ignored here: the chunk encounters the same error and reports it.
    """
    seen: set[object] = set()
    for chunk in chunks:
        for algorithm in chunk.match.algorithms:
            kind = (type(chunk.match.adversary).__module__, chunk.match.setting.n_arms, composition(algorithm))
            if kind not in seen:
                seen.add(kind)
                with wait():
                    pass
                with suppress(Exception):
                    once = chunk.match._replace(algorithms=(algorithm,), checkpoints=np.ones(1, np.int64))
                    GAMES[once.game].play(once, trials=[0])


def play_chunk(chunk: Chunk) -> Played:
    """Play a chunk. If anything in it raises, its trials are played one by one, so that only those that raise fail.

    In uncompiled code, which is for debugging, the error is raised.
    """
    start = time.perf_counter()
    failures: list[Failure] = []
    try:
        regrets = _checked(chunk)
        found = {key: (chunk.trials, regrets[i]) for i, key in enumerate(chunk.keys)}
    except Exception:  # whatever an algorithm or adversary raises is reported as a failure of its trial
        if plain():
            raise
        found = {}
        for i, key in enumerate(chunk.keys):
            alone = chunk.match._replace(algorithms=chunk.match.algorithms[i : i + 1])
            rows: dict[int, Floats] = {}
            for trial in chunk.trials:
                try:
                    rows[trial] = _checked(Chunk(alone, (key,), (trial,)))[0, 0]
                except Exception as error:
                    message = rehearsal.message(error, alone, key, trial)
                    trace = f"{message}\n{traceback.format_exc()}"
                    failures.append(Failure(key, trial, message.splitlines()[0], trace))
            if rows:
                found[key] = (tuple(rows), np.array(list(rows.values())))
    return Played(chunk, found, tuple(failures), time.perf_counter() - start)


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
