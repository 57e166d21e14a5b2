"""The parts of a report that are words and numbers, as HTML; whatever is not our own text is escaped."""

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from privbandits_cli.report.data import Cell, Finals, Findings, amount, final_title, finals, loss


def facts_row(facts: Mapping[str, Any]) -> str:
    """Names with values; what is None is left out."""
    rows = (
        f"<div><dt>{name}</dt><dd>{escape(_said(value))}</dd></div>"
        for name, value in facts.items()
        if value is not None
    )
    return f'<dl class="facts">{"".join(rows)}</dl>'


def _said(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_said(part) for part in value)
    return f"{value:,}" if isinstance(value, int) and value >= 1000 else str(value)


def note_line(notes: Sequence[str]) -> str:
    """What a reader should know, in small print."""
    return f'<p class="note">{escape("; ".join(notes))}.</p>'


def finals_section(found: Findings) -> str:
    """The final regrets."""
    title = f"{final_title(found.table, found.config)}: {found.table.centre} of {found.table.fewest} trials"
    if found.partial:
        title += f", {found.partial}"
    return note_line([title, f"below: {found.table.bars}"]) + "".join(
        _final_table(table) for table in finals(found.table)
    )


def _final_table(table: Finals) -> str:
    heads = "".join(f'<th scope="col" class="number">{escape(head)}</th>' for head in table.heads)
    rows = "".join(
        f'<tr><th scope="row">{escape(label)}</th>{"".join(_cell(cell) for cell in cells)}</tr>'
        for label, cells in table.rows.items()
    )
    head = f'<thead><tr><th scope="col">{escape(table.corner)}</th>{heads}</tr></thead>'
    return f'<div class="scroll"><table class="finals">{head}<tbody>{rows}</tbody></table></div>'


def _cell(cell: Cell | None) -> str:
    if cell is None:
        return '<td class="number">–</td>'
    bars = f"<small>−{amount(cell.below)} +{amount(cell.above)}</small>" if cell.spread else ""
    return f'<td class="number" data-value="{cell.regret!r}">{amount(cell.regret)}{bars}</td>'


def privacy(found: Findings) -> Iterator[str]:
    """The ledger: what brackets the truth, then each algorithm's bounds and notes."""
    if found.unknown:
        yield f'<p class="alarm">{escape(found.unknown)}</p>'
        return
    rows = "".join(
        f'<tr><th scope="row">{escape(block["algorithm"])}</th><td class="text">{escape(block["mechanism"])}</td>'
        f'<td class="number">{loss(block["upper"])}</td><td class="number">{loss(block["lower"])}</td>'
        f'<td class="number">{block["delta"]:.3g}</td></tr>'
        for block in found.privacy
    )
    head = "".join(
        f'<th scope="col"{kind}>{name}</th>'
        for name, kind in (
            ("algorithm", ""),
            ("", ""),
            ("ε at most", ' class="number"'),
            ("at least", ' class="number"'),
            ("at δ", ' class="number"'),
        )
    )
    yield f'<div class="scroll"><table class="ledger"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    for block in found.privacy:
        yield _block(block)


def _block(block: dict[str, Any]) -> str:
    bounds = "".join(
        f"<tr><td>ε {'≥' if bound['lower'] else '≤'} {loss(bound['epsilon'])}</td>"
        f"<td>δ = {bound['delta']:.3g}</td>"
        f'<td>{escape(bound["status"])}</td><td class="text">{escape(bound["source"])}</td></tr>'
        for bound in block["bounds"]
    )
    told = "".join(f"<li>{escape(note)}</li>" for note in block["notes"])
    if block["bounds"]:
        first = block["bounds"][0]
        about = f"neighbours: {first['neighbours']}; unit: {first['unit']}; view: {first['view']}"
    else:
        about = "Nothing is promised of its privacy."
    return (
        f"<details><summary>{escape(block['algorithm'])}</summary><p>{escape(about)}</p>"
        f'<div class="scroll"><table>{bounds}</table></div><ul>{told}</ul></details>'
    )


def claims(verdicts: Sequence[Mapping[str, str]]) -> str:
    """The paper's claims with what came of each; nothing where there are none."""
    if not verdicts:
        return ""
    rows = "".join(
        f'<tr><td class="text">{escape(claim["claim"])}<small>{escape(claim["source"])}</small></td>'
        f'<td class="{escape(claim["verdict"].replace(" ", "-"))}">{escape(claim["verdict"])}</td>'
        f'<td class="text">{escape(claim["figures"])}</td>'
        f'<td class="text">{escape(claim["note"])}{_certified(claim["epsilon"])}</td></tr>'
        for claim in verdicts
    )
    head = "".join(f'<th scope="col">{name}</th>' for name in ("claim, and its place", "verdict", "figures", "note"))
    return (
        f'<div class="scroll"><table class="claims"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _certified(epsilon: str) -> str:
    return f"<small>certified ε: {escape(epsilon)}</small>" if epsilon else ""


def rerun(found: Findings) -> str:
    """The command, and the experiment in full."""
    config = f"<details><summary>config.yaml</summary><pre>{escape(found.config_text)}</pre></details>"
    return f"<pre>{escape(found.command)}</pre>" + (config if found.config_text else "")


def provenance(manifest: Mapping[str, Any]) -> str:
    """The manifest's facts."""
    if not manifest:
        return ""
    git = manifest.get("git") or {}
    trials = manifest.get("trials", {})
    facts = {
        "trials": f"{_said(trials.get('done'))} of {_said(trials.get('wanted'))}, {trials.get('failed')} failed",
        "started": manifest.get("started"),
        "ended": manifest.get("ended"),
        "engine": f"{manifest['engine']}, {manifest.get('jobs')} jobs" if "engine" in manifest else None,
        "commit": f"{git['commit'][:12]}{', with changes' if git.get('dirty') else ''}" if git else None,
        "processor": manifest.get("machine", {}).get("cpu"),
        "system": manifest.get("machine", {}).get("system"),
    } | manifest.get("versions", {})
    note = f'<p class="note">{escape(manifest["note"])}</p>' if manifest.get("note") else ""
    text = json.dumps(manifest.get("sha256", {}), indent=1)
    return (
        facts_row(facts) + note + f"<details><summary>Checksums (SHA-256)</summary><pre>{escape(text)}</pre></details>"
    )
