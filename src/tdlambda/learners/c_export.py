"""Learners as C files, for a device: see `Algorithm.to_c`."""

from __future__ import annotations

import keyword
import os
from pathlib import Path
from typing import Any

import tdlambda
from tdlambda.core.c import Exported, NoCError, generate
from tdlambda.core.c.functions import c_name
from tdlambda.core.lowering import lower
from tdlambda.core.memory import VISITS
from tdlambda.mdp.corrections import CORRECTIONS, abtd_psi
from tdlambda.rules import PerState


def exported(learner: Any) -> Exported:
    """A learner's step and its present state; TypeError says what C cannot have."""
    if learner.dtype != "float64":
        raise NoCError(f'dtype: C learners compute in float64; got "{learner.dtype}"')
    if learner.model.mixed:
        raise NoCError("learners of action values have no C: x' is a mixture over actions; export a learner of states")
    model, rule = learner.model, learner.rule
    lam: Any = learner.fixed_lam
    if lam is None:
        if type(rule) is not PerState:
            raise NoCError(
                f"lam: C needs a number, one number for each state, or a rule that learns; got {type(rule).__name__}"
            )
        if rule.lam.size != learner.features.size:
            raise NoCError(f"lam: C needs {learner.features.size} numbers, one for each state; got {rule.lam.size}")
        lam = rule.lam.tolist()
    step = lower(model)
    rows = {row: learner.row(f"{row.of}_{row.name}" if row.of else row.name) for row in (*step.rows, *step.rule_rows)}
    memory = learner.memory
    numbers = {name: memory[name] for name in memory.layout.record.names}
    visits = memory.row(VISITS) if VISITS in memory.layout.rows else None
    return Exported(
        step, learner.features, learner.lam_features, memory.layout.lists_live, numbers, rows, visits,
        memory.live_features(), lam,
        _correction(learner), learner.correction.name in ("tree", "abtd"), tdlambda.__version__,
    )  # fmt: skip


def _correction(learner: Any) -> tuple[Any, tuple[float, ...]] | None:
    c = learner.correction
    if not learner.model.corrected:
        return None
    if c.name == "abtd" and (c.psi_0 is None or c.psi_max is None):
        raise NoCError('correction: "abtd" needs td.mdp.TraceCorrection("abtd", psi_0=…, psi_max=…)')
    psi = abtd_psi(c.zeta, c.psi_0, c.psi_max) if c.name == "abtd" else 0.0
    return CORRECTIONS[c.name], (c.c_bar, c.rho_bar, psi)


def write(learner: Any, folder: str | os.PathLike[str], name: str) -> tuple[Path, Path]:
    """Write the header and the C file of a learner into a folder, which must not have files of these names."""
    if not (isinstance(name, str) and name.isascii() and name.isidentifier()) or c_name(name) != name:
        raise ValueError(f"name must be a name in C, such as learner; got {name!r}")
    if keyword.iskeyword(name) or name.startswith(("td_", "fn_", "_")):
        raise ValueError(f"name must not be a keyword nor begin with td_, fn_ or _; got {name!r}")
    try:
        place = Path(folder)
    except TypeError:
        raise TypeError(f"folder must be a path; got {folder!r}") from None
    paths = place / f"{name}.h", place / f"{name}.c"
    texts = generate(exported(learner), name)
    if place.exists() and not place.is_dir():
        raise NotADirectoryError(f"folder must be a folder; {place} is a file")
    there = [str(path) for path in paths if os.path.lexists(path)]
    if there:
        raise FileExistsError(f"folder: {', '.join(there)} exists already; choose another folder or another name")
    place.mkdir(parents=True, exist_ok=True)
    made: list[Path] = []
    try:
        for path, text in zip(paths, texts, strict=True):
            with open(path, "x", encoding="utf-8") as file:  # fails if the file has appeared meanwhile
                made.append(path)
                file.write(text)
    except BaseException:
        for path in made:
            path.unlink(missing_ok=True)
        raise
    return paths
