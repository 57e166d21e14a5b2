"""Nanoseconds per round of every algorithm and adversary, beside two loops written by hand: EXP3 for one game, and
the floor, arms at random. All take turns in one run, and their processor time is measured, so that their ratios to the
floor hold on a busy machine, too.

The ratios that are expected are in results/bench.csv: what takes more than 1.5 times its own fails. What has no row
there fails, too; `--keep` measures it alone and adds its row. Without the file, it measures all. The time of a loop in
lanes depends on the width of vectors: where it is not that of the row, what is slower is listed, but does not fail.
"""

import csv
import math
import platform
import sys
import tempfile
import time
from collections import deque
from functools import cache
from pathlib import Path
from statistics import median

import numba
import numpy as np
from numba.core.registry import cpu_target
from numpy.random import SFC64, Generator

from privbandits_cli.cli import terminal
from privbandits_cli.convex.polytope import Polytope
from privbandits_cli.games import bandit, best_arm, contextual, linear
from privbandits_cli.games.bandit import BLOCK, play
from privbandits_cli.games.drawing import NUMBERS, WIDTH, fill_of, filled
from privbandits_cli.games.lockstep import LANES
from privbandits_cli.games.match import Match
from privbandits_cli.games.players import Contexts
from privbandits_cli.games.steps import blocks
from privbandits_cli.numerics.arrays import aligned
from privbandits_cli.numerics.jit import record
from privbandits_cli.numerics.sfc64 import laplace_of, uniform, word_of, words_of
from tests.conftest import ROOT, foe, make, match, playing

ROUNDS = 2**17
TURNS = 9
WORSE, SLACK = 1.5, 1.0  # times as slow; the slack, in floors, is for what costs next to nothing itself
FLOOR = "floor by hand"
KEPT = ROOT / "results" / "bench.csv"


@numba.njit(nogil=True)
def floor_by_hand(gains, chances):
    """Arms at random from numbers drawn beforehand: less than this no round can cost."""
    earned = 0.0
    for t in range(len(gains)):
        earned += gains[t, int(chances[t] * gains.shape[1])]
    return earned


@numba.njit(nogil=True)
def exp3_by_hand(gains, gamma, rng):
    """EXP3 for one game in one loop, with nothing that could be another algorithm."""
    n_arms = gains.shape[1]
    estimates, weights, total, earned = np.zeros(n_arms), np.ones(n_arms), float(n_arms), 0.0
    for t in range(len(gains)):
        threshold, reached, arm = rng.random() * total, 0.0, 0
        for i in range(n_arms - 1):
            reached += (1.0 - gamma) * weights[i] + gamma / n_arms * total
            arm += threshold >= reached
        p = ((1.0 - gamma) * weights[arm] + gamma / n_arms * total) / total
        earned += gains[t, arm]
        estimates[arm] += gamma / n_arms * gains[t, arm] / p
        weights[arm] = math.exp(estimates[arm])
        total = weights.sum()
    return earned


def fused(state, layers, row):
    """A round of EXP3, with nothing that could be another algorithm, game or gain. row: the gains of the four arms."""
    w, e = state.weights, state.estimates
    total = w[0] + w[1] + w[2] + w[3]
    rate, threshold = state.gamma / 4, uniform(state.words) * total
    end0 = (1.0 - state.gamma) * w[0] + rate * total
    end1 = end0 + (1.0 - state.gamma) * w[1] + rate * total
    past0, past1 = threshold >= end0, threshold >= end1
    past2 = threshold >= end1 + (1.0 - state.gamma) * w[2] + rate * total
    arm = 3 if past2 else 2 if past1 else 1 if past0 else 0
    weight, gain = w[arm], row[arm]
    state.earned += gain
    if state.noisy > 0:
        noisy = gain + state.scale * laplace_of(word_of(state.noise))
        inside = (noisy >= -state.b) & (noisy <= state.b + 1.0)
        gain = (noisy + state.b) * np.divide(1.0, 2.0 * state.b + 1.0) if inside else 0.0
    x = np.divide(rate * gain * total, (1.0 - state.gamma) * weight + rate * total)
    square = x * x
    low, high = (1 + x) + square * (1 / 2 + x * (1 / 6)), (1 / 24 + x * (1 / 120)) + square * (1 / 720 + x * (1 / 5040))
    w[arm] = weight * (low + square * square * high)
    e[arm] += x


def by_hand(noisy):
    """A game of EXP3 or DP-EXP3-Lap in lockstep, by hand."""
    rounds, gamma = ROUNDS // 16, make("exp3").tuned(bandit.Setting(ROUNDS, 4)).gamma
    gains = np.repeat(TABLES[4][:rounds, :, None], LANES, axis=2).astype(float)
    law = {"gamma": gamma, "scale": 0.004, "b": 0.05, "noisy": int(noisy), "earned": 0.0}
    states = []
    for lane in range(LANES):
        words = words_of(Generator(SFC64([0, lane])))["words"], words_of(Generator(SFC64([1, lane])))["words"]
        own = {"words": words[0], "noise": words[1], "weights": np.ones(4), "estimates": np.zeros(4)}
        states.append(record(**own, **law))
    own = ("words", "noise", "weights", "estimates", "earned")
    return "reference", lambda: filled(fused, states, (4,), own=own)(gains), rounds * LANES, None


def linucb_in_numpy(arms, means, numbers):
    """LinUCB with ρ = 1 as one writes it in NumPy, with rank-one updates; `arms[rounds, d, k]` drawn beforehand."""
    d, regret = arms.shape[1], 0.0
    inverse, u, logdet, log_term = np.eye(d), np.zeros(d), 0.0, 2 * math.log(2 * len(arms))
    for t, x in enumerate(arms):
        beta = 1.0 + math.sqrt(logdet + log_term)
        scores = inverse @ u @ x + beta * np.sqrt(np.einsum("ik,ij,jk->k", x, inverse, x, optimize=False))
        arm = int(np.argmax(scores))
        played = x[:, arm]
        regret += means[t].max() - means[t, arm]
        step = inverse @ played
        grown = 1.0 + step @ played
        inverse -= np.outer(step, step / grown)
        u += played * (1.0 if 2 * numbers[t] < 1 + means[t, arm] else -1.0)
        logdet += math.log(grown)
    return regret


class Prepared(bandit.Adversary):
    """Gains drawn beforehand, so that only the algorithms are timed. All blocks share them, so they stay in cache."""

    def gains_in_lanes(self, setting, rngs, blocks):
        for rounds in blocks():
            yield prepared(setting.n_arms, len(rngs), len(rounds))


@cache
def prepared(n_arms, lanes, rounds):
    """The same gains in every lane, `[rounds, arms, lanes]`."""
    return np.repeat(TABLES[n_arms][:rounds, :, None], lanes, axis=2).astype(float)


class Tails(bandit.Adversary):
    """Heavy-tailed gains of five arms, drawn beforehand, with v = 0.5: at v = 1 there are only square roots to take."""

    bounded = False

    def revealed(self, setting):
        return setting._replace(v=0.5, u=1.0)

    def mean_gains(self, setting):
        return np.linspace(0.9, 0.1, setting.n_arms)

    def gains(self, setting, rng, blocks):
        for rounds in blocks:
            yield TAILS[rounds.start - 1 : rounds.stop - 1]


class PreparedLosses(linear.Adversary):
    """Losses drawn beforehand, so that only the algorithms are timed."""

    def losses(self, setting, rng, blocks):
        space = setting.space
        if space not in LOSSES:
            lean = np.zeros((2**15, space.dimension))
            lean[:, 0] = 0.1
            LOSSES[space] = linear.loss_set(setting).leaning(Generator(SFC64(3)))(lean)
        for rounds in blocks:
            yield LOSSES[space][rounds.start - 1 : rounds.stop - 1]


LOSSES = {}
RNG = Generator(SFC64(1))
TABLE_ROUNDS = {4: ROUNDS, 64: 2**14, 1024: 2**14}
TABLES = {k: RNG.random((n, k)) < np.where(np.arange(k) == 0, 0.55, 0.5) for k, n in TABLE_ROUNDS.items()}
TAILS = np.exp(RNG.standard_exponential((ROUNDS, 1)) / 2.5) * 0.6 * np.linspace(0.9, 0.1, 5)


def candidates():
    """Name -> (group, what to run, rounds that it plays, what is to be taken off)."""
    table, chances, out = TABLES[4].astype(float), RNG.random(ROUNDS), np.empty(BLOCK)
    gamma = make("exp3").tuned(bandit.Setting(ROUNDS, 4)).gamma
    some = table[: 2**12], chances[: 2**12]  # in cache
    floor = lambda: [floor_by_hand(*some) for _ in range(2**6)]  # noqa: E731
    yield "floor by hand", ("reference", floor, 2**18, None)
    yield "EXP3 by hand", ("reference", lambda: exp3_by_hand(table, gamma, RNG), ROUNDS, None)
    yield "EXP3 in lanes by hand", by_hand(False)
    yield "DP-EXP3-Lap in lanes by hand", by_hand(True)
    for kind in NUMBERS:
        fill, own = fill_of(kind, Generator(SFC64(2))), out.view(np.uint64) if kind == "bits" else out
        filled = ("random numbers", lambda fill=fill, own=own: [fill(own) for _ in range(8)], 8 * BLOCK, None)
        yield f"{kind} numbers", filled
        fill = fill_of(kind, *(Generator(SFC64(seed)) for seed in range(LANES)))
        own = aligned((BLOCK // LANES, LANES), own.dtype)
        filled = ("random numbers", lambda fill=fill, own=own: [fill(own) for _ in range(8)], 8 * BLOCK, None)
        yield f"{kind} numbers in lanes", filled
    for name in playing("adversaries"):
        yield name, game("adversaries", foe(name), [])
    log, rated = Path(tempfile.mkdtemp()) / "log.npy", Path(tempfile.mkdtemp()) / "ratings.csv"
    np.save(log, RNG.random((ROUNDS, 4)))
    yield "replay", game("adversaries", foe("replay", path=str(log)), [])
    stars = RNG.integers(1, 6, 10_000)
    rated.write_text("item,rating\n" + "".join(f"{i % 7},{star}\n" for i, star in enumerate(stars)))
    yield "ratings", game("adversaries", foe("ratings", path=str(rated)), [])
    for k in TABLES:
        yield f"(no algorithm), {k} arms", game("algorithms", Prepared(), [], k)
    for name in playing("algorithms"):
        yield name, game("algorithms", Prepared(), [make(name)])
    for k in (64, 1024):
        yield f"exp3, {k} arms", game("algorithms", Prepared(), [make("exp3")], k)
    yield "(no algorithm), heavy tails", game("heavy tails", Tails(), [], 5)
    for name in playing("algorithms"):
        if not make(name).bounded:
            yield f"{name}, heavy tails", game("heavy tails", Tails(), [make(name)], 5)
    yield from linear_candidates()
    yield from contextual_candidates()
    yield from best_arm_candidates()


def best_arm_candidates():
    """Learners that play on to the horizon, because the arms are nearly alike."""
    horizon = 2**12
    for name in playing("algorithms", "best_arm"):
        n_arms = 2 if name == "dp_sprt" else 4
        means = [0.5, *[0.4999] * (n_arms - 1)]
        confidence = None if isinstance(make(name), best_arm.Budgeted) else 1 - 1e-9
        setting = bandit.Setting(horizon, n_arms, confidence=confidence)
        rounds = np.array([horizon])
        played = Match(foe("bernoulli", means=means), [make(name).tuned(setting)], setting, rounds, 1)
        yield name, ("best arm", lambda played=played: best_arm.play(played, range(LANES)), LANES * horizon, None)


def contextual_candidates():
    """The game `contextual` in five dimensions with 25 arms; of a learner the contexts are taken off. Once in 64."""
    for name in playing("adversaries", "contextual"):
        yield name, contexts(foe(name))
    columns = Path(tempfile.mkdtemp()) / "table.npy"
    np.save(columns, np.column_stack([RNG.random((2**14, 50)), RNG.integers(0, 2, 2**14)]))
    yield "table", contexts(foe("table", path=str(columns), target=51), 102, 2)
    events = Path(tempfile.mkdtemp()) / "log.npy"
    own = {"action": "51", "reward": "52", "propensity": "53"}
    drawn = RNG.random((2**16, 50)), RNG.integers(0, 2, 2**16), RNG.random(2**16) < 0.5, np.full(2**16, 0.5)
    np.save(events, np.column_stack(drawn))
    yield "log", contexts(foe("log", path=str(events), **own), 102, 2)
    for name in playing("algorithms", "contextual"):
        yield name, contextual_game("contextual", foe("sphere_arms"), [make(name)], "sphere_arms")
    wishart = make("dp_linucb", noise="wishart")
    yield "dp_linucb, Wishart", contextual_game("contextual", foe("sphere_arms"), [wishart], "sphere_arms")
    together = f"{WIDTH} trials"
    yield f"sphere_arms, {together}", contexts(foe("sphere_arms"), trials=WIDTH)
    learners = {"dp_linucb, Wishart": wishart} | {name: make(name) for name in ("linucb", "dp_linucb", "ldp_linucb")}
    for name, one in learners.items():
        own = contextual_game("contextual", foe("sphere_arms"), [one], f"sphere_arms, {together}", trials=WIDTH)
        yield f"{name}, {together}", own
    large = contextual_game("contextual", foe("sphere_arms"), [make("linucb")], None, 64, 4096, 2**6)
    yield "linucb, d = 64 and 4096 arms, with contexts", large
    for drawn, rounds in (("ahead", 2**8), ("on_demand", 2**12)):
        fewer = contextual_game("contextual", foe("sphere_arms", drawn=drawn), [make("linucb")], None, 32, 1024, rounds)
        yield f"linucb, d = 32 and 1024 arms, {drawn}", fewer
    setting = contextual.Setting(2**10, 25, contexts=Contexts(5))
    table = next(foe("sphere_arms").arms(setting, Generator(SFC64(4)), [range(1, 2**10 + 1)]))
    numbers = RNG.random(2**10)
    yield "linucb in NumPy", ("contextual", lambda: linucb_in_numpy(*table, numbers), 2**10, None)


def contexts(adversary, dimension=5, arms=25, rounds=2**14, trials=1):
    """The arms of these trials, or the log, without a learner."""
    setting = contextual.Setting(rounds, 5 if adversary.name == "basis_arms" else arms, contexts=Contexts(dimension))
    ready, block = (
        adversary.tuned(setting),
        max(1, contextual.BYTES[trials > 1] // (8 * arms * (dimension + 1) * trials)),
    )
    known = ready.revealed(setting)

    def draw():
        rngs = [Generator(SFC64(trial)) for trial in range(trials)]
        if trials > 1:
            deque(ready.arms_together(known, rngs, lambda: blocks(rounds, block)), maxlen=0)
        elif ready.events_of_log(known, rngs[0]) is None:
            deque(ready.arms(known, rngs[0], blocks(rounds, block)), maxlen=0)

    return "contexts", draw, trials * rounds, None


def contextual_game(group, adversary, algorithms, less, dimension=5, arms=25, rounds=2**14, trials=1):
    """A match in these trials."""
    setting = contextual.Setting(rounds, 5 if adversary.name == "basis_arms" else arms, contexts=Contexts(dimension))
    ready = adversary.tuned(setting)
    known = ready.revealed(setting)
    played = Match(ready, [algorithm.tuned(known) for algorithm in algorithms], known, np.array([rounds]), 1)
    return group, lambda: contextual.play(played, range(trials)), trials * rounds, less


def linear_candidates():
    """The same of the game `linear`: adversaries and algorithms where they play in ten dimensions, and special ones."""
    for name in playing("adversaries", "linear"):
        for space in (linear.Simplex(10), linear.Sphere(10), linear.Cube(10)):
            yield f"{name}, {space.name}", linear_game("losses", foe(name), [], space)
    for space in (linear.Simplex(10), linear.Sphere(10), linear.Cube(10)):
        yield f"(no algorithm), {space.name}", linear_game("linear", PreparedLosses(), [], space)
    for name in playing("algorithms", "linear"):
        yield name, linear_game("linear", PreparedLosses(), [make(name)], home(make(name)))
    box = Polytope(10, tuple(map(tuple, np.vstack([np.eye(10), -np.eye(10)]))), (1.0,) * 20)
    for name, algorithms in (("(no algorithm)", []), ("scrible", [make("scrible")])):
        yield f"{name}, polytope", linear_game("linear", PreparedLosses(), algorithms, box)
    once = make("dp_ftrl", spare="once")
    yield "dp_ftrl, spare once", linear_game("linear", PreparedLosses(), [once], linear.Simplex(10))
    gauss, blt = (make("dp_ftrl", nodes="gaussian", counter=counter) for counter in ("tree", "blt"))
    yield "dp_ftrl, Gaussian", linear_game("linear", PreparedLosses(), [gauss], linear.Simplex(10))
    yield "dp_ftrl, BLT", linear_game("linear", PreparedLosses(), [blt], linear.Simplex(10))
    for counter in ("k_ary", "negative_digits", "smooth"):
        other = make("dp_ftrl", counter=counter)
        yield f"dp_ftrl, {counter}", linear_game("linear", PreparedLosses(), [other], linear.Simplex(10))
    for name, own in (("no top-up", {"spare": "none"}), ("honaker", {"counter": "honaker"})):
        other = make("dp_ftrl", nodes="gaussian", **own)
        yield f"dp_ftrl, Gaussian, {name}", linear_game("linear", PreparedLosses(), [other], linear.Simplex(10))
    learners = {"ftrl": make("ftrl"), "dp_ftrl": make("dp_ftrl"), "dp_ftrl, Gaussian": gauss, "dp_ftrl, BLT": blt}
    learners |= {
        "noisy_ftrl": make("noisy_ftrl"),
        "dp_ftrl, negative_digits": make("dp_ftrl", counter="negative_digits"),
    }
    for name, one in learners.items():
        yield f"{name}, {WIDTH} trials", linear_game("linear", PreparedLosses(), [one], linear.Simplex(10), WIDTH)
    yield "(no algorithm), 1000 experts", linear_game("linear", PreparedLosses(), [], linear.Simplex(1000))
    for algorithm, name in ((make("dp_ftrl"), "dp_ftrl"), (once, "dp_ftrl, spare once")):
        yield f"{name}, 1000 experts", linear_game("linear", PreparedLosses(), [algorithm], linear.Simplex(1000))


def home(algorithm):
    """The first decision set where it can play."""
    spaces = (linear.Simplex(10), linear.Sphere(10), linear.Cube(10))
    return next(space for space in spaces if not list(algorithm.errors(linear.Setting(ROUNDS, 10, space=space))))


def linear_game(group, adversary, algorithms, space, trials=1):
    """A match in these trials; of an algorithm the block, the sums and the loop are taken off."""
    rounds = 2**15 if space.dimension <= 10 else 2**10
    setting = linear.Setting(rounds, space.dimension, space=space)
    tuned = [algorithm.tuned(setting) for algorithm in algorithms]
    played = Match(adversary.tuned(setting), tuned, adversary.revealed(setting), np.array([rounds]), 1)
    alone = space.name if space.dimension <= 10 else f"{space.dimension} experts"
    less = f"(no algorithm), {alone}" if algorithms else None
    return group, lambda: linear.play(played, range(trials)), trials * rounds, less


def game(group, adversary, algorithms, n_arms=4):
    """A match in as many trials as have lanes; of an algorithm the block, the oracle and the loop are taken off."""
    rounds = TABLE_ROUNDS.get(n_arms, ROUNDS)
    played = match(adversary, algorithms, rounds, n_arms)
    alone = "heavy tails" if group == "heavy tails" else f"{n_arms} arms"
    less = f"(no algorithm), {alone}" if algorithms else None
    return group, lambda: play(played, range(LANES)), LANES * rounds, less


def measured(found):
    """Name -> nanoseconds of processor time per round, one number a turn."""
    times = {name: [] for name in found}
    for turn in range(TURNS + 1):
        for name, (_, run, rounds, _) in found.items():
            start = time.process_time()
            run()
            if turn:  # the first turn compiles
                times[name].append((time.process_time() - start) / rounds * 1e9)
        print(f"\rturn {turn}/{TURNS}", end="", file=sys.stderr)
    print(file=sys.stderr)
    around = {name: list(own) for name, own in times.items()}
    for name, (_, _, _, less) in found.items():
        if less:
            times[name] = [own - other for own, other in zip(times[name], around[less], strict=True)]
    return times


def processor():
    """The processor's model, if Linux names it, and the width of the vectors for which numba compiles."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    features = cpu_target.target_context.codegen().magic_tuple()[-1]
    bits = 512 if "+avx512f" in features else 256 if "+avx2" in features else 128
    return f"{next(models, platform.machine())}, {bits}-bit vectors"


def main():
    found, keep = dict(candidates()), "--keep" in sys.argv
    before = list(csv.DictReader(KEPT.open())) if KEPT.exists() else []
    kept = {row["name"]: row for row in before if row["name"] in found}
    if keep:
        wanted = {FLOOR, *(found.keys() - kept.keys())}
        wanted |= {found[name][3] for name in wanted}  # what is subtracted from their times
        found = {name: one for name, one in found.items() if name in wanted}
    times, here = measured(found), processor()
    rows, slower, failed = [], [], False
    for name, (group, _, _, _) in found.items():
        ratio = median(own / other for own, other in zip(times[name], times[FLOOR], strict=True))
        rows.append([group, name, f"{median(times[name]):.2f}", f"{ratio:.2f}"])
        if name not in kept:
            slower.append(f"{name}: not in {KEPT.name}; make bench-keep")
            failed = True
        elif group != "reference" and ratio > WORSE * (expected := float(kept[name]["ratio"])) + SLACK:
            slower.append(f"{name}: {ratio:.2f} times the floor, {expected:.2f} expected")
            failed |= kept[name]["machine"].endswith(here.split(", ")[-1])
    terminal.print_table(["", "", "ns", "x floor"], rows, text=2)
    if keep:
        added = [[*row, here] for row in rows if row[1] not in kept]
        with KEPT.open("w", newline="") as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow(["group", "name", "ns", "ratio", "machine"])
            out.writerows([*map(list, (row.values() for row in kept.values())), *added])
        return
    print("\n".join(slower) or "nothing is slower than expected")
    print(
        f"{KEPT.name} is of {' and '.join(sorted({row['machine'] for row in before})) or 'no machine'}; this is {here}"
    )
    sys.exit(failed)


if __name__ == "__main__":
    main()
