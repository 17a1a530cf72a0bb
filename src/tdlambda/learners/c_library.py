"""Learners in C as objects, compiled and called by ctypes: for checks and measurements of what `to_c` writes."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from tdlambda.arrays import Floats
from tdlambda.core.c import members
from tdlambda.features import OneHot
from tdlambda.learners.c_export import exported, write

FLAGS = ("-std=c99", "-O2", "-ffp-contract=off", "-fno-math-errno")
"""Options of the compiler with which results are the same, bit for bit."""
_KINDS: dict[str, Any] = {"double": ctypes.c_double, "int64_t": ctypes.c_int64, "int32_t": ctypes.c_int32}


@cache
def compiler() -> str | None:
    """The C compiler of this machine: gcc, cc or clang; None if there is none that makes a library."""
    found = shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
    if found is None:
        return None
    with TemporaryDirectory() as folder:
        source = Path(folder) / "trial.c"
        source.write_text("#include <math.h>\n#include <stdint.h>\ndouble trial(double x) { return sqrt(x); }\n")
        done = subprocess.run(_command(found, source), capture_output=True, check=False)
    return found if done.returncode == 0 else None


def _command(compiler: str, source: Path, *options: str) -> list[str]:
    """The command that compiles a C file to a shared library in the same folder."""
    return [compiler, *FLAGS, *options, "-shared", "-fPIC", "-o", str(source.with_suffix(".so")), str(source), "-lm"]


def compiled(source: Path, *options: str) -> Path:
    """The shared library of a C file, in the same folder."""
    found = compiler()
    if found is None:
        raise FileNotFoundError("no C compiler: gcc, cc or clang")
    done = subprocess.run(_command(found, source, *options), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{found} refused {source}:\n{done.stderr}")
    return source.with_suffix(".so")


class CLearner:
    """A learner in C, which begins in the state of a learner in Python.

    Parameters
    ----------
    learner
        A learner of `td.Algorithm`.
    folder
        Folder of the C files and of the library.
    options
        Further options of the compiler.
    """

    def __init__(self, learner: Any, folder: Path, *options: str) -> None:
        _, source = write(learner, folder, "learner")
        self.library: Any = ctypes.CDLL(str(compiled(source, *options)))
        fields = [
            (name, _KINDS[kind] * size if size else _KINDS[kind]) for kind, name, size in members(exported(learner))
        ]
        self.state: Any = type("State", (ctypes.Structure,), {"_fields_": fields})()
        self._at, model = ctypes.byref(self.state), learner.model
        self.ruled, self.corrected = model.rule is not None, model.corrected
        double: Any = ctypes.c_double
        vector: list[Any] = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32]
        numbers = [double] * (4 + self.corrected)
        self.library.learner_learn.argtypes = [
            ctypes.c_void_p, *vector * (3 if self.ruled else 2), *numbers, ctypes.c_int,
        ]  # fmt: skip
        self._states = type(learner.features) is OneHot
        obs: Any = ctypes.c_int32 if self._states else ctypes.c_void_p
        behavior = [double] if learner.correction.name in ("tree", "abtd") else []
        self.library.learner_update.argtypes = [
            ctypes.c_void_p, obs, double, obs, double, double, *behavior, ctypes.c_int,
        ]  # fmt: skip
        self.library.learner_predict.restype = double
        self.library.learner_predict.argtypes = [ctypes.c_void_p, obs]
        self.library.learner_init(self._at)

    def _argument(self, obs: Any) -> tuple[Any, Any]:
        """An observation as an argument, and the memory that must live as long as it is used."""
        if self._states:
            return int(obs), None
        array = np.ascontiguousarray(obs, dtype=np.float64)
        return array.ctypes.data, array

    def update(
        self, obs: Any, reward: float, after: Any, gamma: float, rho: float, *behavior: float, ended: int
    ) -> int:
        """Learn from one transition between observations; return the status."""
        (here, _kept), (there, _kept_too) = self._argument(obs), self._argument(after)
        return int(self.library.learner_update(self._at, here, reward, there, gamma, rho, *behavior, ended))

    def learn(self, x: Any, y: Any, z: Any, *numbers: float) -> int:
        """Learn from one transition between features (indices of 32 bits, values); return the status."""
        vectors: list[Any] = []
        for index, value in (x, y, z) if self.ruled else (x, y):
            vectors += [index.ctypes.data, value.ctypes.data, len(index)]
        return int(self.library.learner_learn(self._at, *vectors, *numbers))

    def predict(self, obs: Any) -> float:
        """V(obs)."""
        given, _kept = self._argument(obs)
        return float(self.library.learner_predict(self._at, given))

    def row(self, name: str) -> Floats:
        """A row by name, as `Algorithm.row` has it."""
        of_rule = hasattr(self.state, f"rule_{name}_")
        return np.frombuffer(getattr(self.state, f"rule_{name}_" if of_rule else f"{name}_"), dtype=np.float64)
