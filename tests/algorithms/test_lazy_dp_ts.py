"""Lazy-DP-TS and DP-TS: their epochs by hand, their law, and the figures of their paper."""

import math

import numpy as np
import pytest
from scipy import stats

from privbandits_cli.games.bandit import Numbers, Setting, play
from tests.algorithms.test_algorithms import ready
from tests.conftest import first, foe, make, match


@pytest.mark.usefixtures("by_hand")
def test_epochs_double_and_forget():
    """Gains of 1 and noise of 3/ε: releases after 1, 2, 4 and 8 gains, each of its own gains."""
    bound, state = ready("lazy_dp_ts", Setting(100, 1), epsilon=0.5)
    released = {}
    for t in range(1, 16):
        bound["update"](state, 0, 1.0, Numbers(0.0, 3.0, 0.0, np.uint64(t)))
        released[t] = (int(state.counts[0]), float(state.sums[0]))
    assert released[1] == released[2] == (1, 7)
    assert released[3] == released[6] == (2, 8) and released[7] == released[14] == (4, 10) and released[15] == (8, 14)


@pytest.mark.parametrize(("log", "base"), first(1, [("e", math.e), ("2", 2)]))
def test_arms_are_drawn_from_optimistic_posteriors(log, base):
    """Two arms: how often the first draw exceeds the second one, against a sum over a grid."""
    bound, state = ready("lazy_dp_ts", Setting(1000, 2), plain=False, epsilon=2.0, log=log)
    state.t, state.counts[:], state.sums[:] = 500, [16, 64], [-2.0, 30.0]
    p = [min(1, (s + 1.5 * math.log(500, base)) / n) for s, n in ((-2, 16), (30, 64))]
    first, second = (stats.beta(p * n + 1, (1 - p) * n + 1) for p, n in zip(p, (16, 64), strict=True))
    x = (np.arange(100_000) + 0.5) / 100_000
    wanted = np.mean(first.pdf(x) * second.cdf(x))
    words = np.random.default_rng(2).integers(2**64, size=20_000, dtype=np.uint64)
    wins = sum(bound["choose"](state, Numbers(0.0, 0.0, 0.0, word)) == 0 for word in words)
    assert 0.05 < wanted < 0.95 and stats.binomtest(wins, 20_000, wanted).pvalue > 1e-6


@pytest.mark.slow
def test_the_papers_figure_is_that_of_ln():
    """C2, ε = 1, T = 10^5: read off 490; about 572 with ln and 820 with base 2."""
    game = match(foe("bernoulli", means="C2"), [make("lazy_dp_ts", log=log) for log in ("e", "2")], 10**5, 5)
    natural, binary = play(game, range(8))[:, :, 0].mean(1)
    assert 480 < natural < 660 and 700 < binary < 940


@pytest.mark.usefixtures("by_hand")
def test_epochs_of_dp_ts_by_hand():
    """ε = 2: an epoch has noise of scale 1, a node of the tree in an epoch of 2^e gains scale e; gains of 1."""
    bound, state = ready("dp_ts", Setting(100, 1), epsilon=2.0)
    seen = []
    for t, noise in enumerate((3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0)):
        bound["update"](state, 0, 1.0, Numbers(0.0, noise, 0.0, np.uint64(t)))
        seen.append(float(state.sums[0]) - (t + 1))
    # epochs end after gains 1, 3 and 7; in the epoch of 4 gains the nodes end at 1, 2 and 3 of it
    assert seen == [3, 3 + 5, 3 + 7, 10 + 2 * 11, 10 + 2 * 13, 10 + 2 * (13 + 17), 10 + 19]


@pytest.mark.slow
def test_the_papers_figure_of_dp_ts_is_that_of_base_2():
    """C2, ε = 0.5, T = 10^6: read off 36,000; about 37,000 with base 2 and 17,000 with ln."""
    game = match(foe("bernoulli", means="C2"), [make("dp_ts", log=log, epsilon=0.5) for log in ("e", "2")], 10**6, 5)
    natural, binary = play(game, range(2))[:, :, 0].mean(1)
    assert natural < 20_000 and 34_000 < binary < 40_000
