"""Findings -> the report in Markdown."""

from collections.abc import Iterator, Sequence

from privbandits_cli.report.data import Cell, Findings, amount, final_title, finals, loss


def _md(text: str) -> str:
    """A text for a cell of a Markdown table."""
    for sign in ("\\", "|", "*", "_", "`", "<", "[", "$"):
        text = text.replace(sign, "\\" + sign)
    return " ".join(text.split())


def markdown(found: Findings) -> str:
    """The report in Markdown."""
    return "\n".join([*_markdown(found), ""])


def _markdown(found: Findings) -> Iterator[str]:
    yield f"# {_md(found.title)}"
    yield ""
    if found.partial:
        yield f"**{found.partial}**: this experiment is not complete."
        yield ""
    if found.config.get("source"):
        yield _md(str(found.config["source"]))
        yield ""
    yield f"![{_md(found.name)}]({found.name}.png)"
    yield ""
    yield f"{_md('; '.join(found.table.notes()))}."
    yield ""
    yield f"## {_md(final_title(found.table, found.config))}"
    for table in finals(found.table):
        yield ""
        yield from _md_table([table.corner, *table.heads], [[name, *_cells(row)] for name, row in table.rows.items()])
    yield ""
    yield from _md_pairs(found)
    yield "## Privacy"
    yield ""
    if found.unknown:
        yield _md(found.unknown)
    else:
        rows = [
            [
                block["algorithm"],
                block["mechanism"],
                loss(block["upper"]),
                loss(block["lower"]),
                f"{block['delta']:.3g}",
            ]
            for block in found.privacy
        ]
        yield from _md_table(["", "", "ε at most", "at least", "at δ"], rows)
    yield ""
    if found.claims:
        yield "## Claims"
        yield ""
        names = ("claim", "source", "verdict", "figures", "note")
        yield from _md_table(list(names), [[claim[name] for name in names] for claim in found.claims])
        yield ""
    if found.manifest.get("command"):
        yield "## Run it again"
        yield ""
        yield f"    {found.command}"


def _md_pairs(found: Findings) -> Iterator[str]:
    if found.pairs is None:
        return
    yield "## Paired differences"
    yield ""
    yield f"Mean over {found.pairs.fewest} trials of the difference of final regrets, with its 95 % bootstrap interval."
    for title, strips in found.pairs.panels.items():
        rows = []
        for strip in strips:
            assert strip.interval is not None
            low, high = (amount(end) for end in strip.interval)
            rows.append([", ".join(part for part in (strip.title, strip.at) if part), amount(strip.mean), low, high])
        yield ""
        yield from _md_table([title, "mean", "from", "to"], rows)
    yield ""


def _md_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(map(_md, heads))} |"
    yield "|---" + "|---:" * (len(heads) - 1) + "|"
    for row in rows:
        yield f"| {' | '.join(map(_md, row))} |"


def _cells(row: Sequence[Cell | None]) -> list[str]:
    return ["–" if cell is None else amount(cell.regret) for cell in row]
