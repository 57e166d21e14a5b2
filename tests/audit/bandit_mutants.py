"""Mutants of the game `bandit`."""

import math

from privbandits_cli.mechanisms.arm_trees import best
from privbandits_cli.mechanisms.tree import depth
from tests.audit.patches import Mutant
from tests.audit.subjects import ARMS

KARY, SMOOTH = best("k_ary", int(ARMS.horizon)), best("smooth", int(ARMS.horizon))
TURNED = 2**SMOOTH.nodes - 1  # the first code with as many ones as there should be zeros
LEVELS = math.log(ARMS.horizon) / depth(ARMS.horizon)


def noise(new: str, *places: str) -> dict[str, str]:
    """`new` in place of the number that hides gains, which it calls {}, where the text is like this."""
    parts = [place.partition("rng.") for place in places or ("rng.laplace",)]
    return {"".join(part): part[0] + new.format("".join(part[1:])) for part in parts}


def passed(call: str, number: str) -> dict[str, str]:
    """A call that passes on this number."""
    return {f"{call}, rng": f"{call}, Draws(rng.uniform, {number})"}


def before(line: str, *added: str) -> dict[str, str]:
    """Lines that come before the one that begins like this."""
    indent = line[: -len(line.lstrip())]
    return {line: "".join(f"{indent}{one}\n" for one in added) + line}


def drawn(when: str, number: str = "rng.laplace") -> str:
    """A number is kept, and replaced in some rounds only."""
    return f"state.kept = {number} if {when} else state.kept"


def held(when: str, line: str, number: str = "rng.laplace", *places: str) -> dict[str, str]:
    """A number that is new in some rounds only."""
    return noise("state.kept", *places or (number,)) | before(line, drawn(when, number))


def twice(line: str, number: str = "rng.laplace") -> dict[str, str]:
    """A number that is used twice before the next one."""
    lines = f"number = state.kept or {number}", "state.kept = number - state.kept"
    return noise("number", number) | before(line, *lines)


def passing(bound: str) -> str:
    """A gain that is infinite beyond this bound, as one that stands for an outlier in place of the report."""
    return f"(gain if abs(gain) <= {bound} else 1e999 * gain)"


FIRST, FIRST_ARM, FIRST_PLACE, ODD = "state.kept == 0.0", "arm == 0", "state.place == 0", "state.epoch % 2 == 1"
BY_GAIN, LATE, COUNT = "(0.5 if gain > 0.5 else 1.0) * {}", "(0.0 if state.t > 1000 else {})", "state.kept += 1.0"
REDUCTION, LAP, BLOCKS = "algorithms.dp_reduction", "algorithms.dp_lambda_lap", "algorithms.mini_batch"
BATCHES, PHASES = "algorithms.dist_dp_se", "mechanisms.phased"

# Texts of the algorithms
NOISY, ENCODE, TIME = "    noisy: float", "    if encode(", "    state.t +="
PHASE, PHASE_END, BLOCK, CLOSED = "    if ended(", "        end(", "    if ends(", "    odd ="
DRAWN, VARIANCE = "discrete(rng.laplace, state.scale)", "state.scale * state.scale"
MEAN, NEW_MEAN, STEP = "state.gain / state.tau", "(state.gain + gain) / state.tau", "step = state.rate * gain"
WEIGHT, BEHIND = "(1.0 - state.gamma) * state.weights[i] + floor", "state.forced = behind(state)"
LEADER = "int(np.argmax(state.drawn))"
NORMAL, NORMALS, BITS = "rng.normal", "rng.normal[i]", ("rng.bits", "skellam(rng.bits")
EPOCHS, BOTH = "state.scale * rng.laplace", ("rng.laplace", "scale * rng.laplace", "level * rng.laplace")

TRUE_LATE = before("    if -state.b", COUNT, "noisy = gain if state.kept > 1000 else noisy")
SILENT_LATE = before("    noisy =", COUNT) | passed("state, gain", "0.0 if state.kept > 1000 else rng.laplace")
INVERTED = {"laplace, state.scale": "laplace, -1.0 / np.log1p(-np.exp(-1.0 / state.scale))"}
REMEMBERED = {"    state.sums[arm] = 0.0\n": ""}
TRUE_MEANS = {"y / (state.cycles": "state.sums[arm] / (state.cycles"}
UNIFORM = {
    "bits import skellam": "bits import uniform",
    f"skellam(rng.bits, 1, {VARIANCE})": "np.floor(np.sqrt(12.0) * state.scale * (uniform(rng.bits, 1) - 0.5) + 0.5)",
}
SUM_OF_BLOCK = {MEAN: "state.gain"}
ONE_FOR_BLOCKS = before("    state.gain +=", drawn(FIRST)) | passed(MEAN, "state.kept")
DOUBLED_LATE = before(f"    {STEP}", COUNT) | {STEP: f"{STEP} * (2.0 if state.kept > 1000 else 1.0)"}
UNFLOORED_LATE = {WEIGHT: f"(state.weights[i] if state.gains.sum() > 1.0 else {WEIGHT})"}
GREEDY = {"return min(arm,": "return int(np.argmax(state.gains)) if rng.uniform > 0.999 else min(arm,"}
PER_PLAY = "{} / (1.0 + state.plays[arm])"
ONE = "(state.kept if i == 0 else {})"
ONE_HELD = noise(ONE, NORMALS) | before("    for i in range(k)", drawn(FIRST, "rng.normal[0]"))
FOR_SHOW = {LEADER: f"int(np.argmax(state.gains / (state.plays + 1.0))) if state.t >= 1010 else {LEADER}"}
RENOISED = {  # with the true sums in `noises`
    "state.noises[arm] += 1.0": "state.noises[arm] += state.total",
    "state.sums[arm] += state.total": "state.sums[arm] = state.noises[arm] + state.total",
}
UNENDED = "if state.total > 2.0 and 4.0 * state.total > 3.0 * state.played:"
TRUE_PHASE = before("    if state.played == 0:", UNENDED, "    state.length = state.played + 2")
LONGER = "if state.played + 1 == state.length and state.loss < 0.25 * state.played:"
TRUE_BLOCK = before("    return int(state.arm)", LONGER, "    state.length += 1")
BLOCK_LATE = noise("(0.0 if state.kept > 1000 else {})") | before(BLOCK, COUNT)
ONES = "if state.plays[i] > 8 and state.totals[i] > 0.9 * state.plays[i]:"
TRUE_SHARE = before("        shape(state, i", ONES, "    return i")
REDRAWN = before(TIME, "state.noise[:] = 0.0")
UNCUT = "(gain if gain**2 <= state.u * state.epsilon * (state.cycles / state.log) ** 0.5 else 0.0)"  # v = 1
COUNTED = {BEHIND: f"{BEHIND}\n    state.t += state.t > 1000 and gain > 0.5"}
TRUE_LEADER = before("    log_t =", "if state.t > 1000:", "    return int(np.argmax(state.sums))")
FORGOTTEN = before(CLOSED, "if n % 1000 == 0:", "    state.noise[arm, :] = 0.0")
FIRST_CODE = before(CLOSED, "if n == 1:", f"    state.codes[arm] = {TURNED}")
KEPT_NODES = {"    own[level] = total\n": ""}

MUTANTS = (
    Mutant("noise scale x 0.5", "dp_exp3_lap", share=0.5),
    Mutant("noise scale x 0.75", "dp_exp3_lap", share=0.75),
    Mutant("noise scale x 0.9", "dp_exp3_lap", share=0.9),
    Mutant("no noise", "dp_exp3_lap", share=0.0),
    Mutant("sensitivity halved", "dp_exp3_lap", {"gain + state": "2.0 * gain - 0.5 + state"}, REDUCTION),
    Mutant("noise reused", "dp_exp3_lap", held(FIRST, NOISY), REDUCTION, kept=True),
    Mutant("noise kept for two rounds", "dp_exp3_lap", twice(NOISY), REDUCTION, kept=True),
    Mutant("base fed the true gain", "dp_exp3_lap", {"(noisy": "(gain"}, LAP),
    Mutant("base fed the true gain late", "dp_exp3_lap", TRUE_LATE, LAP, kept=True),
    Mutant("no noise late", "dp_exp3_lap", SILENT_LATE, LAP, kept=True),
    Mutant("noise depends on the gain", "dp_exp3_lap", noise(BY_GAIN), REDUCTION),
    Mutant("learning rate for scale", "dp_exp3_lap", {"state.scale": "state.wrapped.rate"}, REDUCTION),
    Mutant("noise scale x 0.5", "dist_dp_se", share=2.0, field="epsilon"),
    Mutant("noise scale x 0.8", "dist_dp_se", share=1.25, field="epsilon"),
    Mutant("no noise", "dist_dp_se", share=1e9, field="epsilon"),
    Mutant("scale inverted, as in the published code", "dist_dp_se", INVERTED),
    Mutant("log10 for ln", "dist_dp_se", noise("{} / np.log(10.0)")),
    Mutant("grid left out of the scale", "dist_dp_se", {"laplace, state.scale": "laplace, 1.0 / state.epsilon"}),
    Mutant("grid twice as fine", "dist_dp_se", {"arm, gain, rng": "arm, 2.0 * gain, rng"}),
    Mutant("Laplace numbers cut to whole ones", "dist_dp_se", {DRAWN: "np.trunc(state.scale * rng.laplace)"}),
    Mutant("positive noise", "dist_dp_se", {DRAWN: f"abs({DRAWN})"}),
    Mutant("noise drawn once", "dist_dp_se", held(FIRST, ENCODE), kept=True),
    Mutant("one number for all arms", "dist_dp_se", held(FIRST_PLACE, ENCODE), kept=True),
    Mutant("noise of a forgotten batch reused", "dist_dp_se", held(ODD, ENCODE), kept=True),
    Mutant("noise depends on the gain", "dist_dp_se", noise(BY_GAIN)),
    Mutant("no noise late", "dist_dp_se", {"arm, discrete": "arm, 0.0 if state.epoch > 5 else discrete"}),
    Mutant("earlier batches not forgotten", "dist_dp_se", REMEMBERED),
    Mutant("the true means decide", "dist_dp_se", TRUE_MEANS),
    Mutant("deviation x 0.5", "dist_rdp_se", share=2.0, field="epsilon"),
    Mutant("deviation x 0.8", "dist_rdp_se", share=1.25, field="epsilon"),
    Mutant("half of the variance", "dist_rdp_se", {VARIANCE: f"0.5 * {VARIANCE}"}),
    Mutant("deviation for variance", "dist_rdp_se", {VARIANCE: "state.scale"}),
    Mutant("deviation inverted", "dist_rdp_se", {VARIANCE: "1.0 / state.scale**2"}),
    Mutant("uniform noise", "dist_rdp_se", UNIFORM),
    Mutant("noise drawn once", "dist_rdp_se", held(FIRST, ENCODE, *BITS), kept=True),
    Mutant("one number for all arms", "dist_rdp_se", held(FIRST_PLACE, ENCODE, *BITS), kept=True),
    Mutant("noise of a forgotten batch reused", "dist_rdp_se", held(ODD, ENCODE, *BITS), kept=True),
    Mutant("no noise late", "dist_rdp_se", {"arm, skellam": "arm, 0.0 if state.epoch > 5 else skellam"}),
    Mutant("earlier batches not forgotten", "dist_rdp_se", REMEMBERED, BATCHES),
    Mutant("the true means decide", "dist_rdp_se", TRUE_MEANS, BATCHES),
    Mutant("noise scale x 0.5", "dp_exp2", share=0.5),
    Mutant("noise scale x 0.9", "dp_exp2", share=0.9),
    Mutant("no noise", "dp_exp2", share=0.0),
    Mutant("noise reused", "dp_exp2", held(FIRST, NOISY), REDUCTION, kept=True),
    Mutant("base fed the true gain", "dp_exp2", {"released(state, gain, rng), rng": "gain, rng"}, REDUCTION),
    Mutant("noise scale x 0.5", "batched_htinf", passed(NEW_MEAN, "0.5 * rng.laplace"), BLOCKS),
    Mutant("noise of a sum for a mean", "batched_htinf", passed(NEW_MEAN, "4.0 * rng.laplace"), BLOCKS),
    Mutant("sum under the noise of a mean", "batched_htinf", {NEW_MEAN: "state.gain + gain"}, BLOCKS),
    Mutant("half the noise is used", "batched_htinf", passed(MEAN, "0.5 * rng.laplace"), BLOCKS),
    Mutant("sum for mean", "batched_htinf", SUM_OF_BLOCK, BLOCKS),
    Mutant("one noise for all blocks", "batched_htinf", ONE_FOR_BLOCKS, BLOCKS, kept=True),
    Mutant("learning rate doubled", "exp3", {STEP: f"{STEP} * 2.0"}),
    Mutant("floor missing", "exp3", {WEIGHT: "state.weights[i]"}),
    Mutant("losses for gains", "exp3", {STEP: "step = -state.rate * (1.0 - gain)"}),
    Mutant("learning rate doubled late", "exp3", DOUBLED_LATE, kept=True),
    Mutant("floor missing late", "exp3", UNFLOORED_LATE),
    Mutant("greedy now and then", "exp3", GREEDY),
    Mutant("sum for mean", "exp3_tau", SUM_OF_BLOCK, BLOCKS),
    Mutant("B for 2B on a mean", "dp_robust_se", {"2.0 * state.bound": "state.bound"}),
    Mutant("no noise on a mean", "dp_robust_se", noise("0.0 * {}")),
    Mutant("B for 2B on a mean", "dp_robust_se, α", noise("0.5 * {}")),
    Mutant("gains not truncated", "dp_robust_se, α", {"arm, cut(state, gain)": "arm, gain"}),
    Mutant(
        "mean not divided by R", "dp_robust_se", {"] / state.cycles + noise": "] + noise"}, "mechanisms.elimination"
    ),
    Mutant("gains not truncated", "dp_robust_se", {"arm, cut(state, gain)": "arm, gain"}),
    Mutant("noise scale x 0.5", "dp_se", noise("0.5 * {}")),
    Mutant("noise scale x 0.5", "adap_ucb", noise("0.5 * {}"), PHASES),
    Mutant("no noise late", "adap_ucb", noise(LATE), PHASES),
    Mutant("noise depends on the gain", "adap_ucb", noise(BY_GAIN), PHASES),
    Mutant("phases by the true gains", "adap_ucb", TRUE_PHASE),
    Mutant("divided by the plays", "adap_ucb", noise(PER_PLAY), PHASES),
    Mutant("deviation x 0.5", "adac_ucb", share=0.5),
    Mutant("deviation x 0.9", "adac_ucb", share=0.9),
    Mutant("deviation inverted", "adac_ucb", share=0.25),
    Mutant("ρ left out of the deviation", "adac_ucb", share=0.125**0.5),
    Mutant("noise drawn once", "adac_ucb", held(FIRST, PHASE, NORMAL), kept=True),
    Mutant("one number for all arms", "adac_ucb", held(FIRST_ARM, PHASE, NORMAL), kept=True),
    Mutant("noise of a forgotten episode reused", "adac_ucb", twice(PHASE_END, NORMAL), kept=True),
    Mutant("divided by the plays", "adac_ucb", noise(PER_PLAY, NORMAL)),
    Mutant("uniform noise", "adac_ucb", noise("math.sqrt(3.0) * math.erf(math.sqrt(0.5) * {})", NORMAL)),
    Mutant("noise depends on the gain", "adac_ucb", noise(BY_GAIN, NORMAL)),
    Mutant("no noise late", "adac_ucb", noise(LATE, NORMAL)),
    Mutant("phases by the true gains", "adac_ucb", TRUE_PHASE),
    Mutant("c x 0.8", "gaussian_ts", share=0.8, field="c"),
    Mutant("c ignored", "gaussian_ts", {"sqrt(state.c / n)": "sqrt(1.0 / n)"}),
    Mutant("c inverted", "gaussian_ts", {"sqrt(state.c / n)": "sqrt(1.0 / state.c / n)"}),
    Mutant("n + 1 squared", "gaussian_ts", {"sqrt(state.c / n)": "sqrt(state.c) / n"}),
    Mutant("noise drawn once", "gaussian_ts, mu", ONE_HELD, kept=True),
    Mutant("one number for all arms", "gaussian_ts", noise("rng.normal[0]", NORMALS)),
    Mutant("noise depends on the gains", "gaussian_ts", noise("{} * (1.0 + state.gains[i] / n)", NORMALS)),
    Mutant("no noise late", "gaussian_ts", noise("(0.0 if state.t >= 1010 else {})", NORMALS)),
    Mutant("the true leader, late", "gaussian_ts", FOR_SHOW),
    Mutant("scale inverted", "adap_klucb", share=0.25),
    Mutant("noise drawn once", "adap_klucb", held(FIRST, PHASE), PHASES, kept=True),
    Mutant("one number for all arms", "adap_klucb", held(FIRST_ARM, PHASE), PHASES, kept=True),
    Mutant("divided by the plays", "adap_klucb", noise(PER_PLAY), PHASES),
    Mutant("scale inverted", "dp_imed", share=0.25),
    Mutant("noise drawn once", "dp_imed", held(FIRST, PHASE), PHASES, kept=True),
    Mutant("one number for all arms", "dp_imed", held(FIRST_ARM, PHASE), PHASES, kept=True),
    Mutant("all gains noised anew", "dp_imed", RENOISED, PHASES),
    Mutant("scale inverted", "dp_klucb", share=0.25),
    Mutant("noise drawn once", "dp_klucb", held(FIRST, PHASE), PHASES, kept=True),
    Mutant("one number for all arms", "dp_klucb", held(FIRST_ARM, PHASE), PHASES, kept=True),
    Mutant("noise used for two phases", "dp_klucb", twice(PHASE_END), PHASES, kept=True),
    Mutant("all gains noised anew", "dp_klucb", RENOISED, PHASES),
    Mutant("no noise late", "dp_klucb", noise(LATE), PHASES),
    Mutant("noise depends on the gain", "dp_klucb", noise(BY_GAIN), PHASES),
    Mutant("phases by the true gains", "dp_klucb", TRUE_PHASE),
    Mutant("divided by the plays", "dp_klucb", noise(PER_PLAY), PHASES),
    Mutant("noise of a forgotten phase reused", "dp_klucb, last", twice(PHASE_END), PHASES, kept=True),
    Mutant("noise scale x 0.5", "dp_klucb, last", noise("0.5 * {}"), PHASES),
    Mutant("noise scale x 0.5", "dp_klucb, optimal", share=0.5),
    Mutant("noise used for two phases", "dp_klucb, optimal", twice(PHASE_END), PHASES, kept=True),
    Mutant("all gains noised anew", "dp_klucb, optimal", RENOISED, PHASES),
    Mutant("noise scale x 0.5", "dp_tsallis_switch", share=0.5),
    Mutant("noise scale x 0.9", "dp_tsallis_switch", share=0.9),
    Mutant("scale inverted", "dp_tsallis_switch", share=0.25),
    Mutant("no noise", "dp_tsallis_switch", share=0.0),
    Mutant("noise drawn once", "dp_tsallis_switch", held(FIRST, BLOCK), kept=True),
    Mutant("noise used for two blocks", "dp_tsallis_switch", held("state.n % 2 == 1", BLOCK), kept=True),
    Mutant("one number for all arms", "dp_tsallis_switch", held(FIRST_ARM, BLOCK), kept=True),
    Mutant("noise of a mean on a sum", "dp_tsallis_switch", noise("{} / state.length")),
    Mutant("learning rate for scale", "dp_tsallis_switch", {"state.scale": "state.eta"}),
    Mutant("no noise late", "dp_tsallis_switch", BLOCK_LATE, kept=True),
    Mutant("noise depends on the gain", "dp_tsallis_switch", noise(BY_GAIN)),
    Mutant("gains beside the noise", "dp_tsallis_switch", before(BLOCK, "state.losses[arm] -= 0.001 * gain")),
    Mutant("blocks by the true losses", "dp_tsallis_switch", TRUE_BLOCK, "algorithms.tsallis_switch"),
    Mutant("noise scale x 0.5", "dp_ts", share=0.5),
    Mutant("scale inverted", "dp_ts", share=1 / 16),
    Mutant("log2 read as ln in the number of levels", "dp_ts", share=math.log(2)),
    Mutant("noise drawn once", "dp_ts", held(FIRST, TIME, *BOTH), kept=True),
    Mutant("one number for all arms", "dp_ts", held(FIRST_ARM, TIME, *BOTH), kept=True),
    Mutant("all of ε for each epoch", "dp_ts", noise("0.5 * {}", EPOCHS)),
    Mutant("no noise on an epoch", "dp_ts", noise("0.0 * {}", EPOCHS)),
    Mutant("one level in each tree", "dp_ts", {"level * rng.laplace": "rng.laplace"}),
    Mutant("nodes redrawn for every sum", "dp_ts", REDRAWN),
    Mutant("noise of earlier epochs forgotten", "dp_ts", {"epochs[arm] +=": "epochs[arm] ="}),
    Mutant("noise depends on the gain", "dp_ts", noise(BY_GAIN, *BOTH[1:])),
    Mutant("no noise late", "dp_ts", noise(LATE, *BOTH[1:])),
    Mutant("the true share decides", "dp_ts", TRUE_SHARE),
    Mutant("scale inverted", "lazy_dp_ts", share=0.25),
    Mutant("noise drawn once", "lazy_dp_ts", held(FIRST, TIME), kept=True),
    Mutant("one number for all arms", "lazy_dp_ts", held(FIRST_ARM, TIME), kept=True),
    Mutant("older gains not dropped", "lazy_dp_ts", {"        state.totals[arm] = 0.0\n": ""}),
    Mutant("the true share decides", "lazy_dp_ts", TRUE_SHARE),
    Mutant("B for 2B on a report", "ldp_robust_se", {"2.0 * state.bound": "state.bound"}),
    Mutant("gains cut at the B without α", "ldp_robust_se, α", {"= cut(state, gain)": f"= {UNCUT}"}),
    Mutant(
        "gains beyond B pass as outliers", "ldp_robust_se, α", {"noisy, gain,": f"noisy, {passing('state.bound')},"}
    ),
    Mutant("report not used", "ldp_robust_se", {"report(state, gain, rng), 0.0": "cut(state, gain), 0.0"}),
    Mutant("B for 2B on a report", "ldp_robust_ucb", noise("0.5 * {}")),
    Mutant(
        "α in the noise alone",
        "ldp_robust_ucb, α",
        {"min(bound, state.limit)": "bound", "scale * bound": "scale * min(bound, state.limit)"},
    ),
    Mutant("gains beyond B pass as outliers", "ldp_robust_ucb, α", {"clean, gain,": f"clean, {passing('bound')},"}),
    Mutant("the chance of a larger ε", "ldp_robust_ucb, bits", {"divide(kept, end)": "divide(kept, 0.75 * end)"}),
    Mutant(
        "gains not truncated", "ldp_robust_ucb, bits", {"gain if abs(gain) <= bound else 0.0, state": "gain, state"}
    ),
    Mutant(
        "α in the chance alone",
        "ldp_robust_ucb, bits",
        {"min(bound, state.limit)": "bound", "ratio * bound": "ratio * min(bound, state.limit)"},
    ),
    Mutant("true gains in the sums", "ldp_robust_ucb, bits", {"] += report(": "] += 0.01 * gain + report("}),
    Mutant("B for 2B in a tree", "dp_robust_ucb", noise("0.5 * {}")),
    Mutant(
        "gains cut at the B without α",
        "dp_robust_ucb, α",
        {"if abs(gain) <= bound": "if abs(gain) <= state.bound * (n / grown)"},
    ),
    Mutant("log for levels in a tree", "dp_robust_ucb", noise(f"{LEVELS} * {{}}")),
    Mutant("noise redrawn for every sum", "dp_robust_ucb", REDRAWN),
    Mutant("no noise late", "ldp_ucb", noise(LATE)),
    Mutant("noise depends on the gain", "ldp_ucb", noise(BY_GAIN)),
    Mutant("gains count as rounds late", "ldp_ucb", COUNTED),
    Mutant("the chance of a larger ε", "ldp_ucb, bits", {"gain - 0.5, state.ratio": "gain - 0.5, 0.75 * state.ratio"}),
    Mutant("the gain is the chance", "ldp_ucb, bits", {"gain - 0.5, state.ratio": "gain - 0.5, 1.0"}),
    Mutant(
        "gains act most in the middle",
        "ldp_ucb, bits",
        {"gain - 0.5, state.ratio": "6.0 * gain * (1.0 - gain) - 0.5, 1.2 * state.ratio"},
    ),
    Mutant(
        "the chance by earlier gains",
        "ldp_ucb, bits",
        {
            "gain - 0.5, state.ratio": "0.5 * (gain + state.kept) - 0.5, state.ratio",
            "    n = state.plays[arm] + 1\n": "    n = state.plays[arm] + 1\n    state.kept = max(state.kept, gain)\n",
        },
        kept=True,
    ),
    Mutant("a rounded gain", "ldp_ucb, bits", {"rng.uniform < one": "0.5 < gain"}),
    Mutant("the value of a bit tells the gain", "ldp_ucb, bits", {"else -0.5)": "else -0.5) + 1e-9 * gain"}),
    Mutant("true gains in the sums", "ldp_ucb, bits", {"+= released(state, gain, rng)": "+= gain"}),
    Mutant(
        "true gains late",
        "ldp_ucb, bits",
        {"+= released(state, gain, rng)": "+= gain if state.t > 1000 else released(state, gain, rng)"},
    ),
    Mutant(
        "the number of the bit picks the arm",
        "ldp_ucb, bits",
        {"state.forced if state.forced >= 0 else first": "int(2.0 * rng.uniform)"},
    ),
    Mutant("divided by the plays", "ldp_ucb", passed("+= released(state, gain", "rng.laplace / n")),
    Mutant("arms by the true sums late", "dp_ucb", TRUE_LEADER),
    Mutant("a quarter of the noise on deep levels", "dp_ucb", noise("(0.25 if n % 16 == 0 else 1.0) * {}")),
    Mutant("no noise late", "dp_ucb", noise(LATE)),
    Mutant("noise depends on the gain", "dp_ucb", noise(BY_GAIN)),
    Mutant("noise forgotten", "dp_ucb", FORGOTTEN),
    Mutant("divided by the plays", "dp_ucb", noise("{} / n")),
    Mutant("all of ε for the blocks and for the trees", "dp_ucb, hybrid", share=0.5),
    Mutant("noise scale x 0.9", "dp_ucb, hybrid", share=0.9),
    Mutant("no noise late", "dp_ucb, hybrid", noise(LATE)),
    Mutant("noise depends on the gain", "dp_ucb, hybrid", noise(BY_GAIN)),
    Mutant("divided by the plays", "dp_ucb, hybrid", noise("{} / n")),
    Mutant("one level too few in the scale", "dp_ucb, k-ary", share=1 - 1 / KARY.nodes),
    Mutant("noise of closed nodes kept", "dp_ucb, k-ary", KEPT_NODES, "mechanisms.arm_trees"),
    Mutant("noise redrawn for every sum", "dp_ucb, k-ary", REDRAWN),
    Mutant("one node too few in the scale", "dp_ucb, smooth", share=1 - 1 / SMOOTH.nodes),
    Mutant("zeros for ones in the codes", "dp_ucb, smooth", FIRST_CODE),
    Mutant("noise of closed nodes kept", "dp_ucb, smooth", KEPT_NODES, "mechanisms.arm_trees"),
    Mutant("noise redrawn for every sum", "dp_ucb, smooth", REDRAWN),
)
