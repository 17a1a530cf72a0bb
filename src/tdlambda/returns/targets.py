"""λ-returns, generalised advantage estimates, V-trace and Retrace, right at every boundary.

Step t has s_t, ρ_t, R_{t+1}, γ_{t+1}, s_{t+1}: `reward[t]`, `gamma[t]` and `lam[t]` belong to the state entered.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tdlambda.arrays import Bools, Floats, number, plain
from tdlambda.returns.scan import BLOCK, scan
from tdlambda.returns.shaping import Form, check_order
from tdlambda.showing import names_arguments

Array = NDArray[Any]


class Advantages(NamedTuple):
    """Advantages of the actions taken, and targets of the critic."""

    advantage: Any
    target: Any


@names_arguments
def lambda_returns(
    reward: Any, value: Any, value_next: Any, *, gamma: Any, lam: Any, rho: Any = 1.0, terminated: Any, truncated: Any
) -> Any:
    """The λ-return of every step: targets for a critic, on- or off-policy.

        T_t = V(s_t) + ρ_t ( R_{t+1} + γ_{t+1} [ V(s_{t+1}) + λ_{t+1} (T_{t+1} - V(s_{t+1})) ] - V(s_t) )

    where T_{t+1} is V(s_{t+1}) if step t ends an episode, and γ_{t+1} is 0 if it terminates it (Sutton & Barto 2018,
    equation 12.24, with control variates). On-policy, λ = 1 gives Monte Carlo returns and λ = 0 one-step targets.

    Parameters
    ----------
    reward
        R_{t+1} of each step: [T], [T, N] for N environments, time first, or a list of episodes. NumPy arrays, or those
        of PyTorch or JAX.
    value, value_next
        V(s_t) and V(s_{t+1}) in the same form. `value_next` is taken before any reset: where an episode is truncated it
        is the value of its last observation. Where it terminates, any number.
    gamma
        Discount γ_{t+1} in [0, 1] on entering s_{t+1}: a number, or one for each step, [T, 1] or [1, N].
    lam
        λ_{t+1} in [0, 1], likewise; it belongs to s_{t+1}.
    rho
        Importance-sampling ratio π(a_t|s_t)/b(a_t|s_t) of the action taken, finite and ≥ 0, likewise; 1 on-policy.
    terminated, truncated
        As in Gymnasium, for each step; False if it never happens. In a list of episodes also one flag for each. The end
        of a batch, and of each episode in a list, is a truncation unless it is terminated.

    Returns
    -------
    Targets, in the form and kind of array of the arguments; without gradients.

    Examples
    --------
    >>> import tdlambda as td
    >>> ends = {"terminated": [False, True], "truncated": False}
    >>> td.returns.lambda_returns([1.0, 1.0], [3.0, 4.0], [4.0, 9.0], gamma=0.5, lam=0.5, **ends)
    array([2.25, 1.  ])
    """
    call = _Call(reward, value, value_next, gamma, rho, terminated, truncated)
    return call.form.result(call.run(lam, want="target")[1], value, value_next, reward)


@names_arguments
def gae(
    reward: Any, value: Any, value_next: Any, *, gamma: Any, lam: Any, lam_critic: Any = None, rho: Any = 1.0,
    terminated: Any, truncated: Any,
) -> Advantages:  # fmt: skip
    """Generalised advantage estimates (Schulman et al. 2016), and targets for the critic with a λ of their own.

        advantage_t = R_{t+1} + γ_{t+1} [ V(s_{t+1}) + λ_{t+1} (T_{t+1} - V(s_{t+1})) ] - V(s_t)

    with T of `lambda_returns`: it estimates q(s_t, a_t) - V(s_t) of the action taken, so off-policy ρ_t is not in it,
    but ρ_{t+1}, ρ_{t+2}, … are. On-policy it is Σ (γλ)^k δ_{t+k}, and the target is V(s_t) + advantage_t.

    Parameters
    ----------
    reward, value, value_next, gamma, rho, terminated, truncated
        As in `lambda_returns`.
    lam
        λ of the advantages, in [0, 1], as in `lambda_returns`.
    lam_critic
        λ of the targets, in [0, 1]; by default `lam`.

    Returns
    -------
    A pair `advantage, target`.

    Examples
    --------
    >>> import tdlambda as td
    >>> ends = {"terminated": False, "truncated": False}
    >>> td.returns.gae([1.0, 1.0], [3.0, 4.0], [4.0, 6.0], gamma=0.5, lam=1.0, lam_critic=0.0, **ends)
    Advantages(advantage=array([0., 0.]), target=array([3., 4.]))
    """
    call = _Call(reward, value, value_next, gamma, rho, terminated, truncated)
    both = call.run(lam, want="both" if lam_critic is None else "advantage")
    target = both[1] if lam_critic is None else call.run(lam_critic, want="target", name="lam_critic")[1]
    return Advantages(*(call.form.result(x, value, value_next, reward) for x in (both[0], target)))


@names_arguments
def vtrace(
    reward: Any, value: Any, value_next: Any, *, gamma: Any, rho: Any, lam: Any = 1.0, rho_max: float = 1.0,
    c_max: float = 1.0, terminated: Any, truncated: Any,
) -> Advantages:  # fmt: skip
    """V-trace targets (Espeholt et al. 2018), and the advantages for the policy gradient.

        T_t         = V(s_t) + min(ρ_max, ρ_t) δ_t + min(c_max, ρ_t) γ_{t+1} λ_{t+1} (T_{t+1} - V(s_{t+1}))
        advantage_t = δ_t + γ_{t+1} λ_{t+1} (T_{t+1} - V(s_{t+1}))        δ_t = R_{t+1} + γ_{t+1} V(s_{t+1}) - V(s_t)

    The policy gradient is weighted by min(ρ_max, ρ_t): multiply the advantage by it, or leave it to your loss.

    Parameters
    ----------
    reward, value, value_next, gamma, rho, lam, terminated, truncated
        As in `lambda_returns`.
    rho_max, c_max
        Limits of the ratios, positive, or inf: `rho_max` determines what the targets converge to, `c_max` the variance.

    Returns
    -------
    A pair `advantage, target`.

    Examples
    --------
    >>> import tdlambda as td
    >>> td.returns.vtrace([1.0], [3.0], [4.0], gamma=0.5, rho=2.0, terminated=False, truncated=False)
    Advantages(advantage=array([0.]), target=array([3.]))
    """
    call = _Call(reward, value, value_next, gamma, rho, terminated, truncated)
    call.limits[:] = _limit(rho_max, "rho_max"), _limit(c_max, "c_max")
    return Advantages(*(call.form.result(x, value, value_next, reward) for x in call.run(lam, want="both")))


@names_arguments
def retrace(
    reward: Any, value: Any, value_next: Any, *, gamma: Any, rho: Any, lam: Any = 1.0, terminated: Any, truncated: Any
) -> Any:
    """Retrace(λ) targets of action values (Munos et al. 2016).

        G_t = R_{t+1} + γ_{t+1} [ V(s_{t+1}) + λ_{t+1} min(1, ρ_{t+1}) (G_{t+1} - q(s_{t+1}, a_{t+1})) ]

    Parameters
    ----------
    reward, gamma, rho, lam, terminated, truncated
        As in `lambda_returns`.
    value
        q(s_t, a_t) of the action taken.
    value_next
        V(s_{t+1}) = Σ_a π(a|s_{t+1}) q(s_{t+1}, a), before any reset.

    Returns
    -------
    Targets of q(s_t, a_t), in the form and kind of array of the arguments.

    Examples
    --------
    >>> import tdlambda as td
    >>> td.returns.retrace([1.0, 1.0], [3.0, 4.0], [2.0, 0.0], gamma=0.5, rho=2.0, terminated=[0, 1], truncated=False)
    array([0.5, 1. ])
    """
    call = _Call(reward, value, value_next, gamma, rho, terminated, truncated)
    call.limits[:] = 1.0
    return call.form.result(call.run(lam, want="target", of_action=True)[1], value, value_next, reward)


def returns_of_actions(reward: Floats, value_next: Floats, gamma: Floats, lam: Floats, rho: Floats) -> Floats:
    """G_t = R + γ' ((1 - c) V' + c G_{t+1}) with c = λ' ρ_{t+1}, of the steps of one episode whose numbers are valid.

    The factor of V' is 1 - c, so with c = 1 it is exactly the Monte Carlo return.
    """
    c = lam * np.append(rho[1:], 0.0)
    columns = (np.ascontiguousarray(x).reshape(-1, 1) for x in (reward, (1 - c) * value_next, gamma, c))
    r, bootstrap, discount, keep = columns
    G, zero, empty = np.empty((reward.size, 1)), np.zeros((reward.size, 1)), np.empty((0, 0))
    never = zero.astype(bool)
    scan(
        (r, zero, bootstrap, never, never), (discount, keep, empty), np.ones((3, BLOCK)), np.ones(2), False, True,
        np.empty((3, BLOCK)), empty, G,
    )  # fmt: skip
    return G[:, 0]


class _Call:
    """The arguments of a function of this module as arrays [T, N]."""

    def __init__(
        self, reward: Any, value: Any, value_next: Any, gamma: Any, rho: Any, terminated: Any, truncated: Any
    ) -> None:
        self.form = form = Form.of(reward)
        self.arguments = {"reward": reward, "value": value, "value_next": value_next}
        single = all(_is_single(one) for one in self.arguments.values())
        self.dtype = np.float32 if single else np.float64
        self.steps = [form.steps(given, name, self.dtype) for name, given in self.arguments.items()]
        self.ends = form.ends(terminated, truncated, last_too=False)  # nothing flows into the last step anyway
        self.gamma, self.rho = form.parameter(gamma, "gamma"), form.parameter(rho, "rho")
        self.off_policy = not (isinstance(self.rho, float) and self.rho == 1.0)
        self.limits = np.full(2, np.inf)
        check_order(*self.steps[1:])

    def run(self, lam: Any, want: str, name: str = "lam", of_action: bool = False) -> tuple[Array, Array]:
        """Advantages and targets [T, N]; what is not wanted is empty."""
        parameters = {"gamma": self.gamma, name: self.form.parameter(lam, name), "rho": self.rho}
        used = [*parameters.values()][: 3 if self.off_policy else 2]
        single = all(not isinstance(x, float) and x.dtype == np.float32 for x in used)  # a number would lose digits
        kind = np.float32 if single else np.float64
        empty, numbers = np.empty((0, 0), kind), np.empty((3, BLOCK), kind)
        read = [empty, empty, empty]
        for k, given in enumerate(used):
            if isinstance(given, float):
                numbers[k] = given
            else:
                read[k] = plain(np.broadcast_to(given, self.form.grid), kind)
        none = np.empty((0, 0), self.dtype)
        advantage, target = (
            none if want == other else np.empty(self.form.grid, self.dtype) for other in ("target", "advantage")
        )
        (r, v, v_next), (ended, truncates), (gammas, lams, rhos) = self.steps, self.ends, read
        fine = scan(
            (r, v, v_next, ended, truncates), (gammas, lams, rhos), numbers, self.limits, self.off_policy, of_action,
            np.empty((3, BLOCK)), advantage, target,
        )  # fmt: skip
        if not fine:
            explain(dict(zip(self.arguments, self.steps, strict=True)), parameters, self.ends[0])
        if isinstance(self.rho, float) and self.rho == 0:
            raise ValueError("rho is 0 at every step: the target policy takes none of these actions")
        return advantage, target


def explain(steps: dict[str, Array], parameters: dict[str, float | Array], terminated: Bools) -> None:
    """Raise ValueError for the first number that is not finite or outside its range."""
    for name, array in steps.items():
        bad = ~np.isfinite(array) & ~(terminated if name == "value_next" else np.False_)
        if bad.any():
            raise ValueError(f"{name} must be finite; got {array[bad][0]}{_where(bad)}")
    for name, given in parameters.items():
        array, most = np.asarray(given), np.inf if name == "rho" else 1.0
        bad = ~((array >= 0) & (array <= most) & np.isfinite(array))
        if bad.any():
            wanted = "finite and not negative" if name == "rho" else "in [0, 1]"
            raise ValueError(f"{name} must be {wanted}; got {array[bad][0]}{_where(bad)}")
    raise ValueError("the returns are not finite, although all arguments are: they are too large for floating point")


def _where(bad: Bools) -> str:
    """The position of the first flagged step [T, N], for a message."""
    if bad.size == 1:
        return ""
    t, n = np.argwhere(bad)[0].tolist()
    return f" (step {t}, environment {n})" if bad.shape[1] > 1 else f" (step {t})"


def _is_single(given: Any) -> bool:
    """Whether numbers have at most single precision; plain Python numbers do not count."""
    if isinstance(given, np.ndarray):
        return given.dtype in (np.float32, np.float16)
    some = given if isinstance(given, list | tuple) else [given]
    kinds = {str(one.dtype).rpartition(".")[2] for one in some if hasattr(one, "dtype")}
    plain = any(not hasattr(one, "dtype") and np.ndim(one) for one in some)
    return kinds <= {"float32", "float16", "bfloat16"} and not plain and not (isinstance(given, list) and not kinds)


def _limit(given: Any, name: str) -> float:
    limit = number(given, name)
    if not limit > 0:
        raise ValueError(f"{name} must be positive, or inf; got {given}")
    return limit
