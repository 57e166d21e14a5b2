"""Names of curves and panels that keep their parts: a name is composed from data and never parsed again."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Self

from privbandits_cli.accounting.rounding import COMPUTED, pair

# The field's symbol or word for a parameter; any other is written in the words of its name.
SYMBOLS = {
    "alpha": "α", "arms": "K", "beta": "β", "blur": "η × deviation of the noise", "constant": "c", "constants": "c",
    "delta": "δ", "df": "degrees of freedom", "epsilon": "ε", "eta": "η", "gamma": "γ", "horizon": "T", "memory": "m",
    "mu": "μ", "norm": "L", "rho": "ρ", "sigma": "σ", "tau": "τ", "theta": "θ", "theta_norm": "S",
}  # fmt: skip


def latin(sign: str) -> str:
    """A Greek letter by its name, a letter without its accents, and any other sign as it is."""
    greek = re.fullmatch(r"GREEK (?:SMALL|CAPITAL) LETTER (?:FINAL )?([A-Z]+)", unicodedata.name(sign, ""))
    if greek:
        return greek[1].lower().replace("lamda", "lambda")
    return "".join(part for part in unicodedata.normalize("NFKD", sign) if not unicodedata.combining(part))


def symbol(parameter: str) -> str:
    """A parameter as the field writes it: `ε`, `base γ`, `penalty observed`."""
    return " ".join(SYMBOLS.get(part, part.replace("_", " ")) for part in parameter.split("."))


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

    @property
    def notes(self) -> dict[str, str]:
        """The notes of all brackets by parameter."""
        return {parameter: note for notes in self.brackets for parameter, note in notes.items()}

    def without(self, parameters: Collection[str]) -> "Name":
        """The name without the notes on these parameters."""
        return self.revised(dict.fromkeys(parameters, ""))

    def noted(self, notes: Mapping[str, str]) -> "Name":
        """The name with further notes in its last brackets."""
        *first, last = self.brackets or ({},)
        return Name(self.base, *first, {**last, **notes}, suffix=self.suffix)

    def in_symbols(self) -> "Name":
        """The name with the field's symbols: the note `gamma = 0.1` on gamma becomes `γ = 0.1`."""
        kept = [{key: _in_symbols(key, note) for key, note in notes.items()} for notes in self.brackets]
        return Name(self.base, *kept, suffix=self.suffix)

    def revised(self, notes: Mapping[str, str]) -> "Name":
        """The name with other texts for the notes on these parameters; an empty text takes a note away."""
        revised = [{key: notes.get(key, note) for key, note in each.items()} for each in self.brackets]
        left = [{key: note for key, note in each.items() if note} for each in revised]
        return Name(self.base, *left, suffix=self.suffix)

    def suffixed(self, suffix: str) -> "Name":
        """The name with another suffix; an empty one takes it away."""
        return Name(self.base, *self.brackets, suffix=suffix)

    def bracketed(self, notes: Mapping[str, str]) -> "Name":
        """The name with further notes in brackets of their own."""
        return Name(self.base, *self.brackets, notes, suffix=self.suffix)


def _in_symbols(parameter: str, note: str) -> str:
    value = note.removeprefix(f"{parameter} = ")
    return note if value == note else f"{symbol(parameter)} = {value}"


def _joined(space: str, base: str, brackets: tuple[dict[str, str], ...], suffix: str) -> str:
    parts = [base, *(f"({', '.join(notes.values())})" for notes in brackets)]
    return space.join(parts) + (f", {suffix}" if suffix else "")


def legends(labels: Sequence[Name], guarantees: Iterable[tuple[float, float] | None]) -> list[Name]:
    """The labels of curves as figures and tables show them: ε and δ are rounded up, and δ is named once.

    guarantees: the (ε, δ) of each curve, if it has one. The CSVs have the labels with ε to the nearest four digits.
    Labels that differ there differ here: ε has more digits if need be.
    """
    promised = list(guarantees)
    for digits in range(4, COMPUTED + 1):
        shown = [_legend(*each, digits) for each in zip(labels, promised, strict=True)]
        if len(set(zip(shown, labels, strict=True))) == len(set(shown)):
            return shown
    return list(labels)


def _legend(label: Name, guarantee: tuple[float, float] | None, digits: int) -> Name:
    notes = {name: note for each in label.brackets for name, note in each.items()}
    if guarantee is None or "guarantee" not in notes:
        return label
    epsilon, delta = guarantee
    if "δ" in label.base:  # the user's own text
        return label.revised({"guarantee": pair(epsilon, 0.0, digits)})
    again = {"delta": ""} if notes.get("delta") == f"delta = {delta}" else {}
    return label.revised({"guarantee": pair(epsilon, delta, digits)} | again)
