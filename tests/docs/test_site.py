"""The site: it is built without a warning, all of it can be reached, and it asks no other host for anything."""

import re
import runpy
import subprocess
import sys
import zlib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit

import pytest
from pages import ROOT

import tdlambda as td

LOADED = re.compile(r"url\(\s*['\"]?((?:https?:)?//[^)'\"]+)|@import\s+['\"]((?:https?:)?//[^'\"]+)")
NOT_PAGES = ("figures",)
"""Folders of docs/ whose Markdown is part of other pages."""


class Page(HTMLParser):
    """What a page loads, what it links to, and where a link may lead within it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = {""}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a":
            self.links += [given["href"]] if "href" in given else []
        elif tag != "svg":
            self.loads += [given[name] for name in ("src", "srcset", "href", "data", "poster") if name in given]
        self.loads += [one or other for one, other in LOADED.findall(given.get("style", ""))]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` builds it."""
    out = tmp_path_factory.mktemp("docs")
    flags = ("--fail-on-warning", "--keep-going", "--quiet", "-d", str(out / "doctrees"))
    command = [sys.executable, "-m", "sphinx", *flags, str(ROOT / "docs"), str(out / "site")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return out / "site"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    """Its pages, read."""
    return {path.resolve(): Page(path) for path in site.rglob("*.html")}


def test_make_builds_it_like_this() -> None:
    assert "sphinx-build --fail-on-warning --keep-going --quiet" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_every_page_is_there(site: Path) -> None:
    sources = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
    wanted = [path for path in sources if path.parts[0] not in NOT_PAGES]
    assert len(wanted) > 30
    assert [str(path) for path in wanted if not (site / path.with_suffix(".html")).exists()] == []


def test_every_link_and_anchor_of_the_site_leads_somewhere(pages: dict[Path, Page]) -> None:
    def broken() -> Iterator[tuple[str, str]]:
        for path, page in pages.items():
            for link in page.links:
                parts = urlsplit(link)
                goal = (path.parent / unquote(parts.path)).resolve() if parts.path else path
                if parts.scheme or parts.netloc:
                    continue
                anchor = unquote(parts.fragment)
                if not goal.exists() or (goal in pages and anchor not in pages[goal].anchors):
                    yield path.name, link

    assert list(broken()) == []


def test_it_asks_no_other_host_for_anything(site: Path, pages: dict[Path, Page]) -> None:
    loads = [(path.name, load) for path, page in pages.items() for load in page.loads]
    assert any(load.endswith(".css") or ".css?" in load for _, load in loads)
    assert [(name, load) for name, load in loads if urlsplit(load).netloc] == []
    styles = list(site.rglob("*.css"))
    assert styles
    assert [(path.name, LOADED.findall(path.read_text(encoding="utf-8"))) for path in styles
            if LOADED.search(path.read_text(encoding="utf-8"))] == []  # fmt: skip


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    content = (site / "objects.inv").read_bytes()
    header = 0
    for _ in range(4):
        header = content.index(b"\n", header) + 1
    known = {line.split()[0] for line in zlib.decompress(content[header:]).decode().splitlines()}
    names = {name for name in td.__all__ if not isinstance(getattr(td, name), ModuleType)}
    assert {name for name in names if f"tdlambda.{name}" not in known} == set()
    deeper = {f"engine.{name}" for name in td.engine.__all__} | {f"studies.{name}" for name in td.studies.__all__}
    deeper |= {f"steps.{name}" for name in td.steps.__all__ if name != "OneOver"}
    shown_above = {f"{module}.{name}" for module in ("engine", "studies") for name in td.__all__}
    shown_above |= {"studies.Plan"}
    assert {name for name in deeper - shown_above if f"tdlambda.{name}" not in known} == set()


def test_search_shows_excerpts_from_files(site: Path) -> None:
    """From file://, where a page cannot fetch another: every result has an excerpt with the word."""
    wait = """
        const done = arguments[0], all = () => [...document.querySelectorAll('#search-results li')];
        const look = () => all().length && all().every((item) => item.querySelector('.context'))
            ? done(all().map((item) => item.textContent)) : setTimeout(look, 50);
        look();"""
    with runpy.run_path(str(ROOT / "tools" / "screenshots.py"))["browser"]() as chrome:
        chrome.set_script_timeout(60)
        chrome.get(f"{(site / 'search.html').as_uri()}?q=electrocardiogram")
        found = chrome.execute_async_script(wait)
        errors = [entry for entry in chrome.get_log("browser") if entry["level"] == "SEVERE"]
    assert errors == []
    assert all("electrocardiogram" in text.lower() and len(text) > 150 for text in found), found
