"""A run from Python: the files it writes and the errors it raises."""

import shutil

import numpy as np
import pytest

from privbandits_cli import load, run, summary
from privbandits_cli.api import RunError
from privbandits_cli.engine import EngineError
from privbandits_cli.engine.store import Busy, Store
from privbandits_cli.experiment.config import ConfigError
from tests.cli import call
from tests.engine.test_engine import csvs, manifest

pytestmark = pytest.mark.usefixtures("no_figure")


def test_the_api_and_the_command_leave_the_same_files(small, tmp_path):
    folder = run(small, results=tmp_path / "api", jobs=2)
    assert call("run", small, "--results", tmp_path / "command").exit_code == 0
    other = tmp_path / "command" / "small"
    assert csvs(folder) == csvs(other)
    assert {path.name for path in folder.iterdir()} == {path.name for path in other.iterdir()}
    one, two = manifest(folder), manifest(other)
    assert one.keys() == two.keys() and (one["command"], one["engine"]) == (["privbandits_cli.run"], "threads")
    assert [row["trials"] for row in summary(folder)] == [16] * len(summary(folder))
    assert run(small, results=tmp_path / "api") == folder and manifest(folder) == one  # nothing was left to play


def test_failing_trials_are_raised_and_the_others_kept(small, tmp_path, monkeypatch):
    from privbandits_cli.games import bandit

    real = bandit.play

    def play(match, trials, *block):
        regrets = real(match, trials, *block)
        names = [algorithm.name for algorithm in match.algorithms]
        if "exp3" in names and 3 in trials:
            regrets[names.index("exp3"), list(trials).index(3)] = np.nan
        return regrets

    monkeypatch.setattr(bandit, "play", play)
    with pytest.raises(RunError, match="2 trials failed: EXP3: FloatingPointError: the regret is not a finite number"):
        run(small, results=tmp_path)
    made = manifest(tmp_path / "small")
    assert made["trials"]["failed"] == made["trials"]["missing"] == 2 and not made["complete"]


def test_a_run_that_cannot_start_raises(small, tmp_path):
    with pytest.raises(EngineError, match="unknown engine 'tcp://host:1'"):
        run(small, results=tmp_path, engine="tcp://host:1")
    with Store(tmp_path / "small").locked(), pytest.raises(Busy):
        run(small, results=tmp_path)
    mine = tmp_path / "mine.py"
    assert call("new", "algorithm", mine).exit_code == 0
    mine.write_text(mine.read_text().replace(") -> int:\n", ") -> int:\n    return 99\n"))
    with pytest.raises(ConfigError, match="choose returned arm 99"):
        run(load(small, "algorithms+=mine", include=mine), results=tmp_path)
    assert not list(tmp_path.rglob("*.csv")) and not list(tmp_path.rglob("*.npz"))


def test_what_another_experiment_has_played_is_copied(small, tmp_path):
    """Its trials are not played again. Controls: another seed, damaged files, --fresh."""
    results = tmp_path / "results"
    run(small, results=results)
    more = load(small, "experiment=more", "trials=20")
    said = call("run", small, "experiment=more", "trials=20", "--results", results, "--dry-run").stdout
    assert not (results / "more").exists()
    folder, alone = run(more, results=results), run(more, results=tmp_path / "alone")
    assert csvs(folder) == csvs(alone)
    made = manifest(folder)
    assert made["copied"] == {"small": 16 * len(made["curves"])} and "copied" not in manifest(alone)
    assert f"{4 * 1000 * len(made['curves']):,} rounds" in said
    shutil.rmtree(folder)
    assert "copied" not in manifest(run(load(small, "experiment=seeded", "seed=1"), results=results))
    assert call("run", small, "experiment=fresh", "--results", results, "--fresh", "--quiet").exit_code == 0
    assert "copied" not in manifest(results / "fresh")
    shutil.rmtree(results / "fresh")
    for file in (results / "small" / "chunks").iterdir():
        file.write_bytes(file.read_bytes()[:-1])
    assert "copied" not in manifest(run(load(small, "experiment=damaged"), results=results))


def test_what_other_code_has_played_is_not_copied(small, tmp_path, monkeypatch):
    run(small, results=tmp_path)
    monkeypatch.setattr("privbandits_cli.engine.store.code_here", lambda curve: "other code")
    assert "copied" not in manifest(run(load(small, "experiment=other"), results=tmp_path))
