"""Files that are written whole or not at all."""

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path


def write_atomically(path: Path, content: bytes | Iterable[bytes]) -> None:
    """Write a file so that a reader, also after a crash, sees the old content or the new, never a mixture."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines([content] if isinstance(content, bytes) else content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
