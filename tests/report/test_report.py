"""Reports: the page shows the numbers of the CSVs, its HTML is valid and safe, and LaTeX compiles the table."""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from plotly.graph_objects import Figure

from privbandits_cli.actions import report
from privbandits_cli.analysis.format import amount
from privbandits_cli.experiment.names import Name
from privbandits_cli.figures import styles
from privbandits_cli.figures.bulk import Bulk
from privbandits_cli.figures.table import BARS
from privbandits_cli.report import page as pages
from privbandits_cli.report.data import Cell, finals
from privbandits_cli.report.page import index
from privbandits_cli.report.tables import latex, markdown, tex
from tests.cli import call
from tests.conftest import SMALL, some, table_of
from tests.figures.test_plot import ran

pytestmark = pytest.mark.usefixtures("no_figure")

VOID = {"meta", "br", "hr", "img", "input", "link", "wbr"}
NASTY = '<b onclick="x">&amp; "quoted" $5_000 | `a` {x}'
SWEPT = (
    "algorithms=[exp3, {name: dp_exp3_lap, epsilon: [1, 10, 100]}]",
    "plot={against: epsilon, slopes: true, price: {floor: exp3}}",
)
CLAIM = {
    "claim": "exp3 < <i>exp3_tau</i>",
    "source": "section 4",
    "verdict": "NOT DECIDED",
    "figures": "12.5 ± 3",
    "note": "",
    "epsilon": "",
}


class Read(HTMLParser):
    """A page as (tag, attributes) and text, with the figures in it; fails if a tag is not closed."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.text, self.plots = [], [], [], []
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
        if self.open[-1:] == ["script"]:
            if self.tags[-1][1].get("type") == "application/json":
                self.plots.append(json.loads(data))
        else:
            self.text.append(data)

    def having(self, name):
        """The attributes of the tags that have this one."""
        return [attributes for _, attributes in self.tags if name in attributes]


def page(report, listed=False):
    return pages.page(report, "plotly.min.js", listed)


def traces(read, title, name):
    """The traces of the figures with an axis of this title that have this property."""
    return [
        trace
        for plot in read.plots
        if plot["layout"]["xaxis"]["title"]["text"] == title
        for trace in plot["data"]
        if name in trace
    ]


@pytest.fixture(scope="module")
def _nasty(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nasty")
    (folder / "small.yaml").write_text(SMALL)
    label = json.dumps(NASTY)
    words = (f"algorithms[0]={{name: exp3, label: {label}}}", f"title={label}", f"source={label}")
    return ran(folder, folder / "small.yaml", *words)


LONG, PANEL = "L" * 83, "P" * 100


@pytest.fixture(scope="module")
def _long(tmp_path_factory):
    """The results of a small run whose curve and panel have long labels."""
    folder = tmp_path_factory.mktemp("long")
    (folder / "small.yaml").write_text(SMALL)
    words = (
        f"algorithms=[{{name: exp3, label: {LONG}}}]",
        f"adversary={{name: stochastic, label: {PANEL}}}",
    )
    return ran(folder, folder / "small.yaml", *words)


@pytest.fixture
def nasty(_nasty, tmp_path):
    """The results of a small run with a label, a title and a source that try to break out."""
    return Path(shutil.copytree(_nasty, tmp_path / "nasty"))


def test_the_pages_numbers_are_the_csvs(finished):
    read = Read(page(report.gather(finished)))
    adversaries = ("stochastic", "switching_costs")
    curves = traces(read, "round", "customdata")
    assert len(curves) == 6
    rows = table_of(finished / "summary.csv")
    for trace, adversary in zip(curves, np.repeat(adversaries, 3), strict=True):
        wanted = [
            row
            for row in rows
            if (row["adversary"], row["label"].replace("1e-06", "1e-6")) == (adversary, trace["legendgroup"])
        ]
        columns = {"x": "round", "y": "regret"}
        for name, column in columns.items():
            assert trace[name] == [float(row[column]) for row in wanted]
        bars = [tuple(float(row[name]) for name in ("gmd_below", "gmd_above")) for row in wanted]
        shown = [i for i, size in enumerate(trace["marker"]["size"]) if size]
        above, below = (np.array(trace["error_y"][name], float)[shown] for name in ("array", "arrayminus"))
        assert shown and np.column_stack([below, above]) == pytest.approx(np.array([bars[i] for i in shown]))
        below, above = map(amount, bars[-1])
        assert trace["customdata"][-1] == f"{amount(trace['y'][-1])} −{below} +{above}"
    last = [amount(float(row["regret"])) for row in rows if row["round"] == "1000"]
    assert len(last) == 6 and set(last) <= set(read.text)


def test_the_pages_distributions_are_final_csv(finished):
    read = Read(page(report.gather(finished)))
    values = {}
    for row in table_of(finished / "final.csv"):
        values.setdefault((row["adversary"], row["label"]), []).append(float(row["regret"]))
    boxes = traces(read, "final regret", "hovertext")
    assert [sorted(trace["x"]) for trace in boxes] == [sorted(found) for found in values.values()]
    for trace, found in zip(boxes, values.values(), strict=True):
        assert f"median: {amount(np.median(found))}<br>" in trace["hovertext"]
        assert f"range: {amount(min(found))} to {amount(max(found))}<br>" in trace["hovertext"]
    pairs = traces(read, "difference of final regrets, trial by trial", "hovertext")
    exp3 = np.array(values["stochastic", "EXP3"])
    other = np.array(values["stochastic", "DP-EXP3-Lap (ε = 1)"])
    assert pairs[0]["hovertext"].startswith(
        f"<b>DP-EXP3-Lap (ε = 1) − EXP3</b><br>mean: {amount((other - exp3).mean())}<br>95 % interval: "
    )


@pytest.mark.parametrize(
    "words", some([(), ("plot={log: true}",), ("trials=300",), SWEPT], SWEPT), ids=["", "log", "many", "swept"]
)
def test_plotly_knows_every_property(tmp_path, small, words):
    read = Read(page(report.gather(ran(tmp_path, small, *words))))
    assert len(read.plots) >= 4
    for plot in read.plots:
        Figure(plot)  # raises ValueError


def test_the_page_is_whole_and_needs_no_network(nasty):
    text = page(report.gather(nasty, [CLAIM]), listed=True)
    read = Read(text)
    assert not [tag for tag, _ in read.tags if tag in ("link", "img", "iframe", "object", "embed", "base")]
    assert [attributes["src"] for attributes in read.having("src")] == ["plotly.min.js"]
    assert {attributes["href"] for attributes in read.having("href")} - {"../index.html"} <= {
        f"#{attributes['id']}" for attributes in read.having("id")
    }
    assert not re.search(r"url\(|@import|https?:", text)
    policy = next(attributes["content"] for attributes in read.having("http-equiv"))
    assert policy.startswith("default-src 'none'") and "http" not in policy and "*" not in policy
    numbers = [attributes["id"] for attributes in read.having("id")]
    assert len(numbers) == len(set(numbers))


def test_what_users_write_is_text(nasty):
    read = Read(page(report.gather(nasty, [CLAIM])))
    assert not read.having("onclick") and not [tag for tag, _ in read.tags if tag == "i"]
    assert len([text for text in read.text if text.strip() == NASTY]) >= 4  # title, source, legend, table
    assert CLAIM["claim"] in read.text
    curves = [attributes["data-curve"] for attributes in read.having("data-curve")]
    assert NASTY in curves
    for plot in read.plots:
        for trace in plot["data"]:
            assert "<b o" not in json.dumps([trace.get(name) for name in ("name", "text", "hovertext", "customdata")])
    assert [trace for plot in read.plots for trace in plot["data"] if trace["legendgroup"] == NASTY]
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
    assert f"    privbandits {shown}\n" in markdown(found)


def test_a_baseline_of_a_sweep_stands_in_every_column(tmp_path, small):
    words = ("algorithms=[exp3, {name: dp_exp3_lap, epsilon: [1, 10, 100]}]", "plot={against: epsilon}")
    (first, *_) = finals(report.gather(ran(tmp_path, small, *words)).table)
    assert first.heads == ["1", "10", "100"]
    assert len(set(first.rows["EXP3"])) == 1 and None not in first.rows["EXP3"]
    assert len(set(first.rows["DP-EXP3-Lap"])) == 3


def test_distributions_have_the_colours_of_the_lines(tmp_path, small):
    """Three curves of one algorithm share its colour."""
    words = "algorithms=[exp3, {name: dp_lambda_lap, base: exp3, epsilon: [1, 2, 3]}]"
    read = Read(page(report.gather(ran(tmp_path, small, words))))

    def looks(*panel):
        return {
            (trace["legendgroup"], *map(trace["marker"].get, ("color", "symbol"))) for trace in traces(read, *panel)
        }

    lines = looks("round", "customdata")
    assert lines == looks("final regret", "hovertext") and len({symbol for _, _, symbol in lines}) == 4
    assert {colour for _, colour, _ in lines} == {styles.BLACK, styles.VERMILION}


def test_claims_are_shown_where_there_are_any(finished):
    assert "Claims" not in Read(page(report.gather(finished))).text
    found = report.gather(finished, [CLAIM, CLAIM | {"verdict": "FAILS"}])
    read = Read(page(found))
    assert "Claims" in read.text and "FAILS" in read.text and "12.5 ± 3" in read.text
    assert "claims: FAILS 1, NOT DECIDED 1" in " ".join(Read(index([found])).text)


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
    assert found.partial in read.text
    assert all(found.partial in [note["text"] for note in plot["layout"]["annotations"]] for plot in read.plots)
    assert found.partial in markdown(found) and found.partial in latex(found)
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
    assert "there is no config.yaml beside the results" in text and "Distribution" not in text


def test_the_command_writes_pages_and_an_index(finished, tmp_path):
    alone = call("report", finished)
    assert alone.exit_code == 0 and alone.stdout.split() == [f"{finished}/report.html"]
    written = {"report.html", "report.md", "table.tex", "plotly.min.js"}
    assert {path.name for path in finished.iterdir()} >= written
    assert "../" not in (finished / "report.html").read_text()
    every = call("report", tmp_path)
    assert every.stdout.split() == [f"{finished}/report.html", f"{tmp_path}/index.html"]
    listed = Read((tmp_path / "index.html").read_text())
    assert [attributes["href"] for attributes in listed.having("href")] == ["out/report.html"]
    assert "1 experiment." in listed.text
    assert "../index.html" in (finished / "report.html").read_text()
    nowhere = call("report", tmp_path / "nowhere")
    assert nowhere.exit_code == 2 and "no summary.csv here" in nowhere.stderr


def test_several_folders_are_reported(finished, tmp_path):
    tree = tmp_path / "tree"
    other, listed = (shutil.copytree(finished, path) for path in (tmp_path / "other", tree / "listed"))
    made = call("report", finished, other, tree)
    assert made.exit_code == 0
    pages = [f"{folder}/report.html" for folder in (finished, other, listed)]
    assert made.stdout.split() == [*pages, f"{tree}/index.html"]
    assert not (tmp_path / "index.html").exists()
    half = call("report", finished, tmp_path / "nowhere")
    assert half.exit_code == 2 and "no summary.csv here" in half.stderr


def test_no_line_of_the_grid_strikes_a_title_through(nasty):
    """Every title of a distribution lies on blank rows, one for each of its lines, without points and zero lines."""
    read = Read(page(report.gather(nasty)))
    panels = [plot for plot in read.plots if "shapes" in plot["layout"]]
    assert len(panels) == 4  # distributions and pairs, in two panels each
    for plot in panels:
        shapes = plot["layout"]["shapes"]
        texts = [trace for trace in plot["data"] if trace["mode"] == "text"]
        titles = [
            (y, text.count("<br>") + 1) for trace in texts for y, text in zip(trace["y"], trace["text"], strict=True)
        ]
        rows = [y for trace in plot["data"] if trace["mode"] == "markers" for y in trace["y"]]
        blank = [(shape["y0"], shape["y1"]) for shape in shapes if shape["type"] == "rect"]
        lines = [(shape["y0"], shape["y1"]) for shape in shapes if shape["type"] == "line"]
        assert sorted((y - n / 2, y + n / 2) for y, n in titles) == sorted(blank) and blank
        assert all(high <= start or low >= end for low, high in lines for start, end in blank)
        assert not any(start < y < end for y in rows for start, end in blank)
        assert all(shape["layer"] == "between" for shape in shapes)
    assert max(n for _, n in titles) == 2  # the last panel has the differences from the curve with the long label


def test_one_is_singular(finished):
    found = report.gather(finished)
    lines = {title: [replace(line, trials=1) for line in each] for title, each in found.table.panels.items()}
    made = {**found.manifest, "jobs": 1}
    alone = replace(found, table=replace(found.table, panels=lines), manifest=made)
    text = " ".join(Read(page(alone)).text)
    assert "of 1 trial" in text and "1 job" in text and not re.search(r"\b1 (trials|jobs)\b", text)
    assert replace(found, config={**found.config, "horizon": 1}).final_title == "Regret after 1 round"
    assert "1 experiment." in " ".join(Read(index([alone])).text)


def test_a_table_says_where_its_bars_are_quantiles(finished):
    found = report.gather(finished)

    def with_trials(high, bars):
        def spread(line):
            mean, sd, low, median, high_end, trials = (np.full(len(line.x), x) for x in (2.0, 1, 0.5, 2, high, 16))
            return replace(line, bulk=Bulk(mean, sd, low, median, high_end, trials), trials=16)

        lines = {title: [spread(line) for line in each] for title, each in found.table.panels.items()}
        return replace(found, table=replace(found.table, panels=lines, bars=BARS[bars]))

    said = "or 5 % and 95 % quantiles of trials that are heavy-tailed, lopsided or in groups"
    for high, bars, expected in ((40.0, "sd", True), (3.5, "sd", False), (40.0, "bootstrap", False)):
        made = with_trials(high, bars)
        assert (f"small: {BARS[bars]}, {said}" in " ".join(Read(page(made)).text)) == expected
        assert (said in latex(made)) == expected


def test_bars_without_length_are_not_printed():
    cells = [Cell(6939.0, 0.0, 113.6), Cell(7757.0, 76.8, 9.1e-13), Cell(3.0, 0.0, 0.0)]
    assert [cell.bars for cell in cells] == [{"+": "113.6"}, {"−": "76.8"}, {}]


def test_a_tree_of_results_has_one_script(finished, tmp_path):
    assert call("report", tmp_path).exit_code == 0
    script = tmp_path / "plotly.min.js"
    assert "plotly.js" in script.read_text(encoding="utf-8")[:100] and not (finished / "plotly.min.js").exists()
    assert [attributes["src"] for attributes in Read((finished / "report.html").read_text()).having("src")] == [
        "../plotly.min.js"
    ]
    script.write_text("of an older version")
    assert call("report", finished).exit_code == 0  # a single report of the tree uses and renews the same file
    assert "plotly.js" in script.read_text(encoding="utf-8")[:100] and not (finished / "plotly.min.js").exists()


def test_the_index_shows_the_figures_that_exist(finished, tmp_path):
    assert call("report", tmp_path).exit_code == 0 and call("plot", finished, "--format", "png").exit_code == 0
    assert not Read((tmp_path / "index.html").read_text()).having("src")
    assert call("report", tmp_path).exit_code == 0
    (picture,) = Read((tmp_path / "index.html").read_text()).having("src")
    assert (tmp_path / picture["src"]).exists()


def test_the_same_bytes_twice(finished):
    assert call("report", finished).exit_code == 0
    first = {path.name: path.read_bytes() for path in finished.iterdir() if path.is_file()}
    assert call("report", finished).exit_code == 0
    assert first == {path.name: path.read_bytes() for path in finished.iterdir() if path.is_file()}


def test_markdown_tables_are_whole(nasty):
    text = markdown(report.gather(nasty, [CLAIM]))
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
    assert tex(text) == wanted


def test_latex_tables_are_whole(nasty):
    table = latex(report.gather(nasty))
    body = [line for line in table.splitlines() if line.endswith(r"\\")]
    assert {len(re.findall(r"(?<!\\)&", line)) for line in body} == {2}
    bare = re.sub(r"\\[{}\\]", "", re.sub(r"(?<!\\)%.*", "", table))
    assert bare.count("{") == bare.count("}")
    assert [table.count(rule) for rule in (r"\toprule", r"\midrule", r"\bottomrule", r"\hline")] == [1, 1, 1, 0]
    assert re.findall(r"\\begin{(\w+)}", table) == re.findall(r"\\end{(\w+)}", table) == ["tabular"]


def typeset(folder):
    """What pdflatex says of a paper that shows table.tex."""
    (folder / "paper.tex").write_text(
        r"\documentclass{article}\usepackage[T1]{fontenc}\usepackage{booktabs,graphicx}"
        r"\begin{document}\noindent\input{table.tex}\end{document}"
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=120)
    if "not found" in made.stdout:
        pytest.skip("a LaTeX package is not on this machine: booktabs or graphicx")
    assert made.returncode == 0, made.stdout[-2000:]
    assert (folder / "paper.pdf").stat().st_size > 10_000
    return made.stdout


LATEX = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not on this machine")


@LATEX
def test_pdflatex_compiles_the_table(nasty):
    report.write(nasty, report.gather(nasty))
    typeset(nasty)


def many(finished, values, lines, label="Algorithm"):
    """A report on a table with this many columns and rows."""
    found = report.gather(finished)
    (line, *_) = found.table.panels["Stochastic"]
    x = np.arange(1.0, values + 1)
    shape = {"x": x, "regret": 45_678.9 * x, "below": 1_234.5 * x, "above": 987.6 * x, "bulk": None}
    every = [replace(line, label=Name(f"{label} {i}", {"gap": "gap = 0.05"}), **shape) for i in range(lines)]
    return replace(found, table=replace(found.table, panels={Name("Stochastic"): every}, x_label="epsilon"))


def test_a_large_latex_table_is_divided(finished):
    table = latex(many(finished, 24, 50))
    blocks = re.findall(r"\\begin{tabular}.*?\\end{tabular}", table, re.DOTALL)
    assert len(blocks) > 20 and all(block.count(r"\\") <= 29 for block in blocks)
    heads = [block.split(r"\toprule")[1].split(r"\\")[0].split("&")[1:] for block in blocks]
    cells = [int(x) for head, block in zip(heads, blocks, strict=True) for x in head * block.count("Algorithm")]
    assert sorted(cells) == sorted([*range(1, 25)] * 50)  # each value of each row once


@LATEX
@pytest.mark.parametrize("label", ["A", "A label that is much too long for a column of a table in a paper"])
def test_pdflatex_fits_a_large_table_into_the_page(finished, tmp_path, label):
    table = latex(many(finished, 24, 70, label))
    (tmp_path / "table.tex").write_text(table)
    assert "Overfull" not in typeset(tmp_path)
    unfitted = re.sub(r"(newcommand{.fitted}\[1\]){.*}%", r"\1{#1}%", table)
    (tmp_path / "table.tex").write_text(unfitted)
    too_wide = [float(x) for x in re.findall(r"Overfull .hbox \(([\d.]+)pt", typeset(tmp_path))]
    assert label != "A" or max(too_wide, default=0) < 35  # a tenth of the text's width


def test_a_long_label_widens_no_table_and_no_picture(_long):
    """Labels of one long word: it may be parted after 24 letters, and stays one text."""
    text = page(report.gather(_long))
    read = Read(text)
    row = re.search(r'<tr><th scope="row">(L+.*?)</th>', text)[1]
    head = re.search(r'<th scope="col" class="number">(P+.*?)</th>', text)[1]
    for cell, label in ((row, LONG), (head, PANEL)):
        assert cell.replace("<wbr>", "") == label and max(map(len, cell.split("<wbr>"))) == 24
    for plot in read.plots:
        assert max(map(len, plot["layout"]["title"]["text"].split("<br>"))) <= 84
        names = [trace["name"] for trace in plot["data"] if "name" in trace]
        assert all(len(line) <= 28 for name in names for line in name.split("<br>"))
