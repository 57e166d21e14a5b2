"""Progress on stderr, and tables on stdout."""

import math
import os
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import filesize
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from privbandits_cli.accounting.rounding import VACUOUS, at_least, at_most, is_vacuous, regret
from privbandits_cli.analysis.format import amount, counted, equations, ledger_row, played, whole
from privbandits_cli.cli.app import GLUE, filled, glued
from privbandits_cli.experiment.received import printable

if TYPE_CHECKING:
    from privbandits_cli.actions.least import Found
    from privbandits_cli.actions.logs import Evaluated
    from privbandits_cli.actions.plan import Question, Row
    from privbandits_cli.experiment.plan import Curve, Plan
    from privbandits_cli.figures.table import Table as Figure
    from privbandits_cli.games.parameters import Parameters
    from privbandits_cli.games.players import Setting

PLAIN_EVERY = 30.0  # seconds between lines where there is no terminal
JUPYTER = "JPY_PARENT_PID"  # the environment of a notebook's kernel has it


def stdout() -> Console:
    """The console for results."""
    return Console(highlight=False, markup=False, emoji=False)


def speed(rounds: int, seconds: float) -> str:
    """`41.3 M rounds/s`; empty without rounds."""
    per_second = rounds / max(1e-9, seconds)
    size, prefix = filesize.pick_unit_and_suffix(int(per_second), ["", "k ", "M ", "G "], 1000)
    return f"{per_second / size:.{1 if prefix else 0}f} {prefix}rounds/s" if rounds else ""


@contextmanager
def progress(name: str, total: int, done: int, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal, a line every 30 s elsewhere, nothing if quiet; yields a function that advances it.

    The function takes the trials and the rounds that were played. Jupyter gives the commands of a cell a terminal that
    keeps every state of a bar as a line of its own.
    """
    console = Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)
    plain = not quiet and not (console.is_terminal and JUPYTER not in os.environ)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f} trials"),
        TimeElapsedColumn(),
        TextColumn("eta"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[speed]}"),
    )
    with Progress(
        *columns, console=console, speed_estimate_period=600, redirect_stdout=False, disable=quiet or plain
    ) as bar:
        bar.add_task(name, total=total, completed=done, speed="")
        (task,) = bar.tasks
        played, printed = 0, time.monotonic()

        def advance(trials: int, rounds: int) -> None:
            nonlocal played, printed
            played += rounds
            bar.update(task.id, advance=trials, speed=speed(played, task.elapsed or 0))
            if plain and (task.finished or time.monotonic() - printed >= PLAIN_EVERY):
                printed = time.monotonic()
                facts = [f"{task.completed:.0f}/{total} trials", task.fields["speed"]]
                left = f"{task.time_remaining or 0:.0f} s left"
                console.print(f"{name}: {', '.join(filter(None, [*facts, left]))}")

        yield advance


def print_table(columns: Iterable[str], rows: Iterable[Iterable[Any]], text: int = 1) -> None:
    """Print a plain table, whose equations stay on one line; the first `text` columns hold text, the others numbers."""
    console, made = stdout(), Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    cells = [[glued(printable(str(cell))) for cell in row] for row in rows]
    for i, column in enumerate(glued(printable(column)) for column in columns):
        widest = max((len(word) for word in column.split()), default=0) if i else 0
        made.add_column(column, justify="left" if i < text else "right", min_width=widest, overflow="fold")
    for row in cells:
        made.add_row(*row)
    with console.capture() as printed:
        console.print(made)
    print(printed.get().replace(GLUE, " "), end="")


def print_result(plan: "Plan", figure: "Figure", done: int, folder: Path) -> None:
    """Print the final regrets of a run's figure; done: the number of trials of the curve that has the fewest.

    If regrets are drawn over rounds, a table has a row for each line and a column for each panel. If they are drawn
    against a swept parameter, each panel has its own table, with a column for each value.
    """
    from privbandits_cli.report.data import finals

    console, keys = stdout(), plan.experiment.keys
    over = f" over {figure.unit}" if figure.ratio else ""
    if keys.plot.against:
        console.print(f"{figure.final.capitalize()} ({figure.centre}){over} against {figure.x_label}")
    else:
        after = " or ".join(dict.fromkeys(f"{curve.horizon:,}" for curve in plan.curves))
        rounds = "round" if after == "1" else "rounds"
        which = f", at the worst {keys.plot.worst}" if keys.plot.worst else ""
        of = counted(keys.trials, "trial") if done == keys.trials else f"PARTIAL, {done} to {keys.trials} trials"
        console.print(f"{figure.regret.capitalize()} after {after} {rounds}{over}{which} ({figure.centre} of {of})")
    for final in finals(figure):
        if keys.plot.against:
            print()
        rows = [
            [getattr(label, "lines", label), *("-" if cell is None else figure.text(cell.regret) for cell in cells)]
            for label, cells in final.rows.items()
        ]
        _print_columns(final.corner, final.heads, rows)
        for line in (line for title, lines in figure.panels.items() if title == final.corner for line in lines):
            if line.slope is not None:
                console.print(f"  {line.label}: {line.slope_text()}")
            if line.free is not None:
                console.print(f"  {line.label}: within {figure.free:.0%} of {figure.floor} from {line.free:.2g} on")
    for adversary in {curve.adversary.name: curve.adversary for curve in plan.curves}.values():
        if adversary.estimate:
            print(filled(f"regret against {adversary.name}: an estimate, {adversary.estimate}"))
    console.print(f"\n{folder}/: {plan.name}.pdf, .png, .svg; summary.csv, final.csv, manifest.json")


def print_stopping(plan: "Plan", found: "Mapping[str, Mapping[str, float | None]]", folder: Path) -> None:
    """Print when the learners of a run of the game best_arm stopped, and how often they were wrong.

    found: the numbers of each curve, by its key. Each panel has its own table.
    """
    console, keys = stdout(), plan.experiment.keys
    fewest = int(min(numbers["trials"] or 0 for numbers in found.values()))
    of = counted(keys.trials, "trial") if fewest == keys.trials else f"PARTIAL, {fewest} to {keys.trials} trials"
    console.print(f"Plays until the answer ({of}): the mean, and the 90 % quantile.")
    print(filled("bound: the mean of every learner that is as sure and as private. none: trials without an answer."))
    panels: dict[str, list[list[str]]] = {}
    for curve in (curve for curve in plan.curves if curve.key in found):
        numbers = found[curve.key]
        least = "≥ " * bool(numbers["capped"])  # a trial without an answer would have gone on
        plays = [least + whole(numbers["pulls_mean"]), *(whole(numbers[name]) for name in ("pulls_q90", "lower_2025"))]
        counts = " | ".join(whole(numbers[name]) for name in ("wrong", "capped"))
        horizon = f", T = {curve.horizon:,}" if isinstance(keys.horizon, list) else ""
        panels.setdefault(f"{curve.title.in_symbols()}{horizon}", []).append(
            [plan.legends[curve.key].in_symbols(), *plays, counts]
        )
    for title, rows in panels.items():
        print()
        _print_columns(title, ["mean", "90 %", "bound", "wrong | none"], rows)
    console.print(f"\n{folder}/: {plan.name}.pdf, .png, .svg; summary.csv, final.csv, stopping.csv, manifest.json")


def _print_columns(title: str, heads: list[str], rows: list[list[str]]) -> None:
    """Print rows of a label and a cell for each head, as tables of as many columns as fit into the terminal."""
    width = stdout().width
    labels = [_wrapped(row[0], width // 2) for row in rows]
    longest = max(len(line) for text in labels for line in text.split("\n"))
    title = _wrapped(title, max(20, longest))
    label = 1 + max(longest, *map(len, title.split("\n")))
    heads = [_wrapped(head, max(9, (width - label) // len(heads) - 1)) for head in heads]
    first, used = 0, label
    for last, head in enumerate([*heads, ""]):
        needed = 1 + max([9, *map(len, head.split("\n"))])
        if last == len(heads) or (used + needed > width and last > first):
            cells = [[text, *row[first + 1 : last + 1]] for text, row in zip(labels, rows, strict=True)]
            print_table([title, *heads[first:last]], cells)
            first, used = last, label
        used += needed


def _wrapped(text: str, width: int) -> str:
    """A text in lines of this width, or of its longest word."""
    lines = (textwrap.fill(glued(line), width, break_long_words=False) for line in text.split("\n"))
    return "\n".join(lines).replace(GLUE, " ")


def trials(numbers: Iterable[int]) -> str:
    """`trial 3`, `trials 0-31, 40`."""
    ends: list[list[int]] = []
    for number in sorted(numbers):
        if ends and number == ends[-1][1] + 1:
            ends[-1][1] = number
        else:
            ends.append([number, number])
    many = len(ends) > 1 or ends[0][0] != ends[0][1]
    return f"trial{'s' if many else ''} " + ", ".join(f"{a}-{b}" if a < b else f"{a}" for a, b in ends)


def print_part(plan: "Plan", done: int, of: int, folder: Path) -> None:
    """The state of a shard, and the command that merges it."""
    i, n = plan.shard
    console = stdout()
    if plan.span:
        part = f"{trials(plan.span)} of each curve, {done}/{of} played"
    else:
        part = f"no trials, as there are only {plan.trials}"
    console.print(f"{plan.name}, shard {i}/{n}: {part}")
    console.print(f"\n{folder}/: chunks, experiment.yaml, manifest.json")
    console.print(f"when all shards are done: privbandits merge {folder.parent}/{plan.name}-shard-*-of-{n}")


def notes(games: "Iterable[tuple[Parameters, Setting]]") -> Iterator[str]:
    """The remarks of adversaries about their settings, each once."""
    from privbandits_cli.games.players import Adversary

    said = (remark for foe, setting in games if isinstance(foe, Adversary) for remark in foe.remarks(setting))
    yield from (f"note: {remark}" for remark in dict.fromkeys(said))


def remark_lines(plan: "Plan") -> Iterator[str]:
    """The players' remarks about their settings, each once, those of algorithms with the curves that they concern."""
    yield from notes((curve.adversary, curve.setting) for curve in plan.curves)
    remarks: dict[str, dict[str, None]] = {}
    for curve in plan.curves:
        for remark in curve.algorithm.remarks(curve.setting):
            legend = plan.legends[curve.key]
            label = f"{legend}, {curve.panel}" if curve.panel else legend
            remarks.setdefault(remark, {})[label] = None
    for remark, (first, *others) in remarks.items():
        more = f" and {len(others)} more" if others else ""
        yield f"note: {first}{more}: {remark}"


def alone_lines(plan: "Plan") -> Iterator[str]:
    """The users' algorithms whose trials play one after the other, and why."""
    from privbandits_cli.plugins import loader

    own = [curve for curve in plan.curves if loader.modules(curve.algorithm)]
    forms = {
        plan.legends[one.key]: loader.GAMES[one.algorithm.game].Games.form(one.algorithm, one.setting) for one in own
    }
    yield from (
        f"note: {legend}: its trials play {played(form.reason)}" for legend, form in forms.items() if form.reason
    )


def missing_lines(plan: "Plan", lacking: "dict[tuple[int, ...], list[Curve]]") -> Iterator[str]:
    """The missing trials, and how to play them."""
    for numbers, curves in lacking.items():
        some = [f"{plan.legends[curve.key]} against {curve.adversary.name}" for curve in curves]
        for name in ["every curve"] if len(some) == len(plan.curves) else some:
            yield f"missing: {name}, {trials(numbers)}"
    if lacking:
        yield "run those shards again and merge, or run the experiment itself, which adds the missing trials"


def print_forecast(facts: dict[str, Any]) -> None:
    """Print the trials that are still to be run."""
    console = stdout()
    cells = [[curve[name] for name in ("label", "adversary", "done", "trials")] for curve in facts["curves"]]
    print_table(["curve", "against", "done", "trials"], cells, text=2)
    console.print(f"\nto run: {counted(facts['chunks'], 'chunk')}, {counted(facts['rounds'], 'round')}")
    if facts["measured"]:
        basis = f"an estimate from {counted(facts['measured'], 'round')} played now"
        console.print(f"time: about {duration(facts['seconds'])} on {counted(facts['jobs'], 'job')} ({basis})")


def duration(seconds: float) -> str:
    """`3 s`, `12 min`, `5.5 h`."""
    unit, size = next(((unit, size) for unit, size in (("h", 3600), ("min", 60)) if seconds >= 2 * size), ("s", 1))
    return f"{amount(max(1, seconds / size), 2)} {unit}"


def print_ledger(blocks: list[dict[str, Any]]) -> None:
    """Upper and lower bounds on the true ε, a line per algorithm; then each bound, and notes."""
    print_table(["", "", "ε at most", "at least", "at δ"], map(ledger_row, blocks), text=2)
    for block in blocks:
        print(f"\n{block['algorithm']}")
        if block["bounds"]:
            first = block["bounds"][0]
            print(filled(f"neighbours: {first['neighbours']}; unit: {first['unit']}; view: {first['view']}", "  "))
        for bound in block["bounds"]:
            sign, shown = ("≥", at_least) if bound["lower"] else ("≤", at_most)
            at = f"δ = {shown(bound['delta'], 3)}"
            line = f"ε {sign} {shown(bound['epsilon']):>9}  {at:<12} {bound['status']:<8}{bound['source']}"
            print(filled(line, "  ", " " * 36))
        if block["facts"]:
            print(filled(equations(block["facts"]), "  ", "    "))
        missing = [] if block["bounds"] else ["It has no privacy guarantee."]
        for note in missing + block["notes"]:
            print(filled(f"- {note}", "  ", "    "))


def print_tuning(name: str, rows: list[dict[str, Any]]) -> None:
    """The parameters that `tune` found, and the paper's choice."""
    opponents = [key for key in ("oblivious", "switching_costs") if any(row[f"bound_{key}"] for row in rows)]

    def bounds(row: dict[str, Any]) -> list[float | None]:
        return [row[f"bound_{key}"] for key in opponents]

    cells = [
        [row["choice"], at_most(row["epsilon"]), row["status"], at_most(row["delta"] or 0, 3)]
        + ["–" if bound is None else regret(bound, row["largest_regret"]) for bound in bounds(row)]
        for row in rows
    ]
    heads = [f"regret, {key.replace('_', ' ')}" for key in opponents]
    print_table(["", "ε", "status", "δ", *heads], cells)
    least = "; certified has the smallest bound against switching costs" if "switching_costs" in opponents else ""
    print("\n" + filled(f"regret: the theorems' bounds{least}" if opponents else "no theorem bounds the regret here"))
    most = rows[0]["largest_regret"]
    if any(bound is not None and is_vacuous(bound, most) for row in rows for bound in bounds(row)):
        print(filled(VACUOUS.format(at_most(most)), further="  "))
    for row in rows:
        entry = f"{row['choice']}: {{name: {name}, {_flow(row['parameters'])}}}".replace(": ", f":{GLUE}")
        print("\n" + filled(entry, "", "  "))  # no line break between a key and its value
        for sentence in filter(None, (row["reason"], *row["remarks"])):
            print(filled(sentence, "  "))


def print_least(name: str, target: float, trials: int, found: "Found", rounds: int) -> None:
    """The least ε for a target regret, and what was measured at each ε; rounds: of the person whose ε it is."""
    from privbandits_cli.actions.least import GRID

    ends = {0.0: f"below {GRID[-1]:g}", math.inf: f"above {GRID[0]:g}"}
    least, low, high = (ends.get(one, f"{one:.3g}") for one in (found.epsilon, found.low, found.high))
    print_table(
        ["ε", "mean regret", "from (95 %)", "to"],
        [[f"{one.epsilon:.3g}", *map(amount, (one.regret, one.low, one.high))] for one in found.tried],
    )
    found_for = f"least ε of {name} for a mean regret of {amount(target)}: {least}"
    print("\n" + filled(f"{found_for} (95 % interval {low} to {high})", further="  "))
    print(filled(f"{counted(trials, 'trial')} of the same games at each ε, with what `tune --epsilon` calls certified"))
    if rounds > 1:
        one = "" if found.of_round is None else f"; one round by itself has ε = {at_most(found.of_round)}"
        print(filled(f"every ε above is that of a person in up to {rounds:,} rounds{one}"))
    for doubt in found.doubts:
        print(filled(f"Warning: {doubt}."))


def _flow(parameters: dict[str, Any]) -> str:
    """Parameters as a config writes them."""
    shown = {key: f"{{{_flow(value)}}}" if isinstance(value, dict) else value for key, value in parameters.items()}
    return ", ".join(f"{key}: {value}" for key, value in shown.items() if value is not None)


ESTIMATORS = {
    "logged": "the log's own policy",
    "ips": "IPS",
    "snips": "SNIPS",
    "direct": "direct method",
    "doubly_robust": "doubly robust",
}


def print_evaluation(policy: str, found: "Evaluated", confidence: float) -> None:
    """The estimates of a policy's mean reward, with what the weights are like and reasons for doubt."""
    made = [row for row in found.estimates if "value" in row]
    cells = [[ESTIMATORS[row["estimator"]], *(f"{row[name]:.4f}" for name in ("value", "low", "high"))] for row in made]
    print_table([printable(policy), "mean reward", f"from ({100 * confidence:g} %)", "to"], cells)
    weights = next((row for row in made[1:]), None)
    print()
    named = f"{counted(found.rows, 'row')}, {counted(len(found.actions), 'action')}"
    if weights:
        facts = {"effective rows": weights["effective"], "largest": weights["largest_weight"]}
        facts |= {"mean": weights["mean_weight"]}
        named += "; weights: " + ", ".join(f"{name} {amount(value)}" for name, value in facts.items())
    print(filled(named))
    for row in found.estimates:
        if "reason" in row:
            print(filled(f"No {ESTIMATORS[row['estimator']]} estimate: {row['reason']}", further="  "))
    for caution in found.cautions:
        print(filled(caution, further="  "))


USERS = {  # how a design counts users: before the number, and behind it
    "floor": ("", " users on average"),
    "one_shot": ("", " users"),
    "sequential": ("recruit ", " users"),
    "looks": ("at most ", " users"),
}


def print_plan(asked: "Question", designs: "Sequence[Row]", table: "Sequence[Row]") -> None:
    """The designs of a study in words, and their users over ε."""
    from privbandits_cli.actions import plan, plan_words

    for paragraph in (plan_words.opening(asked, designs[0].epsilon), *plan_words.advice(asked, designs)):
        print(filled(paragraph) + "\n")
    for number, row in plan_words.numbered(designs):
        words, (before, behind) = plan_words.explained(asked, row), USERS[row.design]
        users = f"{before}{row.users:,}{behind}" if row.users else "not simulated"
        print(f"{number} {words.title}: {users}".strip())
        for name, text in (
            ("", words.how),
            ("Guaranteed: ", words.guaranteed),
            ("Not guaranteed: ", words.not_guaranteed),
        ):
            if text:
                print(filled(f"{name}{text}", "   "))
        print()
    heads = {"one_shot": "1 one release", "looks": "2 a few looks", "floor": "no fewer than"}
    made = {epsilon: {row.design: row for row in table if row.epsilon == epsilon} for epsilon in plan.ordered(table)}
    shown = [design for design in heads if any(design in rows for rows in made.values())]
    cells = [
        [plan_words.level(epsilon), *(f"{rows[design].users:,}" for design in shown), f"{rows['one_shot'].price:.2f}"]
        for epsilon, rows in made.items()
    ]
    print_table(["ε", *(f" {heads[design]}" for design in shown), " price of 1"], cells)
    print()
    for paragraph in plan_words.closing(asked):
        print(filled(paragraph))


def print_audits(rows: list[dict[str, Any]]) -> None:
    """Verdicts, and the evidence for each."""
    cells = [
        [row["algorithm"], row["verdict"], at_least(row["epsilon_seen"]), at_most(row["refutable"]), f"{row['cost']:,}"]
        for row in rows
    ]
    print_table(["", "verdict", "ε lower bound", "detectable ε", "cost"], cells, text=2)
    for row in rows:
        print()
        print(filled(f"{row['algorithm']}: {row['verdict']}"))
        print(filled(f"claim: {row['claim']}", "  ", "    "))
        for word, key in (("played", "played"), ("evidence", "found"), ("assumed", "assumed")):
            if row[key]:
                print(filled(f"{word}: {row[key]}", "  ", "    "))
    print()
    notes = (
        "ε lower bound: the largest privacy loss that was found, at the claim's δ; it is computed. detectable ε: the "
        "smallest true ε, at that δ and on that game, for which this audit would have refuted the claim; – if it is "
        "not known. cost: rounds observed. An audit can refute a claim; it cannot prove one."
    )
    print(filled(notes))
