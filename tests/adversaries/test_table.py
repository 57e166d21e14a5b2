"""The adversary `table`: a table with classes becomes a contextual game."""

import math
from pathlib import Path

import numpy as np
import pytest

from privbandits_cli.adversaries import table
from privbandits_cli.analysis.rates import regret_bound
from privbandits_cli.data.files import shipped
from privbandits_cli.data.tables import labelled
from privbandits_cli.experiment.config import ConfigError, load
from privbandits_cli.games.contextual import Contexts, Setting, play
from privbandits_cli.games.match import Match
from privbandits_cli.games.steps import blocks
from privbandits_cli.numerics.streams import stream
from tests.conftest import foe, make, some
from tests.engine.test_engine import outputs

RNG = np.random.default_rng(2)
CLASSES = RNG.integers(0, 3, 240)
ROWS = np.column_stack([CLASSES + RNG.normal(0, 0.4, 240), 50 + 9 * RNG.standard_normal(240)]).round(3)
CONFIG = """\
experiment: flowers
game: contextual
horizon: 240
arms: 3
dimension: 9
trials: 24
seed: 1
checkpoints: 6
adversary: {name: table, path: flowers.csv, target: kind}
algorithms: [linucb, {name: dp_linucb, epsilon: 1, delta: 0.01}]
"""


@pytest.fixture(autouse=True)
def desk(tmp_path, monkeypatch):
    """A working directory with a table of 240 rows, two features and three classes, and with its config."""
    monkeypatch.chdir(tmp_path)
    lines = [f"{x},{y},{'abc'[c]}" for (x, y), c in zip(ROWS.tolist(), CLASSES, strict=True)]
    Path("flowers.csv").write_text("\n".join(["length,weight,kind", *lines]) + "\n")
    Path("flowers.yaml").write_text(CONFIG)


def setting(horizon=240, k=3, d=9):
    return Setting(horizon, k, contexts=Contexts(d))


def ready(**parameters):
    adversary = table.Parameters(**({"path": "flowers.csv", "target": "kind"} | parameters))
    assert not list(adversary.errors(setting()))
    return adversary.tuned(setting())


def rounds_of(adversary, horizon=240, size=240, trial=0):
    """Arms `[rounds, d, k]` and means `[rounds, k]`."""
    rng = stream(1, "contexts", adversary.name, trial=trial)
    known = adversary.revealed(setting(horizon))
    parts = [(x.copy(), m.copy()) for x, m in adversary.arms(known, rng, blocks(horizon, size))]
    return tuple(np.concatenate(part) for part in zip(*parts, strict=True))


def by_hand():
    """The arms and means of the rows in the order of the file."""
    unit = (ROWS - ROWS.min(0)) / (ROWS.max(0) - ROWS.min(0))
    z = np.column_stack([np.ones(240), unit / np.linalg.norm(unit, axis=1).max()]) / math.sqrt(2)
    return np.einsum("ti,ab->taib", z, np.eye(3)).reshape(240, 9, 3), np.eye(3)[CLASSES]


def test_arms_are_classes_and_the_right_one_pays():
    arms, means = rounds_of(ready(order="file"))
    expected = by_hand()
    np.testing.assert_allclose(arms, expected[0], rtol=1e-14)
    np.testing.assert_array_equal(means, expected[1])
    norms = np.linalg.norm(arms, axis=1)
    assert norms.max() == pytest.approx(1) and norms.min() >= math.sqrt(0.5) * (1 - 1e-15)


@pytest.mark.parametrize("order", ["file", "shuffled"])
@pytest.mark.parametrize("size", [1, 7, 239, 500])
def test_rounds_do_not_depend_on_where_blocks_end(order, size):
    adversary = ready(order=order, repeat=True)
    for one, two in zip(rounds_of(adversary, 500, 500), rounds_of(adversary, 500, size), strict=True):
        np.testing.assert_array_equal(one, two)


def test_each_trial_plays_every_row_in_another_order():
    whole, _ = rounds_of(ready(order="file"))
    one, two = (rounds_of(ready(), trial=trial)[0] for trial in range(2))
    for arms in (one, two):
        assert sorted(arms[:, :3, 0].tolist()) == sorted(whole[:, :3, 0].tolist())
    assert (one != two).any() and (one != whole).any()


def test_the_theta_of_the_declared_norm_gives_every_arm_the_mean_1():
    known = ready().revealed(setting()).known()
    theta = np.tile([math.sqrt(2), 0, 0], 3)
    arms, _ = rounds_of(ready())
    np.testing.assert_allclose(np.einsum("tdk,d->tk", arms, theta), 1)
    assert known.theta_norm == pytest.approx(np.linalg.norm(theta)) and known.norm == 1
    assert (known.sigma, known.reward) == (0.5, 1.0)


def linucb_mistakes(arms, means):
    """LinUCB's wrong classes so far `[rounds]`, by direct solves."""
    v, u, wrong, horizon = np.eye(9), np.zeros(9), [], len(arms)
    for x, mean in zip(arms, means, strict=True):
        inverse = np.linalg.inv(v)
        beta = 0.5 * math.sqrt(2 * math.log(2 * horizon) + np.linalg.slogdet(v)[1]) + math.sqrt(6)
        scores = x.T @ inverse @ u + beta * np.sqrt(np.einsum("ik,ij,jk->k", x, inverse, x))
        arm = int(np.argmax(scores.round(9)))
        v += np.outer(x[:, arm], x[:, arm])
        u += x[:, arm] * mean[arm]
        wrong.append(1 - mean[arm])
    return np.cumsum(wrong)


@pytest.mark.usefixtures("either")
def test_the_regret_is_the_number_of_wrong_classes():
    adversary, known = ready(), ready().revealed(setting())
    match = Match(adversary, [make("linucb").tuned(known)], known, np.arange(1, 241), 5)
    rng = stream(5, "contexts", adversary.name, trial=1)
    arms, means = (part.copy() for part in next(adversary.arms(known, rng, [range(1, 241)])))
    found = play(match, [1])[0, 0]
    np.testing.assert_array_equal(found, linucb_mistakes(arms, means))
    assert 20 < found[-1] < 140  # a third would be right by chance: 160


def test_the_place_of_the_file_does_not_count_but_its_content_does(tmp_path):
    Path("elsewhere.csv").write_text(Path("flowers.csv").read_text())
    assert (
        ready().identity()
        == ready(path="elsewhere.csv").identity()
        == ready(path=str(tmp_path / "flowers.csv")).identity()
    )
    text = Path("flowers.csv").read_text()
    before = ready()
    Path("flowers.csv").write_text(text.replace("0.", "1.", 1))
    assert ready().identity() != before.identity()
    with pytest.raises(ValueError, match="changed since the run began"):
        rounds_of(before)


def test_the_file_is_found_from_another_folder(tmp_path, monkeypatch):
    adversary = ready()
    whole = rounds_of(adversary)[0]
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    np.testing.assert_array_equal(rounds_of(adversary)[0], whole)


def test_the_target_has_one_name():
    assert ready(target=3).identity() == ready(target="kind").identity()


def test_columns_of_features_are_chosen():
    adversary = table.Parameters(path="flowers.csv", target="kind", features=["weight"])
    assert not list(adversary.errors(setting(d=6))) and adversary.read("flowers.csv").names == ("weight",)
    assert adversary.identity() != ready().identity()


@pytest.mark.usefixtures("either")
def test_a_game_of_several_passes():
    adversary = ready(repeat=True)
    known = adversary.revealed(setting(600))
    match = Match(adversary, [make("linucb").tuned(known)], known, np.array([240, 480, 600]), 5)
    one, two, last = play(match, [0])[0, 0]
    assert one > two - one > last - two > 0  # it learns: each pass has fewer wrong classes


WRONG = {
    "set `arms: 3` and `dimension: 9`, which is 3 x (1 + 2)": [("dimension: 9", "dimension: 8")],
    "flowers.csv has 3 classes and 2 features": [("arms: 3", "arms: 4")],
    "no column is called 'sort'": [("kind", "sort")],
    "240 rows for 300 rounds: set `horizon: 240`, or `repeat: true`": [("horizon: 240", "horizon: 300")],
    "cannot be read: No such file or directory": [("flowers.csv", "none.csv")],
    "is not the file that was played": [("target: kind", "target: kind, sha256: abc")],
}


@pytest.mark.parametrize("message", WRONG)
def test_a_config_that_does_not_fit_is_refused(message):
    text = CONFIG
    for old, new in WRONG[message]:
        text = text.replace(old, new)
    Path("wrong.yaml").write_text(text)
    with pytest.raises(ConfigError) as error:
        load(Path("wrong.yaml"))
    (found,) = error.value.errors
    assert message in found and found.startswith("wrong.yaml:9:")


@pytest.mark.usefixtures("one_format")
@pytest.mark.parametrize("learners", some(["linucb", "linucb, {name: dp_linucb, epsilon: 1, delta: 0.01}"], "linucb"))
@pytest.mark.parametrize("engine", some(["threads", "processes"], "threads"))
def test_a_run_is_the_same_whatever_the_jobs_and_engine(engine, learners):
    what = Path("flowers.yaml"), f"algorithms=[{learners}]"
    one = outputs(Path("one"), *what)[2]
    assert outputs(Path("two"), *what, jobs=2, engine=engine)[2] == one


def test_no_theorem_bounds_the_regret():
    """The bound of DP-LinUCB is about rewards that are linear."""
    known = ready().revealed(setting())
    private = make("dp_linucb", epsilon=1.0, delta=0.01).tuned(known)
    rounds = np.array([100.0])
    assert regret_bound(private, ready(), known, rounds) is None
    assert regret_bound(private, foe("sphere_arms"), known, rounds) is not None


SHIPPED = {"breast_cancer": (569, 30, 2), "digits": (1797, 64, 10), "iris": (150, 4, 3), "wine": (178, 13, 3)}


@pytest.mark.parametrize("name", SHIPPED)
def test_tables_of_the_package_are_those_of_scikit_learn(name):
    n, p, k = SHIPPED[name]
    adversary = table.Parameters(path=name, target="class")
    assert not list(adversary.errors(setting(n, k, k * (p + 1)))) and adversary.reads() == ()
    found = labelled(adversary.file, "class")
    assert found.rows.shape == (n, p) and len(found.classes) == k and set(found.labels) == set(range(k))
    datasets = pytest.importorskip("sklearn.datasets")
    known = getattr(datasets, f"load_{name}")()
    assert np.array_equal(found.rows, known.data) and list(found.names) == list(map(str, known.feature_names))
    assert [found.classes[i] for i in found.labels] == [str(known.target_names[i]) for i in known.target]


@pytest.fixture
def iris():
    """The path of a config that plays a table of the package."""
    text = CONFIG.replace("flowers.csv", "iris").replace("kind", "class").replace("240", "150").replace("9", "15")
    Path("iris.yaml").write_text(text)
    return Path("iris.yaml")


def test_a_table_of_the_package_needs_no_file_and_no_other_is_known(iris):
    assert shipped() == tuple(SHIPPED)
    assert not load(iris).needs_files and load(Path("flowers.yaml")).needs_files
    with pytest.raises(ConfigError, match="roses: cannot be read: No such file"):
        load(iris, ["adversary.path=roses"])


@pytest.mark.slow
def test_a_table_of_the_package_is_found_from_any_folder(iris, tmp_path, monkeypatch):
    first = outputs(tmp_path / "a", iris, jobs=1)[2]
    monkeypatch.chdir(tmp_path / "a")
    assert first == outputs(tmp_path / "b", tmp_path / "iris.yaml", jobs=2)[2]
