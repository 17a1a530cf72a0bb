"""A Python block that begins with `# name.py` is a file, which the examples of its page may import."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

FILE = re.compile(r"^```python\n(?P<text># (?P<name>\w+)\.py\n.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def files_of_the_page(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Write the page's files where Python finds them."""
    found = list(FILE.finditer(request.path.read_text(encoding="utf-8"))) if request.path.suffix == ".md" else []
    for file in found:
        (tmp_path / f"{file['name']}.py").write_text(file["text"], encoding="utf-8")
    if found:
        monkeypatch.syspath_prepend(tmp_path)
    yield
    for file in found:
        sys.modules.pop(file["name"], None)
