"""RNM-FTNL: its twin, its epochs, the law of its leader, and its privacy by exact likelihood ratios."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, stats

from privbandits_cli.games import linear
from privbandits_cli.games.linear import Cube, Draws, Setting, Simplex
from privbandits_cli.games.match import Match
from tests.algorithms.test_algorithms import ready
from tests.conftest import first, foe, make, some
from tests.naive_linear import regrets

NOISES = ("laplace", "gumbel", "printed")
EMPTY = np.empty(0)
TWO = Setting(1000, 2, space=Simplex(2))


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("adversary", ["gap", "iid_uniform", "alternating", "drifting"])
@pytest.mark.parametrize("size", some([(2, 1), (3, 64), (10, 300)], (3, 64)), ids=str)
def test_the_twin_plays_the_same_game(noise, adversary, size):
    n, horizon = size
    known = foe(adversary).revealed(Setting(horizon, n, space=Simplex(n)))
    algorithm = make("rnm_ftnl", noise=noise)
    match = Match(foe(adversary), [algorithm], known, np.array([horizon]), 3)
    found = linear.play(match, trials=range(4), block=50)[0, :, 0]
    np.testing.assert_array_equal(found, [regrets(match, trial)[0] for trial in range(4)])


@pytest.mark.usefixtures("by_hand")
def test_an_epoch_follows_the_leader_of_the_one_before_alone():
    """Rounds 4 to 7 lead to expert 2 in rounds 8 to 15, although expert 1 has the smaller loss over all rounds."""
    bound, state = ready("rnm_ftnl", TWO, epsilon=1e9)
    losses, played, x = [(0, 1)] * 3 + [(0.4, 0.2)] * 4 + [(0, 1)] * 9, [], np.empty(2)
    for t, loss in enumerate(losses, start=1):
        bound["choose"](state, x, Draws(EMPTY, np.zeros(2 * (t in (1, 2, 4, 8, 16))), EMPTY))
        played.append(int(x[1]))
        bound["update"](state, np.array(loss, float), Draws(EMPTY, EMPTY, EMPTY))
    assert played == [0] * 7 + [1] * 8 + [0]


def first_leads(noise, scale, behind):
    """The probability that the noisy loss of expert 1 is the smaller one if its loss is larger by `behind`."""
    if noise == "gumbel":
        return float(stats.logistic(0, scale).sf(behind))
    law = stats.laplace(0, scale)
    far = 40 * scale + abs(behind)
    parts = pairwise(sorted({-far, -behind, 0.0, far}))
    return math.fsum(integrate.quad(lambda x: law.pdf(x) * law.sf(x + behind), *ends)[0] for ends in parts)


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize("n", some([8000, 20_000], 8000))
@pytest.mark.parametrize(("noise", "scale"), first(1, [("laplace", 4.0), ("gumbel", 4.0), ("printed", 2.0)]))
def test_the_leader_has_its_law(noise, scale, n):
    """ε = 1/2, the sums of the epoch before are 5 and 2: against quadrature, or the logistic law."""
    bound, state = ready("rnm_ftnl", TWO, epsilon=0.5, noise=noise)
    rng, wins, x = np.random.default_rng(3), 0, np.empty(2)
    for _ in range(n):
        fork = state.copy()
        fork.t, fork.losses[:] = 8, [5.0, 2.0]
        bound["choose"](fork, x, Draws(rng.random(2), rng.laplace(size=2), EMPTY))
        wins += int(x[0])
    p, other = (first_leads(noise, scale * factor, 3.0) for factor in (1, 1.5))
    assert stats.binomtest(wins, n, p).pvalue > 1e-6
    assert stats.binomtest(wins, n, other).pvalue < 1e-6  # negative control


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0])
def test_the_printed_noise_costs_up_to_twice_epsilon(epsilon):
    """One loss vector moves the two sums by 1 in opposite directions. The ratio of the odds far from a tie is 2ε."""
    for noise in NOISES:
        algorithm = make("rnm_ftnl", epsilon=epsilon, noise=noise)
        scale, behind = algorithm.scale(TWO), 60 / epsilon
        ratio = math.log(first_leads(noise, scale, behind - 2) / first_leads(noise, scale, behind))
        promised = algorithm.guarantee(TWO)
        assert promised.epsilon == pytest.approx(epsilon * (2 if noise == "printed" else 1))
        assert 0.9 * promised.epsilon < ratio <= promised.epsilon * (1 + 1e-6)


def test_signed_losses_have_twice_the_noise():
    assert make("rnm_ftnl").scale(TWO._replace(signed=True)) == 2 * make("rnm_ftnl").scale(TWO) == 4
    assert make("rnm_ftnl", noise="printed").scale(TWO) == 1


def test_it_needs_experts():
    assert "simplex" in next(make("rnm_ftnl").errors(Setting(100, 3, space=Cube(3))))


def test_its_regret_is_flat_once_the_gap_is_found_and_grows_with_one_over_epsilon():
    """Ten experts with a gap of 0.2: the second half of the game is nearly free, at ε = 0.01 the first one is not."""
    known = Setting(2**14, 10, space=Simplex(10))
    lineup = [make("rnm_ftnl", epsilon=epsilon, noise=noise) for epsilon in (1.0, 0.01) for noise in NOISES[:2]]
    match = Match(foe("gap", gap=0.2), lineup, known, np.array([2**13, 2**14]), 5)
    regret = linear.play(match, range(16)).mean(axis=1)
    for half, end in regret[:2]:
        assert end - half < 0.02 * 0.2 * 2**13 + 5 * math.sqrt(2**13 / 16)
    assert (regret[2:, 1] > 5 * regret[:2, 1]).all()
