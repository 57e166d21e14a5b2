"""Bounds on scores: the arm played is that of all scores in double precision, and wrong bounds are noticed."""

from functools import cache

import numpy as np
import pytest

from privbandits_cli.games import ellipsoid, rough_scores
from privbandits_cli.numerics.jit import compile_once, compile_step, record
from tests.conftest import some

D, K = 33, 1100
FEW = [True, pytest.param(False, marks=pytest.mark.slow)]  # a quarter of the games, or all


def conditioned(rng, condition):
    """A positive definite matrix `[D, D]` of this condition."""
    basis = np.linalg.qr(rng.standard_normal((D, D)))[0]
    return (basis * np.geomspace(1, 1 / condition, D)) @ basis.T


def sphere(rng):
    x = rng.standard_normal((D, K))
    return x / np.linalg.norm(x, axis=0)


def best_among_near_ties(rng):
    """Arms that differ by less than single precision can tell."""
    x = np.repeat(sphere(rng)[:, :1], K, axis=1)
    return x * (1 + 1e-9 * rng.random(K))


def copies(rng):
    """Every arm several times."""
    return sphere(rng)[:, rng.integers(0, 7, K)]


def of_all_sizes(rng):
    return sphere(rng) * 10.0 ** rng.integers(-40, 30, K)


def some_zero(rng):
    return sphere(rng) * (rng.random(K) < 0.3)


def not_numbers(rng):
    x = sphere(rng)
    x[3, 500], x[5, 700] = np.nan, np.inf
    return x


ARMS = [sphere, best_among_near_ties, copies, of_all_sizes, some_zero, not_numbers]


def games(few):
    """θ~, V^-1, β and arms of many kinds."""
    rng = np.random.default_rng(6)
    for drawn in ARMS:
        for condition in (1.0, 3.0, 1e12) if few else (1.0, 3.0, 1e4, 1e12, 1e18):
            for wide in (0.1, 5.0) if few else (0.0, 1e-20, 0.1, 5.0, 1e15):
                for size in (0.0, 1e-30, 0.5, 1e12):
                    for scale in (1.0, 1e-200) if size == 0.5 else (1.0,):
                        yield size * sphere(rng)[:, 0], scale * conditioned(rng, condition), wide, drawn(rng)
    flawed = conditioned(rng, 3.0)
    for wrong in (-flawed, 0 * flawed, np.nan * flawed, 1e308 * flawed, flawed - 0.7 * np.eye(D)):
        yield sphere(rng)[:, 0], wrong, 5.0, sphere(rng)


def state_of(theta, inverse, rough):
    scratch = ellipsoid.room(ellipsoid.Contexts(D), K) | {"rough": rough}
    return record(theta=theta, inverse=inverse, **scratch)[0]


@cache
def by_all_scores():
    return compile_step(ellipsoid.optimistic_of_many)


def differing(bound, few):
    """In how many games the arm is another one with these bounds than without any; and how many arms are ruled out."""
    played, every = compile_step(ellipsoid.optimistic_of_many, bound=bound), by_all_scores()
    without, found, ruled_out = rough_scores.rough_room(D, 1), 0, []
    for theta, inverse, wide, arms in games(few):
        state = state_of(theta, inverse, rough_scores.rough_room(D, K))
        arm = played(state, wide, arms)
        found += arm != every(state_of(theta, inverse, without), wide, arms)
        ruled_out.append((state.rough.most < state.rough.least).sum())
    return found, ruled_out


@pytest.mark.parametrize("few", FEW)
def test_the_arm_is_that_of_all_scores(few):
    """In all games; in many of them all other arms are ruled out, and where nothing is known, none."""
    found, ruled_out = differing(compile_once(rough_scores.bound), few)
    assert found == 0
    assert np.mean(np.equal(ruled_out, K - 1)) > 0.1 and min(ruled_out) == 0


def shrunk(matrix, powers, sums):
    return 0.8 * largest(matrix, powers, sums)


largest = rough_scores.largest_eigenvalue


@pytest.mark.parametrize("few", FEW)
@pytest.mark.parametrize("flaw", some(["eigenvalue", "errors"], "errors"))
def test_bounds_that_are_too_small_are_noticed(flaw, few):
    """The control: an eigenvalue that is too small, and errors of single precision that are subtracted, not added.

    Whether errors that are left out change an arm depends on the processor: it may round a product and a sum at once.
    """
    if flaw == "eigenvalue":
        wrong = compile_once(rough_scores.bound, largest_eigenvalue=compile_step(shrunk))
    else:
        wrong = compile_once(rough_scores.bound, scale=compile_step(rough_scores.scale, ROUNDING=-(2.0**-24)))
    assert differing(wrong, few)[0] > 0


@cache
def compiled_largest():
    return compile_step(largest)


@pytest.mark.parametrize("condition", [1.0, 2.0, 1e3, 1e15])
def test_the_largest_eigenvalue_is_bounded_from_above_and_closely(condition):
    rng, bounded = np.random.default_rng(2), compiled_largest()
    for _ in range(10):
        matrix = conditioned(rng, condition)
        rough = rough_scores.rough_room(D, K)[0]
        rough.inverse = matrix
        most = np.linalg.eigvalsh(rough.inverse.astype(float))[-1]
        assert most <= bounded(rough.inverse, rough.powers, rough.sums) <= most * D ** (1 / 128) * 1.001


def test_few_arms_have_no_bounds():
    assert rough_scores.rough_room(D, 100)["most"].size == rough_scores.rough_room(5, 10**6)["most"].size == 0
