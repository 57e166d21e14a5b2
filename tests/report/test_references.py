"""The bibliography: every citation has an entry, every entry is cited, and `cite` finds those of a results folder."""

import ast
import re
import shutil

import pytest
import yaml

from privbandits_cli.report.references import OURS, cited, works
from privbandits_cli.version import __version__
from tests.algorithms import test_read
from tests.cli import call
from tests.conftest import ROOT

OWN = {"adversaries": {"replay", "student_t", "lognormal"}, "algorithms": test_read.OURS | {"dp_tsallis_switch"}}
NAME = r"[A-ZÀ-Þ][\w-]+"
CITATION = re.compile(rf"((?:{NAME}, )*(?:{NAME} )?(?:& |et al\. )?(?:{NAME} )?)(\d{{4}}[a-z]?)\b")


def docstrings(kind):
    for path in sorted((ROOT / "privbandits_cli" / kind).glob("[a-z]*.py")):
        yield path.stem, ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


def claims():
    for path in sorted((ROOT / "configs").glob("*.yaml")):
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
        yield path.stem, "; ".join([config.get("source", ""), *(c["source"] for c in config.get("claims", ()))])


@pytest.mark.parametrize("kind", ["algorithms", "adversaries"])
def test_every_player_cites_a_work_or_is_our_own(kind):
    silent = {name for name, text in docstrings(kind) if not list(cited(text))}
    assert silent <= OWN[kind], "add the work to report/references.bib; what is ours, to OURS of test_read.py or to OWN"


def test_every_citation_has_an_entry_and_every_entry_is_cited():
    used, unknown = set(), set()
    for name, text in [*docstrings("algorithms"), *docstrings("adversaries"), *claims()]:
        keys = set(cited(text))
        used |= keys
        years = {works()[key].year for key in keys}
        for names, year in CITATION.findall(" ".join(text.split())):
            last = (re.findall(NAME, names) or [""])[-1]  # the year alone is no citation
            found = [key for key in keys if works()[key].year == year and last in works()[key].fields["author"]]
            if last and ("&" in names or "et al" in names) and not found:
                unknown.add((name, names + year))
        assert years <= set(re.findall(r"\d{4}[a-z]?", text)) or "private-contextual-bandits" in text
    assert not unknown
    assert used == works().keys() - {OURS}, "an entry that nothing cites"


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("(Tossou & Dimitrakakis 2017, Theorem 3.1)", ["tossou2017"]),
        ("Tao et al. 2022; Tao, Wu, Zhao & Wang\n2022", ["tao2022"]),
        ("Agrawal & Goyal 2013b", ["agrawal2013b"]),
        ("Agrawal & Goyal 2013", []),
        ("Azize 2024", ["azize2024"]),
        ("Jourdan & Azize 2024", []),  # is another work than Azize's of that year
        ("Tossou & Dimitrakakis 20171", []),
    ],
)
def test_a_text_cites_by_authors_and_year(text, keys):
    assert list(cited(text)) == keys


def test_the_software_and_its_papers_are_those_of_citation_cff():
    said = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    own = works()[OURS].fields
    assert own["title"] == said["title"] and own["version"] == str(said["version"]) == __version__
    assert own["year"] == str(said["date-released"])[:4] and said["authors"][0]["name"] in own["author"]
    titles = {(work.fields["title"], work.fields["year"]) for work in works().values()}
    assert {(paper["title"], str(paper["year"])) for paper in said["references"]} <= titles


def test_entries_are_bibtex():
    for key, work in works().items():
        assert work.text.count("{") == work.text.count("}") and work.text.startswith("@"), key
        assert {"author", "title", "year"} <= work.fields.keys() and re.fullmatch(r"\d{4}", work.fields["year"]), key
    text = (ROOT / "privbandits_cli" / "report" / "references.bib").read_text(encoding="utf-8")
    assert text.count("@") == len(works()), "an entry that cannot be read"


def test_cite_prints_what_a_folder_used(tmp_path):
    printed = call("cite", ROOT / "results" / "fig1").stdout
    keys = re.findall(r"^@\w+\{(\w+),", printed, re.MULTILINE)
    assert {"privbandits", "tossou2017", "auer2003", "dekel2014"} <= set(keys) and "sajed2019" not in keys
    assert len(keys) == len(set(keys))
    assert "% exp3, claims about fig1\n@article{auer2003," in printed
    folder = tmp_path / "fig1"
    shutil.copytree(ROOT / "results" / "fig1", folder)
    for file in ("summary.csv", "manifest.json"):
        text = (folder / file).read_text(encoding="utf-8")
        (folder / file).write_text(text.replace(",deterministic,", ",of_a_user,"), encoding="utf-8")
    assert call("cite", folder).stdout.startswith("% without a work to cite: of_a_user\n")


def test_cite_takes_several_folders_and_names_bases():
    printed = call("cite", ROOT / "results" / "state_of_the_art", ROOT / "results" / "heavy_local").stdout
    assert "@article{zimmert2021," in printed  # Tsallis-INF is a base only
    assert "claims about heavy_local" in printed and "claims about state_of_the_art" in printed
