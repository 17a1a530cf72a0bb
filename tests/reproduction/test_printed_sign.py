"""What the printed gradient is: the derivative of nothing. Single META steps against differences of the error."""

from typing import Any, Literal

import numpy as np
import pytest

import tdlambda as td
from tdlambda.lab.reproduction import PublishedMeta

Kind = Literal["exact", "derived", "printed"]
KINDS: tuple[Kind, ...] = ("exact", "derived", "printed")
KAPPA = 1e-9


def rule_of(kind: Kind) -> td.rules.Meta:
    """META by gradient steps, with weights that are not clipped."""
    if kind == "printed":
        return PublishedMeta(KAPPA, floor=0.0)
    return td.rules.Meta(KAPPA, kind, "gradient", in_range=False, floor=0.0)


def chain(certain: bool) -> tuple[td.FiniteMDP, int]:
    """States 0 to 4 and an end. From state 0 to 1 for certain, or to 1, 2 or 3 by chance; from there noise follows."""
    P, R = np.zeros((6, 6)), np.zeros((6, 6))
    P[0, [1, 2, 3]] = (1.0, 0.0, 0.0) if certain else (0.5, 0.3, 0.2)
    R[0, [1, 2, 3]] = 0.3, -0.2, 0.5
    for s in (1, 2, 3):
        P[s, [4, 5]], R[s, [4, 5]] = (0.6, 0.4), (1.0 + s, -s)
    P[4, 5], R[4, 5] = 1.0, 2.0
    return td.FiniteMDP(P, R, discount=[0.9, 0.8, 0.7, 0.95, 0.9, 0.0], terminal=[5], start=0), 0


def meta_steps(mdp: td.FiniteMDP, s: int, V: Any, lam: Any, kind: Kind) -> Any:
    """E[change of λ(s')] / -κ over one transition from s, by the rule itself with exact statistics."""
    moments, total = mdp.under().lambda_return(V, lam), np.zeros(6)
    o = mdp.outcomes
    for k in np.flatnonzero(o.state == s):
        v = td.TrueOnlineTD(td.features.OneHot(6), 1e-300, rule_of(kind), initial=V)
        for name, values in (("V_w", V), ("M_w", mdp.v()), ("L_w", moments.mean), ("S_w", moments.variance)):
            v.memory.row(name)[:] = np.where(mdp.terminal, 0, values)
        v.memory.row("u")[:] = 1 - lam
        after = int(o.next_state[k])
        v.update(s, float(o.reward[k]), after, gamma=float(mdp.discount[after]))
        total += o.probability[k] * (v.row("u") - (1 - lam)) / KAPPA
    return total


def differences(mdp: td.FiniteMDP, s: int, V: Any, lam: Any) -> Any:
    """Of ½ E[(G^λ_t - v(s))² | s_t = s] in λ of each successor, mean and variance of G^λ there held fixed."""
    moments, o, v, h = mdp.under().lambda_return(V, lam), mdp.outcomes, mdp.v(), 1e-4

    def error(lam: Any) -> float:
        total = 0.0
        for k in np.flatnonzero(o.state == s):
            n = o.next_state[k]
            target = o.reward[k] + mdp.discount[n] * ((1 - lam[n]) * V[n] + lam[n] * moments.mean[n])
            spread = (mdp.discount[n] * lam[n]) ** 2 * moments.variance[n]
            total += 0.5 * o.probability[k] * ((target - v[s]) ** 2 + spread)
        return float(total)

    return np.array([(error(lam + h * e) - error(lam - h * e)) / (2 * h) for e in np.eye(6)])


@pytest.mark.costly
@pytest.mark.parametrize("certain", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_exact_is_the_derivative_derived_where_successors_are_certain_and_printed_never(
    certain: bool, seed: int
) -> None:
    mdp, s = chain(certain)
    rng = np.random.default_rng(seed)
    wrong = rng.choice([-1, 1], 6) * rng.uniform(0.5, 1.5, 6)
    V, lam = np.where(mdp.terminal, 0, mdp.v() + wrong), rng.uniform(0.2, 0.8, 6)
    truth = differences(mdp, s, V, lam)
    size = np.abs(truth).max()
    off = {kind: np.abs(meta_steps(mdp, s, V, lam, kind) - truth).max() / size for kind in KINDS}
    assert off["exact"] < 1e-5
    assert (off["derived"] < 1e-5) == certain
    assert certain or off["derived"] > 1e-2
    assert off["printed"] > 1e-2


@pytest.mark.parametrize("certain", [True, False])
def test_the_printed_sign_turns_the_gain_of_bias_into_a_loss(certain: bool) -> None:
    """V far below all that follows and next to no variance: λ should rise. Exact and derived say so, printed not."""
    mdp, s = chain(certain)
    V, lam = np.where(mdp.terminal, 0, mdp.v() - 50.0), np.full(6, 0.5)
    truth = differences(mdp, s, V, lam)[1]
    steps = {kind: meta_steps(mdp, s, V, lam, kind)[1] for kind in KINDS}
    assert truth < 0
    assert steps["exact"] < 0
    assert steps["derived"] < 0
    assert steps["printed"] > 0
