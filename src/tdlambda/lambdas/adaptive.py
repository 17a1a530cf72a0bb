"""Rules that learn λ beside the value: their parameters. What they have learnt is kept by the learner."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Literal

import numpy as np

from tdlambda import memory
from tdlambda.arrays import Floats, Ints, choice, fraction, integer, not_negative, number, positive
from tdlambda.features import Encoder
from tdlambda.lambdas.fixed import Rule


class Adaptive(Rule):
    """A rule whose λ moves with what is learnt.

    Parameters
    ----------
    warm_up
        Updates before λ first moves from 1: a number of steps or, with `length` given, a fraction of it.
    length
        The number of updates to come, if it is known.
    """

    bundle: ClassVar[int]
    blocks: ClassVar[int] = 1
    features: Encoder | None = None
    """Encoder that λ is a function of; the learner's own if None."""
    slots: int = 0
    """Further numbers of its own that the rule keeps in the learner's memory, at its end."""
    rows: ClassVar[int] = 0
    """Numbers that it keeps for each of the learner's features, after those."""

    def __init__(self, warm_up: float = 0, length: int | None = None) -> None:
        self.warm_up, self.length = warm_up, length
        if length is not None:
            integer(length, "length", 1)
            if not 0 <= number(warm_up, "warm_up") < 1:
                raise ValueError(f"warm_up must be a fraction of length, in [0, 1); got {warm_up}")
            self.warm_up_steps = int(warm_up * length)
        else:
            if not not_negative(warm_up, "warm_up").is_integer():
                raise ValueError(f"warm_up must be a number of steps (or give length for a fraction); got {warm_up}")
            self.warm_up_steps = int(warm_up)

    def setup(self, M: Floats, I: Ints) -> None:
        """Put the parameters where the kernels look for them."""
        I[memory.WARM_UP] = self.warm_up_steps
        M[[memory.PACE, memory.TRACE_LAM]] = 1.0

    @abstractmethod
    def values(self, M: Floats, I: Ints, estimates: Floats, index: Ints, value: Floats) -> Floats:
        """λ at observations, from the learner's memory, its estimates [block, n] and λ's features there."""

    def at(self, obs: Any) -> float:  # noqa: ARG002
        """Refuse: the learner knows."""
        raise TypeError("lam: this rule learns with a learner; ask the learner's lambda_at")

    def at_many(self, observations: Any, n: int) -> Floats:  # noqa: ARG002
        """Placeholders: the kernels compute λ."""
        return np.ones(n)


class WithEstimates(Adaptive):
    """An adaptive rule that needs the mean and the variance of a return, learnt beside the value.

    The auxiliary learners are of the value learner's own kind, on its features.

    Parameters
    ----------
    ratio
        Step size of the auxiliary learners, as a multiple of the value learner's; not used with `aux_alpha`.
    aux_alpha
        Step size of the auxiliary learners, as a number of its own. In gradient methods their β is then
        β · aux_alpha / α: just `aux_alpha` where β is α. Needs a constant α.
    trace_lam
        λ of the auxiliary learners' own traces.
    of
        Off-policy: the variance that the return has under the "target" policy, or the "corrected" return's.
    """

    def __init__(
        self,
        ratio: float,
        trace_lam: float,
        of: Literal["target", "corrected"],
        warm_up: float,
        length: int | None,
        aux_alpha: float | None,
    ) -> None:
        super().__init__(warm_up, length)
        choice(of, "of", "target", "corrected")
        self.ratio, self.trace_lam, self.of = positive(ratio, "ratio"), fraction(trace_lam, "trace_lam"), of
        self.aux_alpha = None if aux_alpha is None else positive(aux_alpha, "aux_alpha")

    def setup(self, M: Floats, I: Ints) -> None:
        """Put the parameters where the kernels look for them."""
        super().setup(M, I)
        if self.aux_alpha is not None and I[memory.SCHEDULE] != memory.CONSTANT:
            raise ValueError("aux_alpha: beside a schedule for alpha give ratio, a factor on it, instead")
        pace = self.ratio if self.aux_alpha is None else self.aux_alpha / M[memory.ALPHA]
        M[[memory.PACE, memory.TRACE_LAM]] = pace, self.trace_lam
        I[memory.CORRECTED] = self.of == "corrected"
