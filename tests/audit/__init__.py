"""What the tests of audits share, and which correct algorithms and mutants `make test` audits.

`make test` audits each kind of view once: a correct algorithm, and a fault. Mutants that change only a scale play by
the compiled loops of their subject, so they are nearly free.
"""

import pytest

from privbandits_cli.audit.evidence import by_groups

SEEDS = [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)]

# By subject, the mutants that `make test` audits.
FAST = {
    "dp_exp3_lap": {"noise scale x 0.5", "noise scale x 0.9", "no noise"},
    "exp3": {"learning rate doubled"},
    "adac_ucb": {"deviation x 0.5"},
    "gaussian_ts": {"c x 0.8"},
    "adap_ucb": {"noise depends on the gain", "the true total decides"},
    "dist_dp_se": {"noise scale x 0.5"},
    "dist_rdp_se": {"deviation x 0.5"},
    "dp_ucb, k-ary": {"one level too few in the scale"},
    "dp_ftrl": {
        "noise scale x 0.75",
        "leader of the true prefix",
        "second level without noise",
        "nodes forgotten after round 1,000",
        "top-up missing",
    },
    "dp_ftrl, signed": {"unsigned sensitivity"},
    "dp_ftrl, shared": {"top-up missing"},
    "dp_ftrl, Gaussian": {"noise scale x 0.75"},
    "dp_ftrl, BLT": {"noise scale x 0.75"},
    "noisy_ftrl": {"noise scale x 0.5"},
    "rnm_ftnl": {"noise as printed, Lap(1/ε)", "no noise late"},
    "rnm_ftnl, Gumbel": {"noise scale x 0.9"},
    "rnm_ftnl, printed": {"range of signed losses forgotten"},
    "dp_scrible": {"noise scale x 0.5", "base fed the true loss, late", "noise by the loss"},
    "dp_scrible, scalar": {"noise scale x 0.75"},
    "dp_linucb": {"noise scale x 0.9", "counter restarts"},
    "dp_linucb, Wishart": {"rows x 0.9"},
    "dp_linucb, BLT": {"|c| of half of the rounds"},
    "adac_oful": {"noise scale x 0.5"},
    "ldp_linucb": {"noise scale x 0.5"},
    "vpo": {"noise scale x 0.99"},
    "regcb": {"noise scale x 0.99", "no noise on the vector"},
    "plain_dp_linucb": {"the base's ε"},
}


def each(mutants):
    """These mutants as parameters of a test; those that are not FAST are left to `make test-all`."""
    return [
        pytest.param(
            mutant,
            marks=[] if mutant.name in FAST.get(mutant.subject, ()) else [pytest.mark.slow],
            id=f"{mutant.subject}, {mutant.name}",
        )
        for mutant in mutants
    ]


def conforms(noise):
    """The p-value of numbers as standard Laplace noise, neither too small nor too large."""
    found = by_groups(noise, {}, 0.001)
    return min(found.p, found.more)
