"""Logs of decisions: what was known, which action was taken, with which probability, and what it paid.

A log is a table (`data.tables`) with three columns of its own: action, reward and propensity, which is the probability
with which the logged action was taken. They are named, or recognised by their names. The features are all other
columns, or those that are chosen; a log may have none. A file of the Open Bandit Dataset (Saito, Aihara, Matsutani &
Narita 2021) is recognised by its header, and its features are those of the user, unless others are chosen.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from privbandits_cli.data import tables
from privbandits_cli.data.files import Stamp, check_is_file, stamp
from privbandits_cli.numerics.text import exact
from privbandits_cli.numerics.types import Floats, Ints

ROUNDING = 1e-6  # the rounding error of a number in a file, which may be stored in 32 bits
DIGITS = range(2, 7)  # after the point, to which propensities may be rounded
NAMES = {  # in lower case
    "action": ("action", "actions", "action_id", "arm", "arm_id", "item_id", "chosen_action", "chosen_arm", "a"),
    "reward": ("reward", "rewards", "payoff", "click", "clicked", "r"),
    "propensity": ("propensity", "propensity_score", "action_prob", "probability", "prob", "pscore", "p"),
}
OPEN_BANDIT = {"item_id", "position", "click", "propensity_score"}  # in the header of each file of this data set


class Logged(NamedTuple):
    """A log: n events, K actions, p features."""

    rows: Floats  # features, [n, p]
    names: tuple[str, ...]  # the features' names
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

    @property
    def rounding(self) -> float:
        """The relative error of the smallest propensity, if it was rounded to the digits that it has."""
        return 1 - at_least(self.least) / self.least

    def single_values(self) -> Floats:
        """The value of playing each action always, by SNIPS: means of its rewards, weighted by 1/propensity, `[K]`."""
        k, weights = len(self.classes), 1 / self.propensities
        return np.bincount(self.actions, weights * self.rewards, k) / np.bincount(self.actions, weights, k)


def logged(
    path: str,
    action: str | None = None,
    reward: str | None = None,
    propensity: str | None = None,
    features: Sequence[str] | None = None,
) -> Logged:
    """The log of a file; the names of its three columns, which are recognised where they are not given.

    features: the names of the columns of features, perhaps none; default: all other columns.
    Raises OSError, or ValueError with the place of the error, also if pyarrow is needed and missing.
    """
    check_is_file(path, tables.READ_AS)
    return _logged(path, (action, reward, propensity), None if features is None else tuple(features), stamp(path))


@lru_cache(maxsize=4)
def _logged(
    path: str, given: tuple[str | None, str | None, str | None], features: tuple[str, ...] | None, stamp: Stamp
) -> Logged:
    every = tables.names_of(path, stamp)
    own = _own(path, every, given)
    if features is None and {*every} >= OPEN_BANDIT:
        features = tuple(name for name in every if name.startswith("user_feature"))
    chosen = tables.chosen_of(path, every, own, features)
    columns = tables.columns_of(path, {*own, *chosen})
    actions, classes = tables.labels_of(path, own[0], columns.pop(own[0]), "action")
    rewards, propensities = (_numbers(path, name, columns.pop(name)) for name in own[1:])
    for name, column, low, needed in (
        (own[1], rewards, rewards >= -ROUNDING, "rewards lie between 0 and 1: rescale them"),
        (own[2], propensities, propensities > 0, "a probability is above 0, and at most 1"),
    ):
        right = low & (column <= 1 + ROUNDING)
        if not right.all():
            i = int(np.argmin(right))
            raise ValueError(f"{path}: row {i + 1} has {exact(column[i])} in column {name!r}: {needed}")
    rewards, propensities = rewards.clip(0.0, 1.0), propensities.clip(0.0, 1.0)
    if at_least(propensities.min()) * len(classes) > 1 + ROUNDING:
        least = f"the smallest is {exact(propensities.min())}, of {len(classes)} actions"
        raise ValueError(f"{path}: the propensities in column {own[2]!r} cannot add up to 1: {least}")
    if features is None:
        tables.check_no_index(path, columns)
    columns = {name: columns[name] for name in chosen}
    return Logged(*tables.features_of(path, columns, len(actions)), own, actions, classes, rewards, propensities)


def at_least(chance: float) -> float:
    """The least probability that may have been rounded to this one: half a unit of its last digit less."""
    for digits in DIGITS:
        if abs(round(chance, digits) - chance) <= ROUNDING * chance:
            return chance - 0.5 * 10.0**-digits
    return chance


def _own(path: str, names: Sequence[str], given: tuple[str | None, ...]) -> tuple[str, str, str]:
    """The names of the columns of actions, rewards and propensities."""
    found = []
    for (role, known), name in zip(NAMES.items(), given, strict=True):
        fit = [other for other in names if (other == name if name else other.lower() in known)]
        if len(fit) == 1:
            found.append(fit[0])
            continue
        if not any(other.lower() in known for known in NAMES.values() for other in names):
            tables.check_header(path, names)
        if name:
            raise ValueError(f"{path}: no column is called {name!r}: the {role} is one of {', '.join(names)}")
        elif fit:
            raise ValueError(f"{path}: {' and '.join(fit)} may all be the {role}: name one of them as `{role}`")
        else:
            hint = "; if all K actions were equally likely, add a column with 1/K" if role == "propensity" else ""
            what = f"no column of {', '.join(names)} is called {' or '.join(known)}"
            raise ValueError(f"{path}: {what}: name one of them as `{role}`{hint}")
    if len({*found}) < 3:
        raise ValueError(f"{path}: action, reward and propensity are three columns, got {', '.join(found)}")
    return found[0], found[1], found[2]


def _numbers(path: str, name: str, column: tables.Column) -> Floats:
    if not isinstance(column, tables.Texts):
        return np.asarray(column, np.float64)
    if not all(map(tables.NUMBER.fullmatch, column.names)):
        raise tables.stray(path, name, column)
    numbers: Floats = np.array(column.names, np.float64)[column.places]
    return numbers
