"""Compiled kernels on disk, one file each, under the digest of what they are made of.

A file is named after all on which its machine code depends, so it is never out of date, and a changed file has a wrong
checksum. It takes the place of numba's own cache, which looks at the time of one source file and trusts every byte.
"""

import hashlib
import os
import pickle
import sys
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from privbandits_cli.numerics.digests import ROOT, sha

LIMIT = 512  # MB in the folder: more than all figures and tests need
SUFFIX = ".nbc"  # numba's, for compiled code
CHECKSUM = 32  # bytes of SHA-256 at the end of a file


class KernelWarning(UserWarning):
    """What a user should know of the kernels on disk."""


def folder() -> Path | None:
    """The folder for kernels; None if there is no writable one.

    It is the first writable one of three: in NUMBA_CACHE_DIR, beside the sources, and in the user's cache.
    """
    from numba import config

    own, users = ROOT / "__pycache__", os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return _first_writable(str(vars(config)["CACHE_DIR"] or ""), str(own), str(users))


@cache
def _first_writable(*parents: str) -> Path | None:
    for parent in filter(None, parents):
        place = Path(parent) / "privbandits"
        with suppress(OSError):
            place.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=place).close()
            return place
    return None


class Kernels:
    """numba's interface to a cache, for one function, whose name holds its digest."""

    def __init__(self, place: Path, name: str) -> None:
        self.place, self.name = place, name

    @property
    def cache_path(self) -> str:
        """The folder."""
        return str(self.place)

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The compiled function from disk; None if there is none. A damaged one is deleted, and counts as none."""
        target.refresh()
        file = self._file(signature, target.codegen())
        try:
            content = file.read_bytes()
            if hashlib.sha256(content[:-CHECKSUM]).digest() != content[-CHECKSUM:]:
                raise OSError("its checksum is wrong")
            with suppress(OSError):  # another user's file
                os.utime(file)  # it is used: see `_evict`
        except FileNotFoundError:
            return None
        except OSError as error:
            _drop(file, error)
            return None
        from numba.core.compiler import CompileResult

        try:
            return CompileResult._rebuild(target, *pickle.loads(content[:-CHECKSUM]))
        except Exception as error:  # a file that needs what this process lacks may raise any error
            _drop(file, error)
            return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Write a compiled function; a full disk costs no more than the time to compile it again."""
        from numba.core.serialize import dumps

        if compiled.library.has_dynamic_globals or any(not lifted.can_cache for lifted in compiled.lifted):
            return
        content = dumps(compiled._reduce())
        try:
            _write(self._file(signature, compiled.codegen), content + hashlib.sha256(content).digest())
            _evict(self.place)
        except OSError as error:
            warnings.warn(f"a compiled kernel cannot be kept in {self.place}: {error}", KernelWarning, stacklevel=2)

    def exist(self) -> bool:
        """Whether the function was compiled before, for any signature."""
        return any(self.place.glob(f"{self.name}-*{SUFFIX}"))

    def _file(self, signature: Any, codegen: Any) -> Path:
        from numba import config

        processor = codegen.magic_tuple(), vars(config)["OPT"]
        return self.place / f"{self.name}-{sha(str(signature), repr(processor), _versions())[:16]}{SUFFIX}"

    def enable(self) -> None:
        """Do nothing: this cache is always on."""

    def disable(self) -> None:
        """Do nothing: `save_overload` leaves out what cannot be kept."""

    def flush(self) -> None:
        """Delete the compiled function."""
        for file in self.place.glob(f"{self.name}-*{SUFFIX}"):
            file.unlink(missing_ok=True)


@cache
def _versions() -> str:
    return repr([sys.version_info[:3], *(version(name) for name in ("numba", "llvmlite", "numpy"))])


def _drop(file: Path, error: Exception) -> None:
    """Delete a damaged file, and say so."""
    with suppress(OSError):
        file.rmdir() if file.is_dir() and not file.is_symlink() else file.unlink()
    reason = getattr(error, "strerror", None) or error
    warnings.warn(f"a compiled kernel is dropped and compiled anew ({reason}): {file}", KernelWarning, stacklevel=2)


def _write(file: Path, content: bytes) -> None:
    """Write a file whole or not at all; a crash of the machine may leave a wrong checksum."""
    temporary = file.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        temporary.write_bytes(content)
        temporary.replace(file)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _evict(place: Path) -> None:
    """Delete the kernels that were not used for the longest time, until the folder holds LIMIT megabytes."""
    files = sorted(_sizes(place), reverse=True)
    total = 0
    for _, size, file in files:
        total += size
        if total > LIMIT * 10**6:
            file.unlink(missing_ok=True)


def _sizes(place: Path) -> Iterator[tuple[int, int, Path]]:
    """When each file was last used, its size, and its path."""
    for file in place.iterdir():
        with suppress(FileNotFoundError):
            facts = file.stat()
            yield facts.st_mtime_ns, facts.st_size, file
