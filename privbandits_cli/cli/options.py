"""Options and arguments that commands share."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from privbandits_cli.cli.app import fail
from privbandits_cli.numerics.text import exact


def rounds(given: str) -> int:
    """A horizon as in a config: `65536`, `2^16`, `1e5`."""
    from privbandits_cli.experiment.document import yaml_value

    value = yaml_value(str(given))
    if type(value) is not int or value < 1:
        raise typer.BadParameter(f"{given} is not a number of rounds: give one like 65536 or 2^16")
    return value


def parameters(given: list[str] | None) -> dict[str, Any]:
    """The parameters of `NAME=VALUE`, with values as in YAML."""
    from privbandits_cli.experiment.document import yaml_value

    pairs = [text.partition("=") for text in given or ()]
    for name, equals, _ in pairs:
        if not (name.isidentifier() and equals):
            raise typer.BadParameter(f"{name}{equals}: write it as NAME=VALUE, for example epsilon=0.5")
    return {name: yaml_value(value) for name, _, value in pairs}


def level(value: float | None, param: typer.CallbackParam) -> float | None:
    """A probability above 0 and below 1."""
    if value is not None and not 0 < value < 1:
        hint = ": what is proved at δ = 0 is shown at any δ" if value == 0 and param.name == "delta" else ""
        raise typer.BadParameter(f"must be above 0 and below 1, got {exact(value)}{hint}")
    return value


def check_new(file: Path, option: str) -> None:
    """Exit with a message if the file that an option names cannot be written."""
    if not file.resolve().parent.is_dir():
        raise fail(f"{file}: no such folder: {file.parent}")
    if file.is_dir():
        raise fail(f"{file}: this is a folder: give {option} another file")


def check_figure(file: Path) -> None:
    """Exit with a message if the file of `--plot` is none that a figure can be written to."""
    if file.suffix not in (".png", ".pdf", ".svg"):
        raise fail(f"{file}: a figure is a .png, .pdf or .svg file: give it such a name")
    check_new(file, "--plot")


def complete_name(incomplete: str) -> list[str]:
    """Complete the names of algorithms and adversaries in a shell."""
    from privbandits_cli.plugins.registry import Registry

    names = Registry().names("algorithms") + Registry().names("adversaries")
    return [name for name in names if name.startswith(incomplete)]


RoundsPerPerson = Annotated[int, typer.Option(min=1, help="m, the most rounds that one person is in.")]
Config = Annotated[Path, typer.Argument(help="A YAML file, or the name of a shipped config, such as fig1.")]
Claims = Annotated[
    Path, typer.Option(help="Config(s) that contain the claims: a file or a folder; by default the shipped ones.")
]
Include = Annotated[
    list[Path] | None, typer.Option(metavar="FILE.py", help="Your own algorithm or adversary; may be repeated.")
]
Looked = Annotated[
    list[Path] | None,
    typer.Option("--include", metavar="FILE.py", help="Your own file that played; it is executed. May be repeated."),
]
Trusted = Annotated[bool, typer.Option("--trust", help="Execute the files of its author that a results folder keeps.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Overrides = Annotated[
    list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Replace keys: trials=48 horizon=2^14.")
]
Given = Annotated[
    list[str] | None, typer.Argument(metavar="[NAME=VALUE]...", help="Its parameters: epsilon=0.5 delta=1e-6.")
]
Results = Annotated[Path, typer.Option(help="The folder that contains all results.")]
Smoke = Annotated[bool, typer.Option("--smoke", help="Play a small version, in a folder of its own.")]
Arms = Annotated[int, typer.Option(min=2, help="Arms K, or coordinates N of a linear game.")]
Space = Annotated[
    Literal["simplex", "sphere", "cube"] | None, typer.Option("--set", help="Decision set of a linear game.")
]
Dimension = Annotated[
    int | None, typer.Option(min=1, help="d of a contextual game; N of a linear one, in place of --arms.")
]
Horizon = Annotated[int, typer.Option("--horizon", parser=rounds, metavar="T", help="Number of rounds: 65536, 2^16.")]
