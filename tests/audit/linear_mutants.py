"""Mutants of the game `linear`."""

import math

from privbandits_cli.mechanisms.smooth import Smooth
from privbandits_cli.mechanisms.tree import KAry, height
from tests.audit import broken_linear_steps as linear
from tests.audit.patches import Broken, Mutant
from tests.audit.subjects import ARMS, BALL, EXPERTS, SHORT

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
    Mutant("noise scale x 0.5", "dp_ftrl", share=0.5),
    Mutant("noise scale x 0.75", "dp_ftrl", share=0.75),
    Mutant("log2 for levels", "dp_ftrl", share=math.log2(EXPERTS.horizon) / height(EXPERTS.horizon)),
    Mutant("ln for levels", "dp_ftrl", share=math.log(EXPERTS.horizon) / height(EXPERTS.horizon)),
    Mutant("l2 norm for l1", "dp_ftrl", share=1 / math.sqrt(EXPERTS.n_arms)),
    Broken("second level without noise", "dp_ftrl", step="update", broken=linear.silent_level),
    Broken("top-up missing", "dp_ftrl", step="choose", broken=linear.no_top_up),
    Broken("top-up in the first round only", "dp_ftrl", step="choose", broken=linear.one_top_up),
    Broken("leader of the true prefix", "dp_ftrl", step="choose", broken=linear.true_prefix),
    Broken("leader of the true prefix, late", "dp_ftrl", step="choose", broken=linear.late_leader),
    Broken("hint beside the prefix", "dp_ftrl", step="choose", broken=linear.hinted, kept=True),
    Broken("a quarter of the noise from level 4 up", "dp_ftrl", step="update", broken=linear.quarter, factor=4),
    Broken("a quarter of the noise on the last level", "dp_ftrl", step="update", broken=linear.quarter, factor=15),
    Broken("no noise after round 1,000", "dp_ftrl", step="update", broken=linear.fading, kept=True),
    Broken("noise by the loss", "dp_ftrl", step="update", broken=linear.by_loss),
    Broken("levels for the scale", "dp_ftrl", step="update", broken=linear.levels_for_scale),
    Broken("nodes forgotten after round 1,000", "dp_ftrl", step="update", broken=linear.restarted),
    Mutant("unsigned sensitivity", "dp_ftrl, signed", share=0.5),
    Broken("top-up missing", "dp_ftrl, shared", step="choose", broken=linear.no_top_up),
    Broken("nodes forgotten after round 1,000", "dp_ftrl, shared", step="update", broken=linear.restarted),
    Mutant("noise scale x 0.75", "dp_ftrl, Gaussian", share=0.75),
    Broken("noise redrawn for every prefix", "dp_ftrl, Gaussian", step="choose", broken=linear.redrawn),
    Broken(
        "a quarter of the noise on the last level", "dp_ftrl, Gaussian", step="update", broken=linear.quarter, factor=15
    ),
    Mutant("noise scale x 0.75", "dp_ftrl, BLT", share=0.75),
    Mutant("|c| of half of the rounds", "dp_ftrl, BLT", share=HALF),
    Mutant("a row's norm for a column's", "dp_ftrl, BLT", share=ONE),
    Broken("no cumulative sum (lowers regret)", "dp_ftrl, BLT", step="update", broken=linear.no_sum),
    Broken("C z for B z (lowers regret)", "dp_ftrl, BLT", step="update", broken=linear.other_factor),
    Mutant("buffers added", "dp_ftrl, BLT", share=-1.0, field="weights"),
    Broken("noise redrawn for every prefix", "dp_ftrl, BLT", step="choose", broken=linear.redrawn_sum),
    Broken("no noise after round 1,000", "dp_ftrl, BLT", step="update", broken=linear.fading, kept=True),
    Broken("noise by the loss", "dp_ftrl, BLT", step="update", broken=linear.by_loss),
    Broken("noise forgotten after round 1,000", "dp_ftrl, BLT", step="update", broken=linear.restarted),
    Broken("a number of the noise used twice", "dp_ftrl, BLT", step="choose", broken=linear.used_twice),
    Broken("leader of the true prefix, late", "dp_ftrl, BLT", step="choose", broken=linear.late_leader),
    Broken("hint beside the prefix", "dp_ftrl, BLT", step="choose", broken=linear.hinted, kept=True),
    Mutant("|c| for √m", "dp_ftrl, no top-up", share=ROOT / math.sqrt(height(SHORT.horizon))),
    Broken("noise of nodes dropped", "dp_ftrl, no top-up", step="update", broken=linear.forgetful),
    Mutant("μ of half of the rounds", "dp_ftrl, Honaker", share=HALF_SMOOTHED),
    Broken(
        "estimates without left halves (lowers regret)", "dp_ftrl, Honaker", step="update", broken=linear.no_left_half
    ),
    Broken(
        "noise of an estimate without the nodes below", "dp_ftrl, Honaker", step="update", broken=linear.not_estimated
    ),
    Broken("noise redrawn for every prefix", "dp_ftrl, Honaker", step="choose", broken=linear.redrawn_sum),
    Broken("leader of the true prefix", "dp_ftrl, Honaker", step="choose", broken=linear.true_prefix),
    Mutant("|c| of half of the rounds", "dp_ftrl, square root", share=HALF_ROOT),
    Broken("z for C z (lowers regret)", "dp_ftrl, square root", step="update", broken=linear.last_number),
    Mutant("√(h - w) for h - w", "dp_ftrl, smooth", share=1 / math.sqrt(2)),
    Broken("noise of nodes dropped", "dp_ftrl, smooth", step="update", broken=linear.forgetful),
    Broken("one number for two nodes", "dp_ftrl, smooth", step="update", broken=linear.one_for_two, kept=True),
    Mutant("h - 1 levels", "dp_ftrl, k-ary", share=3 / 4),
    Mutant("√h for h", "dp_ftrl, k-ary", share=1 / 2),
    Broken(
        "noise of the last siblings alone (lowers regret)", "dp_ftrl, k-ary", step="update", broken=linear.last_siblings
    ),
    Broken("one number for two nodes", "dp_ftrl, k-ary", step="update", broken=linear.one_for_two, kept=True),
    Broken("noise redrawn for every prefix", "dp_ftrl, k-ary", step="choose", broken=linear.redrawn_sum),
    Broken("leader of the true prefix, late", "dp_ftrl, k-ary", step="choose", broken=linear.late_leader),
    Mutant("h - 1 levels", "dp_ftrl, negative digits", share=1 / 2),
    Mutant("l2 norm for l1", "dp_ftrl, negative digits", share=1 / math.sqrt(SHORT.n_arms)),
    Broken("one number for a left and a right node", "dp_ftrl, negative digits", step="update", broken=linear.mirrored),
    Broken("leader of the true prefix", "dp_ftrl, negative digits", step="choose", broken=linear.true_prefix),
    Broken("noise by the loss", "dp_ftrl, negative digits", step="update", broken=linear.by_loss),
    Mutant("noise as printed, Lap(1/ε)", "rnm_ftnl", share=0.5),
    Mutant("noise scale x 0.9", "rnm_ftnl", share=0.9),
    Mutant("scale inverted", "rnm_ftnl", share=0.25),
    Mutant("no noise", "rnm_ftnl", share=0.0),
    Broken("noise drawn once", "rnm_ftnl", step="choose", broken=linear.leader_drawn_once, kept=True),
    Broken(
        "noise of a forgotten epoch reused", "rnm_ftnl", step="choose", broken=linear.leader_drawn_for_two, kept=True
    ),
    Broken("one number for all experts", "rnm_ftnl", step="choose", broken=linear.leader_of_one_number),
    Broken("no noise late", "rnm_ftnl", step="choose", broken=linear.leader_late_silence),
    Broken("noise depends on the losses", "rnm_ftnl", step="choose", broken=linear.leader_by_losses),
    Broken("earlier epochs not forgotten", "rnm_ftnl", step="choose", broken=linear.unforgotten_epochs),
    Broken("a bad leader is left", "rnm_ftnl", step="choose", broken=linear.leader_left),
    Broken("the true leader of an epoch", "rnm_ftnl", step="choose", broken=linear.true_leader_of_epoch),
    Mutant("noise scale x 0.5", "rnm_ftnl, Gumbel", share=0.5),
    Mutant("noise scale x 0.9", "rnm_ftnl, Gumbel", share=0.9),
    Broken("log10 for ln", "rnm_ftnl, Gumbel", step="choose", broken=linear.gumbel_of_other_base),
    Broken("Gumbel noise of the largest", "rnm_ftnl, Gumbel", step="choose", broken=linear.gumbel_of_other_sign),
    Broken("noise drawn once", "rnm_ftnl, Gumbel", step="choose", broken=linear.gumbel_drawn_once, kept=True),
    Broken("one number for all experts", "rnm_ftnl, Gumbel", step="choose", broken=linear.gumbel_of_one_number),
    Broken("earlier epochs not forgotten", "rnm_ftnl, Gumbel", step="choose", broken=linear.unforgotten_epochs),
    Mutant("range of signed losses forgotten", "rnm_ftnl, printed", share=0.5),
    Mutant("noise scale x 0.5", "noisy_ftrl", share=0.5),
    Broken("noise reused", "noisy_ftrl", step="update", broken=linear.one_noise, kept=True),
    Broken("base fed the true losses", "noisy_ftrl", step="update", broken=linear.true_loss),
    Broken("no noise after round 1,000", "noisy_ftrl", step="update", broken=linear.fading, kept=True),
    Broken("noise by the loss", "noisy_ftrl", step="update", broken=linear.by_loss),
    Broken("learning rate for the scale", "noisy_ftrl", step="update", broken=linear.eta_for_scale),
    Mutant("noise scale x 0.5", "dp_scrible", share=0.5),
    Mutant("no noise", "dp_scrible", share=0.0),
    Mutant("scale of one number", "dp_scrible", share=1 / math.sqrt(BALL.n_arms)),
    Broken("noise without the point", "dp_scrible", step="released", broken=linear.one_number),
    Broken("noise on one coordinate", "dp_scrible", step="released", broken=linear.one_coordinate),
    Broken("base fed the true loss", "dp_scrible", step="update", broken=linear.true_loss),
    Broken("base fed the true loss, late", "dp_scrible", step="update", broken=linear.late_true_loss, kept=True),
    Broken("base fed a thousandth of the true loss", "dp_scrible", step="update", broken=linear.leaking),
    Broken("no noise after round 1,000", "dp_scrible", step="released", broken=linear.fading_loss, kept=True),
    Broken("noise by the loss", "dp_scrible", step="released", broken=linear.loss_by_loss),
    Mutant("noise scale x 0.75", "dp_scrible, scalar", share=0.75),
    Broken("learning rate for the scale", "dp_scrible, scalar", step="released", broken=linear.eta_for_loss_scale),
    Broken("noise reused", "dp_scrible, scalar", step="released", broken=linear.kept_number, kept=True),
    Mutant("noise scale x 0.75", "dp_ftpl", share=0.75),
    Broken("no noise after round 1,000", "dp_ftpl", step="update", broken=linear.fading, kept=True),
    Mutant("noise scale x 0.75", "dp_ftpl, BLT", share=0.75),
    Broken("no cumulative sum (lowers regret)", "dp_ftpl, BLT", step="update", broken=linear.no_sum),
)
