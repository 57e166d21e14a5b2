"""Correct algorithms, which an auditor must not accuse."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from privbandits_cli.audit.auditor import audit
from privbandits_cli.audit.verdict import Audit
from privbandits_cli.games.linear import Simplex, Sphere
from privbandits_cli.games.players import Algorithm, Contexts, Setting
from privbandits_cli.plugins.registry import Registry

ARMS = Setting(2**14, 4)
HEAVY = Setting(2**14, 4, v=1.0, u=1.0)  # gains may be of any size
TWO = Setting(2**14, 2)  # each arm is played in thousands of rounds, whatever the noise
FEW = Setting(2**10, 4)  # most of them first pulls
LONG = Setting(2**18, 4)  # for an arm to become rare
EXPERTS = Setting(50_000, 2, space=Simplex(2))  # log2 T is no whole number
SHORT = Setting(250, 2, space=Simplex(2))  # whose noise is audited by its whole matrix
THREE = Setting(2**13, 3, space=Simplex(3))
BALL = Setting(2**16, 3, space=Sphere(3))
SURE = Setting(2**14, 4, confidence=0.9)  # of the game best_arm
BUDGET = Setting(2**10, 4)
CONTEXTS = Setting(2**16, 25, contexts=Contexts(3))
FIXED = Setting(2**14, 6, contexts=Contexts(2, sigma=0.25, reward=0.5, fixed=True))


@dataclass(frozen=True)
class Subject:
    """A correct algorithm, not tuned, and the setting in which it and its mutants are audited."""

    make: Callable[[], Algorithm]
    setting: Setting = ARMS
    variant: str = ""  # in the title, if several subjects are the same algorithm

    def title(self) -> str:
        """The title in tables."""
        return ", ".join(filter(None, [self.make().tuned(self.setting).title, self.variant]))

    def audited(self, alpha: float, budget: int, seed: int) -> Audit:
        """The audit of the correct algorithm."""
        return audit(self.make().tuned(self.setting), self.setting, alpha, budget, seed)

    def shorter(self, rounds: int) -> "Subject":
        """The same in a game of so many rounds with few arms."""
        few = self.setting._replace(horizon=rounds, n_arms=min(self.setting.n_arms, 6))
        if self.make().name == "plain_dp_linucb":  # its answers are alike in all dimensions
            few = few._replace(n_arms=3, contexts=Contexts(1))
        return replace(self, setting=few)


def make(name: str, **parameters: Any) -> Algorithm:
    """An algorithm by name."""
    made = Registry().find("algorithms", name)(**parameters)
    assert isinstance(made, Algorithm)
    return made


def subject(name: str, setting: Setting = ARMS, variant: str = "", **parameters: Any) -> Subject:
    """A subject by the name of its algorithm."""
    return Subject(partial(make, name, **parameters), setting, variant)


GAUSSIAN = {"nodes": "gaussian", "delta": 1e-6}

CORRECT = {
    "dp_exp3_lap": subject("dp_exp3_lap", epsilon=1.0),
    "exp3": subject("exp3", LONG),
    "exp3_tau": subject("exp3_tau", LONG),
    "adac_ucb": subject("adac_ucb", rho=0.125, delta=1e-5),
    "gaussian_ts": subject("gaussian_ts", FEW, mu=0.1, b=250, delta=1e-5),
    "gaussian_ts, mu": subject("gaussian_ts", variant="T = 2^14", mu=1.0, delta=1e-5),
    "adap_ucb": subject("adap_ucb", epsilon=1.0),
    "adap_klucb": subject("adap_klucb", epsilon=0.5),
    "batched_htinf": subject("batched_htinf", epsilon=0.25),
    "dist_dp_se": subject("dist_dp_se", epsilon=1.0),
    "dist_rdp_se": subject("dist_rdp_se", epsilon=1.0, delta=1e-6),
    "dp_exp2": subject("dp_exp2", epsilon=1.0),
    "dp_imed": subject("dp_imed", epsilon=0.5),
    "dp_klucb": subject("dp_klucb", epsilon=0.5),
    "dp_klucb, last": subject("dp_klucb", variant="last phase", epsilon=0.5, memory="last", width="chernoff"),
    "dp_klucb, optimal": subject("dp_klucb", variant="long first phase", epsilon=0.5, width="optimal", first=4.0),
    "dp_robust_se": subject("dp_robust_se", epsilon=1.0, constants=0.05),
    "dp_robust_se, α": subject("dp_robust_se", variant="α = 0.05", epsilon=1.0, constants=0.05, alpha=0.05),
    "dp_robust_ucb": subject("dp_robust_ucb", TWO, epsilon=1.0),
    "dp_robust_ucb, α": subject("dp_robust_ucb", TWO, "α = 0.05", epsilon=1.0, alpha=0.05),
    "dp_se": subject("dp_se", epsilon=1.0),
    "dp_ts": subject("dp_ts", epsilon=0.5),
    "dp_ucb": subject("dp_ucb", epsilon=1.0, bonus="azize"),
    "dp_ucb, hybrid": subject("dp_ucb", ARMS, "hybrid trees", epsilon=1.0),
    "dp_ucb, k-ary": subject("dp_ucb", ARMS, "k-ary tree", epsilon=1.0, bonus="chernoff", counter="k_ary"),
    "dp_ucb, smooth": subject("dp_ucb", ARMS, "smooth tree", epsilon=1.0, bonus="chernoff", counter="smooth"),
    "dp_tsallis_switch": subject("dp_tsallis_switch", epsilon=0.5),
    "lazy_dp_ts": subject("lazy_dp_ts", epsilon=0.5),
    "ldp_robust_se": subject("ldp_robust_se", epsilon=1.0),
    "ldp_robust_se, α": subject("ldp_robust_se", variant="α = 0.05", epsilon=1.0, alpha=0.05),
    "ldp_robust_ucb": subject("ldp_robust_ucb", epsilon=1.0),
    "ldp_robust_ucb, α": subject("ldp_robust_ucb", variant="α = 0.5", epsilon=1.0, alpha=0.5),
    "ldp_robust_ucb, bits": subject("ldp_robust_ucb", HEAVY, "bits", epsilon=1.0, report="bernoulli", alpha=0.5),
    "ldp_ucb": subject("ldp_ucb", epsilon=1.0),
    "ldp_ucb, bits": subject("ldp_ucb", variant="bits", epsilon=1.0, report="bernoulli"),
    "adap_tt": subject("adap_tt", SURE, epsilon=1.0),
    "adap_tt_star": subject("adap_tt_star", SURE, epsilon=1.0),
    "ctb_tt": subject("ctb_tt", SURE, epsilon=1.0),
    "dp_halving": subject("dp_halving", BUDGET, epsilon=1.0),
    "dp_halving, last": subject("dp_halving", BUDGET, "last phase", epsilon=1.0, memory="last"),
    "dp_tt": subject("dp_tt", SURE, epsilon=1.0),
    "dp_tt, published": subject(
        "dp_tt", SURE, "published", epsilon=1.0, sampling="published", threshold="sum", growth=0.5
    ),
    "dp_uniform": subject("dp_uniform", SURE, epsilon=1.0),
    "dp_uniform_best_arm": subject("dp_uniform_best_arm", BUDGET, epsilon=1.0),
    "dp_se, best arm": Subject(lambda: make("dp_se", epsilon=1.0).in_game("best_arm"), SURE, "best arm"),
    "dp_ftrl": subject("dp_ftrl", EXPERTS, epsilon=1.0),
    "dp_ftrl, signed": subject("dp_ftrl", EXPERTS._replace(signed=True), "signed losses", epsilon=1.0),
    "dp_ftrl, shared": subject("dp_ftrl", EXPERTS, "shared top-up noise", epsilon=1.0, spare="once"),
    "dp_ftrl, Gaussian": subject(
        "dp_ftrl", BALL, "Gaussian nodes", epsilon=1.0, nodes="gaussian", delta=1e-6, spare="once"
    ),
    "dp_ftrl, BLT": subject("dp_ftrl", EXPERTS, "BLT", epsilon=1.0, counter="blt", **GAUSSIAN),
    "dp_ftrl, no top-up": subject("dp_ftrl", SHORT, "no top-up noise", epsilon=1.0, spare="none", **GAUSSIAN),
    "dp_ftrl, Honaker": subject("dp_ftrl", SHORT, "Honaker's estimates", epsilon=1.0, counter="honaker", **GAUSSIAN),
    "dp_ftrl, square root": subject("dp_ftrl", SHORT, "square root", epsilon=1.0, counter="square_root", **GAUSSIAN),
    "dp_ftrl, smooth": subject("dp_ftrl", SHORT, "smooth tree", epsilon=1.0, counter="smooth"),
    "dp_ftrl, k-ary": subject("dp_ftrl", EXPERTS, "k-ary tree", epsilon=1.0, counter="k_ary"),
    "dp_ftrl, negative digits": subject("dp_ftrl", SHORT, "negative digits", epsilon=1.0, counter="negative_digits"),
    "dp_ftpl": subject("dp_ftpl", EXPERTS, epsilon=1.0, delta=1e-6),
    "dp_ftpl, BLT": subject("dp_ftpl", SHORT, "BLT", epsilon=1.0, delta=1e-6, counter="blt"),
    "noisy_ftrl": subject("noisy_ftrl", EXPERTS, epsilon=1.0),
    "rnm_ftnl": subject("rnm_ftnl", THREE, epsilon=1.0),
    "rnm_ftnl, Gumbel": subject("rnm_ftnl", THREE, "Gumbel noise", epsilon=1.0, noise="gumbel"),
    "rnm_ftnl, printed": subject("rnm_ftnl", THREE._replace(signed=True), "Lap(1/ε)", epsilon=0.5, noise="printed"),
    "rw_ftpl": subject("rw_ftpl", EXPERTS, epsilon=1.0, delta=1e-6),
    "rw_ftpl, ball": subject("rw_ftpl", BALL, "sphere", epsilon=1.0, delta=1e-6),
    "shrinking_dartboard": subject("shrinking_dartboard", THREE, epsilon=1.0),
    "dp_scrible": subject("dp_scrible", BALL, epsilon=1.0),
    "dp_scrible, scalar": subject("dp_scrible", BALL, "one number", epsilon=1.0, noise="scalar"),
    "dp_linucb": subject("dp_linucb", CONTEXTS, "Gaussian noise", epsilon=1.0, delta=0.1, calibration="exact"),
    "dp_linucb, Wishart": subject(
        "dp_linucb", CONTEXTS, "Wishart noise", epsilon=0.5, delta=1e-3, noise="wishart", calibration="exact"
    ),
    "dp_linucb, unshifted": subject(
        "dp_linucb", CONTEXTS, "no shift", epsilon=1.0, delta=0.1, noise="wishart_unshifted", calibration="code"
    ),
    "dp_linucb, BLT": subject("dp_linucb", CONTEXTS, "BLT", epsilon=1.0, delta=0.1, counter="blt"),
    "dp_linucb, tree": subject(
        "dp_linucb", CONTEXTS, "a tree that is not redrawn", epsilon=1.0, delta=0.1, counter="tree"
    ),
    "adac_oful": subject("adac_oful", CONTEXTS, rho=0.125, delta=1e-5),
    "adac_gope": subject("adac_gope", FIXED, rho=2.0, delta=1e-5, alpha=0.5),
    "adap_gope": subject("adap_gope", FIXED, epsilon=2.0, alpha=0.5),
    "ldp_gope": subject("ldp_gope", FIXED, epsilon=2.0, alpha=0.5),
    "ldp_linucb": subject("ldp_linucb", CONTEXTS, epsilon=1.0, delta=0.1, calibration="exact"),
    "squarecb": subject("squarecb", CONTEXTS, "quadratic oracle", epsilon=1.0),
    "squarecb, logistic": subject("squarecb", CONTEXTS, "logistic oracle", epsilon=1.0, oracle="logistic"),
    "fastcb": subject("fastcb", CONTEXTS, epsilon=1.0),
    "vpo": subject("vpo", CONTEXTS, "quadratic oracle", epsilon=1.0),
    "bpo": subject("bpo", CONTEXTS, "quadratic oracle", epsilon=1.0),
    "bpo, logistic": subject("bpo", CONTEXTS, "logistic oracle", epsilon=1.0, oracle="logistic"),
    "regcb": subject("regcb", CONTEXTS, "quadratic oracle", epsilon=1.0),
    "regcb, logistic": subject("regcb", CONTEXTS, "logistic oracle", epsilon=1.0, oracle="logistic"),
    "plain_dp_linucb": Subject(
        lambda: make("plain_dp_linucb", epsilon=0.5, base=make("dp_linucb", epsilon=1.0, delta=0.1)), CONTEXTS
    ),
}

# By subject, the rounds of a game that plain Python plays: it shows most of the mutants.
ROUNDS = {
    "dp_exp3_lap": 12,
    "exp3": 16,
    "exp3_tau": 64,
    "adac_ucb": 12,
    "gaussian_ts, mu": 20,
    "adap_ucb": 20,
    "adap_klucb": 8,
    "batched_htinf": 8,
    "dp_exp2": 8,
    "dp_imed": 8,
    "dp_klucb": 12,
    "dp_klucb, last": 8,
    "dp_klucb, optimal": 64,
    "dp_robust_ucb": 20,
    "dp_ts": 8,
    "dp_ucb": 20,
    "dp_ucb, hybrid": 12,
    "dp_ucb, k-ary": 12,
    "dp_ucb, smooth": 8,
    "dp_tsallis_switch": 8,
    "lazy_dp_ts": 8,
    "ldp_robust_se": 8,
    "ldp_robust_se, α": 20,
    "ldp_robust_ucb": 8,
    "ldp_robust_ucb, α": 8,
    "ldp_robust_ucb, bits": 8,
    "ldp_ucb": 12,
    "ldp_ucb, bits": 12,
    "adap_tt": 8,
    "adap_tt_star": 8,
    "ctb_tt": 10,
    "dp_halving": 40,
    "dp_tt": 32,
    "dp_tt, published": 8,
    "dp_uniform": 128,
    "dp_uniform_best_arm": 8,
    "dp_ftrl": 32,
    "dp_ftrl, signed": 8,
    "dp_ftrl, Gaussian": 32,
    "dp_ftrl, BLT": 32,
    "dp_ftrl, no top-up": 32,
    "dp_ftrl, Honaker": 8,
    "dp_ftrl, square root": 8,
    "dp_ftrl, smooth": 12,
    "dp_ftrl, k-ary": 8,
    "dp_ftrl, negative digits": 8,
    "dp_ftpl": 32,
    "dp_ftpl, BLT": 20,
    "noisy_ftrl": 32,
    "rnm_ftnl": 8,
    "rnm_ftnl, Gumbel": 8,
    "rnm_ftnl, printed": 12,
    "rw_ftpl": 8,
    "rw_ftpl, ball": 8,
    "shrinking_dartboard": 8,
    "dp_scrible": 32,
    "dp_scrible, scalar": 32,
    "dp_linucb": 8,
    "dp_linucb, Wishart": 24,
    "dp_linucb, unshifted": 8,
    "dp_linucb, BLT": 8,
    "dp_linucb, tree": 8,
    "adac_oful": 16,
    "adac_gope": 256,
    "adap_gope": 256,
    "ldp_gope": 256,
    "ldp_linucb": 16,
    "squarecb": 16,
    "squarecb, logistic": 8,
    "fastcb": 8,
    "vpo": 16,
    "bpo": 16,
    "bpo, logistic": 8,
    "regcb": 16,
    "regcb, logistic": 8,
    "plain_dp_linucb": 2,
}
