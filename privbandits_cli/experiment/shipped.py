"""The configs that come with the package, by their names."""

from pathlib import Path

FOLDER = Path(__file__).parent.parent / "configs"


def names() -> list[str]:
    """Of all of them."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def located(path: Path) -> Path:
    """The file that is meant: this one, `NAME.yaml` here, or the shipped config of that name; in this order."""
    if path.is_file() or path.parent != Path():
        return path
    name = path.name.removesuffix(".yaml")
    here = Path(f"{name}.yaml")
    if here.is_file():
        return here
    return FOLDER / here if name in names() else path
