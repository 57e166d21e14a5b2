"""Links for GitHub and the site: files outside of docs/ are downloads, headings of the glossary are terms."""

import os
import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

PAGE = re.compile(r"\]\((\.\./[^)\s#]+\.md)\)")


def outside(app: Sphinx, docname: str, source: list[str]) -> None:
    """Mark the pages outside of docs/ that a page links to as files, because they are no documents of the site."""
    here = Path(app.srcdir, docname).parent

    def marked(link: re.Match[str]) -> str:
        inside = Path(os.path.normpath(here / link[1])).is_relative_to(app.srcdir)
        return link[0] if inside else f"](path:{link[1]})"

    source[0] = PAGE.sub(marked, source[0])


def terms(app: Sphinx, doctree: nodes.document) -> None:
    """Resolve {term}`median of means` to the heading of that name in the glossary."""
    if app.env.docname == "start/glossary":
        standard = app.env.get_domain("std")
        for section in doctree.findall(nodes.section):
            standard._note_term(section[0].astext(), section["ids"][0], location=section)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register both with Sphinx."""
    app.connect("source-read", outside)
    app.connect("doctree-read", terms)
    return {"parallel_read_safe": True}
