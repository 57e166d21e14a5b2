"""`validate` and `schema`: whether configs are correct, and which keys they may have."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from privbandits_cli.cli.app import USAGE, app, dumps, fail, fitted
from privbandits_cli.cli.include import announced
from privbandits_cli.cli.options import AsJson, Include
from privbandits_cli.cli.patience import OutOfTime, Patience

PATIENCE = 8.0  # seconds of tuning for a config; linucb_exact takes two to four


@app.command()
def validate(
    configs: Annotated[
        list[Path],
        typer.Argument(metavar="CONFIG|KEY=VALUE", help="The configs to check, and keys to replace in each of them."),
    ],
    include: Include = None,
    as_json: AsJson = False,
) -> None:
    """Check configs without running them.

    Reports all errors at once, each with its position and a suggestion. Your own algorithms and adversaries are run
    for a few rounds.
    """
    from privbandits_cli.cli.terminal import notes
    from privbandits_cli.engine import rehearsal
    from privbandits_cli.experiment.config import ConfigError, load
    from privbandits_cli.experiment.plan import make_plan

    errors: dict[str, list[str]] = {}
    admit = announced()
    overrides = [str(word) for word in configs if "=" in str(word) and not word.exists()]
    if len(overrides) == len(configs):
        raise fail(f"{' '.join(overrides)}: name a config to check, too")
    for config in (word for word in configs if str(word) not in overrides):
        found, patience = errors.setdefault(str(config), []), Patience(PATIENCE)
        for smoke in (False, True):
            try:
                with patience:
                    experiment = load(config, overrides, smoke, include or (), admit=admit)
                if not smoke:
                    found += rehearsal.errors(make_plan(experiment)) if experiment.keys.include else []
                    remarks = notes((one.adversary.parameters, one.setting) for one in experiment.matchups)
                    for line in (*remarks, *_font_notes(config, experiment.keys.plot.font)):
                        print(fitted(line), file=sys.stderr)
            except ConfigError as error:
                found += [text for text in error.errors if text not in found]
            except OutOfTime:
                found.append(f"{config}: checking this takes too long for `validate`; `run --dry-run` has the time")
                break
    if as_json:
        print(dumps(errors))
    for config_name, found in errors.items():
        if found:
            print(*map(fitted, found), sep="\n", file=sys.stderr)
        elif not as_json:
            print(f"{config_name}: ok")
    if any(errors.values()):
        raise typer.Exit(USAGE)


def _font_notes(config: Path, font: str | None) -> Iterator[str]:
    """A warning of a font that is not installed."""
    if font:
        from privbandits_cli.figures.mpl import missing_font

        if missing := missing_font(font):
            yield f"{config}: warning: {missing}"


@app.command()
def schema(
    ledger: Annotated[bool, typer.Option("--ledger", help="That of what `privacy --json` prints.")] = False,
) -> None:
    """Print the JSON schema of experiments."""
    from privbandits_cli.actions.exports import ledger_schema
    from privbandits_cli.experiment.schema import schema as experiment_schema

    print(dumps(ledger_schema() if ledger else experiment_schema(), indent=1))
