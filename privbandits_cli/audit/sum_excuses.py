"""Excuses: reasons why a noisy sum that seems to refute a claim does not, and what a file must change to be audited.

The audit of noisy sums assumes that a sum is one of losses and of noise, coordinate by coordinate. An honest algorithm
may release something else. Each excuse is tested on the round whose next sum is at fault.
"""

import numpy as np

from privbandits_cli.audit.excuses import STEPS
from privbandits_cli.audit.linear_games import Bench, Dealt, again
from privbandits_cli.games.linear import Floats, loss_set

TRANSFORMED = (
    "the sums are rounded, clipped, projected or changed in another way after their noise: let the view name the sums "
    "before, and change them in `choose` or in another field, which costs no privacy"
)
SEVERAL = "a number of `rng.{}` acts on several coordinates: give each coordinate its own"
ORDER = "the numbers of `rng.{}` have another order than the coordinates: let N numbers in a row act on one each"
SECRET = (
    "the effect of a loss depends on numbers of another kind than `rng.{}`, which this audit does not take for secret: "
    "let each loss act"
)
REDRAWN = 8  # tables of the other numbers of a round
CLOSE = 1e-6  # relative error of an effect
PART = 0.3678794  # share of the largest change of a loss: no multiple of a grid to which sums may be rounded


def of(table: Bench, t: int) -> str:
    """What to write, if the sum after round t, from 0, does not refute the algorithm after all; "" if it does."""
    if t + 2 > table.rounds:
        return ""
    pair = table.part(range(t, t + 2))
    low, high = loss_set(table.target.setting).ends()
    other, count = low + PART * (high - low), len(pair.own(pair.numbers))

    def after(loss: Floats, number: int = 0, by: float = 0.0, others: Dealt | None = None) -> Floats:
        """The sum after this loss, if this number is moved."""
        numbers = (others or pair.numbers).copy()
        if count:
            pair.own(numbers)[number] += by
        sums: Floats = pair.play(numbers, np.array([loss, pair.given[1]])).sums[1]
        return sums

    loss = pair.given[0]
    effects = np.array([[(after(loss, k, by) - after(loss)) / by for by in STEPS] for k in range(count)])
    blur = 1e-12 * (1.0 + np.abs(after(loss)).max())
    for k in range(count):
        bent = np.ptp(effects[k], axis=0) > CLOSE * np.abs(effects[k]).max() + blur
        if bent.any():
            told = np.array([after(other, k, by) - after(low, k, by) for by in STEPS])
            changed = np.ptp(told, axis=0) > CLOSE * np.abs(told).max() + blur
            return TRANSFORMED if changed.any() else ""  # else the noise is bent before the loss is added to it
    half = loss / 2
    of_losses = np.array([after(half + one / 4) - after(half) for one in np.eye(len(loss))])
    acts = np.abs(effects[:, 0]) > CLOSE * np.abs(effects).max() if count else np.zeros((0, len(loss)), bool)
    several = (acts.sum(axis=1) > 1).any()
    if several or (np.diff(acts[acts.any(axis=1)].argmax(axis=1)) % len(loss) != 1 % len(loss)).any():
        own = effects[:, STEPS.index(1.0)]
        ranks = [np.linalg.matrix_rank(rows, CLOSE * np.abs(own).max()) for rows in (own, np.vstack([own, of_losses]))]
        if ranks[0] == ranks[1]:
            return (SEVERAL if several else ORDER).format(table.kind)
    found = []
    for k in range(REDRAWN):
        anew = again(pair.target, pair.numbers, f"redrawn {k}").having(pair.kind, pair.own(pair.numbers))
        found.append(after(high, others=anew) - after(low, others=anew))
    varied = np.ptp(found, axis=0) > CLOSE * np.abs(found).max() + blur
    return SECRET.format(table.kind) if varied.any() else ""
