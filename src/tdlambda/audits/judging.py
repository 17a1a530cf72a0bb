"""`td.audit`: which of several critics is closer to the true values, without knowing the true values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tdlambda.arrays import Bools, Floats, confidence
from tdlambda.audits.comparing import combined, plain
from tdlambda.audits.critic_values import values_of
from tdlambda.audits.data import AuditedSteps
from tdlambda.audits.outcome import Audit
from tdlambda.audits.scores import FOLDS, SEGMENTS, Scores, scores
from tdlambda.returns.kinds import to_numpy
from tdlambda.returns.shaping import Form, check_order
from tdlambda.returns.targets import explain
from tdlambda.showing import counted, names_arguments

Array = NDArray[Any]
LEAST = 10
"""Intervals are reported as too narrow if fewer units carry the variance, or fewer ratios the weight."""
UNSTABLE = 0.5
"""Share of the variance that comes from the reference, above which it is remarked."""
MISSED = 0.7
"""Products of ratios average 1; if the average is below this, the trajectories that matter most are missing."""


@names_arguments
def audit(
    critics: Mapping[str, Any],
    reward: Any,
    *,
    gamma: Any,
    rho: Any = 1.0,
    terminated: Any,
    truncated: Any,
    obs: Any = None,
    next_obs: Any = None,
    features: tuple[Any, Any] | None = None,
    level: float = 0.95,
) -> Audit:
    """Estimate which critic is closer to the true values of a policy, without knowing them.

    Critics are compared by their mean squared value error (V - v)² over the steps. The estimate needs no model, no
    truth and no linear critics; it works on- and off-policy, with time limits, and in continuing streams.

    A critic must not have been trained on the audited episodes: use new ones, or the values that were stored while they
    were collected, before any update from them. A learner of tdlambda goes on learning during the audit; each
    prediction is made before its update.

    Parameters
    ----------
    critics
        At least two critics by name. Each is a pair V(s_t), V(s_{t+1}) in the form of `reward`, where V(s_{t+1}) is
        taken before any reset; or a function from a batch of observations to values; or a learner of tdlambda, of which
        a copy is used; or one number for all states.
    reward
        R_{t+1} of each step: [T], [T, N] for N environments, time first, or a list of episodes. NumPy arrays, or those
        of PyTorch or JAX.
    gamma
        Discount γ_{t+1} in [0, 1] on entering s_{t+1}: a number, or one for each step, [T, 1] or [1, N].
    rho
        Importance-sampling ratio π(a_t|s_t)/b(a_t|s_t), finite and ≥ 0, likewise; 1 on-policy. The errors are averaged
        over the states that the behaviour policy visits.
    terminated, truncated
        As in Gymnasium, for each step; False if it never happens. The end of the data is a truncation.
    obs, next_obs
        S_t and S_{t+1} (before any reset), for critics that are functions or learners.
    features
        Features of s_t and s_{t+1}, each with one more axis than `reward`: optional, a few can make the estimate more
        precise. Without them, the critics' values are used.
    level
        Nominal coverage of the intervals, in (0, 1).

    Examples
    --------
    >>> import numpy as np, tdlambda as td
    >>> walk = td.make("RandomWalk-v0", "19")
    >>> steps, v = walk.sampler(seed=1).take(20_000), walk.exact.v()
    >>> critics = {"near": v + 0.1, "far": v + 0.4 * np.cos(np.arange(v.size))}
    >>> pairs = {name: (V[steps.obs], V[steps.next_obs]) for name, V in critics.items()}
    >>> ends = {"terminated": steps.terminated, "truncated": steps.truncated}
    >>> report = td.audit(pairs, steps.reward, gamma=steps.gamma, **ends)
    >>> report.best, report.ranking[0][1] > 0.99
    ('near', True)
    """
    level = confidence(level)
    data, names, remarks = _steps(critics, reward, gamma, rho, terminated, truncated, (obs, next_obs), features)
    found = scores(data)
    K = len(names)
    matrices, unstable = np.zeros((5, K, K)), np.zeros((K, K))
    for i in range(K):
        halves = found.with_a[i] - found.with_a, found.with_b[i] - found.with_b
        pair = combined(found.raw[i] - found.raw, found.expected[i] - found.expected, found.steps, halves)
        unstable[i] = pair.unstable
        differs = ~np.array([_same(data, i, j) for j in range(K)])
        estimate = pair._replace(**{name: np.where(differs, getattr(pair, name), 0.0) for name in ("value", "error")})
        matrices[:, i] = (estimate.value, *estimate.interval(level), estimate.below_zero(), pair.carried * differs)
    absolute = plain(found.absolute, found.steps)
    remarks += _remarks(data, names, found, matrices[4])
    if np.median(unstable[np.triu_indices(K, 1)]) > UNSTABLE:
        remarks.append(
            "two halves of the data give different references, which widens the intervals: these episodes hardly "
            "determine the values behind their ends; longer ones help"
        )
    difference, low, high, probability, carried = matrices
    return Audit(
        names, difference, low, high, probability, absolute.value, *absolute.interval(level), carried,
        found.steps.size, found.blocks, data.size, level, remarks,
    )  # fmt: skip


def _steps(
    critics: Any, reward: Any, gamma: Any, rho: Any, terminated: Any, truncated: Any, observations: tuple[Any, Any],
    features: Any,
) -> tuple[AuditedSteps, list[str], list[str]]:  # fmt: skip
    """Validate the arguments; the steps, the names of the critics, and remarks about them."""
    if not isinstance(critics, Mapping) or len(critics) < 2:
        raise ValueError(
            'critics must be a mapping with at least two of them, such as {"new": (v, v_next), "old": (w, w_next)}; '
            'to judge a single one, compare it with a constant: {"new": (v, v_next), "zero": 0.0}'
        )
    form = Form.of(reward)
    r = form.steps(reward, "reward", np.float64)
    numbers = {"gamma": form.parameter(gamma, "gamma"), "rho": form.parameter(rho, "rho")}
    ended, truncates = form.ends(terminated, truncated)
    _require_valid({"reward": r}, numbers, ended)
    g, p = (np.broadcast_to(np.asarray(x), form.grid) for x in numbers.values())
    if not np.any(p):
        raise ValueError("rho is 0 at every step: the target policy takes none of these actions")
    least = SEGMENTS * FOLDS
    if r.size < least:
        raise ValueError(f"an audit needs at least {least} steps; got {r.size}")
    step = {"reward": r, "gamma": g, "rho": p, "terminated": ended, "truncated": truncates}
    values, remarks = [], []
    for name, critic in critics.items():
        pair, remark = values_of(critic, str(name), form, observations, step)
        check_order(*pair)
        _require_valid({f"value of {name}": pair[0], "value_next": pair[1]}, {}, ended, str(name))
        values.append(pair)
        remarks += [remark] if remark else []
    columns = () if features is None else _features(features, form, ended)
    return AuditedSteps(values, r, g, p, ended, truncates, columns), [str(name) for name in critics], remarks


def _require_valid(steps: dict[str, Array], numbers: dict[str, Any], ended: Bools, of: str = "") -> None:
    """Raise ValueError if a number is not finite or outside its range; γ is in [0, 1], ρ ≥ 0."""
    wrong = any(not np.isfinite(np.where(ended, 0, x) if "next" in name else x).all() for name, x in steps.items())
    for name, given in numbers.items():
        x = np.asarray(given)
        wrong |= not bool(np.all((x >= 0) & (x <= (1 if name == "gamma" else np.finfo(float).max))))
    if wrong:
        explain(
            {f"{name} of {of}" if of and "of" not in name else name: x for name, x in steps.items()}, numbers, ended
        )


def _features(features: Any, form: Form, ended: Bools) -> list[tuple[Array, Array]]:
    """Columns [T, N] of features, at s_t and at s_{t+1}."""
    if not isinstance(features, tuple | list) or len(features) != 2:
        raise TypeError("features must be a pair: those of s_t and those of s_t+1")
    both = []
    for given, name in zip(features, ("features", "next features"), strict=True):
        array = np.concatenate([to_numpy(x, name) for x in given]) if form.lengths else to_numpy(given, name)
        if array.shape[:-1] != form.shape:
            raise ValueError(f"{name} must have shape {form.shape} and one axis more; got {array.shape}")
        array = array.reshape(*form.grid, -1)
        wrong = ~np.isfinite(array).all(-1) & ~(ended if name == "next features" else np.False_)
        if wrong.any():
            raise ValueError(f"{name} must be finite; step {np.argwhere(wrong)[0][0]} is not")
        both.append(array)
    if both[0].shape != both[1].shape:
        raise ValueError(f"features must be as many as next features; got {both[0].shape} and {both[1].shape}")
    return [(both[0][:, :, k], both[1][:, :, k]) for k in range(both[0].shape[2])]


def _same(data: AuditedSteps, i: int, j: int) -> bool:
    return i == j or bool(np.array_equal(data.values[i][0], data.values[j][0]))


def _remarks(data: AuditedSteps, names: list[str], found: Scores, carried: Floats) -> list[str]:
    """What the audit cannot know, and what is odd about the data."""
    said, units = [], found.steps.size
    for i, name in enumerate(names):
        said += [f"{name} and {names[j]} predict the same" for j in range(i) if _same(data, i, j)]
    if found.blocks:
        length, horizon = data.size / units, 1 / max(1 - float(np.mean(data.gamma)), 1e-9)
        if found.episodes > 1:
            said.append(
                f"only {counted(found.episodes, 'episode')}: {units} blocks of about {length:.0f} steps stand in for "
                "them, which are not independent; intervals may be too narrow"
            )
        elif length < 2 * horizon:
            said.append(
                f"blocks of {length:.0f} steps are shorter than two horizons of {horizon:.0f} steps; intervals may be "
                "too narrow"
            )
    rare = _eventful(data, found)
    if rare < LEAST:
        said.append(
            f"rare events: rewards other than the commonest, or terminations, occur in {rare} of {units} "
            f"{'blocks' if found.blocks else 'episodes'}; what did not happen in the data cannot be known"
        )
    differing = carried[carried > 0]
    if differing.size and np.median(differing) < LEAST:
        said.append(
            f"only about {np.median(differing):.0f} of {units} {'blocks' if found.blocks else 'episodes'} carry the "
            "variance; intervals are too narrow"
        )
    weight = found.ratios.sum() ** 2 / max((found.ratios**2).sum(), 1e-300)
    if weight < LEAST or found.ratios.mean() < MISSED:
        said.append(
            f"the products of ratios ρ have an effective sample size of {weight:.0f} and average "
            f"{found.ratios.mean():.2f} instead of 1: behaviour and target policy differ too much for these data"
        )
    return said + _after_reset(data, names)


def _eventful(data: AuditedSteps, found: Scores) -> int:
    """The number of units in which something happens: a reward other than the commonest, or a termination.

    A termination is no event if the commonest reward is 0, because then the return is 0 with and without it.
    """
    rewards, counts = np.unique(data.reward, return_counts=True)
    common = rewards[np.argmax(counts)]
    event = (data.reward != common) | (data.terminated & (common != 0))
    first = np.concatenate(([0], np.cumsum(found.steps).astype(np.int64)))[:-1]
    return int(np.count_nonzero(np.add.reduceat(event.T.reshape(-1), first)))


def _after_reset(data: AuditedSteps, names: list[str]) -> list[str]:
    """A remark for critics whose value_next seems to be taken after the reset, at truncations within the data."""
    at = np.argwhere(data.truncated[:-1] & ~data.terminated[:-1])
    said = []
    for name, (value, after) in zip(names, data.values, strict=True):
        here, following = after[at[:, 0], at[:, 1]], value[at[:, 0] + 1, at[:, 1]]
        if len(at) > 1 and np.array_equal(here, following) and value.min() < value.max():
            said.append(
                f"value_next of {name} is the next row's value at all {len(at)} truncations, as if taken after the "
                "reset; it must be the value of the last observation before it"
            )
    return said
