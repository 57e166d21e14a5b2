"""Nanoseconds per round of every algorithm and adversary, beside a loop written by hand for EXP3 alone and the
bare cost of the random numbers used. All candidates take turns in one run, so their ratios hold on a noisy machine.
"""

import math
import sys
import time
from statistics import median

import numba
import numpy as np
from conftest import foe, make, match
from numpy.random import SFC64, Generator

from privbandits_cli import registry, terminal
from privbandits_cli.games import bandit
from privbandits_cli.games.bandit import BLOCK, LANES, SOURCES, play

ROUNDS = 2**17
TURNS = 7


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


class Prepared(bandit.Adversary):
    """Gains drawn beforehand, so that only the algorithms are timed."""

    def gains(self, setting, rng, blocks):
        for rounds in blocks:
            yield TABLE[rounds.start - 1 : rounds.stop - 1]


TABLE = (np.random.default_rng(0).random((ROUNDS, 4)) < np.array([0.55, 0.5, 0.5, 0.5])).astype(float)


def candidates():
    """Name -> (group, what to run, rounds that it plays)."""
    rng, out = Generator(SFC64(1)), np.empty(BLOCK)
    gamma = make("exp3").tuned(bandit.Setting(ROUNDS, 4)).gamma
    yield "EXP3 by hand", ("reference", lambda: exp3_by_hand(TABLE, gamma, rng), ROUNDS)
    for kind, source in SOURCES.items():
        fill = source(rng)
        yield f"{kind} numbers", ("random numbers", lambda fill=fill: [fill(out) for _ in range(8)], 8 * BLOCK)
    for name in registry.names("adversaries"):
        game = match(foe(name), [], ROUNDS)
        yield name, ("adversaries", lambda game=game: play(game, range(LANES)), LANES * ROUNDS)
    empty = match(Prepared(), [], ROUNDS)
    yield "(no algorithm)", ("algorithms", lambda: play(empty, range(LANES)), LANES * ROUNDS)
    for name in registry.names("algorithms"):
        game = match(Prepared(), [make(name)], ROUNDS)
        yield name, ("algorithms", lambda game=game: play(game, range(LANES)), LANES * ROUNDS)


def main():
    found = dict(candidates())
    times = {name: [] for name in found}
    for turn in range(TURNS + 1):
        for name, (_, run, rounds) in found.items():
            start = time.perf_counter()
            run()
            if turn:  # the first turn compiles
                times[name].append((time.perf_counter() - start) / rounds * 1e9)
        print(f"\rturn {turn}/{TURNS}", end="", file=sys.stderr)
    print(file=sys.stderr)
    nothing = times["(no algorithm)"]
    for name, (group, _, _) in found.items():
        if group == "algorithms" and name != "(no algorithm)":  # less the block, the oracle and the loop around
            times[name] = [own - around for own, around in zip(times[name], nothing, strict=True)]
    hand = times["EXP3 by hand"]
    rows = []
    for name, (group, _, _) in found.items():
        ratios = [own / other for own, other in zip(times[name], hand, strict=True)]
        rows.append([group, name, f"{min(times[name]):.1f}", f"{median(times[name]):.1f}", f"{median(ratios):.2f}"])
    terminal.stdout().print(terminal.table(["", "", "ns min", "ns median", "x by hand"], rows, text=2))


if __name__ == "__main__":
    main()
