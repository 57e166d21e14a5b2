"""YAML text -> plain data that remembers the place of each key and value.

PyYAML reads YAML 1.1, in which `1e-3` is a string, `no` is false, `010` is 8 and the last of two equal keys silently
wins. Here numbers follow YAML 1.2, powers such as `2^18` are numbers as well, and a duplicate key is an error.
"""

import math
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import yaml

from privbandits_cli.experiment.received import CONTROL, printable

Loc = tuple[str | int, ...]

# No experiment comes near these limits. Within them, any document is read in about a second.
LONGEST = 200_000  # characters
MOST_VALUES = 20_000  # values; those of an anchor count wherever an alias repeats them
DEEPEST = 20  # lists and mappings inside each other
DIGITS = 300  # characters of the longest number that is read

BEFORE, SHOWN = 60, 160  # characters of a line before an error that are shown at most, and in all


def dotted(loc: Loc) -> str:
    """A place as an override writes it: `algorithms[1].epsilon`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in loc).lstrip(".")


@dataclass(frozen=True)
class Error:
    """An error at a place of the document."""

    loc: Loc
    message: str
    at_key: bool = False  # the key itself is wrong, not its value
    offset: int | None = None  # columns after the start of the value
    placed: bool = False  # the message names its place, which is in another file


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

    @cached_property
    def lines(self) -> list[str]:
        """The text's lines."""
        return self.text.splitlines()

    def line(self, number: int) -> str:
        """A line, counted from 0; empty at the end of the text."""
        return self.lines[number] if number < len(self.lines) else ""

    def place(self, error: Error) -> tuple[int, int]:
        """Line and column of an error, counted from 0; those of the enclosing entry where its own are not known."""
        places = self.keys if error.at_key else self.values
        for cut in range(len(error.loc), -1, -1):
            if error.loc[:cut] in places:
                line, column = places[error.loc[:cut]]
                start = self.line(line)[column:] if error.offset is not None else ""
                offset = (error.offset or 0) + start.startswith(("'", '"'))
                return line, column + (offset if offset <= len(start) else 0)  # 0: the error is on a later line
        return 0, 0

    def render(self, error: Error) -> str:
        """`file:line:col: message`, the line and a caret; or the override that caused the error."""
        for loc, text in self.overrides.items():
            if error.loc[: len(loc)] == loc or (error.loc and loc[: len(error.loc)] == error.loc):
                return f"override '{text}': {error.message}"
        if error.placed:
            return error.message
        line, column = self.place(error)
        start = max(0, column - BEFORE)  # a long line is cut around the error
        text = printable(self.line(line)[start : start + SHOWN])
        caret = f"\n    {text}\n    {' ' * (column - start)}^" if text.strip() else ""
        return f"{self.path}:{line + 1}:{column + 1}: {error.message}{caret}"


class _Refused(yaml.MarkedYAMLError):
    """YAML that is no config of ours: `problem` is the whole message."""


class _Loader(yaml.SafeLoader):
    """SafeLoader with the scalars of YAML 1.2 and with limits; it only composes nodes, and so runs nothing."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 (PyYAML's own shape)

    depth = composed = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """The next node; an alias is one node here, and `_plain` counts the values that it repeats."""
        self.composed += 1
        _refuse_excess(self.depth, self.composed, self.peek_event().start_mark)  # type: ignore[no-untyped-call]
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


def _refuse_excess(depth: int, values: int, mark: yaml.Mark) -> None:
    if depth > DEEPEST:
        raise _Refused(problem=f"this is nested more than {DEEPEST} levels deep: write it flatter", problem_mark=mark)
    if values > MOST_VALUES:
        message = f"a config has at most {MOST_VALUES:,} values, with those that aliases repeat: shorten it here"
        raise _Refused(problem=message, problem_mark=mark)


_POWER = re.compile(r"^\d+\^\d+$")
_INT = re.compile(r"^[-+]?\d+$")
_FLOAT = re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$")
_INFINITY = re.compile(r"^[-+]?(\.inf|\.Inf|\.INF|inf)$")
IMPLICIT = {kind: f"\0{kind}" for kind in ("bool", "null", "number")}  # tags that no document can write
TAGS = {
    yaml.ScalarNode: (*IMPLICIT.values(), "tag:yaml.org,2002:str"),
    yaml.SequenceNode: ("tag:yaml.org,2002:seq",),
    yaml.MappingNode: ("tag:yaml.org,2002:map",),
}
for _kind, _pattern, _first in (
    ("bool", re.compile(r"^(true|True|TRUE|false|False|FALSE)$"), "tTfF"),
    ("null", re.compile(r"^(~|null|Null|NULL|)$"), "~nN\0"),
    ("number", re.compile("|".join(p.pattern for p in (_POWER, _FLOAT, _INFINITY))), "-+.0123456789i"),
):
    _Loader.add_implicit_resolver(IMPLICIT[_kind], _pattern, list(_first) + ([""] if _kind == "null" else []))


def number(text: str) -> int | float:
    """`720`, `1e-3`, `2^18`, `.inf`; an integer for a whole number, unless it is written like `3.0`."""
    if len(text) > DIGITS:
        raise ValueError(f"a number of {len(text):,} characters is too long: give at most {DIGITS}")
    if _POWER.match(text):
        base, exponent = text.split("^")
        if len(base) * int(exponent) > DIGITS:
            raise ValueError(f"{text} is too large a number")
        power: int = int(base) ** int(exponent)
        return power
    if _INT.match(text):
        return int(text)
    if _INFINITY.match(text):
        return float(text.replace(".", ""))
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{text} is too large a number: for infinity write .inf")
    return int(value) if "e" in text.lower() and value.is_integer() and abs(value) < 2**63 else value


def _plain(node: yaml.Node, loc: Loc, document: Document) -> Any:
    """The node's data; records its place and those of its keys in the document."""
    document.values[loc] = (node.start_mark.line, node.start_mark.column)
    _refuse_excess(len(loc), len(document.values), node.start_mark)
    if node.tag not in TAGS[type(node)]:
        named = node.tag.replace("tag:yaml.org,2002:", "!!")
        document.errors.append(Error(loc, f"the tag {named} has no meaning in a config: leave it out"))
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item, (*loc, i), document) for i, item in enumerate(node.value)]
    if isinstance(node, yaml.MappingNode):
        out: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key, place = printable(str(key_node.value)), (key_node.start_mark.line, key_node.start_mark.column)
            problem = "" if isinstance(key_node, yaml.ScalarNode) else "a key is a word, not a list or a mapping"
            if key in out and not problem:
                problem = f"duplicate key '{key}', first on line {document.keys[(*loc, key)][0] + 1}"
            if problem:
                document.keys[(*loc, key, "\0again")] = place
                document.errors.append(Error((*loc, key, "\0again"), problem, at_key=True))
                continue
            document.keys[(*loc, key)] = place
            _refuse_controls(key_node, (*loc, key), document, at_key=True)
            out[key] = _plain(value_node, (*loc, key), document)
        return out
    return _scalar(node, loc, document)


def _scalar(node: yaml.Node, loc: Loc, document: Document) -> Any:
    text = printable(str(node.value))
    _refuse_controls(node, loc, document)
    if node.tag == IMPLICIT["number"]:
        try:
            return number(text)
        except ValueError as error:
            document.errors.append(Error(loc, str(error)))
            return 0
    return {IMPLICIT["bool"]: text.lower() == "true", IMPLICIT["null"]: None}.get(node.tag, text)


def _refuse_controls(node: yaml.Node, loc: Loc, document: Document, at_key: bool = False) -> None:
    if found := CONTROL.search(str(node.value)):
        document.errors.append(Error(loc, _control(found[0]), at_key))


def _control(sign: str) -> str:
    return f"the text holds the control character {printable(sign)}: leave it out"


def parse(text: str, path: str) -> Document:
    """Read a document; a syntax error becomes an error like any other."""
    document = Document(path, text)
    if len(text) > LONGEST:
        document.errors.append(Error((), f"a config has at most {LONGEST:,} characters: this one is longer"))
        return document
    try:
        node = _Loader(text).get_single_node()
        document.data = {} if node is None else _plain(node, (), document)
    except yaml.YAMLError as error:
        document.data = None
        document.values[()] = place = _place(error, text)
        document.errors = [Error((), _problem(error, text, document.line(place[0]), place[1]))]
        return document
    if not isinstance(document.data, dict):
        document.errors.append(Error((), "an experiment is a mapping of keys to values"))
    return document


def _place(error: yaml.YAMLError, text: str) -> tuple[int, int]:
    if isinstance(error, yaml.reader.ReaderError):
        before = text[: error.position]
        return before.count("\n"), len(before) - before.rfind("\n") - 1
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    return (mark.line, mark.column) if mark else (0, 0)


def _problem(error: yaml.YAMLError, text: str, line: str, column: int) -> str:
    """What is wrong with a text that is no YAML, or no config."""
    if isinstance(error, yaml.reader.ReaderError):
        return f"the character U+{ord(text[error.position]):04X} is not allowed in YAML: leave it out"
    problem = str(getattr(error, "problem", None) or error)
    if not isinstance(error, _Refused) and "\t" in (line[: len(line) - len(line.lstrip())] + line[column : column + 1]):
        return "not YAML: there is a tab here, and YAML takes spaces only: replace the tab by spaces"
    return problem if isinstance(error, _Refused) else f"not YAML: {problem}"


_STEP = re.compile(r"([A-Za-z_][\w]*)|\[(\d+)\]")


def override(document: Document, text: str) -> None:
    """Apply one `KEY=VALUE`, with KEY like `algorithms[1].epsilon` and VALUE as in YAML."""
    key, equals, value_text = text.partition("=")
    more = key.endswith("+")  # KEY+=VALUE adds to a list
    key = key.removesuffix("+")
    loc: Loc = tuple(name or int(index) for name, index in _STEP.findall(key))
    controls = CONTROL.search(text)
    if controls or not equals or not loc or re.sub(r"\.", "", _STEP.sub("", key)):
        problem = "write it as KEY=VALUE, without spaces, for example algorithms[1].epsilon=0.5"
        document.overrides[("\0", text)] = printable(text)
        document.errors.append(Error(("\0", text), _control(controls[0]) if controls else problem))
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
            problem = "takes an index, for example [0]" if isinstance(step, str) else known
            document.errors.append(Error(loc, f"'{dotted(loc[:depth])}' {problem}"))
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
