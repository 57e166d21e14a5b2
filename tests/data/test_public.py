"""Public data sets as they are downloaded: Open Bandit, MovieLens, OpenML."""

import hashlib
import math
from pathlib import Path

import numpy as np
import pytest

from privbandits_cli.adversaries import ratings
from privbandits_cli.data.logs import logged
from privbandits_cli.data.tables import labelled
from privbandits_cli.games.bandit import Setting
from privbandits_cli.numerics.streams import stream
from tests.cli import call

RNG = np.random.default_rng(5)
FILMS = {50: [4, 5, 3, 4, 5, 1], 7: [2, 3, 2.5], 9: [5, 1, 4], 1: [0.5]}  # ratings of each film
ROWS = [(user, film, rating) for film, own in FILMS.items() for user, rating in enumerate(own, 1)]


@pytest.fixture(autouse=True)
def desk(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def films(name="ratings.csv"):
    """The ratings as MovieLens writes them, in another order."""
    mark = {"u.data": "\t", "ratings.dat": "::"}.get(name, ",")
    lines = [mark.join(map(str, [*ROWS[i], 964982703])) for i in RNG.permutation(len(ROWS))]
    Path(name).write_text("\n".join(["userId,movieId,rating,timestamp"] * (mark == ",") + lines) + "\n")
    return name


def ready(k, **parameters):
    adversary = ratings.Parameters(**parameters)
    assert not list(adversary.errors(Setting(100, k)))
    return adversary.tuned(Setting(100, k))


@pytest.mark.parametrize("name", ["ratings.csv", "u.data", "ratings.dat"])
def test_arms_are_the_films_with_the_most_ratings(name):
    adversary = ready(4, path=films(name))
    assert adversary.sha256 == hashlib.sha256(Path(name).read_bytes()).hexdigest()
    assert adversary.read(name).items == ("50", "7", "9", "1")  # of two with as many, the lower number
    expected = [(np.mean(FILMS[film]) - 0.5) / 4.5 for film in (50, 7, 9, 1)]
    np.testing.assert_allclose(adversary.mean_gains(Setting(100, 4)), expected, rtol=1e-12)


def test_gains_are_independent_draws_of_an_items_ratings():
    n, k = 60_000, 3
    setting, adversary = Setting(n, k), ready(k, path=films())
    one = np.concatenate([*adversary.gains(setting, stream(3, "gains", trial=0), [range(1, n + 1)])])
    two = np.concatenate([*adversary.gains(setting, stream(3, "gains", trial=0), [range(1, 8), range(8, n + 1)])])
    np.testing.assert_array_equal(one, two)  # a block's end changes nothing
    for arm, film in enumerate((50, 7, 9)):
        values, counts = np.unique((np.array(FILMS[film]) - 0.5) / 4.5, return_counts=True)
        assert {*one[:, arm]} == {*values}
        for value, p in zip(values, counts / counts.sum(), strict=True):
            z = (np.mean(one[:, arm] == value) - p) / math.sqrt(p * (1 - p) / n)
            assert abs(z) < 4.5, (film, value)
    corners = [np.corrcoef(one[:, a], one[:, b])[0, 1] for a, b in ((0, 1), (0, 2), (1, 2))]
    assert max(map(abs, [*corners, np.corrcoef(one[1:, 0], one[:-1, 0])[0, 1]])) < 4.5 / math.sqrt(n)


@pytest.mark.parametrize(
    ("text", "parameters", "error"),
    [
        ("a,b\n1,2\n", {}, "name the item, `item: ...`"),
        ("item,movieId,rating\n1,2,3\n", {}, "item and movieId may both be the item: name it, `item: item`"),
        ("movieId,rating\n1,good\n2,4\n", {}, "ratings are numbers"),
        ("movieId,rating\n1,4\n2,4\n", {}, "every rating is 4"),
        ("movieId,rating\n1,4\n2,3\n", {"rating": "stars"}, "no column of movieId, rating is called 'stars'"),
        ("movieId,rating\n1,4\n1,3\n", {}, "rates no more than 1 items: set `arms: 1`, or fewer"),
    ],
)
def test_errors_say_what_to_do(text, parameters, error):
    Path("own.csv").write_text(text)
    found = list(ratings.Parameters(path="own.csv", **parameters).errors(Setting(100, 2)))
    assert len(found) == 1 and error in found[0]


def test_an_old_file_with_other_rows_is_an_error():
    Path("u.data").write_text("1\t2\n")
    assert "user, item, rating and time" in next(iter(ratings.Parameters(path="u.data").errors(Setting(9, 2))))


@pytest.mark.usefixtures("no_figure")
def test_ratings_are_played_by_the_tool():
    films()
    keys = ["adversary={name: ratings, path: ratings.csv}", "arms=3", "horizon=500", "trials=24", "experiment=films"]
    result = call("run", "fig1", *keys, "algorithms=[exp3]", "-q", "-j", "1")
    assert result.exit_code == 0, result.output
    result = call("run", "fig1", *keys, "arms=5", "algorithms=[exp3]", "-q", "-j", "1")
    assert result.exit_code == 2 and "set `arms: 4`, or fewer" in " ".join(result.output.split())


def test_a_log_of_open_bandit_needs_no_names_of_columns():
    affinity = ",".join(f"user-item_affinity_{i}" for i in range(3))
    header = f",timestamp,item_id,position,click,propensity_score,user_feature_0,user_feature_1,{affinity}"
    rows = [
        f"{i},2019-11-24 00:00:{i % 60:02d}.004101+00:00,{i % 3},{1 + i % 3},{int(i % 7 == 0)},0.3333333,"
        f"{'fa' if i % 2 else '0b'}{'7c' * 15},{'e1' if i % 5 else '4d'}{'22' * 15},0.0,1.0,{i % 4}.0"
        for i in range(40)
    ]
    Path("all.csv").write_text("\n".join([header, *rows]) + "\n")
    log = logged("all.csv")
    assert log.columns == ("item_id", "click", "propensity_score")
    assert log.classes == ("0", "1", "2") and len(log.names) == 4
    assert all(name.startswith("user_feature") for name in log.names)
    assert log.rewards.sum() == 6
    assert logged("all.csv", features=["position"]).names == ("position",)


ARFF = """\
% of OpenML
@RELATION flowers

@ATTRIBUTE 'petal length' REAL
@ATTRIBUTE colour {red, 'light blue'}
@ATTRIBUTE class {setosa,virginica}

@DATA
1.5,red,setosa
2.5,'light blue',virginica
4.5,red,virginica
"""


def test_a_table_of_openml():
    Path("flowers.arff").write_text(ARFF)
    table = labelled("flowers.arff", "class")
    assert table.names == ("petal length", "colour = light blue", "colour = red")
    assert table.classes == ("setosa", "virginica") and table.labels.tolist() == [0, 1, 1]
    np.testing.assert_array_equal(table.rows, [[1.5, 0, 1], [2.5, 1, 0], [4.5, 0, 1]])


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        (
            "2.5,'light",
            "?,'light",
            "row 2 has no value in column 'petal length': fill it in, .*name the others in `feat",
        ),
        ("4.5,red", "4.5,?", "row 3 has no value in column 'colour'"),
        ("4.5,red,virginica", "{0 4.5}", "Expected 3 columns, got 1"),
        ("@DATA", "", "an ARFF table has a line @DATA above its rows"),
    ],
)
def test_errors_of_a_table_of_openml_have_a_place(old, new, error):
    Path("flowers.arff").write_text(ARFF.replace(old, new))
    with pytest.raises(ValueError, match=error):
        labelled("flowers.arff", "class")


def test_a_column_with_missing_values_may_be_no_feature():
    Path("flowers.arff").write_text(ARFF.replace("4.5,red", "4.5,?"))
    assert labelled("flowers.arff", "class", ["petal length"]).rows.tolist() == [[1.5], [2.5], [4.5]]


@pytest.mark.parametrize(
    ("adversary", "sizes"),
    [
        ("{name: table, path: flowers.arff, target: class}", (2, 8, 3)),
        ("{name: log, path: log.csv}", (2, 4, 150)),
    ],
)
def test_an_error_of_missing_sizes_names_those_of_the_file(adversary, sizes):
    """A log of 400 events with the propensity 1/2 serves 200 rounds, less 5 standard deviations of 10."""
    Path("flowers.arff").write_text(ARFF)
    events = [f"{i % 2},{i % 3 // 2},0.5,{i % 7}.5" for i in range(400)]
    Path("log.csv").write_text("\n".join(["action,reward,propensity,age", *events]) + "\n")
    config = f"experiment: x\ngame: contextual\ntrials: 24\nadversary: {adversary}\nalgorithms: [linucb]\n"
    Path("x.yaml").write_text(config)
    k, d, most = sizes
    expected = f"needs `arms: {k}` and `dimension: {d}`, and serves up to `horizon: {most}`"
    for keys in ([], ["horizon=3"], ["dimension=5"]):
        result = call("validate", "x.yaml", *keys)
        assert result.exit_code == 2 and " ".join(result.output.split()).count(expected) == 1, result.output
    result = call("validate", "x.yaml", f"arms={k}", f"dimension={d}", f"horizon={most}")
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(("features", "d", "seconds"), [(29, 2400, 1106), (3, 320, 3), (0, 80, None)])
def test_a_log_of_the_size_of_open_bandit_is_slow_unless_it_has_few_features(features, d, seconds):
    """80 items, and user features with 3 + 6 + 10 + 10 values: 80 inversions in a round, of d³ ns each."""
    names = [f"f{i}" for i in range(features)]
    rows = [
        f"{i % 80},{i % 7 % 2},0.0125" + "".join(f",{(i + j) % (j + 2)}.5" for j in range(features))
        for i in range(8000)
    ]
    Path("log.csv").write_text("\n".join([",".join(["item_id,click,propensity_score", *names]), *rows]) + "\n")
    Path("x.yaml").write_text(
        f"experiment: x\ngame: contextual\nhorizon: 10\narms: 80\ndimension: {d}\ntrials: 24\n"
        "adversary: {name: log, path: log.csv}\nalgorithms: [linucb]\n"
    )
    result = call("validate", "x.yaml")
    text = " ".join(result.output.split())
    assert result.exit_code == 0 and "x.yaml: ok" in text, result.output
    assert ("note: " in text) == (seconds is not None)
    if seconds:
        assert f"d = {d}: private LinUCB inverts 80 d x d matrices in a round, which takes about {seconds:,} s" in text
