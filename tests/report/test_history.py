"""`td.report.follow` against a learner driven by hand, and its figure against what was recorded."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pairing import cases

import tdlambda as td

RING = td.make("RingWorld-v0")
LEARNERS: dict[str, Any] = {
    "META": lambda: td.TrueOnlineTD(RING.features, 0.02, td.rules.Meta(0.01)),
    "META, corrected": lambda: td.TrueOnlineGTD(RING.features, 0.02, td.rules.Meta(0.01, of="corrected")),
    "greedy": lambda: td.TrueOnlineTD(RING.features, 0.02, td.rules.Greedy()),
    "greedy, VTD": lambda: td.TrueOnlineTD(RING.features, 0.02, td.rules.Greedy("vtd")),
    "a table of λ": lambda: td.TD(RING.features, 0.02, np.linspace(0, 1, 11)),
    "Monte Carlo": lambda: td.MonteCarlo(RING.features, 0.02),
}


@pytest.mark.parametrize("name", cases(LEARNERS, ["META", "a table of λ", "Monte Carlo"]))
def test_what_is_recorded_is_what_a_learner_driven_by_hand_knows(name: str) -> None:
    moments = [0, 1, 50, 700, 3000]
    history = td.report.follow(RING, LEARNERS[name](), steps=4000, points=moments, seed=3)
    assert history.steps.tolist() == moments
    v, steps, done = LEARNERS[name](), RING.sampler(seed=3).take(4000), 0
    for k, moment in enumerate([*moments, 4000]):
        v.update_many(td.mdp.Transitions(*(column[done:moment] for column in vars(steps).values())))
        done = moment
        if moment == 4000:
            continue
        np.testing.assert_array_equal(history.values[k], v.predict_many(range(11)))
        np.testing.assert_array_equal(history.lambdas[k], [v.lambda_at(s) for s in range(11)])
        error = RING.exact.value_error(history.values[k], half=False)
        assert history.error[k] == pytest.approx(error)
        if history.names:
            np.testing.assert_array_equal(history.estimates[k], v.estimates(range(11))[1:])
    np.testing.assert_array_equal(history.learner.weights, v.weights)  # it went on to the last step


@pytest.mark.costly
def test_exact_statistics_are_those_of_the_model() -> None:
    moments = [0, 3000]
    mdp, pi, b = RING.mdp, RING.target, RING.behavior
    for name, behavior in (("META", None), ("META, corrected", b)):
        history = td.report.follow(RING, LEARNERS[name](), 3000, moments)
        assert history.names == ("E[G]", "E[G^λ]", "Var[G^λ]")
        for k in range(2):
            V, lam = history.values[k], history.lambdas[k]
            np.testing.assert_array_equal(history.exact[k, 0], mdp.v(pi))
            np.testing.assert_allclose(history.exact[k, 1], mdp.under(pi).lambda_return(V, lam).mean)
            np.testing.assert_allclose(history.exact[k, 2], mdp.under(pi, behavior).lambda_return(V, lam).variance)
    greedy, vtd = (td.report.follow(RING, LEARNERS[n](), 3000, moments) for n in ("greedy", "greedy, VTD"))
    assert (greedy.names, vtd.names) == (("E[G]", "Var[G]"), ("E[G]", "E[G²]"))
    np.testing.assert_allclose(greedy.exact[1], [mdp.v(pi), mdp.under(pi).return_variance()])
    np.testing.assert_allclose(vtd.exact[1, 1], mdp.under(pi).return_variance() + mdp.v(pi) ** 2)
    assert td.report.follow(RING, LEARNERS["Monte Carlo"](), 10, [10]).exact.shape == (1, 0, 11)


def test_moments_are_spread_over_a_logarithmic_axis() -> None:
    history = td.report.follow(RING, LEARNERS["Monte Carlo"](), steps=1000, points=5)
    assert history.steps.tolist() == [10, 32, 100, 316, 1000]
    assert td.report.follow(RING, LEARNERS["Monte Carlo"](), steps=3, points=5).steps.tolist() == [3]


def rows(part: Any) -> dict[str, list[tuple[float, float]]]:
    """The data of each series of a chart."""
    found: dict[str, list[tuple[float, float]]] = {}
    for row in part.data.values:
        found.setdefault(row["series"], []).append((row["x"], row["mean"]))
    return found


def pairs(x: Any, y: Any) -> Any:
    return [pytest.approx(pair, rel=1e-5) for pair in zip(x, y, strict=True)]


def test_the_chart_shows_what_was_recorded() -> None:
    history = td.report.follow(RING, LEARNERS["META"](), 2000, points=[0, 100, 2000])
    lam, value, error, *estimates = history.plot(states=[2, 7]).concat
    live = range(1, 10)
    assert [*rows(lam)] == ["after 0", "after 100", "after 2,000"]
    for k, label in enumerate(rows(lam)):
        assert rows(lam)[label] == pairs(live, history.lambdas[k, 1:10])
        assert rows(value)[label] == pairs(live, history.values[k, 1:10])
    assert rows(value)["exact"] == pairs(live, RING.exact.v()[1:10])
    assert rows(error)["error"] == pairs([100, 2000], history.error[1:])
    assert len(estimates) == 3
    for k, part in enumerate(estimates):
        assert part.title.startswith(history.names[k])
        for s in (2, 7):
            assert rows(part)[f"state {s}"] == pairs([100, 2000], history.estimates[1:, k, s])
            assert rows(part)[f"state {s}, exact"] == pairs([100, 2000], history.exact[1:, k, s])


@pytest.mark.parametrize(
    ("name", "panels"), [("META", 6), pytest.param("greedy", 5, marks=pytest.mark.slow), ("a table of λ", 3)]
)
def test_it_is_written_to_a_file_as_its_suffix_says(name: str, panels: int, tmp_path: Path) -> None:
    history = td.report.follow(RING, LEARNERS[name](), 500, points=4)
    for suffix, begins in ((".svg", b"<svg"), (".png", b"\x89PNG")):
        chart = history.plot(tmp_path / f"chart{suffix}")
        assert len(chart.concat) == panels
        assert (tmp_path / f"chart{suffix}").read_bytes().startswith(begins)
    history.plot(str(tmp_path / "again.svg"))
    assert (tmp_path / "again.svg").read_bytes() == (tmp_path / "chart.svg").read_bytes()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda v: td.report.follow(RING, v, 0), "steps must be at least 1"),
        (lambda v: td.report.follow(RING, v, 10, points=0), "points must be at least 1"),
        (lambda v: td.report.follow(RING, v, 10, points=[]), "points must be a number, or increasing"),
        (lambda v: td.report.follow(RING, v, 10, points=[5, 5]), "points must be .* increasing numbers"),
        (lambda v: td.report.follow(RING, v, 10, points=[5, 11]), "points must be from 0 to 10"),
        (lambda v: td.report.follow(RING, v, 10).plot(states=[11]), "states must be from 0 to 10"),
        (lambda v: td.report.follow(RING, v, 10).plot(states=[]), "states"),
        (lambda v: td.report.follow(RING, v, 10).plot("watch.gif"), "path must end in .pdf, .svg, .png"),
    ],
)
def test_what_cannot_be_is_refused_by_name(call: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        call(LEARNERS["a table of λ"]())


def test_nothing_of_altair_is_imported_before_a_chart_is_drawn() -> None:
    code = "import sys, tdlambda as td; td.AutoTD, td.report.follow, td.engine; sys.exit('altair' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_any_environment_can_be_followed(tmp_path: Path) -> None:
    """Without the truth: V and λ at observations that are met, the same learner as `td.learn` trains."""
    pole = td.features.TileCoder([-2.4, -3, -0.21, -3], [2.4, 3, 0.21, 3], tilings=2, tiles=4)
    v, other = (td.TrueOnlineTD(pole, 0.05, 0.9) for _ in range(2))
    options: Any = {"policy": [0.5, 0.5], "gamma": 0.99, "seed": 1}
    history = td.report.follow("CartPole-v1", v, 300, points=[0, 100, 300], **options)
    td.learn("CartPole-v1", other, 300, **options)
    np.testing.assert_array_equal(v.weights, other.weights)
    assert history.values.shape == history.lambdas.shape == (3, 20)
    assert (history.values[0] == 0).all()
    assert abs(history.values[2]).max() > 0
    assert np.isnan(history.error).all()
    history.plot(tmp_path / "pole.svg", states=[0, 5])
    with pytest.raises(ValueError, match="no exact model"):
        _ = history.truth
    with pytest.raises(ValueError, match="a finite task has its own"):
        td.report.follow(RING, td.TD(RING.features, 0.1), 10, gamma=0.9)
