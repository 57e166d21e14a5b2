"""The least ε for a target regret: bisection on known curves, and runs that share their games."""

import json
import math
from dataclasses import replace

import pytest

from privbandits_cli.accounting.rounding import at_most
from privbandits_cli.actions.least import GRID, STEP, Tried, doubts, least, measured, met
from privbandits_cli.experiment.settings import Size
from tests.cli import call
from tests.conftest import foe, make, table_of

SMALL = ("--regret", "60", "--against", "bernoulli", "means=C2", "--arms", "5", "--horizon", "2000", "--trials", "16")


def curve(epsilon):
    """100/ε, with an interval of ±20 %."""
    return Tried(epsilon, 100 / epsilon, 80 / epsilon, 120 / epsilon)


def test_bisection_finds_where_a_known_curve_and_its_interval_reach_the_target():
    found = least(50.0, curve)
    for value, true in ((found.epsilon, 2.0), (found.low, 1.6), (found.high, 2.4)):
        assert true <= value <= true * STEP
    assert [one.epsilon for one in found.tried] == sorted({one.epsilon for one in found.tried})
    assert len(found.tried) <= len(GRID) + 3 * math.ceil(math.log2(math.log(GRID[0] / GRID[1]) / math.log(STEP)))


def test_luck_at_a_small_epsilon_does_not_count():
    found = least(50.0, lambda epsilon: curve(epsilon) if epsilon > 0.5 else Tried(epsilon, 0.0, 0.0, 0.0))
    assert 2.0 <= found.epsilon <= 2.0 * STEP and min(one.epsilon for one in found.tried) > 0.5


def test_a_target_beyond_all_epsilons_is_said_to_be_there():
    never, at_once = least(0.5, curve), least(1e7, curve)
    assert (never.epsilon, never.high, len(never.tried)) == (math.inf, math.inf, 1)
    assert (at_once.epsilon, at_once.low, at_once.high) == (0.0, 0.0, 0.0)
    between = least(0.9, curve)  # the lower end reaches it, the mean does not
    assert between.epsilon == math.inf and 80 / 0.9 <= between.low <= 80 / 0.9 * STEP


@pytest.mark.parametrize(
    ("target", "guess", "said"),
    [
        (50.0, None, []),
        (50.0, 51.0, []),
        (50.0, 50.0, ["uniform play, which learns nothing, has a mean regret of 50"]),
        (1e7, None, ["every ε reaches the target, down to 0.001"]),
        (1e7, 2e6, ["uniform play"]),
        (0.5, None, ["no ε up to 100 reaches the target: the least mean regret of those tried is 1"]),
        (1.1, None, ["an end of the interval is beyond the ε that are tried"]),  # its upper end is 1.2 at ε = 100
    ],
)
def test_an_answer_that_says_little_says_so(target, guess, said):
    found = list(doubts(target, replace(least(target, curve), guess=guess)))
    assert len(found) == len(said) and all(one.startswith(words) for one, words in zip(found, said, strict=True))


def test_a_target_of_guessing_is_warned_of():
    """Uniform play on C2 loses a quarter of a round on average, 25 in 100 rounds."""
    words = ["tune", "dp_klucb", "--against", "bernoulli", "means=C2", "--arms", "5", "--horizon", "100"]
    shown = call(*words, "--trials", "4", "--regret", "30").stdout
    assert "Warning: uniform play, which learns nothing, has a mean regret of 2" in shown
    found = json.loads(call(*words, "--trials", "4", "--regret", "30", "--json").stdout)
    assert found["guess"] == pytest.approx(25, abs=5) and len(found["doubts"]) == 1


@pytest.mark.usefixtures("no_figure")
def test_what_is_found_is_what_a_run_measures(tmp_path):
    words = ["tune", "dp_klucb", *SMALL]
    found = json.loads(call(*words, "--json").stdout)
    at = {one["epsilon"]: one for one in found["tried"]}
    assert at[found["epsilon"]]["regret"] <= 60 < max(x["regret"] for e, x in at.items() if e < found["epsilon"])
    assert found["low"] <= found["epsilon"] <= found["high"]
    same = ("--arms", "5", "--horizon", "2000", "--json")
    certified = json.loads(call("tune", "dp_klucb", "--epsilon", found["epsilon"], *same).stdout)[0]["parameters"]
    config = tmp_path / "x.yaml"
    config.write_text(
        "experiment: x\nhorizon: 2000\ntrials: 16\narms: 5\nseed: 0\nadversary: {name: bernoulli, means: C2}\n"
        f"algorithms: {json.dumps({'name': 'dp_klucb'} | certified)}\n"
        "summary: {centre: mean}\ncheckpoints: [2000]\n"
    )
    assert call("run", config, "--results", tmp_path).exit_code == 0
    (row,) = table_of(tmp_path / "x" / "summary.csv")
    assert float(row["regret"]) == pytest.approx(at[found["epsilon"]]["regret"])
    printed, none = call(*words).stdout, call(*words, "--regret", "1").stdout
    assert max(map(len, (printed + none).splitlines())) <= 80
    assert f"least ε of dp_klucb for a mean regret of 60: {found['epsilon']:.3g} (95 % interval " in printed


def test_the_epsilon_that_is_searched_is_that_of_a_person():
    """Eight gains of one person may be in one sum, so the ε of a person is eight times that of a round."""
    found = json.loads(call("tune", "dp_klucb", *SMALL, "--rounds-per-person", "8", "--json").stdout)
    assert found["of_round"] == pytest.approx(found["epsilon"] / 8, rel=2e-3)
    tuned = ("--arms", "5", "--horizon", "2000", "--json", "--rounds-per-person", "8")
    (row, *_) = json.loads(call("tune", "dp_klucb", "--epsilon", found["epsilon"], *tuned).stdout)
    assert row["parameters"]["epsilon"] == pytest.approx(found["of_round"])
    one = json.loads(call("tune", "dp_klucb", *SMALL, "--json").stdout)
    assert found["epsilon"] > 4 * one["epsilon"] and one["of_round"] is None
    printed = " ".join(call("tune", "dp_klucb", *SMALL, "--rounds-per-person", "8").stdout.split())
    said = (
        f"every ε above is that of a person in up to 8 rounds; one round by itself has ε = {at_most(found['of_round'])}"
    )
    assert f"for a mean regret of 60: {found['epsilon']:.3g} (95 % interval " in printed and said in printed
    assert "person" not in call("tune", "dp_klucb", *SMALL).stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "give one target"),
        (["--epsilon", "1", "--regret", "5"], "give one target"),
        (["--regret", "5"], "--against"),
        (["--regret", "5", "--against", "bernouli"], "did you mean 'bernoulli'"),
        (["--regret", "5", "--against", "pareto"], "bounded gains"),
        (["--regret", "5", "--against", "gap", "gap=0.1"], "no game with a regret in common"),
        (["--regret", "5", "--against", "bernoulli", "mean=C2"], "bernoulli: mean: "),
    ],
)
def test_errors_say_what_to_write(words, said):
    result = call("tune", "dp_klucb", *words)
    assert result.exit_code == 2 and said in result.stderr


def test_an_epsilon_that_cannot_be_played_reaches_nothing():
    """Blocks of 10,000 rounds do not fit into 1,000, so below ε = 1 the regret counts as infinite."""

    def choose(epsilon):
        return make("exp3_tau", tau=10_000 if epsilon < 1 else 5)

    found = least(1e9, measured(choose, *met(choose(1.0), foe("bernoulli", means="C2"), Size(1000, 5)), 2, 0))
    assert found.tried[0].regret == math.inf and 1 <= found.epsilon <= STEP
