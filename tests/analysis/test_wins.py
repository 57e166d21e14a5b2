"""Win rates: by hand on results of three tiny games, their intervals, the script, its CSVs and its figure."""

import math
from dataclasses import replace

import numpy as np
import pytest

from privbandits_cli import load, run
from privbandits_cli.numerics.jit import without_jit
from tests.conftest import script, started, table_of, without_figures

wins = script("wins.py")
Best, rates = wins.Best, wins.rates

pytestmark = pytest.mark.usefixtures("no_figure")

CONFIG = """\
experiment: NAME
game: contextual
horizon: 20
arms: 3
dimension: 15
trials: 2
seed: 1
adversary: {name: table, path: iris, target: class}
algorithms:
  - {name: squarecb, label: SquareCB, gamma: [1, 100], oracle: [quadratic, logistic]}
  - {name: squarecb, label: SquareCB, epsilon: [1, 8]}
  - {name: linucb, label: LinUCB}
  - {name: dp_linucb, label: LinUCB, epsilon: [8], delta: 1e-5}
summary: {centre: mean}
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Three results folders: the same table with three seeds."""
    root = tmp_path_factory.mktemp("wins")
    for seed in (1, 2, 3):
        (root / f"t{seed}.yaml").write_text(CONFIG.replace("NAME", f"t{seed}").replace("seed: 1", f"seed: {seed}"))
    with without_jit(), pytest.MonkeyPatch.context() as patch:
        without_figures(patch)
        return [run(load(root / f"t{seed}.yaml"), results=root / "results", jobs=1) for seed in (1, 2, 3)]


def finals(folder):
    """Final regrets by the family of the label, ε and the other swept values, straight from the CSV."""
    found = {}
    for row in table_of(folder / "final.csv"):
        name = "LinUCB" if "LinUCB" in row["label"] else "SquareCB"
        own = (row["gamma"], row["oracle"])
        found.setdefault((name, float(row["epsilon"] or "inf")), {}).setdefault(own, []).append(float(row["regret"]))
    return found


@pytest.mark.slow
def test_rates_are_those_counted_by_hand(folders):
    found = rates(wins.best_of(folders))
    won = dict.fromkeys((math.inf, 8.0), 0.0)
    for folder in folders:
        read = finals(folder)
        assert len(read["SquareCB", math.inf]) == 4
        for epsilon in won:
            one, other = (min(map(np.mean, read[name, epsilon].values())) for name in ("SquareCB", "LinUCB"))
            won[epsilon] += 1.0 if one < other - 1e-12 else 0.5 if abs(one - other) <= 1e-12 else 0.0
    seen = {(rate.epsilon, rate.algorithm): rate for rate in found}
    assert set(seen) == {(epsilon, name) for epsilon in won for name in ("SquareCB", "LinUCB")}  # none at ε = 1
    for epsilon, count in won.items():
        rate = seen[epsilon, "SquareCB"]
        assert rate.games == 3 and rate.rate == pytest.approx(count / 3)
        assert seen[epsilon, "LinUCB"].rate == pytest.approx(1 - rate.rate)
        assert 0 <= rate.low <= rate.high <= 1
        assert seen[epsilon, "LinUCB"].low == pytest.approx(1 - rate.high)


def best(game, name, means, deviation=0.0, seed=0):
    """An algorithm whose mean regret in the bootstrap samples is normal."""
    drawn = means + deviation * np.random.default_rng(seed).standard_normal(wins.DRAWS)
    return Best(game, 1.0, name, means, 1, "", 10, dict.fromkeys(range(10), means), drawn)


def test_a_tie_is_half_a_win_and_only_common_games_count():
    every = [best("a", "x", 1.0), best("a", "y", 1.0 + 1e-13), best("b", "x", 1.0), best("b", "y", 2.0)]
    found = {(r.algorithm, r.opponent): r for r in rates([*every, best("c", "x", 5.0)])}
    assert found["x", "y"].rate == 0.75 and found["y", "x"].rate == 0.25 and found["x", "y"].games == 2
    assert found["x", "y"].low == found["x", "y"].high == 0.75  # no chance in these trials


def test_intervals_show_what_chance_does():
    clear = rates([best("a", "x", 1.0, 0.1, 1), best("a", "y", 9.0, 0.1, 2)])[0]
    doubtful = rates([best("a", "x", 1.0, 0.1, 1), best("a", "y", 1.05, 0.1, 2)])[0]
    assert (clear.low, clear.high) == (1.0, 1.0) and (doubtful.low, doubtful.high) == (0.0, 1.0)


def test_winners_that_one_further_trial_could_change_are_counted():
    """x is 1 better in each trial but the last, where y is 5 better; in the other game always."""
    close, clear = [1.0] * 10, [2.0] * 9 + [-4.0]
    every = [
        replace(best(game, name, float(np.mean(x))), regrets=dict(enumerate(x)))
        for game, name, x in (("a", "x", close), ("a", "y", clear), ("b", "x", close), ("b", "y", [2.0] * 10))
    ]
    found = {(one.algorithm, one.opponent): one for one in rates(every)}
    assert found["x", "y"].rate == 1.0 and found["x", "y"].open == found["y", "x"].open == 1


def test_samples_are_drawn_alike_for_all_games_and_algorithms():
    shares = wins._shares(10)
    assert shares.shape == (10, wins.DRAWS) and np.allclose(shares.sum(axis=0), 1)
    assert np.array_equal(shares, wins._shares(10))
    mean = (np.arange(10.0) @ shares).std()
    assert mean == pytest.approx(np.arange(10.0).std() / math.sqrt(10), rel=0.06)  # 3.8 deviations of a deviation


@pytest.mark.slow
def test_the_script_prints_a_matrix_and_writes_csvs_and_a_figure(folders, tmp_path):
    done = started("wins.py", *folders, "--out", tmp_path)
    assert done.exit_code == 0 and max(map(len, done.stdout.splitlines())) <= 80
    printed = " ".join(done.stdout.split())
    assert "without privacy" in printed and "ε = 8" in printed and "this choice is not private" in printed
    rows = table_of(tmp_path / "wins.csv")
    assert {row["epsilon"] for row in rows} == {"", "8.0"} and {row["games"] for row in rows} == {"3"}
    assert [float(row["rate"]) for row in rows] == [rate.rate for rate in rates(wins.best_of(folders))]
    chosen = table_of(tmp_path / "wins_best.csv")
    assert len(chosen) == 3 * 5
    first = next(row for row in chosen if row["algorithm"] == "SquareCB" and not row["epsilon"])
    assert first["curves"] == "4" and "gamma = " in first["chosen"] and "oracle = " in first["chosen"]
    assert "SquareCB" in (tmp_path / "wins.svg").read_text(encoding="utf-8")
    again = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert started("wins.py", *folders, "--out", tmp_path).exit_code == 0
    assert again == {path.name: path.read_bytes() for path in tmp_path.iterdir()}


def test_what_cannot_be_compared_is_refused(folders, tmp_path, monkeypatch):
    def refused(*words):
        done = started("wins.py", *words)
        assert done.exit_code == 2
        return " ".join(done.stderr.split())

    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    assert "results/oracle_iris: there is no summary.csv" in refused()
    assert "is in two folders" in refused(folders[0], folders[0])
    assert "gone: no such folder" in refused(folders[0], "--out", tmp_path / "gone")
    one = tmp_path / "one.yaml"
    one.write_text(
        CONFIG.replace("  - {name: linucb", "# ").replace("  - {name: dp_linucb", "# ").replace("NAME", "one")
    )
    with without_jit():
        alone = run(load(one, "horizon=5"), results=tmp_path, jobs=1)
    assert "no two algorithms" in refused(alone)
