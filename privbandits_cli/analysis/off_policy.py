"""Off-policy evaluation: the value of a fixed policy, from a log of rounds that another policy played.

The value is the mean reward of the policy's actions over the contexts x. The weight w of a row is the probability with
which the policy plays the logged action a, divided by the propensity, with which it was played. An estimate is a value
and a term ψ for each row; its standard error is that of the mean of the terms:

    ips             ψ = w r, and the value is their mean
    snips           ψ = w (r - value) / mean(w), with value = Σ w r / Σ w
    direct          ψ = q(x, π) + the row's influence on the model, and the value is the mean of q(x, π)
    doubly robust   ψ = q(x, π) + w (r - q(x, a)), and the value is their mean

q(x, a) is a model's prediction of the mean reward, and q(x, π) = Σ_a π(a|x) q(x, a). The model is linear (`fitted`), or
one's own. Weights are never clipped: where they are large, so is the error.

The rows are independent. Of 200 rows of three actions with three coefficients each, the 95 % intervals hold the value
in 95 % of all logs, if the model is right. Of 50 rows they do in 95 to 100 %, as most are widened as below; without
that the doubly robust one did in 90 %, because the coefficients fit the noise. `results/ope.csv` has more.

A standard error rests on (Σ e²)² / Σ e⁴ rows, where e are the terms less their mean: on pn of n rewards that are 1 with
a small probability p, and on no row if all terms are equal. The doubly robust one rests on no more rows than that of
SNIPS. If there are fewer than 20 such rows, and rewards lie in [0, 1], the interval also holds that of Chernoff's bound
(Hoeffding 1963, Theorem 1): with M the largest weight and x the mean of w r / M, all values M q with n kl(x, q) <= ln(2
/ (1 - confidence)). If the rewards are large, it is that of w (1 - r), as E w = 1; to allow for this choice, which sees
the rewards, the bound is ln(4 / (1 - confidence)), unless all weights are 1. If no weight can exceed M, this interval
holds the value at least as often as it says, for any n. Of n plain rewards that are 0 it is that of Clopper and
Pearson. The mean of Bernoulli rewards is then in the 95 % interval with a probability of at least 93 % whatever it is,
where that of the standard error goes down to 0.

Sums are NumPy's, not those of a linear algebra library, whose order depends on the processor.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.analysis.estimates import quantile
from privbandits_cli.analysis.format import counted
from privbandits_cli.numerics.kl import reach
from privbandits_cli.numerics.text import exact
from privbandits_cli.numerics.types import Floats, Ints

ROUNDING = 1e-6  # by which a sum of probabilities may miss 1: those of a file may have 32 bits
FEW_ROWS = 20.0  # on which a standard error rests, below which Chernoff's bound is used, too
UNEXPLAINED = 1e-10  # a column has no coefficient if earlier columns leave no larger part of it unexplained


class Log(NamedTuple):
    """What was logged, n rows of finite numbers."""

    features: Floats  # of the context, [n, p], or of every action, [n, K, p]
    actions: Ints  # [n], from 0 to K - 1
    rewards: Floats  # [n]
    propensities: Floats  # [n], of the actions that were played; above 0 and at most 1
    n_actions: int  # K
    names: tuple[str, ...] = ()  # of the actions, for messages; empty: their numbers


class Estimate(NamedTuple):
    """The estimated value of a policy with its interval, and what its weights are like."""

    value: float  # mean reward
    low: float
    high: float
    error: float  # standard error of the value
    effective: float  # effective number of rows, (Σw)²/Σw²; if it is small, trust no interval that is made of weights
    largest_weight: float
    mean_weight: float  # 1 but for chance; if not, propensities are wrong, or an action of the policy is never logged
    error_rows: float  # the rows that the standard error rests on; of few the interval is longer than it says


def check_rows(right: NDArray[np.bool_] | np.bool_, what: Callable[[int], str]) -> None:
    """Raise ValueError about the first row that is not right, `[n]`, counted from 1."""
    if not right.all():
        i = int(np.argmin(right))
        raise ValueError(f"row {i + 1}: {what(i)}")


# ------------------------------------------------------------------------------------------ estimates


def on_policy(log: Log, confidence: float = 0.95) -> Estimate:
    """The mean reward of the log: the value of the policy that made it."""
    return _estimate(log, np.ones(len(log.rewards)), float(log.rewards.mean()), log.rewards, confidence)


def ips(log: Log, policy: Floats, confidence: float = 0.95) -> Estimate:
    """Inverse propensity scoring; policy: probabilities `[n, K]`."""
    weights = _weights(log, policy, needed=2)
    terms = weights * log.rewards
    return _estimate(log, weights, float(terms.mean()), terms, confidence)


def snips(log: Log, policy: Floats, confidence: float = 0.95) -> Estimate:
    """Self-normalised inverse propensity scoring; policy: probabilities `[n, K]`."""
    weights = _weights(log, policy, needed=2)
    return _estimate(log, weights, *_self_normalised(log, weights), confidence)


def _self_normalised(log: Log, weights: Floats) -> tuple[float, Floats]:
    """Value and terms of SNIPS."""
    value = float((weights * log.rewards).sum() / weights.sum())
    return value, weights * (log.rewards - value) / weights.mean()


def direct(log: Log, policy: Floats, predictions: Floats | None = None, confidence: float = 0.95) -> Estimate:
    """The direct method; policy: probabilities `[n, K]`, predictions: mean rewards `[n, K]` by a model of one's own.

    With such predictions the interval holds the model fixed: it has the error of the contexts only, not of the model.
    """
    weights = _weights(log, policy)
    predicted, influence = _model(log, policy, predictions)
    expected = (policy * predicted).sum(axis=1)
    return _estimate(log, weights, float(expected.mean()), expected + influence, confidence)


def doubly_robust(log: Log, policy: Floats, predictions: Floats | None = None, confidence: float = 0.95) -> Estimate:
    """The doubly robust estimate; policy: probabilities `[n, K]`, predictions: as in `direct`.

    With right propensities its interval is right for any model that was fitted to other rows, and for large n for the
    linear one, as the model's error is of a lower order.
    """
    weights = _weights(log, policy, needed=2)
    predicted, _ = _model(log, policy, predictions)
    residuals = log.rewards - predicted[np.arange(len(policy)), log.actions]
    terms = (policy * predicted).sum(axis=1) + weights * residuals
    value, of_rewards = _self_normalised(log, weights)  # a model's predictions vary even where no reward does
    return _estimate(log, weights, float(terms.mean()), terms, confidence, _error_rows(of_rewards, value))


def _estimate(
    log: Log, weights: Floats, value: float, terms: Floats, confidence: float, most_rows: float = math.inf
) -> Estimate:
    """Value ± the quantile of Student's t x sd / √n, which is infinite for a single row; wider if few rows decide.

    most_rows: on which the error may be said to rest, whatever the terms.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"the confidence is {exact(confidence)}, but must lie between 0 and 1")
    n, largest = len(terms), float(weights.max())
    relative = weights / (largest or 1.0)  # whose squares do not overflow
    error = float(terms.std(ddof=1)) / math.sqrt(n) if n > 1 else math.inf
    half = error * quantile(n - 1, confidence)
    effective = float(relative.sum() ** 2 / (relative**2).sum()) if largest else 0.0
    rows, low, high = min(most_rows, _error_rows(terms, value)), value - half, value + half
    if rows < FEW_ROWS and log.rewards.min() >= 0 and log.rewards.max() <= 1:
        least, most = _chernoff(log.rewards, weights, confidence)
        low, high = min(low, least), max(high, most)
    return Estimate(value, low, high, error, effective, largest, float(weights.mean()), rows)


def _error_rows(terms: Floats, value: float) -> float:
    """(Σ e²)² / Σ e⁴ of the terms' deviations e from their mean; 0 if they are equal but for rounding."""
    deviations = np.abs(terms - terms.mean())
    largest = float(deviations.max())
    if largest <= UNEXPLAINED * max(abs(value), float(np.abs(terms).max())):
        return 0.0
    squares = (deviations / largest) ** 2
    return float(squares.sum() ** 2 / (squares**2).sum())


def _chernoff(rewards: Floats, weights: Floats, confidence: float) -> tuple[float, float]:
    """The interval of the value by Chernoff's bound, in [0, 1], of the rarer of rewards and of their absence."""
    if not weights.any():
        return 0.0, 1.0  # no row tells anything
    earned, missed = float((weights * rewards).mean()), float((weights * (1 - rewards)).mean())
    largest, choices = max(1.0, float(weights.max())), 2 if (weights != 1).any() else 1
    cost = math.log(2 * choices / (1 - confidence)) / len(rewards)
    x = min(earned, missed) / largest
    low = min(1.0, largest * math.exp(-reach(1 - x, cost)))  # kl(x, q) = kl(1 - x, 1 - q)
    high = min(1.0, -largest * math.expm1(-reach(x, cost)))
    return (low, high) if earned <= missed else (1 - high, 1 - low)


def _weights(log: Log, policy: Floats, needed: int = 0) -> Floats:
    """The weight of each row; ValueError if the policy may play the logged action in fewer rows than needed."""
    n = len(log.rewards)
    weights: Floats = policy[np.arange(n), log.actions] / log.propensities
    used = int(np.count_nonzero(weights))
    if used < needed:
        shortage = f"the policy may play the logged action in {used} of {counted(n, 'row')}, but {needed} are needed"
        raise ValueError(f"{shortage}: the log itself says nothing of this policy")
    return weights


def check_policy(policy: Floats, shape: tuple[int, int]) -> None:
    """Raise ValueError unless the policy has a probability for each row and action, and those of a row add up to 1."""
    if policy.shape != shape:
        raise ValueError(
            f"the policy has shape {policy.shape}, but needs a probability for each row and action, {shape}"
        )
    sums = policy.sum(axis=1)
    check_rows((policy >= 0).all(axis=1), lambda i: "the policy has a number that is no probability")
    check_rows(np.abs(sums - 1) <= ROUNDING, lambda i: f"the policy's probabilities add up to {sums[i]:.9g}, not to 1")


# ------------------------------------------------------------------------------------------ the linear model


def _model(log: Log, policy: Floats, predictions: Floats | None) -> tuple[Floats, Floats]:
    """Predictions `[n, K]`, and each row's influence on their mean under the policy `[n]`."""
    if predictions is None:
        return fitted(log, policy)
    if predictions.shape != policy.shape:
        raise ValueError(f"predictions have shape {predictions.shape}, but the policy has {policy.shape}")
    check_rows(np.isfinite(predictions).all(axis=1), lambda i: "a prediction is not a finite number")
    return predictions, np.zeros(len(policy))


def fitted(log: Log, policy: Floats) -> tuple[Floats, Floats]:
    """Linear predictions `[n, K]` by least squares, and each row's influence on their mean under the policy `[n]`.

    Features [n, p] have an intercept and coefficients for each action, whose rows alone are fitted; features [n, K, p]
    share p coefficients, without intercept. A feature that is a combination of those before it has no coefficient, as
    in R's `lm`. ValueError names an action that was logged too rarely; one that the policy never plays is not fitted,
    and its predictions are 0.
    """
    n, k = policy.shape
    if log.features.ndim == 3:
        rows, at = log.features.reshape(n * k, -1), np.arange(n) * k + log.actions
        shared, influence = _least_squares(rows, at, log.rewards, policy.ravel(), "the log")
        return shared.reshape(n, k), influence
    rows, predictions, influence = np.column_stack([np.ones(n), log.features]), np.zeros((n, k)), np.zeros(n)
    for action in np.flatnonzero(policy.any(axis=0)):
        at, share = np.flatnonzero(log.actions == action), policy[:, action]
        predictions[:, action], influence[at] = _least_squares(
            rows,
            at,
            log.rewards[at],
            share,
            f"action {log.names[action] if log.names else action} (which the policy plays)",
        )
    return predictions, influence


def _least_squares(rows: Floats, at: Ints, rewards: Floats, share: Floats, whose: str) -> tuple[Floats, Floats]:
    """Fit the rewards `[m]` of the rows `at` among `rows[N, p]`.

    Returns the predictions for all rows `[N]`, and the influence of each fitted row on Σ share x prediction, `[m]`:
    g' A^-1 φ (r - φ'θ) with g = Σ share x φ and A = Σ φ φ' over the fitted rows. The columns are made orthonormal over
    the fitted rows, and all other rows are carried along, so that A is the identity.
    """
    columns, kept = rows.T.copy(), 0
    for j, column in enumerate(columns):
        before, done = (column[at] ** 2).sum(), columns[:j]
        for _ in range(2):  # Gram-Schmidt; twice is enough (Giraud et al. 2005)
            column -= ((done[:, at] * column[at]).sum(axis=1)[:, None] * done).sum(axis=0)
        after = (column[at] ** 2).sum()
        independent = after > UNEXPLAINED**2 * before
        column *= 1 / np.sqrt(after) if independent else 0.0
        kept += int(independent)
    if len(at) <= kept:
        found = f"{whose} has {counted(len(at), 'row')}: too few to fit {counted(len(columns), 'coefficient')}"
        raise ValueError(f"{found}; use fewer features, or give predictions of your own")
    fit = columns[:, at]
    predictions = ((fit * rewards).sum(axis=1)[:, None] * columns).sum(axis=0)
    pull = ((columns * share).sum(axis=1)[:, None] * fit).sum(axis=0)
    return predictions, pull * (rewards - predictions[at])
