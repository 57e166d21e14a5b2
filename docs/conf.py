"""The documentation site: `make docs` writes it to docs/_build/html, which a browser opens without a network."""

import sys
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

from _generate import generate, notebooks  # noqa: E402

from privbandits_cli import __version__  # noqa: E402

project = "privbandits"
author = "The privbandits developers"
copyright = author
release = version = __version__

extensions = [
    "_generate.links",
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
]
exclude_patterns = ["_build", "_generate", "_generated", "**/.ipynb_checkpoints"]

default_role = "literal"  # as in the docstrings of the API
nitpick_ignore_regex = [("py:.*", ".*")]  # the pages do not document the classes of the package

myst_enable_extensions = ["amsmath", "attrs_block", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "cache"
sources = sorted((DOCS.parent / "privbandits_cli").rglob("*.py"))
code = sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]
nb_execution_cache_path = str(DOCS / "_build" / "notebooks" / code)  # tutorials run again if the package changed
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_execution_in_temp = True

smartquotes = False  # a prime is no quotation mark
html_theme = "sphinx_book_theme"
html_theme_options = {
    "navbar_persistent": [],  # the search field is in the sidebar
    "show_toc_level": 2,
    "use_download_button": False,
    "use_fullscreen_button": False,
}
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system has it
html_show_sourcelink = False
html_css_files = ["site.css"]
html_title = "privbandits"
# MathJax is one file, which needs neither fonts nor a network.
mathjax = files("sphinx-mathjax-offline") / "static" / "mathjax" / "tex-svg-full.js"
html_static_path = ["_static", str(mathjax)]
mathjax_path = "tex-svg-full.js"
mathjax3_config = {"options": {"enableMenu": False}}

notebooks.prepare()


def setup(app):
    """Write the generated pages before Sphinx looks for pages."""
    app.connect("builder-inited", lambda _: generate())
