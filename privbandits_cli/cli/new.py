"""`new`: a file of one's own to begin with."""

import shlex
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from privbandits_cli.cli.app import app, fail


class Kind(StrEnum):
    """What can be begun."""

    algorithm = "algorithm"
    adversary = "adversary"


@app.command()
def new(
    kind: Annotated[Kind, typer.Argument(help="What to begin.")],
    path: Annotated[Path, typer.Argument(metavar="FILE.py", help="Its file; the name is the file's.")],
) -> None:
    """Write an algorithm or adversary of one's own to begin with.

    A commented file of under 40 lines that runs at once, with --include.

    \b
    Examples:
      privbandits new algorithm my_bandit.py
      privbandits new adversary my_game.py
    """
    from privbandits_cli import registry

    name = path.stem
    if path.suffix != ".py" or not name.isidentifier():
        raise fail(f"{path}: a file is named as what is in it: letters, digits and _, then .py")
    if name in registry.names("algorithms") + registry.names("adversaries"):
        raise fail(f"{path}: there is a '{name}' already: take another name")
    text = Path(__file__).with_name(f"{kind.value}.txt").read_text(encoding="utf-8")
    text = text.replace("@NAME@", name).replace("@TITLE@", name.replace("_", " ").strip().capitalize())
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise fail(f"{path} exists: it is left as it is") from error
    except OSError as error:
        raise fail(f"{path}: {error.strerror}") from error
    key = {"algorithm": "algorithms", "adversary": "adversary"}[kind.value]
    print(f"{path}: change its steps, then\n")
    print(f"  privbandits run fig1 --smoke --include {shlex.quote(str(path))} {key}+={name}")
