# mypy: disable-error-code="import-not-found, import-untyped"
"""The experiments behind experiments/open_questions/results.md: exact pieces, the frame, the page."""

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import polars as pl
import pytest

import tdlambda as td

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "experiments" / "open_questions"
PAGE = ROOT / "experiments" / "open_questions" / "results.md"
OURS = ("gradients", "targets", "efficiency", "control", "claims")
TASKS: list[tuple[str, dict[str, Any]]] = [
    ("RingWorld-v0", {"preset": "0.4/0.35"}),
    ("FrozenLake-v0", {}),
    ("Garnet-v0", {"preset": "episodic", "n": 9, "discount": 0.9, "seed": 5}),
]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import a module of the experiments by name, and forget them all afterwards."""
    monkeypatch.syspath_prepend(str(FOLDER))
    before = set(sys.modules)
    yield __import__
    for name in set(sys.modules) - before:
        if (FOLDER / f"{name}.py").exists():
            del sys.modules[name]


def somewhere(task: Any, seed: int = 0) -> tuple[Any, Any]:
    """V and λ that are neither right nor alike."""
    rng, live = np.random.default_rng(seed), ~task.mdp.terminal
    return rng.normal(size=live.size) * live, rng.uniform(0.1, 0.9, live.size) * live


@pytest.mark.parametrize(("name", "options"), TASKS)
def test_the_coupled_system_is_that_of_the_finite_mdp(load: Any, name: str, options: Any) -> None:
    coupled: Any = load("coupled")
    task = td.make(name, **options)
    system, (V, lam), mdp = coupled.System(task), somewhere(task), task.mdp
    moments, found = mdp.under(task.target).lambda_return(V, lam), system.moments(V, lam)
    np.testing.assert_allclose(found.mean, moments.mean, atol=1e-12)
    np.testing.assert_allclose(found.variance, moments.variance, atol=1e-12)
    weights = coupled.visits(mdp, task.target)
    assert system.target_error(V, lam) == pytest.approx(mdp.under(task.target).target_error(V, lam, weights=weights))
    for form in coupled.FORMS.values():
        which = {"kind": form} if isinstance(form, str) else {"horizon": form}
        expected = mdp.under(task.target).target_error_gradient(V, lam, weights=weights, **which)
        np.testing.assert_allclose(system.gradient(V, lam, form), expected, atol=1e-12)
    w, linear = V[system.live], mdp.under(task.target, task.behavior).linear_system(system.X, lam)
    np.testing.assert_allclose(system.value_step(w, lam), linear.b - linear.A @ w, atol=1e-12)
    steepest = -linear.A.T @ np.linalg.solve(linear.C, linear.A @ w - linear.b)
    np.testing.assert_allclose(system.value_step(w, lam, gradient=True), steepest, atol=1e-10)


@pytest.mark.parametrize(("name", "options"), TASKS)
def test_derivatives_by_a_complex_step_are_those_of_differences(load: Any, name: str, options: Any) -> None:
    coupled: Any = load("coupled")
    task = td.make(name, **options)
    system, (V, lam) = coupled.System(task), somewhere(task)
    full = coupled.by_complex_step(lambda x: np.array([system.target_error(V, x)]), lam)[0]
    np.testing.assert_allclose(system.gradient(V, lam), full, atol=1e-12)
    for form in coupled.FORMS.values():

        def gradient(x: Any, form: Any = form) -> Any:
            return system.gradient(V, x, form)

        exact, near = coupled.by_complex_step(gradient, lam), coupled.by_differences(gradient, lam)
        np.testing.assert_allclose(exact, near, atol=1e-6 * np.abs(exact).max())
    hessian = coupled.by_complex_step(lambda x: system.gradient(V, x), lam)
    np.testing.assert_allclose(hessian, hessian.T, atol=1e-12)


@pytest.mark.parametrize("form", ["one step", "full", "printed"])
def test_a_table_comes_to_rest_at_v_with_the_eigenvalues_of_the_theory(load: Any, form: str) -> None:
    """At V = v and λ = 0 the Jacobian is triangular: TD(0)'s eigenvalues, and -c γ² Var[r' + γ'v'] of each state."""
    exact: Any = load("fixed_points")
    system = exact.CASES["RingWorld 0.35, on-policy"].system
    row = exact.fixed_points("RingWorld 0.35, on-policy", form, 1)[0]
    assert row["residual"] < 1e-14
    assert row["value_gap"] < 1e-12
    assert np.abs(row["lam"]).max() == 0
    k = system.X.shape[1]
    x = np.concatenate([np.linalg.lstsq(system.X, system.v, rcond=None)[0], row["lam"]])
    found, off = exact.eigenvalues(system, form, 1.0, False, x, np.ones(x.size - k, dtype=bool))
    live = system.live
    variance = system.moments(system.v, np.zeros(system.n)).variance
    of_lam = -(system.d @ system.P * system.gamma**2 * variance)[live]
    of_V = np.linalg.eigvals(-np.diag(system.D[live]) @ (np.eye(system.n) - system.P * system.gamma)[live][:, live])
    np.testing.assert_allclose(np.sort(found.real), np.sort(np.concatenate([of_lam, of_V.real])), atol=1e-9)
    assert off < 1e-6


def test_with_certainty_lambda_is_free(load: Any) -> None:
    """Two states, A always followed by B: from different starts λ(B) ends at 0, and λ(A) anywhere."""
    found = load("fixed_points").fixed_points("two states", "full", 3)
    lam = np.array([row["lam"] for row in found])
    assert np.abs(lam[:, 1]).max() == 0
    assert np.ptp(lam[:, 0]) > 0.1
    assert all(row["neutral"] == 1 and row["residual"] < 1e-12 for row in found)
    assert load("targets").distinct(lam.tolist()) == 3


def test_the_mismatch_of_distributions_is_a_matter_of_length(load: Any) -> None:
    """½ Σ |d - stationary| = L / (L + 1); ‖P z‖_d ≤ ‖z‖_d holds if terminal rows are 0, not if they absorb."""
    rows = load("claims").distributions(mdps=5, steps=20_000)
    for row in rows:
        assert row["apart"] == pytest.approx(row["length"] / (row["length"] + 1))
        assert row["to_true"] < 0.1 < 0.5 < row["to_stationary"]
        assert row["norm"] <= 1 + 1e-12 < row["norm_absorbing"]


def test_the_policy_gradient_theorem_by_differences(load: Any) -> None:
    rows = load("claims").policy_gradients(mdps=8)
    assert max(row["error_derived"] for row in rows) < 1e-7
    assert min(row["cosine_printed"] for row in rows) < 0.99


def test_the_last_steps_are_kept_from_the_start_of_an_episode(load: Any) -> None:
    runs: Any = load("gradient_runs")
    sampler, steps = td.make("RingWorld-v0").sampler(seed=1), []
    kept: Any = None
    for _ in range(4):
        steps.append(sampler.take(runs.STORED // 3))
        kept = runs.joined(kept, steps[-1])
        assert len(kept.reward) <= runs.STORED
    everything = np.concatenate([part.obs for part in steps])
    np.testing.assert_array_equal(kept.obs, everything[-len(kept.obs) :])
    ends = np.concatenate([part.terminated for part in steps])
    assert ends[-len(kept.obs) - 1]
    assert len(kept.obs) > 0.9 * runs.STORED


def test_runs_that_would_decide(load: Any) -> None:
    """With as many runs as it says, four of five repetitions find the mean to be positive at 95 %."""
    frame = load("frame")
    rng = np.random.default_rng(0)
    needed = frame.runs_needed(rng.normal(0.1, 1.0, 100_000))
    assert needed == pytest.approx(784, rel=0.2)  # (1.96 + 0.84)² / 0.1²
    found = [frame.mean_interval(rng.normal(0.1, 1.0, 784))[1] > 0 for _ in range(1000)]
    assert np.mean(found) == pytest.approx(0.8, abs=0.05)


@pytest.mark.slow
def test_what_is_compared_is_the_gradient_and_what_is_computed_lowers_the_error(load: Any) -> None:
    """Sampled with exact statistics, the trace and the offline form are ∇J up to noise; λ of the model has less J."""
    runs, case = load("gradient_runs"), load("cases").CASES["RingWorld 0.4/0.35"]
    learner = case.build(0.01, td.rules.Meta())
    learner.update_many(case.task.sampler(seed=0).take(2000))
    found = runs.compared(case, learner, case.task.sampler(seed=1).take(200_000))
    for how, form, g, truth in found:
        if (how, form) in (("exact", "trace"), ("exact", "offline"), ("expected", "trace")):
            assert np.linalg.norm(g - truth) < 0.1 * np.linalg.norm(truth), (how, form)
    assert min(runs.cosine(g, truth) for how, form, g, truth in found if form == "one step") < 0.99
    s, V = case.system, learner.predict_many(np.arange(11)) * case.system.live
    best = runs.from_model(case, learner, None)
    least = case.task.mdp.under(case.task.target).best_lambda(V, weights=s.d).target_error
    assert s.target_error(V, s.lam(best)) == pytest.approx(least, rel=1e-3)


def counted(n: int, folder: str) -> list[dict[str, int]]:
    """A unit that leaves a mark each time it is run."""
    with (Path(folder) / "marks").open("a", encoding="utf-8") as file:
        file.write("x")
    return [{"n": n, "square": n * n}]


def test_what_is_kept_is_not_run_again(load: Any, tmp_path: Path) -> None:
    frame, run = load("frame"), load("run")
    units = [frame.Unit(f"n{n}", counted, {"n": n, "folder": str(tmp_path)}) for n in range(3)]
    units[0].run(tmp_path)
    run.run(units, tmp_path, workers=1)
    run.run(units, tmp_path, workers=1)
    assert (tmp_path / "marks").read_text(encoding="utf-8") == "xxx"
    assert frame.gathered(units, tmp_path)["square"].to_list() == [0, 1, 4]
    assert frame.Unit("n1", counted, {"n": 2, "folder": ""}).key != units[1].key


def test_a_table_goes_between_its_markers(load: Any) -> None:
    frame = load("frame")
    page = "a\n<!-- measured: x -->\nold\n<!-- end -->\nb\n<!-- measured: y -->\nkept\n<!-- end -->\n"
    new = frame.filled(page, "x", frame.table(["one"], [["\\1"]]))
    assert "old" not in new
    assert "| \\1 |" in new
    assert new.count("kept") == 1
    assert frame.filled(new, "x", "") != new
    with pytest.raises(ValueError, match="no place for z"):
        frame.filled(page, "z", "")


@pytest.mark.parametrize("name", OURS)
def test_the_page_has_what_its_data_say(load: Any, name: str) -> None:
    frame: ModuleType = load("frame")
    question: Any = load(name)
    data = pl.read_parquet(PAGE.with_suffix("") / f"{name}.parquet")
    text = PAGE.read_text(encoding="utf-8")
    for marker, content in question.tables(data).items():
        assert frame.filled(text, marker, content) == text, f"run.py {name} --redraw"
    shown = set(re.findall(r"\(open-questions-([\w-]+)\.svg\)", text))
    assert set(question.charts(data)) <= shown
    assert f"experiments/open_questions/run.py {name} --full" in text


@pytest.mark.slow
@pytest.mark.parametrize("name", OURS)
def test_the_reduced_form_runs(load: Any, name: str, tmp_path: Path, capsys: Any) -> None:
    load("run").main([name, "--out", str(tmp_path), "--workers", "1"])
    said = capsys.readouterr().out
    assert "| --- |" in said
    assert "nan" not in said.lower()
    assert all(path.stat().st_size > 0 for path in tmp_path.rglob("*.svg"))
    load("run").main([name, "--out", str(tmp_path), "--workers", "1"])
    assert f"{name}: 0 of" in capsys.readouterr().out
