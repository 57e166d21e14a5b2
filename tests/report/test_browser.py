"""Reports in a real browser: no error, nothing fetched, switches and values work, both colour schemes, a phone's width.

The page is copied with a script that plays a reader and leaves what it saw in the page; Chromium prints that.
Skipped where no Chromium is installed (Debian: the package chromium), or name one in the variable CHROMIUM.
"""

import json
import os
import re
import shutil
import subprocess
from html import unescape

import pytest

from privbandits_cli.actions import report
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
const seen = {};
const all = (what) => [...document.querySelectorAll(what)];
const visible = (part) => part.getBoundingClientRect().width > 0;
try {
  seen.width = innerWidth;
  seen.page = document.documentElement.scrollWidth;
  seen.outside = all("main *").filter((part) => !part.closest(".scroll, pre, svg, details") &&
    part.getBoundingClientRect().right > innerWidth + 1).map((part) => part.outerHTML.slice(0, 80));
  seen.tables = all(".scroll").every((box) => box.getBoundingClientRect().right <= innerWidth + 1);
  seen.paper = getComputedStyle(document.body).backgroundColor;
  seen.text = getComputedStyle(document.body).color;
  seen.inks = all("svg.panel.lines .curve .line").map((line) => getComputedStyle(line).stroke);
  seen.fetched = performance.getEntriesByType("resource").length;
  const [button] = all(".legend button");
  const curves = all(`.curve[data-curve="${button.dataset.curve}"]`);
  const twins = all(`button[data-curve="${button.dataset.curve}"]`);
  const pressed = () => twins.map((other) => other.getAttribute("aria-pressed"));
  seen.before = curves.map(visible);
  button.click();
  seen.hidden = curves.map(visible);
  seen.pressed = pressed();
  const panel = document.querySelector("svg.panel.lines");
  const point = (part, share) => {
    const box = part.getBoundingClientRect();
    const at = { clientX: box.left + share * box.width, clientY: box.top + box.height / 2, bubbles: true };
    part.dispatchEvent(new PointerEvent("pointermove", at));
    const tip = document.getElementById("tip");
    const { left, right } = tip.getBoundingClientRect();
    return { text: tip.innerText, shown: !tip.hidden, inside: left >= 0 && right <= innerWidth };
  };
  seen.without = point(panel, 0.97);
  button.click();
  seen.again = curves.map(visible);
  seen.repressed = pressed();
  seen.with = point(panel, 0.97);
  panel.dispatchEvent(new PointerEvent("pointerleave"));
  seen.left = document.getElementById("tip").hidden;
  const told = all("[data-told]");
  seen.box = point(told[0], 0.5);
  seen.mean = point(told[told.length - 1], 0.5);
} catch (error) { errors.push(String(error)); }
seen.errors = errors;
parent.postMessage(JSON.stringify(seen), "*");
</script>"""
# A window is never narrower than 500 pixels: the page is in a frame.
FRAME = """<!DOCTYPE html><body style="margin:0"><script>
onmessage = (event) => document.body.append(
  Object.assign(document.createElement("pre"), { id: "seen", textContent: event.data }));
</script><iframe src="copy.html" style="border:0;width:WIDTHpx;height:900px"></iframe>"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A report with a long, hostile label and many columns, beside its index."""
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
    """What a reader sees of a page in a window of this width."""
    text = page.read_text(encoding="utf-8")
    copy = tmp_path / "copy.html"
    copy.write_text(text.replace("<head>", "<head>" + LISTEN, 1).replace("</body>", play + "</body>"), encoding="utf-8")
    scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    frame = tmp_path / "frame.html"
    frame.write_text(FRAME.replace("WIDTH", str(width)))
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    command = [BROWSER, *QUIET, scheme, profile, "--window-size=1280,900", "--virtual-time-budget=5000"]
    made = subprocess.run([*command, "--dump-dom", frame.as_uri()], capture_output=True, text=True, timeout=120)
    found = re.search(r'<pre id="seen">(.*?)</pre>', made.stdout, re.DOTALL)
    assert found, made.stderr[-2000:]
    return json.loads(unescape(found[1]))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390], ids=["wide", "phone"])
def test_a_report_is_read(folder, tmp_path, width, dark):
    seen = browse(folder / "report.html", tmp_path, width, dark)
    assert seen["errors"] == [] and seen["fetched"] == 0
    assert seen["width"] == width and seen["page"] <= width and seen["outside"] == [] and seen["tables"]
    brightness = [sum(map(float, re.findall(r"[\d.]+", seen[name])[:3])) for name in ("paper", "text")]
    assert (brightness[0] < brightness[1]) == dark
    assert len(set(seen["inks"])) == 3 and "none" not in seen["inks"]
    assert all(seen["before"]) and not any(seen["hidden"]) and all(seen["again"])
    assert len(seen["before"]) == 8  # a line and a strip in each panel
    assert set(seen["pressed"]) == {"false"} and set(seen["repressed"]) == {"true"}
    assert seen["without"]["shown"] and NASTY not in seen["without"]["text"]
    assert NASTY in seen["with"]["text"] and "round 1000" in seen["with"]["text"].replace(",", "")
    assert seen["left"] is True
    assert "quartiles" in seen["box"]["text"] and "95 % interval" in seen["mean"]["text"]
    assert all(seen[name]["inside"] for name in ("with", "box", "mean"))


def test_the_values_shown_are_the_csvs(folder, tmp_path):
    seen = browse(folder / "report.html", tmp_path, 1200, False)
    found = report.gather(folder)
    lines = next(iter(found.table.panels.values()))
    shown = seen["with"]["text"].replace(",", "").replace("−", "-")
    for line in lines:
        text = re.search(re.escape(line.label.replace(",", "")) + r"\s+(-?[\d.]+)", shown)
        assert float(text[1]) == pytest.approx(line.regret[-1], rel=6e-4)


@pytest.mark.parametrize("width", [1200, 390], ids=["wide", "phone"])
def test_the_index_is_read(folder, tmp_path, width):
    play = PLAY[: PLAY.index("  seen.inks")] + PLAY[PLAY.index("} catch") :]
    seen = browse(folder.parent / "index.html", tmp_path, width, True, play)
    assert seen["errors"] == [] and seen["page"] <= width and seen["outside"] == []
