"""`check` and `compare`: results against the papers' claims, and one run against another."""

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privbandits_cli.analysis.format import whole
from privbandits_cli.cli.app import FAILED, OK, REFUTED, app, dumps, fail, filled, reported
from privbandits_cli.cli.options import AsJson, Claims, Looked, Trusted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privbandits_cli.actions.check import Checked
    from privbandits_cli.analysis.compare import Difference


FORMS = """\b
For example, a config may contain:
  claims:
    - claim: "at round 2^18 in switching_costs: exp3_tau < exp3"
      source: section 4, Discussion
\b
Forms of a claim:
  exp3_tau < 0.5 x exp3                 mean regrets; <, <=, > or >=
  dp_exp3_lap within 15% of exp3
  slope(exp3, deterministic) in 0.5 +- 0.1      or: in 0.4 to 0.6
  final(exp3) <= bound(exp3)            the regret theorem
  epsilon(exp3_tau) <= 1                decided by proofs and attacks
A curve is a name or 'A label'; add [epsilon=1] if several match.
Before a colon, conditions (without any, a claim covers everything):
  at round 2^17, epsilon >= 1 in stochastic, oblivious: ...
  at the worst gap, dimension = 10: ...
"""


@app.command(epilog=FORMS)
def check(
    path: Annotated[Path, typer.Argument(help="A results folder, or a folder of results folders.")] = Path("results"),
    config: Claims = Path("configs"),
    write: Annotated[bool, typer.Option("--write", help="Write the table to PATH/CLAIMS.md.")] = False,
    recorded: Annotated[
        bool, typer.Option("--recorded", help="Compare with PATH/CLAIMS.md; exit 3 only if it differs.")
    ] = False,
    include: Looked = None,
    trust: Trusted = False,
    as_json: AsJson = False,
) -> None:
    """Check the papers' claims against the results.

    An experiment's config lists claims under `claims`; they refer to the experiment at full scale. The numbers
    come from summary.csv and final.csv. A claim HOLDS or FAILS if a 95 % interval decides it. Otherwise it is NOT
    DECIDED, or NOT PLAYED if results are missing. Exit 3 if a claim fails; 1 if none fails, but one has no
    results or only partial ones. The files that a config includes are executed only with --include or --trust.

    \b
    Examples:
      privbandits check                             all of configs/ and results/
      privbandits check results/fig1
      privbandits check results/mine --config mine.yaml
    """
    from privbandits_cli.actions import check
    from privbandits_cli.experiment.files import write_atomically
    from privbandits_cli.experiment.received import Trust

    with reported(ValueError, OSError):
        checked, silent = check.check(path, config, Trust(tuple(include or ()), trust))
    if as_json:
        print(dumps(check.as_data(checked, silent)))
    else:
        one = (path / "summary.csv").exists()
        _print(checked, silent, [] if one else check.unknown(path, silent, config))
    table = path / check.TABLE
    if write:
        write_atomically(table, f"{check.markdown(checked)}\n".encode())
    if recorded:
        raise typer.Exit(_compare_with(table, checked, as_json))
    found = check.counts(checked)
    partial = any(verdict.partial for one in checked for verdict in one.verdicts)
    raise typer.Exit(REFUTED if found["FAILS"] else FAILED if found["NOT PLAYED"] or partial else OK)


def _print(checked: "Sequence[Checked]", silent: "Sequence[str]", unknown: "Sequence[str]") -> None:
    from privbandits_cli.actions.check import counts

    for one in checked:
        print(f"{one.name}: {one.title}" if one.title else one.name)
        for verdict in one.verdicts:
            _row(verdict.verdict, verdict.claim)
            _row("", verdict.figures)
            if verdict.epsilon:
                _row("", f"certified ε: {verdict.epsilon}")
        print()
    found = counts(checked)
    n = sum(found.values())
    print(f"{n} claim{'s' if n != 1 else ''}: " + ", ".join(f"{n} {name}" for name, n in found.items()))
    plain = [name for name in silent if name not in unknown]
    for head, names in (("without claims", plain), ("without a config", unknown)):
        if names:
            print(filled(f"{head}: {', '.join(names)}", further="  "))


def _row(head: str, text: str) -> None:
    print(filled(text, f"  {head:<12}", " " * 14))


def _compare_with(table: Path, checked: "Sequence[Checked]", quiet: bool) -> int:
    """Compare with the recorded table and print the differences; the exit code."""
    from privbandits_cli.actions.check import changed

    try:
        lines = changed(checked, table)
    except OSError as error:
        raise fail(f"{table} cannot be read: {error.strerror}; write it with --write") from error
    if not quiet:
        print("\n".join([*lines, f"{table}: {len(lines)} lines differ" if lines else f"{table}: unchanged"]))
    return REFUTED if lines else OK


@app.command()
def compare(
    a: Annotated[Path, typer.Argument(metavar="A", help="A results folder.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="The results folder to compare with.")],
    tolerance: Annotated[
        str, typer.Option(metavar="P%", help="Tolerated difference of the means, relative to B.")
    ] = "5%",
    as_json: AsJson = False,
) -> None:
    """Compare two runs of an experiment, curve by curve.

    Shows the difference of the mean final regrets with its 95 % interval: paired by trial if seeds and parameters
    agree, else of independent means. Exit 3 if a curve is beyond tolerance. Exit 1 if none is, but a curve is not
    decided because its interval contains the tolerance, or is in one folder only.

    \b
    Examples:
      privbandits compare results/mine results/fig1
      privbandits compare results/fig1 elsewhere/fig1 --tolerance 1%
    """
    from dataclasses import asdict

    from privbandits_cli.analysis import compare as comparing

    try:
        part = float(tolerance.removesuffix("%")) / (100 if tolerance.endswith("%") else 1)
        if not 0 <= part < 1:
            raise ValueError
    except ValueError:
        raise fail(f"--tolerance {tolerance}: give a percentage below 100 %, for example 5%") from None
    for folder, name in product((a, b), ("summary.csv", "final.csv")):
        if not (folder / name).exists():
            raise fail(f"{folder}: there is no {name}: give a results folder written by `run`")
    with reported(ValueError, OSError):
        found = comparing.compare(a, b, part)
    verdicts = comparing.counts(found).keys()
    if as_json:
        identical = verdicts <= {"identical"}
        print(dumps({"tolerance": part, "identical": identical, "curves": [asdict(one) for one in found]}))
    else:
        _print_differences(found, part, f"{a} and {b}")
        for remark in comparing.remarks(a, b):
            print(filled(remark, further="  "))
    raise typer.Exit(REFUTED if "beyond" in verdicts else OK if verdicts <= {"identical", "within"} else FAILED)


def _print_differences(found: "Sequence[Difference]", tolerance: float, names: str) -> None:
    from privbandits_cli.analysis.compare import counts
    from privbandits_cli.cli import terminal
    from privbandits_cli.experiment.received import shown

    counted = counts(found)
    if counted.keys() == {"identical"}:
        print(shown(f"{names} are identical: {len(found)} curves"))
        return
    rows = [
        [one.curve, one.verdict, whole(one.a), whole(one.b), _interval(one.low, one.high), one.basis] for one in found
    ]
    terminal.stdout().print(terminal.table(["curve", "", "A", "B", "A - B", ""], rows, text=2))
    words = ", ".join(f"{n} {verdict}" for verdict, n in counted.items())
    print(f"\n{len(found)} curves, tolerance {100 * tolerance:g} % of B: {words}")


def _interval(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return ""
    if 1e-3 < max(abs(low), abs(high)) < 10:  # whole numbers would hide it; smaller ones are rounding errors
        return f"{low:.2g} to {high:.2g}"
    return f"{whole(low)} to {whole(high)}"
