"""`tables`, `list`, `show`, `validate`, `schema`: look at what there is; nothing is played."""

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from privbandits_cli.cli.app import USAGE, Horizon, SpaceName, app, complete_name, dumps, fail, fitted
from privbandits_cli.cli.own import Include, own_errors, registry_with


class Kind(StrEnum):
    """What can be listed."""

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
    arms: Annotated[int, typer.Option(min=2, help="K, or N of a linear game, for the tuning and the numbers.")] = 4,
    space: Annotated[SpaceName | None, typer.Option("--set", help="Decision set of a linear game.")] = None,
    dimension: Annotated[
        int | None, typer.Option(min=1, help="d of a contextual game, N of a linear one.  [default: K]")
    ] = None,
    include: Include = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Show an algorithm or adversary.

    Citation, formula, parameters with the paper's tuning, guarantee and regret bound.

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


@app.command()
def tables(
    results: Annotated[Path, typer.Argument(help="Where the results folders are.")] = Path("results"),
) -> None:
    """Write the tables of rates of Agarwal & Singh 2017, each beside what was measured.

    They are left in RESULTS/price_tables.md, made from the CSVs of the experiments price_*.
    """
    from privbandits_cli.actions.price_tables import price_tables

    try:
        text = price_tables(results)
    except FileNotFoundError as error:
        raise fail(f"{error.filename} is missing: play the experiments price_* first (make figures)") from error
    except (KeyError, ValueError) as error:
        raise fail(f"the CSVs in {results} are not those of the experiments price_*: {error}") from error
    (results / "price_tables.md").write_text(text, encoding="utf-8")
    print(text)


@app.command()
def validate(
    configs: Annotated[list[Path], typer.Argument(help="The configs to check.")],
    include: Include = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Check configs without running them.

    Every fault at once, with its place and a suggestion. One's own files play a few rounds.
    """
    from privbandits_cli.experiment.config import ConfigError, load
    from privbandits_cli.experiment.plan import make_plan

    errors: dict[str, list[str]] = {}
    for config in configs:
        try:
            with own_errors():
                experiment = load(config, include=include or ())
                load(config, smoke=True, include=include or ())
                errors[str(config)] = []
                if experiment.keys.include:
                    from privbandits_cli.engine import rehearsal

                    errors[str(config)] = rehearsal.errors(make_plan(experiment))
        except ConfigError as error:
            errors[str(config)] = error.errors
    if as_json:
        print(dumps(errors))
    for config_name, found in errors.items():
        if found:
            print(*map(fitted, found), sep="\n", file=sys.stderr)
        elif not as_json:
            print(f"{config_name}: ok")
    if any(errors.values()):
        raise typer.Exit(USAGE)


@app.command()
def schema() -> None:
    """Print the JSON schema of experiments."""
    from privbandits_cli.experiment.schema import schema as experiment_schema

    print(json.dumps(experiment_schema(), indent=1, ensure_ascii=False))
