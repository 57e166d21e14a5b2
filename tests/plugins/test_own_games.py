"""Users' own files of the games `linear` and `contextual`: played alike everywhere, errors shown at their lines."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.adversaries import switching_costs
from privbandits_cli.cli import app
from privbandits_cli.convex.polytope import Polytope
from privbandits_cli.convex.spaces import Cube, Simplex, Sphere
from privbandits_cli.engine import rehearsal
from privbandits_cli.experiment.config import ConfigError, load
from privbandits_cli.experiment.plan import make_plan
from privbandits_cli.games import contextual, driver, guards, linear
from privbandits_cli.games.guards import NotANumber, PluginError
from privbandits_cli.numerics.jit import compiled, is_users, without_jit
from privbandits_cli.plugins.loader import GAMES
from tests.conftest import make, some
from tests.engine.test_engine import csvs

HEAD = '''\
"""Mine: a test's own."""

import numpy as np

from privbandits_cli.games import {game}
from privbandits_cli.numerics.jit import record


class Parameters({game}.{kind}):
    """Nothing to set."""

'''
WEIGHTS = """\
    def state(self, setting):
        return record(eta=0.1, rounds=0, sums=np.zeros(setting.n_arms))


def choose(state, x, rng):
    x[:] = np.exp(-state.eta * (state.sums - state.sums.min()))
    x /= x.sum()


def update(state, losses, rng):
    state.rounds += 1
    state.sums += losses
"""
POINT = """\
    feedback = "bandit"

    def draws(self, setting, rounds):
        return {"normal": np.full(len(rounds), setting.n_arms)}

    def state(self, setting):
        return record(rounds=0, y=np.zeros(setting.n_arms), s=np.zeros(setting.n_arms))


def choose(state, x, rng):
    state.s[:] = rng.normal / np.sqrt((rng.normal**2).sum())
    x[:] = 0.8 * state.y + 0.2 * state.s


def update(state, x, loss, rng):
    state.rounds += 1
    state.y -= 0.01 * loss * state.s
    state.y /= max(1.0, np.sqrt((state.y**2).sum()))
"""
SLOPE = """\
    def state(self, setting):
        return record(rounds=0, theta=np.zeros(setting.contexts.dimension))


def choose(state, arms, rng):
    if rng.random() < 0.1:
        return int(rng.random() * arms.shape[1])
    best = 0
    for arm in range(arms.shape[1]):
        if (state.theta * arms[:, arm]).sum() > (state.theta * arms[:, best]).sum():
            best = arm
    return best


def update(state, x, reward, rng):
    state.rounds += 1
    state.theta += 0.1 * (reward - (state.theta * x).sum()) * x
"""
LOSSES = """\
    def losses(self, setting, rng, blocks):
        for rounds in blocks:
            means = np.full((len(rounds), setting.n_arms), 0.5)
            means[:, 0] = 0.3
            yield (rng.random(means.shape) < means).astype(float)
"""
ARMS = """\
    def law(self):
        return "signs"

    def arms(self, setting, rng, blocks):
        theta = np.full(setting.contexts.dimension, 0.4)
        for rounds in blocks:
            arms = rng.standard_normal((len(rounds), setting.contexts.dimension, setting.n_arms))
            arms /= np.linalg.norm(arms, axis=1, keepdims=True)
            yield arms, np.einsum("d,tdk->tk", theta, arms)
"""
FILES = {
    "weights": ("linear", "Algorithm", WEIGHTS),
    "point": ("linear", "Algorithm", POINT),
    "slope": ("contextual", "Algorithm", SLOPE),
    "my_losses": ("linear", "Adversary", LOSSES),
    "my_arms": ("contextual", "Adversary", ARMS),
}
REST = "horizon: 200\ntrials: 4\nseed: 3\ncheckpoints: 4\nsummary: {centre: mean}\n"
CONFIGS = {
    "experts": "game: linear\nset: simplex\ndimension: 3\nadversary: {name: gap, gap: 0.2}\nalgorithms: [ftrl]\n",
    "ball": "game: linear\nset: sphere\ndimension: 3\nfeedback: bandit\nadversary: {name: gap, gap: 0.2}\n"
    "algorithms: [scrible]\n",
    "contexts": "game: contextual\ndimension: 3\narms: 4\nadversary: sphere_arms\nalgorithms: [linucb]\n",
}
PLAYED = {  # where an own file plays, and as what
    "weights": ("experts", "algorithms=[weights]"),
    "point": ("ball", "algorithms=[point]"),
    "slope": ("contexts", "algorithms=[slope]"),
    "my_losses": ("experts", "adversary=my_losses"),
    "my_arms": ("contexts", "adversary=my_arms"),
}


@pytest.fixture(autouse=True)
def desk(tmp_path, monkeypatch, no_figure):
    """A working directory with files of one's own and experiments of these games."""
    monkeypatch.chdir(tmp_path)
    for name, (game, kind, body) in FILES.items():
        Path(f"{name}.py").write_text(HEAD.format(game=game, kind=kind) + body)
    for name, text in CONFIGS.items():
        Path(f"{name}.yaml").write_text(f"experiment: {name}\n{text}{REST}")


def call(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def edited(name, old, new):
    path = Path(f"{name}.py")
    text = path.read_text()
    assert text.count(old) == 1, old
    path.write_text(text.replace(old, new))


def line_of(name, text):
    before, found, _ = Path(f"{name}.py").read_text().partition(text)
    assert found
    return 1 + before.count("\n")


def planned(name, *overrides):
    config, role = PLAYED[name]
    return make_plan(load(Path(f"{config}.yaml"), [role, *overrides], include=[Path(f"{name}.py")]))


def errors(name, *overrides, compiled=False):
    try:
        return "\n".join(rehearsal.errors(planned(name, *overrides), compiled))
    except ConfigError as error:
        return str(error)


def match_of(name, *overrides):
    plan = planned(name, *overrides)
    return plan.match(plan.curves[:1])


# ------------------------------------------------------------------------------------------ played


@pytest.mark.parametrize(
    ("config", "words"),
    [
        pytest.param(
            "experts",
            ("algorithms=[weights, ftrl]", "adversary=my_losses", "include=[weights.py, my_losses.py]"),
            marks=pytest.mark.slow,
        ),
        pytest.param("ball", ("algorithms=[point]", "include=[point.py]"), marks=pytest.mark.slow),
        ("contexts", ("algorithms=[slope]", "adversary=my_arms", "include=[slope.py, my_arms.py]")),
    ],
)
def test_own_files_play_compiled_plain_and_in_processes_to_the_same_bytes(config, words):
    found = []
    for i, how in enumerate([(), ("--python",), ("--engine", "processes", "--jobs", "2")]):
        result = call("run", f"{config}.yaml", "-q", *words, *how, "--results", str(i))
        assert result.exit_code == 0, result.output
        found.append(csvs(Path(f"{i}/{config}")))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("name", PLAYED)
def test_a_right_file_passes_the_rehearsal(name):
    assert errors(name) == ""


@pytest.mark.parametrize(("name", "ways"), [("my_arms", [False]), ("slope", [True, False])])
def test_only_an_own_algorithm_is_rehearsed_in_plain_python(name, ways, monkeypatch):
    """With d = 300, LinUCB takes half a minute for it."""
    seen = []
    monkeypatch.setattr(rehearsal, "without_jit", lambda plain: seen.append(plain) or without_jit(plain))
    assert errors(name, compiled=True) == "" and seen == ways


def test_a_bandits_own_adversary_plays_experts_and_is_checked():
    text = HEAD.format(game="bandit", kind="Adversary") + LOSSES.replace("losses", "gains")
    Path("my_losses.py").write_text(text)
    assert errors("my_losses") == ""
    edited("my_losses", "astype(float)", "astype(float) * 3")
    assert "the gain of round 1, arm " in (found := errors("my_losses")) and "is 3: outside [0, 1]" in found


# ------------------------------------------------------------------------------------------ wrong steps


STEPS = [
    ("weights", "    x[:] = np.exp(-state.eta * (state.sums - state.sums.min()))\n    x /= x.sum()", "    pass",
     "choose gave a point outside the simplex in round 1: it sums to 0, not 1; fill x"),
    ("weights", "x /= x.sum()", "x[:] = 2.0", "outside the simplex in round 1: it sums to 6, not 1"),
    ("weights", "x /= x.sum()", "x[:] = np.array([-1.0, 1.0, 1.0])", "the simplex in round 1: a coordinate is -1"),
    ("weights", "x /= x.sum()", "x /= x.sum() if state.rounds < 3 else np.nan", "choose left NaN in x"),
    ("weights", "x /= x.sum()", "return x / x.sum()", "choose returned [0.333 0.333 0.333]: fill x in place"),
    ("weights", "state.sums += losses", "losses[:] = 0.0", "destination is read-only\n    losses[:] = 0.0"),
    ("weights", "state.sums += losses", "state.sums += np.sqrt(-1 - losses)",
     "update left NaN in state.sums, after seeing ["),
    ("point", "x[:] = 0.8 * state.y + 0.2 *", "x[:] = state.y + 3 *",
     "choose gave a point outside the unit ball in round 1: its norm is 3"),
    ("point", "0.01 * loss", "np.nan * loss", "update left NaN in state.y, after seeing ["),
    ("slope", "return best", "return -1", "choose returned arm -1 in round"),
    ("slope", "return best", "return arms.shape[1]", "choose returned arm 4 in round"),
    ("slope", "return best", "return arms[0, 0] > 0", "a bool"),
    ("slope", "    if rng.random()", "    arms *= 2\n    if rng.random()",
     "output array is read-only\n    arms *= 2"),
    ("slope", "reward - ", "np.nan - ", "update left NaN in state.theta, after seeing ["),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new", "message"), STEPS)
def test_an_error_of_a_step_is_shown_at_its_line(name, old, new, message):
    edited(name, old, new)
    found = errors(name)
    assert message in found and found.startswith(f"{name}.py:"), found


LATE = {  # after the rehearsal, in compiled code
    "weights": (
        "    x /= x.sum()\n",
        "    if state.rounds > 100:\n        x *= 2\n",
        "outside the simplex in round 102",
    ),
    "slope": ("    state.rounds += 1\n", "    if state.rounds > 100:\n        state.theta *= np.nan\n", "by round 200"),
    "point": (
        "    state.rounds += 1\n",
        "    if state.rounds > 100:\n        state.s[3] = loss\n",
        "index is out of bounds",
    ),
}


@pytest.mark.parametrize("name", some(LATE, "weights"))
def test_a_late_error_is_found_in_compiled_code(name):
    after, harm, message = LATE[name]
    edited(name, after, after + harm)
    assert errors(name) == ""
    match = match_of(name)
    with pytest.raises((PluginError, IndexError), match=message) as caught:
        GAMES[match.game].play(match, [0])
    assert f"{name}.py:" in rehearsal.message(caught.value, match, name, 0)


@pytest.mark.slow
def test_an_arm_that_there_is_not_is_found_in_compiled_code():
    edited("slope", "    if rng", "    if state.rounds == 100:\n        return arms.shape[1]\n    if rng")
    with pytest.raises(PluginError, match="choose returned arm 4 in round 101; the arms are 0 to 3"):
        contextual.play(match_of("slope"), [0])


@pytest.mark.slow
def test_a_write_into_what_others_see_is_not_compiled():
    edited(
        "weights", "state.sums += losses", "state.sums += losses\n    if state.rounds > 1000:\n        losses[0] = 0.0"
    )
    message = f"weights.py:{line_of('weights', 'losses[0] = 0.0')}: cannot be compiled: "
    assert (
        message in (found := errors("weights", compiled=True)) and "copy an argument before you write into it" in found
    )


@pytest.mark.slow
@pytest.mark.parametrize("harm", ["state.sums = state.sums + losses", "losses += 1.0"])
def test_what_the_compiler_fails_on_without_a_message_has_its_line(harm):
    edited("weights", "state.sums += losses", f"if state.rounds > 1000:\n        {harm}")
    found = errors("weights", compiled=True)
    assert found.startswith(f"weights.py:{line_of('weights', harm)}: cannot be compiled") and "in place" in found, found


def test_built_in_algorithms_are_not_guarded_and_own_ones_are(monkeypatch):
    for game, name, words in ((linear, "weights", ("full",)), (contextual, "slope", ("", False))):
        monkeypatch.setattr(driver, "loop", lambda play_round, deal, names: names["GUARDED"])
        own = match_of(name).algorithms[0]
        built_in = make("ftrl") if game is linear else make("linucb")
        for modules in [(type(built_in).__module__,), (type(own).__module__,)]:
            guarded = game.loop.__wrapped__(modules, "layout", *words)
            assert guarded == guards.guarded(modules) == is_users(modules[0])
            array = np.zeros(3)
            assert (guards.protected(array, modules) is array) != guards.guarded(modules)


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("point", '{"normal": np.full(len(rounds), setting.n_arms)}', "3", "draws returned 3: return a dict"),
        ("point", '"normal"', '"normals"', "draws returned {'normals'"),
        ("point", "setting.n_arms)}", "2.5)}", "draws returned {'normal': array([2.5"),
        ("point", "setting.n_arms)}", "-1)}", "an int >= 0, or one for each of `rounds`"),
        ("point", "len(rounds), ", "len(rounds) + 1, ", "a value is an int >= 0, or one for each of `rounds`"),
        ("point", "np.full(len(rounds), setting.n_arms)", "3 + 3 * (np.arange(len(rounds)) == 0)", "`draws` depend on"),
        ("weights", "return record(eta=0.1, rounds=0, sums=np.zeros(setting.n_arms))", "pass", "state returned None"),
        ("slope", "return record(", "return dict(", "state returned {'rounds': 0, "),
        ("weights", "eta=0.1", "eta='x'", "are not numbers"),
    ],
)
def test_an_error_of_a_method_is_shown_at_its_line(name, old, new, message):
    edited(name, old, new)
    if "depend" in message:
        edited(
            name, "rng.normal / np.sqrt((rng.normal**2).sum())", "rng.normal[:3] / np.sqrt((rng.normal[:3]**2).sum())"
        )
    found = errors(name)
    assert message in found and found.startswith(f"{name}.py:"), found


# ------------------------------------------------------------------------------------------ wrong tables


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("my_losses", "setting.n_arms), 0.5", "setting.n_arms + 1), 0.5", "shape (50, 4), not (50, 3): rounds, c"),
        ("my_losses", "(len(rounds), ", "(len(rounds) + 1, ", "shape (51, 3), not (50, 3)"),
        ("my_losses", "astype(float)", "astype(complex)", "losses yielded complex128 numbers: make them float64"),
        ("my_losses", "in blocks", "in [next(iter(blocks))]", "losses yielded no block for the rounds from 8 on"),
        ("my_losses", "astype(float)", "astype(float) * 1.5", "is outside [0, 1]^3 by 0.5: rescale the losses"),
        ("my_losses", "astype(float)", "astype(float) * np.nan", "the loss of round 1 holds NaN"),
        ("my_losses", ", 0.5)", ", 0.4 + 0.1 * rng.random())", "the numbers of `losses` depend on where a block"),
        ("my_arms", "yield arms, ", "yield arms, 5 + ", ": outside [-1, 1], by `law` and `bounds`"),
        ("my_arms", "dimension, 0.4", "dimension, 1.4", ": outside [-1, 1], by `law` and `bounds`"),
        ("my_arms", '"signs"', '"bernoulli"', ": outside [0, 1], by `law` and `bounds`"),
        ("my_arms", "arms /= np", "arms /= 0.9 * np", "arm 0 is 1.111111111: over L = 1, by `bounds`"),
        ("my_arms", "yield arms, ", "yield arms.astype(np.float32), ", "is 1.0000000"),
        ("my_arms", "yield arms, ", "yield arms[:, :, :2], ", "shape (50, 3, 2), not (50, 3, 4): rounds, d, k"),
        ("my_arms", "tdk->tk", "tdk->t", "arms yielded a block of shape (50,), not (50, 4): rounds, k"),
        ("my_arms", 'yield arms, np.einsum("d,tdk->tk", theta, arms)', "yield arms", "arms did not yield a pair"),
        ("my_arms", 'np.einsum("d,tdk->tk", theta, arms)', "arms[:, 0] * np.nan", "the mean of round 1, arm 0 is nan"),
    ],
)  # fmt: skip
def test_an_error_of_a_table_is_shown_at_its_line(name, old, new, message):
    edited(name, old, new)
    found = errors(name)
    table = "    def losses" if name == "my_losses" else "    def arms"
    assert message in found and found.startswith(f"{name}.py:{line_of(name, table)}: "), found


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("my_arms", 'return "signs"', 'return "sign"', "my_arms.py:12: law returned 'sign': return one of signs, "),
        ("my_arms", "    def law(self):\n", "    def laws(self):\n", "my_arms.py:9: the class needs a method `law`"),
        (
            "my_arms",
            "    def law",
            "    def bounds(self, setting):\n        return 1\n\n    def law",
            "bounds returned 1",
        ),
        (
            "my_arms",
            "    def law",
            "    def revealed(self, setting):\n        return {}['x']\n\n    def law",
            "my_arms.py:13: KeyError",
        ),
        ("point", '"bandit"', '"bandits"', 'feedback is \'bandits\': make it "full" or "bandit"'),
    ],
)
def test_a_file_without_a_law_or_feedback_is_refused(name, old, new, message):
    edited(name, old, new)
    config, role = PLAYED[name]
    result = call("run", f"{config}.yaml", role, "--include", f"{name}.py")
    assert result.exit_code == 2 and message in result.stderr and "Traceback" not in result.output, result.output


# ------------------------------------------------------------------------------------------ around them


def test_python_shows_a_traceback_from_the_game_on():
    edited("slope", "return best", "return -1")
    result = call("run", "contexts.yaml", "algorithms=slope", "--include", "slope.py", "--python")
    trace = result.stderr.splitlines()
    assert trace[0].startswith("Traceback") and "contextual.py" in trace[1] and "joblib" not in result.stderr
    assert f"slope.py:{line_of('slope', 'def choose')}: choose returned arm -1" in result.stderr


@pytest.mark.parametrize("bounds", [True, False])
def test_what_promises_nothing_is_not_tuned(bounds):
    edited("weights", "    def state", "    private = True\n    epsilon: float = 1.0\n\n    def state")
    if bounds:
        proved = "return [Guarantee(self.epsilon, 0.0, 'Theorem 1', 'proved')]\n\n    def state"
        edited("weights", "    def state", f"    def bounds(self, setting, delta, sensitivity=1.0):\n        {proved}")
        edited("weights", "import numpy", "from privbandits_cli.accounting.guarantee import Guarantee\nimport numpy")
    result = call("tune", "weights", "--epsilon", "1", "--include", "weights.py")
    assert result.exit_code == (0 if bounds else 2), result.output
    assert bounds or "nothing is proved about the privacy of weights: define `bounds`" in result.stderr


@pytest.mark.parametrize(
    ("name", "public", "words"),
    [
        ("weights", False, ("the loss vector of one round replaced", "all points played")),
        ("slope", False, ("the arms and the reward of one round replaced", "all arms played")),
        ("slope", True, ("the reward of one round replaced", "all arms played")),
    ],
)
def test_a_guarantee_has_the_words_of_its_game_by_default(name, public, words, monkeypatch):
    curve, own = planned(name).curves[0], ("a bit", "a report")
    stated = [Guarantee(1.0, 0.0, "", "proved"), Guarantee(2.0, 0.0, "", "paper", neighbours=own[0], view=own[1])]
    monkeypatch.setattr(type(curve.algorithm), "bounds", lambda *given: stated)
    monkeypatch.setattr(type(curve.algorithm), "public_arms", public)
    found = [curve.algorithm.guarantee(curve.setting), *curve.algorithm.of_person(curve.setting, 1e-6)]
    assert [(bound.neighbours, bound.view) for bound in found] == [words, words, own]


@pytest.mark.parametrize("function", [contextual.fill_largest, switching_costs.walk])
def test_a_kernel_of_a_plain_rehearsal_is_not_the_games(function):
    with without_jit():
        plain = compiled(function)
    assert not hasattr(plain, "signatures") and hasattr(compiled(function), "signatures")


def test_words_that_are_meant_to_wrap_are_no_warning_in_plain_python():
    with without_jit(), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(contextual.play(match_of("slope", "horizon=20"), [0])).all()


SQUARE = Polytope(2, a=((1.0, 0.0), (-1.0, 0.0), (0.0, 2.0), (0.0, -2.0)), b=(1.0, 1.0, 2.0, 2.0))


@pytest.mark.parametrize(
    ("space", "inside", "outside", "by", "message"),
    [
        (Simplex(2), [0.3, 0.7], [0.5, 0.7], 0.2, "it sums to 1.2, not 1"),
        (Simplex(2), [0.0, 1.0], [-0.5, 1.5], 0.5, "a coordinate is -0.5"),
        (Sphere(2), [0.6, 0.8], [3.0, 4.0], 4.0, "its norm is 5"),
        (Cube(2), [-1.0, 1.0], [-1.5, 1.0], 0.5, "a coordinate is -1.5"),
        (SQUARE, [-1.0, 1.0], [0.0, 1.5], 0.5, "it is 0.5 beyond a row of A x <= b"),
    ],
)
def test_how_far_a_point_lies_outside(space, inside, outside, by, message):
    np.testing.assert_allclose(space.excess(np.array([inside, outside])), [0.0, by], atol=1e-12)
    assert space.violation(np.array(outside)) == message
    modules = (type(match_of("weights").algorithms[0]).__module__,)
    guards.check_points(np.array([inside]), space, range(1, 2), modules)
    with pytest.raises(PluginError, match=r"outside the .* in round 2"):
        guards.check_points(np.array([inside, outside]), space, range(1, 3), modules)
    with pytest.raises(NotANumber, match="NaN in round 1"):
        guards.check_points(np.array([[np.nan, 0.0]]), space, range(1, 2), modules)
