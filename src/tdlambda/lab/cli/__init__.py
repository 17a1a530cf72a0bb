"""The `tdlambda` command."""

import signal
import sys
import threading
from collections.abc import Sequence
from types import FrameType

from tdlambda.extras import MissingExtraError, need

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; `arguments` defaults to the command line.

    After Ctrl-C, the exit code is 130 even if another error was raised: an import that is cut short raises ImportError.
    """
    asked, before = False, signal.getsignal(signal.SIGINT)

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        asked = True
        signal.default_int_handler(number, frame)

    ours = before is signal.default_int_handler and threading.current_thread() is threading.main_thread()
    if ours:
        signal.signal(signal.SIGINT, interrupt)
    try:
        need("commands", "cli")
        from tdlambda.lab.cli import app

        app.main(arguments)
    except MissingExtraError as error:
        sys.exit(f"error: {error}")
    except BaseException as error:
        if asked and not (isinstance(error, SystemExit) and error.code in (None, 0)):
            sys.exit(130)
        raise
    finally:
        if ours:
            signal.signal(signal.SIGINT, before)
