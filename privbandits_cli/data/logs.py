"""Logs of decisions: what was known, which action was taken, with which probability, and what it paid.

A log is a table (`data.tables`) with three columns of its own: action, reward and propensity, which is the probability
with which the logged action was taken. They are named, or recognised by their names. All other columns are features.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from privbandits_cli.data.files import Stamp, check_is_file, stamp
from privbandits_cli.data.tables import READ_AS, Column, Texts, columns_of, features_of, labels_of, scales_of
from privbandits_cli.numerics.text import exact
from privbandits_cli.numerics.types import Floats, Ints

NAMES = {  # in lower case
    "action": ("action", "actions", "action_id", "arm", "arm_id", "chosen_action", "chosen_arm", "a"),
    "reward": ("reward", "rewards", "payoff", "click", "clicked", "r"),
    "propensity": ("propensity", "propensity_score", "action_prob", "probability", "prob", "pscore", "p"),
}


class Logged(NamedTuple):
    """A log: n events, K actions, p features."""

    rows: Floats  # features, [n, p]
    names: tuple[str, ...]  # of the features
    free: tuple[bool, ...]  # whether a feature is none of those that follow from others, as a text's last column does
    low: Floats  # [p]
    factor: Floats  # [p]: (x - low) factor maps each feature to [0, c], where c makes the longest row a unit vector
    columns: tuple[str, str, str]  # the names of the columns of actions, rewards and propensities
    actions: Ints  # [n], places in `classes`
    classes: tuple[str, ...]  # the names of the actions, sorted
    rewards: Floats  # [n]
    propensities: Floats  # [n]

    @property
    def least(self) -> float:
        """The smallest propensity."""
        return float(self.propensities.min())

    def single_values(self) -> Floats:
        """The value of playing each action always, by SNIPS: means of its rewards, weighted by 1/propensity, `[K]`."""
        k, weights = len(self.classes), 1 / self.propensities
        return np.bincount(self.actions, weights * self.rewards, k) / np.bincount(self.actions, weights, k)


def logged(path: str, action: str | None = None, reward: str | None = None, propensity: str | None = None) -> Logged:
    """The log of a file; the names of its three columns, which are recognised where they are not given.

    Raises OSError, or ValueError with the place of the error, also if pyarrow is needed and missing.
    """
    check_is_file(path, READ_AS)
    return _logged(path, (action, reward, propensity), stamp(path))


@lru_cache(maxsize=4)
def _logged(path: str, given: tuple[str | None, str | None, str | None], stamp: Stamp) -> Logged:
    columns = columns_of(path)
    every = list(columns)
    own = _own(path, every, given)
    actions, classes = labels_of(path, own[0], columns.pop(own[0]), "action")
    rewards, propensities = (_numbers(path, name, columns.pop(name)) for name in own[1:])
    for name, column, right, needed in (
        (own[1], rewards, (rewards >= 0) & (rewards <= 1), "rewards lie between 0 and 1: rescale them"),
        (own[2], propensities, (propensities > 0) & (propensities <= 1), "a probability is above 0, and at most 1"),
    ):
        if not right.all():
            i = int(np.argmin(right))
            raise ValueError(f"{path}: row {i + 1} has {exact(column[i])} in column {name!r}: {needed}")
    if propensities.min() * len(classes) > 1 + 1e-9:
        least = f"the smallest is {exact(propensities.min())}, of {len(classes)} actions"
        raise ValueError(f"{path}: the propensities in column {own[2]!r} cannot add up to 1: {least}")
    if not columns:
        raise ValueError(f"{path}: there is no feature beside {', '.join(own)}")
    free = tuple(
        i < len(column.names) - 1 if isinstance(column, Texts) else True
        for column in columns.values()
        for i in range(len(column.names) if isinstance(column, Texts) else 1)
    )
    rows, names = features_of(path, columns, every)
    return Logged(rows, names, free, *scales_of(path, rows, names), own, actions, classes, rewards, propensities)


def _own(path: str, names: list[str], given: tuple[str | None, ...]) -> tuple[str, str, str]:
    """The names of the columns of actions, rewards and propensities."""
    found = []
    for (role, known), name in zip(NAMES.items(), given, strict=True):
        fit = [other for other in names if (other == name if name else other.lower() in known)]
        if len(fit) == 1:
            found.append(fit[0])
        elif name:
            raise ValueError(f"{path}: no column is called {name!r}: `{role}` is one of {', '.join(names)}")
        elif fit:
            raise ValueError(f"{path}: {' and '.join(fit)} may all be the {role}: name it, `{role}: {fit[0]}`")
        else:
            hint = "; if all K actions were equally likely, add a column with 1/K" if role == "propensity" else ""
            raise ValueError(f"{path}: no column is called {' or '.join(known)}: name the {role}, `{role}: ...`{hint}")
    if len({*found}) < 3:
        raise ValueError(f"{path}: action, reward and propensity are three columns, got {', '.join(found)}")
    return found[0], found[1], found[2]


def _numbers(path: str, name: str, column: Column) -> Floats:
    if isinstance(column, Texts):
        raise ValueError(f"{path}: column {name!r} has texts, like {column.names[0]!r}: numbers are needed")
    return np.asarray(column, np.float64)
