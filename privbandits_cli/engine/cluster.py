"""chunks of trials -> results, on Dask workers here or on other machines: the only module that imports distributed.

Results travel back to this process, which keeps them: no disk is shared. Dask gives the work of a dead worker to
others; what has seen four workers die is given up (its setting `distributed.scheduler.allowed-failures`).
"""

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from importlib.metadata import version
from itertools import islice

from distributed import Client, Future, KilledWorker, LocalCluster, get_worker

from privbandits_cli.engine import EngineError, EngineLost
from privbandits_cli.engine.payload import pack, unpack
from privbandits_cli.engine.play import Played, lost, play_chunk, warm
from privbandits_cli.experiment.plan import Chunk
from privbandits_cli.numerics.jit import source_hash
from privbandits_cli.version import __version__

PATIENCE = 60.0  # seconds without a scheduler or a single worker before the run ends
AHEAD = 4  # chunks given out for each thread of the workers
LOGGERS = ("distributed", "distributed.client", "tornado.application", "asyncio")

_compiling = threading.Lock()


@contextmanager
def _silent() -> Iterator[None]:
    """Keep Dask from logging: what goes wrong is raised as an EngineError or EngineLost."""
    before = {name: logging.getLogger(name).level for name in LOGGERS}
    for name in LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)


@cache
def identity() -> dict[str, str]:
    """What decides the numbers, and so must be the same on every worker."""
    libraries = {name: version(name) for name in ("numpy", "numba")}
    return {"privbandits": __version__, "kernels": source_hash()} | libraries


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
    try:
        cluster = LocalCluster(
            n_workers=min(jobs, len(chunks)),
            threads_per_worker=1,
            dashboard_address=":0",  # any free port; 8787 may be another run's
            memory_limit=0,
            silence_logs=logging.CRITICAL,
        )
    except (OSError, RuntimeError) as error:
        raise EngineError(f"no Dask worker can be started here: {error}") from error
    return _run(Client(cluster), chunks)


def _client(address: str) -> Client:
    """Connect, in a thread of its own: Dask waits for ever for a peer that answers in another language."""
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
    """How many chunks the workers play at once."""
    try:
        if client.status == "running":
            return int(sum(client.nthreads().values()))
    except OSError as error:
        raise EngineLost("the scheduler was lost") from error
    raise EngineLost("the scheduler was lost")


def _run(client: Client, chunks: Sequence[Chunk]) -> Iterator[Played]:
    killed: list[Chunk] = []
    with _silent(), client.cluster or nullcontext(), client:  # in the end both are closed
        for chunk, played in _offer(client, chunks, lambda: AHEAD * _threads(client)):
            if played:
                yield played
            else:
                killed.append(chunk)
        for chunk in killed:
            yield (_alone(client, chunk) if len(killed) > 1 else None) or lost(chunk, "the workers that played it died")


def _alone(client: Client, chunk: Chunk) -> Played | None:
    """Offer a chunk again with nothing beside it: it may have been its neighbour that killed the workers."""
    try:
        return next(_offer(client, [chunk], lambda: 1))[1]
    except EngineLost:
        if client.status != "running":
            raise
        return None  # it took the last worker with it


def _offer(client: Client, chunks: Sequence[Chunk], width: Callable[[], int]) -> Iterator[tuple[Chunk, Played | None]]:
    """Give out so many chunks at a time; yields each with what came of it, None where its workers died."""
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
    """The next future that is done; looks every second whether the cluster is still there."""
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
    """On a worker: play a chunk, or say why this worker must not.

    Nothing is raised: the client waits for ever for an error whose traceback it cannot read.
    """
    worker = get_worker().address
    try:
        if identity() != wanted:
            return _difference(worker, identity(), wanted)
        chunk = unpack(payload)
        with _compiling:  # once for all threads of the worker
            warm([chunk])
        return play_chunk(chunk)
    except Exception as error:  # a chunk reports what it raises: this is the worker's
        return _difference(worker, error, wanted)


def _difference(worker: str, found: dict[str, str] | Exception, wanted: dict[str, str]) -> str:
    if isinstance(found, Exception):
        what = f"{type(found).__name__}: {found}"
    else:
        what = ", ".join(
            f"{name} {found.get(name)}, not {value}" for name, value in wanted.items() if found.get(name) != value
        )
    return f"worker {worker} has {what}: install the same privbandits there, and start the worker anew"
