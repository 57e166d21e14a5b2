"""Shards -> one results folder, as if one run had played them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import yaml

from privbandits_cli.actions.run import GIVEN
from privbandits_cli.engine.store import Store
from privbandits_cli.experiment.config import KEPT, load
from privbandits_cli.experiment.plan import Curve, Plan, make_plan


class MergeError(Exception):
    """Folders that do not belong together; the message says what to do."""


def plan_of(folders: Sequence[Path]) -> Plan:
    """The one experiment that all these folders are shards of."""
    first, *others = [_given(folder) for folder in folders]
    for folder, other in zip(folders[1:], others, strict=True):
        differing = sorted(key for key in first.keys() | other.keys() if first.get(key) != other.get(key))
        if differing:
            told = ", ".join(differing)
            raise MergeError(f"{folder} is of another experiment than {folders[0]}: they differ in {told}")
    return make_plan(load(folders[0] / GIVEN))


def _given(folder: Path) -> dict[str, object]:
    try:
        found = yaml.safe_load((folder / GIVEN).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise MergeError(f"{folder} is no shard's folder: it has no {GIVEN}") from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise MergeError(f"{folder / GIVEN} cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise MergeError(f"{folder / GIVEN} is no experiment")
    copies = {file.name: file.read_text(encoding="utf-8") for file in sorted((folder / KEPT).glob("*.py"))}
    return found | ({"the included files": copies} if copies else {})


def gather(plan: Plan, store: Store, folders: Sequence[Path]) -> None:
    """Copy what the shards have played and the store lacks; chunk files whose checksum is wrong are passed over."""
    shards = [Store(folder) for folder in folders]
    for shard in shards:
        shard.open(plan, clean=False)
        store.unreadable += shard.unreadable
    everyone = [one for one in (store, *shards) if one.played_by]
    if len(set().union(*(one.played_by for one in everyone))) > 1:
        lines = [f"  {one.folder}: {', '.join(sorted(one.played_by))}" for one in everyone]
        raise MergeError(
            "these were played by different versions of the code or its libraries, whose numbers may differ:\n"
            + "\n".join(lines)
            + "\nplay those of one version again, with --fresh, and merge then"
        )
    for shard in shards:
        for curve in plan.curves:
            for trials, regrets, code in shard.pieces(curve):
                new = np.isin(trials, store.done(curve), invert=True)
                if new.any():
                    store.keep(curve, trials[new], regrets[new], code)
        for key, codes in shard.other_code.items():
            store.other_code.setdefault(key, set()).update(codes)


def missing(plan: Plan, store: Store) -> dict[tuple[int, ...], list[Curve]]:
    """The trials that nobody has played, each with the curves that lack them."""
    found: dict[tuple[int, ...], list[Curve]] = {}
    for curve in plan.curves:
        lacking = np.setdiff1d(plan.span, store.done(curve), assume_unique=True)
        if len(lacking):
            found.setdefault(tuple(lacking.tolist()), []).append(curve)
    return found
