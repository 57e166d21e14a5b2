"""text -> Experiment: all errors of a config at once, each with its place and a suggestion."""

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from privbandits_cli.data.files import PlaysActions
from privbandits_cli.experiment import consistency, settings
from privbandits_cli.experiment.claims import Claim, Known, claims
from privbandits_cli.experiment.document import LONGEST, Document, Error, override, parse
from privbandits_cli.experiment.errors import ENOUGH, suggestion, translated
from privbandits_cli.experiment.keys import FOLDER, Grid, Keys
from privbandits_cli.experiment.matchups import Matchup, matchups, of_the_game
from privbandits_cli.experiment.received import INCLUDED, Admit, Outside, everything, inside
from privbandits_cli.experiment.settings import listed
from privbandits_cli.experiment.variants import Variant, variants
from privbandits_cli.games.players import Adversary, Setting
from privbandits_cli.plugins.registry import PlayerKind, Registry, including

SHIPPED = Path(__file__).parent.parent / "configs"  # the configs that come with the package
SMOKE = "-smoke"  # the end of the name of a small version, which --smoke makes
MISSING_SIZES = "missing key 'horizon'", "missing key 'dimension'"
SHOWN = 100  # errors; of more, the number is given


@dataclass(frozen=True)
class Experiment:
    """A valid experiment: what to run, not how."""

    keys: Keys
    adversaries: tuple[Variant, ...]  # as given
    algorithms: tuple[Variant, ...]  # as given
    matchups: tuple[Matchup, ...]  # for each adversary, one in each setting
    given: dict[str, Any]  # the config's own text as data, with overrides and --smoke applied
    registry: Registry  # in which its names were found
    claims: tuple[Claim, ...] = ()  # what papers claim about it; they do not affect the simulation

    @property
    def settings(self) -> list[Setting]:
        """One for each horizon and each dimension."""
        return settings.settings(self.keys)

    @property
    def rounds_per_person(self) -> int:
        """The most rounds of one person, in any setting."""
        return max(matchup.setting.rounds_per_person for matchup in self.matchups)

    @property
    def needs_files(self) -> bool:
        """Whether it needs files of users: algorithms, adversaries or data."""
        return bool(self.registry.files or _data_files(self.adversaries))

    def resolved(self) -> dict[str, Any]:
        """The experiment as plain data that runs as a config, with tuned parameters and defaults written out.

        An algorithm whose tuning depends on the setting or the adversary is written as given.
        """

        def entry(given: Variant, tuned: Iterable[Variant]) -> dict[str, Any]:
            found = {variant.parameters.identity(): variant for variant in tuned}
            return (next(iter(found.values())) if len(found) == 1 else given).described()

        n = len(self.settings)
        adversaries = [
            entry(given, (matchup.adversary for matchup in self.matchups[i * n : (i + 1) * n]))
            for i, given in enumerate(self.adversaries)
        ]
        lineups = zip(*(matchup.algorithms for matchup in self.matchups), strict=True)
        algorithms = [entry(given, tuned) for given, tuned in zip(self.algorithms, lineups, strict=True)]
        left_out = {"smoke", "claims", *consistency.foreign_keys(self.keys)}
        if not self.keys.include:
            left_out.add("include")
        players = {"adversary": adversaries, "algorithms": algorithms}
        return self.keys.model_dump(exclude=left_out, exclude_none=True) | players


class ConfigError(Exception):
    """A config that cannot be run; `errors` are ready to print."""

    def __init__(self, errors: list[str]) -> None:
        super().__init__("\n".join(errors))
        self.errors = errors


def shipped() -> list[str]:
    """The names of the shipped configs."""
    return sorted(path.stem for path in SHIPPED.glob("*.yaml"))


def located(path: Path) -> Path:
    """The config that a path means: the file itself, else `NAME.yaml` here, else the shipped one of that name."""
    if path.is_file() or path.parent != Path():
        return path
    name = path.name.removesuffix(".yaml")
    here = Path(f"{name}.yaml")
    if here.is_file():
        return here
    return SHIPPED / here if name in shipped() else path


def load(
    path: Path,
    overrides: list[str] | None = None,
    smoke: bool = False,
    include: Sequence[Path] = (),
    admit: Admit = everything,
) -> Experiment:
    """Read a config, apply the overrides and check all of it; raises ConfigError with every error.

    path: a file, or the name of a shipped config. include: users' files besides those that the config names. admit: is
    called with the files that the config names, before they are executed or read; what it raises ends the loading.
    """
    path = located(path)
    document = _read(path)
    experiment = None
    if isinstance(document.data, dict):
        given = overrides or []
        for item in given:
            if item.startswith("smoke"):  # applied before --smoke reads it
                override(document, item)
        if smoke:
            _shrink(document)
        for item in given:
            if not item.startswith("smoke"):
                override(document, item)
        if smoke or any(not item.startswith("claims") for item in given):
            document.data.pop("claims", None)  # they are about the unchanged experiment
        if smoke:  # a results folder of its own, so that no full-size result is overwritten
            name = document.data.get("experiment")
            if isinstance(name, str) and re.search(FOLDER, name):  # else the error is that of the full size
                document.data["experiment"] = f"{name}{SMOKE}"
        experiment = _check(document, _included(document, path.parent, include, admit), admit)
    if document.errors or experiment is None:
        raise _refused(document)
    return experiment


def keys_of(path: Path) -> Keys:
    """The keys of a config, whose algorithms and adversaries are not looked up; ConfigError with the errors of keys."""
    document = _read(located(path))
    if isinstance(document.data, dict):
        keys, invalid = _valid_part(document.data, document.errors)
        if not invalid and not document.errors:
            return keys
    raise _refused(document)


def _read(path: Path) -> Document:
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(LONGEST + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        hint = _missing(path) if isinstance(error, FileNotFoundError) else ""
        if (path / "config.yaml").is_file():
            hint = f"; the config of this results folder is {path.as_posix()}/config.yaml"
        raise ConfigError([f"{path}: cannot be read: {reason}{hint}"]) from error
    return parse(text, str(path))


def _refused(document: Document) -> ConfigError:
    found = sorted(dict.fromkeys(document.errors), key=document.place)
    texts = [document.render(error) for error in found[:SHOWN]]
    more = len(found) - SHOWN
    return ConfigError([*texts, f"{document.path}: and {more:,} more errors"] if more > 0 else texts)


def _missing(path: Path) -> str:
    """What the path of a config that does not exist may mean."""
    if str(path) in [*Registry().names("algorithms"), *Registry().names("adversaries")]:
        return f"; {path} is not a config: try `privbandits show {path}`"
    if path.suffix == ".yaml" and path.stem in shipped():
        return f"; it is shipped with the package as {path.stem}, as in `privbandits run {path.stem}`"
    beside = sorted(path.parent.glob("*.yaml"))
    if beside and path.parent != Path():
        return suggestion(path.as_posix(), [file.as_posix() for file in beside])
    return suggestion(path.stem, [*(file.stem for file in beside), *shipped()])


def _included(document: Document, folder: Path, further: Sequence[Path], admit: Admit) -> Registry:
    """The registry with the users' files; beside the config of a results folder are copies of them."""
    given = document.data.get("include", [])
    named = [given] if isinstance(given, str) else given if isinstance(given, list) else []
    names = {os.path.expanduser(name): ("include", i) for i, name in enumerate(named) if isinstance(name, str)}
    if further:
        document.data["include"] = list(dict.fromkeys([*map(str, named), *(path.as_posix() for path in further)]))
    files = []
    for name, loc in names.items():
        try:
            copy = inside(folder, f"{INCLUDED}/{Path(name).name}")
        except Outside as error:
            document.errors.append(Error(loc, str(error)))
            continue
        kept = os.path.exists(copy)  # unlike `copy.exists()`, False for names that no file can have
        if kept and Path(name).name in (path.name for path in further):
            continue  # the user's file takes the place of the copy
        files.append(copy if kept else Path(name))
    unnamed = [file for file in files if file not in further]
    if unnamed and ("include",) not in document.overrides:
        admit(document.path, unnamed, executed=True)
    registry, errors = including([*files, *further])
    for text in errors:
        places = [loc for name, loc in names.items() if text.startswith(f"{Path(name)}: ")]
        document.errors.append(Error(places[0], text) if places else Error(("include",), text, placed=True))
    unusable = {file.stem for file in [*files, *further]} - {source.name for source in registry.files}
    return replace(registry, unusable=frozenset(unusable))


def _shrink(document: Document) -> None:
    """Replace keys by those under `smoke`, with their places."""
    small = document.data.get("smoke")
    if isinstance(small, dict):
        for key, value in small.items():
            document.data[key] = value
            document.values[(key,)] = document.values.get(("smoke", key), (0, 0))
            document.keys[(key,)] = document.keys.get(("smoke", key), (0, 0))
            if ("smoke", key) in document.overrides:
                document.overrides[(key,)] = document.overrides["smoke", key]


# --------------------------------------------------------------------------------------------- checking


def _check(document: Document, registry: Registry, admit: Admit) -> Experiment | None:
    """The experiment, or None after adding to the document's errors all that can be found out."""
    data, errors = document.data, document.errors
    keys, invalid = _valid_part(data, errors)
    adversaries, strange = _players(registry, "adversary", "adversaries", data, errors)
    algorithms, unknown = _players(registry, "algorithms", "algorithms", data, errors)
    between = list(consistency.errors(keys, data, invalid))
    excess = list(consistency.excess_errors(keys, len(adversaries), len(algorithms)))
    errors.extend([*between, *excess])
    if not strange and not unknown:
        errors.extend(consistency.plot_errors(keys, adversaries, algorithms, invalid))
    if played := _data_files(adversaries):
        admit(document.path, played, executed=False)
        _say_what_follows(adversaries, errors)
    met: tuple[Matchup, ...] = ()
    if not excess and "game" not in invalid:
        theirs = of_the_game(registry, keys, adversaries, invalid, errors)
        ours = of_the_game(registry, keys, algorithms, invalid, errors)
        if not invalid & consistency.SETTING and not any({*error.loc[:1]} <= consistency.SETTING for error in between):
            met = matchups(registry, keys, theirs, ours, errors)
    lineups = {id(matchup.algorithms): matchup.algorithms for matchup in met}
    timed = "claims" in data and not excess and not {"checkpoints", "horizon"} & invalid
    rounds = {t for horizon in listed(keys.horizon) for t in checkpoints(keys, horizon).tolist()} if timed else None
    known = Known(
        keys=keys,
        adversaries=None if strange else adversaries,
        algorithms=None if unknown else algorithms,
        tuned=[variant for lineup in lineups.values() for variant in lineup] or None,
        rounds=rounds,
        swept=not invalid & {*consistency.SWEEPABLE},
    )
    about = claims(data.get("claims"), known, errors)
    if invalid or errors:
        return None
    given = {key: value for key, value in data.items() if key != "claims"}
    return Experiment(keys, tuple(adversaries), tuple(algorithms), met, given, registry, about)


def _say_what_follows(adversaries: Iterable[Variant], errors: list[Error]) -> None:
    """Add to the first error that a size of the game is missing the sizes that follow from a file."""
    lacking = [i for i, error in enumerate(errors) if error.message.startswith(MISSING_SIZES)]
    files = [player for one in adversaries if isinstance(player := one.parameters, PlaysActions)]
    if lacking and files:
        with suppress(OSError, ValueError):  # an error of the file is reported when the sizes are there
            sizes = files[0].sizes()
            needed = f"needs `arms: {sizes['arms']}` and `dimension: {sizes['dimension']}`"
            hint = f"{files[0].path} {needed}, and serves up to `horizon: {sizes['horizon']}`"
            errors[lacking[0]] = replace(errors[lacking[0]], message=f"{errors[lacking[0]].message}; {hint}")


def _data_files(adversaries: Iterable[Variant]) -> list[Path]:
    players = (variant.parameters for variant in adversaries)
    names = (name for player in players if isinstance(player, Adversary) for name in player.reads())
    return list(map(Path, dict.fromkeys(names)))


def _players(
    registry: Registry, key: str, kind: PlayerKind, data: dict[str, Any], errors: list[Error]
) -> tuple[list[Variant], bool]:
    """The variants of the adversaries or of the algorithms, and whether any of them are missing because of errors."""
    before, found, entries = len(errors), list[Variant](), data.get(key)
    if key in data and entries in (None, []):
        errors.append(Error((key,), f"name at least one of: {', '.join(registry.names(kind))}"))
        return found, True
    places = [((key, i), one) for i, one in enumerate(entries)] if isinstance(entries, list) else [((key,), entries)]
    for loc, entry in places if key in data else ():
        if len(found) <= consistency.MOST_CURVES and len(errors) <= ENOUGH:
            found += variants(registry, kind, entry, loc, errors)
    return found, len(errors) > before or not found or bool(registry.unusable)


def _valid_part(data: dict[str, Any], errors: list[Error]) -> tuple[Keys, set[str]]:
    """The keys, with placeholders for the invalid ones so that the others can be checked; and the invalid ones."""
    try:
        return Keys.model_validate(data), set()
    except ValidationError as error:
        errors.extend(islice(translated(error, Keys, data, ()), ENOUGH))
        invalid = {str(detail["loc"][0]) for detail in error.errors()}
    placeholders = {"experiment": "x", "horizon": 2**50, "trials": 24, "adversary": None, "algorithms": None}
    return Keys.model_validate(placeholders | {k: v for k, v in data.items() if k not in invalid}), invalid


def checkpoints(keys: Keys, horizon: int) -> NDArray[np.int64]:
    """The rounds at which regret is recorded, in increasing order; the horizon is the last."""
    wanted = keys.checkpoints
    if isinstance(wanted, list):
        rounds = np.array([*wanted, horizon], np.int64)
    else:
        grid = Grid(count=wanted) if isinstance(wanted, int) else wanted
        space = np.geomspace if grid.spacing == "log" else np.linspace
        start = 1.0 if grid.spacing == "log" else horizon / grid.count
        rounds = np.append(np.rint(space(start, horizon, grid.count)).astype(np.int64), horizon)
    return np.unique(np.clip(rounds, 1, horizon))
