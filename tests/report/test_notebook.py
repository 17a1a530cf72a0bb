"""Charts in a notebook: what the kernel sends for each, three of them in one page of a real browser, and their size."""

import json
import runpy
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from tdlambda.charts.saving import MIME, VERSION, offline

TOOLS: dict[str, Any] = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "screenshots.py"))
CELLS = [
    "import math\nfrom tdlambda import charts",
    "charts.u_curves([{'series': s, 'alpha': a, 'mean': a + k / a, 'low': a, 'high': 2 * a + k / a}"
    " for s, k in (('λ = 0', 1e-4), ('λ = 0.9', 1e-5)) for a in (1e-3, 1e-2, 1e-1)])",
    "charts.learning_curves([{'series': 'TD', 'step': t, 'mean': math.exp(-t / 50), 'low': None, 'high': None}"
    " for t in range(1, 200)])",
    "charts.lines([{'series': s, 'x': x, 'mean': x**p} for s, p in (('a', 1), ('b', 2)) for x in (1, 10, 100)])",
]


def executed(cells: list[str]) -> list[dict[str, Any]]:
    """The outputs of cells run in order, as a kernel sends them: the bundle of the last expression of each."""
    names: dict[str, Any] = {}
    bundles = []
    for cell in cells:
        if cell.startswith("charts."):
            bundle = eval(cell, names)._repr_mimebundle_()
            bundles.append(bundle[0] if isinstance(bundle, tuple) else bundle)
        else:
            exec(cell, names)
    return bundles


def test_three_charts_of_one_notebook_are_drawn_in_a_browser(tmp_path: Path) -> None:
    """As JupyterLab does: one copy of the library for the page, and each output's specification drawn by it."""
    assert alt.renderers.active == "tdlambda"
    bundles = executed(CELLS)
    assert len(bundles) == 3
    for bundle in bundles:
        assert "text/html" not in bundle  # no page, and so no library, for each chart
        assert bundle[MIME]["$schema"].endswith("/v5.json")
        assert bundle["image/svg+xml"].startswith("<svg")
    notebook = tmp_path / "notebook.ipynb"
    outputs = [{"output_type": "display_data", "data": bundle, "metadata": {}} for bundle in bundles]
    notebook.write_text(json.dumps(outputs), encoding="utf-8")
    assert notebook.stat().st_size < 300_000  # three megabytes when each had the library
    library = vl_convert.javascript_bundle("window.embed = vegaEmbed;", vl_version=VERSION)
    specs = json.dumps([bundle[MIME] for bundle in bundles])
    boxes = "".join(f'<div id="c{k}"></div>' for k in range(3))
    fallback = "".join(f"<figure>{bundle['image/svg+xml']}</figure>" for bundle in bundles)
    page = tmp_path / "page.html"
    page.write_text(
        f"<!doctype html><meta charset=utf-8><body>{boxes}{fallback}<script type=module>{library}\n"
        f"const all = {specs}; await Promise.all(all.map((s, k) => window.embed('#c' + k, s, {{renderer: 'svg'}})));"
        "document.body.dataset.drawn = 1;</script>",
        encoding="utf-8",
    )
    with TOOLS["browser"]() as chrome:
        chrome.get(page.as_uri())
        TOOLS["wait"](chrome)
        of_each = "return [...document.querySelectorAll('div > svg')].map(s => s.querySelectorAll('path').length)"
        drawn = chrome.execute_script(of_each)
        shown = chrome.execute_script("return [...document.querySelectorAll('figure svg')].map(s => s.clientHeight)")
        errors = [entry for entry in chrome.get_log("browser") if entry["level"] == "SEVERE"]
    assert len(drawn) == 3
    assert min(drawn) > 5
    assert len(shown) == 3
    assert min(shown) > 100
    assert errors == []


def test_a_renderer_that_the_user_chose_stays() -> None:
    with alt.renderers.enable("svg"):
        offline()
        assert alt.renderers.active == "svg"
