"""Random numbers made of 64 bits: each helper against SciPy, and negative controls that the same test must refuse."""

import math
from functools import cache

import numpy as np
import pytest
from scipy import special, stats

from privbandits_cli.games.drawing import fill_of
from privbandits_cli.numerics import bits as numbers
from privbandits_cli.numerics.jit import bind, compile_step, without_jit
from privbandits_cli.numerics.streams import stream
from tests.conftest import first, some

N = 2**18
LEVEL = 1e-6  # of a test: all tests together accuse correct numbers with probability below 1e-4
FAR = math.sqrt(math.log(2 / LEVEL) / 2 / N)  # P(distance > FAR) < LEVEL under the right law (Massart 1990)
SMALLEST = 1e-300

helper = None


def fill(words, places, out, given):
    """`out[t]` is the number of place `places[t]` of the bits `words[t]`."""
    for t in range(len(out)):
        out[t] = helper(words[t], places[t], *given)


def filled(name, given, words, places):
    out = np.empty(len(words))
    loop = bind(fill, helper=compile_step(getattr(numbers, name)))
    with np.errstate(over="ignore"):
        loop(words, places, out, given)
    return out


@cache
def words(n=N):
    out = np.empty(n, np.uint64)
    fill_of("bits", stream(1, "bits", trial=0))(out)
    return out


def places(n=N, count=7):
    return np.arange(n) % count


def fits(sample, law):
    """The Kolmogorov-Smirnov test at LEVEL, which a distance of FAR refuses."""
    return stats.kstest(sample, law.cdf).pvalue > LEVEL


LAWS = {
    ("uniform", ()): stats.uniform(),
    ("normal", ()): stats.norm(),
    **{("gamma", (a,)): stats.gamma(a) for a in (0.05, 0.5, 1.0, 1.5, 30.0, 1e6)},
    **{
        ("beta", ab): stats.beta(*ab)
        for ab in ((1.0, 1.0), (0.5, 0.5), (0.3, 4.0), (2.0, 5.0), (300.0, 20.0), (1e5, 1e6))
    },
}
FEW = [  # shapes below and above 1
    ("uniform", ()),
    ("normal", ()),
    *(("gamma", (a,)) for a in (0.05, 1.5)),
    *(("beta", ab) for ab in ((0.3, 4.0), (2.0, 5.0))),
]


@pytest.mark.parametrize(("name", "given"), first(6, sorted(LAWS, key=lambda row: row not in FEW)))
def test_a_helper_has_the_law_of_its_name(name, given):
    """By the Kolmogorov-Smirnov test, and by the test of the tails: how many lie beyond the 2^-10 quantiles."""
    sample, law = filled(name, given, words(), places()), LAWS[name, given]
    assert fits(sample, law)
    share = 2.0**-10
    for count in (np.sum(sample < law.ppf(share)), np.sum(sample > law.isf(share))):
        assert stats.binomtest(int(count), N, share).pvalue > LEVEL


@pytest.mark.parametrize(
    ("name", "given", "wrong"),
    first(
        3,
        [
            ("normal", (), stats.norm(0, 1.06)),
            ("gamma", (1.5,), stats.gamma(1.6)),
            ("beta", (2.0, 5.0), stats.beta(2.0, 5.5)),
            ("normal", (), stats.t(8)),
            ("gamma", (0.05,), stats.gamma(0.055)),
            ("beta", (2.0, 5.0), stats.beta(5.0, 2.0)),
            ("uniform", (), stats.uniform(0, 1.02)),
        ],
    ),
)
def test_another_law_is_refused(name, given, wrong):
    """Its distance from the right law is twice what the test forgives, so that a sample cannot hide it."""
    law = LAWS.get((name, given))
    x = law.ppf(np.linspace(0.001, 0.999, 999))
    assert np.abs(law.cdf(x) - wrong.cdf(x)).max() > 2 * FAR
    assert not fits(filled(name, given, words(), places()), wrong)


def skellam_law(variance):
    """Whole numbers and their probabilities under the Skellam law, e^-V I_|k|(V)."""
    far = 20 + math.ceil(12 * math.sqrt(variance))
    k = np.arange(-far, far + 1)
    return k, special.ive(np.abs(k), variance)


def refused(sample, variance):
    """The p-value of Pearson's test for the counts in about 40 cells of more than 250 expected numbers."""
    k, law = skellam_law(variance)
    cuts = np.unique(k[np.searchsorted(np.cumsum(law), np.linspace(0.001, 0.999, 40))])
    shares = np.diff(np.concatenate([[0.0], np.cumsum(law)[cuts - k[0]], [1.0]]))
    counts = np.bincount(np.searchsorted(cuts, sample), minlength=len(shares))
    return stats.chisquare(counts, N * shares / shares.sum()).pvalue


@pytest.mark.parametrize("variance", [0.3, 5.0, 19.9, 20.0, 31.0, 200.0, 1e4])
def test_a_skellam_number_has_the_law_of_its_name(variance):
    """A variance of 20 is where rejection begins. Controls: other variances, and another mean."""
    sample = filled("skellam", (variance,), words(), places())
    assert (sample == np.floor(sample)).all()
    assert refused(sample, variance) > LEVEL
    assert refused(sample, 1.06 * variance) < LEVEL and refused(sample, 0.94 * variance) < LEVEL
    assert refused(sample + (words() % np.uint64(50) == 0) * math.ceil(math.sqrt(variance)), variance) < LEVEL
    k, law = skellam_law(variance)
    tail = np.cumsum(law[::-1])[::-1]  # P(number >= k)
    first = int(np.argmax(tail < 2.0**-10))
    for side in (-1, 1):
        assert stats.binomtest(int(np.sum(side * sample >= k[first])), N, tail[first]).pvalue > LEVEL


@pytest.mark.parametrize("variance", [1e9, 1e13, 1e18])
def test_a_skellam_number_of_a_large_variance_is_normal(variance):
    """Up to 1/√variance, which is far below what the test forgives."""
    sample = filled("skellam", (variance,), words(), places())
    assert fits(sample, stats.norm(0, math.sqrt(variance)))
    assert not fits(sample, stats.norm(0, 1.06 * math.sqrt(variance)))
    assert len(np.unique(sample % 64)) == 64  # no digits are lost


@pytest.mark.parametrize("mean", [10.0, 97.3, 1e6, 1e15])
def test_the_logarithm_of_a_poisson_probability(mean):
    """Against SciPy where it keeps its digits, and at 10^15 against the normal law with its first correction."""
    for k in np.floor(mean + np.sqrt(mean) * np.array([-2.5, -1.0, 0.0, 0.3, 3.0])):
        found = numbers.log_poisson(k, mean, k - mean)
        if mean < 1e10:
            assert found == pytest.approx(stats.poisson(mean).logpmf(k), abs=1e-9)
        else:
            z = (k - mean) / math.sqrt(mean)
            assert found == pytest.approx(stats.norm.logpdf(z) - math.log(mean) / 2, abs=1e-6)


def test_a_beta_number_of_small_shapes_has_its_law_where_floats_can_hold_it():
    """Half of the numbers are within 1e-16 of 1, which only the ones near 0 can be told from."""
    law = stats.beta(0.02, 0.02)
    small = filled("beta", (0.02, 0.02), words(), places())
    small = small[small < 0.5]
    assert stats.binomtest(len(small), N, 0.5).pvalue > LEVEL
    assert stats.kstest(np.log(np.maximum(small, SMALLEST)), lambda x: 2 * law.cdf(np.exp(x))).pvalue > LEVEL


@pytest.mark.parametrize("name", ["uniform", "normal"])
def test_numbers_of_other_places_and_bits_are_independent(name):
    """Correlations of 2^18 pairs have deviation 2^-9 and are asymptotically normal; the same place is the control."""
    given = (words(),)
    own, next_place = filled(name, (), *given, places()), filled(name, (), *given, places() + 1)
    far = -stats.norm.ppf(LEVEL / 2) / math.sqrt(N)
    assert abs(np.corrcoef(own, next_place)[0, 1]) < far
    assert abs(np.corrcoef(own[1:], own[:-1])[0, 1]) < far
    assert np.corrcoef(own, filled(name, (), *given, places()))[0, 1] == pytest.approx(1.0)


def test_consecutive_words_make_independent_numbers():
    """Bits need not be random to make different numbers: 0, 1, 2, ... do, too."""
    sample = filled("uniform", (), np.arange(N, dtype=np.uint64), np.zeros(N, np.int64))
    assert fits(sample, stats.uniform())
    assert not fits(np.arange(N) / 2**64, stats.uniform())


def test_the_words_are_those_of_splitmix64():
    """The first numbers of its reference code with the seed 1234567."""
    seeds = np.uint64(1234567) + np.arange(1, 4, dtype=np.uint64) * numbers.STEP
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    np.testing.assert_array_equal(numbers.mixed(seeds), np.array(expected, np.uint64))


def test_a_uniform_number_is_neither_0_nor_1():
    """Its logarithm is finite, and so is that of 1 minus it."""
    least, most = (numbers.unit(word) for word in np.array([0, 2**64 - 1], np.uint64))
    assert 0.0 < least == 2.0**-53 and most == 1.0 - 2.0**-53 < 1.0


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("uniform", ()),
        ("normal", ()),
        ("gamma", (0.3,)),
        ("beta", (2.0, 0.7)),
        ("skellam", (12.0,)),
        ("skellam", (1e5,)),
    ],
)
def test_plain_python_makes_the_same_numbers(name, given):
    with without_jit():
        plain = filled(name, given, words(2000), places(2000))
    np.testing.assert_array_equal(plain, filled(name, given, words(2000), places(2000)))


SHAPES = [1.0, 1.3, 2.0, 7.0, 40.0, 1e3, 1e5, 1e9]


def between(shape, state, out):
    """The number `out[0]`, and what it is between."""
    out[0] = gamma_number(state, shape)
    out[1], out[2] = gamma_between(state, shape)


gamma_number, gamma_between = numbers.gamma_number, numbers.gamma_between


def rows_between(shapes, states, out):
    """`between` of many."""
    for t in range(len(states)):
        between(shapes[t % len(shapes)], states[t], out[t])


def test_a_gamma_number_is_between_its_bounds():
    """Most bounds are close. Control: about half of the numbers are above the middle of their bounds."""
    states, out = words(2**16), np.empty((2**16, 3))
    with np.errstate(over="ignore"):
        bind(rows_between)(np.array(SHAPES), states, out)
    found, low, high = out.T
    assert ((low <= found) & (found <= high)).all()
    bounded, shapes = high < numbers.HUGE, np.array(SHAPES)[np.arange(2**16) % len(SHAPES)]
    assert bounded[shapes > 10].mean() > 0.97 and bounded.mean() > 0.9
    assert np.median(((high - low) / np.sqrt(shapes))[bounded]) < 0.05
    assert 0.2 < np.mean(found[bounded] > ((low + high) / 2)[bounded]) < 0.8


largest_beta, beta = numbers.largest_beta, numbers.beta


def places_of_largest(states, a, b, out):
    """By `largest_beta`, and by the numbers themselves."""
    for t in range(len(states)):
        row = t % len(a)
        out[t, 0] = largest_beta(states[t], a[row], b[row])
        best = 0
        for i in range(1, a.shape[1]):
            if beta(states[t], i, a[row, i], b[row, i]) > beta(states[t], best, a[row, best], b[row, best]):
                best = i
        out[t, 1] = best


@pytest.mark.parametrize("least", [1.0, 0.3])
@pytest.mark.parametrize("plain", some([False, True], True))
def test_the_largest_beta_number_is_found(least, plain):
    """Shapes from `least` to 10^6, of arms that are far apart and alike, and shapes of 10^13 beside `least`."""
    rng, n = np.random.default_rng(3), 300 if plain else 2**16
    plays = 10.0 ** rng.uniform(0, 6, (64, 5))
    means = np.where(np.arange(64)[:, None] % 3 == 0, 0.5, np.clip(rng.normal(0.5, 0.2, (64, 5)), 0, 1))
    means[1::8] = 1.0
    plays[1::16] = 1e13
    a, b, out = least + means * plays, least + (1 - means) * plays, np.empty((n, 2), np.int64)
    with without_jit(plain), np.errstate(over="ignore"):
        bind(places_of_largest)(words(n), a, b, out)
    np.testing.assert_array_equal(out[:, 0], out[:, 1])
    assert (np.bincount(out[:, 0], minlength=5) > n / 50).all()


def test_bounds_that_do_not_hold_are_found(monkeypatch):
    """The control: the bounds of a beta number are those of another place."""
    a, b, out = np.full((1, 3), 30.0), np.full((1, 3), 20.0), np.empty((2000, 2), np.int64)
    with without_jit(), np.errstate(over="ignore"):
        right = numbers.beta_between
        monkeypatch.setattr(numbers, "beta_between", lambda bits, i, a, b: right(bits, i + 1, a, b))
        bind(places_of_largest)(words(2000), a, b, out)
    assert np.mean(out[:, 0] != out[:, 1]) > 0.1


@pytest.mark.parametrize("shape", [0.0, -1.0, math.nan, math.inf])
@pytest.mark.parametrize("plain", [False, True])
def test_a_shape_that_no_law_has_is_refused(shape, plain):
    """It would otherwise be searched for ever."""
    for name, given in (("gamma", (shape,)), ("beta", (shape, 1.0)), ("beta", (1.0, shape)), ("skellam", (shape,))):
        with without_jit(plain), pytest.raises(ValueError, match="must be positive and finite"):
            filled(name, given, words(4), places(4))


def test_words_are_numpys():
    """The bits of a round are those of NumPy's generator, wherever a call ends."""
    raw, out = stream(1, "bits", trial=0).bit_generator.random_raw(1000), np.empty(1000, np.uint64)
    fill = fill_of("bits", stream(1, "bits", trial=0))
    for begin in range(0, 1000, 300):
        fill(out[begin : begin + 300])
    np.testing.assert_array_equal(out, raw)


def test_a_normal_number_is_a_quantile():
    """AS 241 against SciPy, in the centre, in the tails and at their ends, where 1 - u loses digits."""
    some = np.concatenate([words(5000), np.array([inverse(u) for u in (2.0**-53, 1e-14, 1e-9, 0.07, 0.93)], np.uint64)])
    with np.errstate(over="ignore"):
        found = np.array([numbers.standard_normal(word) for word in some])
        u = np.array([numbers.unit(numbers.mixed(word)) for word in some])
    np.testing.assert_allclose(found, special.ndtri(u), rtol=1e-13, atol=1e-14)
    assert found.min() < -8 and (np.abs(found[:5000]) < 0.5).sum() > 1500


def inverse(u):
    """A state of SplitMix64 whose number is u."""
    word = int(u * 2.0**52) << 12
    for factor, shift in ((numbers.SECOND, 31), (numbers.FIRST, 27)):
        word = unshifted(word, shift)
        word = word * pow(int(factor), -1, 2**64) % 2**64
    return unshifted(word, 30)


def unshifted(word, shift):
    """The x with x ^ (x >> shift) = word."""
    x = word
    for _ in range(64 // shift + 1):
        x = word ^ (x >> shift)
    return x
