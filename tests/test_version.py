"""A version of numba that was never tried is used in the slower way, which gives the same numbers, and named."""

import json
import os
import subprocess
import sys

import pytest

from privbandits_cli import version
from tests.conftest import ROOT

PROGRAM = """
import json, sys
import pytest

from privbandits_cli import version
version.TRIED = {tried}
from privbandits_cli.games.bandit import play
from tests.conftest import foe, make, match
print(json.dumps(play(match(foe("stochastic"), [make("dp_exp3_lap")], 300), range(3)).tolist()))
print("privbandits_cli.spmd.program" in sys.modules)
"""


def played(tried, cache):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", PROGRAM.format(tried=tried)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    regrets, used = done.stdout.splitlines()
    return json.loads(regrets), used == "True"


@pytest.mark.slow
def test_an_untried_numba_gives_the_same_numbers(tmp_path):
    """Twice: the second process reads what numba has cached."""
    usual, insides = played(version.TRIED, tmp_path / "one")
    untried, without = played(((0, 1), (0, 2)), tmp_path / "other")
    assert insides and not without and usual == untried == played(((0, 1), (0, 2)), tmp_path / "other")[0]


def test_the_command_names_an_untried_numba(monkeypatch):
    from typer.testing import CliRunner

    from privbandits_cli.cli import app

    assert CliRunner().invoke(app, ["--version"]).output == f"privbandits {version.__version__}\n"
    monkeypatch.setattr(version, "TRIED", ((0, 1), (0, 2)))
    version.numba_was_tried.cache_clear()
    try:
        told = CliRunner().invoke(app, ["--version"]).output
    finally:
        monkeypatch.undo()
        version.numba_was_tried.cache_clear()
    assert "was not tried (0.1 to 0.2 were): trials play in the slower way" in told
