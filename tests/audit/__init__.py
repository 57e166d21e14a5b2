"""What the tests of audits share, and which correct algorithms and mutants `make test` audits.

`make test` audits each kind of view: a correct algorithm, and a fault. Mutants that change only a scale play by the
compiled loops of their subject, so they are nearly free. Some games are so short that plain Python plays them: of
these `make test` plays the subjects ONCE, each correct and with its first mutant.
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

# By subject, the horizon and the budget of a short game, and the mutants that are audited in it.
SHORT = {
    "dp_exp3_lap": (
        12,
        2**10,
        ["sensitivity halved", "noise reused", "base fed the true gain", "noise depends on the gain"],
    ),
    "exp3": (16, 2**8, ["learning rate doubled", "losses for gains"]),
    "adap_ucb": (
        20,
        2**10,
        ["noise scale x 0.5", "noise depends on the gain", "phases by the true gains", "divided by the plays"],
    ),
    "adac_ucb": (
        12,
        2**10,
        ["deviation x 0.9", "noise drawn once", "one number for all arms", "uniform noise", "phases by the true gains"],
    ),
    "ldp_ucb": (12, 2**10, ["noise depends on the gain", "divided by the plays"]),
    "ldp_ucb, bits": (12, 2**10, ["the chance of a larger ε", "true gains in the sums"]),
    "dp_ucb, hybrid": (12, 2**10, ["all of ε for the blocks and for the trees", "noise depends on the gain"]),
    "dp_ucb, k-ary": (12, 2**8, ["one level too few in the scale", "noise redrawn for every sum"]),
    "ctb_tt": (10, 2**8, ["true gains in the test", "the chance of a larger ε"]),
    "dp_halving": (40, 2**10, ["noise drawn once", "a phase counted twice"]),
    "dp_ftrl": (
        32,
        2**10,
        [
            "log2 for levels",
            "second level without noise",
            "leader of the true prefix",
            "noise by the loss",
        ],
    ),
    "dp_ftpl": (32, 2**10, ["top-up missing", "top-up in the first round only"]),
    "dp_ftrl, Gaussian": (32, 2**10, ["noise scale x 0.75", "noise redrawn for every prefix"]),
    "noisy_ftrl": (32, 2**10, ["noise reused", "base fed the true losses", "noise by the loss"]),
    "dp_ftrl, no top-up": (32, 2**10, ["noise of nodes dropped"]),
    "dp_scrible": (
        32,
        2**10,
        ["noise scale x 0.5", "noise on one coordinate", "base fed a thousandth of the true loss", "noise by the loss"],
    ),
    "dp_scrible, scalar": (32, 2**10, ["noise scale x 0.75", "noise reused"]),
    "dp_ftrl, BLT": (32, 2**10, ["noise scale x 0.75"]),
    "dp_linucb": (8, 2**8, ["noise scale x 0.9"]),
    "dp_linucb, BLT": (8, 2**8, ["|c| of half of the rounds"]),
    "dp_linucb, Wishart": (8, 2**8, ["rows x 0.9"]),
    "plain_dp_linucb": (2, 2**8, ["the base's ε"]),
    "ldp_linucb": (16, 2**9, ["sensitivity of the vector alone", "earlier arms kept in a field", "noise by the data"]),
    "adac_oful": (16, 2**10, ["noise scale x 0.5", "phases by rewards", "arms by the true sums"]),
    "adap_gope": (64, 2**10, ["noise scale x 0.9", "noise by the data"]),
    "ldp_gope": (64, 2**10, ["noise scale x 0.9"]),
    "adac_gope": (64, 2**10, ["noise scale x 0.9", "arms by the true sums"]),
    "squarecb": (
        16,
        2**8,
        ["noise scale x 0.99", "a batch used twice", "γ by the records of the batch", "propensity clipped silently"],
    ),
    "vpo": (16, 2**8, ["noise scale x 0.99", "k by the arms", "one number for k and the arm", "arms by the true sums"]),
    "bpo": (16, 2**8, ["an earlier predictor changed", "true sums in the next predictor"]),
    "regcb": (
        16,
        2**8,
        ["matrices without noise", "widths by the records of the batch", "earlier arms kept in a field"],
    ),
}

# For each way to audit, the subject that `make test` plays in a short game.
ONCE = {
    "ldp_ucb",
    "exp3",
    "ctb_tt",
    "dp_halving",
    "dp_ftrl",
    "dp_ftrl, BLT",
    "dp_scrible",
    "adac_oful",
    "plain_dp_linucb",
    "vpo",
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
