"""Names of curves and panels that keep their parts: a name is composed from data and never parsed again."""

from collections.abc import Collection, Mapping
from typing import Self


class Name(str):
    """The text `base (note, note), suffix` of a legend or a title, with its parts as attributes.

    brackets: one mapping for each pair of brackets, from a parameter to its note: {"gap": "gap = 0.5", "set": "cube"}.
    """

    base: str
    brackets: tuple[dict[str, str], ...]
    suffix: str

    def __new__(cls, base: str, *brackets: Mapping[str, str], suffix: str = "") -> Self:
        """The name with these notes; empty brackets are left out."""
        kept = tuple(dict(notes) for notes in brackets if notes)
        name = super().__new__(cls, _joined(" ", base, kept, suffix))
        name.base, name.brackets, name.suffix = base, kept, suffix
        return name

    @property
    def lines(self) -> str:
        """The text with each pair of brackets on a line of its own."""
        return _joined("\n", self.base, self.brackets, self.suffix)

    def without(self, parameters: Collection[str]) -> "Name":
        """The name without the notes on these parameters."""
        kept = [{key: note for key, note in notes.items() if key not in parameters} for notes in self.brackets]
        return Name(self.base, *kept, suffix=self.suffix)

    def noted(self, notes: Mapping[str, str]) -> "Name":
        """The name with further notes in its last brackets."""
        *first, last = self.brackets or ({},)
        return Name(self.base, *first, {**last, **notes}, suffix=self.suffix)

    def suffixed(self, suffix: str) -> "Name":
        """The name with another suffix; an empty one takes it away."""
        return Name(self.base, *self.brackets, suffix=suffix)

    def bracketed(self, notes: Mapping[str, str]) -> "Name":
        """The name with further notes in brackets of their own."""
        return Name(self.base, *self.brackets, notes, suffix=self.suffix)


def _joined(space: str, base: str, brackets: tuple[dict[str, str], ...], suffix: str) -> str:
    parts = [base, *(f"({', '.join(notes.values())})" for notes in brackets)]
    return space.join(parts) + (f", {suffix}" if suffix else "")
