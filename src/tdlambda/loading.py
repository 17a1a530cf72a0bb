"""Loading of saved learners, agents, Hordes and learning curves."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar, overload

import numpy as np

from tdlambda.learners import storage

_Saved = TypeVar("_Saved")


@overload
def load(path: str | Path) -> Any: ...
@overload
def load(path: str | Path, kind: type[_Saved]) -> _Saved: ...
def load(path: str | Path, kind: type[Any] | None = None) -> Any:
    """Load a saved learner, control agent, Horde or learning curve, in the state in which it was saved.

    The file need not be trusted: it holds plain data. A file that is damaged, forged or written by a newer version
    raises ValueError. Import the module of a learner class of your own first.

    Parameters
    ----------
    path
        The file.
    kind
        The class you expect, such as `td.TD`; ValueError if the file holds something else. Type checkers infer the
        type of the result from it.

    Examples
    --------
    >>> import tempfile, tdlambda as td
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     td.TrueOnlineTD(td.features.OneHot(3), alpha=td.steps.OneOver("steps")).save(f"{folder}/values.npz")
    ...     td.load(f"{folder}/values.npz", td.TrueOnlineTD).alpha
    OneOver(by='steps')
    """
    if kind is not None and not isinstance(kind, type):
        raise TypeError(f"kind must be a class, such as td.TD; got {kind!r}")
    if not isinstance(path, str | Path):
        raise TypeError(f"path must be text or a Path, such as 'values.npz'; got {path!r}")
    if Path(path).is_dir():
        raise IsADirectoryError(f"path must be a file that save wrote; {path} is a folder")
    if not Path(path).exists():
        raise FileNotFoundError(f"path: there is no file {path}; save(path) of a learner writes one")
    with open(path, "rb") as file:
        try:
            header, arrays = storage.contents(file)
            found = _read(header, arrays)
        # A forged file can make a parser or a constructor raise anything; callers need to catch ValueError only.
        except Exception as error:
            raise ValueError(f"{path} cannot be loaded: {error}") from error
    if kind is not None and not isinstance(found, kind):
        raise ValueError(f"{path} holds a {type(found).__name__}, not a {kind.__name__}")
    return found


def _read(header: dict[str, Any], arrays: dict[str, Any]) -> Any:
    """The object in a file; the module of its class is imported on demand."""
    if "horde" in header:
        from tdlambda.streams import horde_file as hordes

        return hordes.read(header, arrays)
    if "agent" in header:
        from tdlambda import control  # noqa: F401  (registers its agents)
    if "curve" in header:
        from tdlambda import runner  # noqa: F401  (registers its curve)

        if header["curve"] == 1:  # of version 0.2
            arrays |= {"counts": np.array([header["params"].pop("steps"), 0]), "unfinished": np.zeros((0, 5))}
            header["curve"] = "LearningCurve"
    return storage.read(header, arrays)
