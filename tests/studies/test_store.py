"""What is on disk is what the engine gave, whole or not at all; and what is damaged is noticed, whatever the damage."""

import errno
import json
import os
import random
import resource
import shutil
import socket
import subprocess
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from small_studies import leftovers, published_values, small, units

import tdlambda as td
from tdlambda.lab.studies import load_study
from tdlambda.lab.studies.execution import run_unit
from tdlambda.lab.studies.manifest import content_sum
from tdlambda.lab.studies.store import Store, write_whole
from tdlambda.lab.studies.units import DamagedError, UnreadableError, read_unit
from tdlambda.lab.studies.watching import Watcher

STUDY = small()
KEY = STUDY.key("fixed")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small study's results; not to be changed."""
    out = tmp_path_factory.mktemp("finished")
    assert td.studies.run_study(STUDY, out).done == 6
    return out


@pytest.fixture(scope="module")
def unit() -> bytes:
    return run_unit(STUDY, "fixed", 1)


# ---- what is in a unit -----------------------------------------------------------------------------------------


def test_results_are_those_of_the_engine(finished: Path) -> None:
    ring = td.make("RingWorld-v0", "0.3/0.25")
    cells = [(a, b) for a in (0.01, 0.1) for b in (0.0, 0.9)]
    warm = {"warm_up": 0.1, "length": 1000}
    learners: dict[str, list[td.Learner]] = {
        "fixed": [td.TrueOnlineTD(ring.features, alpha, lam) for alpha, lam in cells],
        "greedy": [td.TrueOnlineTD(ring.features, alpha, td.rules.Greedy(**warm)) for alpha in (0.01, 0.1)],  # type: ignore[arg-type]
    }
    results = td.studies.load_results(finished)
    at = json.loads((finished / "manifest.json").read_bytes())["curve_steps"]
    for method, some in learners.items():
        found = td.engine.run(ring, some, 3, 1000, points=50)
        places = [found.points.tolist().index(step) for step in at]
        rows = results.filter(pl.col("method") == method)
        for k in range(len(some)):
            for seed in range(3):
                row = rows.row(seed * len(some) + k, named=True)
                error = found.error[k, seed]
                assert (row["alpha"], row["seed"], row["diverged_at"]) == (some[k].alpha, seed, -1)  # type: ignore[attr-defined]
                assert row["lam"] == (cells[k][1] if method == "fixed" else None)
                assert row["tail"] == pytest.approx(sum(error[-5:]) / 5, rel=1e-14)
                assert row["area"] == pytest.approx(sum(error) / 50, rel=1e-14)
                assert row["final"] == error[-1]
                assert row["curve"] == error[places].astype(np.float32).tolist()
                assert row["lambdas"] == found.lambdas[k][seed].astype(np.float32).tolist()
    lambdas = np.array(results.filter(pl.col("method") == "greedy")["lambdas"].to_list())
    assert lambdas.std() > 0.01, "λ has moved"


def test_the_curve_has_even_steps_and_the_whole_tail(finished: Path) -> None:
    manifest = json.loads((finished / "manifest.json").read_bytes())
    assert manifest["curve_steps"] == [100, 200, 300, 400, 500, 600, 700, 800, 900, 920, 940, 960, 980, 1000]


def test_errors_are_measured_against_the_truth_that_the_method_names(tmp_path: Path) -> None:
    methods = {name: td.studies.Method("TD", options={"alpha": 0.05}, truth=name) for name in ("exact", "thesis")}
    lake = td.make("FrozenLake-v0")
    td.studies.run_study(small(task=lake.id, preset=None, methods=methods, seeds=[4]), tmp_path)
    learner = td.TD(lake.features, 0.05)
    learner.update_many(lake.sampler(4).take(1000))
    d = lake.exact.error_weights()
    for name, v in (("exact", lake.exact.v()), ("thesis", published_values())):
        gap = np.where(lake.mdp.terminal, 0.0, learner.predict_many(np.arange(16)) - v)
        row = td.studies.load_results(tmp_path).row(by_predicate=pl.col("method") == name, named=True)
        assert row["final"] == pytest.approx(d @ gap**2, rel=1e-9)


def test_a_unit_is_the_same_bytes_every_time(unit: bytes, finished: Path) -> None:
    assert run_unit(small(), "fixed", 1) == unit
    assert units(finished)[f"units/fixed-{KEY}/000001.parquet"] == unit


def test_a_unit_is_parquet_that_others_can_read(unit: bytes, tmp_path: Path) -> None:
    path = tmp_path / "any.parquet"
    path.write_bytes(unit)
    frame = pl.read_parquet(path)
    assert frame["alpha"].to_list() == [0.01, 0.01, 0.1, 0.1]
    assert frame["seed"].to_list() == [1] * 4


def test_an_error_beyond_small_numbers_is_stored(tmp_path: Path) -> None:
    baird: Any = td.make("Baird-v0")
    options = {"alpha": 0.3, "lam": 0.0, "bound": 1e100, "initial": list(baird.initial_weights)}
    td.studies.run_study(
        small(task="Baird-v0", preset=None, methods={"wild": td.studies.Method("TD", options=options)}), tmp_path
    )
    (row,) = td.studies.load_results(tmp_path).filter(pl.col("seed") == 0).to_dicts()
    assert 1e40 < row["final"] < np.inf
    assert row["curve"][-1] == np.inf


# ---- what is loaded --------------------------------------------------------------------------------------------


def test_columns_types_and_order(finished: Path) -> None:
    results = td.studies.load_results(finished)
    assert dict(results.schema) == {
        "method": pl.String, "learner": pl.String, "rule": pl.String, "alpha": pl.Float64, "lam": pl.Float64,
        "seed": pl.Int64, "diverged_at": pl.Int64, "tail": pl.Float64, "area": pl.Float64, "final": pl.Float64,
        "curve": pl.List(pl.Float32), "lambdas": pl.List(pl.Float32),
    }  # fmt: skip
    wanted = [("fixed", "TrueOnlineTD", None, a, b, s) for s in range(3) for a in (0.01, 0.1) for b in (0.0, 0.9)]
    wanted += [("greedy", "TrueOnlineTD", "Greedy", a, None, s) for s in range(3) for a in (0.01, 0.1)]  # type: ignore[misc]
    assert results.select("method", "learner", "rule", "alpha", "lam", "seed").rows() == wanted
    assert results.select("tail", "area", "final", "curve", "lambdas").null_count().row(0) == (0,) * 5
    assert load_study(finished) == STUDY


@pytest.mark.costly
def test_parameters_of_every_kind_are_columns(tmp_path: Path) -> None:
    grid = {"n": [1, 2], "rule.variance": ["direct", "vtd"], "alpha": [0.1], "rule.in_range": [True, False]}
    methods = {
        "Meta": td.studies.Method("TD", "Meta", over=("alpha", "rule.in_range")),
        "n-step": td.studies.Method("NStepTD", over=("n", "alpha")),
        "greedy": td.studies.Method("TD", "Greedy", over=("rule.variance",), options={"alpha": 0.1}),
    }
    td.studies.run_study(small(grid=grid, methods=methods, seeds=1, steps=100), tmp_path)
    results = td.studies.load_results(tmp_path)
    assert results.columns[:7] == ["method", "learner", "rule", "n", "rule.variance", "alpha", "rule.in_range"]
    assert results["n"].to_list() == [None, None, 1, 2, None, None]
    assert results["rule.variance"].to_list() == [None] * 4 + ["direct", "vtd"]
    assert results["rule.in_range"].to_list() == [True, False, None, None, None, None]


def test_seeds_of_any_length_come_in_order(tmp_path: Path) -> None:
    study = small(seeds=[999_999, 1_000_000], methods={"m": td.studies.Method("TD", options={"alpha": 0.1})})
    td.studies.run_study(study, tmp_path)
    td.studies.run_study(study.but(seeds=[7]), tmp_path)
    assert td.studies.load_results(tmp_path)["seed"].to_list() == [7, 999_999, 1_000_000]


def test_what_is_not_finished_is_loaded_as_far_as_it_is(tmp_path: Path) -> None:
    Store(tmp_path, STUDY).write_manifest()
    with pytest.raises(ValueError, match="holds no finished results yet"):
        td.studies.load_results(tmp_path)
    Store(tmp_path, STUDY).write("greedy", 2, run_unit(STUDY, "greedy", 2))
    results = td.studies.load_results(tmp_path)
    assert results.select("method", "alpha", "seed").rows() == [("greedy", 0.01, 2), ("greedy", 0.1, 2)]


def test_results_of_an_older_version_can_be_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = small(seeds=1)
    with monkeypatch.context() as older:
        older.setattr(td, "__version__", "0.0.1")
        td.studies.run_study(study, tmp_path)
        before = td.studies.load_results(tmp_path)
    assert td.studies.load_results(tmp_path).equals(before)
    assert td.studies.run_study(study, tmp_path).done == 2, "but they are not taken for this version's"


# ---- what is written beside them -------------------------------------------------------------------------------


def test_an_earlier_manifest_is_read_with_its_first_seed_and_its_length(tmp_path: Path) -> None:
    study = small(seeds=range(7, 10), warm_up=0.0, steps=None, episodes=50)
    Store(tmp_path, study).write_manifest()
    path = tmp_path / "manifest.json"
    manifest = json.loads(path.read_bytes())
    assert (manifest["study"]["seeds"], manifest["study"]["steps"]) == ("7:10", None)
    manifest["study"] |= {"seeds": 3, "seed": 7, "steps": 1000}
    del manifest["sum"]
    path.write_text(json.dumps(manifest | {"sum": content_sum(manifest)}))
    assert td.studies.load_study(tmp_path) == study


def test_the_manifest_says_what_when_and_with_what(finished: Path) -> None:
    manifest = json.loads((finished / "manifest.json").read_text(encoding="utf-8"))
    assert td.studies.Study.from_dict(manifest["study"]) == STUDY
    assert manifest["keys"] == {name: STUDY.key(name) for name in STUDY.methods}
    assert {path.name for path in (finished / "units").iterdir()} == {f"{m}-{k}" for m, k in manifest["keys"].items()}
    assert manifest["versions"]["tdlambda"] == td.__version__
    assert manifest["versions"]["numpy"] == np.__version__
    assert manifest["versions"].keys() >= {"python", "numba", "scipy", "pyarrow", "polars"}
    assert manifest["machine"]["processors"] == os.cpu_count()
    assert manifest["written"].endswith("Z")


def test_every_session_leaves_a_note(tmp_path: Path) -> None:
    study = small(seeds=1)
    for _ in range(2):
        td.studies.run_study(study, tmp_path)
    notes = [json.loads(path.read_bytes()) for path in sorted((tmp_path / "sessions").iterdir())]
    assert [(note["state"], note["units"], note["done"]) for note in notes] == [("finished", 2, 2), ("finished", 0, 0)]
    assert all(note["begun"] <= note["noted"] for note in notes)
    assert all(note["versions"]["tdlambda"] == td.__version__ for note in notes)


# ---- whole or not at all ---------------------------------------------------------------------------------------


def test_a_file_appears_only_when_all_of_it_is_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, seen = tmp_path / "new" / "file", []

    def flush(number: int) -> None:
        file = os.fstat(number)
        seen.append((path.exists(), file.st_size, file.st_ino))

    monkeypatch.setattr(os, "fsync", flush)
    write_whole(path, b"x" * 1000)
    assert seen == [(False, 1000, path.stat().st_ino)], "what was flushed is what has the name"
    assert path.read_bytes() == b"x" * 1000
    assert list(path.parent.iterdir()) == [path]


@contextmanager
def files_no_larger_than(size: int) -> Iterator[None]:
    """As a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_file_that_does_not_fit_leaves_the_old_one_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_whole(path, b"old")
    with files_no_larger_than(10_000), pytest.raises(OSError, match="File too large"):
        write_whole(path, b"x" * 100_000)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["file", "file/below", "/proc/nobody/writes/here"])
def test_a_place_that_cannot_be_written_is_refused_before_work(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"precious")
    monkeypatch.setattr(td.engine, "run", None)
    with pytest.raises(ValueError, match=f"out: .*{name}.* cannot be written"):
        td.studies.run_study(STUDY, tmp_path / name)
    with pytest.raises(ValueError, match="holds no results"):
        td.studies.load_results(tmp_path / name)
    assert (tmp_path / "file").read_bytes() == b"precious"


def test_a_disk_that_fills_up_costs_only_what_was_not_written(
    tmp_path: Path, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flush, calls = os.fsync, []

    def full(number: int) -> None:
        calls.append(number)
        if len(calls) > 5:  # the manifest, twice the session's note, two units
            raise OSError(errno.ENOSPC, "No space left on device")
        flush(number)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            td.studies.run_study(STUDY, tmp_path, workers=1)
    whole = units(finished)
    assert len(units(tmp_path)) == 2
    assert units(tmp_path).items() <= whole.items()
    assert leftovers(tmp_path) == []
    assert td.studies.run_study(STUDY, tmp_path).done == 4
    assert units(tmp_path) == whole


@pytest.mark.parametrize("left", [4, 6])
def test_a_directory_that_is_removed_meanwhile_is_not_said_to_be_done(
    left: int, tmp_path: Path, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, write, written = tmp_path / "out", Store.write, []

    def removed(store: Store, method: str, seed: int, content: bytes) -> None:
        write(store, method, seed, content)
        written.append(seed)
        if len(written) == left:
            shutil.rmtree(out)

    with monkeypatch.context() as patched:
        patched.setattr(Store, "write", removed)
        said = f"out: {left} units were removed from {out} during the run; run again"
        with pytest.raises(FileNotFoundError, match=said):
            td.studies.run_study(STUDY, out)
    assert len(units(out)) == 6 - left
    assert load_study(out) == STUDY
    assert td.studies.run_study(STUDY, out).done == left
    assert units(out) == units(finished)


def test_units_of_before_that_are_removed_meanwhile_are_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    td.studies.run_study(STUDY.but(seeds=2), tmp_path)
    first, write = Store(tmp_path, STUDY).path("fixed", 0), Store.write

    def removed(*of: Any) -> None:
        first.unlink(missing_ok=True)
        write(*of)

    monkeypatch.setattr(Store, "write", removed)
    with pytest.raises(FileNotFoundError, match="out: 1 units were removed"):
        td.studies.run_study(STUDY, tmp_path)


# ---- damage ----------------------------------------------------------------------------------------------------


def refused(path: Path, content: bytes) -> bool:
    path.write_bytes(content)
    try:
        read_unit(path, KEY, 1, STUDY.stored_cells("fixed"))
    except DamagedError:
        return True
    return False


def test_a_bit_that_flips_anywhere_is_noticed(unit: bytes, tmp_path: Path) -> None:
    """No place is insensitive, not even those that readers of Parquet pass over: the sum is over all bytes."""
    path, draw = tmp_path / "000001.parquet", random.Random(1)
    assert not refused(path, unit)
    places = {*range(8), *range(len(unit) - 60, len(unit)), *range(0, len(unit), 7)}
    for place in sorted(places):
        damaged = bytearray(unit)
        damaged[place] ^= 1 << draw.randrange(8)
        assert refused(path, bytes(damaged)), place


def test_a_file_that_ends_early_is_noticed(unit: bytes, tmp_path: Path) -> None:
    path = tmp_path / "000001.parquet"
    for length in {0, 1, 4, 8, 12, *range(16, len(unit), 61), *range(len(unit) - 12, len(unit))}:
        assert refused(path, unit[:length]), length
        assert refused(path, unit[len(unit) - length :]), length


def scrambled(unit: bytes) -> bytes:
    """Two blocks exchanged, as by a disk that mixed up its sectors."""
    return unit[:512] + unit[1024:1536] + unit[512:1024] + unit[1536:]


def parquet(frame: pl.DataFrame, where: Path) -> bytes:
    frame.write_parquet(where)
    return where.read_bytes()


KINDS: dict[str, Callable[[bytes, Path], bytes]] = {
    "empty": lambda _, __: b"",
    "zeros": lambda unit, _: bytes(len(unit)),
    "a hole": lambda unit, _: unit[:1000] + bytes(500) + unit[1500:],
    "scrambled": lambda unit, _: scrambled(unit),
    "something after it": lambda unit, _: unit + b"\0",
    "twice": lambda unit, _: unit + unit,
    "text": lambda _, __: b"alpha,lam,tail\n",
    "of another seed": lambda _, __: run_unit(STUDY, "fixed", 2),
    "of another method": lambda _, __: run_unit(STUDY, "greedy", 1),
    "of another study": lambda _, __: run_unit(small(steps=999), "fixed", 1),
    "of nobody": lambda _, where: parquet(pl.DataFrame({"seed": [1] * 4, "tail": [0.0] * 4}), where / "other"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_reported_left_out_set_aside_and_made_good(
    kind: str, unit: bytes, tmp_path: Path, finished: Path
) -> None:
    for name, content in units(finished).items():
        write_whole(tmp_path / name, content)
    Store(tmp_path, STUDY).write_manifest()
    path = Store(tmp_path, STUDY).path("fixed", 1)
    bad = KINDS[kind](unit, tmp_path)
    path.write_bytes(bad)
    with pytest.warns(UserWarning, match=f"left out: {path}") as told:
        partial = td.studies.load_results(tmp_path)
    assert told[0].filename == __file__
    whole = td.studies.load_results(finished)
    assert partial.equals(whole.filter((pl.col("method") != "fixed") | (pl.col("seed") != 1)))
    assert path.read_bytes() == bad, "to look does not change anything"
    outcome = td.studies.run_study(STUDY, tmp_path)
    assert outcome.done == len(outcome.set_aside) == 1
    assert outcome.set_aside[0].parent == tmp_path / "set-aside"
    assert outcome.set_aside[0].read_bytes() == bad
    assert units(tmp_path) == units(finished)
    assert td.studies.load_results(tmp_path).equals(whole)


@pytest.mark.parametrize(
    "trouble", [OSError(errno.EMFILE, "Too many open files"), OSError(errno.EIO, "Input/output error"),
                PermissionError(errno.EACCES, "Permission denied"), MemoryError()], ids=repr
)  # fmt: skip
def test_a_file_that_cannot_be_read_now_is_not_a_damaged_one(
    trouble: Exception, tmp_path: Path, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    bad, good = Store(tmp_path, STUDY).path("fixed", 0), Store(tmp_path, STUDY).path("greedy", 2)
    bad.write_bytes(b"damaged")
    before, read = {path for path in tmp_path.rglob("*") if path.is_file()}, Path.read_bytes

    def some(path: Path) -> bytes:
        if path == good:
            raise trouble
        return read(path)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_bytes", some)
        with pytest.raises(UnreadableError, match=f"{good} cannot be read now and is left unchanged: .+"):
            td.studies.run_study(STUDY, tmp_path)
        with pytest.warns(UserWarning, match="left out"), pytest.raises(UnreadableError):
            td.studies.load_results(tmp_path)
        watcher = Watcher(tmp_path)
        state = watcher.look()
        assert (state.done, state.read, state.damaged) == (5, 4, [str(bad)])
        assert len(state.unreadable) == 1
        assert str(good) in state.unreadable[0]
    assert before == {path for path in tmp_path.rglob("*") if path.is_file()}, "nothing has been moved"
    assert watcher.look().read == 5
    assert len(td.studies.run_study(STUDY, tmp_path).set_aside) == 1
    assert units(tmp_path) == units(finished)


def test_damaged_files_never_overwrite_each_other(tmp_path: Path) -> None:
    study = small(seeds=1, methods={"fixed": STUDY.methods["fixed"]})
    for content in (b"one", b"two"):
        write_whole(Store(tmp_path, study).path("fixed", 0), content)
        td.studies.run_study(study, tmp_path)
    assert sorted(path.read_bytes() for path in (tmp_path / "set-aside").iterdir()) == [b"one", b"two"]


def test_two_that_find_the_same_damage_do_not_quarrel(tmp_path: Path) -> None:
    path = Store(tmp_path, STUDY).path("fixed", 0)
    write_whole(path, b"bad")
    for _ in range(2):
        Store(tmp_path, STUDY).set_aside(path)
    assert [found.read_bytes() for found in (tmp_path / "set-aside").iterdir()] == [b"bad"]


def test_files_that_are_none_of_ours_are_let_alone(tmp_path: Path, finished: Path) -> None:
    for name, content in units(finished).items():
        write_whole(tmp_path / name, content)
    Store(tmp_path, STUDY).write_manifest()
    folder = Store(tmp_path, STUDY).path("fixed", 0).parent
    for name in ("notes.parquet", "x000001.parquet", ".unfinished-vm-1-2", "README"):
        (folder / name).write_bytes(b"mine")
    for name in ("1.parquet", "7.parquet"):  # copies under other names
        (folder / name).write_bytes((folder / "000001.parquet").read_bytes())
    assert td.studies.load_results(tmp_path).equals(td.studies.load_results(finished))
    assert td.studies.run_study(STUDY, tmp_path).done == 0
    assert (folder / "notes.parquet").read_bytes() == b"mine"


def test_what_a_process_was_writing_is_removed_only_if_it_is_surely_dead(tmp_path: Path) -> None:
    """Number and host name do not tell: those of another container may be the same, or mean nobody here."""
    study = small(seeds=1, methods={"fixed": STUDY.methods["fixed"]})
    folder, host = Store(tmp_path, study).path("fixed", 0).parent, socket.gethostname()
    folder.mkdir(parents=True)
    over = subprocess.Popen(["true"])
    over.wait()
    live = {f".unfinished-{host}-{over.pid}-1", f".unfinished-{host}-{os.getpid()}-2", ".unfinished-elsewhere-9-3"}
    dead = {f"{name}-dead" for name in live}
    for name in live | dead:
        (folder / name).write_bytes(b"half")
    for name in dead:
        os.utime(folder / name, (time.time() - 90_000,) * 2)
    td.studies.run_study(study, tmp_path)
    assert {path.name for path in leftovers(tmp_path)} == live


def test_two_processes_that_look_alike_write_to_different_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: 1)
    names: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda _: names.extend(path.name for path in leftovers(tmp_path)))
    for _ in range(2):
        write_whole(tmp_path / "file", b"x")
    assert len(set(names)) == 2


def test_a_damaged_manifest_is_refused_and_renewed(tmp_path: Path, finished: Path) -> None:
    for name, content in units(finished).items():
        write_whole(tmp_path / name, content)
    path, good = tmp_path / "manifest.json", (finished / "manifest.json").read_bytes()
    contents = [b"", b"[]", b"3", b"{}", b'"x"', b"\xff", good[:-2], good[: len(good) // 2], b'{"format": 1}']
    for content in [*contents, good.replace(b'"TrueOnlineTD"', b'"TrueOnlineGTD"'), good.replace(b'"keys"', b'"kays"')]:
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"manifest\.json is damaged"):
            td.studies.load_results(tmp_path)
    path.write_bytes(good.replace(b'"format": 1', b'"format": 2'))
    with pytest.raises(ValueError, match="has format 2, but this version reads format 1"):
        td.studies.load_results(tmp_path)
    assert td.studies.run_study(STUDY, tmp_path).done == 0
    assert td.studies.load_results(tmp_path).equals(td.studies.load_results(finished))


@pytest.mark.parametrize(
    "content", [b'{"manifest_version": 3, "name": "x", "format": "y"}', b"[]", b"a list\n", b"\xff"]
)
def test_a_manifest_of_somebody_else_is_not_overwritten(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(ValueError, match=r"out: .*manifest\.json is not a study's and is not overwritten"):
        td.studies.run_study(STUDY, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]
    assert (tmp_path / "manifest.json").read_bytes() == content


@pytest.mark.parametrize(
    "key", ["λ" * 250, "x" * 5000, "a\0b", "../../../elsewhere", "0123456789abcdef/..", "*", "", 3, None]
)
def test_a_forged_key_never_becomes_a_path(key: Any, tmp_path: Path, finished: Path) -> None:
    manifest = json.loads((finished / "manifest.json").read_bytes())
    del manifest["sum"]
    manifest["keys"][next(iter(manifest["keys"]))] = key
    (tmp_path / "manifest.json").write_text(json.dumps(manifest | {"sum": content_sum(manifest)}))
    readers: list[Any] = [td.studies.load_results, td.studies.load_study, lambda place: Watcher(place).look()]
    for read in readers:
        with pytest.raises(ValueError, match=r"manifest\.json is damaged.* one key for each method"):
            read(tmp_path)


def test_the_longest_name_of_a_method_can_be_written_read_and_set_aside(tmp_path: Path) -> None:
    longest = small(seeds=[2**32 - 1], methods={"漢" * 60: next(iter(STUDY.methods.values()))})
    assert td.studies.run_study(longest, tmp_path, progress=False).done == 1
    (path,) = tmp_path.glob("units/*/*.parquet")
    path.write_bytes(b"")
    assert td.studies.run_study(longest, tmp_path, progress=False).done == 1
    assert len(td.studies.load_results(tmp_path))
    assert Watcher(tmp_path).look().finished
    with pytest.raises(ValueError, match=r"methods: a name must be .* at most 180 bytes"):
        small(methods={"漢" * 61: next(iter(STUDY.methods.values()))})


def test_a_manifest_that_is_a_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").mkdir()
    with pytest.raises(ValueError, match=r"out: .*manifest\.json cannot be read"):
        td.studies.run_study(STUDY, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]


def test_a_bit_that_flips_in_the_manifest_changes_no_result(tmp_path: Path, finished: Path) -> None:
    """It is refused; or harmless, between the values and in the name of the sum itself."""
    for name, content in units(finished).items():
        write_whole(tmp_path / name, content)
    good, draw, whole = (finished / "manifest.json").read_bytes(), random.Random(2), td.studies.load_results(finished)
    accepted = 0
    for place in range(0, len(good), 13):
        damaged = bytearray(good)
        damaged[place] ^= 1 << draw.randrange(8)
        (tmp_path / "manifest.json").write_bytes(damaged)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = td.studies.load_results(tmp_path)
        except ValueError:
            continue
        assert found.equals(whole), place
        accepted += 1
    assert accepted < len(good) / 13 / 10
