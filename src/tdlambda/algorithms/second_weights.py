"""Base classes of gradient methods, which have second weights h with the step size β."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from tdlambda.arrays import choice, positive
from tdlambda.core import declare
from tdlambda.features import Encoder
from tdlambda.learners.algorithm import Algorithm
from tdlambda.learners.step_size import Alpha
from tdlambda.rules import Lam


class SecondWeights(Algorithm, base=True):
    """Base class of gradient methods: second weights h estimate the part of δ that the features can explain.

    Parameters
    ----------
    features, alpha, lam, options
        See `Algorithm`.
    beta
        Step size β > 0 of the second weights; α by default. If α is a schedule or an adaptive step size, β is a
        factor on α.
    """

    weight_rows, sizes = "w h", "alpha beta"
    dots = {"v": "w.x", "v_next": "w.x'", "hx": "h.x", "eh": "e.h"}
    keeps = {"decay": 0.0}

    def __init__(
        self, features: Encoder, alpha: Alpha, lam: Lam = 0.9, beta: float | None = None, **options: Any
    ) -> None:
        super().__init__(features, alpha, lam, beta=1.0 if beta is None else positive(beta, "beta"), **options)
        self.beta = None if beta is None else float(beta)
        if beta is None and isinstance(self.alpha, float):  # with a schedule, β is a factor on α
            self.memory["beta"] = self.alpha


class TwoForms(SecondWeights, base=True):
    """Base class of gradient methods that have two forms with the same mean update.

    Parameters
    ----------
    features, alpha, lam, beta, options
        See `SecondWeights`.
    form
        "correction" for the gradient-correction form, "gradient" for the gradient-trace form.
    """

    gradient_form: ClassVar[type[declare.AlgorithmDeclaration]]
    """The declaration of the gradient-trace form."""

    def __init__(
        self,
        features: Encoder,
        alpha: Alpha,
        lam: Lam = 0.9,
        beta: float | None = None,
        form: Literal["correction", "gradient"] = "correction",
        **options: Any,
    ) -> None:
        self.form = choice(form, "form", "correction", "gradient")
        super().__init__(features, alpha, lam, beta, **options)

    @property
    def _declared(self) -> type[declare.AlgorithmDeclaration]:
        """The declaration of the chosen form."""
        return type(self) if self.form == "correction" else self.gradient_form
