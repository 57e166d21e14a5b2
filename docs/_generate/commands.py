"""The commands, from the application that runs them (Typer's own classes, which sphinx-click does not know)."""

import textwrap
from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from _generate.markdown import code, prose, table
from privbandits_cli.cli import app


def pages() -> Iterator[tuple[str, str]]:
    """The fragment with every command: usage, help, arguments and options."""
    group: Any = get_command(app)
    context = group.make_context("privbandits", [], resilient_parsing=True)
    parts = [_described(group.commands[name], name, context) for name in group.list_commands(context)]
    yield "_generated/commands.md", "\n".join(line for part in parts for line in part) + "\n"


def _described(command: Any, name: str, parent: Any) -> Iterator[str]:
    context = command.make_context(name, [], parent=parent, resilient_parsing=True)
    yield f"(command-{name})="
    yield f"## privbandits {name}"
    yield ""
    yield "```text"
    yield " ".join(command.get_usage(context).removeprefix("Usage: ").split())
    yield "```"
    yield ""
    yield from helped(command.help)
    records = [parameter.get_help_record(context) for parameter in command.get_params(context)]
    rows = [[code(" ".join(names.split())), prose(text)] for names, text in filter(None, records)]
    yield table(["argument or option", ""], rows)
    yield ""


def helped(text: str) -> Iterator[str]:
    """The paragraphs of a command's help; one that begins with \\b is printed as it is."""
    for paragraph in text.split("\n\n"):
        if paragraph.startswith("\b"):
            head, _, rest = paragraph.removeprefix("\b\n").partition("\n")
            titled = head.endswith(":")
            shown = textwrap.dedent(rest if titled else f"{head}\n{rest}")
            yield f"{prose(head)}\n" * titled + f"\n```text\n{shown}\n```\n"
        else:
            yield f"{prose(' '.join(paragraph.split()))}\n"
