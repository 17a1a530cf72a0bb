"""Charts as files, SVG, PDF and PNG of one specification, without a browser; and in notebooks without a network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

VERSION = "6.4"
"""Of Vega-Lite."""
FORMATS = ("pdf", "svg", "png")
DENSITY = 3
"""Pixels of a PNG for each of the chart."""


def save(chart: Any, path: str | Path) -> Path:
    """Write a chart to a file; the suffix says how. The same chart gives the same file.

    Parameters
    ----------
    chart
        Of this package, or any of Altair's.
    path
        Ends in .svg, .pdf or .png.
    """
    suffix, path = check_path(path), Path(path)
    spec = still(chart.to_dict(validate=False))
    if suffix == "svg":
        path.write_text(_numbered(vl_convert.vegalite_to_svg(spec, vl_version=VERSION)), encoding="utf-8")
    elif suffix == "pdf":
        path.write_bytes(vl_convert.vegalite_to_pdf(spec, vl_version=VERSION))
    else:
        path.write_bytes(vl_convert.vegalite_to_png(spec, vl_version=VERSION, scale=DENSITY))
    return path


def _numbered(svg: str) -> str:
    """The clips of an SVG, numbered from 0: the converter counts all that it has ever made."""
    known = {name: f"clip{k}" for k, name in enumerate(dict.fromkeys(re.findall(r'id="(clip\d+)"', svg)))}
    return re.sub(r"\bclip\d+\b", lambda found: known.get(found[0], found[0]), svg)


def check_path(path: str | Path) -> str:
    """The format that a path asks for, refused if there is no such."""
    suffix = Path(path).suffix.lower()[1:]
    if suffix not in FORMATS:
        raise ValueError(f"path must end in .{', .'.join(FORMATS)}; got {str(path)!r}")
    return suffix


def still(spec: dict[str, Any]) -> dict[str, Any]:
    """A specification without what only a pointer can see: most of a file would be of that."""
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
    """Let charts show themselves in notebooks without asking a network, unless the user has chosen a renderer."""
    if alt.renderers.active == "default":
        alt.renderers.enable("html", template="inline")
