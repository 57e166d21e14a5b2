"""A user's own private linear learners, honest and with planted faults, audited by the view that they declare."""

import json

import pytest
from typer.testing import CliRunner

from privbandits_cli.cli import app
from tests.conftest import some

EXPERIMENT = """\
experiment: own
game: linear
set: simplex
dimension: 3
horizon: 2^16
trials: 24
adversary: iid_uniform
algorithms: [own]
"""

LEADER = '''\
"""The leader of noisy sums: a tree counter for all experts together, its noise on every node."""

import numpy as np

from privbandits_cli.accounting.releases import Release, noised
from privbandits_cli.games import linear, views
from privbandits_cli.games.linear import Draws, Setting
from privbandits_cli.numerics.jit import record


class Parameters(linear.Algorithm):
    """The privacy."""

    private = True
    epsilon: float = 1.0
    delta: float = 0.1

    def levels(self, setting: Setting):
        return int(setting.horizon - 1).bit_length()

    def state(self, setting: Setting):
        n, levels = setting.n_arms, self.levels(setting)
        kept = record(sums=np.zeros(n), noisy=np.zeros(n), nodes=np.zeros((levels, n)))
        return record(t=0, scale=levels * n / self.epsilon, hint=0.0, kept=kept)

    def draws(self, setting, rounds):
        return {"laplace": np.full_like(rounds, setting.n_arms)}

    def bounds(self, setting, delta, sensitivity=1.0):
        one = Release("pure", self.epsilon * sensitivity)
        return noised(one, 0.0, "each loss in one node of a level", "node", "all noisy sums", surely=one)

    def view(self, setting):
        return views.Noisy("kept.noisy")


def choose(state, x: np.ndarray, rng: Draws) -> None:
    x[:] = 0.0
    x[np.argmin(state.kept.noisy)] = 1.0


def update(state, losses: np.ndarray, rng: Draws) -> None:
    kept = state.kept
    state.t += 1
    level = 0
    while state.t >> level & 1 == 0:
        level += 1
    if level < len(kept.nodes):
        kept.sums[:] += losses
        kept.nodes[:level] = 0.0
        kept.nodes[level] = state.scale * rng.laplace
        kept.noisy[:] = kept.sums
        for j in range(len(kept.nodes)):
            kept.noisy[:] += kept.nodes[j]
'''

FEW = 24  # rounds: plain Python plays them
LENGTHS = [FEW, pytest.param(2**16, marks=pytest.mark.slow)]

NOISE, LEAST = "state.scale * rng.laplace\n", "np.argmin(state.kept.noisy)"
SCALE = "scale=levels * n / self.epsilon"

LEADER_FAULTS = {
    "choose by the exact sums": ("losses act through kept.sums of", (LEAST, "np.argmin(state.kept.sums)")),
    "the same after round 60,000": (
        "losses act through kept.sums of",
        (LEAST, "np.argmin(state.kept.noisy if state.t < 60_000 else state.kept.sums)"),
    ),
    "a hint of the last loss": (
        "in round 2, two games with the same prefixes play different points: losses act through hint of",
        ("x[:] = 0.0", "x[:] = state.hint"),
        ("    state.t += 1", "    state.t += 1\n    state.hint = 1e-4 * losses[0]"),
    ),
    "the same once in 10,000 rounds": (
        "losses act through hint of",
        (LEAST, f"0 if state.hint > 0.1 and state.t % 10_000 == 0 else {LEAST}"),
        ("    state.t += 1", "    state.t += 1\n    state.hint = losses[0]"),
    ),
    "a hint of losses of exactly 0.5": (
        "losses act through hint of",
        (LEAST, f"0 if state.hint > 0.0 else {LEAST}"),
        ("    state.t += 1", "    state.t += 1\n    if losses[0] == 0.5:\n        state.hint = 1.0"),
    ),
    "a quarter from level 2 up": ("the loss of round 1 costs", (NOISE, "(0.25 if level > 1 else 1.0) * " + NOISE)),
    "a quarter on the deepest level": (
        "the loss of round 1 costs ε = 1.187, where 1 is",
        (NOISE, "(0.25 if level == 15 else 1.0) * " + NOISE),
    ),
    "none after round 1,000": ("the loss of round 1,001", (NOISE, "(1.0 if state.t <= 1000 else 0.0) * " + NOISE)),
    "none in one round": (
        "no noise of its own hides the loss of round 12,345",
        (NOISE, "(0.0 if state.t == 12_345 else 1.0) * " + NOISE),
    ),
    "less on the last coordinate": (
        "costs ε = 1.333, where 1 is allowed",
        (NOISE, NOISE + "        kept.nodes[level, -1] *= 0.5\n"),
    ),
    "in proportion to the loss": ("", (NOISE, "np.abs(losses).max() * " + NOISE)),
    "nodes are forgotten": (
        "costs ε = 1.375, where 1 is allowed",  # 22 nodes in place of 16
        ("kept.nodes[:level] = 0.0", "kept.nodes[: 16 if state.t == 5000 else level] = 0.0"),
    ),
    "one level only": ("costs ε = 16", (SCALE, "scale=n / self.epsilon")),
    "delta for epsilon": ("costs ε = 160", (SCALE, "scale=self.delta * n / self.epsilon")),
    "the sign of the noise": ("is linear in `rng.laplace`", (NOISE, "state.scale * np.sign(rng.laplace)\n")),
    "clipped noise": (
        "is no multiple of `rng.laplace`",
        (NOISE, "state.scale * np.minimum(2.0, rng.laplace)\n"),
    ),
    "no noise": ("the loss of round 1", (NOISE, "0.0 * " + NOISE)),
    "each loss counted twice": ("", ("sums[:] += losses", "sums[:] += 2 * losses")),
    "numbers used twice": (
        "the point depends on a random number that hides losses later",
        (LEAST, "np.argmin(state.kept.noisy + rng.laplace)"),
    ),
}

GUESSER = '''\
"""Steps along estimated losses, which are noisy: each play is a random axis away from a point that moves slowly."""

import numpy as np

from privbandits_cli.accounting.releases import Release, noised
from privbandits_cli.games import linear, views
from privbandits_cli.games.linear import Draws, Setting
from privbandits_cli.numerics.jit import record


class Parameters(linear.Algorithm):
    """The privacy."""

    private = True
    feedback = "bandit"
    epsilon: float = 1.0

    def state(self, setting: Setting):
        return record(t=0, scale=2 / self.epsilon, axis=0, sign=1.0, drift=np.zeros(setting.n_arms))

    def draws(self, setting, rounds):
        return {"uniform": np.ones_like(rounds), "laplace": np.ones_like(rounds)}

    def bounds(self, setting, delta, sensitivity=1.0):
        one = Release("pure", self.epsilon * sensitivity)
        return noised(one, 0.0, "each loss released once", "noisy loss", "all noisy losses", surely=one)

    def view(self, setting):
        return views.Release()


def choose(state, x: np.ndarray, rng: Draws) -> None:
    drawn = int(2 * len(x) * rng.uniform[0])
    state.axis = drawn // 2
    state.sign = 1.0 - 2.0 * (drawn % 2)
    x[:] = -0.5 * state.drift / (1.0 + np.sqrt((state.drift**2).sum()))
    x[state.axis] += 0.5 * state.sign


def released(state, x: np.ndarray, loss: float, rng: Draws) -> float:
    return loss + state.scale * rng.laplace[0]


def update(state, x: np.ndarray, loss: float, rng: Draws) -> None:
    state.t += 1
    state.drift[state.axis] += 0.01 * state.sign * released(state, x, loss, rng)
'''

NUMBER, FED = "state.scale * rng.laplace[0]", "released(state, x, loss, rng)\n"

GUESSER_FAULTS = {
    "the true loss is used": ("in round 2, two games", (FED, "loss\n")),
    "the same after round 60,000": (
        "in round 60,002, two games with the same releases play different points: losses act through drift of",
        (FED, "(loss if state.t > 60_000 else released(state, x, loss, rng))\n"),
    ),
    "none after round 1,000": ("in round 1,001, two games", (NUMBER, NUMBER + " * (state.t < 1000)")),
    "in proportion to the loss": ("depends on the loss", (NUMBER, NUMBER + " * abs(loss)")),
    "half of the noise": ("of the scale that ε takes", ("scale=2 / self.epsilon", "scale=1 / self.epsilon")),
    "clipped noise": ("no noise hides the loss of round 1", (NUMBER, "state.scale * min(1.0, rng.laplace[0])")),
    "numbers used twice": (
        "in round 1, two games with the same releases play different points: losses act through several",
        ("0.5 * state.sign", "0.5 * state.sign + 0.01 * rng.laplace[0]"),
    ),
}


@pytest.fixture
def by_length(request, horizon):
    """Short games are plain Python."""
    if horizon <= FEW:
        request.getfixturevalue("plainly")


def audited(folder, text, experiment=EXPERIMENT, horizon=2**16):
    """The only row of the audit of this file."""
    experiment = experiment.replace("2^16", str(horizon))
    (folder / "own.py").write_text(text)
    (folder / "own.yaml").write_text(experiment)
    words = ["audit", str(folder / "own.yaml"), "--include", str(folder / "own.py"), "--json"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code in (0, 4), result.stderr
    return json.loads(result.stdout)[0]


def broken(text, changes):
    """The file with these changes, each of which must have its place."""
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text


ON_THE_BALL = EXPERIMENT.replace("simplex", "sphere").replace("linear\n", "linear\nfeedback: bandit\n")


@pytest.mark.usefixtures("by_length")
@pytest.mark.parametrize("horizon", LENGTHS)
@pytest.mark.parametrize(("text", "experiment"), [(LEADER, EXPERIMENT), (GUESSER, ON_THE_BALL)])
def test_an_honest_file_is_consistent(tmp_path, text, experiment, horizon):
    found = audited(tmp_path, text, experiment, horizon)
    assert found["verdict"] == "CONSISTENT", found["found"]
    least = 0.5 if (text, horizon) == (GUESSER, FEW) else 0.85  # its first points have the length 1/2
    assert least < found["epsilon_seen"] < 1 + 1e-9  # exact for the points that were played
    assert f"{horizon:,} rounds, N = 3" in found["played"]


PER_LEVEL = [  # numbers for every level are drawn in every round
    ("np.full_like(rounds, setting.n_arms)", "np.full_like(rounds, setting.n_arms * self.levels(setting))"),
    (NOISE, "state.scale * rng.laplace[level * len(losses) : (level + 1) * len(losses)]\n"),
]
LOCAL = [  # every loss has noise of its own
    (SCALE, "scale=n / self.epsilon"),
    ("kept.nodes[:level] = 0.0", "kept.noisy[:] = 0.0"),
    ("kept.nodes[level] = ", "kept.nodes[0] += "),
]
IN_CHOOSE = [  # the node of a round is closed in the next one
    ("    x[:] = 0.0", "    close(state, rng)\n    x[:] = 0.0"),
    ("def update(state, losses: np.ndarray, rng: Draws) -> None:", "def close(state, rng: Draws) -> None:"),
    ("    state.t += 1\n", "    if state.t == 0:\n        return\n"),
    ("        kept.sums[:] += losses\n", ""),
    (
        "            kept.noisy[:] += kept.nodes[j]\n",
        "            kept.noisy[:] += kept.nodes[j]\n\n\n"
        "def update(state, losses: np.ndarray, rng: Draws) -> None:\n"
        "    state.t += 1\n"
        "    state.kept.sums[:] += losses\n",
    ),
]


@pytest.mark.usefixtures("by_length")
@pytest.mark.parametrize("horizon", LENGTHS)
@pytest.mark.parametrize("changes", some([PER_LEVEL, LOCAL, IN_CHOOSE], LOCAL), ids=["per level", "local", "in choose"])
def test_other_honest_leaders_are_consistent(tmp_path, changes, horizon):
    found = audited(tmp_path, broken(LEADER, changes), horizon=horizon)
    assert found["verdict"] == "CONSISTENT", found["found"]
    assert found["epsilon_seen"] == pytest.approx(1.0)


@pytest.mark.usefixtures("by_length")
@pytest.mark.parametrize(
    ("factor", "cost", "horizon"),
    [
        pytest.param("2.0 if state.t > 30_000 else 1.0", 31 / 32, 2**16, marks=pytest.mark.slow),
        pytest.param("2.0 if level == 0 else 32 / 31", 0.5 / 16 + 15 / 16 * 31 / 32, 2**16, marks=pytest.mark.slow),
        ("2.0 if level == 0 else 32 / 31", 0.5 / 5 + 4 / 5 * 31 / 32, FEW),
    ],
    ids=["more noise later", "a share of ε for each level", "the same in a short game"],
)
def test_a_leader_may_have_more_noise_in_some_nodes(tmp_path, factor, cost, horizon):
    found = audited(tmp_path, broken(LEADER, [(NOISE, f"({factor}) * {NOISE}")]), horizon=horizon)
    assert found["verdict"] == "CONSISTENT", found["found"]
    assert found["epsilon_seen"] == pytest.approx(cost)


@pytest.mark.usefixtures("by_length")
@pytest.mark.parametrize("horizon", some([16, FEW, 100, 2**16], 16))
def test_a_leader_may_write_into_its_random_numbers(tmp_path, horizon):
    own = [(NOISE, "rng.laplace\n"), ("    state.t += 1\n", "    rng.laplace[:] *= state.scale\n    state.t += 1\n")]
    found = audited(tmp_path, broken(LEADER, own), horizon=horizon)
    assert found["verdict"] == "CONSISTENT" and found["epsilon_seen"] == pytest.approx(1.0, rel=1e-9), found


@pytest.mark.slow
@pytest.mark.parametrize("name", ["the same after round 60,000", "nodes are forgotten"])
def test_faults_of_a_leader_that_closes_nodes_in_choose_are_found(tmp_path, name):
    words, *changes = LEADER_FAULTS[name]
    found = audited(tmp_path, broken(LEADER, [*IN_CHOOSE, *changes]))
    assert found["verdict"] == "VIOLATION" and words in found["found"], found["found"]


@pytest.mark.usefixtures("plainly")
def test_a_leader_that_forgets_nodes_in_choose_is_found_in_a_short_game(tmp_path):
    _, (old, new) = LEADER_FAULTS["nodes are forgotten"]
    found = audited(tmp_path, broken(LEADER, [*IN_CHOOSE, (old, new.replace("5000", "5"))]), horizon=16)
    assert found["verdict"] == "VIOLATION" and "costs ε = 1.5, where 1 is allowed" in found["found"], found["found"]


@pytest.mark.slow
@pytest.mark.parametrize("name", LEADER_FAULTS)
def test_faults_of_a_leader_are_found(tmp_path, name):
    words, *changes = LEADER_FAULTS[name]
    found = audited(tmp_path, broken(LEADER, changes))
    assert found["verdict"] == "VIOLATION" and words in found["found"], found["found"]


AT_ONCE = [  # faults of a leader that a short game shows in the same words
    "choose by the exact sums",
    "a hint of losses of exactly 0.5",
    "a quarter from level 2 up",
    "less on the last coordinate",
    "in proportion to the loss",
    "the sign of the noise",
    "no noise",
    "each loss counted twice",
    "numbers used twice",
]


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize("name", some(AT_ONCE, "choose by the exact sums", "in proportion to the loss"))
def test_faults_of_a_leader_are_found_in_a_short_game(tmp_path, name):
    words, *changes = LEADER_FAULTS[name]
    found = audited(tmp_path, broken(LEADER, changes), horizon=FEW)
    assert found["verdict"] == "VIOLATION" and words in found["found"], found["found"]


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize("name", [name for name in GUESSER_FAULTS if "round" not in name])
def test_faults_of_a_bandit_are_found_in_a_short_game(tmp_path, name):
    words, *changes = GUESSER_FAULTS[name]
    found = audited(tmp_path, broken(GUESSER, changes), ON_THE_BALL, FEW)
    assert found["verdict"] == "VIOLATION" and words in found["found"], found["found"]


@pytest.mark.slow
@pytest.mark.parametrize("name", GUESSER_FAULTS)
def test_faults_of_a_bandit_are_found(tmp_path, name):
    words, *changes = GUESSER_FAULTS[name]
    found = audited(tmp_path, broken(GUESSER, changes), ON_THE_BALL)
    assert found["verdict"] == "VIOLATION" and words in found["found"], found["found"]


NORMALS = [('"laplace"', '"normal"'), ("rng.laplace", "rng.normal")]


@pytest.mark.usefixtures("plainly")
def test_a_noisy_loss_of_other_numbers_is_not_auditable(tmp_path):
    found = audited(tmp_path, broken(GUESSER, NORMALS), ON_THE_BALL, FEW)
    assert found["verdict"] == "NOT AUDITABLE" and "not made of `rng.laplace`" in found["found"]


BOTH = [
    ('{"laplace": np.full_like(rounds, setting.n_arms)}', "{k: np.full_like(rounds, setting.n_arms) for k in KINDS}"),
    ("class Parameters", 'KINDS = "laplace", "normal"\n\n\nclass Parameters'),
    ("rng.laplace\n", "rng.normal\n"),
]


@pytest.mark.usefixtures("plainly")
def test_sums_with_noise_of_other_numbers_are_not_auditable(tmp_path):
    found = audited(tmp_path, broken(LEADER, BOTH), horizon=FEW)
    assert found["verdict"] == "NOT AUDITABLE" and "not made of `rng.laplace`" in found["found"], found


@pytest.mark.parametrize(
    ("text", "experiment", "change", "message"),
    [
        (
            LEADER,
            EXPERIMENT,
            ('y("kept.noisy"', 'y("kept.nodes"'),
            "it takes a number for each of 3 arms or coordinates",
        ),
        (
            GUESSER,
            ON_THE_BALL,
            ("Release()", 'Noisy("drift")'),
            'needs `feedback = "full"`: return a views.Release()',
        ),
    ],
)
def test_a_view_that_does_not_fit_is_reported_at_its_line(tmp_path, text, experiment, change, message):
    with pytest.raises(AssertionError) as failed:
        audited(tmp_path, broken(text, [change]), experiment)
    words, line = " ".join(str(failed.value).split()), 1 + text[: text.index("    def view")].count("\n")
    assert f"own.py:{line}: " in words and message in words
