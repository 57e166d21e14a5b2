"""`evaluate`: what a policy would have earned on a log of decisions."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from privbandits_cli.cli.app import app, dumps, fail, reported
from privbandits_cli.cli.options import AsJson, check_new, level


@app.command()
def evaluate(
    log: Annotated[
        Path, typer.Argument(help="A log of decisions: a .csv, .tsv, .jsonl, .arff, .parquet or .npy file.")
    ],
    policy: Annotated[str, typer.Option(metavar="POLICY", help="uniform, always:ACTION, or a FILE.py.")],
    action: Annotated[str | None, typer.Option(help="The column of the actions.")] = None,
    reward: Annotated[str | None, typer.Option(help="The column of the rewards, in [0, 1].")] = None,
    propensity: Annotated[str | None, typer.Option(help="The column of the probabilities of the actions.")] = None,
    features: Annotated[
        str | None, typer.Option(metavar="NAME,...", help="The columns of features; default: all others.")
    ] = None,
    confidence: Annotated[float, typer.Option(callback=level, help="Confidence of the intervals.")] = 0.95,
    out: Annotated[Path | None, typer.Option("--csv", metavar="FILE.csv", help="Write the table to a file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Estimate the mean reward of a fixed policy from a log of another one.

    A row of the log has features, the action that was taken, its reward, and the probability with which it was taken.
    The columns are recognised by their names, or named. Four estimators: inverse propensity scoring (IPS), the same
    with normalised weights (SNIPS), a linear model of each action's rewards (direct method), and both (doubly robust).
    The last two need features. The others do not, unless the policy does. Intervals, also those of --csv, may go
    beyond 0 or 1, where no mean reward lies: only their part in [0, 1] counts.

    \b
    A FILE.py is executed. It has a function of the features, a dict of
    arrays [rows], and of the names of the actions; it returns the
    probability of each action in each row, [rows, actions], or a
    data frame with the actions as columns:
      import numpy as np
      def probabilities(features, actions):
          old = features["age"] > 60
          return np.column_stack([old, ~old])

    \b
    Examples:
      privbandits evaluate clicks.csv --policy uniform
      privbandits evaluate clicks.csv --policy always:banner --csv banner.csv
      privbandits evaluate clicks.csv --policy mine.py --propensity prob
    """
    from privbandits_cli.actions import logs
    from privbandits_cli.analysis.format import csv_text
    from privbandits_cli.analysis.rows import Rows
    from privbandits_cli.cli import terminal
    from privbandits_cli.experiment.files import write_atomically
    from privbandits_cli.experiment.received import printable

    columns = {"action": action, "reward": reward, "propensity": propensity}
    chosen = None if features is None else [name for text in features.split(",") if (name := text.strip())]
    if not log.exists():
        raise fail(f"{log}: no such file")
    if out is not None:
        check_new(out, "--csv")
        if out.exists() and out.samefile(log):
            raise fail(f"{out}: this is the log: give --csv another file")
    with reported(ValueError, OSError):
        found = logs.evaluate(str(log), policy, columns, confidence=confidence, features=chosen)
    if as_json:
        print(dumps(found._asdict()))
    else:
        terminal.print_evaluation(policy, found, confidence)
    if out is not None:
        table = Rows.of(found.estimates)
        text = csv_text([table.columns, *(row.values() for row in table)])
        write_atomically(out.resolve() if out.is_file() else out, text.encode())  # if it is a link, write its target
        print(f"wrote {printable(str(out))}", file=sys.stderr if as_json else None)
