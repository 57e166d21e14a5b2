"""The pages that are written from the code, the configs and results/ before Sphinx reads the site."""

from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).parent.parent
ROOT = DOCS.parent
FOLDERS = ("_generated", "algorithms", "adversaries", "mechanisms")  # ignored by git


def pages() -> Iterator[tuple[str, str]]:
    """Every generated page: its path in docs/, and its text."""
    from _generate import api, commands, contract, experiments, keys, leaderboard, mechanisms, players

    for module in (api, commands, contract, keys, experiments, leaderboard, players, mechanisms):
        yield from module.pages()


def generate() -> None:
    """Write the pages that changed, draw the pictures, and remove pages of what no longer exists."""
    from _generate import pictures

    wanted = {DOCS / path: text for path, text in pages()}
    drawn = set(pictures.draw(DOCS / "_generated" / "pictures"))
    for folder in FOLDERS:
        for path in (DOCS / folder).rglob("*"):
            if path.is_file() and path not in wanted and path not in drawn:
                path.unlink()
    for path, text in wanted.items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
