"""A table with classes as a contextual bandit: arms are the classes, and the right class pays 1, any other 0.

This is how contextual bandits are commonly tested on data for classification (for example Bietti, Agarwal & Langford
2021). Each feature is mapped to [0, 1] by its least and largest value in the table. Then all rows x are divided by the
largest norm of a row, and z = (1, x)/√2 is in the unit ball. The arm of class a is e_a ⊗ z, of dimension K (p + 1), so
a linear learner has a linear model of its own for each class. Classes are in the order of their names: arm 0 is the
first.

The labels are known, so the best arm of a round pays 1, and the regret is the number of wrong classes. No θ makes these
rewards linear, so no theorem bounds the regret of a linear learner here. The scaling reads the whole table, also later
rows. It is not private, and the guarantees of an algorithm take it as given.
"""

import math
from collections.abc import Iterable, Iterator
from typing import Literal, Self

import numpy as np
from numpy.random import Generator
from pydantic import Field

from privbandits_cli.data.files import PlaysActions, PlaysRows
from privbandits_cli.data.tables import Labelled, labelled, people_of
from privbandits_cli.games.contextual import Floats, Setting


class Parameters(PlaysRows, PlaysActions):
    """The file, its column of classes, and the order of its rows."""

    display = "Table"
    counts = "wrong classes"

    path: str = Field(
        description="a .csv, .tsv, .jsonl, .arff, .parquet or .npy file, relative to the working directory, or a table "
        "of the package: `breast_cancer`, `digits`, `iris` or `wine`, with the target `class`"
    )
    target: str | int = Field(description="the column of the classes: its name, or its place, from 1")
    features: list[str] | None = Field(None, description="the columns of features; default: all others")
    order: Literal["file", "shuffled"] = Field(
        "shuffled", description="the order of the rows; `shuffled` is a new order in each trial"
    )

    def read(self, path: str) -> Labelled:
        """The table in a file."""
        return labelled(path, self.target, self.features)

    def tuned(self, setting: Setting) -> Self:
        return super().tuned(setting).model_copy(update={"target": self.read(self.file).target})

    def sizes(self) -> dict[str, int]:
        table = self.read(self.file)
        k = len(table.classes)
        return {"horizon": len(table.rows), "arms": k, "dimension": k * (1 + len(table.names))}

    def arms(self, setting: Setting, rng: Generator, blocks: Iterable[range]) -> Iterator[tuple[Floats, Floats]]:
        table, k = self.read(self.path_here()), setting.n_arms
        width, half = 1 + len(table.names), math.sqrt(0.5)
        arms, means = np.empty((0, k * width, k)), np.empty((0, k))
        for places in self.places(len(table.rows), rng, blocks):
            rows, labels = table.rows[places], table.labels[places]
            n = len(rows)
            if n > len(arms):
                arms, means = np.zeros((n, k * width, k)), np.empty((n, k))
            scaled = (rows - table.low) * (table.factor * half)
            for a in range(k):  # all other coordinates remain 0
                arms[:n, a * width, a] = half
                arms[:n, a * width + 1 : (a + 1) * width, a] = scaled
            means[:n] = labels[:, None] == np.arange(k)
            yield arms[:n], means[:n]

    def rounds_per_person(self, column: str, setting: Setting) -> int:
        people = people_of(self.file, column, self.features)
        passes, rest = divmod(int(setting.horizon), len(people))
        last = people[:rest] if self.order == "file" else people[: len(people) * (rest > 0)]
        counts = passes * np.bincount(people) + np.bincount(last, minlength=int(people.max()) + 1)
        return min(int(counts.max()), int(setting.horizon))

    def file_errors(self, setting: Setting) -> Iterator[str]:
        table = self.read(self.file)
        yield from self.size_errors(setting, len(table.classes), len(table.names), "classes")
        yield from self.unplayable(len(table.rows), setting)
