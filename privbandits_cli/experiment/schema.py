"""The JSON schema of an experiment, made from the models that validate it."""

from typing import Any

from privbandits_cli.experiment.errors import DRAWN
from privbandits_cli.experiment.keys import Keys
from privbandits_cli.games.parameters import Parameters
from privbandits_cli.games.players import Algorithm
from privbandits_cli.plugins.registry import PlayerKind, Registry

NULL = {"type": "null"}
NUMBER = {"type": "string", "pattern": r"^(\d+\^\d+|\.inf)$", "description": "2^18, .inf"}


def schema() -> dict[str, Any]:
    """JSON schema, draft 2020-12: keys, names, parameters with their descriptions; any parameter may be a list."""
    registry = Registry()
    out = Keys.model_json_schema()
    definitions: dict[str, Any] = out.setdefault("$defs", {})
    kinds: tuple[PlayerKind, ...] = ("algorithms", "adversaries")
    for kind in kinds:
        for name, model in registry.every(kind):
            definitions[name] = _entry(name, model, definitions)
        named = [{"$ref": f"#/$defs/{name}"} for name in registry.names(kind)]
        definitions[kind] = {"anyOf": [{"enum": list(registry.names(kind))}, *named]}
    for key, kind in (("algorithms", "algorithms"), ("adversary", "adversaries")):
        one = {"$ref": f"#/$defs/{kind}"}
        described = {"description": out["properties"][key]["description"]}
        out["properties"][key] = {"anyOf": [one, {"type": "array", "items": one}]} | described
    for key in ("horizon", "arms", "trials"):
        field = out["properties"][key]
        out["properties"][key] = {"anyOf": [field, NUMBER], "description": field.get("description", key)}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "privbandits experiment"} | {
        key: value for key, value in out.items() if key != "title"
    }


def _entry(name: str, model: type[Parameters], definitions: dict[str, Any]) -> dict[str, Any]:
    """The mapping form `{name: ..., parameter: ...}` of one algorithm or adversary."""
    made = model.model_json_schema()
    for key, value in made.pop("$defs", {}).items():
        definitions.setdefault(key, value)
    drawn = DRAWN["algorithms" if issubclass(model, Algorithm) else "adversaries"]
    properties: dict[str, Any] = {"name": {"const": name}} | {key: {"type": "string"} for key in drawn}
    for key, field in made.get("properties", {}).items():
        annotation = model.model_fields[key].annotation
        nested = isinstance(annotation, type) and issubclass(annotation, Algorithm)
        value = {"$ref": "#/$defs/algorithms"} if nested else {k: v for k, v in field.items() if k != "default"}
        lacks_null = "default" in field and field["default"] is None and NULL not in field.get("anyOf", [])
        one = {"anyOf": [value, NUMBER, *[NULL] * lacks_null]}
        properties[key] = {"anyOf": [*one["anyOf"], {"type": "array", "items": one}]}
        properties[key]["description"] = field.get("description", "")
    required = ["name", *made.get("required", [])]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
