"""The Markdown of the project, and what stands in its code blocks."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
READ = [
    page for page in PAGES if page.parent.name != "api" and page.stem not in {"references", "changelog", "CHANGELOG"}
]
"""What a reader reads: not the reference that is generated from the code, the list of papers, and the changes."""
_BLOCK = re.compile(r"^(?:<!-- not run: (?P<reason>.+?) -->\n)?```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.M | re.S)


def words(text: str) -> int:
    """The number of words of a page outside code, formulas and generated blocks."""
    for pattern in (r"^```.*?^```$", r"<!--.*?-->", r"^(?: {4}.*\n)+"):
        text = re.sub(pattern, "", text, flags=re.M | re.S if "`" in pattern or "!" in pattern else re.M)
    return sum(any(letter.isalnum() for letter in word) for word in text.split())


class Block(NamedTuple):
    """A fenced block: where it begins, its language, its text, and why it is not run, if it is not."""

    page: Path
    line: int
    kind: str
    text: str
    reason: str | None

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def file(self) -> str | None:
        """The name of the file that it is: its first line is a comment with it (see docs/conftest.py)."""
        named = re.match(r"# (\w+\.py)\n", self.text)
        return named[1] if named else None


def blocks(*kinds: str) -> Iterator[Block]:
    """Every block in one of these languages."""
    for page in PAGES:
        content = page.read_text(encoding="utf-8")
        for found in _BLOCK.finditer(content):
            if found["kind"] in kinds:
                line = content.count("\n", 0, found.start()) + 1
                yield Block(page, line, found["kind"], found["text"], found["reason"])
