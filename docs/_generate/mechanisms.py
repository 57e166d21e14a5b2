"""A page for each mechanism: what its file says, and its functions."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from _generate import ROOT
from _generate.markdown import blocks, line
from _generate.players import formula

FOLDER = ROOT / "privbandits_cli" / "mechanisms"
TITLES = {
    "arm_trees": "A tree for each arm",
    "batches": "Batches for regression oracles",
    "blt": "Buffered linear Toeplitz noise",
    "counter": "Counters",
    "counters": "All counters by name",
    "elimination": "Successive elimination",
    "fresh_top_up": "The tree with fresh top-up noise",
    "growing_sums": "Sums that are released when plays have grown",
    "honaker": "The tree with Honaker's estimates",
    "k_ary": "The k-ary tree",
    "logistic_oracle": "The logistic oracle",
    "logistic_gram_oracle": "The logistic oracle with its matrix",
    "matrix_tree": "The tree of matrices",
    "smooth": "The smooth binary mechanism",
    "negative_digits": "The k-ary tree with negative digits",
    "oracle": "Regression oracles",
    "phased": "Phases of an arm",
    "phased_design": "Phases of a G-optimal design",
    "quadratic_oracle": "The quadratic oracle",
    "shared_top_up": "The tree with shared top-up noise",
    "square_root": "The square root of prefix sums",
    "top_two": "Leader and challenger",
    "tree": "The tree mechanism",
    "wishart": "Wishart matrices",
}


def every() -> list[str]:
    """The names of the mechanisms' files."""
    return sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("_"))


def pages() -> Iterator[tuple[str, str]]:
    """A page for each mechanism, and the index."""
    for name in every():
        yield f"mechanisms/{name}.md", "\n".join(_page(name)) + "\n"
    yield "mechanisms/index.md", "\n".join(_index()) + "\n"


def _index() -> Iterator[str]:
    yield "# Mechanisms\n"
    yield (
        "The noise of the private algorithms: Laplace numbers on a gain, a mean or a loss, and the mechanisms "
        "below, for sums that are released again and again, and for predictors that are fitted to batches.\n"
    )
    yield "```{toctree}\n"
    yield from every()
    yield "```"


def _page(name: str) -> Iterator[str]:
    module = ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8"))
    first, _, rest = (ast.get_docstring(module) or "").partition("\n\n")
    yield f"# {TITLES.get(name, name)}\n"
    yield f"`privbandits_cli/mechanisms/{name}.py`\n"
    yield line(first) + "\n"
    yield formula(name)
    yield from blocks(rest)
    yield "## Functions\n"
    for node in module.body:
        if isinstance(node, ast.FunctionDef) and (text := ast.get_docstring(node)):
            yield f"`{name}.{node.name}({ast.unparse(node.args)})`"
            yield f": {line(text)}\n"
    users = [page for folder in ("algorithms", "mechanisms") for page in _users(folder, name)]
    if users:
        yield "## Used by\n"
        yield ", ".join(users)


def _users(folder: str, name: str) -> Iterator[str]:
    """Links to the pages of the files in a folder of the package that import a mechanism."""
    for path in sorted((ROOT / "privbandits_cli" / folder).glob("*.py")):
        if name in _imported(path):
            yield f"[{path.stem}](../{folder}/{path.stem}.md)"


@cache
def _imported(path: Path) -> frozenset[str]:
    """The mechanisms that a file imports, among other names."""
    return frozenset(
        part
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("privbandits_cli.mechanisms")
        for part in (*(node.module or "").split(".")[2:], *(alias.name for alias in node.names))
    )
