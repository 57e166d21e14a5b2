"""Contextual files of strangers: some hide a leak where an audit could fail to look, some are honest in a way it could
mistake.

Most are a greedy learner by noisy sums of x x' and x y, from a binary tree, with other parts. No dishonest file is
CONSISTENT, and no honest one is a VIOLATION: it is CONSISTENT, or NOT AUDITABLE with a line that says what to write.
"""

from dataclasses import dataclass, field

import numpy as np
import pytest

from tests.audit.test_own_contextual import CONFIG
from tests.audit.test_planted import audited, changed
from tests.conftest import ROOT, some

VIOLATION, CONSISTENT, NOT = "VIOLATION", "CONSISTENT", "NOT AUDITABLE"
SOURCES = ROOT / "privbandits_cli" / "algorithms"
ROUND = "if state.t > 0:"

HONEST = '''\
"""The arm with the largest <θ~, x>; coordinate i of θ~ is u~ over V on the diagonal, with Gaussian noise of a tree."""

import math

import numpy as np
from numpy.random import Generator

from privbandits_cli.accounting import gaussian
from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.games import contextual, views
from privbandits_cli.games.contextual import Floats, Setting
from privbandits_cli.numerics.jit import Record, Records, record


def levels(setting: Setting) -> int:
    return 1 + math.ceil(math.log2(setting.horizon))


class Parameters(contextual.Algorithm):
    """ε and δ."""

    private = True
    epsilon: float = 1.0
    delta: float = 0.1

    def view(self, setting: Setting):
        return views.Noisy("seen")

    def sigma(self, setting: Setting) -> float:
        mu = gaussian.mu_of(self.epsilon, self.delta)
        return math.sqrt(levels(setting)) * setting.known().row_norm() ** 2 / mu

    def state(self, setting: Setting) -> Records:
        d, m = setting.known().dimension, levels(setting)
        return record(
            t=0,
            hint=0,
            one=setting.known().row_norm() ** 2 / gaussian.mu_of(self.epsilon, self.delta),
            sigma=self.sigma(setting),
            ridge=10 * self.sigma(setting),
            noise=np.zeros((m, d, d + 1)),
            sums=np.zeros((d, d + 1)),
            seen=np.zeros((d, d + 1)),
            theta=np.zeros(d),
        )

    def bounds(self, setting, delta, sensitivity=1.0):
        proved = Guarantee(self.epsilon, self.delta, "a tree of Gaussian noise", "proved")
        return [proved] if delta >= self.delta else []


def choose(state: Record, arms: Floats, rng: Generator) -> int:
    d = len(state.theta)
    if state.t > 0:
        n, level = state.t, 0
        while n % 2 == 0:
            n //= 2
            level += 1
        for i in range(d):
            for j in range(d + 1):
                if i < j < d:
                    continue
                for k in range(level):
                    state.noise[k, i, j] = 0.0
                scale = math.sqrt(2.0) * state.sigma if i == j else state.sigma
                state.noise[level, i, j] = scale * rng.standard_normal()
                total = state.sums[i, j]
                for k in range(len(state.noise)):
                    total += state.noise[k, i, j]
                state.seen[i, j] = total
    for i in range(d):
        state.theta[i] = state.seen[i, d] / max(1.0, state.seen[i, i] + state.ridge)
    best, most = 0, -1e300
    for a in range(arms.shape[1]):
        score = 0.0
        for i in range(d):
            score += state.theta[i] * arms[i, a]
        if score > most:
            best, most = a, score
    return best


def update(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    for i in range(len(x)):
        for j in range(len(x)):
            state.sums[i, j] += x[i] * x[j]
        state.sums[i, len(x)] += x[i] * reward
    state.t += 1
'''

SCALE = "                scale = math.sqrt(2.0) * state.sigma if i == j else state.sigma\n"
DRAWN = "state.noise[level, i, j] = scale * rng.standard_normal()"
SEEN = "                state.seen[i, j] = total\n"
FOUND = "    best, most = 0, -1e300\n"
SPENT, LAST = "    return best\n", "    state.t += 1\n"
TREE = HONEST[
    HONEST.index("        n, level = state.t, 0\n") : HONEST.index("    for i in range(d):\n        state.theta")
]
START = "    for i in range(len(x)):\n        for j in range(len(x)):\n"
ADDED = HONEST[HONEST.index(START) : HONEST.index(LAST)]
THETA = "max(1.0, state.seen[i, i] + state.ridge)"
HINTED = "    if state.hint > 0:\n        return best // 2\n"


def after(text: str, *lines: str) -> dict[str, str]:
    """These lines after that text."""
    return {text: text + "".join(f"{line}\n" for line in lines)}


def before(text: str, *lines: str) -> dict[str, str]:
    """These lines before that text."""
    return {text: "".join(f"{line}\n" for line in lines) + text}


def each(*lines: str) -> dict[str, str]:
    """These lines for each number of the release, in place of the tree."""
    head = "        for i in range(d):", "            for j in range(d + 1):", "                if i < j < d:"
    body = *head, "                    continue", *(f"                {line}" for line in lines)
    return {TREE: "".join(f"{line}\n" for line in body)}


def hinted(*lines: str) -> dict[str, str]:
    """A learner that plays another arm after a hint, which these lines of `update` leave."""
    return {SPENT: HINTED + SPENT} | before(LAST, *(f"    {line}" for line in lines))


CLAIMED = {  # a claim with δ = 0; `pure` is the scale of the noise of one node, if there were one level
    "Guarantee(self.epsilon, self.delta,": "Guarantee(self.epsilon, 0.0,",
    "if delta >= self.delta": "if delta >= 0.0",
    "            hint=0,\n": "            hint=0,\n            pure=(d + 1 + 2 * math.sqrt(d)) / self.epsilon,\n",
}
PURE = CLAIMED | {DRAWN: "state.noise[level, i, j] = len(state.noise) * state.pure * rng.laplace()"}


@dataclass(frozen=True)
class Stranger:
    """The verdict on a file, words of the finding, what it changes in HONEST, its horizon, and another source."""

    verdict: str
    found: str = ""
    changes: dict[str, str] = field(default_factory=dict)
    horizon: int = 4096
    algorithm: str = ""  # changed in place of HONEST

    def text(self) -> str:
        """The file."""
        source = (SOURCES / f"{self.algorithm}.py").read_text(encoding="utf-8") if self.algorithm else HONEST
        return changed(self.changes, source)


DISHONEST = {
    "no noise in one late round": Stranger(
        VIOLATION, "in round 50,002", after(SCALE, "                scale *= state.t != 50001"), 65536
    ),
    "half of the noise in one late round": Stranger(
        VIOLATION,
        "a datum costs ε = ",
        after(SCALE, "                scale *= 0.02 if state.t == 40001 else 1.0"),
        65536,
    ),
    "little noise on one late node of a level": Stranger(
        VIOLATION,
        "a datum costs ε = ",
        {SCALE: SCALE + "                scale *= 4.0 * (1 + level) * (0.005 if state.t == 40008 else 1.0)\n"},
        65536,
    ),
    "little noise on one number of V in one round": Stranger(
        VIOLATION,
        "a datum costs ε = ",
        after(SCALE, "                scale *= 0.01 if state.t == 2001 and j == 0 else 1.0"),
    ),
    "little noise on one node, and less on four that few others contain": Stranger(
        VIOLATION,
        "a datum costs ε = ",
        after(
            SCALE,
            "                scale *= 0.45 if state.t == 11264 else 1.0",
            "                scale *= 0.4 if state.t in (16367, 16375, 16379, 16381) else 1.0",
        ),
        16384,
    ),
    "a hint of the longest arms with bad rewards": Stranger(
        VIOLATION,
        "another arm is played",
        hinted("if x @ x > 0.999999 and reward < 0.0:", "    state.hint = 1 - state.hint"),
    ),
    "a hint of an arm along an axis": Stranger(
        VIOLATION,
        "another arm is played",
        hinted("if abs(x[0]) > 0.99 and reward < 0.0:", "    state.hint = 1 - state.hint"),
    ),
    "a hint of a coordinate that is 0": Stranger(
        VIOLATION,
        "another arm is played",
        hinted("if x[1] == 0.0 and reward < 0.0:", "    state.hint = 1 - state.hint"),
    ),
    "a hint of a streak of rewards": Stranger(
        VIOLATION,
        "another arm is played",
        hinted("state.hint = 0 if reward < 0.99 else max(0, state.hint) + 1")
        | {SPENT: "    if state.hint > 6:\n        return best // 2\n" + SPENT},
    ),
    "a hint of an arm that is played again and again": Stranger(
        VIOLATION,
        "another arm is played",
        {
            "            hint=0,\n": "            hint=0,\n            run=0,\n            last=np.zeros(d),\n",
            SPENT: HINTED + SPENT,
            LAST: "    state.run = state.run + 1 if np.abs(x - state.last).max() == 0.0 else 0\n"
            "    state.last[:] = x\n    state.hint = state.run > 3 and reward > 0.0\n" + LAST,
        },
    ),
    "the true sums for a rare number": Stranger(
        VIOLATION,
        "the field `sums` of the state carries them",
        {
            FOUND: "    if rng.random() > 1.0 - 1e-7:\n        for i in range(d):\n"
            "            state.theta[i] = state.sums[i, d]\n" + FOUND
        },
        16384,
    ),
    "a hint kept for a rare number of the noise": Stranger(
        VIOLATION,
        "another arm is played",
        {
            SPENT: HINTED + SPENT,
            DRAWN: "z = rng.standard_normal()\n                if z > 5.5 and state.sums[0, d] > 0.0:\n"
            "                    state.hint = 1\n                state.noise[level, i, j] = scale * z",
        },
        16384,
    ),
    "a hint of the last arm shown twice": Stranger(
        VIOLATION,
        "another arm is played",
        {
            SPENT: "    last = arms.shape[1] - 1\n    if best == last and state.hint > 0:\n        return 0\n" + SPENT,
            LAST: "    if reward == 0.5:\n        state.hint = 1 - state.hint\n" + LAST,
        },
    ),
    "the low digits of a released number": Stranger(
        VIOLATION,
        "another arm is played",
        {
            SEEN: SEEN
            + "        place = 2.0**-36\n"
            + "        state.seen[0, d] = np.floor(state.seen[0, d] / place) * place + state.hint * place / 2.0\n",
            SPENT: "    if np.floor(state.seen[0, d] / 2.0**-37) % 2.0 > 0.0:\n        return best // 2\n" + SPENT,
            LAST: "    state.hint = reward > 0.0\n" + LAST,
        },
    ),
    "the true sums at doublings": Stranger(
        VIOLATION,
        "the field `sums` of the state carries them",
        {
            FOUND: "    if state.t & (state.t - 1) == 0:\n        for i in range(d):\n"
            "            state.theta[i] = state.sums[i, d]\n" + FOUND
        },
        65536,
    ),
    "the true sums in the last round": Stranger(
        VIOLATION,
        "the field `sums` of the state carries them",
        {
            FOUND: "    if state.t == 65535:\n"
            "        for i in range(d):\n            state.theta[i] = state.sums[i, d]\n" + FOUND
        },
        65536,
    ),
    "the true sums where V is not positive": Stranger(
        VIOLATION,
        "the field `sums` of the state carries them",
        {THETA: "state.seen[i, i] if state.seen[i, i] > 0.0 else state.sums[i, d]"},
    ),
    "a number more is drawn after a good reward": Stranger(
        VIOLATION,
        "other random numbers are drawn",
        {LAST: "    if reward > 0.5 and state.t > 1000:\n        rng.random()\n" + LAST},
    ),
    "one number for two sums": Stranger(
        NOT,
        "give each of them its own",
        {
            DRAWN: "own = j > 0 or i < 2\n                "
            "state.noise[level, i, j] = scale * rng.standard_normal() if own else state.noise[level, 1, 0]"
        },
    ),
    "noise of two rounds before again": Stranger(
        VIOLATION,
        "no fresh `rng.standard_normal` hides it",
        each(
            "old = state.noise[state.t % 2, i, j]",
            "state.noise[state.t % 2, i, j] = old if state.t % 8 > 5 else state.sigma * rng.standard_normal()",
            "state.seen[i, j] = state.sums[i, j] + state.noise[state.t % 2, i, j]",
        ),
    ),
    "noise by the length of the last arm": Stranger(
        VIOLATION,
        "the noise depends on the data",
        {
            SCALE: SCALE + "                scale *= 1.0 + 1e-4 * state.last\n",
            LAST: LAST + "    state.last = x @ x\n",
            "            hint=0,\n": "            hint=0,\n            last=0.0,\n",
        },
    ),
    "noise by the arms of the round": Stranger(
        VIOLATION,
        "depends on the arms of its own round",
        {SCALE: SCALE + "                scale *= 1.0 + arms[0, 0] ** 2\n"},
    ),
    "the norm of an arm for that of a record": Stranger(
        VIOLATION,
        "a datum costs ε = ",
        {"math.sqrt(levels(setting)) * setting.known().row_norm() ** 2": "setting.known().norm ** 2 * 2.0"},
    ),
    "noise of another δ": Stranger(
        VIOLATION,
        "a datum costs ε = ",
        {
            "Guarantee(self.epsilon, self.delta,": "Guarantee(self.epsilon, 1e-9,",
            "if delta >= self.delta": "if delta >= 1e-9",
            "math.sqrt(levels(setting)) *": "1.6 *",
        },
    ),
    "Laplace noise for normal noise": Stranger(
        VIOLATION, "a datum costs ε = ", CLAIMED | {DRAWN: "state.noise[level, i, j] = scale * rng.laplace()"}
    ),
    "Laplace noise of one level for all": Stranger(
        VIOLATION, "a datum costs ε = ", PURE | {DRAWN: "state.noise[level, i, j] = 2.0 * state.pure * rng.laplace()"}
    ),
    "normal noise for a claim of pure ε": Stranger(NOT, "claim a δ > 0 for normal noise", CLAIMED),
    "a record that is added again later": Stranger(
        VIOLATION,
        "a datum costs ε = ",
        {
            "            hint=0,\n": "            hint=0,\n            kept=np.zeros((3, 4)),\n",
            START: "    if state.t == 150:\n        for i in range(len(x)):\n"
            "            state.kept[i, 3] = 12.0 * x[i] * reward\n"
            "    if state.t > 150 and state.t % 64 == 0:\n        state.sums += state.kept\n" + START,
        },
        512,
    ),
    "an answer by the arms in some rounds": Stranger(
        VIOLATION,
        "costs ε = ",
        {"if rng.random()": "if state.wrapped.t % 97 == 50 or rng.random()"},
        4096,
        "plain_dp_linucb",
    ),
    "an answer by the arms, if they are short": Stranger(
        VIOLATION,
        "costs ε = ",
        {"if rng.random()": "if arms[0, 0] ** 2 > 0.9 or rng.random()"},
        4096,
        "plain_dp_linucb",
    ),
    "a fit by a record of unit length": Stranger(
        VIOLATION,
        "the probabilities depend on more than the predictions",
        {
            "    oracle_learn(": "    if x @ x > 0.999999 and reward < 0.0:\n"
            "        state.power = 1.0\n    oracle_learn("
        },
        4096,
        "squarecb",
    ),
    "the first record is fitted again": Stranger(
        VIOLATION,
        "depends on the records of earlier batches",
        {
            "        oracle_fit(state.oracle, state.theta, rng)": ""
            "        sums = state.oracle.sums * (state.batch == 1)\n"
            "        oracle_fit(state.oracle, state.theta, rng)\n"
            "        state.oracle.sums += sums\n        state.oracle.n += state.batch == 1",
        },
        4096,
        "squarecb",
    ),
}

HONEST_FILES = {
    "the tree": Stranger(CONSISTENT, "a datum costs at most ε = "),
    "more noise on some levels": Stranger(
        CONSISTENT, "a datum costs at most ε = ", {SCALE: SCALE + "                scale *= 4.0 * (1 + level)\n"}, 65536
    ),
    "noise drawn a round earlier": Stranger(
        NOT,
        "draw it in the round",
        {ROUND: "if state.t >= 0:"}
        | each(
            "state.seen[i, j] = state.sums[i, j] + state.noise[0, i, j]",
            "state.noise[0, i, j] = 100.0 * state.sigma * rng.standard_normal()",
        ),
    ),
    "Box-Muller": Stranger(
        NOT,
        "make it of `rng.standard_normal`",
        {
            "rng.standard_normal()": "math.sqrt(-2.0 * math.log(1.0 - rng.random()))"
            " * math.cos(2.0 * math.pi * rng.random())"
        },
    ),
    "Box-Muller, the second number kept": Stranger(
        NOT,
        "make it of `rng.standard_normal`",
        each(
            "if state.t % 2 == 1:",
            "    r, u = state.sigma * math.sqrt(-2.0 * math.log(1.0 - rng.random())), 2.0 * math.pi * rng.random()",
            "    state.noise[0, i, j] += r * math.cos(u)",
            "    state.noise[1, i, j] = r * math.sin(u)",
            "else:",
            "    state.noise[0, i, j] += state.noise[1, i, j]",
            "state.seen[i, j] = state.sums[i, j] + state.noise[0, i, j]",
        ),
    ),
    "Laplace noise with a δ": Stranger(NOT, "rng.standard_normal", {"rng.standard_normal()": "rng.laplace(0.0, 10.0)"}),
    "batches": Stranger(
        CONSISTENT,
        "a datum costs at most ε = ",
        {ROUND: "if state.t > 0 and state.t % 64 == 0:"},
    ),
    "noise doubled": Stranger(
        CONSISTENT,
        "a datum costs at most ε = ",
        {"scale * rng.standard_normal()": "2.0 * scale * rng.standard_normal()"},
    ),
    "symmetrised noise": Stranger(
        CONSISTENT,
        "a datum costs at most ε = ",
        {
            TREE: "        for i in range(d):\n            state.noise[1, i, d] += 10.0 * rng.normal(0.0, state.one)\n"
            "            for j in range(d):\n                state.noise[0, i, j] = 10.0 * rng.normal(0.0, state.one)\n"
            "        for i in range(d):\n            for j in range(d):\n"
            "                state.noise[1, i, j] += (state.noise[0, i, j] + state.noise[0, j, i]) / math.sqrt(2.0)\n"
            "        state.seen[:] = state.sums + state.noise[1]\n"
        },
    ),
    "V with its ridge": Stranger(
        CONSISTENT,
        "a datum costs at most ε = ",
        {
            SEEN: "                state.seen[i, j] = total + (state.ridge if i == j else 0.0)\n",
            THETA: "max(1.0, state.seen[i, i])",
        },
    ),
    "local privacy": Stranger(
        CONSISTENT,
        "a datum costs at most ε = ",
        each(
            "state.noise[0, i, j] += (math.sqrt(2.0) if i == j else 1.0) * state.one * rng.standard_normal()",
            "state.seen[i, j] = state.sums[i, j] + state.noise[0, i, j]",
        ),
    ),
    "sums that forget": Stranger(
        CONSISTENT,
        "a datum costs at most ε = ",
        each(
            "fresh = (math.sqrt(2.0) if i == j else 1.0) * state.one * rng.standard_normal()",
            "state.seen[i, j] = 0.99 * state.seen[i, j] + state.sums[i, j] + fresh",
            "state.sums[i, j] = 0.0",
        ),
    ),
    "a rounded release": Stranger(NOT, "before", {SEEN: "                state.seen[i, j] = np.round(total)\n"}),
    "rounded after its release": Stranger(
        CONSISTENT, "a datum costs at most ε = ", {"state.seen[i, d] /": "np.round(state.seen[i, d]) /"}
    ),
    "rewards alone": Stranger(
        CONSISTENT,
        "a datum costs at most ε = ",
        {
            'views.Noisy("seen")': "views.Noisy(rewards, public=True)",
            "def choose(": "def rewards(state: Record) -> Floats:\n"
            "    return state.seen[:, len(state.theta)]\n\n\ndef choose(",
            SCALE: "                if j < d:\n                    state.seen[i, j] = state.sums[i, j]\n"
            "                    continue\n" + SCALE,
        },
    ),
    "Laplace noise": Stranger(CONSISTENT, "a datum costs at most ε = ", PURE),
    "random arms by what is released": Stranger(
        CONSISTENT,
        "a datum costs at most ε = ",
        {
            SPENT: "    if rng.random() < 1.0 / (1.0 + abs(state.seen[0, d])):\n"
            "        return rng.integers(0, arms.shape[1])\n" + SPENT
        },
    ),
    "random arms at first, and sometimes later": Stranger(
        CONSISTENT,
        "a datum costs at most ε = ",
        {
            SPENT: "    if state.t < 100 or rng.random() < 0.05:\n        return rng.integers(0, arms.shape[1])\n"
            + SPENT
        },
    ),
}

SHORT = [
    "noise by the arms of the round",
    "the low digits of a released number",
    "normal noise for a claim of pure ε",
    "noise drawn a round earlier",
    "Box-Muller",
]
GIVEN = {"plain_dp_linucb": "epsilon: 0.5, base: {name: dp_linucb, epsilon: 1, delta: 0.1}"}


def judged(folder, name, horizon=None):
    stranger = (DISHONEST | HONEST_FILES)[name]
    given = GIVEN.get(stranger.algorithm, "epsilon: 1, delta: 0.1")
    config = CONFIG.replace("[own]", f"[{{name: greedy, {given}}}]")
    row = audited(folder, stranger.text(), config.replace("65536", str(horizon or stranger.horizon)))
    assert row["verdict"] == stranger.verdict and stranger.found in row["found"], row["found"]


@pytest.mark.slow
@pytest.mark.parametrize("name", DISHONEST | HONEST_FILES)
def test_the_file_of_a_stranger_is_judged_as_it_deserves(tmp_path, name):
    judged(tmp_path, name)


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize("name", some(SHORT, "noise by the arms of the round"))
def test_the_file_of_a_stranger_is_judged_as_it_deserves_in_a_short_game(tmp_path, name):
    judged(tmp_path, name, 12)


@pytest.mark.usefixtures("plainly")
def test_the_cost_of_a_record_that_laplace_noise_hides(tmp_path):
    """A record is in 3 of the 4 nodes that the noise is made for. Pairs of a grid, with other rewards, cost as much."""
    turn, short = np.meshgrid(np.linspace(0.0, 2 * np.pi, 361), np.linspace(0.0, 1.0, 51))
    vectors = np.stack([short * np.cos(turn), short * np.sin(turn)]).reshape(2, -1)
    (a, b), (c, d) = vectors[:, -361:, None], vectors[:, None, :]
    most = np.max(abs(a * a - c * c) + abs(a * b - c * d) + abs(b * b - d * d) + abs(a + c) + abs(b + d))
    config = CONFIG.replace("dimension: 3", "dimension: 2").replace("[own]", "[greedy]").replace("65536", "8")
    row = audited(tmp_path, changed(PURE, HONEST), config)
    assert row["epsilon_seen"] == pytest.approx(3 / 4 * most / (3 + 2 * np.sqrt(2)), rel=1e-3), row["found"]
