"""Intervals that cover, comparisons that pair, selection that does not peek."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from tdlambda import studies


@pytest.mark.parametrize("n", [4, 8, 24])
def test_intervals_cover_as_often_as_they_say_even_with_few_seeds(n: int) -> None:
    rng = np.random.default_rng(n)
    mean = ratio = better = 0
    for _ in range(400):
        common = rng.normal(size=n)
        a, b = (np.exp(0.3 * (common + 0.5 * rng.normal(size=n))) for _ in range(2))
        cell, pair = studies.summary(a), studies.compare(a, b)
        mean += cell.low <= np.exp(0.3**2 * 1.25 / 2) <= cell.high
        ratio += pair.ratio_low <= 1 <= pair.ratio_high
        better += pair.better_low <= 0.5 <= pair.better_high
    assert min(mean, ratio) >= 0.925 * 400  # 0.95 with a standard error of 0.011
    assert max(mean, ratio) <= 0.98 * 400
    assert better >= 0.84 * 400  # four pairs agree by chance in an eighth of all cases


def test_intervals_are_those_of_scipy() -> None:
    x = np.random.default_rng(0).lognormal(0, 0.1, size=12)
    cell = studies.summary(-x)
    wanted = stats.ttest_1samp(-x, 0).confidence_interval(0.95)
    assert (cell.low, cell.high) == pytest.approx((wanted.low, wanted.high))
    logs = studies.summary(x, level=0.8)
    assert (logs.high / logs.mean, logs.mean / logs.low) == pytest.approx(
        [np.exp(stats.t.ppf(0.9, 11) * stats.sem(x) / x.mean())] * 2
    )
    pair = studies.compare(x, np.where(np.arange(12) < 9, 2 * x, 0.5 * x))
    wilson = stats.binomtest(9, 12).proportion_ci(0.95, "wilson")
    assert (pair.better_low, pair.better_high) == pytest.approx((wilson.low, wilson.high))


def test_the_interval_of_a_ratio_agrees_with_the_jackknife() -> None:
    rng = np.random.default_rng(5)
    y = rng.lognormal(0, 0.4, size=60)
    x = y * rng.lognormal(-0.1, 0.2, size=60)
    rest = ~np.eye(60, dtype=bool)
    logs = np.array([np.log(x[some].mean() / y[some].mean()) for some in rest])
    error = np.sqrt(59 / 60 * ((logs - logs.mean()) ** 2).sum())
    pair = studies.compare(x, y)
    assert np.log(pair.ratio_high / pair.ratio_low) == pytest.approx(2 * stats.t.ppf(0.975, 59) * error, rel=0.03)


def test_a_summary_is_its_formulas_and_counts_what_diverged() -> None:
    x = np.array([1.0, 4.0, np.inf, 2.0, np.nan, 5.0])
    cell = studies.summary(x)
    good = x[np.isfinite(x)]
    assert (cell.n, cell.diverged) == (6, 2)
    assert (cell.mean, cell.std) == (good.mean(), good.std(ddof=1))
    assert cell.error == pytest.approx(good.std(ddof=1) / 2)
    assert cell.low < cell.mean < cell.high
    assert studies.summary(x) == cell, "the same runs, the same interval"
    nothing = studies.summary([np.inf, np.inf])
    assert (nothing.n, nothing.diverged, nothing.mean) == (2, 2, np.inf)
    assert np.isnan(studies.summary([3.0]).error)


def test_pairs_tell_what_means_cannot() -> None:
    rng = np.random.default_rng(2)
    luck = rng.lognormal(0, 1, size=40)  # of the trajectory, which both share
    a, b = luck * 0.95, luck * rng.uniform(0.99, 1.01, size=40)
    apart = studies.summary(a), studies.summary(b)
    assert apart[0].high > apart[1].low, "side by side, the intervals overlap"
    paired = studies.compare(a, b)
    assert paired.ratio_high < 0.97
    assert 0.94 < paired.ratio < 0.96
    assert paired.better == 1.0
    shuffled = studies.compare(a, rng.permutation(b))
    assert shuffled.ratio_high > 1.1, "pairs torn apart tell little"


def test_a_pair_in_which_one_diverged_is_counted_and_left_out() -> None:
    found = studies.compare([1.0, np.inf, 2.0, 3.0], [2.0, 1.0, 4.0, np.nan])
    assert (found.n, found.diverged, found.ratio) == (2, 2, 0.5)
    assert np.isnan(studies.compare([1.0, np.inf], [1.0, 1.0]).ratio_low)
    even = studies.compare([1.0, 2.0], [1.0, 2.0])
    assert (even.ratio, even.better) == (1.0, 0.5)


def test_selection_by_hindsight_is_too_good_and_apart_is_not() -> None:
    rng = np.random.default_rng(3)
    noise = 10 + rng.normal(size=(30, 40))  # thirty configurations, all equally good
    best, reported = studies.choose(noise, range(20))
    assert np.array_equal(reported, noise[best, 20:])
    assert best == int(np.argmin(noise[:, :20].mean(axis=1)))
    peeked, flattered = studies.hindsight(noise)
    assert peeked == int(np.argmin(noise.mean(axis=1)))
    assert flattered.mean() < 10 - 1.5 / np.sqrt(40)
    assert abs(reported.mean() - 10) < 2.5 / np.sqrt(20)


def test_a_configuration_that_diverged_is_not_chosen() -> None:
    table = np.array([[0.1, np.inf, 0.1], [1.0, 1.0, 1.0], [2.0, 2.0, 2.0]])
    assert studies.choose(table, [0, 1])[0] == 1
    assert studies.hindsight(table)[0] == 1
    assert studies.choose(table, [0])[0] == 0, "it has not diverged on these"


def test_sensitivity_is_the_stretch_around_the_best() -> None:
    alphas = np.array([1e-4, 1e-3, 1e-2, 1e-1, 1.0])
    assert studies.sensitivity(alphas, [9, 1, 9, 1.5, 9]) == 0.0, "a second valley does not count"
    assert studies.sensitivity(alphas, [1.9, 1.0, 1.9, 2.0, 2.1]) == pytest.approx(3.0)
    assert studies.sensitivity(alphas, [9, np.inf, 1.0, np.nan, 9]) == 0.0
    assert studies.sensitivity(alphas, [1.9, 1.0, 1.9, 2.0, 2.1], factor=3.0) == pytest.approx(4.0)


BAD: dict[str, tuple[Any, tuple[Any, ...], str]] = {
    "no errors": (studies.summary, ([],), "errors"),
    "a table of errors": (studies.summary, ([[1.0]],), "errors"),
    "level": (studies.summary, ([1.0, 2.0], 1.5), "level"),
    "unequal pairs": (studies.compare, ([1.0], [1.0, 2.0]), "a and b"),
    "one axis": (studies.choose, ([1.0, 2.0], [0]), "errors"),
    "no tuning": (studies.choose, ([[1.0, 2.0]], []), "tuning"),
    "tuning out of range": (studies.choose, ([[1.0, 2.0]], [2]), "tuning"),
    "overlap": (studies.choose, ([[1.0, 2.0]], [0], [0, 1]), "reporting"),
    "nothing to report on": (studies.choose, ([[1.0, 2.0]], [0, 1]), "reporting"),
    "values backwards": (studies.sensitivity, ([2.0, 1.0], [1.0, 1.0]), "values"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named(case: str) -> None:
    function, arguments, name = BAD[case]
    with pytest.raises(ValueError, match=name):
        function(*arguments)


def test_comparisons_at_the_edges() -> None:
    alone = studies.compare([2.0], [4.0])
    assert (alone.n, alone.ratio, alone.better) == (1, 0.5, 1.0)
    assert np.isnan(alone.ratio_low)
    assert studies.compare([0.0, 0.0], [0.0, 0.0]).ratio == 1.0
    assert studies.compare([1.0, 0.0], [0.0, 0.0]).ratio == np.inf
    assert studies.compare([np.inf], [1.0]).n == 0
    some = studies.compare([1.0, 2.0, 3.0], [0.0, 0.0, 3.0])
    assert some.ratio == 2.0
    assert 0 < some.ratio_low < 0.1
    assert 50 < some.ratio_high < np.inf
    nothing = studies.summary([0.0, 0.0])
    assert (nothing.low, nothing.high) == (0.0, 0.0)
    with np.errstate(over="raise"):
        assert studies.compare([0.0, 0.0, 1e300], [1.0, 1.0, 1.0]).ratio_low > 0
    assert studies.sensitivity([0.1, 1.0], [np.inf, np.inf]) == 0.0


def test_negative_costs_have_no_ratio_but_a_probability_of_improvement() -> None:
    found = studies.compare([-1.0, -2.0, 3.0], [-2.0, -4.0, 6.0])
    assert np.isnan([found.ratio, found.ratio_low, found.ratio_high]).all()
    assert found.better == pytest.approx(1 / 3)
    zero = studies.compare([0.0, 0.0], [1.0, 2.0])
    assert (zero.ratio, zero.better) == (0.0, 1.0)
    assert 0.3 < zero.better_low < zero.better_high == 1.0


def test_indices_may_be_an_array() -> None:
    assert studies.choose([[1.0, 2.0], [3.0, 4.0]], np.array([0]))[1].tolist() == [2.0]
    for wrong in ([1.0, 2.0], np.zeros((0, 3))):
        with pytest.raises(ValueError, match="errors must be"):
            studies.hindsight(wrong)
    with pytest.raises(ValueError, match="factor must be at least 1"):
        studies.sensitivity([0.1, 1.0], [1.0, 2.0], 0.5)
    with pytest.raises(ValueError, match=r"level must be in \(0, 1\), such as 0\.9; got 95"):
        studies.summary([1.0], level=95)


def test_summaries_and_comparisons_print_as_small_tables() -> None:
    errors = np.random.default_rng(1).normal(5.0, 1.0, 1000)
    lines = repr(studies.summary([*errors, np.inf])).splitlines()
    assert [line.split()[0] for line in lines] == ["Summary", "n", "diverged", "mean", "std", "error", "low", "high"]
    assert lines[1:3] == ["  n         1001", "  diverged  1"]
    lines = repr(studies.compare(errors, 2 * errors)).splitlines()
    assert lines[0] == "Comparison"
    assert "  ratio        0.5" in lines
    assert max(map(len, lines)) < 30


def test_choose_takes_the_results_of_a_study_as_they_are_loaded() -> None:
    tails = {("TD", 0.1): [1.0, 1.0, 9.0, 9.0], ("TD", 0.2): [2.0, 2.0, 3.0, 4.0], ("auto", None): [5.0, 6.0, 7.0, 8.0]}
    rows = [
        {"method": method, "alpha": alpha, "seed": 10 + k, "tail": tail}
        for (method, alpha), some in tails.items()
        for k, tail in enumerate(some)
    ]
    found = studies.choose(pl.DataFrame(rows), tuning=[10, 11])
    assert found["method"].to_list() == ["TD", "TD", "auto", "auto"]
    assert found["alpha"].to_list() == [0.1, 0.1, None, None]  # the best on the tuning seeds, not on the others
    assert found["seed"].to_list() == [12, 13, 12, 13]
    assert found["tail"].to_list() == [9.0, 9.0, 7.0, 8.0]
    assert studies.choose(pl.DataFrame(rows), [10], [13])["tail"].to_list() == [9.0, 8.0]
    with pytest.raises(ValueError, match="tuning must be seeds of the results, 10 to 13; got 0"):
        studies.choose(pl.DataFrame(rows), [0])
    with pytest.raises(ValueError, match="reporting must be indices of other seeds"):
        studies.choose(pl.DataFrame(rows), [10, 11, 12, 13])
    with pytest.raises(ValueError, match="lack seeds"):
        studies.choose(pl.DataFrame(rows[:-1]), [10])
    with pytest.raises(ValueError, match="measure must be a column"):
        studies.choose(pl.DataFrame(rows), [10], measure="area")
