"""A message on standard error when compilation takes long."""

import os
import re
import sys
from pathlib import Path
from threading import Timer
from time import monotonic
from typing import Any

from numba.core import event

LINES_PER_SECOND = 110
"""Measured: 945 lines of an AutoTD in 8.6 s of processor time."""


class CompileNotice(event.Listener):
    """Prints a message, once per model, when compiling its kernels has taken `after` seconds.

    Numba reports compilations but not cache hits. `TDLAMBDA_QUIET=1` in the environment switches the message off.
    """

    def __init__(self, after: float = 1.0) -> None:
        self._after = after
        self._left: dict[str, float] = {}  # of each module
        self._depth = 0  # compiling a kernel compiles the kernels it calls
        self._began = 0.0
        self._timer: Timer | None = None
        self._said: set[str] = set()
        self._module = ""

    def on_start(self, compiling: Any) -> None:
        """Start the timer when the outermost compilation begins."""
        dispatcher = compiling.data["dispatcher"]
        if not _ours(dispatcher):
            return
        self._depth += 1
        module = dispatcher.py_func.__module__
        if self._depth == 1 and module not in self._said:
            self._began, self._module = monotonic(), module
            left = self._left.setdefault(module, self._after)
            self._timer = Timer(left, self._say, [dispatcher])
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, compiling: Any) -> None:
        """Stop the timer when the outermost compilation ends."""
        if not _ours(compiling.data["dispatcher"]):
            return
        self._depth -= 1
        if self._depth == 0 and self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._left[self._module] = max(0.0, self._left[self._module] - (monotonic() - self._began))

    def _say(self, dispatcher: Any) -> None:
        module = dispatcher.py_func.__module__
        if module in self._said or os.environ.get("TDLAMBDA_QUIET", "") not in ("", "0"):
            return
        self._said.add(module)
        how_often = ", once on this machine" if dispatcher.stats.cache_path is not None else ""
        what, seconds = _described(dispatcher.py_func)
        print(
            f"tdlambda: compiling {what}{how_often}; about {seconds} s on an idle core (TDLAMBDA_QUIET=1 hides this) …",
            file=sys.stderr, flush=True,
        )  # fmt: skip


def _described(function: Any) -> tuple[str, int]:
    """What a module holds, by its first line, and about how many seconds it takes to compile, by its length."""
    doc = str(function.__globals__.get("__doc__") or function.__module__).strip().partition("\n")[0].rstrip(".")
    file = Path(function.__code__.co_filename)
    name = re.sub(r" \([^)]*\)", "", doc)  # without the options of a model, and without sources
    ours = file.is_relative_to(Path(__file__).parent)
    if ours:
        name = re.split(r"[:;]|, which ", name)[0]
    if ours or name.startswith(("A ", "An ")):  # not the name of an algorithm
        name = name[:1].lower() + name[1:]
    try:
        lines = file.read_text(encoding="utf-8").count("\n")
    except OSError:
        lines = 0
    return name, max(2, round(lines / LINES_PER_SECOND))


def _ours(dispatcher: Any) -> bool:
    module: str = dispatcher.py_func.__module__
    return module.partition(".")[0] == "tdlambda"
