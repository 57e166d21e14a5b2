"""Correct algorithms, and mutants of them that each have one plausible error; an auditor must detect every mutant."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from privbandits_cli.audit.auditor import audit, reduced
from privbandits_cli.audit.evidence import Test
from privbandits_cli.audit.target import Steps
from privbandits_cli.audit.verdict import Audit
from privbandits_cli.games.linear import Simplex, Sphere
from privbandits_cli.games.players import Algorithm, Contexts, Setting
from privbandits_cli.games.steps import STEPS, composition, filled_in, steps
from privbandits_cli.mechanisms.matrix_tree import n_levels
from privbandits_cli.mechanisms.smooth import Smooth
from privbandits_cli.mechanisms.tree import KAry, depth, height
from privbandits_cli.numerics.jit import Records, compile_step, kept, record
from privbandits_cli.plugins.registry import Registry
from tests.audit import broken_bandit_steps as bandit
from tests.audit import broken_batch_steps as batches
from tests.audit import broken_contextual_steps as contextual
from tests.audit import broken_linear_steps as linear

ARMS = Setting(2**14, 4)
FEW = Setting(2**10, 4)  # most of them first pulls
LONG = Setting(2**18, 4)  # for an arm to become rare
EXPERTS = Setting(50_000, 2, space=Simplex(2))  # log2 T is no whole number
SHORT = Setting(250, 2, space=Simplex(2))  # whose noise is audited by its whole matrix
THREE = Setting(2**13, 3, space=Simplex(3))
BALL = Setting(2**16, 3, space=Sphere(3))
CONTEXTS = Setting(2**16, 25, contexts=Contexts(3))


@dataclass(frozen=True)
class Subject:
    """A correct algorithm, not tuned, and the setting in which it and its mutants are audited."""

    make: Callable[[], Algorithm]
    setting: Setting = ARMS
    variant: str = ""  # in the title, if several subjects are the same algorithm

    def title(self) -> str:
        """The title in tables."""
        return ", ".join(filter(None, [self.make().tuned(self.setting).title, self.variant]))

    def audited(self, alpha: float, budget: int, seed: int, test: Test = "bets") -> Audit:
        """The audit of the correct algorithm."""
        return audit(self.make().tuned(self.setting), self.setting, alpha, budget, seed, test=test)


@dataclass(frozen=True)
class Mutant:
    """A broken algorithm: the subject whose claim it is audited against, and a step that is replaced, or a wrong scale.

    factor: FACTOR of the broken step; share: what `field` is multiplied with, the scale of the noise in the state or in
    its counter or oracle; kept: the state has one more field `kept`, in which the broken step stores its noise.
    """

    name: str
    subject: str
    step: str = ""
    broken: Callable[..., Any] | None = None
    factor: float = 1.0
    share: float = 1.0
    field: str = "scale"
    kept: bool = False

    def audited(self, alpha: float, budget: int, seed: int, test: Test = "bets") -> Audit:
        """The audit of this mutant against the claim of its subject."""
        subject = CORRECT[self.subject]
        parameters = subject.make()
        setting = reduced(parameters.tuned(subject.setting), subject.setting)
        parameters = parameters.tuned(setting)
        state = parameters.state(setting)
        if self.kept:
            d = setting.known().dimension
            shape = (d, d + 1) if setting.contexts else (setting.n_arms,) if setting.space else ()
            state = with_field(state, "kept", np.zeros(shape))
        if self.share != 1.0:
            part = next((part for part in ("counter", "oracle") if part in (state.dtype.names or ())), None)
            held = state if part is None else state[part]
            held[self.field] *= self.share
        return audit(parameters, setting, alpha, budget, seed, mutated(self, composition(parameters)), state, test)


@kept
def mutated(mutant: Mutant, modules: tuple[str, ...]) -> Steps:
    """The steps of the algorithm of these modules, compiled with the broken step in place of the right one."""
    if mutant.broken is None:
        return steps(modules)
    names: dict[str, Any] = {**filled_in(modules), "FACTOR": mutant.factor}
    module = import_module(modules[0])
    right = {name: getattr(module, name) for name in STEPS if hasattr(module, name)}
    plain = right | {mutant.step: mutant.broken}
    names |= {f"right_{name}": compile_step(step, **names) for name, step in right.items()}
    for inner in ("released", "probabilities"):  # other steps call it
        if inner in plain:
            names[inner] = compile_step(plain[inner], **names)
    return {name: compile_step(step, **names) for name, step in plain.items()}


def with_field(state: Records, name: str, value: Any) -> Records:
    """The state with one more field, which comes first: numba confuses a record with one that it begins with."""
    names = state.dtype.names or ()
    fields = {old: state[old].reshape(()) if state[old].dtype.names else state[old][0] for old in names}
    return record(**{name: value}, **fields)


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
    "dp_robust_se": subject("dp_robust_se", epsilon=1.0),
    "dp_robust_ucb": subject("dp_robust_ucb", epsilon=1.0),
    "dp_se": subject("dp_se", epsilon=1.0),
    "dp_ts": subject("dp_ts", epsilon=0.5),
    "dp_ucb": subject("dp_ucb", epsilon=1.0, bonus="azize"),
    "dp_ucb, hybrid": subject("dp_ucb", ARMS, "hybrid trees", epsilon=1.0),
    "dp_ucb, k-ary": subject("dp_ucb", ARMS, "k-ary tree", epsilon=1.0, bonus="chernoff", counter="k_ary"),
    "dp_ucb, smooth": subject("dp_ucb", ARMS, "smooth tree", epsilon=1.0, bonus="chernoff", counter="smooth"),
    "dp_tsallis_switch": subject("dp_tsallis_switch", epsilon=0.5),
    "lazy_dp_ts": subject("lazy_dp_ts", epsilon=0.5),
    "ldp_robust_se": subject("ldp_robust_se", epsilon=1.0),
    "ldp_robust_ucb": subject("ldp_robust_ucb", epsilon=1.0),
    "ldp_ucb": subject("ldp_ucb", epsilon=1.0),
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


def followed(epsilon: float) -> float:
    """The probability that randomised response plays the base's arm."""
    return 1 / (1 + (CONTEXTS.n_arms - 1) * math.exp(-epsilon))


# |c| of the BLT that is fitted to 49,999 prefixes, after one item and after half of them, as shares of |c| after all.
ONE, HALF = 0.476464, 0.983808
# The same of the BLT with 5 buffers for the 65,535 sums of CONTEXTS. Then the μ of a redrawn tree there, as a share of
# that of a tree with a node on each of 16 levels.
ONE_OF_CONTEXTS, HALF_OF_CONTEXTS, REDRAWN = 0.466722, 0.9755, 0.391909

KARY, SMOOTH = KAry.best(int(ARMS.horizon)), Smooth.best(int(ARMS.horizon))
TURNED = 2.0**SMOOTH.sensitivity - 1  # the first code with as many ones as there should be zeros

# At 249 prefixes: |c| of the square root, its share after half of them; that of Honaker's μ.
ROOT, HALF_ROOT, HALF_SMOOTHED = 1.679945, 0.959820, 0.941632

MUTANTS = (
    Mutant("noise scale x 0.5", "dp_exp3_lap", share=0.5),
    Mutant("noise scale x 0.75", "dp_exp3_lap", share=0.75),
    Mutant("noise scale x 0.9", "dp_exp3_lap", share=0.9),
    Mutant("no noise", "dp_exp3_lap", share=0.0),
    Mutant("sensitivity halved", "dp_exp3_lap", "released", bandit.twice_the_gain),
    Mutant("noise reused", "dp_exp3_lap", "released", bandit.one_noise, kept=True),
    Mutant("noise kept for two rounds", "dp_exp3_lap", "released", bandit.noise_for_two, kept=True),
    Mutant("base fed the true gain", "dp_exp3_lap", "update", bandit.true_gain),
    Mutant("base fed the true gain late", "dp_exp3_lap", "update", bandit.true_gain_late, kept=True),
    Mutant("no noise late", "dp_exp3_lap", "update", bandit.late_silence, kept=True),
    Mutant("noise depends on the gain", "dp_exp3_lap", "released", bandit.released_by_gain),
    Mutant("learning rate for scale", "dp_exp3_lap", "released", bandit.rate_for_scale),
    Mutant("noise scale x 0.5", "dist_dp_se", share=2.0, field="epsilon"),
    Mutant("noise scale x 0.8", "dist_dp_se", share=1.25, field="epsilon"),
    Mutant("no noise", "dist_dp_se", share=1e9, field="epsilon"),
    Mutant("scale inverted, as in the published code", "dist_dp_se", "update", batches.published),
    Mutant("log10 for ln", "dist_dp_se", "update", batches.other_logarithm),
    Mutant("grid left out of the scale", "dist_dp_se", "update", batches.without_grid),
    Mutant("grid twice as fine", "dist_dp_se", "update", batches.twice_on_the_grid),
    Mutant("Laplace numbers cut to whole ones", "dist_dp_se", "update", batches.cut),
    Mutant("positive noise", "dist_dp_se", "update", batches.positive),
    Mutant("noise drawn once", "dist_dp_se", "update", batches.drawn_once, kept=True),
    Mutant("one number for all arms", "dist_dp_se", "update", batches.drawn_for_first_arm, kept=True),
    Mutant("noise of a forgotten batch reused", "dist_dp_se", "update", batches.drawn_for_two, kept=True),
    Mutant("noise depends on the gain", "dist_dp_se", "update", batches.by_gain),
    Mutant("no noise late", "dist_dp_se", "update", batches.silent_late),
    Mutant("earlier batches not forgotten", "dist_dp_se", "update", batches.remembered),
    Mutant("the true means decide", "dist_dp_se", "update", batches.true_means),
    Mutant("deviation x 0.5", "dist_rdp_se", share=2.0, field="epsilon"),
    Mutant("deviation x 0.8", "dist_rdp_se", share=1.25, field="epsilon"),
    Mutant("half of the variance", "dist_rdp_se", "update", batches.scaled_skellam, 0.5),
    Mutant("deviation for variance", "dist_rdp_se", "update", batches.deviation_for_variance),
    Mutant("deviation inverted", "dist_rdp_se", "update", batches.inverted),
    Mutant("uniform noise", "dist_rdp_se", "update", batches.uniform_whole),
    Mutant("noise drawn once", "dist_rdp_se", "update", batches.drawn_once, kept=True),
    Mutant("one number for all arms", "dist_rdp_se", "update", batches.drawn_for_first_arm, kept=True),
    Mutant("noise of a forgotten batch reused", "dist_rdp_se", "update", batches.drawn_for_two, kept=True),
    Mutant("no noise late", "dist_rdp_se", "update", batches.silent_late),
    Mutant("earlier batches not forgotten", "dist_rdp_se", "update", batches.remembered),
    Mutant("the true means decide", "dist_rdp_se", "update", batches.true_means),
    Mutant("noise scale x 0.5", "dp_exp2", share=0.5),
    Mutant("noise scale x 0.9", "dp_exp2", share=0.9),
    Mutant("no noise", "dp_exp2", share=0.0),
    Mutant("noise reused", "dp_exp2", "released", bandit.one_noise, kept=True),
    Mutant("base fed the true gain", "dp_exp2", "update", bandit.true_gain_kept),
    Mutant("noise scale x 0.5", "batched_htinf", "released", bandit.scaled_release, 0.5),
    Mutant("noise of a sum for a mean", "batched_htinf", "released", bandit.scaled_release, 4.0),
    Mutant("sum under the noise of a mean", "batched_htinf", "released", bandit.sum_released),
    Mutant("half the noise is used", "batched_htinf", "update", bandit.scaled, 0.5),
    Mutant("sum for mean", "batched_htinf", "update", bandit.sum_of_block),
    Mutant("one noise for all blocks", "batched_htinf", "update", bandit.first_noise, kept=True),
    Mutant("learning rate doubled", "exp3", "update", bandit.doubled_rate),
    Mutant("floor missing", "exp3", "choose", bandit.no_floor),
    Mutant("losses for gains", "exp3", "update", bandit.losses),
    Mutant("learning rate doubled late", "exp3", "update", bandit.doubled_rate_late, kept=True),
    Mutant("floor missing late", "exp3", "choose", bandit.no_floor_late),
    Mutant("greedy now and then", "exp3", "choose", bandit.greedy_now_and_then),
    Mutant("sum for mean", "exp3_tau", "update", bandit.sum_of_block),
    Mutant("B for 2B on a mean", "dp_robust_se", "update", bandit.scaled, 0.5),
    Mutant("no noise on a mean", "dp_robust_se", "update", bandit.scaled, 0.0),
    Mutant("mean not divided by R", "dp_robust_se", "update", bandit.sum_for_mean),
    Mutant("gains not truncated", "dp_robust_se", "update", bandit.uncut),
    Mutant("noise scale x 0.5", "dp_se", "update", bandit.scaled, 0.5),
    Mutant("noise scale x 0.5", "adap_ucb", "update", bandit.scaled, 0.5),
    Mutant("no noise late", "adap_ucb", "update", bandit.late_silence, kept=True),
    Mutant("noise depends on the gain", "adap_ucb", "update", bandit.noise_by_gain),
    Mutant("the true total decides", "adap_ucb", "choose", bandit.true_total),
    Mutant("divided by the plays", "adap_ucb", "update", bandit.plays_for_scale),
    Mutant("deviation x 0.5", "adac_ucb", share=0.5, field="deviation"),
    Mutant("deviation x 0.9", "adac_ucb", share=0.9, field="deviation"),
    Mutant("deviation inverted", "adac_ucb", share=0.25, field="deviation"),
    Mutant("ρ left out of the deviation", "adac_ucb", share=0.125**0.5, field="deviation"),
    Mutant("noise drawn once", "adac_ucb", "update", bandit.first_number, kept=True),
    Mutant("one number for all arms", "adac_ucb", "update", bandit.first_arms_number, kept=True),
    Mutant("noise of a forgotten episode reused", "adac_ucb", "update", bandit.phase_number_for_two, kept=True),
    Mutant("divided by the plays", "adac_ucb", "update", bandit.plays_for_deviation),
    Mutant("uniform noise", "adac_ucb", "update", bandit.uniform_noise),
    Mutant("noise depends on the gain", "adac_ucb", "update", bandit.number_by_gain),
    Mutant("no noise late", "adac_ucb", "update", bandit.late_number),
    Mutant("the true total decides", "adac_ucb", "choose", bandit.true_total),
    Mutant("c x 0.8", "gaussian_ts", share=0.8, field="c"),
    Mutant("c ignored", "gaussian_ts", "choose", bandit.draws_of_scale, 1.0),
    Mutant("c inverted", "gaussian_ts", "choose", bandit.draws_of_scale, 0.0),
    Mutant("n + 1 squared", "gaussian_ts", "choose", bandit.draws_of_square),
    Mutant("noise drawn once", "gaussian_ts, mu", "choose", bandit.draws_of_first_numbers, kept=True),
    Mutant("one number for all arms", "gaussian_ts", "choose", bandit.draws_of_one_number),
    Mutant("noise depends on the gains", "gaussian_ts", "choose", bandit.draws_by_gains),
    Mutant("no noise late", "gaussian_ts", "choose", bandit.draws_without_late_noise),
    Mutant("the true leader, late", "gaussian_ts", "choose", bandit.draws_for_show),
    Mutant("scale inverted", "adap_klucb", share=0.25),
    Mutant("noise drawn once", "adap_klucb", "update", bandit.first_noise, kept=True),
    Mutant("one number for all arms", "adap_klucb", "update", bandit.first_arms_noise, kept=True),
    Mutant("divided by the plays", "adap_klucb", "update", bandit.plays_for_scale),
    Mutant("scale inverted", "dp_imed", share=0.25),
    Mutant("noise drawn once", "dp_imed", "update", bandit.first_noise, kept=True),
    Mutant("one number for all arms", "dp_imed", "update", bandit.first_arms_noise, kept=True),
    Mutant("all gains noised anew", "dp_imed", "update", bandit.renoised),
    Mutant("scale inverted", "dp_klucb", share=0.25),
    Mutant("noise drawn once", "dp_klucb", "update", bandit.first_noise, kept=True),
    Mutant("one number for all arms", "dp_klucb", "update", bandit.first_arms_noise, kept=True),
    Mutant("noise used for two phases", "dp_klucb", "update", bandit.phase_noise_for_two, kept=True),
    Mutant("all gains noised anew", "dp_klucb", "update", bandit.renoised),
    Mutant("no noise late", "dp_klucb", "update", bandit.late_silence, kept=True),
    Mutant("noise depends on the gain", "dp_klucb", "update", bandit.noise_by_gain),
    Mutant("phases by the true gains", "dp_klucb", "choose", bandit.true_phase),
    Mutant("divided by the plays", "dp_klucb", "update", bandit.plays_for_scale),
    Mutant("noise of a forgotten phase reused", "dp_klucb, last", "update", bandit.phase_noise_for_two, kept=True),
    Mutant("noise scale x 0.5", "dp_klucb, last", "update", bandit.scaled, 0.5),
    Mutant("noise scale x 0.5", "dp_klucb, optimal", share=0.5),
    Mutant("noise used for two phases", "dp_klucb, optimal", "update", bandit.phase_noise_for_two, kept=True),
    Mutant("all gains noised anew", "dp_klucb, optimal", "update", bandit.renoised),
    Mutant("noise scale x 0.5", "dp_tsallis_switch", share=0.5),
    Mutant("noise scale x 0.9", "dp_tsallis_switch", share=0.9),
    Mutant("scale inverted", "dp_tsallis_switch", share=0.25),
    Mutant("no noise", "dp_tsallis_switch", share=0.0),
    Mutant("noise drawn once", "dp_tsallis_switch", "update", bandit.first_noise, kept=True),
    Mutant("noise used for two blocks", "dp_tsallis_switch", "update", bandit.block_noise_for_two, kept=True),
    Mutant("one number for all arms", "dp_tsallis_switch", "update", bandit.first_arms_noise, kept=True),
    Mutant("noise of a mean on a sum", "dp_tsallis_switch", "update", bandit.mean_noise_for_sum),
    Mutant("learning rate for scale", "dp_tsallis_switch", "update", bandit.rate_for_block_scale),
    Mutant("no noise late", "dp_tsallis_switch", "update", bandit.late_silence, kept=True),
    Mutant("noise depends on the gain", "dp_tsallis_switch", "update", bandit.noise_by_gain),
    Mutant("gains beside the noise", "dp_tsallis_switch", "update", bandit.gain_beside_block),
    Mutant("blocks by the true losses", "dp_tsallis_switch", "choose", bandit.true_block),
    Mutant("noise scale x 0.5", "dp_ts", share=0.5),
    Mutant("scale inverted", "dp_ts", share=1 / 16),
    Mutant("log2 read as ln in the number of levels", "dp_ts", share=math.log(2)),
    Mutant("noise drawn once", "dp_ts", "update", bandit.first_number, kept=True),
    Mutant("one number for all arms", "dp_ts", "update", bandit.first_arms_number, kept=True),
    Mutant("all of ε for each epoch", "dp_ts", "update", bandit.whole_epochs, 0.5),
    Mutant("no noise on an epoch", "dp_ts", "update", bandit.whole_epochs, 0.0),
    Mutant("one level in each tree", "dp_ts", "update", bandit.one_level),
    Mutant("nodes redrawn for every sum", "dp_ts", "update", bandit.redrawn),
    Mutant("noise of earlier epochs forgotten", "dp_ts", "update", bandit.forgotten_epochs),
    Mutant("noise depends on the gain", "dp_ts", "update", bandit.number_by_gain),
    Mutant("no noise late", "dp_ts", "update", bandit.late_number),
    Mutant("the true share decides", "dp_ts", "choose", bandit.true_share),
    Mutant("scale inverted", "lazy_dp_ts", share=0.25),
    Mutant("noise drawn once", "lazy_dp_ts", "update", bandit.first_number, kept=True),
    Mutant("one number for all arms", "lazy_dp_ts", "update", bandit.first_arms_number, kept=True),
    Mutant("older gains not dropped", "lazy_dp_ts", "update", bandit.remembered),
    Mutant("the true share decides", "lazy_dp_ts", "choose", bandit.true_share),
    Mutant("B for 2B on a report", "ldp_robust_se", "update", bandit.scaled, 0.5),
    Mutant("report not used", "ldp_robust_se", "update", bandit.scaled, 0.0),
    Mutant("B for 2B on a report", "ldp_robust_ucb", "update", bandit.scaled, 0.5),
    Mutant("B for 2B in a tree", "dp_robust_ucb", "update", bandit.scaled, 0.5),
    Mutant(
        "log for levels in a tree",
        "dp_robust_ucb",
        "update",
        bandit.scaled,
        math.log(ARMS.horizon) / depth(ARMS.horizon),
    ),
    Mutant("noise redrawn for every sum", "dp_robust_ucb", "update", bandit.redrawn),
    Mutant("no noise late", "ldp_ucb", "update", bandit.late_silence, kept=True),
    Mutant("noise depends on the gain", "ldp_ucb", "update", bandit.noise_by_gain),
    Mutant("gains count as rounds late", "ldp_ucb", "update", bandit.counted_gains),
    Mutant("divided by the plays", "ldp_ucb", "update", bandit.plays_for_scale),
    Mutant("arms by the true sums late", "dp_ucb", "choose", bandit.true_leader_late),
    Mutant("a quarter of the noise on deep levels", "dp_ucb", "update", bandit.quiet_levels),
    Mutant("no noise late", "dp_ucb", "update", bandit.late_silence, kept=True),
    Mutant("noise depends on the gain", "dp_ucb", "update", bandit.noise_by_gain),
    Mutant("noise forgotten", "dp_ucb", "update", bandit.restarted),
    Mutant("divided by the plays", "dp_ucb", "update", bandit.plays_for_scale),
    Mutant("all of ε for the blocks and for the trees", "dp_ucb, hybrid", share=0.5),
    Mutant("noise scale x 0.9", "dp_ucb, hybrid", share=0.9),
    Mutant("no noise late", "dp_ucb, hybrid", "update", bandit.late_silence, kept=True),
    Mutant("noise depends on the gain", "dp_ucb, hybrid", "update", bandit.noise_by_gain),
    Mutant("divided by the plays", "dp_ucb, hybrid", "update", bandit.plays_for_scale),
    Mutant("one level too few in the scale", "dp_ucb, k-ary", share=1 - 1 / KARY.sensitivity),
    Mutant("noise of closed nodes kept", "dp_ucb, k-ary", "update", bandit.not_replaced),
    Mutant("noise redrawn for every sum", "dp_ucb, k-ary", "update", bandit.redrawn),
    Mutant("one node too few in the scale", "dp_ucb, smooth", share=1 - 1 / SMOOTH.sensitivity),
    Mutant("zeros for ones in the codes", "dp_ucb, smooth", "update", bandit.first_code, TURNED),
    Mutant("noise of closed nodes kept", "dp_ucb, smooth", "update", bandit.not_replaced),
    Mutant("noise redrawn for every sum", "dp_ucb, smooth", "update", bandit.redrawn),
    Mutant("noise scale x 0.5", "dp_ftrl", share=0.5),
    Mutant("noise scale x 0.75", "dp_ftrl", share=0.75),
    Mutant("log2 for levels", "dp_ftrl", share=math.log2(EXPERTS.horizon) / height(EXPERTS.horizon)),
    Mutant("ln for levels", "dp_ftrl", share=math.log(EXPERTS.horizon) / height(EXPERTS.horizon)),
    Mutant("l2 norm for l1", "dp_ftrl", share=1 / math.sqrt(EXPERTS.n_arms)),
    Mutant("second level without noise", "dp_ftrl", "update", linear.silent_level),
    Mutant("top-up missing", "dp_ftrl", "choose", linear.no_top_up),
    Mutant("top-up in the first round only", "dp_ftrl", "choose", linear.one_top_up),
    Mutant("leader of the true prefix", "dp_ftrl", "choose", linear.true_prefix),
    Mutant("leader of the true prefix, late", "dp_ftrl", "choose", linear.late_leader),
    Mutant("hint beside the prefix", "dp_ftrl", "choose", linear.hinted, kept=True),
    Mutant("a quarter of the noise from level 4 up", "dp_ftrl", "update", linear.quarter, 4),
    Mutant("a quarter of the noise on the last level", "dp_ftrl", "update", linear.quarter, 15),
    Mutant("no noise after round 1,000", "dp_ftrl", "update", linear.fading, kept=True),
    Mutant("noise by the loss", "dp_ftrl", "update", linear.by_loss),
    Mutant("levels for the scale", "dp_ftrl", "update", linear.levels_for_scale),
    Mutant("nodes forgotten after round 1,000", "dp_ftrl", "update", linear.restarted),
    Mutant("unsigned sensitivity", "dp_ftrl, signed", share=0.5),
    Mutant("top-up missing", "dp_ftrl, shared", "choose", linear.no_top_up),
    Mutant("nodes forgotten after round 1,000", "dp_ftrl, shared", "update", linear.restarted),
    Mutant("noise scale x 0.75", "dp_ftrl, Gaussian", share=0.75),
    Mutant("noise redrawn for every prefix", "dp_ftrl, Gaussian", "choose", linear.redrawn),
    Mutant("a quarter of the noise on the last level", "dp_ftrl, Gaussian", "update", linear.quarter, 15),
    Mutant("noise scale x 0.75", "dp_ftrl, BLT", share=0.75),
    Mutant("|c| of half of the rounds", "dp_ftrl, BLT", share=HALF),
    Mutant("a row's norm for a column's", "dp_ftrl, BLT", share=ONE),
    Mutant("no cumulative sum (lowers regret)", "dp_ftrl, BLT", "update", linear.no_sum),
    Mutant("C z for B z (lowers regret)", "dp_ftrl, BLT", "update", linear.other_factor),
    Mutant("buffers added", "dp_ftrl, BLT", share=-1.0, field="weights"),
    Mutant("noise redrawn for every prefix", "dp_ftrl, BLT", "choose", linear.redrawn_sum),
    Mutant("no noise after round 1,000", "dp_ftrl, BLT", "update", linear.fading, kept=True),
    Mutant("noise by the loss", "dp_ftrl, BLT", "update", linear.by_loss),
    Mutant("noise forgotten after round 1,000", "dp_ftrl, BLT", "update", linear.restarted),
    Mutant("a number of the noise used twice", "dp_ftrl, BLT", "choose", linear.used_twice),
    Mutant("leader of the true prefix, late", "dp_ftrl, BLT", "choose", linear.late_leader),
    Mutant("hint beside the prefix", "dp_ftrl, BLT", "choose", linear.hinted, kept=True),
    Mutant("|c| for √m", "dp_ftrl, no top-up", share=ROOT / math.sqrt(height(SHORT.horizon))),
    Mutant("noise of nodes dropped", "dp_ftrl, no top-up", "update", linear.forgetful),
    Mutant("μ of half of the rounds", "dp_ftrl, Honaker", share=HALF_SMOOTHED),
    Mutant("estimates without left halves (lowers regret)", "dp_ftrl, Honaker", "update", linear.no_left_half),
    Mutant("noise of an estimate without the nodes below", "dp_ftrl, Honaker", "update", linear.not_estimated),
    Mutant("noise redrawn for every prefix", "dp_ftrl, Honaker", "choose", linear.redrawn_sum),
    Mutant("leader of the true prefix", "dp_ftrl, Honaker", "choose", linear.true_prefix),
    Mutant("|c| of half of the rounds", "dp_ftrl, square root", share=HALF_ROOT),
    Mutant("z for C z (lowers regret)", "dp_ftrl, square root", "update", linear.last_number),
    Mutant("√(h - w) for h - w", "dp_ftrl, smooth", share=1 / math.sqrt(2)),
    Mutant("noise of nodes dropped", "dp_ftrl, smooth", "update", linear.forgetful),
    Mutant("one number for two nodes", "dp_ftrl, smooth", "update", linear.one_for_two, kept=True),
    Mutant("h - 1 levels", "dp_ftrl, k-ary", share=3 / 4),
    Mutant("√h for h", "dp_ftrl, k-ary", share=1 / 2),
    Mutant("noise of the last siblings alone (lowers regret)", "dp_ftrl, k-ary", "update", linear.last_siblings),
    Mutant("one number for two nodes", "dp_ftrl, k-ary", "update", linear.one_for_two, kept=True),
    Mutant("noise redrawn for every prefix", "dp_ftrl, k-ary", "choose", linear.redrawn_sum),
    Mutant("leader of the true prefix, late", "dp_ftrl, k-ary", "choose", linear.late_leader),
    Mutant("h - 1 levels", "dp_ftrl, negative digits", share=1 / 2),
    Mutant("l2 norm for l1", "dp_ftrl, negative digits", share=1 / math.sqrt(SHORT.n_arms)),
    Mutant("one number for a left and a right node", "dp_ftrl, negative digits", "update", linear.mirrored),
    Mutant("leader of the true prefix", "dp_ftrl, negative digits", "choose", linear.true_prefix),
    Mutant("noise by the loss", "dp_ftrl, negative digits", "update", linear.by_loss),
    Mutant("noise scale x 0.75", "dp_ftpl", share=0.75),
    Mutant("no noise after round 1,000", "dp_ftpl", "update", linear.fading, kept=True),
    Mutant("noise scale x 0.75", "dp_ftpl, BLT", share=0.75),
    Mutant("no cumulative sum (lowers regret)", "dp_ftpl, BLT", "update", linear.no_sum),
    Mutant("noise as printed, Lap(1/ε)", "rnm_ftnl", share=0.5),
    Mutant("noise scale x 0.9", "rnm_ftnl", share=0.9),
    Mutant("scale inverted", "rnm_ftnl", share=0.25),
    Mutant("no noise", "rnm_ftnl", share=0.0),
    Mutant("noise drawn once", "rnm_ftnl", "choose", linear.leader_drawn_once, kept=True),
    Mutant("noise of a forgotten epoch reused", "rnm_ftnl", "choose", linear.leader_drawn_for_two, kept=True),
    Mutant("one number for all experts", "rnm_ftnl", "choose", linear.leader_of_one_number),
    Mutant("no noise late", "rnm_ftnl", "choose", linear.leader_late_silence),
    Mutant("noise depends on the losses", "rnm_ftnl", "choose", linear.leader_by_losses),
    Mutant("earlier epochs not forgotten", "rnm_ftnl", "choose", linear.unforgotten_epochs),
    Mutant("a bad leader is left", "rnm_ftnl", "choose", linear.leader_left),
    Mutant("the true leader of an epoch", "rnm_ftnl", "choose", linear.true_leader_of_epoch),
    Mutant("noise scale x 0.5", "rnm_ftnl, Gumbel", share=0.5),
    Mutant("noise scale x 0.9", "rnm_ftnl, Gumbel", share=0.9),
    Mutant("log10 for ln", "rnm_ftnl, Gumbel", "choose", linear.gumbel_of_other_base),
    Mutant("Gumbel noise of the largest", "rnm_ftnl, Gumbel", "choose", linear.gumbel_of_other_sign),
    Mutant("noise drawn once", "rnm_ftnl, Gumbel", "choose", linear.gumbel_drawn_once, kept=True),
    Mutant("one number for all experts", "rnm_ftnl, Gumbel", "choose", linear.gumbel_of_one_number),
    Mutant("earlier epochs not forgotten", "rnm_ftnl, Gumbel", "choose", linear.unforgotten_epochs),
    Mutant("range of signed losses forgotten", "rnm_ftnl, printed", share=0.5),
    Mutant("noise scale x 0.5", "noisy_ftrl", share=0.5),
    Mutant("noise reused", "noisy_ftrl", "update", linear.one_noise, kept=True),
    Mutant("base fed the true losses", "noisy_ftrl", "update", linear.true_loss),
    Mutant("no noise after round 1,000", "noisy_ftrl", "update", linear.fading, kept=True),
    Mutant("noise by the loss", "noisy_ftrl", "update", linear.by_loss),
    Mutant("learning rate for the scale", "noisy_ftrl", "update", linear.eta_for_scale),
    Mutant("noise scale x 0.5", "dp_scrible", share=0.5),
    Mutant("no noise", "dp_scrible", share=0.0),
    Mutant("scale of one number", "dp_scrible", share=1 / math.sqrt(BALL.n_arms)),
    Mutant("noise without the point", "dp_scrible", "released", linear.one_number),
    Mutant("noise on one coordinate", "dp_scrible", "released", linear.one_coordinate),
    Mutant("base fed the true loss", "dp_scrible", "update", linear.true_loss),
    Mutant("base fed the true loss, late", "dp_scrible", "update", linear.late_true_loss, kept=True),
    Mutant("base fed a thousandth of the true loss", "dp_scrible", "update", linear.leaking),
    Mutant("no noise after round 1,000", "dp_scrible", "released", linear.fading_loss, kept=True),
    Mutant("noise by the loss", "dp_scrible", "released", linear.loss_by_loss),
    Mutant("noise scale x 0.75", "dp_scrible, scalar", share=0.75),
    Mutant("learning rate for the scale", "dp_scrible, scalar", "released", linear.eta_for_loss_scale),
    Mutant("noise reused", "dp_scrible, scalar", "released", linear.kept_number, kept=True),
    Mutant("L for L squared", "dp_linucb", share=1 / CONTEXTS.known().row_norm()),
    Mutant("noise scale x 0.5", "dp_linucb", share=0.5),
    Mutant("noise scale x 0.9", "dp_linucb", share=0.9),
    Mutant("ln for levels", "dp_linucb", share=math.sqrt(math.log(CONTEXTS.horizon) / n_levels(CONTEXTS.horizon))),
    Mutant("not symmetrised", "dp_linucb", "choose", contextual.unsymmetrised),
    Mutant("leaves without noise", "dp_linucb", "choose", contextual.silent_leaves),
    Mutant("m - 1 levels", "dp_linucb", "choose", contextual.silent_root),
    Mutant("no noise on the vector", "dp_linucb", "choose", contextual.bare_vector),
    Mutant("θ of the true vector", "dp_linucb", "choose", contextual.true_vector),
    Mutant("arms by the true sums", "dp_linucb", "choose", contextual.true_sums),
    Mutant("noise redrawn for every release", "dp_linucb", "choose", contextual.redrawn),
    Mutant("noise drawn once", "dp_linucb", "choose", contextual.drawn_once),
    Mutant("late arms by the true sums", "dp_linucb", "choose", contextual.late_truth),
    Mutant("late V called indefinite", "dp_linucb", "choose", contextual.feigned),
    Mutant("earlier arms kept in a field", "dp_linucb", "choose", contextual.earlier_arms, kept=True),
    Mutant("β grows with rewards", "dp_linucb", "update", contextual.wider),
    Mutant("a quarter of the noise from level 4 on", "dp_linucb", "choose", contextual.deep, 0.25),
    Mutant("a quarter of the noise late", "dp_linucb", "choose", contextual.late, 0.25),
    Mutant("no late noise", "dp_linucb", "choose", contextual.late, 0.0),
    Mutant("noise by the data", "dp_linucb", "choose", contextual.by_data),
    Mutant("counter restarts", "dp_linucb", "update", contextual.restarting),
    Mutant("σ of the rewards", "dp_linucb", "choose", contextual.other_field),
    Mutant("ε read as δ", "dp_linucb", share=0.1),
    Mutant("noise scale x 0.75", "dp_linucb, BLT", share=0.75),
    Mutant("|c| of half of the rounds", "dp_linucb, BLT", share=HALF_OF_CONTEXTS),
    Mutant("a row's norm for a column's", "dp_linucb, BLT", share=ONE_OF_CONTEXTS),
    Mutant("no cumulative sum", "dp_linucb, BLT", "update", contextual.no_sum),
    Mutant("C z for B z", "dp_linucb, BLT", "update", contextual.other_factor),
    Mutant("buffers added", "dp_linucb, BLT", "update", contextual.other_sign),
    Mutant("not symmetrised", "dp_linucb, BLT", "choose", contextual.even_diagonal),
    Mutant("noise forgotten after round 1,000", "dp_linucb, BLT", "update", contextual.forgotten),
    Mutant("noise by the data", "dp_linucb, BLT", "update", contextual.scale_by_data),
    Mutant("late arms by the true sums", "dp_linucb, BLT", "choose", contextual.counted_truth),
    Mutant("β grows with rewards", "dp_linucb, BLT", "update", contextual.wider),
    Mutant("earlier arms kept in a field", "dp_linucb, BLT", "choose", contextual.earlier_arms, kept=True),
    Mutant("a redrawn tree's account", "dp_linucb, tree", share=REDRAWN),
    Mutant("not symmetrised", "dp_linucb, tree", "choose", contextual.even_diagonal),
    Mutant("L for L squared", "dp_linucb, Wishart", share=1 / CONTEXTS.known().row_norm()),
    Mutant("rows x 0.9", "dp_linucb, Wishart", share=0.9, field="k"),
    Mutant("k degrees of freedom in every row", "dp_linucb, Wishart", "choose", contextual.level_degrees),
    Mutant("factor on the wrong side", "dp_linucb, Wishart", "choose", contextual.turned_factor),
    Mutant("no noise on the vector", "dp_linucb, Wishart", "choose", contextual.bare_vector),
    Mutant("noise redrawn for every release", "dp_linucb, Wishart", "choose", contextual.redrawn),
    Mutant("late arms by the true sums", "dp_linucb, Wishart", "choose", contextual.late_truth),
    Mutant("a quarter of the noise from level 4 on", "dp_linucb, Wishart", "choose", contextual.deep, 0.25),
    Mutant("no late noise", "dp_linucb, Wishart", "choose", contextual.late, 0.0),
    Mutant("noise by the data", "dp_linucb, Wishart", "choose", contextual.by_data),
    Mutant("counter restarts", "dp_linucb, Wishart", "update", contextual.restarting),
    Mutant("L for L squared", "dp_linucb, unshifted", share=1 / CONTEXTS.known().row_norm()),
    Mutant("rows x 0.9", "dp_linucb, unshifted", share=0.9, field="k"),
    Mutant("leaves without noise", "dp_linucb, unshifted", "choose", contextual.silent_leaves),
    Mutant("noise scale x 0.5", "ldp_linucb", share=0.5, field="sigma_noise"),
    Mutant("sensitivity of the vector alone", "ldp_linucb", share=2 / math.sqrt(4.5), field="sigma_noise"),
    Mutant("no noise on the vector", "ldp_linucb", "update", contextual.noiseless_vector),
    Mutant("noise reused", "ldp_linucb", "update", contextual.one_report, kept=True),
    Mutant("Υ grows with rewards", "ldp_linucb", "update", contextual.larger),
    Mutant("earlier arms kept in a field", "ldp_linucb", "choose", contextual.earlier_arms, kept=True),
    Mutant("a quarter of the noise late", "ldp_linucb", "update", contextual.late_reports, 0.25),
    Mutant("no late noise", "ldp_linucb", "update", contextual.late_reports, 0.0),
    Mutant("noise by the data", "ldp_linucb", "update", contextual.reports_by_data),
    Mutant("counter of the noise restarts", "ldp_linucb", "update", contextual.counted_reports, kept=True),
    Mutant("noise scale x 0.5", "adac_oful", share=0.5, field="deviation"),
    Mutant("noise reused", "adac_oful", "update", contextual.one_phase_noise, kept=True),
    Mutant("a quarter of the noise late", "adac_oful", "update", contextual.late_phases, 0.25),
    Mutant("no late noise", "adac_oful", "update", contextual.late_phases, 0.0),
    Mutant("noise by the data", "adac_oful", "update", contextual.phases_by_data),
    Mutant("no noise on a coordinate", "adac_oful", "update", contextual.bare_coordinate),
    Mutant("sums not cleared", "adac_oful", "update", contextual.kept_sums),
    Mutant("phases by rewards", "adac_oful", "update", contextual.phases_by_rewards),
    Mutant("β grows with rewards", "adac_oful", "update", contextual.wider_phases),
    Mutant("arms by the true sums", "adac_oful", "choose", contextual.unreleased, 0.0),
    Mutant("arms by the true sums, late", "adac_oful", "choose", contextual.unreleased, 20.0),
    Mutant("ε not split", "squarecb", share=math.sqrt(0.5), field="sigma"),
    Mutant("noise scale x 0.99", "squarecb", share=0.99, field="sigma"),
    Mutant("no noise on the vector", "squarecb", share=0.0, field="tau"),
    Mutant("Gram noise asymmetric", "squarecb", "update", contextual.asymmetric),
    Mutant("a batch used twice", "squarecb", "update", contextual.fitted_twice),
    Mutant("one noise for all fits", "squarecb", "update", contextual.one_noise),
    Mutant("the reward in the matrix's noise", "squarecb", "update", contextual.noise_by_reward),
    Mutant("no late noise", "squarecb", "update", contextual.late_fits),
    Mutant("γ by the records of the batch", "squarecb", "probabilities", contextual.sharper),
    Mutant("propensity clipped silently", "squarecb", "choose", contextual.clipped),
    Mutant("arms by the true sums", "squarecb", "choose", contextual.sums_of_batch),
    Mutant("earlier arms kept in a field", "squarecb", "choose", contextual.earlier_predicted, kept=True),
    Mutant("curvature left out", "squarecb, logistic", share=0.0, field="curvatures"),
    Mutant("ε for the noise alone", "squarecb, logistic", share=2.0, field="spent"),
    Mutant("less than the least ridge", "squarecb, logistic", share=0.1, field="least"),
    Mutant("half of the sensitivity", "squarecb, logistic", share=0.5, field="norm"),
    Mutant("a batch used twice", "squarecb, logistic", "update", contextual.kept_rows),
    Mutant("propensity clipped silently", "squarecb, logistic", "choose", contextual.clipped),
    Mutant("half of the sensitivity", "fastcb", share=0.5, field="norm"),
    Mutant("a batch used twice", "fastcb", "update", contextual.kept_rows),
    Mutant("γ by the losses so far", "fastcb", "update", contextual.sharper_by_losses),
    Mutant("least loss by the records", "fastcb", "probabilities", contextual.floored),
    Mutant("propensity clipped silently", "fastcb", "choose", contextual.clipped),
    Mutant("earlier arms kept in a field", "fastcb", "choose", contextual.earlier_predicted, kept=True),
    Mutant("noise scale x 0.99", "vpo", share=0.99, field="tau"),
    Mutant("a batch used twice", "vpo", "update", contextual.fitted_twice),
    Mutant("η by the records of the batch", "vpo", "probabilities", contextual.rate_by_records),
    Mutant("k by the records of the batch", "vpo", "probabilities", contextual.iterate_by_records),
    Mutant("k by the arms", "vpo", "choose", contextual.iterate_by_arms),
    Mutant("k by the arm of the round before", "vpo", "choose", contextual.iterate_by_the_last_arm, kept=True),
    Mutant("one k for a batch", "vpo", "choose", contextual.one_iterate),
    Mutant("one number for k and the arm", "vpo", "choose", contextual.number_used_twice),
    Mutant("arms by the true sums", "vpo", "choose", contextual.sums_of_batch),
    Mutant("noise scale x 0.99", "bpo", share=0.99, field="sigma"),
    Mutant("no noise on the vector", "bpo", share=0.0, field="tau"),
    Mutant("late predictors from the records", "bpo", "update", contextual.kept_from_records, 5.0),
    Mutant("predictors of all records so far", "bpo", "update", contextual.all_records),
    Mutant("an earlier predictor changed", "bpo", "update", contextual.refitted),
    Mutant("true sums in the next predictor", "bpo", "update", contextual.next_predictor),
    Mutant("arms by the true sums", "bpo", "choose", contextual.unreleased_predictor),
    Mutant("bonuses by the arms played", "bpo", "choose", contextual.exposed, kept=True),
    Mutant("η by the records of the batch", "bpo", "probabilities", contextual.rate_by_records),
    Mutant("curvature left out", "bpo, logistic", share=0.0, field="curvatures"),
    Mutant("noise scale x 0.99", "regcb", share=0.99, field="sigma"),
    Mutant("no noise on the vector", "regcb", share=0.0, field="tau"),
    Mutant("no late noise", "regcb", "update", contextual.late_fits),
    Mutant("matrices without noise", "regcb", "update", contextual.true_matrices),
    Mutant("a matrix added twice", "regcb", "update", contextual.matrices_twice),
    Mutant("widths by the records of the batch", "regcb", "update", contextual.narrower),
    Mutant("w by the records of the batch", "regcb", "probabilities", contextual.width_by_records),
    Mutant("uniform play that the probabilities do not say", "regcb", "choose", contextual.mixed),
    Mutant("arms by the true sums", "regcb", "choose", contextual.sums_of_batch),
    Mutant("earlier arms kept in a field", "regcb", "choose", contextual.earlier_predicted, kept=True),
    Mutant("noise scale x 0.99", "regcb, logistic", share=0.99, field="sigma"),
    Mutant("ε not split", "regcb, logistic", share=2.0, field="spent"),
    Mutant("curvature left out", "regcb, logistic", share=0.0, field="curvatures"),
    Mutant("matrices without noise", "regcb, logistic", "update", contextual.true_matrices),
    Mutant("widths of the true matrices", "regcb, logistic", "update", contextual.inverse_of_records),
    Mutant("the base's arm", "plain_dp_linucb", "choose", contextual.answer, math.inf),
    Mutant("followed twice as often", "plain_dp_linucb", "choose", contextual.answer, 2.0),
    Mutant("any arm for another", "plain_dp_linucb", "choose", contextual.any_arm),
    Mutant("the base's arm late", "plain_dp_linucb", "choose", contextual.late_answer),
    Mutant("the base's arm early", "plain_dp_linucb", "choose", contextual.early_answer),
    Mutant("the arm of the round before", "plain_dp_linucb", "choose", contextual.earlier_answer, kept=True),
    Mutant("one answer for two rounds", "plain_dp_linucb", "choose", contextual.answer_for_two, kept=True),
    Mutant("the base's noise x 0.25", "plain_dp_linucb", "choose", contextual.weak_base, 0.25),
    Mutant("the base's counter restarts", "plain_dp_linucb", "update", contextual.restarting_base),
    Mutant("the base's ε", "plain_dp_linucb", share=followed(1.0) / followed(0.5), field="followed"),
)
