"""Files that are written whole or not at all, and the paths that people write."""

import errno
import os
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from uuid import uuid4


class DiskWarning(UserWarning):
    """What the file system of a folder cannot do."""


LACKING = (errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)  # what a file system says of an operation that it lacks


def at_home(path: str | Path) -> Path:
    """The path with the home folder in place of a `~` at its start; the path itself if that folder is unknown."""
    return Path(os.path.expanduser(path))


def write_atomically(path: Path, content: bytes | Iterable[bytes]) -> None:
    """Write a file so that a reader, also after a crash, sees the old content or the new, never a mixture.

    It has the permissions of any new file (umask), and takes the place of a link. A pipe or a device, such as
    /dev/stdout, is written as it is. Raises OSError with `path` as its file name.
    """
    pieces = [content] if isinstance(content, bytes) else content
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        with of_file(path), open(path, "wb") as there:
            there.writelines(pieces)
        return
    name = path.with_name(f".{path.name}.{uuid4().hex[:8]}.tmp")
    with of_file(path):
        try:
            with name.open("xb") as file:
                file.writelines(pieces)
                file.flush()
                _through(file.fileno())
            name.replace(path)
        except BaseException:
            with suppress(OSError):
                name.unlink()
            raise


@contextmanager
def of_file(path: Path) -> Iterator[None]:
    """Give this file's name to an OSError; one of writing has none."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def _through(handle: int) -> None:
    """Write what the operating system holds of a file to the disk, if the file system can."""
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in LACKING:
            raise
        _tell(f"this file system cannot write through to the disk ({error.strerror})")


@cache
def _tell(reason: str) -> None:
    """Warn once, however many files are written."""
    warnings.warn(f"{reason}: if the machine crashes, delete files that are empty", DiskWarning, stacklevel=4)
