"""Join the results folders of shards into one, as if one run had played them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from privbandits_cli.actions.run import GIVEN, Outcome, complete
from privbandits_cli.analysis.folder import read_yaml
from privbandits_cli.engine.play import Failure
from privbandits_cli.engine.store import Store
from privbandits_cli.experiment.config import load
from privbandits_cli.experiment.plan import Curve, Plan, make_plan
from privbandits_cli.experiment.received import NOBODY, Trust, copies, inside


class MergeError(Exception):
    """Folders that do not belong together; the message says what to do."""


def plan_of(folders: Sequence[Path], trust: Trust = NOBODY) -> Plan:
    """The one experiment of which all these folders are shards; Untrusted if it needs files that are not trusted."""
    first, *others = [_given(folder) for folder in folders]
    for folder, other in zip(folders[1:], others, strict=True):
        differing = sorted(key for key in first.keys() | other.keys() if first.get(key) != other.get(key))
        if differing:
            raise MergeError(
                f"{folder} and {folders[0]} belong to different experiments: they differ in {', '.join(differing)}"
            )
    trust.check(folders[0])
    return make_plan(load(folders[0] / GIVEN, include=trust.include, admit=trust.admit_copies))


def _given(folder: Path) -> dict[str, object]:
    try:
        found = read_yaml(folder / GIVEN)
        texts = {file.name: file.read_bytes() for file in copies(folder)}
        inside(folder, "chunks")
    except (OSError, ValueError) as error:
        raise MergeError(f"{folder / GIVEN} cannot be read: {error}") from error
    if not found:
        raise MergeError(f"{folder} is not a shard's folder: it has no {GIVEN}")
    return found | ({"the included files": texts} if texts else {})


def merge(plan: Plan, store: Store, folders: Sequence[Path], command: list[str]) -> Outcome:
    """Copy what the shards have played and the store lacks, and write the outputs."""

    def fill(lacking: int) -> tuple[list[Failure], dict[str, Any]]:
        _copy(plan, store, folders)
        return [], {"merged": [folder.as_posix() for folder in folders]}

    return complete(plan, store, command, fill)


def _copy(plan: Plan, store: Store, folders: Sequence[Path]) -> None:
    """Copy what is new; chunk files whose checksum is wrong are left out."""
    shards = [Store(folder) for folder in folders]
    for shard in shards:
        shard.open(plan, clean=False)
        store.damaged += shard.damaged
    for curve in plan.curves:
        played = {one.folder: {code for *_, code in one.pieces(curve)} for one in (store, *shards)}
        if len(set().union(*played.values())) < 2:
            continue
        lines = [f"  {folder}: {', '.join(sorted(codes))}" for folder, codes in played.items() if codes]
        raise MergeError(
            "these folders were written by different versions of the code or its libraries, so numbers may differ:\n"
            + "\n".join(lines)
            + "\nrun some of them again with --fresh, so that all have the same version; then merge"
        )
    for shard in shards:
        store.copy(plan, shard)
        for key, codes in shard.other_code.items():
            store.other_code.setdefault(key, set()).update(codes)


def missing(plan: Plan, store: Store) -> dict[tuple[int, ...], list[Curve]]:
    """The trials that are missing, with the curves that lack them."""
    found: dict[tuple[int, ...], list[Curve]] = {}
    for curve in plan.curves:
        lacking = np.setdiff1d(plan.span, store.done(curve), assume_unique=True)
        if len(lacking):
            found.setdefault(tuple(lacking.tolist()), []).append(curve)
    return found
