"""The rules of the house, read from the sources: imports go down, edges are where they belong."""

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.conftest import ROOT

PACKAGE = ROOT / "privbandits_cli"
FILES = sorted(PACKAGE.rglob("*.py"))

# Floors, lowest first. A module imports from its own room or from rooms on floors below.
FLOORS = [
    {"version"},
    {"numerics"},
    {"accounting"},
    {"convex"},
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
    "matplotlib": {
        "figures/plot.py",
        "figures/distribution_plot.py",
        "figures/counters_plot.py",
        "figures/coverage_plot.py",
        "figures/wins_plot.py",
    },
    "typer": {
        "cli/app.py",
        "cli/check.py",
        "cli/figures.py",
        "cli/merge.py",
        "cli/new.py",
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


def imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room(path):
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def floor(name):
    return next(i for i, rooms in enumerate(FLOORS) if name in rooms)


def modules_of(path):
    """The modules of this package that a file imports, inside of functions too."""
    for name in imports(path):
        for cut in (name, name.rpartition(".")[0]):
            parts = cut.split(".")[1:]
            file = PACKAGE.joinpath(*parts).with_suffix(".py") if parts else None
            if cut.startswith("privbandits_cli.") and file.exists():
                yield file


def test_the_rooms_are_the_eighteen_of_the_plan():
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    loose = {path.stem for path in PACKAGE.glob("*.py")}
    assert rooms == set().union(*FLOORS) - loose and len(rooms) == 18
    assert loose == {"__init__", "__main__", "api", "version"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_imports_go_down(path):
    for module in modules_of(path) if path.name != "__init__.py" else []:
        assert room(module) == room(path) or floor(room(module)) < floor(room(path)), module


def test_imports_run_in_no_circle():
    """Not between modules of one room either, wherever the import stands."""
    graph = {path: set(modules_of(path)) - {path} for path in FILES if path.name != "__init__.py"}
    TopologicalSorter(graph).prepare()  # raises CycleError


@pytest.mark.parametrize("library", ALONE)
def test_one_room_imports_it(library):
    users = {
        path.relative_to(PACKAGE).as_posix() for path in FILES if any(m.split(".")[0] == library for m in imports(path))
    }
    assert users == ALONE[library]


def test_only_the_edge_prints():
    printing = [path for path in FILES if re.search(r"\bprint\(", path.read_text(encoding="utf-8"))]
    assert printing and {room(path) for path in printing} == {"cli"}


def test_global_randomness_is_never_used():
    for path in FILES:
        assert not re.search(r"np\.random\.(seed|rand|random|normal|laplace|choice)\b", path.read_text()), path


def test_public_modules_and_functions_say_what_they_are():
    documented = [
        PACKAGE / f"{name}.py"
        for name in (
            "games/players", "games/bandit", "games/rounds", "games/linear", "games/contextual", "games/heavy_tails",
            "games/parameters", "convex/losses", "convex/spaces", "mechanisms/counter", "mechanisms/oracle",
        )
    ]  # fmt: skip
    overriding = {
        node.name
        for path in documented
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
    }
    commands = {PACKAGE / "cli" / f"{name}.py" for name in ("terminal", "run", "privacy")}
    steps = {"choose", "update", "probabilities"}  # their file's docstring is their formula
    for path in FILES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert ast.get_docstring(tree), path
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                inner = node.name in overriding | steps or path in commands
                assert inner or ast.get_docstring(node) or _is_nested(tree, node), (
                    f"{path.relative_to(PACKAGE)}: {node.name}"
                )


def _is_nested(tree, node):
    return any(
        node in ast.walk(other) for other in ast.walk(tree) if isinstance(other, ast.FunctionDef) and other is not node
    )


def test_the_top_level_is_tidy():
    tracked = {
        path.name for path in Path(ROOT).iterdir() if not path.name.startswith(".") and "egg-info" not in path.name
    }
    assert tracked - {"build", "dist"} == {
        "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "REPRODUCIBILITY.md",
        "configs", "docs", "privbandits_cli", "pyproject.toml", "results", "tests",
    }  # fmt: skip
