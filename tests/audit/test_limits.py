"""What an audit did not play is printed under `assumed`, and it plays the configured game wherever it can."""

import pytest

from privbandits_cli.audit import auditor, contexts, coupling, fits, linear_games, noisy_sums, posteriors
from privbandits_cli.audit.auditor import audit
from privbandits_cli.games.players import Contexts, Setting
from privbandits_cli.games.steps import composition, steps
from tests.audit.patches import with_field
from tests.audit.test_own_contextual import FEW, OWN
from tests.audit.test_own_contextual import audited as contextual_audited
from tests.audit.test_own_linear import EXPERIMENT, LEADER, NOISE
from tests.audit.test_own_linear import audited as linear_audited
from tests.conftest import ROOT, make, some

THREE = Setting(16, 4, contexts=Contexts(3))


def found(name, setting, budget=2**9, **own):
    return audit(make(name, **own).tuned(setting), setting, budget=budget)


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize("name", some(["ldp_linucb", "squarecb", "adac_oful", "gaussian_ts"], "squarecb"))
def test_rounds_that_are_not_played_are_printed(name, monkeypatch):
    monkeypatch.setattr(fits, "ROUNDS", 8)
    for module in (contexts, posteriors):
        monkeypatch.setattr(module, "LONGEST", 8)
    setting = Setting(16, 4) if name == "gaussian_ts" else THREE
    row = found(name, setting, **({"epsilon": 1.0} if name == "squarecb" else {}))
    assert row.verdict == "CONSISTENT" and "rounds after 8 are like these" in row.assumed


@pytest.mark.usefixtures("plainly")
def test_dimensions_that_are_not_played_are_printed(monkeypatch):
    monkeypatch.setattr(auditor, "DIMENSIONS", 2)
    row = found("ldp_linucb", THREE)
    assert row.verdict == "CONSISTENT" and row.assumed.endswith("with d = 3 it behaves as with d = 2")


@pytest.mark.slow
@pytest.mark.usefixtures("plainly")
def test_arms_that_are_never_the_best_are_printed(monkeypatch):
    monkeypatch.setattr(coupling, "ARMS", 2)
    row = found("ldp_ucb", Setting(12, 3), 2**10)
    assert row.verdict == "CONSISTENT" and row.assumed.startswith("no arm after arm 2 is ever the best one")


@pytest.mark.slow
@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize(("name", "own"), [("adap_ucb", {"epsilon": 1.0}), ("dp_ucb", {})])
def test_gains_that_were_not_changed_alone_are_printed(name, own, monkeypatch):
    monkeypatch.setattr(coupling, "EVERY", 8)
    monkeypatch.setattr(coupling, "CANARIES", 2)
    some, all_of_them = (found(name, Setting(rounds, 2), 2**10, **own) for rounds in (40, 8))
    assert some.verdict == "CONSISTENT" and "gains cost at most what the " in some.assumed
    assert all_of_them.verdict != "VIOLATION" and "gains cost" not in all_of_them.assumed


@pytest.mark.usefixtures("plainly")
def test_a_leak_in_the_fifth_dimension_is_found(tmp_path):
    right = "    arm = int(np.argmax(arms.T @ state.theta))"
    assert right in OWN
    wrong = right.replace("@ state.theta", "@ state.theta + (d > 4) * state.sums[4, d] * arms[4]")
    config = FEW.replace("dimension: 3", "dimension: 5").replace("arms: 10", "arms: 4")
    row = contextual_audited(tmp_path, OWN.replace(right, wrong), config, budget=2**10)
    assert row["verdict"] == "VIOLATION" and "other data before, another arm is played" in row["found"]


@pytest.mark.usefixtures("plainly")
def test_a_leak_in_the_twelfth_coordinate_is_found(tmp_path):
    assert NOISE in LEADER
    text = LEADER.replace(NOISE, NOISE + "        kept.nodes[level, 11:] = 0.0\n")
    row = linear_audited(tmp_path, text, EXPERIMENT.replace("dimension: 3", "dimension: 12"), 16)
    assert row["verdict"] == "VIOLATION" and "no noise of its own hides the loss of round 1" in row["found"]


@pytest.mark.slow
def test_half_of_the_variance_of_draws_is_found_in_a_long_game():
    """The noise of all 2^16 rounds hides a gain, not that of the first 2^14."""
    setting = Setting(2**16, 4)
    algorithm = make("gaussian_ts", mu=1.0, b=None, delta=1e-5).tuned(setting)
    state = algorithm.state(setting)
    assert audit(algorithm, setting, state=state.copy()).verdict == "CONSISTENT"
    state["c"] /= 2
    assert audit(algorithm, setting, state=state).verdict == "VIOLATION"


@pytest.mark.usefixtures("plainly")
def test_rewards_in_the_low_digits_of_a_field_are_found():
    algorithm = make("adac_oful").tuned(THREE)
    right, state = steps(composition(algorithm)), with_field(algorithm.state(THREE), "kept", 1.0)

    def update(state, x, reward, rng):
        right["update"](state, x, reward, rng)
        state["kept"] += 1e-14 * (reward > 0)

    def choose(state, arms, rng):
        arm = right["choose"](state, arms, rng)
        return int((state["kept"] - 1.0) * 2**50) % 2 if state["kept"] > 1.0 + 4e-14 else arm

    stepped = right | {"choose": choose, "update": update}
    row = audit(algorithm, THREE, budget=2**9, seed=1, bound=stepped, state=state)
    assert row.verdict == "VIOLATION" and row.found.endswith("the field `kept` of the state carries them"), row.found


def test_the_page_has_the_limits():
    page = (ROOT / "docs" / "privacy" / "audits.md").read_text(encoding="utf-8")
    most, d, longest = auditor.COORDINATES, auditor.DIMENSIONS, linear_games.ROUNDS
    for words in (
        f"| `bandit` | {coupling.LONGEST:,} | of more than {coupling.ARMS} arms, the first {coupling.ARMS} are",
        f"| `linear` | {longest:,}; fewer if a state has more than {noisy_sums.BYTES // longest // 1024} kB; "
        f"{noisy_sums.FIRST} if earlier numbers hide losses | N = {most}",
        f"| {contexts.LONGEST:,}; with d = {d} dimensions {contexts.NUMBERS // (d * (d + 1)):,} | d = {d} at most",
        f"| `contextual`, `views.Fits` | {fits.ROUNDS:,} |",
    ):
        assert words in page


@pytest.mark.parametrize(
    ("name", "own", "setting", "needs"),
    [
        ("mini_batch", {"base": make("adap_ucb")}, Setting(64, 3), "no audit supports a views.Noisy of mean gains"),
    ],
)
def test_an_algorithm_without_a_view_says_what_an_audit_would_need(name, own, setting, needs):
    row = found(name, setting, **own)
    assert row.verdict == "NOT AUDITABLE" and needs in row.found


def test_a_predictor_is_audited_in_all_dimensions():
    setting = Setting(64, 4, contexts=Contexts(50))
    assert auditor.reduced(make("squarecb", epsilon=1.0).tuned(setting), setting) == setting
