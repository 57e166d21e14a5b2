"""What the tests of audits share, and which correct algorithms and mutants `make test` audits.

`make test` audits each kind of view: a correct algorithm, and a fault. Mutants that change only a scale play by the
compiled loops of their subject, so they are nearly free. Some games are so short that plain Python plays them: of
these `make test` plays the subjects ONCE, each correct and with a mutant.
"""

import pytest

from privbandits_cli.audit.modular_sums import by_groups

SEEDS = [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)]

# By subject, the mutants that `make test` audits in the games of the subject.
FAST = {
    "dp_exp3_lap": {"noise scale x 0.5", "noise scale x 0.9", "no noise"},
    "rnm_ftnl": {"noise as printed, Lap(1/ε)"},
    "rnm_ftnl, Gumbel": {"noise scale x 0.9"},
    "rnm_ftnl, printed": {"range of signed losses forgotten"},
    "shrinking_dartboard": {"η doubled", "p halved"},
}

# For each way to audit, the subject that `make test` plays in a short game, and its mutant.
ONCE = {
    "ldp_ucb": "noise depends on the gain",
    "exp3": "learning rate doubled",
    "ctb_tt": "true gains in the test",
    "dp_halving": "noise drawn once",
    "dp_ftrl": "log2 for levels",
    "dp_ftrl, BLT": "noise scale x 0.75",
    "dp_scrible": "noise scale x 0.5",
    "adac_oful": "noise scale x 0.5",
    "plain_dp_linucb": "the base's ε",
    "vpo": "noise scale x 0.99",
}


def conforms(noise):
    """The p-value of numbers as standard Laplace noise, neither too small nor too large."""
    found = by_groups(noise, {}, 0.001)
    return min(found.p, found.more)
