"""chunks of trials -> results: the only module that starts jobs."""

import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cache
from types import ModuleType

from joblib import Parallel, cpu_count, delayed
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.process_executor import TerminatedWorkerError

from privbandits_cli.engine import Engine, EngineError
from privbandits_cli.engine.payload import pack, unpack
from privbandits_cli.engine.play import Played, lost, play_chunk
from privbandits_cli.experiment.plan import Chunk

BACKENDS: dict[Engine, str] = {"threads": "threading", "processes": "loky"}
# When a run is stopped early, what joblib calls unused is simply not finished: the next run plays it.
warnings.filterwarnings("ignore", r"\d+ tasks have been successfully executed", UserWarning, "joblib")
sys.warnoptions.append("ignore:resource_tracker")  # it is there to clear up after such a run: no need to complain


def cores() -> int:
    """The cores that this process may use."""
    return int(cpu_count())


def run(chunks: Sequence[Chunk], engine: Engine, jobs: int) -> Iterator[Played]:
    """Play the chunks on so many jobs; results come as they finish, in any order."""
    if engine in BACKENDS:
        return _run_here(chunks, engine, jobs)
    results: Iterator[Played] = _dask().run(chunks, jobs, None if engine == "dask" else engine)
    return results


def survey(scheduler: str, wait: Callable[[], AbstractContextManager[None]]) -> int:
    """How many jobs a Dask scheduler's workers play at once; `wait` is entered while there is no worker."""
    return int(_dask().survey(scheduler, wait))


def _dask() -> ModuleType:
    try:
        from privbandits_cli.engine import cluster
    except ModuleNotFoundError as error:
        raise EngineError("--engine dask needs Dask: pip install '.[dask]' in the checkout, or distributed") from error
    return cluster


def _run_here(chunks: Iterable[Chunk], engine: Engine, jobs: int) -> Iterator[Played]:
    """On threads or processes of this machine.

    A worker process that dies takes those beside it along. What is unfinished is offered again, ever fewer at a time,
    the last time each chunk alone: only one that keeps killing its worker fails.
    """
    outstanding = {chunk.trials + chunk.keys: chunk for chunk in chunks}
    for width in (max(1, len(outstanding)), jobs, 1):
        rest = list(outstanding.values())
        for first in range(0, len(rest), width):
            try:
                for played in _parallel(rest[first : first + width], engine, jobs):
                    del outstanding[played.chunk.trials + played.chunk.keys]
                    yield played
            except TerminatedWorkerError:
                continue
            except KeyboardInterrupt:
                if engine == "processes":
                    get_reusable_executor().shutdown(wait=False, kill_workers=True)
                raise
    for chunk in outstanding.values():
        yield lost(chunk, "the worker process died")


def _parallel(chunks: list[Chunk], engine: Engine, jobs: int) -> Iterator[Played]:
    parallel = Parallel(n_jobs=jobs, backend=BACKENDS[engine], return_as="generator_unordered", batch_size=1)
    if engine == "threads" or jobs == 1:
        yield from parallel(delayed(play_chunk)(chunk) for chunk in chunks)
    else:
        yield from parallel(delayed(_play_in_worker)(pack(chunk)) for chunk in chunks)


def _play_in_worker(payload: bytes) -> Played:
    _follow_parent()
    return play_chunk(unpack(payload))


@cache
def _follow_parent() -> None:
    """End this worker when the process that started it ends it, or is gone, killed without a word.

    A Ctrl-C, which a terminal sends to every process, is for that one alone.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = os.getppid()

    def follow() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
