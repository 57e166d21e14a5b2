"""What a figure is made from: a figure is drawn again only if one of its sources has changed."""

import hashlib
import json
import re
from importlib.metadata import version
from pathlib import Path

from privbandits_cli.analysis.folder import read_manifest
from privbandits_cli.experiment.received import copies

PACKAGE = Path(__file__).parent.parent
DRAWING = ("figures/plot.py", "figures/table.py")
PLAYERS = ("algorithms", "adversaries")  # loaded by name, which no import shows; their bounds may be drawn
# Every import in this package has this form. A search for it is forty times as fast as a parse of the modules.
IMPORT = re.compile(r"^[ \t]*from privbandits_cli\.?([\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)


def figure_sources(folder: Path, package: Path = PACKAGE) -> str:
    """Hash of a figure's data, names and config, of all code that draws it, and of the players if it has bounds."""
    recorded = read_manifest(folder)
    bounds = recorded.get("config", {}).get("plot", {}).get("bounds", False)
    digest = hashlib.sha256(json.dumps([version("matplotlib"), recorded.get("curves")]).encode())
    for file in (folder / "summary.csv", folder / "config.yaml", *copies(folder)):
        digest.update(file.read_bytes())
    players = [f"{room}/{file.name}" for room in PLAYERS if bounds for file in (package / room).glob("*.py")]
    for file in (*modules(package, *DRAWING, *players), *sorted((package / "figures").glob("*.mplstyle"))):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def modules(package: Path, *roots: str) -> list[Path]:
    """These modules of the package, and all that they import from it, directly or through others."""
    found: set[Path] = set()
    queue = [package / root for root in roots]
    while queue:
        module = queue.pop()
        if module not in found and module.exists():
            found.add(module)
            for room, names in IMPORT.findall(module.read_text(encoding="utf-8")):
                folder = package.joinpath(*room.split(".")) if room else package
                queue += [folder.with_suffix(".py"), *(folder / f"{name}.py" for name in re.findall(r"\w+", names))]
    return sorted(found)
