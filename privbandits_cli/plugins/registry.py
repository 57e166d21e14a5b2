"""Algorithms and adversaries are found by being there: one file each, the name is the file's.

Beside the built-in ones stand those of installed packages (entry points of the groups `privbandits.algorithms` and
`privbandits.adversaries`, each the name of a module) and the files that a user includes.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from privbandits_cli.games.parameters import Parameters
from privbandits_cli.games.players import Adversary
from privbandits_cli.plugins import loader
from privbandits_cli.plugins.loader import IncludeError, Source

Kind = Literal["algorithms", "adversaries"]

_own: dict[Kind, dict[str, Source]] = {"algorithms": {}, "adversaries": {}}


@cache
def built_in(kind: Kind) -> tuple[str, ...]:
    """The names of this package's own algorithms or adversaries."""
    folder = Path(__file__).parent.parent / kind
    return tuple(sorted(file.stem for file in folder.glob("*.py") if not file.stem.startswith("_")))


@cache
def _installed(kind: Kind) -> dict[str, EntryPoint]:
    """Those of installed packages; IncludeError where two share a name."""
    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=f"privbandits.{kind}"):
        if entry.name in built_in(kind) or found.setdefault(entry.name, entry).value != entry.value:
            owner = entry.dist.name if entry.dist else entry.value
            raise IncludeError(f"package {owner}: there is another '{entry.name}' in {kind}: rename its entry point")
    return found


def names(kind: Kind) -> tuple[str, ...]:
    """The names of all algorithms or adversaries, without importing them."""
    return tuple(sorted({*built_in(kind), *_installed(kind), *_own[kind]}))


def include(path: Path) -> Source:
    """Find a user's file by its name from now on; IncludeError with what is wrong with it."""
    source = loader.read(path)
    model = loader.module(source).Parameters
    kind: Kind = "adversaries" if issubclass(model, Adversary) else "algorithms"
    if source.name in built_in(kind) or source.name in _installed(kind):
        raise IncludeError(f"{path}: there is another '{source.name}' in {kind} already: rename the file")
    _own[kind][source.name] = source
    return source


def include_all(paths: Sequence[str]) -> list[tuple[int, str]]:
    """Include these files and no others; the errors, each with the place of its file in the list."""
    for own in _own.values():
        own.clear()
    errors: list[tuple[int, str]] = []
    known: dict[str, Path] = {}
    for i, path in enumerate(map(Path, paths)):
        place = path.resolve()
        if known.setdefault(path.stem, place) != place:
            errors.append((i, f"{path}: another file of that name is included: rename it"))
            continue
        try:
            include(path)
        except IncludeError as error:
            errors.append((i, str(error)))
    return errors


def find(kind: Kind, name: str) -> type[Parameters]:
    """The parameters' class of this name; KeyError if there is none, IncludeError if its package is faulty."""
    found: type[Parameters]
    if name in built_in(kind):
        found = import_module(f"privbandits_cli.{kind}.{name}").Parameters
    elif name in _own[kind]:
        found = loader.module(_own[kind][name]).Parameters
    elif name in _installed(kind):
        found = loader.module(_of_package(_installed(kind)[name])).Parameters
    else:
        raise KeyError(name)
    return found


@cache
def _of_package(entry: EntryPoint) -> Source:
    """The module of an entry point, as a file that includes itself; its hash is that of its package's sources."""
    try:
        spec = find_spec(entry.module)
    except ImportError as error:
        raise IncludeError(f"entry point '{entry.name}': {error}") from error
    if spec is None or not spec.origin or not spec.origin.endswith(".py"):
        raise IncludeError(f"entry point '{entry.name}': no module {entry.module} is installed")
    path = Path(spec.origin)
    source = loader.read(path)
    top = find_spec(entry.module.partition(".")[0])
    places = list(top.submodule_search_locations or []) if top else []
    files = sorted(file for place in places for file in Path(place).rglob("*.py")) or [path]
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]
    return replace(source, name=entry.name, code=digest, package=spec.parent or "", installed=True)


def every(kind: Kind) -> Iterator[tuple[str, type[Parameters]]]:
    """All of them, with their names."""
    for name in names(kind):
        yield name, find(kind, name)


def rebuilt(kind: Kind, described: dict[str, object]) -> Parameters:
    """The inverse of `Parameters.described` for tuned parameters."""
    values = dict(described)
    model = find(kind, str(values.pop("name")))
    for field, value in values.items():
        if isinstance(value, dict) and "name" in value:
            values[field] = rebuilt("algorithms", value)
    return model.tuned_class().model_validate(values, strict=False)
