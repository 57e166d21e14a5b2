"""The report as Markdown, and its final regrets as LaTeX tables."""

import re
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import quote

from privbandits_cli.analysis.format import amount, table
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


def latex(report: ReportData) -> str:
    r"""The final regrets as tables, to be \input, with the lengths of the error bars above and below."""
    notes = "; ".join([report.final_title, *report.table.notes()])
    head = [_on_one_line(f"% {report.title}. {notes}."), r"% Needs \usepackage{booktabs}."]
    head += [f"% {report.partial}: not complete."] if report.partial else []
    head += [r"\begingroup\renewcommand{\arraystretch}{1.3}% room for the error bars"]
    tables = "\n\\par\\medskip\\noindent\n".join(map(_latex_table, finals(report.table)))
    return "\n".join([*head, tables, "\\endgroup\n"])


def _latex_table(final: Finals) -> str:
    rows = [[tex(label), *map(_latex_cell, cells)] for label, cells in final.rows.items()]
    text = table([*map(tex, (final.corner, *final.heads))], rows, kind="latex_raw")
    for rule in (r"\toprule", r"\midrule", r"\bottomrule"):  # tabulate's own booktabs format escapes $ and ^
        text = text.replace(r"\hline", rule, 1)
    return text


def tex(text: str) -> str:
    """A text in one line, with its signs escaped for LaTeX and Greek letters set as mathematics."""
    return _on_one_line(text).translate(TEX)


def _latex_cell(cell: Cell | None) -> str:
    if cell is None:
        return "--"
    regret, below, above = (amount(x).replace(",", "{,}") for x in (cell.regret, cell.below, cell.above))
    return f"${regret}^{{+{above}}}_{{-{below}}}$" if cell.spread else f"${regret}$"


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
    yield f"{_plain('; '.join(report.table.notes()))}."
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
        rows = [
            [one["algorithm"], one["mechanism"], amount(one["upper"]), amount(one["lower"]), f"{one['delta']:.3g}"]
            for one in report.privacy
        ]
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
    yield f"Mean difference of final regrets over {report.pairs.fewest} trials, with its 95 % bootstrap interval."
    for title, members in report.pairs.panels.items():
        rows = [
            [", ".join(filter(None, (row.title, row.at))), *map(amount, (row.mean, *(row.interval or ())))]
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
