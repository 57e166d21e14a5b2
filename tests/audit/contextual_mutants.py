"""Mutants of the game `contextual`."""

import math

from privbandits_cli.mechanisms.matrix_tree import n_levels
from privbandits_cli.mechanisms.smooth import Smooth
from privbandits_cli.mechanisms.tree import KAry
from tests.audit import broken_contextual_steps as contextual
from tests.audit.patches import Broken, Mutant
from tests.audit.subjects import ARMS, CONTEXTS


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
    Mutant("L for L squared", "dp_linucb", share=1 / CONTEXTS.known().row_norm()),
    Mutant("noise scale x 0.5", "dp_linucb", share=0.5),
    Mutant("noise scale x 0.9", "dp_linucb", share=0.9),
    Mutant("ln for levels", "dp_linucb", share=math.sqrt(math.log(CONTEXTS.horizon) / n_levels(CONTEXTS.horizon))),
    Broken("not symmetrised", "dp_linucb", step="choose", broken=contextual.unsymmetrised),
    Broken("leaves without noise", "dp_linucb", step="choose", broken=contextual.silent_leaves),
    Broken("m - 1 levels", "dp_linucb", step="choose", broken=contextual.silent_root),
    Broken("no noise on the vector", "dp_linucb", step="choose", broken=contextual.bare_vector),
    Broken("θ of the true vector", "dp_linucb", step="choose", broken=contextual.true_vector),
    Broken("arms by the true sums", "dp_linucb", step="choose", broken=contextual.true_sums),
    Broken("noise redrawn for every release", "dp_linucb", step="choose", broken=contextual.redrawn),
    Broken("noise drawn once", "dp_linucb", step="choose", broken=contextual.drawn_once),
    Broken("late arms by the true sums", "dp_linucb", step="choose", broken=contextual.late_truth),
    Broken("late V called indefinite", "dp_linucb", step="choose", broken=contextual.feigned),
    Broken("earlier arms kept in a field", "dp_linucb", step="choose", broken=contextual.earlier_arms, kept=True),
    Broken("β grows with rewards", "dp_linucb", step="update", broken=contextual.wider),
    Broken("a quarter of the noise from level 4 on", "dp_linucb", step="choose", broken=contextual.deep, factor=0.25),
    Broken("a quarter of the noise late", "dp_linucb", step="choose", broken=contextual.late, factor=0.25),
    Broken("no late noise", "dp_linucb", step="choose", broken=contextual.late, factor=0.0),
    Broken("noise by the data", "dp_linucb", step="choose", broken=contextual.by_data),
    Broken("counter restarts", "dp_linucb", step="update", broken=contextual.restarting),
    Broken("σ of the rewards", "dp_linucb", step="choose", broken=contextual.other_field),
    Mutant("ε read as δ", "dp_linucb", share=0.1),
    Mutant("noise scale x 0.75", "dp_linucb, BLT", share=0.75),
    Mutant("|c| of half of the rounds", "dp_linucb, BLT", share=HALF_OF_CONTEXTS),
    Mutant("a row's norm for a column's", "dp_linucb, BLT", share=ONE_OF_CONTEXTS),
    Broken("no cumulative sum", "dp_linucb, BLT", step="update", broken=contextual.no_sum),
    Broken("C z for B z", "dp_linucb, BLT", step="update", broken=contextual.other_factor),
    Broken("buffers added", "dp_linucb, BLT", step="update", broken=contextual.other_sign),
    Broken("not symmetrised", "dp_linucb, BLT", step="choose", broken=contextual.even_diagonal),
    Broken("noise forgotten after round 1,000", "dp_linucb, BLT", step="update", broken=contextual.forgotten),
    Broken("noise by the data", "dp_linucb, BLT", step="update", broken=contextual.scale_by_data),
    Broken("late arms by the true sums", "dp_linucb, BLT", step="choose", broken=contextual.counted_truth),
    Broken("β grows with rewards", "dp_linucb, BLT", step="update", broken=contextual.wider),
    Broken("earlier arms kept in a field", "dp_linucb, BLT", step="choose", broken=contextual.earlier_arms, kept=True),
    Mutant("a redrawn tree's account", "dp_linucb, tree", share=REDRAWN),
    Broken("not symmetrised", "dp_linucb, tree", step="choose", broken=contextual.even_diagonal),
    Mutant("L for L squared", "dp_linucb, Wishart", share=1 / CONTEXTS.known().row_norm()),
    Mutant("rows x 0.9", "dp_linucb, Wishart", share=0.9, field="k"),
    Broken("k degrees of freedom in every row", "dp_linucb, Wishart", step="choose", broken=contextual.level_degrees),
    Broken("factor on the wrong side", "dp_linucb, Wishart", step="choose", broken=contextual.turned_factor),
    Broken("no noise on the vector", "dp_linucb, Wishart", step="choose", broken=contextual.bare_vector),
    Broken("noise redrawn for every release", "dp_linucb, Wishart", step="choose", broken=contextual.redrawn),
    Broken("late arms by the true sums", "dp_linucb, Wishart", step="choose", broken=contextual.late_truth),
    Broken(
        "a quarter of the noise from level 4 on",
        "dp_linucb, Wishart",
        step="choose",
        broken=contextual.deep,
        factor=0.25,
    ),
    Broken("no late noise", "dp_linucb, Wishart", step="choose", broken=contextual.late, factor=0.0),
    Broken("noise by the data", "dp_linucb, Wishart", step="choose", broken=contextual.by_data),
    Broken("counter restarts", "dp_linucb, Wishart", step="update", broken=contextual.restarting),
    Mutant("L for L squared", "dp_linucb, unshifted", share=1 / CONTEXTS.known().row_norm()),
    Mutant("rows x 0.9", "dp_linucb, unshifted", share=0.9, field="k"),
    Broken("leaves without noise", "dp_linucb, unshifted", step="choose", broken=contextual.silent_leaves),
    Mutant("noise scale x 0.5", "ldp_linucb", share=0.5, field="sigma_noise"),
    Mutant("sensitivity of the vector alone", "ldp_linucb", share=2 / math.sqrt(4.5), field="sigma_noise"),
    Broken("no noise on the vector", "ldp_linucb", step="update", broken=contextual.noiseless_vector),
    Broken("noise reused", "ldp_linucb", step="update", broken=contextual.one_report, kept=True),
    Broken("Υ grows with rewards", "ldp_linucb", step="update", broken=contextual.larger),
    Broken("earlier arms kept in a field", "ldp_linucb", step="choose", broken=contextual.earlier_arms, kept=True),
    Broken("a quarter of the noise late", "ldp_linucb", step="update", broken=contextual.late_reports, factor=0.25),
    Broken("no late noise", "ldp_linucb", step="update", broken=contextual.late_reports, factor=0.0),
    Broken("noise by the data", "ldp_linucb", step="update", broken=contextual.reports_by_data),
    Broken("counter of the noise restarts", "ldp_linucb", step="update", broken=contextual.counted_reports, kept=True),
    Mutant("noise scale x 0.5", "adac_oful", share=0.5, field="deviation"),
    Broken("noise reused", "adac_oful", step="update", broken=contextual.one_phase_noise, kept=True),
    Broken("a quarter of the noise late", "adac_oful", step="update", broken=contextual.late_phases, factor=0.25),
    Broken("no late noise", "adac_oful", step="update", broken=contextual.late_phases, factor=0.0),
    Broken("noise by the data", "adac_oful", step="update", broken=contextual.phases_by_data),
    Broken("no noise on a coordinate", "adac_oful", step="update", broken=contextual.bare_coordinate),
    Broken("sums not cleared", "adac_oful", step="update", broken=contextual.kept_sums),
    Broken("phases by rewards", "adac_oful", step="update", broken=contextual.phases_by_rewards),
    Broken("β grows with rewards", "adac_oful", step="update", broken=contextual.wider_phases),
    Broken("arms by the true sums", "adac_oful", step="choose", broken=contextual.unreleased, factor=0.0),
    Broken("arms by the true sums, late", "adac_oful", step="choose", broken=contextual.unreleased, factor=20.0),
    Mutant("ε not split", "squarecb", share=math.sqrt(0.5), field="sigma"),
    Mutant("noise scale x 0.99", "squarecb", share=0.99, field="sigma"),
    Mutant("no noise on the vector", "squarecb", share=0.0, field="tau"),
    Broken("Gram noise asymmetric", "squarecb", step="update", broken=contextual.asymmetric),
    Broken("a batch used twice", "squarecb", step="update", broken=contextual.fitted_twice),
    Broken("one noise for all fits", "squarecb", step="update", broken=contextual.one_noise),
    Broken("the reward in the matrix's noise", "squarecb", step="update", broken=contextual.noise_by_reward),
    Broken("no late noise", "squarecb", step="update", broken=contextual.late_fits),
    Broken("γ by the records of the batch", "squarecb", step="probabilities", broken=contextual.sharper),
    Broken("propensity clipped silently", "squarecb", step="choose", broken=contextual.clipped),
    Broken("arms by the true sums", "squarecb", step="choose", broken=contextual.sums_of_batch),
    Broken("earlier arms kept in a field", "squarecb", step="choose", broken=contextual.earlier_predicted, kept=True),
    Mutant("curvature left out", "squarecb, logistic", share=0.0, field="curvatures"),
    Mutant("ε for the noise alone", "squarecb, logistic", share=2.0, field="spent"),
    Mutant("less than the least ridge", "squarecb, logistic", share=0.1, field="least"),
    Mutant("half of the sensitivity", "squarecb, logistic", share=0.5, field="norm"),
    Broken("a batch used twice", "squarecb, logistic", step="update", broken=contextual.kept_rows),
    Broken("propensity clipped silently", "squarecb, logistic", step="choose", broken=contextual.clipped),
    Mutant("half of the sensitivity", "fastcb", share=0.5, field="norm"),
    Broken("a batch used twice", "fastcb", step="update", broken=contextual.kept_rows),
    Broken("γ by the losses so far", "fastcb", step="update", broken=contextual.sharper_by_losses),
    Broken("least loss by the records", "fastcb", step="probabilities", broken=contextual.floored),
    Broken("propensity clipped silently", "fastcb", step="choose", broken=contextual.clipped),
    Broken("earlier arms kept in a field", "fastcb", step="choose", broken=contextual.earlier_predicted, kept=True),
    Mutant("noise scale x 0.99", "vpo", share=0.99, field="tau"),
    Broken("a batch used twice", "vpo", step="update", broken=contextual.fitted_twice),
    Broken("η by the records of the batch", "vpo", step="probabilities", broken=contextual.rate_by_records),
    Broken("k by the records of the batch", "vpo", step="probabilities", broken=contextual.iterate_by_records),
    Broken("k by the arms", "vpo", step="choose", broken=contextual.iterate_by_arms),
    Broken(
        "k by the arm of the round before", "vpo", step="choose", broken=contextual.iterate_by_the_last_arm, kept=True
    ),
    Broken("one k for a batch", "vpo", step="choose", broken=contextual.one_iterate),
    Broken("one number for k and the arm", "vpo", step="choose", broken=contextual.number_used_twice),
    Broken("arms by the true sums", "vpo", step="choose", broken=contextual.sums_of_batch),
    Mutant("noise scale x 0.99", "bpo", share=0.99, field="sigma"),
    Mutant("no noise on the vector", "bpo", share=0.0, field="tau"),
    Broken("late predictors from the records", "bpo", step="update", broken=contextual.kept_from_records, factor=5.0),
    Broken("predictors of all records so far", "bpo", step="update", broken=contextual.all_records),
    Broken("an earlier predictor changed", "bpo", step="update", broken=contextual.refitted),
    Broken("true sums in the next predictor", "bpo", step="update", broken=contextual.next_predictor),
    Broken("arms by the true sums", "bpo", step="choose", broken=contextual.unreleased_predictor),
    Broken("bonuses by the arms played", "bpo", step="choose", broken=contextual.exposed, kept=True),
    Broken("η by the records of the batch", "bpo", step="probabilities", broken=contextual.rate_by_records),
    Mutant("curvature left out", "bpo, logistic", share=0.0, field="curvatures"),
    Mutant("noise scale x 0.99", "regcb", share=0.99, field="sigma"),
    Mutant("no noise on the vector", "regcb", share=0.0, field="tau"),
    Broken("no late noise", "regcb", step="update", broken=contextual.late_fits),
    Broken("matrices without noise", "regcb", step="update", broken=contextual.true_matrices),
    Broken("a matrix added twice", "regcb", step="update", broken=contextual.matrices_twice),
    Broken("widths by the records of the batch", "regcb", step="update", broken=contextual.narrower),
    Broken("w by the records of the batch", "regcb", step="probabilities", broken=contextual.width_by_records),
    Broken("uniform play that the probabilities do not say", "regcb", step="choose", broken=contextual.mixed),
    Broken("arms by the true sums", "regcb", step="choose", broken=contextual.sums_of_batch),
    Broken("earlier arms kept in a field", "regcb", step="choose", broken=contextual.earlier_predicted, kept=True),
    Mutant("noise scale x 0.99", "regcb, logistic", share=0.99, field="sigma"),
    Mutant("ε not split", "regcb, logistic", share=2.0, field="spent"),
    Mutant("curvature left out", "regcb, logistic", share=0.0, field="curvatures"),
    Broken("matrices without noise", "regcb, logistic", step="update", broken=contextual.true_matrices),
    Broken("widths of the true matrices", "regcb, logistic", step="update", broken=contextual.inverse_of_records),
    Broken("the base's arm", "plain_dp_linucb", step="choose", broken=contextual.answer, factor=math.inf),
    Broken("followed twice as often", "plain_dp_linucb", step="choose", broken=contextual.answer, factor=2.0),
    Broken("any arm for another", "plain_dp_linucb", step="choose", broken=contextual.any_arm),
    Broken("the base's arm late", "plain_dp_linucb", step="choose", broken=contextual.late_answer),
    Broken("the base's arm early", "plain_dp_linucb", step="choose", broken=contextual.early_answer),
    Broken(
        "the arm of the round before", "plain_dp_linucb", step="choose", broken=contextual.earlier_answer, kept=True
    ),
    Broken("one answer for two rounds", "plain_dp_linucb", step="choose", broken=contextual.answer_for_two, kept=True),
    Broken("the base's noise x 0.25", "plain_dp_linucb", step="choose", broken=contextual.weak_base, factor=0.25),
    Broken("the base's counter restarts", "plain_dp_linucb", step="update", broken=contextual.restarting_base),
    Mutant("the base's ε", "plain_dp_linucb", share=followed(1.0) / followed(0.5), field="followed"),
)
