"""Docstrings and data as MyST Markdown."""

import re
from collections.abc import Iterable, Iterator, Sequence

from privbandits_cli.analysis.format import table as pipes

SIGNS = re.compile(r"([\\*_<>\[\]$#~|{}])")


def prose(text: str) -> str:
    """Text of a docstring as Markdown: what is in backquotes is code, and no sign beside them is markup."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else SIGNS.sub(r"\\\1", part) for part in parts)


def line(text: str) -> str:
    """Text of a docstring on one line of Markdown."""
    return prose(" ".join(text.split()))


def blocks(text: str) -> Iterator[str]:
    """The paragraphs and lists of a docstring, each followed by an empty line."""
    for part in re.split(r"\n\n+|\n(?=- )", text):
        if part.strip():
            item = part.startswith("- ")
            yield ("- " + line(part[2:]) if item else line(part)) + "\n"


def code(text: str) -> str:
    """Inline code in Markdown, between double backquotes if the text contains a backquote."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: int = 0) -> str:
    """A table; cells are Markdown on one line, and the last `numbers` columns are aligned to the right."""
    cells = [[re.sub(r"(?<!\\)\|", r"\\|", " ".join(cell.split())) for cell in row] for row in rows]
    return pipes(heads, cells, numbers=numbers)
