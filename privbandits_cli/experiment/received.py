"""Results folders and configs may come from anybody: what is read of them, and whose files are executed.

Looking at a results folder executes none of its files, opens no file outside of it, and sends no control character of
its texts to the terminal.
"""

import errno
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from privbandits_cli.plugins.loader import IncludeError

INCLUDED = "included"  # where a results folder keeps copies of the users' files that played
# Control characters except tab and line ends, the signs that change the direction of a text, and halves of characters.
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]|\r(?!\n)")


class Outside(OSError):
    """A file of a results folder that is a link to a place outside of it."""

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}"


class Untrusted(IncludeError):
    """A user's file is needed that nobody has allowed to be opened; the message says how to allow it."""


class Admit(Protocol):
    """Called before files that a config names are executed, or only read; what it raises ends the loading."""

    def __call__(self, config: str, files: Sequence[Path], *, executed: bool) -> None: ...


def everything(config: str, files: Sequence[Path], *, executed: bool) -> None:
    """Admit all files: those of a config that the user wants to play."""


@dataclass(frozen=True)
class Trust:
    """What may be executed while results are looked at: by default nothing."""

    include: tuple[Path, ...] = ()  # files that the user names
    kept: bool = False  # whatever the results folder or the config names

    def __bool__(self) -> bool:
        return self.kept or bool(self.include)

    def admit(self, config: str, files: Sequence[Path], *, executed: bool) -> None:
        """Raise Untrusted for files that a config names, unless all of them are trusted."""
        if not self.kept:
            names = ", ".join(map(str, files))
            way = "--include FILE.py or --trust executes" if executed else "--trust reads"
            raise Untrusted(f"{config} needs {names}: {way} {'it' if len(files) == 1 else 'them'}")

    def check(self, folder: Path) -> None:
        """Raise Untrusted if a file that the user names is not the one that played in a results folder."""
        for file in self.include:
            copy = inside(folder, f"{INCLUDED}/{file.name}")
            if copy.exists() and file.exists() and copy.read_bytes() != file.read_bytes():
                raise Untrusted(f"{file} is not the file that played: it differs from {copy}")

    def admit_copies(self, config: str, files: Sequence[Path], *, executed: bool) -> None:
        """As `admit`, of the config of a results folder: only the copies in that folder may be executed."""
        self.admit(config, files, executed=executed)
        for file in files if executed else ():
            if file.parent != Path(config).parent / INCLUDED:
                raise Untrusted(f"{config} needs {file.name}, of which the folder keeps no copy: name it by --include")


NOBODY = Trust()


def inside(folder: Path, name: str) -> Path:
    """The file of this name in a folder, which may be missing; Outside if it is a link that leads out of the folder."""
    path = folder / name
    try:
        within = path.resolve().is_relative_to(folder.resolve())
    except (RuntimeError, ValueError):  # a link to itself, or a name that no file can have
        within = False
    if not within:
        raise Outside(errno.ELOOP, "a link to a place outside of the folder: put the file itself there", str(path))
    return path


def copies(folder: Path) -> list[Path]:
    """The copies of users' files in a results folder."""
    return [inside(folder, f"{INCLUDED}/{file.name}") for file in sorted(folder.glob(f"{INCLUDED}/*.py"))]


def printable(text: str) -> str:
    r"""A text with its control characters written out, as in `\x1b`: a terminal would obey them."""
    return CONTROL.sub(lambda sign: ascii(sign[0])[1:-1], text)
