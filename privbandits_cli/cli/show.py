"""`list` and `show`: the available algorithms, adversaries and experiments."""

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import typer

from privbandits_cli.accounting.rounding import VACUOUS, at_most, is_vacuous, pair, regret
from privbandits_cli.analysis.format import equations, played
from privbandits_cli.cli import options
from privbandits_cli.cli.app import app, dumps, filled, reported
from privbandits_cli.cli.include import registry_with


@app.command(name="list")
def list_(
    kind: Annotated[Literal["algorithms", "adversaries", "experiments"], typer.Argument(help="What to list.")],
    include: options.Include = None,
    as_json: options.AsJson = False,
) -> None:
    """List algorithms, adversaries or experiments.

    The column `read` says what an algorithm's file was written from: the paper, its code, or secondary sources. Of
    private algorithms, the column `privacy` says who may see the data: the learner (central), a server that sees noisy
    sums alone (distributed), or nobody (local).
    """
    from privbandits_cli.actions.show import catalogue
    from privbandits_cli.cli import terminal

    found = catalogue(registry_with(include), kind)
    if as_json:
        print(dumps(found))
    else:
        columns = ["name", "game", *["read", "privacy"] * (kind == "algorithms"), "line"]
        rows = [[entry.get(column, "") for column in columns] for entry in found]
        terminal.print_table([*columns[:-1], ""], rows, text=len(columns))


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="An algorithm or adversary.", autocompletion=options.complete_name)],
    given: options.Given = None,
    horizon: options.Horizon = 2**18,
    arms: options.Arms = 4,
    space: options.Space = None,
    dimension: options.Dimension = None,
    include: options.Include = None,
    as_json: options.AsJson = False,
) -> None:
    """Show an algorithm or adversary.

    Prints its citation, formula, parameters with the paper's tuning, privacy guarantee and regret bound.

    \b
    Examples:
      privbandits show exp3_tau
      privbandits show switching_costs
      privbandits show exp3 --horizon 100000 --arms 10
      privbandits show dp_linucb calibration=code --dimension 5 --arms 25
    """
    from privbandits_cli.actions import show
    from privbandits_cli.experiment.settings import Size

    with reported(KeyError, ValueError):
        size = Size(horizon, arms, space, dimension)
        facts = show.facts(registry_with(include), name, size, options.parameters(given), form=True)
    print(dumps(facts) if as_json else "\n".join(_page(facts)))


def _page(facts: dict[str, Any]) -> Iterator[str]:
    """The paragraphs of a page about an algorithm or adversary, 80 columns wide."""
    from privbandits_cli.actions.show import READ, plain

    paragraphs = re.split(r"\n\n|\n(?=- )", facts["citation"])  # each item of a list begins a new line
    yield "\n\n".join(filled(_joined(text), "", "  " * text.startswith("- ")) for text in paragraphs if text)
    yield f"\nGame: {facts['game']}"
    if "read" in facts:
        yield filled(f"Read: {READ[facts['read']]}")
    if facts["parameters"]:
        yield "\nParameters"
    for parameter in facts["parameters"]:
        yield filled(f"{parameter['name']}: {_joined(parameter['description'])}", "  ", "    ")
        given = facts.get("tuned", {}).get(parameter["name"])
        if given is not None:
            yield filled(f"= {plain(given)}", "      ", "        ")
    if any(facts.get("tuned", {}).get(parameter["name"]) is not None for parameter in facts["parameters"]):
        shown = "".join(f", {name} = {value}" for name, value in facts["shown_with"].items())
        size = f"{facts['set']}, N" if facts["set"] else "K"
        shown = (f", d = {facts['dimension']}" if facts["dimension"] else "") + shown
        shown = (f", confidence = {facts['confidence']}" if facts["confidence"] else "") + shown
        yield filled(f"(values after = are for T = {facts['horizon']}, {size} = {facts['arms']}{shown})", "  ")
    if facts.get("facts"):
        yield "\n" + filled(f"These values imply {equations(facts['facts'])}.")
    if facts["instances"]:
        yield f"\nNamed instances, with their means for K = {facts['arms']}"
        for name, means in facts["instances"].items():
            yield filled(f"{name:8} {', '.join(f'{mean:.4g}' for mean in means)}", "  ", " " * 11)
    if facts["kind"] == "algorithms" and "tuned" in facts:
        yield ""
        yield from _guarantees(facts)
    if "alone" in facts:
        yield "\n" + filled(f"Trials play {played(facts['alone'])}.")


def _guarantees(facts: dict[str, Any]) -> Iterator[str]:
    from privbandits_cli.actions.show import OPPONENTS

    promised = facts["guarantee"]
    if promised is None:
        yield "Privacy: no guarantee."
    else:
        kind = f"; {facts['privacy']}" if "privacy" in facts else ""
        yield f"Privacy: {pair(promised['epsilon'], promised['delta'])}, {promised['status']}{kind}"
        yield filled(_joined(promised["source"]), "  ")
        yield filled(f"neighbours: {promised['neighbours']}; view: {promised['view']}", "  ")
    for _, opponent in OPPONENTS[facts["game"]]:
        bound = facts[f"bound, {opponent}"]
        most = facts["largest regret"]
        limit = "no theorem" if bound is None else f"expected regret at most {regret(bound, most)}"
        yield f"Against {opponent} adversaries: {limit}"
        if bound is not None and is_vacuous(bound, most):
            yield filled(VACUOUS.format(at_most(most)), "  ")
    if said := facts.get("bound, known means"):
        yield filled(f"Against independent arms with known means: {_joined(said)}", further="  ")
    yield from (filled(remark, "  ") for remark in facts["remarks"])
    if facts["bound"]:
        yield from (filled(_joined(paragraph), "  ") for paragraph in facts["bound"].split("\n\n"))


def _joined(text: str) -> str:
    return " ".join(text.split())
