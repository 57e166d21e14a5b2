"""Findings -> what a paper takes in: a table (booktabs), a figure (pgfplots) with its data."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from privbandits_cli.experiment.names import Name
from privbandits_cli.figures.line import Line
from privbandits_cli.figures.scales import axes_of
from privbandits_cli.figures.styles import Style
from privbandits_cli.figures.styles import styles as styles_of
from privbandits_cli.figures.table import Table
from privbandits_cli.report.data import Cell, Finals, Findings, amount, final_title, finals

SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "\n": " ",
    **{sign: "\\" + sign for sign in "&%$#_{}"},
    **{
        sign: rf"\ensuremath{{{name}}}"
        for sign, name in {
            "α": r"\alpha", "β": r"\beta", "γ": r"\gamma", "δ": r"\delta", "ε": r"\varepsilon", "ζ": r"\zeta",
            "η": r"\eta", "θ": r"\theta", "κ": r"\kappa", "λ": r"\lambda", "μ": r"\mu", "ν": r"\nu", "ξ": r"\xi",
            "π": r"\pi", "ρ": r"\rho", "σ": r"\sigma", "τ": r"\tau", "φ": r"\varphi", "χ": r"\chi", "ψ": r"\psi",
            "ω": r"\omega", "Γ": r"\Gamma", "Δ": r"\Delta", "Θ": r"\Theta", "Λ": r"\Lambda", "Σ": r"\Sigma",
            "Φ": r"\Phi", "Ψ": r"\Psi", "Ω": r"\Omega", "√": r"\surd", "∞": r"\infty", "±": r"\pm", "×": r"\times",
            "≤": r"\leq", "≥": r"\geq", "≈": r"\approx", "−": "-", "·": r"\cdot", "²": "^2", "³": "^3",
            "½": r"\tfrac12",
        }.items()
    },
}  # fmt: skip
MARKS = dict(zip("os^DvPX*", ("*", "square*", "triangle*", "diamond*", "pentagon*", "+", "x", "star"), strict=True))


def tex(text: str) -> str:
    """A text for LaTeX, as it is read: signs that mean something there are escaped, Greek is set as mathematics."""
    return "".join(SPECIAL.get(sign, sign) for sign in text)


def table_tex(found: Findings) -> str:
    r"""The final regrets as tabulars, to be \input; errors above and below stand as the figure's bars."""
    notes = [final_title(found.table, found.config), *found.table.notes()]
    parts = [
        rf"% {_comment(found.title)}. {_comment('; '.join(notes))}.",
        r"% Needs \usepackage{booktabs}.",
        *([f"% {found.partial}: not complete."] if found.partial else []),
        r"\begingroup\renewcommand{\arraystretch}{1.3}% room for the errors",
    ]
    for i, table in enumerate(finals(found.table)):
        parts += ([r"\par\medskip\noindent"] if i else []) + list(_tabular(table))
    return "\n".join([*parts, r"\endgroup", ""])


def _comment(text: str) -> str:
    return " ".join(text.split())


def _tabular(table: Finals) -> Iterator[str]:
    yield rf"\begin{{tabular}}{{l{'r' * len(table.heads)}}}"
    yield r"\toprule"
    yield " & ".join(map(tex, (table.corner, *table.heads))) + r" \\"
    yield r"\midrule"
    for label, cells in table.rows.items():
        yield " & ".join([tex(label), *map(_tex_cell, cells)]) + r" \\"
    yield r"\bottomrule"
    yield r"\end{tabular}"


def _tex_cell(cell: Cell | None) -> str:
    if cell is None:
        return "--"
    regret, below, above = (amount(x).replace(",", "{,}") for x in (cell.regret, cell.below, cell.above))
    return f"${regret}^{{+{above}}}_{{-{below}}}$" if cell.spread else f"${regret}$"


def pgfplots(found: Findings) -> dict[str, str]:
    """figure.tex and, a file a panel, the points that it draws: name of the file -> content."""
    table = found.table
    styles = styles_of(table.named())
    files = {f"figure-{i}.dat": _data(lines) for i, lines in enumerate(table.panels.values(), 1)}
    return {"figure.tex": "\n".join([*_picture(found, table, styles), ""])} | files


def _data(lines: Sequence[Line]) -> str:
    """Columns x, and of the k-th line regretk, belowk, abovek, boundk; nan where a line has no point."""
    every = np.unique(np.concatenate([line.x for line in lines]))
    names, columns = ["x"], [every]
    for k, line in enumerate(lines, 1):
        at = np.searchsorted(every, line.x)
        parts = {"regret": line.regret, "below": line.below, "above": line.above, "bound": line.bound}
        for name, values in parts.items():
            if values is not None:
                column = np.full(len(every), math.nan)
                column[at] = values
                names.append(f"{name}{k}")
                columns.append(column)
    rows = (" ".join(map(repr, row)) for row in np.stack(columns, axis=1).tolist())
    return "\n".join([" ".join(names), *rows, ""])


def _picture(found: Findings, table: Table, styles: dict[str, Style]) -> Iterator[str]:
    columns = 1 if len(table.panels) == 1 else 2
    rows = math.ceil(len(table.panels) / columns)
    yield f"% {_comment(found.title)}. {_comment('; '.join(table.notes()))}."
    yield r"% Needs \usepackage{pgfplots} \usepgfplotslibrary{groupplots} \pgfplotsset{compat=1.17}."
    yield r"% From another folder: \newcommand{\privbanditsdata}{path/to/this/folder} before \input."
    yield r"\providecommand{\privbanditsdata}{.}"
    for i, look in enumerate(styles.values(), 1):
        yield from _style(f"privbandits{i}", look)
    yield r"\begin{tikzpicture}"
    yield rf"\begin{{groupplot}}[group style={{group size={columns} by {rows},"
    yield r"  horizontal sep=14mm, vertical sep=16mm}, width=68mm, height=52mm, grid=major, grid style={gray!25},"
    yield r"  tick label style={font=\footnotesize}, label style={font=\footnotesize}, title style={font=\small},"
    yield r"  legend style={font=\footnotesize, draw=none, cells={anchor=west}, at={(0.5,-0.35)}, anchor=north},"
    yield r"  unbounded coords=discard, filter discard warning=false]"
    for i, title in enumerate(table.panels, 1):
        yield from _axis(i, title, table, list(styles))
    for i, label in enumerate(styles, 1):
        yield rf"\addlegendimage{{privbandits{i}}}\addlegendentry{{{tex(label)}}}"
    yield r"\end{groupplot}"
    if found.partial:
        yield rf"\node[rotate=30, red, opacity=0.4, font=\Huge] at (current bounding box.center) {{{found.partial}}};"
    yield r"\end{tikzpicture}"


def _style(name: str, look: Style) -> Iterator[str]:
    """The look of a curve as a style of pgfplots, and its colour, both of this name."""
    red, green, blue = look.mixed()
    stroke = " ".join(f"{'off' if i % 2 else 'on'} {1.2 * part:g}pt" for i, part in enumerate(look.stroke))
    dashes = f", dash pattern={stroke}" if stroke else ""
    mark = f"mark={MARKS[look.marker]}, mark size=1.3pt, mark options={{solid, fill={name}}}"
    yield rf"\definecolor{{{name}}}{{rgb}}{{{red:.3f},{green:.3f},{blue:.3f}}}"
    yield rf"\pgfplotsset{{{name}/.style={{color={name}, thick, {mark}{dashes}}}}}"


def _axis(i: int, title: Name, table: Table, labels: Sequence[str]) -> Iterator[str]:
    """A panel: of each curve the line, its error bars at some of the points, the bound."""
    lines = table.panels[title]
    x, y = (tex(label) for label in table.labels())
    scales = zip("xy", axes_of(lines, table.log), strict=True)
    modes = "".join(f", {name}mode=log" for name, scale in scales if scale.kind == "log")
    yield rf"\nextgroupplot[title={{{tex(title)}}}, xlabel={{{x}}}, ylabel={{{y}}}{modes}]"
    for k, line in enumerate(lines, 1):
        style = f"privbandits{labels.index(line.label) + 1}"
        file = rf"{{\privbanditsdata/figure-{i}.dat}};"
        every = max(1, round(len(line.x) / max(1, table.bar_rounds)))
        yield rf"\addplot[{style}, mark repeat={every}, forget plot] table[x=x, y=regret{k}] {file}"
        yield (
            rf"\addplot[{style}, draw=none, mark=none, forget plot, each nth point={every}, error bars/.cd, y dir=both,"
            rf" y explicit, error bar style={{{style}, solid, thin}}]"
        )
        yield rf"  table[x=x, y=regret{k}, y error minus=below{k}, y error plus=above{k}] {file}"
        if line.bound is not None:
            yield rf"\addplot[{style}, thin, densely dotted, mark=none, forget plot] table[x=x, y=bound{k}] {file}"
