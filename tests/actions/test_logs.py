"""What a policy would have earned on a log: the command, the function, simulated logs, and what is refused."""

import json
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow
import pytest

from privbandits_cli import evaluate, load, run, simulate_log
from privbandits_cli.figures import table
from privbandits_cli.numerics.jit import without_jit
from tests import cli
from tests.conftest import some, table_of

GAME = """\
experiment: game
game: contextual
horizon: 3000
arms: 3
dimension: 4
trials: 2
seed: 1
adversary: {name: sphere_arms}
algorithms: [linucb]
summary: {centre: mean}
"""
POLICY = """\
import numpy as np


def probabilities(features, actions):
    high = features["age"] > 0.5
    return np.column_stack([high, ~high])
"""
ROWS = [(0.1, "no", 1, 0.5), (0.9, "yes", 0, 0.25), (0.7, "yes", 1, 0.5), (0.3, "no", 0, 0.8), (0.6, "no", 1, 0.4)]


@pytest.fixture(autouse=True)
def desk(tmp_path, monkeypatch):
    """A working directory with a log of 200 rows, a policy and a game."""
    monkeypatch.chdir(tmp_path)
    lines = [f"{age + i / 1000!r},{action},{reward},{p}" for i in range(40) for age, action, reward, p in ROWS]
    Path("log.csv").write_text("\n".join(["age,action,reward,propensity", *lines]) + "\n")
    Path("mine.py").write_text(POLICY)
    Path("game.yaml").write_text(GAME)


def call(*words):
    return cli.call("evaluate", *words)


def by_hand(rows):
    """IPS and SNIPS of the policy of mine.py, straight from the file."""
    weights, rewards = [], []
    for row in rows:
        takes = "no" if float(row["age"]) > 0.5 else "yes"
        weights.append((row["action"] == takes) / float(row["propensity"]))
        rewards.append(float(row["reward"]))
    earned = [w * r for w, r in zip(weights, rewards, strict=True)]
    return sum(earned) / len(rows), sum(earned) / sum(weights), sum(weights) ** 2 / sum(w * w for w in weights)


def test_the_command_prints_and_writes_what_is_right_by_hand():
    Path("found.csv").write_text("old\n")
    Path("link.csv").symlink_to("found.csv")
    done = call("log.csv", "--policy", "mine.py", "--csv", "link.csv")
    assert Path("link.csv").is_symlink()
    assert done.exit_code == 0 and max(map(len, done.stdout.splitlines())) <= 80
    found = {row["estimator"]: row for row in table_of(Path("found.csv"))}
    value, snips, effective = by_hand(table_of(Path("log.csv")))
    assert float(found["ips"]["value"]) == pytest.approx(value)
    assert float(found["snips"]["value"]) == pytest.approx(snips)
    assert float(found["ips"]["effective"]) == pytest.approx(effective)
    assert float(found["logged"]["value"]) == pytest.approx(0.6)
    assert list(found) == ["logged", "ips", "snips", "direct", "doubly_robust"]
    assert f"{snips:.4f}" in done.stdout and "200 rows, 2 actions" in done.stdout and "wrote link.csv" in done.stdout
    data = json.loads(call("log.csv", "--policy", "mine.py", "--json").stdout)
    assert data["estimates"][1]["value"] == pytest.approx(value) and data["actions"] == ["no", "yes"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "name one of them as `action`"),
        (["--action", "y"], "name one of them as `propensity`"),
        (["--action", "z"], "no column is called 'z': the action is one of x, y, click"),
    ],
)
def test_the_command_names_its_options(words, said):
    Path("odd.csv").write_text("x,y,click\n0.1,a,1\n0.2,b,0\n")
    assert said in call("odd.csv", "--policy", "uniform", *words).stderr


def test_policies_by_name_are_those_of_a_function():
    n = 200
    for name, probabilities in (("uniform", [0.5, 0.5]), ("always:yes", [0, 1])):
        given = np.tile(np.array(probabilities, float), (n, 1))
        with warnings.catch_warnings(action="ignore"):  # what they say is tested below
            one, other, third = (evaluate("log.csv", p) for p in (name, given, lambda features, actions, p=given: p))
        assert list(one) == list(other) == list(third)


FRAME = pd.DataFrame({"no": np.linspace(0, 1, 200), "yes": 1 - np.linspace(0, 1, 200)})


@pytest.mark.parametrize("what", ["policy", "predictions"])
@pytest.mark.parametrize("kind", ["pandas", "arrow", "function", "numbers"])
def test_the_columns_of_a_data_frame_are_known_by_their_names(what, kind):
    path, names = "log.csv", FRAME.columns
    if kind == "numbers":  # actions that are numbers: 1 or 1.0 or "1"
        path, names = "coded.csv", [1, 2.0]
        Path(path).write_text(Path("log.csv").read_text().replace("no", "1").replace("yes", "2"))
    frames = [FRAME.set_axis(names, axis=1), FRAME.set_axis(names, axis=1).iloc[:, ::-1]]
    if kind == "arrow":
        frames = [pyarrow.Table.from_pandas(frame) for frame in frames]
    given = [(lambda features, actions, frame=frame: frame) if kind == "function" else frame for frame in frames]
    if what == "predictions" and kind == "function":
        return
    words = {"policy": "uniform", "predictions": None}
    with warnings.catch_warnings(action="ignore"):
        one, two, right = (list(evaluate(path, **(words | {what: it}))) for it in (*given, FRAME.to_numpy()))
        wrong = list(evaluate(path, **(words | {what: FRAME.to_numpy()[:, ::-1]})))
    assert one == two == right != wrong


@pytest.mark.parametrize("what", ["policy", "predictions"])
@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (
            FRAME.rename(columns={"no": "non"}),
            "a column is needed for each action, no, yes, but the columns are non, yes",
        ),
        (FRAME.set_axis(["no", "no"], axis=1), "a column is needed for each action"),
        (FRAME.assign(maybe=0.0), "but the columns are no, yes, maybe"),
        (FRAME.set_axis([0, 1], axis=1), "but the columns are 0, 1"),
        (FRAME.sample(frac=1, random_state=1), "the index is not 0, 1, ..., 199, as the rows of the log are counted"),
        (FRAME.set_axis(range(1, 201)), "`reset_index(drop=True)` if its rows have the order of the log"),
        (FRAME.set_axis([f"r{i}" for i in range(200)]), "the index is not 0, 1"),
        (FRAME[:150], "shape (150, 2)"),
        (FRAME.astype(object).mask(FRAME > 0.9, "much"), "numbers are needed, 200 rows of 2"),
        ({"no": 1, "yes": 0}, "numbers are needed, 200 rows of 2, but this is a dict"),
    ],
)
def test_a_data_frame_that_does_not_fit_is_refused(what, frame, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        evaluate("log.csv", **({"policy": "uniform"} | {what: frame}))


def test_a_policy_may_be_a_file_and_a_log_may_not_be_a_frame():
    with warnings.catch_warnings(action="ignore"):
        one, two = (list(evaluate("log.csv", path)) for path in ("mine.py", Path("mine.py")))
    assert one == two and one[1]["value"] == pytest.approx(by_hand(table_of(Path("log.csv")))[0])
    with pytest.raises(
        ValueError, match=r"log: the path of a file is needed, but this is a DataFrame: write it to one"
    ):
        evaluate(pd.read_csv("log.csv"), "uniform")


def test_features_are_chosen():
    log = pd.read_csv("log.csv")
    log["day"] = pd.date_range("2026-01-01", periods=200)
    log["user"] = [f"u{i % 150}" for i in range(200)]
    log.to_csv("wide.csv")
    refused = call("wide.csv", "--policy", "mine.py")
    assert refused.exit_code == 2 and "`features: [...]`" in refused.stderr
    done = call("wide.csv", "--policy", "mine.py", "--features", "age")
    assert done.exit_code == 0 and done.stdout == call("log.csv", "--policy", "mine.py").stdout
    wrong = call("wide.csv", "--policy", "mine.py", "--features", "age, years")
    assert wrong.exit_code == 2 and "no column of features is called 'years'" in wrong.stderr
    with warnings.catch_warnings(action="ignore"):
        few, whole = evaluate("wide.csv", "mine.py", features=["age"]), evaluate("log.csv", "mine.py")
    assert [row["value"] for row in few] == pytest.approx([row["value"] for row in whole], rel=1e-12)


def test_a_log_without_features_is_evaluated_without_a_model():
    pd.read_csv("log.csv").drop(columns="age").to_csv("plain.csv", index=False)
    done = call("plain.csv", "--policy", "always:yes")
    assert done.exit_code == 0 and "No direct method estimate: the log has no features" in done.stdout
    assert done.stdout.splitlines()[:4] == call("log.csv", "--policy", "always:yes").stdout.splitlines()[:4]
    assert call("log.csv", "--policy", "always:yes", "--features", "").stdout == done.stdout
    with warnings.catch_warnings(action="ignore"):
        own = {row["estimator"]: row for row in evaluate("plain.csv", "always:yes", predictions=np.full((200, 2), 0.5))}
    assert own["doubly_robust"]["value"] > 0


def test_rewards_that_were_never_seen_are_told():
    rows = [f"{i / 300},{'ab'[i % 2]},0,0.5" for i in range(300)]
    Path("none.csv").write_text("\n".join(["x,action,reward,propensity", *rows]))
    with pytest.warns(match="A standard error rests on 0 of 300 rows: .* if no weight can exceed 2"):
        found = {row["estimator"]: row for row in evaluate("none.csv", "always:a")}
    assert found["logged"]["high"] == pytest.approx(1 - 0.025 ** (1 / 300))
    assert all(row["low"] == 0 and 0.02 < row["high"] < 0.03 for name, row in found.items() if name != "logged")


@pytest.mark.parametrize(("k", "chance"), [(3, 0.333), (6, 0.17), (6, 0.1667), (3, float(np.float32(1 / 3)))])
def test_rounded_propensities_are_no_wrong_ones(k, chance):
    rows = [f"{i / 7:.3f},{i % k},{i // 6 % 2},{chance!r}" for i in range(600)]
    Path("rounded.csv").write_text("\n".join(["x,action,reward,propensity", *rows]))
    assert "chance hardly explains" not in " ".join(call("rounded.csv", "--policy", "uniform").stdout.split())
    Path("wrong.csv").write_text(Path("rounded.csv").read_text().replace(f"{chance!r}", f"{0.9 * chance:.3f}"))
    assert "chance hardly explains" in " ".join(call("wrong.csv", "--policy", "uniform").stdout.split())


@pytest.mark.filterwarnings("ignore::UserWarning")  # of few rows
def test_an_action_that_is_a_number_may_be_written_otherwise():
    """The column 1 of a data frame is the action 1.0. A text must be a name: "1" and "1.0" are two actions."""
    frame = pd.DataFrame({"action": [0.0, 1.0] * 50, "reward": [0, 1, 1, 1] * 25, "propensity": 0.5})
    frame.to_csv("floats.csv", index=False)
    for policy in ("always:1.0", pd.DataFrame({1: np.ones(100), 0: np.zeros(100)})):
        (ips,) = [row for row in evaluate("floats.csv", policy) if row["estimator"] == "ips"]
        assert ips["value"] == pytest.approx(1.0)
    for written in ("1", "1.00"):
        assert "did you mean '1.0'?" in call("floats.csv", "--policy", f"always:{written}").stderr
    assert "the action '1.5' (known: 0.0, 1.0)" in call("floats.csv", "--policy", "always:1.5").stderr
    frame["action"] = ["1", "1.0"] * 50
    frame.to_parquet("texts.parquet")
    for written, value in (("1", 0.5), ("1.0", 1.0)):
        (ips,) = [row for row in evaluate("texts.parquet", f"always:{written}") if row["estimator"] == "ips"]
        assert ips["value"] == pytest.approx(value)
    either = call("texts.parquet", "--policy", "always:1.00")
    assert either.exit_code == 2 and "no row of the log has the action '1.00'" in either.stderr
    columns = pd.DataFrame({"1.0": np.zeros(100), "1": np.ones(100)})
    (ips,) = [row for row in evaluate("texts.parquet", columns) if row["estimator"] == "ips"]
    assert ips["value"] == pytest.approx(0.5)


def test_columns_are_named():
    text = Path("log.csv").read_text().replace("age,action,reward,propensity", "age,advert,bought,chance")
    Path("own.csv").write_text(text)
    named = {"action": "advert", "reward": "bought", "propensity": "chance"}
    words = [word for name, column in named.items() for word in (f"--{name}", column)]
    assert "call it" not in call("own.csv", "--policy", "mine.py", *words).stderr
    assert call("own.csv", "--policy", "mine.py", *words).stdout == call("log.csv", "--policy", "mine.py").stdout
    refused = call("own.csv", "--policy", "mine.py")
    assert refused.exit_code == 2 and "name one of them as `action`" in refused.stderr


@pytest.mark.parametrize(
    ("policy", "text", "message"),
    [
        ("always:maybe", "", "no row of the log has the action 'maybe'"),
        ("always:", "", "a policy is `uniform`, `always:ACTION` or a FILE.py"),
        ("greedy", "", "greedy: a policy is `uniform`"),
        ("mine.npy", "", "a FILE.py, which may load its numbers"),
        (
            "own.py",
            "import os\ndef probabilities(features, actions): return os.listdir('log.csv')",
            "own.py:2: NotADirectoryError: [Errno 20] Not a directory: 'log.csv'",
        ),
        (
            "own.py",
            "import numpy\ndef probabilities(features, actions): return numpy.array([{}, {}])",
            "policy: numbers are needed, 200 rows of 2, but this is a ndarray of object values",
        ),
        ("none.py", None, "none.py: cannot be read: No such file"),
        ("own.py", "x = 1", "own.py: a policy needs a function `probabilities(features, actions)`"),
        ("own.py", "def probabilities(x): return x", "own.py:1: `probabilities` should take (features, actions)"),
        (
            "own.py",
            "def probabilities(features, actions):\n    return features['size']",
            "own.py:2: KeyError: 'no feature is called size (known: age)'",
        ),
        (
            "own.py",
            "def probabilities(features, actions): return 'all'",
            "policy: numbers are needed, 200 rows of 2, but this is a str",
        ),
        ("own.py", "def probabilities(features, actions): return features['age']", "the policy has shape (200,)"),
        (
            "own.py",
            "import numpy\ndef probabilities(features, actions): return numpy.full((200, 2), 0.4)",
            "row 1: the policy's probabilities add up to 0.8, not to 1",
        ),
    ],
)
def test_wrong_policies_are_refused(policy, text, message):
    if text:
        Path(policy).write_text(text + "\n")
    done = call("log.csv", "--policy", policy)
    assert done.exit_code == 2 and message in done.stderr and "Traceback" not in done.stderr, done.stderr
    assert not done.stdout


def test_an_estimator_without_enough_rows_gives_its_reason():
    lines = Path("log.csv").read_text().splitlines()
    Path("few.csv").write_text("\n".join([*lines[:2], *lines[3:4]]) + "\n")  # each action once
    done = call("few.csv", "--policy", "uniform")
    printed = " ".join(done.stdout.split())
    assert done.exit_code == 0 and "IPS" in printed
    assert "No direct method estimate: action no (which the policy plays) has 1 row: too few" in printed


def test_an_interval_beyond_the_rewards_is_told():
    rows = [f"{i / 9:.3f},a,{int(i > 3)},0.9" for i in range(54)] + [f"{i / 9:.3f},b,1,0.1" for i in range(3)]
    Path("wide.csv").write_text("\n".join(["x,action,reward,propensity", *rows]))
    told = "An interval goes beyond 0 or 1"
    assert told in call("wide.csv", "--policy", "always:b").stdout
    rows = [f"{i / 9:.3f},{'ab'[i % 2]},{i // 2 % 2},0.5" for i in range(400)]
    Path("even.csv").write_text("\n".join(["x,action,reward,propensity", *rows]))
    assert told not in call("even.csv", "--policy", "always:b").stdout


def test_cautions_name_what_is_wrong_and_only_that():
    rng = np.random.default_rng(4)
    n = 4000
    x, actions = rng.random(n), rng.integers(0, 2, n)
    head = "x,action,reward,propensity"

    def written(name, propensity):
        rows = zip(x.tolist(), actions, (rng.random(n) < x).astype(int), [propensity] * n, strict=True)
        Path(name).write_text("\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n")

    written("right.csv", 0.5)
    written("wrong.csv", 0.4)
    assert "chance hardly explains" not in call("right.csv", "--policy", "uniform").stdout
    assert "chance hardly explains" in " ".join(call("wrong.csv", "--policy", "uniform").stdout.split())
    with pytest.warns(match="The mean of the weights is"), pytest.warns(match="effective rows of 4,000"):
        evaluate("right.csv", np.eye(2)[(actions + (x < 0.99)) % 2])  # another action than the logged one, but for 1 %


@pytest.mark.filterwarnings("ignore::UserWarning")  # of predictions that never change
@pytest.mark.parametrize("adversary", some(["sphere_arms", "table, path: digits, target: class"], "sphere_arms"))
def test_simulated_logs_are_estimated_right(adversary):
    """The estimates of three policies are within 4 standard errors of the truth, which is known."""
    text = GAME.replace("sphere_arms", adversary)
    rows = 3000
    if "digits" in adversary:
        text = text.replace("3000", "1797").replace("arms: 3", "arms: 10").replace("dimension: 4", "dimension: 650")
        rows = 1797
    Path("game.yaml").write_text(text)
    means, logging = simulate_log("game.yaml", "made.csv", rows)
    n, k = means.shape
    assert n == rows and means.min() >= 0 and means.max() <= 1 and np.allclose(logging.sum(axis=1), 1)
    better = np.eye(k)[means.argmax(axis=1)] * 0.5 + 0.5 / k
    for policy in (np.full((n, k), 1 / k), np.tile(np.eye(k)[1], (n, 1)), better):
        truth = (policy * means).sum(axis=1).mean()
        found = {row["estimator"]: row for row in evaluate("made.csv", policy, predictions=np.full((n, k), 0.5))}
        for name in ("ips", "snips", "doubly_robust"):
            assert abs(found[name]["value"] - truth) < 4 * found[name]["error"], (name, truth)
        wrong = (policy * means[:, ::-1]).sum(axis=1).mean()
        if policy is better:  # a truth with the actions exchanged is refuted
            assert abs(found["snips"]["value"] - wrong) > 4 * found["snips"]["error"]


def test_features_of_a_simulated_log_are_the_table_once():
    Path("game.yaml").write_text(
        GAME.replace("sphere_arms", "table, path: iris, target: class, order: file")
        .replace("horizon: 3000", "horizon: 150")
        .replace("dimension: 4", "dimension: 15")
    )
    simulate_log("game.yaml", "made.csv", 150)
    head = Path("made.csv").read_text().splitlines()[0]
    assert head == "x1,x2,x3,x4,action,reward,propensity"
    first = Path("made.csv").read_bytes()
    simulate_log("game.yaml", "made.csv", 150)
    assert Path("made.csv").read_bytes() == first


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("sphere_arms", "sphere_arms, rewards: gaussian", "the rewards of a log lie in"),
        ("sphere_arms", "sphere_arms, gap: [0.1, 0.2]", "one adversary"),
        ("horizon: 3000", "horizon: 20", "30 rows of 20 rounds"),
        ("game: contextual", "game: bandit", "a contextual game"),
        ("sphere_arms", "sphere_arms, drawn: on_demand", "no arms that a log could hold"),
    ],
)
def test_games_that_make_no_log_are_refused(old, new, message):
    text = GAME.replace(old, new)
    if "bandit" in new:
        text = text.replace("dimension: 4\n", "").replace("sphere_arms", "stochastic").replace("linucb", "exp3")
    Path("game.yaml").write_text(text)
    with pytest.raises(ValueError, match=message):
        simulate_log("game.yaml", "made.csv", 30)
    assert not Path("made.csv").exists()


def test_files_that_would_be_lost_or_cannot_be_written_are_refused():
    before = Path("log.csv").read_bytes()
    Path("link.csv").symlink_to("log.csv")
    for out, message in (
        ("log.csv", "log.csv: this is the log: give --csv another file"),
        ("link.csv", "link.csv: this is the log"),
        (".", ".: this is a folder"),
        ("none/x.csv", "none/x.csv: no such folder: none"),
    ):
        done = call("log.csv", "--policy", "uniform", "--csv", out)
        assert done.exit_code == 2 and message in done.stderr and not done.stdout, done.stderr
    assert Path("log.csv").read_bytes() == before
    gone = call("gone.csv", "--policy", "uniform")
    assert gone.exit_code == 2 and gone.stderr.strip() == "gone.csv: no such file"
    assert "no row of the log has the action 'x.py'" in call("log.csv", "--policy", "always:x.py").stderr


def test_a_policy_that_was_never_tried_has_only_the_models_word():
    rows = [f"{i / 40!r},{('no', 'yes')[i % 2]},{i % 3 == 0:d},0.5" for i in range(40)]
    Path("never.csv").write_text("\n".join(["age,action,reward,propensity", *rows]) + "\n")
    other = np.eye(2)[1 - np.arange(40) % 2]
    with pytest.warns(match="The direct method alone"), pytest.warns(match="2 coefficients for action no with 20 rows"):
        found = {row["estimator"]: row for row in evaluate("never.csv", other)}
    assert found["ips"]["reason"] and found["direct"]["value"] and found["doubly_robust"]["reason"]


@pytest.mark.parametrize("adversary", ["fixed_arms", "basis_arms"])
def test_arms_that_never_change_make_no_log(adversary):
    Path("game.yaml").write_text(GAME.replace("sphere_arms", adversary).replace("dimension: 4", "dimension: 3"))
    with pytest.raises(ValueError, match="never change: a log needs features"):
        simulate_log("game.yaml", "made.csv", 30)


def test_an_action_that_is_never_logged_is_an_error():
    with pytest.raises(ValueError, match="an action is never logged"):
        simulate_log("game.yaml", "made.csv", 3, temperature=0.01, share=0.0)
    assert not Path("made.csv").exists()


@pytest.mark.parametrize("wrong", [{"temperature": 0.0}, {"share": 1.5}, {"temperature": float("nan")}])
def test_wrong_logging_policies_are_refused(wrong):
    with pytest.raises(ValueError, match="must be above 0, and share"):
        simulate_log("game.yaml", "made.csv", 30, **wrong)


def test_predictions_of_ones_own_are_checked():
    with pytest.warns(match="takes your predictions for right"):
        evaluate("log.csv", "uniform", predictions=np.full((200, 2), 0.5))
    with pytest.raises(ValueError, match="predictions have shape"):
        evaluate("log.csv", "uniform", predictions=np.zeros((3, 2)))


def test_the_regret_on_a_log_is_called_an_estimate(no_figure):
    simulate_log("game.yaml", "made.csv", 3000)
    width = len(Path("made.csv").read_text().splitlines()[0].split(",")) - 3
    text = GAME.replace("sphere_arms", "log, path: made.csv").replace("horizon: 3000", "horizon: 20")
    Path("replay.yaml").write_text(text.replace("dimension: 4", f"dimension: {3 * (width + 1)}"))
    with without_jit():
        done = cli.call("run", "replay.yaml", "--jobs", "1")
    assert done.exit_code == 0 and "regret against log: an estimate, T times the value" in " ".join(done.stdout.split())
    drawn = table.read(Path("results/game"))
    assert any("regret against log: an estimate, T times" in note for note in drawn.notes())
    assert drawn.labels() == ("round", "estimated regret")
    with without_jit():
        plain = table.read(run(load("game.yaml", "horizon=20", "experiment=plain"), jobs=1))
    assert plain.labels() == ("round", "regret") and not any("estimate" in note for note in plain.notes())
