"""The game `best_arm`: how often learners stop and err, how long they take, and how long any learner must take."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from privbandits_cli.analysis import statistics
from privbandits_cli.analysis.folder import STOPPED, STOPPING
from privbandits_cli.experiment.plan import Curve
from privbandits_cli.games import bandit, best_arm
from privbandits_cli.games.best_arm import Outcomes
from privbandits_cli.games.players import Setting
from privbandits_cli.identification import times
from privbandits_cli.numerics.types import Floats

CONFIDENCE = 0.95


def clopper_pearson(wrong: int, of: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The interval of Clopper & Pearson for a rate; [0, 1] if nothing was counted."""
    from scipy import special  # slow to import

    tail = (1 - confidence) / 2
    low = special.betaincinv(wrong, of - wrong + 1, tail) if wrong > 0 else 0.0
    high = special.betaincinv(wrong + 1, of - wrong, 1 - tail) if wrong < of else 1.0
    return float(low), float(high)


def at_checkpoints(curve: Curve, found: Outcomes) -> Iterator[dict[str, Any]]:
    """The columns STOPPED at each checkpoint. Rates and means are those of the trials that would name an arm then."""
    for i, t in enumerate(curve.checkpoints.tolist()):
        regrets = found.regrets[:, i]
        named = regrets[regrets != best_arm.NONE]
        stopped, wrong = int(np.sum(~found.capped & (found.pulls <= t))), int(np.sum(named > 0))
        interval = clopper_pearson(wrong, len(named)) if len(named) else ("", "")
        mean = float(named.mean()) if len(named) else ""
        yield dict(zip(STOPPED, (stopped, wrong, *interval, mean), strict=True))


def of_curve(curve: Curve, x: Floats) -> dict[str, Any]:
    """The columns STOPPING, of stored trials. One at the cap has the cap for its time, and counts as not wrong."""
    found = best_arm.outcomes(x)
    n = len(found.pulls)
    pulls = found.pulls[:, None].astype(float)
    mean, error = float(pulls.mean()), float(statistics.sd(pulls)[0]) / n**0.5 if n > 1 else ""
    spread = np.quantile(pulls[:, 0], (0.1, 0.5, 0.9, 0.99)).tolist()
    wrong = int(np.sum(~found.capped & (found.regrets[:, -1] > 0)))
    lower = lower_bounds(curve) or ("", "")
    numbers = int(found.capped.sum()), mean, error, *spread, wrong, *clopper_pearson(wrong, n), *lower
    return dict(zip(STOPPING, numbers, strict=True))


def lower_bounds(curve: Curve) -> tuple[float, float] | None:
    """Lower bounds on E τ with this confidence and the certified ε, of 2023 and of 2025; None with a fixed budget.

    Without privacy both are T*_KL kl(β, 1 - β), and with local privacy both are `times.local_lower_bound`.
    """
    assert isinstance(curve.adversary, bandit.Adversary)
    promised = curve.algorithm.guarantee(curve.setting)
    epsilon = None if promised is None else promised.epsilon
    return least_times(curve.adversary, curve.setting, epsilon, curve.algorithm.local)


def least_times(
    adversary: bandit.Adversary, setting: Setting, epsilon: float | None, local: bool = False
) -> tuple[float, float] | None:
    """The same for learners with this ε, or without privacy."""
    means = best_arm.means_of(adversary, setting)
    if setting.confidence is None or means is None or len(means) < 2:
        return None
    arms, beta = tuple(means.tolist()), setting.beta
    if epsilon is None:
        found = times.characteristic_time(arms) * times.binary_kl(beta)
        return found, found
    if local:
        found = times.local_lower_bound(arms, epsilon, beta)
        return found, found
    return times.lower_bound_2023(arms, epsilon, beta), times.lower_bound(arms, epsilon, beta)
