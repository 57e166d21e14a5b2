"""Mutants of the game `linear`."""

import math

from tests.audit.patches import Mutant
from tests.audit.subjects import BALL, EXPERTS, SHORT
from tests.naive_linear import height

# |c| of the BLT that is fitted to 49,999 prefixes, after one item and after half of them, as shares of |c| after all.
ONE, HALF = 0.476464, 0.983808

# At 249 prefixes: |c| of the square root, its share after half of them; that of Honaker's μ.
ROOT, HALF_ROOT, HALF_SMOOTHED = 1.679945, 0.959820, 0.941632

ADD = "counter_add_item(state.counter, rng)"
RELEASE = "counter_release(state.counter, state.wrapped.losses, rng)"
CHOOSE = "base_choose(state.wrapped, x, rng)"
RELEASED = "released(state, x, loss, rng), rng"


def times(factor: str, scale: str = "state.scale *") -> dict[str, str]:
    """Noise is multiplied by this factor."""
    return {scale: f"({factor}) * {scale}"}


def scaled(factor: str) -> dict[str, str]:
    """The numbers that a counter receives with a loss are multiplied by this factor."""
    numbers = f"Draws(rng.uniform, ({factor}) * rng.laplace, ({factor}) * rng.normal)"
    return {ADD: f"counter_add_item(state.counter, {numbers})"}


def dropped(when: str) -> dict[str, str]:
    """The noise so far is dropped, the prefix is not."""
    return {ADD: f"if {when}:\n        state.counter.noise[:] = 0.0\n    {ADD}"}


def redrawn(kind: str, nodes: str = "1") -> dict[str, str]:
    """Fresh noise for every prefix, in place of that of its counter."""
    fresh = f"np.sqrt(float({nodes})) * rng.{kind}[-len(x) :]"
    return {RELEASE: f"state.wrapped.losses[:] += state.counter.scale * {fresh}"}


def true_leader(first: int = 0) -> dict[str, str]:
    """From this t on, the leader of the true prefix, not of the noisy one that is released."""
    return {f"{RELEASE}\n    {CHOOSE}": f"{CHOOSE}\n    {RELEASE}\n    if state.t < {first}:\n        {CHOOSE}"}


def hinted(by: str) -> dict[str, str]:
    """In every thousandth round, the expert with the least of other numbers."""
    hint = f"x[:] = 0.0\n        x[np.argmin({by})] = 1.0"
    return {CHOOSE: f"{CHOOSE}\n    if state.t % 1000 == 999:\n        {hint}"}


def counted(before: str) -> dict[str, str]:
    """`kept` counts the rounds."""
    return {before: f"state.kept[0] += 1\n    {before}"}


EARLY, KEPT_EARLY, BY_LOSS = "state.t <= 1000", times("state.kept[0] <= 1000"), "np.abs(losses).max()"
LEVEL = "counter.scale *"
SPENT = "state.draws_left -= 1\n        throw(state, rng.uniform["
THROWN, LEADER = "state.expert = expert", "np.argmin(state.losses)"
FIRST_TOP_UP = {"if counter.gaussian": "if counter.items > 0:\n        return\n    if counter.gaussian"}
NO_TOP_UP = {RELEASE: "state.wrapped.losses[:] += state.counter.noise[0]"}
NO_SUM = {"noise[0, i] += x": "noise[0, i] = x"}
PREFIX = "state.prefix[i] +="
HINTED = hinted("state.kept") | {PREFIX: f"state.kept[i] = state.prefix[i]\n        {PREFIX}"}
ONE_FOR_TWO = {
    ADD: "if state.t % 2 == 1:\n        state.kept[:] = rng.laplace\n    "
    "counter_add_item(state.counter, Draws(rng.uniform, state.kept.copy(), rng.normal))"
}
ONCE = {
    "rng.laplace[i]": "rng.laplace[i]\n            noise = state.kept[i] = noise if state.t == 1 else state.kept[i]"
}
WALK_ONCE = {
    "for i in range(len(losses)):": "for i in range(len(losses)):\n        "
    "state.kept[i] = state.kept[i] or rng.normal[i]",
    "* rng.normal[i]": "* state.kept[i]",
}
WALK_EARLY = counted("for i in range(len(losses)):") | times("state.kept[0] <= 1000", "state.sigma *")
EPOCH = "# an epoch begins"
UNFORGOTTEN = {EPOCH: "\n        before = state.losses.copy()", "losses[:] = 0.0": "losses[:] = before"}

MUTANTS = (
    Mutant("noise scale x 0.5", "dp_ftrl", share=0.5),
    Mutant("noise scale x 0.75", "dp_ftrl", share=0.75),
    Mutant("log2 for levels", "dp_ftrl", share=math.log2(EXPERTS.horizon) / height(EXPERTS.horizon)),
    Mutant("ln for levels", "dp_ftrl", share=math.log(EXPERTS.horizon) / height(EXPERTS.horizon)),
    Mutant("l2 norm for l1", "dp_ftrl", share=1 / math.sqrt(EXPERTS.n_arms)),
    Mutant("second level without noise", "dp_ftrl", times("level != 1", LEVEL), file="mechanisms.counter"),
    Mutant("leader of the true prefix", "dp_ftrl", true_leader()),
    Mutant("leader of the true prefix, late", "dp_ftrl", true_leader(40_000)),
    Mutant("hint beside the prefix", "dp_ftrl", HINTED, kept=True),
    Mutant(
        "a quarter of the noise from level 4 up",
        "dp_ftrl",
        times("1 - 0.75 * (level >= 4)", LEVEL),
        file="mechanisms.counter",
    ),
    Mutant(
        "a quarter of the noise on the last level",
        "dp_ftrl",
        times("1 - 0.75 * (level == 15)", LEVEL),
        file="mechanisms.counter",
    ),
    Mutant("no noise after round 1,000", "dp_ftrl", scaled(EARLY)),
    Mutant("noise by the loss", "dp_ftrl", scaled(BY_LOSS)),
    Mutant("levels for the scale", "dp_ftrl", {LEVEL: "counter.levels *"}, file="mechanisms.counter"),
    Mutant("nodes forgotten after round 1,000", "dp_ftrl", dropped("state.t == 1001")),
    Mutant("unsigned sensitivity", "dp_ftrl, signed", share=0.5),
    Mutant("nodes forgotten after round 1,000", "dp_ftrl, shared", dropped("state.t == 1001")),
    Mutant("noise scale x 0.75", "dp_ftrl, Gaussian", share=0.75),
    Mutant("noise redrawn for every prefix", "dp_ftrl, Gaussian", redrawn("normal", "len(state.counter.shared)")),
    Mutant(
        "a quarter of the noise on the last level",
        "dp_ftrl, Gaussian",
        times("1 - 0.75 * (level == 15)", "counter.scale * numbers[first"),
        file="mechanisms.shared_top_up",
    ),
    Mutant("noise scale x 0.75", "dp_ftrl, BLT", share=0.75),
    Mutant("|c| of half of the rounds", "dp_ftrl, BLT", share=HALF),
    Mutant("a row's norm for a column's", "dp_ftrl, BLT", share=ONE),
    Mutant("no cumulative sum (lowers regret)", "dp_ftrl, BLT", NO_SUM, file="mechanisms.blt"),
    Mutant(
        "C z for B z (lowers regret)",
        "dp_ftrl, BLT",
        {"x = counter": "noise[0, i] = 0.0\n        x = counter", "x -= weights": "noise[0, i] += weights"},
        file="mechanisms.blt",
    ),
    Mutant("buffers added", "dp_ftrl, BLT", share=-1.0, field="weights"),
    Mutant("noise redrawn for every prefix", "dp_ftrl, BLT", redrawn("normal")),
    Mutant("no noise after round 1,000", "dp_ftrl, BLT", scaled(EARLY)),
    Mutant("noise by the loss", "dp_ftrl, BLT", scaled(BY_LOSS)),
    Mutant("noise forgotten after round 1,000", "dp_ftrl, BLT", dropped("state.t == 1001")),
    Mutant("a number of the noise used twice", "dp_ftrl, BLT", hinted("rng.normal")),
    Mutant("leader of the true prefix, late", "dp_ftrl, BLT", true_leader(40_000)),
    Mutant("hint beside the prefix", "dp_ftrl, BLT", HINTED, kept=True),
    Mutant("|c| for √m", "dp_ftrl, no top-up", share=ROOT / math.sqrt(height(SHORT.horizon))),
    Mutant("noise of nodes dropped", "dp_ftrl, no top-up", dropped("state.t % 16 == 9")),
    Mutant("μ of half of the rounds", "dp_ftrl, Honaker", share=HALF_SMOOTHED),
    Mutant(
        "estimates without left halves (lowers regret)",
        "dp_ftrl, Honaker",
        {"(left[j - 1, i] + estimate)": "estimate"},
        file="mechanisms.honaker",
    ),
    Mutant(
        "noise of an estimate without the nodes below",
        "dp_ftrl, Honaker",
        {"+ 1, i] + estimate": "+ 1, i] + np.sqrt(weights[level]) * counter.scale * rng.normal[i - width]"},
        file="mechanisms.honaker",
    ),
    Mutant("noise redrawn for every prefix", "dp_ftrl, Honaker", redrawn("normal")),
    Mutant("leader of the true prefix", "dp_ftrl, Honaker", true_leader()),
    Mutant("|c| of half of the rounds", "dp_ftrl, square root", share=HALF_ROOT),
    Mutant(
        "z for C z (lowers regret)",
        "dp_ftrl, square root",
        {"range(last + 1)": "range(last, last + 1)"},
        file="mechanisms.square_root",
    ),
    Mutant("√(h - w) for h - w", "dp_ftrl, smooth", share=1 / math.sqrt(2)),
    Mutant("noise of nodes dropped", "dp_ftrl, smooth", dropped("state.t % 16 == 9")),
    Mutant("one number for two nodes", "dp_ftrl, smooth", ONE_FOR_TWO, kept=True),
    Mutant("h - 1 levels", "dp_ftrl, k-ary", share=3 / 4),
    Mutant("√h for h", "dp_ftrl, k-ary", share=1 / 2),
    Mutant(
        "noise of the last siblings alone (lowers regret)",
        "dp_ftrl, k-ary",
        {"noise[level, i] += ": "noise[level, i] = (noise[level + 1, i] if level + 1 < len(noise) else 0.0) + "},
        file="mechanisms.counter",
    ),
    Mutant("one number for two nodes", "dp_ftrl, k-ary", ONE_FOR_TWO, kept=True),
    Mutant("noise redrawn for every prefix", "dp_ftrl, k-ary", redrawn("laplace")),
    Mutant("leader of the true prefix, late", "dp_ftrl, k-ary", true_leader(40_000)),
    Mutant("h - 1 levels", "dp_ftrl, negative digits", share=1 / 2),
    Mutant("l2 norm for l1", "dp_ftrl, negative digits", share=1 / math.sqrt(SHORT.n_arms)),
    Mutant(
        "one number for a left and a right node",
        "dp_ftrl, negative digits",
        {"numbers[drawn + i]": "numbers[drawn + min(0, above - 2 - 2 * child) * width + i]"},
        file="mechanisms.negative_digits",
    ),
    Mutant("leader of the true prefix", "dp_ftrl, negative digits", true_leader()),
    Mutant("noise by the loss", "dp_ftrl, negative digits", scaled(BY_LOSS)),
    Mutant("η doubled", "shrinking_dartboard", share=2.0, field="decay"),
    Mutant("p halved", "shrinking_dartboard", share=1 + 0.5 / 8192**0.5, field="calm"),
    Mutant("losses not kept in mind", "shrinking_dartboard", {"state.last = losses[state.expert]": "state.last = 0.0"}),
    Mutant("kept by the loss of the first expert", "shrinking_dartboard", {"losses[state.expert]": "losses[0]"}),
    Mutant("leader now and then", "shrinking_dartboard", {THROWN: f"{THROWN} if uniform < 0.999 else {LEADER}"}),
    Mutant("one number for both", "shrinking_dartboard", {f"{SPENT}1])": f"{SPENT}0])"}),
    Mutant(
        "leader late",
        "shrinking_dartboard",
        {THROWN: f"{THROWN} if state.kept[0] < 4000 else {LEADER}"} | counted("state.last = losses"),
        kept=True,
    ),
    Mutant("noise as printed, Lap(1/ε)", "rnm_ftnl", share=0.5),
    Mutant("noise scale x 0.9", "rnm_ftnl", share=0.9),
    Mutant("scale inverted", "rnm_ftnl", share=0.25),
    Mutant("no noise", "rnm_ftnl", share=0.0),
    Mutant("noise drawn once", "rnm_ftnl", ONCE, kept=True),
    Mutant(
        "noise of a forgotten epoch reused",
        "rnm_ftnl",
        {
            "scale * noise": "scale * (state.kept[i] or noise)\n            "
            "state.kept[i] = 0.0 if state.kept[i] else noise"
        },
        kept=True,
    ),
    Mutant("one number for all experts", "rnm_ftnl", {"rng.laplace[i]": "rng.laplace[0]"}),
    Mutant("no noise late", "rnm_ftnl", times(EARLY)),
    Mutant(
        "noise depends on the losses",
        "rnm_ftnl",
        times("share") | {EPOCH: "\n        share = 0.5 if 4 * state.losses[0] > state.t else 1.0"},
    ),
    Mutant("earlier epochs not forgotten", "rnm_ftnl", UNFORGOTTEN),
    Mutant(
        "a bad leader is left",
        "rnm_ftnl",
        {
            "x[state.expert]": "bad = state.losses[state.expert] > 20.0 + state.losses.min()\n    "
            "x[np.argmin(state.losses) if bad else state.expert]"
        },
    ),
    Mutant("the true leader of an epoch", "rnm_ftnl", times("state.t != 2048")),
    Mutant("noise scale x 0.5", "rnm_ftnl, Gumbel", share=0.5),
    Mutant("noise scale x 0.9", "rnm_ftnl, Gumbel", share=0.9),
    Mutant("log10 for ln", "rnm_ftnl, Gumbel", {"np.log(-np.log(": "np.log10(-np.log10("}),
    Mutant("Gumbel noise of the largest", "rnm_ftnl, Gumbel", {"+= state.scale": "-= state.scale"}),
    Mutant("noise drawn once", "rnm_ftnl, Gumbel", ONCE, kept=True),
    Mutant("one number for all experts", "rnm_ftnl, Gumbel", {"rng.uniform[i]": "rng.uniform[0]"}),
    Mutant("earlier epochs not forgotten", "rnm_ftnl, Gumbel", UNFORGOTTEN),
    Mutant("range of signed losses forgotten", "rnm_ftnl, printed", share=0.5),
    Mutant("noise scale x 0.9", "rw_ftpl", share=0.9, field="sigma"),
    Mutant("one loss of a vector replaced", "rw_ftpl", share=1 / math.sqrt(EXPERTS.n_arms), field="sigma"),
    Mutant("noise drawn once", "rw_ftpl", WALK_ONCE, kept=True),
    Mutant("one number for all experts", "rw_ftpl", {"rng.normal[i]": "rng.normal[0]"}),
    Mutant("true losses of the first expert", "rw_ftpl", times("1.0 if i > 0 else 0.0", "state.sigma *")),
    Mutant("no noise after round 1,000", "rw_ftpl", WALK_EARLY, kept=True),
    Mutant("noise by the loss", "rw_ftpl", times(BY_LOSS, "state.sigma *")),
    Mutant("norm for the distance", "rw_ftpl, ball", share=0.5, field="sigma"),
    Mutant("noise scale x 0.5", "noisy_ftrl", share=0.5),
    Mutant(
        "noise reused",
        "noisy_ftrl",
        {
            "* rng.laplace[i]": "* state.kept[i]",
            "state.noisy[i]": "state.kept[i] = state.kept[i] or rng.laplace[i]\n        state.noisy[i]",
        },
        kept=True,
    ),
    Mutant("base fed the true losses", "noisy_ftrl", {"state.noisy, rng": "losses, rng"}),
    Mutant("no noise after round 1,000", "noisy_ftrl", counted("for i in range(len(losses)):") | KEPT_EARLY, kept=True),
    Mutant("noise by the loss", "noisy_ftrl", times(BY_LOSS)),
    Mutant("learning rate for the scale", "noisy_ftrl", {"state.scale *": "state.wrapped.eta *"}),
    Mutant("noise scale x 0.5", "dp_scrible", share=0.5),
    Mutant("no noise", "dp_scrible", share=0.0),
    Mutant("scale of one number", "dp_scrible", share=1 / math.sqrt(BALL.n_arms)),
    Mutant(
        "one number, times the mean coordinate",
        "dp_scrible",
        {"noise *= x[0]": "noise *= x.sum() / len(x)", "range(1, len(x))": "range(0)"},
    ),
    Mutant("noise on one coordinate", "dp_scrible", {"range(1, len(x))": "range(0)"}),
    Mutant("base fed the true loss", "dp_scrible", {RELEASED: "loss, rng"}),
    Mutant(
        "base fed the true loss, late",
        "dp_scrible",
        counted("base_update(state") | {RELEASED: f"loss if state.kept[0] > 40_000 else {RELEASED}"},
        kept=True,
    ),
    Mutant("base fed a thousandth of the true loss", "dp_scrible", {RELEASED: f"0.001 * loss + {RELEASED}"}),
    Mutant("no noise after round 1,000", "dp_scrible", counted("noise = rng") | KEPT_EARLY, kept=True),
    Mutant("noise by the loss", "dp_scrible", times("abs(loss)")),
    Mutant("noise scale x 0.75", "dp_scrible, scalar", share=0.75),
    Mutant("learning rate for the scale", "dp_scrible, scalar", {"state.scale *": "state.wrapped.eta *"}),
    Mutant(
        "noise reused",
        "dp_scrible, scalar",
        {"rng.laplace[0]": "state.kept[0] = state.kept[0] or rng.laplace[0]"},
        kept=True,
    ),
    Mutant("noise scale x 0.75", "dp_ftpl", share=0.75),
    Mutant("no noise after round 1,000", "dp_ftpl", scaled(EARLY), file="algorithms.dp_ftrl"),
    Mutant(
        "top-up missing", "dp_ftpl", {"counter_release(state.counter, state.wrapped.losses, rng)": NO_TOP_UP[RELEASE]}
    ),
    Mutant("top-up in the first round only", "dp_ftpl", FIRST_TOP_UP, file="mechanisms.fresh_top_up"),
    Mutant(
        "top-up for the levels of the next prefix",
        "dp_ftpl",
        {"- ones(counter.items)": "- ones(counter.items + 1)"},
        file="mechanisms.fresh_top_up",
    ),
    Mutant("noise scale x 0.75", "dp_ftpl, BLT", share=0.75),
    Mutant("no cumulative sum (lowers regret)", "dp_ftpl, BLT", NO_SUM, file="mechanisms.blt"),
)
