"""A mixture over λ at one step size: estimates with fixed λ and one with value-error greedy, weighted by accuracy.

Six estimates learn from the same stream at the learner's own α: V₀ … V₄ with fixed λ (0 for V₀), and V₅ with the λ of
value-error greedy. The prediction is V = Σ p_k V_k. Which estimate is best depends on α, the time, the features, the
ratios and the noise. The mean M of value-error greedy, which does not depend on α, is the reference:

    R_k += η ( min[ (V_k(x) - M(x))², 10⁴ (d₀ + R₀) ] - R_k ),   η = max(8/t, 10⁻³ α|x|²),   d₀ = (V₀(x) - M(x))²
    p_k  ∝ exp( -sharpness R_k / min_j R_j )                     every 100 steps, or as many as there are features

R_k is the error of V_k in the visited states, if M is right. While M is wrong by more than the estimates differ, all
ratios are near 1 and the weights are nearly equal. The limit on a single difference keeps bursts from dominating.

The safeguard: V₀, with λ = 0, is always among the estimates, and no product of ratios can make its trace explode. If
the prediction of another estimate at x or x', after the update, exceeds twice the largest value that the rewards and
discounts allow, that estimate restarts from the weights of V₀. So V is a mixture of bounded estimates and V₀, and the
learner diverges only if the same learner with λ = 0 does.
"""

from dataclasses import replace

import numpy as np

from tdlambda.arrays import Floats, fraction, positive
from tdlambda.rules.lambda_rule import Seen
from tdlambda.rules.value_error_greedy import ValueErrorGreedy

LAMBDAS = (0.0, 0.4, 0.8, 0.95, 1.0)
LATELY, SLOWEST, MOST = 8.0, 1e-3, 1e4
"""R_k averages over the last 1/LATELY of the stream; smallest rate, in units of α|x|²; limit on a single difference."""


class LambdaMixture(ValueErrorGreedy):
    """A mixture of estimates with different λ, for any step size and any features; `lam="auto"` selects this rule.

    It diverges only where λ = 0 diverges at the same α. With one-hot features it follows `ValueErrorGreedy`, which is
    one of the estimates. Where states share features, a fixed λ is often better, and the mixture follows that one.

    Parameters
    ----------
    lams
        Five fixed λ in [0, 1], the first of them 0.
    sharpness
        Positive number: how fast the weight of an estimate decreases with its error relative to the smallest error.
    options
        See `ValueErrorGreedy`.

    Examples
    --------
    >>> import tdlambda as td
    >>> lake = td.make("FrozenLake-v0")
    >>> v = td.TrueOnlineTD(lake.features, alpha=0.01, lam="auto")
    >>> v.update_many(lake.sampler(seed=1).take(50_000))
    >>> {name: round(weight, 1) for name, weight in v.mixture.items()}
    {'L0': 0.7, 'L1': 0.0, 'L2': 0.0, 'L3': 0.0, 'L4': 0.0, 'L5': 0.3}
    """

    estimates = {
        "V": ("reward", "gamma_next", "rho", "lam_next"),
        "L[5]": ("reward", "gamma_next", "rho", "lam[k]"),
        "L5": ("reward", "gamma_next", "rho", "greedy_lam"),
        "m": ("reward", "gamma_next", "rho", "mean_lam", "mean_pace"),
    }
    mixture = {"L[6]": "p[k]"}
    parameters = "rate doubt trace_lam forgetting sharpness lam[5]"
    dots = {
        "v": "L5.x", "v_next": "L5.x'", "mu": "mean.x", "mu_next": "mean.x'", "ex": "L5.e.x", "decay": "L5.decay",
        "each[6]": "L[k].x",
    }  # fmt: skip
    holds = {"p[6]": 1 / 6, "r[6]": 0.0, "age": 0.0}
    phases = {
        "enter": "x", "aims": "", "meet": "x'", "step": "", "judge": "", "weigh": "", "mix": "", "leave": "after x",
        "close": "all",
    }  # fmt: skip

    def __init__(
        self,
        lams: tuple[float, float, float, float, float] = LAMBDAS,
        sharpness: float = 20.0,
        doubt: float = 0.5,
        memory: float = 100.0,
        rate: float = 0.1,
        trace_lam: float = 0.8,
        stretch: int = 1000,
    ) -> None:
        super().__init__(doubt, memory, rate, trace_lam, stretch)
        given = tuple(fraction(lam, "lams") for lam in lams)
        if len(given) != len(LAMBDAS) or given[0] != 0:
            raise ValueError(f"lams must be five numbers in [0, 1], the first of them 0; got {lams}")
        self.lams, self.sharpness = given, positive(sharpness, "sharpness")
        for k, lam in enumerate(given):
            setattr(self, f"lam{k}", lam)

    @staticmethod
    def judge(each, mu, r, age, alpha, xx, lam_next):
        """Update the distance of each estimate from the mean; `step` has computed λ' of the greedy estimate."""
        age, greedy_lam = age + 1, lam_next
        by = max(min(1.0, LATELY / age), SLOWEST * min(1.0, alpha * xx))
        far = (each - mu) ** 2
        most = MOST * (far[0] + r[0])
        r = r + by * (min(far, most) - r)
        return r, age, greedy_lam

    @staticmethod
    def weigh(turning, r, p, sharpness):
        """The weights of the estimates; equal while the smallest distance is 0, because nothing is known yet."""
        if turning:
            least = min(r)
            sharp = sharpness / least if least > 0 else 0.0
            p = np.exp(sharp * (least - r))
            p = p / sum(p)
        return p

    @staticmethod
    def mix(p, lam, greedy_lam):
        """The λ' of the mixture."""
        lam_next = sum(p[:5] * lam) + p[5] * greedy_lam
        return lam_next

    def values(self, seen: Seen) -> Floats:
        """The λ of the mixture, from the current estimates and averages."""
        greedy = super().values(replace(seen, estimates={**seen.estimates, "V": seen.estimates["L5"]}))
        p = [seen.numbers[number] for number in self.mixture.values()]
        return np.dot(p[:-1], self.lams) + p[-1] * greedy
