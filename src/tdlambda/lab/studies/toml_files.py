"""Studies in TOML files, bundled or yours; a study may extend another."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from tdlambda.showing import hint

_BUNDLED = files("tdlambda.lab.studies").joinpath("bundled")
_OTHER = {"steps": "episodes", "episodes": "steps"}


def bundled_names() -> list[str]:
    """Names of the bundled studies."""
    return sorted(entry.name.removesuffix(".toml") for entry in _BUNDLED.iterdir() if entry.name.endswith(".toml"))


def read(source: str | Path, seen: tuple[Any, ...] = ()) -> tuple[dict[str, Any], list[str]]:
    """Read a study's plain data, merged with what it extends, and the folders of the user's files.

    `seen` are the files that extend it.
    """
    entry: Any = _BUNDLED.joinpath(f"{source}.toml")
    folders: list[str] = []
    if isinstance(source, Path) or not _is_file(entry):
        entry = Path(source)
        if not _is_file(entry):
            known = [*bundled_names(), *(path.name for path in Path().glob("*.toml"))]
            instead = hint(str(source), known, "choose from {}")
            raise ValueError(f"study: there is neither a file nor a bundled study {str(source)!r}{instead}")
        entry = entry.resolve()
        folders = [str(entry.parent)]
    try:
        data = tomllib.loads(entry.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"study: {source} is not TOML: {error}") from error
    base = data.pop("extends", None)
    if base is None:
        return data, folders
    if not isinstance(base, str):
        raise TypeError(f"extends must be the name of a study or of a file; got {base!r}")
    if entry in seen:
        raise ValueError(f"extends: {source} extends itself, through {len(seen)} files")
    beside = Path(*folders, base)  # a file's neighbours come first
    more, theirs = read(beside if folders and _is_file(beside) else base, (*seen, entry))
    return merged(more, data), list(dict.fromkeys(folders + theirs))


def _is_file(path: Any) -> bool:
    """Whether there is such a file; no file has a name that is too long or contains a null character."""
    try:
        return bool(path.is_file())
    except PermissionError:
        raise
    except (OSError, ValueError):
        return False


def merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A study's plain data with changes; a length in steps replaces one in episodes, and the other way round."""
    other = {_OTHER[name]: None for name in changes if name in _OTHER and changes[name] is not None}
    return {**base, **other, **changes}
