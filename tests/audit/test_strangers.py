"""Files of strangers: some hide a leak where an audit could fail to look, some are honest in a way it could mistake.

Each is the private epsilon-greedy of `greedy.py` with other parts. No dishonest file is CONSISTENT, and no honest one
is a VIOLATION: it is CONSISTENT, or NOT AUDITABLE with a line that says what to write.
"""

from dataclasses import dataclass

import pytest

from tests.audit.test_planted import CONFIG, HONEST, audited, changed
from tests.conftest import ROOT, some

VIOLATION, CONSISTENT, NOT = "VIOLATION", "CONSISTENT", "NOT AUDITABLE"
START, END = "    k = len(state.means)\n    p = min(", "    return best\n"
CHOICE = HONEST[HONEST.index(START) : HONEST.index(END) + len(END)]
TREE = HONEST[HONEST.index("    state.sums[arm] += gain\n") : HONEST.index("    state.t += 1\n")]
NOISE = "state.scale * rng.laplace"
QUIET = TREE.replace(NOISE, f"quiet * {NOISE}")
TURNS = "return (state.t // 2) % len(state.means) if state.t % 2 == 0 else int(np.argmax(state.means))"
EPOCHS = (
    "if state.t % 64 == 1:",
    "    state.led = int(np.argmax(state.means)) if state.t > 512 else (state.t // 64) % 4",
    "return state.led",
)
ONE, TWO = "one=1.0 / self.epsilon", "one=2.0 / self.epsilon"
LOCAL = "def view(self, setting): return views.Release()", "local = True"
REPORTED = "state.sums[arm] += released(state, gain, rng)", "state.means[arm] = state.sums[arm] / n"
BIT = "return 1.0 if rng.uniform < 0.5 + 0.46 * (gain - 0.5) else 0.0"
CHANGED, EARLY = "changed in another way after its noise", "is an `rng.laplace` of an earlier round"
LONE, SEVERAL, SECRET = (
    "draw no further numbers for noise",
    "let `update` add `rng.laplace` to the value",
    "depends on `rng.uniform`",
)


@dataclass(frozen=True)
class Stranger:
    """A file: the verdict on it and words of the finding, its horizon, and its parts, as lines of code.

    fields: of the state; head: of the class; first: what `choose` begins with; choose: all of it; update: in place of
    the tree; released, draws: what they return.
    """

    verdict: str
    found: str = ""
    horizon: int = 1024
    fields: tuple[str, ...] = ()
    head: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    choose: tuple[str, ...] = ()
    update: tuple[str, ...] = ()
    released: str = ""
    draws: str = ""
    delta: str = "0.0"

    def text(self) -> str:
        """The file."""
        head = "".join(f"    {line}\n" for line in self.head)
        if self.draws:
            head += f"\n    def draws(self, setting: Setting) -> dict[str, int]:\n        return {self.draws}\n"
        made = HONEST.replace(
            "            t=1,\n", "            t=1,\n" + "".join(f"            {line},\n" for line in self.fields)
        )
        made = made.replace("    def state(self", head + "\n    def state(self").replace(
            "sensitivity, 0.0", f"sensitivity, {self.delta}"
        )
        body = "".join(f"    {line}\n" for line in self.choose) or CHOICE
        made = made.replace(CHOICE, "".join(f"    {line}\n" for line in self.first) + body)
        made = made.replace(TREE, "".join(f"    {line}\n" for line in self.update) or TREE)
        return (
            made
            + f"\n\ndef released(state: Record, gain: float, rng: Draws) -> float:\n    {self.released}\n"
            * bool(self.released)
        )


def lines(text: str) -> tuple[str, ...]:
    """The lines of an indented text."""
    return tuple(line.removeprefix("    ") for line in text.splitlines())


DISHONEST = {
    "the first 30,000 rounds have noise, if all arms are bad": Stranger(
        VIOLATION,
        "no noise hides it",
        65536,
        update=("quiet = 0.0 if state.t > 30000 and state.means.max() < 0.3 else 1.0", *lines(QUIET)),
    ),
    "no noise once the best arm has become a bad one": Stranger(
        VIOLATION,
        "no noise hides it",
        65536,
        fields=("led=-1", "run=0"),
        update=(
            "if state.t == 32768 and state.means.max() > 0.9:",
            "    state.led = int(np.argmax(state.means))",
            "state.run = state.run + 1 if state.led >= 0 and int(np.argmax(state.means)) != state.led else 0",
            "quiet = 0.0 if state.run > 200 else 1.0",
            *lines(QUIET),
        ),
    ),
    "a streak of gains in the middle": Stranger(
        VIOLATION,
        "through streak of the state",
        4096,
        fields=("streak=0",),
        first=("if state.streak >= 12:", "    return 3"),
        update=("state.streak = state.streak + 1 if 0.4 < gain < 0.6 else 0", *lines(TREE)),
    ),
    "one gain of an epoch counts eight times": Stranger(
        VIOLATION,
        "the gain of round 741 costs at least ε = 7.9",
        fields=(ONE, "pend=0.0", "led=0"),
        choose=EPOCHS,
        update=(
            "state.pend += (8.0 if state.t == 741 else 1.0) * gain",
            "if state.t % 64 == 0:",
            "    state.means[arm] += state.pend + state.one * rng.laplace",
            "    state.pend = 0.0",
        ),
    ),
    "one gain is added again and again": Stranger(
        VIOLATION,
        "the gain of round 2,741 costs",
        4096,
        fields=("kept=0.0", "whose=-1"),
        update=(
            "if state.t == 2741:",
            "    state.kept, state.whose = gain, arm",
            "if state.whose == arm and state.t > 2741 and n % 2 == 0:",
            "    state.sums[arm] += state.kept",
            *lines(TREE),
        ),
    ),
    "half of a gain is added later": Stranger(
        VIOLATION,
        "the gain of round 777 costs",
        fields=("kept=0.0", "whose=-1"),
        update=(
            "if state.t == 777:",
            "    state.kept, state.whose, gain = gain, arm, 0.5 * gain",
            "if state.t > 800 and state.t % 8 == 0 and arm == state.whose:",
            "    state.sums[arm] += 0.9 * state.kept",
            *lines(TREE),
        ),
    ),
    "one report has the gain before it, too": Stranger(
        VIOLATION,
        "in round 742 what is released of a gain depends on the gains before it",
        fields=(ONE, "last=0.0"),
        head=LOCAL,
        update=(*REPORTED, "state.last = gain"),
        released="return gain + (0.9 * state.last if state.t == 742 else 0.0) + state.one * rng.laplace",
    ),
    "low digits behind arms that low digits decide": Stranger(
        VIOLATION,
        "through pair of the state",
        4096,
        fields=("pair=np.array([1.0, 0.0])",),
        first=(
            "if state.t > 30 and state.t % 5 == 0:",
            "    return (int(np.abs(state.means).sum() * 1e15) + 2 * (state.pair[1] > 5e-12)) % len(state.means)",
        ),
        update=(*lines(TREE), "state.pair[1] = 1e-11 * gain"),
    ),
    "a hint for a rare number": Stranger(
        VIOLATION,
        "through hint of the state",
        4096,
        fields=("hint=0",),
        first=("if state.t > 1024 and rng.uniform > 1.0 - 2e-6:", "    return 3 * state.hint"),
        update=(*lines(TREE), "state.hint = int(gain > 0.5)"),
    ),
    "a hint for a rare second number": Stranger(
        VIOLATION,
        "through hint of the state",
        4096,
        fields=("hint=0",),
        head=("drawn = ()",),
        choose=(
            "if state.t > 1024 and rng.uniform[1] > 1.0 - 1e-7:",
            "    return 3 * state.hint",
            "return int(np.argmax(state.means)) if rng.uniform[0] > 0.1 else 1",
        ),
        update=(*lines(TREE.replace("rng.laplace", "rng.laplace[0]")), "state.hint = int(gain > 0.5)"),
        draws='{"uniform": 2, "laplace": 1}',
    ),
    "a hint kept for a rare number, if the gain is between 0 and 1": Stranger(
        VIOLATION,
        "through hint of the state",
        4096,
        fields=("hint=0.0",),
        first=("if state.hint > 0.5:", "    return 3"),
        update=(*lines(TREE), "if rng.uniform > 1.0 - 1e-6 and 0.0 < gain < 1.0:", "    state.hint = gain"),
    ),
    "the true sums, once the arms have a clear order": Stranger(
        VIOLATION,
        "through sums of the state",
        65536,
        choose=(
            "if state.t <= 32768 or state.t % 2 == 1:",
            "    return state.t // 2 % len(state.means)",
            "apart = np.diff(np.sort(state.means)).min() > 0.15",
            "return int(np.argmax(state.sums if apart else state.means))",
        ),
    ),
    "little noise on one node, and less on two that few others contain": Stranger(
        VIOLATION,
        "needs more noise",
        65536,
        choose=("return int(np.argmax(state.means)) if state.t > 4 else state.t - 1",),
        update=("quiet = 0.2 if n == 22528 else 0.12 if n in (28671, 30719) else 1.0", *lines(QUIET)),
    ),
    "a hint kept when the noise is large": Stranger(
        VIOLATION,
        "through hint of the state",
        4096,
        fields=("hint=0",),
        first=("if state.hint > 0:", "    return state.hint"),
        update=(*lines(TREE), "if rng.laplace > 13.0:", "    state.hint = 1 + int(gain > 0.5)"),
    ),
    "noise that is cut far out": Stranger(
        VIOLATION, "no noise hides it", update=lines(TREE.replace("rng.laplace", "min(11.0, max(-11.0, rng.laplace))"))
    ),
    "gains that count up to 50": Stranger(
        VIOLATION,
        "needs more noise",
        head=("bounded = False",),
        update=("gain = gain if 0.0 < gain < 50.0 else 0.0", *lines(TREE)),
    ),
    "reports of a bit by the first gain": Stranger(
        VIOLATION,
        "depends on the gains before it",
        fields=("first=-1.0",),
        head=(*LOCAL, 'drawn = ("uniform",)'),
        choose=(TURNS,),
        update=("state.first = gain if state.t == 1 else state.first", *REPORTED),
        released="return 1.0 if rng.uniform < 0.5 + 0.23 * (gain + abs(state.first) - 1.0) else 0.0",
    ),
}

HONEST_FILES = {
    "a released value is rounded": Stranger(
        NOT, CHANGED, update=(*lines(TREE), "state.means[arm] = np.round(1e3 * state.means[arm]) / 1e3")
    ),
    "a report is rounded": Stranger(
        NOT,
        CHANGED,
        fields=(ONE,),
        head=LOCAL,
        update=REPORTED,
        released="return np.round(7.3 * (gain + state.one * rng.laplace)) / 7.3",
    ),
    "a report is clipped": Stranger(
        NOT,
        "let `released` return",
        fields=(ONE,),
        head=LOCAL,
        update=REPORTED,
        released="return min(2.0, max(-1.0, gain + state.one * rng.laplace))",
    ),
    "a released value is cut off below 0": Stranger(
        NOT, CHANGED, update=(*lines(TREE), "state.means[arm] = max(0.0, state.means[arm])")
    ),
    "a released value is squeezed into a range": Stranger(
        NOT, CHANGED, update=(*lines(TREE), "state.means[arm] = np.tanh(state.means[arm])")
    ),
    "large values count less": Stranger(
        NOT,
        CHANGED,
        fields=(ONE,),
        update=(
            "state.means[arm] = 0.5 * state.means[arm] + gain + rng.laplace * state.one",
            "if state.means[arm] > 5.0:",
            "    state.means[arm] = 5.0 + 0.1 * (state.means[arm] - 5.0)",
        ),
    ),
    "weights of noisy sums": Stranger(
        NOT,
        CHANGED,
        fields=(ONE, "w=np.ones(k)"),
        head=('def view(self, setting): return views.Noisy("w")',),
        choose=(TURNS,),
        update=(
            "state.means[arm] += gain - 0.5 + state.one * rng.laplace",
            "state.w[arm] = np.exp(0.1 * state.means[arm])",
        ),
    ),
    "whether a noisy gain is large": Stranger(
        NOT,
        CHANGED,
        fields=(ONE,),
        update=("if gain + rng.laplace * state.one > 1.5:", "    state.means[arm] += 1.0"),
    ),
    "noise of the first round of a batch": Stranger(
        NOT,
        EARLY,
        fields=("z=0.0", "lag=1"),
        choose=(
            "if state.t > 64 and state.t % 16 == 1:",
            "    state.lag = int(np.argmax(state.means))",
            "return state.lag if state.t > 64 else (state.t - 1) // 16 % 4",
        ),
        update=(
            "state.sums[arm] += gain",
            "if state.t % 16 == 1:",
            "    state.z = rng.laplace",
            "if state.t % 16 == 0:",
            "    state.means[arm] = (state.sums[arm] + state.z) / n",
            "    state.sums[arm], state.plays[arm] = 0.0, 0",
        ),
    ),
    "noise of the arm's last round": Stranger(
        NOT,
        EARLY,
        fields=(ONE, "z=np.zeros(k)"),
        choose=(TURNS,),
        update=("if n > 1:", "    state.means[arm] += gain + state.one * state.z[arm]", "state.z[arm] = rng.laplace"),
    ),
    "an epoch releases all arms": Stranger(
        NOT,
        SEVERAL,
        fields=(ONE,),
        head=("drawn = ()",),
        choose=(
            "if state.t > 64 and state.t % 2 == 1:",
            "    return int(np.argmax(state.means))",
            "return (state.t // 2) % len(state.means)",
        ),
        update=(
            "state.sums[arm] += gain",
            "if state.t % 64 == 0:",
            "    for a in range(len(state.means)):",
            "        state.means[a] = (state.sums[a] + state.one * rng.laplace[a]) / max(1, state.plays[a])",
            "        state.sums[a], state.plays[a] = 0.0, 0",
        ),
        draws='{"laplace": setting.n_arms}',
    ),
    "an epoch is released by the next choice": Stranger(
        NOT,
        SEVERAL,
        fields=(ONE, "pend=0.0", "led=0"),
        choose=(
            "if state.t % 64 == 1 and state.t > 1:",
            "    state.means[state.led] += state.pend + state.one * rng.laplace",
            "    state.pend = 0.0",
            *EPOCHS,
        ),
        update=("state.pend += gain",),
    ),
    "half of the gains count": Stranger(
        NOT,
        SECRET,
        fields=("one=1.0 / float(np.log(2.0 * np.exp(self.epsilon) - 1.0))",),
        choose=("if state.t <= 16:", "    return (state.t - 1) % 4", "return int(np.argmax(state.means))"),
        update=("state.means[arm] = (gain if rng.uniform < 0.5 else 0.0) + rng.laplace * state.one",),
    ),
    "half of the noise in one round of a hundred, at a larger δ": Stranger(
        NOT,
        SECRET,
        fields=(ONE,),
        choose=(TURNS,),
        update=("state.means[arm] += gain + (0.5 if rng.uniform < 0.01 else 1.0) * state.one * rng.laplace",),
        delta="0.01",
    ),
    "two noisy sums of an arm": Stranger(
        NOT,
        "`sq` has noise of its own",
        fields=(TWO, "sq=np.zeros(k)"),
        head=("drawn = ()",),
        choose=(TURNS.replace("argmax(state.means", "argmax(state.means + np.sqrt(np.abs(state.sq))"),),
        update=(
            "state.means[arm] += gain + state.one * rng.laplace[0]",
            "state.sq[arm] += gain * gain + state.one * rng.laplace[1]",
        ),
        draws='{"laplace": 2}',
    ),
    "a number for each arm": Stranger(
        NOT,
        LONE,
        fields=(ONE,),
        head=("drawn = ()",),
        choose=(TURNS,),
        update=("state.means[arm] += gain + state.one * rng.laplace[arm]",),
        draws='{"laplace": setting.n_arms}',
    ),
    "noise for all arms in every round": Stranger(
        NOT,
        LONE,
        fields=(TWO,),
        head=("drawn = ()",),
        choose=(TURNS,),
        update=(
            "for a in range(len(state.means)):",
            "    state.means[a] += (gain if a == arm else 0.0) + state.one * rng.laplace[a]",
        ),
        draws='{"laplace": setting.n_arms}',
    ),
    "a bit, and a second uniform number": Stranger(
        CONSISTENT,
        "exactly: other chances",
        head=(*LOCAL, "drawn = ()"),
        choose=(
            "if rng.uniform[1] < 0.1:",
            "    return int(rng.uniform[1] * 10.0 * len(state.means))",
            "return int(np.argmax(state.means))",
        ),
        update=REPORTED,
        released=BIT.replace("rng.uniform", "rng.uniform[0]"),
        draws='{"uniform": 2}',
    ),
    "noise of differences": Stranger(
        CONSISTENT,
        "at most ε = 1,",
        fields=(TWO, "last=np.zeros(k)"),
        update=("state.means[arm] = gain - state.last[arm] + state.one * rng.laplace", "state.last[arm] = gain"),
    ),
    "half of a gain now, and half of it later": Stranger(
        CONSISTENT,
        "at most ε = 1,",
        fields=(TWO, "last=np.zeros(k)"),
        update=(
            "state.means[arm] += 0.5 * (gain + state.last[arm] + state.one * rng.laplace)",
            "state.last[arm] = gain",
        ),
    ),
    "a tree with two levels": Stranger(
        CONSISTENT,
        "at most ε = 1,",
        fields=(TWO, "bases=np.zeros(k)", "run=np.zeros(k)"),
        update=(
            "state.sums[arm] += gain",
            "if n % 16 == 0:",
            "    state.bases[arm] += state.one * rng.laplace",
            "    state.run[arm] = 0.0",
            "else:",
            "    state.run[arm] += state.one * rng.laplace",
            "state.means[arm] = (state.sums[arm] + state.bases[arm] + state.run[arm]) / n",
        ),
    ),
    "epochs": Stranger(
        CONSISTENT,
        "at most ε = 1,",
        fields=(ONE, "pend=0.0", "led=0"),
        choose=EPOCHS,
        update=(
            "state.pend += gain",
            "if state.t % 64 == 0:",
            "    state.means[arm] += state.pend + state.one * rng.laplace",
            "    state.pend = 0.0",
        ),
    ),
    "gains that count by released values": Stranger(
        CONSISTENT,
        "at most ε = 1,",
        fields=(ONE,),
        update=(
            "w = 1.0 + 1.0 / (1.0 + abs(state.means[arm]))",
            "state.means[arm] += w * (gain + state.one * rng.laplace)",
        ),
    ),
    "every second gain is dropped by chance": Stranger(
        CONSISTENT,
        "at most ε = 1,",
        fields=(ONE,),
        choose=(TURNS,),
        update=("if rng.uniform < 0.5:", "    state.means[arm] += gain + rng.laplace * state.one"),
    ),
    "values about their mean": Stranger(
        CONSISTENT,
        "at most ε = 1,",
        fields=(ONE, "w=np.ones(k)"),
        head=('def view(self, setting): return views.Noisy("w")',),
        choose=(TURNS,),
        update=(
            "state.means[arm] += gain - 0.5 + state.one * rng.laplace",
            "state.w[:] = state.means - state.means.mean()",
        ),
    ),
    "less noise, at a large δ": Stranger(
        CONSISTENT,
        "at most ε = 1.6",
        fields=(ONE,),
        update=("state.means[arm] += gain + 0.62 * state.one * rng.laplace",),
        delta="0.3",
    ),
}

SOURCES = ROOT / "privbandits_cli" / "algorithms"
GAMES = {"exp3": "name: greedy", "gaussian_ts": "name: greedy, mu: 1, delta: 1e-6"}
CLAIM = "return min(lemmas(self.privacy_model(setting, sensitivity), delta), key=lambda bound: bound.epsilon)"
LEADER = "    return int(np.argmax(state.drawn))"
EARNED, DRAWN, COUNT = "state.gains[arm] += gain", "np.sqrt(state.c / n)", "            t=0,\n"
OF_OTHERS: dict[str, tuple[str, dict[str, str], str, str]] = {  # by the algorithm that they change
    "a claim below the attack on EXP3": (
        "exp3",
        {CLAIM: 'return Guarantee(5.0, 1e-6, "wrong", "proved")'},
        VIOLATION,
        "an attack",
    ),
    "a pure claim for EXP3": (
        "exp3",
        {CLAIM: 'return Guarantee(50.0, 0.0, "wrong", "proved")'},
        VIOLATION,
        "an attack",
    ),
    "gains that act most in the middle": (
        "gaussian_ts",
        {EARNED: f"{EARNED} + 40.0 * gain * (1.0 - gain)"},
        VIOLATION,
        "costs at least",
    ),
    "a gain of a half counts more": (
        "gaussian_ts",
        {EARNED: f"{EARNED} if gain != 0.5 else 1e4"},
        VIOLATION,
        "costs at least",
    ),
    "a hint for a rare draw": (
        "gaussian_ts",
        {
            COUNT: f"{COUNT}            hint=0,\n",
            EARNED: f"{EARNED}\n    state.hint = int(gain > 0.5)",
            LEADER: f"    if state.t > 400 and abs(rng.normal[0]) > 4.0:\n        return state.hint\n{LEADER}",
        },
        VIOLATION,
        "play other arms",
    ),
    "the scale of draws by the first draw": (
        "gaussian_ts",
        {DRAWN: "np.sqrt(state.c / n * (1.0 + state.drawn[0] ** 2))"},
        CONSISTENT,
        "equal arms",
    ),
}
SHORT = [
    "a report is rounded",
    "a released value is cut off below 0",
    "noise of the arm's last round",
    "two noisy sums of an arm",
    "a number for each arm",
    "a bit, and a second uniform number",
    "noise of differences",
    "reports of a bit by the first gain",
    "gains that count up to 50",
]


def judged(folder, name, horizon=None):
    stranger = (DISHONEST | HONEST_FILES)[name]
    row = audited(folder, stranger.text(), CONFIG.replace("65536", str(horizon or stranger.horizon)))
    assert row["verdict"] == stranger.verdict and stranger.found in row["found"], row["found"]


@pytest.mark.slow
@pytest.mark.parametrize("name", DISHONEST | HONEST_FILES)
def test_the_file_of_a_stranger_is_judged_as_it_deserves(tmp_path, name):
    judged(tmp_path, name)


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize("name", some(SHORT, "noise of the arm's last round", "reports of a bit by the first gain"))
def test_the_file_of_a_stranger_is_judged_as_it_deserves_in_a_short_game(tmp_path, name):
    judged(tmp_path, name, 24)


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_OTHERS)
def test_another_algorithm_of_a_stranger_is_judged_as_it_deserves(tmp_path, name):
    algorithm, changes, verdict, found = OF_OTHERS[name]
    config = CONFIG.replace("65536", "1024").replace("name: greedy, epsilon: 1", GAMES[algorithm])
    row = audited(tmp_path, changed(changes, (SOURCES / f"{algorithm}.py").read_text(encoding="utf-8")), config)
    assert row["verdict"] == verdict and found in row["found"], row["found"]
