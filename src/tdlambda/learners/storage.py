"""Learners and agents in files: a zip of plain arrays with a JSON header. Nothing in a file is ever run.

    header.json   format, version of tdlambda, class of the object, its parameters
    <name>.npy    one for each array of its state, as `numpy.savez` writes them; those of its parts have a prefix

Classes are looked up by name among the registered ones (`saved.SAVED`, `PARTS`) and among the encoders and rules that
`tdlambda.features` and `tdlambda.rules` export. The sizes that a file claims are checked against its own size before
memory is allocated.
"""

from __future__ import annotations

import inspect
import io
import json
import math
import os
import secrets
import zipfile
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import tdlambda
from tdlambda import features, registry, rules
from tdlambda.arrays import Array
from tdlambda.features import Custom, Encoder, Network
from tdlambda.learners.learner import LEARNERS
from tdlambda.learners.saved import SAVED, Saved
from tdlambda.learners.step_size import OneOver, StepSize
from tdlambda.mdp.corrections import TraceCorrection
from tdlambda.rules import Rule

FORMAT = 4
_HEADER = "header.json"
LEAST_ALLOWANCE = 2**22
"""Numbers that parameters may always allocate, even from a small file: some encoders hold more than the weights."""
_ALLOCATES: dict[str, Callable[[dict[str, Any]], int]] = {
    "Fourier": lambda p: (min(p["order"], 2**40) + 1) ** min(np.size(p["low"]), 64) * np.size(p["low"]),
    "GridTilings": lambda p: sum(p["shape"]) * len(p["cuts"]),
    "Network": lambda p: sum((abs(m) + 1) * abs(n) for m, n in pairwise([p["inputs"], *p["hidden"], 1])),
    "TileCoder": lambda p: (p["hash_size"] or 0) + p["tilings"] * (np.size(p["low"]) + 1),
}
"""Numbers that an encoder's constructor allocates; by default the sum of its integer arguments."""


def save(subject: Saved, path: str | Path) -> None:
    """Write a learner or an agent to exactly this path; if it fails, an existing file is left unchanged.

    Parameters
    ----------
    subject
        An object of a registered class, whose features are plain data (not `Custom`).
    path
        Path of the file; no suffix is added.

    Examples
    --------
    >>> import tempfile, tdlambda as td
    >>> from tdlambda.learners.storage import save
    >>> v = td.TD(td.features.OneHot(3), alpha=0.5)
    >>> v.update(0, 1.0, 1, gamma=1.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(v, f"{folder}/values")
    ...     td.load(f"{folder}/values").predict(0)
    0.5
    """
    _require_registered(subject)
    header, state = plain(subject.role, subject), subject._state()
    require_finite(subject, state)
    build(header, state)._restore({name: array.copy() for name, array in state.items()})  # could it be loaded?
    write(path, header, state)


def read(header: dict[str, Any], state: dict[str, Array]) -> Saved:
    """Read an object from a file that `save` wrote."""
    found = build(header, state)
    found._restore(state)
    require_finite(found, state)
    return found


def _require_registered(subject: Any) -> None:
    kind = type(subject)
    if not isinstance(subject, Saved) or SAVED[subject.role].get(kind.__name__) is not kind:
        raise TypeError(
            f"{getattr(kind, 'role', 'learner')} must be of a registered class, a subclass with its own name, to be "
            f"saved; got {kind}"
        )


PARTS: dict[str, Any] = {"OneOver": OneOver, "TraceCorrection": TraceCorrection}
"""Further classes that parameters may have, by name, such as policies."""
_BASES = (Encoder, Network, Rule, StepSize)
"""Base classes of parts that are found by their name."""


def plain(name: str, value: Any) -> Any:
    """A parameter in a form that JSON can hold."""
    is_part = isinstance(value, tuple(PARTS.values()) + _BASES)
    if is_part:
        if part_named(type(value).__name__) is not type(value):
            raise TypeError(
                f"{name}: {type(value).__name__} cannot be saved, because it contains code. Save the weights instead, "
                "with numpy.save(path, learner.weights), and pass them as initial= later"
            )
        return {"type": type(value).__name__, "params": _all_plain(value.get_params())}
    if isinstance(value, Saved):
        _require_registered(value)
        return {value.role: type(value).__name__, "params": _all_plain(value._params_in_files())}
    if isinstance(value, type):
        if value not in LEARNERS.values():
            raise TypeError(f"{name}: only a registered class can be saved; got {value}")
        return value.__name__
    if callable(value):
        raise TypeError(f"{name}: a function cannot be saved, because files hold no code; give a table instead")
    if isinstance(value, list) and any(isinstance(inner, Saved) for inner in value):
        return [plain(name, inner) for inner in value]
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        raise TypeError(f"{name}: only finite numbers, text and lists of them can be saved; got {value!r}") from None
    return value


def _all_plain(params: dict[str, Any]) -> dict[str, Any]:
    return {name: plain(name, value) for name, value in params.items()}


def _parts() -> dict[str, Any]:
    """The classes that parameters may be instances of, by name."""
    exported = [getattr(module, name) for module in (features, rules) for name in module.__all__]
    kinds = [kind for kind in exported if inspect.isclass(kind) and not inspect.isabstract(kind)]
    encoders = [kind for kind in kinds if issubclass(kind, Encoder | Network) and kind is not Custom]
    complete = [kind for kind in kinds if issubclass(kind, Rule) and kind.is_complete()]
    return PARTS | {kind.__name__: kind for kind in [*encoders, *complete]}


def part_named(name: Any) -> Any:
    """The class of a parameter by name; registered modules are imported on demand."""
    if not isinstance(name, str):
        return None
    kind = _parts().get(name) or registry.find(name)
    return kind if inspect.isclass(kind) and issubclass(kind, (*_BASES, *PARTS.values())) else None


def contents(file: Any) -> tuple[dict[str, Any], dict[str, Array]]:
    """The header and the arrays of a file; reading them takes at most as much memory as the file's size."""
    if not zipfile.is_zipfile(file):
        raise ValueError("it is not a file that save wrote, or it is damaged")
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        # Uncompressed, and together no larger than the file: this rules out zip bombs.
        if any(m.compress_type != zipfile.ZIP_STORED or m.file_size != m.compress_size for m in members):
            raise ValueError("its members must be stored uncompressed")
        if sum(m.file_size for m in members) > os.fstat(file.fileno()).st_size:
            raise ValueError("its members claim to be larger than the file")
        names = [m.filename for m in members]
        if len(set(names)) < len(names) or _HEADER not in names:
            raise ValueError(f"it must have a member {_HEADER}, and no two members of the same name")
        header = json.loads(archive.read(_HEADER), parse_constant=_no_constant)
        if not isinstance(header, dict) or type(header.get("format")) is not int:
            raise ValueError("its header has no format number")
        if header["format"] > FORMAT:
            raise ValueError(
                f"it has format {header['format']}, from tdlambda {header.get('tdlambda')}; this is tdlambda "
                f"{tdlambda.__version__}, which reads formats up to {FORMAT}: upgrade tdlambda"
            )
        if header["format"] < FORMAT:
            raise ValueError(
                f"it has format {header['format']}, but this version of tdlambda reads only format {FORMAT}: train the "
                f"learner again, or load the file with tdlambda {header.get('tdlambda')}"
            )
        if not isinstance(header.get("params"), dict):
            raise ValueError("its header has no parameters")
        arrays = {name.removesuffix(".npy"): _array(name, archive.read(name)) for name in names if name != _HEADER}
    return header, arrays


def _no_constant(text: str) -> None:
    raise ValueError(f"its header contains {text}, which is not a finite number")


def _array(name: str, data: bytes) -> Array:
    """One array, whose claimed size must match its bytes."""
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    if not name.endswith(".npy") or version != (1, 0):
        raise ValueError(f"its member {name!r} is not an array that tdlambda wrote")
    shape, by_column, dtype = np.lib.format.read_array_header_1_0(stream)
    if dtype.kind not in "fiub" or by_column or min(shape, default=0) < 0:
        raise ValueError(f"its array {name!r} must be numbers in row-major order; got {dtype} of shape {shape}")
    body = data[stream.tell() :]
    if math.prod(shape) * dtype.itemsize != len(body):
        raise ValueError(f"its array {name!r} claims shape {shape} of {dtype}, but has {len(body)} bytes")
    return np.frombuffer(body, dtype).reshape(shape).astype(dtype.newbyteorder("="), copy=True)


def build(header: dict[str, Any], state: dict[str, Array]) -> Any:
    """Build the object that the header describes, untrained, if the state has the size that such an object needs."""
    kind = _class_of(header)
    held = sum(array.nbytes for array in state.values())
    allowance = max(LEAST_ALLOWANCE, held)
    params = {name: part(value, allowance) for name, value in header["params"].items()}
    if kind._least_bytes(params) > held:
        raise ValueError(f"its parameters need more features than its arrays hold, which have only {held} bytes")
    for encoder in (value for value in params.values() if isinstance(value, Encoder)):
        if encoder.active * _integers(params) > allowance:
            raise ValueError("its parameters would allocate more memory than its arrays account for")
    found: Any = kind(**params)
    own = found._state()
    for name, array in own.items():
        if name not in state or state[name].dtype != array.dtype or state[name].ndim != array.ndim:
            raise ValueError(
                f"its array {name!r} is missing, or not {array.dtype} with {array.ndim} dimensions; it was saved by "
                f"tdlambda {header.get('tdlambda', 'unknown')}"
            )
    if len(state) > len(own):
        raise ValueError(f"it has arrays that {kind.__name__} does not use")
    return found


def _class_of(given: dict[str, Any]) -> type[Saved]:
    """The class that a header, or a part of one, names."""
    role = next((role for role in SAVED if role in given), None)
    if role is None:
        raise ValueError("its header names no learner, agent, Horde or learning curve")
    name = given[role]
    if role == "learner" and isinstance(name, str) and name not in SAVED[role]:  # import it, if it is part of tdlambda
        registry.find(name)
    kind = SAVED[role].get(name) if isinstance(name, str) else None
    if kind is None or inspect.isabstract(kind):
        raise ValueError(f"unknown {role} {name!r}; if it is your own class, import its module first")
    return kind


def part(value: Any, allowance: int) -> Any:
    """A parameter from its plain form."""
    if isinstance(value, list):
        return [part(inner, allowance) for inner in value]
    if not isinstance(value, dict):
        return value
    name, params = value.get("type"), value.get("params")
    kind: Any = part_named(name) if "type" in value else _class_of(value)
    if kind is None or len(value) != 2 or not isinstance(params, dict):
        raise ValueError(f"unknown class {name!r} in its parameters")
    numbers: Callable[[dict[str, Any]], int] = _ALLOCATES.get(kind.__name__, _integers)
    if numbers(params) > allowance:
        raise ValueError(f"its {name} would allocate more memory than its arrays account for")
    return kind(**{key: part(inner, allowance) for key, inner in params.items()})


def _integers(value: Any) -> int:
    """The sum of all integers in plain data, except seeds and limits, which allocate nothing."""
    if isinstance(value, dict):
        value = [inner for name, inner in value.items() if name != "seed" and not name.startswith("max_")]
    if isinstance(value, list):
        return sum(map(_integers, value))
    return abs(value) if type(value) is int else 0


def require_finite(learner: Any, state: dict[str, Array]) -> None:
    """Validate that numbers are finite, unless the learner has diverged."""
    for name, array in state.items():
        if getattr(learner, "diverged_at", None) is None and not np.isfinite(array).all():
            raise ValueError(f"array {name!r} must be finite, because the learner has not diverged")


def write(path: str | Path, header: dict[str, Any], arrays: Mapping[str, Array]) -> None:
    """Write a header and arrays to exactly this path; if it fails, an existing file is left unchanged."""
    header = {"format": FORMAT, "tdlambda": tdlambda.__version__} | header
    members = {_HEADER: json.dumps(header, allow_nan=False).encode()}
    for name, array in arrays.items():
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
        members[f"{name}.npy"] = buffer.getvalue()
    place = Path(os.path.realpath(path))
    if place.is_dir():
        raise IsADirectoryError(f"path must be a file; {path} is a folder")
    if not place.parent.is_dir():
        raise FileNotFoundError(f"path: there is no folder {place.parent}; create it first")
    _replace(place, members)


def _replace(path: Path, members: dict[str, bytes]) -> None:
    """Write to a temporary file in the same folder, then move it to the path."""
    beside = path.with_name(f".tdlambda-{secrets.token_hex(8)}.tmp")
    try:
        with open(beside, "xb") as file:
            with zipfile.ZipFile(file, "w") as archive:
                for name, data in members.items():
                    archive.writestr(zipfile.ZipInfo(name), data)  # dated 1980, so that equal learners give equal files
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
    if hasattr(os, "O_DIRECTORY"):  # where folders can be synced, make the renaming durable too
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
