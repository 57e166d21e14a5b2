"""A page for each algorithm and each adversary, from its own file, its guarantee, and the committed results."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import yaml

from _generate import DOCS, keys, pictures
from _generate.experiments import Claimed, Played, every
from _generate.markdown import blocks, code, line, table
from privbandits_cli.accounting.rounding import VACUOUS, at_least, at_most, is_vacuous, pair, regret
from privbandits_cli.actions.exports import citation
from privbandits_cli.actions.privacy import block
from privbandits_cli.actions.show import OPPONENTS, READ, facts, plain
from privbandits_cli.experiment.settings import Size
from privbandits_cli.games.players import Algorithm
from privbandits_cli.plugins.registry import PlayerKind, Registry
from privbandits_cli.report.references import Work, cited, works

HORIZON, SIZE = 2**18, 4  # of the values that the pages show
KINDS: dict[PlayerKind, str] = {"algorithms": "Algorithms", "adversaries": "Adversaries"}
FAMILY = {  # the pictures' games -> the section of the index
    "bandit": "Bandits",
    "heavy_tails": "Bandits with heavy-tailed gains",
    "linear": "Online linear optimisation",
    "linear_bandit": "Bandit linear optimisation",
    "contextual": "Contextual linear bandits",
    "best_arm": "Best-arm identification",
    "contextual_fixed": "Contextual linear bandits",
}


@cache
def formulas() -> Mapping[str, str]:
    """The TeX of each page."""
    found: dict[str, str] = yaml.safe_load((DOCS / "_generate" / "formulas.yaml").read_text(encoding="utf-8"))
    return found


def formula(name: str) -> str:
    """The formula of a page, with a line for each part that a `\\qquad` separates."""
    if name not in formulas():
        raise ValueError(f"{name} has no formula: write it in docs/_generate/formulas.yaml")
    lines = r" \\[1.5ex] ".join(part.strip() for part in formulas()[name].split(r"\qquad"))
    return f"$$\n\\begin{{gathered}}\n{lines}\n\\end{{gathered}}\n$$\n"


def pages() -> Iterator[tuple[str, str]]:
    """A page for each algorithm and adversary, and an index of each kind."""
    registry = Registry()
    for kind, title in KINDS.items():
        found = {name: facts(registry, name, Size(HORIZON, SIZE)) for name in registry.names(kind)}
        for name, known in found.items():
            yield f"{kind}/{name}.md", "\n".join(_page(registry, kind, name, known)) + "\n"
        yield f"{kind}/index.md", "\n".join(_index(title, found)) + "\n"


def _index(title: str, found: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    yield f"# {title}\n"
    yield (
        "These pages are generated from the code: each describes the file of its name, with its parameters, "
        "what is proved of it, and the experiments in which it plays.\n"
    )
    families: dict[str, list[str]] = {}
    for name in found:
        planned = pictures.planned().get(name)
        families.setdefault(FAMILY[planned.game if planned else found[name]["game"]], []).append(name)
    for family in sorted(families, key=lambda family: list(FAMILY.values()).index(family)):
        yield f"## {family}\n"
        read = ["read"] * any("read" in found[name] for name in families[family])
        rows = [
            [
                f"[{name}]({name}.md)",
                *(found[name].get(column, "") for column in read),
                line(found[name]["citation"].partition("\n\n")[0]),
            ]
            for name in families[family]
        ]
        yield table(["name", *read, ""], rows)
        yield ""
    yield "```{toctree}\n:hidden:\n"
    yield from found
    yield "```"


def _page(registry: Registry, kind: PlayerKind, name: str, known: Mapping[str, Any]) -> Iterator[str]:
    first, _, rest = known["citation"].partition("\n\n")
    shown = {other: display for display, other in registry.displays(kind).items()}
    yield f"# {shown.get(name) or line(re.split(' [(]|:', first)[0])}\n"
    read = f" · written from {READ[known['read']]}" if "read" in known else ""
    yield f"`{name}` · game `{known['game']}` · `privbandits_cli/{kind}/{name}.py`{read}\n"
    yield line(first) + "\n"
    yield formula(name)
    yield from blocks(rest)
    yield from _picture(name, kind)
    yield from _parameters(registry, kind, name, known)
    if kind == "algorithms":
        yield from _privacy(registry, known)
        yield from _bounds(known)
    yield from _appearances(name)
    yield from _references(registry, kind, name)


def _picture(name: str, kind: PlayerKind) -> Iterator[str]:
    planned = pictures.planned().get(name)
    if planned is None:
        return
    experiment = pictures.games()[planned.game]
    keys_ = experiment.keys
    against = f"[{planned.adversary}](../adversaries/{planned.adversary}.md)" if planned.own else "it"
    grey = " Grey lines are the other algorithms of the same game." if planned.own else ""
    size = f"{keys_.arms} arms" if keys_.game == "bandit" else f"dimension {keys_.dimension}"
    yield "## Regret\n"
    yield f":::{{figure}} ../_generated/pictures/{name}.svg"
    yield f":alt: Mean regret of {name} over rounds" if kind == "algorithms" else f":alt: Mean regret against {name}"
    yield ":width: 40em\n"
    yield (
        f"Mean regret against {against} over {keys_.trials} trials, with {size}, simulated when this page was built "
        f"(`privbandits run docs/_generate/games/{planned.game}.yaml`).{grey}"
    )
    yield ":::\n"


def _parameters(registry: Registry, kind: PlayerKind, name: str, known: Mapping[str, Any]) -> Iterator[str]:
    yield "## Parameters\n"
    if not known["parameters"]:
        yield "None.\n"
        return
    fields = registry.find(kind, name).model_json_schema()["properties"]
    rows = []
    for parameter in known["parameters"]:
        key, default = parameter["name"], parameter["default"]
        tuned = known["tuned"].get(key)
        shown = "**required**" if parameter["required"] else "" if default is None else code(plain(default))
        allowed = "an algorithm" if isinstance(default, dict) or key == "base" else keys.values(fields[key])
        said = f"{line(parameter['description'])}<br>*Value:* {allowed}"
        rows.append([f"`{key}`", said, shown, "" if tuned is None else code(plain(tuned))])
    yield table(["parameter", "", "default", "here"], rows)
    size = f"{known['set']}, N" if known["set"] else "K"
    given = "".join(f", {key} = {value}" for key, value in known["shown_with"].items())
    dimension = f", d = {known['dimension']}" if known["dimension"] else ""
    yield f"\nThe column *here* is for T = {HORIZON:,}, {size} = {SIZE}{dimension}{line(given)}."
    yield "What is left out takes the tuning of the paper.\n"
    if known["instances"]:
        means = [[f"`{key}`", ", ".join(f"{mean:.4g}" for mean in means)] for key, means in known["instances"].items()]
        yield table(["instance", f"means for K = {SIZE}"], means)
        yield ""


def _privacy(registry: Registry, known: Mapping[str, Any]) -> Iterator[str]:
    yield "## Privacy\n"
    ready = registry.rebuilt("algorithms", {"name": known["name"], **known["tuned"]})
    assert isinstance(ready, Algorithm)
    setting = Size(HORIZON, SIZE).setting(ready)
    ledger = block(ready, setting)
    promised = known["guarantee"]
    if promised is None:
        yield "No guarantee.\n"
    else:
        bound = pair(promised["epsilon"], promised["delta"])
        yield f"**{bound}**, {promised['status']}: {line(promised['source'])}.\n"
        yield f"Neighbours: {line(promised['neighbours'])}. View: {line(promised['view'])}.\n"
    rows = [
        [
            f"≥ {at_least(bound['epsilon'])}" if bound["lower"] else f"≤ {at_most(bound['epsilon'])}",
            f"{bound['delta']:.3g}",
            bound["status"],
            line(bound["source"]),
        ]
        for bound in ledger["bounds"]
    ]
    if len(rows) > 1:
        yield table(["ε", "δ", "status", "source"], rows)
        yield ""
    yield from (f"- {line(note)}" for note in ledger["notes"])
    yield ""


def _bounds(known: Mapping[str, Any]) -> Iterator[str]:
    yield "## Regret bound\n"
    for paragraph in (known["bound"] or "").split("\n\n"):
        yield line(paragraph) + "\n"
    most = known["largest regret"]
    if not OPPONENTS[known["game"]]:
        yield "This game counts no regret of plays."
    for _, opponent in OPPONENTS[known["game"]]:
        bound = known[f"bound, {opponent}"]
        if bound is None:
            yield f"- Against {opponent} adversaries: no theorem."
        else:
            vacuous = " " + VACUOUS.format(at_most(most)) if is_vacuous(bound, most) else ""
            yield f"- Against {opponent} adversaries: expected regret at most {line(regret(bound, most) + vacuous)}."
    if said := known.get("bound, known means"):
        yield f"- Against independent arms with known means: {line(said)}"
    yield ""


def _appearances(name: str) -> Iterator[str]:
    found = [one for one in every() if name in one.players and one.figure]
    yield "## Where it appears\n"
    if not found:
        yield "In no committed figure."
        return
    yield from (f"- [{one.name}](#experiment-{one.name}): {line(one.experiment.keys.title)}" for one in found)
    claims = [(one, claimed) for one in found for claimed in one.claims if name in claimed.algorithms]
    if claims:
        yield "\nClaims about it:\n"
        yield table(["claim", "source", "verdict"], [_claim(one, claimed) for one, claimed in claims])


def _references(registry: Registry, kind: PlayerKind, name: str) -> Iterator[str]:
    found = list(cited(citation(registry, kind, name)))
    if found:
        yield "\n## References\n"
        yield from (f"- {line(_in_words(works()[key]))}" for key in found)


VENUES = ("booktitle", "journal", "eprint", "publisher", "school", "howpublished")


def _in_words(work: Work) -> str:
    """Authors, title, venue and year in one line."""
    venue = next(work.fields[name] for name in VENUES if name in work.fields)
    venue = f"arXiv {venue}" if "eprint" in work.fields else venue
    return f"{work.forms[0]}: {re.sub(r'[{}$]', '', work.fields['title'])}. {venue}."


def _claim(one: Played, claimed: Claimed) -> list[str]:
    where = f"[{one.name}, {claimed.number}](#claims-{one.name})"
    return [f"{where}<br>{code(claimed.verdict.claim)}", line(claimed.verdict.source), claimed.verdict.verdict]
