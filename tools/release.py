"""Build a release, check its wheel in fresh environments, and tag it. Nothing is uploaded.

    make release             or: python tools/release.py [--no-tag]

The version is that of `tdlambda.__version__`; CHANGELOG.md and CITATION.cff must have it, and the tree must be clean.
The wheel is installed twice, into environments outside the repository, with the core alone and with all extras; in
both, the examples of `examples/` run in an empty folder, and in the second a few commands. The size of
the first must be about what docs/getting-started.md says.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ("student", "researcher", "engineer")
COMMANDS = ("doctor", "tasks", "run --list", "run every-step-size --quick --seeds 2 --steps 1000 --alphas 2 --out runs")


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """What a command prints; a command that fails ends the release."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}:\n{done.stdout}{done.stderr}")
    return done.stdout


def version() -> str:
    """The version, refused if some file has another."""
    text = (ROOT / "src" / "tdlambda" / "__init__.py").read_text(encoding="utf-8")
    found = str(re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)[0])
    for name, line in (("CHANGELOG.md", f"## {found}"), ("CITATION.cff", f"version: {found}")):
        if line not in (ROOT / name).read_text(encoding="utf-8"):
            sys.exit(f"{name} has no line {line!r}")
    return found


def check(wheel: Path, extras: str, folder: Path) -> None:
    """Install the wheel into an environment of its own, and use it in an empty folder."""
    place = folder / (extras.strip("[]") or "core")
    venv.create(place / "venv", with_pip=True)
    binaries = place / "venv" / ("Scripts" if os.name == "nt" else "bin")
    run(binaries / "pip", "install", "--quiet", "--disable-pip-version-check", f"{wheel}{extras}", cwd=place)
    if not extras and os.name != "nt":
        (packages,) = (place / "venv" / "lib").glob("python*/site-packages")
        check_size(int(run("du", "-sm", packages).split()[0]))
    for example in EXAMPLES:
        print(f"  {place.name}: examples/{example}.py", flush=True)
        run(binaries / "python", ROOT / "examples" / f"{example}.py", cwd=place)
    for command in COMMANDS if extras else ():
        print(f"  {place.name}: tdlambda {command}", flush=True)
        run(binaries / "tdlambda", *command.split(), cwd=place)


def check_size(megabytes: int) -> None:
    """End the release if the documentation states another size of a plain install, by more than a tenth."""
    text = (ROOT / "docs" / "getting-started.md").read_text(encoding="utf-8")
    said = int(re.findall(r"`du -sm site-packages` reports (\d+) MB", text)[0])
    if abs(megabytes - said) > said / 10:
        sys.exit(f"docs/getting-started.md says that a plain install takes {said} MB; it takes {megabytes}")


def main() -> None:
    """Build, check, tag."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-tag", action="store_true", help="build and check only, also of a tree with changes")
    options = parser.parse_args()
    name = version()
    if not options.no_tag and run("git", "status", "--porcelain"):
        sys.exit("there are changes that are not committed")
    run(sys.executable, "-m", "hatchling", "build", "-d", "dist")
    wheel = ROOT / "dist" / f"tdlambda-{name}-py3-none-any.whl"
    with tempfile.TemporaryDirectory() as folder:
        for extras in ("", "[all]"):
            check(wheel, extras, Path(folder))
    if not options.no_tag:
        run("git", "tag", "-a", f"v{name}", "-m", f"tdlambda {name}")
    print(f"{wheel.relative_to(ROOT)} is built and checked" + ("" if options.no_tag else f", and tagged v{name}"))
    print("Not uploaded. To publish: push the tag, and upload the two files in dist/ as usual.")


if __name__ == "__main__":
    main()
