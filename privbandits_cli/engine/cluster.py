"""Play chunks on Dask workers, here or on other machines: the only module that imports distributed.

Results travel back to this process, which stores them, so no disk is shared. Dask gives the work of a dead worker to
another one; a chunk that was lost with four workers is given up (Dask's `distributed.scheduler.allowed-failures`).
"""

import logging
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from functools import cache
from importlib.metadata import version
from itertools import islice
from multiprocessing import resource_tracker

from distributed import Client, Future, KilledWorker, LocalCluster, get_worker

from privbandits_cli.engine import GUARD, EngineError, EngineLost
from privbandits_cli.engine.payload import pack, unpack
from privbandits_cli.engine.play import Played, load, loops, lost, play_chunk
from privbandits_cli.engine.trackers import start_silently
from privbandits_cli.experiment.plan import Chunk
from privbandits_cli.numerics.digests import of_package
from privbandits_cli.version import __version__

PATIENCE = 60.0  # seconds without a scheduler or a single worker before the run ends
AHEAD = 4  # chunks submitted for each thread of the workers
LOGGERS = ("distributed", "distributed.client", "tornado.application", "asyncio")

_compiling = threading.Lock()


@contextmanager
def _silent() -> Iterator[None]:
    """Keep Dask from logging: what goes wrong is raised as an EngineError or EngineLost.

    After Ctrl-C it stays silent, because workers that received it as well die while the process ends.
    """
    loggers = [(logging.getLogger(name), logging.getLogger(name).level) for name in LOGGERS]
    for logger, _ in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        if not isinstance(sys.exception(), KeyboardInterrupt):
            for logger, level in loggers:
                logger.setLevel(level)


@cache
def identity() -> dict[str, str]:
    """The versions on which the numbers depend: they must be the same on every worker."""
    libraries = {name: version(name) for name in ("numpy", "numba")}
    return {"privbandits": __version__, "code": of_package()} | libraries


@_silent()
def survey(address: str, wait: Callable[[], AbstractContextManager[None]]) -> int:
    """Threads of the workers at this address; waits for the first worker, and refuses workers of other versions."""
    with wait():
        client = _client(address)
    try:
        deadline = time.monotonic() + PATIENCE
        while not _threads(client):
            if time.monotonic() > deadline:
                raise EngineError(f"no worker at {address} in {PATIENCE:.0f} s: start `dask worker {address}`")
            with wait():
                time.sleep(0.1)
        for worker, found in client.run(identity, on_error="return").items():
            if found != identity():
                raise EngineError(_difference(worker, found, identity()))
        return _threads(client)
    finally:
        client.close()


@_silent()
def run(chunks: Sequence[Chunk], jobs: int, address: str | None) -> Iterator[Played]:
    """Play the chunks on the workers of a scheduler, or on `jobs` workers of our own; started when this returns."""
    if address:
        return _run(_client(address), chunks)
    start_silently(resource_tracker)
    try:
        cluster = LocalCluster(
            n_workers=min(jobs, len(chunks)),
            threads_per_worker=1,
            dashboard_address=":0",  # any free port; 8787 may be another run's
            memory_limit=0,
            silence_logs=logging.CRITICAL,
        )
    except (OSError, RuntimeError) as error:
        raise EngineError(f"no Dask worker can be started here: {error} If a script calls `run`, {GUARD}") from error
    return _run(Client(cluster), chunks)


def _client(address: str) -> Client:
    """Connect in a separate thread: if the peer is not a scheduler, Dask may wait forever."""
    found: queue.SimpleQueue[Client | Exception] = queue.SimpleQueue()

    def connect() -> None:
        try:
            found.put(Client(address, timeout=PATIENCE))
        except Exception as error:
            found.put(error)

    threading.Thread(target=connect, daemon=True).start()
    try:
        client = found.get(timeout=PATIENCE + 5)
    except queue.Empty:
        client = TimeoutError()
    if isinstance(client, Exception):
        raise EngineError(
            f"no scheduler answers at {address}: start `dask scheduler`, and give the tcp://host:port that it prints"
        ) from client
    return client


def _threads(client: Client) -> int:
    """The number of chunks that the workers play at once."""
    with suppress(OSError):
        if client.status == "running":
            return int(sum(client.nthreads().values()))
    raise EngineLost("the scheduler was lost")


def _run(client: Client, chunks: Sequence[Chunk]) -> Iterator[Played]:
    killed: list[Chunk] = []
    with _silent(), ExitStack() as closed:
        closed.enter_context(client.cluster or nullcontext())
        closed.enter_context(client)
        try:
            for chunk, played in _offer(client, chunks, lambda: AHEAD * _threads(client)):
                if played:
                    yield played
                else:
                    killed.append(chunk)
            for chunk in killed:
                again = _alone(client, chunk) if len(killed) > 1 else None
                yield again or lost(chunk, "the workers that played it died")
        except KeyboardInterrupt:  # workers on this machine receive it, too: nothing is left to close in order
            closed.pop_all()
            raise


def _alone(client: Client, chunk: Chunk) -> Played | None:
    """Submit a chunk again on its own, because another chunk may have killed its workers."""
    try:
        return next(_offer(client, [chunk], lambda: 1))[1]
    except EngineLost:
        if client.status != "running":
            raise
        return None  # the chunk killed the last worker


def _offer(client: Client, chunks: Sequence[Chunk], width: Callable[[], int]) -> Iterator[tuple[Chunk, Played | None]]:
    """Submit `width()` chunks at a time; yields each with its result, or with None if its workers died."""
    todo, done = iter(chunks), queue.SimpleQueue[Future]()
    alive: dict[str, tuple[Future, Chunk]] = {}
    while True:
        for chunk in islice(todo, max(0, max(1, width()) - len(alive))):
            future = client.submit(play_there, pack(chunk), identity(), pure=False, retries=0)
            alive[future.key] = future, chunk
            future.add_done_callback(done.put)
        if not alive:
            return
        future, chunk = alive.pop(_next(client, done).key)
        try:
            played = future.result()
        except KilledWorker:
            played = None
        except Exception as error:
            raise EngineLost(f"the cluster was lost ({type(error).__name__})") from error
        if isinstance(played, str):
            raise EngineLost(played)
        yield chunk, played


def _next(client: Client, done: "queue.SimpleQueue[Future]") -> Future:
    """The next finished future; checks every second that the cluster is alive."""
    seen = time.monotonic()
    while True:
        try:
            return done.get(timeout=1.0)
        except queue.Empty:
            if _threads(client):
                seen = time.monotonic()
            elif time.monotonic() - seen > PATIENCE:
                raise EngineLost(f"all workers were lost, and none came in {PATIENCE:.0f} s") from None


def play_there(payload: bytes, wanted: dict[str, str]) -> Played | str:
    """Play a chunk on a worker; a message if this worker must not or cannot play it.

    Errors are returned, not raised: if the client cannot unpickle a traceback, it waits forever.
    """
    worker = get_worker().address
    try:
        if identity() != wanted:
            return _difference(worker, identity(), wanted)
        chunk = unpack(payload)
        with _compiling:  # once for all threads of the worker
            for loop in loops([chunk]):
                load(loop)
        return play_chunk(chunk)
    except Exception as error:  # of the worker; an error of a trial is reported by its chunk
        return _difference(worker, error, wanted)


def _difference(worker: str, found: dict[str, str] | Exception, wanted: dict[str, str]) -> str:
    if isinstance(found, Exception):
        what = f"{type(found).__name__}: {found}"
    else:
        what = ", ".join(
            f"{name} {found.get(name)}, not {value}" for name, value in wanted.items() if found.get(name) != value
        )
    return f"worker {worker} has {what}: install the same privbandits there, and restart the worker"
