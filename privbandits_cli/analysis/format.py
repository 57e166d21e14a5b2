"""Numbers and tables as text."""

from collections.abc import Iterable, Sequence


def amount(value: float | None) -> str:
    """A regret or an ε: four digits, or a whole number from 1000 on; a dash if there is none."""
    return "–" if value is None else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def parameter(value: float) -> str:
    """A value of a swept parameter."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: int | None = None, kind: str = "pipe") -> str:
    """A table in Markdown, or in another format of tabulate.

    numbers: how many of the last columns are aligned to the right, by default all but the first. The other columns
    are not padded, so that a longer cell changes no other row.
    """
    from tabulate import tabulate

    right = len(heads) - 1 if numbers is None else numbers
    align = [None] * (len(heads) - right) + ["right"] * right
    return tabulate(rows, heads, tablefmt=kind, disable_numparse=True, stralign=None, colalign=align)
