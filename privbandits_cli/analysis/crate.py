"""ro-crate-metadata.json: a results folder as a research object (RO-Crate 1.1), from its manifest and its files.

Archives and search engines for data read this file: which files there are, and which program made them from what.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
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
    "stopping.csv": "When the learners of each curve stopped, and how often they were wrong",
    "{}.pdf": "The figure",
    "{}.png": "The figure",
    "{}.svg": "The figure",
    "manifest.json": "What was run, with which versions and where; the curves and their privacy guarantees",
}
FORMATS = {
    ".csv": "text/csv",
    ".json": "application/json",
    ".pdf": "application/pdf",
    ".pgf": "application/x-tex",
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
    changed = datetime.fromtimestamp((folder / "manifest.json").stat().st_mtime, UTC).isoformat(timespec="seconds")
    made = {"started": None, "ended": changed, "command": []} | read_manifest(folder)  # the manifest may lack these
    if not {"experiment", "config", "trials", "versions", "note"} <= made.keys():
        raise ValueError(f"{folder / 'manifest.json'} does not describe a run: run the experiment again")
    names = GIVEN | {path.relative_to(folder).as_posix(): "A file of the user's own" for path in copies(folder)}
    given = list(_files(folder, names))
    results = list(_files(folder, {name.format(made["experiment"]): text for name, text in MADE.items()}))
    trials, paper = made["trials"], made["config"].get("source")
    graph = [
        {
            "@id": CRATE,
            "@type": "CreativeWork",
            "about": {"@id": "./"},
            "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
        },
        {
            "@id": "./",
            "@type": "Dataset",
            "identifier": made["experiment"],
            "name": made["config"].get("title") or made["experiment"],
            "description": f"Simulated regret of bandit algorithms, {trials['done']} of {trials['wanted']} trials. "
            + made["note"],
            "datePublished": made["ended"],
            "license": LICENCE,
            "hasPart": _ids([*given, *results]),
            "mentions": {"@id": "#run"},
            **({"citation": {"@id": "#paper"}} if paper else {}),
        },
        *([{"@id": "#paper", "@type": "ScholarlyArticle", "name": paper}] if paper else []),
        *given,
        *results,
        {
            "@id": "#run",
            "@type": "CreateAction",
            "name": " ".join(made["command"]),
            **({"startTime": made["started"]} if made["started"] else {}),
            "endTime": made["ended"],
            "instrument": {"@id": "#privbandits"},
            "object": _ids(given),
            "result": _ids(results),
        },
        {
            "@id": "#privbandits",
            "@type": "SoftwareApplication",
            "name": "privbandits",
            "softwareVersion": made["versions"]["privbandits"],
            "license": "https://spdx.org/licenses/Apache-2.0",
        },
    ]
    return json.dumps({"@context": CONTEXT, "@graph": graph}, indent=1, ensure_ascii=False) + "\n"


def _ids(files: list[dict[str, str]]) -> list[dict[str, str]]:
    return [{"@id": file["@id"]} for file in files]


def _files(folder: Path, names: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """The named files that exist, each with a description of its content."""
    for name, text in names.items():
        path = folder / name
        if path.is_file():
            yield {
                "@id": quote(name),
                "@type": "File",
                "name": path.name,
                "description": text,
                "encodingFormat": FORMATS[path.suffix],
                "contentSize": str(path.stat().st_size),
                "sha256": file_sha256(path),
            }
