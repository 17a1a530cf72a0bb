"""Linear systems (I - M) x = b with a matrix M of non-negative entries: sums over all futures, ΣMᵏ b."""

from functools import cached_property
from typing import Any, Literal

import numpy as np
import scipy

from tdlambda.arrays import Bools, Floats, Ints, Matrix, refuse
from tdlambda.mdp.overflow import in_range, quiet

_DENSE_BELOW = 300
"""Number of states below which a dense factorisation is faster (benchmarks/solve.py)."""
_BANDED_BELOW = 2000
"""Bandwidth above which a sparse factorisation fills in: walks and grids are far below, random graphs above."""


_LONGEST = 1e10
"""Expected number of discounted steps beyond which rounding affects the sixth digit."""
_SUM = "a sum over futures (a value, a mean or a variance)"


class Resolvent:
    """A solver for I - M with M ≥ 0: `solve` computes (I - M)⁻¹ b, `solve_transposed` (I - Mᵀ)⁻¹ b.

    It uses dense LU for small or full matrices; SuperLU, factorised once, for large sparse ones with local structure
    (walks, grids, chains); BiCGSTAB with refinement for large graphs without such structure, whose factors would fill
    in, or LU if that does not converge. Memory is proportional to the non-zeros of M, up to a fill-in of about log n
    on grids.
    """

    def __init__(self, matrix: Matrix) -> None:
        self.matrix = matrix.copy()
        self.matrix.eliminate_zeros()
        self.n = matrix.shape[0]

    def solve(self, b: Floats) -> Floats:
        """(I - M)⁻¹ b."""
        return in_range(self._solve(in_range(b, _SUM), "N"), _SUM)

    def solve_transposed(self, b: Floats) -> Floats:
        """(I - Mᵀ)⁻¹ b."""
        return in_range(self._solve(in_range(b, _SUM), "T"), _SUM)

    @quiet
    def _solve(self, b: Floats, trans: Literal["N", "T"]) -> Floats:
        if self.method == "krylov":
            x = _refined_krylov(self.matrix if trans == "N" else self.matrix.T.tocsr(), b)
            if x is not None:
                return x
        x = self._factored(b, trans)
        M = self.matrix if trans == "N" else self.matrix.T
        return x + self._factored(b - (x - M @ x), trans)  # one refinement, because sums over many states lose digits

    def _factored(self, b: Floats, trans: Literal["N", "T"]) -> Floats:
        x: Floats = (
            scipy.linalg.lu_solve(self._dense, b, trans=int(trans == "T"), check_finite=False)
            if self.method == "dense"
            else self._sparse.solve(b, trans=trans)
        )
        return x

    def require_accurate(self) -> None:
        """Validate that double precision suffices: with very long futures, rounding would dominate (I - M)⁻¹."""
        with np.errstate(all="ignore"):
            try:
                lasting = self._solve(np.ones(self.n), "N")
            except (RuntimeError, scipy.linalg.LinAlgError):  # exactly singular
                lasting = np.full(self.n, np.inf)
        bad = ~((lasting >= 1 - 1e-6) & (lasting < _LONGEST))
        what = f"the future lasts more than {_LONGEST:.0e} discounted steps on average under this policy, too many for"
        refuse(bad, lambda state: f"state {state}: {what} an exact solution in double precision")

    @cached_property
    def method(self) -> Literal["dense", "sparse", "krylov"]:
        """The solver for this matrix."""
        if self.n <= _DENSE_BELOW or self.matrix.nnz > 0.1 * self.n**2:
            return "dense"
        both_ways = scipy.sparse.csr_array(self.matrix + self.matrix.T)
        order = scipy.sparse.csgraph.reverse_cuthill_mckee(both_ways, symmetric_mode=True)
        position = np.empty(self.n, dtype=np.int64)
        position[order] = np.arange(self.n)
        row, column = self.matrix.tocoo().coords
        bandwidth = np.abs(position[row] - position[column]).max(initial=0)
        return "sparse" if bandwidth <= min(_BANDED_BELOW, self.n / 10) else "krylov"

    @cached_property
    def _dense(self) -> Any:
        system = np.eye(self.n) - self.matrix.toarray()
        if self.n == 0:
            return scipy.linalg.lu_factor(system)
        lu, pivots, zero_pivot = scipy.linalg.lapack.dgetrf(system)  # lu_factor would only warn
        if zero_pivot:
            raise scipy.linalg.LinAlgError(f"I - M is singular: pivot {zero_pivot} is exactly zero")
        return lu, pivots

    @cached_property
    def _sparse(self) -> Any:
        system = scipy.sparse.csc_array(scipy.sparse.eye_array(self.n, format="csc") - self.matrix)
        system.indices, system.indptr = system.indices.astype(np.int32), system.indptr.astype(np.int32)
        # On walks and grids, ordering by the minimum degree of A + Aᵀ causes far less fill-in than SuperLU's default,
        # which is based on AᵀA.
        return scipy.sparse.linalg.splu(system, permc_spec="MMD_AT_PLUS_A")

    @property
    def stored(self) -> int:
        """Number of numbers that the solver stores."""
        if self.method == "krylov":
            return int(self.matrix.nnz)
        return int(self.n**2) if self.method == "dense" else int(self._sparse.nnz)

    def converges(self) -> bool:
        """Whether ΣMᵏ is finite: the spectral radius of M is below 1.

        For M ≥ 0 this holds if and only if x = (I - M)⁻¹ 1 exists and x ≥ 1 (I - M is then an M-matrix).
        """
        with np.errstate(all="ignore"):
            try:
                x = self._solve(np.ones(self.n), "N")
            except (RuntimeError, scipy.linalg.LinAlgError):  # exactly singular
                return False
        return bool(np.isfinite(x).all() and (x >= 1 - 1e-9).all() and x.max(initial=0.0) < 1e14)


def _refined_krylov(M: Matrix, b: Floats) -> Floats | None:
    """x = b + M x by BiCGSTAB, refined until the residual is at rounding level; None if it does not get there."""
    if b.ndim == 2:
        columns = [_refined_krylov(M, column) for column in b.T]
        return None if any(c is None for c in columns) else np.column_stack(columns)  # type: ignore[arg-type]
    operator = scipy.sparse.eye_array(M.shape[0], format="csr") - M
    x = np.zeros_like(b)
    for _ in range(5):
        residual = b - operator @ x
        if np.abs(residual).max() <= 4e-15 * (np.abs(b).max() + np.abs(x).max()):
            return x
        step, _ = scipy.sparse.linalg.bicgstab(operator, residual, rtol=1e-8, maxiter=500)
        if not np.isfinite(step).all():
            return None
        x = x + step
    return None


def cannot_reach(edges: Matrix, goal: Bools) -> Ints:
    """The states from which no path along non-zero `edges` leads to a state of `goal`."""
    n = edges.shape[0]
    graph = scipy.sparse.coo_array(edges)
    origin, to = (index[graph.data != 0] for index in graph.coords)
    goals = np.flatnonzero(goal)
    # search backwards from one extra node that precedes every goal
    rows = np.concatenate((to, np.full(goals.size, n)))
    columns = np.concatenate((origin, goals))
    reverse = scipy.sparse.csr_array((np.ones(rows.size), (rows, columns)), shape=(n + 1, n + 1))
    reached = scipy.sparse.csgraph.breadth_first_order(reverse, n, return_predecessors=False)
    missing = np.ones(n + 1, dtype=bool)
    missing[reached] = False
    return np.flatnonzero(missing[:n])


def diverging(matrix: Matrix) -> Bools:
    """The states whose sum over futures, Σ(Mᵏ1)(s), is infinite: those that lead to a class with radius ≥ 1."""
    if Resolvent(matrix).converges():
        return np.zeros(matrix.shape[0], dtype=bool)
    _, label = scipy.sparse.csgraph.connected_components(matrix, directed=True, connection="strong")
    bad = matrix.diagonal() >= 1  # the spectral radius of a class of one state
    size = np.bincount(label)
    classes = np.split(np.argsort(label, kind="stable"), np.cumsum(size)[:-1])
    for members in (classes[k] for k in np.flatnonzero(size > 1)):
        if not Resolvent(matrix[members][:, members]).converges():
            bad[members] = True
    safe = np.zeros(matrix.shape[0], dtype=bool)
    safe[cannot_reach(matrix, bad)] = True
    return ~safe
