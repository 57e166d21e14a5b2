"""The HTML pages: the report of an experiment, and the index of many. The templates escape everything they insert."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from privbandits_cli.analysis.format import amount
from privbandits_cli.experiment.names import Name
from privbandits_cli.figures.distributions import Distributions
from privbandits_cli.figures.styles import Style, styles_of
from privbandits_cli.report import data, plots
from privbandits_cli.report.data import ReportData

if TYPE_CHECKING:
    from jinja2 import Template

GLYPHS = dict(zip("os^DvPX*", "●■▲◆▼✚✖★", strict=True))
Figure = dict[str, Any]


def page(report: ReportData, script: str, listed: bool = False) -> str:
    """The report of an experiment.

    script: the address of plotly's JavaScript; listed: the index of all experiments is one folder up.
    """
    named = [figure.named for figure in (report.distribution, report.pairs) if figure]
    styles: dict[str, Style] = {}
    for curves in (*named, report.table.named()):  # the styles of the picture win
        styles |= styles_of(curves)
    figures = [_figure(report, styles)]
    figures += [_distribution(each, styles, report) for each in (report.distribution, report.pairs)]
    slopes = [
        f"{title}: {line.label}: {line.slope_text()}"
        for title, lines in report.table.panels.items()
        for line in lines
        if line.slope is not None
    ]
    return _template("report.html").render(
        report=report, script=script, listed=listed, figures=figures, slopes=slopes, finals=data.finals(report.table)
    )


def index(reports: Sequence[ReportData]) -> str:
    """The index of a folder of results."""
    return _template("index.html").render(reports=reports)


def _template(name: str) -> "Template":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader(__package__)
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    filters = (amount, data.number, plots.as_json)
    environment.filters |= {each.__name__: each for each in filters}
    return environment.get_template(name)


def _figure(report: ReportData, styles: dict[str, Style]) -> Figure:
    table = report.table
    panels = {title: plots.line_plot(title, table, styles, report.partial) for title in table.panels}
    return _described(panels, [label for _, label in table.named()], styles, table.notes())


def _distribution(figure: Distributions | None, styles: dict[str, Style], report: ReportData) -> Figure:
    if figure is None:
        return {}
    panels = {title: plots.distribution_plot(title, figure, styles, report.partial) for title in figure.panels}
    labels = [row.line for members in figure.panels.values() for row in members]
    return _described(panels, labels, styles, [f"{figure.fewest} trials", figure.note])


def _described(
    panels: Mapping[Name, plots.Plot] | Mapping[str, plots.Plot],
    labels: Sequence[str],
    styles: dict[str, Style],
    notes: Sequence[str],
) -> Figure:
    """What the template draws: panels by title, the entries of the legend, the notes below."""
    legend = [
        {"label": label, "colour": plots.colour(style), "dashes": plots.dashes(style), "glyph": GLYPHS[style.marker]}
        for label, style in ((label, styles[label]) for label in dict.fromkeys(labels))
    ]
    return {"panels": panels, "legend": legend, "notes": notes}
