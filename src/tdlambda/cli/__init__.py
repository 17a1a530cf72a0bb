"""The `tdlambda` command."""

from tdlambda.cli.app import main

__all__ = ["main"]
