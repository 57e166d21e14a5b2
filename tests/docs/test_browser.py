"""The built site in a headless Chromium, from files and without a network: every page, on a wide window and a phone.

`make docs` builds the site; `make browser` builds it and runs these tests.
"""

import json
import re
import shutil
import subprocess
from html import unescape

import pytest

from tests.conftest import ROOT
from tests.report.test_browser import BROWSER, LISTEN, QUIET

SITE = ROOT / "docs" / "_build" / "html"
pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="no Chromium: install one, or name it in CHROMIUM"),
    pytest.mark.skipif(not (SITE / "index.html").is_file(), reason="the site is not built: run `make docs`"),
]
LOOK = """<script>
addEventListener("load", async () => {
  const all = (what) => [...document.querySelectorAll(what)];
  if (window.MathJax) await window.MathJax.startup.promise;
  const formulas = all(".math");
  parent.postMessage({
    width: innerWidth, page: document.documentElement.scrollWidth, errors,
    outside: all("article *").filter((part) => !part.closest("pre, svg, table, .math, mjx-container, .output") &&
      part.getBoundingClientRect().right > innerWidth + 1).map((part) => part.outerHTML.slice(0, 80)),
    fetched: performance.getEntriesByType("resource").map((entry) => entry.name).filter((name) => /^\\w+:/.test(name) &&
      !/^(file|data|blob):/.test(name)),
    broken: all("img").filter((image) => image.complete && !image.naturalWidth).map((image) => image.src),
    formulas: formulas.length, plain: formulas.filter((part) => !part.querySelector("mjx-container")).length,
    wrong: all("mjx-merror, [data-mjx-error]").map((part) => part.dataset.mjxError || part.textContent),
  }, "*");
});
</script>"""
# A window is never narrower than 500 pixels: each page is shown in a frame, one after the other.
FRAME = """<!DOCTYPE html><body style="margin:0"><script>
const pages = PAGES, seen = {}, frame = document.createElement("iframe");
frame.style.cssText = "border:0;width:WIDTHpx;height:900px";
const next = () => {
  if (pages.length) { frame.src = "html/" + pages[0]; return; }
  document.body.append(Object.assign(document.createElement("pre"), { id: "seen", textContent: JSON.stringify(seen) }));
};
onmessage = (event) => { seen[pages.shift()] = event.data; next(); };
document.body.append(frame);
next();
</script>"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the site whose pages report what a reader sees."""
    folder = tmp_path_factory.mktemp("site") / "html"
    shutil.copytree(SITE, folder, ignore=shutil.ignore_patterns(".doctrees", "_sources"))
    for page in folder.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        page.write_text(text.replace("<head>", f"<head>{LISTEN}{LOOK}", 1), encoding="utf-8")
    return folder


@pytest.fixture(scope="module", params=[1280, 400], ids=["wide", "phone"])
def seen(request, copy, tmp_path_factory):
    """What a reader of each page sees, by page."""
    pages = sorted(str(page.relative_to(copy)) for page in copy.rglob("*.html") if "_static" not in page.parts)
    frame = copy.parent / "frame.html"
    frame.write_text(FRAME.replace("PAGES", json.dumps(pages)).replace("WIDTH", str(request.param)), encoding="utf-8")
    profile = f"--user-data-dir={tmp_path_factory.mktemp('profile')}"
    command = [BROWSER, *QUIET, profile, "--window-size=1280,900", "--virtual-time-budget=900000"]
    made = subprocess.run([*command, "--dump-dom", frame.as_uri()], capture_output=True, text=True, timeout=580)
    found = re.search(r'<pre id="seen">(.*?)</pre>', made.stdout, re.DOTALL)
    assert found, made.stderr[-2000:]
    looks = json.loads(unescape(found[1]))
    assert sorted(looks) == pages and {look["width"] for look in looks.values()} == {request.param}
    return looks


def test_every_page_fits_its_window(seen):
    assert {page: look["outside"] for page, look in seen.items() if look["outside"]} == {}
    assert {page: look["page"] for page, look in seen.items() if look["page"] > look["width"]} == {}


def test_every_page_needs_no_network(seen):
    assert {page: look["fetched"] for page, look in seen.items() if look["fetched"]} == {}
    assert {page: look["broken"] for page, look in seen.items() if look["broken"]} == {}
    assert {page: look["errors"] for page, look in seen.items() if look["errors"]} == {}


def test_every_formula_is_typeset(seen):
    assert {page: look["wrong"] for page, look in seen.items() if look["wrong"] or look["plain"]} == {}
    pages = [page for page, look in seen.items() if look["formulas"]]
    assert {"algorithms/exp3.html", "mechanisms/tree.html", "privacy/lemma_b.html"} <= set(pages)
