"""Logs of decisions: what a policy would have earned on one, and logs of simulated games, whose truth is known."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from privbandits_cli.analysis import off_policy, simulated_logs
from privbandits_cli.analysis.format import counted, csv_text
from privbandits_cli.analysis.off_policy import Estimate, Log
from privbandits_cli.data.logs import Logged, logged
from privbandits_cli.experiment.config import Experiment
from privbandits_cli.experiment.errors import suggestion
from privbandits_cli.experiment.files import write_atomically
from privbandits_cli.games import contextual
from privbandits_cli.games.rewards import REWARDS
from privbandits_cli.numerics.text import exact, number_of
from privbandits_cli.numerics.types import Floats
from privbandits_cli.plugins import loader

ESTIMATORS: Mapping[str, Callable[..., Estimate]] = {
    "ips": off_policy.ips,
    "snips": off_policy.snips,
    "direct": off_policy.direct,
    "doubly_robust": off_policy.doubly_robust,
}
MODELS = ("direct", "doubly_robust")  # that take predictions
ROWS_EACH = 20  # with fewer rows of an action for each coefficient of its model, intervals of the model are too short
FEW_EFFECTIVE = 100.0  # with fewer effective rows, intervals made of weights are too short
DEVIATIONS = 4.0  # by which the mean of the weights may miss 1
Policy = Callable[[Mapping[str, Floats], tuple[str, ...]], Floats]


class Evaluated(NamedTuple):
    """What a log says of a policy."""

    rows: int
    actions: tuple[str, ...]
    estimates: list[dict[str, Any]]  # one for each estimator; the first, `logged`, is the mean reward of the log
    cautions: list[str]  # reasons not to trust them


class Features(dict[str, Floats]):
    """Features by name, `[rows]`; a wrong name is an error that lists the right ones."""

    def __missing__(self, name: str) -> Floats:
        raise KeyError(f"no feature is called {name}{suggestion(name, self)}")


def evaluate(
    path: str,
    policy: Policy | str | Path | Floats,
    columns: Mapping[str, str | None],
    predictions: Floats | None = None,
    confidence: float = 0.95,
    features: Sequence[str] | None = None,
) -> Evaluated:
    """The estimates of a policy's mean reward on the log in a file.

    policy: `uniform`, `always:ACTION`, a FILE.py, which is executed, probabilities `[rows, actions]`, or a function of
    the features by name and the names of the actions that returns them. columns: names of `action`, `reward` and
    `propensity`, where they are not recognised. predictions: mean rewards `[rows, actions]`; by default a linear model
    is fitted for each action. Of a data frame the columns are those of the actions of these names. features: the names
    of the columns of features; default: all others.
    Raises OSError, ValueError or IncludeError with what is wrong with the log, the policy or the predictions.
    """
    found = logged(path, **columns, features=features)
    probabilities = _probabilities(policy, found)
    if predictions is not None:
        predictions = _by_name(predictions, "predictions", found)
    log = Log(found.rows, found.actions, found.rewards, found.propensities, len(found.classes), found.classes)
    off_policy.check_policy(probabilities, (len(log.rewards), log.n_actions))
    estimates = [{"estimator": "logged", **off_policy.on_policy(log, confidence)._asdict()}]
    for name, estimator in ESTIMATORS.items():
        if name in MODELS and predictions is None and not found.names:
            reason = "the log has no features to make a model of; give predictions of your own"
            estimates.append({"estimator": name, "reason": reason})
            continue
        more = {"predictions": predictions} if name in MODELS else {}
        try:
            made = estimator(log, probabilities, confidence=confidence, **more)
        except ValueError as error:
            if predictions is not None and name == "direct":  # which fails for nothing else
                raise
            estimates.append({"estimator": name, "reason": str(error)})
        else:
            estimates.append({"estimator": name, **made._asdict()})
    cautions = _of_errors(estimates, len(log.rewards))
    if any(max(-row["low"], row["high"] - 1) > off_policy.ROUNDING for row in estimates if "value" in row):
        cautions.append(
            "An interval goes beyond 0 or 1, but the mean reward lies between them: only its part in [0, 1] counts. If "
            "there is none, the interval is wrong."
        )
    cautions += [] if "reason" in estimates[1] else _of_weights(estimates[1], len(log.rewards), found.rounding)
    if predictions is None and any("value" in row for row in estimates if row["estimator"] in MODELS):
        cautions += _of_model(log, probabilities)
    if predictions is not None:
        cautions.append(
            "The interval of the direct method takes your predictions for right: it has no error of theirs."
        )
    if "reason" in estimates[1] and "value" in estimates[3]:
        cautions.append("The direct method alone has a value here: it is the model's word for what was never tried.")
    return Evaluated(len(log.rewards), found.classes, estimates, cautions)


def _probabilities(policy: Policy | str | Path | Floats, found: Logged) -> Floats:
    n, k = len(found.rewards), len(found.classes)
    if isinstance(policy, str | Path):
        policy = str(policy)
        kind, _, action = policy.partition(":")
        if policy == "uniform":
            return np.full((n, k), 1 / k)
        if kind == "always" and action:
            if action not in found.classes:
                raise ValueError(f"no row of the log has the action {action!r}{suggestion(action, found.classes)}")
            return np.tile(np.array(found.classes) == action, (n, 1)).astype(float)
        if not policy.endswith(".py"):
            raise ValueError(
                f"{policy}: a policy is `uniform`, `always:ACTION` or a FILE.py, which may load its numbers"
            )
        policy = loader.policy(Path(policy))
    features = Features((name, found.rows[:, i].copy()) for i, name in enumerate(found.names))
    return _by_name(policy(features, found.classes) if callable(policy) else policy, "policy", found)


def _by_name(made: Any, what: str, found: Logged) -> Floats:
    """Numbers `[rows, actions]`: the columns of a data frame are known by their names, those of an array by place.

    Raises ValueError if the names are not those of the actions, or an index is not that of the log's rows.
    """
    n = len(found.rewards)
    names = getattr(made, "column_names", getattr(made, "columns", None))  # of Arrow, or of pandas and others
    if names is None:
        return _floats(made, what, found)
    _check_index(made, what, n)
    return np.column_stack([_floats(made[name], what, found) for name in _in_order([*names], what, found.classes)])


def _floats(made: Any, what: str, found: Logged) -> Floats:
    try:
        return np.asarray(made, float)
    except (TypeError, ValueError):
        shape = f"{len(found.rewards)} rows of {len(found.classes)}"
        values = f" of {made.dtype} values" if hasattr(made, "dtype") else ""
        kind = f"{type(made).__name__}{values}"
        raise ValueError(f"{what}: numbers are needed, {shape}, but this is a {kind}") from None


def _check_index(made: Any, what: str, n: int) -> None:
    """Raise ValueError unless the index of a data frame, if it has one, is 0, 1, ..., as of the rows of a file."""
    index = np.asarray(getattr(made, "index", np.arange(n)))
    if len(index) == n and not (index.dtype.kind in "iu" and (index == np.arange(n)).all()):
        how = "`sort_index()` if it counts them, `reset_index(drop=True)` if its rows have the order of the log"
        raise ValueError(f"{what}: the index is not 0, 1, ..., {n - 1}, as the rows of the log are counted: {how}")


def _in_order(names: Sequence[Any], what: str, classes: Sequence[str]) -> list[Any]:
    """The names of columns in the order of the actions, which they must be."""
    known = {_named(name, classes): name for name in names}
    if len(known) == len(names) and known.keys() == {*classes}:
        return [known[name] for name in classes]
    needed, given = ", ".join(classes), ", ".join(map(str, names))
    raise ValueError(f"{what}: a column is needed for each action, {needed}, but the columns are {given}")


def _named(name: Any, classes: Sequence[str]) -> str | None:
    """The action with this name. If there is none, the only action that is the same number: 1 is 1.0."""
    same, number = [known for known in classes if known == str(name)], number_of(str(name))
    alike = same or [known for known in classes if number is not None and number_of(known) == number]
    return alike[0] if len(alike) == 1 else None


def _of_errors(estimates: Sequence[Mapping[str, Any]], n: int) -> list[str]:
    """Why intervals are longer than their standard errors say."""
    few = [row for row in estimates if row.get("error_rows", math.inf) < off_policy.FEW_ROWS]
    if not few:
        return []
    least, largest = min(row["error_rows"] for row in few), max(1.0, *(row["largest_weight"] for row in few))
    return [
        f"A standard error rests on {least:.0f} of {n:,} rows: they are few, or nearly all alike. Below "
        f"{off_policy.FEW_ROWS:.0f} the interval is widened by Chernoff's bound, which holds for any number of rows if "
        f"no weight can exceed {largest:.3g}."
    ]


def _of_weights(ips: Mapping[str, Any], n: int, rounding: float) -> list[str]:
    """Why intervals that are made of weights may be wrong; ips: the estimate by the weights alone.

    rounding: the relative error of propensities that are rounded.
    """
    said, effective, mean = [], ips["effective"], ips["mean_weight"]
    if effective < FEW_EFFECTIVE:
        said.append(
            f"The weights leave {effective:.0f} effective rows of {n:,}. Below {FEW_EFFECTIVE:.0f} the intervals of "
            "IPS, SNIPS and the doubly robust estimate hold the value less often than they say."
        )
    error = max(1.0, mean) * math.sqrt(max(0.0, n / effective - 1) / n)  # a small mean would make its error look small
    if abs(mean - 1) > DEVIATIONS * error + rounding + off_policy.ROUNDING:
        said.append(
            f"The mean of the weights is {mean:.3g}, not 1, which chance hardly explains: the propensities are wrong, "
            "or the policy takes actions where the log never does."
        )
    return said


def _of_model(log: Log, policy: Floats) -> list[str]:
    """Why intervals that are made of the linear model may be wrong."""
    counts = np.bincount(log.actions, minlength=log.n_actions)
    rarest = min(np.flatnonzero(policy.any(axis=0)), key=lambda action: int(counts[action]))
    coefficients = 1 + log.features.shape[1]
    if counts[rarest] >= ROWS_EACH * coefficients:
        return []
    rows = counted(int(counts[rarest]), "row")
    return [
        f"The linear model has up to {coefficients} coefficients for action {log.names[rarest]} with {rows}. Below "
        f"{ROWS_EACH} rows for each of them it fits the noise: the intervals of the direct method and of the doubly "
        "robust estimate are too short, and the direct method is biased."
    ]


# ---------------------------------------------------------------------------------------- simulated logs


def simulate(experiment: Experiment, path: Path, rows: int, temperature: float, share: float) -> tuple[Floats, Floats]:
    """Write a log of a contextual game to a CSV; returns mean rewards and probabilities of logging, `[rows, actions]`.

    The logging policy is `simulated_logs.softmax`. Rewards below 0 are mapped to [0, 1]. Features are the coordinates
    of all arms; those that never change or repeat another one are left out.
    Raises ValueError if the experiment is no contextual game with one adversary and one setting and bounded rewards, or
    it has fewer rounds than `rows`.
    """
    if not temperature > 0 or not 0 <= share <= 1:
        raise ValueError(f"temperature {exact(temperature)} must be above 0, and share {exact(share)} between 0 and 1")
    met = experiment.matchups
    if experiment.keys.game != "contextual" or len(met) != 1:
        raise ValueError("a log is made from a contextual game with one adversary and one horizon and dimension")
    adversary, setting = met[0].adversary.parameters, met[0].setting
    assert isinstance(adversary, contextual.Adversary)
    law, known = REWARDS[adversary.law()], setting.known()
    if math.isinf(known.reward):
        raise ValueError("the rewards of a log lie in [0, 1], and these are unbounded: choose other `rewards`")
    if not 1 <= rows <= setting.horizon:
        raise ValueError(f"{counted(rows, 'row')} of {setting.horizon:,g} rounds: take 1 to {setting.horizon:,g}")
    if adversary.on_demand() is not None or adversary.estimate:
        raise ValueError(f"{adversary.name} has no arms that a log could hold: choose another adversary")
    world = simulated_logs.contextual_world(adversary, setting, rows, experiment.keys.seed, 0)
    logging = simulated_logs.softmax(world.means, temperature, share)
    log = simulated_logs.logged(world, logging, experiment.keys.seed, 0)
    features = _features(world.features)
    if not features.shape[1]:
        raise ValueError(f"the arms of {adversary.name} never change: a log needs features")
    if len(np.unique(log.actions)) < world.means.shape[1]:
        raise ValueError("an action is never logged: take more rows, a larger share or a larger temperature")
    low, width = (0.0, 1.0) if law.lowest_mean >= 0 else (-known.reward, 2 * known.reward)
    _write(path, features, log, (log.rewards - low) / width)
    return (world.means - low) / width, logging


def _features(arms: Floats) -> Floats:
    """The different coordinates of all arms that change, `[n, p]`; arms: `[n, K, d]`."""
    flat = arms.reshape(len(arms), -1)
    changing = flat[:, (flat != flat[0]).any(axis=0)]
    _, first = np.unique(changing, axis=1, return_index=True)
    return changing[:, np.sort(first)]


def _write(path: Path, features: Floats, log: Log, rewards: Floats) -> None:
    names = [f"x{i + 1}" for i in range(features.shape[1])]
    played = zip(log.actions.tolist(), rewards.tolist(), log.propensities.tolist(), strict=True)
    rows = ([*row, *end] for row, end in zip(features.tolist(), played, strict=True))
    write_atomically(path, csv_text([[*names, "action", "reward", "propensity"], *rows]).encode())
