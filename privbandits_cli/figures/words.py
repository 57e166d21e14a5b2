"""The words of a picture, wrapped to a width."""

import re

from privbandits_cli.experiment.names import Name
from privbandits_cli.figures.mpl import inches


def wrapped(text: str, width: float, size: float) -> str:
    """The text on lines of at most this width in inches, in a size in points; a word that is longer is parted."""
    lines = [""]
    for part in re.findall(r"\n|[^\s]+(?: %)?|[^\S\n]+", text):  # a number stays with its %
        if part == "\n":
            lines.append("")
        elif inches(lines[-1] + part, size) <= width:
            lines[-1] += part
        else:
            lines.append("")
            for sign in part if inches(part, size) > width else [part]:
                if inches(lines[-1] + sign, size) > width:
                    lines.append("")
                lines[-1] += sign
    return "\n".join(line.strip() for line in lines if line.strip())


def on_lines(text: str, width: float, size: float) -> str:
    """The text of a label; of a name that is too wide, the notes are on lines of their own."""
    if isinstance(text, Name) and inches(text, size) > width:
        text = text.lines
    return escaped(wrapped(text, width, size))


def escaped(text: str) -> str:
    """The text with escaped dollar signs, between which matplotlib would read a formula."""
    return text.replace("$", r"\$")
