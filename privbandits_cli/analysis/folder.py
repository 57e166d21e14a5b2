"""The files of a results folder as its readers find them: the columns and rows of the CSVs, and the manifest."""

import csv
import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

CURVE = ("experiment", "curve", "adversary", "algorithm", "label")  # `curve`: the key in the plan
STATISTICS = ("regret", "gmd_below", "gmd_above", "mean", "sd", "q05", "q50", "q95")
SUMMARY = (*CURVE, "parameters", "round", "trials", *STATISTICS)
FINAL = (*CURVE, "trial", "regret")
BOOTSTRAP = ("boot_low", "boot_high")


def rows_of(path: Path, columns: Iterable[str]) -> Iterator[dict[str, str]]:
    """The rows of a CSV; ValueError if it lacks one of these columns."""
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if not {*columns} <= {*(reader.fieldnames or ())}:
            raise ValueError(f"{path} is no table of regrets, or is from an older version: run the experiment again")
        yield from reader


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest in this folder; empty if there is none."""
    try:
        found = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def file_sha256(path: Path) -> str:
    """The digest of a file, which may be larger than memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
