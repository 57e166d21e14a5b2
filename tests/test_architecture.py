"""The rules of the house, read from the sources: imports go down, edges are where they belong."""

import ast
import re
from pathlib import Path

import pytest
from conftest import ROOT

PACKAGE = ROOT / "privbandits_cli"
FILES = sorted(PACKAGE.rglob("*.py"))

# Floors, lowest first; a module imports from its own floor or below.
FLOORS = [
    {"streams", "jit", "accounting"},
    {"games", "adversaries", "mechanisms", "included", "source_rules"},
    {"algorithms", "registry"},
    {"experiment", "audit"},
    {"engine"},
    {"analysis"},
    {
        "pipeline",
        "merging",
        "describe",
        "ledger",
        "inspection",
        "price_tables",
        "figures",
        "report",
        "scoreboard",
        "terminal",
    },
    {"api"},
    {"cli", "__main__"},
]
ALONE = {
    "joblib": {"engine/runner.py"},
    "distributed": {"engine/cluster.py"},
    "matplotlib": {"analysis/plot.py", "analysis/strip_plot.py"},
    "typer": {
        "cli/app.py",
        "cli/check.py",
        "cli/figures.py",
        "cli/look.py",
        "cli/many.py",
        "cli/new.py",
        "cli/own.py",
        "cli/privacy.py",
        "cli/run.py",
    },
    "rich": {"terminal.py"},
}


def imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def floor(module):
    return next((i for i, rooms in enumerate(FLOORS) if module in rooms), None)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_imports_go_down(path):
    own = path.relative_to(PACKAGE).with_suffix("").parts[0]
    if own == "__init__":
        return
    assert floor(own) is not None, f"{own} has no floor: give it one"
    for module in imports(path):
        package, _, rest = module.partition(".")
        if package == "privbandits_cli" and rest and not rest.startswith("__version__"):
            assert floor(rest.split(".")[0]) <= floor(own), module


@pytest.mark.parametrize("library", ALONE)
def test_one_room_imports_it(library):
    users = {
        path.relative_to(PACKAGE).as_posix() for path in FILES if any(m.split(".")[0] == library for m in imports(path))
    }
    assert users == ALONE[library]


def test_only_the_edge_prints():
    printing = {path.name for path in FILES if re.search(r"\bprint\(", path.read_text(encoding="utf-8"))}
    assert printing <= {
        "app.py",
        "check.py",
        "figures.py",
        "look.py",
        "many.py",
        "new.py",
        "own.py",
        "privacy.py",
        "run.py",
        "terminal.py",
    }


def test_global_randomness_is_never_used():
    for path in FILES:
        assert not re.search(r"np\.random\.(seed|rand|random|normal|laplace|choice)\b", path.read_text()), path


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_modules_and_functions_stay_short(path):
    """Past 300 lines or a function of 40, look for the missing idea."""
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 300
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            assert ast.get_docstring(node) or node.name.startswith("_") or len(node.body) < 12, node.name
            assert node.body[-1].end_lineno - node.body[0].lineno < 45, node.name


def test_public_modules_and_functions_say_what_they_are():
    documented = [
        PACKAGE / "games" / f"{name}.py"
        for name in ("players", "arms", "linear", "contextual", "losses", "spaces", "heavy_tails", "parameters")
    ]
    overriding = {
        node.name
        for path in documented
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
    }
    steps = {"choose", "update", "probabilities"}  # their file's docstring is their formula
    for path in FILES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert ast.get_docstring(tree), path
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                inner = node.name in overriding | steps or path.name in (
                    "terminal.py",
                    "run.py",
                    "look.py",
                    "privacy.py",
                )
                assert inner or ast.get_docstring(node) or _is_nested(tree, node), f"{path.name}: {node.name}"


def _is_nested(tree, node):
    return any(
        node in ast.walk(other) for other in ast.walk(tree) if isinstance(other, ast.FunctionDef) and other is not node
    )


def test_the_top_level_is_what_the_readme_says():
    tracked = {
        path.name for path in Path(ROOT).iterdir() if not path.name.startswith(".") and "egg-info" not in path.name
    }
    assert tracked - {"build", "dist"} == {
        "CHANGELOG.md", "CITATION.cff", "LICENSE", "Makefile", "README.md",
        "configs", "privbandits_cli", "pyproject.toml", "results", "tests",
    }  # fmt: skip
