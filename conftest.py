"""Examples: which of them run without the compiler, and the files of a page.

A Python block that begins with `# name.py` is a file, which the examples of its page may import.
"""

import re
import sys
from collections.abc import Iterator

import pytest

FILE = re.compile(r"^```python\n(?P<text># (?P<name>\w+)\.py\n.*?)^```$", re.MULTILINE | re.DOTALL)
CHECKS = ("check_algorithm(", "check_rule(")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark docstrings that check a declaration: they would compile all its schedules and run few steps of each."""
    for item in items:
        is_docstring = isinstance(item, pytest.DoctestItem) and item.path.suffix == ".py"
        if is_docstring and any(check in example.source for example in item.dtest.examples for check in CHECKS):
            item.add_marker(pytest.mark.costly)


@pytest.fixture(autouse=True)
def files_of_the_page(request: pytest.FixtureRequest) -> Iterator[None]:
    """Write the page's files where Python finds them. Only such a page costs a temporary directory."""
    found = list(FILE.finditer(request.path.read_text(encoding="utf-8"))) if request.path.suffix == ".md" else []
    if found:
        folder = request.getfixturevalue("tmp_path")
        for file in found:
            (folder / f"{file['name']}.py").write_text(file["text"], encoding="utf-8")
        request.getfixturevalue("monkeypatch").syspath_prepend(folder)
    yield
    for file in found:
        sys.modules.pop(file["name"], None)
