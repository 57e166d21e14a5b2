"""`privacy`, `tune`, `audit`: what privacy costs, what it takes to reach it, and attempts to refute it."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from privbandits_cli.cli.app import FAILED, OK, VIOLATED, Horizon, SpaceName, app, complete_name, dumps, fail
from privbandits_cli.cli.own import Include, load_config, own_errors, registry_with


class Test(StrEnum):
    """How an audit decides."""

    bets = "bets"
    counts = "counts"


@app.command()
def privacy(
    config: Annotated[Path, typer.Argument(help="An experiment.")],
    overrides: Annotated[list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Replace keys.")] = None,
    include: Include = None,
    delta: Annotated[float | None, typer.Option(help="δ; default the algorithm's own, else T^-2, the paper's.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """What each algorithm of an experiment costs in privacy.

    For each: the paper's theorem, what is proved, what an attack shows from below, and what the paper gets wrong.
    """
    from privbandits_cli.actions.privacy import ledger
    from privbandits_cli.cli import terminal

    check_level("--delta", delta)
    experiment = load_config(config, overrides or [], False, as_json, include)
    with own_errors():
        blocks = ledger(experiment, delta)
    print(dumps(blocks)) if as_json else terminal.print_ledger(blocks)


@app.command()
def tune(
    algorithm: Annotated[str, typer.Argument(help="A private algorithm.", autocompletion=complete_name)],
    epsilon: Annotated[float, typer.Option(min=0, help="The ε that it may cost, proved.")],
    delta: Annotated[float, typer.Option(help="δ.")] = 1e-6,
    horizon: Horizon = 2**18,
    arms: Annotated[int, typer.Option(min=2, help="K, or N of a linear game.")] = 4,
    space: Annotated[SpaceName | None, typer.Option("--set", help="Decision set of a linear game.")] = None,
    dimension: Annotated[
        int | None, typer.Option(min=1, help="d of a contextual game, N of a linear one.  [default: K]")
    ] = None,
    base: Annotated[str | None, typer.Option(help="What a wrapper is put around.")] = None,
    include: Include = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Find the parameters for an ε.

    Of those whose proved ε is small enough, the ones with the least regret bound; the paper's choice beside them.
    """
    from pydantic import ValidationError

    from privbandits_cli.actions import privacy
    from privbandits_cli.cli import terminal

    check_level("--delta", delta)
    registry = registry_with(include)
    try:
        with own_errors():
            chosen = None if space is None else space.value
            rows = privacy.tune(registry, algorithm, base, epsilon, delta, horizon, arms, chosen, dimension)
    except ValidationError as error:
        first = error.errors()[0]
        hint = "; name one with --base" if first["loc"] == ("base",) else ""
        raise fail(f"{algorithm}: {first['loc'][0]}: {first['msg']}{hint}") from error
    except (KeyError, ValueError) as error:
        raise fail(str(error.args[0])) from error
    print(dumps(rows)) if as_json else terminal.print_tuning(algorithm, rows)


def check_level(option: str, value: float | None) -> None:
    """Leave with a complaint where a probability is none."""
    if value is not None and not 0 < value < 1:
        raise fail(f"{option} must lie between 0 and 1, got {value:g}")


@app.command()
def audit(
    config: Annotated[Path | None, typer.Argument(help="An experiment.")] = None,
    overrides: Annotated[list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Replace keys.")] = None,
    include: Include = None,
    alpha: Annotated[float, typer.Option(help="Chance that a correct algorithm is accused.")] = 0.001,
    budget: Annotated[int, typer.Option(min=1024, help="Rounds to observe of each algorithm.")] = 2**18,
    seed: Annotated[int, typer.Option(min=0, help="Of the audit's own random numbers.")] = 0,
    test: Annotated[Test, typer.Option(help="Bets stop when they have won; counts at the budget's end.")] = Test.bets,
    mutants: Annotated[bool, typer.Option("--mutants", help="Audit deliberately broken algorithms.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Try to refute what the algorithms of an experiment promise.

    An audit can refute a claim; it cannot prove one. Exit code 4 on a violation.
    """
    from privbandits_cli.actions import audit
    from privbandits_cli.cli import terminal

    check_level("--alpha", alpha)
    if (config is None) != mutants:
        raise fail("name an experiment, or --mutants")
    if config is None:
        rows = []
        with terminal.progress("mutants", len(audit.CASES), 0, as_json, "audits") as advance:
            for row in audit.audit_mutants(alpha, budget, seed, test.value):
                rows.append(row)
                advance(1, row["cost"])
    else:
        experiment = load_config(config, overrides or [], False, as_json, include)
        with own_errors():
            rows = audit.audit_experiment(experiment, alpha, budget, seed, test.value)
    print(dumps(rows)) if as_json else terminal.print_audits(rows)
    if mutants:
        raise typer.Exit(OK if all(row["verdict"] in ("caught", "passed") for row in rows) else FAILED)
    raise typer.Exit(VIOLATED if any(row["verdict"] == "VIOLATION" for row in rows) else OK)
