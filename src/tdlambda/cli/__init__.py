"""The `tdlambda` command."""

import sys
from collections.abc import Sequence

from tdlambda.extras import MissingExtraError, need

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; `arguments` defaults to the command line."""
    try:
        need("commands", "cli")
    except MissingExtraError as error:
        sys.exit(f"error: {error}")
    from tdlambda.cli import app

    app.main(arguments)
