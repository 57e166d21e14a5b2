"""`plan`: how many users a study needs, by each design, and what each design guarantees."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from privbandits_cli.cli.app import app, dumps, fitted, reported
from privbandits_cli.cli.options import AsJson, RoundsPerPerson, check_figure

LONG = 1e8  # plays that take minutes


def budget(given: str) -> float:
    """An ε above 0, or infinity for `none`."""
    if given.strip().lower() in ("none", "inf", "infinity"):
        return float("inf")
    try:
        return float(given)
    except ValueError:
        raise typer.BadParameter(f"{given} is not a number: give one such as 0.5, or none for no privacy") from None


@app.command()
def plan(
    epsilon: Annotated[float, typer.Option(parser=budget, metavar="ε|none", help="ε, or none for no privacy.")],
    arms: Annotated[int, typer.Option(help="Arms K that are compared; 1 tests one rate.")] = 2,
    gap: Annotated[float | None, typer.Option(help="The smallest lead of the best arm that matters.")] = None,
    delta: Annotated[float, typer.Option(help="δ, how often the answer may be wrong.")] = 0.05,
    centre: Annotated[float, typer.Option(help="The middle of the best mean and the others, if known.")] = 0.5,
    null: Annotated[float | None, typer.Option(help="One arm: the rate under which nothing is new.")] = None,
    alternative: Annotated[float | None, typer.Option(help="One arm: a larger rate that must be found.")] = None,
    rounds_per_person: RoundsPerPerson = 1,
    simulate: Annotated[int, typer.Option(min=0, help="Simulated studies; 0 leaves them out.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulated studies.")] = 0,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Draw users against ε: a .png, .pdf or .svg.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find out how many users a study needs.

    Which of K versions (arms) has the largest mean reward, if it leads all others by the gap? Two are an A/B test. For
    each design: the users it takes, what it guarantees, and what it does not. Rewards are between 0 and 1, and each
    user counts once. With --rounds-per-person m, ε is that of a person who is in up to m rounds.

    \b
    Examples:
      privbandits plan --arms 5 --gap 0.05 --epsilon 0.5
      privbandits plan --gap 0.01 --centre 0.03 --epsilon 1 --plot users.png
      privbandits plan --arms 1 --null 0.1 --alternative 0.12 --epsilon 1
    """
    from privbandits_cli.actions import plan as planning
    from privbandits_cli.actions import plan_words
    from privbandits_cli.cli import terminal
    from privbandits_cli.experiment.received import printable

    with reported(ValueError):
        asked = planning.question(arms, gap, delta, centre, null, alternative, rounds_per_person)
        at = planning.privacy(epsilon)
    if plot is not None:
        check_figure(plot)
    drawn = planning.DRAWN if plot is not None else ()
    total = planning.trials(asked, [at, *drawn], simulate)
    if planning.plays(asked, [at, *drawn], simulate) > LONG:
        hint = f"simulating {simulate} studies of this length takes minutes: --simulate {max(1, simulate // 10)} takes"
        print(fitted(f"note: {hint} a tenth of that, and --simulate 0 none"), file=sys.stderr)
    with terminal.progress("simulating studies", total, 0, quiet=not total) as advance:
        found = planning.rows(asked, [at], simulate, seed, advance)
        points = planning.rows(asked, drawn, simulate, seed, advance)
    table = planning.rows(asked, [*dict.fromkeys((*planning.EPSILONS, at))])
    if as_json:
        print(dumps(plan_words.described(asked, found, table, points)))
    else:
        terminal.print_plan(asked, found, table)
    if plot is not None:
        from privbandits_cli.figures.plot import save

        save(planning.figure({asked: points}), plot.parent, plot.stem, [plot.suffix.removeprefix(".")])
        if not as_json:
            print(f"wrote {printable(str(plot))}")
