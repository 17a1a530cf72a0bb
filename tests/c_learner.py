"""A learner in C as an object (ctypes), from the files that `to_c` writes."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

COMPILER = shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
FLAGS = ("-std=c99", "-O2", "-ffp-contract=off", "-fno-math-errno", "-Wall", "-Wextra", "-Werror", "-pedantic-errors")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler: gcc, cc or clang")
EXACT = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
_KINDS = {"double": ctypes.c_double, "int64_t": ctypes.c_int64, "int32_t": ctypes.c_int32}


def compiled(folder: Path, *more: str, name: str = "learner") -> Path:
    """The shared library of the C file in a folder."""
    assert COMPILER is not None
    target = folder / f"{name}.so"
    given = [str(folder / f"{name}.c"), *more, "-lm"]
    subprocess.run([COMPILER, *FLAGS, "-shared", "-fPIC", "-o", str(target), *given], check=True)
    return target


class CLearner:
    """A learner in C, with the state as a struct of ctypes."""

    def __init__(self, learner: Any, folder: Path) -> None:
        header, _ = learner.to_c(folder)
        self.text = header.read_text(encoding="utf-8")
        self.library = ctypes.CDLL(str(compiled(Path(folder))))
        self.state = self._struct(learner)()
        self.at = ctypes.byref(self.state)
        lines = self.text.split("int learner_learn(")[1].split(");")[0]
        self.ruled, self.corrected = "z_" in lines, "cut" in lines
        vector = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32]
        numbers = [ctypes.c_double] * (4 + self.corrected)
        self.library.learner_learn.argtypes = [
            ctypes.c_void_p, *vector * (3 if self.ruled else 2), *numbers, ctypes.c_int
        ]  # fmt: skip
        self.obs = ctypes.c_int32 if "int32_t obs" in self.text else ctypes.c_void_p
        behavior = [ctypes.c_double] if "double behavior" in self.text else []
        self.library.learner_update.argtypes = [
            ctypes.c_void_p, self.obs, ctypes.c_double, self.obs, ctypes.c_double, ctypes.c_double, *behavior,
            ctypes.c_int,
        ]  # fmt: skip
        self.library.learner_predict.restype = ctypes.c_double
        self.library.learner_predict.argtypes = [ctypes.c_void_p, self.obs]
        self.library.learner_init(self.at)

    def _struct(self, learner: Any) -> Any:
        sizes = {"LEARNER_SIZE": learner.features.size, "LEARNER_RULE_SIZE": learner._lam_features.size}
        fields: list[Any] = []
        for line in self.text.split("typedef struct {")[1].split("} learner;")[0].strip().splitlines():
            kind, _, rest = line.strip().rstrip(";").partition(" ")
            for what in rest.split(", "):
                name, _, size = what.rstrip("]").partition("[")
                fields.append((name, _KINDS[kind] * sizes[size] if size else _KINDS[kind]))
        return type("State", (ctypes.Structure,), {"_fields_": fields})

    def _given(self, obs: Any) -> tuple[Any, Any]:
        """An observation as an argument, and the memory that must live as long as it is used."""
        if self.obs is ctypes.c_int32:
            return int(obs), None
        array = np.ascontiguousarray(obs, dtype=np.float64)
        return array.ctypes.data, array

    def update(self, obs: Any, reward: float, after: Any, gamma: float, rho: float = 1.0, ended: int = 0) -> int:
        """Learn from one transition between observations."""
        (here, _kept), (there, _kept_too) = self._given(obs), self._given(after)
        return int(self.library.learner_update(self.at, here, reward, there, gamma, rho, ended))

    def learn(self, x: Any, y: Any, z: Any, *numbers: float) -> int:
        """Learn from one transition between features (index of 32 bits, value)."""
        vectors: list[Any] = []
        for index, value in (x, y, z) if self.ruled else (x, y):
            vectors += [index.ctypes.data, value.ctypes.data, len(index)]
        return int(self.library.learner_learn(self.at, *vectors, *numbers))

    def predict(self, obs: Any) -> float:
        """V(obs)."""
        given, _kept = self._given(obs)
        return float(self.library.learner_predict(self.at, given))

    def row(self, of: str, name: str) -> Any:
        """A row, by its estimate ("" for the rule) and its name."""
        return np.frombuffer(getattr(self.state, f"{of}_{name}_" if of else f"rule_{name}_"), dtype=np.float64)


def same(ours: Any, theirs: Any) -> bool:
    """Whether numbers are equal; without a compiler for Python, nearly, because NumPy has its own `exp`."""
    return np.array_equal(ours, theirs, equal_nan=True) if EXACT else np.allclose(ours, theirs, 1e-9, 1e-12, True)


def differences(learner: Any, c: CLearner) -> list[str]:
    """What differs between a learner and its copy in C; zeros of either sign are equal."""
    model, found = learner.model, []
    rows = [(name, *name.split("_", 1)) for name in model.rows] + [(name, "", name) for name in model.own_rows]
    found += [f"row {name}" for name, of, row in rows if not same(learner.row(name), c.row(of, row))]
    record = learner._record[0]
    for name in learner._record.dtype.names:
        theirs = getattr(c.state, name, None)
        if theirs is not None and not same(record[name], theirs):
            found.append(f"{name}: {record[name]!r}, in C {theirs!r}")
    return found
