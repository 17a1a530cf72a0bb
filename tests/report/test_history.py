"""`td.follow` against a learner driven by hand, and its figure against what was recorded."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda.report.drawing import apart

RING = td.make("RingWorld-v0")
LEARNERS: dict[str, Any] = {
    "META": lambda: td.TrueOnlineTD(RING.features, 0.02, td.Meta(0.01)),
    "META, corrected": lambda: td.TrueOnlineGTD(RING.features, 0.02, td.Meta(0.01, of="corrected")),
    "greedy": lambda: td.TrueOnlineTD(RING.features, 0.02, td.Greedy()),
    "greedy, VTD": lambda: td.TrueOnlineTD(RING.features, 0.02, td.Greedy("vtd")),
    "a table of λ": lambda: td.TD(RING.features, 0.02, np.linspace(0, 1, 11)),
    "Monte Carlo": lambda: td.MonteCarlo(RING.features, 0.02),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_what_is_recorded_is_what_a_learner_driven_by_hand_knows(name: str) -> None:
    moments = [0, 1, 50, 700, 3000]
    history = td.follow(RING, LEARNERS[name](), steps=4000, points=moments, seed=3)
    assert history.steps.tolist() == moments
    v, steps, done = LEARNERS[name](), RING.sampler(seed=3).take(4000), 0
    for k, moment in enumerate([*moments, 4000]):
        v.update_many(td.Transitions(*(column[done:moment] for column in vars(steps).values())))
        done = moment
        if moment == 4000:
            continue
        np.testing.assert_array_equal(history.values[k], v.predict_many(range(11)))
        np.testing.assert_array_equal(history.lambdas[k], [v.lambda_at(s) for s in range(11)])
        error = RING.mdp.value_error(history.values[k], RING.target, half=False)
        assert history.error[k] == pytest.approx(error)
        if history.names:
            np.testing.assert_array_equal(history.estimates[k], v.estimates(range(11))[1:])
    np.testing.assert_array_equal(history.learner.weights, v.weights)  # it went on to the last step


def test_exact_statistics_are_those_of_the_model() -> None:
    moments = [0, 3000]
    mdp, pi, b = RING.mdp, RING.target, RING.behavior
    for name, behavior in (("META", None), ("META, corrected", b)):
        history = td.follow(RING, LEARNERS[name](), 3000, moments)
        assert history.names == ("E[G]", "E[G^λ]", "Var[G^λ]")
        for k in range(2):
            V, lam = history.values[k], history.lambdas[k]
            np.testing.assert_array_equal(history.exact[k, 0], mdp.v(pi))
            np.testing.assert_allclose(history.exact[k, 1], mdp.lambda_return(V, lam, pi).mean)
            np.testing.assert_allclose(history.exact[k, 2], mdp.lambda_return(V, lam, pi, behavior).variance)
    greedy, vtd = (td.follow(RING, LEARNERS[n](), 3000, moments) for n in ("greedy", "greedy, VTD"))
    assert (greedy.names, vtd.names) == (("E[G]", "Var[G]"), ("E[G]", "E[G²]"))
    np.testing.assert_allclose(greedy.exact[1], [mdp.v(pi), mdp.return_variance(pi)])
    np.testing.assert_allclose(vtd.exact[1, 1], mdp.return_variance(pi) + mdp.v(pi) ** 2)
    assert td.follow(RING, LEARNERS["Monte Carlo"](), 10, [10]).exact.shape == (1, 0, 11)


def test_moments_are_spread_over_a_logarithmic_axis() -> None:
    history = td.follow(RING, LEARNERS["Monte Carlo"](), steps=1000, points=5)
    assert history.steps.tolist() == [10, 32, 100, 316, 1000]
    assert td.follow(RING, LEARNERS["Monte Carlo"](), steps=3, points=5).steps.tolist() == [3]


def lines(ax: Any) -> dict[str, tuple[Any, Any]]:
    """The data of each line, by its label."""
    return {line.get_label(): (line.get_xdata(), line.get_ydata()) for line in ax.get_lines()}


def test_the_figure_shows_what_was_recorded() -> None:
    history = td.follow(RING, LEARNERS["META"](), 2000, points=[0, 100, 2000])
    lam, value, error, *estimates = history.plot(states=[2, 7]).axes
    live = np.arange(1, 10)
    assert [*lines(lam)] == ["after 0", "after 100", "after 2 000"]
    for k, label in enumerate(lines(lam)):
        np.testing.assert_array_equal(lines(lam)[label], (live, history.lambdas[k, 1:10]))
        np.testing.assert_array_equal(lines(value)[label], (live, history.values[k, 1:10]))
    np.testing.assert_array_equal(lines(value)["v"], (live, RING.mdp.v(RING.target)[1:10]))
    np.testing.assert_array_equal(lines(error)["error"], ([100, 2000], history.error[1:]))
    assert len(estimates) == 3
    for k, ax in enumerate(estimates):
        assert history.names[k].replace("G^λ", r"$G^\lambda$") in ax.get_title(loc="left")
        for s in (2, 7):
            np.testing.assert_array_equal(lines(ax)[f"state {s}"], ([100, 2000], history.estimates[1:, k, s]))
            np.testing.assert_array_equal(lines(ax)[f"state {s}, exact"], ([100, 2000], history.exact[1:, k, s]))
        assert [text.get_text() for text in ax.texts] == [
            f"s = {s}" for s in sorted((2, 7), key=lambda s: history.estimates[-1, k, s])
        ]


def test_nothing_drawn_is_cut_off_while_v_is_still_far_from_the_truth() -> None:
    history = td.follow(RING, LEARNERS["META"](), 20, points=[0, 20])
    assert abs(history.values).max() < abs(history.truth).max() / 10
    for ax in history.plot().axes:
        low, high = ax.get_ylim()
        for label, (_, y) in lines(ax).items():
            assert low <= np.min(y) <= np.max(y) <= high, label


@pytest.mark.parametrize(("name", "panels"), [("META", 6), ("greedy", 5), ("a table of λ", 3)])
def test_it_is_written_to_a_file_as_its_suffix_says(name: str, panels: int, tmp_path: Path) -> None:
    history = td.follow(RING, LEARNERS[name](), 500, points=4)
    for suffix, begins in ((".svg", b"<?xml"), (".png", b"\x89PNG")):
        figure = history.plot(tmp_path / f"figure{suffix}")
        assert len(figure.axes) == panels
        assert (tmp_path / f"figure{suffix}").read_bytes().startswith(begins)
    history.plot(str(tmp_path / "again.svg"))
    assert (tmp_path / "again.svg").read_bytes() == (tmp_path / "figure.svg").read_bytes()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda v: td.follow(td.make("MountainCar-v0"), v, 10), "task must be one with an exact model"),
        (lambda v: td.follow(RING, v, 0), "steps must be at least 1"),
        (lambda v: td.follow(RING, v, 10, points=0), "points must be at least 1"),
        (lambda v: td.follow(RING, v, 10, points=[]), "points must be at least one"),
        (lambda v: td.follow(RING, v, 10, points=[5, 5]), "points must be .* in rising order"),
        (lambda v: td.follow(RING, v, 10, points=[5, 11]), "points must be from 0 to 10"),
        (lambda v: td.follow(RING, v, 10).plot(states=[11]), "states must be from 0 to 10"),
        (lambda v: td.follow(RING, v, 10).plot(states=[]), "states"),
    ],
)
def test_what_cannot_be_is_refused_by_name(call: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        call(LEARNERS["a table of λ"]())


def test_labels_stay_apart_and_inside() -> None:
    rng = np.random.default_rng(0)
    for _ in range(100):
        out = apart(np.sort(rng.normal(0.5, 0.4, 6)), 0.0, 1.0, 0.1)
        assert (np.diff(out) > 0.1 - 1e-9).all()
        assert out[-1] <= 1


def test_nothing_of_matplotlib_is_imported_before_a_figure_is_drawn() -> None:
    code = "import sys, tdlambda; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_matplotlib_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    history = td.follow(RING, LEARNERS["a table of λ"](), 10)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "tdlambda.report.drawing")
    with pytest.raises(ModuleNotFoundError, match="plot needs Matplotlib"):
        history.plot()
