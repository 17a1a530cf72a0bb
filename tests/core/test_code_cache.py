"""The cache of machine code: used only where nobody else can write, compiled again where it is damaged."""

import os
import pickle
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
import pytest
from test_cache import MINE, SCRIPT, begun, ended

from tdlambda import code_cache
from tdlambda.code_cache import refusal
from tdlambda.core import source
from tdlambda.randomness import uniform as _uniform

uniform: Any = _uniform
CacheFile: Any = code_cache.CacheFile

pytestmark = pytest.mark.skipif(not hasattr(os, "getuid"), reason="Windows has no modes")
OTHER = 54321
"""A user that this test is not."""
as_root = pytest.mark.skipif(hasattr(os, "getuid") and os.getuid() != 0, reason="only root gives files away")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A directory of ours that others may enter, as a home directory is.

    It is not pytest's: any other pytest of this user closes the directory above those to others again.
    """
    found = Path(os.path.realpath(tempfile.mkdtemp()))
    found.chmod(0o755)
    (found / "cache").mkdir(mode=0o755)
    refusal.cache_clear()
    assert refusal(str(found / "cache")) is None
    refusal.cache_clear()
    yield found / "cache"
    shutil.rmtree(found)


# ---- whose a directory is ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "refused"),
    [(0o700, False), (0o755, False), (0o777, True), (0o757, True), (0o775, True), (0o1777, True), (0o702, True)],
)
def test_mode(folder: Path, mode: int, refused: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_cache, "_own_group", lambda _: False)
    folder.chmod(mode)
    assert (refusal(str(folder)) is not None) == refused
    if refused:
        assert f"{folder} may be written by others (mode {mode:04o})" == refusal(str(folder))


@pytest.mark.parametrize(("mode", "refused"), [(0o777, True), (0o1777, False), (0o755, False), (0o775, True)])
def test_mode_of_a_directory_above(
    folder: Path, mode: int, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:  # others may put their own in the place of what is below, but not if it is sticky, as /tmp is
    monkeypatch.setattr(code_cache, "_own_group", lambda _: False)
    (folder / "a" / "b").mkdir(parents=True)
    folder.chmod(mode)
    assert (refusal(str(folder / "a" / "b")) is not None) == refused


def test_what_nobody_else_enters_may_have_any_mode(folder: Path) -> None:
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b").chmod(0o777)
    folder.chmod(0o700)
    assert refusal(str(folder / "a" / "b")) is None
    (folder / "a" / "link").symlink_to(folder.parent / "open")
    (folder.parent / "open").mkdir()
    (folder.parent / "open").chmod(0o777)
    assert str(refusal(str(folder / "a" / "link"))).startswith(f"{folder.parent / 'open'} may be written")


def test_links_are_followed(folder: Path) -> None:
    (folder / "private").mkdir(mode=0o700)
    (folder / "open").mkdir()
    (folder / "open").chmod(0o777)
    (folder / "open" / "link").symlink_to(folder / "private")
    (folder / "second").symlink_to("open/link")
    assert refusal(str(folder / "private")) is None
    for path in (folder / "open" / "link", folder / "second", folder / "private" / ".." / "second"):
        assert "open may be written" in str(refusal(str(path))), "another may change the link"
    (folder / "loop").symlink_to("loop")
    assert "too many links" in str(refusal(str(folder / "loop")))
    assert "cannot be examined" in str(refusal(str(folder / "missing")))


@as_root
@pytest.mark.parametrize("which", ["cache", "above", "link"])
def test_another_owner(folder: Path, which: str) -> None:
    (folder / "a").mkdir()
    (folder / "link").symlink_to("a")
    path = {"cache": folder / "a", "above": folder, "link": folder / "link"}[which]
    os.chown(path, OTHER, OTHER, follow_symlinks=False)
    at = folder / ("link" if which == "link" else "a")
    assert refusal(str(at)) == f"{path} belongs to another user ({OTHER})"


def test_a_group_of_ones_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import grp
    import pwd

    folder.chmod(0o775)
    me, group = pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(folder.stat().st_gid)
    for name, members, refused in ((me, [], False), (me, [me], False), (me, ["other"], True), ("staff", [], True)):
        refusal.cache_clear()
        given = grp.struct_group((name, group.gr_passwd, group.gr_gid, members))
        monkeypatch.setattr(grp, "getgrgid", lambda _, given=given: given)
        assert (refusal(str(folder)) is not None) == refused


def test_directories_are_made_for_us_only(folder: Path) -> None:
    umask = os.umask(0)
    try:
        code_cache.make_private(folder / "a" / "b")
    finally:
        os.umask(umask)
    for made in (folder / "a", folder / "a" / "b"):
        assert stat.S_IMODE(made.stat().st_mode) == 0o700


class Poison:
    """A pickle that runs code."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        """Make a file where it is read."""
        return os.mkdir, (str(self.marker),)


def test_a_poisoned_index_does_not_run(folder: Path) -> None:
    (folder / "script.py").write_text(SCRIPT)
    (folder / "mine.py").write_text(MINE)
    home, marker, shared = folder / "home", folder / "marker", folder / "shared"
    env = {"TDLAMBDA_CACHE": "", "NUMBA_CACHE_DIR": "", "XDG_CACHE_HOME": str(home)}
    value, _ = ended(begun(folder, **env))
    shutil.copytree(home, shared)
    for index in shared.rglob("*.nbi"):
        data = pickle.dumps(Poison(marker))
        index.write_bytes(code_cache._digest(index.name, data) + data)
    process = begun(folder, **env | {"XDG_CACHE_HOME": str(shared)})
    assert ended(process)[0] == value
    assert marker.exists(), "in a directory of ours alone, the index is read"
    marker.rmdir()
    shared.chmod(0o777)
    process = begun(folder, **env | {"XDG_CACHE_HOME": str(shared)})
    out, error = process.communicate(timeout=300)
    assert process.returncode == 0, error
    assert out.split() == [str(value), "nowhere"]
    assert not marker.exists()
    (warning,) = (line for line in error.splitlines() if "Warning:" in line)
    assert f"{shared} may be written by others" in warning
    assert "Set NUMBA_CACHE_DIR" in warning


def test_kernels_of_the_package_are_not_cached_where_others_write(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(folder))
    monkeypatch.setattr(code_cache, "_warned", set())
    assert str(code_cache.cached(uniform.py_func, (0, 0)).cache_path).startswith(str(folder))
    refusal.cache_clear()
    folder.chmod(0o777)
    with pytest.warns(RuntimeWarning, match=f"{folder} may be written by others.*Set NUMBA_CACHE_DIR"):
        assert code_cache.cached(uniform.py_func, (0, 0)).cache_path is None


def test_cached_code_needs_little_of_numba(tmp_path: Path) -> None:
    code = """
import sys, numpy as np, tdlambda as td
ring = td.make("RingWorld-v0")
v = td.TD(ring.features, 0.1, 0.9)
v.update_many(ring.sampler(seed=1).take(200))  # the sampler allocates arrays, the learner does not
v.update(0, 1.0, 1, 0.9)
print(v.weights.tolist(), "numba.np.arraymath" in sys.modules)
"""
    env = os.environ | {"TDLAMBDA_CACHE": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path), "TDLAMBDA_QUIET": "1"}
    said = [subprocess.check_output([sys.executable, "-c", code], text=True, env=env).rsplit(" ", 1) for _ in range(2)]
    assert [imported for _, imported in said] == ["True\n", "False\n"]
    assert said[0][0] == said[1][0]


# ---- damage --------------------------------------------------------------------------------------------------------


def _replaced(path: Path, content: bytes | None) -> None:
    path.unlink()
    if content is not None:
        path.write_bytes(content)


def _flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-len(data) // 3] ^= 1
    path.write_bytes(data)


def _directory(path: Path) -> None:
    _replaced(path, None)
    (path / "inside").mkdir(parents=True)


def _dangling(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "missing": lambda p: _replaced(p, None),
    "empty": lambda p: _replaced(p, b""),
    "cut short": lambda p: _replaced(p, p.read_bytes()[:-20]),
    "first bytes": lambda p: _replaced(p, p.read_bytes()[:7]),
    "garbage": lambda p: _replaced(p, bytes(range(256)) * 20),
    "text": lambda p: _replaced(p, b"not machine code"),
    "another pickle": lambda p: _replaced(p, pickle.dumps({"an": "other"})),
    "pickle of a missing name": lambda p: _replaced(p, b"cnot_there\nnothing\n."),
    "one bit": _flipped,
    "longer": lambda p: _replaced(p, p.read_bytes() + b"more"),
    "directory": _directory,
    "dangling link": _dangling,
    "pipe": _pipe,
    "of others": lambda p: p.chmod(0o666),
    "another kernel's": lambda p: shutil.copy(p.with_name(f"other{p.suffix}"), p),
}


@pytest.mark.parametrize("kind", DAMAGE)
@pytest.mark.parametrize("which", [".nbi", ".nbc"])
def test_a_damaged_file_counts_as_missing_and_is_written_again(tmp_path: Path, which: str, kind: str) -> None:
    file = CacheFile(str(tmp_path), "kernel", (0, 0))
    file.save("key", b"machine code" * 50)
    assert CacheFile(str(tmp_path), "kernel", (0, 0)).load("key") == b"machine code" * 50
    assert CacheFile(str(tmp_path), "kernel", (1, 0)).load("key") is None
    other = CacheFile(str(tmp_path / "other"), "kernel2", (0, 0))
    (tmp_path / "other").mkdir()
    other.save("key", b"other code" * 50)
    (damaged,) = tmp_path.glob(f"*{which}")
    (fine,) = (tmp_path / "other").glob(f"*{which}")
    shutil.copy(fine, tmp_path / f"other{which}")
    DAMAGE[kind](damaged)
    assert file.load("key") is None
    file.save("key", b"machine code" * 50)
    assert file.load("key") == b"machine code" * 50


def test_every_damaged_file_of_a_process_heals(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "mine.py").write_text(MINE)
    cache = tmp_path / "cache"
    env = {"TDLAMBDA_CACHE": str(cache), "NUMBA_CACHE_DIR": str(cache)}
    first = ended(begun(tmp_path, **env))
    files = sorted(path for path in cache.rglob("*") if path.suffix in (".nbi", ".nbc", ".py"))
    assert {path.suffix for path in files} == {".nbi", ".nbc", ".py"}
    kinds = {name: damage for name, damage in DAMAGE.items() if name != "another kernel's"}
    for k, path in enumerate(files):
        if path.suffix != ".py":
            list(kinds.values())[k % len(kinds)](path)
        else:
            _directory(path)
    before = {path.name: path.stat().st_mtime_ns for path in files if path.is_file()}
    assert ended(begun(tmp_path, **env)) == first
    assert all(path.is_file() for path in files if path.suffix == ".py")
    healed = {path.name for path in files if path.is_file() and path.stat().st_mtime_ns != before.get(path.name)}
    assert healed == {path.name for path in files}


# ---- names ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["./../escaped", "/etc/escaped", "..", "a\0b", "x" * 5000, "größe", "ｆｕｌｌ", "a b\n", "C:\\escaped", ""]
)
def test_a_module_stays_in_its_folder_whatever_it_is_called(
    folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "folder_of_generated", lambda: folder)
    module = source.load(name, f"VALUE = 1  # {len(name)}\n")
    (made,) = folder.iterdir()
    assert made.parent == folder
    assert module.VALUE == 1
    assert str(module.__file__) == str(made)
    assert made.name.isascii()
    assert len(made.name) < 150
