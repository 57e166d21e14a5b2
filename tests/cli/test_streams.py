"""Standard output in any encoding and on a full disk, and paths and errors of the machine."""

import errno
import io
import json
import os
import sys

import pytest
import typer

from privbandits_cli import plot, summary, trials
from privbandits_cli.cli.app import USAGE, dumps, reported
from privbandits_cli.cli.run import same_command
from privbandits_cli.cli.streams import printing
from privbandits_cli.plugins.registry import Registry
from tests.cli import call


@pytest.mark.parametrize(
    ("encoding", "printed"),
    [
        ("ascii", "epsilon = 1 <= sqrt 2 - e ? ?"),
        ("latin-1", "epsilon = 1 <= sqrt 2 - é ? ?"),
        ("utf-8", "ε = 1 ≤ √2 − é ★ 基"),
    ],
)
def test_what_an_encoding_lacks_is_spelt(monkeypatch, encoding, printed):
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding))
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(io.BytesIO(), encoding))
    with printing():
        print("ε = 1 ≤ √2 − é ★ 基")
    assert out.getvalue().decode(encoding) == printed + "\n"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_json_loses_nothing_in_any_encoding(monkeypatch, encoding):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding))
    assert json.loads(dumps({"ε": "基"}).encode(encoding)) == {"ε": "基"}


def test_a_full_disk_behind_standard_output_is_one_line(monkeypatch, capsys):
    with open("/dev/full", "w", encoding="utf-8") as full:
        monkeypatch.setattr(sys, "stdout", full)
        with pytest.raises(SystemExit) as ended, printing():
            print("a table")
    assert ended.value.code == USAGE
    assert capsys.readouterr().err == "standard output: No space left on device: make room\n"


def test_a_closed_standard_output_is_no_error(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    with printing():
        print("nobody listens")


@pytest.mark.parametrize(
    ("number", "hint"),
    [
        (errno.ENOSPC, ": make room"),
        (errno.EROFS, ": choose another place, or change its permissions"),
        (errno.EIO, ""),
    ],
)
def test_what_a_disk_refuses_is_one_line(capsys, number, hint):
    for kinds in ((), (ValueError, OSError)):
        with pytest.raises(typer.Exit) as ended, reported(*kinds):
            raise OSError(number, os.strerror(number), "results/x.csv")
        assert ended.value.exit_code == USAGE
        assert capsys.readouterr().err == f"results/x.csv: {os.strerror(number)}{hint}\n"


def test_who_stops_reading_is_told_nothing(capsys):
    with pytest.raises(BrokenPipeError), reported(ValueError, OSError):
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("words", [["plot", "~/none"], ["privacy", "~/none.yaml"], ["compare", "~/none", "."]])
def test_a_tilde_is_the_home_folder_where_the_shell_leaves_it(monkeypatch, tmp_path, words):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert str(tmp_path / "none") in call(*words).stderr


def test_a_tilde_in_an_option_is_the_home_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    result = call("list", "algorithms", "--include=~/none.py")
    assert str(tmp_path / "none.py") in result.stderr


@pytest.mark.parametrize("name", ["replay", "log", "table"])
def test_the_file_of_an_adversary_may_be_at_home(monkeypatch, tmp_path, name):
    monkeypatch.setenv("HOME", str(tmp_path))
    model = Registry().find("adversaries", name)
    given = {"path": "~/none.csv"} | ({"target": "x"} if name == "table" else {})
    assert model(**given).path == str(tmp_path / "none.csv")


def test_the_files_that_a_config_includes_may_be_at_home(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    said = call("run", "smoke", "include=~/none.py", "--dry-run").stderr
    assert f"{tmp_path}/none.py: cannot be read" in said


@pytest.mark.slow
def test_a_tilde_in_python_is_the_home_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    for read in (summary, trials, plot):
        with pytest.raises(FileNotFoundError, match=str(tmp_path / "none")):
            read("~/none")


def test_a_fresh_run_is_not_continued_by_the_same_command():
    assert same_command(fresh=False) == "the same command continues"
    assert same_command(fresh=True) == "the same command without --fresh continues"
