"""The cache of machine code on disk: where it may be, and files that are compiled again when they are damaged.

Loading machine code runs it, and an index is a pickle. So a cache is used only where nobody but this user can write.
"""

import contextlib
import hashlib
import os
import pickle
import shutil
import stat
import warnings
from functools import cache
from glob import escape
from pathlib import Path
from typing import Any

from numba.core import caching as _caching
from numba.core import registry as _registry
from numba.core import runtime as _runtime

caching: Any = _caching  # these have no types
registry: Any = _registry
runtime: Any = _runtime

_DIGEST = hashlib.sha256().digest_size
_LINKS = 40
"""Links followed on the way to a directory, as in the kernel of Linux."""
_warned: set[str] = set()


# ---- whose a directory is ------------------------------------------------------------------------------------------


@cache
def refusal(folder: str) -> str | None:
    """Why this directory must not hold code that is run: another user owns it or may write to it; None if it may."""
    if not hasattr(os, "getuid"):  # Windows, where the directories of a user are closed to others
        return None
    try:
        way = _way(Path(folder))
    except OSError as error:
        return f"{folder} cannot be examined ({error.strerror})"
    package = Path(__file__).resolve().parent
    for path, state in way:  # who may change a directory of this package runs code here anyway
        fault = None if package.is_relative_to(path) else _fault(state, above=path != way[-1][0])
        if fault:
            return f"{path} {fault}"
    return None


def _way(path: Path) -> list[tuple[Path, os.stat_result]]:
    """The directories and links on the way to a path, from the root.

    What is below a directory that only this user may enter is left out: nobody else reaches it, whatever its mode.
    """
    todo, at, closed, links = list(reversed(path.absolute().parts)), Path(), None, 0
    found: list[tuple[Path, os.stat_result]] = []
    while todo:
        part = todo.pop()
        at = at.parent if part == ".." else at / part
        state = at.lstat()
        if closed is None or not at.is_relative_to(closed):
            found.append((at, state))
            closed = at if state.st_uid == os.getuid() and not state.st_mode & 0o033 else None
        if stat.S_ISLNK(state.st_mode):
            links += 1
            if links > _LINKS:
                raise OSError(0, "too many links")
            todo += reversed(Path(os.readlink(at)).parts)
            at = at.parent
    return found


def _fault(state: os.stat_result, above: bool = False) -> str | None:
    """What is wrong with a file or directory; one above the cache may be sticky, as /tmp is."""
    if state.st_uid not in _trusted(above):
        return f"belongs to another user ({state.st_uid})"
    if stat.S_ISLNK(state.st_mode) or (above and state.st_mode & stat.S_ISVTX):
        return None
    if state.st_mode & stat.S_IWOTH or (state.st_mode & stat.S_IWGRP and not _own_group(state)):
        return f"may be written by others (mode {stat.S_IMODE(state.st_mode):04o})"
    return None


@cache
def _trusted(above: bool) -> frozenset[int]:
    """The users who run code here anyway: this one, root, and the owner of this package.

    In a user namespace, as containers without root have, the owner of a directory above may have no number in it.
    """
    users = {os.getuid(), 0, Path(__file__).stat().st_uid}
    with contextlib.suppress(OSError, ValueError):
        if above and Path("/proc/self/uid_map").read_text().split() != ["0", "0", "4294967295"]:
            users.add(int(Path("/proc/sys/fs/overflowuid").read_text()))
    return frozenset(users)


def _own_group(state: os.stat_result) -> bool:
    """Whether the group of a file is its owner's own, as many systems give to every user."""
    try:
        import grp
        import pwd

        name, group = pwd.getpwuid(state.st_uid).pw_name, grp.getgrgid(state.st_gid)
    except (ImportError, KeyError):
        return False
    return group.gr_name == name and not {*group.gr_mem} - {name}


def make_private(folder: Path) -> None:
    """Make a directory and its parents, where they are missing, for this user only."""
    for path in reversed([folder, *folder.parents]):
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=0o700)
    if not folder.is_dir():
        raise NotADirectoryError(20, "not a directory", str(folder))


def warn_uncached(why: str, kind: str) -> None:
    """Say, once for each kind of reason, that machine code is not cached and what to do."""
    if kind in _warned:
        return
    _warned.add(kind)
    now = {name: os.environ[name] for name in ("TDLAMBDA_CACHE", "NUMBA_CACHE_DIR") if os.environ.get(name)}
    warnings.warn(
        f"tdlambda cannot cache its machine code: {why}, so every process compiles again, for a minute or more. "
        f"{WHAT_TO_DO}" + "".join(f"; {name} is {value!r} now" for name, value in now.items()) + ".",
        RuntimeWarning,
        stacklevel=2,
    )


WHAT_TO_DO = "Set NUMBA_CACHE_DIR to a writable directory of your own: mkdir -m 700 DIRECTORY"


# ---- machine code --------------------------------------------------------------------------------------------------


def cached(function: Any, stamp: tuple[int, int]) -> Any:
    """The cache of a function's machine code; one that keeps nothing where no directory is writable and ours alone."""
    if function.__code__.co_filename.startswith("<"):  # a generated module that could not be written, as was said
        return caching.NullCache()
    try:
        found = CodeCache(function, stamp)
    except RuntimeError:  # Numba finds no writable directory
        warn_uncached("neither the package's directory nor the user's cache is writable", "unwritable")
        return caching.NullCache()
    why = refusal(found.cache_path)
    if why is None:
        return found
    warn_uncached(why, "not ours alone")
    return caching.NullCache()


class CodeCache(caching.FunctionCache):  # type: ignore[misc]
    """Numba's cache of a function, which never raises: what cannot be read is compiled again."""

    def __init__(self, function: Any, stamp: tuple[int, int]) -> None:
        super().__init__(function)
        # Numba's cache checks the file of a kernel, but not the files of the kernels that it calls, so an edit there
        # would leave stale machine code. Therefore every kernel gets the stamp of all files with kernels.
        self._cache_file = CacheFile(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The machine code for a signature; None if there is none.

        Numba would first import all that can be compiled, which takes 30 MB and a tenth of a second.
        """
        try:
            return self._load_overload(sig, target_context)
        except Exception:  # whatever is wrong with it, the source is here
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save machine code, if the disk allows it."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            warn_uncached(f"{self._cache_path} cannot be written ({error.strerror})", "unwritable")


class CacheFile(caching.IndexDataCacheFile):  # type: ignore[misc]
    """A kernel's machine code on disk, safe for processes that compile concurrently, and for damage.

    Numba writes the index first and numbers the data files 1, 2, 3. A reader that comes in between gets code of the old
    source, and one of two concurrent writers may get the other's code. Here a data file is named by what it is for, and
    written before the index. Each file begins with a digest of its name and content: without it, a changed bit would be
    machine code that runs. A file that does not fit its digest counts as missing.
    """

    def save(self, key: Any, data: Any) -> None:
        """Save machine code."""
        digest = hashlib.sha256(repr((self._source_stamp, key)).encode()).hexdigest()
        name = self._data_name(int(digest[:15], 16))
        self._save_data(name, data)
        index = self._load_index() | {key: name}
        self._save_index(index)
        for old in Path(self._cache_path).glob(f"{escape(self._index_name.removesuffix('.nbi'))}.*.nbc"):
            if old.name not in index.values():  # from an older source; a process that still needs it compiles again
                with contextlib.suppress(OSError):
                    old.unlink()

    def _load_index(self) -> dict[Any, str]:
        try:
            version, stamp, overloads = pickle.loads(self._read(self._index_path))
        except Exception:  # pickle raises almost anything
            return {}
        return overloads if (version, stamp) == (self._version, self._source_stamp) else {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._write(self._index_path, (self._version, self._source_stamp, overloads))

    def _load_data(self, name: str) -> Any:
        data = self._read(self._data_path(name))
        if b"NRT_" in data:  # the code counts references, by functions that exist only after this
            runtime.rtsys.initialize(registry.cpu_target.target_context)
        return pickle.loads(data)

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), data)

    def _read(self, path: str) -> bytes:
        """The content of a file of ours that is whole; OSError if it is not."""
        with open(path, "rb", opener=_at_once) as file:
            if hasattr(os, "getuid") and _fault(os.fstat(file.fileno())):
                raise OSError(f"{path} is not ours alone")
            digest, data = file.read(_DIGEST), file.read()
        if digest != _digest(path, data):
            raise OSError(f"{path} is damaged")
        return data

    def _write(self, path: str, content: Any) -> None:
        data = self._dump(content)
        clear_way(Path(path))
        with self._open_for_write(path) as file:
            if hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), 0o600)
            file.write(_digest(path, data) + data)


def clear_way(path: Path) -> None:
    """Remove a directory where a file of the cache belongs."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)


def _digest(path: str, data: bytes) -> bytes:
    return hashlib.sha256(os.path.basename(path).encode() + b"\0" + data).digest()


def _at_once(path: str, flags: int) -> int:
    """Open without waiting for a writer, should the file be a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
