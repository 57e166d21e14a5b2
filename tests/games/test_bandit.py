"""The game's loop: regret by definition, switches, and numbers that depend on nothing but identity."""

from itertools import pairwise, product

import numpy as np
import pytest

from privbandits_cli.games import bandit, driver
from privbandits_cli.games.bandit import Draws, play
from privbandits_cli.games.drawing import NUMBERS
from privbandits_cli.games.lockstep import LANES
from privbandits_cli.numerics.arrays import aligned
from privbandits_cli.numerics.jit import borrower, compile_step, compiled, record, without_jit
from privbandits_cli.numerics.streams import stream
from tests.conftest import first, fit, foe, make, match, playing, some
from tests.games.test_lockstep import SEVERAL
from tests.naive import gain_table


def everyone(adversary, names=None):
    """Every algorithm that may meet this adversary, or those of these names that may."""
    return [algorithm for name in names or playing("algorithms") if fit(algorithm := make(name), adversary)]


def follow(state, rng):
    """A learner that plays a script."""
    state.t += 1
    return state.script[state.t - 1]


def remember(state, arm, gain, rng):
    """Store the gain that the learner was shown."""
    state.seen[state.t - 1] = gain


def scripted(script, gains, memory, observed, worth=()):
    """What a scripted learner earns after each round, and the gains that it is shown."""
    n = len(script)
    names = {"choose": compile_step(follow), "update": compile_step(remember), "borrow": borrower()}
    loop = driver.loop(bandit.play_round, bandit.deal, names | {"KNOWN": len(worth) > 0})
    state = record(t=0, script=np.array(script), seen=np.zeros(n))
    seat = record(player=record(last=-1, held=memory, total=0.0), state=state)
    earned, numbers = np.empty(n), [np.zeros(n)] * 4
    table = bandit.Table(np.array(gains, float), *numbers, np.array(worth, float), memory, observed)
    loop(seat, np.arange(1, n + 1), earned, table)
    return earned.tolist(), seat[0].state.seen.tolist()


GAINS = [[0.5, 0.25], [0.5, 0.25], [0.5, 0.25], [0.5, 0.25], [0.5, 0.25], [0.5, 0.25]]
SCRIPT = [0, 0, 1, 1, 1, 0]


def test_an_oblivious_adversary_pays_every_round():
    earned, seen = scripted(SCRIPT, GAINS, 0, True)
    assert seen == [0.5, 0.5, 0.25, 0.25, 0.25, 0.5]
    assert earned == np.cumsum(seen).tolist()


def test_a_switch_earns_0_and_the_learner_sees_it():
    earned, seen = scripted(SCRIPT, GAINS, 1, True)
    assert seen == [0.5, 0.5, 0.0, 0.25, 0.25, 0.0]  # the first arm is no switch
    assert earned == np.cumsum(seen).tolist()


def test_a_switch_earns_0_unseen():
    earned, seen = scripted(SCRIPT, GAINS, 1, False)
    assert seen == [0.5, 0.5, 0.25, 0.25, 0.25, 0.5]
    assert earned == np.cumsum([0.5, 0.5, 0.0, 0.25, 0.25, 0.0]).tolist()


def test_memory_two_withholds_two_rounds():
    earned, _ = scripted(SCRIPT, GAINS, 2, True)
    assert earned == np.cumsum([0.5, 0.5, 0.0, 0.0, 0.25, 0.0]).tolist()


def test_known_means_count_for_the_regret_but_the_learner_sees_gains():
    earned, seen = scripted(SCRIPT, GAINS, 0, True, worth=[-2.0, 0.0])
    assert seen == [0.5, 0.5, 0.25, 0.25, 0.25, 0.5]
    assert earned == np.cumsum([-2.0, -2.0, 0.0, 0.0, 0.0, -2.0]).tolist()


def test_pseudo_regret_is_that_of_the_means_and_of_the_arms_played():
    """Uniform play against means 0.9, 0.5, 0.1; the regret on the realised gains would be different."""
    means = [0.5, 0.9, 0.1]
    game = match(foe("bernoulli", means=means), [make("uniform")], 50, n_arms=3, checkpoints=[1, 2, 50])
    u = stream(7, "uniform", "uniform", trial=0).random(50)
    lost = np.cumsum([0.9 - means[int(3 * x)] for x in u])
    np.testing.assert_allclose(play(game, [0])[0, 0], lost[[0, 1, 49]], atol=1e-12)
    gains = gain_table(game.adversary, game.setting, 7, 0)
    own = np.cumsum([row[int(3 * x)] for row, x in zip(gains, u, strict=True)])
    assert abs((gains.cumsum(axis=0).max(axis=1) - own)[49] - lost[49]) > 0.01  # negative control


def test_regret_is_against_the_best_arm_up_to_each_checkpoint():
    """Uniform play on the deterministic adversary: its regret from the table and its own arms."""
    game = match(foe("deterministic"), [make("uniform")], 12, checkpoints=[1, 2, 3, 12])
    u = stream(7, "uniform", "uniform", trial=0).random(12)
    gains = np.array([[0.38, t % 2 == 0, t % 3 == 0, 0] for t in range(1, 13)])
    own = np.cumsum([gains[t, int(4 * u[t])] for t in range(12)])
    best = gains.cumsum(axis=0).max(axis=1)
    np.testing.assert_allclose(play(game, [0])[0, 0], (best - own)[[0, 1, 2, 11]], atol=1e-12)


@pytest.mark.parametrize(
    ("adversary", "names", "horizon"),
    [
        *first(1, [(*several, 400) for several in SEVERAL]),
        *(pytest.param(name, None, 700, marks=pytest.mark.slow) for name in playing("adversaries")),
    ],
)
def test_results_do_not_depend_on_blocks_lanes_other_algorithms_or_order(adversary, names, horizon):
    marks = [1, 7, horizon // 2, horizon]
    game = match(foe(adversary), everyone(foe(adversary), names), horizon, checkpoints=marks)
    whole = play(game, range(6))
    np.testing.assert_array_equal(play(game, range(6), block=97), whole)
    np.testing.assert_array_equal(play(game, range(6), width=1), whole)
    np.testing.assert_array_equal(play(game, [4, 2]), whole[:, [4, 2]])
    reversed_ = play(game._replace(algorithms=game.algorithms[::-1]), range(6))
    np.testing.assert_array_equal(reversed_[::-1], whole)
    for i, algorithm in enumerate(game.algorithms):
        np.testing.assert_array_equal(play(game._replace(algorithms=[algorithm]), range(6))[0], whole[i])


def test_checkpoints_change_no_number():
    fine = play(match(foe("stochastic"), [make("exp3")], 500, checkpoints=range(1, 501)), [0])
    coarse = play(match(foe("stochastic"), [make("exp3")], 500, checkpoints=[10, 500]), [0])
    np.testing.assert_array_equal(fine[:, :, [9, 499]], coarse)


@pytest.mark.parametrize("plain", some([True, False], True))
def test_all_algorithms_of_a_trial_meet_the_same_game(monkeypatch, plain):
    """The gains' stream is named after the adversary alone."""
    names = []
    real = driver.stream
    monkeypatch.setattr(
        driver, "stream", lambda seed, *n, trial: names.append((*n, trial)) or real(seed, *n, trial=trial)
    )
    with without_jit(plain), np.errstate(over="ignore"):  # no number matters
        trials = range(2 if plain else bandit.LANES)  # as many as a vector has, or some would be repeated
        play(match(foe("stochastic"), everyone(foe("stochastic")), 50), trials)
    gains = [name for name in names if name[0] == "gains"]
    assert gains == [("gains", "stochastic", trial) for trial in trials]
    learners = [name for name in names if name[0] != "gains"]
    assert len(set(learners)) == len(learners)


class FourMeans(bandit.Adversary):
    """Bernoulli arms of means 0.3, 0.4, 0.5, 0.6."""

    def gains(self, setting, rng, blocks):
        for rounds in blocks:
            yield rng.random((len(rounds), 4)) < np.array([0.3, 0.4, 0.5, 0.6])


def test_exp3_agrees_with_independent_programs():
    """On these arms at T = 2^18 other correct EXP3s lose 1754.5 +- 4.2 (720 trials, sd of a trial 112.7)."""
    game = match(FourMeans(), [make("exp3"), make("exp3", gamma=0.05)], 2**18)
    found, wrong = play(game, range(40))[:, :, 0].mean(axis=1)
    tolerance = 5 * np.hypot(112.7 / np.sqrt(40), 4.2)
    assert found == pytest.approx(1754.5, abs=tolerance)
    assert wrong != pytest.approx(1754.5, abs=tolerance)  # negative control: another γ is detected


def test_draws_carry_every_stream():
    assert set(Draws._fields) < set(NUMBERS)


@pytest.mark.parametrize("n_arms", [1, 3, 4, 70])
def test_the_best_arm_is_that_of_the_sums_so_far(n_arms):
    """At every mark, wherever marks and blocks end."""
    gains = (np.random.default_rng(5).random((600, n_arms, 2)) < 0.5).astype(float)
    sums, found = np.zeros((1, n_arms, LANES)), []
    for block, marks in ((gains[:67], [1, 16, 40, 40, 67]), (gains[67:], [15, 33, 300, 533])):
        best = np.zeros((2, len(marks)))
        compiled(bandit.best_sequences)(block, np.array(marks), sums, best)
        found.append(best)
    wanted = gains.cumsum(axis=0).max(axis=1)[np.array([1, 16, 40, 40, 67, 82, 100, 367, 600]) - 1]
    np.testing.assert_array_equal(np.concatenate(found, axis=1).T, wanted)


@pytest.mark.parametrize("switches", [0, 1, 2, 5])
def test_the_best_sequence_is_the_best_of_all_that_switch_so_often(switches):
    """All 3^6 sequences, wherever blocks end; one switch less is another number."""
    gains, marks = np.random.default_rng(3).random((6, 3, 2)), [1, 3, 6]

    def wanted(most):
        found = np.full((2, len(marks)), -np.inf)
        for arms in product(range(3), repeat=6):
            for i, end in enumerate(marks):
                if sum(a != b for a, b in pairwise(arms[:end])) <= most:
                    total = np.cumsum(gains[np.arange(6), list(arms)], axis=0)[end - 1]
                    found[:, i] = np.maximum(found[:, i], total)
        return found

    for size in (1, 4, 6):
        totals, best = aligned((1 + switches, 3, LANES), np.float64), []
        totals[:] = 0
        for start in range(0, 6, size):
            block = np.ascontiguousarray(gains[start : start + size])
            own = [mark - start for mark in marks if start < mark <= start + size]
            best.append(np.zeros((2, len(own) + 1)))
            compiled(bandit.best_sequences)(block, np.array([*own, len(block)]), totals, best[-1])
        found = np.concatenate([part[:, :-1] for part in best], axis=1)
        np.testing.assert_allclose(found, wanted(switches), rtol=1e-15)
    assert switches not in (1, 2) or (wanted(switches)[:, -1] > wanted(switches - 1)[:, -1]).all()


@pytest.mark.parametrize("name", ["fully_oblivious", "bernoulli"])
def test_dynamic_regret_is_larger_by_what_the_best_sequence_gains(name):
    """On arms with fixed means the best sequence is the best arm."""
    given = {"means": [0.5, 0.4, 0.3, 0.2]} if name == "bernoulli" else {}
    one = match(foe(name, **given), [make("exp3")], horizon=500)
    other = one._replace(setting=one.setting._replace(switches=3))
    fixed, dynamic = play(one, range(3)), play(other, range(3))
    np.testing.assert_array_equal(play(other, range(3), block=64), dynamic)
    if name == "bernoulli":
        np.testing.assert_array_equal(fixed, dynamic)
        return
    for trial, more in enumerate((dynamic - fixed)[0, :, -1]):
        totals, best = aligned((4, 4, LANES), np.float64), np.zeros((1, 1))
        totals[:] = 0
        gains = np.array(gain_table(one.adversary, one.setting, 7, trial), float)
        compiled(bandit.best_sequences)(gains[:, :, None], np.array([500]), totals, best)
        assert more == pytest.approx(best[0, 0] - gains.sum(axis=0).max()) and more > 0
