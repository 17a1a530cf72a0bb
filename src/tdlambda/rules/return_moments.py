"""The moments of a λ-return, which `td.VTD` and `td.DirectVTD` learn alongside the value."""

from typing import Any

from tdlambda.rules.lambda_rule import Rule
from tdlambda.rules.moments import of_mean, of_second_moment, of_variance


class Moments(Rule):
    """J = E[G^λ] and the variance or second moment S of G^λ, learned alongside V; λ' is given.

    Parameters
    ----------
    variance
        "direct": S is the variance (direct VTD); "vtd": the second moment.
    of
        Off-policy: moments of the return under the "target" policy, or of the "corrected" return.
    trace_lam
        Trace decay λ of J and S, in [0, 1].
    """

    estimates = {
        "V": ("reward", "gamma_next", "rho", "lam_next"),
        "J": ("ahead", "kept", "rho", "trace_lam"),
        "S": ("square", "shrink", "rho", "trace_lam"),
    }
    squares = ("S",)
    decides = False
    parameters = "trace_lam"
    dots = {"v_next": "V.x'", "j": "J.x", "j_next": "J.x'"}
    options = ("corrected", "variance")

    def __init__(self, variance: str, of: str, trace_lam: float) -> None:
        self.variance, self.of, self.trace_lam, self.corrected = variance, of, trace_lam, of == "corrected"
        if self.corrected:
            self.estimates = {**self.estimates, "S": ("square", "shrink", "one", "trace_lam")}

    def constants(self) -> dict[str, Any]:
        """The options that are compiled into the generated code."""
        return {"corrected": self.corrected, "variance": self.variance}

    @staticmethod
    def step(v_next, j, j_next, reward, gamma_next, rho, lam_next, corrected, variance):
        """The rewards and discounts of J and of S."""
        ahead, kept = of_mean(v_next, lam_next, reward, gamma_next)
        if variance == "vtd":
            square, shrink = of_second_moment(ahead, kept, j_next, rho, corrected)
        else:
            square, shrink = of_variance(ahead, kept, j, j_next, rho, corrected)
        return ahead, kept, square, shrink
