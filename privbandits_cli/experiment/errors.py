"""pydantic's errors -> errors in the terms of a config, at its places."""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from privbandits_cli.experiment.document import Error, Loc, dotted
from privbandits_cli.experiment.keys import FOLDER
from privbandits_cli.experiment.names import latin
from privbandits_cli.games.parameters import Parameters
from privbandits_cli.games.players import Algorithm
from privbandits_cli.numerics.text import meant, number_of
from privbandits_cli.plugins.registry import PlayerKind, Registry

LONG = 60  # characters of a config's text in a message
COMPOUND = ("list_type", "model_type", "dict_type")  # pydantic's errors for a value that is no list or mapping
NUMBERS = {  # what to write instead, by the type of pydantic's error
    "int_type": "an integer like 65536, 1e5 or 2^16",
    "float_type": "a number like 0.5, 1e-3 or 2^16",
}
FEW = 8  # names that a suggestion lists although one of them is similar
ENOUGH = 1_000  # errors of a config, after which no more are looked for
# Keys of an entry that concern the figure and are not parameters.
DRAWN: dict[PlayerKind, tuple[str, ...]] = {"adversaries": ("label",), "algorithms": ("label", "panel")}


def translated(
    error: ValidationError, model: type[BaseModel], data: Mapping[str, Any], loc: Loc, places: Mapping[str, Loc] = {}
) -> Iterator[Error]:
    """One error for each wrong place of `data`, which is at `loc`; `places` has the places of swept values.

    For a value of several possible types, pydantic reports an error for each type. Those deepest inside the value are
    taken to be of the type that was meant; those at one place are joined by "or".
    """
    reports: dict[str, dict[Loc, list[Any]]] = {}
    for detail in error.errors(include_url=False):
        inside = _in_document(detail["loc"], data, detail["type"] == "missing")
        head = str(inside[0]) if inside else ""
        reports.setdefault(head, {}).setdefault(inside, []).append(detail)
    for head, by_place in reports.items():
        deepest = max(len(inside) for inside in by_place)
        alternatives = any(len(inside) == 1 for inside in by_place) and deepest > 1
        for inside, details in by_place.items():
            if not alternatives or len(inside) == deepest:
                place = places.get(head, (*loc, head)) if head else loc
                yield _error(details, model, loc, (*place, *inside[1:]), inside)


def _error(details: list[Any], model: type[BaseModel], loc: Loc, place: Loc, inside: Loc) -> Error:
    kind = details[0]["type"]
    if kind == "extra_forbidden":
        unknown = str(details[0]["loc"][-1])
        message = f"unknown key '{short(unknown)}'" + suggestion(unknown, _known(model, inside[:-1]))
        return Error((*loc, *inside), message, at_key=True)
    if kind == "missing":
        return missing(place[:-1], str(inside[-1]))
    nearer = [detail for detail in details if not isinstance(detail["input"], str) or detail["type"] not in COMPOUND]
    wordings = dict.fromkeys(_wording(detail["msg"]) for detail in nearer or details)  # a word is meant as a name
    given, text = details[0]["input"], f"{dotted(inside)} {' or '.join(wordings)}, got ".lstrip()
    kinds = [detail["type"] for detail in details if detail["type"] in NUMBERS]
    hint = _number_for(given, kinds[-1]) if kinds and isinstance(given, str) and re.match(r"\W*\d", given) else ""
    written = {"None": "null", "True": "true", "False": "false"}.get(repr(given), repr(given))
    return Error(place, text + short(written) + hint)


def _number_for(text: str, kind: str) -> str:
    """`: write 0.5` for `50%`; if it means no number of this kind, how such numbers are written."""
    value = meant(text)
    return f": write {value if value and (kind == 'float_type' or value.isdecimal()) else NUMBERS[kind]}"


def missing(loc: Loc, key: str) -> Error:
    """The error that an entry at `loc` lacks a key."""
    return Error(loc, f"missing key '{key}'")


def _in_document(where: tuple[str | int, ...], data: Any, missing: bool) -> Loc:
    """pydantic's location without the names of union branches, which are not keys of the document."""
    inside: list[str | int] = []
    for step in where:
        here = step in data if isinstance(data, dict) else isinstance(data, list) and step in range(len(data))
        if here:
            inside.append(step)
            data = data[step]
    return (*inside, where[-1]) if missing else tuple(inside)


def _wording(message: str) -> str:
    message = message.removeprefix("Input ").removeprefix("String ")
    message = re.sub(r"a valid dictionary or instance of \w+", "a mapping", message)
    message = re.sub(r"0\.0{9,}\d+|\d{30,}", lambda digits: f"{float(digits[0]):g}", message)  # 1e-100 in full
    folder = "have letters from a to z, digits and _ . - only, and begin with a letter or digit"
    message = message.replace(f"match pattern '{FOLDER}'", folder)
    return message.replace("should be a valid integer", "should be an integer").replace("a valid ", "a ")


def _known(model: type[BaseModel], inside: Loc) -> list[str]:
    """The keys known at a place inside a model."""
    for step in inside:
        field = model.model_fields.get(str(step))
        parts = [field.annotation, *get_args(field.annotation)] if field else []
        model = next((part for part in parts if isinstance(part, type) and issubclass(part, BaseModel)), model)
    kind: PlayerKind = "algorithms" if issubclass(model, Algorithm) else "adversaries"
    return [*model.model_fields, *(DRAWN[kind] if issubclass(model, Parameters) else [])]


def suggestion(word: str, known: Iterable[str], shown: Mapping[str, str] = {}) -> str:
    """`, did you mean '...'?`; the known words, too, if they are few or if none is similar.

    shown: known words by the names that figures give them.
    """
    known = list(dict.fromkeys(known))
    meant = _meant(word, {**shown, **dict(zip(known, known, strict=True))}) if len(word) < LONG else None
    hint = f", did you mean '{meant}'?" if meant is not None else ""
    return hint if hint and len(known) > FEW else f"{hint} (known: {', '.join(known)})"


def _meant(word: str, known: Mapping[str, str]) -> str | None:
    """The known word that is meant: of a number the same number, else the word that is spelt most like this one."""
    number = number_of(word)
    if number is not None:
        return next((name for text, name in known.items() if number_of(text) == number), None)
    plain = {_plain(text): known[text] for text in reversed([*known])}  # if two plain texts are equal, the first counts
    close = difflib.get_close_matches(_plain(word), plain, n=1, cutoff=0.5)
    return plain[close[0]] if close else None


def _plain(text: str) -> str:
    """A word as the names of files are spelt: `exp3_tau` of `EXP3-τ`."""
    return re.sub(r"\W+", "_", "".join(map(latin, text)).lower().replace("+", "p")).strip("_")


def misfit(registry: Registry, model: type[Parameters], key: str, nested: Parameters) -> str | None:
    """Why an algorithm cannot be the value of another's field, with those that can; None if it can."""
    wanted = model.model_fields[key].annotation
    if not isinstance(wanted, type) or isinstance(nested, wanted):
        return None
    fit = ", ".join(name for name, other in registry.every("algorithms") if issubclass(other, wanted))
    return f"{nested.name} cannot be the {key} of {model.__module__.rpartition('.')[2]}; these can: {fit}"


def short(text: str) -> str:
    """A text of the config, cut if it is long."""
    return text if len(text) < LONG else text[: LONG - 3] + "..."
