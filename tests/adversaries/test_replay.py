"""The adversary `replay`: a log becomes a game; every error in a file is reported with its location."""

import gzip
import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from joblib import Parallel, delayed
from joblib.externals.loky import get_reusable_executor
from typer.testing import CliRunner

from privbandits_cli.adversaries import replay
from privbandits_cli.cli import app
from privbandits_cli.experiment.config import ConfigError, load
from privbandits_cli.experiment.plan import make_plan
from privbandits_cli.games.bandit import Setting, play
from privbandits_cli.games.steps import blocks
from privbandits_cli.numerics.streams import stream
from privbandits_cli.plugins.registry import Registry
from tests.conftest import SMALL, match, some
from tests.engine.test_engine import csvs, outputs

ROWS = np.random.default_rng(5).random((300, 3)).round(4)
CONFIG = SMALL.replace("horizon: 1000", "horizon: 300").replace("arms: 4", "arms: 3")


@pytest.fixture(autouse=True)
def desk(tmp_path, monkeypatch):
    """A working directory with a log of 300 rounds and three arms, in both formats."""
    monkeypatch.chdir(tmp_path)
    np.savetxt("log.csv", ROWS, delimiter=",", fmt="%.4f")
    np.save("log.npy", ROWS)
    Path("small.yaml").write_text(CONFIG)


def gains(horizon=300, size=300, trial=0, **parameters):
    setting = Setting(horizon, 3)
    adversary = replay.Parameters(**({"path": "log.csv"} | parameters))
    assert not list(adversary.errors(setting))
    ready = adversary.tuned(setting)
    rng = stream(1, "gains", ready.name, trial=trial)
    return np.concatenate(list(ready.gains(setting, rng, blocks(horizon, size))))


@pytest.mark.parametrize("path", ["log.csv", "log.npy"])
def test_rows_are_rounds_and_columns_arms(path):
    np.testing.assert_array_equal(gains(path=path), ROWS)
    np.testing.assert_array_equal(gains(path=path, horizon=100, size=30), ROWS[:100])


@pytest.mark.parametrize("order", ["file", "shuffled"])
@pytest.mark.parametrize("size", [1, 7, 299, 300, 1000])
def test_gains_do_not_depend_on_where_blocks_end(order, size):
    whole = gains(horizon=1000, size=1000, order=order, repeat=True)
    np.testing.assert_array_equal(gains(horizon=1000, size=size, order=order, repeat=True), whole)


def test_repeated_passes_are_whole_and_shuffled_ones_differ():
    np.testing.assert_array_equal(gains(horizon=750, repeat=True), np.concatenate([ROWS, ROWS, ROWS[:150]]))
    two = gains(horizon=600, repeat=True, order="shuffled")
    for one in (two[:300], two[300:]):
        assert sorted(map(tuple, one)) == sorted(map(tuple, ROWS)) and one.tolist() != ROWS.tolist()
    assert two[:300].tolist() != two[300:].tolist()
    assert gains(order="shuffled", trial=1).tolist() != gains(order="shuffled", trial=2).tolist()
    assert gains(trial=1).tolist() == gains(trial=2).tolist()


def test_values_are_scaled():
    np.savetxt("stars.csv", 1 + 4 * ROWS, delimiter=",")
    np.testing.assert_allclose(gains(path="stars.csv", scale=[1, 5]), ROWS, atol=1e-15)


def test_header_lines_integers_and_byte_order_marks_are_read():
    np.savetxt(
        "clicks.csv", ROWS < 0.3, delimiter=",", fmt="%d", header="red, green,blue", comments="\ufeff", encoding="utf-8"
    )
    np.testing.assert_array_equal(gains(path="clicks.csv"), ROWS < 0.3)
    np.save("clicks.npy", ROWS < 0.3)
    np.testing.assert_array_equal(gains(path="clicks.npy"), ROWS < 0.3)


@pytest.mark.parametrize("name", ["LOG.CSV", "log.tsv", "log.csv.gz", "semi.csv", "log.parquet", "log.jsonl"])
def test_other_formats_have_the_same_gains(name):
    frame = pd.DataFrame(ROWS, columns=["red", "green, or blue", "no"])
    if name.endswith((".parquet", ".jsonl")):
        frame.to_parquet(name) if "parquet" in name else frame.to_json(name, orient="records", lines=True)
    else:
        frame.to_csv(name, index=False, sep={"log.tsv": "\t", "semi.csv": ";"}.get(name, ","))
    np.testing.assert_array_equal(gains(path=name), ROWS)


@pytest.mark.parametrize("head", ["0,1,2", "2,0,1", "0;1;2", '"0","1","2"'])
def test_names_that_pandas_gives_are_no_gains(head):
    lines = [line.replace(",", ";") if ";" in head else line for line in Path("log.csv").read_text().splitlines()]
    Path("pandas.csv").write_text("\n".join([head, *lines]))
    np.testing.assert_array_equal(gains(path="pandas.csv"), ROWS)


def test_names_that_may_be_gains_are_refused():
    """A first line 0,1 may be a row if gains are 0 and 1. A first line 0.0,1.0 is a row if other rows look like it."""
    for name, first in (("ints.csv", "0,1"), ("wide.csv", "1,0,2"), ("scaled.csv", "0.0,1.0")):
        Path(name).write_text("\n".join([first, first, first]))
    for name, first in (("swapped.csv", "1,0"), ("floats.csv", "0.0,1.0")):
        Path(name).write_text("\n".join([first, "0.25,0.5", "0.5,0.75"]))
    for name, k in (("ints.csv", 2), ("wide.csv", 3), ("swapped.csv", 2), ("floats.csv", 2)):
        (error,) = replay.Parameters(path=name).errors(Setting(2, k))
        assert error.startswith(f"{name}: the first line has 0, 1, ...: gains, or names, as pandas writes them?")
    assert not list(replay.Parameters(path="scaled.csv").errors(Setting(3, 2)))


def test_regret_is_that_of_the_log():
    """Uniform play: the best column's sum less what its own arms earned."""
    uniform = Registry().find("algorithms", "uniform")()
    game = match(replay.Parameters(path="log.csv"), [uniform], 300, n_arms=3)
    u = stream(7, "uniform", "uniform", trial=0).random(300)
    earned = ROWS[np.arange(300), (3 * u).astype(int)].sum()
    assert play(game, [0])[0, 0, 0] == pytest.approx(ROWS.sum(axis=0).max() - earned, abs=1e-9)


# -------------------------------------------------------------------------------------------------- errors


def refused(parameters):
    """Why a config that replays a file with these parameters is refused."""
    with pytest.raises(ConfigError) as error:
        load(Path("small.yaml"), [f"adversary={{name: replay, {parameters}}}"])
    return str(error.value)


def spoiled(row, text, name="bad.csv", header=False):
    lines = Path("log.csv").read_text().splitlines()
    lines[row - 1] = text
    Path(name).write_text("\n".join((["a,b,c"] if header else []) + lines) + "\n\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0.1,nan,0.2", "bad.csv:17: column 2 is nan: every round needs a gain for every arm"),
        ("0.1,0.2,1.5", "bad.csv:17: column 3 is 1.5, outside [0, 1]: if all numbers are gains, `scale: [0, 1.5]"),
        ("-2,0.2,0.5", "bad.csv:17: column 1 is -2, outside [0, 1]: if all numbers are gains, `scale: [-2, 0.99"),
        ("0.1,inf,0.5", "bad.csv:17: column 2 is inf: gains must be finite"),
        ("0.1,0.5", "bad.csv:17: 2 columns, where the first row has 3"),
        ("0.1,0.5,0.2,0.3", "bad.csv:17: 4 columns, where the first row has 3"),
        ("0.1,,0.5", "bad.csv:17: column 2 is '', not a number"),
        ("0.1,yes,0.5", "bad.csv:17: column 2 is 'yes', not a number: every round needs a gain for every arm"),
        ("0.1,50%,0.5", "bad.csv:17: column 2 is '50%', not a number: write numbers like 0.5 or 12000, without commas"),
        ("0.1,1_0,0.5", "bad.csv:17: column 2 is '1_0', not a number"),
        ("0.1,0.5,0.2,", "bad.csv:17: the line ends with ',': delete it, or write the number that is missing"),
        ("0.1,0.5,", "bad.csv:17: the line ends with ',': delete it, or write the number that is missing"),
        ("# half, of it", "bad.csv:17: comments are not read: delete this line"),
    ],
)
def test_a_wrong_value_is_reported_with_its_row_and_column(text, message):
    spoiled(17, text)
    assert message in refused("path: bad.csv")
    spoiled(17, text, header=True)  # the number counts all lines of the file, including the header
    assert message.replace(":17", ":18") in refused("path: bad.csv")


@pytest.mark.parametrize("factor", [1234567.891, 1.01234567, -1e12])
def test_the_scale_that_a_hint_names_covers_the_numbers(factor):
    np.save("log.npy", ROWS * factor)
    (said,) = replay.Parameters(path="log.npy").errors(Setting(300, 3))
    scale = list(map(float, re.search(r"scale: \[(.*), (.*)\]", said).groups()))
    assert not list(replay.Parameters(path="log.npy", scale=scale).errors(Setting(300, 3)))


def test_empty_lines_are_counted_in_a_csv_and_rows_in_an_array():
    spoiled(17, "\n0.1,nan,0.2")
    assert next(replay.Parameters(path="bad.csv").errors(Setting(300, 3))).startswith("bad.csv:18: column 2 is nan")
    np.save("bad.npy", np.where(np.arange(300)[:, None] == 16, np.nan, ROWS))
    assert next(replay.Parameters(path="bad.npy").errors(Setting(300, 3))).startswith(
        "bad.npy: row 17, column 1 is nan"
    )


def test_a_first_row_that_is_half_numbers_is_no_header():
    spoiled(1, "0.1,oops,0.5")
    assert list(replay.Parameters(path="bad.csv").errors(Setting(10, 3))) == [
        "bad.csv:1: column 2 is 'oops', not a number: every round needs a gain for every arm"
    ]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("path: nowhere.csv", "nowhere.csv: cannot be read: No such file or directory; paths are relative to"),
        (
            "path: log.txt",
            "are read from .csv, .tsv, .jsonl (these three also with .gz), .arff, .parquet or .npy files",
        ),
        ("path: endless.csv", "endless.csv: a folder, a pipe or a device: gains are read from .csv, .tsv"),
        ("path: empty.csv", "empty.csv: the file has no row of gains: it is empty"),
        (
            "path: names.csv",
            "names.csv: the file has no row of gains: below the names on line 1, write a line for each",
        ),
        ("path: late.csv", "late.csv:1: the first line is empty: delete it"),
        ("path: noted.csv", "noted.csv:1: comments are not read: delete this line"),
        (
            "path: colons.csv",
            "colons.csv:2: column 1 is '0:1', not a number: columns are separated by commas, semicolons",
        ),
        ("path: cube.npy", "cube.npy: an array of shape (2, 2, 2), float64: gains are numbers [rows, arms]"),
        ("path: words.npy", "gains are numbers [rows, arms]"),
        ("path: bars.csv", "bars.csv:2: column 1 is '0|1', not a number: columns are separated by commas, semicolons"),
        ("path: commas.csv", "commas.csv:2: column 1 is '0,5', not a number: write numbers like 0.5 or 12000, without"),
        ("path: latin.csv", "latin.csv: it is not UTF-8 text (line 1 has the byte 0xf6, as in Latin-1)"),
        ("path: excel.csv", "excel.csv: it is not UTF-8 text (UTF-16, as Excel and PowerShell write it)"),
        ("path: torn.csv.gz", "torn.csv.gz: not a whole file that gzip made"),
        (
            "path: years.csv, repeat: true",
            "covers them; if the first line has the names of arms, begin each with a letter",
        ),
        ("path: timed.csv", "timed.csv: column 'time' has no gains of an arm: leave it out"),
        ("path: words.jsonl", "words.jsonl: column 'b' has texts, like 'x': gains are numbers"),
        ("path: torn.npy", "torn.npy: not an array of numbers, or not all of it: save one by `np.save('torn.npy',"),
        ("path: two.csv", "two.csv has 2 columns: if each has the gains of one arm, set `arms: 2`"),
        ("path: short.csv", "short.csv has 200 rows for 300 rounds: set `horizon: 200`, or `repeat: true`"),
        ("path: log.csv, scale: [1, 1]", "scale is [low, high] with low < high"),
        ("path: log.csv, sha256: abc", "log.csv is not the file that was played"),
        ("order: file", "missing key 'path'"),
        ("path: log.csv, order: random", "order should be 'file' or 'shuffled'"),
    ],
)
def test_an_invalid_file_is_refused(parameters, message):
    Path("log.txt").write_text("0.5")
    Path("endless.csv").symlink_to("/dev/zero")
    Path("empty.csv").write_text("\n")
    Path("names.csv").write_text("a,b,c\n")
    Path("bars.csv").write_text("a|b\n0|1\n1|0\n")
    Path("colons.csv").write_text("a:b\n0:1\n1:0\n")
    Path("late.csv").write_text("\na,b\n0,1\n")
    Path("noted.csv").write_text("# mine\na,b\n0,1\n")
    Path("commas.csv").write_text("a;b\n0,5;1\n1;0\n")
    Path("latin.csv").write_bytes("größe,b\n0.5,0.5\n".encode("latin-1"))
    Path("excel.csv").write_bytes("a,b\n0.5,0.5\n".encode("utf-16"))
    Path("torn.csv.gz").write_bytes(gzip.compress(b"a,b\n0.5,0.5\n")[:-9])
    Path("years.csv").write_text("2019,2020,2021\n0.5,1,0\n")
    Path("timed.csv").write_text("a,b,time\n0.5,0.5,1\n0.5,0.5,7\n")
    Path("words.jsonl").write_text('{"a": 0.5, "b": "x"}\n')
    Path("torn.npy").write_bytes(b"\x93NUMPY torn")
    np.save("cube.npy", np.zeros((2, 2, 2)))
    np.save("words.npy", np.array([["a", "b", "c"]]))
    np.savetxt("two.csv", ROWS[:, :2], delimiter=",")
    np.savetxt("short.csv", ROWS[:200], delimiter=",")
    assert message in refused(parameters)


LOG = "is a log of the arms that were played, by its columns {}, but every round needs the gain of every arm: estimate"
DECISIONS = "is a log of decisions, by its columns {}, but every round needs the gain of every arm: with features and"
INDEX = "column {} is an index of the rows: leave it out, with pandas by `to_csv(..., index=False)`"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x1,x2,action,reward,propensity\n0.1,0.2,1,0.5,0.25\n", DECISIONS.format("action, reward, propensity")),
        ('"Time","Arm","Payoff"\n3,red,0.5\n', DECISIONS.format("time, arm, payoff")),
        (",action,reward\n0,1,1\n1,0,1\n", DECISIONS.format("action, reward")),
        ("time,user\n0,1\n", LOG.format("time, user")),
        (",a,b\n0,0.1,0.2\n1,0.3,0.4\n", INDEX.format(1)),
        (",0,1\n7,0.1,0.2\n3,0.3,0.4\n", INDEX.format(1)),
        ("index,0,1\n7,0.1,0.2\n3,0.3,0.4\n", INDEX.format(1)),
        ("round,0,1\n7,0.1,0.2\n3,0.3,0.4\n", "log.csv: column 'round' has no gains of an arm: leave it out"),
        ("0,0.1,0.2\n1,0.3,0.4\n2,0.5,0.6\n", INDEX.format(1)),
        ("a,b,n\n0.5,0.1,1\n0.1,0.3,2\n1,0.5,3\n", INDEX.format(3)),
    ],
)
def test_a_log_or_an_index_is_no_table_of_gains(text, message):
    Path("log.csv").write_text(text)
    for scale in ("", ", scale: [0, 10]"):
        said = refused(f"path: log.csv{scale}")
        assert message in said and "scale:" not in said.partition("': ")[2]


def test_an_index_is_found_in_an_array_and_two_rows_of_gains_are_none():
    np.save("log.npy", np.column_stack([np.arange(300), ROWS[:, :2]]))
    assert INDEX.format(1) in next(replay.Parameters(path="log.npy").errors(Setting(300, 3)))
    Path("log.csv").write_text("email,call,visit\n0,1,0.5\n1,0,0.5\n")
    assert not list(replay.Parameters(path="log.csv").errors(Setting(2, 3)))


# ------------------------------------------------------------------------------------------------ identity


def test_a_curves_key_depends_on_the_content_and_not_the_location_of_its_file():
    def keys(path):
        return {
            c.key for c in make_plan(load(Path("small.yaml"), [f"adversary={{name: replay, path: {path}}}"])).curves
        }

    first = keys("log.csv")
    Path("data").mkdir()
    Path("data/copy.csv").write_bytes(Path("log.csv").read_bytes())
    assert keys("data/copy.csv") == first
    spoiled(17, "0.1,0.2,0.3", "data/copy.csv")
    assert not keys("data/copy.csv") & first


def workers_elsewhere(monkeypatch):
    """The folder of this process's workers, which are started in another one than the log's."""
    get_reusable_executor().shutdown(kill_workers=True)
    Path("elsewhere").mkdir()
    with monkeypatch.context() as there:
        there.chdir("elsewhere")
        return set(Parallel(n_jobs=2)(delayed(os.getcwd)() for _ in range(2)))


@pytest.mark.usefixtures("one_format")
@pytest.mark.parametrize("own", some([[], ["algorithms=exp3"]], ["algorithms=exp3"]), ids=["three", "one"])
def test_a_run_is_repeated_from_its_config_and_a_changed_log_is_refused(monkeypatch, own):
    replayed = ["adversary={name: replay, path: log.csv}", *own]
    _, _, first = outputs(Path("results/small"), Path("small.yaml"), *replayed)
    assert workers_elsewhere(monkeypatch) == {str(Path("elsewhere").absolute())}
    _, _, again = outputs(Path("again"), Path("results/small/config.yaml"), jobs=2, engine="processes")
    assert again == first
    spoiled(17, "0.1,0.2,0.3", "log.csv")
    with pytest.raises(ConfigError, match="is not the file that was played"):
        load(Path("results/small/config.yaml"))
    assert outputs(Path("results/small"), Path("small.yaml"), *replayed)[2] != first  # played anew


def test_a_log_that_changes_while_it_is_played_fails_its_trials():
    (curve, *_) = make_plan(load(Path("small.yaml"), ["adversary={name: replay, path: log.csv}"])).curves
    spoiled(17, "0.1,0.2,0.3", "log.csv")
    with pytest.raises(ValueError, match=r"log.csv has changed"):
        next(curve.adversary.gains(curve.setting, stream(1, "x", trial=0), blocks(300, 300)))


@pytest.mark.usefixtures("one_format")
def test_the_csv_and_the_npy_of_a_log_play_the_same_gains_and_experts_lose_them():
    linear = "experiment: x\ngame: linear\nset: simplex\ndimension: 3\nhorizon: 300\ntrials: 4\nalgorithms: ftrl\n"
    Path("linear.yaml").write_text(linear + "adversary: {name: replay, path: log.npy}\nsummary: {groups: 2}\n")
    result = CliRunner().invoke(app, ["run", "linear.yaml", "-q"])
    assert result.exit_code == 0, result.output
    assert b"replay" in csvs(Path("results/x"))["summary.csv"]
