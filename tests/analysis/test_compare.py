"""`compare`: two results folders, curve by curve."""

import csv
import json
import math
import shutil

import numpy as np
import pytest

from privbandits_cli.analysis import compare as comparing
from privbandits_cli.analysis.compare import Difference, compare
from tests.claims.test_verdicts import CONFIG, NOISE, experiment, played
from tests.cli import call

pytestmark = pytest.mark.usefixtures("no_figure")


@pytest.fixture
def folders(tmp_path):
    """Makes two folders of one experiment; EXP3's regrets in each are as given, those of the others as they were."""

    def make(a, b, seed=3, trials=range(9)):
        made = experiment(tmp_path)
        other = experiment(tmp_path, text=CONFIG.replace("seed: 3", f"seed: {seed}"))
        out = []
        for name, one, x, n in (("a", made, a, range(9)), ("b", other, b, trials)):
            out.append(
                played(tmp_path / name, one, lambda c, _, x=x: x if c.algorithm.name == "exp3" else NOISE, trials=n)
            )
        return out

    return make


def exp3(found):
    (one,) = [one for one in found if one.curve == "EXP3, stochastic"]
    return one


def test_identical_folders_are_identical(folders):
    a, b = folders(100 + NOISE, 100 + NOISE)
    assert {one.verdict for one in compare(a, b, 0.05)} == {"identical"}
    result = call("compare", a, b)
    assert result.exit_code == 0 and f"{a} and {b} are identical: 10 curves" in result.stdout
    assert json.loads(call("compare", a, b, "--json").stdout)["identical"] is True


@pytest.mark.parametrize(
    ("a", "b", "seed", "verdict", "basis"),
    [
        (102 + 20 * NOISE, 100 + 20 * NOISE, 3, "within", "paired, 9 trials"),  # the same trials, 2 more in each
        (110 + 50 * NOISE, 100 + 50 * NOISE, 3, "beyond", "paired, 9 trials"),
        (102 + 50 * NOISE, 100 + 50 * NOISE, 4, "not decided", "unpaired, 9 and 9 trials"),
        (102 + NOISE, 100 + NOISE[::-1], 4, "within", "unpaired, 9 and 9 trials"),
        (110 + NOISE, 100 + NOISE, 4, "beyond", "unpaired, 9 and 9 trials"),
        (-110 + NOISE, -100 + NOISE, 3, "beyond", "paired, 9 trials"),
        (-102 + NOISE, -100 + NOISE, 3, "within", "paired, 9 trials"),
    ],
)
def test_verdicts_of_known_differences(folders, a, b, seed, verdict, basis):
    found = folders(a, b, seed)
    one = exp3(compare(*found, 0.05))
    assert (one.verdict, one.basis) == (verdict, basis)
    assert one.a == pytest.approx(np.mean(a)) and one.low <= np.mean(a) - np.mean(b) <= one.high
    assert call("compare", *found).exit_code == {"within": 0, "beyond": 3, "not decided": 1}[verdict]


def test_nothing_is_decided_that_one_further_trial_could_change(folders):
    """Eight differences of 1 and one of -12, 5 % of 100 tolerated. Control: the same mean and no trial far out."""
    tail, even = np.array([1.0] * 8 + [-12.0]), -4 / 9 + 0.1 * NOISE
    found = {}
    for name, more in (("tail", tail), ("even", even)):
        a, b = folders(100 + NOISE + more, 100 + NOISE)
        one = exp3(compare(a, b, 0.05))
        assert -5 < one.low < one.high < 5 and one.basis == "paired, 9 trials"
        found[name] = one.verdict, one.fragile, call("compare", a, b)
    assert found["even"][:2] == ("within", False) and found["even"][2].exit_code == 0
    verdict, fragile, result = found["tail"]
    assert (verdict, fragile, result.exit_code) == ("not decided", True, 1)
    said = "2 curves not decided, because one further trial far out could change the verdict: EXP3, stochastic; EXP3"
    assert said in " ".join(result.stdout.split())


def test_welch_by_hand(folders):
    """Two samples of deviation 1, nine each: ± t(16; 0.975) √(2/9) = 2.1199 x 0.4714."""
    one = exp3(compare(*folders(110 + NOISE, 100 + NOISE, seed=4), 0.05))
    assert (one.high - one.low) / 2 == pytest.approx(2.119905 * np.sqrt(2 / 9), abs=1e-5)


def test_trials_in_common_are_paired(folders):
    one = exp3(compare(*folders(100 + 50 * NOISE, 100 + 50 * NOISE, trials=range(5)), 0.05))
    assert one.verdict == "within" and one.basis == "paired, 5 trials" and one.low == one.high == 0


def test_what_was_played_otherwise_is_said(folders, tmp_path):
    a, b = folders(100 + NOISE, 100 + NOISE, trials=range(5))
    result = call("compare", a, b)
    assert "The trials differ: 9 in A against 5 in B." in result.stdout and "horizons" not in result.stdout
    assert " -0 " not in result.stdout and max(map(len, result.stdout.splitlines())) <= 80
    c = played(tmp_path / "c", experiment(tmp_path, text=CONFIG.replace("1000", "2000")), lambda c, _: 200 + NOISE)
    result = call("compare", c, a)
    assert "The horizons differ: 2,000 rounds in A against 1,000 in B." in result.stdout.replace("\n  ", " ")


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (-0.3, 20.0, "0 to 20"),
        (-0.004, 0.003, "-0.004 to 0.003"),
        (0.0, 0.0, "0 to 0"),
        (-math.inf, math.inf, "-inf to inf"),
    ],
)
def test_intervals_are_never_minus_zero(folders, monkeypatch, low, high, shown):
    found = [Difference("EXP3", "not decided", 100.0, 90.0, low, high, "paired, 9 trials")]
    monkeypatch.setattr(comparing, "compare", lambda *_: found)
    lines = call("compare", *folders(100 + NOISE, 90 + NOISE)).stdout.splitlines()
    (row,) = [line for line in lines if line.lstrip().startswith("EXP3")]
    assert f" {shown} " in row


def test_curves_of_one_folder_are_listed(folders, tmp_path):
    a, _ = folders(100 + NOISE, 100 + NOISE)
    b = tmp_path / "c"
    played(b, experiment(tmp_path), lambda c, _: None if c.algorithm.name == "exp3" else NOISE)
    assert exp3(compare(a, b, 0.05)).verdict == "only in A" and exp3(compare(b, a, 0.05)).verdict == "only in B"
    result = call("compare", a, b)
    assert result.exit_code == 1 and "8 identical" in result.stdout and "2 only in A" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_compare_says_what_is_wrong(folders, tmp_path):
    a, b = folders(100 + NOISE, 100 + NOISE)
    for words in ((a, tmp_path / "none"), (a, b, "--tolerance", "much"), (a, b, "--tolerance", "200%")):
        result = call("compare", *words)
        assert result.exit_code == 2 and result.stderr and not result.stdout and "Errno" not in result.stderr
    (b / "final.csv").write_text("x\n1\n")
    assert "no table of regrets" in call("compare", a, b).stderr


def changed(path, find, replace):
    text = path.read_text(encoding="utf-8")
    assert find in text
    path.write_text(text.replace(find, replace, 1), encoding="utf-8")


def test_equal_finals_with_another_summary_are_not_identical(folders):
    a, b = folders(100 + NOISE, 100 + NOISE)
    columns, first, *_ = (b / "summary.csv").read_text(encoding="utf-8").splitlines()
    cells = dict(zip(columns.split(","), next(csv.reader([first])), strict=True))
    changed(b / "summary.csv", f",{cells['mean']},", ",12345.5,")
    found = compare(a, b, 0.05)
    (one,) = [each for each in found if each.verdict != "identical"]
    assert one.verdict == "summary differs" and one.low == one.high == 0
    assert one.summary == f"mean after round {cells['round']} is {float(cells['mean']):.10g} in A, 12345.5 in B"
    result = call("compare", a, b)
    assert result.exit_code == 3 and "are identical" not in result.stdout
    assert one.summary in " ".join(result.stdout.split())
    assert json.loads(call("compare", a, b, "--json").stdout)["identical"] is False


def test_equal_numbers_under_other_names_are_the_same_numbers(folders):
    a, b = folders(100 + NOISE, 100 + NOISE)
    text = (b / "summary.csv").read_text(encoding="utf-8")
    (b / "summary.csv").write_text(text.replace("\nsmall,", "\nother,"), encoding="utf-8")
    result = call("compare", a, b)
    assert result.exit_code == 0 and "have the same numbers: 10 curves" in result.stdout
    assert "summary.csv differs in experiment." in result.stdout and "final.csv differs" not in result.stdout


def test_a_row_that_stands_twice_is_an_error(folders):
    a, b = folders(100 + NOISE, 100 + NOISE)
    for name in ("summary.csv", "final.csv"):
        text = (b / name).read_text(encoding="utf-8")
        (b / name).write_text(text + text.splitlines()[-1] + "\n", encoding="utf-8")
        result = call("compare", a, b)
        assert result.exit_code == 2 and "twice: run the experiment again" in result.stderr
        (b / name).write_text(text, encoding="utf-8")


def test_other_checkpoints_alone_are_within(folders, tmp_path):
    a, _ = folders(100 + NOISE, 100 + NOISE)
    some = experiment(tmp_path, text=CONFIG.replace("checkpoints: 4", "checkpoints: 2"))
    b = played(tmp_path / "c", some, lambda c, _: 100 + NOISE if c.algorithm.name == "exp3" else NOISE)
    assert {one.verdict for one in compare(a, b, 0.05)} == {"within"}
    assert "The checkpoints differ" in call("compare", a, b).stdout


@pytest.fixture
def finished_twice(finished, tmp_path):
    """Two copies of one finished run, with manifests."""
    return finished, shutil.copytree(finished, tmp_path / "copy")


def test_a_copy_of_a_run_is_identical(finished_twice):
    result = call("compare", *finished_twice)
    assert result.exit_code == 0 and len(result.stdout.splitlines()) == 1 and "are identical" in result.stdout


def test_a_manifest_that_does_not_describe_the_curves_is_an_error(finished_twice):
    changed(finished_twice[1] / "manifest.json", '"family"', '"familie"')
    result = call("compare", *finished_twice)
    assert result.exit_code == 2 and "algorithm.family: Field required" in result.stderr


def test_a_manifest_is_missed_or_refused(finished_twice):
    path = finished_twice[1] / "manifest.json"
    changed(path, "{", "")
    assert call("compare", *finished_twice).exit_code == 2
    path.unlink()
    result = call("compare", *finished_twice)
    assert result.exit_code == 0 and "No manifest.json says how the CSVs of B were made." in result.stdout


@pytest.mark.parametrize(
    ("name", "find", "replace", "code", "said"),
    [
        ("summary.csv", "\nsmall,", "\nSMALL,", 1, "B: summary.csv is not the file that manifest.json describes"),
        ("final.csv", ",exp3,", ",EXP3,", 1, "B: final.csv is not the file that manifest.json describes"),
        ("manifest.json", '"complete": true', '"complete": false', 1, "B is incomplete: 96 of 96 trials."),
        ("manifest.json", '"numpy": "', '"numpy": "0.', 0, "The runs differ in numpy: "),
        ("manifest.json", '"horizon": 1000', '"horizon": 1001', 0, "The configs differ in horizon."),
        (
            "manifest.json",
            '"included": []',
            '"included": [{"name": "my", "sha256": "1"}]',
            0,
            "own files differ: none in A, my 1 in B.",
        ),
    ],
)
def test_what_the_manifests_say_is_compared(finished_twice, name, find, replace, code, said):
    changed(finished_twice[1] / name, find, replace)
    result = call("compare", *finished_twice)
    assert result.exit_code == code and said in " ".join(result.stdout.split())
    assert max(map(len, result.stdout.splitlines()[1:])) <= 80  # the first line has the paths


TIMES = """
experiment: times
game: best_arm
confidence: 0.99
horizon: 20000
arms: means
trials: 16
checkpoints: {count: 2}
adversary: {name: bernoulli, means: [0.8, 0.3]}
algorithms: [{name: dp_tt, epsilon: 1, label: mine}]
"""


def test_times_are_compared_in_the_game_best_arm(tmp_path):
    """All regrets are 0; with another threshold the times are others, and with another seed they are alike."""
    (tmp_path / "times.yaml").write_text(TIMES.lstrip(), encoding="utf-8")

    def played(name, *changes):
        done = call("run", "-q", tmp_path / "times.yaml", *changes, "--results", tmp_path / name)
        assert done.exit_code == 0, done.output
        return tmp_path / name / "times"

    a, other = played("a"), played("b", "algorithms[0].threshold=sum", "algorithms[0].sampling=published")
    (found,) = compare(a, other, 0.05)
    pulls = [int(row["pulls"]) for row in csv.DictReader((a / "final.csv").open(encoding="utf-8"))]
    assert found.verdict == "beyond" and found.a == pytest.approx(np.mean(pulls)) and found.high < 0
    assert [one.verdict for one in compare(a, a, 0.05)] == ["identical"]
    (again,) = compare(a, played("c", "seed=9"), 0.9)
    assert again.verdict == "within" and again.a != again.b
    assert json.loads(call("compare", a, other, "--json").stdout)["compared"] == "times"
    capped = played("d", "horizon=150")
    assert "reached the cap: 0 in A against" in " ".join(call("compare", a, capped).stdout.split())
