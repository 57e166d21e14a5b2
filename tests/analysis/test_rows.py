"""Tables for notebooks: what the CSVs and the chunks hold, under one name for each curve."""

import csv
import math
import shutil
import sys

import numpy as np
import pytest

from privbandits_cli import guarantee, load, run, summary, trials
from privbandits_cli.analysis import curves, measured
from privbandits_cli.analysis.folder import NAMES
from privbandits_cli.analysis.rates import least_regret
from privbandits_cli.analysis.rows import Rows
from privbandits_cli.engine.store import Store
from privbandits_cli.experiment.plan import make_plan
from privbandits_cli.figures import table
from tests.conftest import ROOT, committed, table_of

pytestmark = pytest.mark.usefixtures("no_figure")


def test_the_columns_are_those_of_the_csv_and_the_names_and_guarantees_of_the_figure(finished):
    written = table_of(finished / "summary.csv")
    rows = summary(finished)
    assert len(rows) == len(written) == len(list(rows)) and set(rows[0]) > set(written[0])
    for one, row in zip(written, rows, strict=True):
        assert [str(row[name]) for name in one if name not in ("label", "parameters")] == [
            one[name] for name in one if name not in ("label", "parameters")
        ]
    drawn = {line.label for lines in table.read(finished).panels.values() for line in lines}
    assert {row["label"] for row in rows} == drawn and all(type(row["label"]) is str for row in rows)
    assert {row["panel"] for row in rows} == {"Stochastic", "Switching costs"}
    private = [row for row in rows if row["algorithm"] == "dp_exp3_lap"]
    assert {(row["certified_epsilon"], row["certified_delta"], row["status"]) for row in private} == {
        (1.0, 0.0, "proved")
    }


def test_csvs_of_earlier_releases_are_read(finished, tmp_path):
    """They lack the parts of names; their final.csv has the column experiment."""
    old = tmp_path / "old"
    shutil.copytree(finished, old)
    for name, first in (("summary.csv", {}), ("final.csv", {"experiment": "small"})):
        rows = [first | {k: v for k, v in row.items() if k not in NAMES} for row in table_of(old / name)]
        with (old / name).open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            table.writeheader()
            table.writerows(rows)
    assert list(summary(old)) == list(summary(finished))
    assert list(summary(old, final=True)) == [{"experiment": "small"} | row for row in summary(finished, final=True)]
    assert measured.read(old) == measured.read(finished) and curves.read(old).every == curves.read(finished).every


def test_bernoulli_arms_have_their_lower_bound(finished):
    """In the stochastic panel: that without privacy, and the larger one of ε = 1; nothing for switching costs."""
    lower = {(row["panel"], row["algorithm"], row["round"]): row["lower_bound"] for row in summary(finished)}
    assert all(x is None for (panel, *_), x in lower.items() if panel != "Stochastic")
    at = {(name, rounds): x for (panel, name, rounds), x in lower.items() if panel == "Stochastic"}
    means = np.array([0.55, 0.5, 0.5, 0.5])
    for (name, rounds), x in at.items():
        epsilon = 1.0 if name == "dp_exp3_lap" else math.inf
        assert x == pytest.approx(least_regret(np.array([rounds]), means, epsilon)[0])
    assert "lower_bound" not in summary(finished, final=True).columns


def test_a_table_is_a_sequence_of_dicts():
    rows = Rows.of([{"a": 1}, {"a": 2, "b": "x"}])
    assert list(rows) == [{"a": 1, "b": None}, {"a": 2, "b": "x"}] and rows[-1]["b"] == "x"
    assert isinstance(rows[:1], Rows) and list(rows[:1]) == [{"a": 1, "b": None}]
    assert repr(rows) == "<2 rows; columns: a, b>" and len(Rows({})) == 0
    with pytest.raises(IndexError):
        rows[2]


def test_tables_of_one_experiment_join(small, finished):
    pandas = pytest.importorskip("pandas")
    per_round, per_trial = summary(finished).to_pandas(), summary(finished, final=True).to_pandas()
    promised, curves = guarantee(small).to_pandas(), trials(finished).to_pandas()
    assert list(promised["label"]) == list(per_round["label"].drop_duplicates())
    joined = per_round.merge(promised)  # on all columns that both have
    assert len(joined) == len(per_round) and joined["source"].notna().all()
    last = curves[curves["round"] == 1000]
    assert len(per_trial.merge(last, on=["curve", "label", "trial", "regret"])) == len(per_trial) == 6 * 16
    at = per_round.merge(curves, on=["curve", "round"]).groupby(["curve", "round"])
    assert np.allclose(at["regret_y"].mean(), at["mean"].first())
    assert per_round["certified_epsilon"].dtype == float and isinstance(per_round, pandas.DataFrame)


def test_swept_parameters_have_their_columns_everywhere(small, tmp_path):
    pytest.importorskip("pandas")
    experiment = load(small, "algorithms[1].epsilon=[0.1, 1]", "horizon=[200, 400]", "trials=8", "checkpoints=2")
    folder = run(experiment, tmp_path / "out")
    promised, measured = guarantee(experiment).to_pandas(), summary(folder, final=True).to_pandas()
    swept = promised[promised["algorithm"] == "dp_exp3_lap"]
    assert sorted(zip(swept["horizon"], swept["epsilon"], strict=True)) == [
        (200, 0.1), (200, 1.0), (400, 0.1), (400, 1.0)
    ]  # fmt: skip
    assert len(measured.merge(promised)) == len(measured) == 8 * 2 * 2 * 4
    assert set(swept["label"]) == {"DP-EXP3-Lap (ε = 0.1)", "DP-EXP3-Lap (ε = 1)"}
    assert len(trials(folder)) == 2 * len(measured)


def test_every_committed_folder_joins_its_guarantees():
    pytest.importorskip("pandas")
    measured = summary(committed() / "results" / "price_bandit", final=True).to_pandas()
    promised = guarantee(ROOT / "configs" / "price_bandit.yaml").to_pandas()
    assert len(measured.round(12).merge(promised.round(12))) == len(measured)  # the last digit of an ε is NumPy's
    assert measured["epsilon"].notna().any() and measured["certified_epsilon"].notna().any()


def test_without_pandas_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError, match="pip install pandas"):
        Rows.of([{"a": 1}]).to_pandas()


def test_each_trial_is_as_it_was_played(small, finished):
    small.write_text(small.read_text().replace("seed: 3", "seed: 4"))  # that of `finished`
    plan, store = make_plan(load(small)), Store(finished)
    store.open(plan, clean=False)
    rows = trials(finished)
    for curve in plan.curves:
        found = [row["regret"] for row in rows if row["curve"] == curve.key]
        assert np.array_equal(np.reshape(found, (16, 8)), store.regrets(curve, 16)[1])
    assert [row["round"] for row in rows[:8]] == plan.curves[0].checkpoints.tolist()
    assert {name: rows[0][name] for name in ("trial", "label", "status")} == {
        "trial": 0, "label": "EXP3", "status": "proved"
    }  # fmt: skip


def test_without_chunks_or_with_others_there_are_no_trials(finished):
    (chunk, *_) = sorted((finished / "chunks").glob("*__exp3__*.npz"))
    content = chunk.read_bytes()
    chunk.unlink()
    with pytest.raises(ValueError, match="chunks and its CSVs are of different runs: run the experiment again"):
        trials(finished)
    chunk.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(OSError, match="its checksum is wrong"):
        trials(finished)
    with pytest.raises(
        FileNotFoundError, match=r"keeps no chunks of trials: run its experiment again\. summary\(folder"
    ):
        trials(committed() / "results" / "fig1")
    with pytest.raises(FileNotFoundError, match="No such file"):
        summary(finished / "nothing")


def test_a_manifest_of_another_run_is_refused(finished):
    text = (finished / "manifest.json").read_text(encoding="utf-8")
    key = summary(finished)[0]["curve"]
    (finished / "manifest.json").write_text(text.replace(key, "0" * 16), encoding="utf-8")
    with pytest.raises(ValueError, match="of different runs: run the experiment again"):
        summary(finished)
