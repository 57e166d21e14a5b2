"""Audit of the reports of a locally private contextual learner.

The games are those of `ellipsoids`. A datum may act only through the sums of reports, and the noise of a report must
not depend on the datum. The law of this noise is tested in windows of rounds. The claim is tested on the two data whose
reports differ most: two unit arms with rewards 1 and -1. The score is the exact likelihood ratio of the two.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.audit import evidence, laws
from privbandits_cli.audit.ellipsoids import EARLY, LONGEST, Trio, longest
from privbandits_cli.audit.target import Target
from privbandits_cli.audit.verdict import Audit, weighed
from privbandits_cli.games.contextual import Contexts, Floats
from privbandits_cli.games.views import GramReport
from privbandits_cli.numerics.jit import Record, unbound

reports: Any = unbound  # bound when a loop is compiled

COSINE = 0.25  # between the arms of the two canaries: a report moves by √4.5
DIGITS = 1e-14  # relative precision of the sums, and so of the noise of a report in them


def force(state: Record, wanted: Record, moved: Floats, depth: int) -> None:
    """Give the state the reports of another."""
    for i in range(len(moved)):
        for j in range(moved.shape[1]):
            reports(state)[i, j] = reports(wanted)[i, j]


def hold(state: Record, out: Floats) -> None:
    """Copy the reports, which a round changes."""
    for i in range(out.shape[1]):
        for j in range(out.shape[2]):
            out[0, i, j] = reports(state)[i, j]


def released(state: Record, sums: Floats, out: Floats) -> None:
    """out = the noisy sums that V and u~ are computed from."""
    for i in range(len(out)):
        for j in range(out.shape[1]):
            out[i, j] = reports(state)[i, j]


def drawn_by_choose(state: Record, before: Floats, t: int, out: Floats) -> int:
    """No noise."""
    return 0


def drawn_by_update(state: Record, before: Floats, row: Floats, out: Floats) -> int:
    """out[0] = the noise of a report of this row."""
    d = out.shape[1]
    for i in range(d):
        for j in range(d + 1):
            out[0, i, j] = reports(state)[i, j] - before[0, i, j] - row[i] * row[j] if j <= i or j == d else 0.0
    return 1


def canaries(known: Contexts, cosine: float) -> Floats:
    """Two rows of full norm, `[2, d + 1]`: rewards ±B, and arms with this cosine between them."""
    rows = np.zeros((2, known.dimension + 1))
    rows[:, -1] = known.reward, -known.reward
    rows[:, 0] = known.norm
    if known.dimension > 1:
        rows[1, :2] = known.norm * cosine, known.norm * math.sqrt(1 - cosine**2)
    return rows


def moments(rows: Floats) -> Floats:
    """The parts x x' and x y that the datum of each row adds to the sums, `[rows, d, d + 1]`."""
    return rows[:, :-1, None] * rows[:, None, :]


def lower(d: int) -> NDArray[np.bool_]:
    """Which of the numbers `[d, d + 1]` are free: the lower triangle of a symmetric matrix, and the last column."""
    free: NDArray[np.bool_] = np.tril(np.ones((d, d + 1), bool)) | (np.arange(d + 1) == d)
    return free


def trio(target: Target[GramReport]) -> Trio:
    """The games of a target."""
    return Trio(target, (force, hold, released, drawn_by_choose, drawn_by_update), 1, lambda rounds: rounds)


def audit_reports(target: Target[GramReport]) -> Audit:
    """Whether a report reveals more about its round than (ε, δ) allows, and whether its noise has the claimed law."""
    setting, sigma = target.setting, target.view.noise.sigma
    d, rounds = setting.known().dimension, longest(target, target.budget)
    words = f"{target.claim} of each report, Gaussian noise of σ = {sigma:.4g} on it"
    early = min(EARLY, rounds)
    games, so_far = trio(target).series(words, "reports", ("a long game", rounds), ("early rounds", early, early))
    if so_far.verdict != "CONSISTENT":
        return so_far
    free = lower(d)
    noise = np.concatenate([one.noise[:, :, free].reshape(-1, free.sum()) / sigma for one in games])
    laplace = laws.as_laplace(noise, laws.log_tail(noise, 1, True)).ravel()
    of = np.repeat(np.concatenate([np.arange(rounds), np.tile(np.arange(early), early)]) + 1, free.sum())
    width = DIGITS * (rounds * setting.known().row_norm() ** 2 / sigma + 10 * math.sqrt(rounds))
    conforms = evidence.by_groups(laplace, evidence.windows(np.minimum(of, LONGEST - 1)), target.alpha / 2, width=width)
    ends, coins = moments(canaries(Contexts(d), COSINE))[:, free] / sigma, target.coins(rounds)
    truth = ends[coins.astype(int)]

    def scores(share: float) -> Floats:
        shared: Floats = (truth + share * noise[:rounds]) @ (ends[1] - ends[0])
        return shared

    result = weighed(target, words, scores, coins, conforms, so_far.cost, 1, "Gaussian")
    return replace(result, played=so_far.played, assumed=so_far.assumed)
