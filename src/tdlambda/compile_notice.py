"""A message on standard error when compilation takes long."""

import os
import sys
from threading import Timer
from time import monotonic
from typing import Any

from numba.core import event


class CompileNotice(event.Listener):
    """Prints a message, once per process, when compiling the package's kernels has taken `after` seconds.

    Numba reports compilations but not cache hits. `TDLAMBDA_QUIET=1` in the environment switches the message off.
    """

    def __init__(self, after: float = 1.0) -> None:
        self._left = after
        self._depth = 0  # compiling a kernel compiles the kernels it calls
        self._began = 0.0
        self._timer: Timer | None = None
        self._said = False

    def on_start(self, compiling: Any) -> None:
        """Start the timer when the outermost compilation begins."""
        dispatcher = compiling.data["dispatcher"]
        if not _ours(dispatcher):
            return
        self._depth += 1
        if self._depth == 1 and not self._said:
            self._began = monotonic()
            self._timer = Timer(self._left, self._say, [dispatcher.stats.cache_path is not None])
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
            self._left = max(0.0, self._left - (monotonic() - self._began))

    def _say(self, kept: bool) -> None:
        if self._said or os.environ.get("TDLAMBDA_QUIET", "") not in ("", "0"):
            return
        self._said = True
        how_often = ", once on this machine" if kept else ""
        print(
            f"tdlambda: compiling{how_often}; this takes some seconds (TDLAMBDA_QUIET=1 hides this line) …",
            file=sys.stderr, flush=True,
        )  # fmt: skip


def _ours(dispatcher: Any) -> bool:
    module: str = dispatcher.py_func.__module__
    return module.partition(".")[0] == "tdlambda"
