"""text -> Experiment: every fault of a config at once, each with its place and a suggestion."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from privbandits_cli.experiment import settings, shipped
from privbandits_cli.experiment.claims import Claim, claims
from privbandits_cli.experiment.document import Document, Error, Loc, override, parse
from privbandits_cli.experiment.errors import translated
from privbandits_cli.experiment.keys import Grid, Keys
from privbandits_cli.experiment.matchups import Matchup, matchups
from privbandits_cli.experiment.variants import Variant, variants
from privbandits_cli.games.players import Setting
from privbandits_cli.plugins.registry import Kind, Registry, including

KEPT = "included"  # where a results folder keeps copies of the users' files that played


@dataclass(frozen=True)
class Experiment:
    """A valid experiment: what to run, not yet how."""

    keys: Keys
    adversaries: tuple[Variant, ...]  # as given
    algorithms: tuple[Variant, ...]  # as given
    matchups: tuple[Matchup, ...]  # for each adversary one in each setting
    given: dict[str, Any]  # as the config says it, with overrides and --smoke applied
    registry: Registry  # in which its names were found
    claims: tuple[Claim, ...] = ()  # what papers say of it; none of what is played

    @property
    def settings(self) -> list[Setting]:
        """One for each horizon and each dimension."""
        return settings.settings(self.keys)

    def resolved(self) -> dict[str, Any]:
        """The experiment as plain data, tuned parameters and defaults written out; runs as a config.

        Who is tuned otherwise for each setting or adversary stands there as given.
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
        unsaid = {"smoke", "claims", *settings.foreign(self.keys), *([] if self.keys.include else ["include"])}
        return self.keys.model_dump(exclude=unsaid, exclude_none=True) | {
            "adversary": adversaries,
            "algorithms": algorithms,
        }


class ConfigError(Exception):
    """A config that cannot be run; `errors` are ready to print."""

    def __init__(self, errors: list[str]) -> None:
        super().__init__("\n".join(errors))
        self.errors = errors


def load(
    path: Path, overrides: list[str] | None = None, smoke: bool = False, include: Sequence[Path] = ()
) -> Experiment:
    """Read a config, apply the overrides, check all of it; raises ConfigError with every fault.

    path: a file, or the name of a shipped config. include: users' files, beside those that the config names.
    """
    path = shipped.located(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        known = f"; shipped are: {', '.join(shipped.names())}" if path.parent == Path() else ""
        if str(path) in Registry().names("algorithms"):
            known = f"; {path} is an algorithm, and this wants a config: try `privbandits show {path}`"
        raise ConfigError([f"{path}: cannot be read: {reason}{known}"]) from error
    document = parse(text, str(path))
    experiment = None
    if isinstance(document.data, dict):
        given = overrides or []
        for item in given:
            if item.startswith("smoke"):  # it says what to shrink to
                override(document, item)
        if smoke:
            _shrink(document)
        for item in given:
            if not item.startswith("smoke"):
                override(document, item)
        if smoke or any(not item.startswith("claims") for item in given):
            document.data.pop("claims", None)  # they are of the experiment as it stands, not of another one
        if smoke:  # a folder of its own, so that nothing of the real size is overwritten
            document.data["experiment"] = f"{document.data.get('experiment', '')}-smoke"
        experiment = _check(document, _included(document, path.parent, include))
    if document.errors or experiment is None:
        ordered = sorted(dict.fromkeys(document.errors), key=document.place)
        raise ConfigError([document.render(fault) for fault in ordered])
    return experiment


def _included(document: Document, folder: Path, further: Sequence[Path]) -> Registry:
    """The registry with the users' files; a config that a run left has copies of them beside it."""
    given = document.data.get("include", [])
    named = [given] if isinstance(given, str) else given if isinstance(given, list) else []
    names = [*dict.fromkeys([*map(str, named), *(path.as_posix() for path in further)])]
    if further:
        document.data["include"] = names
    copies = [folder / KEPT / Path(name).name for name in names]
    files = [copy.as_posix() if copy.exists() else name for name, copy in zip(names, copies, strict=True)]
    registry, errors = including(map(Path, files))
    if errors:
        raise ConfigError(errors)
    return registry


def _shrink(document: Document) -> None:
    """Replace keys by those under `smoke`."""
    small = document.data.get("smoke")
    if isinstance(small, dict):
        for key, value in small.items():
            document.data[key] = value
            document.values[(key,)] = document.values.get(("smoke", key), (0, 0))
            document.keys[(key,)] = document.keys.get(("smoke", key), (0, 0))
            if ("smoke", key) in document.overrides:
                document.overrides[(key,)] = document.overrides["smoke", key]


# --------------------------------------------------------------------------------------------- checking


def _check(document: Document, registry: Registry) -> Experiment | None:
    """The experiment, or None with the document's errors filled in."""
    data, errors = document.data, document.errors
    keys, wrong = _valid_part(data, errors)
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
    errors.extend(_disagreements(keys, wrong))
    if not wrong:
        errors.extend(_undrawable(keys, [*found["adversary"], *found["algorithms"]]))
    if wrong & {"game", "horizon", "planned_horizon", "arms", "set", "dimension", "feedback"}:
        return None
    unplayable = list(settings.errors(keys))
    if unplayable:
        errors.extend(unplayable)
        return None
    met = matchups(registry, keys, found["adversary"], found["algorithms"], errors)
    said = () if wrong or errors else _claims(keys, found["adversary"], met, errors)
    if wrong or errors:
        return None
    given = {key: value for key, value in data.items() if key != "claims"}
    return Experiment(keys, tuple(found["adversary"]), tuple(found["algorithms"]), met, given, registry, said)


def _claims(keys: Keys, adversaries: list[Variant], met: Iterable[Matchup], errors: list[Error]) -> tuple[Claim, ...]:
    """The claims, checked against the tuned algorithms and against the rounds that every horizon records."""
    if not keys.claims:
        return ()
    lineups = {id(matchup.algorithms): matchup.algorithms for matchup in met}
    recorded = [set(checkpoints(keys, settings.played(keys, matchup.setting)).tolist()) for matchup in met]
    return claims(
        keys, adversaries, [v for lineup in lineups.values() for v in lineup], sorted(set.union(*recorded)), errors
    )


def _valid_part(data: dict[str, Any], errors: list[Error]) -> tuple[Keys, set[str]]:
    """The keys, those at fault replaced by a stand-in so that the others can still be checked."""
    try:
        return Keys.model_validate(data), set()
    except ValidationError as error:
        errors.extend(translated(error, Keys, data, ()))
        wrong = {str(detail["loc"][0]) for detail in error.errors()}
    stand_in = {"experiment": "x", "horizon": 2**50, "trials": 24, "adversary": None, "algorithms": None}
    return Keys.model_validate(stand_in | {k: v for k, v in data.items() if k not in wrong}), wrong


def _disagreements(keys: Keys, wrong: set[str]) -> Iterator[Error]:
    """Errors between keys that are each right by themselves."""
    groups, trials = keys.summary.groups, keys.trials
    grouped = keys.summary.centre == "median_of_means" and not wrong & {"trials", "summary"}
    if grouped and trials % groups:
        nearest = " or ".join(str(n * groups) for n in (trials // groups, trials // groups + 1) if n)
        told = f"take {nearest}, or `summary: {{centre: mean}}`"
        yield Error(("trials",), f"{trials} trials are no multiple of {groups} groups (summary.groups); {told}")
    if isinstance(keys.checkpoints, list) and not wrong & {"horizon", "checkpoints"}:
        shortest = min(settings.listed(keys.horizon))
        for i, round_ in enumerate(keys.checkpoints):
            if round_ > shortest:
                yield Error(("checkpoints", i), f"round {round_} lies beyond the horizon {shortest}")


def _undrawable(keys: Keys, players: list[Variant]) -> Iterator[Error]:
    """Errors of a figure against what is not swept."""
    swept = {name: None for variant in players for name in variant.swept}
    spread = {name for variant in players for name in variant.parameters.described() if not swept}  # by `resolved`
    swept |= dict.fromkeys(key for key in ("horizon", "set", "dimension") if isinstance(getattr(keys, key), list))
    for key in ("against", "worst"):
        name = getattr(keys.plot, key)
        if name and name.removeprefix("adversary.") not in swept.keys() | spread:
            known = f"these are: {', '.join(swept)}" if swept else "give it a list of values"
            yield Error(("plot", key), f"no parameter '{name}' is swept; {known}")
    floor = keys.plot.price.floor if keys.plot.price else None
    if floor and floor not in {variant.parameters.name for variant in players}:
        yield Error(("plot", "price", "floor"), f"no algorithm '{floor}' plays here: name one of this experiment")
    if floor and not keys.plot.against:
        yield Error(("plot", "price"), "what privacy costs is drawn against a swept parameter: name it in `against`")
    if keys.plot.slopes and not keys.plot.against:
        yield Error(("plot", "slopes"), "slopes are fitted over `against`: name a swept parameter there")


def checkpoints(keys: Keys, horizon: int) -> NDArray[np.int64]:
    """The rounds at which regret is recorded, increasing, the horizon the last."""
    wanted = keys.checkpoints
    if isinstance(wanted, list):
        rounds = np.array([*wanted, horizon], np.int64)
    else:
        grid = Grid(count=wanted) if isinstance(wanted, int) else wanted
        space = np.geomspace if grid.spacing == "log" else np.linspace
        start = 1.0 if grid.spacing == "log" else horizon / grid.count
        rounds = np.append(np.rint(space(start, horizon, grid.count)).astype(np.int64), horizon)
    return np.unique(np.clip(rounds, 1, horizon))
