"""Ways to damage bytes, plain data, arrays and archives."""

from __future__ import annotations

import copy
import io
import json
import warnings
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

RNG = np.random.Generator
CANARY = "attack_canary"
"""A module that no file may make anybody import."""
VALUES: list[Any] = [
    None, True, False, -1, 0, 1, 2**31, 2**63, 10**30, -(10**12), 0.5, 1e308, float("nan"), float("inf"), -0.0, "", "x",
    "../../etc/passwd", "\0", CANARY, f"{CANARY}:boom", [CANARY], "λ" * 1000, [], [[]], [1, 2], [None], ["x"], {},
    {"type": "OneHot"}, {"type": "OneHot", "params": {"n": 10**9}}, {"type": f"{CANARY}:boom", "params": {}},
    {"type": "Custom", "params": {"function": f"{CANARY}:boom", "size": 2}},
    {"type": "Meta", "params": {"features": {"type": "Dense", "params": {"n": 10**11}}}},
    {"type": "Fourier", "params": {"low": [0] * 30, "high": [1] * 30, "order": 9}}, list(range(1000)),
]  # fmt: skip
"""What may stand in plain data where something else belongs."""


def blindly(rng: RNG, content: bytes) -> tuple[str, bytes]:
    """What happens to files: some bits turn, an end is lost, a piece is lost, repeated, overwritten or exchanged."""
    data, n = bytearray(content), len(content)
    a, b = sorted(int(k) for k in rng.integers(n, size=2))
    match str(rng.choice(["bits", "cut", "lost", "twice", "zeros", "noise", "more", "empty"])):
        case "bits":
            for at in rng.integers(8 * n, size=int(rng.integers(1, 5))):
                data[at // 8] ^= 1 << int(at % 8)
            return "bits", bytes(data)
        case "cut":
            return "cut", content[:a]
        case "lost":
            return "lost", content[:a] + content[b:]
        case "twice":
            return "twice", content[:b] + content[a:]
        case "zeros":
            b = min(b, a + 4096)
            return "zeros", content[:a] + bytes(b - a) + content[b:]
        case "noise":
            b = min(b, a + 64)
            return "noise", content[:a] + rng.bytes(b - a) + content[b:]
        case "more":
            return "more", content + rng.bytes(int(rng.integers(1, 100)))
    return "empty", b""


def warped(rng: RNG, data: Any) -> tuple[str, Any]:
    """Plain data with one thing replaced, left out or added; and where."""
    data = copy.deepcopy(data)
    places = list(_places(data, ""))
    where, holder, key = places[int(rng.integers(len(places)))]
    value = VALUES[int(rng.integers(len(VALUES)))]
    how = float(rng.random())
    if how < 0.8:
        holder[key] = value
        return f"{where} = {str(value)[:60]}", data
    if how < 0.9:
        del holder[key]
        return f"{where} left out", data
    if isinstance(holder, dict):
        holder[f"{key}2"] = value
    else:
        holder.append(value)
    return f"{where} and one more", data


def _places(data: Any, where: str) -> Any:
    """Every entry of nested dicts and lists: its path, what holds it, its key there."""
    entries = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in entries:
        yield f"{where}.{key}", data, key
        yield from _places(value, f"{where}.{key}")


# ---- archives of arrays ---------------------------------------------------------------------------------------

Members = dict[str, bytes]


def unpacked(content: bytes) -> Members:
    """The members of a zip."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(members: list[tuple[str, bytes]], compression: int = zipfile.ZIP_STORED) -> bytes:
    """A zip of members, with sums that are right."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a name that is there twice
        for name, data in members:
            archive.writestr(zipfile.ZipInfo(name), data, compression)
    return buffer.getvalue()


def npy(array: Any) -> bytes:
    """An array as `numpy.save` writes it."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def claiming(descr: str, shape: str, body: bytes) -> bytes:
    """A file of an array that claims to be this."""
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + body


_PICKLE = f"c{CANARY}\nboom\n.".encode()
_ARRAYS: dict[str, Callable[[RNG, np.ndarray[Any, Any]], bytes]] = {
    "another type": lambda rng, a: npy(a.astype(str(rng.choice(["f4", "f8", "i8", "i4", "?", ">f8", "c16", "S4"])))),
    "another shape": lambda rng, a: npy(np.concatenate([a, a], axis=int(rng.integers(max(1, a.ndim))))),
    "one dimension more": lambda rng, a: npy(a[None]),
    "flat": lambda rng, a: npy(a.ravel()),
    "transposed": lambda rng, a: npy(np.asfortranarray(a.T)),
    "empty": lambda rng, a: npy(a[:0]),
    "not finite": lambda rng, a: npy(_with(rng, a, np.nan)),
    "huge": lambda rng, a: npy(_with(rng, a, 1e300)),
    "negative": lambda rng, a: npy(_with(rng, a, -5)),
    "far index": lambda rng, a: npy(_with(rng, a, 2**40)),
    "one": lambda rng, a: npy(_with(rng, a, 1)),
    "noise": lambda rng, a: npy(np.frombuffer(rng.bytes(a.nbytes), a.dtype).reshape(a.shape)),
    "absurd size": lambda rng, a: claiming("'<f8'", "(1099511627776,)", a.tobytes()),
    "absurd product": lambda rng, a: claiming("'<f8'", "(4294967296, 4294967296)", a.tobytes()),
    "negative shape": lambda rng, a: claiming("'<f8'", "(-1, -8)", a.tobytes()),
    "objects": lambda rng, a: claiming("'|O'", "(1,)", _PICKLE),
    "records": lambda rng, a: claiming("[('a', '<f8')]", f"({a.size},)", a.tobytes()),
    "code in the header": lambda rng, a: claiming(f"__import__('{CANARY}')", "(1,)", a.tobytes()),
    "deep header": lambda rng, a: claiming("'<f8'", "(" * 3000 + ")" * 3000, a.tobytes()),
    "pickle": lambda rng, a: _PICKLE,
}  # fmt: skip


def _with(rng: RNG, a: np.ndarray[Any, Any], value: float) -> np.ndarray[Any, Any]:
    a = a.copy()
    if a.size:
        with np.errstate(invalid="ignore", over="ignore"):
            a.flat[int(rng.integers(a.size))] = np.array(value).astype(a.dtype)
    return a


def forged(rng: RNG, content: bytes) -> tuple[str, bytes]:
    """An archive that somebody has made up, with sums that are right."""
    members = unpacked(content)
    arrays = [name for name in members if name.endswith(".npy")]
    name = str(rng.choice(arrays))
    match str(rng.choice(["header", "header", "array", "array", "swap", "drop", "add", "twice", "squeezed", "deep"])):
        case "header":
            what, data = warped(rng, json.loads(members["header.json"]))
            return f"header{what}", packed(list((members | {"header.json": json.dumps(data).encode()}).items()))
        case "array":
            how = str(rng.choice(list(_ARRAYS)))
            array = np.load(io.BytesIO(members[name]))
            return f"{name}: {how}", packed(list((members | {name: _ARRAYS[how](rng, array)}).items()))
        case "swap":
            other = str(rng.choice(list(members)))
            return f"{name} and {other} swapped", packed(
                list((members | {name: members[other], other: members[name]}).items())
            )
        case "drop":
            return f"{name} left out", packed([(k, v) for k, v in members.items() if k != name])
        case "add":
            other = str(rng.choice(["../x", "/x", "x.npy", "", "header.json/x", "F" * 5000, "critic.F.npy"]))
            return f"{other[:20]!r} added", packed([*members.items(), (other, members[name])])
        case "twice":
            return f"{name} twice", packed([*members.items(), (name, members[name])])
        case "squeezed":
            return "squeezed", packed([*members.items(), ("bomb.npy", npy(np.zeros(2**20)))], zipfile.ZIP_DEFLATED)
    return "deep header", packed(list((members | {"header.json": b"[" * 100_000 + b"]" * 100_000}).items()))
