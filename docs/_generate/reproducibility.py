"""REPRODUCIBILITY.md: every figure and claim, with its command, the minutes it took and the files, from the manifests.

`make reproducibility` writes it.
"""

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from privbandits_cli.analysis.format import counted, table
from privbandits_cli.experiment.config import keys_of
from privbandits_cli.experiment.expressions import Expression, parse

ROOT = Path(__file__).parent.parent.parent
FILE = ROOT / "REPRODUCIBILITY.md"
HEAD = """\
# How to reproduce every figure and every claim

`make reproducibility` writes this file from the manifests in `results/` and the claims in `configs/`.

In a fresh clone `make install` creates the environment, and each command below, run from `.venv/bin/`, writes the file
beside it. In the same folder it writes the figure as PNG and SVG, `summary.csv`, `final.csv`, `config.yaml`,
`manifest.json` and `ro-crate-metadata.json`. `make figures` runs all figures. The minutes are those between the start
and the end of the run that the manifest records.

The same versions on the same kind of processor give the same CSVs, byte for byte, whatever the number of cores, and
even after an interruption. The manifest records the versions, the processor and the SHA-256 of both CSVs, and the crate
the SHA-256 of every file. `privbandits compare MINE results/fig1` compares a run of yours with the recorded one."""
OTHER = """\
## Other files

| file | command |
|:--|:--|
| `results/CLAIMS.md` | `privbandits check results --write`, from the CSVs and `configs/` |
| `results/LEADERBOARD.md` | `make reproducibility`, from the CSVs |
| `results/price_tables.md` | `python configs/price_tables.py`, from the CSVs |
| `results/counters.png`, `.pdf`, `.svg`, `.csv` | `python configs/counters.py`: seconds, nothing is simulated |
| `results/ope.png`, `.pdf`, `.svg`, `.csv` | `python configs/ope.py`: half a minute |
| `results/best_arm_plan.png`, `.pdf`, `.svg`, `.csv` | `python configs/best_arm_plan.py`: minutes |
| `results/wins.png`, `.pdf`, `.svg`, `.csv`, `wins_best.csv` | `python configs/wins.py`, from four figures' CSVs |
| `results/bench.csv` | `make bench-keep`: nanoseconds per round on this machine |
| `REPRODUCIBILITY.md` | `make reproducibility`, from the manifests and `configs/` |"""


def reproducibility(root: Path = ROOT) -> str:
    """The text of the file. It leaves out smoke runs, and configs that are not part of the package."""
    manifests = sorted((root / "results").glob("*/manifest.json"))
    manifests = [path for path in manifests if (root / "configs" / f"{path.parent.name}.yaml").is_file()]
    made = {path.parent.name: json.loads(path.read_text(encoding="utf-8")) for path in manifests}
    figures = table(
        ["figure", "command", "minutes", "cores", "processor", "file"],
        [_figure(name, manifest) for name, manifest in made.items()],
        numbers=0,
    )
    sections = [section for name, manifest in made.items() for section in _claims(name, manifest, root)]
    return "\n\n".join([HEAD, "## Figures", figures, "## Claims", *sections, OTHER]) + "\n"


def _minutes(manifest: dict[str, Any]) -> str:
    started, ended = (datetime.fromisoformat(manifest[key]) for key in ("started", "ended"))
    return f"{(ended - started).total_seconds() / 60:.1f}"


def _figure(name: str, manifest: dict[str, Any]) -> list[str]:
    title = f"`{name}`: {manifest['config']['title']}"
    command = f"`privbandits run configs/{name}.yaml`"
    return [
        title,
        command,
        _minutes(manifest),
        str(manifest["jobs"]),
        manifest["machine"]["cpu"],
        f"`results/{name}/{name}.pdf`",
    ]


def _claims(name: str, manifest: dict[str, Any], root: Path) -> Iterator[str]:
    """The section on the claims of an experiment; none without claims."""
    keys = keys_of(root / "configs" / f"{name}.yaml")
    if not keys.claims:
        return
    yield f"### {name}"
    cores = counted(manifest["jobs"], "core")
    yield (
        f"{keys.source}.\n`privbandits run configs/{name}.yaml` ({_minutes(manifest)} minutes on {cores}), then\n"
        f"`privbandits check results/{name}` (seconds), which prints the verdicts of `results/CLAIMS.md`."
    )
    rows = [
        [str(i), f"`{claim.claim}`".replace("|", "\\|"), claim.source, _file(name, parse(claim.claim))]
        for i, claim in enumerate(keys.claims, 1)
    ]
    yield table(["", "claim", "source", "file"], rows, numbers=0)


def _file(name: str, claim: Expression) -> str:
    """The file from which a claim is judged: single trials are recorded at the horizon only."""
    quantities = {side.quantity for side in claim.sides()}
    if "epsilon" in quantities:
        return f"`configs/{name}.yaml`"  # a proof and an attack; nothing is simulated
    csv = "summary.csv" if claim.scope.round or "slope" in quantities else "final.csv"
    return f"`results/{name}/{csv}`"


if __name__ == "__main__":
    FILE.write_text(reproducibility(), encoding="utf-8")
