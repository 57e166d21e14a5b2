"""Mutants of the game `best_arm`: noise used again, one number for all arms, answers by raw sums."""

from tests.audit.bandit_mutants import before, held, noise
from tests.audit.patches import Mutant

SUMS, TOP_TWO = "mechanisms.growing_sums", "mechanisms.top_two"
ADDED = "state.pending[arm] + state.scale * number"
CLOSED = "state.plays[arm] < state.due[arm]:"
BEST = "np.argmax(state.means)"
RAW = "state.sums + state.pending"
ANSWER = "    return best\n\n\ndef passes"
FIRST = "state.kept == 0.0"

OF_SUMS = {  # of all that release growing sums
    "noise on the first release only": {
        ADDED: ADDED.replace("state.scale", "(0.0 if state.phases[arm] else state.scale)")
    },
    "noise by the gain": {ADDED: ADDED.replace("state.scale", "(0.5 if gain > 0.5 else 1.0) * state.scale")},
    "a gain in two releases": {"    state.pending[arm] = 0.0": "    state.pending[arm] = gain"},
    "closed early by the raw sum": {CLOSED: CLOSED.replace(":", " and state.pending[arm] < 30.0:")},
}
MUTANTS = [
    *[
        Mutant(name, subject, changes, SUMS)
        for subject in ("dp_tt", "dp_uniform", "adap_tt")
        for name, changes in OF_SUMS.items()
    ],
    *[
        Mutant("noise scale x 0.9", subject, share=0.9)
        for subject in ("dp_tt", "dp_tt, published", "dp_uniform", "adap_tt", "adap_tt_star")
    ],
    *[Mutant("noise scale x 0.9", subject, share=0.9) for subject in ("dp_halving", "dp_uniform_best_arm")],
    *[
        Mutant("one number for all arms", subject, held(FIRST, f"    {before}gained(state"), kept=True)
        for subject, before in (("dp_tt", "if "), ("dp_uniform", ""), ("adap_tt", ""))
    ],
    *[
        Mutant("ties by raw sums", subject, {BEST: "np.argmax(state.means + 1e-3 * state.pending)"}, TOP_TWO)
        for subject in ("dp_tt", "adap_tt")
    ],
    *[
        Mutant(
            "stops when the raw sums are clear",
            subject,
            before(
                "    if state.fresh == 0:",
                "if state.t > 400 and state.pending.max() > 25.0:",
                "    return recommend(state)",
            ),
        )
        for subject in ("dp_tt", "adap_tt")
    ],
    Mutant("the answer by raw sums", "dp_tt", {ANSWER: ANSWER.replace("best", f"int(np.argmax({RAW}))")}),
    Mutant(
        "noise drawn once",
        "dp_halving",
        noise("state.kept")
        | before("    if state.cycle == state.cycles - 1", "state.kept = state.kept or rng.laplace"),
        kept=True,
    ),
    Mutant(
        "a phase counted twice", "dp_halving", {"        state.fresh[arm] = 0.0": "        state.fresh[arm] *= 0.5"}
    ),
    Mutant(
        "stops by raw sums",
        "dp_halving",
        {"if state.left == 1": "if state.left == 1 or state.fresh.max() > 40.0"},
    ),
    Mutant("one number for all arms", "dp_uniform_best_arm", held(FIRST, "    state.t += 1"), kept=True),
    Mutant(
        "the answer by the gains",
        "dp_uniform_best_arm",
        {"np.argmax(state.sums)": "np.argmax(state.gains)"},
        "algorithms.uniform_best_arm",
    ),
    Mutant("true gains in the test", "ctb_tt", {"released(state, gain, rng))": "gain)"}),
    Mutant("the chance of a larger ε", "ctb_tt", {"1.0 + state.flip": "1.0 + 0.5 * state.flip"}),
    Mutant(
        "stops by raw sums",
        "dp_se, best arm",
        {"if state.left == 1 else": "if state.left == 1 or state.sums.max() > 500.0 else"},
        "mechanisms.elimination",
    ),
]
