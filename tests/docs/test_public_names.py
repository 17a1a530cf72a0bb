"""Every name that a page promises exists, and every public class and function has an example that runs."""

import inspect
import re
from pathlib import Path

import tdlambda as td

ROOT = Path(__file__).parent.parent.parent
WITHOUT_EXAMPLE = {"Learner", "Task", "VTD"}
"""Abstract, and shown by those that are built on them; VTD is used as `DirectVTD`, and has an example on its page."""


def test_pages_name_only_what_exists() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    named = {
        name for page in pages for name in re.findall(r"[^-\w/]td\.([A-Za-z_]\w*)", page.read_text(encoding="utf-8"))
    }
    assert len(named) > 25
    named -= {"md", "svg"}  # of a page called td
    assert {name for name in named if not hasattr(td, name)} == set()


def test_every_public_name_has_an_example() -> None:
    named = {name: getattr(td, name) for name in td.__all__ if name not in WITHOUT_EXAMPLE}
    documented = {n: x for n, x in named.items() if inspect.isclass(x) or callable(x)}
    assert {name for name, x in documented.items() if ">>>" not in (inspect.getdoc(x) or "")} == set()
