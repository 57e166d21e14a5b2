"""Play one chunk: blocks of the adversary, every missing algorithm, regret at the checkpoints. Pure."""

import time
import traceback
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass

import numpy as np

from privbandits_cli.engine import rehearsal
from privbandits_cli.experiment.plan import Chunk
from privbandits_cli.games.protocols import GAMES
from privbandits_cli.games.steps import composition
from privbandits_cli.numerics.jit import plain
from privbandits_cli.numerics.types import Floats


@dataclass(frozen=True)
class Failure:
    """A trial that raised."""

    key: str  # of the curve
    trial: int
    error: str  # one line
    trace: str


@dataclass(frozen=True)
class Played:
    """What came of a chunk."""

    chunk: Chunk
    regrets: dict[str, tuple[tuple[int, ...], Floats]]  # curve key -> trials, regrets [trials, checkpoints]
    failures: tuple[Failure, ...]
    seconds: float


def warm(chunks: Iterable[Chunk], wait: Callable[[], AbstractContextManager[None]] = nullcontext) -> None:
    """Compile or load every loop that the chunks need, before jobs share them; `wait` is entered between two.

    What raises here is reported by its chunk, which meets the same error.
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
                    GAMES[chunk.match.game].warm(chunk.match._replace(algorithms=(algorithm,)))


def play_chunk(chunk: Chunk) -> Played:
    """Play a chunk. If anything in it raises, its trials are played one by one, so that only the bad fail.

    Uncompiled, for a person who looks for a fault, it raises.
    """
    start = time.perf_counter()
    failures: list[Failure] = []
    try:
        regrets = _checked(chunk)
        found = {key: (chunk.trials, regrets[i]) for i, key in enumerate(chunk.keys)}
    except Exception:  # whatever an algorithm or adversary raises is its trial's failure, reported as such
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
                    said = rehearsal.message(error, alone, key, trial)
                    failures.append(Failure(key, trial, said.splitlines()[0], f"{said}\n{traceback.format_exc()}"))
            if rows:
                found[key] = (tuple(rows), np.array(list(rows.values())))
    return Played(chunk, found, tuple(failures), time.perf_counter() - start)


def lost(chunk: Chunk, error: str) -> Played:
    """A chunk whose every trial failed, with what played it."""
    return Played(
        chunk, {}, tuple(Failure(key, trial, error, error) for key in chunk.keys for trial in chunk.trials), 0
    )


def _checked(chunk: Chunk) -> Floats:
    regrets: Floats = GAMES[chunk.match.game].play(chunk.match, chunk.trials)
    if not np.isfinite(regrets).all():
        raise FloatingPointError("the regret is not a finite number")
    return regrets
