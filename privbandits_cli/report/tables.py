"""The report as Markdown, and its final regrets as LaTeX tables."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, count, groupby, pairwise, repeat
from urllib.parse import quote

from privbandits_cli.analysis.format import amount, counted, ledger_row, table
from privbandits_cli.figures.shown import sheet
from privbandits_cli.report.data import Cell, Finals, ReportData, finals

MATHS = {
    "α": r"\alpha", "β": r"\beta", "γ": r"\gamma", "δ": r"\delta", "ε": r"\varepsilon", "ζ": r"\zeta",
    "η": r"\eta", "θ": r"\theta", "κ": r"\kappa", "λ": r"\lambda", "μ": r"\mu", "ν": r"\nu", "ξ": r"\xi",
    "π": r"\pi", "ρ": r"\rho", "σ": r"\sigma", "τ": r"\tau", "φ": r"\varphi", "χ": r"\chi", "ψ": r"\psi",
    "ω": r"\omega", "Γ": r"\Gamma", "Δ": r"\Delta", "Θ": r"\Theta", "Λ": r"\Lambda", "Σ": r"\Sigma",
    "Φ": r"\Phi", "Ψ": r"\Psi", "Ω": r"\Omega", "√": r"\surd", "∞": r"\infty", "±": r"\pm", "×": r"\times",
    "≤": r"\leq", "≥": r"\geq", "≈": r"\approx", "−": "-", "·": r"\cdot", "²": "^2", "³": "^3", "½": r"\tfrac12",
    "<": "<", ">": ">", "|": "|",
}  # fmt: skip
TEX = str.maketrans(
    {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", '"': r"\textquotedbl{}"}
    | {sign: "\\" + sign for sign in "&%$#_{}"}
    | {sign: f"{{{sign}}}" for sign in "[*"}  # after the end of a row LaTeX would read them as its arguments
    | {sign: rf"\ensuremath{{{name}}}" for sign, name in MATHS.items()}
)

# Lengths in points at LaTeX's default size of 10 points, with which a table is divided into blocks that fit a page.
TEXT_WIDTH, LABEL_WIDTH, GAP = 345.0, 115.0, 12.0
LETTER, SMALL_LETTER = 4.7, 3.7  # a letter or digit; in an error bar
MOST_LINES = 28  # of labels
SIDES = (("+", "+", "^"), ("−", "-", "_"))  # of an error bar: its sign, the sign in LaTeX, its place
FITTED = r"\newcommand{\fitted}[1]{\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{#1}}% never too wide"


def latex(report: ReportData) -> str:
    r"""The final regrets as tables, to be \input, with the lengths of the error bars above and below."""
    notes = "; ".join([report.final_title, *report.table.notes(numbers=True)])
    head = [_on_one_line(f"% {report.title}. {notes}."), r"% Needs \usepackage{booktabs,graphicx}."]
    head += [f"% {report.partial}: not complete."] if report.partial else []
    head += [r"\begingroup\renewcommand{\arraystretch}{1.3}% room for the error bars", FITTED]
    blocks = [block for final in finals(report.table) for block in _blocks(final)]
    tables = "\n\\par\\medskip\\noindent\n".join(map(_latex_table, blocks))
    return "\n".join([*head, tables, "\\endgroup\n"])


def _blocks(final: Finals) -> Iterator[Finals]:
    """The table in blocks of rows and of columns, each no larger than a page."""
    labels = list(final.rows)
    widths = [
        max(LETTER * len(head), *(_width(final.rows[label][i]) for label in labels)) + GAP
        for i, head in enumerate(final.heads)
    ]
    room = TEXT_WIDTH - min(LABEL_WIDTH, LETTER * max(map(len, [final.corner, *labels]))) - GAP
    parts = next(parts for parts in map(_parts, repeat(len(widths)), count(1)) if _fit(widths, parts, room))
    lines = accumulate((math.ceil(1.15 * LETTER * len(label) / LABEL_WIDTH) for label in labels), initial=0)
    block = {label: line // MOST_LINES for label, line in zip(labels, lines, strict=False)}
    for _, members in groupby(labels, block.__getitem__):
        rows = {label: final.rows[label] for label in members}
        for start, end in pairwise(parts):
            cells = {label: found[start:end] for label, found in rows.items()}
            yield Finals(final.corner, final.heads[start:end], cells)


def _parts(n: int, of: int) -> list[int]:
    """The ends of `of` parts of n columns, of about equal size."""
    return [-(-n * i // of) for i in range(of + 1)]


def _fit(widths: Sequence[float], parts: Sequence[int], room: float) -> bool:
    """Whether each part of the columns fits; a single column always does."""
    return all(end - start <= 1 or sum(widths[start:end]) <= room for start, end in pairwise(parts))


def _width(cell: Cell | None) -> float:
    """About the width of a cell in points."""
    if cell is None:
        return 2 * LETTER
    bar = max(map(len, cell.bars.values()), default=0)
    return LETTER * len(amount(cell.regret)) + SMALL_LETTER * bar


def _latex_table(final: Finals) -> str:
    wide = LETTER * max(map(len, [final.corner, *final.rows])) > LABEL_WIDTH
    rows = [
        [(r"\raggedright " if wide else "") + tex(label), *map(_latex_cell, cells)]
        for label, cells in final.rows.items()
    ]
    text = table([*map(tex, (final.corner, *final.heads))], rows, kind="latex_raw")
    if wide:  # labels take several lines
        text = text.replace("{tabular}{l", f"{{tabular}}{{p{{{LABEL_WIDTH:g}pt}}", 1)
    for rule in (r"\toprule", r"\midrule", r"\bottomrule"):  # tabulate's own booktabs format escapes $ and ^
        text = text.replace(r"\hline", rule, 1)
    return f"\\fitted{{%\n{text}}}"


def tex(text: str) -> str:
    """A text in one line, with its signs escaped for LaTeX and Greek letters set as mathematics."""
    return _on_one_line(text).translate(TEX)


def _latex_cell(cell: Cell | None) -> str:
    if cell is None:
        return "--"
    bars = [f"{place}{{{sign}{cell.bars[key]}}}" for key, sign, place in SIDES if key in cell.bars]
    return f"${amount(cell.regret)}{''.join(bars)}$".replace(",", "{,}")


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def markdown(report: ReportData) -> str:
    """The report in Markdown."""
    return "\n\n".join(_paragraphs(report)) + "\n"


def _paragraphs(report: ReportData) -> Iterator[str]:
    yield f"# {_plain(report.title)}"
    if report.partial:
        yield f"**{report.partial}**: this experiment is not complete."
    if report.config.get("source"):
        yield _plain(str(report.config["source"]))
    if report.picture:
        yield f"![{_plain(report.name)}]({quote(report.picture)})"
    yield f"{_plain('; '.join(sheet(report.table).notes))}."
    yield f"## {_plain(report.final_title)}"
    for final in finals(report.table):
        rows = [
            [label, *("–" if cell is None else amount(cell.regret) for cell in cells)]
            for label, cells in final.rows.items()
        ]
        yield _markdown_table([final.corner, *final.heads], rows)
    yield from _pairs(report)
    yield "## Privacy"
    if report.unknown:
        yield _plain(report.unknown)
    else:
        rows = [*map(ledger_row, report.privacy)]
        yield _markdown_table(["algorithm", "mechanism", "ε at most", "at least", "at δ"], rows, 3)
    if report.claims:
        names = ["claim", "source", "verdict", "figures", "note"]
        yield "## Claims"
        yield _markdown_table(names, [[claim[name] for name in names] for claim in report.claims], 0)
    if report.manifest.get("command"):
        yield "## Run it again"
        yield f"    {_on_one_line(report.command)}"


def _pairs(report: ReportData) -> Iterator[str]:
    if report.pairs is None:
        return
    yield "## Paired differences"
    trials = counted(report.pairs.fewest, "trial")
    what = report.pairs.x_label.removesuffix(", trial by trial")
    yield f"Mean {what} over {trials}, with its 95 % bootstrap interval."
    for title, members in report.pairs.panels.items():
        rows = [
            [", ".join(filter(None, (row.title, row.at))), *map(amount, (row.mean, *(row.interval or (None, None))))]
            for row in members
        ]
        yield _markdown_table([title, "mean", "from", "to"], rows)


def _markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: int | None = None) -> str:
    return table([*map(_plain, heads)], [[*map(_plain, row)] for row in rows], numbers)


def _plain(text: str) -> str:
    """A text in one line, with the special characters of Markdown escaped."""
    for sign in ("\\", "|", "*", "_", "`", "<", "[", "$"):
        text = text.replace(sign, "\\" + sign)
    return _on_one_line(re.sub(r"&(?=#?\w+;)", r"\&", text))  # an entity
