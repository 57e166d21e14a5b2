"""The keys of a config, from the JSON schema that validates it."""

import json
import math
from collections.abc import Iterator
from typing import Any

from _generate import ROOT
from _generate.markdown import line, table
from privbandits_cli.actions.exports import ledger_schema
from privbandits_cli.experiment.schema import NUMBER

SECTIONS = ("Summary", "Unit", "Plot", "Price", "Grid", "Inequalities", "StatedClaim")  # mappings within a config
NAMES = {"integer": "whole number", "number": "number", "boolean": "true or false", "string": "text"}
LIMITS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}

POWERS = NUMBER["description"]  # that a number may be written as a power is said once, not at every key


def pages() -> Iterator[tuple[str, str]]:
    """The fragments with every key and every section, and with the fields of the ledger."""
    schema = json.loads((ROOT / "configs" / "experiment.schema.json").read_text(encoding="utf-8"))
    yield "_generated/keys.md", "\n".join(_tables(schema)) + "\n"
    yield "_generated/ledger.md", "\n".join(_ledger(ledger_schema()["$defs"])) + "\n"


def _ledger(parts: dict[str, Any]) -> Iterator[str]:
    """The fields of a block of the ledger, and of each of its bounds."""
    for name, head in {"Block": "field of an algorithm", "Bound": "field of a bound"}.items():
        rows = [[f"`{key}`", line(field.get("description", ""))] for key, field in parts[name]["properties"].items()]
        yield table([head, ""], rows) + "\n"


def _tables(schema: dict[str, Any]) -> Iterator[str]:
    yield _keys(schema)
    for name in SECTIONS:
        section = schema["$defs"][name]
        yield f"\n(keys-{name.lower()})=\n## {name}\n\n{line(section['description'])}\n\n{_keys(section)}"


def _keys(section: dict[str, Any]) -> str:
    required = section.get("required", [])
    rows = [
        [f"`{key}`", values(field), _default(field, key in required), line(field.get("description", ""))]
        for key, field in section["properties"].items()
    ]
    return table(["key", "value", "default", ""], rows)


def _default(field: dict[str, Any], required: bool) -> str:
    default = field.get("default")
    if required:
        return "**required**"
    return "" if default in (None, "", []) or isinstance(default, dict) else f"`{json.dumps(default)}`"


def values(field: dict[str, Any]) -> str:
    """What a key may have as its value, in words, as Markdown."""
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return f"[{name}](#keys-{name.lower()})" if name in SECTIONS else f"one of the [{name}](../{name}/index.md)"
    if "const" in field:
        return f"`{field['const']}`"
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    if "anyOf" in field:
        parts = [part for part in field["anyOf"] if part.get("type") != "null" and part.get("description") != POWERS]
        found = dict.fromkeys(values(part) for part in parts)
        return "; or ".join(found)
    if field.get("type") == "array":
        return f"a list of: {values(field['items'])}"
    limits = [f"{sign} {_number(field[key])}" for key, sign in LIMITS.items() if key in field]
    return " ".join([NAMES.get(field.get("type", ""), "mapping"), *limits])


def _number(value: float) -> str:
    """A limit: powers of two and ten as powers."""
    power = math.log2(value) if value > 0 else 0.5
    return f"2^{power:.0f}" if power > 20 and power.is_integer() else f"{value:,}" if value < 1e6 else f"{value:g}"
