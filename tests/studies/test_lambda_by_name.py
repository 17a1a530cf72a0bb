"""λ by the name of a rule, beside numbers and in a grid with them; and AutoTD: in runs, results and statistics."""

from pathlib import Path

import polars as pl
import pytest
from small_studies import small

import tdlambda as td
from tdlambda.lab.cli import run as command
from tdlambda.lab.studies import choose, compare, hindsight, sensitivity, summary
from tdlambda.lab.studies.units import read_unit

TEXT = """
name = "named"
task = "RingWorld-v0"
preset = "0.3/0.25"
seeds = 3
steps = 1000
points = 50
curve = 10
warm_up = 0.1

[grid]
alpha = [0.01, 0.1]
lam = [0, 0.5, "auto", "greedy"]

[methods.both]
learner = "TrueOnlineTD"
over = ["alpha", "lam"]

[methods.rule]
learner = "TrueOnlineTD"
rule = "greedy"
over = ["alpha"]

[methods.option]
learner = "TrueOnlineTD"
over = ["alpha"]
options = { lam = "greedy" }

[methods.AutoTD]
learner = "AutoTD"
"""
METHODS = {
    "both": td.studies.Method("TrueOnlineTD", over=("alpha", "lam")),
    "rule": td.studies.Method("TrueOnlineTD", rule="greedy", over=("alpha",)),
    "option": td.studies.Method("TrueOnlineTD", over=("alpha",), options={"lam": "greedy"}),
    "AutoTD": td.studies.Method("AutoTD"),
}
STUDY = small(name="named", grid={"alpha": [0.01, 0.1], "lam": [0, 0.5, "auto", "greedy"]}, methods=METHODS)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("named")
    assert td.studies.run_study(STUDY, out).done == 12
    return out


def test_toml_and_python_say_the_same(tmp_path: Path) -> None:
    path = tmp_path / "named.toml"
    path.write_text(TEXT, encoding="utf-8")
    assert td.studies.Study.load(path) == STUDY == td.studies.Study.from_dict(STUDY.to_dict())


def test_a_name_stands_for_the_rule_and_its_warm_up() -> None:
    ring = STUDY.environment
    warm = td.rules.Greedy(warm_up=0.1, length=1000)
    assert {repr(learner.rule) for name in ("rule", "option") for learner in STUDY.learners(name)} == {repr(warm)}
    found = [learner.rule for learner in STUDY.learners("both")][:4]
    assert found == [td.rules.Fixed(0.0), td.rules.Fixed(0.5), td.rules.LambdaMixture(), warm]
    assert STUDY.learners("rule")[0].features == ring.features
    assert isinstance(STUDY.learners("AutoTD")[0], td.AutoTD)
    meta = small(methods={"m": td.studies.Method("TD", rule="meta", over=("alpha",), options={"kappa": 0.5})})
    assert [learner.rule.kappa for learner in meta.learners("m")] == [0.5, 0.5]  # type: ignore[attr-defined]


def test_whether_lambda_is_fixed_is_known_of_every_cell() -> None:
    fixed = {name: [STUDY.methods[name].fixed_lam(cell) for cell in STUDY.cells(name)] for name in METHODS}
    assert fixed == {
        "both": [True, True, False, False] * 2, "rule": [False] * 2, "option": [False] * 2, "AutoTD": [False],
    }  # fmt: skip
    families = {name: {STUDY.methods[name].family(cell) for cell in STUDY.cells(name)} for name in METHODS}
    assert families["both"] == {"fixed λ", "tunes itself"}
    assert families["AutoTD"] == families["rule"] == families["option"] == {"tunes itself"}


@pytest.mark.parametrize(
    ("method", "family"),
    [
        (td.studies.Method("TD"), "fixed λ"),  # its default
        (td.studies.Method("LSTD", options={"lam": [0.5, 0.1]}), "fixed λ"),
        (td.studies.Method("TD", options={"learner.lam": 1}), "fixed λ"),
        (td.studies.Method("TD", rule="Fixed", options={"rule.lam": 0.5}), "fixed λ"),
        (td.studies.Method("TD", options={"learner.lam": "meta"}), "tunes itself"),
        (td.studies.Method("TD", rule="Meta.thesis"), "tunes itself"),
        (td.studies.Method("TD", rule="mine:Rule"), "tunes itself"),
        (td.studies.Method("mine:Learner", options={"lam": 0.3}), "fixed λ"),
        (td.studies.Method("mine:Learner"), "other"),
        (td.studies.Method("NStepTD", options={"n": 3}), "other"),
    ],
)
def test_families(method: td.studies.Method, family: str) -> None:
    assert method.family({}) == family
    assert method.fixed_lam({}) == (family == "fixed λ")


def test_results_name_the_rule_and_hold_lambda_as_text(finished: Path) -> None:
    results = td.studies.load_results(finished).filter(pl.col("seed") == 1)
    rows = results.select("method", "learner", "rule", "alpha", "lam").rows()
    assert rows[:4] == [
        ("both", "TrueOnlineTD", None, 0.01, "0.0"), ("both", "TrueOnlineTD", None, 0.01, "0.5"),
        ("both", "TrueOnlineTD", "auto", 0.01, "auto"), ("both", "TrueOnlineTD", "greedy", 0.01, "greedy"),
    ]  # fmt: skip
    assert rows[-1] == ("AutoTD", "AutoTD", None, None, None)
    assert set(results.filter(pl.col("method").is_in(["rule", "option"]))["rule"]) == {"greedy"}
    unit = next(finished.glob("units/both-*/000001.parquet"))
    stored = read_unit(unit, STUDY.key("both"), 1, STUDY.stored_cells("both"))
    assert stored["lam"].to_pylist() == ["0.0", "0.5", "auto", "greedy"] * 2
    tails = [results.filter(pl.col("method") == name)["tail"].to_list() for name in ("rule", "option", "both")]
    assert tails[0] == tails[1] == [tails[2][3], tails[2][7]], "the same, however it is written"


def test_statistics_of_a_grid_with_names(finished: Path) -> None:
    both = td.studies.load_results(finished).filter(pl.col("method") == "both").sort("alpha", "lam", "seed")
    table = both["tail"].to_numpy().reshape(8, 3)
    auto = both.filter((pl.col("lam") == "auto") & (pl.col("alpha") == 0.1))["tail"]
    best, errors = hindsight(table)
    assert summary(errors).n == compare(auto, errors).n == 3
    assert choose(table, tuning=[0])[1].size == 2
    by_alpha = both.filter(pl.col("lam") == "auto").group_by("alpha", maintain_order=True).agg(pl.col("tail").mean())
    assert sensitivity(by_alpha["alpha"], by_alpha["tail"]) >= 0
    assert 0 <= best < 8


def test_the_run_table_calls_no_rule_a_fixed_lambda(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    td.studies.run_study(STUDY, tmp_path, announce=command.announce)
    said = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line.split()}
    assert "fixed λ, auto, greedy" in said["both"]
    assert "greedy" in said["rule"]
    assert "greedy" in said["option"]
    assert "tunes itself" in said["AutoTD"]
    assert not any("fixed λ" in said[name] for name in ("rule", "option", "AutoTD"))


def test_names_and_numbers_are_mixed_in_lambda_alone() -> None:
    with pytest.raises(TypeError, match=r"grid\.alpha: values must be all numbers"):
        small(grid={"alpha": [0.1, "auto"]})
    with pytest.raises(ValueError, match=r"grid\.lam: lam must be .*got 'atuo'; did you mean 'auto'\?"):
        small(grid={"lam": [0.5, "atuo"], "alpha": [0.1]})
