"""Reports: the page's numbers are the CSVs', its HTML is whole and safe, and LaTeX takes what is written for it."""

import csv
import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from privbandits_cli.actions import report
from privbandits_cli.report import latex, markdown
from privbandits_cli.report.data import finals
from privbandits_cli.report.page import index, page
from tests.cli.test_cli import call
from tests.conftest import SMALL
from tests.figures.test_plot import ran, rows

VOID = {"meta", "br", "hr", "img", "input", "link"}
NASTY = '<b onclick="x">&amp; "quoted" $5_000 | `a` {x}'
CLAIM = {
    "claim": "exp3 < <i>exp3_tau</i>",
    "source": "section 4",
    "verdict": "NOT DECIDED",
    "figures": "12.5 ± 3",
    "note": "",
    "epsilon": "",
}


class Read(HTMLParser):
    """A page as (tag, attributes) and text; fails where a tag is not closed."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.text = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    def having(self, name):
        """The attributes of the tags that have this one."""
        return [attributes for _, attributes in self.tags if name in attributes]


@pytest.fixture(scope="module")
def _nasty(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nasty")
    (folder / "small.yaml").write_text(SMALL)
    label = json.dumps(NASTY)
    words = (f"algorithms[0]={{name: exp3, label: {label}}}", f"title={label}", f"source={label}")
    return ran(folder, folder / "small.yaml", *words)


@pytest.fixture
def nasty(_nasty, tmp_path):
    """The results of a small run with a label, a title and a source that try to break out."""
    return Path(shutil.copytree(_nasty, tmp_path / "nasty"))


def test_the_pages_numbers_are_the_csvs(finished):
    read = Read(page(report.gather(finished)))
    curves = read.having("data-points")
    assert len(curves) == 6
    panels = {"Stochastic": "stochastic", "Switching costs": "switching_costs"}
    names = [panels[attributes["aria-label"]] for attributes in read.having("data-x")]
    for attributes, adversary in zip(curves, np.repeat(names, 3), strict=True):
        points = json.loads(attributes["data-points"])
        wanted = [
            row for row in rows(finished) if (row["adversary"], row["label"]) == (adversary, attributes["data-label"])
        ]
        for (_, _, x, regret, below, above), row in zip(points, wanted, strict=True):
            assert [x, regret, below, above] == [
                float(row[name]) for name in ("round", "regret", "gmd_below", "gmd_above")
            ]
        places = [point[0] for point in points]
        assert places == sorted(places) and places[0] >= 0 and places[-1] <= 360
    finals = [float(attributes["data-value"]) for attributes in read.having("data-value")]
    last = [float(row["regret"]) for row in rows(finished) if row["round"] == "1000"]
    assert sorted(finals) == sorted(last)


def test_the_pages_strips_are_final_csv(finished):
    told = [
        json.loads(attributes["data-told"]) for attributes in Read(page(report.gather(finished))).having("data-told")
    ]
    with (finished / "final.csv").open() as file:
        final = list(csv.DictReader(file))
    values = {}
    for row in final:
        values.setdefault((row["adversary"], row["label"]), []).append(float(row["regret"]))
    boxes = [entry for entry in told if "median" in entry]
    assert [entry["median"] for entry in boxes] == [np.median(found) for found in values.values()]
    assert [entry["least, most"] for entry in boxes] == [[min(found), max(found)] for found in values.values()]
    pairs = [entry for entry in told if "mean" in entry]
    exp3 = np.array(values["stochastic", "EXP3"])
    other = np.array(values["stochastic", "DP-EXP3-Lap (ε = 1)"])
    assert pairs[0]["title"] == "DP-EXP3-Lap (ε = 1) − EXP3"
    assert pairs[0]["mean"] == pytest.approx((other - exp3).mean())


def test_the_page_is_whole_and_fetches_nothing(nasty):
    found = report.gather(nasty, [CLAIM])
    text = page(found, listed=True)
    read = Read(text)
    assert not [tag for tag, _ in read.tags if tag in ("link", "img", "iframe", "object", "embed", "base")]
    assert not read.having("src")
    assert {attributes["href"] for attributes in read.having("href")} - {"../index.html"} <= {
        f"#{attributes['id']}" for attributes in read.having("id")
    }
    assert not re.search(r"url\(|@import|https?://", text)
    policy = next(attributes["content"] for attributes in read.having("http-equiv"))
    assert policy.startswith("default-src 'none'")
    numbers = [attributes["id"] for attributes in read.having("id")]
    assert len(numbers) == len(set(numbers))


def test_what_users_write_is_text(nasty):
    read = Read(page(report.gather(nasty, [CLAIM])))
    assert not read.having("onclick") and not [tag for tag, _ in read.tags if tag == "i"]
    buttons = [text for text in read.text if text == NASTY]
    assert len(buttons) >= 4  # title, source, legend, table
    assert CLAIM["claim"] in read.text
    told = [attributes["data-label"] for attributes in read.having("data-label")]
    assert told.count(NASTY) == 2
    listed = Read(index([report.gather(nasty)]))
    assert NASTY in listed.text and not listed.having("onclick")


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("run configs/fig1.yaml -q --fresh -j 1", "run configs/fig1.yaml"),
        ("run -j 1 fig1 trials=48 --results=there", "run fig1 trials=48"),
        ("run own.yaml --include my.py --smoke --shard 1/2", "run own.yaml --smoke --include my.py"),
        ("merge results/a-shard-1-of-2", "run a/config.yaml"),
    ],
)
def test_run_it_again_is_the_plain_command(finished, given, shown):
    found = replace(report.gather(finished), name="a", manifest={"command": ["privbandits", *given.split()]})
    assert f"privbandits {shown}" in Read(page(found)).text
    assert f"    privbandits {shown}\n" in markdown.markdown(found)


def test_a_baseline_of_a_sweep_stands_in_every_column(tmp_path, small):
    words = ("algorithms=[exp3, {name: dp_exp3_lap, epsilon: [1, 10, 100]}]", "plot={against: epsilon}")
    (first, *_) = finals(report.gather(ran(tmp_path, small, *words)).table)
    assert first.heads == ["1", "10", "100"]
    assert len(set(first.rows["EXP3"])) == 1 and None not in first.rows["EXP3"]
    assert len(set(first.rows["DP-EXP3-Lap"])) == 3


def test_strips_have_the_looks_of_the_lines(tmp_path, small):
    """Three of one algorithm, whose colour is light and so darkens: none is drawn in another's, or in none."""
    text = page(
        report.gather(ran(tmp_path, small, "algorithms=[exp3, {name: dp_lambda_lap, base: exp3, epsilon: [1, 2, 3]}]"))
    )
    inks = {"line": set(), "strip": set()}
    for attributes in Read(text).having("data-curve"):
        kind = "strip" if "strip" in attributes.get("class", "").split() else "line"
        inks[kind] |= {attributes["style"]} if "style" in attributes else set()
    assert inks["line"] == inks["strip"] and len(inks["line"]) == 4
    shares = [int(share) for share in re.findall(r"var\(--c\d\) (\d+)%", " ".join(inks["line"]))]
    assert len(shares) == 4 and max(shares) <= 100


def test_claims_are_shown_where_there_are_any(finished):
    assert "Claims" not in Read(page(report.gather(finished))).text
    found = report.gather(finished, [CLAIM, CLAIM | {"verdict": "FAILS"}])
    read = Read(page(found))
    assert "Claims" in read.text and "FAILS" in read.text and "12.5 ± 3" in read.text
    assert "claims: 1 not decided, 1 fails" in " ".join(Read(index([found])).text)


def test_privacy_is_what_the_command_says(finished):
    text = " ".join(" ".join(Read(page(report.gather(finished))).text).split())
    blocks = json.loads(call("privacy", finished / "config.yaml", "--json").stdout)
    for block in blocks:
        assert all(bound["source"] in text for bound in block["bounds"])
        assert all(" ".join(note.split()) in text for note in block["notes"])
    printed = call("privacy", finished / "config.yaml").stdout.splitlines()[1]
    epsilon = printed.split()[-3]
    assert epsilon in text


def test_an_incomplete_report_says_so_everywhere(tmp_path, small):
    folder = ran(tmp_path, small, watch=lambda played: False)
    found = report.gather(folder)
    assert found.partial.startswith("PARTIAL ")
    read = Read(page(found))
    marks = [text for text in read.text if found.partial in text]
    assert len(marks) >= 1 + len(found.table.panels)  # the head, and across every panel
    assert found.partial in markdown.markdown(found)
    assert found.partial in latex.table_tex(found) and found.partial in latex.pgfplots(found)["figure.tex"]
    assert found.partial in " ".join(Read(index([found])).text)
    whole = ran(tmp_path, small)
    assert report.gather(whole).partial == "" and "PARTIAL" not in page(report.gather(whole))


def test_a_curve_that_is_missing_is_partial(finished):
    made = json.loads((finished / "manifest.json").read_text())
    made["complete"], made["trials"]["done"] = False, 80
    (finished / "manifest.json").write_text(json.dumps(made))
    assert report.gather(finished).partial == "PARTIAL 80/96"


def test_the_summary_and_the_names_make_a_report(finished):
    for name in ("config.yaml", "final.csv"):
        (finished / name).unlink()
    text = " ".join(Read(page(report.gather(finished))).text)
    assert "no config.yaml lies beside the results" in text and "Distribution" not in text


def test_the_command_writes_pages_and_an_index(finished, tmp_path):
    (finished / "figure-9.dat").write_text("of an older report")
    alone = call("report", finished)
    assert alone.exit_code == 0 and alone.stdout.split() == [f"{finished}/report.html"]
    written = {"report.html", "report.md", "table.tex", "figure.tex", "figure-1.dat", "figure-2.dat"}
    assert {path.name for path in finished.iterdir()} >= written and not (finished / "figure-9.dat").exists()
    assert "../index.html" not in (finished / "report.html").read_text()
    every = call("report", tmp_path)
    assert every.stdout.split() == [f"{finished}/report.html", f"{tmp_path}/index.html"]
    listed = Read((tmp_path / "index.html").read_text())
    assert [attributes["href"] for attributes in listed.having("href")] == ["out/report.html"]
    assert "../index.html" in (finished / "report.html").read_text()
    nowhere = call("report", tmp_path / "nowhere")
    assert nowhere.exit_code == 2 and "no summary.csv here" in nowhere.stderr


def test_the_same_bytes_twice(finished):
    assert call("report", finished).exit_code == 0
    first = {path.name: path.read_bytes() for path in finished.iterdir() if path.is_file()}
    assert call("report", finished).exit_code == 0
    assert first == {path.name: path.read_bytes() for path in finished.iterdir() if path.is_file()}


def test_markdown_tables_are_whole(nasty):
    text = markdown.markdown(report.gather(nasty, [CLAIM]))
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1
    assert "\\<b onclick" in text and "12.5 ± 3" in text


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("50% & $5_000 #1", r"50\% \& \$5\_000 \#1"),
        ("a\\b{c}^~", r"a\textbackslash{}b\{c\}\textasciicircum{}\textasciitilde{}"),
        ("EXP3-τ (ε = 1)", r"EXP3-\ensuremath{\tau} (\ensuremath{\varepsilon} = 1)"),
        ("A\nB", "A B"),
    ],
)
def test_latex_shows_a_text_as_it_is(text, wanted):
    assert latex.tex(text) == wanted


def test_latex_tables_and_figures_are_whole(nasty):
    found = report.gather(nasty)
    table = latex.table_tex(found)
    body = [line for line in table.splitlines() if line.endswith(r"\\")]
    assert {len(re.findall(r"(?<!\\)&", line)) for line in body} == {2}
    files = latex.pgfplots(found)
    drawn = files["figure.tex"]
    for text in (table, drawn):
        bare = re.sub(r"\\[{}\\]", "", re.sub(r"(?<!\\)%.*", "", text))
        assert bare.count("{") == bare.count("}")
        begun, ended = (re.findall(rf"\\{word}{{(\w+)}}", text) for word in ("begin", "end"))
        assert sorted(begun) == sorted(ended)
    named = set(re.findall(r"figure-\d+\.dat", drawn))
    assert named == set(files) - {"figure.tex"}
    for name in named:
        head, *lines = files[name].splitlines()
        used = re.findall(rf"(\w+\d)(?=[^\n]*{name})", drawn)
        assert {word for word in used if re.match(r"(regret|below|above|bound)\d", word)} <= set(head.split())
        assert {len(line.split()) for line in lines} == {len(head.split())}


def test_pgfplots_data_are_the_csv(finished):
    head, *lines = latex.pgfplots(report.gather(finished))["figure-1.dat"].splitlines()
    columns = dict(zip(head.split(), np.array([line.split() for line in lines], float).T, strict=True))
    wanted = [row for row in rows(finished) if row["adversary"] == "stochastic"]
    for k, label in enumerate(dict.fromkeys(row["label"] for row in wanted), 1):
        mine = [row for row in wanted if row["label"] == label]
        assert columns["x"].tolist() == [float(row["round"]) for row in mine]
        assert columns[f"regret{k}"].tolist() == [float(row["regret"]) for row in mine]
        assert columns[f"above{k}"].tolist() == [float(row["gmd_above"]) for row in mine]


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not on this machine")
def test_pdflatex_takes_them(nasty):
    report.write(nasty, report.gather(nasty))
    (nasty / "paper.tex").write_text(
        r"\documentclass{article}\usepackage[T1]{fontenc}\usepackage{booktabs,pgfplots}"
        r"\usepgfplotslibrary{groupplots}\pgfplotsset{compat=1.17}"
        r"\begin{document}\input{table.tex}\input{figure.tex}\end{document}"
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    made = subprocess.run(command, cwd=nasty, capture_output=True, text=True, errors="replace", timeout=120)
    if "not found" in made.stdout:
        pytest.skip("a LaTeX package is not on this machine: booktabs or pgfplots")
    assert made.returncode == 0, made.stdout[-2000:]
    assert (nasty / "paper.pdf").stat().st_size > 10_000
