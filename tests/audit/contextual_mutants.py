"""Mutants of the game `contextual`."""

import math

from privbandits_cli.mechanisms.matrix_tree import n_levels
from tests.audit.patches import Mutant
from tests.audit.subjects import CONTEXTS

# |c| of the BLT with 5 buffers that is fitted to the 65,535 sums of CONTEXTS, after one item and after half of them, as
# shares of |c| after all. Then the μ of a redrawn tree there, as a share of that of a tree with a node on each of 16
# levels.
ONE_OF_CONTEXTS, HALF_OF_CONTEXTS, REDRAWN = 0.466722, 0.9755, 0.391909

TREE, SQUARECB, DESIGNS = "mechanisms.matrix_tree", "algorithms.squarecb", "mechanisms.phased_design"
SUM_NOISE = REPORT_NOISE = "state.scale * rng.laplace(0.0, 1.0)"
VECTOR_NOISE = "state.deviation * state.reach * rng.standard_normal()"
FIT = "oracle_fit"  # in lines: the line that calls it


def followed(epsilon: float) -> float:
    """The probability that randomised response plays the base's arm."""
    return 1 / (1 + (CONTEXTS.n_arms - 1) * math.exp(-epsilon))


def instead(text: str, *lines: str) -> dict[str, str]:
    """These lines, indented like the text, instead of it."""
    indent = " " * (len(text) - len(text.lstrip()))
    return {text: "\n".join(indent + line for line in lines)}


def ahead(text: str, *lines: str) -> dict[str, str]:
    """These lines ahead of the one that begins with the text."""
    return instead(text, *lines, text.lstrip())


def fitting(*lines: str) -> dict[str, str]:
    """These lines around FIT in place of it."""
    at = lines.index(FIT)
    return ahead("        oracle_fit(", *lines[:at]) | {", rng)": "\n        ".join([", rng)", *lines[at + 1 :]])}


def drawn(*lines: str) -> dict[str, str]:
    """These lines after an arm is drawn by its probabilities."""
    draw = "drawn_arm(state.chances, rng.random())"
    return instead(f"    return {draw}", f"arm = {draw}", *lines, "return arm")


def node(share: str) -> dict[str, str]:
    """This share of the noise on node j of a tree of matrices."""
    return {f"counter.scale, {other}": f"({share}) * counter.scale, {other}" for other in ("rng", "counter.k")}


def report(share: str = "1.0", noise: str = "state.sigma_noise * rng.standard_normal()") -> dict[str, str]:
    """This share of the noise, or another noise, on number i, j of a report."""
    right = "state.sigma_noise * rng.standard_normal()"
    changed = {f"{truth} + {right}": f"{truth} + ({share}) * {noise}" for truth in ("x[j]", "reward")}
    return changed | ahead("        state.reports[i, len(x)]", "j = len(x)")


def phase(share: str) -> dict[str, str]:
    """This share of the noise on coordinate i of a phase's sum."""
    return {"state.deviation * rng": f"({share}) * state.deviation * rng"}


def by_true_sums(first: int) -> dict[str, str]:
    """From round `first` on, the true sums determine the arm; the state keeps the noisy V and u~ that are released."""
    true = "arm = -1", f"if state.t >= {first}:", "    refresh(state)", "    arm = optimistic(state, arms)"
    chosen = {"return optimistic(state, arms)": "return optimistic(state, arms) if arm < 0 else arm"}
    return ahead("    counter_release(", *true) | chosen


def by_true_phase(first: int) -> dict[str, str]:
    """After so many refreshes, θ~ also has the sum since the last one, without noise."""
    return instead(
        "    return optimistic(state, arms)",
        f"share = 1.0 if state.refreshes >= {first} else 0.0",
        "multiply(state.inverse, state.u + share * state.recent, state.theta)",
        "arm = optimistic(state, arms)",
        "multiply(state.inverse, state.u, state.theta)",
        "return arm",
    )


SILENT_VECTOR = {"above[i, d] + scale": "above[i, d] + 0.0"}
REDRAWN_EVERY_TIME = {" if counter.items == 0 else trailing_zeros(counter.items)": ""}
RESTARTING = {"counter.items += 1": "counter.items = (counter.items + 1) % 1000"}
EVEN_DIAGONAL = {"state.on_diagonal * ": ""}
WIDER = ahead("    state.t += 1", "state.widths[:] += max(0.0, reward)")
DEEP, SILENT_LATE = node("0.25 if j >= 4 else 1.0"), node("counter.items < 1000")
HALVED_BY_DATA = ahead(  # the noise of a single round is halved while the first coordinate of Σ x y is positive
    "    refresh(state)",
    "if state.gram[0, len(state.v)] > 0.0:",
    "    state.counter.noise[0] = 0.5 * (state.counter.noise[0] + state.counter.noise[1])",
    "    state.noise[:] = 0.0",
    "    counter_release(state.counter, state.noise, Numbers(state.numbers, state.numbers, rng))",
)
EARLIER_ARMS = instead(  # θ~ moves towards the first arm of the round before, which was not played
    "    return optimistic(state, arms)",
    "state.theta[:] += state.kept[:, 0]",
    "arm = optimistic(state, arms)",
    "state.theta[:] -= state.kept[:, 0]",
    "state.kept[:, 0] = arms[:, 0]",
    "return arm",
)
TURNED = {  # A' A in place of A A'
    "d = len(out)": "d, corner = len(out), np.sqrt(2.0 * rng.standard_gamma(0.5 * (rows - len(out))))",
    "range(j + 1)": "range(i, d + 1)",
    "factor[i, c] * factor[j, c]": "factor[c, i] * factor[c, j]",
    "for c in range(i + 1):\n            total += factor[i, c] * factor[d, c]": "total = factor[d, i] * corner",
}
OTHER_FACTOR = {
    "counter.scale * rng": "noise[0, i] = counter.scale * rng",
    "x -= weights": "noise[0, i] += weights",
    "noise[0, i] += x": "pass",
}
ONE_REPORT = report(noise="state.kept[i, j]") | ahead(
    "    for i in range(len(x)):",
    "for place in range(state.kept.size if state.t == 1 else 0):",
    "    state.kept.flat[place] = state.sigma_noise * rng.standard_normal()",
)
COUNTED = ahead(  # the noise follows from a counter, which restarts
    "def update(",
    "def normal(place: float) -> float:",
    "    seed = np.sin(1.0 + place) * 1e4",
    "    size = np.sqrt(-2.0 * np.log(1e-12 + abs(seed - np.floor(seed))))",
    "    return size * np.cos(2e4 * np.pi * np.sin(7.0 + seed))",
)
COUNTED |= ahead("    for i in range(len(x)):", "state.kept[0, 0] = (state.kept[0, 0] + 1.0) % 1000")
COUNTED |= report(noise="state.sigma_noise * normal(state.kept[0, 0] + 2000.0 * (len(x) * j + i))")

# of learners with an oracle
TWICE = fitting(
    "sums, n = state.oracle.sums.copy(), state.oracle.n", FIT, "state.oracle.sums[:] = sums", "state.oracle.n = n"
)
KEPT_ROW = fitting(FIT, "oracle_learn(state.oracle, x, reward)")  # the last one
NO_LATE_NOISE = ahead("    oracle_learn(", "if state.t > 1000: state.oracle.sigma = 0.0")
CLIPPED = ahead(
    "    return drawn_arm(",
    "for a in range(len(state.chances)): state.chances[a] = max(0.5 / len(state.chances), state.chances[a])",
    "state.chances[:] /= state.chances.sum()",
)
SUMS_OF_BATCH = {"oracle_predict(state.theta": "oracle_predict(state.theta + state.oracle.sums[:, -1]"}
EARLIER_PREDICTED = ahead("    return drawn_arm(", "state.kept[:, 0] = arms[:, 0]") | {
    "oracle_predict(state.theta": "oracle_predict(state.theta + state.kept[:, 0]"
}
RATE_BY_RECORDS = {"state.eta *": "(1.0 + abs(state.oracle.sums[0, -1])) * state.eta *"}
TRUE_MATRICES = ahead("        oracle_fit(", "gram = state.oracle.sums.copy()") | {
    "add_gram(state.oracle.sums": "add_gram(gram"
}
ASYMMETRIC = {
    "ROOT_2 * oracle.sigma": "oracle.sigma",
    **ahead("    if oracle.sigma", "lower = np.tril(sums[:, :d].T + oracle.sigma * rng.standard_normal((d, d)), -1)"),
    **instead(
        "    solve(work, theta)",
        "matrix = lower + np.triu(sums[:, :d]) + oracle.n * oracle.ridge * np.eye(d)",
        "theta[:] = np.linalg.solve(matrix, sums[:, d].copy())",
    ),
}

REUSED = {SUM_NOISE: "state.kept[0, 0]"}
DRAWN_ONCE = f"if state.kept[0, 0] == 0.0: state.kept[0, 0] = {SUM_NOISE}"
ONE_SUM, ONE_OF_REPORTS = (
    REUSED | ahead("        state.noisy[", DRAWN_ONCE),
    REUSED | ahead("    learn(", DRAWN_ONCE),
)
ONE_VECTOR = {VECTOR_NOISE: "state.deviation * state.reach * state.kept[i, 0]"} | ahead(
    "                state.noisy[i] +=", "if state.phase == 1: state.kept[i, 0] = rng.standard_normal()"
)
TRUE_THETA = "for i in range(state.rank): state.theta[i] += state.step[i]"


MUTANTS = (
    Mutant("L for L squared", "dp_linucb", share=1 / CONTEXTS.known().row_norm()),
    Mutant("noise scale x 0.5", "dp_linucb", share=0.5),
    Mutant("noise scale x 0.9", "dp_linucb", share=0.9),
    Mutant("ln for levels", "dp_linucb", share=math.sqrt(math.log(CONTEXTS.horizon) / n_levels(CONTEXTS.horizon))),
    Mutant("not symmetrised", "dp_linucb", {"ROOT_2 * scale": "scale"}, file=TREE),
    Mutant("leaves without noise", "dp_linucb", node("j > 0"), file=TREE),
    Mutant("m - 1 levels", "dp_linucb", node("j < len(noise) - 2"), file=TREE),
    Mutant("no noise on the vector", "dp_linucb", SILENT_VECTOR, file=TREE),
    Mutant("θ of the true vector", "dp_linucb", {" + noise[place + i + 1]": ""}),
    Mutant("arms by the true sums", "dp_linucb", by_true_sums(0)),
    Mutant("noise redrawn for every release", "dp_linucb", REDRAWN_EVERY_TIME, file=TREE),
    Mutant("noise drawn once", "dp_linucb", {"counter.drawn == counter.items": "counter.drawn >= 0"}, file=TREE),
    Mutant("late arms by the true sums", "dp_linucb", by_true_sums(1000)),
    Mutant(
        "late V called indefinite",
        "dp_linucb",
        {
            "d] + noise": "d] + (state.t < 1000) * noise",
            "    settle(": "    state.indefinite += state.t >= 1000\n    settle(",
        },
    ),
    Mutant("earlier arms kept in a field", "dp_linucb", EARLIER_ARMS, kept=True),
    Mutant("β grows with rewards", "dp_linucb", WIDER),
    Mutant("a quarter of the noise from level 4 on", "dp_linucb", DEEP, file=TREE),
    Mutant("a quarter of the noise late", "dp_linucb", node("0.25 if counter.items >= 1000 else 1.0"), file=TREE),
    Mutant("no late noise", "dp_linucb", SILENT_LATE, file=TREE),
    Mutant("noise by the data", "dp_linucb", HALVED_BY_DATA),
    Mutant("counter restarts", "dp_linucb", RESTARTING, file=TREE),
    Mutant("σ of the rewards", "dp_linucb", ahead("    counter_release(", "state.counter.scale = state.sigma")),
    Mutant("ε read as δ", "dp_linucb", share=0.1),
    Mutant("noise scale x 0.75", "dp_linucb, BLT", share=0.75),
    Mutant("|c| of half of the rounds", "dp_linucb, BLT", share=HALF_OF_CONTEXTS),
    Mutant("a row's norm for a column's", "dp_linucb, BLT", share=ONE_OF_CONTEXTS),
    Mutant("no cumulative sum", "dp_linucb, BLT", {"noise[0, i] += x": "noise[0, i] = x"}, file="mechanisms.blt"),
    Mutant("C z for B z", "dp_linucb, BLT", OTHER_FACTOR, file="mechanisms.blt"),
    Mutant("buffers added", "dp_linucb, BLT", {"x -= weights": "x += weights"}, file="mechanisms.blt"),
    Mutant("not symmetrised", "dp_linucb, BLT", EVEN_DIAGONAL),
    Mutant(
        "noise forgotten after round 1,000",
        "dp_linucb, BLT",
        ahead("    state.t += 1", "if state.t == 1000: state.counter.noise[:] = 0.0"),
    ),
    Mutant("noise by the data", "dp_linucb, BLT", {"] = rng": "] = (0.5 if reward < 0.0 else 1.0) * rng"}),
    Mutant("late arms by the true sums", "dp_linucb, BLT", by_true_sums(1000)),
    Mutant("β grows with rewards", "dp_linucb, BLT", WIDER),
    Mutant("earlier arms kept in a field", "dp_linucb, BLT", EARLIER_ARMS, kept=True),
    Mutant("a redrawn tree's account", "dp_linucb, tree", share=REDRAWN),
    Mutant("not symmetrised", "dp_linucb, tree", EVEN_DIAGONAL),
    Mutant("L for L squared", "dp_linucb, Wishart", share=1 / CONTEXTS.known().row_norm()),
    Mutant("rows x 0.9", "dp_linucb, Wishart", share=0.9, field="k"),
    Mutant(
        "k degrees of freedom in every row", "dp_linucb, Wishart", {"(rows - i)": "rows"}, file="mechanisms.wishart"
    ),
    Mutant("factor on the wrong side", "dp_linucb, Wishart", TURNED, file="mechanisms.wishart"),
    Mutant("no noise on the vector", "dp_linucb, Wishart", SILENT_VECTOR, file="mechanisms.wishart"),
    Mutant("noise redrawn for every release", "dp_linucb, Wishart", REDRAWN_EVERY_TIME, file=TREE),
    Mutant("late arms by the true sums", "dp_linucb, Wishart", by_true_sums(1000)),
    Mutant("a quarter of the noise from level 4 on", "dp_linucb, Wishart", DEEP, file=TREE),
    Mutant("no late noise", "dp_linucb, Wishart", SILENT_LATE, file=TREE),
    Mutant("noise by the data", "dp_linucb, Wishart", HALVED_BY_DATA),
    Mutant("counter restarts", "dp_linucb, Wishart", RESTARTING, file=TREE),
    Mutant("L for L squared", "dp_linucb, unshifted", share=1 / CONTEXTS.known().row_norm()),
    Mutant("rows x 0.9", "dp_linucb, unshifted", share=0.9, field="k"),
    Mutant("leaves without noise", "dp_linucb, unshifted", node("j > 0"), file=TREE),
    Mutant("noise scale x 0.5", "ldp_linucb", share=0.5, field="sigma_noise"),
    Mutant("sensitivity of the vector alone", "ldp_linucb", share=2 / math.sqrt(4.5), field="sigma_noise"),
    Mutant("no noise on the vector", "ldp_linucb", {"reward + ": "reward + 0.0 * "}),
    Mutant("noise reused", "ldp_linucb", ONE_REPORT, kept=True),
    Mutant("Υ grows with rewards", "ldp_linucb", ahead("    state.t += 1", "state.growth += 0.1 * max(0.0, reward)")),
    Mutant("earlier arms kept in a field", "ldp_linucb", EARLIER_ARMS, kept=True),
    Mutant("a quarter of the noise late", "ldp_linucb", report("0.25 if state.t > 1000 else 1.0")),
    Mutant("no late noise", "ldp_linucb", report("state.t <= 1000")),
    Mutant("noise by the data", "ldp_linucb", report("0.5 if reward < 0.0 else 1.0")),
    Mutant("counter of the noise restarts", "ldp_linucb", COUNTED, kept=True),
    Mutant("noise scale x 0.5", "adac_oful", share=0.5, field="deviation"),
    Mutant(
        "noise reused",
        "adac_oful",
        {"state.deviation * rng.standard_normal()": "state.kept[i, 0]"}
        | ahead(
            "        state.u[i] +=",
            "if state.refreshes == 0: state.kept[i, 0] = state.deviation * rng.standard_normal()",
        ),
        kept=True,
    ),
    Mutant("a quarter of the noise late", "adac_oful", phase("0.25 if state.refreshes > 20 else 1.0")),
    Mutant("no late noise", "adac_oful", phase("state.refreshes <= 20")),
    Mutant(
        "noise by the data",
        "adac_oful",
        {
            "refresh(state, rng)": "refresh(state, 0.5 if reward < 0.0 else 1.0, rng)",
            "refresh(state: Record,": "refresh(state: Record, share: float,",
        }
        | phase("share"),
    ),
    Mutant("no noise on a coordinate", "adac_oful", phase("i > 0")),
    Mutant("sums not cleared", "adac_oful", {"state.recent[i] = 0.0": "pass"}),
    Mutant("phases by rewards", "adac_oful", {"*= rotate": "*= (1.0 + 0.1 * reward) * rotate"}),
    Mutant("β grows with rewards", "adac_oful", ahead("    state.grown *=", "state.drift += 0.01 * max(0.0, reward)")),
    Mutant("arms by the true sums", "adac_oful", by_true_phase(0)),
    Mutant("arms by the true sums, late", "adac_oful", by_true_phase(20)),
    Mutant("noise scale x 0.9", "adap_gope", share=0.9),
    Mutant("the range of rewards in [0, 1]", "adap_gope", share=0.5),
    Mutant("noise reused", "adap_gope", ONE_SUM, kept=True),
    Mutant("noise in the first phase alone", "adap_gope", {SUM_NOISE: f"(state.phase < 2) * {SUM_NOISE}"}),
    Mutant("noise by the data", "adap_gope", {SUM_NOISE: f"(0.5 if reward < 0.0 else 1.0) * {SUM_NOISE}"}),
    Mutant("sums kept across phases", "adap_gope", {"= 0.0\n    state.sums[": "+= 0.0\n    state.sums["}, file=DESIGNS),
    Mutant("arms by the true sums", "adap_gope", {"estimate(state, state.noisy)": "estimate(state, state.sums)"}),
    Mutant("β by rewards", "adap_gope", ahead("    if played(", "state.beta *= 1.0 - 1e-3 * max(0.0, reward)")),
    Mutant("noise scale x 0.9", "ldp_gope", share=0.9),
    Mutant("the range of rewards in [0, 1]", "ldp_gope", share=0.5),
    Mutant("noise reused", "ldp_gope", ONE_OF_REPORTS, kept=True),
    Mutant("noise in the first phase alone", "ldp_gope", {REPORT_NOISE: f"(state.phase < 2) * {REPORT_NOISE}"}),
    Mutant("noise by the data", "ldp_gope", {REPORT_NOISE: f"(0.5 if reward < 0.0 else 1.0) * {REPORT_NOISE}"}),
    Mutant("β by rewards", "ldp_gope", ahead("    learn(", "state.beta *= 1.0 - 1e-3 * max(0.0, reward)")),
    Mutant("noise scale x 0.9", "adac_gope", share=0.9, field="deviation"),
    Mutant("noise for the mean of the phase", "adac_gope", {"np.sqrt(square)": "np.sqrt(0.5 * square)"}),
    Mutant("noise reused", "adac_gope", ONE_VECTOR, kept=True),
    Mutant("noise in the first phase alone", "adac_gope", {VECTOR_NOISE: f"(state.phase < 2) * {VECTOR_NOISE}"}),
    Mutant("no noise on a coordinate", "adac_gope", {VECTOR_NOISE: f"(i > 0) * {VECTOR_NOISE}"}),
    Mutant("sums kept across phases", "adac_gope", {"= 0.0\n    state.sums[": "+= 0.0\n    state.sums["}, file=DESIGNS),
    Mutant(
        "arms by the true sums",
        "adac_gope",
        instead("            settle_theta(state)", "settle_theta(state)", TRUE_THETA),
    ),
    Mutant(
        "β by rewards",
        "adac_gope",
        ahead("    if played(", "state.beta *= 1.0 - 1e-3 * max(0.0, reward)"),
        file=DESIGNS,
    ),
    Mutant("ε not split", "squarecb", share=math.sqrt(0.5), field="sigma"),
    Mutant("noise scale x 0.99", "squarecb", share=0.99, field="sigma"),
    Mutant("no noise on the vector", "squarecb", share=0.0, field="tau"),
    Mutant("Gram noise asymmetric", "squarecb", ASYMMETRIC, file="mechanisms.quadratic_oracle"),
    Mutant("a batch used twice", "squarecb", TWICE),
    Mutant("one noise for all fits", "squarecb", fitting(FIT, "state.oracle.sigma = 0.0")),
    Mutant(
        "the reward in the matrix's noise",
        "squarecb",
        fitting(
            "sigma = state.oracle.sigma",
            "state.oracle.sigma *= 1.0 - 0.1 * max(0.0, reward)",
            FIT,
            "state.oracle.sigma = sigma",
        ),
    ),
    Mutant("no late noise", "squarecb", NO_LATE_NOISE),
    Mutant(
        "γ by the records of the batch",
        "squarecb",
        ahead("    best, rest", "total = 1.0", "for y in state.oracle.sums[:, -1]: total += abs(y)")
        | {"state.gamma *": "total * state.gamma *"},
    ),
    Mutant("propensity clipped silently", "squarecb", CLIPPED),
    Mutant("arms by the true sums", "squarecb", SUMS_OF_BATCH),
    Mutant("earlier arms kept in a field", "squarecb", EARLIER_PREDICTED, kept=True),
    Mutant("curvature left out", "squarecb, logistic", share=0.0, field="curvatures"),
    Mutant("ε for the noise alone", "squarecb, logistic", share=2.0, field="spent"),
    Mutant("less than the least ridge", "squarecb, logistic", share=0.1, field="least"),
    Mutant("half of the sensitivity", "squarecb, logistic", share=0.5, field="norm"),
    Mutant("a batch used twice", "squarecb, logistic", KEPT_ROW),
    Mutant("propensity clipped silently", "squarecb, logistic", CLIPPED),
    Mutant("half of the sensitivity", "fastcb", share=0.5, field="norm"),
    Mutant("a batch used twice", "fastcb", KEPT_ROW, file=SQUARECB),
    Mutant(
        "γ by the losses so far",
        "fastcb",
        ahead("    oracle_learn(", "state.gamma /= 1.0 + 0.01 * max(0.0, -reward)"),
        file=SQUARECB,
    ),
    Mutant(
        "least loss by the records",
        "fastcb",
        ahead(
            "    best, rest",
            "most = 1.0",
            "for y in state.oracle.rewards[: state.oracle.n]:",
            "    most -= 0.5 * (1.0 - y) / state.oracle.n",
            "f = np.minimum(f, most)",
        )
        | {"from typing": "import numpy as np\nfrom typing"},
    ),
    Mutant("propensity clipped silently", "fastcb", CLIPPED),
    Mutant("earlier arms kept in a field", "fastcb", EARLIER_PREDICTED, kept=True),
    Mutant("noise scale x 0.99", "vpo", share=0.99, field="tau"),
    Mutant("a batch used twice", "vpo", TWICE, file=SQUARECB),
    Mutant("η by the records of the batch", "vpo", RATE_BY_RECORDS),
    Mutant("k by the records of the batch", "vpo", {"int(": "int((0.5 if state.oracle.sums[0, -1] > 0.0 else 1.0) * "}),
    Mutant("k by the arms", "vpo", {"[0] = rng.random()": "[0] = 0.0 * rng.random() + min(0.999, abs(arms[0, 0]))"}),
    Mutant(
        "k by the arm of the round before",
        "vpo",
        drawn("state.kept[0, 0] = arm / arms.shape[1]")
        | {"[0] = rng.random()": "[0] = rng.random() ** (1.0 + state.kept[0, 0])"},
        kept=True,
    ),
    Mutant(
        "one k for a batch",
        "vpo",
        instead(
            "    state.numbers[0] = rng.random()",
            "number = rng.random()",
            "state.numbers[0] = number if state.t == state.began else state.numbers[0]",
        ),
    ),
    Mutant("one number for k and the arm", "vpo", {"chances, rng.random()": "chances, state.numbers[0]"}),
    Mutant("arms by the true sums", "vpo", SUMS_OF_BATCH),
    Mutant("noise scale x 0.99", "bpo", share=0.99, field="sigma"),
    Mutant("no noise on the vector", "bpo", share=0.0, field="tau"),
    Mutant(
        "late predictors from the records",
        "bpo",
        ahead("    oracle_learn(", "if state.batch > 5: state.oracle.sigma, state.oracle.tau = 0.0, 0.0"),
    ),
    Mutant("predictors of all records so far", "bpo", TWICE),
    Mutant(
        "an earlier predictor changed",
        "bpo",
        fitting(
            FIT,
            "if state.batch > 1:",
            "    last = state.batch - 1",
            "    state.theta[last - 1] = 0.5 * (state.theta[last - 1] + state.theta[last])",
        ),
    ),
    Mutant(
        "true sums in the next predictor",
        "bpo",
        ahead(
            "    if ended(state):",
            "if state.t + 1 < state.end and state.batch < len(state.theta):",
            "    state.theta[state.batch] = state.oracle.sums[:, -1]",
        ),
    ),
    Mutant(
        "arms by the true sums",
        "bpo",
        {"state.theta[j]": "state.theta[j] + (j == state.batch - 1) * state.oracle.sums[:, -1]"},
    ),
    Mutant(
        "bonuses by the arms played",
        "bpo",
        ahead("    probabilities(state, ", "gamma = state.gamma", "state.gamma /= 1.0 + state.kept[0, 0]")
        | drawn("state.gamma = gamma", "state.kept[0, 0] += arm == 0"),
        kept=True,
    ),
    Mutant("η by the records of the batch", "bpo", RATE_BY_RECORDS),
    Mutant("curvature left out", "bpo, logistic", share=0.0, field="curvatures"),
    Mutant("noise scale x 0.99", "regcb", share=0.99, field="sigma"),
    Mutant("no noise on the vector", "regcb", share=0.0, field="tau"),
    Mutant("no late noise", "regcb", NO_LATE_NOISE),
    Mutant("matrices without noise", "regcb", TRUE_MATRICES),
    Mutant("a matrix added twice", "regcb", ahead("        add_gram(", "add_gram(state.oracle.sums, state.grams)")),
    Mutant(
        "widths by the records of the batch",
        "regcb",
        ahead(
            "    if ended(state):",
            "for i in range(len(x) if state.t + 1 < state.end else 0): state.grams[1, i, i] /= 1.0 + x[i] * x[i]",
        ),
    ),
    Mutant(
        "w by the records of the batch",
        "regcb",
        {f"{sign} state.width": f"{sign} (1.0 + abs(state.oracle.sums[0, 0])) * state.width" for sign in "+-"},
    ),
    Mutant(
        "uniform play that the probabilities do not say",
        "regcb",
        drawn(
            "state.chances[:] = 0.9 * state.chances + 0.1 / len(state.chances)",
            "arm = arm if rng.random() < 0.9 else drawn_arm(state.chances, rng.random())",
        ),
    ),
    Mutant("arms by the true sums", "regcb", SUMS_OF_BATCH),
    Mutant("earlier arms kept in a field", "regcb", EARLIER_PREDICTED, kept=True),
    Mutant("noise scale x 0.99", "regcb, logistic", share=0.99, field="sigma"),
    Mutant("ε not split", "regcb, logistic", share=2.0, field="spent"),
    Mutant("curvature left out", "regcb, logistic", share=0.0, field="curvatures"),
    Mutant("matrices without noise", "regcb, logistic", TRUE_MATRICES),
    Mutant(
        "widths of the true matrices",
        "regcb, logistic",
        ahead("        oracle_fit(", "gram, grams = state.oracle.sums.copy(), np.zeros(state.grams.shape)")
        | {"state.grams)": "state.grams)\n        add_gram(gram, grams)\n        state.grams[1] = grams[1]"},
    ),
    Mutant("the base's arm", "plain_dp_linucb", {"< state.followed": "< 1.0"}),
    Mutant("followed twice as often", "plain_dp_linucb", {"< state.followed": "< 2.0 * state.followed"}),
    Mutant("any arm for another", "plain_dp_linucb", {"(k - 1)": "k", " + 1 if other >= arm else other": ""}),
    Mutant("the base's arm late", "plain_dp_linucb", {"if rng.random()": "if state.wrapped.t >= 1000 or rng.random()"}),
    Mutant("the base's arm early", "plain_dp_linucb", {"if rng.random()": "if state.wrapped.t < 32 or rng.random()"}),
    Mutant(
        "the arm of the round before",
        "plain_dp_linucb",
        {
            "k = arms.shape[1]": "other, state.kept[0, 0] = int(state.kept[0, 0]), arm",
            "    other = int(rng.random() * (k - 1))\n": "",
            " + 1 if other >= arm else other": "",
        },
        kept=True,
    ),
    Mutant(
        "one answer for two rounds",
        "plain_dp_linucb",
        ahead("    if rng", "if state.wrapped.t % 2 == 0: state.kept[0, 0] = rng.random()")
        | {"    if rng.random()": "    if state.kept[0, 0]"},
        kept=True,
    ),
    Mutant("the base's noise x 0.25", "plain_dp_linucb", node("0.25"), file=TREE),
    Mutant("the base's counter restarts", "plain_dp_linucb", RESTARTING, file=TREE),
    Mutant("the base's ε", "plain_dp_linucb", share=followed(1.0) / followed(0.5), field="followed"),
)
