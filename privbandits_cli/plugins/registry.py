"""The algorithms and adversaries that an experiment may name, each defined by the class `Parameters` of its file.

They come from three places: this package, installed packages (entry points of the groups `privbandits.algorithms`
and `privbandits.adversaries`, each naming a module), and files that the user includes.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from privbandits_cli.games.parameters import Parameters
from privbandits_cli.games.players import Adversary
from privbandits_cli.plugins import loader
from privbandits_cli.plugins.loader import IncludeError
from privbandits_cli.plugins.source import Source

PlayerKind = Literal["algorithms", "adversaries"]


@cache
def built_in(kind: PlayerKind) -> tuple[str, ...]:
    """The names of this package's own algorithms or adversaries."""
    folder = Path(__file__).parent.parent / kind
    return tuple(sorted(file.stem for file in folder.glob("*.py") if not file.stem.startswith("_")))


@cache
def installed(kind: PlayerKind) -> dict[str, EntryPoint]:
    """Those of installed packages; IncludeError where two share a name."""
    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=f"privbandits.{kind}"):
        if entry.name in built_in(kind) or found.setdefault(entry.name, entry).value != entry.value:
            owner = entry.dist.name if entry.dist else entry.value
            raise IncludeError(
                f"package {owner}: the name '{entry.name}' is already taken among the {kind}: rename the entry point"
            )
    return found


@dataclass(frozen=True)
class Registry:
    """All algorithms and adversaries by name; `Registry()` has no files of the user's own."""

    files: tuple[Source, ...] = ()
    unusable: frozenset[str] = frozenset()  # names of the user's files that have errors

    def names(self, kind: PlayerKind) -> tuple[str, ...]:
        """The names of all algorithms or adversaries, in alphabetical order."""
        return tuple(sorted({*built_in(kind), *installed(kind), *self._own(kind)}))

    def displays(self, kind: PlayerKind) -> dict[str, str]:
        """The names by what figures call them, unless that depends on a base: `dp_exp3_lap` is DP-EXP3-Lap."""
        every = self.every(kind)
        return {model.display: name for name, model in every if model.display and "{base}" not in model.display}

    def find(self, kind: PlayerKind, name: str) -> type[Parameters]:
        """The parameters' class of this name; KeyError if there is none, IncludeError if its file cannot be used."""
        found: type[Parameters]
        own = self._own(kind)
        if name in built_in(kind):
            found = import_module(f"privbandits_cli.{kind}.{name}").Parameters
        elif name in own:
            found = loader.module(own[name]).Parameters
        elif name in installed(kind):
            found = loader.module(packaged(installed(kind)[name])).Parameters
        else:
            raise KeyError(name)
        return found

    def every(self, kind: PlayerKind) -> Iterator[tuple[str, type[Parameters]]]:
        """The names with their classes."""
        for name in self.names(kind):
            yield name, self.find(kind, name)

    def rebuilt(self, kind: PlayerKind, described: dict[str, object]) -> Parameters:
        """The inverse of `Parameters.described` for tuned parameters."""
        values = dict(described)
        model = self.find(kind, str(values.pop("name")))
        for field, value in values.items():
            if isinstance(value, dict) and "name" in value:
                values[field] = self.rebuilt("algorithms", value)
        return model.model_validate(values, strict=False)

    def _own(self, kind: PlayerKind) -> dict[str, Source]:
        return {source.name: source for source in self.files if _kind(source) == kind}


def including(paths: Iterable[Path]) -> tuple[Registry, list[str]]:
    """The registry with these files of the user's own, and an error for each file that cannot be used."""
    files: dict[str, Source] = {}
    errors: list[str] = []
    places: dict[str, Path] = {}
    for path in paths:
        if places.setdefault(path.stem, path.resolve()) != path.resolve():
            errors.append(f"{path}: another included file has the same name: rename one")
            continue
        try:
            source = loader.read(path)
            kind = _kind(source)
            if source.name in built_in(kind) or source.name in installed(kind):
                raise IncludeError(f"{path}: there is already '{source.name}' among the {kind}: rename the file")
            files[source.name] = source
        except IncludeError as error:
            errors.append(str(error))
    return Registry(tuple(files.values())), errors


def _kind(source: Source) -> PlayerKind:
    return "adversaries" if issubclass(loader.module(source).Parameters, Adversary) else "algorithms"


@cache
def packaged(entry: EntryPoint) -> Source:
    """The module of an entry point, read like an included file; its hash covers all sources of its package."""
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
