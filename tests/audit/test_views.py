"""Views: what algorithms declare, how the auditor reads it, and what a user's file may get wrong."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from privbandits_cli.accounting.exponential_weights import ExponentialWeights
from privbandits_cli.audit.auditor import AUDITS, _error, audit, reduced
from privbandits_cli.cli import app
from privbandits_cli.games import views
from privbandits_cli.games.players import Setting
from privbandits_cli.games.steps import composition, steps
from privbandits_cli.numerics.jit import PluginError, record
from tests.audit.patches import with_field
from tests.audit.subjects import CORRECT, make
from tests.conftest import SMALL

OWN = '''\
"""Every arm in turn; each round adds a report, a gain with Laplace noise, to a sum."""

import numpy as np

from privbandits_cli.accounting.releases import Release, noised
from privbandits_cli.games import bandit, views
from privbandits_cli.games.bandit import Draws, Setting
from privbandits_cli.numerics.jit import Record, Records, record


class Parameters(bandit.Algorithm):
    """The privacy, and the share of its noise that is drawn."""

    private = True
    drawn = ("laplace",)
    epsilon: float = 1.0
    share: float = 1.0

    def state(self, setting: Setting) -> Records:
        return record(t=0, scale=self.share / self.epsilon, kept=record(sums=np.zeros(setting.n_arms)))

    def bounds(self, setting, delta, sensitivity=1.0):
        one = Release("laplace", self.epsilon * sensitivity)
        return noised(one, delta, "each gain used once", "report", "all reports", surely=one)

    def view(self, setting):
        return views.Noisy("kept.sums")


def probabilities(state: Record, out: np.ndarray) -> None:
    out[:] = 1 / len(out)


def choose(state: Record, rng: Draws) -> int:
    return state.t % len(state.kept.sums)


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    state.kept.sums[arm] += gain + state.scale * rng.laplace
    state.t += 1
'''


@pytest.mark.parametrize("place", ["wrapped.losses", lambda state: state.wrapped.losses])
def test_a_place_is_read_alike_compiled_and_not(place):
    state = record(scale=2.0, wrapped=record(losses=np.arange(3.0)))
    for read in (views.reader(place), lambda state: views.read(state, place)):
        np.testing.assert_array_equal(read(state[0]), [0.0, 1.0, 2.0])
    assert views.reader("scale")(state[0]) == views.read(state[0], "scale") == 2.0


def test_blocks_change_what_a_release_covers_and_how_far_one_gain_moves_a_mean():
    assert views.Release(2).in_blocks(3) == views.Release(6)
    model = ExponentialWeights(0.1, 4, 100)
    assert views.Arms(model).in_blocks(5) == views.Arms(ExponentialWeights(0.1, 4, 100, 0.2), 5)
    assert isinstance(views.Noisy("sums").in_blocks(2), views.Unseen)


@pytest.mark.parametrize("name", CORRECT)
def test_every_audited_algorithm_declares_a_view_of_what_its_state_has(name):
    subject = CORRECT[name]
    tuned = subject.make().tuned(subject.setting)
    setting = reduced(tuned, subject.setting)
    tuned = tuned.tuned(setting)
    view, states = tuned.view(setting), tuned.state(setting)
    assert (tuned.game, type(view)) in AUDITS and _error(
        view, tuned.game, setting, steps(composition(tuned)), states
    ) is None
    places = [place for place in vars(view).values() if isinstance(place, str)]
    assert all(np.size(views.read(states[0], place)) for place in places)


def audited(tmp_path, text, *words, horizon=1000, budget=2**14):
    Path(tmp_path / "own.py").write_text(text)
    Path(tmp_path / "small.yaml").write_text(SMALL)
    given = ["--include", str(tmp_path / "own.py"), "algorithms=[{name: own, " + ", ".join(words) + "}]"]
    given.append(f"horizon={horizon}")
    return CliRunner().invoke(app, ["audit", str(tmp_path / "small.yaml"), *given, "--budget", str(budget), "--json"])


@pytest.mark.usefixtures("no_figure")
def test_the_own_algorithm_plays(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text(OWN)
    Path("small.yaml").write_text(SMALL)
    words = "run small.yaml --include own.py --python algorithms=own horizon=64"
    result = CliRunner().invoke(app, words.split())
    assert result.exit_code == 0, result.stderr


VERDICTS = [(1.0, "CONSISTENT"), (0.5, "VIOLATION")]


@pytest.mark.slow
@pytest.mark.parametrize(("share", "verdict"), VERDICTS)
def test_an_own_algorithm_is_audited_by_the_view_that_it_declares(tmp_path, share, verdict):
    check_verdict(tmp_path, share, verdict)


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize(("share", "verdict"), VERDICTS)
def test_an_own_algorithm_of_a_short_game_is_audited_by_the_view_that_it_declares(tmp_path, share, verdict):
    check_verdict(tmp_path, share, verdict, horizon=12, budget=2**10)


def check_verdict(tmp_path, share, verdict, **game):
    found = json.loads(audited(tmp_path, OWN, f"share: {share}", **game).stdout)
    assert [row["verdict"] for row in found] == [verdict] and found[0]["claim"].startswith("ε = 1 of ")


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (
            '"report"',
            "view returned 'report': in the game bandit return None, or one of views.Release(), views.Noisy(values), ",
        ),
        ("views.Leader()", "view returned a views.Leader: in the game bandit return None, or one of views."),
        (
            'views.Noisy("kept.sum")',
            "view returned a views.Noisy of 'kept.sum', a field that the state does not have, did you mean "
            "'kept.sums'? (known: t, scale, kept, kept.sums)",
        ),
        ('views.Noisy("scale")', "a views.Noisy whose `values` have the shape (): it takes a number for each of"),
        ("views.Noisy(3)", "a views.Noisy whose `values` is 3: name a field of the state, or give a "),
        ("views.Noisy(lambda state: state.sums)", "a views.Noisy whose `values` cannot be read: AttributeError: "),
        (
            'views.Noisy("kept.sums", (0, 1))',
            "a views.Noisy whose `canary` is (0, 1): name a field of the state, or give a function",
        ),
        ('views.Noisy("kept.sums", lambda state: 1)', "`canary` have the shape (): it takes the lowest and the high"),
        ("views.Arms(0.1)", "whose `model` is 0.1, not ExponentialWeights or Dartboard"),
        ("views.Release()", "view returned a views.Release, which needs a function `released` in the algorithm's file"),
    ],
)
def test_a_view_that_does_not_fit_is_reported_at_its_line(tmp_path, returned, message):
    text = OWN.replace('views.Noisy("kept.sums")', returned)
    result = audited(tmp_path, text)
    line = 1 + text[: text.index("    def view")].count("\n")
    assert result.exit_code == 2
    words = " ".join(result.stderr.split())
    assert f"own.py:{line}" in words and message in words and "Traceback" not in words


def test_a_view_that_does_not_exist_is_reported_with_those_that_do(tmp_path):
    text = OWN.replace('views.Noisy("kept.sums")', 'views.report("kept.sums")')
    words = " ".join(audited(tmp_path, text).stderr.split())
    line = 1 + text[: text.index("        return views")].count("\n")
    assert f"own.py:{line}: there is no views.report; the views are Release, Noisy, Arms, " in words
    assert not hasattr(views, "report")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('observed = views.Noisy("kept.sums")', "def view(self, setting): return views.Noisy('kept.sums')"),
        ("made_private_by: str = 'noise'", "def mechanism(self): return 'noise'"),
        ("general_caveats = ('a note',)", "def caveats(self, setting): return list(('a note',))"),
    ],
)
def test_an_attribute_that_is_a_method_today_is_refused_with_the_method(tmp_path, old, new):
    text = OWN.replace("    private = True", f"    private = True\n    {old}")
    words = " ".join(audited(tmp_path, text).stderr.split())
    line = 1 + text[: text.index(old)].count("\n")
    name = old.partition(" ")[0].rstrip(":")
    assert f"own.py:{line}: a class has no attribute `{name}` any more: write `{new}` {old}" in words


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"grams": "theta"}, r"`grams` has the shape \(3,\): it takes \(2, 3, 3\), a sum"),
        ({"theta": "scores", "grams": "grams"}, r"`theta` has the shape \(2, 25\): it takes \(3,\)"),
        ({"theta": "work", "grams": "grams"}, r"with `grams` it takes \(3,\), the last predictor alone"),
        ({"oracle": "logistic", "grams": "grams"}, "oracle releases no matrix: leave `grams` out"),
    ],
)
def test_the_parts_of_a_view_of_fits_are_checked(given, message, monkeypatch):
    subject = CORRECT["regcb"]
    setting = reduced(subject.make().tuned(subject.setting), subject.setting)
    algorithm = subject.make().tuned(setting)
    state = algorithm.state(setting)
    found = algorithm.view(setting)
    if given.get("oracle"):
        given = given | {"oracle": make("squarecb", epsilon=1.0, oracle="logistic").fits(setting)}
    if given.get("theta") == "work":
        state = with_field(state, "work", np.zeros((5, 3)))
    monkeypatch.setattr(type(algorithm), "view", lambda *_: replace(found, **given))
    with pytest.raises(PluginError, match=message):
        audit(algorithm, setting, state=state)


def test_a_view_of_gaussian_noise_needs_a_delta(monkeypatch):
    setting = Setting(2**10, 3)
    algorithm = CORRECT["adac_ucb"].make().tuned(setting)
    pure = replace(algorithm.guarantee(setting), delta=0.0)
    monkeypatch.setattr(type(algorithm), "guarantee", lambda *_: pure)
    with pytest.raises(PluginError, match="needs a guarantee with δ > 0"):
        audit(algorithm, setting)
