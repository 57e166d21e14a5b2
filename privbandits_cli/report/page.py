"""Findings -> one self-contained HTML page; many experiments -> an index of their pages.

Whatever comes from a config, a result or a user is escaped; nothing is fetched, as the page's policy forbids it.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from string import Template

from privbandits_cli.figures.distributions import Distributions
from privbandits_cli.figures.styles import Style, styles
from privbandits_cli.report import blocks
from privbandits_cli.report.data import Findings
from privbandits_cli.report.svg import lines_panel, strips_panel, swatch, thumbnail

HERE = Path(__file__).parent


class _Legend:
    """The looks of all labels of a page, and their numbers in its legend."""

    def __init__(self, found: Findings) -> None:
        others = [strips.named for strips in (found.distribution, found.pairs) if strips]
        self.looks: dict[str, Style] = {}
        for named in (*others, found.table.named()):  # the figure's own looks win: they are those of the picture
            self.looks |= styles(named)
        self.numbers = {label: i for i, label in enumerate(self.looks)}

    def buttons(self, labels: Sequence[str]) -> str:
        """Buttons that switch curves on and off."""
        parts = (
            f'<button type="button" aria-pressed="true" data-curve="{self.numbers[label]}">'
            f"{swatch(self.looks[label])}<span>{escape(label)}</span></button>"
            for label in labels
        )
        return f'<div class="legend" role="group" aria-label="Curves">{"".join(parts)}</div>'


def page(found: Findings, listed: bool = False) -> str:
    """The report of an experiment; listed: an index of all lies one folder up."""
    legend = _Legend(found)
    sections = {
        "Figure": _figure(found, legend),
        "Final regret": blocks.finals_section(found),
        "Distribution": _strips(found.distribution, legend, found),
        "Pairs": _strips(found.pairs, legend, found),
        "Privacy": "".join(blocks.privacy(found)),
        "Claims": blocks.claims(found.claims),
        "Run it again": blocks.rerun(found),
        "What was run": blocks.provenance(found.manifest),
    }
    told = {title: body for title, body in sections.items() if body}
    links = "".join(f'<a href="#{_anchor(title)}">{title}</a>' for title in told)
    body = "".join(f'<section><h2 id="{_anchor(title)}">{title}</h2>{text}</section>' for title, text in told.items())
    return _html(found.title, f"{_head(found, listed)}<nav>{links}</nav>{body}")


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")


def _html(title: str, body: str) -> str:
    style, script = ((HERE / name).read_text(encoding="utf-8").strip() for name in ("page.css", "page.js"))
    template = Template((HERE / "page.html").read_text(encoding="utf-8"))
    return template.substitute(title=escape(title), style=style, script=script, body=body)


def _head(found: Findings, listed: bool) -> str:
    config = found.config
    facts = {
        "game": config.get("game"),
        "rounds": config.get("horizon"),
        "arms": config.get("arms") if config.get("game", "bandit") != "linear" else None,
        "set": config.get("set") if config.get("game") == "linear" else None,
        "dimension": config.get("dimension") if config.get("game") != "bandit" else None,
        "trials": found.table.wanted,
        "seed": str(config["seed"]) if "seed" in config else None,
    }
    source = f"<p>{escape(str(config['source']))}</p>" if config.get("source") else ""
    up = '<a href="../index.html">all experiments</a> / ' if listed else ""
    alarm = (
        f'<p class="alarm"><b>{escape(found.partial)}</b>: this experiment is not complete. '
        "Run it again to play what is missing; do not cite these numbers.</p>"
        if found.partial
        else ""
    )
    return (
        f'<p class="crumb">{up}{escape(found.name)}</p>'
        f"<h1>{escape(found.title)}</h1>{source}{alarm}{blocks.facts_row(facts)}"
    )


def _panels(panels: dict[str, str]) -> str:
    """Figures beside each other, each under its title."""
    figures = (
        f"<figure><h3>{f'({chr(97 + i)}) ' if 1 < len(panels) <= 26 else ''}{escape(title)}</h3>{svg}</figure>"
        for i, (title, svg) in enumerate(panels.items())
    )
    columns = {1: " one", 2: " two", 4: " two"}.get(len(panels), "")
    return f'<div class="panels{columns}">{"".join(figures)}</div>'


def _figure(found: Findings, legend: _Legend) -> str:
    table = found.table
    drawn: dict[str, str] = {
        title: lines_panel(
            title, lines, legend.looks, legend.numbers, table.labels(), table.bar_rounds, table.log, found.partial
        )
        for title, lines in table.panels.items()
    }
    labels = list(dict.fromkeys(label for _, label in table.named()))
    slopes = [
        f"{title}: {line.label}: {line.slope_text()}"
        for title, lines in table.panels.items()
        for line in lines
        if line.slope is not None
    ]
    listed = (
        f"<details><summary>Slopes</summary><ul>{''.join(f'<li>{escape(text)}</li>' for text in slopes)}</ul></details>"
    )
    return legend.buttons(labels) + _panels(drawn) + blocks.note_line(table.notes()) + (listed if slopes else "")


def _strips(strips: Distributions | None, legend: _Legend, found: Findings) -> str:
    if strips is None:
        return ""
    drawn = {title: strips_panel(title, strips, legend.looks, legend.numbers, found.partial) for title in strips.panels}
    lines = dict.fromkeys(strip.line for members in strips.panels.values() for strip in members)
    return legend.buttons(list(lines)) + _panels(drawn) + blocks.note_line([f"{strips.fewest} trials", strips.note])


def index(reports: Sequence[Findings]) -> str:
    """The index of a folder of results: a card for each experiment."""
    cards = "".join(f"<li>{_card(found)}</li>" for found in reports)
    head = f'<h1>Results</h1><p class="note">{len(reports)} experiments.</p>'
    return _html("Results", f'{head}<ul class="cards">{cards}</ul>')


def _card(found: Findings) -> str:
    lines = next(iter(found.table.panels.values()))
    picture = thumbnail(lines, styles(found.table.named()), found.table.log)
    verdicts = [claim["verdict"] for claim in found.claims]
    counted = ", ".join(f"{verdicts.count(verdict)} {verdict.lower()}" for verdict in dict.fromkeys(verdicts))
    notes = [found.name, found.partial, f"claims: {counted}" if counted else ""]
    source = escape(str(found.config.get("source", "")))
    return (
        f'<a href="{escape(found.name)}/report.html">{picture}<h3>{escape(found.title)}</h3>'
        f'<p class="note">{source}</p><p class="note">{escape(" · ".join(note for note in notes if note))}</p></a>'
    )
