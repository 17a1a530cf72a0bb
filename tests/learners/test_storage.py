"""Save and load: what comes back is the same learner, and no file can make anything else happen."""

import importlib
import inspect
import io
import json
import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pairing import COSTLY, pairs

import tdlambda as td
from tdlambda.core.runtime import COUNTERS
from tdlambda.learners import LEARNERS, storage
from tdlambda.learners.learner import Learner
from tdlambda.learners.storage import save
from tdlambda.loading import load

for _module in ("algorithms", "auto", "learners", "lab.reproduction"):  # learners are imported when they are used
    importlib.import_module(f"tdlambda.{_module}")
SPARSE = td.features.TileCoder([0, 0], [1, 1], tilings=4, tiles=8)
FEATURES = {"dense": td.features.OneHot(7), "sparse": SPARSE}
OWN = sorted(
    name
    for name, kind in LEARNERS.items()
    if kind.__module__.startswith("tdlambda.")
    and not inspect.isabstract(kind)
    and name not in ("Algorithm", "Stacking")
)


def build(name: str, features: td.Encoder, **options: Any) -> Learner:
    """A learner of any class."""
    kind: Any = LEARNERS[name]
    known = inspect.signature(kind).parameters
    needed = {"alpha": 0.05, "lam": 0.9, "n": 3}
    return kind(features, **{key: value for key, value in needed.items() if key in known}, **options)


def learn(learner: Learner, steps: int, seed: int) -> Learner:
    """Steps that leave an episode under way."""
    rng = np.random.default_rng(seed)
    one_hot = isinstance(learner.features, td.features.OneHot)

    def draw() -> Any:
        return int(rng.integers(learner.features.size)) if one_hot else rng.random(2)

    for t in range(steps):
        learner.update(draw(), rng.normal(), draw(), 0.9, 0.5 + rng.random(), terminated=t % 20 == 7)
    return learner


def state(learner: Learner) -> dict[str, Any]:
    return {name: array.tolist() for name, array in learner._state().items()}


def parts(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path: Path, members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def npy(array: Any, allow_pickle: bool = False) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=allow_pickle)
    return buffer.getvalue()


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "saved"
    learn(td.TrueOnlineTD(SPARSE, alpha=td.steps.OneOver("visits"), lam=0.9), 30, 1).save(path)
    return path


COMPILED = ("TD", "TrueOnlineTD", "GTD", "AutoTD")
"""Algorithms whose machine code other tests need too; the others run interpreted here, unless they have none."""


@pytest.mark.parametrize(
    ("name", "features"),
    pairs(OWN, FEATURES, lambda name, _: name in COMPILED or not issubclass(LEARNERS[name], td.Algorithm)),
)
def test_goes_on_bit_for_bit(name: str, features: str, tmp_path: Path) -> None:
    learner = learn(build(name, FEATURES[features]), 50, 1)
    learner.save(tmp_path / "learner")
    loaded = load(tmp_path / "learner")
    assert type(loaded) is type(learner)
    assert repr(loaded) == repr(learner)
    assert state(loaded) == state(learner)
    assert state(learn(loaded, 50, 2)) == state(learn(learner, 50, 2))


@COSTLY
@pytest.mark.parametrize(
    "learner",
    [
        td.TD(td.features.OneHot(7), 0.1, traces="dutch", dtype="float32"),
        td.TD(SPARSE, 0.01, traces="replacing", dtype="float32", bound=1e6, on_divergence="flag"),
        td.TrueOnlineTD(
            td.features.OneHot(7), td.steps.OneOver("visits", power=0.7), lam=np.linspace(0, 1, 7), initial=range(7)
        ),
        td.GTD(SPARSE, td.steps.OneOver("steps"), lam=0.3, beta=0.5, trace_tolerance=0.0),
        td.VTD(td.features.OneHot(7), 0.1, of="corrected", trace_lam=0.7),
        td.TD(td.features.TileCoder([0, 0], [1, 1], tiles=[10**6, 10**6], hash_size=200, bias=True), 0.01),
        td.TD(td.features.Fourier([0, 0], [1, 1], order=3), 0.01),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_every_kind_of_parameter(learner: Learner, tmp_path: Path) -> None:
    learn(learner, 30, 1).save(tmp_path / "learner")
    loaded = load(tmp_path / "learner")
    assert loaded.get_params() == learner.get_params()
    assert state(learn(loaded, 30, 2)) == state(learn(learner, 30, 2))


@pytest.mark.parametrize(
    "features",
    [td.features.GridTilings.frozen_lake(), td.features.Table([[0.1, 0.0], [1.0, -2.5]]), td.features.Dense(3)],
    ids=repr,
)
def test_every_kind_of_features(features: td.Encoder, tmp_path: Path) -> None:
    learner = td.TD(features, 0.1)
    learner.save(tmp_path / "learner")
    assert load(tmp_path / "learner").features == features


def test_a_diverged_learner_stays_diverged(tmp_path: Path) -> None:
    learner = td.TD(td.features.OneHot(3), 10.0, on_divergence="flag", bound=1e3)
    for _ in range(20):
        learner.update(0, 1.0, 1, 1.0)
        learner.update(1, 1e300, 0, 1.0)
    learner.save(tmp_path / "learner")
    assert load(tmp_path / "learner").diverged_at == learner.diverged_at is not None


# ---- the file ------------------------------------------------------------------------------------------------


def test_the_path_is_taken_as_it_is(tmp_path: Path) -> None:
    for name in ("values", "values.npz", "values.tar.gz", "Werte λ"):
        td.TD(td.features.OneHot(3), 0.1).save(tmp_path / name)
        td.TD(td.features.OneHot(3), 0.1).save(str(tmp_path / name))
    assert sorted(os.listdir(tmp_path)) == sorted(["values", "values.npz", "values.tar.gz", "Werte λ"])


@COSTLY
def test_numpy_can_read_it(saved: Path) -> None:
    with np.load(saved, allow_pickle=False) as arrays:
        weights = load(saved).weights
        assert np.array_equal(arrays["rows"][0, : weights.size], weights)


def test_equal_learners_have_equal_files(tmp_path: Path) -> None:
    for name in "ab":
        learn(td.TD(td.features.OneHot(7), 0.1), 20, 1).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("culprit", ["os.replace", "os.fsync", "zipfile.ZipFile.writestr"])
def test_an_interrupted_save_leaves_the_old_file(culprit: str, saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    old = saved.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(culprit, interrupted)
        with pytest.raises(KeyboardInterrupt):
            td.TD(td.features.OneHot(3), 0.1).save(saved)
    assert saved.read_bytes() == old
    assert os.listdir(saved.parent) == [saved.name]


def test_a_link_stays_a_link(saved: Path) -> None:
    link = saved.parent / "link"
    link.symlink_to(saved)
    td.TD(td.features.OneHot(3), 0.1).save(link)
    assert link.is_symlink()
    assert load(saved).features == td.features.OneHot(3)


def test_a_missing_file_is_called_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing")


# ---- what cannot be saved ------------------------------------------------------------------------------------


def test_custom_features_say_how_to_keep_the_weights(tmp_path: Path) -> None:
    learner = td.TD(td.features.Custom(lambda s: [s, 1.0], size=2), 0.1)
    with pytest.raises(TypeError, match=r"Custom cannot be saved.*numpy\.save\(path, learner\.weights\)"):
        learner.save(tmp_path / "learner")
    assert os.listdir(tmp_path) == []


def test_an_encoder_of_the_users_that_has_a_known_name(tmp_path: Path) -> None:
    impostor = type("OneHot", (td.features.OneHot,), {})
    with pytest.raises(TypeError, match="OneHot cannot be saved"):
        td.TD(impostor(3), 0.1).save(tmp_path / "learner")


def test_what_is_no_registered_learner(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="registered class"):
        save("learner", tmp_path / "learner")  # type: ignore[arg-type]


# ---- damaged and hostile files -------------------------------------------------------------------------------


def test_every_truncation_is_noticed(saved: Path) -> None:
    data = saved.read_bytes()
    broken = saved.parent / "broken"
    for length in [*range(0, len(data), max(1, len(data) // 150)), *range(len(data) - 120, len(data))]:
        broken.write_bytes(data[:length])
        with pytest.raises(ValueError, match="cannot be loaded"):
            load(broken)


def test_a_flipped_byte_is_noticed_or_harmless(tmp_path: Path) -> None:
    learner = learn(td.TD(td.features.OneHot(3), 0.1), 5, 1)
    learner.save(tmp_path / "good")
    data = (tmp_path / "good").read_bytes()
    expected = state(learner)
    rng = np.random.default_rng(1)
    broken, harmless = tmp_path / "broken", 0
    for position in range(len(data)):
        flipped = bytearray(data)
        flipped[position] ^= int(rng.integers(1, 256))
        broken.write_bytes(flipped)
        try:
            loaded = load(broken)
        except ValueError:
            continue
        harmless += 1
        assert state(loaded) == expected  # such as the date of a part
        learn(loaded, 3, 2)
    assert harmless < len(data) / 4


def changed_header(saved: Path, change: Callable[[dict[str, Any]], Any]) -> Path:
    members = parts(saved)
    header = json.loads(members["header.json"])
    change(header)
    return write(saved.parent / "hostile", members | {"header.json": json.dumps(header).encode()})


HOSTILE_HEADERS: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "newer": (lambda h: h.update(format=5, tdlambda="9.9"), "format 5, from tdlambda 9.9.*upgrade"),
    "no format": (lambda h: h.pop("format"), "no format"),
    "an older format": (lambda h: h.update(format=1), "format 1, but this version of tdlambda reads only format 4"),
    "the format of 0.1": (
        lambda h: h.update(format=2, tdlambda="0.1"),
        "format 2, but .* load the file with tdlambda 0.1",
    ),
    "format is no number": (lambda h: h.update(format=True), "no format"),
    "format 0": (lambda h: h.update(format=0), "format 0, but"),
    "no params": (lambda h: h.pop("params"), "its header has no parameters"),
    "no learner": (lambda h: h.pop("learner"), "names no learner"),
    "learner is a list": (lambda h: h.update(learner=[]), "cannot be loaded"),
    "unknown learner": (lambda h: h.update(learner="os.system"), "'os.system'"),
    "abstract learner": (lambda h: h.update(learner="VarianceLearner"), "VarianceLearner"),
    "other learner": (lambda h: h.update(learner="GTD"), "does not fit"),
    "unknown parameter": (lambda h: h["params"].update(bogus=1), "bogus"),
    "bad parameter": (lambda h: h["params"].update(alpha=-1), "alpha"),
    "alpha is text": (lambda h: h["params"].update(alpha="x"), "alpha"),
    "alpha is not a number": (lambda h: h["params"].update(alpha=float("nan")), "NaN"),
    "no features": (lambda h: h["params"].pop("features"), "features"),
    "features are a number": (lambda h: h["params"].update(features=3), "features"),
    "unknown features": (lambda h: h["params"]["features"].update(type="Popen"), "unknown class 'Popen'"),
    "custom features": (lambda h: h["params"]["features"].update(type="Custom"), "unknown class 'Custom'"),
    "abstract features": (lambda h: h["params"]["features"].update(type="Encoder"), "unknown class 'Encoder'"),
    "features by a list": (lambda h: h["params"]["features"].update(type=["OneHot"]), "unknown"),
    "features without params": (lambda h: h["params"]["features"].pop("params"), "unknown"),
    "other features": (lambda h: h["params"]["features"]["params"].update(tilings=3), "does not fit|not consistent"),
    "other dtype": (lambda h: h["params"].update(dtype="float32"), "'rows'"),
    "deep": (lambda h: h["params"].update(initial=json.loads("[" * 500 + "]" * 500)), "cannot be loaded"),
}


@pytest.mark.parametrize("case", HOSTILE_HEADERS)
def test_a_hostile_header(case: str, saved: Path) -> None:
    change, message = HOSTILE_HEADERS[case]
    with pytest.raises(ValueError, match=message):
        load(changed_header(saved, change))


HUGE = 10**12
ABSURD: dict[str, dict[str, Any]] = {
    "OneHot": {"n": HUGE},
    "Dense": {"n": HUGE},
    "Dense of some": {"n": 10**8},
    "TileCoder": {"low": [0], "high": [1], "tilings": HUGE, "tiles": [1], "hash_size": None},
    "TileCoder by tiles": {"low": [0, 0], "high": [1, 1], "tilings": 1, "tiles": [HUGE, 10**5], "hash_size": None},
    "TileCoder by hash": {"low": [0], "high": [1], "tilings": 1, "tiles": [8], "hash_size": HUGE},
    "TileCoder by a negative": {"low": [0], "high": [1], "tilings": HUGE, "tiles": [8], "hash_size": -3 * HUGE},
    "Fourier": {"low": [0], "high": [1], "order": HUGE},
    "Fourier by dimensions": {"low": [0] * 6, "high": [1] * 6, "order": 34},
    "Fourier by many": {"low": [0] * 10**4, "high": [1] * 10**4, "order": 10**9},
    "GridTilings": {"shape": [HUGE], "cuts": [[[]]]},
    "Network": {"inputs": HUGE, "hidden": [1]},
    "Network by units": {"inputs": 1, "hidden": [20_000, 20_000]},
    "GridTilings by cells": {"shape": [2000] * 2, "cuts": [[list(range(1, 2000))] * 2] * 3},
}


@pytest.mark.parametrize("case", ABSURD)
def test_absurd_sizes_are_refused_before_they_are_made(case: str, saved: Path) -> None:
    resource = pytest.importorskip("resource")
    features = {"type": case.split()[0], "params": ABSURD[case]}
    path = changed_header(saved, lambda h: h["params"].update(features=features))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ValueError, match=r"parameters need|would allocate|must"):
        load(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kB


@pytest.mark.skipif("LSTD" not in LEARNERS, reason="no learner with a matrix")
def test_a_matrix_that_is_not_in_the_file(tmp_path: Path) -> None:
    td.TD(td.features.OneHot(20_000), 0.1).save(tmp_path / "td")
    build("LSTD", td.features.OneHot(3)).save(tmp_path / "lstd")
    header = json.loads(parts(tmp_path / "lstd")["header.json"])
    header["params"]["features"]["params"]["n"] = header["params"]["max_size"] = 20_000
    members = parts(tmp_path / "td") | {"header.json": json.dumps(header).encode()}
    resource = pytest.importorskip("resource")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ValueError, match="cannot be loaded"):
        load(write(tmp_path / "hostile", members))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kB


def changed_array(saved: Path, name: str, change: Callable[[Any], Any]) -> Path:
    members = parts(saved)
    array = np.load(io.BytesIO(members[f"{name}.npy"])).copy()
    result = change(array)
    members[f"{name}.npy"] = npy(array if result is None else result)
    return write(saved.parent / "hostile", members)


N_LIVE = COUNTERS.index("n_live")
HOSTILE_ARRAYS: dict[str, tuple[str, Callable[[Any], Any], str]] = {
    "weights not finite": ("rows", lambda a: a.__setitem__((0, 0), np.nan), "array 'rows' must be finite"),
    "numbers not finite": ("numbers", lambda a: a.__setitem__(-1, np.inf), "array 'numbers' must be finite"),
    "shape": ("rows", lambda a: a[:, :-1], "does not fit"),
    "dimensions": ("rows", np.ravel, "'rows'"),
    "dtype": ("rows", lambda a: a.astype(np.float32), "'rows'"),
    "complex": ("rows", lambda a: a.astype(complex), "must be numbers in row-major order"),
    "text": ("rows", lambda a: a.astype(str), "must be numbers in row-major order"),
    "record": ("rows", lambda _: np.zeros(3, dtype=[("a", "f8")]), "must be numbers in row-major order"),
    "by column": ("rows", np.asfortranarray, "must be numbers in row-major order"),
    "live feature out of range": ("live", lambda a: a.__setitem__((0, 2), 10**9), "live"),
    "live feature negative": ("live", lambda a: a.__setitem__((0, 2), -1), "live"),
    "live feature twice": ("live", lambda a: a.__setitem__((0, 2), a[0, 3]), "live"),
    "live feature not marked": ("live", lambda a: a.__setitem__((1, a[0, 2]), 0), "live"),
    "too many live": ("counts", lambda a: a.__setitem__(N_LIVE, 10**6), "live"),
    "fewer than none live": ("counts", lambda a: a.__setitem__(N_LIVE, -5), "live"),
    "more features than there are": (
        "counts",
        lambda a: a.__setitem__(COUNTERS.index("size"), 10**6),
        "size must be 256; got 1000000",
    ),
    "steps negative": ("counts", lambda a: a.__setitem__(COUNTERS.index("steps"), -1), "a counter is negative"),
    "another step size": ("numbers", lambda a: a.__setitem__(0, 2.0), r"alpha must be .*; got 2\.0"),
    "visits negative": ("rows", lambda a: a.__setitem__((-1, 0), -1.0), "a counter is negative"),
}


@pytest.mark.parametrize("case", HOSTILE_ARRAYS)
def test_a_hostile_array(case: str, saved: Path) -> None:
    name, change, message = HOSTILE_ARRAYS[case]
    with pytest.raises(ValueError, match=message):
        load(changed_array(saved, name, change))


class Canary:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (str(self.path), "w")


def test_nothing_is_unpickled(saved: Path) -> None:
    canary = saved.parent / "canary"
    objects = np.array([[Canary(canary)]], dtype=object)
    hostile = saved.parent / "hostile"
    with pytest.raises(ValueError, match="must be numbers in row-major order"):
        load(write(hostile, parts(saved) | {"rows.npy": npy(objects, allow_pickle=True)}))
    for data in (pickle.dumps(Canary(canary)), npy(objects, allow_pickle=True)):
        hostile.write_bytes(data)
        with pytest.raises(ValueError, match="cannot be loaded"):
            load(hostile)
        for name in ("header.json", "rows.npy", "more.npy", "more.pkl"):
            with pytest.raises(ValueError, match="cannot be loaded"):
                load(write(hostile, parts(saved) | {name: data}))
    assert not canary.exists()


@pytest.mark.parametrize(
    "header", [b"", b"{", b"[]", b"3", b"[" * 10**5, b'{"format": ' + b"9" * 10**4 + b"}", b"\xff"]
)
def test_a_header_that_is_none(header: bytes, saved: Path) -> None:
    with pytest.raises(ValueError, match="cannot be loaded"):
        load(write(saved.parent / "hostile", parts(saved) | {"header.json": header}))


@pytest.mark.parametrize("absent", ["header.json", "rows.npy", "own.npy", "live.npy", "numbers.npy", "counts.npy"])
def test_a_missing_part(absent: str, saved: Path) -> None:
    members = {name: data for name, data in parts(saved).items() if name != absent}
    with pytest.raises(ValueError, match=absent.split(".")[0]):
        load(write(saved.parent / "hostile", members))


def test_a_part_too_many(saved: Path) -> None:
    with pytest.raises(ValueError, match="does not use"):
        load(write(saved.parent / "hostile", parts(saved) | {"more.npy": npy(np.zeros(3))}))


def test_a_zip_bomb(saved: Path) -> None:
    bomb = parts(saved) | {"rows.npy": npy(np.zeros((3, 10**6)))}
    with pytest.raises(ValueError, match="stored uncompressed"):
        load(write(saved.parent / "hostile", bomb, zipfile.ZIP_DEFLATED))


def test_an_array_that_claims_more_than_it_has(saved: Path) -> None:
    claim = b"{'descr': '<f8', 'fortran_order': False, 'shape': (3, 1000000000000), }\n"
    data = b"\x93NUMPY\x01\x00" + len(claim).to_bytes(2, "little") + claim + bytes(64)
    with pytest.raises(ValueError, match="claims"):
        load(write(saved.parent / "hostile", parts(saved) | {"rows.npy": data}))


def test_parts_that_lie_upon_each_other(saved: Path) -> None:
    """Many entries of the directory that point at the same bytes."""
    with zipfile.ZipFile(saved) as archive:
        entry = archive.getinfo("rows.npy")
        hostile = saved.parent / "hostile"
        hostile.write_bytes(saved.read_bytes())
    with zipfile.ZipFile(hostile, "a") as archive:
        archive.filelist.extend([entry] * 50)
        archive._didModify = True  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="larger than the file"):
        load(hostile)


def test_all_that_features_and_rules_export_can_be_saved() -> None:
    assert {"OneHot", "TileCoder", "Fourier", "GridTilings", "Table", "Dense", "Fixed", "PerState", "OneOver"} <= set(
        storage._parts()
    )
    assert not {"Custom", "Encoder", "Rule"} & set(storage._parts())
