"""A chunk as bytes for another process, together with the users' files that it needs.

These bytes are pickles. They go from a run to the workers that it has started or was told to use, never through a file.
"""

import pickle

from privbandits_cli.experiment.plan import Chunk
from privbandits_cli.plugins import loader


def pack(chunk: Chunk) -> bytes:
    """The chunk as bytes."""
    files = loader.sources_of((chunk.match.adversary, *chunk.match.algorithms))
    return pickle.dumps((files, pickle.dumps(chunk)))


def unpack(payload: bytes) -> Chunk:
    """The inverse of `pack`, in any process in which this package is installed."""
    files, inner = pickle.loads(payload)
    for source in files:
        loader.module(source)
    chunk: Chunk = pickle.loads(inner)
    return chunk
