"""The HTML pages: the report of an experiment, and the index of many. The templates escape everything they insert."""

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from privbandits_cli.accounting.rounding import at_least, at_most
from privbandits_cli.analysis.format import amount, counted
from privbandits_cli.figures.distributions import Distributions
from privbandits_cli.figures.shown import Sheet, sheet
from privbandits_cli.figures.styles import Style, styles_of
from privbandits_cli.report import data, plots
from privbandits_cli.report.data import ReportData

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

GLYPHS = dict(zip("os^DvPX*<>ph", "●■▲◆▼✚✖★◀▶⬟⬢", strict=True))


def page(report: ReportData, script: str, listed: bool = False) -> str:
    """The report of an experiment.

    script: the address of plotly's JavaScript; listed: the index of all experiments is one folder up.
    """
    shown, others = sheet(report.table), (report.distribution, report.pairs)
    style_of: dict[str, Style] = {}
    for figure in filter(None, others):
        style_of |= styles_of(figure.drawn)
    style_of |= shown.styles  # those of the picture
    figures = [_figure(shown, report.partial), *(_distribution(each, style_of, report) for each in others)]
    slopes = [
        f"{title}: {line.label}: {line.slope_text()}"
        for title, lines in report.table.panels.items()
        for line in lines
        if line.slope is not None
    ]
    further = {"styles": style_of, "glyphs": GLYPHS, "figures": figures, "slopes": slopes}
    finals = data.finals(report.table)
    return _template("report.html").render(report=report, script=script, listed=listed, finals=finals, **further)


def index(reports: Sequence[ReportData]) -> str:
    """The index of a folder of results."""
    return _template("index.html").render(reports=reports)


def parted(text: str) -> "Markup":
    """The text, in which a browser may break words of more than 24 letters, so that none of them widens a table."""
    from markupsafe import Markup

    return Markup("<wbr>").join(re.split(r"(?<=\S{24})(?=\S)", text))


@cache
def _template(name: str) -> "Template":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader(__package__)
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    filters = (amount, counted, at_least, at_most, data.number, parted, plots.as_json, plots.dashes)
    environment.filters |= {each.__name__: each for each in filters}
    return environment.get_template(name)


def _figure(shown: Sheet, partial: str) -> dict[str, Any]:
    return {
        "panels": {title: plots.line_plot(title, shown, partial) for title in shown.panels},
        "labels": {line.label: shown.texts[line.label] for line in shown.table.lines},
        "shared": shown.shared,
        "notes": shown.notes,
    }


def _distribution(figure: Distributions | None, style_of: dict[str, Style], report: ReportData) -> dict[str, Any]:
    if figure is None:
        return {}
    panels = {title: plots.distribution_plot(title, figure, style_of, report.partial) for title in figure.panels}
    labels = {row.line: row.line for rows in figure.panels.values() for row in rows}
    return {"panels": panels, "labels": labels, "shared": [], "notes": [counted(figure.fewest, "trial"), figure.note]}
