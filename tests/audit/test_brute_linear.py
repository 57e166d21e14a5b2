"""The cost of a loss in tiny linear games: the audit's number against the joint law of all that is seen.

The law of noisy sums is computed from a grid: of Laplace noise the largest likelihood ratio over all sums, of Gaussian
noise the δ at the audit's ε by quadrature. The law of experts is a product over all sequences of experts.
"""

import itertools

import numpy as np
import pytest
from scipy import integrate, special

from privbandits_cli.audit.auditor import audit
from privbandits_cli.games.linear import Cube, Setting, Simplex
from tests.audit import by_matrix
from tests.audit.test_leaders import raced
from tests.conftest import make, some

pytestmark = pytest.mark.usefixtures("plainly")

DELTA = 1e-3
FAR = 1e7  # in units of the noise
# The rows are the rounds, of which the first sees no loss; the columns are random numbers.
NOISE = {
    "one number": ((0.0,), (1.0,)),
    "a number reused": ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0)),
    "fresh": ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)),
    "hidden by top-up": ((0.0, 0.0, 0.0), (1.0, 1.0, 0.0), (1.0, 0.0, 0.5)),
    "drawn before": ((1.0, 0.0, 0.0), (1.0, 1.0, 0.3), (0.0, 0.7, 1.0)),
}


def audited(rows, space, epsilon, **own):
    setting = Setting(len(rows), space.dimension, space=space)
    return audit(by_matrix.Parameters(rows=rows, epsilon=epsilon, **own), setting)


def noisy(rows):
    """The rows of the sums that have noise, as a matrix."""
    return np.array([row for row in rows if any(row)])


def moved(rows, tau):
    """By how much a loss of 1 in round `tau`, from 0, moves the sums that have noise."""
    return np.array([1.0 * (t > tau) for t, row in enumerate(rows) if any(row)])


def log_density(matrix, one):
    """The logarithm of the density of B z at a sum, up to a constant, where the entries of z are Laplace numbers.

    All z with B z = s are a point or a line. On the line exp(-|z|₁) is integrated between the points where an entry
    changes its sign; there the exponent is linear.
    """
    start = np.linalg.lstsq(matrix, one, rcond=None)[0]
    if matrix.shape[0] == matrix.shape[1]:
        return -np.abs(start).sum()
    line = np.linalg.svd(matrix)[2][-1]
    bent = np.abs(line) > 1e-12
    kinks = np.sort(-start[bent] / line[bent])
    heights = np.abs(start[:, None] + line[:, None] * kinks).sum(axis=0)
    parts = [-h - np.log(np.abs(line).sum()) for h in heights[[0, -1]]]  # beyond the first and the last kink
    for width, a, b in zip(np.diff(kinks), heights, heights[1:], strict=False):
        if width > 0:
            gap = abs(a - b)
            parts.append(np.log(width) - min(a, b) + (np.log(-np.expm1(-gap) / gap) if gap > 1e-9 else 0.0))
    return special.logsumexp(parts)


@pytest.mark.parametrize("space", some([Cube(1), Simplex(2)], Simplex(2)), ids=str)
@pytest.mark.parametrize("name", some(NOISE, "a number reused", "hidden by top-up"))
def test_the_cost_of_laplace_noise_is_the_largest_likelihood_ratio(name, space):
    """The ratio of two densities at sums so far out that it is within 1/FAR of its supremum, in every direction."""
    rows, matrix, scale = NOISE[name], noisy(NOISE[name]), 3.0
    worst = 0.0
    for far in itertools.product(np.linspace(-1, 1, 9), repeat=matrix.shape[1]):
        for tau in range(len(rows) - 1):
            sums = matrix @ (FAR * np.array(far) + 0.5)
            ratio = log_density(matrix, sums) - log_density(matrix, sums - moved(rows, tau) / scale)
            worst = max(worst, abs(ratio))
    found = audited(tuple(tuple(scale * w for w in row) for row in rows), space, 100.0)
    assert found.verdict == "CONSISTENT", found.found
    assert found.epsilon_seen == pytest.approx(space.losses(False).changes()[0] * worst, rel=1e-6)


SHORTER = [name for name, rows in NOISE.items() if len(noisy(rows)) < 3]


@pytest.mark.parametrize("name", some(SHORTER, "a number reused", "hidden by top-up"))
def test_the_cost_of_gaussian_noise_has_its_delta(name):
    """∫ max(0, p - e^ε q) over all sums, at the audit's ε."""
    rows, scale = NOISE[name], 1.5
    found = audited(tuple(tuple(scale * w for w in row) for row in rows), Cube(1), 100.0, gaussian=True, delta=DELTA)
    assert found.verdict == "CONSISTENT", found.found
    covariance = scale**2 * noisy(rows) @ noisy(rows).T
    losses = (2.0 * moved(rows, tau) for tau in range(len(rows) - 1))  # the losses of Cube(1) are in [-1, 1]
    assert max(delta(covariance, change, found.epsilon_seen) for change in losses) == pytest.approx(DELTA, rel=1e-6)


def delta(covariance, change, epsilon):
    """∫ max(0, p - e^ε q) for two normal laws whose means differ by `change`; the last sum is integrated first."""
    inverse, ends = np.linalg.inv(covariance), 12 * np.sqrt(np.diag(covariance))
    constant = np.sqrt(np.linalg.det(2 * np.pi * covariance))

    def inner(*before):
        def excess(s):
            sums = np.array([*before, s])
            other = sums - change
            p, q = -0.5 * sums @ inverse @ sums, -0.5 * other @ inverse @ other
            return (p - q - epsilon), max(0.0, np.exp(p) - np.exp(epsilon + q)) / constant

        low, high = excess(0.0)[0], excess(1.0)[0]
        points = [-ends[-1], ends[-1]]
        if low != high:  # the logarithm of the ratio is linear
            points.insert(1, np.clip(-low / (high - low), *points))
        parts = (integrate.quad(lambda s: excess(s)[1], *part, epsabs=1e-12) for part in itertools.pairwise(points))
        return sum(part[0] for part in parts)

    return inner() if len(change) == 1 else integrate.quad(inner, -ends[0], ends[0], epsabs=1e-10)[0]


# ------------------------------------------------------------------------------------------------ leaders


def law_of_first(noise, epsilon, behind):
    """The probability of the first of two experts, whose sum is larger by `behind` (in rounds), by hand."""
    if noise == "gumbel":
        return 1 / (1 + np.exp(epsilon * behind / 2))
    far = abs(behind) * epsilon / 2
    tail = (0.5 + far / 4) * np.exp(-far)
    return tail if behind > 0 else 1 - tail


def sequences(noise, epsilon, given):
    """The law of all sequences of experts in four rounds: those of the rounds 1, 2 and 4 are chosen."""
    first = [
        law_of_first(noise, epsilon, behind) for behind in (0.0, given[0] @ [1, -1], given[1:3].sum(axis=0) @ [1, -1])
    ]
    return np.array([np.prod([p if i == 0 else 1 - p for p, i in zip(first, way, strict=True)]) for way in WAYS])


WAYS = list(itertools.product((0, 1), repeat=3))


@pytest.mark.parametrize("noise", some(["laplace", "gumbel"], "gumbel"))
def test_the_cost_of_a_loss_in_all_sequences_of_experts_is_within_the_limits_of_the_audit(noise):
    """Four rounds, two experts, losses 0, 1/2 and 1: no two neighbours cost more than the audit's upper limit."""
    epsilon, setting = 1.3, Setting(4, 2, space=Simplex(2))
    found = audit(make("rnm_ftnl", epsilon=epsilon, noise=noise).tuned(setting), setting)
    losses, worst = list(itertools.product((0.0, 0.5, 1.0), repeat=2)), 0.0
    laws = {given: np.log(sequences(noise, epsilon, np.array(given))) for given in itertools.product(losses, repeat=3)}
    for given, law in laws.items():
        for t, other in itertools.product(range(3), losses):
            changed = laws[*given[:t], other, *given[t + 1 :]]
            worst = max(worst, float(np.abs(law - changed).max()))
    assert found.verdict == "CONSISTENT", found.found
    assert 0.3 * epsilon < worst <= float(found.found.split()[-1]) <= epsilon * (1 + 1e-6)


@pytest.mark.parametrize("noise", some(["laplace", "gumbel"], "gumbel"))
def test_the_chances_of_an_expert_add_up_to_its_law(noise):
    """The audit's probability given the other number, integrated over that number, for sums that differ by 1.5."""
    race = raced(Setting(4, 2, space=Simplex(2)), epsilon=1.3, noise=noise)
    state = race.target.state.copy()
    state["losses"] = [1.5, 0.0]

    def weighed(z):
        return np.exp(race.log_chance(state, np.array([0.5, z]), 0)) * (
            0.5 * np.exp(-abs(z)) if noise == "laplace" else 1.0
        )

    edges = [-40, -1.5 * 1.3 / 2, 0, 1.5 * 1.3 / 2, 40] if noise == "laplace" else [1e-12, 0.01, 0.5, 0.99, 1 - 1e-12]
    whole = sum(integrate.quad(weighed, low, high, epsabs=1e-11)[0] for low, high in itertools.pairwise(edges))
    assert whole == pytest.approx(law_of_first(noise, 1.3, 1.5), abs=1e-8)
