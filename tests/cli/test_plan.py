"""`plan`, as a user meets it: 80 columns, JSON, errors, a figure."""

import json

import pytest
from typer.testing import CliRunner

from privbandits_cli import plan
from privbandits_cli.cli.app import app


def call(*words):
    return CliRunner().invoke(app, ["plan", *map(str, words)], env={"COLUMNS": "80"})


@pytest.fixture(scope="module")
def printed():
    done = call("--arms", 5, "--gap", 0.2, "--epsilon", 0.5, "--simulate", 32)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_it_prints_three_designs_a_bound_and_a_table(printed):
    assert max(map(len, printed.splitlines())) <= 80
    table = plan(5, 0.2, 0.5, simulate=32)
    rows = {row["design"]: row for row in table}
    heads = [line for line in printed.splitlines() if line[:3] in ("1. ", "2. ", "3. ", "4. ", "No ")]
    assert heads == [
        "1. One release: 695 users",
        f"2. A few looks: at most {rows['looks']['users']:,} users",
        f"3. Until it is sure: recruit {rows['sequential']['q90']:,} users",
        "No design like 3 can do with fewer than: 295 users on average",
    ]
    assert printed.count("   Guaranteed: ") == printed.count("   Not guaranteed: ") == 3
    assert f"{rows['sequential']['mean']:,.0f}" in printed and f"{rows['looks']['mean_twice']:,.0f}" in printed
    lines = [line.split() for line in printed.splitlines()]
    assert "ε     1 one release  2 a few looks  no fewer than  price of 1\n" in printed
    assert ["none", "540", "625", "295", "1.00"] in lines and ["0.1", "2,215", "3,875", "541", "4.10"] in lines


def test_words_that_a_practitioner_need_not_know_are_not_printed(printed):
    foreign = "T*", "confidence interval", "instance", "regret", "horizon", "trial", "play", "certified", "evidence"
    assert not any(word in printed for word in foreign)


def test_it_begins_with_advice_and_the_usual_calculators(printed):
    """A z-test of 0.6 against 0.4: 97 users of each version at power 80 %, in any table of sample sizes."""
    start = " ".join(printed[: printed.index("1. One release")].split())
    assert "Take design 1 if leads below 0.2 do not matter to you: 695 users." in start
    assert "None of them needs a test of significance afterwards." in start
    assert "say 97 users of each version (485 in all) at power 80 %" in start


def test_json_has_the_same(printed):
    done = call("--arms", 5, "--gap", 0.2, "--epsilon", 0.5, "--simulate", 32, "--json")
    found = json.loads(done.stdout)
    assert found["question"] == {"arms": 5, "gap": 0.2, "delta": 0.05, "centre": 0.5}
    flat = " ".join(printed.split())
    for row in found["designs"]:
        assert f": {row['users']:,} users" in flat or f"{row['users']:,} users" in flat
        assert all(row[name] in flat for name in ("title", "how", "guaranteed", "not_guaranteed"))
    assert {row["epsilon"] for row in found["table"]} == {0.1, 0.5, 1.0, "inf"} and "figure" not in found


def test_two_arms_are_the_default_and_no_privacy_is_a_level():
    done = call("--gap", 0.2, "--epsilon", "none", "--simulate", 0)
    assert done.exit_code == 0 and "Which of 2 versions" in done.stdout and "without privacy" in done.stdout
    assert "3. Until it is sure: not simulated" in done.stdout and "Laplace" not in done.stdout
    assert not done.stderr  # nothing is simulated, so there is no progress


def test_one_rate():
    done = call("--arms", 1, "--null", 0.3, "--alternative", 0.7, "--epsilon", 1, "--simulate", 32)
    assert done.exit_code == 0 and max(map(len, done.stdout.splitlines())) <= 80
    assert "1. One release: 44 users" in done.stdout and "\n3." not in done.stdout
    assert "simulating studies: 64/64 trials" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--gap", 5, "--epsilon", 1], "gap 5 must be above 0 and below 1: 0.05 means a lead of 5 percentage points"),
        (["--gap", 0.1, "--epsilon", 0], "epsilon 0 must be above 0 and at most 1e9: give one such as 0.5, or none"),
        (["--gap", 0.1, "--epsilon", "high"], "high is not a number: give one such as 0.5, or none for no privacy"),
        (["--gap", 0.1, "--epsilon", 1, "--delta", 0.6], "delta 0.6 must be above 0 and below 0.5"),
        (["--gap", 0.1, "--epsilon", 1, "--plot", "users.doc"], "a figure is a .png, .pdf or .svg file"),
        (["--gap", 0.1, "--epsilon", 1, "--plot", "nowhere/users.png"], "no such folder: nowhere"),
        (["--gap", 0.1], "Missing option '--epsilon'"),
    ],
)
def test_errors_say_what_to_do(words, message):
    done = call(*words)
    assert done.exit_code == 2 and not done.stdout
    assert message in " ".join(done.stderr.split())


def test_a_figure(tmp_path):
    file = tmp_path / "users.svg"
    done = call("--gap", 0.3, "--epsilon", 1, "--simulate", 4, "--plot", file, "--json")
    assert done.exit_code == 0, done.output
    text = file.read_text(encoding="utf-8")
    assert all(name in text for name in ("2 arms, gap 0.3", "one release", "a few looks, at most", "none", "until it"))
    found = json.loads(done.stdout)["figure"]
    assert {row["design"] for row in found} == {"floor", "one_shot", "sequential", "looks"} and len(found) == 32


def test_a_figure_without_simulation(tmp_path):
    file = tmp_path / "users.png"
    done = call("--gap", 0.3, "--epsilon", 1, "--simulate", 0, "--plot", file)
    assert done.exit_code == 0 and f"wrote {file}" in done.stdout.replace("\n", "")
    assert file.read_bytes().startswith(b"\x89PNG")


def test_a_long_simulation_is_announced(monkeypatch):
    words = "--gap", 0.2, "--epsilon", 1, "--simulate", 20
    assert "note" not in call(*words).stderr
    monkeypatch.setattr("privbandits_cli.cli.plan.LONG", 1000)
    told = " ".join(call(*words).stderr.split())
    assert "note: simulating 20 studies of this length takes minutes: --simulate 2 takes a tenth of that" in told
