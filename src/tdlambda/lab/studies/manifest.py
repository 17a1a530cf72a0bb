"""The manifest of a results directory; reading it runs no code that it names."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tdlambda.lab.studies.sources import differences
from tdlambda.lab.studies.study import FORMAT, Study

NAME = "manifest.json"
_KEY = re.compile(r"[0-9a-f]{16}")
"""A key as `Study.key` gives it. It becomes part of a path, so nothing else is accepted."""
_MARKS = (b'"format"', b'"study"', b'"keys"')


@dataclass(frozen=True)
class Manifest:
    """A study as it was run: the key of each method's units, and the program that computed them, if known.

    The study is not trusted: reading results does not import the modules that it names.
    """

    study: Study
    keys: dict[str, str]
    code: dict[str, dict[str, str]]


def content_sum(manifest: Mapping[str, Any]) -> str:
    """A checksum of a manifest's content, independent of its formatting."""
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def read_manifest(directory: str | Path) -> Manifest:
    """Read and validate the manifest of a directory."""
    path = Path(directory) / NAME
    try:
        found = json.loads(path.read_bytes())
        if found["format"] == FORMAT:
            if found.pop("sum") != content_sum(found):
                raise ValueError("its content does not match its checksum")
            study = replace(Study.from_dict(_current(found["study"])), trusted=False)
            keys = found["keys"]
            if keys.keys() != study.methods.keys() or not all(
                isinstance(key, str) and _KEY.fullmatch(key) for key in keys.values()
            ):
                raise ValueError("it does not have one key for each method")
            return Manifest(study, keys, dict(found.get("code", {})))
    except (FileNotFoundError, NotADirectoryError):
        raise ValueError(f"directory: {directory} holds no results (it has no {path.name})") from None
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise ValueError(f"directory: {path} is damaged; run the study again to rewrite it: {error}") from error
    raise ValueError(f"directory: {path} has format {found['format']}, but this version reads format {FORMAT}")


def _current(study: Mapping[str, Any]) -> dict[str, Any]:
    """A study's plain data from those of earlier versions: a first `seed`, and `steps` beside `episodes`."""
    data = dict(study)
    if first := data.pop("seed", 0):
        data["seeds"] = f"{first}:{first + data['seeds']}"
    return data if data.get("episodes") is None else data | {"steps": None}


def refuse_foreign(directory: Path) -> None:
    """Raise ValueError if manifest.json does not belong to a study; a study's damaged manifest may be rewritten."""
    try:
        content = (directory / NAME).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise ValueError(f"out: {directory / NAME} cannot be read: {error}") from error
    ours = not content or sum(mark in content for mark in _MARKS) > 1 or any(directory.glob("units/*-*/*.parquet"))
    if not ours:
        raise ValueError(f"out: {directory / NAME} is not a study's and is not overwritten; choose another directory")


def other_program(directory: Path, study: Study, keys: Mapping[str, str]) -> str:
    """A message that names the methods whose results another program computed; empty if there are none."""
    try:
        old = read_manifest(directory)
    except ValueError:
        return ""
    changed: dict[str, list[str]] = {}
    for method, key in keys.items():
        before = old.keys.get(method, key)
        some = before != key and any(directory.glob(f"units/{method}-{before}/*.parquet"))
        if some and old.study.definition(method) == study.definition(method):
            changed[method] = differences(old.code.get(method), study.code(method))
    if not changed:
        return ""
    what = ", ".join(dict.fromkeys(name for names in changed.values() for name in names))
    methods = f"method{'s' * (len(changed) > 1)} {', '.join(changed)}"
    return f"{what} changed since {methods} ran, so they run again; the old results are kept separately in units/"
