"""How many users a study of five arms needs, over ε: results/best_arm_plan.csv, and the figure as PDF, PNG and SVG.

The designs are those of `privbandits plan`, for leads of 0.05, 0.1 and 0.2 at δ = 0.05. 200 studies of each lead and ε
are simulated, in a few minutes.

    .venv/bin/python configs/best_arm_plan.py
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from privbandits_cli.actions import plan, plan_words
from privbandits_cli.analysis.format import csv_text
from privbandits_cli.cli import terminal
from privbandits_cli.cli.app import fail, filled
from privbandits_cli.experiment.files import write_atomically
from privbandits_cli.figures.plot import FORMATS, save

ARMS, DELTA, SEED = 5, 0.05, 1
GAPS = (0.05, 0.1, 0.2)
STUDIES = 200  # simulated, of each lead and ε

Found = Mapping[plan.Question, Sequence[plan.Row]]


def simulated(studies: int) -> Found:
    """The designs for each lead, at each ε."""
    questions = [plan.question(ARMS, gap, DELTA) for gap in GAPS]
    total = sum(plan.trials(asked, plan.DRAWN, studies) for asked in questions)
    with terminal.progress("simulating studies", total, 0, quiet=False) as advance:
        return {asked: plan.rows(asked, plan.DRAWN, studies, SEED, advance) for asked in questions}


def show(found: Found) -> None:
    """Print the users of each design, a table for each lead."""
    for asked, rows in found.items():
        made = {epsilon: {row.design: row for row in rows if row.epsilon == epsilon} for epsilon in plan.ordered(rows)}
        cells = [
            [
                plan_words.level(epsilon),
                *(f"{at[name].users:,}" for name in ("floor", "one_shot", "looks")),
                f"{at['sequential'].mean:,.0f}",
                f"{at['sequential'].q90:,}",
            ]
            for epsilon, at in made.items()
        ]
        heads = [" impossible below", " one release", " looks, at most", " sure, mean", " sure, 90 %"]
        terminal.print_table([f"ε, gap {asked[1]:g}", *heads], cells)
        print()
    notes = (
        f"Users of a study of {ARMS} arms at δ = {DELTA:g}. Sure: {STUDIES} simulated studies. This design alone "
        "is right whatever the lead is, and the first column binds it alone."
    )
    print(filled(notes))


def write(found: Found, folder: Path) -> None:
    """Write best_arm_plan.csv and the figure."""
    rows: list[tuple[object, ...]] = [("arms", "gap", "delta", *plan.Row._fields)]
    for asked, every in found.items():
        rows += [(ARMS, asked[1], DELTA, *("" if value is None else value for value in row)) for row in every]
    write_atomically(folder / "best_arm_plan.csv", csv_text(rows).encode())
    save(plan.figure(found), folder, "best_arm_plan", FORMATS)


def main(results: Annotated[Path, typer.Argument(help="A folder to write to.")] = Path("results")) -> None:
    """Show how many users a study of five arms needs, over ε."""
    if not results.is_dir():
        raise fail(f"{results}: no such folder")
    found = simulated(STUDIES)
    show(found)
    write(found, results)


if __name__ == "__main__":
    typer.run(main)
