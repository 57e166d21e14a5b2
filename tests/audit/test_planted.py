"""Faults planted in a user's file, a private epsilon-greedy with a tree counter: the audit finds every one of them.

The game has 2^16 rounds. Some faults begin late, some on a high level of the tree, some use gains past the view.
"""

from pathlib import Path

import pytest

from privbandits_cli.actions.audit import audit_experiment
from privbandits_cli.experiment.config import load

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
    "a view of the plays": ({'Tree("means")': 'Tree("plays")'}, "through means of the state"),
}
FAST = ["argmax of exact sums", "noise forgotten at play 5,000"]


def audited(folder, text):
    (folder / "greedy.py").write_text(text, encoding="utf-8")
    (folder / "greedy.yaml").write_text(CONFIG, encoding="utf-8")
    experiment = load(folder / "greedy.yaml", include=[folder / "greedy.py"])
    (row,) = audit_experiment(experiment, alpha=0.001, budget=2**18, seed=0, test="bets")
    return row


@pytest.mark.parametrize(
    "name", [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in FAULTS]
)
def test_a_fault_in_a_users_file_is_found(tmp_path, name):
    changes, found = FAULTS[name]
    text = HONEST
    for right, wrong in changes.items():
        assert text.count(right) == 1
        text = text.replace(right, wrong)
    row = audited(tmp_path, text)
    assert row["verdict"] == "VIOLATION" and found in row["found"]


def test_the_honest_file_is_consistent_and_its_privacy_loss_is_exact(tmp_path):
    """An arm with 2^15 to 2^16 - 1 gains has nodes on 16 of the 17 levels, and its first gain is in all of them."""
    row = audited(tmp_path, HONEST)
    assert row["verdict"] == "CONSISTENT" and row["epsilon_seen"] == pytest.approx(16 / 17)
    assert "65,536 rounds" in row["played"] and not row["assumed"]


@pytest.mark.slow
def test_more_noise_than_needed_is_no_violation(tmp_path):
    row = audited(tmp_path, HONEST.replace(NOISE, f"1.5 * {NOISE}"))
    assert row["verdict"] == "CONSISTENT" and "larger than the claim needs" in row["found"]
