"""Kernels on disk: a damaged file is compiled anew, and the files that were not used for longest are deleted."""

import hashlib
import os
import pickle
import warnings

import numba
import numpy as np
import pytest

from privbandits_cli.numerics import kernels
from privbandits_cli.numerics.jit import bind


def double(xs):
    for i in range(len(xs)):
        xs[i] *= 2.0


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty folder of kernels."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    return kernels.folder()


@pytest.fixture
def file(place):
    """The file of one kernel."""
    assert doubled() == []
    (file,) = place.iterdir()
    return file


def doubled():
    """The warnings of a new process, as it were, which plays the kernel, and plays it right."""
    xs = np.array([1.0, -3.0])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        bind(double)(xs)
    assert xs.tolist() == [2.0, -6.0]
    return [str(warning.message) for warning in caught]


def loaded():
    """Whether the kernel is read from disk, and the warnings."""
    loop = bind(double)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = loop._cache.load_overload((numba.float64[::1],), loop.targetctx)
    return found is not None, [str(warning.message) for warning in caught]


def test_a_kernel_is_read_from_disk(file):
    assert loaded() == (True, [])


def test_any_byte_that_changes_is_found(file):
    """At 200 places: the ends of the code and of its checksum, and random ones."""
    content = file.read_bytes()
    n, rng = len(content), np.random.default_rng(1)
    ends = [0, n - kernels.CHECKSUM - 1, n - kernels.CHECKSUM, n - 1]
    for place in [*ends, *rng.choice(n, 196, replace=False)]:
        changed = bytearray(content)
        changed[place] ^= int(rng.integers(1, 256))
        file.write_bytes(changed)
        assert loaded() == (
            False,
            [f"a compiled kernel is dropped and compiled anew (its checksum is wrong): {file}"],
        )
        assert not file.exists()
    file.write_bytes(content)
    assert loaded() == (True, [])


@pytest.mark.parametrize("content", [b"", b"\0", None, "half", "folder"])
def test_a_damaged_file_is_compiled_anew(file, content):
    whole = file.read_bytes()
    file.unlink()
    if content == "folder":
        file.mkdir()
    elif content is None:
        file.symlink_to(file)  # it cannot be read
    else:
        file.write_bytes(whole[: len(whole) // 2] if content == "half" else content)
    (told,) = doubled()
    assert "dropped and compiled anew" in told and str(file) in told
    assert file.is_file() and not file.is_symlink() and doubled() == []


def test_a_file_that_cannot_be_loaded_here_is_compiled_anew(file):
    """As one that names a module that this process does not know."""
    content = pickle.dumps(("nothing", "of", "numba"))
    file.write_bytes(content + hashlib.sha256(content).digest())
    (told,) = doubled()
    assert "dropped and compiled anew" in told and loaded() == (True, [])


def test_a_kernel_that_cannot_be_kept_is_played(place, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kernels, "_write", full)
    (told,) = doubled()
    assert "cannot be kept" in told and "No space left" in told and not [*place.iterdir()]


def test_without_any_folder_kernels_are_not_kept(monkeypatch):
    monkeypatch.setattr("privbandits_cli.numerics.jit.folder", lambda: None)
    (told,) = doubled()
    assert "set NUMBA_CACHE_DIR" in told


def test_what_was_not_used_for_the_longest_time_makes_room(file, monkeypatch):
    size = file.stat().st_size
    old, older, new = (file.with_name(f"{name}{kernels.SUFFIX}") for name in ("old", "older", "new"))
    for age, other in enumerate((new, old, older)):
        other.write_bytes(bytes(size))
        os.utime(other, (1_000_000 - age, 1_000_000 - age))
    monkeypatch.setattr(kernels, "LIMIT", 2.5 * size / 1e6)
    os.utime(file, (1, 1))
    assert loaded() == (True, [])  # and so the kernel is the newest
    kernels._evict(file.parent)
    assert {path.name for path in file.parent.iterdir()} == {file.name, new.name}


def test_files_are_as_readable_as_the_user_wants(place):
    before = os.umask(0o027)
    try:
        doubled()
    finally:
        os.umask(before)
    (file,) = place.iterdir()
    assert file.stat().st_mode & 0o777 == 0o640
