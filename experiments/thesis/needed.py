"""The results that a page here is made of; where they are missing, what to run."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

Found = TypeVar("Found")


def read(load: Callable[[Path], Found], directories: Sequence[Path], studies: Sequence[str]) -> dict[Path, Found]:
    """The results of each directory. Where any is missing, the end: which, and the commands that make them.

    `studies` are those that the page can be made of; a directory is called like its study.
    """
    found: dict[Path, Found] = {}
    missing: dict[Path, str] = {}
    for directory in directories:
        try:
            found[directory] = load(directory)
        except ValueError as error:
            missing[directory] = str(error)
    if missing:
        places = [
            place
            for here in missing
            for place in ([here] if here.name in studies else [here.parent / name for name in studies])
        ]
        commands = [f"  tdlambda run {place.name} --out {place}" for place in dict.fromkeys(places)]
        sys.exit("\n".join([*missing.values(), "Results are made by", *commands]))
    return found
