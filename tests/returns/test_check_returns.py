"""`td.check_returns` names the mistake of wrong implementations, each written as people write them."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from foreign import FakeTorch
from numpy.typing import NDArray

import tdlambda as td
from tdlambda.returns.mistakes import MISTAKES

Array = NDArray[Any]


def generalised(
    r: Array, v: Array, w: Array, g: Array, lam: Array, te: Array, tr: Array, rho: Any = 1.0, *,
    live: Array | None = None, keep: Array | None = None, ratio: Any = None,
) -> Array:  # fmt: skip
    """Advantages with the ratio of their own step, as a loop over time."""
    live = ~te if live is None else live
    keep = ~(te | tr) if keep is None else keep
    rho = np.broadcast_to(rho, r.shape) if ratio is None else ratio
    out, later = np.zeros_like(r), np.zeros_like(r[0])
    for t in range(len(r) - 1, -1, -1):
        delta = r[t] + g[t] * live[t] * w[t] - v[t]
        later = rho[t] * (delta + g[t] * lam[t] * keep[t] * later)
        out[t] = later
    return out


def up(x: Array) -> Array:
    """What step t + 1 has."""
    return np.concatenate((x[1:], x[-1:]))


def down(x: Array) -> Array:
    """What step t - 1 has."""
    return np.concatenate((x[:1], x[:-1]))


def last_is_end(x: Array) -> Array:
    x = x.copy()
    x[-1] = True
    return x


def after_reset(v: Array, w: Array) -> Array:
    return np.concatenate((v[1:], w[-1:]))


def without_lambda(r: Array, v: Array, w: Array, g: Array, lam: Array, te: Array, tr: Array) -> Array:
    return generalised(r, v, w, g, np.ones_like(lam), te, tr)


def trace_without_gamma(r: Array, v: Array, w: Array, g: Array, lam: Array, te: Array, tr: Array) -> Array:
    out, later = np.zeros_like(r), np.zeros_like(r[0])
    for t in range(len(r) - 1, -1, -1):
        later = r[t] + g[t] * ~te[t] * w[t] - v[t] + lam[t] * ~(te | tr)[t] * later
        out[t] = later
    return out


def bootstrap(factor: Callable[[float, float], float]) -> Callable[..., Array]:
    def wrong(r: Array, v: Array, w: Array, g: Array, lam: Array, te: Array, tr: Array) -> Array:
        out, later = np.zeros_like(r), np.zeros_like(r[0])
        for t in range(len(r) - 1, -1, -1):
            delta = r[t] + np.vectorize(factor)(g[t], lam[t]) * ~te[t] * w[t] - v[t]
            later = delta + g[t] * lam[t] * ~(te | tr)[t] * later
            out[t] = later
        return out

    return wrong


G = generalised
WRONG: dict[str, Callable[..., Array]] = {
    "truncation treated as termination": lambda r, v, w, g, h, te, tr: G(r, v, w, g, h, te | tr, tr),
    "the end of the batch treated as a termination": lambda r, v, w, g, h, te, tr: G(
        r, v, w, g, h, te, tr, live=~last_is_end(te)
    ),
    "truncation, and the end of the batch, treated as terminations": lambda r, v, w, g, h, te, tr: G(
        r, v, w, g, h, last_is_end(te | tr), tr
    ),
    "value_next taken after the reset: value[t + 1] stands": lambda r, v, w, g, h, te, tr: G(
        r, v, after_reset(v, w), g, h, te, tr
    ),
    "traces survive a truncation": lambda r, v, w, g, h, te, tr: G(r, v, w, g, h, te, tr, keep=~te),
    "traces survive a truncation, and value_next": lambda r, v, w, g, h, te, tr: G(
        r, v, after_reset(v, w), g, h, te, tr, keep=~te
    ),
    "traces survive the end of an episode": lambda r, v, w, g, h, te, tr: G(
        r, v, w, g, h, te, tr, keep=np.ones_like(te)
    ),
    "termination ignored": lambda r, v, w, g, h, te, tr: G(r, v, w, g, h, np.zeros_like(te), tr),
    "λ indexed one step early": lambda r, v, w, g, h, te, tr: G(r, v, w, g, down(h), te, tr),
    "λ indexed one step late": lambda r, v, w, g, h, te, tr: G(r, v, w, g, up(h), te, tr),
    "γ indexed one step early": lambda r, v, w, g, h, te, tr: G(r, v, w, down(g), h, te, tr),
    "γ indexed one step late": lambda r, v, w, g, h, te, tr: G(r, v, w, up(g), h, te, tr),
    "ends indexed one step late": lambda r, v, w, g, h, te, tr: G(r, v, w, g, h, up(te), up(tr)),
    "ends indexed one step early": lambda r, v, w, g, h, te, tr: G(r, v, w, g, h, down(te), down(tr)),
    "λ multiplies the bootstrap value": bootstrap(lambda g, lam: g * lam),
    "γ missing from the trace": trace_without_gamma,
    "λ missing from the trace": without_lambda,
    "γ missing from the bootstrap value": bootstrap(lambda *_: 1.0),
    "time and environments exchanged": lambda r, v, w, g, h, te, tr: G(*(x.T for x in (r, v, w, g, h, te, tr))).T,
    "time runs forwards": lambda r, v, w, g, h, te, tr: G(*(x[::-1] for x in (r, v, w, g, h, te, tr)))[::-1],
    "advantages shifted or scaled": lambda *a: (G(*a) - G(*a).mean()) / (G(*a).std() + 1e-8),
    "targets instead of advantages": lambda r, v, w, g, h, te, tr: v + G(r, v, w, g, h, te, tr),
}
OFF_POLICY: dict[str, Callable[..., Array]] = {
    "ρ applied twice": lambda r, v, w, g, h, te, tr, p: v + G(r, v, w, g, h, te, tr, p**2),
    "ρ applied twice: once in the recursion, and again": lambda r, v, w, g, h, te, tr, p: (
        v + p * G(r, v, w, g, h, te, tr, p)
    ),
    "ρ ignored": lambda r, v, w, g, h, te, tr, p: v + G(r, v, w, g, h, te, tr),  # noqa: ARG005
    "ρ indexed one step late": lambda r, v, w, g, h, te, tr, p: v + G(r, v, w, g, h, te, tr, ratio=up(p)),
    "ρ indexed one step early": lambda r, v, w, g, h, te, tr, p: v + G(r, v, w, g, h, te, tr, ratio=down(p)),
    "targets without the value": lambda r, v, w, g, h, te, tr, p: G(r, v, w, g, h, te, tr, p),
}


def adapted(function: Callable[..., Any]) -> Callable[..., Any]:
    def my_gae(
        reward: Array, value: Array, value_next: Array, gamma: Array, lam: Array, terminated: Array, truncated: Array
    ) -> Any:
        return function(reward, value, value_next, gamma, lam, terminated, truncated)

    return my_gae


def with_ratios(function: Callable[..., Array]) -> Callable[..., Any]:
    def my_returns(
        reward: Array, value: Array, value_next: Array, gamma: Array, lam: Array, terminated: Array, truncated: Array,
        rho: Array,
    ) -> Any:  # fmt: skip
        return function(reward, value, value_next, gamma, lam, terminated, truncated, rho)

    return my_returns


def test_every_mistake_has_a_wrong_implementation() -> None:
    named = [*WRONG, *OFF_POLICY]
    assert [s for s in MISTAKES if not any(s.startswith(name) for name in named)] == []


@pytest.mark.parametrize("name", WRONG)
def test_the_mistake_is_named_with_three_steps(name: str) -> None:
    with pytest.raises(AssertionError, match=rf"\A{re.escape(name)}") as error:
        td.check_returns(adapted(WRONG[name]))
    said = str(error.value)
    assert "three steps by hand" in said
    assert "advantage[0] = " in said
    assert "yours:" in said


@pytest.mark.parametrize("name", OFF_POLICY)
def test_mistakes_with_ratios(name: str) -> None:
    with pytest.raises(AssertionError, match=rf"\A{re.escape(name)}"):
        td.check_returns(with_ratios(OFF_POLICY[name]), gives="target")


def test_two_mistakes_at_once() -> None:
    both = "two mistakes: truncation treated as termination; and λ indexed one step early"
    with pytest.raises(AssertionError, match=rf"\A{both}"):
        td.check_returns(adapted(lambda r, v, w, g, h, te, tr: G(r, v, w, g, down(h), te | tr, tr)))
    both = "two mistakes: ends indexed one step late.*; and ρ ignored"
    with pytest.raises(AssertionError, match=rf"\A{both}"):
        td.check_returns(
            with_ratios(lambda r, v, w, g, h, te, tr, p: v + G(r, v, w, g, h, up(te), up(tr))),  # noqa: ARG005
            gives="target",
        )


def test_what_is_right_passes() -> None:
    td.check_returns(adapted(generalised))
    td.check_returns(adapted(lambda r, v, *rest: v + G(r, v, *rest)), gives="target")
    td.check_returns(with_ratios(generalised))  # with the ratio of its own step
    td.check_returns(adapted(lambda r, v, *rest: (G(r, v, *rest), v + G(r, v, *rest))))
    td.check_returns(td.returns.gae)
    td.check_returns(td.returns.lambda_returns, gives="target")
    td.check_returns(td.returns.gae, environments=None)
    td.check_returns(td.returns.gae, environments=1, per_step=("gamma",), seed=4)
    td.check_returns(lambda **a: td.returns.vtrace(**a, rho_max=np.inf, c_max=np.inf))
    td.check_returns(td.returns.gae, convert=FakeTorch)


def test_one_number_for_gamma_and_lambda() -> None:
    def mine(reward: Any, value: Any, value_next: Any, gamma: Any, lam: Any, terminated: Any, truncated: Any) -> Any:
        g, h = (np.full(reward.shape, float(x)) for x in (gamma, lam))
        return generalised(reward, value, value_next, g, h, terminated, truncated)

    td.check_returns(mine, per_step=())
    with pytest.raises(
        AssertionError, match=r"it failed with TypeError: .*; if it takes only one number .* per_step=\(\)"
    ):
        td.check_returns(mine)

    def single(
        reward: Any, value: Any, value_next: Any, gamma: float, lam: float, terminated: Any, truncated: Any
    ) -> Any:
        return mine(reward, value, value_next, gamma, lam, terminated | truncated, truncated)

    with pytest.raises(AssertionError, match="truncation treated as termination"):
        td.check_returns(single, per_step=())


def test_the_example_is_right_by_hand() -> None:
    with pytest.raises(AssertionError) as error:
        td.check_returns(adapted(WRONG["truncation treated as termination"]))
    said = str(error.value)
    # t = 2: 3 + 0.75·40 - 30 = 3; t = 1, truncated: 2 + 0.25·24 - 20 = -12; t = 0: 1 + 0.5 (20 + 0.5·(-12)) - 10 = -2
    assert "advantages by hand: -2, -12, 3" in said
    assert "advantage[1] = 2 + 0.25·24 - 20 = -12" in said
    assert "yours:              -3.5, -18, 3" in said


def test_an_unknown_mistake_is_located() -> None:
    with pytest.raises(AssertionError, match=r"\Ait differs from the definition; last at step 11 of 12"):
        td.check_returns(adapted(lambda r, *rest: G(r, *rest) + 0.1 * r**2))


def test_bad_input() -> None:
    with pytest.raises(TypeError, match="done: a single flag cannot tell a truncation"):
        td.check_returns(lambda reward, value, value_next, done: reward)  # noqa: ARG005
    with pytest.raises(TypeError, match="function must take truncated"):
        td.check_returns(lambda reward, value, value_next, terminated: reward)  # noqa: ARG005
    with pytest.raises(TypeError, match="argument rewards, which is unknown; did you mean 'reward'"):
        td.check_returns(lambda rewards, value, value_next, terminated, truncated: rewards)  # noqa: ARG005
    with pytest.raises(TypeError, match="function must be a function"):
        td.check_returns(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="gives must be"):
        td.check_returns(td.returns.gae, gives="returns")
    with pytest.raises(ValueError, match="per_step must be"):
        td.check_returns(td.returns.gae, per_step=("alpha",))
    with pytest.raises(AssertionError, match=r"the result must have shape \(12, 3\), as reward has; got \(36,\)"):
        td.check_returns(adapted(lambda r, *_: r.ravel()))
