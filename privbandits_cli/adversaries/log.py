"""A log of decisions as a contextual bandit, by rejection replay (Li, Chu, Langford & Wang 2011).

A row of the file is an event: features, the action that was taken, the probability with which it was taken, and its
reward in [0, 1]. A learner is shown the features and chooses. If it chooses the logged action, it learns the reward,
and a round is over. If not, the event is skipped, and the next one is shown. Arms are as of `table`: e_a ⊗ z for action
a, z = (1, x)/√2, with each feature scaled to [0, 1] and x into the unit ball by the whole file.
A file of the Open Bandit Dataset (Saito, Aihara, Matsutani & Narita 2021) is read as it is.

The log is thinned first: in each trial an event whose action had the probability p is shown with probability m/p, where
m is the smallest one in the file. Of the events that are left every action is equally likely, whatever the features. So
each event of the file is kept with probability m, whatever the learner chooses, and its rewards have the expectation
that they would have in as many rounds of its own. This needs independent events, right probabilities, and that every
action may occur in every event. T rounds take T/m events on average, and each trial shows them in another order.

The regret is an estimate, and may be negative: T times the value of the best single action, minus the rewards of the
learner. That value is estimated by SNIPS from the whole log: the mean of the action's rewards, weighted by 1/p. Unlike
that of IPS it lies in [0, 1], and it moves along if a constant is added to all rewards. It is the largest of K
estimates, and so a little too large. It is the same for all learners and trials, so differences do not depend on it.

The guarantee of a private learner is about its rounds, which are the events that it keeps. Of two logs that differ in
the reward of one event, the same theorem holds for all choices together, also those in skipped events: they follow from
the features shown there and from what the learner releases in that round. It does not cover the presence of an event,
its features or its action. These decide whether it is kept, and an event that is kept moves all later ones by a round.
Nor does it cover the scaling, the smallest probability and the best action's value, which are computed from the file.
"""

import math
from collections.abc import Iterator
from typing import Self

import numpy as np
from numpy.random import Generator
from pydantic import Field

from privbandits_cli.data.files import PlaysActions
from privbandits_cli.data.logs import Logged, logged
from privbandits_cli.data.tables import people_of
from privbandits_cli.games.contextual import Setting
from privbandits_cli.games.logged import Events, new_place
from privbandits_cli.numerics.text import exact

DEVIATIONS = 5.0  # fewer events than expected, that a horizon must leave room for


class Parameters(PlaysActions):
    """The file, and the names of its columns."""

    display = "Log"
    estimate = "T times the value of the best single action (SNIPS on the whole log) minus the rewards of the replay"

    path: str = Field(
        description="a .csv, .tsv, .jsonl, .arff, .parquet or .npy file, relative to the working directory"
    )
    action: str | None = Field(None, description="the column of the actions; default: `action`, `arm` or `a`")
    reward: str | None = Field(None, description="the column of the rewards, in [0, 1]; default: `reward` or `r`")
    propensity: str | None = Field(
        None,
        description="the column of the probabilities with which the actions were taken; default: `propensity`, `prob`, "
        "`pscore` or `p`",
    )
    features: list[str] | None = Field(
        None,
        description="the columns of features; default: all others, and in the Open Bandit Dataset those of the user",
    )

    def read(self, path: str) -> Logged:
        """The log in a file."""
        return logged(path, self.action, self.reward, self.propensity, self.features)

    def tuned(self, setting: Setting) -> Self:
        names = zip(("action", "reward", "propensity"), self.read(self.path).columns, strict=True)
        return super().tuned(setting).model_copy(update=dict(names))

    def sizes(self) -> dict[str, int]:
        log = self.read(self.path)
        k, most = len(log.classes), most_rounds(len(log.rows), log.least)
        return {"horizon": most, "arms": k, "dimension": k * (1 + len(log.names))}

    def shown(self, setting: Setting) -> int:
        """One of K, as every action is equally likely among the events that are left, whatever the learner chooses."""
        return setting.n_arms

    def events_of_log(self, setting: Setting, rng: Generator) -> Events:
        log, half = self.read(self.path_here()), math.sqrt(0.5)
        order = rng.permutation(len(log.rows))
        order = order[rng.random(len(order)) * log.propensities[order] < log.least]
        factor, none = log.factor * half, np.zeros((setting.known().dimension, setting.n_arms))
        best = float(log.single_values().max())
        return Events(new_place(), order, log.rows, log.low, factor, half, log.actions, log.rewards, best, none, none)

    def rounds_per_person(self, column: str, setting: Setting) -> int:
        """As many as the person has events: each is kept at most once, and all of them may be."""
        return min(int(np.bincount(people_of(self.path, column, self.features)).max()), int(setting.horizon))

    def file_errors(self, setting: Setting) -> Iterator[str]:
        log = self.read(self.path)
        yield from self.size_errors(setting, len(log.classes), len(log.names), "actions")
        if other := self.other_file():
            yield other
        elif setting.horizon > (most := most_rounds(len(log.rows), log.least)):
            kept = f"keeps each of {len(log.rows)} events with probability {log.least:.3g}, the smallest propensity"
            hint = f"set `horizon: {most}`, or less" if most else "it is too short"
            yield f"{self.path}: a learner {kept}, which is unlikely to serve {exact(setting.horizon)} rounds: {hint}"


def most_rounds(events: int, least: float) -> int:
    """The rounds that a log serves even if a learner keeps 5 standard deviations fewer events than expected."""
    mean = events * least
    return max(0, int(mean - DEVIATIONS * math.sqrt(mean * (1 - least))))
