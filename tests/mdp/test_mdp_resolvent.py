"""The three linear solvers agree, and large models stay cheap."""

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_mdps import SEEDS, Array, walk
from scipy import sparse
from searching import examples

import tdlambda as td
from tdlambda.mdp import resolvent
from tdlambda.mdp.resolvent import Resolvent, cannot_reach, diverging

PATHS = ["dense", "sparse", "krylov"]


def force(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """One solver for every matrix that has a state."""
    monkeypatch.setattr(Resolvent, "method", property(lambda self: path if self.n else "dense"))


def contraction(seed: int, n: int, radius: float = 0.9) -> Array:
    """A random M ≥ 0 whose rows sum to the radius."""
    rng = np.random.default_rng(seed)
    M = rng.random((n, n)) * (rng.random((n, n)) < 3 / n) + 0.1 * np.eye(n)
    return np.asarray(radius * M / M.sum(axis=1, keepdims=True))


def test_the_thresholds_choose_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    M = random_walk(301).under().P()
    assert Resolvent(M).method == "sparse"
    monkeypatch.setattr(resolvent, "_BANDED_BELOW", 0)
    assert Resolvent(M).method == "krylov"
    monkeypatch.setattr(resolvent, "_DENSE_BELOW", 301)
    assert Resolvent(M).method == "dense"
    assert Resolvent(sparse.csr_array((302, 302))).method == "sparse"  # nothing in it


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("seed", range(4))
def test_all_paths_solve_the_same_system(path: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    M, rng = contraction(seed, 60), np.random.default_rng(seed)
    force(monkeypatch, path)
    solver = Resolvent(sparse.csr_array(M))
    for b in (rng.normal(size=60), rng.normal(size=(60, 3)), np.zeros(60)):
        np.testing.assert_allclose(solver.solve(b), np.linalg.solve(np.eye(60) - M, b), atol=1e-10)
        np.testing.assert_allclose(solver.solve_transposed(b), np.linalg.solve(np.eye(60) - M.T, b), atol=1e-10)
    assert solver.converges()
    assert not Resolvent(sparse.csr_array(1.2 * M)).converges()


@pytest.mark.parametrize("path", ["sparse", "krylov"])
def test_whole_mdp_through_each_path(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pi, b, rng = [0.35, 0.65], [0.4, 0.6], np.random.default_rng(0)
    V, lam, X = rng.normal(size=11), rng.random(11), rng.normal(size=(11, 4))

    def answers(mdp: td.FiniteMDP) -> list[Any]:
        system = mdp.under(pi, b).linear_system(X, lam)
        moments = mdp.under(pi, b).lambda_return(V, lam)
        gradient = mdp.under(pi, b).target_error_gradient(V, lam)
        old = [
            mdp.v(pi),
            mdp.under(pi).state_distribution(),
            moments.mean,
            moments.variance,
            gradient,
            system.A,
            system.b,
        ]
        emphatic = mdp.under(pi, b).linear_system(X, lam, method="etd")
        cut = mdp.under(pi, b).linear_system(X, lam, correction="tree")
        pickle.loads(pickle.dumps(cut))  # whatever factors were kept
        average, trace = mdp.under(pi).average_reward(), mdp.under(pi, b).expected_trace(X, lam)
        differential = mdp.under(pi, b).differential_fixed_point(X, lam)
        new = [emphatic.A, emphatic.key_matrix(), cut.A, cut.b, average.bias, trace, differential.weights]
        return old + new + [mdp.under(pi, b).trace_operator(lam, correction="retrace", values="action").Z]

    expected = answers(walk())
    force(monkeypatch, path)
    for ours, theirs in zip(answers(walk()), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-10)
    loop = td.FiniteMDP(np.array([[[1.0, 0], [0, 1]], [[0, 0], [0, 0]]]), [1.0, 0], terminal=[1])
    assert loop.under([0.5, 0.5], [0.25, 0.75]).return_variance().tolist() == [np.inf, 0]


@examples(80)
@given(SEEDS, st.integers(1, 8))
def test_diverging_is_the_spectral_radius_of_what_can_be_reached(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    M = 2 * rng.random((n, n)) * (rng.random((n, n)) < 1.2 / n)
    reach = np.linalg.matrix_power(np.eye(n) + (M > 0), n) > 0
    expected = [bool(np.abs(np.linalg.eigvals(M[np.ix_(reach[s], reach[s])])).max() >= 1) for s in range(n)]
    assert diverging(sparse.csr_array(M)).tolist() == expected
    assert Resolvent(sparse.csr_array(M)).converges() == (not any(expected))


@examples(40)
@given(SEEDS, st.integers(1, 8))
def test_cannot_reach_ignores_edges_of_weight_zero(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    M = (rng.random((n, n)) < 1.2 / n).astype(float)
    goal = rng.random(n) < 0.3
    reach = np.linalg.matrix_power(np.eye(n) + M, n) > 0
    expected = np.flatnonzero(~(reach & goal).any(axis=1))
    stored = sparse.csr_array(np.ones((n, n)))
    stored.data = M.ravel().copy()  # the zeros are stored too
    assert stored.nnz == n * n
    np.testing.assert_array_equal(cannot_reach(stored, goal), expected)


def test_exactly_singular_is_an_error() -> None:
    assert not Resolvent(sparse.csr_array([[1.0]])).converges()
    assert not Resolvent(sparse.csr_array([[0.0, 1.0], [1.0, 0.0]])).converges()
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        Resolvent(sparse.csr_array([[1.0]])).solve(np.ones(1))


def random_walk(n: int) -> td.FiniteMDP:
    inside = np.arange(1, n - 1)
    rows, columns = np.repeat(inside, 2), np.column_stack((inside - 1, inside + 1)).ravel()
    P = sparse.csr_array((np.full(rows.size, 0.5), (rows, columns)), shape=(n, n))
    R = sparse.csr_array(([1.0], ([n - 2], [n - 1])), shape=(n, n))
    return td.FiniteMDP([P], R, discount=1.0, terminal=[0, n - 1], start=n // 2)


@pytest.mark.parametrize("n", [10**3, 10**4, 10**5])
def test_long_walk_without_discount(n: int) -> None:
    mdp = random_walk(n)
    v = np.arange(n) / (n - 1)
    v[-1] = 0.0
    np.testing.assert_allclose(mdp.v(), v, atol=1e-6)
    solver = Resolvent(mdp.under().P())
    solver.solve(np.ones(n))
    assert solver.method == "sparse"
    assert solver.stored <= 3 * mdp.under().P().nnz
    # a win or not: Var = v(1-v); visits from the middle, a tent: 2 min(s, n-1-s) (n-1-n/2 or n/2)/(n-1)
    np.testing.assert_allclose(mdp.under().return_variance(), v * (1 - v), atol=1e-6)
    s, start = np.arange(n), n // 2
    visits = 2 * np.minimum(s, start) * (n - 1 - np.maximum(s, start)) / (n - 1)
    visits[[0, -1]] = [1 - start / (n - 1), start / (n - 1)]
    np.testing.assert_allclose(mdp.under().state_distribution() * visits.sum(), visits, rtol=1e-6, atol=1e-6)


def test_large_random_graph_goes_through_krylov() -> None:
    n, rng = 20_000, np.random.default_rng(5)
    P = sparse.csr_array((np.full(4 * n, 0.25), (np.repeat(np.arange(n), 4), rng.integers(n, size=4 * n))), (n, n))
    mdp = td.FiniteMDP([P], rng.normal(size=n), discount=0.9)
    solver = Resolvent(sparse.csr_array(0.9 * mdp.under().P()))
    assert solver.method == "krylov"
    assert solver.stored == solver.matrix.nnz
    np.testing.assert_allclose(mdp.v(), mdp.v(method="iterative", theta=1e-12), atol=1e-9)
    moments = mdp.under().lambda_return(0.0, 0.8)
    assert np.isfinite(moments.variance).all()


def test_infinite_variance_in_a_long_chain_is_found_at_once() -> None:
    """20 000 classes of one state each, one of which loops."""
    n = 20_000
    on = sparse.csr_array((np.ones(n - 1), (np.arange(n - 1), np.arange(1, n))), shape=(n, n))
    to = np.arange(1, n)
    to[n // 2] = n // 2
    stay = sparse.csr_array((np.ones(n - 1), (np.arange(n - 1), to)), shape=(n, n))
    mdp = td.FiniteMDP([on, stay], np.ones(n), discount=0.9, terminal=[n - 1])
    pi, b = np.tile([0.1, 0.9], (n, 1)), np.tile([0.1, 0.9], (n, 1))
    b[n // 2] = 0.5  # .81 · .81/.5 = 1.31 in the loop
    variance = mdp.under(pi, b).return_variance()
    assert np.isinf(variance[: n // 2 + 1]).all()
    assert np.isfinite(variance[n // 2 + 1 :]).all()
