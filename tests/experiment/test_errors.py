"""Every error of a config at once, each at its place."""

import json

import pytest
from typer.testing import CliRunner

from privbandits_cli.cli import app
from privbandits_cli.experiment.config import ConfigError, load
from privbandits_cli.experiment.errors import suggestion
from privbandits_cli.experiment.plan import make_plan
from privbandits_cli.plugins.registry import Registry
from tests.cli import call
from tests.conftest import SMALL
from tests.experiment.test_config import PLANTED, errors


def test_seven_planted_errors_are_found_at_their_places(tmp_path):
    found = errors(tmp_path, PLANTED)
    assert [error.splitlines()[0].split(" (known")[0] for error in found] == [
        "x.yaml:3:1: unknown key 'horizn', did you mean 'horizon'?",
        "x.yaml:4:9: 100 trials are not a multiple of 24 groups (summary.groups);"
        " take 96 or 120, or `summary: {centre: mean}`",
        "x.yaml:6:1: duplicate key 'seed', first on line 5",
        "x.yaml:7:7: arms should be an integer or should be 'd^2' or 'means', got 'many'",
        "x.yaml:9:5: unknown adversary 'stochstic', did you mean 'stochastic'?",
        "x.yaml:10:30: best should be less than or equal to 1, got 1.3",
        "x.yaml:13:25: unknown key 'epsilom', did you mean 'epsilon'?",
    ]
    for error in found:
        shown, caret = error.splitlines()[1:]
        assert shown[4:] in PLANTED and caret.strip() == "^"
    assert found[4].splitlines()[2].index("^") - 4 == 4  # under the s of stochstic


@pytest.mark.parametrize(
    ("change", "place", "words"),
    [
        ("horizon: 0", "2:10", "greater than or equal to 1"),
        ("horizon: 1.5", "2:10", "should be an integer"),
        ("trials: true", "4:9", "should be an integer, got true"),
        ("trials: null", "4:9", "should be an integer, got null"),
        ("experiment: ../up", "1:13", "experiment should have letters from a to z, digits"),
        ("adversary: []", "7:12", "name at least one of"),
        ("algorithms: {name: exp3, gamma: [0.1, 2]}", "8:39", "less than or equal to 1, got 2"),
        ("algorithms: {name: exp3, gamma: []}", "8:33", "empty list"),
        ("algorithms: [exp3, exp3]", "8:20", "the same as algorithms[0]"),
        (
            "algorithms: dp_lambda_lap",
            "8:13",
            "missing key 'epsilon': write {name: dp_lambda_lap, epsilon: ..., base: ...}",
        ),
        ("algorithms: {name: dp_lambda_lap, epsilon: 1, base: exp4}", "8:53", "did you mean 'exp3'"),
        ("algorithms: {name: dp_exp3_lap, base: {name: exp3, gama: 1}}", "8:52", "did you mean 'gamma'"),
        ("algorithms: {name: exp3_tau, tau: corollary_3.3}", "8:13", "needs an epsilon"),
        ("algorithms: {name: exp3_tau, epsilon: 1}", "8:13", "does not use epsilon: write tau: certified"),
        ("algorithms: {name: exp3_tau, tau: 10000}", "8:13", "does not fit into the horizon"),
        ("algorithms: {name: dp_exp3_lap, epsilon: corollary_3.1}", "8:42", "'corollary_3.2'"),
        ("checkpoints: [1, 2000]", "6:18", "beyond the horizon"),
        ("checkpoints: {count: 8, spacing: cubic}", "6:34", "'linear' or 'log'"),
        ("summary: {groups: 5}", "4:9", "not a multiple of 5 groups"),
        ("summary: {centre: mean, level: 0.9}", "9:32", "is of `centre: cvar`"),
        ("plot: {over: lower_bound, slopes: true}", "14:14", "leave out `price` and `slopes`"),
        ("plot: {bar: 3}", "14:8", "did you mean 'bars'"),
        ("game: chess", "14:7", "'bandit'"),
    ],
)
def test_each_error_is_reported_at_its_place(tmp_path, change, place, words):
    key = change.partition(":")[0]
    flat = SMALL.replace(
        "algorithms:\n  - exp3\n  - {name: dp_exp3_lap, epsilon: 1}\n  - exp3_tau\n", "algorithms: exp3\n"
    )
    lines = [line for line in flat.splitlines() if not line.startswith(f"{key}:")]
    original = [line.partition(":")[0] for line in flat.splitlines()]
    lines.insert(original.index(key) if key in original else len(lines), change)
    text = "\n".join(lines) + "\n"
    if key not in original:
        text = text.replace(change, "#\n#\n#\n#\n" + change)
    (found,) = [error for error in errors(tmp_path, text) if words in error]
    assert found.startswith(f"x.yaml:{place}: "), found


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("adversary:", "name at least one of"),
        ("algorithms:", "name at least one of"),
        ("checkpoints: 1e12", "less than or equal to 100000"),
        ("algorithms: {name: exp3_tau, tau: corollary_3.3, epsilon: .inf}", "less than or equal to"),
        ("algorithms: {name: exp3_tau, tau: corollary_3.3, epsilon: 1e-200}", "greater than or equal to"),
        ("algorithms: {name: dp_exp3_lap, epsilon: 1e-320}", "greater than or equal to"),
        ("adversary: {name: switching_costs, sigma: .inf}", "less than or equal to"),
        ("algorithms: &a [*a]", "nested more than 20 levels deep"),
        ("checkpoints: [1.5]", "checkpoints[0] should be an integer"),
        ("algorithms: {name: exp3, gamma: 50%}", "gamma should be a number, got '50%': write 0.5"),
        ("algorithms: {name: exp3, gamma: $5}", "gamma should be a number, got '$5': write 5"),
        ("algorithms: {name: exp3, gamma: 1/2}", "got '1/2': write a number like 0.5, 1e-3 or 2^16"),
        ("algorithms: {name: exp3_tau, tau: 3rd}", "got '3rd': write an integer like 65536, 1e5 or 2^16"),
        ("algorithms: {name: exp3_tau, tau: corollary_3.9}", "got 'corollary_3.9'\n"),
        ("horizon: 12,000", "horizon should be an integer, got '12,000': write 12000"),
        ("horizon: 0,5", "horizon should be an integer, got '0,5': write an integer like 65536, 1e5 or 2^16"),
        ("horizon: 10k", "horizon should be an integer, got '10k': write an integer like 65536, 1e5 or 2^16"),
        ("algorithms: {name: mini_batch, tau: 50, base: {name: mini_batch, tau: 50, base: exp3}}", "does not fit"),
    ],
)
def test_odd_values_are_errors_not_tracebacks(tmp_path, line, words):
    key = line.partition(":")[0]
    kept = [
        old for old in SMALL.splitlines() if not old.startswith((f"{key}:", "  -" if key == "algorithms" else "\0"))
    ]
    assert any(words in error for error in errors(tmp_path, "\n".join([*kept, line]) + "\n"))


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("EXP3", "exp3"),
        ("DP-EXP3-Lap", "dp_exp3_lap"),
        ("EXP3-τ", "exp3_tau"),
        ("EXP3++", "exp3_pp"),
        ("FTPL-Fréchet", "ftpl_frechet"),
        ("Thompson sampling", "thompson"),
        ("thompson-sampling", "thompson"),
        ("TSALLIS INF", "tsallis_inf"),
        ("Exp3", "exp3"),
    ],
)
def test_the_names_of_figures_are_known(word, meant):
    registry = Registry()
    names = registry.names("algorithms")
    assert suggestion(word, names, registry.displays("algorithms")) == f", did you mean '{meant}'?"


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [
        ("0", ["0.0", "1.0", "2.0"], "0.0"),
        ("1e3", ["10", "1000.0"], "1000.0"),
        ("2", ["12", "22"], None),
        ("7.0", ["1", "7"], "7"),
        ("基线", ["基准线", "exp3"], "基准线"),
    ],
)
def test_a_number_means_the_same_number_and_no_similar_text(word, known, meant):
    hint = "" if meant is None else f", did you mean '{meant}'?"
    assert suggestion(word, known) == f"{hint} (known: {', '.join(known)})"


def test_a_similar_word_is_suggested_without_a_long_list_and_any_other_gets_the_list():
    long = [f"curve_{letter}" for letter in "abcdefghijk"]
    assert suggestion("curve_aa", long) == ", did you mean 'curve_a'?"
    assert suggestion("epsilom", ["epsilon", "delta", "delta"]) == ", did you mean 'epsilon'? (known: epsilon, delta)"
    assert suggestion("nothing", long) == f" (known: {', '.join(long)})"


EVERY = """\
experiment: all
horizon: -5
trials: 100
adversary: [stochstic, {name: bernoulli, means: [0.1]}]
algorithms: [exp4, ftrl, {name: dp_exp3_lap, epsilon: -1, base: {name: exp3, gamma: 2}}, exp3, exp3]
plot: {slopes: true, bars: x}
checkpoints: [1, x]
claims:
  - {claim: "at round 7: exp3 <", source: x}
  - {claim: 3}
smoke: {horizon: 100, trials: 7}
"""


def test_errors_of_every_stage_are_reported_at_once(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text(EVERY)
    found = CliRunner().invoke(app, ["validate", str(path), "--json"])
    assert found.exit_code == 2
    lines = [error.splitlines()[0].replace(f"{path}:", "") for error in json.loads(found.stdout)[str(path)]]
    assert [(line.split(": ")[0], word in line) for line, word in zip(lines, WORDS, strict=True)] == [
        (place, True) for place in PLACES
    ]


EMPTY_LACKS = ["experiment", "horizon", "trials", "adversary", "algorithms"]
PLACES = ["2:10", "3:9", "4:13", "5:14", "5:20", "5:55", "5:85", "6:28", "7:18", "9:32"]
PLACES += ["10:5", "10:13", "4:24", "5:96", "11:31"]
WORDS = [
    *["greater than or equal to 1", "not a multiple of 24", "unknown adversary", "unknown algorithm", "plays the game"],
    *["epsilon should be greater", "gamma should be less", "bars should be an integer", "should be an integer"],
    *["expected an algorithm", "missing key 'source'", "should be a string"],  # of the claims
    *["1 means for 4 arms", "the same as", "not a multiple of 24"],  # with the horizon of --smoke
]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("trials: 9\nhorizon: 10\nadversary: x\nalgorithms: exp4\n", ["unknown adversary", "unknown algorithm"]),
        ("horizon: 9^9^9\nalgorithms: exp3\nclaims: [{claim: 'exp3 < exp5', source: x}]\n", ["no algorithm 'exp5'"]),
        ("horizon: 10\nalgorithms: exp3\nclaims: [3, {claim: 'exp3 <', source: x}]\n", ["expected an algorithm"]),
        ("game: linear\nset: 3\nhorizon: 10\nalgorithms: exp3\n", ["exp3 plays the game bandit", "set should be"]),
        ("game: contextual\nhorizon: x\nset: cube\nalgorithms: linucb\n", ["no 'set'", "missing key 'dimension'"]),
    ],
)
def test_what_can_be_judged_is_judged(tmp_path, text, words):
    found = errors(tmp_path, text)
    assert [word for word in words if not any(word in error for error in found)] == []


def test_an_empty_file_lacks_keys_and_has_no_line_to_show(tmp_path):
    lacking = [f"x.yaml:1:1: missing key '{key}'" for key in EMPTY_LACKS]
    assert errors(tmp_path, "") == errors(tmp_path, "\n# later\n", smoke=True) == lacking


def test_a_wrong_name_is_one_error_with_smoke_too(tmp_path):
    for name in ("../up", "12"):
        text = SMALL.replace("experiment: small", f"experiment: {name}")
        assert errors(tmp_path, text, smoke=True) == errors(tmp_path, text)


def test_what_depends_on_an_error_is_not_judged(tmp_path):
    """A claim about a misspelt algorithm's curve, or a floor of that name, is no second error."""
    text = SMALL.replace("  - exp3\n", "  - {name: exp3, gama: 1}\n").replace("horizon: 1000", "horizon: x")
    text += "plot: {against: epsilon, price: {floor: exp3}}\n"
    text += "claims: [{claim: 'at round 9: exp3[gamma=0.3] < exp3_tau', source: x}]\n"
    found = errors(tmp_path, text)
    assert len(found) == 2 and "horizon should be an integer" in found[0] and "unknown key 'gama'" in found[1]


def test_hundreds_of_errors_are_counted(tmp_path):
    found = errors(tmp_path, SMALL.replace("  - exp3\n", "  - exp4\n" * 150))
    assert len(found) == 101 and found[-1] == "x.yaml: and 50 more errors"


def many(n):
    return ", ".join(f"{i}e-6" for i in range(1, n + 1))


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (f"algorithms: {{name: exp3, gamma: [{many(10_001)}]}}", "more than 10,000 combinations"),
        (f"algorithms: [{{name: exp3, gamma: [{many(5_999)}]}}, tsallis_inf]", "12,000 curves, more than 10,000"),
        (f"algorithms: {{name: exp3, gamma: [{many(11)}]}}\ncheckpoints: 100000", "2,200,000 rows, more than"),
    ],
    ids=["combinations", "curves", "rows"],
)
def test_huge_sweeps_are_errors(tmp_path, lines, said):
    head = "experiment: x\nhorizon: 2^20\ntrials: 24\nadversary: [stochastic, switching_costs]\n"
    (found,) = errors(tmp_path, head + lines + "\n")
    assert said in found


def test_a_tuning_that_takes_long_is_an_error_of_validate(tmp_path, monkeypatch):
    path = tmp_path / "x.yaml"
    path.write_text(
        "experiment: x\ngame: contextual\nhorizon: 2^18\ndimension: 10\narms: 20\ntrials: 24\nadversary: sphere_arms\n"
        "algorithms:\n  - linucb\n"
        "  - {name: dp_linucb, delta: 1e-6, epsilon: 0.0123, noise: wishart, calibration: exact}\n"
    )
    for seconds in (0.3, 0.0):
        monkeypatch.setattr("privbandits_cli.cli.validate.PATIENCE", seconds)
        result = call("validate", path)
        assert result.exit_code == 2
        assert result.stderr == f"{path}: checking this takes too long for `validate`; `run --dry-run` has the time\n"


def test_a_tuning_without_solution_is_an_error_at_its_place(tmp_path, monkeypatch):
    def without_root(self, setting):
        from scipy import optimize

        return optimize.brentq(lambda x: x + 2, 0, 1)

    monkeypatch.setattr("privbandits_cli.algorithms.exp3_tau.Parameters.tuned", without_root)
    (found,) = errors(tmp_path, SMALL)
    assert found.startswith("x.yaml:11:5: cannot be tuned for T = 1000, K = 4: no value within reach solves its")


def test_a_guarantee_that_cannot_be_computed_is_an_error(small, monkeypatch):
    monkeypatch.setattr("privbandits_cli.algorithms.dp_exp3_lap.Parameters.guarantee", lambda self, setting: 1 / 0)
    with pytest.raises(ConfigError, match=r"algorithms\[1\]: dp_exp3_lap: its guarantee cannot be computed for T"):
        make_plan(load(small))


def test_a_shift_that_is_no_number_says_what_is_allowed(tmp_path):
    head = "experiment: x\ngame: contextual\nhorizon: 100\ndimension: 2\narms: 5\ntrials: 24\nadversary: sphere_arms\n"
    for value in ("rho_min=abc", "rho_min=-1", "rho_min=inf", "noise=0", "largest"):
        (found,) = errors(tmp_path, f"{head}algorithms: {{name: dp_linucb, epsilon: 1, delta: 0.1, shift: {value}}}\n")
        assert found.startswith("x.yaml:8:62: shift should be paper, optimal, rho_min=NUMBER or noise=NUMBER with")


def test_an_axis_takes_numbers(tmp_path):
    text = SMALL.replace("adversary: [stochastic, switching_costs]", "adversary: {name: bernoulli, means: [C1, C2]}")
    (found,) = errors(tmp_path, f"{text}plot: {{against: means}}\n")
    assert found.startswith("x.yaml:13:17: an axis takes numbers, and 'means' is swept over others: C1, C2")


def test_files_that_cannot_be_used_are_reported_with_all_other_errors(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("import nothing_here\n")
    text = SMALL.replace("  - exp3\n", "  - exp4\n  - mine\n  - gone\n")
    found = errors(tmp_path, f'{text}include: [mine.py, simplex, gone.py, "a\\0b.py", {"x" * 300}.py]\n')
    assert [error.splitlines()[0][:60].rstrip("x") for error in found] == [
        "x.yaml:9:5: unknown algorithm 'exp4', did you mean 'exp3'?",
        "mine.py:1: ModuleNotFoundError: No module named 'nothing_her",
        "x.yaml:15:20: simplex: the file name must be a Python name (",
        "x.yaml:15:29: gone.py: cannot be read: No such file or direc",
        "x.yaml:15:38: the text holds the control character \\x00: lea",
        "x.yaml:15:38: a\\x00b.py: the file name must be a Python name",
        "x.yaml:15:49: ",
    ]


def test_half_a_character_is_refused_wherever_it_stands(tmp_path):
    """UTF-8 has no place for U+D800: a CSV of this name could not be written."""
    text = SMALL.replace("  - exp3\n", '  - "\\ud800"\n') + '"x\\udfff": 1\n'
    found = errors(tmp_path, text, "title=a\udcff")
    assert [error.splitlines()[0].partition("(")[0] for error in found] == [
        r"override 'title=a\udcff': the text holds the control character \udcff: leave it out",
        r"x.yaml:9:5: the text holds the control character \ud800: leave it out",
        r"x.yaml:9:5: unknown algorithm '\ud800' ",
        r"x.yaml:13:1: the text holds the control character \udfff: leave it out",
        r"x.yaml:13:1: unknown key 'x\udfff' ",
    ]
