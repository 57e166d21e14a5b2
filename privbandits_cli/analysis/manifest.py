"""manifest.json: what was run, with which versions and where, the names of the curves, and their guarantees."""

import hashlib
import json
import platform
import subprocess
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from privbandits_cli.accounting.guarantee import NO_NOISE
from privbandits_cli.analysis import statistics
from privbandits_cli.analysis.folder import TABLES, file_sha256
from privbandits_cli.analysis.rates import theory
from privbandits_cli.analysis.summary import played
from privbandits_cli.engine.store import Store, source_hash
from privbandits_cli.experiment import settings
from privbandits_cli.experiment.plan import Curve, Plan
from privbandits_cli.games.players import Setting
from privbandits_cli.plugins import loader, messages
from privbandits_cli.version import __version__

SCHEMA = 1
PACKAGES = ("numpy", "numba", "llvmlite", "scipy", "joblib", "matplotlib", "pydantic", "PyYAML", "typer", "rich")


def manifest(plan: Plan, store: Store, failures: list[dict[str, Any]], **run: Any) -> dict[str, Any]:
    """The manifest of a results folder; `run`: command, engine, jobs, start and end, which only the caller knows."""
    wanted = len(plan.curves) * plan.trials
    done = store.count(plan.curves, range(plan.trials))
    tables = [path for path in (store.folder / name for name in TABLES) if path.exists()]
    resolved = plan.experiment.resolved()
    return {
        "schema": SCHEMA,
        "experiment": plan.name,
        "complete": done == wanted,
        "trials": {"wanted": wanted, "done": done, "failed": len(failures), "missing": wanted - done},
        "failures": failures,
        **run,
        "seed": plan.experiment.keys.seed,
        "config": resolved,
        "config_sha256": hashlib.sha256(json.dumps(resolved, sort_keys=True).encode()).hexdigest(),
        "git": git_state(Path(__file__).parent.parent),
        "source_hash": source_hash(plan),
        "included": [{"name": source.name, "path": source.path, "sha256": source.sha256} for source in plan.own_files],
        "other_source_hashes": sorted(set().union(*store.other_code.values())),
        "versions": {"privbandits": __version__, "python": platform.python_version()}
        | {package: version(package) for package in PACKAGES},
        "machine": {"cpu": cpu(), "system": platform.platform()},
        "bit_generator": "SFC64",
        "sha256": {path.name: file_sha256(path) for path in tables} | {"chunks": store.digest(plan)},
        "curves": {curve.key: _names(curve) | _converted(plan, curve) for curve in plan.curves},
        "privacy": [
            {
                "algorithm": curves[0].label,
                "setting": settings.swept(plan.experiment.keys, curves[0].setting),
                "curves": [curve.key for curve in curves],
                "guarantee": curves[0].guarantee.described() if curves[0].guarantee else None,
                "facts": curves[0].algorithm.facts(curves[0].setting),
            }
            for curves in _alike(plan)
        ],
        "accuracy": None if plan.is_part else _accuracy(plan, store),
        "note": "Seeded noise: a simulation, which protects nobody's data.",
    }


def _alike(plan: Plan) -> list[list[Curve]]:
    """The curves of each tuned algorithm in each setting."""
    found: dict[tuple[str, Setting], list[Curve]] = {}
    for curve in plan.curves:
        found.setdefault((curve.algorithm.identity(), curve.setting), []).append(curve)
    return list(found.values())


def _names(curve: Curve) -> dict[str, Any]:
    """The names of a curve in their parts, its swept parameters and its guarantee: figures need no plan to draw it."""
    title, label, apart = curve.adversary_title, curve.label, dict(curve.apart)
    algorithm = {"family": label.base, "notes": list(label.brackets), "swept": dict(curve.own), "apart": apart}
    own = loader.sources_of((curve.adversary, curve.algorithm))
    return {
        "adversary": {"title": title.base, "notes": list(title.brackets), "swept": dict(curve.game)},
        "algorithm": algorithm,
        "panel": curve.panel,
        **{name: getattr(curve.guarantee, name, None) for name in ("epsilon", "delta", "status")},
        # who draws it later may not have, or not trust, the users' files
        **({"theory": _theory(curve)} if own else {}),
    }


def _converted(plan: Plan, curve: Curve) -> dict[str, Any]:
    """Where a private curve stands on the axis of a figure by what is proved for it, None if nowhere; else no entry.

    One that has next to no noise has none, like those without privacy.
    """
    plot, algorithm = plan.experiment.keys.plot, curve.algorithm
    if plot.at_delta is None or not algorithm.promises():
        return {}
    if plot.at_epsilon is None:
        epsilon = algorithm.epsilon_at(curve.setting, plot.at_delta)
        return {} if epsilon is not None and epsilon > NO_NOISE else {"converted": epsilon}
    return {"converted": algorithm.people_at(curve.setting, plot.at_epsilon, plot.at_delta)}


def _theory(curve: Curve) -> dict[str, Any] | str:
    """The theory of a curve at its checkpoints, or the error of the user's file that should give it."""
    rounds = curve.checkpoints.astype(float)
    try:
        bound, known = theory(curve.algorithm, curve.adversary, curve.setting, rounds)
        drawn = None if bound is None else bound.tolist()
    except Exception as error:  # whatever a user's file raises: what was played is still written
        return messages.message(error).splitlines()[0]
    return {"bound": drawn, "rates": [rate._asdict() | {"regret": rate.regret.tolist()} for rate in known]}


def _accuracy(plan: Plan, store: Store) -> dict[str, Any] | None:
    """Proposition 4.1 at the horizon: a bound on the distance between median of means and mean, for each curve."""
    chosen = plan.experiment.keys.summary
    if chosen.centre != "median_of_means":
        return None
    factor, confidence = statistics.median_of_means_accuracy(chosen.groups, plan.trials)
    radii: dict[str, dict[str, float]] = {}
    for curve, _, x in played(plan, store):
        adversary = curve.adversary_label or curve.adversary.name
        radii.setdefault(adversary, {})[curve.label] = factor * float(statistics.sd(x[:, -1:])[0])
    return {
        "source": "Tossou & Dimitrakakis 2017, Proposition 4.1, with the sample sd for sigma",
        "confidence": confidence,
        "radius_in_sd": factor,
        "radius_at_horizon": radii,
    }


def rendered(made: Mapping[str, Any]) -> str:
    """The text of manifest.json: indented, but with one line for each curve and each entry of `privacy`."""

    def line(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False)

    text = json.dumps({**made, "curves": {}, "privacy": []}, indent=1, ensure_ascii=False)
    for empty, entries in (
        ('\n "curves": {}', [f"{line(key)}: {line(value)}" for key, value in made["curves"].items()]),
        ('\n "privacy": []', [line(value) for value in made["privacy"]]),
    ):
        body = ",".join(f"\n  {entry}" for entry in entries)
        text = text.replace(empty, f"{empty[:-1]}{body}\n {empty[-1]}")
    return text + "\n"


def git_state(folder: Path) -> dict[str, Any] | None:
    """The commit, and whether a file of this folder differs from it; None if git does not track the folder."""

    def git(*words: str) -> str:
        command = ["git", "-C", str(folder), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()

    try:
        # This fails if the package is installed inside another project.
        git("ls-files", "--error-unmatch", str(folder / "__init__.py"))
        commit = git("rev-parse", "HEAD")
        return {"commit": commit, "dirty": bool(git("status", "--porcelain", "--", str(folder)))}
    except (OSError, subprocess.SubprocessError):
        return None


def cpu() -> str:
    """The processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
