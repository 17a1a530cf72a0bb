"""The page: one self-contained HTML file with its style, its script and a study's numbers."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import vl_convert

from tdlambda.charts.saving import VERSION
from tdlambda.charts.style import dark_rules, theme
from tdlambda.lab.report.overview import Overview, overview
from tdlambda.lab.report.page_data import fluid, page_data

_ASSETS = files("tdlambda.lab.report").joinpath("assets")
# Inside a script element, these characters could end it or, in old JavaScript engines, a line; JSON allows escapes.
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


@dataclass(frozen=True)
class Picture:
    """A figure at the top of the page."""

    title: str
    text: str
    chart: Any


def page(*views: Overview, manifests: Sequence[Mapping[str, Any]] = (), opening: Sequence[Picture] = ()) -> str:
    """The page of one study, or of several to choose from.

    `manifests` are those of their directories, if known; `opening` has the figures at the top of the page.
    """
    known = [*manifests, *({} for _ in views)]
    first = [{"title": one.title, "text": one.text, "spec": fluid(one.chart)} for one in opening]
    return filled([page_data(view, manifest) for view, manifest in zip(views, known, strict=False)], opening=first)


def studies_in(directory: str | Path) -> list[Path]:
    """The directory itself if it contains a study's results, otherwise its subdirectories that do."""
    here = Path(directory)
    if (here / "manifest.json").is_file() or not here.is_dir():
        return [here]
    return sorted(path.parent for path in here.glob("*/manifest.json")) or [here]


def load(directories: Sequence[Path]) -> tuple[list[Overview], list[dict[str, Any]]]:
    """Load the summaries and manifests of several directories."""
    views = [overview(directory) for directory in directories]
    return views, [json.loads((directory / "manifest.json").read_bytes()) for directory in directories]


def filled(studies: Sequence[Mapping[str, Any]], live: str = "", opening: Sequence[Mapping[str, Any]] = ()) -> str:
    """The page with these studies' data; `live` is the data's version if the page is served."""
    vega, script = library(), _asset("page.js")
    colours = {one["colour"] for study in studies for group in study["groups"] for one in group["series"]}
    style = _asset("page.css") + dark_rules(':root[data-theme="dark"]', colours)
    policy = [
        "default-src 'none'", f"style-src '{_hash(style)}'", f"script-src '{_hash(vega)}' '{_hash(script)}'",
        "img-src data:", "base-uri 'none'", "form-action 'none'", *(["connect-src 'self'"] if live else []),
    ]  # fmt: skip
    parts = {
        "policy": html.escape("; ".join(policy)), "title": html.escape(" · ".join(str(s["name"]) for s in studies)),
        "live": html.escape(live), "style": style, "library": vega, "script": script,
        "theme": embedded(theme() | {"background": "transparent"}),
        "data": packed({"studies": studies, "opening": opening}),
    }  # fmt: skip
    first, *rest = _asset("page.html").split("{{")  # one pass: inserted text is not searched again
    return first + "".join(parts[name] + text for name, text in (piece.split("}}", 1) for piece in rest))


def packed(data: Any) -> str:
    """Data as compressed JSON in base64 text, a fifth of its length."""
    return base64.b64encode(gzip.compress(embedded(data).encode(), mtime=0)).decode()


def embedded(data: Any) -> str:
    r"""Data as JSON that is safe inside a script element.

    >>> embedded({"name": "</script><script>"})
    '{"name":"\\u003c/script\\u003e\\u003cscript\\u003e"}'
    """
    return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")).translate(_ESCAPES)


@cache
def library() -> str:
    """The source of Vega, Vega-Lite and Vega-Embed, so that the page loads nothing from the network."""
    bundle: str = vl_convert.javascript_bundle(vl_version=VERSION)  # type: ignore[call-arg]
    return bundle.replace("</script", "<\\/script")


def _asset(name: str) -> str:
    return _ASSETS.joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
