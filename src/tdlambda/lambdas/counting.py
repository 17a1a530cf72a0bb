"""λ from visit counts: a cheap baseline (after Singh & Sutton 1996's step of 1/n, applied to λ)."""

from typing import Any

import numpy as np

from tdlambda import memory
from tdlambda.arrays import Floats, Ints, positive
from tdlambda.compiled import inlined
from tdlambda.lambdas.adaptive import Adaptive
from tdlambda.memory import KAPPA, LAMBDA, STEPS, WARM_UP, Index, Value


@inlined
def next_lambda(M: Floats, I: Ints, z: Index, zv: Value, n_next: int) -> float:
    """Count this visit of x', and λ' = patience / (patience + n), n the mean count of its features."""
    n, active = 0.0, 0
    for j in range(n_next):
        if zv[j] != 0:
            M[LAMBDA + z[j]] += 1
            n += M[LAMBDA + z[j]]
            active += 1
    if active == 0 or I[STEPS] <= I[WARM_UP]:
        return 1.0
    return M[KAPPA] / (M[KAPPA] + n / active)


class Counting(Adaptive):
    """λ = patience / (patience + visits): trust returns in a state seen seldom, and V in one seen often.

    Parameters
    ----------
    patience
        Visits after which λ is ½.
    warm_up, length
        See `Adaptive`.

    Examples
    --------
    >>> import tdlambda as td
    >>> v = td.TrueOnlineTD(td.OneHot(2), alpha=0.1, lam=td.Counting(patience=1.0))
    >>> v.update(0, 0.0, 1, gamma=1.0)
    >>> v.lambda_at(0), v.lambda_at(1)
    (1.0, 0.5)
    """

    bundle = memory.COUNTING

    def __init__(self, patience: float = 100.0, warm_up: float = 0, length: int | None = None) -> None:
        super().__init__(warm_up, length)
        self.patience = positive(patience, "patience")

    def setup(self, M: Floats, I: Ints) -> None:
        """Put the parameters where the kernels look for them."""
        super().setup(M, I)
        M[KAPPA] = self.patience

    def values(self, M: Floats, I: Ints, estimates: Floats, index: Ints, value: Floats) -> Floats:  # noqa: ARG002
        """λ from the counts so far."""
        used = value != 0
        n = (M[LAMBDA + index] * used).sum(axis=1) / np.maximum(1, used.sum(axis=1))
        return self.patience / (self.patience + n) if I[STEPS] > I[WARM_UP] else np.ones(len(index))

    def get_params(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"patience": self.patience, "warm_up": self.warm_up, "length": self.length}
