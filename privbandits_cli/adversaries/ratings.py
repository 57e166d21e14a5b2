"""Ratings of items as arms: the K items with the most ratings, such as the films of MovieLens (Harper & Konstan 2015).

A row of the file is a rating of an item by a user. In each round the gain of an arm is one of its item's ratings, drawn
with replacement, so that the gains of an arm are i.i.d. with the law of the file. The least and the largest rating of
the file are mapped to 0 and 1. Arm 1 is the item with the most ratings; of items with as many, the first one by name or
number comes first. The regret is pseudo-regret: the means of the arms are those of the file.

The game is on rounds: a person who has rated many items may stand behind many rounds, and an algorithm's guarantee is
about one of them. Which items are the arms, and the range of the ratings, follow from the whole file.

A file of MovieLens is read as it is: `ratings.csv`, and the older `u.data` and `ratings.dat`, which have no header.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import Field

from privbandits_cli.data.files import PlaysFile, Stamp, check_is_file, stamp
from privbandits_cli.data.tables import Texts, columns_of, names_of
from privbandits_cli.data.text_files import READ, opened, text_of
from privbandits_cli.games import bandit
from privbandits_cli.games.bandit import Floats, Setting
from privbandits_cli.numerics.types import Ints

READ_AS = f"ratings are read from {READ} files, and from u.data and ratings.dat of MovieLens"
ITEMS = ("movieid", "movie_id", "item_id", "itemid", "item")  # names of columns, in lower case
RATINGS = ("rating", "ratings", "stars", "score")
WITHOUT_HEADER = {"u.data": "\t", "ratings.dat": "::"}  # what separates user, item, rating and time


class Rated(NamedTuple):
    """The ratings of a file, item by item, the item with the most ratings first."""

    items: tuple[str, ...]  # their names or numbers
    gains: Floats  # the ratings, scaled to [0, 1], [n]
    first: Ints  # the place of an item's first rating among them, [items]
    counts: Ints  # its ratings, [items]

    def means(self, k: int) -> Floats:
        """The mean gains of the first k items, `[k]`."""
        sums: Floats = np.add.reduceat(self.gains, self.first)
        return (sums / self.counts)[:k]


class Parameters(PlaysFile, bandit.Adversary):
    """The file, and the names of its columns."""

    display = "Ratings"

    path: str = Field(
        description="the ratings.csv, u.data or ratings.dat of MovieLens, or another file with a rating in each row, "
        "relative to the working directory"
    )
    item: str | None = Field(None, description="the column of the items; default: `movieId`, `item_id` or `item`")
    rating: str | None = Field(None, description="the column of the ratings; default: `rating`, `stars` or `score`")

    def read(self, path: str) -> Rated:
        """The ratings in a file."""
        check_is_file(path, READ_AS)
        return _rated(path, self.item, self.rating, stamp(path))

    def gains(self, setting: Setting, rng: Generator, blocks: Iterable[range]) -> Iterator[Floats]:
        rated, k = self.read(self.path_here()), setting.n_arms
        first, counts = rated.first[:k], rated.counts[:k]
        for rounds in blocks:
            places = (rng.random((len(rounds), k)) * counts).astype(np.int64)
            yield rated.gains[first + places]

    def mean_gains(self, setting: Setting) -> Floats:
        return self.read(self.path_here()).means(setting.n_arms)

    def file_errors(self, setting: Setting) -> Iterator[str]:
        rated = self.read(self.file)
        if other := self.other_file():
            yield other
        elif len(rated.items) < setting.n_arms:
            yield f"{self.path} rates no more than {(n := len(rated.items))} items: set `arms: {n}`, or fewer"


@lru_cache(maxsize=4)
def _rated(path: str, item: str | None, rating: str | None, stamp: Stamp) -> Rated:
    names, ratings = _two_columns(path, item, rating)
    low, high = ratings.min(), ratings.max()
    if not low < high:
        raise ValueError(f"{path}: every rating is {low:g}: a game needs two or more different ones")
    items, places, counts = np.unique(names, return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    rank = np.argsort(order)[places]
    gains = ((ratings - low) / (high - low))[np.argsort(rank, kind="stable")]
    first = np.concatenate([[0], np.cumsum(counts[order])[:-1]])
    return Rated(tuple(map(str, items[order])), gains, first, counts[order])


def _two_columns(path: str, item: str | None, rating: str | None) -> tuple[NDArray[np.generic], Floats]:
    """The items and the ratings of all rows, `[n]` each."""
    mark = next((mark for name, mark in WITHOUT_HEADER.items() if path.endswith(name)), "")
    if mark:
        text_of(path)  # ValueError if it is none
        with opened(path) as file:
            lines = (line.decode().replace(mark, "\t") for line in file)
            try:
                rows = np.loadtxt(lines, delimiter="\t", usecols=(1, 2), ndmin=2)
            except ValueError as error:
                what = f"{path} is to have user, item, rating and time in each row, as the MovieLens file of its name"
                raise ValueError(f"{what}: {error}") from error
        return rows[:, 0].astype(np.int64), rows[:, 1]
    names = names_of(path, stamp(path))
    own = _named(path, names, "item", item, ITEMS), _named(path, names, "rating", rating, RATINGS)
    columns = columns_of(path, own)
    found, ratings = (columns[name] for name in own)
    if isinstance(ratings, Texts):
        raise ValueError(f"{path}: column {own[1]!r} has texts, like {ratings.names[0]!r}: ratings are numbers")
    items = np.array(found.names)[found.places] if isinstance(found, Texts) else found
    return items, np.asarray(ratings, np.float64)


def _named(path: str, names: Iterable[str], role: str, given: str | None, known: tuple[str, ...]) -> str:
    """The name of the column that is given, or that has one of the known names."""
    fit = [name for name in names if (name == given if given else name.lower() in known)]
    if len(fit) == 1:
        return fit[0]
    if fit:
        raise ValueError(f"{path}: {' and '.join(fit)} may both be the {role}: name it, `{role}: {fit[0]}`")
    called = repr(given) if given else " or ".join(known)
    raise ValueError(f"{path}: no column of {', '.join(names)} is called {called}: name the {role}, `{role}: ...`")
