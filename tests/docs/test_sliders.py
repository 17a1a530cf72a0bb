"""The page "What λ does" in a real browser: its charts are drawn offline, and each slider changes its chart."""

import html
import json
import runpy
from pathlib import Path
from typing import Any

import pytest
from pages import ROOT

from tdlambda.lab.report.page import embedded, library

TOOLS: dict[str, Any] = runpy.run_path(str(ROOT / "tools" / "screenshots.py"))
FIGURES = ROOT / "docs" / "figures"
NAMES = ("lambda-trace", "lambda-views", "lambda-u-curve", "lambda-falling")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The charts as the site has them: an SVG, its specification, and the two scripts."""
    folder = tmp_path_factory.mktemp("sliders")
    (folder / "vega.js").write_text(library(), encoding="utf-8")
    (folder / "live.js").write_text((ROOT / "docs" / "theme" / "live.js").read_text("utf-8"), encoding="utf-8")
    parts = []
    for name in NAMES:
        spec = json.loads((FIGURES / f"{name}.json").read_text("utf-8"))
        parts.append(f'<div class="chart live">{(FIGURES / f"{name}.svg").read_text("utf-8")}</div>')
        parts.append(f'<script type="application/json">{embedded(spec)}</script>')
    scripts = '<script src="vega.js"></script><script src="live.js"></script>'
    head = f"<!doctype html><meta charset=utf-8><title>{html.escape('λ')}</title>"
    (folder / "page.html").write_text(f"{head}<body>{''.join(parts)}{scripts}", encoding="utf-8")
    return folder / "page.html"


def test_every_slider_changes_its_chart_offline(page: Path) -> None:
    move = """
        const [k, done] = arguments;
        const box = document.querySelectorAll('.chart.live')[k], input = box.querySelector('input[type=range]');
        const seen = () => box.querySelector('svg').innerHTML.replace(/(clip|gradient_)\\d+/g, '');
        const before = seen();
        input.value = input.value === input.min ? input.max : input.min;
        input.dispatchEvent(new Event('input'));
        setTimeout(() => done([before.length, before !== seen(), box.querySelectorAll('input').length]), 400);"""
    with TOOLS["browser"]() as chrome:
        chrome.set_script_timeout(60)
        chrome.get(page.as_uri())
        chrome.execute_async_script(
            """const done = arguments[0], look = () => Number(document.body.dataset.live) === 4 ? done()
            : setTimeout(look, 30); look();"""
        )
        found = [chrome.execute_async_script(move, k) for k in range(len(NAMES))]
        errors = [entry for entry in chrome.get_log("browser") if entry["level"] == "SEVERE"]
        requests = [json.loads(entry["message"])["message"] for entry in chrome.get_log("performance")]
    assert errors == []
    assert all(length > 1000 and changed for length, changed, _ in found), found
    assert [inputs for *_, inputs in found] == [2, 1, 1, 1]
    urls = [m["params"]["request"]["url"] for m in requests if m["method"] == "Network.requestWillBeSent"]
    assert [url for url in urls if not url.startswith(("file:", "data:", "about:", "chrome"))] == []


def test_each_chart_has_a_picture_and_a_slider() -> None:
    text = (ROOT / "docs" / "what-lambda-does.md").read_text(encoding="utf-8")
    for name in NAMES:
        assert f"(figures/{name}.svg)" in text
        spec = json.loads((FIGURES / f"{name}.json").read_text("utf-8"))
        assert any("bind" in param for param in spec["params"])
