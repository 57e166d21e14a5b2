"""An entry of a config, `{name: ..., parameter: ...}`, and its variants: every list of values is swept."""

import itertools
import math
import types
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import ValidationError

from privbandits_cli.experiment.document import Error, Loc, dotted
from privbandits_cli.experiment.errors import DRAWN, ENOUGH, misfit, missing, short, suggestion, translated
from privbandits_cli.experiment.names import Name
from privbandits_cli.games.parameters import Parameters
from privbandits_cli.games.players import Algorithm
from privbandits_cli.plugins.registry import PlayerKind, Registry

MOST_VARIANTS = 10_000  # the most variants that one entry may give


@dataclass(frozen=True)
class Variant:
    """One algorithm or adversary of a config, with one value for each swept parameter."""

    parameters: Parameters
    label: str
    swept: Mapping[str, Any]  # parameter -> value, of the parameters that the config sweeps
    loc: Loc
    panel: str = ""  # an algorithm's own panel beside its adversary's; empty: the adversary's

    @property
    def title(self) -> str:
        """The label, or else the title of its file."""
        return self.label or self.parameters.title

    def named(self) -> Name:
        """The title with the swept values; without epsilon, which comes with the guarantee."""
        notes = {name: f"{name} = {value}" for name, value in self.swept.items() if name != "epsilon"}
        return Name(self.title, notes)

    def described(self) -> dict[str, Any]:
        """The entry of a config that gives this variant; a list of one value keeps a parameter swept."""
        drawn = {"label": self.label, "panel": self.panel}
        return _relisted(self.parameters.described(), self.swept) | {key: text for key, text in drawn.items() if text}


def _relisted(described: Mapping[str, Any], swept: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in described.items():
        if isinstance(value, Mapping):  # `swept` has the name of a swept base, and its parameters under dotted names
            inside = f"{name}."
            inner = {key.removeprefix(inside): x for key, x in swept.items() if key.startswith(inside)}
            out[name] = [_relisted(value, inner)] if name in swept else _relisted(value, inner)
        else:
            out[name] = [swept[name]] if name in swept else value
    return out


def variants(registry: Registry, kind: PlayerKind, entry: Any, loc: Loc, errors: list[Error]) -> list[Variant]:
    """The variants of an entry, one for each combination of listed values."""
    alone = isinstance(entry, str)
    if alone:
        entry = {"name": entry}
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        errors.append(Error(loc, "write a name, or {name: ..., parameter: ...}"))
        return []
    name = entry["name"]
    try:
        model = registry.find(kind, name)
    except KeyError:
        if name in registry.unusable:
            return []
        what = {"algorithms": "algorithm", "adversaries": "adversary"}[kind]
        message = f"unknown {what} '{short(name)}'" + suggestion(name, registry.names(kind), registry.displays(kind))
        errors.append(Error((*loc, "name"), message))
        return []
    needed = [key for key, field in model.model_fields.items() if field.is_required()]
    if alone and needed:
        written = "".join(f", {key}: ..." for key in needed)
        errors.append(Error(loc, f"{missing(loc, needed[0]).message}: write {{name: {name}{written}}}"))
        return []
    drawn = {key: entry.get(key, "") for key in DRAWN[kind]}
    for key, text in drawn.items():
        if not isinstance(text, str):
            errors.append(Error((*loc, key), f"a {key} should be text, got {short(repr(text))}"))
    values = {key: value for key, value in entry.items() if key not in ("name", *drawn)}
    choices = {key: _choices(registry, model, key, value, (*loc, key), errors) for key, value in values.items()}
    unread = {missing(loc, key) for key, valid in choices.items() if not valid}  # these keys have errors already
    choices = {key: valid for key, valid in choices.items() if valid}
    if math.prod(map(len, choices.values())) > MOST_VARIANTS:
        errors.append(Error(loc, f"its lists have more than {MOST_VARIANTS:,} combinations: sweep fewer values"))
        return []
    out = []
    for combination in itertools.product(*choices.values()):
        chosen = {key: choice.value for key, choice in zip(choices, combination, strict=True)}
        swept = {name: value for choice in combination for name, value in choice.swept.items()}
        try:
            made = Variant(model.model_validate(chosen), loc=loc, swept=swept, **drawn)
            out += [] if unread else [made]
        except ValidationError as error:
            places = {key: choice.loc for key, choice in zip(choices, combination, strict=True)}
            found = translated(error, model, chosen, loc, places)
            errors.extend(islice((each for each in found if each not in unread), ENOUGH))
            if len(errors) > ENOUGH:
                break
    return out


def single(registry: Registry, kind: PlayerKind, entry: Mapping[str, Any]) -> Parameters:
    """The player of an entry with one value for each parameter; KeyError if it is wrong, or has several."""
    errors: list[Error] = []
    made = variants(registry, kind, dict(entry), (), errors)
    if errors:
        raise KeyError(": ".join(filter(None, (entry["name"], dotted(errors[0].loc), errors[0].message))))
    if len(made) > 1:
        raise KeyError(f"{entry['name']}: these are several values: give one of them")
    return made[0].parameters


def flat(described: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested parameters by dotted names."""
    out: dict[str, Any] = {}
    for name, value in described.items():
        out |= flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": value}
    return out


@dataclass(frozen=True)
class _Choice:
    """One value of a parameter."""

    value: Any
    swept: dict[str, Any]
    loc: Loc


def _choices(
    registry: Registry, model: type[Parameters], key: str, value: Any, loc: Loc, errors: list[Error]
) -> list[_Choice]:
    """The values of a parameter: one, those of a list, or the variants of a nested algorithm."""
    field = model.model_fields.get(key)
    annotation = field.annotation if field else None
    if field and isinstance(field.default, Parameters) and isinstance(value, dict) and "name" not in value:
        value = {"name": field.default.name} | value  # only one base fits, so its name may be left out
    if isinstance(annotation, type) and issubclass(annotation, Algorithm):
        listed = isinstance(value, list)
        entries = [(item, (*loc, i)) for i, item in enumerate(value)] if listed else [(value, loc)]
        out = []
        for v in [v for item, at in entries for v in variants(registry, "algorithms", item, at, errors)]:
            message = misfit(registry, model, key, v.parameters)
            if message:
                errors.append(Error(v.loc, message))
            else:
                inner = {f"{key}.{name}": x for name, x in v.swept.items()}
                out.append(_Choice(v.parameters, inner | ({key: v.parameters.name} if listed else {}), v.loc))
        return out
    if isinstance(value, list) and field and _is_sweep(annotation, value):
        if not value:
            errors.append(Error(loc, "an empty list sweeps nothing"))
        return [_Choice(item, {key: item}, (*loc, i)) for i, item in enumerate(value)]
    return [_Choice(value, {}, loc)]


def _is_sweep(annotation: Any, values: list[Any]) -> bool:
    """Whether a list is several values of this type, not one of them."""
    levels = _levels(annotation)
    kinds = get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)
    words = any(kind is str or get_origin(kind) is Literal for kind in kinds)
    alone = [_depth(value) >= levels or (words and isinstance(value, str)) for value in values]
    return not levels or (bool(alone) and all(alone))


def _levels(annotation: Any) -> int:
    """How many lists are inside each other in a value of this type."""
    inner = max((_levels(part) for part in get_args(annotation)), default=0)
    return inner + ((get_origin(annotation) or annotation) in (list, tuple))


def _depth(value: Any) -> int:
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list) else 0
