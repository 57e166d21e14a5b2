"""What the manifests of two results folders say of their CSVs: reasons to doubt them, and differences between them."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from privbandits_cli.analysis.folder import TABLES, file_sha256, read_manifest

COMMIT = re.compile("[0-9a-f]{40}")
# What may differ between two runs: a word for it, and where the manifest has it.
FACTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("seed", ("seed",)),
    ("bit generator", ("bit_generator",)),
    ("source code", ("source_hash",)),
    ("commit", ("git", "commit")),
    ("uncommitted changes", ("git", "dirty")),
    ("code of earlier trials", ("other_source_hashes",)),
    ("processor", ("machine", "cpu")),
    ("system", ("machine", "system")),
)


def doubts(folder: Path, name: str) -> Iterator[str]:
    """Reasons, as sentences, why a folder's CSVs may not be what its run wrote, or not all of it; name: A or B."""
    made = read_manifest(folder)
    known = made.get("sha256", {})
    for table in TABLES if made else ():
        path = folder / table
        if known.get(table) != (file_sha256(path) if path.exists() else None):
            yield (
                f"{name}: {table} is not the file that manifest.json describes (sha256): it was changed after the run, "
                "or comes from another one. Run the experiment again to restore it."
            )
    trials = made.get("trials", {})
    if not made.get("complete", True):
        failed = f", {trials['failed']} failed" if trials.get("failed") else ""
        yield f"{name} is incomplete: {trials.get('done', '?')} of {trials.get('wanted', '?')} trials{failed}."


def differences(a: Path, b: Path) -> Iterator[str]:
    """The differences between how two folders were made, as sentences."""
    one, other = (read_manifest(folder) for folder in (a, b))
    lacking = [name for name, made in (("A", one), ("B", other)) if not made]
    if lacking:
        yield f"No manifest.json says how the CSVs of {' and '.join(lacking)} were made."
        return
    configs = [made.get("config", {}) for made in (one, other)]
    keys = [key for key in {**configs[0], **configs[1]} if configs[0].get(key) != configs[1].get(key)]
    if keys:
        yield f"The configs differ in {', '.join(keys)}."
    if one.get("included") != other.get("included"):
        yield f"The users' own files differ: {_files(one)} in A, {_files(other)} in B."
    packages = {**one.get("versions", {}), **other.get("versions", {})}
    places = [*FACTS, *((name, ("versions", name)) for name in packages)]
    found = [(word, *(_text(_at(made, path)) for made in (one, other))) for word, path in places]
    told = [f"{word}: {x} in A, {y} in B" for word, x, y in found if x != y]
    if told:
        yield f"The runs differ in {'; '.join(told)}."


def _files(made: Mapping[str, Any]) -> str:
    """The users' files, each with the beginning of its digest."""
    return ", ".join(f"{each['name']} {each['sha256'][:12]}" for each in made.get("included", [])) or "none"


def _at(made: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    found: Any = made
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _text(value: Any) -> str:
    """A fact in a few letters."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " ".join(map(str, value)) or "none"
    return "unknown" if value is None else str(value)[: 12 if COMMIT.fullmatch(str(value)) else 48]
