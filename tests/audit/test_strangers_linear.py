"""Files of strangers for the game `linear`: some hide a leak where an audit could fail to look, some are honest in a
way that it could mistake.

Each has the noisy sums of a tree, noisy losses or leaders, with other parts. No dishonest file is CONSISTENT, and no
honest one is a VIOLATION: it is CONSISTENT, or NOT AUDITABLE with a line that says what to write.
"""

from dataclasses import dataclass

import pytest

from tests.audit.test_own_linear import EXPERIMENT, audited
from tests.audit.test_planted import changed
from tests.conftest import ROOT, some

VIOLATION, CONSISTENT, NOT = "VIOLATION", "CONSISTENT", "NOT AUDITABLE"

FILE = '''\
"""A file of a stranger."""

import numpy as np

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.games import linear, views
from privbandits_cli.games.linear import Draws, Setting
from privbandits_cli.numerics.jit import Record, Records, record


class Parameters(linear.Algorithm):
    """The privacy."""

    private = True
    feedback = "{feedback}"
    epsilon: float = 1.0

    def view(self, setting: Setting):
        return {view}

    def state(self, setting: Setting) -> Records:
        n, levels = setting.n_arms, max(1, int(setting.horizon - 1).bit_length())
        return record(t=0, scale={scale}, sums=np.zeros(n), noisy=np.zeros(n), {fields})

    def draws(self, setting: Setting, rounds):
        n, every = setting.n_arms, np.ones_like(rounds)
        return {draws}

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        return [Guarantee({claim}, {delta}, "an argument", "proved", view="what the view says")]


def choose(state: Record, x: np.ndarray, rng: Draws) -> None:
{choose}

{released}
def update(state: Record, {seen}, rng: Draws) -> None:
    state.t += 1
{update}
'''


def lines(*code: str) -> str:
    """The body of a function."""
    return "".join(f"    {line}\n" for line in code)


@dataclass(frozen=True)
class Stranger:
    """A file: the verdict on it, words of the finding, its game, and its parts, as lines of code."""

    verdict: str
    found: str = ""
    horizon: int = 2**14
    dimension: int = 4
    set: str = "simplex"
    view: str = 'views.Noisy("noisy")'
    scale: str = "n / self.epsilon"
    fields: str = ""
    draws: str = '{"laplace": n * every}'
    claim: str = "self.epsilon"
    delta: str = "0.0"
    choose: tuple[str, ...] = ("x[:] = 0.0", "x[np.argmin(state.noisy)] = 1.0")
    update: tuple[str, ...] = ("state.noisy[:] += losses + state.scale * rng.laplace",)
    released: str = ""

    def text(self) -> str:
        """The file."""
        parts = {name: getattr(self, name) for name in ("view", "scale", "fields", "draws", "claim", "delta")}
        bandit = "Release" in self.view
        seen = "x: np.ndarray, loss: float"
        head = f"\ndef released(state: Record, {seen}, rng: Draws) -> float:\n{lines(*self.released.splitlines())}\n"
        return FILE.format(
            feedback="bandit" if bandit else "full",
            seen=seen if bandit else "losses: np.ndarray",
            choose=lines(*self.choose),
            released=head * bandit,
            update=lines(*self.update),
            **parts,
        )

    def experiment(self) -> str:
        """Its config."""
        changed = EXPERIMENT.replace("simplex", self.set).replace("dimension: 3", f"dimension: {self.dimension}")
        return changed.replace("linear\n", "linear\nfeedback: bandit\n") if "Release" in self.view else changed


LOCAL = "state.noisy[:] += losses + state.scale * rng.laplace"
TREE = (
    "level = 0",
    "while state.t >> level & 1 == 0:",
    "    level += 1",
    "if level < len(state.nodes):",
    "    state.sums[:] += losses",
    "    state.nodes[:level] = 0.0",
    "    state.nodes[level] = state.scale * rng.laplace",
    "    state.noisy[:] = state.sums",
    "    for j in range(len(state.nodes)):",
    "        state.noisy[:] += state.nodes[j]",
)
NODES, TREE_SCALE = "nodes=np.zeros((levels, n))", "levels * n / self.epsilon"
LEADER = ("x[:] = 0.0", "x[np.argmin(state.noisy)] = 1.0")
BALL = ("x[:] = -state.noisy / (10.0 + np.sqrt((state.noisy**2).sum()))",)
BALL_SCALE = "2.0 * np.sqrt(n) / self.epsilon"


def hinted(condition, leader="np.argmin(state.noisy)"):
    """Expert 3, if this holds."""
    return ("x[:] = 0.0", f"x[3 if {condition} else {leader}] = 1.0")


def aside(*points, **parts):
    """A bandit that steps along noisy losses."""
    plain = (
        "drawn = int(2 * len(x) * rng.uniform[0])",
        "state.axis = drawn // 2",
        "state.sign = 1.0 - 2.0 * (drawn % 2)",
        "x[:] = -0.5 * state.noisy / (1.0 + np.sqrt((state.noisy**2).sum()))",
        "x[state.axis] += 0.5 * state.sign",
    )
    fields = "axis=0, sign=1.0, " + parts.pop("fields", "")
    return dict(
        view="views.Release()",
        set="sphere",
        scale="2.0 / self.epsilon",
        draws='{"uniform": every, "laplace": every}',
        choose=(*plain, *points),
        fields=fields,
        **{"update": (STEP,), "released": "return loss + state.scale * rng.laplace[0]"} | parts,
    )


STEP = "state.noisy[state.axis] += 0.01 * state.sign * released(state, x, loss, rng)"
RACE = {
    "view": "views.Leader()",
    "scale": "2.0 / self.epsilon",
    "draws": '{"laplace": n * (rounds & (rounds - 1) == 0)}',
    "fields": "expert=0",
    "update": ("state.sums[:] += losses",),
}


def race(
    *first, epoch="(state.t + 1) & state.t == 0", noise="state.scale * rng.laplace", leader="np.argmin(state.noisy)"
):
    """Choose as report-noisy-max does."""
    return (
        f"if {epoch}:",
        f"    state.noisy[:] = state.sums + {noise}",
        f"    state.expert = {leader}",
        "    state.sums[:] = 0.0",
        "    state.noisy[:] = 0.0",
        *first,
        "x[:] = 0.0",
        "x[state.expert] = 1.0",
    )


DISHONEST = {
    "a run of losses at the end": Stranger(
        VIOLATION,
        fields="run=0",
        choose=hinted("state.run >= 5"),
        update=(LOCAL, "state.run = state.run + 1 if losses.min() == 1.0 else 0"),
    ),
    "a run of one loss": Stranger(
        VIOLATION,
        fields="run=0, last=np.zeros(n)",
        choose=hinted("state.run >= 5"),
        update=(
            LOCAL,
            "state.run = state.run + 1 if np.abs(losses - state.last).max() == 0.0 and 0.2 < losses[0] < 0.8 else 0",
            "state.last[:] = losses",
        ),
    ),
    "no noise late, if all experts are bad": Stranger(
        VIOLATION,
        update=(
            "quiet = 0.0 if state.t > 8192 and state.noisy.min() > 0.7 * state.t else 1.0",
            "state.noisy[:] += losses + quiet * state.scale * rng.laplace",
        ),
    ),
    "half of the noise late, if all experts are good": Stranger(
        VIOLATION,
        update=(
            "quiet = 0.5 if state.t > 8192 and state.noisy.max() < 0.3 * state.t else 1.0",
            "state.noisy[:] += losses + quiet * state.scale * rng.laplace",
        ),
    ),
    "one loss counts eight times": Stranger(
        VIOLATION, update=("state.noisy[:] += (8.0 if state.t == 12345 else 1.0) * losses + state.scale * rng.laplace",)
    ),
    "one loss is added again": Stranger(
        VIOLATION,
        fields="kept=np.zeros(n), " + NODES,
        scale=TREE_SCALE,
        update=(
            "if state.t == 2741:",
            "    state.kept[:] = losses",
            "if state.t > 9000 and state.t % 64 == 0:",
            "    state.sums[:] += state.kept",
            *TREE,
        ),
    ),
    "digits of the point": Stranger(
        VIOLATION,
        set="sphere",
        scale=BALL_SCALE,
        choose=(*BALL, "x[0] += 1e-8 * np.tanh(0.01 * state.sums[0])"),
        update=(LOCAL, "state.sums[:] += losses"),
    ),
    "a hint for a rare number": Stranger(
        VIOLATION,
        fields="hint=0.0",
        draws='{"laplace": n * every, "uniform": every}',
        choose=hinted("rng.uniform[0] > 1.0 - 1e-6 and state.hint > 0.5"),
        update=(LOCAL, "state.hint = losses[0]"),
    ),
    "a hint kept for a rare number, if the loss is no round number": Stranger(
        VIOLATION,
        fields="hint=0.0",
        draws='{"laplace": n * every, "uniform": every}',
        choose=hinted("state.hint > 0.5"),
        update=(
            LOCAL,
            "if rng.uniform[0] > 1.0 - 1e-6 and 0.0 < losses.min() and losses.max() < 1.0 and losses[0] != 0.5:",
            "    state.hint = losses[0]",
        ),
    ),
    "little noise on one node, and less on one that few others contain": Stranger(
        VIOLATION,
        "the loss of round 20,481 costs",
        2**16,
        fields=NODES,
        scale=TREE_SCALE,
        update=(
            "quiet = 0.2 if state.t == 22528 else 0.15 if state.t == 57341 else 1.0",
            *(line.replace("state.scale *", "quiet * state.scale *") for line in TREE),
        ),
    ),
    "a hint kept when the noise is large": Stranger(
        VIOLATION,
        fields="hint=0.0",
        choose=hinted("state.hint > 0.5"),
        update=(LOCAL, "if rng.laplace[0] > 15.0:", "    state.hint = losses[0]"),
    ),
    "one expert alone loses": Stranger(
        VIOLATION,
        dimension=24,
        fields="hint=0.0",
        choose=hinted("state.hint > 0.5"),
        update=(LOCAL, "state.hint = 1.0 if losses.max() == 1.0 and losses.sum() == 1.0 else 0.0"),
    ),
    "one number for all coordinates": Stranger(
        VIOLATION, update=("state.noisy[:] += losses + state.scale * rng.laplace[0]",)
    ),
    "noise that is rounded, and sometimes 0": Stranger(
        VIOLATION, update=("state.noisy[:] += losses + state.scale * np.round(rng.laplace)",)
    ),
    "noise of another coordinate, late": Stranger(
        VIOLATION,
        update=(
            "for i in range(len(losses)):",
            "    j = 0 if state.t > 9999 and i == 3 else i",
            "    state.noisy[i] += losses[i] + state.scale * rng.laplace[j]",
        ),
    ),
    "Gaussian noise for the norm of one coordinate": Stranger(
        VIOLATION,
        delta="1e-5",
        scale="4.8448 / self.epsilon",
        draws='{"normal": n * every}',
        update=("state.noisy[:] += losses + state.scale * rng.normal",),
    ),
    "a δ that is too small": Stranger(
        VIOLATION,
        delta="1e-9",
        set="sphere",
        scale="2.0 * 3.8",
        draws='{"normal": n * every}',
        choose=BALL,
        update=("state.noisy[:] += losses + state.scale * rng.normal",),
    ),
    "no noise late, behind numbers that are drawn for two rounds": Stranger(
        VIOLATION,
        draws='{"laplace": 2 * n * (rounds % 2)}',
        fields="kept=np.zeros(n)",
        update=(
            "n = len(losses)",
            "quiet = 0.0 if state.t > 1000 else state.scale",
            "if state.t % 2 == 1:",
            "    state.kept[:] = quiet * rng.laplace[n:]",
            "    state.noisy[:] += losses + quiet * rng.laplace[:n]",
            "else:",
            "    state.noisy[:] += losses + state.kept",
        ),
    ),
    "a late hint, behind numbers that are drawn for two rounds": Stranger(
        VIOLATION,
        draws='{"laplace": 2 * n * (rounds % 2)}',
        fields="kept=np.zeros(n), hint=0.0",
        choose=hinted("state.hint > 0.5 and state.t > 9999"),
        update=(
            "n = len(losses)",
            "state.hint = losses[0]",
            "if state.t % 2 == 1:",
            "    state.kept[:] = state.scale * rng.laplace[n:]",
            "    state.noisy[:] += losses + state.scale * rng.laplace[:n]",
            "else:",
            "    state.noisy[:] += losses + state.kept",
        ),
    ),
    "losses about their mean, and little noise": Stranger(
        VIOLATION,
        "costs ε = ",
        scale="0.1 * n / self.epsilon",
        update=("state.noisy[:] += losses - losses.mean() + state.scale * rng.laplace",),
    ),
    "a late hint, behind a large state": Stranger(
        VIOLATION,
        fields="pad=np.zeros(2**18), hint=0.0",
        choose=hinted("state.hint > 0.5 and state.t > 9999"),
        update=(LOCAL, "state.hint = losses[0]", "state.pad[state.t % 1000] = 1.0"),
    ),
    "true sums at checkpoints": Stranger(
        VIOLATION,
        choose=("x[:] = 0.0", "x[np.argmin(state.sums if state.t == 9999 else state.noisy)] = 1.0"),
        update=(LOCAL, "state.sums[:] += losses"),
    ),
    "the true sums, once the experts have a clear order": Stranger(
        VIOLATION,
        dimension=3,
        choose=(
            "apart = np.diff(np.sort(state.noisy)).min() > 1200.0",
            "x[:] = 0.0",
            "x[np.argmin(state.sums if apart else state.noisy)] = 1.0",
        ),
        update=(LOCAL, "state.sums[:] += losses"),
    ),
    "ties by the true sums": Stranger(
        VIOLATION,
        choose=(
            "x[:] = 0.0",
            "best = np.argmin(state.noisy)",
            "for i in range(len(x)):",
            "    if state.noisy[i] - state.noisy[best] < 1.0 and state.sums[i] < state.sums[best]:",
            "        best = i",
            "x[best] = 1.0",
        ),
        update=(LOCAL, "state.sums[:] += losses"),
    ),
    "half of the noise of the last of 32 coordinates, late": Stranger(
        VIOLATION,
        horizon=2**15,
        dimension=32,
        update=(
            "z = state.scale * rng.laplace",
            "z[-1] *= 0.5 if state.t > 30000 else 1.0",
            "state.noisy[:] += losses + z",
        ),
    ),
    "a node of the tree that is used twice": Stranger(
        VIOLATION,
        fields="kept=np.zeros(n), " + NODES,
        scale=TREE_SCALE,
        update=(
            *TREE[:-4],
            "    if state.t == 8192:",
            "        state.kept[:] = state.scale * rng.laplace",
            "    state.nodes[level] = state.scale * rng.laplace",
            "    if state.t == 12288:",
            "        state.nodes[level] = state.kept",
            *TREE[-3:],
        ),
    ),
    "numbers for whoever asks for all rounds at once": Stranger(
        VIOLATION,
        draws='{"laplace": n * every if len(rounds) > 9999 else 0 * every}',
        update=(
            "state.noisy[:] += losses",
            "if len(rng.laplace) > 0:",
            "    state.noisy[:] += state.scale * rng.laplace",
        ),
    ),
    "a bandit: a run of losses at the end": Stranger(
        VIOLATION,
        **aside(
            "x[0] += 0.01 * (state.run >= 5)",
            fields="run=0",
            update=(STEP, "state.run = state.run + 1 if abs(loss) >= 0.999 * np.sqrt((x**2).sum()) else 0"),
        ),
    ),
    "a bandit: a loss of a half": Stranger(
        VIOLATION,
        **aside(
            "x[0] += 0.01 * state.hint",
            fields="hint=0.0",
            update=(STEP, "state.hint = 1.0 if abs(loss - 0.5 * np.sqrt((x**2).sum())) < 1e-9 else 0.0"),
        ),
    ),
    "a bandit: a hint for a rare number": Stranger(
        VIOLATION,
        **aside(
            "x[0] += 0.01 * state.hint if rng.uniform[0] > 1.0 - 1e-6 else 0.0",
            fields="hint=0.0",
            update=(STEP, "state.hint = loss"),
        ),
    ),
    "a bandit: a hint kept when the noise is large": Stranger(
        VIOLATION,
        **aside(
            "x[0] += 0.01 * state.hint",
            fields="hint=0.0",
            update=(STEP, "if rng.laplace[0] > 15.0:", "    state.hint = loss"),
        ),
    ),
    "a bandit: a hint kept when the noise is large, if the loss is no round number": Stranger(
        VIOLATION,
        **aside(
            "x[0] += 0.01 * state.hint",
            fields="hint=0.0",
            update=(
                STEP,
                "side = 16.0 * loss / np.sqrt((x**2).sum())",
                "if rng.laplace[0] > 15.0 and abs(side - np.round(side)) > 0.01:",
                "    state.hint = loss",
            ),
        ),
    ),
    "a bandit: one release has the loss before it, too": Stranger(
        VIOLATION,
        **aside(
            fields="last=0.0",
            released="return loss + (0.9 * state.last if state.t == 7421 else 0.0) + state.scale * rng.laplace[0]",
            update=(STEP, "state.last = loss"),
        ),
    ),
    "a bandit: digits of the point": Stranger(
        VIOLATION, **aside("x[0] += 1e-8 * state.last", fields="last=0.0", update=(STEP, "state.last = loss"))
    ),
    "a bandit: no noise once all losses were bad": Stranger(
        VIOLATION,
        **aside(
            fields="total=0.0, quiet=1.0",
            released="return loss + state.quiet * state.scale * rng.laplace[0]",
            update=(
                STEP,
                "state.total += released(state, x, loss, rng)",
                "state.quiet = 0.0 if state.t > 4000 and state.total > 0.3 * state.t else 1.0",
            ),
        ),
    ),
    "leaders: a run of losses": Stranger(
        VIOLATION,
        **RACE
        | {
            "fields": "expert=0, run=0",
            "choose": race("if state.run >= 5:", "    state.expert = 3"),
            "update": ("state.sums[:] += losses", "state.run = state.run + 1 if losses.min() == 1.0 else 0"),
        },
    ),
    "leaders: less noise in the last epoch": Stranger(
        VIOLATION, **RACE | {"choose": race(noise="(0.7 if state.t > 8000 else 1.0) * state.scale * rng.laplace")}
    ),
    "leaders: the true leader for a rare number": Stranger(
        VIOLATION,
        "the expert depends on losses, and on no random number of its round",
        **RACE | {"choose": race(leader="np.argmin(state.sums if rng.laplace[0] > 15.0 else state.noisy)")},
    ),
}

HONEST = {
    "a tree": Stranger(CONSISTENT, scale=TREE_SCALE, fields=NODES, update=TREE),
    "noise of each loss": Stranger(CONSISTENT),
    "batches": Stranger(
        CONSISTENT,
        update=(
            "state.sums[:] += losses",
            "if state.t % 16 == 0:",
            "    state.noisy[:] += state.sums + state.scale * rng.laplace",
            "    state.sums[:] = 0.0",
        ),
    ),
    "batches that ask for numbers at their end alone": Stranger(
        CONSISTENT,
        draws='{"laplace": n * (rounds % 16 == 0)}',
        update=(
            "state.sums[:] += losses",
            "if state.t % 16 == 0:",
            "    state.noisy[:] += state.sums + state.scale * rng.laplace",
            "    state.sums[:] = 0.0",
        ),
    ),
    "restarts": Stranger(CONSISTENT, update=(LOCAL, "if state.t & (state.t - 1) == 0:", "    state.noisy[:] = 0.0")),
    "a tree for each epoch": Stranger(
        CONSISTENT,
        scale="13 * n / self.epsilon",
        fields=NODES,
        update=(
            *TREE,
            "if state.t % 4096 == 0:",
            "    state.sums[:] = 0.0",
            "    state.noisy[:] = 0.0",
            "    state.nodes[:] = 0.0",
        ),
    ),
    "discounted sums": Stranger(CONSISTENT, update=("state.noisy[:] *= 0.99", LOCAL)),
    "means": Stranger(
        CONSISTENT,
        update=("state.sums[:] += losses + state.scale * rng.laplace", "state.noisy[:] = state.sums / state.t"),
    ),
    "clipped losses": Stranger(
        CONSISTENT, update=("state.noisy[:] += np.minimum(losses, 0.7) + state.scale * rng.laplace",)
    ),
    "losses about their mean": Stranger(
        NOT,
        "acts on the sums of others",
        scale="2 * n / self.epsilon",
        update=("state.noisy[:] += losses - losses.mean() + state.scale * rng.laplace",),
    ),
    "a point every eight rounds": Stranger(
        CONSISTENT,
        scale=TREE_SCALE,
        fields=NODES + ", x=np.zeros(n)",
        choose=(
            "if state.t % 8 == 0:",
            "    state.x[:] = 0.0",
            "    state.x[np.argmin(state.noisy)] = 1.0",
            "x[:] = state.x",
        ),
        update=TREE,
    ),
    "sums that are shown every eight rounds": Stranger(
        CONSISTENT,
        fields="own=np.zeros(n)",
        update=(
            "state.own[:] += losses + state.scale * rng.laplace",
            "if state.t % 8 == 0:",
            "    state.noisy[:] = state.own",
        ),
    ),
    "sums that are rounded to whole numbers": Stranger(
        CONSISTENT, update=(LOCAL, "state.noisy[:] = np.round(state.noisy)")
    ),
    "sums that are cut off below 0": Stranger(NOT, update=(LOCAL, "state.noisy[:] = np.maximum(state.noisy, 0.0)")),
    "a projected point": Stranger(
        NOT,
        set="sphere",
        scale=BALL_SCALE,
        choose=("x[:] = state.noisy",),
        update=(
            "state.noisy[:] -= 0.01 * (losses + state.scale * rng.laplace)",
            "state.noisy[:] /= max(1.0, np.sqrt((state.noisy**2).sum()))",
        ),
    ),
    "steps of gradients, projected in the choice": Stranger(
        CONSISTENT,
        set="sphere",
        scale=BALL_SCALE,
        choose=("x[:] = state.noisy / max(1.0, np.sqrt((state.noisy**2).sum()))",),
        update=("state.noisy[:] -= 0.01 * (losses + state.scale * rng.laplace)",),
    ),
    "twice the noise": Stranger(CONSISTENT, scale="2 * " + TREE_SCALE, fields=NODES, update=TREE),
    "a number that all coordinates share": Stranger(
        CONSISTENT,
        draws='{"laplace": (n + 1) * every}',
        update=("state.noisy[:] += losses + state.scale * (rng.laplace[1:] + 0.5 * rng.laplace[0])",),
    ),
    "noise about its mean": Stranger(
        NOT,
        scale="4.0 * n / self.epsilon",
        update=("state.noisy[:] += losses - losses.mean() + state.scale * (rng.laplace - rng.laplace.mean())",),
    ),
    "Gaussian noise of each loss": Stranger(
        CONSISTENT,
        set="sphere",
        delta="1e-5",
        scale="2.0 * 4.8448 / self.epsilon",
        choose=BALL,
        draws='{"normal": n * every}',
        update=("state.noisy[:] += losses + state.scale * rng.normal",),
    ),
    "noise of uniform numbers": Stranger(
        NOT,
        draws='{"uniform": n * every}',
        update=(
            "u = rng.uniform - 0.5",
            "state.noisy[:] += losses - state.scale * np.sign(u) * np.log(1.0 - 2.0 * np.abs(u))",
        ),
    ),
    "two numbers for each coordinate": Stranger(
        CONSISTENT,
        draws='{"laplace": 2 * n * every}',
        update=(
            "n = len(losses)",
            "state.noisy[:] += losses + state.scale * (rng.laplace[:n] + rng.laplace[n:])",
        ),
    ),
    "the numbers in another order": Stranger(
        NOT,
        "have another order than the coordinates",
        update=("state.noisy[:] += losses + state.scale * rng.laplace[::-1]",),
    ),
    "two numbers in a row for each coordinate": Stranger(
        CONSISTENT,
        draws='{"laplace": 2 * n * every}',
        update=("state.noisy[:] += losses + state.scale * (rng.laplace[::2] + rng.laplace[1::2])",),
    ),
    "numbers for two rounds": Stranger(
        CONSISTENT,
        draws='{"laplace": 2 * n * (rounds % 2)}',
        fields="kept=np.zeros(n)",
        update=(
            "n = len(losses)",
            "if state.t % 2 == 1:",
            "    state.kept[:] = state.scale * rng.laplace[n:]",
            "    state.noisy[:] += losses + state.scale * rng.laplace[:n]",
            "else:",
            "    state.noisy[:] += losses + state.kept",
        ),
    ),
    "half of a loss now, and half of it later": Stranger(
        CONSISTENT,
        fields="last=np.zeros(n)",
        update=(
            "state.noisy[:] += 0.5 * (losses + state.last) + state.scale * rng.laplace",
            "state.last[:] = losses",
        ),
    ),
    "half of the losses count, by chance": Stranger(
        NOT,
        draws='{"laplace": n * every, "uniform": every}',
        scale="n / np.log(2.0 * np.exp(self.epsilon) - 1.0)",
        update=("state.noisy[:] += (1.0 if rng.uniform[0] < 0.5 else 0.0) * losses + state.scale * rng.laplace",),
    ),
    "a bandit: noise of a loss": Stranger(CONSISTENT, **aside()),
    "a bandit: the noise of each coordinate": Stranger(
        CONSISTENT,
        **aside(released="return loss + np.sqrt(len(x)) * state.scale * (rng.laplace * x).sum()")
        | {"draws": '{"uniform": every, "laplace": n * every}'},
    ),
    "a bandit: a clipped release": Stranger(
        NOT, **aside(released="return min(5.0, max(-5.0, loss + state.scale * rng.laplace[0]))")
    ),
    "a bandit: a rounded release": Stranger(
        NOT, **aside(released="return np.round(7.3 * (loss + state.scale * rng.laplace[0])) / 7.3")
    ),
    "a bandit: an estimate": Stranger(
        CONSISTENT, **aside(released="return len(x) * (loss + state.scale * rng.laplace[0])")
    ),
    "a bandit: every second loss": Stranger(
        CONSISTENT,
        **aside(
            "state.on = state.t % 2",
            fields="on=0",
            released="return loss + state.scale * rng.laplace[0] if state.on == 0 else 0.0",
        ),
    ),
    "a bandit: a clipped loss": Stranger(
        CONSISTENT, **aside(released="return min(0.5, max(-0.5, loss)) + 0.5 * state.scale * rng.laplace[0]")
    ),
    "a bandit: the noise is made in the choice": Stranger(
        NOT,
        "is drawn in `choose`",
        **aside("state.z = state.scale * rng.laplace[0]", fields="z=0.0", released="return loss + state.z"),
    ),
    "a bandit: a scale by the length of the point": Stranger(
        CONSISTENT, **aside(released="return loss + np.sqrt((x**2).sum()) * state.scale * rng.laplace[0]")
    ),
    "leaders": Stranger(CONSISTENT, **RACE | {"choose": race()}),
    "leaders every 256 rounds": Stranger(
        CONSISTENT,
        **RACE | {"draws": '{"laplace": n * (rounds % 256 == 1)}', "choose": race(epoch="state.t % 256 == 0")},
    ),
    "leaders by exponential numbers": Stranger(
        CONSISTENT,
        **RACE
        | {
            "draws": '{"uniform": n * (rounds & (rounds - 1) == 0)}',
            "choose": race(noise="state.scale * np.log(rng.uniform)"),
        },
    ),
    "leaders of all losses": Stranger(
        CONSISTENT,
        **RACE
        | {
            "scale": "2.0 * (levels + 1) / self.epsilon",
            "choose": tuple(line for line in race() if "sums[:] = 0.0" not in line),
        },
    ),
}


def judged(folder, name, horizon=None):
    stranger = (DISHONEST | HONEST)[name]
    row = audited(folder, stranger.text(), stranger.experiment(), horizon or stranger.horizon)
    assert row["verdict"] == stranger.verdict and stranger.found in row["found"], row["found"]


DARTBOARD = (ROOT / "privbandits_cli" / "algorithms" / "shrinking_dartboard.py").read_text(encoding="utf-8")
SUM, KEPT = "        state.losses[i] += losses[i]\n", "    for i in range(len(x)):\n        x[i] = 0.0\n"
DARTS = {  # what is changed in the shrinking dartboard, the verdict, and words of the finding
    "an expert after a run of no losses": (
        {
            "            last=0.0,\n": "            last=0.0,\n            quiet=0,\n",
            SUM: f"{SUM}    state.quiet = state.quiet + 1 if losses.max() == 0.0 else 0\n",
            KEPT: f"    if state.quiet > 200:\n        state.expert = 0\n{KEPT}",
        },
        VIOLATION,
        "is not drawn by the dartboard's law",
    ),
    "another η late": (
        {SUM: f"{SUM}    if state.losses[0] > 3000.0:\n        state.decay *= 1.001\n"},
        VIOLATION,
        "is not drawn by the dartboard's law",
    ),
    "the best expert for a rare number": (
        {KEPT: f"    if rng.uniform[1] < 1e-12 and state.last > 0.5:\n        state.expert = 1\n{KEPT}"},
        NOT,
        "let `rng.uniform[0]` keep the expert",
    ),
    "numbers in another order": (
        {
            "elif rng.uniform[0] >=": "elif 1.0 - rng.uniform[0] >=",
            "begun = True\n        throw(state, rng": "begun = True\n        throw(state, 1.0 - rng",
        },
        NOT,
        "let `rng.uniform[0]` keep the expert",
    ),
}

SHORT = [
    "a run of one loss",
    "one expert alone loses",
    "a bandit: a run of losses at the end",
    "batches",
    "sums that are cut off below 0",
    "a bandit: a clipped release",
]


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize("name", some(SHORT, "one expert alone loses", "a bandit: a clipped release"))
def test_the_file_of_a_stranger_is_judged_as_it_deserves_in_a_short_game(tmp_path, name):
    judged(tmp_path, name, 48)


@pytest.mark.slow
@pytest.mark.parametrize("name", DISHONEST | HONEST)
def test_the_file_of_a_stranger_is_judged_as_it_deserves(tmp_path, name):
    judged(tmp_path, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", DARTS)
def test_the_dartboard_of_a_stranger_is_judged_as_it_deserves(tmp_path, name):
    changes, verdict, found = DARTS[name]
    experiment = EXPERIMENT.replace("[own]", "[{name: own, epsilon: 1}]")
    row = audited(tmp_path, changed(changes, DARTBOARD), experiment, 2**13)
    assert row["verdict"] == verdict and found in row["found"], row["found"]
