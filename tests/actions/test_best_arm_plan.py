"""The script that draws users over ε for five arms, and the numbers that are committed."""

import math

import pytest

from privbandits_cli.actions import plan
from tests.conftest import committed, script, started, table_of

made = script("best_arm_plan.py")


def kept():
    """The rows of `results/best_arm_plan.csv` by gap, ε and design."""
    rows = table_of(committed() / "results" / "best_arm_plan.csv")
    return {(float(row["gap"]), float(row["epsilon"]), row["design"]): row for row in rows}


def test_the_committed_numbers_are_computed_again():
    found = kept()
    assert len(found) == 4 * len(made.GAPS) * len(plan.DRAWN)
    for gap in made.GAPS:
        for row in plan.rows(plan.question(made.ARMS, gap, made.DELTA), plan.DRAWN):
            one = found[gap, row.epsilon, row.design]
            if row.design != "sequential":
                assert int(one["users"]) == row.users, one
            else:
                assert int(one["runs"]) == made.STUDIES and float(one["certified"]) == 1.0


@pytest.mark.parametrize("epsilon", [pytest.param(1.0, marks=pytest.mark.slow), math.inf])
def test_the_committed_studies_are_played_again(epsilon):
    rows = plan.rows(plan.question(made.ARMS, 0.2, made.DELTA), [epsilon], made.STUDIES, made.SEED)
    for row in rows:
        one = kept()[0.2, epsilon, row.design]
        assert [one[name] for name in plan.Row._fields] == ["" if value is None else str(value) for value in row]


@pytest.mark.slow
def test_the_script_prints_tables_and_writes_a_csv_and_a_figure(tmp_path, monkeypatch):
    for name, value in (("STUDIES", 4), ("GAPS", (0.2, 0.3))):
        monkeypatch.setitem(made.main.__globals__, name, value)
    monkeypatch.setattr(plan, "DRAWN", (0.5, 1.0, math.inf))
    monkeypatch.setattr("tests.conftest.script", lambda name: made)
    done = started("best_arm_plan.py", tmp_path)
    assert done.exit_code == 0, done.output
    assert max(map(len, done.stdout.splitlines())) <= 80
    rows = table_of(tmp_path / "best_arm_plan.csv")
    assert len(rows) == 2 * 3 * 4 and {row["gap"] for row in rows} == {"0.2", "0.3"}
    assert all(f"{int(row['users']):,}" in done.stdout for row in rows)
    assert "5 arms, gap 0.3" in (tmp_path / "best_arm_plan.svg").read_text(encoding="utf-8")
    gone = started("best_arm_plan.py", tmp_path / "gone")
    assert gone.exit_code == 2 and "gone: no such folder" in gone.stderr
