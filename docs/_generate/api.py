"""The names of the Python API, with their docstrings."""

from collections.abc import Iterator

import privbandits_cli


def pages() -> Iterator[tuple[str, str]]:
    """The fragment with a table of the names that `privbandits_cli` lists, and what autodoc says of each."""
    names = [name for name in privbandits_cli.__all__ if not name.startswith("_")]
    listed = "\n".join(f"   {name}" for name in names)
    said = "\n".join(f".. autofunction:: {name}" for name in names)
    head = f".. currentmodule:: privbandits_cli\n\n.. autosummary::\n   :nosignatures:\n\n{listed}"
    yield "_generated/api.md", f"```{{eval-rst}}\n{head}\n\n{said}\n```\n"
