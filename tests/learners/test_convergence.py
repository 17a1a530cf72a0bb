# mypy: disable-error-code="arg-type, unused-ignore, assignment, var-annotated"
"""Where the learners end up, against the exact answers of `FiniteMDP`."""

from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda.tasks import TabularTask

TASKS = [
    ("RingWorld-v0", "0.4/0.35"),
    ("RingWorld-v0", "0.15/0.15"),
    ("FrozenLake-v0", "off-policy"),
    ("FrozenLake-v0", "on-policy"),
    ("RandomWalk-v0", "5"),
    ("BoyanChain-v0", "13"),
]
SLOW = pytest.mark.slow
FALLING = td.steps.OneOver("steps", scale=1.0, offset=20.0, power=0.6)


def build(name: str, preset: str | None, **options: Any) -> tuple[TabularTask, Any, td.FiniteMDP]:
    task = td.make(name, preset, **options)
    assert isinstance(task, TabularTask)
    return task, task.features.matrix(np.arange(task.mdp.n_states)), task.mdp


EVERY: list[Any] = [
    (learner, lam, *task)
    for learner in (td.TD, td.TrueOnlineTD, td.GTD, td.TrueOnlineGTD)
    for lam in (0.0, 0.7, 1.0)
    for task in TASKS
]
QUICK: list[Any] = [(td.TrueOnlineTD, 0.7, *task) for task in (TASKS[0], TASKS[4])]
QUICK += [(td.TrueOnlineGTD, 0.7, *task) for task in (TASKS[2], TASKS[5])]


@pytest.mark.parametrize(
    ("learner", "lam", "name", "preset"),
    [pytest.param(*case, marks=[] if case in QUICK else [SLOW]) for case in EVERY],
)
def test_converges_to_the_exact_fixed_point(learner: Any, lam: float, name: str, preset: str) -> None:
    """With falling steps, 10⁶ of them: the weighted distance to X w* is a few per cent of where it began."""
    task, X, mdp = build(name, preset)
    d = np.where(mdp.terminal, 0, mdp.under(task.behavior).state_distribution())
    goal = X @ mdp.under(task.target, task.behavior).td_fixed_point(X, lam)
    v = learner(task.features, FALLING, lam)
    v.update_many(task.sampler(seed=1).take(1_000_000))
    gap = np.sqrt(d @ (X @ v.weights - goal) ** 2)
    begun = np.sqrt(d @ goal**2)
    slow = learner in (td.GTD, td.TrueOnlineGTD) and lam == 0  # the rate of gradient methods, not their goal
    assert gap < (0.25 if slow else 0.12 if name == "FrozenLake-v0" else 0.03) * begun


@pytest.mark.parametrize(("lam", "alpha"), [(0.0, 1e-3), (0.5, 2e-4)])
def test_baird_diverges_for_td_and_not_for_gradient_methods(lam: float, alpha: float) -> None:
    task, X, _ = build("Baird-v0", None)
    steps = task.sampler(seed=1).take(200_000)
    initial = task.initial_weights  # type: ignore[attr-defined]
    for learner in (td.TD, td.TrueOnlineTD):
        v = learner(task.features, 0.01, lam, initial=initial)
        with pytest.raises(td.Diverged, match="diverged at step"):
            v.update_many(steps)
        assert v.diverged_at is not None
        assert v.diverged_at < len(steps)
    for learner in (td.GTD, td.TrueOnlineGTD):
        g = learner(task.features, alpha, lam, initial=initial)
        g.update_many(steps)
        assert g.diverged_at is None
        assert np.abs(X @ g.weights).max() < np.abs(X @ initial).max()


@pytest.mark.parametrize("learner", [td.GTD, td.TrueOnlineGTD])
@pytest.mark.parametrize("lam", [0.0, 0.6])
def test_expected_update_of_gradient_methods_is_that_of_the_linear_system(learner: Any, lam: float) -> None:
    """With weights as good as held (α, β tiny), Δw/α and Δh/β per step → b - A w, which is 0 at the fixed point."""
    task, X, mdp = build("Garnet-v0", "continuing", features=6, n=12)
    system = mdp.under(task.target, task.behavior).linear_system(X, lam)
    fixed = system.gtd_fixed_point()
    tiny, blocks, length = 1e-12, 100, 20_000
    for w in (fixed, fixed + np.linspace(-1, 1, 6)):
        v = learner(task.features, tiny, lam, beta=tiny, initial=w)
        sampler = task.sampler(seed=5)
        moves, last_w, last_h = [], v.weights.copy(), v.row("V_h").copy()
        for _ in range(blocks):
            v.update_many(sampler.take(length))
            moves.append(np.append(v.weights - last_w, v.row("V_h") - last_h) / (tiny * length))
            last_w, last_h = v.weights.copy(), v.row("V_h").copy()
        mean, error = np.mean(moves, axis=0), np.std(moves, axis=0) / np.sqrt(blocks)
        resolution = 4e-16 * np.abs(w).max() / (tiny * length)  # of one block's difference, in units of an update
        expected = np.tile(system.b - system.A @ w, 2)
        assert (np.abs(mean - expected) < 5 * error + resolution).all()
        if w is not fixed:
            assert np.abs(expected).max() > 20 * error.max(), "the test can tell"


@pytest.mark.parametrize("learner", [td.DirectVTD, td.VTD])
@pytest.mark.parametrize("of", ["target", "corrected"])
@pytest.mark.parametrize(
    ("name", "preset", "options"),
    [
        ("RingWorld-v0", "0.4/0.35", {}),
        ("RingWorld-v0", "0.25/0.25", {}),
        ("FrozenLake-v0", "one-hot", {}),
        ("TwoState-v0", "off-policy", {}),
        pytest.param("RandomWalk-v0", "5", {}, marks=SLOW),
    ],
)
@pytest.mark.parametrize("lam", [0.6, pytest.param(1.0, marks=SLOW)])
def test_variance_learners_converge_to_the_exact_variance(
    learner: Any, of: str, name: str, preset: str, options: Any, lam: float
) -> None:
    task, _, mdp = build(name, preset, **options)
    lams = np.clip(lam - 0.3 * np.linspace(0, 1, mdp.n_states), 0, 1) if lam < 1 else np.ones(mdp.n_states)
    behavior = None if of == "target" else task.behavior
    exact = mdp.under(task.target, behavior).lambda_return(mdp.v(task.target), lams)
    s = learner(task.features, td.steps.OneOver("visits", power=0.75), lams, of=of)
    s.update_many(task.sampler(seed=2).take(3_000_000))
    d = np.where(mdp.terminal, 0, mdp.under(task.behavior).state_distribution())
    states = range(mdp.n_states)
    error = np.sqrt(d @ (s.predict_many(states) - exact.variance) ** 2 / (d @ exact.variance**2))
    assert error < 0.12
    assert np.abs(s.means(states) - exact.mean)[d > 0.01].max() < 0.05
    np.testing.assert_allclose(s.values(states)[d > 0.02], mdp.v(task.target)[d > 0.02], atol=0.05)


def test_the_two_off_policy_variances_are_different_questions() -> None:
    task, _, mdp = build("RingWorld-v0", "0.4/0.35")
    target, corrected = (
        mdp.under(task.target).return_variance(),
        mdp.under(task.target, task.behavior).return_variance(),
    )
    assert np.abs(target - corrected).max() > 0.05
