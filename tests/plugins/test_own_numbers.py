"""The random numbers that a user's bandit algorithm asks for: what it gets, from which streams, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from privbandits_cli.cli import app
from privbandits_cli.experiment.config import load
from privbandits_cli.experiment.plan import make_plan
from privbandits_cli.games.bandit import play
from privbandits_cli.games.drawing import fill_of
from privbandits_cli.numerics.jit import without_jit
from privbandits_cli.numerics.streams import stream
from tests.conftest import SMALL, some, watch_states

THOMPSON = '''\
"""Thompson sampling (Thompson 1933) for gains in [0, 1]: the arm with the largest draw from its Beta posterior."""

import numpy as np

from privbandits_cli.games import bandit
from privbandits_cli.games.bandit import Numbers, Setting
from privbandits_cli.numerics.bits import beta
from privbandits_cli.numerics.jit import Record, Records, record


class Parameters(bandit.Algorithm):
    """No parameters."""

    display = "Thompson sampling"
    drawn = ("bits",)

    def state(self, setting: Setting) -> Records:
        return record(won=np.ones(setting.n_arms), lost=np.ones(setting.n_arms))


def choose(state: Record, rng: Numbers) -> int:
    best, arm = -1.0, 0
    for i in range(len(state.won)):
        theta = beta(rng.bits, i, state.won[i], state.lost[i])
        if theta > best:
            best, arm = theta, i
    return arm


def update(state: Record, arm: int, gain: float, rng: Numbers) -> None:
    state.won[arm] += gain
    state.lost[arm] += 1.0 - gain
'''
GAUSSIAN = (
    THOMPSON.replace('drawn = ("bits",)', "drawn = ()\n\n    def draws(self, setting):\n        return COUNTS")
    .replace("COUNTS", '{"normal": setting.n_arms}')
    .replace("beta(rng.bits, i, state.won[i], state.lost[i])", "MEAN + rng.normal[i] / np.sqrt(PLAYS)")
    .replace("MEAN", "state.won[i] / PLAYS")
    .replace("PLAYS", "(state.won[i] + state.lost[i])")
    .replace("best, arm = -1.0, 0", "best, arm = -np.inf, 0")
    .replace("from privbandits_cli.numerics.bits import beta\n", "")
)
CHECKED = '''\
"""Every arm in turn; it adds up the random numbers of every round."""

from privbandits_cli.games import bandit
from privbandits_cli.numerics.jit import record
import numpy as np


class Parameters(bandit.Algorithm):
    drawn = ("laplace", "bits")

    def state(self, setting):
        return record(t=0, sums=np.zeros(6), word=np.uint64(0))

    def draws(self, setting):
        return {"uniform": 3, "normal": 2}


def choose(state, rng):
    state.sums[:3] += rng.uniform
    state.sums[3] += rng.laplace
    state.sums[4:] += rng.normal
    state.word ^= rng.bits
    return state.t % 4


def update(state, arm, gain, rng):
    state.t += 1
'''
KINDS = "uniform, laplace, normal, bits"


@pytest.fixture(autouse=True)
def desk(tmp_path, monkeypatch, no_figure):
    """A working directory with a small experiment."""
    monkeypatch.chdir(tmp_path)
    Path("small.yaml").write_text(SMALL)
    return tmp_path


def call(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def planned(text, *keys, name="mine"):
    """The match of an own file in a small experiment."""
    Path("mine.py").write_text(text)
    words = ["horizon=300", "trials=24", "checkpoints=4", "adversary=stochastic", f"algorithms=[{name}]", *keys]
    plan = make_plan(load(Path("small.yaml"), words, include=[Path("mine.py")]))
    return plan.match(plan.curves)


WRAPPED = {
    "alone": "mine",
    "mini-batches": "{name: mini_batch, base: mine, tau: 7}",
    "noisy gains": "{name: dp_lambda_lap, base: mine, epsilon: 1}",
    "mini-batches of noisy gains": "{name: mini_batch, base: {name: dp_lambda_lap, base: mine, epsilon: 1}, tau: 3}",
}


TEXTS = {"beta": THOMPSON, "normal": GAUSSIAN}


@pytest.mark.parametrize(
    "case",
    some(
        [(text, name) for text in TEXTS for name in WRAPPED],
        ("beta", "alone"),
        ("normal", "mini-batches of noisy gains"),
    ),
    ids=", ".join,
)
def test_numbers_depend_on_no_block_lane_or_compiler(case):
    text, name = case
    match = planned(TEXTS[text], name=WRAPPED[name])
    regrets = play(match, range(5))
    assert np.isfinite(regrets).all() and np.ptp(regrets[0, :, -1]) > 0
    np.testing.assert_array_equal(play(match, range(5), block=7, width=2), regrets)
    np.testing.assert_array_equal(play(match, [3], block=64)[:, 0], regrets[:, 3])
    with without_jit():
        np.testing.assert_array_equal(play(match, range(2), block=31), regrets[:, :2])


@pytest.mark.parametrize("text", some([THOMPSON, GAUSSIAN], THOMPSON), ids=["beta", "normal"])
def test_thompson_sampling_learns(text):
    """Arms at random lose 0.75 x 0.4 a round; its posterior loses less than a tenth, and all of it if it forgets."""
    forgets = text.replace(
        "    state.won[arm] += gain\n    state.lost[arm] += 1.0 - gain\n", "    state.won[0] += 0.0\n"
    )
    found = []
    for each in (text, forgets):
        match = planned(each, "horizon=4000", "adversary={name: bernoulli, gap: 0.4}")
        found.append(play(match, range(8))[0, :, -1].mean())
    blind = 0.75 * 0.4 * 4000
    assert 0 < found[0] < blind / 10 and found[1] == pytest.approx(blind, rel=0.1)


def test_each_number_comes_from_the_stream_of_its_kind(monkeypatch):
    """Several numbers of a round follow each other in the stream; NumPy draws the same."""
    match, seen = planned(CHECKED), []
    watch_states(monkeypatch, lambda states: seen.append(states.copy()))
    play(match, [5], block=77)
    state, name = seen[-1][0], match.algorithms[0].name

    def own(kind):
        return stream(match.seed, kind, name, trial=5)

    laplace = np.empty(300)
    fill_of("laplace", own("laplace"))(laplace)
    np.testing.assert_allclose(state.sums[:3], own("uniform").random((300, 3)).sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(state.sums[3], laplace.sum(), rtol=1e-12)
    np.testing.assert_allclose(state.sums[4:], own("normal").standard_normal((300, 2)).sum(axis=0), rtol=1e-12)
    assert state.word == np.bitwise_xor.reduce(own("bits").bit_generator.random_raw(300))


@pytest.mark.slow
def test_many_numbers_a_round_shorten_the_block_and_change_nothing():
    text = GAUSSIAN.replace("setting.n_arms}", "40_000}")
    few, many = (play(planned(changed), [0]) for changed in (text, text.replace("40_000", "50_000")))
    assert np.isfinite(few).all() and np.isfinite(many).all()  # a table of whole blocks would take 21 GB


def test_jobs_and_resumption_change_no_byte(desk):
    Path("mine.py").write_text(THOMPSON)
    words = ["run", "small.yaml", "-q", "--include", "mine.py", "algorithms=[exp3, mine]", "adversary=stochastic"]
    for name, more in (
        ("one", ["--jobs", "1"]),
        ("two", ["--jobs", "2", "--engine", "processes"]),
        ("plain", ["--python"]),
    ):
        result = call(*words, "horizon=100", "--results", name, *more)
        assert result.exit_code == 0 and "Warning" not in result.output, result.output
    csvs = [(Path(name) / "small" / "final.csv").read_bytes() for name in ("one", "two", "plain")]
    assert csvs[0] == csvs[1] == csvs[2]


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (
            '{"normal": 0}',
            f"a dict with keys among {KINDS}; a value is an int, 1 to 65,536: how many numbers in a round",
        ),
        ('{"normal": 1.5}', "draws returned {'normal': 1.5}: return a dict with keys among"),
        ('{"normal": True}', "draws returned {'normal': True}: return a dict"),
        ('{"normal": 10**6}', "an int, 1 to 65,536"),
        ('{"normal": setting.horizon / 2}', "draws returned {'normal': 150.0}: return a dict"),
        ('{"gaussian": 4}', f"draws returned {{'gaussian': 4}}: return a dict with keys among {KINDS}"),
        ('("normal", 4)', "draws returned ('normal', 4): return a dict"),
    ],
)
def test_a_wrong_count_is_refused_at_its_line(returned, message):
    text = GAUSSIAN.replace('{"normal": setting.n_arms}', returned)
    Path("mine.py").write_text(text)
    result = call("run", "small.yaml", "--include", "mine.py", "algorithms=mine", "horizon=300")
    line = 1 + text[: text.index("    def draws")].count("\n")
    assert result.exit_code == 2 and f"mine.py:{line}: " in result.stderr and message in result.stderr, result.stderr


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "rng.bits, i",
            "rng.bites, i",
            "there is no rng.bites; the random numbers of a round are rng.uniform, rng.lap",
        ),
        (
            'drawn = ("bits",)',
            'drawn = ("uniform",)',
            "rng.bits holds no random numbers: name the kind in the class, `drawn = (..., 'bits')`, or return its",
        ),
        ("state.lost[i])", "state.lost[i] - 9.0)", "the shapes of gamma(bits, i, shape) and beta(bits, i, a, b) must"),
        ("best, arm = -1.0, 0", "best, arm = rng.normal, 0", "rng.normal holds no random numbers"),
    ],
)
def test_a_number_that_is_not_asked_for_is_an_error_at_its_line(old, new, message):
    text = THOMPSON.replace(old, new)
    Path("mine.py").write_text(text)
    result = call("run", "small.yaml", "--include", "mine.py", "algorithms=mine")
    line = next(i for i, row in enumerate(text.splitlines(), 1) if "theta = " in row or "rng.normal" in row)
    assert result.exit_code == 2 and f"mine.py:{line}: " in result.stderr and message in result.stderr, result.stderr


def test_a_helper_is_imported_by_its_name():
    text = THOMPSON.replace("bits import beta", "bits import beta as made\nfrom privbandits_cli.numerics import bits")
    text = text.replace("beta(rng", "bits.beta(rng")
    Path("mine.py").write_text(text)
    result = call("run", "small.yaml", "--include", "mine.py", "algorithms=mine")
    line = 1 + text[: text.index("    theta")].count("\n")
    wanted = "write `from privbandits_cli.numerics.bits import beta`"
    assert f"mine.py:{line}: cannot be compiled" in result.stderr and wanted in " ".join(result.stderr.split())


@pytest.mark.slow
def test_bits_and_an_int_have_one_sum_compiled_or_not():
    """Compiled, the sum is signed."""
    match = planned(THOMPSON.replace("beta(rng.bits, i,", "beta(rng.bits + i, 0,"))
    with without_jit():
        plain = play(match, [0])
    np.testing.assert_array_equal(play(match, [0]), plain)


PRIVATE = '''\
"""Thompson sampling on noisy sums of the gains."""

import numpy as np

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.games import bandit, views
from privbandits_cli.numerics.bits import normal
from privbandits_cli.numerics.jit import record


class Parameters(bandit.Algorithm):
    private = True
    drawn = ("laplace", "bits")
    epsilon: float = 1.0

    def view(self, setting):
        return views.Noisy("sums")

    def state(self, setting):
        k = setting.n_arms
        return record(scale=1.0 / self.epsilon, sums=np.zeros(k), plays=np.ones(k), kept=np.zeros(k), last=0.0)

    def draws(self, setting):
        return {}

    def bounds(self, setting, delta, sensitivity=1.0):
        return [Guarantee(self.epsilon * sensitivity, 0.0, "each gain used once", "proved", view="all reports")]


def choose(state, rng):
    state.kept[0] = 0.0
    best, arm = -np.inf, 0
    for i in range(len(state.sums)):
        theta = (state.sums[i] + 3.0 * normal(rng.bits, i)) / state.plays[i]
        if theta > best:
            best, arm = theta, i
    return arm


def update(state, arm, gain, rng):
    state.sums[arm] += gain + state.scale * rng.laplace
    state.plays[arm] += 1.0
    state.last = gain
'''
LAPLACE, NORMAL = "rng.laplace", "normal(rng.bits, i)"
SEVERAL = ("return {}", 'return {"laplace": setting.n_arms}')
UNKNOWN = "the noise of what is released is not `rng.laplace` alone"
AUDITED = {
    "bits for the choice": ([], "CONSISTENT", "a gain costs at most ε = 1, exactly"),
    "normal numbers for the choice": (
        [(NORMAL, "rng.normal[i]"), ("return {}", 'return {"normal": setting.n_arms}')],
        "CONSISTENT",
        "equal releases lead to equal arms",
    ),
    "several uniform numbers": (
        [(NORMAL, "rng.uniform[i]"), ("return {}", 'return {"uniform": setting.n_arms}')],
        "CONSISTENT",
        "a gain costs at most ε = 1, exactly",
    ),
    "the first of several": ([(LAPLACE, "rng.laplace[0]"), SEVERAL], "CONSISTENT", "at most ε = 1, exactly"),
    "another of several": ([(LAPLACE, "rng.laplace[1]"), SEVERAL], "NOT AUDITABLE", UNKNOWN),
    "that of the arm": ([(LAPLACE, "rng.laplace[arm]"), SEVERAL], "NOT AUDITABLE", UNKNOWN),
    "a sum of two": ([(LAPLACE, "(rng.laplace[0] + rng.laplace[1])"), SEVERAL], "NOT AUDITABLE", UNKNOWN),
    "noise of bits": ([(LAPLACE, "normal(rng.bits, 9)")], "NOT AUDITABLE", UNKNOWN),
    "both kinds of noise": ([(LAPLACE, "(rng.laplace + normal(rng.bits, 9))")], "NOT AUDITABLE", UNKNOWN),
    "noise that choose keeps": (
        [(LAPLACE, "state.kept[arm]"), ("state.kept[0] = 0.0", "state.kept[:] = rng.laplace"), SEVERAL],
        "NOT AUDITABLE",
        UNKNOWN,
    ),
    "half of the noise": ([(LAPLACE, "0.5 * rng.laplace")], "VIOLATION", "at least ε = 2"),
    "no noise": ([("+ state.scale * rng.laplace", "")], "VIOLATION", "no noise hides it"),
    "a leak": (
        [(NORMAL, "normal(rng.bits, i) + 9.0 * state.last * i")],
        "VIOLATION",
        "gains act through last of the state",
    ),
}


@pytest.mark.parametrize("name", some(AUDITED, "another of several", "a leak"))
def test_other_numbers_are_audited_as_part_of_the_game_or_not_at_all(name, either):
    """All numbers but the Laplace number of a release are the same in both games of the audit."""
    edits, verdict, found = AUDITED[name]
    text = PRIVATE
    for old, new in edits:
        assert text.count(old) == 1
        text = text.replace(old, new)
    Path("mine.py").write_text(text)
    words = ["--include", "mine.py", "algorithms=mine", "--json"]
    size = ["horizon=12", "--budget", "1024"] if either else ["--budget", "4096"]
    (row,) = json.loads(call("audit", "small.yaml", *words, *size).stdout)
    assert row["verdict"] == verdict and found in row["found"], row


def test_gaussian_noise_needs_a_guarantee_with_delta():
    Path("mine.py").write_text(PRIVATE.replace(LAPLACE, "5 * rng.normal").replace('"laplace", ', '"normal", '))
    result = call("audit", "small.yaml", "--include", "mine.py", "algorithms=mine")
    assert result.exit_code == 2 and "Gaussian noise, which needs a guarantee with δ > 0" in " ".join(
        result.stderr.split()
    )


def test_arms_by_exp3s_law_need_one_uniform_number():
    text = PRIVATE.replace('views.Noisy("sums")', "views.Arms(ExponentialWeights(0.1, 4, 100))").replace(
        "import numpy as np\n",
        "import numpy as np\nfrom privbandits_cli.accounting.exponential_weights import ExponentialWeights\n",
    )
    Path("mine.py").write_text(text + "\n\ndef probabilities(state, out):\n    out[:] = 0.25\n")
    result = call("audit", "small.yaml", "--include", "mine.py", "algorithms=mine", "--json")
    (row,) = json.loads(result.stdout)
    assert row["verdict"] == "NOT AUDITABLE" and "not drawn by one number `rng.uniform`" in row["found"], row
