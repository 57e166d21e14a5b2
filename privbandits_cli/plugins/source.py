"""The text of a user's file, and which module was made from it."""

import hashlib
import linecache
from dataclasses import dataclass

from privbandits_cli.numerics.jit import USER_MODULE_PREFIX


@dataclass(frozen=True)
class Source:
    """The text of a user's file, and where it was read."""

    name: str  # of the algorithm or adversary: the file's
    path: str  # as given
    text: str
    code: str  # hash of the file, or of all sources of the package that it came with
    package: str = ""  # where relative imports start
    installed: bool = False  # part of an installed package: results keep no copy of it

    @property
    def identity(self) -> str:
        """What plays, wherever the file is: curve keys hold it."""
        return f"{USER_MODULE_PREFIX}{self.code}.{self.name}"

    @property
    def module(self) -> str:
        """The name of its module; equal files at two paths are two modules, so that messages show the right path."""
        return f"{USER_MODULE_PREFIX}{hashlib.sha256(self.path.encode()).hexdigest()[:8]}.{self.code}.{self.name}"

    @property
    def sha256(self) -> str:
        """Hash of the file alone."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def fill_linecache(self) -> None:
        """Let tracebacks show this text for the path: the file may have changed since, or not exist here."""
        lines = self.text.splitlines(keepends=True)
        linecache.cache[self.path] = (len(self.text), None, lines, self.path)


sources: dict[str, Source] = {}  # of the loaded modules; a name holds hashes of path and text, so no entry ever changes
