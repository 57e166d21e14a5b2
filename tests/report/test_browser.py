"""Reports in a real browser: no error, no network, legends and values work, both colour schemes, a phone's width.

A copy of the page has a script that acts as a reader and writes its observations into the page; Chromium prints them.
Skipped where no Chromium is installed (Debian: the package chromium); the variable CHROMIUM names another one.
"""

import json
import os
import re
import shutil
import subprocess
from html import unescape

import pytest

from privbandits_cli.actions import report
from privbandits_cli.analysis.format import amount
from tests.conftest import SMALL
from tests.figures.test_plot import ran
from tests.report.test_report import CLAIM, NASTY

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium: install one, or name it in CHROMIUM")

QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-extensions",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
)  # fmt: skip
LISTEN = """<script>
window.errors = [];
addEventListener("error", (event) => errors.push(String(event.message)));
document.addEventListener("securitypolicyviolation", (event) => errors.push(event.violatedDirective));
for (const name of ["error", "warn"]) console[name] = (...words) => errors.push(words.join(" "));
</script>"""
PLAY = """<script>
(async () => {
const seen = {};
const all = (what, where = document) => [...where.querySelectorAll(what)];
const pause = () => new Promise((done) => setTimeout(done, 300));
try {
  await pause();
  seen.width = innerWidth;
  seen.page = document.documentElement.scrollWidth;
  seen.outside = all("main *").filter((part) => !part.closest(".scroll, pre, svg, details") &&
    part.getBoundingClientRect().right > innerWidth + 1).map((part) => part.outerHTML.slice(0, 80));
  seen.tables = all(".scroll").every((box) => box.getBoundingClientRect().right <= innerWidth + 1);
  const inside = (part) => part.getBoundingClientRect().right <= innerWidth + 1;
  seen.rows = all(".rows th, .rows td").every(inside);
  seen.wide = all("table.finals").map((table) => [table.offsetWidth > table.parentElement.clientWidth + 1,
    getComputedStyle(table.parentElement, "::before").content]);
  seen.paper = getComputedStyle(document.body).backgroundColor;
  seen.text = getComputedStyle(document.body).color;
  seen.fetched = performance.getEntriesByType("resource").map((entry) => entry.name);
  const plots = all(".plot");
  const curves = () => plots.map((plot) => all(".scatterlayer .trace", plot).length);
  seen.inks = all(".scatterlayer .js-line", plots[0]).map((line) => line.style.stroke);
  const [button] = all(".legend button");
  const twins = all(".legend button").filter((other) => other.dataset.curve === button.dataset.curve);
  const pressed = () => twins.map((other) => other.getAttribute("aria-pressed"));
  const hover = async (plot, across, down) => {
    const area = plot.querySelector(".nsewdrag");
    const box = area.getBoundingClientRect();
    const at = { clientX: box.left + across * box.width, clientY: box.top + down * box.height, bubbles: true };
    for (const kind of ["mouseover", "mousemove"]) area.dispatchEvent(new MouseEvent(kind, at));
    await pause();
    const label = plot.querySelector(".hoverlayer .legend, .hoverlayer .hovertext");
    const { left, right } = label.getBoundingClientRect();
    const inside = left >= -1 && right <= innerWidth + 1;
    return { text: all("text", label).map((text) => text.textContent).join(" "), inside };
  };
  seen.before = curves();
  button.click();
  await pause();
  seen.hidden = curves();
  seen.pressed = pressed();
  seen.without = await hover(plots[0], 0.99, 0.5);
  button.click();
  await pause();
  seen.again = curves();
  seen.repressed = pressed();
  seen.with = await hover(plots[0], 0.99, 0.5);
  const under = (plot) => {
    const area = plot.querySelector(".nsewdrag").getBoundingClientRect();
    const { x, y } = plot.querySelector(".points path").getBoundingClientRect();
    return hover(plot, (x - area.left + 2) / area.width, (y - area.top + 2) / area.height);
  };
  seen.box = await under(plots[4]);
  seen.mean = await under(plots[plots.length - 1]);
  HTMLAnchorElement.prototype.click = function () { seen.saved = [this.download, this.href.slice(0, 15)]; };
  plots[0].querySelector(".modebar-btn").click();
  await pause();
} catch (error) { errors.push(String(error)); }
seen.errors = errors;
parent.postMessage(JSON.stringify(seen), "*");
})();
</script>"""
# A window is never narrower than 500 pixels: the page is in a frame.
FRAME = """<!DOCTYPE html><body style="margin:0"><script>
onmessage = (event) => document.body.append(
  Object.assign(document.createElement("pre"), { id: "seen", textContent: event.data }));
</script><iframe src="results/copy.html" style="border:0;width:WIDTHpx;height:900px"></iframe>"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A report with a long, hostile label and many columns, and its index."""
    path = tmp_path_factory.mktemp("browser")
    config = path / "small.yaml"
    config.write_text(SMALL)
    label = json.dumps(NASTY + " and so on and on")
    adversaries = "adversary=[deterministic, stochastic, oblivious, switching_costs]"
    made = ran(path, config, f"algorithms[0]={{name: exp3, label: {label}}}", adversaries)
    found = report.gather(made, [CLAIM])
    report.write(made, found, listed=True)
    report.write_index(path, [found])
    return made


def browse(page, tmp_path, width, dark, play=PLAY):
    """The observations of a reader of the page in a window of this width."""
    text = page.read_text(encoding="utf-8")
    copy = tmp_path / "results" / "copy.html"
    copy.parent.mkdir()
    for script in page.parents[1].glob(report.SCRIPT):
        shutil.copy(script, tmp_path)
    copy.write_text(text.replace("<head>", "<head>" + LISTEN, 1).replace("</body>", play + "</body>"), encoding="utf-8")
    scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    frame = tmp_path / "frame.html"
    frame.write_text(FRAME.replace("WIDTH", str(width)))
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    command = [BROWSER, *QUIET, scheme, profile, "--window-size=1280,900", "--virtual-time-budget=20000"]
    made = subprocess.run([*command, "--dump-dom", frame.as_uri()], capture_output=True, text=True, timeout=120)
    found = re.search(r'<pre id="seen">(.*?)</pre>', made.stdout, re.DOTALL)
    assert found, made.stderr[-2000:]
    return json.loads(unescape(found[1]))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390], ids=["wide", "phone"])
def test_a_report_is_read(folder, tmp_path, width, dark):
    seen = browse(folder / "report.html", tmp_path, width, dark)
    assert seen["errors"] == [] and seen["fetched"] == []  # files are not listed
    assert seen["width"] == width and seen["page"] <= width and seen["outside"] == [] and seen["tables"]
    assert seen["rows"]  # no column of the ledger or of the claims is hidden
    assert all((hint != "none") == hidden for hidden, hint in seen["wide"])
    assert any(hidden for hidden, _ in seen["wide"]) == (width == 390)  # four panels
    brightness = [sum(map(float, re.findall(r"[\d.]+", seen[name])[:3])) for name in ("paper", "text")]
    assert (brightness[0] < brightness[1]) == dark
    assert len(set(seen["inks"])) == 3
    assert seen["before"] == seen["again"] and len(seen["before"]) == 12  # three figures of four panels
    assert all(less < more for less, more in zip(seen["hidden"][:8], seen["before"][:8], strict=True))
    assert set(seen["pressed"]) == {"false"} and set(seen["repressed"]) == {"true"}
    name = NASTY.replace(" ", "")  # long labels are broken into lines
    without, hovered = (seen[key]["text"].replace(" ", "") for key in ("without", "with"))
    assert name not in without and "EXP3-τ" in without
    assert name in hovered and "round1,000" in hovered
    assert "quartiles" in seen["box"]["text"] and "95 % interval" in seen["mean"]["text"]
    assert [seen[name]["inside"] for name in ("with", "box", "mean")] == [True] * 3
    assert seen["saved"][0].endswith(".png")


def test_the_values_shown_are_the_csvs(folder, tmp_path):
    seen = browse(folder / "report.html", tmp_path, 1200, False)
    for line in next(iter(report.gather(folder).table.panels.values())):
        bars = f"−{amount(line.below[-1])} +{amount(line.above[-1])}"
        assert f"{amount(line.regret[-1])} {bars}" in seen["with"]["text"]


@pytest.mark.parametrize("width", [1200, 390], ids=["wide", "phone"])
def test_the_index_is_read(folder, tmp_path, width):
    play = PLAY[: PLAY.index("  const plots")] + PLAY[PLAY.index("} catch") :]
    seen = browse(folder.parent / "index.html", tmp_path, width, True, play)
    assert seen["errors"] == [] and seen["page"] <= width and seen["outside"] == []
