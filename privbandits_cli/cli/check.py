"""`check`, `compare`: results against claims, one run against another."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privbandits_cli.analysis.format import counted, whole
from privbandits_cli.cli.app import FAILED, OK, REFUTED, app, dumps, fail, filled, reported
from privbandits_cli.cli.options import AsJson, Claims, Looked, Trusted

if TYPE_CHECKING:
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
  dp_klucb <= 2 x lower_bound(dp_klucb)     asymptotic; Bernoulli arms
  cvar(exp3) < 2 x final(exp3)          the worst trials; see summary.level
  epsilon(exp3_tau) <= 1                by its file's bounds, not by an audit
In the game best_arm:
  pulls(dp_tt) < 0.5 x pulls(dp_se)     mean times; none may reach the cap
  pulls(dp_tt) <= 20 x lower_bound(dp_tt)
  median_pulls(dp_tt) < 4000            if less than half reach the cap
  wrong(dp_tt) <= 0.01                  share of wrong answers
  capped(dp_tt) in 0 to 0.1             share of trials at the cap
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
    from privbandits_cli.analysis.folder import folders_at
    from privbandits_cli.experiment.files import write_atomically
    from privbandits_cli.experiment.received import Trust

    with reported(ValueError, OSError):
        checked, silent = check.check(path, config, Trust(tuple(include or ()), trust))
    if as_json:
        print(dumps(check.as_data(checked, silent)))
    else:
        folders = folders_at(path)
        small = [folder.name for folder in folders if check.is_smoke(folder)]
        rest = [name for name in silent if name not in small]
        unknown = [] if folders == [path] else check.unknown(path, rest, config)
        groups = {
            "without claims": [name for name in rest if name not in unknown],
            f"without a config in {config}": unknown,
            "smoke runs, which no claim is about": small,
        }
        _print(checked, groups)
    table = path / check.TABLE
    if write:
        write_atomically(table, f"{check.markdown(checked)}\n".encode())
    if recorded:
        raise typer.Exit(_compare_with(table, checked, as_json))
    found = check.counts(checked)
    partial = any(verdict.partial for one in checked for verdict in one.verdicts)
    raise typer.Exit(REFUTED if found["FAILS"] else FAILED if found["NOT PLAYED"] or partial else OK)


def _print(checked: "Sequence[Checked]", groups: "Mapping[str, Sequence[str]]") -> None:
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
    print(counted(n, "claim") + ": " + ", ".join(f"{n} {name}" for name, n in found.items()))
    for head, names in groups.items():
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
    agree, else of independent means. In the game best_arm with a confidence, the times τ are compared, not the regrets.
    A curve is identical only if all its numbers in summary.csv are equal, too. Below the table: what differs between
    the files and between the manifests. Exit 3 if a curve is beyond tolerance, or final.csv is identical and
    summary.csv is not. Exit 1 if neither is so, but a curve is not decided because its interval contains the tolerance
    or because one further trial, twice as far from the mean as any so far, could change the verdict, or is in one
    folder only, or a run is incomplete, or a CSV was changed after it.

    \b
    Examples:
      privbandits compare results/mine results/fig1
      privbandits compare results/fig1 elsewhere/fig1 --tolerance 1%
    """
    from dataclasses import asdict

    from privbandits_cli.analysis import compare as comparing
    from privbandits_cli.analysis import provenance

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
    verdicts = {one.verdict for one in found}
    doubts = [doubt for folder, name in ((a, "A"), (b, "B")) for doubt in provenance.doubts(folder, name)]
    differences = list(provenance.differences(a, b))
    columns = {name: comparing.columns(a / name, b / name) for name in ("summary.csv", "final.csv")}
    if as_json:
        what = "times" if comparing.of_times(a, b) else "regrets"
        facts = {
            "compared": what,
            "tolerance": part,
            "identical": verdicts <= {"identical"},
            "doubts": doubts,
            "manifests": differences,
        }
        print(dumps(facts | {"columns": columns, "curves": [asdict(one) for one in found]}))
    else:
        _print_differences(found, part, f"{a} and {b}", columns)
        for remark in [*comparing.remarks(a, b), *doubts, *differences]:
            print(filled(remark, further="  "))
    if verdicts & {"beyond", "summary differs"}:
        raise typer.Exit(REFUTED)
    raise typer.Exit(OK if verdicts <= {"identical", "within"} and not doubts else FAILED)


def _print_differences(
    found: "Sequence[Difference]", tolerance: float, names: str, columns: "Mapping[str, Sequence[str]]"
) -> None:
    from privbandits_cli.cli import terminal
    from privbandits_cli.experiment.received import printable

    verdicts = Counter(one.verdict for one in found)
    if verdicts.keys() == {"identical"}:
        same = "have the same numbers" if any(columns.values()) else "are identical"
        print(printable(f"{names} {same}: {counted(len(found), 'curve')}"))
        for name, differing in columns.items():
            if differing:
                print(filled(f"{name} differs in {', '.join(differing)}.", further="  "))
        return
    rows = [
        [one.curve, one.verdict, whole(one.a), whole(one.b), _interval(one.low, one.high), one.basis] for one in found
    ]
    terminal.print_table(["curve", "", "A", "B", "A - B", ""], rows, text=2)
    words = ", ".join(f"{n} {verdict}" for verdict, n in verdicts.items())
    print(f"\n{counted(len(found), 'curve')}, tolerance {100 * tolerance:g} % of B: {words}")
    fragile = [one.curve for one in found if one.fragile]
    if fragile:
        reason = "not decided, because one further trial far out could change the verdict"
        print(filled(f"{counted(len(fragile), 'curve')} {reason}: {'; '.join(fragile)}.", further="  "))
    for one in found:
        if one.summary:
            print(filled(f"summary.csv differs in {one.curve}: {one.summary}.", further="  "))


def _interval(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return ""
    if 1e-3 < max(abs(low), abs(high)) < 10:  # whole numbers would hide it; smaller ones are rounding errors
        return f"{low:z.2g} to {high:z.2g}"
    return f"{whole(low)} to {whole(high)}"
