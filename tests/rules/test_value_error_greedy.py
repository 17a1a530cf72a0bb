# mypy: disable-error-code="arg-type, unused-ignore, assignment, var-annotated"
"""Value-error greedy against exact moments, against its equations in plain NumPy, and the edges of its behaviour."""

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pairing import pairs
from plain_greedy import Reference

import tdlambda as td
from tdlambda.core.source import returned
from tdlambda.learners.checks import check_learner

Vector = NDArray[np.float64]


def moments_of_what_is_to_come(
    P: Vector, r: Vector, gamma: Vector, lam: Vector, ratio: Vector, b: Vector, V: Vector
) -> tuple[Vector, Vector]:
    """E[Y] and E[Y²] of Y = ρ (r + γ'V' - V + γ'λ'Y'), by two linear systems; P[a, s, s'], r[s, s']."""
    n = len(V)
    first, second, A, B = np.zeros(n), np.zeros(n), np.eye(n), np.eye(n)
    weigh = [b[:, a, None] * P[a] for a in range(len(P))]
    delta = r + gamma * V - V[:, None]
    for a, p in enumerate(weigh):
        rho = ratio[:, a, None]
        first += (p * rho * delta).sum(axis=1)
        A -= p * rho * gamma * lam
    mean: Vector = np.linalg.solve(A, first)
    for a, p in enumerate(weigh):
        rho = ratio[:, a, None]
        second += (p * rho**2 * (delta**2 + 2 * delta * gamma * lam * mean)).sum(axis=1)
        B -= p * rho**2 * (gamma * lam) ** 2
    squares: Vector = np.linalg.solve(B, second)
    return mean, squares


def best_lambda(above: float, weight: float, gap: float, variance: float) -> float:
    """λ' by the declaration itself, without doubt: from A[c (V - v) (V' - v')], A[c²], V' - v' and Var'."""
    known = dict.fromkeys(inspect.signature(td.rules.ValueErrorGreedy.step).parameters, 0.0)
    known |= {"above": above, "total": weight, "variance": variance, "meet_count": 1.0, "v_next": gap}
    return float(td.rules.ValueErrorGreedy.step(**known)[returned(td.rules.ValueErrorGreedy.step).index("lam_next")])


@pytest.mark.parametrize("seed", range(20))
def test_best_lambda_is_least_in_error_one_update_ahead(seed: int) -> None:
    """Off-policy random MDPs, γ, λ and step sizes of every state its own: the exact error, and finite differences."""
    rng = np.random.default_rng(seed)
    n, actions = 5, 2
    P, r = rng.dirichlet(np.ones(n), size=(actions, n)), rng.normal(size=(n, n))
    gamma, lam = rng.uniform(0.3, 0.8, n), rng.uniform(0, 1, n)
    pi, b = rng.dirichlet(np.full(actions, 3.0), n), rng.dirichlet(np.full(actions, 9.0), n)
    ratio, V, g, d = pi / b, rng.normal(size=n), rng.uniform(0.01, 0.5, n), rng.dirichlet(np.ones(n))
    into = np.einsum("sa,ast->st", pi, P)
    v = np.linalg.solve(np.eye(n) - into * gamma, (into * r).sum(axis=1))
    mean, square = moments_of_what_is_to_come(P, r, gamma, lam, ratio, b, V)
    for s in range(n):
        p = d[:, None] * np.array([b[:, a] * P[a][:, s] for a in range(actions)]).T  # over predecessors and actions
        c = gamma[s] * g[:, None] * ratio

        def error(here: float, s: int = s, p: Vector = p, c: Vector = c) -> float:
            bias = (V - v)[:, None]
            return float((p * (bias**2 + 2 * c * here * bias * mean[s] + (c * here) ** 2 * square[s])).sum())

        above, weight = (p * c * (V - v)[:, None]).sum() * -mean[s], (p * c**2).sum()
        best = best_lambda(above, weight, -mean[s], square[s] - mean[s] ** 2)
        grid = np.linspace(0, 1, 201)
        assert error(best) <= min(map(error, grid)) + 1e-12
        for here in (0.1, 0.5, 0.9):
            slope = (error(here + 1e-6) - error(here - 1e-6)) / 2e-6
            assert abs(slope) < 1e-7 or np.sign(slope) == np.sign(here - above / (weight * square[s]))


@pytest.mark.parametrize("seed", range(6))
def test_same_as_its_equations(seed: int) -> None:
    """γ, λ and ρ differ at every step; the stream ends, is cut, and goes on; half-way the target moves."""
    rng = np.random.default_rng(seed)
    steps, size = 1000, 5
    X = rng.normal(size=(steps + 1, size)) * (rng.random((steps + 1, size)) < 0.7)
    X[:, 0] = 1.0
    reward, gamma, rho = rng.normal(size=steps), rng.uniform(0, 1, steps), rng.uniform(0.05, 2, steps)
    reward[steps // 2 :] += 5.0
    end, cut = rng.random(steps) < 0.03, rng.random(steps) < 0.03
    short = seed % 2 == 0  # a mean that forgets so fast need not begin anew
    made = td.rules.ValueErrorGreedy(
        doubt=0.3, memory=3.0 if short else 300.0, rate=0.2, trace_lam=0.6, stretch=int(rng.integers(6, 20))
    )
    own = td.TrueOnlineTD(td.features.Dense(size), alpha=0.02, lam=made)
    plain = Reference(size, 0.02, made)
    moved = 0
    for t in range(steps):
        plain.step(X[t], X[t + 1], reward[t], gamma[t], rho[t], end[t], cut[t])
        own.update(X[t], reward[t], X[t + 1], gamma[t], rho[t], bool(end[t]), bool(cut[t]))
        lam = float(own.memory["last_lam"])
        assert lam == pytest.approx(plain.lams[-1], abs=1e-9)
        moved += 0.01 < lam < 0.99
    np.testing.assert_allclose(own.weights, plain.w, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(own.row("mean"), plain.M, rtol=1e-9, atol=1e-11)
    assert moved > 20
    assert short or plain.restarts > 0


def test_the_mean_against_the_exact_value() -> None:
    """Off-policy RingWorld: M is a much better estimate than V at a step size that keeps V noisy."""
    ring = td.make("RingWorld-v0")
    learner = td.TrueOnlineTD(ring.features, 0.1, td.rules.ValueErrorGreedy())
    learner.update_many(ring.sampler(seed=5).take(200_000))
    V, _, M = learner.estimates(range(11))
    assert ring.exact.value_error(M) < 0.1 * ring.exact.value_error(V)


def test_the_mean_notices_that_the_target_moved() -> None:
    """All rewards change sign after 10⁵ steps: M is right again long before its memory of 100/α visits is over."""
    ring: Any = td.make("RingWorld-v0")
    learner = td.TrueOnlineTD(ring.features, 0.001, td.rules.ValueErrorGreedy())
    before, after = (ring.sampler(seed=seed).take(100_000) for seed in (5, 6))
    learner.update_many(before)
    was = learner.estimates(range(11))[2]
    assert ring.exact.value_error(was) < 1e-4
    columns = (after.obs, -after.reward, after.next_obs, after.gamma, after.rho, after.terminated, after.truncated)
    learner.update_many(*columns)
    assert ring.exact.value_error(-learner.estimates(range(11))[2]) < 1e-3


def test_the_variance_against_the_exact_one() -> None:
    """In the last state before the end no λ matters: there the variance of the return is that of the reward."""
    rows = [(0, 0, 1, 0.0, 1.0), (1, 0, 2, 1.0, 0.3), (1, 0, 2, -1.0, 0.7)]
    mdp = td.FiniteMDP.from_rows(rows, discount=0.9, terminal=[2], start=0)
    learner = td.TD(td.features.OneHot(3), 0.01, td.rules.ValueErrorGreedy())
    learner.update_many(mdp.under().sampler(seed=2).take(100_000))
    variance = learner.row("squares")[1] / learner.row("counted")[1]
    assert variance == pytest.approx(mdp.under().return_variance()[1], rel=0.03)


def side_by_side(own: Any, ours: Any) -> Any:
    """The rule's rows, one by one, and all numbers of the two learners; lanes share one list of live features."""
    for name in own.model.rule_rows:
        yield name, own.row(name), ours.row(name)
    for name in set(own.memory.record.dtype.names) - {"n_live"}:
        yield name, own.memory.record[name], ours.memory.record[name]


@pytest.mark.parametrize(
    ("kinds", "name"),
    [
        *(pytest.param((td.TD, td.TrueOnlineTD, td.GTD, td.TrueOnlineGTD), name, marks=pytest.mark.slow)
          for name in ("RingWorld-v0", "FrozenLake-v0", "Garnet-v0", "MountainCar-v0")),
    ],
)  # fmt: skip
def test_engine_is_the_learners_themselves(kinds: Any, name: str) -> None:
    """One-hot, shared, continuing, and many features; every algorithm; two lengths of stretch in one run."""
    task = td.make(name, limit=200) if name == "MountainCar-v0" else td.make(name)
    scale, learners = 1.0 / task.features.active, {}
    for kind in kinds:
        for alpha in (0.003, 0.1, td.steps.OneOver("visits", scale=0.3 * scale, offset=5.0, power=0.6)):
            size = alpha * scale if isinstance(alpha, float) else alpha
            for stretch in (40, 1000):
                lam = td.rules.ValueErrorGreedy(stretch=stretch)
                learners[f"{kind.__name__}, {alpha}, {stretch}"] = kind(task.features, size, lam, on_divergence="flag")
    truth = None if task.mdp is not None else td.engine.sampled_truth(task, 20, 20_000)
    found = td.engine.run(task, learners, [7], 1500, points=[1500], truth=truth, keep=("learners", "lambdas"))
    stream = task.sampler(7).take(1500)
    between = 0
    for k, (label, learner) in enumerate(learners.items()):
        own, ours = learner.clone(), found.learners[k][0]
        own.update_many(stream)
        assert own.diverged_at == ours.diverged_at, label
        if own.diverged_at is None:
            for name_, mine, theirs in (("rows", own.memory.rows, ours.memory.rows), *side_by_side(own, ours)):
                atol = 1e-12 * max(1.0, float(np.abs(mine).max()))
                np.testing.assert_allclose(theirs, mine, rtol=0, atol=atol, err_msg=f"{label}, {name_}")
            np.testing.assert_allclose(found.lambdas[k][0], own.lambdas(found.observations), atol=1e-9, err_msg=label)
            between += bool(((own.lambdas(found.observations) > 0) & (own.lambdas(found.observations) < 1)).any())
    assert between > len(learners) / 2


@pytest.mark.parametrize(
    ("kind", "features"),
    pairs(
        [td.TD, td.TrueOnlineTD, td.GTD, td.TrueOnlineGTD],
        [
            td.features.OneHot(6),
            td.features.OneHot(300),
            td.features.Table(np.eye(6)[:, :4] + 0.1),
            td.features.Dense(4),
        ],
        lambda kind, x: kind is td.TrueOnlineTD and x.size == 6,
    ),
)
def test_keeps_the_contract(kind: Any, features: td.Encoder) -> None:
    check_learner(lambda: kind(features, 0.02, td.rules.ValueErrorGreedy(stretch=30)))


def test_saved_in_the_middle_it_goes_on_as_if_nothing_had_happened(tmp_path: Path) -> None:
    garnet = td.make("Garnet-v0", seed=4)  # continuing: no end ever closes a stretch
    learner = td.TrueOnlineGTD(garnet.features, 0.01, td.rules.ValueErrorGreedy(stretch=70))
    sampler = garnet.sampler(seed=1)
    learner.update_many(sampler.take(1037))
    learner.save(tmp_path / "middle")
    other: Any = td.load(tmp_path / "middle")
    more = sampler.take(500)
    for one in (learner, other):
        one.update_many(more)
    np.testing.assert_array_equal(learner.memory.rows, other.memory.rows)
    np.testing.assert_array_equal(learner.memory.rule_rows, other.memory.rule_rows)
    assert learner.memory.record == other.memory.record
    assert learner.row("counted").sum() == 1537 // 70 * 70
    other.save(tmp_path / "later")
    with pytest.raises(ValueError, match="does not fit"):
        td.TrueOnlineGTD(garnet.features, 0.01, td.rules.ValueErrorGreedy(stretch=71))._restore(other._state())


def test_before_anything_is_known_lambda_is_one() -> None:
    assert td.TrueOnlineTD(td.features.OneHot(3), 0.1, td.rules.ValueErrorGreedy()).lambda_at(1) == 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"doubt": -0.1}, "doubt must be finite and not negative"),
        ({"doubt": np.nan}, "doubt must be finite and not negative"),
        ({"memory": -1.0}, "memory must be positive"),
        ({"memory": np.inf}, "memory must be positive"),
        ({"rate": 0.0}, "rate must be in"),
        ({"rate": 1.5}, "rate must be in"),
        ({"trace_lam": 1.1}, "trace_lam must be in"),
        ({"stretch": 0}, "stretch must be"),
    ],
)
def test_bad_arguments(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        td.rules.ValueErrorGreedy(**options)
