"""After an edit of the package, a run compiles what has changed, and says whose trials are of other code."""

import os
import shutil
import subprocess
import sys

import pytest

from tests.conftest import ROOT

CONFIG = """\
experiment: edited
horizon: 100
arms: 4
trials: 8
adversary: stochastic
algorithms: [exp3, {name: dp_exp3_lap, epsilon: 1}, ucb1]
summary: {centre: mean}
"""


@pytest.fixture
def edited(tmp_path):
    """A copy of the package; a function edits one of its files, runs, and returns new kernels and what is said."""
    shutil.copytree(
        ROOT / "privbandits_cli", tmp_path / "privbandits_cli", ignore=shutil.ignore_patterns("__pycache__")
    )
    (tmp_path / "c.yaml").write_text(CONFIG)
    kernels = set()

    def run(file, old, new):
        source = tmp_path / "privbandits_cli" / file
        text = source.read_text()
        assert text.count(old) == 1
        source.write_text(text.replace(old, new))
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kernels"), "PYTHONPATH": str(tmp_path)}
        command = [sys.executable, "-m", "privbandits_cli", "run", "c.yaml", "-q", "-j", "1"]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        new = {*(tmp_path / "kernels").rglob("*.nbc")} - kernels
        kernels.update(new)
        return sorted(path.name.partition("__")[0] for path in new), done.stderr

    return run


@pytest.mark.slow
def test_an_edit_concerns_what_it_changes(edited):
    kernels, said = edited("algorithms/exp3.py", "def put(", "def put(")
    assert kernels.count("play_block") == 6 and said == ""
    assert edited("algorithms/exp3.py", "def put(", "# A comment.\n\n\ndef put(") == ([], "")
    assert edited("algorithms/exp3.py", '"""Set a weight, and', '"""Set one weight, and') == ([], "")
    kernels, said = edited("algorithms/dp_lambda_lap.py", "def update(", "unused = 1\n\n\ndef update(")
    assert kernels == [] and "trials of 1 curve are from another version of the code" in said
    kernels, said = edited("algorithms/ucb1.py", "2.0 * log_t", "2.5 * log_t")
    assert kernels == [] and "trials of 2 curves are from another version" in said  # they are not played again
    assert edited("../c.yaml", "trials: 8", "trials: 10")[0] == ["play_block"]  # one trial would have code of its own
