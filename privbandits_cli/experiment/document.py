"""YAML text -> plain data that remembers the place of each key and value.

PyYAML reads YAML 1.1, in which `1e-3` is a string, `no` is false, `010` is 8 and the last of two equal keys silently
wins. Here numbers follow YAML 1.2, powers such as `2^18` are numbers as well, and a duplicate key is an error.
"""

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from privbandits_cli.experiment.received import CONTROL, shown

Loc = tuple[str | int, ...]


@dataclass(frozen=True)
class Error:
    """An error at a place of the document."""

    loc: Loc
    message: str
    at_key: bool = False  # the key itself is wrong, not its value
    offset: int | None = None  # columns after the start of the value


@dataclass
class Document:
    """Plain data, its text, and the `(line, column)` of each place, counted from 0."""

    path: str
    text: str
    data: Any = None
    values: dict[Loc, tuple[int, int]] = field(default_factory=dict)
    keys: dict[Loc, tuple[int, int]] = field(default_factory=dict)
    overrides: dict[Loc, str] = field(default_factory=dict)  # the KEY=VALUE that set it
    errors: list[Error] = field(default_factory=list)

    def place(self, error: Error) -> tuple[int, int]:
        """Line and column of an error, counted from 0; those of the enclosing entry where its own are not known."""
        places = self.keys if error.at_key else self.values
        for cut in range(len(error.loc), -1, -1):
            if error.loc[:cut] in places:
                line, column = places[error.loc[:cut]]
                start = self.text.splitlines()[line][column:] if error.offset is not None else ""
                offset = (error.offset or 0) + start.startswith(("'", '"'))
                return line, column + (offset if offset <= len(start) else 0)  # 0: the error is on a later line
        return 0, 0

    def render(self, error: Error) -> str:
        """`file:line:col: message`, the line and a caret; or the override that caused the error."""
        for loc, text in self.overrides.items():
            if error.loc[: len(loc)] == loc or (error.loc and loc[: len(error.loc)] == error.loc):
                return f"override '{text}': {error.message}"
        line, column = self.place(error)
        lines = self.text.splitlines() or [""]
        text = shown(lines[line]) if line < len(lines) else ""
        return f"{self.path}:{line + 1}:{column + 1}: {error.message}\n    {text}\n    {' ' * column}^"


class _Loader(yaml.SafeLoader):
    """SafeLoader with the scalars of YAML 1.2."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 (PyYAML's own shape)


_POWER = re.compile(r"^\d+\^\d+$")
_INT = re.compile(r"^[-+]?\d+$")
_FLOAT = re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$")
_INFINITY = re.compile(r"^[-+]?(\.inf|\.Inf|\.INF|inf)$")
for _tag, _pattern, _first in (
    ("bool", re.compile(r"^(true|True|TRUE|false|False|FALSE)$"), "tTfF"),
    ("null", re.compile(r"^(~|null|Null|NULL|)$"), "~nN\0"),
    ("number", re.compile("|".join(p.pattern for p in (_POWER, _FLOAT, _INFINITY))), "-+.0123456789i"),
):
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", _pattern, list(_first) + ([""] if _tag == "null" else [])
    )


def number(text: str) -> int | float:
    """`720`, `1e-3`, `2^18`, `.inf`; an integer for a whole number, unless it is written like `3.0`."""
    if _POWER.match(text):
        base, exponent = text.split("^")
        if len(base) * int(exponent) > 300:
            raise ValueError(f"{text} is too large a number")
        power: int = int(base) ** int(exponent)
        return power
    if _INT.match(text):
        return int(text)
    if _INFINITY.match(text):
        return float(text.replace(".", ""))
    value = float(text)
    return int(value) if "e" in text.lower() and value.is_integer() and abs(value) < 2**63 else value


def _plain(node: yaml.Node, loc: Loc, document: Document) -> Any:
    """The node's data; records its place and those of its keys in the document."""
    document.values[loc] = (node.start_mark.line, node.start_mark.column)
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item, (*loc, i), document) for i, item in enumerate(node.value)]
    if isinstance(node, yaml.MappingNode):
        out: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key, place = str(key_node.value), (key_node.start_mark.line, key_node.start_mark.column)
            if key in out:
                again = (*loc, key, "\0again")
                message = f"duplicate key '{key}', first on line {document.keys[(*loc, key)][0] + 1}"
                document.errors.append(Error(again, message, at_key=True))
                document.keys[again] = place
                continue
            document.keys[(*loc, key)] = place
            out[key] = _plain(value_node, (*loc, key), document)
        return out
    return _scalar(node, loc, document)


def _scalar(node: yaml.Node, loc: Loc, document: Document) -> Any:
    kind = node.tag.rpartition(":")[2]
    text = str(node.value)
    if found := CONTROL.search(text):
        document.errors.append(Error(loc, f"the text holds the control character {shown(found[0])}: leave it out"))
    if kind in ("number", "int", "float"):
        try:
            return number(text)
        except ValueError as error:
            document.errors.append(Error(loc, str(error)))
            return 0
    return {"bool": text.lower() == "true", "null": None}.get(kind, text)


def parse(text: str, path: str) -> Document:
    """Read a document; a syntax error becomes an error like any other."""
    document = Document(path, text)
    try:
        node = _Loader(text).get_single_node()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        document.values[()] = (mark.line, mark.column) if mark else (0, 0)
        document.errors.append(Error((), f"not YAML: {getattr(error, 'problem', None) or error}"))
        return document
    try:
        document.data = {} if node is None else _plain(node, (), document)
    except RecursionError:
        document.errors.append(Error((), "an anchor refers to itself"))
        return document
    if not isinstance(document.data, dict):
        document.errors.append(Error((), "an experiment is a mapping of keys to values"))
    return document


_STEP = re.compile(r"([A-Za-z_][\w]*)|\[(\d+)\]")


def override(document: Document, text: str) -> None:
    """Apply one `KEY=VALUE`, with KEY like `algorithms[1].epsilon` and VALUE as in YAML."""
    key, equals, value_text = text.partition("=")
    more = key.endswith("+")  # KEY+=VALUE adds to a list
    key = key.removesuffix("+")
    loc: Loc = tuple(name or int(index) for name, index in _STEP.findall(key))
    if not equals or not loc or re.sub(r"\.", "", _STEP.sub("", key)):
        document.overrides[("\0", text)] = text
        document.errors.append(Error(("\0", text), "write it as KEY=VALUE, for example algorithms[1].epsilon=0.5"))
        return
    parsed = yaml_value(value_text)
    if not more:
        document.overrides[loc] = text
    holder: Any = document.data
    parent: Any = None
    for depth, step in enumerate(loc):
        if isinstance(step, str) and isinstance(holder, str):  # `exp3` gains a parameter: {name: exp3, ...}
            holder = parent[loc[depth - 1]] = {"name": holder}
        fits = isinstance(holder, dict) if isinstance(step, str) else isinstance(holder, list) and step < len(holder)
        if not fits:
            known = f"has {len(holder)} entries, counted from 0" if isinstance(holder, list) else "is not a list"
            where = "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in loc[:depth]).lstrip(".")
            problem = "takes an index, for example [0]" if isinstance(step, str) else known
            document.errors.append(Error(loc, f"'{where}' {problem}"))
            return
        if depth == len(loc) - 1:
            holder[step] = _extended(document, loc, holder, text, parsed) if more else parsed
        else:
            parent, holder = holder, holder.setdefault(step, {}) if isinstance(holder, dict) else holder[step]


def _extended(document: Document, loc: Loc, holder: Any, text: str, parsed: Any) -> list[Any]:
    """The list that `KEY+=VALUE` leaves; a single value counts as a list of one."""
    given = holder.get(loc[-1]) if isinstance(holder, dict) else holder[loc[-1]]
    before = given if isinstance(given, list) else [] if given is None else [given]
    added = parsed if isinstance(parsed, list) else [parsed]
    for i in range(len(before), len(before) + len(added)):
        document.overrides[(*loc, i)] = text
    return [*before, *added]


def yaml_value(text: str) -> Any:
    """One value as it would be read from a YAML file."""
    inner = parse(f"value: {text}", "override")
    return text if inner.errors else inner.data.get("value")
