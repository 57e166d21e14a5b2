"""What other programs take from results: BibTeX of what was played, one table of all regrets, the ledger's schema."""

import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from privbandits_cli.actions.check import config_of
from privbandits_cli.analysis.folder import Block, read_config
from privbandits_cli.analysis.measured import curves_of
from privbandits_cli.analysis.rows import Rows, summary
from privbandits_cli.experiment.config import keys_of
from privbandits_cli.plugins.registry import PlayerKind, Registry
from privbandits_cli.report.references import OURS, cited, works


def cite(folders: Iterable[Path], config: Path) -> Iterator[str]:
    """BibTeX of this package and of all works that the players and the claims of results folders cite.

    Above each entry, a comment says who cites it; the first comment lists players that cite nothing. config: the
    configs with the claims. No file of a user is executed, so what it cites is not known.
    """
    found: dict[str, dict[str, None]] = {OURS: {}}
    silent: dict[str, None] = {}
    registry = Registry()
    for folder in folders:
        texts = {name: source for kind, name in _players(folder) for source in [citation(registry, kind, name)]}
        file = config_of(folder, config)
        if file.is_file():
            keys = keys_of(file)
            texts[f"claims about {keys.experiment}"] = "; ".join(
                [keys.source, *(claim.source for claim in keys.claims)]
            )
        for name, text in texts.items():
            known = list(cited(text))
            silent |= {} if known else {name: None}
            for key in known:
                found.setdefault(key, {})[name] = None
    if silent:
        yield f"% without a work to cite: {', '.join(silent)}"
    for key, work in works().items():
        if key in found:
            yield "\n".join([*([f"% {', '.join(found[key])}"] if found[key] else []), work.text])


def citation(registry: Registry, kind: PlayerKind, name: str) -> str:
    """The docstring of the file of an algorithm or adversary; empty for a user's file that is not loaded."""
    if name not in registry.names(kind):
        return ""
    return inspect.getdoc(sys.modules[registry.find(kind, name).__module__]) or ""


def _players(folder: Path) -> Iterator[tuple[PlayerKind, str]]:
    """The adversaries, the algorithms and their bases that played in a folder, each once."""
    every: dict[tuple[PlayerKind, str], None] = {}
    for curve in curves_of(folder, finals=False):
        every["adversaries", curve.adversary] = None
        described = {**curve.parameters["algorithm"], "name": curve.algorithm}
        every |= {("algorithms", name): None for name in _named(described)}
    yield from every


def _named(described: Mapping[str, Any]) -> Iterator[str]:
    yield described["name"]
    for value in described.values():
        if isinstance(value, dict) and "name" in value:
            yield from _named(value)


def regrets(folders: Iterable[Path]) -> Rows:
    """The rows of summary.csv and of final.csv of all folders, in one table; what a row has not is None.

    The column `table` says which of the two a row is of, `experiment` the experiment, in rows of final.csv, too.
    """
    rows: list[dict[str, Any]] = []
    for folder in folders:
        name = read_config(folder).get("experiment", folder.resolve().name)
        for final in (False, True):
            which = {"table": "final" if final else "summary", "experiment": name}
            rows += [which | row for row in summary(folder, final)]
    return Rows.of(rows)


def ledger_schema() -> dict[str, Any]:
    """The JSON schema of the ledger, draft 2020-12: a list of blocks."""
    made = Block.model_json_schema()
    parts = made.pop("$defs") | {"Block": made}
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "privbandits ledger"}
    return head | {"type": "array", "items": {"$ref": "#/$defs/Block"}, "$defs": parts}
