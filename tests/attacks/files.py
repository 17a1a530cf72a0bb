"""Damaged and forged files: learners, agents, units of results, manifests, notes of sessions, studies.

A damaged file is refused with ValueError (a unit is left out with a warning, or done again), or what was read is what
was written. A forged one, whose sums are right, may also be read; then what it made works. None may make anybody wait,
take much memory, or run code.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import tdlambda as td
from attacks import damage
from attacks.damage import CANARY, RNG
from attacks.harness import Attack, Failed, Say
from attacks.judging import brief
from tdlambda.lab.report.page import load as load_report
from tdlambda.lab.studies import store
from tdlambda.lab.studies import units as unit_files
from tdlambda.lab.studies.manifest import content_sum
from tdlambda.lab.studies.watching import Watcher


def case(rng: RNG, say: Say) -> None:
    """One file of some kind, damaged or forged, and read."""
    kinds = [archive, archive, archive, unit, manifest, note, toml]
    with tempfile.TemporaryDirectory() as folder:
        kinds[int(rng.integers(len(kinds)))](rng, say, Path(folder))
    if CANARY in sys.modules:
        del sys.modules[CANARY]
        raise Failed("code that a file named was run")


def refused(label: str, act: Callable[[], Any], also: type[Exception] = ValueError) -> Any:
    """What came of reading; None if it was refused as it should be."""
    try:
        return act()
    except (ValueError, also) as error:
        if isinstance(error.__cause__, MemoryError):
            raise Failed(f"{label}: asks for too much memory") from error
        return None
    except Exception as error:
        raise Failed(f"{label}: {brief(error)}") from error


# ---- learners and agents --------------------------------------------------------------------------------------


@cache
def archives() -> dict[str, tuple[bytes, str]]:
    """Files of learners and agents, and what each holds."""
    sparse, dense = td.features.TileCoder([0, 0], [1, 1], tilings=4, tiles=8), td.features.OneHot(4)
    learners: dict[str, Any] = {
        "TD": td.TD(dense, 0.1), "TrueOnlineTD": td.TrueOnlineTD(sparse, td.steps.OneOver("visits"), lam="auto"),
        "TrueOnlineGTD": td.TrueOnlineGTD(dense, 0.1, lam="meta"), "VTD": td.VTD(dense, 0.1),
        "MonteCarlo": td.MonteCarlo(dense, 0.1), "NStepTD": td.NStepTD(sparse, 0.1, 3), "LSTD": td.LSTD(dense),
        "RecursiveLSTD": td.RecursiveLSTD(dense, forgetting=0.9), "LSPE": td.LSPE(dense),
        "ExpectedTrace": td.ExpectedTrace(dense, 0.1, beta=td.steps.OneOver("visits")),
        "LambdaReturn": td.LambdaReturn(dense, 0.1, [0.5] * 4), "AutoTD": td.AutoTD(dense),
        "Meta": td.TD(dense, 0.1, td.rules.Meta(features=td.features.Table(np.eye(4, 2)), horizon=3)),
        "agent": td.ActorCritic(td.TrueOnlineTD(dense, 0.1, "greedy"), td.control.Softmax(2), 0.1, behavior=[0.5, 0.5]),
        "Gaussian": td.ActorCritic(td.TD(sparse, 0.1), td.control.Gaussian([-1], [1]), 0.1, lam=0.5),
    }  # fmt: skip
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, learner in learners.items():
            use(learner)
            learner.save(f"{folder}/it")
            found[name] = Path(folder, "it").read_bytes(), held(learner)
    return found


def use(learner: Any) -> None:
    """Some steps; observations of whichever kind it takes."""
    acts, some = isinstance(learner, td.ActorCritic), (0, 1, 3) if learner.features.active < 2 else np.eye(3, 2)
    for t, obs in enumerate(some):
        action = (
            ((1,) if isinstance(getattr(learner, "policy", None), td.control.Softmax) else ([0.5],)) if acts else ()
        )
        learner.update(obs, *action, 0.5, some[t - 1], gamma=0.9, terminated=False)


def held(learner: Any) -> str:
    """All that a learner is, to compare."""
    acts = isinstance(learner, td.ActorCritic)
    parts = [learner.critic._state(), learner.actor.memory.state_dict()] if acts else [learner._state()]
    sums = [hashlib.sha256(array.tobytes()).hexdigest() for part in parts for array in part.values()]
    return f"{learner!r} {sums}"


def archive(rng: RNG, say: Say, folder: Path) -> None:
    """`td.load`."""
    name = str(rng.choice(list(archives())))
    content, what = archives()[name]
    blind = bool(rng.random() < 0.4)
    how, damaged = damage.blindly(rng, content) if blind else damage.forged(rng, content)
    say(f"load of {name}: {how}")
    path = folder / "it"
    path.write_bytes(damaged)
    learner: Any = refused(f"load of {name}", lambda: td.load(path))
    if learner is None:
        return
    if blind:
        if held(learner) != what:
            raise Failed(f"load of {name}: damage ({how}) was taken for right")
        return
    say(f"load of {name}: {how}; then it is used")
    for step in (use, repr, lambda it: it.reset(), use, lambda it: it.clone()):
        try:
            step(learner)
        except (TypeError, ValueError, td.Diverged):  # another kind of observation
            pass
        except Exception as error:
            raise Failed(f"load of {name}, forged and then used: {brief(error)}") from error


# ---- results --------------------------------------------------------------------------------------------------

STUDY = td.studies.Study(
    "small", "RandomWalk-v0", seeds=2, steps=200, points=10, curve=5, grid={"alpha": [0.01, 0.1], "lam": [0.0, 0.9]},
    methods={
        "fixed": td.studies.Method("TrueOnlineTD", over=("alpha", "lam")),
        "greedy": td.studies.Method("TD", rule="Greedy", over=("alpha",)),
    },
)  # fmt: skip


@cache
def results() -> Path:
    """A directory of results that stays as it is."""
    out = Path(tempfile.mkdtemp()) / "results"
    td.studies.run_study(STUDY, out, workers=1, progress=False)
    return out


@cache
def frame() -> pl.DataFrame:
    """What is in it. Only a child may ask: a process that has used Polars cannot be forked."""
    return td.studies.load_results(results())


def units(out: Path) -> dict[str, bytes]:
    """Every unit: its content by its place."""
    return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.glob("units/*/*.parquet"))}


def copied(folder: Path) -> Path:
    """The results, to be damaged."""
    return Path(shutil.copytree(results(), folder / "results"))


def unit(rng: RNG, say: Say, folder: Path) -> None:
    """A unit that is damaged, or whose content is another with a sum that is right."""
    out, whole = copied(folder), units(results())
    path = out / str(rng.choice(list(whole)))
    blind = bool(rng.integers(2))
    how, content = damage.blindly(rng, path.read_bytes()) if blind else forged_unit(rng, path.read_bytes())
    reader = str(rng.choice(["load_results", "Watcher", "run_study", "report"]))
    say(f"{reader}, {path.parent.name}/{path.name}: {how}")
    changed = content != path.read_bytes()
    path.write_bytes(content)
    label = f"{reader} of a unit ({'damaged' if blind else how})"
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        match reader:
            case "load_results":
                found = refused(label, lambda: td.studies.load_results(out))
                rest = pl.concat([part for part in frame().partition_by("method", "seed") if not _of(part, path)])
                if blind and changed and found is not None and not (found.equals(rest, null_equal=True) and said):
                    raise Failed(f"{label}: taken for right")
            case "Watcher":
                state = refused(label, lambda: Watcher(out).look())
                if blind and changed and state is not None and state.damaged != [str(path)]:
                    raise Failed(f"{label}: taken for right")
            case "report":
                refused(label, lambda: load_report([out]))
            case "run_study":
                outcome = refused(label, lambda: td.studies.run_study(STUDY, out, workers=1, progress=False))
                if blind and outcome is not None and (outcome.done != int(changed) or units(out) != whole):
                    raise Failed(f"{label}: not done again")


def _of(part: pl.DataFrame, path: Path) -> bool:
    method, seed = part.row(0, named=True)["method"], part.row(0, named=True)["seed"]
    return path.parent.name.startswith(f"{method}-") and int(path.stem) == seed


def _changed(table: pa.Table, column: str, values: list[Any], kind: Any = None) -> pa.Table:
    """A table with these values, over and over, in a column."""
    array = pa.array(values * len(table), kind)
    return table.set_column(table.schema.get_field_index(column), column, array)


_TABLES: dict[str, Callable[[pa.Table], pa.Table]] = {
    "a column left out": lambda t: t.drop_columns(["tail"]),
    "a column more": lambda t: t.append_column("method", pa.array(["x"] * len(t))),
    "no rows": lambda t: t.slice(0, 0),
    "a row less": lambda t: t.slice(1),
    "rows twice": lambda t: pa.concat_tables([t, t]),
    "text for numbers": lambda t: _changed(t, "tail", ["x"]),
    "nulls": lambda t: _changed(t, "tail", [None], pa.float64()),
    "another seed": lambda t: _changed(t, "seed", [7]),
    "another grid": lambda t: _changed(t, "alpha", [9.0]),
    "short curves": lambda t: _changed(t, "curve", [[]], pa.list_(pa.float32())),
}


def forged_unit(rng: RNG, content: bytes) -> tuple[str, bytes]:
    """A unit whose sum is right and whose table is not."""
    table = pq.read_table(pa.BufferReader(content))
    how = str(rng.choice(list(_TABLES)))
    about = json.loads(table.schema.metadata[b"tdlambda"])
    forged = _TABLES[how](table)
    about |= {"rows": len(forged)}
    sink = pa.BufferOutputStream()
    pq.write_table(forged.replace_schema_metadata({b"tdlambda": json.dumps(about).encode()}), sink)
    data = sink.getvalue().to_pybytes()
    footer = unit_files._footer(data)
    return how, data[:footer] + unit_files._SUM + hashlib.sha256(data).digest() + data[footer:]


def manifest(rng: RNG, say: Say, folder: Path) -> None:
    """A manifest that is damaged, or that declares another study with a sum that is right."""
    out = copied(folder)
    path = out / "manifest.json"
    blind = bool(rng.integers(2))
    how, content = damage.blindly(rng, path.read_bytes())
    if not blind:
        how, data = damage.warped(rng, json.loads(path.read_bytes()))
        data.pop("sum", None)
        data["sum"] = content_sum(data)
        content = json.dumps(data).encode()
    reader = str(rng.choice(["load_results", "load_study", "Watcher", "report"]))
    say(f"{reader}, manifest: {how}")
    path.write_bytes(content)
    readers: dict[str, Callable[[], Any]] = {
        "load_results": lambda: td.studies.load_results(out), "load_study": lambda: store.load_study(out),
        "Watcher": lambda: Watcher(out).look(), "report": lambda: load_report([out]),
    }  # fmt: skip
    found = refused(f"{reader} of a manifest ({'damaged' if blind else 'forged'})", readers[reader])
    if blind and reader == "load_study" and found is not None and found != STUDY:
        raise Failed(f"a damaged manifest ({how}) was taken for right")
    refused("run_study over a manifest", lambda: td.studies.run_study(STUDY, out, workers=1, progress=False))
    if store.load_study(out) != STUDY:
        raise Failed("run_study does not renew a manifest")


def note(rng: RNG, say: Say, folder: Path) -> None:
    """A session's note that is damaged or made up: it says nothing, and the rest is still seen."""
    out = copied(folder)
    (path,) = (out / "sessions").iterdir()
    how, content = damage.blindly(rng, path.read_bytes())
    if rng.integers(2):
        how, data = damage.warped(rng, json.loads(path.read_bytes()) | {"state": "running"})
        content = json.dumps(data).encode()
    if rng.random() < 0.1:
        how, content = "deep", b"[" * 100_000
    say(f"Watcher, note: {how}")
    path.write_bytes(content)
    state = refused("Watcher of a note", lambda: Watcher(out).look())
    if state is None or not state.finished:
        raise Failed("a damaged note hides the results")


# ---- studies --------------------------------------------------------------------------------------------------


def toml(rng: RNG, say: Say, folder: Path) -> None:
    """A study with a field that makes no sense, or whose text is damaged: refused at once; reading it runs nothing."""
    data = {key: value for key, value in STUDY.to_dict().items() if value is not None}
    for method in data["methods"].values():
        method.pop("rule", None) if method.get("rule") is None else None
    path = folder / "study.toml"
    if rng.random() < 0.3:
        how, content = damage.blindly(rng, "\n".join(_lines(data)).encode())
    else:
        how, data = damage.warped(rng, data)
        content = "\n".join(_lines(data)).encode()
    say(f"study{how if how[0] == '.' else ': ' + how}")
    path.write_bytes(content)
    study = refused("Study.load", lambda: td.studies.Study.load(path), TypeError)
    if study is None:
        return
    if CANARY in sys.modules:
        raise Failed("Study.load ran code that a file named")
    for method in study.methods:
        refused("the learners of a study", partial(study.learners, method), TypeError)
    sys.modules.pop(CANARY, None)  # whoever runs a study runs what it names


def _lines(data: dict[str, Any]) -> list[str]:
    """A study as TOML."""
    return [f"{_literal(key)} = {_literal(value)}" for key, value in data.items()]


def _literal(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_literal(k)} = {_literal(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return '"none"'
    return json.dumps(value) if isinstance(value, str) else repr(value)


def warm() -> None:
    """Make what cases damage, and the module that none may import."""
    place = Path(tempfile.mkdtemp())
    (place / f"{CANARY}.py").write_text("def boom(*a, **k): return 0\n")
    sys.path.append(str(place))
    archives(), results()


ATTACK = Attack("files", "damaged and forged files", case, warm, memory=2**30)
