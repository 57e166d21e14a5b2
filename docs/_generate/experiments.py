"""For each config a table of its claims and its figure; and a gallery of all figures."""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from _generate import ROOT
from _generate.markdown import code, line, table
from privbandits_cli.analysis.format import counted
from privbandits_cli.claims.verdicts import Verdict, verdicts
from privbandits_cli.experiment.config import Experiment, load

GAME = {
    "bandit": "Bandits",
    "linear": "Online linear optimisation",
    "contextual": "Contextual bandits",
    "best_arm": "Best-arm identification",
}


@dataclass(frozen=True)
class Claimed:
    """A verdict on a claim, its number in the table of its experiment, and the algorithms that it names."""

    number: int
    verdict: Verdict
    algorithms: frozenset[str]


@dataclass(frozen=True)
class Played:
    """A config, its algorithms and adversaries, and its claims."""

    name: str
    experiment: Experiment
    players: frozenset[str]
    claims: tuple[Claimed, ...]

    @property
    def figure(self) -> bool:
        """Whether the results of the config are committed."""
        return self.name in committed()


@cache
def committed() -> frozenset[str]:
    """The folders in `results/` that git has; what `make smoke` or a reader has played there is on no page.

    Without git, in an archive of the sources, it is all of them.
    """
    if not (ROOT / ".git").exists():
        return frozenset(file.parent.name for file in (ROOT / "results").glob("*/manifest.json"))
    listed = ["git", "ls-files", "-z", "results/*/manifest.json"]
    found = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return frozenset(Path(file).parent.name for file in found.split("\0") if file)


@cache
def every() -> tuple[Played, ...]:
    """All configs in `configs/`."""
    return tuple(_played(path) for path in sorted((ROOT / "configs").glob("*.yaml")))


def _played(path: Path) -> Played:
    name, experiment = path.stem, load(path)
    judged = verdicts(ROOT / "results" / name, experiment)
    named: dict[str, set[str]] = {}  # an algorithm's name or label -> it and its bases
    players = set()
    for variant in experiment.algorithms:
        found = set(names(variant.parameters.described()))
        for key in (variant.parameters.name, variant.label or variant.parameters.title):
            named.setdefault(key, set()).update(found)
        players |= found
    players |= {variant.parameters.name for variant in experiment.adversaries}
    claims = tuple(
        Claimed(i, verdict, frozenset().union(*(named[side.curve.name] for side in claim.expression.sides())))
        for i, (claim, verdict) in enumerate(zip(experiment.claims, judged, strict=True), 1)
    )
    return Played(name, experiment, frozenset(players), claims)


def names(described: dict[str, Any]) -> Iterator[str]:
    """The names of an algorithm and of its bases."""
    yield described["name"]
    for value in described.values():
        if isinstance(value, dict):
            yield from names(value)


def pages() -> Iterator[tuple[str, str]]:
    """Fragments that hand-written pages include: claims and figure of each experiment, and the gallery."""
    for one in every():
        if one.claims:
            yield f"_generated/claims/{one.name}.md", "\n".join(_claims(one)) + "\n"
        if one.figure:
            yield f"_generated/figures/{one.name}.md", "\n".join(figure(one)) + "\n"
    yield "_generated/gallery.md", "\n".join(_gallery()) + "\n"
    yield "_generated/verdicts.md", "\n".join(_verdicts()) + "\n"


def _claims(one: Played) -> Iterator[str]:
    yield f"(claims-{one.name})="
    yield f"**Claims about `configs/{one.name}.yaml`**"
    yield ""
    rows = []
    for claimed in one.claims:
        verdict = claimed.verdict
        shown = f"**{verdict.verdict}**" if verdict.verdict == "FAILS" else verdict.verdict
        measured = line(verdict.figures) + (f". Certified ε: {line(verdict.epsilon)}." if verdict.epsilon else "")
        note = f"<br>*{line(verdict.note)}*" if verdict.note else ""
        claim = f"{line(verdict.source)}<br>{code(verdict.claim)}"
        rows.append([str(claimed.number), claim, shown, measured + note])
    yield table(["", "source and claim", "verdict", "measured, 95 % interval"], rows)
    yield ""


def figure(one: Played, width: str = "34em") -> Iterator[str]:
    """The committed figure of an experiment, with the command that remakes it."""
    name = one.name
    yield f":::{{figure}} ../../results/{name}/{name}.png"
    yield f":alt: {one.experiment.keys.title}"
    yield f":width: {width}"
    yield ""
    yield f"**{line(one.experiment.keys.title)}.** `privbandits run configs/{name}.yaml` remakes it: {cost(name)}."
    yield ":::"
    yield ""


def cost(name: str) -> str:
    """The trials of the committed run, its time and its machine, from its manifest."""
    manifest = json.loads((ROOT / "results" / name / "manifest.json").read_text(encoding="utf-8"))
    ended, started = (datetime.fromisoformat(manifest[key]) for key in ("ended", "started"))
    seconds = (ended - started).total_seconds()
    time = f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} minutes"
    cores = counted(manifest["jobs"], "core")
    return f"{counted(manifest['config']['trials'], 'trial')}, {time} on {cores} of an {manifest['machine']['cpu']}"


def _gallery() -> Iterator[str]:
    for game, head in GAME.items():
        yield f"## {head}"
        yield ""
        for one in every():
            if one.figure and one.experiment.keys.game == game:
                yield f"(experiment-{one.name})="
                yield f"### {one.name}"
                yield ""
                yield f"{line(one.experiment.keys.source)}."
                yield ""
                yield from figure(one)


def _verdicts() -> Iterator[str]:
    """A row for each experiment with claims: how many of them hold."""
    rows = []
    for one in every():
        found = [claimed.verdict.verdict for claimed in one.claims]
        counts = [str(found.count(verdict)) for verdict in ("HOLDS", "FAILS", "NOT DECIDED")]
        if found:
            rows.append([f"[{one.name}](#claims-{one.name})", line(one.experiment.keys.title), *counts])
    total = [str(sum(int(row[i]) for row in rows)) for i in (2, 3, 4)]
    heads = ["experiment", "figure", "hold", "fail", "not decided"]
    yield table(heads, [*rows, ["", "**all**", *total]], numbers=3)
