"""The words of a figure: wrapped to a width, and without what all curves share."""

import re
from collections.abc import Sequence

from privbandits_cli.accounting.rounding import at_most
from privbandits_cli.experiment.names import Name
from privbandits_cli.figures.line import Line
from privbandits_cli.figures.mpl import inches


def wrapped(text: str, width: float, size: float) -> str:
    """The text on lines of at most this width in inches, in a size in points; a word that is longer is parted."""
    lines = [""]
    for part in re.findall(r"\n|[^\s]+|[^\S\n]+", text):
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


def shared_notes(lines: Sequence[Line]) -> tuple[dict[str, str], str]:
    """The labels without notes that all lines share, or the guarantee that all private ones share; and these notes.

    If guarantees differ in δ only, the largest δ is an upper bound for all.
    """
    names = [line.label for line in lines]
    found: dict[str, str] = {}
    for key in dict.fromkeys(key for name in names for notes in name.brackets for key in notes):
        bearers = [line for line in lines if key != "guarantee" or line.private]
        texts = {note_of(line.label, key) for line in bearers}
        left = {name.without([*found, key]) for name in names}
        if len(bearers) < 2 or "" in texts or len(left) < len(set(names)):
            continue
        promised = [line.guarantee for line in bearers if line.guarantee]
        if key == "guarantee" and len(promised) == len(bearers) and len(texts) > 1:
            known = {at_most(epsilon) for epsilon, _ in promised}
            texts = {f"ε = {epsilon}, δ ≤ {at_most(max(delta for _, delta in promised), 2)}" for epsilon in known}
        if len(texts) == 1:
            found[key] = ("" if len(bearers) == len(lines) else "private curves: ") + texts.pop()
    return {name: name.without(found) for name in names}, ", ".join(found.values())


def note_of(name: Name, key: str) -> str:
    """The note of a name on a parameter; empty if it has none."""
    return next((notes[key] for notes in name.brackets if key in notes), "")
