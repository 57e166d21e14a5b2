"""The ends of what the models of algorithms and adversaries declare, and what may be said of them there."""

import linecache
import math
import traceback
from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import numpy as np
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from privbandits_cli.games.parameters import Or, Parameters
from privbandits_cli.games.players import Setting

LIMITS = ("ge", "gt", "le", "lt")
ENDLESS = {float: (1e300, math.inf), int: (2**62,)}  # where no upper end is declared
INSIDE = {"gt": math.inf, "lt": -math.inf}  # a limit that is not a value itself, and the direction of the nearest one


def ends(annotation: Any, metadata: Any = ()) -> Iterator[Any]:
    """The ends of every range that a field's type declares, and every choice of a literal."""
    kind, parts = get_origin(annotation), get_args(annotation)
    for word in [one for one in metadata if isinstance(one, Or)]:
        yield from ends(word.given)
    if kind in (Union, UnionType):
        for part in parts:
            yield from ends(part, metadata)
    elif kind is Annotated:
        limits = [limit for one in parts[1:] for limit in (one.metadata if isinstance(one, FieldInfo) else [one])]
        yield from ends(parts[0], limits)
    elif kind is Literal:
        yield from parts
    elif annotation is bool:
        yield from (False, True)
    elif annotation in ENDLESS:
        limits = {
            name: getattr(one, name) for one in metadata for name in ("ge", "gt", "le", "lt") if hasattr(one, name)
        }
        yield from (nearest(annotation, name, limit) for name, limit in limits.items())
        if not {"le", "lt"} & {*limits}:
            yield from ENDLESS[annotation]


def nearest(kind: type, name: str, limit: float) -> Any:
    """The last value before a limit."""
    if name not in INSIDE:
        return kind(limit)
    return limit + int(math.copysign(1, INSIDE[name])) if kind is int else math.nextafter(limit, INSIDE[name])


def changes(model: type[Parameters]) -> Iterator[dict[str, Any]]:
    """Nothing, then each parameter at each of its ends; a base's parameters, too."""
    yield {}
    for name, field in model.model_fields.items():
        if isinstance(field.default, Parameters):
            base = type(field.default)
            yield from ({name: base.model_validate(dict(field.default) | one)} for one in changes(base) if one)
        yield from ({name: value} for value in ends(field.annotation, field.metadata))


def variants(model: type[Parameters], make: Any, pairs: bool = True) -> list[Any]:
    """What `make` makes of each change, and in `pairs` of each together with the ends of ε."""
    epsilon = model.model_fields.get("epsilon") if pairs else None
    budgets = [{}, *({"epsilon": value} for value in (ends(epsilon.annotation, epsilon.metadata) if epsilon else ()))]
    found = {}
    for words in (budget | change for budget in budgets for change in changes(model)):
        try:
            made = make(**words)
        except ValidationError:  # one of them needs another value of the other
            continue
        found[made.identity()] = made
    return list(found.values())


def ours(error: BaseException) -> bool:
    """Whether this package raised an error itself, with a message for the user."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    raised = linecache.getline(last.filename, last.lineno or 0).strip().startswith("raise ")
    return isinstance(error, ValueError | ArithmeticError) and "privbandits_cli" in last.filename and raised


def unfit(player: Any, setting: Setting) -> list[str]:
    """Why a player cannot play, as an error of a config says it at the player's place."""
    try:
        errors = list(player.errors(setting))
        if not errors:
            player.tuned(setting)
    except ValueError as error:
        if not ours(error):
            raise
        errors = [str(error)]
    assert all(errors)
    return errors


def numbers(record: Any) -> Iterator[Any]:
    """The numbers in a state, nested records included."""
    for name in record.dtype.names:
        if record[name].dtype.names:
            yield from numbers(record[name])
        else:
            yield np.asarray(record[name])
