"""Checks in a process where nothing is compiled: over many models, Python is done before the compiler would be."""

import inspect
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def interpreted(check: Callable[..., Any], *arguments: Any) -> None:
    """Call a function of a test file without Numba; its failure is ours."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":  # it is without already: `tools/mutate.py`
        check(*arguments)
        return
    file = Path(inspect.getfile(check))
    code = f"from {file.stem} import {check.__name__}; {check.__name__}(*{arguments!r})"
    path = os.pathsep.join(map(str, [file.parent, Path(__file__).parent, *filter(None, sys.path)]))
    done = subprocess.run(
        [sys.executable, "-W", "ignore::RuntimeWarning", "-c", code],  # integers overflow on purpose in randomness.py
        env=os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5000:]
