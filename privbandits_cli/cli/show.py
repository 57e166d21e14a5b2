"""`list` and `show`: the available algorithms, adversaries and experiments."""

from enum import StrEnum
from typing import Annotated

import typer

from privbandits_cli.cli.app import Horizon, SpaceName, app, complete_name, dumps, fail
from privbandits_cli.cli.own import Include, own_errors, registry_with


class Kind(StrEnum):
    """The things that can be listed."""

    algorithms = "algorithms"
    adversaries = "adversaries"
    experiments = "experiments"


@app.command(name="list")
def list_(
    kind: Annotated[Kind, typer.Argument(help="What to list.")],
    include: Include = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """List algorithms, adversaries or experiments."""
    from privbandits_cli.actions.show import catalogue
    from privbandits_cli.cli import terminal

    registry = registry_with(include)
    with own_errors():
        found = catalogue(registry, kind.value)
    if as_json:
        print(dumps(found))
    else:
        rows = [[entry["name"], entry["game"], entry["line"]] for entry in found]
        terminal.stdout().print(terminal.table(["name", "game", ""], rows, text=3))


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="An algorithm or adversary.", autocompletion=complete_name)],
    horizon: Horizon = 2**18,
    arms: Annotated[int, typer.Option(min=2, help="Arms K, or coordinates N of a linear game.")] = 4,
    space: Annotated[SpaceName | None, typer.Option("--set", help="Decision set of a linear game.")] = None,
    dimension: Annotated[
        int | None, typer.Option(min=1, help="d of a contextual game, N of a linear game.  [default: K]")
    ] = None,
    include: Include = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Show an algorithm or adversary.

    Prints its citation, formula, parameters with the paper's tuning, privacy guarantee and regret bound.

    \b
    Examples:
      privbandits show exp3_tau
      privbandits show switching_costs
      privbandits show exp3 --horizon 100000 --arms 10
      privbandits show dp_linucb --dimension 5 --arms 25
    """
    from privbandits_cli.actions import show

    registry = registry_with(include)
    try:
        with own_errors():
            facts = show.facts(registry, name, horizon, arms, None if space is None else space.value, dimension)
    except (KeyError, ValueError) as error:
        raise fail(str(error.args[0])) from error
    print(dumps(facts) if as_json else show.text(facts))
