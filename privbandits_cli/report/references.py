"""The bibliography, references.bib: what the package, its claims and its pages cite, and how a text cites it.

A text cites a work by its authors and year: `Sajed & Sheffet 2019`, `Tao, Wu, Zhao & Wang 2022`, `Tao et al. 2022`,
with a letter where a pair of works would look the same: `Agrawal & Goyal 2013a`. Code is cited by its name.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from privbandits_cli.version import __version__

ENTRY = re.compile(r"@(\w+)\{(\w+),\n.*?\}\}(?=\n)", re.DOTALL)
FIELD = re.compile(r"(\w+) = \{(.*?)\}(?=[,}\n]* *\n|, \w+ = |\}$)")
OURS = "privbandits"  # the key of this package


@dataclass(frozen=True)
class Work:
    """An entry of the bibliography."""

    key: str
    text: str  # as BibTeX
    fields: dict[str, str]

    @property
    def year(self) -> str:
        """The year as texts have it: with a letter if the key has one."""
        letter = re.search(r"\d{4}([a-z]?)$", self.key)
        return self.fields["year"] + (letter[1] if letter else "")

    @property
    def forms(self) -> list[str]:
        """How a text may cite it."""
        names = [author.partition(",")[0] for author in self.fields["author"].split(" and ")]
        if "howpublished" in self.fields:
            return [self.fields["title"]]
        whole = " & ".join(filter(None, (", ".join(names[:-1]), names[-1])))
        return [f"{whole} {self.year}"] + [f"{names[0]} et al. {self.year}"] * (len(names) > 2)


@cache
def works() -> dict[str, Work]:
    """All entries by their keys, in the order of the file."""
    text = (files(__package__) / "references.bib").read_text(encoding="utf-8").replace("VERSION", __version__)
    return {found[2]: Work(found[2], found[0], dict(FIELD.findall(found[0] + "\n"))) for found in ENTRY.finditer(text)}


def cited(text: str) -> Iterator[str]:
    """The keys of the works that a text cites, in the order of the bibliography."""
    text = " ".join(text.split())
    for key, work in works().items():
        if key != OURS and any(re.search(rf"(?<!& )(?<![\w-]){re.escape(form)}(?!\w)", text) for form in work.forms):
            yield key
