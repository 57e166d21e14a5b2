"""The documentation site without Sphinx: every page is reachable, and the generated pages cover what there is."""

import re
import sys
from pathlib import PurePosixPath

import pytest

from privbandits_cli.actions.exports import citation
from privbandits_cli.claims.verdicts import Verdict, verdicts
from privbandits_cli.experiment.config import load, shipped
from privbandits_cli.games.contract import CONTRACTS
from privbandits_cli.plugins.registry import Registry
from privbandits_cli.report.references import cited
from tests.conftest import ROOT, committed, some

DOCS = ROOT / "docs"
sys.path.append(str(DOCS))  # as conf.py does

from _generate import FOLDERS, commands, contract, experiments, keys, mechanisms, pictures, players  # noqa: E402
from _generate.markdown import blocks, code, line, prose, table  # noqa: E402

REGISTRY = Registry()
PLAYERS = [(kind, name) for kind in ("algorithms", "adversaries") for name in REGISTRY.names(kind)]


JUDGED = ("fig1", "heavy_scaling", "oracle_wine")  # slopes, bounds and ε are among their claims


@pytest.fixture(scope="module", autouse=True)
def committed_results():
    """The pages are made of the committed results; all claims are said to hold, as judging them takes half a minute."""

    def held(folder, experiment):
        return [Verdict(one.text, one.source, "HOLDS", "", one.note, "", False) for one in experiment.claims]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiments, "ROOT", committed())
        patch.setattr(experiments, "verdicts", held)
        experiments.every.cache_clear()
        yield
    experiments.every.cache_clear()


@pytest.fixture(scope="module")
def pages():
    """The generated pages of the players and mechanisms, and what other pages include."""
    made = (commands, contract, keys, experiments, players, mechanisms)
    found = {path: text for module in made for path, text in module.pages()}
    own = ("_generated/leaderboard.md", "_generated/leaderboard_short.md")  # have tests of their own
    return found | dict.fromkeys(own, "")


def written():
    """The hand-written pages, by their names without `.md`."""
    names = (path.relative_to(DOCS) for path in DOCS.rglob("*.md"))
    return {str(name.with_suffix("")) for name in names if name.parts[0] not in (*FOLDERS, "_build", "_generate")}


def listed(page, text, every):
    """The pages that the toctrees of a page list."""
    for tree in re.findall(r"^```\{toctree\}\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        for entry in (line_ for line_ in tree.splitlines() if line_ and not line_.startswith(":")):
            here = str(PurePosixPath(page).parent / entry)
            found = {name for name in every if PurePosixPath(name).match(here)}
            assert found, f"{page}: no page {entry}"
            yield from found


def test_every_page_is_in_a_table_of_contents(pages):
    texts = {name: (DOCS / f"{name}.md").read_text(encoding="utf-8") for name in written()}
    texts |= {path[:-3]: text for path, text in pages.items() if not path.startswith("_generated")}
    seen, waiting = set(), ["index"]
    while waiting:
        page = waiting.pop()
        seen.add(page)
        waiting += set(listed(page, texts[page], texts)) - seen
    assert seen == set(texts)


def test_a_page_includes_only_what_is_generated(pages):
    for name in written():
        text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
        for path in re.findall(r"\{include\} \.\./(_generated/\S+)", text):
            assert path in pages or path == "_generated/api.md", (name, path)


@pytest.mark.parametrize("game", CONTRACTS)
def test_the_contract_of_each_game_is_in_its_table(pages, game):
    own, asked = pages["_generated/contract.md"].partition(f"### {game}\n")[2].partition("### ")[0], CONTRACTS[game]
    assert f"`choose({asked.choose})`" in own
    assert all(f"`update({words})`" in own for words in asked.update.values())
    needed = re.findall(r"^\| `(\w+)` +\| \*\*required\*\*", own, re.MULTILINE)
    assert {*needed} - {"state"} == {asked.rounds, *asked.others}


@pytest.mark.parametrize(("kind", "name"), PLAYERS)
def test_a_player_has_its_page(pages, kind, name):
    text = pages[f"{kind}/{name}.md"]
    assert players.formulas()[name].split("\\qquad")[0].strip() in text
    for parameter in REGISTRY.find(kind, name).model_fields:
        assert f"| `{parameter}` |" in text
    heads = re.findall(r"^## (.*)", text, re.MULTILINE)
    wanted = ["Regret", "Parameters", "Privacy", "Regret bound", "Where it appears"]
    kept = wanted if kind == "algorithms" else ["Regret", "Parameters", "Where it appears"]
    kept = kept + ["References"] * any(cited(citation(REGISTRY, kind, name)))
    assert heads == [head for head in kept if head != "Regret" or name not in pictures.NO_PICTURE]
    for one in experiments.every():
        assert (f"(#experiment-{one.name})" in text) == (one.figure and name in one.players)
    assert f"\n{name}\n" in pages[f"{kind}/index.md"]


def test_every_formula_and_picture_is_of_a_page():
    names = {name for _, name in PLAYERS}
    formulas, planned = names | set(mechanisms.every()), names - set(pictures.NO_PICTURE)
    assert set(players.formulas()) == formulas, "in docs/_generate/formulas.yaml"
    assert set(pictures.planned()) == planned, "in the config of the game in docs/_generate/games/"
    for picture in pictures.planned().values():
        playing = {variant.parameters.name for variant in pictures.games()[picture.game].algorithms}
        assert {*picture.algorithms} <= playing and 1 <= len(picture.algorithms) <= pictures.MOST


def test_a_page_says_what_show_says(pages):
    text = pages["algorithms/exp3_tau.md"]
    assert (
        "**ε = 1.504, δ = 1.5e-11**, proved: Lemma B" in text and "| ≤ 240.3 | 1.46e-11 | paper | Theorem 3.5 |" in text
    )
    assert "Against switching costs adversaries: expected regret at most 27,594." in text
    assert "- τ = 19; the paper's rules are rounded up" in text
    assert "[fig1, 5](#claims-fig1)<br>`in switching_costs: exp3_tau < exp3`" in text
    assert "[fig1, 1]" not in text  # it is about DP-EXP3-Lap and EXP3
    assert "No guarantee" in pages["algorithms/ucb1.md"]
    assert "written from the paper" in text and "written from secondary sources" in pages["algorithms/moss.md"]
    assert "| [vpo](vpo.md) | code |" in pages["algorithms/index.md"]
    assert "| [gap](gap.md) | " in pages["adversaries/index.md"] and "| name |  |" in pages["adversaries/index.md"]


def test_a_claim_about_a_wrapper_is_about_its_base(pages):
    """`dp_exp3_lap` wraps `exp3`, and a claim may name an algorithm by its label."""
    assert "exp3_tau > dp_exp3_lap" in pages["algorithms/exp3.md"]
    assert "'DP-UCB, with ν' < 'DP-UCB, without ν'" in pages["algorithms/dp_ucb.md"]


@pytest.mark.parametrize("name", mechanisms.every())
def test_a_mechanism_has_its_page(pages, name):
    text = pages[f"mechanisms/{name}.md"]
    assert players.formula(name) in text and f"`{name}." in text
    assert name in pages["mechanisms/index.md"].splitlines()
    assert ("[dp_linucb]" in text) == (name in {"counter", "counters", "matrix_tree", "tree"})


def test_every_experiment_with_claims_is_on_one_page_of_a_paper(pages):
    texts = [path.read_text(encoding="utf-8") for path in (DOCS / "papers").glob("*.md")]
    for one in experiments.every():
        shown = sum(text.count(f"_generated/claims/{one.name}.md") for text in texts)
        assert shown == bool(one.claims), one.name
        assert (f"\n(experiment-{one.name})=\n" in pages["_generated/gallery.md"]) == one.figure


@pytest.mark.parametrize(
    "name", some([name for name in shipped() if "\nclaims:" in (ROOT / f"configs/{name}.yaml").read_text()], *JUDGED)
)
def test_the_claims_tables_are_those_of_the_committed_one(monkeypatch, name):
    """Verdicts, in the order of `results/CLAIMS.md`."""
    monkeypatch.setattr(experiments, "verdicts", verdicts)
    kept = (committed() / "results" / "CLAIMS.md").read_text(encoding="utf-8")
    section = kept.partition(f"\n## {name}: ")[2].partition("\n## ")[0]
    verdict = re.compile(r"\| (\*\*FAILS\*\*|HOLDS|NOT DECIDED) \|")
    played = experiments._played(ROOT / "configs" / f"{name}.yaml")
    assert verdict.findall("\n".join(experiments._claims(played))) == verdict.findall(section) != []
    assert len(verdict.findall(section)) == len(played.claims)


@pytest.mark.slow
def test_the_verdicts_of_the_pages_are_those_of_the_committed_table(monkeypatch):
    """Of all claims together, in its order; the other tests of pages say that all claims hold."""
    monkeypatch.setattr(experiments, "verdicts", verdicts)
    experiments.every.cache_clear()
    claims = sum(len(one.claims) for one in experiments.every())
    shown = [text for path, text in sorted(experiments.pages()) if path.startswith("_generated/claims/")]
    experiments.every.cache_clear()
    verdict = re.compile(r"\| (\*\*FAILS\*\*|HOLDS|NOT DECIDED) \|")
    kept = verdict.findall((committed() / "results" / "CLAIMS.md").read_text(encoding="utf-8"))
    assert [found for text in shown for found in verdict.findall(text)] == kept
    assert len(kept) == claims > 100


def test_every_claim_is_in_the_committed_table():
    kept = (committed() / "results" / "CLAIMS.md").read_text(encoding="utf-8")
    assert (
        len(re.findall(r"^\| \d+ \|", kept, re.MULTILINE)) == sum(len(one.claims) for one in experiments.every()) > 100
    )


def test_the_gallery_tells_the_command_of_each_figure(pages):
    played = [path.parent.name for path in (committed() / "results").glob("*/summary.csv")]
    folders = [name for name in played if (ROOT / "configs" / f"{name}.yaml").is_file()]  # not a reader's own
    for name in folders:
        assert f"{{figure}} ../../results/{name}/{name}.png\n" in pages["_generated/gallery.md"]
        assert f"`privbandits run configs/{name}.yaml` remakes it: " in pages["_generated/gallery.md"]
    assert pages["_generated/gallery.md"].count("{figure}") == len(folders)


def test_the_commands_are_all_there(pages):
    text = pages["_generated/commands.md"]
    from privbandits_cli.cli import app

    names = [command.name or command.callback.__name__ for command in app.registered_commands]
    assert re.findall(r"^## privbandits (.*)", text, re.MULTILINE) == names
    assert "| `--shard I/N` | Run part I of N, to be merged later. |" in text
    assert "Examples:\n\n```text\nprivbandits run fig1\n" in text.replace("\n\n\n", "\n\n")


def test_the_keys_are_all_there(pages):
    from privbandits_cli.experiment.keys import Keys, Plot

    text = pages["_generated/keys.md"]
    assert re.findall(r"^\| `(\w+)` ", text.partition("(keys-summary)")[0], re.MULTILINE) == list(Keys.model_fields)
    plot = text.partition("(keys-plot)")[2].partition("(keys-price)")[0]
    assert re.findall(r"^\| `(\w+)` ", plot, re.MULTILINE) == list(Plot.model_fields)
    assert "| `trials` | whole number ≥ 1 ≤ 1e+08 | **required** |" in text
    assert "| `horizon` | whole number ≥ 1 ≤ 2^50; or a list of: whole number ≥ 1 ≤ 2^50 |" in text


@pytest.mark.parametrize("name", sorted(path.stem for path in pictures.GAMES.glob("*.yaml")))
def test_the_small_games_can_be_played(name):
    experiment = load(pictures.GAMES / f"{name}.yaml")
    assert experiment.keys.experiment == name and experiment.keys.horizon * experiment.keys.trials < 5e6


def test_text_is_no_markup():
    assert prose("L~_{t-1} <x, y> `a_b|c` *d* [e] 2^k $") == r"L\~\_\{t-1\} \<x, y\> `a_b|c` \*d\* \[e\] 2^k \$"
    assert line("one\n  two") == "one two" and code("a`b") == "`` a`b ``"
    assert list(blocks("One\ntwo.\n\n- a\n  b\n- c_d")) == ["One two.\n", "- a b\n", "- c\\_d\n"]
    assert table(["a", "b"], [["x|y", r"z\|w"]]).splitlines()[-1] == r"| x\|y | z\|w |"


def test_help_keeps_its_examples():
    shown = "".join(commands.helped("First\nline.\n\n\b\nExamples:\n  a --b\n\n\b\nkind  what\n      more"))
    assert shown == "First line.\nExamples:\n\n```text\na --b\n```\n\n```text\nkind  what\n      more\n```\n"
