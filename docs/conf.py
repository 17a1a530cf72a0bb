"""The site: `make docs` builds it from the Markdown beside this file. Nothing in it asks another host for anything."""

import html
import json
import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

import tdlambda
from tdlambda.charts.style import dark_rules, shades
from tdlambda.lab.report.page import embedded, library

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE))
from typeset import is_formula, typeset  # noqa: E402, beside this file

for _name in ("report", "reproduction", "studies"):  # pages show the public names of the laboratory's packages
    sys.modules[f"tdlambda.{_name}"] = getattr(tdlambda, _name)

project = "tdlambda"
author = "the tdlambda authors"
project_copyright = "MIT licence"
version = release = tdlambda.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
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
html_show_search_summary = True  # from pages.js, because a browser forbids a page to fetch files
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
    """The empty line at the end of an example is for the test that runs it, not for the reader.

    `.. every-algorithm::` stands for the reference of every algorithm that the package exports.
    """
    every = [name for name in tdlambda.algorithms.__all__ if name in tdlambda.__all__]
    entries = "\n\n".join(f".. autoclass:: tdlambda.{name}\n   :members:" for name in every)
    source[0] = source[0].replace(".. every-algorithm::", entries)
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
                live = path.with_suffix(".json")
                if live.is_file():  # the same chart with a slider, drawn by the library that `themed` writes
                    made = made.replace('class="chart"', 'class="chart live"', 1)
                    made += f'<script type="application/json">{embedded(json.loads(live.read_text("utf-8")))}</script>'
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
    auto = dark_rules('body:not([data-theme="light"]) .chart', shades(8))
    rules = dark_rules('body[data-theme="dark"] .chart', shades(8))
    dark = f"{rules}\n@media (prefers-color-scheme: dark) {{\n{auto}\n}}\n"
    (folder / "charts.css").write_text(dark, encoding="utf-8")
    own = f"(() => {{\n{library()}\nwindow.vegaEmbed ??= vegaEmbed;\n}})();"  # Sphinx has names like the library's
    (folder / "vega.js").write_text(own, encoding="utf-8")
    (folder / "pages.js").touch()  # filled when all pages are written


def with_sliders(_app: Any, page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Load the charts' library on pages that have a chart with a slider, and on no other."""
    if 'class="chart live"' in context.get("body", ""):
        up = "../" * page.count("/")
        scripts = "".join(f'<script src="{up}_static/{name}"></script>' for name in ("vega.js", "live.js"))
        context["body"] += scripts


DROPPED = re.compile(r"<(svg|script|style|math)\b.*?</\1>|<a class=\"headerlink\".*?</a>|<!--.*?-->", re.DOTALL)
TAG = re.compile(r"<(?!/?section\b)[^>]*>")
MAIN = re.compile(r'<article role="main"[^>]*>(.*?)</article>', re.DOTALL)


def with_excerpts(app: Any, page: str, _template: str, _context: dict[str, Any], _doctree: Any) -> None:
    """Load the texts of the pages on the search page, which shows excerpts of them."""
    if page == "search":
        app.add_js_file("pages.js")
        app.add_js_file("offline-search.js")


def page_texts(app: Any, error: Exception | None) -> None:
    """Write the text of every page, in its sections, as a script that the search page loads."""
    if error is not None or app.builder.format != "html":
        return
    out, texts = Path(app.outdir), {}
    for name in sorted(app.env.found_docs):
        found = MAIN.search((out / f"{name}.html").read_text(encoding="utf-8"))
        text = re.sub(r"\s+", " ", TAG.sub("", DROPPED.sub("", found[1] if found else "")))
        texts[f"{name}.html"] = f'<div role="main">{text}</div>'
    script = f"window.PAGE_TEXTS = {embedded(texts)};\n"
    (out / "_static" / "pages.js").write_text(script, encoding="utf-8")


def setup(app: Any) -> None:
    """Before napoleon, which expects reStructuredText."""
    app.add_post_transform(Inline)
    app.add_post_transform(Formulas)
    app.add_css_file("charts.css")
    app.connect("builder-inited", themed)
    app.connect("source-read", without_last_line)
    app.connect("html-page-context", with_sliders)
    app.connect("html-page-context", with_excerpts)
    app.connect("build-finished", page_texts)
    app.connect("autodoc-process-docstring", as_restructured_text, priority=400)
