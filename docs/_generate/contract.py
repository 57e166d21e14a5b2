"""What the class of an algorithm or adversary may define in each game, from the source of the base classes."""

import ast
import inspect
from collections.abc import Iterator, Mapping, Sequence

from _generate.markdown import code, line, table
from privbandits_cli.games import bandit, best_arm, contextual, linear, players
from privbandits_cli.games.contract import CONTRACTS
from privbandits_cli.games.parameters import Parameters

GAMES = {"bandit": bandit, "linear": linear, "contextual": contextual, "best_arm": best_arm}
OURS = {  # members that no file needs to define: files use them, or the package does
    *("game", "later", "formerly", "name", "title", "described", "recorded", "identity", "replace", "untuned"),
    *("built_on", "guarantee", "promises", "promises_all", "stated_delta", "in_lanes", "arms_together"),
    *("gains_in_lanes", "events_of_log", "optimistic", "growing", "on_demand", "noisy_regret_bound"),
}
PLAYERS = {"Algorithm": "algorithm", "Adversary": "adversary"}
Member = tuple[str, str]  # the default of a member, and what it is


def pages() -> Iterator[tuple[str, str]]:
    """A fragment: what the classes of all games may define, and then, for each game, its steps and its own members."""
    yield "_generated/contract.md", "\n".join(_sections()) + "\n"


def _sections() -> Iterator[str]:
    yield "### Every game\n"
    for kind, word in PLAYERS.items():
        yield _table(f"the class of an {word}", _own(Parameters) | _own(getattr(players, kind)), ())
    for game, module in GAMES.items():
        contract = CONTRACTS[game]
        yield f"### {game}\n"
        updates = " or ".join(f"`update({words})`" for words in contract.update.values())
        stops = ", `stop(state)`, which returns the answer or -1, and, if you like, `recommend(state)`" * contract.stops
        yield f"The steps are `choose({contract.choose})` and {updates}{stops}.\n"
        if contract.stops:
            yield "The class extends `best_arm.Algorithm`, `best_arm.Sure` for a confidence, or `best_arm.Budgeted`."
            yield "They have the members of `bandit.Algorithm`, and the adversaries are those of `bandit`.\n"
        for kind, needed in (("Algorithm", ()), ("Adversary", (contract.rounds, *contract.others))):
            yield _table(f"`{game}.{kind}`", _own(getattr(module, kind)), needed)


def _table(title: str, members: Mapping[str, Member], needed: Sequence[str]) -> str:
    """A table of members; those that are needed have no default."""
    rows = [
        [f"`{name}`", "**required**" if name in (*needed, "state") else default, said]
        for name, (default, said) in members.items()
        if said and name not in OURS and not name.startswith("_")
    ]
    return table([title, "default", ""], rows) + "\n" if rows else ""


def _own(base: type[Parameters]) -> dict[str, Member]:
    """The members in the source of this class, with the comment behind an attribute or a method's first paragraph."""
    lines, found = inspect.getsource(base).splitlines(), dict[str, Member]()
    for node in ast.parse("\n".join(lines)).body[0].body:  # type: ignore[attr-defined]
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            found[node.target.id] = code(ast.unparse(node.value)), line(lines[node.lineno - 1].partition("  # ")[2])
        elif isinstance(node, ast.FunctionDef):
            said = (ast.get_docstring(node) or "").partition("\n\n")[0]
            last = node.body[-1]
            plain = isinstance(last, ast.Return) and isinstance(
                last.value, ast.Constant | ast.List | ast.Dict | ast.Tuple
            )
            simple = len(node.body) == 2 and plain
            found[node.name] = code(ast.unparse(last.value)) if simple else "", line(said)  # type: ignore[attr-defined]
    return found
