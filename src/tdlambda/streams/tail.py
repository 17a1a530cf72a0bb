"""Reading rows from a growing text file."""

from __future__ import annotations

import csv
import time
from collections.abc import Iterator
from pathlib import Path

from tdlambda.streams.batch import Batch
from tdlambda.streams.text import Text


def tail(path: Path, skip: int, every: float) -> Iterator[Batch | None]:
    """Yield rows of a file after the first `skip`, as they are written, for ever; None if there is nothing new.

    `every` is the time between two checks, in seconds. Only complete lines count. A file that becomes shorter raises
    ValueError.
    """
    text = Text(path, finished=True)
    names = text.names()
    first = next(iter(text.read(1000)), None)  # determines the types of the columns
    if first is None:
        raise ValueError(f"{path} has no rows")
    with open(path, "rb") as file:
        file.readline()
        row, held = 0, b""
        while True:
            lines = []
            for line in file:
                held += line
                if held.endswith(b"\n"):
                    lines.append(held.decode("utf-8"))
                    held = b""
            cells = [found for found in csv.reader(lines, delimiter=text.separator) if found]
            new = cells[max(0, skip - row) :]
            start, row = row + len(cells) - len(new), row + len(cells)
            if new:
                yield text.batch(names, new, start)
            else:
                yield None
                time.sleep(every)
            if path.stat().st_size < file.tell():
                raise ValueError(f"{path} has become shorter; start again with the new file")
