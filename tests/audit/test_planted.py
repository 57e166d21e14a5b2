"""Faults planted in a user's file, a private epsilon-greedy with a tree counter: the audit finds every one of them.

The game has 2^16 rounds. Some faults begin late, some on a high level of the tree, some use gains past the view.
"""

from pathlib import Path

import pytest

from privbandits_cli.actions.privacy import audits
from privbandits_cli.experiment.config import load
from privbandits_cli.games.steps import composition
from privbandits_cli.numerics.jit import PluginError
from tests.audit.mutants import CORRECT, MUTANTS
from tests.conftest import some

HONEST = Path(__file__).with_name("greedy.py").read_text(encoding="utf-8")
CONFIG = """\
experiment: greedy
game: bandit
horizon: 65536
arms: 4
trials: 24
adversary: [{name: bernoulli, means: [0.9, 0.6, 0.5, 0.4]}]
algorithms: [{name: greedy, epsilon: 1}]
"""
NOISE = "state.scale * rng.laplace"
BETTER = "state.means[i] > state.means[best]"
COUNTED = "    state.plays[arm] = n\n"
FIRST = "            t=1,\n"
LEADER = "    best = 0\n"
START = "    p = min("

# For each fault what is replaced in the honest file, and what the audit says of it.
FAULTS: dict[str, tuple[dict[str, str], str]] = {
    "argmax of exact sums": (
        {BETTER: "state.sums[i] / state.plays[i] > state.sums[best] / state.plays[best]"},
        "through sums of the state",
    ),
    "a quarter of the noise from level 2 up": ({NOISE: f"{NOISE} * (0.25 if n % 4 == 0 else 1.0)"}, "needs more noise"),
    "a quarter of the noise from level 4 up": (
        {NOISE: f"{NOISE} * (0.25 if n % 16 == 0 else 1.0)"},
        "needs more noise",
    ),
    "no noise after round 1,000": ({NOISE: f"{NOISE} * (0.0 if state.t > 1000 else 1.0)"}, "in round 1,001"),
    "a kept hint, used late and rarely": (
        {
            FIRST: FIRST + "            hint=0,\n",
            COUNTED: COUNTED + "    if gain > 0.5:\n        state.hint = arm\n",
            LEADER: LEADER + "    if state.t > 60000 and state.t % 500 == 0:\n        return state.hint\n",
        },
        "through hint of the state",
    ),
    "the first gain decides round 65,000": (
        {
            FIRST: FIRST + "            first=-1.0,\n",
            COUNTED: COUNTED + "    if state.t == 1:\n        state.first = gain\n",
            LEADER: LEADER + "    if state.t == 65000 and state.first > 0.5:\n        return 3\n",
        },
        "in round 65,000",
    ),
    "exploration by the exact sums": (
        {"state.explore / state.t": "state.explore / (1.0 + state.sums.sum())"},
        "through sums of the state",
    ),
    "close means are told apart by exact sums": (
        {BETTER: f"{BETTER} - 0.01 * (state.sums[i] * state.plays[best] > state.sums[best] * state.plays[i])"},
        "through sums of the state",
    ),
    "noise taken off again": (
        {BETTER: BETTER.replace("[i]", "[i] - state.noise[i, 0] / state.plays[i]")},
        "through noise of the state",
    ),
    "one noise for all nodes": (
        {
            FIRST: FIRST + "            kept=0.0,\n",
            COUNTED: COUNTED + "    if state.kept == 0.0:\n        state.kept = rng.laplace\n",
            NOISE: "state.scale * state.kept",
        },
        "no noise hides it",
    ),
    "noise drawn anew for every sum": ({COUNTED: COUNTED + "    state.noise[arm, :] = 0.0\n"}, "needs more noise"),
    "noise that depends on the gain": ({NOISE: f"{NOISE} * (0.5 if gain > 0.5 else 1.0)"}, "depends on the gains"),
    "noise forgotten at play 5,000": (
        {COUNTED: COUNTED + "    if n == 5000:\n        state.noise[arm, :] = 0.0\n"},
        "needs more noise",
    ),
    "noise cut off at 3": ({"rng.laplace": "min(3.0, max(-3.0, rng.laplace))"}, "no noise hides it"),
    "noise in half of the rounds": ({NOISE: f"{NOISE} * (rng.uniform < 0.5)"}, "no noise hides it"),
    "noise of the round's number": ({NOISE: "state.scale * np.sin(1.0 * n)"}, "no noise hides it"),
    "no noise for the last arm": ({NOISE: f"{NOISE} * (arm != 3)"}, "no noise hides it"),
    "one node without noise": ({NOISE: f"{NOISE} * (n != 8192)"}, "no noise hides it"),
    "another parameter for epsilon": ({"levels / self.epsilon": "levels / self.explore"}, "needs more noise"),
    "ln T for the levels": (
        {"levels / self.epsilon": "float(np.log(setting.horizon)) / self.epsilon"},
        "needs more noise",
    ),
    "gains counted twice": ({"state.sums[arm] += gain": "state.sums[arm] += 2.0 * gain"}, "needs more noise"),
    "a view of the plays": ({'Noisy("means")': 'Noisy("plays")'}, "through means of the state"),
}
FAULTS |= {  # with random numbers used twice, and with what the games of an audit must not take for granted
    "the arm tells the number of the noise": (
        {LEADER: "    if state.t > 60000 and rng.laplace > 7.0:\n        return 3\n" + LEADER},
        "the arm depends on the random number that hides its gain",
    ),
    "choose keeps the number of the noise": (
        {
            FIRST: FIRST + "            z=0.0,\n            last=0,\n",
            START: "    z, last = state.z, state.last\n    state.z = rng.laplace\n" + START,
            BETTER: BETTER.replace("[i]", "[i] - (state.scale * z / state.plays[i] if i == last else 0.0)"),
            COUNTED: COUNTED + "    state.last = arm\n",
        },
        "through z of the state",
    ),
    "exact sums beside a large constant": (
        {
            "sums=np.zeros(k)": "sums=np.append(np.zeros(k), 1e15)",
            BETTER: "state.sums[i] / state.plays[i] > state.sums[best] / state.plays[best]",
        },
        "through sums of the state",
    ),
    "a hint beside a large constant": (
        {
            FIRST: FIRST + "            hint=1e11,\n",
            COUNTED: COUNTED + "    state.hint = 1e11 + gain\n",
            LEADER: "    if state.t % 100 == 0 and state.hint > 1e11 + 0.5:\n        return 3\n" + LEADER,
        },
        "through hint of the state",
    ),
    "a hint of gains of exactly 0.5": (
        {
            FIRST: FIRST + "            hint=0,\n",
            COUNTED: COUNTED + "    if gain == 0.5:\n        state.hint = arm + 1\n",
            LEADER: "    if state.hint > 0:\n        return state.hint - 1\n" + LEADER,
        },
        "through hint of the state",
    ),
    "a range that gains may leave": (
        {
            "class Parameters": "def small(state: Record):\n    return 0.0, 0.1\n\n\nclass Parameters",
            'Noisy("means")': 'Noisy("means", canary=small)',
            "levels / self.epsilon": "0.1 * levels / self.epsilon",
        },
        "needs more noise",
    ),
    "less noise for an arm that is rarely the best": (
        {NOISE: f"{NOISE} * (0.7 if arm == 2 and state.t > 50000 else 1.0)"},
        "needs more noise",
    ),
    "a hint from round 2, used in round 45 and seldom then": (
        {
            FIRST: FIRST + "            hint=0,\n",
            COUNTED: COUNTED + "    if state.t == 2:\n        state.hint = int(gain > 0.9)\n",
            LEADER: LEADER + "    if state.t == 45:\n        return state.hint\n",
        },
        "in round 45, two games",
    ),
    "half of the noise of one node, with a small δ": (
        {"sensitivity, 0.0": "sensitivity, 1e-9", NOISE: f"{NOISE} * (0.25 if n == 8192 else 1.0)"},
        "costs at least δ = ",
    ),
    "a gain in the low digits beside a 1": (
        {
            FIRST: FIRST + "            pair=np.array([1.0, 0.0]),\n",
            COUNTED: COUNTED + "    state.pair[1] = 1e-14 * gain\n",
            LEADER: LEADER + "    if state.pair[1] > 5e-15:\n        return 3\n",
        },
        "through pair of the state",
    ),
    "a gain in the last digits of a number": (
        {
            FIRST: FIRST + "            weight=1.0,\n",
            COUNTED: COUNTED + "    if state.t == 2:\n        state.weight = 1.0 + 1e-13 * round(gain)\n",
            LEADER: LEADER + "    if state.t > 20 and state.t % 7 == 0 and state.weight > 1.0:\n        return 3\n",
        },
        "through weight of the state",
    ),
    "gains that act most in the middle of their range": (
        {"state.sums[arm] += gain": "state.sums[arm] += gain + 4.0 * gain * (1.0 - gain)"},
        "needs more noise",
    ),
    "a hint of gains outside the range that the view names": (
        {
            "class Parameters": "def small(state: Record):\n    return 0.0, 0.1\n\n\nclass Parameters",
            'Noisy("means")': 'Noisy("means", canary=small)',
            FIRST: FIRST + "            hint=0,\n",
            COUNTED: COUNTED + "    state.hint = arm + 1 if gain > 0.5 else 0\n",
            LEADER: LEADER + "    if state.t % 3 == 0 and state.hint > 0:\n        return k - state.hint\n",
        },
        "through hint of the state",
    ),
    "noise of one arm drawn anew after 3,000 plays": (
        {COUNTED: COUNTED + "    if arm == 2 and n > 3000:\n        state.noise[arm, :] = 0.0\n"},
        "needs more noise",
    ),
    "a tree that is declared to be local": (
        {"    private = True": "    private = True\n    local = True"},
        "needs other noise in round",
    ),
    "too little noise for its δ": (
        {"sensitivity, 0.0": "sensitivity, 1e-9", NOISE: f"{NOISE} * (0.05 if n == 8192 else 1.0)"},
        "needs more noise",
    ),
}
UNIFORM_NOISE = {
    '("uniform", "laplace")': '("uniform",)',
    NOISE: "state.scale * (np.log(2 * u + 1e-300) if u < 0.5 else -np.log(2 - 2 * u + 1e-300))",
    COUNTED: COUNTED + "    u = rng.uniform\n",
}
DIGITS = "arms by the last digits of the noisy means"
HONEST_VARIANTS: dict[str, dict[str, str]] = {
    DIGITS: {LEADER: "    if state.t > k:\n        return int(np.abs(state.means).sum() * 1e15) % k\n" + LEADER},
    "more noise later": {NOISE: f"{NOISE} * (2.0 if state.t > 30000 else 1.0)"},
    "a share of ε for each level": {NOISE: f"{NOISE} * (2.0 if n % 2 == 1 else 32.0 / 33.0)"},
    "noise drawn by choose": {
        FIRST: FIRST + "            z=0.0,\n",
        START: "    state.z = rng.laplace\n" + START,
        NOISE: "state.scale * state.z",
    },
}


def changed(changes, text=HONEST):
    """A file with these changes, each of which must have its place."""
    for right, wrong in changes.items():
        assert text.count(right) == 1
        text = text.replace(right, wrong)
    return text


def audited(folder, text, config=CONFIG):
    (folder / "greedy.py").write_text(text, encoding="utf-8")
    (folder / "greedy.yaml").write_text(config, encoding="utf-8")
    experiment = load(folder / "greedy.yaml", include=[folder / "greedy.py"])
    (row,) = audits(experiment, alpha=0.001, budget=2**18, seed=0)
    return row


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_in_a_users_file_is_found(tmp_path, name):
    changes, found = FAULTS[name]
    row = audited(tmp_path, changed(changes))
    assert row["verdict"] == "VIOLATION" and found in row["found"]


SHORT = CONFIG.replace("65536", "32").replace("epsilon: 1", "epsilon: 1, explore: 0")  # for plain Python
SHORTEST = SHORT.replace("32", "12")


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize(
    "name",
    some(
        [
            "argmax of exact sums",
            "gains counted twice",
            "no noise for the last arm",
            "noise that depends on the gain",
            "a gain in the low digits beside a 1",
            "a gain in the last digits of a number",
        ],
        "argmax of exact sums",
        "a gain in the last digits of a number",
    ),
)
def test_a_fault_in_a_users_file_is_found_in_a_short_game(tmp_path, name):
    changes, found = FAULTS[name]
    row = audited(tmp_path, changed(changes), SHORT)
    assert row["verdict"] == "VIOLATION" and found in row["found"]
    assert row["epsilon_seen"] is None or row["epsilon_seen"] > 1.0  # of a leak none is measured


@pytest.mark.usefixtures("plainly")
def test_a_tree_that_is_declared_to_be_local_is_found_in_a_short_game(tmp_path):
    changes, found = FAULTS["a tree that is declared to be local"]
    row = audited(tmp_path, changed(changes), SHORTEST)
    assert row["verdict"] == "VIOLATION" and found in row["found"]


@pytest.mark.slow
def test_the_honest_file_is_consistent_and_its_privacy_loss_is_exact(tmp_path):
    """An arm with 2^15 to 2^16 - 1 gains has nodes on 16 of the 17 levels, and its first gain is in all of them."""
    row = audited(tmp_path, HONEST)
    assert row["verdict"] == "CONSISTENT" and row["epsilon_seen"] == pytest.approx(16 / 17)
    assert "65,536 rounds" in row["played"] and row["assumed"].startswith("gains cost at most what the ")


@pytest.mark.slow
def test_more_noise_than_needed_is_no_violation(tmp_path):
    row = audited(tmp_path, HONEST.replace(NOISE, f"1.5 * {NOISE}"))
    assert row["verdict"] == "CONSISTENT" and row["epsilon_seen"] == pytest.approx(16 / 17 / 1.5)


@pytest.mark.slow
def test_clipped_values_are_not_audited(tmp_path):
    """Clipping after the noise costs nothing, but it hides the noise from the audit."""
    means = "state.scale * rng.laplace)) / n"
    assert means in HONEST
    clip = f"{means}\n    state.means[arm] = min(1.0, max(0.0, state.means[arm]))"
    row = audited(tmp_path, HONEST.replace(means, clip))
    assert row["verdict"] == "NOT AUDITABLE" and "change it in another field or in `choose`" in row["found"]


@pytest.mark.usefixtures("plainly")
def test_noise_of_uniform_numbers_is_not_audited(tmp_path):
    """Here the same number also explores."""
    row = audited(tmp_path, changed(UNIFORM_NOISE), SHORTEST)
    assert row["verdict"] == "NOT AUDITABLE" and "make it of `rng.laplace`" in row["found"]


def test_values_of_too_few_digits_are_refused(tmp_path):
    with pytest.raises(PluginError, match=r"`values` are float32, .* keep them as float64"):
        audited(tmp_path, HONEST.replace("means=np.zeros(k)", "means=np.zeros(k, np.float32)"))


@pytest.mark.slow
@pytest.mark.parametrize("name", HONEST_VARIANTS)
def test_another_honest_file_is_consistent(tmp_path, name):
    row = audited(tmp_path, changed(HONEST_VARIANTS[name]))
    assert row["verdict"] == "CONSISTENT", row["found"]
    assert ("differ by rounding" in row["assumed"]) == (name == DIGITS)


@pytest.mark.slow
@pytest.mark.usefixtures("plainly")
def test_arms_that_rounding_changes_are_not_accused(tmp_path):
    """Two games with equal releases differ in their last digits; here these decide arms, which is no violation."""
    row = audited(tmp_path, changed(HONEST_VARIANTS[DIGITS]), SHORTEST)
    assert row["verdict"] == "CONSISTENT", row["found"]
    assert "numbers of a field that differ by less than 1e-12 of its largest one differ by rounding" in row["assumed"]


def test_the_changes_of_every_mutant_have_a_place_and_are_python():
    """`make test-all` plays all mutants; here each is made, so that a change of the package cannot strand one."""
    for mutant in MUTANTS:
        modules = composition(CORRECT[mutant.subject].make())
        assert mutant.changed(modules) != modules or not mutant.changes
