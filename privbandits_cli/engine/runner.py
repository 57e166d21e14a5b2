"""Run chunks of trials in parallel jobs: the only module that starts jobs."""

import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from types import ModuleType

from joblib import Parallel, cpu_count, delayed
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.backend import resource_tracker
from joblib.externals.loky.process_executor import TerminatedWorkerError

from privbandits_cli.engine import Engine, EngineError
from privbandits_cli.engine.payload import pack, unpack
from privbandits_cli.engine.play import Played, load, loops, lost, play_chunk
from privbandits_cli.engine.trackers import start_silently
from privbandits_cli.experiment.plan import Chunk
from privbandits_cli.games.steps import composition
from privbandits_cli.numerics.kernels import folder

BACKENDS = {"threads": "threading", "processes": "loky"}
SWITCH = 2e-4  # seconds after which a thread must pass on Python's lock; many blocks take less than its own 5 ms
LONG = 20.0  # seconds of compiling from which processes pay off: each must start, and compile what loops share


def cores() -> int:
    """The number of cores that this process may use."""
    return int(cpu_count())


def run(chunks: Sequence[Chunk], engine: Engine, jobs: int) -> Iterator[Played]:
    """Play the chunks on `jobs` jobs; yields results as they finish, in any order."""
    if engine.kind in BACKENDS:
        return _run_here(chunks, BACKENDS[engine.kind], jobs)
    results: Iterator[Played] = _dask().run(chunks, jobs, engine.address)
    return results


def warm(chunks: Sequence[Chunk], jobs: int, wait: Callable[[], AbstractContextManager[None]]) -> None:
    """Compile or load every loop that the chunks need before jobs share them; `wait` is entered before each loop.

    numba compiles one function at a time. If a loop shows that those of its algorithm in other settings take long,
    processes compile what is left, and this one loads it. Loops of many algorithms are short, and share functions that
    each process would have to compile. The first loop shows nothing, because with it numba itself is loaded.
    """
    left, first = loops(chunks), True
    while left:
        with wait():
            pass
        loop, start = left.pop(0), time.perf_counter()
        load(loop)
        expected = (time.perf_counter() - start) * sum(_algorithm(other) == _algorithm(loop) for other in left)
        if jobs > 1 and not first and expected > LONG and folder():
            _compile_elsewhere(left, min(jobs, len(left)), wait)
            jobs = 1
        first = False


def _algorithm(loop: Chunk) -> tuple[str, ...]:
    """The modules of its algorithm."""
    return composition(loop.match.algorithms[0])


def _compile_elsewhere(left: Sequence[Chunk], jobs: int, wait: Callable[[], AbstractContextManager[None]]) -> None:
    """Let processes compile these loops into the cache on disk; whatever fails there is left to this process."""
    with suppress(Exception), warnings.catch_warnings():
        # loky replaces a worker whose memory grows, as that of a compiler does
        warnings.simplefilter("ignore", UserWarning)
        start_silently(resource_tracker)
        tasks = (delayed(_load_in_worker)(pack(loop), os.getpid()) for loop in left)
        try:
            for _ in Parallel(n_jobs=jobs, backend="loky", return_as="generator_unordered", batch_size=1)(tasks):
                with wait():
                    pass
        finally:
            get_reusable_executor().shutdown(wait=False, kill_workers=True)


def _load_in_worker(payload: bytes, parent: int) -> None:
    _follow(parent)
    load(unpack(payload))


def survey(address: str, wait: Callable[[], AbstractContextManager[None]]) -> int:
    """How many chunks the workers of a Dask scheduler play at once; `wait` is entered while there is no worker."""
    return int(_dask().survey(address, wait))


def _dask() -> ModuleType:
    try:
        from privbandits_cli.engine import cluster
    except ModuleNotFoundError as error:
        raise EngineError("--engine dask needs Dask: pip install distributed") from error
    return cluster


def _run_here(chunks: Iterable[Chunk], backend: str, jobs: int) -> Iterator[Played]:
    """Play on threads or processes of this machine.

    When a worker process dies, joblib ends the others, too. Unfinished chunks are then submitted again, in ever
    smaller groups and finally one by one, so that only a chunk that keeps killing its worker fails.
    """
    if backend == "loky":
        start_silently(resource_tracker)
    outstanding = {chunk.trials + chunk.keys: chunk for chunk in chunks}
    for width in (max(1, len(outstanding)), jobs, 1):
        rest = list(outstanding.values())
        for first in range(0, len(rest), width):
            try:
                with _brisk(backend), _closed(_parallel(rest[first : first + width], backend, jobs)) as results:
                    for played in results:
                        del outstanding[played.chunk.trials + played.chunk.keys]
                        yield played
            except TerminatedWorkerError:
                continue
            except KeyboardInterrupt:
                if backend == "loky":
                    get_reusable_executor().shutdown(wait=False, kill_workers=True)
                raise
    for chunk in outstanding.values():
        yield lost(chunk, "the worker process died")


def _parallel(chunks: list[Chunk], backend: str, jobs: int) -> Generator[Played, None, None]:
    here = backend == "threading" or jobs == 1
    tasks = (
        delayed(play_chunk)(chunk) if here else delayed(_play_in_worker)(pack(chunk), os.getpid()) for chunk in chunks
    )
    parallel = Parallel(n_jobs=jobs, backend=backend, return_as="generator_unordered", batch_size=1)
    results: Generator[Played, None, None] = parallel(tasks)
    return results


@contextmanager
def _brisk(backend: str) -> Iterator[None]:
    """Let threads wait less for Python's lock, which each of them needs briefly after every block."""
    before = sys.getswitchinterval()
    if backend == "threading":
        sys.setswitchinterval(SWITCH)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@contextmanager
def _closed(results: Generator[Played, None, None]) -> Iterator[Iterator[Played]]:
    """Close joblib's results without its warning: what a stopped run has not used, the next run plays."""
    try:
        yield results
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            results.close()


def _play_in_worker(payload: bytes, parent: int) -> Played:
    _follow(parent)
    return play_chunk(unpack(payload))


@cache
def _follow(parent: int) -> None:
    """End this worker process soon after its parent ends, even if the parent was killed before this task began.

    The worker ignores Ctrl-C, which a terminal sends to every process: the parent handles it and ends its workers.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def follow() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
