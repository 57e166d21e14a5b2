"""What algorithms and adversaries of all games have in common: a name, parameters, an identity."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, core_schema

# Ranges in which the algorithms' arithmetic stays finite; the ends are far beyond what anybody needs.
Size = Annotated[float, Field(ge=1e-100, le=1e100)]  # a positive number
Share = Annotated[float, Field(ge=1e-30, le=1)]  # a probability with which something is to happen
Chance = Annotated[float, Field(ge=1e-300, lt=1)]  # a probability with which something may fail, such as δ


def left_out(description: str, word: str | None = None, **limits: Any) -> Any:
    """A parameter that a config may leave out, or set to null: `tuned` then gives it a value.

    It is declared with the type of its value: `eta: float = left_out("η; default 1/T", gt=0)`. word: its default
    until then, one of the words that `Or` allows.
    """
    return Field(word, description=description, **limits)


@dataclass(frozen=True)
class Or:
    """What a config may give in place of a number, such as the name of a rule: `tuned` replaces it by the number.

    It stands in an annotation: `tau: Annotated[int, Or(Literal["corollary_3.2"])]`.
    """

    given: Any

    def __get_pydantic_core_schema__(self, number: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Either the number or what may be given in its place."""
        return core_schema.union_schema([handler(number), handler.generate_schema(self.given)])


class Parameters(BaseModel):
    """The parameters of an algorithm or adversary; frozen."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, ser_json_inf_nan="strings")

    game: ClassVar[str]
    display: ClassVar[str] = ""  # the name in figures, `DP-{base}` with the base's; empty: the name of the file

    @model_validator(mode="before")
    @classmethod
    def _without_null(cls, given: Any) -> Any:
        """Drop null for a parameter that may be left out."""
        if not isinstance(given, Mapping):
            return given
        fields = cls.model_fields
        return {
            name: x for name, x in given.items() if x is not None or name not in fields or not _may_lack(fields[name])
        }

    def replace(self, **values: Any) -> Self:
        """The same parameters with these values."""
        return type(self).model_validate(dict(self) | values)

    def untuned(self) -> list[str]:
        """The parameters that still lack their values."""
        every = type(self).model_fields.items()
        return [name for name, field in every if _lacks(field, getattr(self, name))]

    @property
    def name(self) -> str:
        """The name used in a config, which is the name of the file."""
        return type(self).__module__.rpartition(".")[2]

    @property
    def title(self) -> str:
        """The name used in a figure."""
        return (self.display or self.name).replace("{base}", getattr(getattr(self, "base", None), "title", ""))

    def described(self) -> dict[str, Any]:
        """Name and parameters as plain data, nested ones included; infinity as the string `inf`."""
        out: dict[str, Any] = {"name": self.name}
        for field in type(self).model_fields:
            value = getattr(self, field)
            if isinstance(value, Parameters):
                value = value.described()
            elif isinstance(value, float) and math.isinf(value):
                value = "inf"
            out[field] = value
        return out

    def defaults(self, prefix: str = "") -> set[str]:
        """The dotted names of the parameters that have their defaults, nested ones included."""
        found: set[str] = set()
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            if isinstance(value, Parameters):
                found |= value.defaults(f"{prefix}{name}.")
            elif value == field.default:
                found.add(f"{prefix}{name}")
        return found

    def identity(self) -> str:
        """Canonical JSON of name and parameters; two players with the same identity play the same."""
        return json.dumps(self.described(), sort_keys=True, allow_nan=False)


def _may_lack(field: FieldInfo) -> bool:
    """Whether a parameter may be left out: its default is None, although its type does not allow None."""
    return field.default is None and type(None) not in get_args(field.annotation)


def _lacks(field: FieldInfo, value: Any) -> bool:
    """Whether this value of a parameter is None or a word, which `tuned` replaces."""
    word = isinstance(value, str) and any(isinstance(one, Or) for one in field.metadata)
    return word or (value is None and _may_lack(field))
