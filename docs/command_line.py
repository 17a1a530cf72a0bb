"""The tables of docs/command-line.md, from the commands themselves.

    .venv/bin/python docs/command_line.py            renews them

A command's table stands between `<!-- command: name -->` and `<!-- end -->`.
"""

import argparse
import inspect
import re
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from typer.models import ArgumentInfo

from tdlambda.lab.cli.app import app

PAGE = Path(__file__).resolve().parent / "command-line.md"
BLOCK = re.compile(r"(<!-- command: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
MARKUP = re.compile(r"\[/?bold\]")
COMMANDS: dict[str, Any] = {
    info.callback.__name__: info.callback for info in (app.registered_callback, *app.registered_commands)
}


def described(name: str) -> str:
    """What a command does, an example, and a table of what it takes."""
    command = COMMANDS[name]
    about, _, example = MARKUP.sub("", inspect.getdoc(command) or "").partition("Example: ")
    lines = [" ".join(about.split()), "", "```sh", " ".join(example.split()), "```", ""]
    lines += ["| | meaning |", "| --- | --- |"]
    hints = get_type_hints(command, include_extras=True)
    for parameter in inspect.signature(command).parameters.values():
        hint = hints[parameter.name]
        assert get_origin(hint) is Annotated
        lines.append(f"| {' | '.join(_row(parameter.name, parameter.default, *get_args(hint)))} |")
    return "\n".join(lines)


def _row(name: str, default: Any, kind: Any, info: Any) -> tuple[str, str]:
    """How it is written, and what it means."""
    if isinstance(info, ArgumentInfo):
        written = name.upper()
    else:
        given = [text for text in (info.default, *(info.param_decls or ())) if str(text).startswith("-")]
        written = given[0] if given else "--" + name.replace("_", "-")
        written += "" if kind is bool else " …"
    number_or_name = isinstance(default, str | int | float) and not isinstance(default, bool)
    return f"`{written}`", MARKUP.sub("", info.help or "") + (f" Default: {default}." if number_or_name else "")


def renewed(text: str) -> str:
    """The page with every table as it should be."""
    return BLOCK.sub(lambda found: f"{found[1]}\n{described(found[2])}\n\n{found[3]}", text)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
