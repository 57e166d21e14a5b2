"""`new`: write a template of an algorithm or adversary."""

import shlex
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from privbandits_cli.cli.app import app, fail, refusal

PlayerKind = Literal["algorithm", "adversary"]
Game = Literal["bandit", "linear", "contextual", "best_arm"]

# For each, a shipped experiment that takes seconds, and the override that adds the new file to it.
TRIALS: dict[tuple[PlayerKind, Game], tuple[str, str]] = {
    ("algorithm", "bandit"): ("fig1 --smoke", "algorithms+={name}"),
    ("adversary", "bandit"): ("fig1 --smoke", "adversary+={name}"),
    ("algorithm", "linear"): ("smoke_linear", "'algorithms=[ftrl, {name}]'"),
    ("adversary", "linear"): ("smoke_linear", "adversary={name} 'algorithms=[ftrl, ftpl]'"),
    ("algorithm", "contextual"): ("linucb_time --smoke", "'algorithms=[linucb, {name}]'"),
    ("algorithm", "best_arm"): ("best_arm_confidence --smoke", "algorithms+={name}"),
    ("adversary", "contextual"): ("linucb_time --smoke", "adversary={name} algorithms=linucb"),
}

PRIVATE = (  # what else to run after `--private`
    "privacy fig1 {given} algorithms={name}",
    "tune {name} --epsilon 0.5 --horizon 10000 {given}",
    "audit fig1 horizon=4096 {given} algorithms={name}",
)


@app.command()
def new(
    kind: Annotated[PlayerKind, typer.Argument(help="The kind of player to write.")],
    path: Annotated[Path, typer.Argument(metavar="FILE.py", help="The new file; it is named after the player in it.")],
    game: Annotated[Game, typer.Option(help="The game that it plays.")] = "bandit",
    private: Annotated[
        bool, typer.Option("--private", help="A private algorithm of the game bandit, with a guarantee and a view.")
    ] = False,
) -> None:
    """Write a template for your own algorithm or adversary.

    The file is commented, has fewer than 40 lines, with --private about 70, and runs unchanged with --include.

    \b
    Examples:
      privbandits new algorithm my_bandit.py
      privbandits new algorithm my_private.py --private
      privbandits new adversary my_game.py
      privbandits new algorithm my_experts.py --game linear
    """
    from privbandits_cli.experiment.files import of_file
    from privbandits_cli.plugins.registry import Registry

    name = path.stem
    if path.suffix != ".py" or not name.isidentifier():
        raise fail(f"{path}: the file name must be a Python name (letters, digits and _) followed by .py")
    if name in sys.stdlib_module_names:
        raise fail(f"{path}: Python has a module '{name}', which this file would hide: choose another name")
    if name in Registry().names("algorithms") + Registry().names("adversaries"):
        raise fail(f"{path}: the name '{name}' is already taken: choose another one")
    if (kind, game) == ("adversary", "best_arm"):
        raise fail("an adversary of the game bandit plays best_arm, too: leave --game out, and give it `mean_gains`")
    if private and (kind, game) != ("algorithm", "bandit"):
        raise fail("--private writes an algorithm of the game bandit: leave it out, or write `new algorithm` alone")
    template = f"{kind}_{game}_private.txt" if private else f"{kind}_{game}.txt"
    text = Path(__file__).with_name(template).read_text(encoding="utf-8")
    text = text.replace("@NAME@", name).replace("@TITLE@", name.replace("_", " ").strip().capitalize())
    try:
        with of_file(path), path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise fail(f"{path} exists and is left unchanged") from error
    except OSError as error:
        path.unlink(missing_ok=True)
        raise fail(refusal(error)) from error
    experiment, put = TRIALS[kind, game]
    given = f"--include {shlex.quote(str(path))}"
    print(f"{path} is written. Edit it, then run\n")
    print(f"  privbandits run {experiment} {given} {put.format(name=name)}")
    for command in PRIVATE if private else ():
        print(f"  privbandits {command.format(name=name, given=given)}")
