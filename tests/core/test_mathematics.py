"""Steps in notation: in the order of computation, of the model that runs."""

import tdlambda as td
from tdlambda.core.mathematics import equations, rule_equations
from tdlambda.core.model import Model


def test_numbers_stand_before_what_uses_them() -> None:
    lines = rule_equations(Model(td.TrueOnlineTD, td.rules.LambdaMixture())).splitlines()
    place = {line.split(" ← ")[0].split(" = ")[0].strip(): i for i, line in reversed(list(enumerate(lines)))}
    assert place["age"] < next(i for i, line in enumerate(lines) if "LATELY / age" in line)
    assert place["far"] < place["most"] < place["r"] < place["least"] < place["p"]
    assert place["trace"] < place["noise"] < place["mean"]


def test_the_branch_is_that_of_the_model() -> None:
    by_td, by_dutch = (rule_equations(Model(kind, td.rules.ValueErrorGreedy())) for kind in (td.TD, td.TrueOnlineTD))
    assert "reach     = α (kept + ρ |x|²)" in by_td
    assert "reach     = kept + ρ α (1 - kept) |x|²" in by_dutch
    assert "carries_alpha" not in by_td + by_dutch


class Swapped(td.Algorithm):
    dots = {"v": "w.x"}
    keeps = {"last": 0.0, "former": 0.0}
    updates = "w += along x"
    trace_rows = ""

    @staticmethod
    def step(v, last, former, alpha, reward):  # type: ignore[no-untyped-def]
        last, former = reward - v, last
        if former > 0:
            along = alpha * last / 2 * former
        else:
            along, former = 0.0, 1.0
        return along, last, former


def test_values_of_before_and_branches() -> None:
    assert equations(Model(Swapped)).splitlines() == [
        "last, former ← r' - w·x, last",
        "if former > 0:",
        "    along = (α last / 2) former",
        "else:",
        "    along  = 0",
        "    former ← 1",
        "w ← w + along x",
    ]


def test_centred_rewards_and_features() -> None:
    v = td.TrueOnlineTD(td.features.OneHot(2), alpha=0.1, centering=0.5)
    assert equations(v.model).startswith("r' ← r' - average_reward\n")
    text = equations(td.TD(td.features.OneHot(2), alpha=0.1, traces="replacing").model)
    assert "at each feature of x, and with a live trace:\n    e ← ρ x if x ≠ 0, else keep e" in text
