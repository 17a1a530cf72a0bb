"""The `tdlambda` command without a process of its own, which would import everything anew."""

import json
import os
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from tdlambda.lab.cli import main

COMMAND = [str(Path(sys.executable).parent / "tdlambda")]
"""For a test of the process itself: signals, terminals, the environment."""


class Said(NamedTuple):
    """What the command wrote."""

    stdout: str
    stderr: str


def tdlambda(*arguments: str, where: str | Path = os.curdir, expect: int = 0) -> Said:
    """Run the command in a directory; it must end with the expected status."""
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err, chdir(where):
        try:
            main(arguments)
        except SystemExit as end:
            status = end.code or 0
    assert status == expect, err.getvalue() + out.getvalue()
    return Said(out.getvalue(), err.getvalue())


def as_json(*arguments: str) -> Any:
    """What it says to programs."""
    return json.loads(tdlambda(*arguments, "--json").stdout)
