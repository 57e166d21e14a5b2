"""`compare`: two results folders, curve by curve."""

import json
import math

import numpy as np
import pytest

from privbandits_cli.analysis import compare as comparing
from privbandits_cli.analysis.compare import Difference, compare
from tests.claims.test_verdicts import CONFIG, NOISE, call, experiment, played


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
        (102 + 50 * NOISE, 100 + 50 * NOISE, 3, "within", "paired, 9 trials"),  # the same trials, 2 more in each
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
