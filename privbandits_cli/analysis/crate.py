"""ro-crate-metadata.json: a results folder as a research object (RO-Crate 1.1), from its manifest and its files.

Archives and search engines for data read this file: which files there are, and which program made them from what.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from privbandits_cli.analysis.folder import file_sha256, read_manifest
from privbandits_cli.experiment.files import write_atomically
from privbandits_cli.experiment.received import copies

CRATE = "ro-crate-metadata.json"
CONTEXT = ["https://w3id.org/ro/crate/1.1/context", {"sha256": "https://schema.org/sha256"}]
GIVEN = {  # files that a run reads: names and what they hold
    "experiment.yaml": "The experiment of which this folder is a part, as given",
    "config.yaml": "The experiment with every default, sweep and tuned parameter written out",
}
MADE = {
    "summary.csv": "Statistics of the regret of each curve at each checkpoint",
    "final.csv": "The regret of each trial of each curve at the horizon",
    "{}.pdf": "The figure",
    "{}.png": "The figure",
    "{}.svg": "The figure",
    "manifest.json": "What was run, with which versions and where; the curves and their privacy guarantees",
}
FORMATS = {
    ".csv": "text/csv",
    ".json": "application/json",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".py": "text/x-python",
    ".svg": "image/svg+xml",
    ".yaml": "application/yaml",
}
LICENCE = "To be stated by whoever publishes this folder; Apache-2.0 in the repository of privbandits"


def write(folder: Path) -> None:
    """Write the file anew; ValueError if the folder's manifest is damaged."""
    write_atomically(folder / CRATE, crate(folder).encode())


def crate(folder: Path) -> str:
    """The text of the file; its only times are the manifest's, so that equal folders have equal texts."""
    made = {"started": None, "ended": _changed(folder), "command": []} | read_manifest(folder)
    if not {"experiment", "config", "trials", "versions", "note"} <= made.keys():
        raise ValueError(f"{folder / 'manifest.json'} does not describe a run: run the experiment again")
    given = [*_files(folder, GIVEN), *(_file(file, folder, "A file of the user's own") for file in copies(folder))]
    results = list(_files(folder, {name.format(made["experiment"]): text for name, text in MADE.items()}))
    graph = [_descriptor(), _root(made, [*given, *results]), *_paper(made), *given, *results]
    software = {
        "@id": "#privbandits",
        "@type": "SoftwareApplication",
        "name": "privbandits",
        "softwareVersion": made["versions"]["privbandits"],
        "license": "https://spdx.org/licenses/Apache-2.0",
    }
    text = json.dumps(
        {"@context": CONTEXT, "@graph": [*graph, _run(made, given, results), software]}, indent=1, ensure_ascii=False
    )
    return text + "\n"


def _changed(folder: Path) -> str:
    """When the manifest was written, for a run whose end was not recorded."""
    return datetime.fromtimestamp((folder / "manifest.json").stat().st_mtime, UTC).isoformat(timespec="seconds")


def _descriptor() -> dict[str, Any]:
    return {
        "@id": CRATE,
        "@type": "CreativeWork",
        "about": {"@id": "./"},
        "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
    }


def _root(made: Mapping[str, Any], files: list[dict[str, Any]]) -> dict[str, Any]:
    config, trials = made["config"], made["trials"]
    title = config.get("title") or made["experiment"]
    return {
        "@id": "./",
        "@type": "Dataset",
        "identifier": made["experiment"],
        "name": title,
        "description": f"Simulated regret of bandit algorithms, {trials['done']} of {trials['wanted']} trials. "
        + made["note"],
        "datePublished": made["ended"],
        "license": LICENCE,
        "hasPart": [{"@id": file["@id"]} for file in files],
        "mentions": {"@id": "#run"},
        **({"citation": {"@id": "#paper"}} if config.get("source") else {}),
    }


def _paper(made: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if made["config"].get("source"):
        yield {"@id": "#paper", "@type": "ScholarlyArticle", "name": made["config"]["source"]}


def _files(folder: Path, names: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Which of the named files exist."""
    for name, text in names.items():
        if (folder / name).is_file():
            yield _file(folder / name, folder, text)


def _file(path: Path, folder: Path, text: str) -> dict[str, Any]:
    return {
        "@id": quote(path.relative_to(folder).as_posix()),
        "@type": "File",
        "name": path.name,
        "description": text,
        "encodingFormat": FORMATS[path.suffix],
        "contentSize": str(path.stat().st_size),
        "sha256": file_sha256(path),
    }


def _run(made: Mapping[str, Any], given: list[dict[str, Any]], results: list[dict[str, Any]]) -> dict[str, Any]:
    """The action that made the results from the given files."""
    return {
        "@id": "#run",
        "@type": "CreateAction",
        "name": " ".join(made["command"]),
        **({"startTime": made["started"]} if made["started"] else {}),
        "endTime": made["ended"],
        "instrument": {"@id": "#privbandits"},
        "object": [{"@id": file["@id"]} for file in given],
        "result": [{"@id": file["@id"]} for file in results],
    }
