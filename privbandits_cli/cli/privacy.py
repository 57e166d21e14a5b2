"""`privacy`, `tune`, `audit`: privacy guarantees, the parameters that reach them, and attempts to refute them."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from privbandits_cli.cli import options
from privbandits_cli.cli.app import OK, VIOLATED, app, dumps, fail, fitted, reported
from privbandits_cli.cli.include import announced, registry_with


@app.command()
def privacy(
    config: options.Config,
    overrides: options.Overrides = None,
    include: options.Include = None,
    delta: Annotated[
        float | None, typer.Option(callback=options.level, help="δ; by default the algorithm's own, or T^-2.")
    ] = None,
    as_json: options.AsJson = False,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the profiles, δ against ε: a pdf, png or svg.")
    ] = None,
) -> None:
    """Show the privacy of each algorithm of an experiment.

    For each algorithm: the paper's theorem, the proved bound, a lower bound from an attack, and corrections to the
    paper. With --plot, also the ε that is proved at each δ, as a figure.
    """
    from privbandits_cli.actions.privacy import ledger, profiles
    from privbandits_cli.cli import terminal
    from privbandits_cli.experiment.config import load

    if plot is not None:
        options.check_figure(plot)
    experiment = load(config, overrides, include=include or (), admit=announced())
    blocks = ledger(experiment, delta)
    print(dumps(blocks)) if as_json else terminal.print_ledger(blocks)
    if plot is not None:
        from privbandits_cli.figures import profile
        from privbandits_cli.figures.plot import save

        with reported(ValueError, OSError):
            found, without = profiles(experiment)
            drawn = profile.figure(found, experiment.rounds_per_person)
            save(drawn, plot.parent, plot.stem, [plot.suffix.removeprefix(".")])
        if without:
            told = ", ".join(f"{title} ({reason})" for title, reason in without.items())
            print(fitted(f"not drawn: {told}"), file=sys.stderr)


@app.command()
def tune(
    algorithm: Annotated[str, typer.Argument(help="A private algorithm.", autocompletion=options.complete_name)],
    given: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME=VALUE]...", help="With --regret: the adversary's parameters.")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(min=0, help="Target for the proved ε.")] = None,
    regret: Annotated[float | None, typer.Option(help="Target for the mean regret, instead of one for ε.")] = None,
    against: Annotated[
        str, typer.Option(help="With --regret: the adversary.", autocompletion=options.complete_name)
    ] = "",
    trials: Annotated[int, typer.Option(min=2, help="With --regret: the trials at each ε.")] = 64,
    seed: Annotated[int, typer.Option(min=0, help="With --regret: the seed.")] = 0,
    delta: Annotated[float, typer.Option(callback=options.level, help="δ.")] = 1e-6,
    horizon: options.Horizon = 2**18,
    arms: options.Arms = 4,
    space: options.Space = None,
    dimension: options.Dimension = None,
    base: Annotated[str | None, typer.Option(help="The base algorithm of a wrapper.")] = None,
    rounds_per_person: options.RoundsPerPerson = 1,
    include: options.Include = None,
    as_json: options.AsJson = False,
) -> None:
    """Find the parameters for a given ε.

    Shows the parameters with the smallest regret bound among those whose proved ε is at most the target, and the
    paper's choice for comparison. With --rounds-per-person, ε is that of a person who is in so many rounds.

    With --regret, finds the least ε from which on the mean regret against an adversary is at most the target. It is
    tried at ε = 100, 32, 10, ... until one misses the target; then log ε is bisected, to 5 %. All runs share their
    games. The interval is from where the lower end of the regret's 95 % interval reaches the target to where the upper
    end does. A warning says if the answer means little: if uniform play reaches the target, too, or every ε, or none.

    \b
    Examples:
      privbandits tune exp3_tau --epsilon 1
      privbandits tune dp_klucb --regret 200 --against bernoulli means=C2 --arms 5
    """
    from dataclasses import asdict

    from pydantic import ValidationError

    from privbandits_cli.actions import least, privacy
    from privbandits_cli.cli import terminal
    from privbandits_cli.experiment.settings import Size

    registry = registry_with(include)
    with reported(KeyError, ValueError):
        try:
            size = Size(horizon, arms, space, dimension)
            if regret is not None and epsilon is None:
                game = {"name": against} | options.parameters(given)
                sought = regret, trials, seed, rounds_per_person
                found = least.search(registry, algorithm, base, delta, game, size, *sought)
                shown = algorithm, regret, trials, found, rounds_per_person
                print(dumps(asdict(found))) if as_json else terminal.print_least(*shown)
                return
            if epsilon is None or regret is not None:
                raise ValueError("give one target: --epsilon, or --regret with --against ADVERSARY")
            rows = privacy.tune(registry, algorithm, base, epsilon, delta, size, rounds_per_person)
        except ValidationError as error:
            first = error.errors()[0]
            hint = "; name one with --base" if first["loc"] == ("base",) else ""
            raise fail(f"{algorithm}: {first['loc'][0]}: {first['msg']}{hint}") from error
    print(dumps(rows)) if as_json else terminal.print_tuning(algorithm, rows)


@app.command()
def audit(
    config: Annotated[Path, typer.Argument(help="An experiment.")],
    overrides: options.Overrides = None,
    include: options.Include = None,
    alpha: Annotated[
        float, typer.Option(callback=options.level, help="False-positive rate of the test of whole numbers mod M.")
    ] = 0.001,
    budget: Annotated[int, typer.Option(min=1024, help="Rounds of the longest game with contexts.")] = 2**18,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the audit's random numbers.")] = 0,
    as_json: options.AsJson = False,
) -> None:
    """Try to refute the privacy guarantees of an experiment.

    The privacy loss is computed from two games with different data that are made to release the same. An audit can
    refute a claim; it cannot prove one. Exit code 4 on a violation.
    """
    from privbandits_cli.actions import privacy
    from privbandits_cli.cli import terminal
    from privbandits_cli.experiment.config import load

    experiment = load(config, overrides, include=include or (), admit=announced())
    rows = privacy.audits(experiment, alpha, budget, seed)
    print(dumps(rows)) if as_json else terminal.print_audits(rows)
    if (rounds := experiment.rounds_per_person) > 1:
        told = "it tests the guarantee of one round, not of a person"
        print(fitted(f"note: an audit changes one round, and a person is in up to {rounds:,}: {told}"), file=sys.stderr)
    raise typer.Exit(VIOLATED if any(row["verdict"] == "VIOLATION" for row in rows) else OK)
