"""What `make` does on machines that lack something."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAKE = shutil.which("make") or pytest.skip("no make here", allow_module_level=True)


def browser(tools: Path, user: int, **programs: str) -> subprocess.CompletedProcess[str]:
    """`make browser` for a user of this number, where there are no programs but the shell and these."""
    for name, text in {"id": f"echo {user}", **programs}.items():
        (tools / name).write_text(f"#!/bin/sh\n{text}\n")
        (tools / name).chmod(0o755)
    return subprocess.run(
        [MAKE, "-s", "-C", str(ROOT), "SHELL=/bin/sh", "browser"],
        env={"PATH": str(tools)}, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


def test_without_chromium_it_says_what_to_type_and_asks_for_no_password(tmp_path: Path) -> None:
    done = browser(tmp_path, 1000, sudo=f"touch {tmp_path}/asked", **{"apt-get": f"touch {tmp_path}/installed"})
    assert done.returncode != 0
    assert "sudo apt-get install chromium chromium-driver" in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"id", "sudo", "apt-get"}


def test_in_a_container_it_is_installed(tmp_path: Path) -> None:
    done = browser(tmp_path, 0, **{"apt-get": f'echo "$@" >> {tmp_path}/installed'})
    assert done.returncode == 0, done.stderr
    assert "chromium chromium-driver" in (tmp_path / "installed").read_text()


def test_where_it_is_nothing_is_said_or_done(tmp_path: Path) -> None:
    done = browser(tmp_path, 1000, chromium="", chromedriver="")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
