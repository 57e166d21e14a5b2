"""The audit of a contextual learner in a user's own file: greedy, with a tree of its own; and faults planted in it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from privbandits_cli.cli import app
from tests.conftest import some

OWN = '''\
"""The arm with the largest <θ~, x>, where θ~ = V^-1 u~ has Gaussian noise from a tree."""

import math

import numpy as np
from numpy.random import Generator

from privbandits_cli.accounting import gaussian
from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.games import contextual, views
from privbandits_cli.games.contextual import Floats, Setting
from privbandits_cli.numerics.jit import Record, Records, record


def levels(setting: Setting) -> int:
    return 1 + math.ceil(math.log2(setting.horizon))


class Parameters(contextual.Algorithm):
    """ε and δ."""

    private = True
    epsilon: float = 1.0
    delta: float = 0.1

    def sigma(self, setting: Setting) -> float:
        return math.sqrt(levels(setting)) * setting.known().row_norm() ** 2 / gaussian.mu_of(self.epsilon, self.delta)

    def state(self, setting: Setting) -> Records:
        d, m = setting.known().dimension, levels(setting)
        return record(
            t=0, hint=0.0, sigma=self.sigma(setting), ridge=20 * math.sqrt(m * d) * self.sigma(setting),
            noise=np.zeros((m + 1, d, d + 1)), sums=np.zeros((d, d + 1)), inverse=np.eye(d), theta=np.zeros(d),
        )

    def bounds(self, setting, delta, sensitivity=1.0):
        proved = Guarantee(self.epsilon, self.delta, "a tree of Gaussian noise", "proved")
        return [proved] if delta >= self.delta else []

    def view(self, setting):
        return views.Noisy(noisy)


def noisy(state: Record) -> Floats:
    return state.sums + state.noise[0]


def choose(state: Record, arms: Floats, rng: Generator) -> int:
    d, t, level = len(state.theta), state.t, 0
    if t == 0:
        level = len(state.noise) - 2
    else:
        while t % 2 == 0:
            t //= 2
            level += 1
    for j in range(level, -1, -1):
        scale = state.sigma
        for r in range(d):
            for c in range(r + 1):
                wide = math.sqrt(2.0) if r == c else 1.0
                state.noise[j, r, c] = state.noise[j + 1, r, c] + wide * scale * rng.standard_normal()
            state.noise[j, r, d] = state.noise[j + 1, r, d] + scale * rng.standard_normal()
    v = np.zeros((d, d))
    for r in range(d):
        for c in range(r + 1):
            v[r, c] = v[c, r] = state.sums[r, c] + state.noise[0, r, c]
        v[r, r] += state.ridge
    state.inverse[:] = np.linalg.inv(v)
    state.theta[:] = state.inverse @ (state.sums[:, d] + state.noise[0, :, d])
    arm = int(np.argmax(arms.T @ state.theta))
    return arm


def update(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    for r in range(len(x)):
        for c in range(len(x)):
            state.sums[r, c] += x[r] * x[c]
        state.sums[r, len(x)] += x[r] * reward
    state.t += 1
'''

CONFIG = """\
experiment: own
game: contextual
horizon: 65536
dimension: 3
arms: 10
trials: 24
seed: 1
checkpoints: 4
adversary: sphere_arms
algorithms: [own]
"""

FAULTS = {
    "exact sums past the view": (
        "    arm = int(np.argmax(arms.T @ state.theta))",
        "    arm = int(np.argmax(arms.T @ (state.sums[:, d] + 1e-9)))",
        "the field `sums` of the state carries them",
    ),
    "a hint, late": (
        "    return arm",
        "    state.hint += state.sums[0, d]\n    return arm if state.t < 1000 or state.hint > 0.0 else 0",
        "the field `hint` of the state carries them",
    ),
    "a hint of middle rewards": (
        "    state.t += 1\n",
        "    state.t += 1\n    if abs(reward) < 0.5:\n        state.ridge *= 0.5\n",
        "another arm is played",
    ),
    "deep levels": (
        "        scale = state.sigma",
        "        scale = state.sigma * (0.25 if j >= 4 else 1.0)",
        "a datum costs ε = ",
    ),
    "no late noise": (
        "        scale = state.sigma",
        "        scale = state.sigma * (0.0 if state.t >= 1000 else 1.0)",
        "in round 1,001 what is released depends on the data",
    ),
    "noise by the data": (
        "        scale = state.sigma",
        "        scale = state.sigma / (1.0 + 0.1 * max(0.0, state.sums[0, d]))",
        "the noise depends on the data",
    ),
    "the counter restarts": (
        "    state.t += 1\n",
        "    state.t = (state.t + 1) % 50\n",
        "a datum costs ε = ",
    ),
    "noise of another ε": (
        "gaussian.mu_of(self.epsilon,",
        "gaussian.mu_of(10 * self.epsilon,",
        "a datum costs ε = ",
    ),
    "the levels forgotten": ("math.sqrt(levels(setting)) * setting", "setting", "a datum costs ε = "),
}


def audited(tmp_path, text, config=CONFIG, budget=2**18):
    Path(tmp_path / "own.py").write_text(text)
    Path(tmp_path / "small.yaml").write_text(config)
    files = [str(tmp_path / "small.yaml"), "--include", str(tmp_path / "own.py")]
    result = CliRunner().invoke(app, ["audit", *files, "--budget", str(budget), "--json"])
    assert result.exit_code in (0, 4), result.stderr
    (row,) = json.loads(result.stdout)
    return row


FEW = CONFIG.replace("65536", "16")  # rounds, for plain Python


@pytest.mark.usefixtures("plainly")
def test_an_honest_learner_is_not_accused_in_a_short_game(tmp_path):
    found = audited(tmp_path, OWN, FEW, budget=2**10)
    assert found["verdict"] == "CONSISTENT", found["found"]
    assert "4 of 16 rounds" in found["played"] and found["assumed"] == ""


ONE_BY_ONE = "wide * scale * rng.standard_normal()", "+ scale * rng.standard_normal()"
AT_ONCE = "wide * scale * z[c]", "+ scale * z[r + 1]"


@pytest.mark.slow
def test_several_numbers_may_be_drawn_at_once(tmp_path):
    """They are those that are drawn one by one."""
    text = OWN.replace("            for c in", "            z = rng.standard_normal(r + 2)\n            for c in", 1)
    for one, other in zip(ONE_BY_ONE, AT_ONCE, strict=True):
        assert one in text
        text = text.replace(one, other)
    rows = [audited(tmp_path, own, FEW, budget=2**10) for own in (OWN, text)]
    assert rows[0]["verdict"] == "CONSISTENT"
    assert [rows[1][key] for key in ("verdict", "epsilon_seen")] == [
        rows[0][key] for key in ("verdict", "epsilon_seen")
    ]


@pytest.mark.slow
def test_an_honest_learner_is_not_accused_in_the_configured_game(tmp_path):
    found = audited(tmp_path, OWN)
    assert found["verdict"] == "CONSISTENT", found["found"]
    assert "3 of 65,536 rounds" in found["played"] and found["assumed"].startswith("records cost at most what the ")


SHOWN = ["exact sums past the view", "a hint of middle rewards", "noise by the data"]  # by a short game, too


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize("fault", some(SHOWN, "noise by the data"))
def test_a_planted_fault_is_found_in_a_short_game(tmp_path, fault):
    check_fault(tmp_path, fault, FEW)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(tmp_path, fault):
    check_fault(tmp_path, fault, CONFIG)


def check_fault(tmp_path, fault, config):
    right, wrong, words = FAULTS[fault]
    assert OWN.count(right) == 1
    found = audited(tmp_path, OWN.replace(right, wrong), config)
    assert found["verdict"] == "VIOLATION" and words in found["found"], found["found"]


@pytest.mark.slow
def test_a_learner_that_keeps_its_sums_with_their_noise_is_not_accused(tmp_path):
    text = OWN.replace("noise=np.zeros", "old=np.zeros((d, d + 1)), noise=np.zeros").replace(
        "    v = np.zeros((d, d))\n",
        "    state.sums += state.noise[0] - state.old\n    state.old[:] = state.noise[0]\n    v = np.zeros((d, d))\n",
    )
    text = text.replace("state.sums[r, c] + state.noise[0, r, c]", "state.sums[r, c]")
    text = text.replace("(state.sums[:, d] + state.noise[0, :, d])", "state.sums[:, d].copy()")
    text = text.replace("views.Noisy(noisy)", 'views.Noisy("sums")')
    found = audited(tmp_path, text)
    assert found["verdict"] == "CONSISTENT", found["found"]
