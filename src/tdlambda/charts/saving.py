"""Save charts as SVG, PDF or PNG without a browser, and show them in notebooks offline."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert
from altair.typing import ChartType

VERSION = "6.4"
"""Version of Vega-Lite."""
FORMATS = ("pdf", "svg", "png")
MIME, SCHEMA = "application/vnd.vegalite.v5+json", "https://vega.github.io/schema/vega-lite/v5.json"
"""The MIME type and schema of charts that JupyterLab and VS Code draw; they do not know those of version 6."""
RENDERER = "tdlambda"
DENSITY = 3
"""PNG pixels per chart pixel."""


def save(chart: ChartType, path: str | Path) -> Path:
    """Write a chart to a file in the format of the suffix. The same chart gives the same file.

    Parameters
    ----------
    chart
        Any Altair chart.
    path
        File name ending in .svg, .pdf or .png.
    """
    suffix, path = check_path(path), Path(path)
    spec = printable(still(chart.to_dict(validate=False)))
    if suffix == "svg":
        path.write_text(_numbered(vl_convert.vegalite_to_svg(spec, vl_version=VERSION)), encoding="utf-8")
    elif suffix == "pdf":
        path.write_bytes(vl_convert.vegalite_to_pdf(spec, vl_version=VERSION))
    else:
        path.write_bytes(vl_convert.vegalite_to_png(spec, vl_version=VERSION, scale=DENSITY))
    return path


def _numbered(svg: str) -> str:
    """The SVG with its clip paths numbered from 0; the converter numbers them on over all charts of the process."""
    known = {name: f"clip{k}" for k, name in enumerate(dict.fromkeys(re.findall(r'id="(clip\d+)"', svg)))}
    return re.sub(r"\bclip\d+\b", lambda found: known.get(found[0], found[0]), svg)


def check_path(path: str | Path) -> str:
    """The format that the suffix of a path names; ValueError if it is not supported."""
    suffix = Path(path).suffix.lower()[1:]
    if suffix not in FORMATS:
        raise ValueError(f"path must end in .{', .'.join(FORMATS)}; got {str(path)!r}")
    return suffix


_CONTROL = dict.fromkeys(
    [*range(9), 11, 12, *range(14, 32), *range(127, 160), 0x2028, 0x2029], "\ufffd"
) | dict.fromkeys(range(55296, 57344), "�")


def printable(spec: Any) -> Any:
    """The specification without control characters, which abort the process in the drawing library.

    >>> printable({"title": "a" + chr(0) + "b"}) == {"title": "a" + chr(0xFFFD) + "b"}
    True
    """
    if isinstance(spec, dict):
        return {printable(key): printable(value) for key, value in spec.items()}
    if isinstance(spec, list):
        return [printable(value) for value in spec]
    return spec.translate(_CONTROL) if isinstance(spec, str) else spec


def still(spec: dict[str, Any]) -> dict[str, Any]:
    """The specification without tooltips and selections, which would make up most of a file."""
    out = dict(spec)
    if "params" in out:
        out["params"] = [param for param in out["params"] if "select" not in param]
    if "encoding" in out:
        seen = out["encoding"].items()
        out["encoding"] = {k: v for k, v in seen if k != "tooltip" and "condition" not in v}
    for group in ("layer", "concat", "hconcat", "vconcat"):
        parts = [part for part in out.get(group, []) if part.get("encoding", {}).get("opacity") != {"value": 0}]
        out |= {group: [still(part) for part in parts]} if parts else {}
    return out


def offline() -> None:
    """Show charts in notebooks without a network, unless the user has chosen a renderer."""
    if alt.renderers.active == "default":
        alt.renderers.register(RENDERER, in_notebook)
        alt.renderers.enable(RENDERER)


def in_notebook(spec: dict[str, Any], **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a notebook shows: the specification, which JupyterLab draws offline by itself, or else the chart as SVG.

    A page of its own for each chart, as Altair's default and its offline template have, needs the network or a
    megabyte per chart, and the second one would declare the library's names again.
    """
    svg = _numbered(vl_convert.vegalite_to_svg(still(spec), vl_version=VERSION))
    return {MIME: spec | {"$schema": SCHEMA}, "image/svg+xml": svg, "text/plain": "<chart>"}, {}
