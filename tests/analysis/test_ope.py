"""The coverage of off-policy intervals: true values, the committed numbers, the script and its figure."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from tests.conftest import committed, script, started, table_of

ope = script("ope.py")


@pytest.mark.parametrize("case", ope.CASES, ids=lambda case: case.title.partition(":")[0])
def test_the_truth_is_the_value_in_many_contexts(case):
    n = 400_000
    world = case.world(n, 3, 0)
    policy = ope.target(world.features)
    expected = (policy * world.means).sum(axis=1)
    spread = expected.std() / math.sqrt(n)
    assert abs(expected.mean() - case.truth) < 4 * spread + 1e-12
    of_another = (policy[:, ::-1] * world.means).sum(axis=1).mean()
    assert abs(of_another - case.truth) > 40 * spread


def committed_rows():
    """The rows of `results/ope.csv`, by world, estimator and rows of a log."""
    found = table_of(committed() / "results" / "ope.csv")
    return {(row["world"], row["estimator"], row["rows"]): row for row in found}


@pytest.mark.slow
def test_the_committed_numbers_are_played_again():
    kept = committed_rows()
    for row in (row for case in ope.CASES for row in ope.measured(case, 100, ope.LOGS)):
        one = kept[row.world, row.estimator, "100"]
        assert int(one["logs"]) == row.logs and float(one["coverage"]) == pytest.approx(row.coverage, abs=1e-6)
        assert float(one["bias"]) == pytest.approx(row.bias, abs=1e-6)


def test_the_committed_intervals_hold_the_value():
    kept = committed_rows()
    assert len(kept) == 2 * 4 * len(ope.SIZES)
    for (world, estimator, rows), one in kept.items():
        if int(rows) >= 500 and not ("wrong" in world and estimator == "direct"):
            assert abs(float(one["coverage"]) - 0.95) < 3 * math.sqrt(0.95 * 0.05 / 1000), (world, estimator, rows)
        elif not ("wrong" in world and estimator == "direct"):  # few rows: intervals are wider
            assert float(one["coverage"]) > 0.95 - 3 * math.sqrt(0.95 * 0.05 / 1000), (world, estimator, rows)
    wrong = next(row for (world, name, n), row in kept.items() if "wrong" in world and (name, n) == ("direct", "2000"))
    assert float(wrong["high"]) < 0.9  # the wrong model is found out


def test_the_intervals_of_a_coverage_are_exact():
    """Clopper-Pearson: the ends are the shares of which so many are just as improbable as 2.5 %."""
    row = ope._row("w", "ips", 10, np.array([[0.1, -0.9, 1.1]] * 45 + [[2.0, 1.0, 3.0]] * 5))
    assert row.coverage == 0.9 and row.length == 2.0 and row.bias == pytest.approx(0.29)
    assert binom.sf(44, 50, row.low) == pytest.approx(0.025) and binom.cdf(45, 50, row.high) == pytest.approx(0.025)


@pytest.mark.slow
def test_the_script_prints_a_table_and_writes_a_csv_and_a_figure(tmp_path, monkeypatch):
    monkeypatch.setattr(ope, "LOGS", 10)
    done = started("ope.py", tmp_path)
    assert done.exit_code == 0, done.output
    assert max(map(len, done.stdout.splitlines())) <= 80
    rows = table_of(tmp_path / "ope.csv")
    assert len(rows) == 48 and {row["logs"] for row in rows} <= {str(n) for n in range(11)}
    for row in rows:
        assert f"{100 * float(row['coverage']):.1f} %" in done.stdout
    assert "direct method" in (tmp_path / "ope.svg").read_text(encoding="utf-8")
    gone = started("ope.py", tmp_path / "gone")
    assert gone.exit_code == 2 and "gone: no such folder" in gone.stderr
