"""`new`: write a file to start from."""

import shlex
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from privbandits_cli.cli.app import app, fail


class Kind(StrEnum):
    """What the file defines."""

    algorithm = "algorithm"
    adversary = "adversary"


class Game(StrEnum):
    """The game that it plays."""

    bandit = "bandit"
    linear = "linear"
    contextual = "contextual"


# For each, a shipped experiment that takes seconds, and the override that adds the new file to it.
TRIALS = {
    (Kind.algorithm, Game.bandit): ("fig1 --smoke", "algorithms+={name}"),
    (Kind.adversary, Game.bandit): ("fig1 --smoke", "adversary+={name}"),
    (Kind.algorithm, Game.linear): ("smoke_linear", "'algorithms=[ftrl, {name}]'"),
    (Kind.adversary, Game.linear): ("smoke_linear", "adversary={name} 'algorithms=[ftrl, ftpl]'"),
    (Kind.algorithm, Game.contextual): ("linucb_time --smoke", "'algorithms=[linucb, {name}]'"),
    (Kind.adversary, Game.contextual): ("linucb_time --smoke", "adversary={name} algorithms=linucb"),
}


@app.command()
def new(
    kind: Annotated[Kind, typer.Argument(help="What to write.")],
    path: Annotated[Path, typer.Argument(metavar="FILE.py", help="The file; its name is the player's.")],
    game: Annotated[Game, typer.Option(help="The game that it plays.")] = Game.bandit,
) -> None:
    """Write an algorithm or adversary to start from.

    The file has comments and fewer than 40 lines; it runs at once, with --include.

    \b
    Examples:
      privbandits new algorithm my_bandit.py
      privbandits new adversary my_game.py
      privbandits new algorithm my_experts.py --game linear
    """
    from privbandits_cli.plugins.registry import Registry

    name = path.stem
    if path.suffix != ".py" or not name.isidentifier():
        raise fail(f"{path}: the file name must be a Python name (letters, digits and _) followed by .py")
    if name in Registry().names("algorithms") + Registry().names("adversaries"):
        raise fail(f"{path}: there is already a '{name}': choose another name")
    text = Path(__file__).with_name(f"{kind.value}_{game.value}.txt").read_text(encoding="utf-8")
    text = text.replace("@NAME@", name).replace("@TITLE@", name.replace("_", " ").strip().capitalize())
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise fail(f"{path} exists and is left unchanged") from error
    except OSError as error:
        raise fail(f"{path}: {error.strerror}") from error
    experiment, put = TRIALS[kind, game]
    print(f"{path} is written. Edit its steps, then run\n")
    print(f"  privbandits run {experiment} --include {shlex.quote(str(path))} {put.format(name=name)}")
