"""The site: `make docs` builds it from the Markdown beside this file. Nothing in it asks another host for anything."""

import html
import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

import tdlambda
from tdlambda.charts.style import dark_rules

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE))
from typeset import is_formula, typeset  # noqa: E402, beside this file

project = "tdlambda"
author = "the tdlambda authors"
project_copyright = "MIT licence"
version = release = tdlambda.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["figures/*.md"]  # tables that stand in the pages already
smartquotes = False  # λ' is a λ with a dash
myst_heading_anchors = 4  # named as a repository host names them

default_role = "py:obj"  # `x` in a docstring: a link if that is a name, else code
napoleon_google_docstring = False
napoleon_use_rtype = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # spelt out they hide the names; the parameters say what they may be

html_theme = "furo"
html_title = "tdlambda"
html_static_path = ["theme"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_search_summary = False  # would fetch the pages, which a browser forbids in files
html_theme_options = {"footer_icons": []}


BAR = re.compile(r"(`[^`]*`)|\|")


def as_restructured_text(_a: Any, _what: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    """Docstrings are written as Markdown is: an indented block after a blank line is an equation, and | is itself."""
    out: list[str] = []
    level, equation, example = 0, False, False
    for line in lines:
        indent = len(line) - len(line.lstrip())
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>>"))
        if line.strip():
            equation = equation and indent > level
            if not equation and out and not out[-1].strip() and indent > level:
                out += [" " * level + "::", ""]
                equation = True
            elif not equation:
                level = indent
        out.append(line if equation or example else BAR.sub(lambda found: found[1] or r"\|", line))
    lines[:] = out


def without_last_line(_app: Any, _page: str, source: list[str]) -> None:
    """The empty line at the end of an example is for the test that runs it, not for the reader."""
    source[0] = re.sub(r"\n\n```$", "\n```", source[0], flags=re.MULTILINE)


class Inline(SphinxPostTransform):
    """Our charts in the page itself: there they follow its theme, which an image cannot see."""

    default_priority = 5
    formats = ("html",)

    def run(self) -> None:
        """Replace each."""
        for image in list(self.document.findall(nodes.image)):
            path = HERE / image["uri"]
            svg = path.read_text(encoding="utf-8") if path.suffix == ".svg" and path.is_file() else ""
            if svg.startswith("<svg"):
                own = re.sub(r"\bclip(\d+)\b", rf"{path.stem}-\1", svg)  # names are of the whole page
                label = f'<svg role="img" aria-label="{html.escape(image.get("alt", ""))}" '
                made = f'<div class="chart">{own.replace("<svg ", label, 1)}</div>'
                image.replace_self(nodes.raw("", made, format="html"))


class Formulas(SphinxPostTransform):
    """Formulas typeset: indented blocks, and the equations of declarations."""

    default_priority = 6
    formats = ("html",)

    def run(self) -> None:
        """Replace each."""
        for block in list(self.document.findall(nodes.literal_block)):
            before = block.parent[block.parent.index(block) - 1] if block.parent.index(block) else None
            declared = isinstance(before, nodes.raw) and "<!-- equations:" in before.astext()
            plain = block.get("language", "default") in ("default", "none", "")
            if (declared or plain) and is_formula(block.astext()):
                block.replace_self(nodes.raw("", typeset(block.astext()), format="html"))


def themed(app: Any) -> None:
    """The colours of the charts on dark ground, as the site's own style sheet."""
    folder = Path(app.outdir) / "_static"
    folder.mkdir(parents=True, exist_ok=True)
    auto = dark_rules('body:not([data-theme="light"]) .chart', ())
    rules = dark_rules('body[data-theme="dark"] .chart', ())
    dark = f"{rules}\n@media (prefers-color-scheme: dark) {{\n{auto}\n}}\n"
    (folder / "charts.css").write_text(dark, encoding="utf-8")


def setup(app: Any) -> None:
    """Before napoleon, which expects reStructuredText."""
    app.add_post_transform(Inline)
    app.add_post_transform(Formulas)
    app.add_css_file("charts.css")
    app.connect("builder-inited", themed)
    app.connect("source-read", without_last_line)
    app.connect("autodoc-process-docstring", as_restructured_text, priority=400)
