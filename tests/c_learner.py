"""What differs between a learner and its copy in C."""

import os
from typing import Any

import numpy as np
import pytest

from tdlambda.learners.c_library import CLearner, compiler

STRICT = ("-Wall", "-Wextra", "-Werror", "-pedantic-errors")
EXACT = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
needs_compiler = pytest.mark.skipif(compiler() is None, reason="no C compiler: gcc, cc or clang")


def same(ours: Any, theirs: Any) -> bool:
    """Whether numbers are equal; without a compiler for Python, nearly, because NumPy has its own `exp`."""
    return np.array_equal(ours, theirs, equal_nan=True) if EXACT else np.allclose(ours, theirs, 1e-9, 1e-12, True)


def differences(learner: Any, c: CLearner) -> list[str]:
    """What differs between a learner and its copy in C; zeros of either sign are equal."""
    model, record = learner.model, learner.memory.record[0]
    found = [f"row {name}" for name in (*model.rows, *model.rule_rows) if not same(learner.row(name), c.row(name))]
    for name in learner.memory.record.dtype.names:
        theirs = getattr(c.state, name, None)
        if theirs is not None and not same(record[name], theirs):
            found.append(f"{name}: {record[name]!r}, in C {theirs!r}")
    return found
