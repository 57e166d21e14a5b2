"""Files on file systems that lack something, and with the permissions that the user wants."""

import errno
import os
import stat

import pytest

from privbandits_cli.experiment import files
from privbandits_cli.experiment.files import DiskWarning, at_home, write_atomically


def refusing(number):
    def call(*_):
        raise OSError(number, os.strerror(number))

    return call


@pytest.mark.parametrize(("mask", "mode"), [(0o077, 0o600), (0o002, 0o664), (0o027, 0o640)])
def test_the_umask_is_honoured(tmp_path, mask, mode):
    before = os.umask(mask)
    try:
        write_atomically(tmp_path / "x", b"new")
    finally:
        os.umask(before)
    assert (tmp_path / "x").stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL])
def test_a_file_system_without_fsync_gets_the_file_and_a_note(tmp_path, monkeypatch, number):
    monkeypatch.setattr(os, "fsync", refusing(number))
    files._tell.cache_clear()
    with pytest.warns(DiskWarning, match="if the machine crashes, delete files that are empty") as said:
        write_atomically(tmp_path / "x", b"old")
        write_atomically(tmp_path / "x", b"new")
    assert len(said) == 1
    assert (tmp_path / "x").read_bytes() == b"new" and os.listdir(tmp_path) == ["x"]


def test_a_pipe_is_written_and_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_atomically(tmp_path / "pipe", [b"new ", b"lines"])
    assert os.read(reader, 100) == b"new lines" and stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    os.close(reader)


def test_an_error_names_the_file_and_not_its_temporary_name(tmp_path, monkeypatch):
    with pytest.raises(OSError) as raised:
        write_atomically(tmp_path / "none" / "x", b"new")
    assert str(raised.value) == f"[Errno 2] No such file or directory: '{tmp_path / 'none' / 'x'}'"
    monkeypatch.setattr(os, "fsync", refusing(errno.ENOSPC))
    with pytest.raises(OSError) as raised:
        write_atomically(tmp_path / "x", b"new")
    assert raised.value.filename == str(tmp_path / "x") and not os.listdir(tmp_path)


def test_a_tilde_is_the_home_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert at_home("~/x") == tmp_path / "x" and str(at_home("x~/~y")) == "x~/~y"
