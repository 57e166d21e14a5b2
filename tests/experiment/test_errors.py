"""Every error of a config at once, each at its place."""

import pytest

from privbandits_cli.experiment.errors import suggestion
from tests.conftest import SMALL
from tests.experiment.test_config import PLANTED, errors


def test_seven_planted_errors_are_found_at_their_places(tmp_path):
    found = errors(tmp_path, PLANTED)
    assert [error.splitlines()[0].split(" (known")[0] for error in found] == [
        "x.yaml:3:1: unknown key 'horizn', did you mean 'horizon'?",
        "x.yaml:4:9: 100 trials are not a multiple of 24 groups (summary.groups);"
        " take 96 or 120, or `summary: {centre: mean}`",
        "x.yaml:6:1: duplicate key 'seed', first on line 5",
        "x.yaml:7:7: arms should be an integer or should be 'd^2', got 'many'",
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
        ("trials: true", "4:9", "should be an integer"),
        ("experiment: ../up", "1:13", "pattern"),
        ("adversary: []", "7:12", "name at least one of"),
        ("algorithms: {name: exp3, gamma: [0.1, 2]}", "8:39", "less than or equal to 1, got 2"),
        ("algorithms: {name: exp3, gamma: []}", "8:33", "empty list"),
        ("algorithms: [exp3, exp3]", "8:20", "the same as algorithms[0]"),
        ("algorithms: dp_lambda_lap", "8:13", "missing key 'epsilon'"),
        ("algorithms: {name: dp_lambda_lap, epsilon: 1, base: exp4}", "8:53", "did you mean 'exp3'"),
        ("algorithms: {name: dp_exp3_lap, base: {name: exp3, gama: 1}}", "8:52", "did you mean 'gamma'"),
        ("algorithms: {name: exp3_tau, tau: corollary_3.3}", "8:13", "needs an epsilon"),
        ("algorithms: {name: exp3_tau, tau: 10000}", "8:13", "does not fit into the horizon"),
        ("algorithms: {name: dp_exp3_lap, epsilon: corollary_3.1}", "8:42", "'corollary_3.2'"),
        ("checkpoints: [1, 2000]", "6:18", "beyond the horizon"),
        ("checkpoints: {count: 8, spacing: cubic}", "6:34", "'linear' or 'log'"),
        ("summary: {groups: 5}", "4:9", "not a multiple of 5 groups"),
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
        ("algorithms: &a [*a]", "refers to itself"),
        ("checkpoints: [1.5]", "checkpoints[0] should be an integer"),
        ("algorithms: {name: mini_batch, tau: 50, base: {name: mini_batch, tau: 50, base: exp3}}", "does not fit"),
    ],
)
def test_odd_values_are_errors_not_tracebacks(tmp_path, line, words):
    key = line.partition(":")[0]
    kept = [
        old for old in SMALL.splitlines() if not old.startswith((f"{key}:", "  -" if key == "algorithms" else "\0"))
    ]
    assert any(words in error for error in errors(tmp_path, "\n".join([*kept, line]) + "\n"))


def test_a_similar_word_is_suggested_without_a_long_list_and_any_other_gets_the_list():
    long = [f"curve_{letter}" for letter in "abcdefghijk"]
    assert suggestion("curve_aa", long) == ", did you mean 'curve_a'?"
    assert suggestion("epsilom", ["epsilon", "delta", "delta"]) == ", did you mean 'epsilon'? (known: epsilon, delta)"
    assert suggestion("nothing", long) == f" (known: {', '.join(long)})"
