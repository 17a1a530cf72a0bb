"""Reading rows from a growing text file, as `tail -F` does."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from tdlambda.streams.batch import Batch
from tdlambda.streams.csv_text import BYTES, Text, records

READ = 2**24
"""Largest number of bytes read at a time."""
COMPARED = 4096
"""Number of bytes, at the beginning of a file and before the position in it, that show whether it was rewritten."""


def tail(path: Path, skip: int, every: float, say: Callable[[str], None]) -> Iterator[Batch | None]:
    """Yield rows of a file after the first `skip`, as they are written, for ever; None if there is nothing new.

    `every` is the time between two checks, in seconds. Only complete rows count. If the file is replaced, truncated or
    rewritten, reading continues with the first row of the new contents; if it is deleted, when it exists again. Each
    time, `say` gets a message.
    """
    text = Text(path, finished=True)
    names, row = text.names(), 0
    with closing(_Growing(path, say)) as source:
        while True:
            cells, begins = source.read(text.separator)
            if begins and sorted(cell.strip() for cell in cells[0]) == sorted(names):
                names = [cell.strip() for cell in cells.pop(0)]
            new = cells[max(0, skip - row) :]
            row += len(cells)
            if new:
                yield text.batch(names, new, row - len(new))
            elif not cells and not begins:
                if row < skip:
                    raise ValueError(
                        f"{path} has {row:,} rows, but the Horde has learned {skip:,}: it is another file, or it was "
                        f"rotated; to learn from all its rows, use td.load(…).learn({str(path)!r})"
                    )
                skip = 0
                yield None
                time.sleep(every)


class _Growing:
    """The contents of a path, as they are written."""

    def __init__(self, path: Path, say: Callable[[str], None]) -> None:
        self.path, self.say, self.file = path, say, open(path, "rb", buffering=0)  # noqa: SIM115, `close` closes it
        self._begin()

    def close(self) -> None:
        """Close the file."""
        self.file.close()

    def _begin(self) -> None:
        """Start with the first byte."""
        self.at, self.head, self.last, self.partial = 0, b"", b"", b""
        self.pending: list[str] = []
        """Lines of a row that is not complete, because a quoted cell contains line breaks."""
        self.begun, self.missing = False, False

    def read(self, separator: str) -> tuple[list[list[str]], bool]:
        """The rows that have been completed since the last call; and whether they are the first of the file."""
        data = self._data() or (self._data() if self._again() else b"")
        self.at += len(data)
        self.head, self.last = (self.head + data)[:COMPARED], (self.last + data)[-COMPARED:]
        *lines, self.partial = (self.partial + data).split(b"\n")
        self.pending += [line.decode("utf-8", BYTES) + "\n" for line in lines]
        found = list(records(self.pending, separator))
        self.pending = self.pending[found[-1][1] if found else 0 :]
        cells = [some for some, _ in found if some]
        begins = bool(cells) and not self.begun
        if begins:
            self.begun, cells[0][0] = True, cells[0][0].removeprefix("\ufeff")
        return cells, begins

    def _data(self) -> bytes:
        """New bytes, unless the contents before them have changed."""
        self.file.seek(self.at)
        data = self.file.read(READ)
        if os.fstat(self.file.fileno()).st_size < self.at:
            return self._restart("has become shorter")
        for known, begin in ((self.head, 0), (self.last, self.at - len(self.last))):
            self.file.seek(begin)
            if self.file.read(len(known)) != known:
                return self._restart("was rewritten")
        return data

    def _restart(self, what: str) -> bytes:
        self.say(f"{self.path} {what}; reading it from its first row")
        self._begin()
        return b""

    def _again(self) -> bool:
        """Whether the path is a new file now, which is read instead; if there is none, say so once."""
        try:
            new = open(self.path, "rb", buffering=0)  # noqa: SIM115, `close` closes it
        except FileNotFoundError:
            if not self.missing:
                self.say(f"{self.path} is gone; waiting until it exists again")
            self.missing = True
            return False
        if os.path.samestat(os.fstat(new.fileno()), os.fstat(self.file.fileno())):
            new.close()
            self.missing = False
            return False
        lost = "; the last row of the old one is not complete and is left out" if self.partial or self.pending else ""
        self.say(f"{self.path} is a new file; reading it from its first row{lost}")
        self.file.close()
        self.file = new
        self._begin()
        return True
