"""text -> Experiment: all errors of a config at once, each with its place and a suggestion."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from privbandits_cli.experiment import consistency, settings
from privbandits_cli.experiment.claims import Claim, claims
from privbandits_cli.experiment.document import Document, Error, Loc, override, parse
from privbandits_cli.experiment.errors import translated
from privbandits_cli.experiment.keys import Grid, Keys
from privbandits_cli.experiment.matchups import Matchup, matchups
from privbandits_cli.experiment.received import KEPT, Admit, Outside, everything, inside
from privbandits_cli.experiment.variants import Variant, variants
from privbandits_cli.games.players import Adversary, Setting
from privbandits_cli.plugins.registry import Kind, Registry, including

SHIPPED = Path(__file__).parent.parent / "configs"  # the configs that come with the package


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
    def needs_files(self) -> bool:
        """Whether it needs files of users: algorithms, adversaries or data."""
        players = [variant.parameters for variant in self.adversaries]
        return bool(self.registry.files) or any(isinstance(one, Adversary) and one.reads() for one in players)

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
            document.data["experiment"] = f"{document.data.get('experiment', '')}-smoke"
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
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        known = f"; the shipped configs are: {', '.join(shipped())}" if path.parent == Path() else ""
        if str(path) in Registry().names("algorithms"):
            known = f"; {path} is an algorithm, not a config: try `privbandits show {path}`"
        raise ConfigError([f"{path}: cannot be read: {reason}{known}"]) from error
    return parse(text, str(path))


def _refused(document: Document) -> ConfigError:
    ordered = sorted(dict.fromkeys(document.errors), key=document.place)
    return ConfigError([document.render(error) for error in ordered])


def _included(document: Document, folder: Path, further: Sequence[Path], admit: Admit) -> Registry:
    """The registry with the users' files; beside the config of a results folder are copies of them."""
    given = document.data.get("include", [])
    named = [given] if isinstance(given, str) else given if isinstance(given, list) else []
    names = list(dict.fromkeys(map(str, named)))
    if further:
        document.data["include"] = list(dict.fromkeys([*names, *(path.as_posix() for path in further)]))
    files = []
    for name in names:
        try:
            copy = inside(folder, f"{KEPT}/{Path(name).name}")
        except Outside as error:
            raise ConfigError([str(error)]) from error
        if copy.exists() and Path(name).name in (path.name for path in further):
            continue  # the user's file takes the place of the copy
        files.append(copy if copy.exists() else Path(name))
    unnamed = [file for file in files if file not in further]
    if unnamed and ("include",) not in document.overrides:
        admit(document.path, unnamed, executed=True)
    registry, errors = including([*files, *further])
    if errors:
        raise ConfigError(errors)
    return registry


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
    """The experiment, or None after adding to the document's errors."""
    data, errors = document.data, document.errors
    keys, invalid = _valid_part(data, errors)
    found: dict[str, list[Variant]] = {"adversary": [], "algorithms": []}
    kinds: dict[str, Kind] = {"adversary": "adversaries", "algorithms": "algorithms"}
    for key, kind in kinds.items():
        entries = data.get(key)
        if key in data and entries in (None, []):
            errors.append(Error((key,), f"name at least one of: {', '.join(registry.names(kind))}"))
        single = not isinstance(entries, list)
        for i, entry in enumerate([entries] if single else entries):
            if entry is not None or not single:
                loc: Loc = (key,) if single else (key, i)
                found[key] += variants(registry, kind, entry, loc, errors)
    errors.extend(consistency.size_errors(keys, invalid))
    if not invalid:
        errors.extend(consistency.plot_errors(keys, [*found["adversary"], *found["algorithms"]]))
    if invalid & {"game", "horizon", "planned_horizon", "arms", "set", "dimension", "feedback"}:
        return None
    unplayable = list(consistency.game_errors(keys))
    if unplayable:
        errors.extend(unplayable)
        return None
    adversaries = [one.parameters for one in found["adversary"] if isinstance(one.parameters, Adversary)]
    data_files = [Path(name) for name in dict.fromkeys(name for one in adversaries for name in one.reads())]
    if data_files:
        admit(document.path, data_files, executed=False)
    met = matchups(registry, keys, found["adversary"], found["algorithms"], errors)
    about = () if invalid or errors else _claims(keys, found["adversary"], met, errors)
    if invalid or errors:
        return None
    given = {key: value for key, value in data.items() if key != "claims"}
    return Experiment(keys, tuple(found["adversary"]), tuple(found["algorithms"]), met, given, registry, about)


def _claims(keys: Keys, adversaries: list[Variant], met: Iterable[Matchup], errors: list[Error]) -> tuple[Claim, ...]:
    """The claims, checked against the tuned algorithms and the rounds recorded at every horizon."""
    if not keys.claims:
        return ()
    lineups = {id(matchup.algorithms): matchup.algorithms for matchup in met}
    recorded = [set(checkpoints(keys, settings.played(keys, matchup.setting)).tolist()) for matchup in met]
    return claims(
        keys, adversaries, [v for lineup in lineups.values() for v in lineup], sorted(set.union(*recorded)), errors
    )


def _valid_part(data: dict[str, Any], errors: list[Error]) -> tuple[Keys, set[str]]:
    """The keys, with placeholders for the invalid ones so that the others can be checked; and the invalid ones."""
    try:
        return Keys.model_validate(data), set()
    except ValidationError as error:
        errors.extend(translated(error, Keys, data, ()))
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
