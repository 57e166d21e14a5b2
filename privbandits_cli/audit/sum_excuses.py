"""Excuses: reasons why a noisy sum that seems to refute a claim does not, and what a file must change to be audited.

The audit of noisy sums assumes that a sum is one of losses and of noise, coordinate by coordinate. An honest algorithm
may release something else. Each excuse is tested on the round whose next sum is at fault.
"""

from functools import partial

import numpy as np

from privbandits_cli.audit.excuses import CLOSE, PART, bent
from privbandits_cli.audit.linear_games import Bench, Dealt, again
from privbandits_cli.games.linear import Floats, loss_set

TRANSFORMED = (
    "the sums are rounded, clipped, projected or changed in another way after their noise: let the view name the sums "
    "before, and change them in `choose` or in another field, which costs no privacy"
)
SEVERAL = "a number of `rng.{}` acts on several coordinates: give each coordinate its own"
SECRET = (
    "the effect of a loss depends on numbers of another kind than `rng.{}`, which this audit does not take for secret: "
    "let each loss act"
)
REDRAWN = 8  # tables of the other numbers of a round


def of(table: Bench, t: int) -> str:
    """What to write, if the sum after round t, from 0, does not refute the algorithm after all; "" if it does."""
    if t + 2 > table.rounds:
        return ""
    pair = table.part(range(t, t + 2))
    (low, high), count = loss_set(table.target.setting).ends(), len(pair.own(pair.numbers))

    def after(loss: Floats, number: int = 0, by: float = 0.0, others: Dealt | None = None) -> Floats:
        """The sum after this loss, if this number is moved."""
        numbers = (others or pair.numbers).copy()
        if count:
            pair.own(numbers)[number] += by
        sums: Floats = pair.play(numbers, np.array([loss, pair.given[1]])).sums[1]
        return sums

    def of_part(k: int, datum: int, by: float) -> Floats:
        """The sum after one of two losses, if number k is moved."""
        return after(low + datum * PART * (high - low), k, by)

    if any(bent(partial(of_part, k), 0.0) for k in range(count)):
        return TRANSFORMED
    loss, half = pair.given[0], pair.given[0] / 2
    own = np.array([after(loss, k, 1.0) - after(loss) for k in range(count)])
    of_losses = np.array([after(half + one / 4) - after(half) for one in np.eye(len(loss))])
    if count and ((np.abs(own) > CLOSE * np.abs(own).max()).sum(axis=1) > 1).any():
        ranks = [np.linalg.matrix_rank(rows, CLOSE * np.abs(own).max()) for rows in (own, np.vstack([own, of_losses]))]
        if ranks[0] == ranks[1]:
            return SEVERAL.format(table.kind)
    found = []
    for k in range(REDRAWN):
        anew = again(pair.target, pair.numbers, f"redrawn {k}").having(pair.kind, pair.own(pair.numbers))
        found.append(after(high, others=anew) - after(low, others=anew))
    varied = np.ptp(found, axis=0) > CLOSE * np.abs(found).max() + 1e-12 * (1.0 + np.abs(after(loss)).max())
    return SECRET.format(table.kind) if varied.any() else ""
