"""FastCB, VPO, BPO and RegCB: their probabilities at the edges, and the law of the average that VPO draws from."""

import math

import numpy as np
import pytest

from privbandits_cli.algorithms import bpo, fastcb, regcb, vpo
from privbandits_cli.games.contextual import Contexts, Setting
from privbandits_cli.games.steps import composition
from privbandits_cli.numerics.jit import without_jit
from tests.conftest import make

SETTING = Setting(1000, 3, contexts=Contexts(2, nonnegative=True))


def state_after(batches, name, **given):
    """The state of an algorithm after so many batches, with predictors that are 0."""
    state = make(name, **given).tuned(SETTING).state(SETTING)[0]
    state.batch, state.began = batches, 2**batches - 1
    return state


def probabilities(module, state, f):
    with without_jit():
        out = np.full(3, np.nan)
        module.probabilities(state, np.array(f, float), out)
    return out


@pytest.mark.parametrize("f", [[1.0, 1.0, 0.5], [0.5, 1.0, 1.0], [1.0, 0.2, 0.9]])
def test_fastcb_without_a_loss_is_its_limit(f):
    """Where the best arm is predicted never to lose: as if all losses were larger by 1e-13."""
    state = state_after(5, "fastcb", gamma=3.0)
    found = probabilities(fastcb, state, f)
    np.testing.assert_allclose(found, probabilities(fastcb, state, np.array(f) - 1e-13), atol=1e-10)
    assert found.sum() == pytest.approx(1) and found.max() < 1 + 1e-12


def test_the_numbers_of_vpo_draw_each_member_of_the_average_equally_often():
    state, size, f = state_after(6, "vpo", eta=20.0), 2**5, np.array([0.3, 0.9, -0.2])
    found = np.zeros(3)
    for k in range(size):
        state.numbers[0] = (k + 0.5) / size
        found += probabilities(vpo, state, f) / size
    rate = 20.0 / math.sqrt(3 * size)
    powers = np.exp(np.outer(np.arange(size) * rate, f))
    np.testing.assert_allclose(found, (powers / powers.sum(axis=1, keepdims=True)).mean(axis=0), rtol=1e-12)
    state.numbers[0] = 1 - 2**-53  # the largest one
    np.testing.assert_allclose(probabilities(vpo, state, f), powers[-1] / powers[-1].sum(), rtol=1e-12)


def test_bpo_by_hand():
    """Two batches, η = γ = 1/2, K = 3; the bonus of the first is min(1, 1/(2√3)), that of the second has D = 1/3."""
    state = state_after(2, "bpo", eta=0.5, gamma=0.5)
    f = np.zeros((len(state.theta), 3))
    f[0], f[1] = [1.0, 0.5, 0.0], [0.2, 0.6, 2.0]
    losses = np.array([[0.0, 0.5, 1.0], [0.8, 0.4, -1.0]])
    penalty = 0.5 * np.maximum(0, losses[0] - 0.5 / math.sqrt(3))
    penalty += 0.5 * 2 * np.maximum(0, losses[1] - 0.5 / (1 + 1 / 3))
    np.testing.assert_allclose(probabilities(bpo, state, f), np.exp(-penalty) / np.exp(-penalty).sum(), rtol=1e-12)
    state.batch = 0
    np.testing.assert_allclose(probabilities(bpo, state, f), 1 / 3)


def test_regcb_by_hand():
    """An arm is left if its interval reaches the highest lower end; in the first batch all arms are."""
    state = state_after(3, "regcb", width=0.5)
    f = [[0.9, 0.5, 0.2], [0.2, 0.6, 1.0]]  # intervals 0.8 to 1.0, 0.2 to 0.8, -0.3 to 0.7
    np.testing.assert_allclose(probabilities(regcb, state, f), [1 / 2, 1 / 2, 0])
    np.testing.assert_allclose(probabilities(regcb, state, [f[0], [0.1, 0.1, 0.1]]), [1, 0, 0])
    np.testing.assert_allclose(probabilities(regcb, state, [[1e9, 1, 1], [0, 0, 0]]), [1, 0, 0])
    state.batch = 0
    np.testing.assert_allclose(probabilities(regcb, state, [[1e9, 1, 1], [0, 0, 0]]), 1 / 3)


def test_the_width_of_regcb_is_that_of_all_matrices_so_far():
    """An indefinite sum is shifted by 1, 2, 4, ... until it is positive definite."""
    grams, gram = np.zeros((2, 2, 2)), np.array([[3.0, 1.0], [0.0, 2.0]])  # an upper triangle
    regcb.add_gram(gram, grams)
    regcb.add_gram(gram, grams)
    np.testing.assert_allclose(np.linalg.inv(grams[1]), [[7, 2], [2, 5]])
    out = np.zeros(2)
    regcb.norms(grams[1], np.array([[1.0, 0.0], [0.0, 2.0]]), out)
    np.testing.assert_allclose(out, np.sqrt([5 / 31, 4 * 7 / 31]))
    regcb.add_gram(np.diag([-9.0, 0.0]), grams)  # the sum has -3 in its corner: 4 is the first shift that will do
    np.testing.assert_allclose(grams[0], [[-3, 2], [2, 4]])
    np.testing.assert_allclose(np.linalg.inv(grams[1]), [[1, 2], [2, 8]])


@pytest.mark.parametrize("name", ["fastcb", "vpo", "bpo"])
def test_losses_need_bounded_rewards(name):
    unbounded = SETTING._replace(contexts=Contexts(2, reward=math.inf))
    for given in ({}, {"epsilon": 1.0}):
        (error,) = make(name, **given).errors(unbounded)
        assert "need" in error and "bounded law of `rewards`" in error
    assert not list(make(name).errors(SETTING))


def test_the_steps_are_those_of_the_oracle_in_use():
    assert composition(make("fastcb"))[1].endswith("logistic_oracle")
    assert composition(make("bpo"))[1].endswith("quadratic_oracle")
    assert composition(make("regcb", oracle="logistic"))[1].endswith("logistic_gram_oracle")
    with pytest.raises(ValueError, match="oracle"):
        make("fastcb", oracle="quadratic")
