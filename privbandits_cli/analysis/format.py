"""Numbers and tables as text."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from privbandits_cli.accounting.rounding import at_least, at_most


def amount(value: float | None, digits: int = 4) -> str:
    """A regret or an ε with these significant digits, or a whole number if it has as many, never -0; a dash if none."""
    return "–" if value is None else whole(value) if abs(value) >= 10 ** (digits - 1) else f"{value:z.{digits}g}"


def whole(value: float | None) -> str:
    """A regret as a whole number, never -0; empty if there is none."""
    return "" if value is None else f"{value:z,.0f}"


def counted(n: int, noun: str) -> str:
    """`1 trial`, `2,000 trials`."""
    return f"{n:,} {noun}" + ("" if n == 1 else "s")


def parameter(value: float) -> str:
    """A value of a swept parameter."""
    return whole(value) if abs(value) >= 1000 else f"{value:zg}"


def equations(values: Mapping[str, float]) -> str:
    """`sigma = 153.34, shift = 184417`."""
    return ", ".join(f"{name} = {value:z.6g}" for name, value in values.items())


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: int | None = None, kind: str = "pipe") -> str:
    """A table in Markdown, or in another format of tabulate.

    numbers: how many of the last columns are aligned to the right, by default all but the first. The other columns
    are not padded, so that a longer cell changes no other row.
    """
    from tabulate import tabulate

    right = len(heads) - 1 if numbers is None else numbers
    align = [None] * (len(heads) - right) + ["right"] * right
    return tabulate(rows, heads, tablefmt=kind, disable_numparse=True, stralign=None, colalign=align)


def ledger_row(block: Mapping[str, Any]) -> list[str]:
    """The row of an algorithm in the privacy ledger: name, mechanism, upper bound on ε, lower bound on ε, δ."""
    upper, lower, delta = at_most(block["upper"]), at_least(block["lower"]), at_most(block["delta"], 3)
    return [block["algorithm"], block["mechanism"], upper, lower, delta]


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """Lines of CSV; a float has the shortest form that is read back as the same number."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def played(alone: str) -> str:
    """How trials play; alone: why they do not play in lockstep."""
    return f"one after the other: {alone}" if alone else "in lockstep, many of them in each instruction"
