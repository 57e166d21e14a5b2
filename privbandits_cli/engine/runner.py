"""chunks of trials -> results: the only module that starts jobs."""

import warnings
from collections.abc import Iterable, Iterator

from joblib import Parallel, cpu_count, delayed
from joblib.externals.loky.process_executor import TerminatedWorkerError

from privbandits_cli.engine import Engine
from privbandits_cli.engine.play import Failure, Played, play_chunk
from privbandits_cli.experiment.plan import Chunk, Plan
from privbandits_cli.games import bandit

BACKENDS: dict[Engine, str] = {"threads": "threading", "processes": "loky"}
# When a run is stopped early, what joblib calls unused is simply not finished: the next run plays it.
warnings.filterwarnings("ignore", r"\d+ tasks have been successfully executed", UserWarning, "joblib")

ROUNDS = 3  # how often work is offered again after a worker process died


def cores() -> int:
    """The cores that this process may use."""
    return int(cpu_count())


def run(plan: Plan, chunks: Iterable[Chunk], engine: Engine, jobs: int) -> Iterator[Played]:
    """Play the chunks on so many jobs; results come as they finish, in any order.

    Kernels are compiled here first, so that jobs load them from the cache. A worker process that dies takes
    the unfinished chunks with it; they are offered again, and fail only if that keeps happening.
    """
    outstanding = {chunk.trials + chunk.keys: chunk for chunk in chunks}
    if outstanding:
        _warm(outstanding.values())
    for _ in range(ROUNDS):
        try:
            for played in _parallel(list(outstanding.values()), engine, jobs):
                del outstanding[played.chunk.trials + played.chunk.keys]
                yield played
        except TerminatedWorkerError:
            continue
        return
    for chunk in outstanding.values():
        error = "the worker process died"
        lost = tuple(Failure(key, trial, error, error) for key in chunk.keys for trial in chunk.trials)
        yield Played(chunk, {}, lost, 0.0)


def _parallel(chunks: list[Chunk], engine: Engine, jobs: int) -> Iterator[Played]:
    parallel = Parallel(n_jobs=jobs, backend=BACKENDS[engine], return_as="generator_unordered", batch_size=1)
    yield from parallel(delayed(play_chunk)(chunk) for chunk in chunks)


def _warm(chunks: Iterable[Chunk]) -> None:
    """Compile every loop once, before jobs share them; what raises here is reported by its chunk."""
    seen: set[object] = set()
    for chunk in chunks:
        for algorithm in chunk.match.algorithms:
            kind = (chunk.match.adversary.name, bandit.composition(algorithm))
            if kind not in seen:
                seen.add(kind)
                try:
                    bandit.warm(chunk.match._replace(algorithms=(algorithm,)))
                except Exception:  # its chunk meets the same error and reports it
                    continue
