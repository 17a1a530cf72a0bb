"""Faults: what no network should meet, and what becomes of it."""

import json
import resource
import threading
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plain_network import transitions

import tdlambda as td

NET: Any = td.Network(3, (8, 8))


def learner(**options: Any) -> Any:
    """The model that other tests compile too."""
    return td.TD(NET, td.steps.IntentionalRMS(0.1), 0.8, **options)


def columns(n: int, seed: int) -> Any:
    """Observations, rewards, next observations, γ, ρ, termination, truncation."""
    return [np.array(column) for column in list(zip(*transitions(n, 3, seed), strict=True))[:7]]


def test_inputs_of_1e30_count_as_ten_deviations() -> None:
    v = learner()
    v.update_many(*columns(200, seed=7))
    assert v.predict([1e30, 1.0, 0.0]) == v.predict([1e3, 1.0, 0.0]) == v.predict([1e300, 1.0, 0.0])
    assert v.predict([1e30, 1.0, 0.0]) != v.predict([1.0, 1.0, 0.0])


@pytest.mark.parametrize(("size", "reward"), [(1e30, 1.0), (1e300, 1.0), (1e-300, 1.0), (1.0, 1e300), (1.0, 1e-300)])
def test_learning_from_extreme_numbers(size: float, reward: float, tmp_path: Path) -> None:
    v, (x, r, y, *rest) = learner(), columns(100, seed=8)
    x[:, 2] = y[:, 2] = 7.0  # and one that does not vary
    v.update_many(size * x, reward * np.tanh(r), size * y, *rest)
    assert v.diverged_at is None
    assert np.isfinite(v.predict_many(size * x)).all()
    v.save(tmp_path / "v")
    assert td.load(tmp_path / "v").predict(size * x[0]) == v.predict(size * x[0])


@pytest.mark.interpreted
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # where NaN is looked for, uncompiled
def test_refused_rows_change_nothing() -> None:
    v, (x, r, y, *_) = learner(), columns(30, seed=12)
    v.update_many(x, r, y, 0.9)
    before = {name: array.tobytes() for name, array in v._state().items()}
    for k, value in ((0, np.nan), (1, np.inf), (2, np.nan)):
        given = [x.copy(), r.copy(), y.copy()]
        given[k][7, ...] = value
        with pytest.raises(ValueError, match=r"must be finite; got (nan|inf)"):
            v.update_many(*given, 0.9)
        with pytest.raises(ValueError, match=r"must be finite; got (nan|inf)"):
            v.update(given[0][7], given[1][7], given[2][7], 0.9)
    with pytest.raises(ValueError, match="must have the shape"):
        v.update_many(x[:, :2], r, y[:, :2], 0.9)
    assert before == {name: array.tobytes() for name, array in v._state().items()}


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_unit_of_rewards_does_not_matter(scale: float) -> None:
    v, w = learner(), learner()
    for x, reward, y, gamma, rho, terminated, truncated, _ in transitions(300, 3, seed=2):
        v.update(x, scale * reward, y, gamma, rho, terminated, truncated)
        w.update(x, reward, y, gamma, rho, terminated, truncated)
    assert v.predict(y) == pytest.approx(scale * w.predict(y), rel=1e-3)


def test_a_dead_network_learns_the_mean() -> None:
    """All parameters are 0: every unit is off, and only the last bias has a gradient."""
    v = learner(initial=np.zeros(NET.size))
    x, reward, y, *_ = columns(5000, seed=3)
    v.update_many(x, 1 + reward / 3, y, 0.5)
    assert v.predict(y[0]) == pytest.approx(2.0, rel=0.15)
    assert np.count_nonzero(v.row("V_w")) == 1


def test_divergence_is_noticed() -> None:
    v = td.TD(td.Network(3, (8,)), 30.0, 1.0)
    rows = list(transitions(2000, 3, seed=4))
    x, _, y, *_ = rows[0]  # any observations
    with pytest.raises(td.Diverged):
        v.update_many(*[np.array(c) for c in list(zip(*rows, strict=True))[:3]], gamma=1.0)  # type: ignore[misc]
    assert np.isfinite(v.row("V_w")).all()
    assert np.isfinite(v.predict(x))
    before = v.row("V_w").copy()
    v.update(x, 1.0, y, 1.0)
    assert np.array_equal(before, v.row("V_w"))


@pytest.mark.interpreted
@pytest.mark.parametrize("lam", [0.9, 1.0])
def test_obgd_without_discount_that_diverges_is_noticed(lam: float) -> None:
    """ObGD bounds a step only where gradients are bounded: large raw inputs without LayerNorm are not."""
    network = td.Network(3, (8,), layer_norm=False, normalize_inputs=False)
    v, X = td.TD(network, td.steps.ObGD(kappa=0.01), lam), 1e3 * np.random.default_rng(0).normal(size=(51, 3))
    with pytest.raises(td.Diverged):
        v.update_many(X[:-1], np.full(50, -1.0), X[1:], 1.0)
    assert v.diverged_at
    assert all(np.isfinite(v.row(name)).all() for name in ("V_w", "V_e"))
    assert np.isfinite(v.predict_many(X)).all()


@pytest.mark.interpreted
def test_obgd_without_discount_that_drifts_is_noticed() -> None:
    """ObGD bounds |δ|, so with γ = 1 many small errors outweigh the large one at the end, and V falls forever."""
    X, ends = np.random.default_rng(1).normal(size=(2501, 3)), np.arange(2500) % 50 == 49
    columns = X[:-1], np.full(2500, -1.0), X[1:], 1.0
    with pytest.raises(td.Diverged):
        td.TD(NET, td.steps.ObGD(), 0.9, bound=1.0).update_many(*columns, terminated=ends)
    v = td.TD(NET, td.steps.IntentionalRMS(0.3), 0.9, bound=1.0)
    v.update_many(*columns, terminated=ends)
    assert (abs(v.predict_many(X[:100]) + 25) < 50).all()  # returns are -1 to -50


@pytest.mark.slow
@pytest.mark.parametrize("lam", [0.9, 0.95, 1.0])
def test_obgd_without_discount_stays_in_the_order_of_returns(lam: float) -> None:
    rng, n = np.random.default_rng(0), 100_000
    v, X, ends = td.TD(NET, td.steps.ObGD(), lam), rng.normal(size=(n + 1, 3)), rng.random(n) < 0.01
    v.update_many(X[:-1], np.full(n, -1.0), X[1:], 1.0, terminated=ends)
    assert (abs(v.predict_many(X[:1000]) + 100) < 900).all()  # returns are -100 in the mean, up to -1,000


def test_saving_in_the_middle_of_an_episode(tmp_path: Path) -> None:
    x, reward, y, gamma, rho, *_ = columns(40, seed=9)
    x[1:], never = y[:-1], np.zeros(40, bool)
    v = learner()
    v.update_many(x[:20], reward[:20], y[:20], gamma[:20], rho[:20], never[:20], never[:20])
    assert v.row("V_e").any()
    v.save(tmp_path / "v")
    for other in (td.load(tmp_path / "v"), v.clone()):
        for k in range(20, 40):
            other.update(x[k], reward[k], y[k], gamma[k], rho[k], truncated=k == 39)
        whole = learner()
        whole.update_many(x, reward, y, gamma, rho, never, np.arange(40) == 39)
        for name, array in whole._state().items():
            assert array.tobytes() == other._state()[name].tobytes(), name
        assert not other.row("V_e").any()


@pytest.mark.parametrize(("name", "other"), [("hidden", [8, 9]), ("hidden", [8]), ("inputs", 4), ("averaged", False)])
def test_a_file_of_another_shape(name: str, other: Any, tmp_path: Path) -> None:
    v = learner()
    v.update([1.0, 2.0, 3.0], 1.0, [3.0, 2.0, 1.0], 0.9)
    v.save(tmp_path / "v")
    with zipfile.ZipFile(tmp_path / "v") as file, zipfile.ZipFile(tmp_path / "w", "w") as changed:
        for member in file.namelist():
            content = file.read(member)
            if member == "header.json":
                header = json.loads(content)
                header["params"]["features"]["params"][name] = other
                content = json.dumps(header).encode()
            changed.writestr(member, content)
    with pytest.raises(ValueError, match="does not fit"):
        td.load(tmp_path / "w")


@pytest.mark.slow
def test_a_million_steps_in_flat_memory() -> None:
    v, data = learner(), columns(10_000, seed=10)

    def learn(times: int) -> int:
        for _ in range(times):
            v.update_many(*data)
            v.predict_many(data[0])
            for k in range(500):
                v.update(*(column[k] for column in data))
                v.predict(data[0][k])
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    begun = learn(5)
    assert learn(95) - begun < 2_000  # kB; a leak of 2 bytes per step would show
    assert v.memory["steps"] == 1_050_000
    assert np.isfinite(v.predict_many(data[0])).all()


def test_loading_another_shape(tmp_path: Path) -> None:
    v = learner()
    v.update([1.0, 2.0, 3.0], 1.0, [3.0, 2.0, 1.0], 0.9)
    v.save(tmp_path / "v")
    assert repr(td.load(tmp_path / "v")) == repr(v)
    other = td.TD(td.Network(3, (9,)), 0.1)
    with pytest.raises(ValueError, match="does not fit"):
        other._restore(v._state())
    state = {name: array.copy() for name, array in v._state().items()}
    state["inputs"][1] = -1.0
    with pytest.raises(ValueError, match="statistics of the inputs"):
        v._restore(state)


def test_predictions_in_another_thread_do_not_disturb_learning() -> None:
    rows = list(transitions(20_000, 3, seed=5))
    x, reward, y, gamma, rho, terminated, truncated, _ = map(np.array, zip(*rows, strict=True))
    v, quiet, over = learner(), learner(), threading.Event()

    def predict() -> None:
        while not over.is_set():
            v.predict_many(x[:50])
            v.predict(x[0])

    thread = threading.Thread(target=predict)
    v.predict(x[0])
    thread.start()
    v.update_many(x, reward, y, gamma, rho, terminated, truncated)
    over.set()
    thread.join()
    quiet.update_many(x, reward, y, gamma, rho, terminated, truncated)
    assert np.array_equal(v.row("V_w"), quiet.row("V_w"))
