"""`PublishedTrueOnlineGTD`: the published form of true online GTD(λ), by its equations in plain NumPy."""

from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda.lab.reproduction import PublishedTrueOnlineGTD


def by_the_equations(steps: Any, X: Any, alpha: float, lam: float, last: float) -> Any:
    w, h = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    w_old, e, e_grad, e_h, decay, rho_prev = w, 0 * w, 0 * w, 0 * w, 0.0, 1.0
    for t in range(len(steps.reward)):
        x, y, rho, end = X[steps.obs[t]], X[steps.next_obs[t]], steps.rho[t], steps.terminated[t]
        gamma, reach = (0.0, last) if end else (steps.gamma[t], steps.gamma[t])
        delta = steps.reward[t] + gamma * (w @ y) - w @ x
        e = rho * decay * e + alpha * rho * (1 - rho * decay * (e @ x)) * x
        e_grad = rho * (decay * e_grad + x)
        e_h = rho_prev * decay * e_h + alpha * (1 - rho_prev * decay * (e_h @ x)) * x
        ahead = delta * e + (w @ x - w_old @ x) * (e - alpha * rho * x) - alpha * reach * (1 - lam) * (h @ e_grad) * y
        w_old, w, h = w, w + ahead, h + rho * delta * e_h - alpha * (h @ x) * x
        decay, rho_prev = gamma * lam, rho
        if end:
            w_old, e, e_grad, e_h, decay = w, 0 * w, 0 * w, 0 * w, 0.0
    return w


@pytest.mark.parametrize("last", [0.0, 0.95])
@pytest.mark.parametrize("lam", [0.0, 0.6])
def test_the_correction_at_terminal_features(lam: float, last: float) -> None:
    lake = td.make("FrozenLake-v0")
    steps, X = lake.sampler(3).take(4000), lake.features.matrix(np.arange(16))
    found = [PublishedTrueOnlineGTD(lake.features, 0.01, lam, last_discount=last)]
    found += [td.TrueOnlineGTD(lake.features, 0.01, lam)] if last == 0 else []  # type: ignore[list-item]
    for v in found:
        v.update_many(steps)
        np.testing.assert_allclose(v.weights, by_the_equations(steps, X, 0.01, lam, last), atol=1e-12)


def test_it_changes_shared_features_alone() -> None:
    lake, ring = td.make("FrozenLake-v0"), td.make("RingWorld-v0")
    for task, shared in ((lake, True), (ring, False)):
        states = np.flatnonzero(~task.mdp.terminal)
        found = []
        for make in (td.TrueOnlineGTD, PublishedTrueOnlineGTD):
            v = make(task.features, 0.01, 0.3)
            v.update_many(task.sampler(1).take(3000))
            found.append(v.predict_many(states))
        assert np.array_equal(found[0], found[1]) is not shared


def test_it_is_saved_and_refused(tmp_path: Any) -> None:
    v = PublishedTrueOnlineGTD(td.features.OneHot(3), 0.1, 0.5, last_discount=0.9)
    v.save(tmp_path / "v.npz")
    assert td.load(tmp_path / "v.npz").get_params()["last_discount"] == 0.9
    with pytest.raises(ValueError, match="last_discount"):
        PublishedTrueOnlineGTD(td.features.OneHot(3), 0.1, 0.5, last_discount=1.5)
    with pytest.raises(TypeError, match="TrueOnlineGTD has no argument last_discount"):
        td.TrueOnlineGTD(td.features.OneHot(3), 0.1, 0.5, last_discount=0.9)
