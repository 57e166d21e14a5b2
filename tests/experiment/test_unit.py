"""The key `unit`: errors, the rounds of one person in a file, legends, CSVs and the manifest."""

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from privbandits_cli import guarantee, plan
from privbandits_cli.actions import privacy
from privbandits_cli.adversaries import log, table
from privbandits_cli.cli.app import app
from privbandits_cli.experiment.config import ConfigError, load
from privbandits_cli.experiment.plan import make_plan
from privbandits_cli.experiment.settings import Size
from privbandits_cli.games.contextual import Contexts, Setting
from privbandits_cli.plugins.registry import Registry

CONFIG = """\
experiment: people
horizon: 64
trials: 24
arms: 2
checkpoints: 4
unit: {rounds_per_person: 4}
adversary: {name: bernoulli, means: [0.6, 0.4]}
algorithms:
  - {name: dp_klucb, epsilon: 0.5}
  - {name: ldp_ucb, epsilon: 0.5}
  - ucb1
"""
TABLE = """\
experiment: people
game: contextual
horizon: 6
arms: 2
dimension: 4
trials: 24
unit: {person: who}
adversary: {name: table, path: t.csv, target: kind, features: [x], order: file}
algorithms: {name: dp_linucb, epsilon: 1, delta: 0.01}
"""
WHO = "aabcbbccccbd"  # of rows 1, 2, ...


@pytest.fixture(autouse=True)
def desk(tmp_path, monkeypatch):
    """A working directory with a config and with a table of 12 rows, whose owners are WHO."""
    monkeypatch.chdir(tmp_path)
    Path("x.yaml").write_text(CONFIG)
    rows = [f"{i % 5},{'uv'[i % 2]},{who}" for i, who in enumerate(WHO)]
    Path("t.csv").write_text("\n".join(["x,kind,who", *rows]) + "\n")
    Path("t.yaml").write_text(TABLE)


def errors(text):
    Path("y.yaml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        load(Path("y.yaml"))
    return caught.value.errors


def call(*words):
    done = CliRunner().invoke(app, [*map(str, words)], env={"COLUMNS": "80"})
    assert done.exit_code == 0, done.output
    assert max(map(len, done.stdout.splitlines()), default=0) <= 80 or "--json" in words
    return done.stdout


@pytest.mark.parametrize(
    ("unit", "place", "words"),
    [
        ("{rounds_per_person: 0}", "6:27", "greater than or equal to 1, got 0"),
        ("{rounds_per_person: 1.5}", "6:27", "should be an integer"),
        ("{rounds: 4}", "6:8", "unknown key 'rounds'"),
        ("{}", "6:7", "one of the two"),
        ("{rounds_per_person: 4, person: who}", "6:7", "one of the two"),
        (
            "{person: who}",
            "6:16",
            "the game bandit plays neither a log nor a table: set `unit: {rounds_per_person: m}`",
        ),
    ],
)
def test_each_error_is_reported_at_its_place(unit, place, words):
    (found,) = errors(CONFIG.replace("{rounds_per_person: 4}", unit))
    assert found.startswith(f"y.yaml:{place}: ") and words in found


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("person: who", "person: whom"), "no column is called 'whom': `person` is one of x, kind, who"),
        ((", features: [x]", ""), "column 'who' says whose a row is, and is a feature, too: name the columns"),
        (("features: [x]", "features: [x, who]"), "column 'who' says whose a row is, and is a feature, too"),
        (
            ("{name: table, path: t.csv, target: kind, features: [x], order: file}", "sphere_arms"),
            "sphere_arms plays neither a log nor a table, so no column names people here",
        ),
    ],
)
def test_a_column_of_people_that_cannot_be_is_an_error(change, words):
    text = TABLE.replace(*change)
    every = (
        text if "features: [x]" in text else text.replace("dimension: 4", "dimension: 12")
    )  # who is one of a, b, c, d
    assert any(words in error for error in errors(every))


@pytest.mark.parametrize(
    ("horizon", "given", "most"),
    [
        (6, {"order": "file"}, 3),  # aabcbb
        (12, {"order": "file"}, 5),
        (6, {"order": "shuffled"}, 5),  # as chance may have it
        (4, {"order": "shuffled"}, 4),
        (15, {"order": "file", "repeat": True}, 5),  # all rows, then aab: c 5, b 4 + 1
        (24, {"order": "file", "repeat": True}, 10),
        (15, {"order": "shuffled", "repeat": True}, 10),
    ],
)
def test_the_most_rows_of_one_person_that_are_played(horizon, given, most):
    adversary = table.Parameters(path="t.csv", target="kind", features=["x"], **given)
    assert adversary.rounds_per_person("who", Setting(horizon, 2, contexts=Contexts(4))) == most


def test_the_people_of_a_log():
    rows = [f"{'uv'[i % 2]},1,0.5,{i % 3},{ord(who)}" for i, who in enumerate(WHO)]
    Path("l.csv").write_text("\n".join(["action,reward,propensity,x,who", *rows]) + "\n")
    adversary = log.Parameters(path="l.csv", features=["x"])
    for horizon, most in ((12, 5), (3, 3)):
        assert adversary.rounds_per_person("who", Setting(horizon, 2, contexts=Contexts(4))) == most


def test_a_column_of_people_gives_the_epsilon_of_a_person():
    found, named, one = (
        make_plan(load(Path("t.yaml"), [f"unit={unit}"]))
        for unit in ("{person: who}", "{rounds_per_person: 3}", "null")
    )
    assert [each.setting.rounds_per_person for each in (found.curves[0], named.curves[0], one.curves[0])] == [3, 3, 1]
    assert found.curves[0].promised == named.curves[0].promised != one.curves[0].promised
    assert found.curves[0].key == one.curves[0].key  # what is played is the same


def test_a_person_is_in_no_more_rounds_than_there_are():
    assert load(Path("x.yaml"), ["unit.rounds_per_person=1000"]).settings[0].rounds_per_person == 64


def test_legends_tables_and_the_manifest_say_whose_data(no_figure):
    with_unit, without = (
        make_plan(load(Path("x.yaml"), [f"unit={unit}"])) for unit in ("{rounds_per_person: 4}", "null")
    )
    assert [str(name) for name in with_unit.legends.values()] == [
        "DP-KLUCB (ε = 2, 4 rounds a person)",
        "LDP-UCB (ε = 2, 4 rounds a person)",
        "UCB1",
    ]
    assert list(with_unit.legends) == list(without.legends)
    assert "person" not in " ".join(without.legends.values())
    folders = {"with": Path("with/people"), "without": Path("without/people")}
    for name, more in (("with", []), ("without", ["unit=null"])):
        call("run", "x.yaml", "-q", "-j", 1, "--results", name, *more)
    rows = {name: list(csv.DictReader((folder / "summary.csv").open())) for name, folder in folders.items()}
    assert [row["certified_epsilon"] for row in rows["with"][::4]] == ["2.0", "2.0", ""]
    assert {row["rounds_per_person"] for row in rows["with"]} == {"4"}
    assert "rounds_per_person" not in rows["without"][0]
    assert [row["regret"] for row in rows["with"]] == [row["regret"] for row in rows["without"]]
    units = [
        [
            block["guarantee"] and block["guarantee"]["unit"]
            for block in json.loads((f / "manifest.json").read_text())["privacy"]
        ]
        for f in folders.values()
    ]
    assert units == [["one person, in at most 4 rounds"] * 2 + [None], ["one round"] * 2 + [None]]


def test_the_ledger_of_a_person():
    text = call("privacy", "x.yaml")
    flat = " ".join(text.split())
    assert "unit: one person, in at most 4 rounds" in flat and "unit: one round" not in flat
    assert flat.count("neighbours: the gains of each round of one person replaced;") == 2 and "of one round" not in flat
    assert "4 rounds may move the same numbers" in flat and "composed over 4 rounds" in flat
    assert "- One round by itself: ε = 0.5 (a gain is in one noisy sum)." in flat
    one = call("privacy", "x.yaml", "unit=null")
    assert "person" not in one and "One round by itself" not in one
    (first, second) = (json.loads(call("privacy", "--json", "x.yaml", *more)) for more in ((), ("unit=null",)))
    assert [block["upper"] for block in first[:2]] == [2.0, pytest.approx(1.996, abs=1e-3)]
    assert [block["upper"] for block in second[:2]] == pytest.approx([0.4995] * 2, abs=1e-4)
    assert {bound["unit"] for block in first for bound in block["bounds"]} == {"one person, in at most 4 rounds"}
    assert guarantee(Path("x.yaml")).columns["certified_epsilon"][:2] == [2.0, 2.0]


def test_an_audit_says_that_it_moves_one_round():
    done = CliRunner().invoke(app, ["audit", "x.yaml", "algorithms=[{name: ldp_ucb, epsilon: 0.5}]"])
    said = "a person is in up to 4: it tests the guarantee of one round, not of a person"
    assert done.exit_code == 0 and said in " ".join(done.stderr.split())
    assert "ε = 0.5" in done.stdout
    done = CliRunner().invoke(app, ["audit", "x.yaml", "algorithms=[{name: ldp_ucb, epsilon: 0.5}]", "unit=null"])
    assert done.exit_code == 0 and "person" not in done.stderr


TUNED = [("dp_se", 0.25), ("adac_ucb", None), ("ldp_ucb", 0.25), ("dp_ftrl", None), ("dp_linucb", None)]


@pytest.mark.parametrize(("name", "own"), TUNED)
def test_tune_reaches_the_epsilon_of_a_person_and_wastes_little(name, own):
    size = Size(2**12, 4, None, 3 if name == "dp_linucb" else None)
    for row in privacy.tune(Registry(), name, None, 1.0, 1e-6, size, 4):
        if row["choice"] != "paper":
            assert 0.99 < row["epsilon"] <= 1 + 1e-9
            assert name == "adac_ucb" or 0.1 < row["parameters"]["epsilon"] < 0.5
    if own:
        assert privacy.tune(Registry(), name, None, 1.0, 1e-6, size, 4)[0]["parameters"]["epsilon"] == own


def test_what_tune_finds_is_what_the_ledger_says():
    (row,) = json.loads(call("tune", "dp_se", "--epsilon", 2, "--rounds-per-person", 4, "--json"))
    assert (row["epsilon"], row["parameters"]["epsilon"]) == (2.0, 0.5)
    done = CliRunner().invoke(app, ["tune", "uniform", "--epsilon", "1", "--rounds-per-person", "0"])
    assert done.exit_code == 2


def test_nobody_is_in_more_rounds_than_there_are():
    (one, *_), (other, *_) = (privacy.tune(Registry(), "dp_se", None, 1.0, 1e-6, Size(40, 4), m) for m in (40, 4000))
    assert one == other and one["parameters"]["epsilon"] == 0.025


def test_tune_says_that_no_parameters_are_known(monkeypatch):
    monkeypatch.setattr(privacy, "for_a_person", lambda *given: None)
    with pytest.raises(ValueError, match="no ε of dp_se is known that gives a person of 4 rounds ε = 1"):
        privacy.tune(Registry(), "dp_se", None, 1.0, 1e-6, Size(2**12, 4), 4)


def test_a_plan_for_people_has_the_noise_of_a_smaller_epsilon_and_the_same_floor():
    own, other = (
        {row["design"]: row for row in plan(3, 0.1, epsilon, simulate=0, rounds_per_person=rounds)}
        for epsilon, rounds in ((0.5, 4), (0.125, 1))
    )
    for design in ("one_shot", "looks"):
        assert own[design]["users"] == other[design]["users"]
    once = {row["design"]: row for row in plan(3, 0.1, 0.5, simulate=0)}
    assert own["floor"]["users"] == once["floor"]["users"] and own["one_shot"]["users"] > once["one_shot"]["users"]
    text = " ".join(
        call("plan", "--arms", 3, "--gap", 0.1, "--epsilon", 0.5, "--simulate", 0, "--rounds-per-person", 4).split()
    )
    assert "One person is in up to 4 rounds, and every user below is one round." in text
    assert "Laplace noise of scale 4/ε = 8" in text and "r ε" not in text
    assert (
        plan(1, None, 1.0, 0.05, 0.5, 0.1, 0.2, 0, 0, 3)[1]["users"]
        > plan(1, None, 1.0, null=0.1, alternative=0.2, simulate=0)[1]["users"]
    )
    with pytest.raises(ValueError, match="rounds_per_person 0 must be 1 or more"):
        plan(3, 0.1, 0.5, rounds_per_person=0)
