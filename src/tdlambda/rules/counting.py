"""λ from visit counts: a cheap baseline (after Singh & Sutton 1996's step of 1/n, applied to λ)."""

import numpy as np

from tdlambda.arrays import Floats, positive
from tdlambda.rules.lambda_rule import Adaptive, Seen


class Counting(Adaptive):
    """λ = patience / (patience + visits): relies on returns in rarely visited states, on V in frequently visited ones.

    Parameters
    ----------
    patience
        Positive number of visits after which λ is ½.
    warm_up, length
        See `Adaptive`.

    Examples
    --------
    >>> import tdlambda as td
    >>> v = td.TrueOnlineTD(td.features.OneHot(2), alpha=0.1, lam=td.rules.Counting(patience=1.0))
    >>> v.update(0, 0.0, 1, gamma=1.0)
    >>> v.lambda_at(0), v.lambda_at(1)
    (1.0, 0.5)
    """

    weight_rows = "visits"
    parameters = "patience"
    phases = {"visit": "z", "step": ""}

    def __init__(self, patience: float = 100.0, warm_up: float = 0, length: int | None = None) -> None:
        super().__init__(warm_up, length)
        self.patience = positive(patience, "patience")

    @staticmethod
    def visit(visits):
        """Count this visit of a feature of x'."""
        visits = visits + 1
        seen = visits
        return visits, seen

    @staticmethod
    def step(seen, visit_count, patience, ready):
        """λ' = patience / (patience + n), where n is the mean count of the features of x'."""
        lam_next = patience / (patience + seen / visit_count) if ready and visit_count > 0 else 1.0
        return lam_next

    def values(self, seen: Seen) -> Floats:
        """λ from the counts so far."""
        used = seen.value != 0
        n = (seen.rows["visits"][seen.index] * used).sum(axis=1) / np.maximum(1, used.sum(axis=1))
        return self.patience / (self.patience + n) if seen.ready else np.ones(len(seen.index))
