"""The rules of the house, read from the sources: imports go down, edges are where they belong."""

import ast
import re
from functools import cache
from graphlib import TopologicalSorter

import pytest

from tests.conftest import ROOT, tracked

PACKAGE = ROOT / "privbandits_cli"
FILES = sorted(PACKAGE.rglob("*.py"))

# Floors, lowest first. A module imports from its own room or from rooms on floors below.
FLOORS = [
    {"version"},
    {"numerics"},
    {"spmd"},
    {"accounting"},
    {"convex", "identification"},
    {"games"},
    {"data"},
    {"plugins"},
    {"mechanisms"},
    {"algorithms", "adversaries"},
    {"experiment"},
    {"engine"},
    {"audit"},
    {"analysis"},
    {"claims"},
    {"figures"},
    {"report"},
    {"actions"},
    {"api"},
    {"cli"},
    {"__init__", "__main__"},
]
ALONE = {
    "joblib": {"engine/runner.py"},
    "distributed": {"engine/cluster.py"},
    "matplotlib": {"figures/mpl.py"},
    "typer": {
        "cli/app.py",
        "cli/check.py",
        "cli/figures.py",
        "cli/merge.py",
        "cli/new.py",
        "cli/plan.py",
        "cli/options.py",
        "cli/include.py",
        "cli/logs.py",
        "cli/privacy.py",
        "cli/run.py",
        "cli/show.py",
        "cli/validate.py",
    },
    "rich": {"cli/terminal.py"},
    "plotly": {"report/plots.py"},
    "jinja2": {"report/page.py"},
    "tabulate": {"analysis/format.py"},
    "pyarrow": {"data/tables.py"},
}


@cache
def parsed(path):
    """The tree of a file; each file is read once."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path):
    """The modules that a file imports, and the names that it takes from them."""
    found = []
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return found


def room(path):
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def floor(name):
    return next(i for i, rooms in enumerate(FLOORS) if name in rooms)


def modules_of(path):
    """The modules of this package that a file imports, inside of functions too."""
    known = set(FILES)
    for name in imports(path):
        for cut in (name, name.rpartition(".")[0]):
            parts = cut.split(".")[1:]
            file = PACKAGE.joinpath(*parts).with_suffix(".py") if parts else None
            if cut.startswith("privbandits_cli.") and file in known:
                yield file


def test_the_rooms_are_the_twenty_of_the_plan():
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    loose = {path.stem for path in PACKAGE.glob("*.py")}
    assert rooms == set().union(*FLOORS) - loose and len(rooms) == 20
    assert loose == {"__init__", "__main__", "api", "version"}


def test_imports_go_down():
    up = [
        f"{path.relative_to(PACKAGE)} imports {module.relative_to(PACKAGE)}"
        for path in FILES
        if path.name != "__init__.py"
        for module in modules_of(path)
        if not (room(module) == room(path) or floor(room(module)) < floor(room(path)))
    ]
    assert not up


def test_imports_run_in_no_circle():
    """Not between modules of one room either, wherever the import stands."""
    graph = {path: set(modules_of(path)) - {path} for path in FILES if path.name != "__init__.py"}
    TopologicalSorter(graph).prepare()  # raises CycleError


def test_one_room_imports_it():
    users = {library: set() for library in ALONE}
    for path in FILES:
        for library in {name.split(".")[0] for name in imports(path)} & set(ALONE):
            users[library].add(path.relative_to(PACKAGE).as_posix())
    assert users == ALONE


def test_only_the_edge_prints():
    printing = [path for path in FILES if re.search(r"\bprint\(", path.read_text(encoding="utf-8"))]
    assert printing and {room(path) for path in printing} == {"cli"}


def test_global_randomness_is_never_used():
    pattern = re.compile(r"np\.random\.(seed|rand|random|normal|laplace|choice)\b")
    assert not [path for path in FILES if pattern.search(path.read_text(encoding="utf-8"))]


def test_public_modules_and_functions_say_what_they_are():
    documented = [
        PACKAGE / f"{name}.py"
        for name in (
            "games/players", "games/bandit", "games/best_arm", "games/driver", "games/linear", "games/contextual",
            "games/heavy_tails", "games/parameters", "convex/losses", "convex/spaces", "data/files",
            "mechanisms/counter", "mechanisms/oracle",
        )
    ]  # fmt: skip
    overriding = {
        node.name for path in documented for node in ast.walk(parsed(path)) if isinstance(node, ast.FunctionDef)
    }
    commands = {PACKAGE / "cli" / f"{name}.py" for name in ("terminal", "run", "privacy")}
    steps = {"choose", "update", "stop", "probabilities"}  # their file's docstring is their formula
    silent = []
    for path in FILES:
        tree = parsed(path)
        silent += [] if ast.get_docstring(tree) else [path.relative_to(PACKAGE).as_posix()]
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                inner = node.name in overriding | steps or path in commands
                if not (inner or ast.get_docstring(node) or _is_nested(tree, node)):
                    silent.append(f"{path.relative_to(PACKAGE)}: {node.name}")
    assert not silent


def _is_nested(tree, node):
    return any(
        node in ast.walk(other) for other in ast.walk(tree) if isinstance(other, ast.FunctionDef) and other is not node
    )


def test_the_top_level_is_tidy():
    names = {name.partition("/")[0] for name in tracked()}
    if not names:
        pytest.skip("without git nobody knows what belongs to the repository")
    assert {name for name in names if not name.startswith(".")} == {
        "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "REPRODUCIBILITY.md",
        "configs", "docs", "privbandits_cli", "pyproject.toml", "results", "tests",
    }  # fmt: skip
