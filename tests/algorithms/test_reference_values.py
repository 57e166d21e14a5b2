"""The private algorithms for Bernoulli arms against regrets that were computed independently of this package.

A reference is the mean, or for DP-IMED the median, of N trials; ours is that of n trials. Both are estimates, so their
distance is measured in joint standard errors. Of means they are sd √(1/n + 1/N), with our sd for both, or, where the
reference has an interval, that of the reference for its part; of medians, √(1/n + 1/N)/2 in the part of our
trials that is below the reference. Student's t with n - 1 degrees says which distance is too large.

DP-KLUCB has rare games in which a wrong arm leads for long: at ε = 0.1 on C2 it loses more than 4000 in 2 of 1000 games
of 10^5 rounds. These few decide its mean. None of the 200 games of the reference after 10^7 rounds lost more than 5000,
so DP-KLUCB is compared without its games above that, which must be few. DP-IMED has more: its medians are compared.
"""

import math

import numpy as np
import pytest
from scipy import stats

from privbandits_cli.games.bandit import play
from tests.conftest import foe, make, match

# (algorithm, parameters): N, and its regret on C1 at ε = 0.1 and 1, then on C2 at ε = 0.1 and 1, after 10^6 rounds.
SHORT = {
    ("adap_ucb", ""): (100, 10142, 4145, 7578, 1665),
    ("adap_klucb", ""): (100, 8045, 3342, 7465, 1555),
    ("dp_se", ""): (40, 10543, 10453, 4871, 3780),
    ("lazy_dp_ts", "log=e"): (8, 6376, 1177, 4731, 800),
    ("dp_klucb", ""): (100, 939, 546, 827, 156),
    ("dp_imed", ""): (100, 515, 282, 480, 104),
}
# The same on C2 at ε = 0.1 and 1 after 10^7 rounds, with 95 % intervals where they are known. AdaC-UCB has ρ = ε²/2.
LONG = {
    ("adap_ucb", ""): (20, (7757, 161), (2112, 128)),
    ("adap_klucb", ""): (20, 7680, (1984, 140)),
    ("dp_se", ""): (20, (5524, 458), (4339, 187)),
    ("lazy_dp_ts", "log=2"): (20, (8333, 308), (1140, 64)),
    ("dp_klucb", ""): (200, 975, 180),
    ("dp_klucb", "width=chernoff"): (200, 1960, 274),
    ("dp_imed", ""): (200, 640, 136),
    ("adac_ucb", ""): (20, (877, 50), (399, 34)),
}
CHANCE = 1e-4  # that a correct algorithm is as far away as that
RARE = 5000.0
CELLS = [
    (name, own, means, epsilon, horizon, n, reference)
    for horizon, table, where in (
        (10**6, SHORT, (("C1", 0.1), ("C1", 1.0), ("C2", 0.1), ("C2", 1.0))),
        (10**7, LONG, (("C2", 0.1), ("C2", 1.0))),
    )
    for (name, own), (n, *references) in table.items()
    for (means, epsilon), reference in zip(where, references, strict=True)
]


def regrets(name, own, means, epsilon, horizon, trials):
    """Final regrets `[trials]`."""
    further = dict([own.split("=")]) if own else {}
    spent = {"rho": epsilon**2 / 2} if name == "adac_ucb" else {"epsilon": epsilon}
    game = match(foe("bernoulli", means=means), [make(name, **spent, **further)], horizon, 5)
    return play(game, range(trials))[0, :, 0]


def apart(name, found, reference, n):
    """How many joint standard errors the regrets `[trials]` are from a reference of n trials."""
    spread = math.sqrt(1 / len(found) + 1 / n)
    if name == "dp_imed":
        below, up_to = float(np.mean(found < reference)), float(np.mean(found <= reference))  # many regrets are equal
        return max(below - 0.5, 0.5 - up_to, 0.0) / (spread / 2)
    if name == "dp_klucb":
        common = found[found <= RARE]
        assert len(common) >= 0.97 * len(found)
        found = common
    value, half = reference if isinstance(reference, tuple) else (reference, None)
    sd = float(found.std(ddof=1))
    far, theirs = abs(float(found.mean()) - value), sd / math.sqrt(n) if half is None else half / 1.96
    error = math.hypot(sd / math.sqrt(len(found)), theirs)
    if error > 1e-9 * value:
        return far / error
    return math.inf if far > 1 else 0.0  # with much noise DP-SE plays the same in all trials


def too_far(trials):
    return stats.t.ppf(1 - CHANCE / 2, trials - 1)


def trials_of(name, horizon):
    """How many of ours are played: a minute of them at most, and enough to see both values of a two-valued regret."""
    if name == "lazy_dp_ts":
        return 24 if horizon == 10**6 else 10
    return 200 if horizon == 10**6 else 20


@pytest.mark.slow
@pytest.mark.parametrize(("name", "own", "means", "epsilon", "horizon", "n", "reference"), CELLS)
def test_a_regret_is_that_of_the_reference(name, own, means, epsilon, horizon, n, reference):
    found = regrets(name, own, means, epsilon, horizon, trials_of(name, horizon))
    assert apart(name, found, reference, n) < too_far(len(found))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "own", "of"),
    [("dp_klucb", "width=chernoff", "dp_klucb"), ("dp_klucb", "", "dp_imed"), ("adap_ucb", "", "dp_se")],
)
def test_another_algorithm_is_not_taken_for_it(name, own, of):
    """C2, ε = 1, T = 10^6: the control of the test above."""
    found = regrets(name, own, "C2", 1.0, 10**6, trials_of(name, 10**6))
    n, *_, reference = SHORT[of, ""]
    assert apart(of, found, reference, n) > too_far(len(found))
