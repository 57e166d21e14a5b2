"""The tests that depend on what has changed since a commit: `python -m tests.touched` prints a line for each room.

The commit is the one in the environment's CI_BASE, or else in .ci/tested. If git does not know it, all tests are named.
Where neither names a commit, there is nothing to compare with, and no test is named: `make test-all` writes .ci/tested.

A test depends on the files that it imports, and on those that they import. Some imports are not statements:

- A test imports the modules that its strings name, for it may start `python -m privbandits_cli`.
- A test imports the `conftest.py` of each folder around it, and what the fixtures import that it asks for.
- A test imports the files of `tests/`, and the scripts of `configs/`, whose name is one of its strings.
- The package imports `api` for those that import one of its names, such as `run`, and for no other.
- The registry imports every algorithm and adversary, for it finds them in their folders.
- A module imports the files of its room that are not Python.
- A test imports any other file, such as a config, whose name or top folder begins one of its strings.
"""

import ast
import os
import re
import subprocess
import sys
from collections import defaultdict
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROOMS = ("privbandits_cli/", "tests/")
SCRIPTS = "configs/"
PLAYERS = ("privbandits_cli/algorithms/", "privbandits_cli/adversaries/")
REGISTRY = "privbandits_cli/plugins/registry.py"
CONFTEST = "tests/conftest.py"
PACKAGE, API = "privbandits_cli/__init__.py", "privbandits_cli/api.py"
VERSIONS = "pyproject.toml"  # every test depends on it
FROM = re.compile(r"\bfrom (privbandits_cli[\w.]*|tests[\w.]*) import (\w+(?:, \w+)*)")


def changed(root):
    """The files that are not as they were in the commit; None if git does not know it, and none without a commit."""
    tested = root / ".ci" / "tested"
    commit = os.environ.get("CI_BASE") or (tested.read_text(encoding="utf-8").strip() if tested.is_file() else "")
    if not commit:
        print("no commit is recorded in .ci/tested; `make test-all` records one", file=sys.stderr)
        return set()
    command = ["git", "diff", "--name-only", "--no-renames", "-z", f"{commit}^{{commit}}", "--"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, check=False)
    return set(done.stdout.split("\0")) - {""} if done.returncode == 0 else None


def modules(nodes):
    """The modules that statements import, inside of functions, too."""
    for node in (inner for outer in nodes for inner in ast.walk(outer)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def strings(tree):
    """The strings in a file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def is_fixture(node):
    """Whether a statement defines a fixture."""
    return isinstance(node, ast.FunctionDef) and any("fixture" in ast.unparse(found) for found in node.decorator_list)


class Checkout:
    """The sources of a checkout."""

    def __init__(self, root):
        paths = sorted(path for room in ("docs/", SCRIPTS, *ROOMS) for path in (root / room).rglob("*.py"))
        self.trees = {path.relative_to(root).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in paths}
        self.strings = {file: set(strings(tree)) for file, tree in self.trees.items() if file.startswith("tests/")}
        self.tests = [file for file in self.trees if re.search(r"^tests/.*\btest_\w+\.py$", file)]
        self.fixtures = {node.name: node for node in self.trees[CONFTEST].body if is_fixture(node)}
        self.imports = {file: set(self._imports(file)) - {file} for file in self.trees}

    def touched(self, paths):
        """The files of tests that depend on one of these files."""
        importers = defaultdict(set)
        for file, imported in self.imports.items():
            for one in imported:
                importers[one].add(file)
        seen, waiting = set(), set(paths)
        while waiting:
            seen |= waiting
            waiting = {file for one in waiting for file in (*importers[one], *self._readers(one))} - seen
        return [file for file in self.tests if file in seen or VERSIONS in seen]

    def _imports(self, file):
        """What a file imports itself."""
        names = [file.removesuffix(".py").replace("/", ".")]  # with its packages
        names += modules(node for node in self.trees[file].body if file != CONFTEST or not is_fixture(node))
        if file.startswith("tests/") and file != CONFTEST:
            folders = names[0].split(".")[:-1]
            names += [".".join([*folders[:end], "conftest"]) for end in range(1, len(folders) + 1)]
            names += self._asked(self.trees[file])
            for text in self.strings[file]:
                names += re.findall(r"\bprivbandits_cli\.[\w.]*\w", text)
                names += [f"{module}.{name}" for module, found in FROM.findall(text) for name in found.split(", ")]
                names += ["privbandits_cli.__main__"] if re.search(r"\bprivbandits_cli\b(?!\.| import)", text) else []
        for name in names if file != PACKAGE else ["privbandits_cli.version"]:
            stems = ["/".join(name.split(".")[: end + 1]) for end in range(name.count(".") + 1)]
            found = {path for stem in stems for path in (f"{stem}.py", f"{stem}/__init__.py") if path in self.trees}
            yield from found | ({API} if found == {PACKAGE} else set())

    def _asked(self, tree):
        """The modules that the fixtures import for which a file's functions ask."""
        for node in ast.walk(tree):
            if isinstance(node, ast.arg) and node.arg in self.fixtures:
                yield from modules([self.fixtures[node.arg]])
                yield from self._asked(self.fixtures[node.arg].args)

    def _readers(self, file):
        """What imports a file without a statement."""
        name = file.rpartition("/")[2]
        script = file.startswith(SCRIPTS) and file.endswith(".py")
        if script or file.startswith("tests/"):
            yield from (test for test, texts in self.strings.items() if name in texts)
        if file.startswith(PLAYERS):
            yield REGISTRY
        elif not script and not file.startswith(ROOMS):
            top = file.split("/")[0]
            yield from (test for test, texts in self.strings.items() if top in {text.split("/")[0] for text in texts})
        elif not file.endswith(".py"):
            yield from (module for module in self.trees if module.startswith("/".join(file.split("/")[:2])))


def main():
    """Print the files of each room in a line, or on the standard error that there are none."""
    paths, checkout = changed(ROOT), Checkout(ROOT)
    found = checkout.tests if paths is None else checkout.touched(paths)
    for _, room in groupby(found, key=lambda file: file.rpartition("/")[0]):
        print(*room)
    if not found:
        print("no test depends on what has changed", file=sys.stderr)


if __name__ == "__main__":
    main()
