"""What is installed is what was locked: pinned, with hashes, and all that pyproject.toml asks for."""

import re
import tomllib
from itertools import chain
from pathlib import Path

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PIN = re.compile(r"^([\w.-]+)==(\S+)(?: ; (.+?))?((?: --hash=sha256:[0-9a-f]{64})+)$")


def pins() -> dict[str, str]:
    """The version of each package, for the Python that runs this."""
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8").replace(" \\\n   ", "")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    matches = [(line, PIN.match(line)) for line in lines]
    assert [line for line, match in matches if match is None] == []
    found = [match.groups() for _, match in matches if match]
    return {name: version for name, version, marker, _ in found if not marker or Marker(marker).evaluate()}


def test_every_requirement_is_locked_with_hashes() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"].values()
    locked = pins()
    texts = [*project["build-system"]["requires"], *project["project"]["dependencies"], *chain(*extras)]
    for wanted in map(Requirement, texts):
        if wanted.name == "tdlambda":  # its own extras, which are here too
            continue
        assert locked[canonicalize_name(wanted.name)] in wanted.specifier, f"{wanted}: run make lock"


def test_hashes_are_required_where_it_is_installed() -> None:
    assert "--require-hashes -r requirements.lock" in (ROOT / "Makefile").read_text(encoding="utf-8")
