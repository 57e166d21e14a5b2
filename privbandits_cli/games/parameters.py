"""What algorithms and adversaries of all games have in common: a name, parameters, an identity."""

import json
import math
import sys
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

# Ranges in which the algorithms' arithmetic stays finite; the ends are far beyond what anybody needs.
Size = Annotated[float, Field(ge=1e-100, le=1e100)]  # a positive number
Share = Annotated[float, Field(ge=1e-30, le=1)]  # a probability with which something is to happen
Chance = Annotated[float, Field(ge=1e-300, lt=1)]  # a probability with which something may fail, such as δ


class Parameters(BaseModel):
    """The parameters of an algorithm or adversary; frozen."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, ser_json_inf_nan="strings")

    game: ClassVar[str]
    display: ClassVar[str] = ""
    later: ClassVar[frozenset[str]] = frozenset()  # parameters that older results do not have; see `recorded`
    formerly: ClassVar[Mapping[str, Mapping[str, str]]] = {}  # older words for values of a parameter, likewise

    @model_validator(mode="before")
    @classmethod
    def _older_words(cls, given: Any) -> Any:
        """Replace the words of older configs and results, which `formerly` lists, by those of today."""
        if not isinstance(given, Mapping):
            return given
        today = {name: {old: new for new, old in words.items()} for name, words in cls.formerly.items()}
        return {
            name: today[name].get(value, value) if name in today and isinstance(value, str) else value
            for name, value in given.items()
        }

    @property
    def name(self) -> str:
        """The name used in a config, which is the name of the file."""
        return type(self).__module__.rpartition(".")[2]

    @property
    def title(self) -> str:
        """The name used in a figure."""
        return self.display or self.name

    @classmethod
    def tuned_class(cls) -> type[Self]:
        """The class of tuned parameters: `Tuned` of the same file, or the same class where the file has none."""
        found: type[Self] = getattr(sys.modules[cls.__module__], "Tuned", cls)
        return found

    @classmethod
    def tuned_from(cls, values: dict[str, Any]) -> "Parameters":
        """The tuned parameters with these values, which may come from JSON."""
        return cls.tuned_class().model_validate(values, strict=False)

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

    def recorded(self) -> dict[str, Any]:
        """The parameters as older results record them: no new parameter at its default, values in their former words.

        A parameter that joins an algorithm, or a better word, then changes neither the random numbers nor the keys of
        older results.
        """
        out = self.described()
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            if isinstance(value, Parameters):
                out[name] = value.recorded()
            elif name in self.later and value == field.default:
                del out[name]
            elif name in self.formerly:
                out[name] = self.formerly[name].get(value, value)
        return out

    def identity(self) -> str:
        """Canonical JSON of name and parameters; two players with the same identity play the same."""
        return json.dumps(self.recorded(), sort_keys=True, allow_nan=False)
