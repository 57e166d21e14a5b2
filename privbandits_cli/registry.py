"""Algorithms and adversaries are found by being there: one file each, the name is the file's."""

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Literal

from privbandits_cli.games.parameters import Parameters

Kind = Literal["algorithms", "adversaries"]


@cache
def names(kind: Kind) -> tuple[str, ...]:
    """The names of all algorithms or adversaries, without importing them."""
    folder = Path(__file__).parent / kind
    return tuple(sorted(file.stem for file in folder.glob("*.py") if not file.stem.startswith("_")))


def find(kind: Kind, name: str) -> type[Parameters]:
    """The parameters' class of this name; KeyError if there is none."""
    if name not in names(kind):
        raise KeyError(name)
    found: type[Parameters] = import_module(f"privbandits_cli.{kind}.{name}").Parameters
    return found


def every(kind: Kind) -> Iterator[tuple[str, type[Parameters]]]:
    """All of them, with their names."""
    for name in names(kind):
        yield name, find(kind, name)


def rebuilt(kind: Kind, described: dict[str, object]) -> Parameters:
    """The inverse of `Parameters.described`."""
    values = dict(described)
    model = find(kind, str(values.pop("name")))
    for field, value in values.items():
        if isinstance(value, dict) and "name" in value:
            values[field] = rebuilt("algorithms", value)
    return model.model_validate(values, strict=False)
