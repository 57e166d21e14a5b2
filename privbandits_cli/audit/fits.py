"""Audit of the predictors that a private oracle fits to batches, for contextual learners that play by them.

A and B are two games with different arms and rewards. At the start of each batch, C becomes a copy of B with the
predictors and the generator of A. Then it sees the arms and rewards of A. If C plays another arm than A or fits another
predictor, the data of earlier batches have acted past the predictors, or some records were fitted twice.

Each arm of A must be the one that its probabilities and the next uniform number determine. If the probabilities depend
on uniform numbers of their own, these must be the numbers before it. Each fit of A must be the one that the oracle's
plain twin makes from the records of the batch and from a copy of the generator; earlier predictors stay as they are.
So the noise is known exactly, no statistics are needed, and the account of the oracle is that of the fits. An oracle
may also release the matrix Σ x x' of each batch. Then C also gets A's sum of these matrices, and the inverse that A
computes from it; the audit checks both.

In half of the rounds, random coordinates of the arms are 0, as those of tables are, and in half of them an arm has the
largest length. Most rewards are the largest or the smallest one, and some are between these.
"""

from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.random import Generator

from privbandits_cli.audit.context_loops import earn
from privbandits_cli.audit.target import Target, sets_of_arms, truths
from privbandits_cli.audit.verdict import Audit, assuming, judged, like_these
from privbandits_cli.games.views import Fits, read
from privbandits_cli.mechanisms.batches import drawn_arm
from privbandits_cli.numerics.jit import PluginError
from privbandits_cli.numerics.types import Floats

ROUNDS = 2**13 - 1  # rounds of the long game: 13 batches
GAMES = 16  # short games
SHORT = 2**5 - 1  # rounds of a short game
ROUNDING = 1e-6  # relative error of a fit


def of_round(target: Target[Fits], rng: Generator) -> tuple[Floats, float]:
    """Random arms `[d, k]` within the bounds of the game, and a number in [-1, 1] that decides the reward."""
    return sets_of_arms(target.setting.known(), target.setting.n_arms, 1, rng)[0], rng.uniform(-1, 1)


def own_numbers(view: Fits, state: Any) -> Floats:
    """The uniform numbers that the probabilities depend on, a part of the state; most often none."""
    found: Floats = np.empty(0) if view.numbers is None else read(state, view.numbers)
    return found


def probabilities(target: Target[Fits], state: Any, f: Floats, numbers: Floats, out: Floats) -> None:
    """The probabilities of the arms with these predictions and numbers; the state's own numbers stay as they are."""
    own = own_numbers(target.view, state)
    kept = own.copy()
    own[...] = numbers
    target.steps["probabilities"](state, f, out)
    own[...] = kept


def released(view: Fits, state: Any) -> tuple[Floats, Floats]:
    """What the fits have released, as parts of the state: the predictors, and matrices if there are some."""
    return read(state, view.theta), np.empty(0) if view.grams is None else read(state, view.grams)


def predicted(view: Fits, theta: Floats, grams: Floats, arms: Floats) -> Floats:
    """What `probabilities` receives."""
    f: Floats = view.oracle.predicted(theta, arms)
    if view.grams is None:
        return f
    return np.array([f, np.sqrt(np.maximum(0, np.einsum("ik,ij,jk->k", arms, grams[1], arms)))])


def inverted(total: Floats) -> Floats:
    """The inverse of this sum plus s I, for the least s of 1, 2, 4, ... that makes it positive definite."""
    shift, one = 1.0, np.eye(len(total))
    while np.linalg.eigvalsh(total + shift * one)[0] <= 0:
        shift *= 2
    return np.asarray(np.linalg.inv(total + shift * one), np.float64)


def close(found: Floats, right: Floats) -> bool:
    """Whether these are the same numbers but for rounding."""
    return bool(np.abs(found - right).max() <= ROUNDING * (1e-3 + np.abs(right).max()))


def fault(target: Target[Fits], rounds: int, name: str) -> tuple[int, str]:
    """Play so many rounds up to the first fault; the rounds played, and the fault in words."""
    steps, view = target.steps, target.view
    states = np.repeat(target.state, 3)
    a, b, c = states[0], states[1], states[2]
    data, noise = target.stream(f"data of {name}"), [target.stream(f"noise of {name}, {side}") for side in "AB"]
    batch: list[Floats] = []
    chances, known = np.zeros((2, target.setting.n_arms)), target.setting.known()
    truth, (row, row_of_b) = truths(known, known.reward), np.zeros((2, known.dimension + 1))
    start, ever = True, False
    for t in range(rounds):
        if start:
            states[2] = states[1]
            for of_c, of_a in zip(released(view, c), released(view, a), strict=True):
                of_c[...] = of_a
            again, start, batch = deepcopy(noise[0]), False, []
        (arms, number), (others, other) = of_round(target, data), of_round(target, data)
        (before, grams), fresh = (part.copy() for part in released(view, a)), deepcopy(noise[0])
        f, own = predicted(view, before, grams, arms), fresh.random(own_numbers(view, a).shape)
        for side, out in ((a, chances[0]), (b, chances[1])):  # B has other records of this batch, too
            probabilities(target, side, f, own, out)
        if not (chances.min() >= 0 and abs(chances[0].sum() - 1) < ROUNDING):
            return t + 1, f"in round {t + 1:,} the probabilities of the arms do not add up to 1"
        if not np.array_equal(*chances):
            return t + 1, f"in round {t + 1:,} the probabilities depend on more than the predictions"
        due = drawn_arm(chances[0], fresh.random())
        arm, arm_of_b, arm_of_c = (
            steps["choose"](side, shown, rng)
            for side, shown, rng in ((a, arms, noise[0]), (b, others, noise[1]), (c, arms, again))
        )
        if arm != due:
            return t + 1, f"in round {t + 1:,} the arm is not the one that its probabilities and the number determine"
        if arm_of_c != arm:
            return t + 1, f"in round {t + 1:,} with the same predictor but other data before, another arm is played"
        earn(arms, arm, truth[0], number, t, row)
        earn(others, arm_of_b, truth[1], other, t, row_of_b)
        batch.append(row.copy())
        numbers = deepcopy(noise[0])
        for side, record, rng in ((a, row, noise[0]), (b, row_of_b, noise[1]), (c, row, again)):
            steps["update"](side, record[:-1], record[-1], rng)
        (new, wider), after_c = released(view, a), released(view, c)
        old, new = np.atleast_2d(before, new)
        changed = np.flatnonzero((old != new).any(axis=1))
        start = changed.size > 0
        ever |= start
        if not start and not np.array_equal(grams, wider):
            return t + 1, f"after round {t + 1:,} the matrices change without a fit"
        if start and not all(map(np.array_equal, released(view, a), after_c)):
            return t + 1, f"the fit after round {t + 1:,} depends on the records of earlier batches"
        if changed.size > 1 or (len(old) > 1 and old[changed].any()):
            return t + 1, f"the fit after round {t + 1:,} changes an earlier predictor"
        if start:
            records = np.array(batch)
            right = view.oracle.fitted(records[:, :-1], records[:, -1], numbers)
            if not close(new[changed[0]], right.theta):
                return t + 1, f"the fit after round {t + 1:,} is not that of its batch with this oracle's noise"
            if view.grams is not None:
                assert right.gram is not None
                total = grams[0] + right.gram
                if not (close(wider[0], total) and close(wider[1], inverted(total))):
                    return t + 1, f"the matrices after round {t + 1:,} are not those of the batches with this noise"
    return rounds, "" if ever else "no predictor was ever fitted"


def wrong_fields(target: Target[Fits]) -> str:
    """What is wrong with the parts of a view, or empty."""
    view, setting = target.view, target.setting
    d = setting.known().dimension
    theta = np.shape(read(target.state[0], view.theta))
    if len(theta) not in (1, 2) or theta[-1] != d:
        return f"`theta` has the shape {theta}: it takes ({d},), or a row for each predictor"
    if view.grams is None:
        return ""
    shape, wanted = np.shape(read(target.state[0], view.grams)), (2, d, d)
    if shape != wanted:
        return f"`grams` has the shape {shape}: it takes {wanted}, a sum of matrices and the inverse of V"
    if len(theta) > 1:
        return f"`theta` has the shape {theta}: with `grams` it takes ({d},), the last predictor alone"
    one = view.oracle.fitted(np.zeros((1, d)), np.zeros(1), target.stream("a fit"))
    return "" if one.gram is not None else "oracle releases no matrix: leave `grams` out, or use LogisticGram"


def audit_fits(target: Target[Fits]) -> Audit:
    """Whether each fit is the oracle's, and whether it reveals more about a record than (ε, δ) allows."""
    setting, claim = target.setting, target.claim
    if wrong := wrong_fields(target):
        raise PluginError(f"view returned a views.Fits whose {wrong}", type(target.algorithm).view)
    most = int(max(1, min(setting.horizon, target.budget)))
    words = f"{claim} of every fit, {target.view.oracle.mechanism()}"
    long, short = min(ROUNDS, most), min(SHORT, most)
    shape = f"T = {int(setting.horizon):,}, d = {setting.known().dimension}, {setting.n_arms} arms"
    played = f"games: 1 of {long:,} rounds, {GAMES} of {short:,} rounds; {shape}"
    near = f"fits that differ from the oracle's by less than {ROUNDING:g} differ by rounding"
    assumed = assuming(near, like_these(long, setting.horizon))
    so_far, cost = Audit("CONSISTENT", words, "", 0, played=played, assumed=assumed), 0
    for game in range(GAMES + 1):
        rounds, found = fault(target, short if game else long, f"game {game}")
        cost += rounds
        if found:
            return replace(so_far, verdict="VIOLATION", found=found, cost=cost)
    law, seen = ", by the oracle's account; the fits are the oracle's", target.view.oracle.epsilon(claim.delta)
    return judged(replace(so_far, cost=cost), claim, seen, "a record", law)
