"""A study says what will be run, the same however it is written down; and what cannot be run is refused first."""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from searching import examples
from small_studies import METHODS, published_values, small

import tdlambda as td
from tdlambda.lab.reproduction import PublishedTrueOnlineGTD
from tdlambda.lab.reproduction.published import thesis_tables
from tdlambda.lab.studies import bundled, load_study

ALPHAS = [float(f"{k}e{e}") for e in (-5, -4, -3, -2) for k in (1, 2, 3, 4, 5)] + [0.1]
LAMBDAS = [0.0, 0.4, 0.8, 0.9, 0.95, 0.975, 0.99, 1.0]
KAPPAS = [1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1]

LAKE = """
name = "lake"
title = "A lake"
task = "FrozenLake-v0"
preset = "off-policy"
task_options = { discount = 0.9 }
seeds = "7:12"
steps = 3000
points = 30
tail = 0.2
curve = 15
warm_up = 0.25

[grid]
alpha = [0.001, 0.01]
kappa = [1, 0.1]
of = ["target", "corrected"]

[methods.META]
about = "over states"
learner = "PublishedTrueOnlineGTD"
rule = "Meta.thesis"
over = ["alpha", "kappa", "of"]
options = { last_discount = 0.95, initial = 0.5, "rule.features" = { type = "OneHot", n = 16 } }
truth = "thesis"

[methods.falling]
learner = "TD"
options = { lam = 0.5, alpha = { type = "OneOver", by = "steps", scale = 0.5 } }

[quick]
seeds = 2
grid = { alpha = [0.01] }
"""


def lake() -> td.studies.Study:
    """What LAKE says."""
    return td.studies.Study(
        name="lake", title="A lake", task="FrozenLake-v0", preset="off-policy", task_options={"discount": 0.9},
        seeds=range(7, 12), steps=3000, points=30, tail=0.2, curve=15, warm_up=0.25,
        grid={"alpha": np.array([0.001, 0.01]), "kappa": (1, 0.1), "of": ["target", "corrected"]},  # type: ignore[dict-item]
        methods={
            "META": td.studies.Method(
                "PublishedTrueOnlineGTD", "Meta.thesis", ("alpha", "kappa", "of"),
                {"last_discount": 0.95, "initial": 0.5, "rule.features": {"type": "OneHot", "n": 16}},
                "thesis", "over states",
            ),
            "falling": td.studies.Method("TD", options={"lam": 0.5, "alpha": {"type": "OneOver", "by": "steps",
            "scale": 0.5}}),
        },
        quick={"seeds": 2, "grid": {"alpha": [0.01]}},
    )  # fmt: skip


def keys(study: td.studies.Study) -> dict[str, str]:
    return {method: study.key(method) for method in study.methods}


def test_toml_dataclasses_and_plain_data_declare_the_same_study(tmp_path: Path) -> None:
    path = tmp_path / "lake.toml"
    path.write_text(LAKE, encoding="utf-8")
    written = td.studies.Study.load(path)
    assert written == td.studies.Study.load(str(path)) == lake()
    again = td.studies.Study.from_dict(json.loads(json.dumps(written.to_dict())))
    assert again == written
    assert keys(again) == keys(written) == keys(lake())


def test_learners_are_those_that_are_declared() -> None:
    task = td.make("FrozenLake-v0", "off-policy", discount=0.9)
    wanted = [
        PublishedTrueOnlineGTD(
            task.features, alpha, on_divergence="flag", last_discount=0.95, initial=0.5,
            lam=td.rules.Meta.thesis(kappa, of=of, features=td.features.OneHot(16), warm_up=0.25, length=3000),
        )
        for alpha in (0.001, 0.01) for kappa in (1.0, 0.1) for of in ("target", "corrected")
    ]  # fmt: skip
    found = lake().learners("META")
    assert [repr(learner) for learner in found] == [repr(learner) for learner in wanted]
    assert {learner.rule.warm_up_steps for learner in found} == {750}
    (falling,) = lake().learners("falling")
    step = td.steps.OneOver("steps", scale=0.5)
    assert repr(falling) == repr(td.TD(task.features, step, 0.5, on_divergence="flag"))


def test_a_warm_up_of_the_methods_own_goes_first() -> None:
    methods = {
        "own": td.studies.Method("TD", "Counting", ("alpha",), {"warm_up": 7}),
        "none": td.studies.Method("TD", "Counting", ("alpha",), {"rule.warm_up": 0}),
    }
    study = small(methods=methods, steps=1000, warm_up=0.5)
    assert [study.learners(name)[0].rule.warm_up_steps for name in methods] == [7, 0]


def test_the_published_truth_is_that_of_a_model_that_forgets_moves() -> None:
    study = td.studies.Study.load("frozenlake")
    found, exact = study.truth("fixed_published"), study.truth("fixed")
    np.testing.assert_allclose(found.values, published_values()[found.observations], rtol=1e-12)
    assert np.abs(found.values - exact.values).max() > 1e-3
    ring = small(methods={"a": td.studies.Method("TD", truth="thesis"), "b": td.studies.Method("TD")})
    np.testing.assert_allclose(ring.truth("a").values, ring.truth("b").values, rtol=1e-12)


PLAIN = st.one_of(st.floats(0.001, 0.9), st.integers(1, 9), st.sampled_from(["target", "corrected"]), st.booleans())
AXES = st.dictionaries(
    st.text("abcdefgh", min_size=1, max_size=3),
    st.one_of(
        st.lists(st.floats(0, 1), min_size=1, max_size=4, unique=True),
        st.lists(st.integers(0, 9), min_size=1, max_size=4, unique=True),
        st.lists(st.sampled_from("xyz"), min_size=1, unique=True),
    ),
    min_size=1,
    max_size=3,
)


SEEDS = st.one_of(
    st.integers(1, 500),
    st.builds(lambda first, n: f"{first}:{first + n}", st.integers(0, 10**6), st.integers(1, 500)),
    st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=5, unique=True),
)


@st.composite
def any_study(draw: Any) -> td.studies.Study:
    grid = draw(AXES)
    steps = draw(st.integers(1, 10**6))
    methods = {
        name: td.studies.Method(
            draw(st.sampled_from(["TD", "GTD"])), draw(st.sampled_from([None, "Meta"])),
            tuple(draw(st.lists(st.sampled_from(sorted(grid)), unique=True))),
            draw(st.dictionaries(st.sampled_from(["bound", "rule.of", "learner.lam"]), PLAIN)),
        )
        for name in draw(st.sets(st.sampled_from(["one", "two-2", "3.three", "vier_4+"]), min_size=1))
    }  # fmt: skip
    return td.studies.Study(
        "any", "RingWorld-v0", methods, grid=grid, steps=steps, points=draw(st.integers(1, min(steps, 300))),
        seeds=draw(SEEDS), tail=draw(st.floats(0.001, 1)),
        curve=draw(st.integers(1, 400)), warm_up=draw(st.floats(0, 0.99)),
        title=draw(st.sampled_from(["", "λ?", "\n\"'"])),
    )  # fmt: skip


@examples(40)
@given(any_study())
def test_what_is_written_down_is_the_same_study(study: td.studies.Study) -> None:
    again = td.studies.Study.from_dict(json.loads(json.dumps(study.to_dict())))
    assert again == study
    assert keys(again) == keys(study)


@examples(40)
@given(any_study())
def test_points_are_even(study: td.studies.Study) -> None:
    at, n = study.read_at, study.points
    assert at.size == n
    assert at[-1] == study.length
    assert np.abs(at - np.arange(1, n + 1) * study.length / n).max() <= 0.5 + 1e-6
    assert abs(study.tail_points - study.tail * n) <= 0.5 or study.tail_points == 1


@examples(40)
@given(any_study())
@example(small(steps=138, points=138, tail=0.25, curve=132))  # six ties in the rounding
def test_the_curve_keeps_points_evenly_and_the_whole_tail(study: td.studies.Study) -> None:
    n, m = study.points, min(study.curve, study.points)
    before = n - study.tail_points
    head, tail = np.split(study.stored_points, [-study.tail_points])
    np.testing.assert_array_equal(tail, np.arange(before, n))
    wanted = np.arange(1, m + 1) * n / m - 1
    assert np.abs(head - wanted[: head.size]).max(initial=0.0) <= 0.5 + 1e-6
    assert (np.diff(head, append=before) > 0).all()
    assert (wanted[head.size :] >= before - 0.5 - 1e-6).all()  # the others are in the tail


def test_cells_are_all_combinations_the_first_parameter_slowest() -> None:
    study = small(
        grid={"lam": [0.5, 0.1, 0.3], "alpha": [2, 1.5]}, methods={"m": td.studies.Method("TD", over=("alpha", "lam"))}
    )
    expected = [{"alpha": a, "lam": b} for a in (2.0, 1.5) for b in (0.5, 0.1, 0.3)]
    assert study.cells("m") == expected
    assert small(methods={"m": td.studies.Method("TD", options={"alpha": 0.1})}).cells("m") == [{}]


def test_some_of_a_study_can_be_changed() -> None:
    study = small()
    less = study.but(methods=["greedy"], grid={"alpha": [0.5]}, seeds=9)
    assert list(less.methods) == ["greedy"]
    assert less.grid == {"alpha": [0.5], "lam": [0.0, 0.9]}
    assert (less.seeds, study.seeds, less.steps) == (9, 3, study.steps)
    assert study == small(), "the study itself is not changed"


def test_seeds_are_a_number_a_list_or_a_range() -> None:
    for seeds, numbers in ((3, [0, 1, 2]), ("5:8", [5, 6, 7]), ([8, 2], [8, 2]), (np.arange(2, 4), [2, 3])):
        assert list(small(seeds=seeds).numbers) == numbers
    assert small(seeds=range(3)) == small(seeds="0:3") == small(seeds=[0, 1, 2]) == small(seeds=3)
    assert "; 2 seeds × " in repr(small(seeds=[8, 2]))


def test_the_quick_version_is_small_and_has_a_name_of_its_own() -> None:
    quick = {"seeds": 2, "steps": 100, "points": 10, "grid": {"lam": [0.5]}, "methods": ["fixed"]}
    found = small(quick=quick).small()
    assert found == small(name="small-quick", seeds=2, steps=100, points=10, grid={"alpha": [0.01, 0.1], "lam": [0.5]},
                          methods={"fixed": METHODS["fixed"]})  # fmt: skip
    with pytest.raises(ValueError, match="quick"):
        small().small()


# ---- extends ---------------------------------------------------------------------------------------------------


def test_a_study_extends_a_bundled_one_or_its_neighbour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "there").mkdir()
    mine = tmp_path / "there" / "mine.toml"
    mine.write_text('extends = "frozenlake"\nname = "mine"\nseeds = 3\n', encoding="utf-8")
    other = tmp_path / "there" / "other.toml"
    other.write_text(
        'extends = "mine.toml"\nsteps = 500000\n[grid]\nalpha = [0.5]\nlam=[1.0]\nkappa=[1]', encoding="utf-8"
    )
    assert td.studies.Study.load(mine) == td.studies.Study.load("frozenlake").but(name="mine", seeds=3)
    monkeypatch.chdir(tmp_path)
    for source in ("there/other.toml", other):
        found = td.studies.Study.load(source)
        assert (found.name, found.seeds, found.steps, found.task) == ("mine", 3, 500_000, "FrozenLake-v0")
        assert found.grid == {"alpha": [0.5], "lam": [1.0], "kappa": [1]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('extends = "a.toml"', "extends itself"),
        ('extends = "../there/b.toml"', "extends itself"),
        ("extends = 3", "extends"),
        ('extends = "frozenlak"', "did you mean 'frozenlake'"),
        (f'extends = "{"x" * 300}"', "there is neither a file nor a bundled study"),
        (f'extends = "{"../" * 2000}"', "there is neither a file nor a bundled study"),
        ('extends = "a\\u0000b"', "there is neither a file nor a bundled study"),
    ],
)
def test_a_study_that_extends_itself_or_nothing_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "a.toml").write_text(text, encoding="utf-8")
    (tmp_path / "there" / "b.toml").write_text('extends = "a.toml"', encoding="utf-8")
    with pytest.raises((ValueError, TypeError), match=message):
        td.studies.Study.load(tmp_path / "there" / "a.toml")


# ---- identity --------------------------------------------------------------------------------------------------


def changed(name: str, **what: Any) -> td.studies.Study:
    """The small study with one method changed."""
    return small(methods=METHODS | {name: replace(METHODS[name], **what)})


MATTERS: dict[str, Callable[[], td.studies.Study]] = {
    "task": lambda: small(task="RandomWalk-v0", preset=None),
    "preset": lambda: small(preset="0.2/0.15"),
    "task_options": lambda: small(task_options={"discount": 0.9}),
    "modules": lambda: small(modules=("json",)),
    "steps": lambda: small(steps=1001),
    "points": lambda: small(points=49),
    "tail": lambda: small(tail=0.2),
    "curve": lambda: small(curve=11),
    "warm_up": lambda: small(warm_up=0.2),
    "a value of the grid": lambda: small(grid={"alpha": [0.01, 0.11], "lam": [0.0, 0.9]}),
    "a value more": lambda: small(grid={"alpha": [0.01, 0.1, 0.2], "lam": [0.0, 0.9]}),
    "the order of values": lambda: small(grid={"alpha": [0.1, 0.01], "lam": [0.0, 0.9]}),
    "learner": lambda: changed("greedy", learner="TD"),
    "rule": lambda: changed("greedy", rule="Counting"),
    "options": lambda: changed("greedy", options={"ratio": 1.0}),
    "an option of the learner": lambda: changed("greedy", options={"bound": 1e6}),
    "over": lambda: changed("greedy", over=(), options={"alpha": 0.1}),
    "truth": lambda: changed("greedy", truth="thesis"),
}
DOES_NOT: dict[str, Callable[[], td.studies.Study]] = {
    "name": lambda: small(name="other"),
    "title": lambda: small(title="What?"),
    "about": lambda: changed("greedy", about="λ-greedy"),
    "seeds": lambda: small(seeds=99),
    "other seeds": lambda: small(seeds=[5, 3]),
    "quick": lambda: small(quick={"seeds": 1}),
    "other methods": lambda: small(methods={"greedy": METHODS["greedy"], "new": td.studies.Method("TD")}),
    "another method's grid": lambda: small(grid={"alpha": [0.01, 0.1], "lam": [0.5], "kappa": [1.0]}),
    "how numbers are written": lambda: small(
        steps=np.int64(1000), grid={"alpha": np.array([0.01, 0.1]), "lam": (0, 0.9)}
    ),
}


@pytest.mark.parametrize("case", MATTERS)
def test_what_the_numbers_depend_on_changes_the_key(case: str) -> None:
    assert MATTERS[case]().key("greedy") != small().key("greedy")


@pytest.mark.parametrize("case", DOES_NOT)
def test_what_they_do_not_depend_on_does_not_change_the_key(case: str) -> None:
    assert DOES_NOT[case]().key("greedy") == small().key("greedy")


def test_one_and_the_number_one_have_one_key() -> None:
    assert small(tail=1, warm_up=0).key("fixed") == small(tail=1.0, warm_up=0.0).key("fixed")


def test_another_version_has_other_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    before = keys(small())
    monkeypatch.setattr(td, "__version__", "99.0")
    assert not set(before.values()) & set(keys(small()).values())


# ---- the bundled ones ------------------------------------------------------------------------------------------

RINGS = {
    "ringworld-0.40-0.35": (0.4, 0.35), "ringworld-0.30-0.25": (0.3, 0.25), "ringworld-0.20-0.15": (0.2, 0.15),
    "ringworld-0.35-on": (0.35, 0.35), "ringworld-0.25-on": (0.25, 0.25), "ringworld-0.15-on": (0.15, 0.15),
}  # fmt: skip
TABLES = {
    "ringworld_04_035": "ringworld-0.40-0.35", "ringworld_03_025": "ringworld-0.30-0.25",
    "ringworld_02_015": "ringworld-0.20-0.15", "frozenlake": "frozenlake",
}  # fmt: skip


def test_the_bundled_studies_are_the_thesis() -> None:
    found = {
        name: study for name, study in bundled().items()
        if study.kind == "prediction" and not name.startswith(("self-tuning", "every-step-size"))
    }  # fmt: skip
    assert set(found) == {*RINGS, "frozenlake", "frozenlake-on"}
    for name, study in found.items():
        assert study.name == name
        assert study.grid == {"alpha": ALPHAS, "lam": LAMBDAS, "kappa": KAPPAS}
        assert (study.seeds, study.steps, study.warm_up) == (240, 1_000_000, 0.1)
        assert len(study.cells("fixed")) == 168
        assert len(study.cells("META")) == 147
        assert len(study.cells("greedy")) == 21
        quick = study.small()
        assert len(quick.numbers) < 30
        assert set(quick.grid["alpha"]) < set(ALPHAS)
        assert all(method.about for method in study.methods.values())


def test_the_bundled_grids_are_those_of_the_printed_tables() -> None:
    for table, name in TABLES.items():
        cells = [cell for cell in thesis_tables() if cell.table == table]
        study = td.studies.Study.load(name)
        assert sorted({cell.alpha for cell in cells}) == study.grid["alpha"]
        assert sorted({cell.lam for cell in cells if cell.lam is not None}) == study.grid["lam"]
        assert {cell.method for cell in cells} <= set(study.methods)


def test_the_bundled_studies_are_on_the_tasks_that_their_names_say() -> None:
    for name, (behaviour, target) in RINGS.items():
        ring = td.studies.Study.load(name).environment
        assert ring.behavior(5)[0] == behaviour
        assert ring.target(5)[0] == target
        assert ring.on_policy == name.endswith("-on")
    for name, on in (("frozenlake", False), ("frozenlake-on", True)):
        ice = td.studies.Study.load(name).environment
        assert (ice.id, ice.on_policy, ice.features.size) == ("FrozenLake-v0", on, 12)


def test_the_bundled_learners_can_all_be_built_and_wait_a_tenth() -> None:
    for name in ("ringworld-0.20-0.15", "frozenlake-on"):
        study = td.studies.Study.load(name).but(grid={"alpha": [1e-5], "kappa": [1e-7]})
        for method, declared in study.methods.items():
            built = study.learners(method)
            assert len(built) == len(study.cells(method))
            assert {type(learner).__name__ for learner in built} == {declared.learner}
            if declared.rule is not None:
                assert {learner.rule.warm_up_steps for learner in built} == {100_000}
            if method in ("META_np", "META_np_derived"):
                assert {learner.rule.features.size for learner in built} == {16}  # type: ignore[union-attr]


# ---- what is one's own -----------------------------------------------------------------------------------------

MODULE = """
import tdlambda as td

@td.tasks.register("Mine-v0", {"far": {"n": 7}})
class Mine(td.tasks.ring_world.RingWorld):
    '''A ring of mine.'''

class Patient(td.TrueOnlineTD):
    def __init__(self, features, alpha, lam=1.0, **options):
        super().__init__(features, alpha, lam, **options)

def nothing(features):
    return 3
"""


def test_tasks_and_learners_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "of_my_own.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    study = small(
        task="Mine-v0", preset="far", modules=["of_my_own"],
        methods={"patient": td.studies.Method("of_my_own:Patient", over=("alpha",), options={"initial": 1.0})},
    )  # fmt: skip
    try:
        found = study.learners("patient")
        patient: Any = type(found[0])
        assert [repr(learner) for learner in found] == [
            repr(patient(td.features.OneHot(7), alpha, 1.0, initial=1.0, on_divergence="flag")) for alpha in (0.01, 0.1)
        ]
        assert patient.__module__ == "of_my_own"
        wrong = small(methods={"no": td.studies.Method("of_my_own:nothing")})
        with pytest.raises(TypeError, match=r"methods\.no: .*of_my_own:nothing must make a learner; it made 3"):
            wrong.learners("no")
    finally:
        td.tasks.TASKS.pop("Mine-v0", None)


# ---- what cannot be --------------------------------------------------------------------------------------------


def method(**what: Any) -> dict[str, Any]:
    """Plain data with one method."""
    return {"methods": {"m": {"learner": "TrueOnlineTD", "over": ["alpha"]} | what}}


def grid(**what: Any) -> dict[str, Any]:
    return {"grid": {"alpha": [0.1], "lam": [0.5]} | what}


FORMS = 'seeds must be a number of seeds, a list of seeds, or a range such as "100:130"; got '
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown field": ({"stepz": 5}, r"the study: unknown field 'stepz'; did you mean 'steps'\?"),
    "a field unlike any": ({"qqq": 5}, r"unknown field 'qqq'; the fields are name, task, methods"),
    "an unknown field of a method": (method(leaner="TD"), r"methods\.m: .*'leaner'; did you mean 'learner'"),
    "an unknown field of quick": ({"quick": {"sedes": 3}}, r"quick: .*'sedes'; did you mean 'seeds'"),
    "no name": ({"name": ""}, "name must be"),
    "a name that leaves the directory": ({"name": "../other"}, "name must be"),
    "a name that is the directory above": ({"name": ".."}, "name must be"),
    "a name that is a number": ({"name": 3}, "name must be"),
    "a method's name": ({"methods": {"a/b": {"learner": "TD"}}}, "methods: a name"),
    "no methods": ({"methods": {}}, "methods is empty; write at least one"),
    "methods in a list": ({"methods": [{"learner": "TD"}]}, "methods must be"),
    "a method that is a name": ({"methods": {"m": "TD"}}, r"methods\.m must be a table"),
    "a method without a learner": ({"methods": {"m": {"over": ["alpha"]}}}, r"methods\.m\.learner is missing"),
    "an unknown task": ({"task": "RingWrld-v0"}, "task: .*did you mean 'RingWorld-v0'"),
    "a task that is a number": ({"task": 3}, "task must be"),
    "an unknown preset": ({"preset": "0.3"}, "task: preset: RingWorld-v0 has no preset '0.3'"),
    "an unknown option of the task": ({"task_options": {"size": 3}}, "task: .*size"),
    "a bad option of the task": ({"task_options": {"n": 4}}, "task: n must be odd"),
    "task options in a list": ({"task_options": [1]}, "task_options must be a table"),
    "no seeds": ({"seeds": 0}, "seeds must be from 1 to 1,000,000; got 0"),
    "half a seed": ({"seeds": 1.5}, "seeds must be an integer"),
    "a seed": ({"seed": 3}, r"the study: unknown field 'seed'; .*seeds'\? Write seeds = 30, \[3"),
    "a seed below 0": ({"seeds": [-1]}, "seeds must be from 0 to 4,294,967,295; got -1"),
    "seeds that are taken": ({"seeds": f"5:{2**32 + 1}"}, r"seeds must be from 1 to 1,000,000 seeds; got range\(5, "),
    "a seed that is taken": ({"seeds": [2**32]}, "seeds must be from 0 to 4,294,967,295; got 4,294,967,296"),
    "a seed twice": ({"seeds": [5, 3, 5]}, r"seeds must be different; got \[5, 3, 5\]"),
    "an empty range of seeds": ({"seeds": "7:7"}, r"seeds must be from 1 to 1,000,000 seeds; got range\(7, 7\)"),
    "10³⁰ seeds": ({"seeds": range(10**30)}, r"seeds must be from 1 to 1,000,000 seeds; got range\(0, 1000"),
    "seeds without end": ({"seeds": count()}, FORMS + "count"),
    "seeds without order": ({"seeds": {3, 4}}, FORMS + "{3, 4}"),
    "seeds of nothing": ({"seeds": None}, FORMS + "None"),
    "seeds of bytes": ({"seeds": b"ab"}, FORMS + "b'ab'"),
    "seeds of 5000 digits": ({"seeds": f"0:{'9' * 5000}"}, FORMS + r"'0:999+\.\.\.9+'$"),
    "true seeds in a list": ({"seeds": [True]}, "seeds must be an integer; got True"),
    "an array of half a seed": ({"seeds": np.array(1.5)}, r"seeds must be an integer; got array\(1\.5\)"),
    "steps beside episodes": ({"episodes": 3}, "give either steps or episodes; got steps = 1000, episodes = 3"),
    "no steps": ({"steps": 0}, "steps must be"),
    "steps in words": ({"steps": "many"}, "steps must be an integer"),
    "more points than steps": ({"points": 1001}, "points must be at most the number of steps, 1000; got 1001"),
    "no points": ({"points": 0}, "points must be"),
    "no curve": ({"curve": 0}, "curve must be"),
    "no tail": ({"tail": 0}, r"tail must be a share of the points, in \(0, 1\]"),
    "too much tail": ({"tail": 1.1}, "tail must be"),
    "a tail in words": ({"tail": "10 %"}, "tail must be"),
    "a tail that is no number": ({"tail": float("nan")}, "tail must be"),
    "nothing but warm-up": ({"warm_up": 1}, r"warm_up must be a share of the steps, in \[0, 1\)"),
    "warm-up in words": ({"warm_up": "1"}, "warm_up must be"),
    "a module that is not there": ({"modules": ["no_such_module"]}, "modules: no_such_module cannot be imported"),
    "modules as a name": ({"modules": "json"}, "modules must be a list"),
    "an empty grid": (grid(alpha=[]), r"grid\.alpha must be a list"),
    "a grid that is a number": (grid(alpha=0.1), r"grid\.alpha must be a list"),
    "a grid that is a word": (grid(alpha="0.1"), r"grid\.alpha must be a list"),
    "a grid that is a table": (grid(alpha={"a": 1}), r"grid\.alpha must be a list"),
    "a grid without order": (grid(alpha={0.1, 0.2}), r"grid\.alpha must be a list"),
    "grids in a list": ({"grid": [0.1]}, "grid must be a table"),
    "a value twice": (grid(alpha=[0.1, 0.2, 0.1]), r"grid\.alpha: a value occurs twice"),
    "a value twice, written differently": (grid(alpha=[1, 1.0]), r"grid\.alpha: a value occurs twice"),
    "values of two kinds": (grid(lam=[0.5, True]), r"grid\.lam: values must be all numbers"),
    "names among numbers": (grid(alpha=[0.5, "x"]), r"grid\.alpha: values must be all numbers"),
    "a name of no rule": (grid(lam=[0.5, "x"]), r'grid\.lam: lam must be in \[0, 1\], "auto", .* got \'x\''),
    "values that are lists": (grid(lam=[[0.5], [0.1]]), r"grid\.lam: values must be all numbers"),
    "a grid named like a column": (grid(seed=[1, 2]), "grid: 'seed' is a column .* rule.seed or learner.seed"),
    "a grid that is not there": (method(over=["kappa"]), r"m\.over: the grid has no 'kappa'; it has alpha, lam"),
    "over a word": (method(over="alpha"), r"methods\.m: over must be a list of names"),
    "over a number": (method(over=3), r"methods\.m: over must be a list of names"),
    "over the same twice": (method(over=["alpha", "alpha"]), r"methods\.m: 'alpha' is given twice"),
    "in the grid and in the options": (method(options={"alpha": 1.0}), r"methods\.m: 'alpha' is given twice"),
    "the same under two names": (method(options={"learner.alpha": 1.0}), r"methods\.m: .*alpha is given twice"),
    "options in a list": (method(options=[1]), r"methods\.m\.options must be a table"),
    "an unknown learner": (method(learner="TrueOnlineTd"), r"methods\.m: unknown learner .*mean 'TrueOnlineTD'"),
    "a learner that is none": (method(learner="load"), r"methods\.m: unknown learner 'load'; choose from .*, TD, "),
    "a learner that is a number": (method(learner=3), r"methods\.m\.learner must be text, in quotes"),
    "a learner of no module": (method(learner="no_such_module:TD"), r"methods\.m: learner: no_such_module cannot be"),
    "a learner that a module lacks": (method(learner="json:TD"), r"methods\.m: unknown learner 'json:TD'"),
    "an unknown rule": (method(rule="Gredy"), r"methods\.m: unknown rule 'Gredy'; did you mean 'Greedy'"),
    "an unknown constructor": (method(rule="Meta.theses"), r"methods\.m: unknown rule 'Meta.theses'"),
    "a rule that is none": (method(rule="offline_meta"), r"methods\.m: unknown rule .*; choose from Counting, .*Meta"),
    "a rule that the learner cannot take": (
        {"methods": {"m": {"learner": "LSTD", "rule": "Greedy"}}}, r"methods\.m: lam: LSTD cannot use Greedy",
    ),
    "a rule for a learner without λ": (method(learner="MonteCarlo", rule="Greedy"), r"methods\.m: rule: MonteCarlo"),
    "an unknown option": (method(options={"beta": 1.0}), r"m: beta: .* has no such option; the options are .*alpha, "),
    "a misspelt option": (method(options={"lamb": 1.0}), r"m: lamb: .* has no such option; did you mean 'lam'\?"),
    "a misspelt option of the task": ({"task_options": {"discont": 1.0}}, "RingWorld has no argument discont"),
    "small letters": (method(learner="td"), r"unknown learner 'td'; did you mean 'TD'\?"),
    "the base of learners": (method(learner="Algorithm"), "unknown learner .Algorithm.; choose from .*, TD, "),
    "an agent": (method(learner="Sarsa"), 'learner: Sarsa is an agent; a study of agents needs kind = "control"'),
    "modules without order": ({"modules": {"json", "re"}}, "modules must be a list of names; got {"),
    "modules without end": ({"modules": map(str, count())}, "modules must be a list of names, at most 1000; got <map"),
    "an option of the rule, without one": (method(options={"rule.of": "target"}), r"methods\.m: rule\.of: "),
    "a λ beside a rule": (method(rule="Greedy", options={"lam": 0.5}), r"methods\.m: lam: .* no such option"),
    "an option that both have": (
        method(rule="Meta", options={"features": {"type": "OneHot", "n": 11}}),
        r'methods\.m: features: .* both have it; write "learner.features" or "rule.features"',
    ),
    "a bad value": (grid(alpha=[0.1, -0.1]), r"methods\.m: alpha must be positive"),
    "a bad value of the rule": (method(rule="Meta", options={"kappa": -1.0}), r"methods\.m: kappa must be positive"),
    "an option that is needed": (
        method(over=[]), r"methods\.m: TrueOnlineTD needs alpha: add it to over and the grid, or to options",
    ),
    "an unknown encoder": (
        method(options={"features": {"type": "TwoHot"}}), r"methods\.m: features: type must be one of .*OneHot",
    ),
    "an encoder without a type": (method(options={"features": {"n": 11}}), r"methods\.m: features: type must be"),
    "an encoder that cannot be": (
        method(options={"features": {"type": "OneHot", "m": 1}}), r"methods\.m: features: OneHot has no argument m",
    ),
    "a learner that does not fit the task": (
        method(options={"features": {"type": "OneHot", "n": 5}}), r"methods\.m: .*does not fit",
    ),
    "a rule that does not fit the task": (
        method(rule="Meta", options={"rule.features": {"type": "OneHot", "n": 5}}), r"methods\.m: .*does not fit",
    ),
    "a λ for other states": (method(options={"lam": [0.5] * 4}), r"methods\.m: lam must have \d+ numbers"),
    "an unknown truth": (method(truth="mine"), r'methods\.m: truth must be "exact" or "thesis"; got \'mine\''),
    "what cannot be written down": (method(options={"bound": object()}), r"methods\.m\.options: .* plain data"),
    # sizes
    "10⁹ cells": (
        grid(a=range(1000), b=range(1000), c=range(1000)) | method(over=["a", "b", "c"]),
        r"methods\.m\.over: 1,000 of a × 1,000 of b × 1,000 of c are 1,000,000,000 cells; "
        "a method may have at most 100,000",
    ),
    "10⁹ values": (grid(alpha=range(10**9)), r"grid\.alpha has too many values: a method may have 100,000 cells"),
    "values without end": (grid(alpha=count()), r"grid\.alpha has too many values"),
    "all seeds there are": ({"seeds": 2**32 - 1}, "seeds must be from 1 to 1,000,000; got 4,294,967,295"),
    "10¹⁰ points": ({"points": 10**10, "steps": 10**11}, "points must be from 1 to 1,000,000; got 10,000,000,000"),
    "points of many cells": (
        {"points": 10**6, "steps": 10**7} | grid(alpha=range(1, 1001)),
        r"points: methods\.m has 1,000 cells × .* use at most 100,000 points",
    ),
    "10³⁰ steps": ({"steps": 10**30}, "steps must be from 1 to 1,000,000,000,000,000; got 1,000,000,000,"),
    "10¹¹ features": (
        method(options={"features": {"type": "OneHot", "n": 10**11}}),
        r"methods\.m: features: 100,000,000,000 features need at least 3,200 GB of memory; this machine has",
    ),
    "10¹¹ dense features": (
        method(options={"features": {"type": "Dense", "n": 10**11}}), r"methods\.m: features: 100,000,000,000 features",
    ),
    "10¹¹ slots of a hash": (
        method(options={"features": {"type": "TileCoder", "low": [0], "high": [9**15], "hash_size": 10**11}}),
        r"methods\.m: features: 100,000,000,000 features need",
    ),
    "10¹² tiles": (
        method(options={"features": {"type": "TileCoder", "low": [0] * 4, "high": [9**15] * 4, "tiles": 1000}}),
        r"methods\.m: features: 8,000,000,000,000 features need",
    ),
    "many cells of many features": (
        grid(alpha=range(1, 10**5)) | method(options={"features": {"type": "OneHot", "n": 10**6}}),
        r"methods\.m: 99,999 cells × 1,000,000 features need at least 3,200 GB",
    ),
    "a return of 10¹⁵ steps": (
        {"methods": {"m": {"learner": "NStepTD", "options": {"alpha": 0.1, "n": 10**15}}}},
        r"methods\.m: n must be below 2\*\*40",
    ),
    # kinds
    "a title that is a number": ({"title": 3}, 'title must be text, in quotes: "…"; got 3'),
    "an about in a list": (method(about=[1, 2]), r"methods\.m\.about must be text, in quotes: .*; got \[1, 2\]"),
    "a truth that is a number": (method(truth=3), r"methods\.m\.truth must be text"),
    "a rule that is a number": (method(rule=3), r"methods\.m\.rule must be text, in quotes: .*; got 3"),
    "a preset that is a number": ({"preset": 0.3}, r"preset must be text, in quotes: .*; got 0\.3"),
    "a kind that is a list": ({"kind": ["control"]}, "kind must be"),
    "modules that are numbers": ({"modules": [3]}, r"modules must be a list of names; got \[3\]"),
    "a module": ({"modules": 3}, "modules must be a list of names; got 3"),
    "a folder": ({"folders": "here"}, "folders must be a list of names; got 'here'"),
    "true seeds": ({"seeds": True}, "seeds must be an integer; got True"),
    "a true tail": ({"tail": True}, "tail must be a share"),
    "steps as a float": ({"steps": 1e3}, r"steps must be an integer; got 1000\.0: write 1_000"),
    "points as a float": ({"points": 10.0}, r"points must be an integer; got 10\.0: write 10"),
    "over numbers": (method(over=[3]), r"methods\.m: over must be a list of names"),
    "options by number": (method(options={3: 1}), r"methods\.m\.options must be a table, values by name"),
    "task options by number": ({"task_options": {3: 1}}, "task_options must be a table"),
    "an agent in a list": ({"agent": [1]}, "agent must be a table"),
    "quick seeds in words": ({"quick": {"seeds": "few"}}, "quick: " + FORMS + "'few'"),
    "a quick method": ({"quick": {"methods": "m"}}, "quick: methods must be a list of names; got 'm'"),
    "a quick grid in a list": ({"quick": {"grid": [1]}}, "quick: grid must be a table"),
    "a quick grid of one number": ({"quick": {"grid": {"alpha": 1}}}, r"quick: grid\.alpha must be a list"),
    "a name that no file can have": ({"name": "n" * 101}, "name must be .* at most 100"),
    "an environment": ({"task": "CartPole-v1"}, "task: CartPole-v1 is an environment .* a policy.* kind = .con"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_is_refused_by_name_before_anything_is_written(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tdlambda.lab.studies.sizes.machine_memory", lambda: 16 * 10**9)
    changes, message = BAD[case]
    plain = {"name": "bad", "task": "RingWorld-v0", "seeds": 1, "steps": 1000, "points": 10} | grid() | method()
    with pytest.raises((ValueError, TypeError), match=message) as refused:
        td.studies.run_study(td.studies.Study.from_dict(plain | changes), tmp_path / "out")
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "out").exists()


def test_the_study_that_the_bad_ones_are_made_of_is_good(tmp_path: Path) -> None:
    plain = {"name": "bad", "task": "RingWorld-v0", "seeds": 1, "steps": 1000, "points": 10} | grid() | method()
    assert td.studies.run_study(td.studies.Study.from_dict(plain), tmp_path / "out").done == 1


def test_a_task_may_have_its_name_in_gymnasium() -> None:
    assert small(task="tdlambda/RingWorld-v0").environment.id == "RingWorld-v0"


def test_a_truth_without_a_model_is_refused() -> None:
    study = td.studies.Study("car", "MountainCar-v0", {"m": td.studies.Method("TD", truth="thesis")})
    with pytest.raises(ValueError, match=r"methods\.m: truth: MountainCar-v0 has no model"):
        study.truth("m")


@pytest.mark.parametrize("needed", ["name", "task", "methods"])
def test_what_a_study_needs_is_named(needed: str) -> None:
    plain = small().to_dict()
    del plain[needed]
    with pytest.raises(ValueError, match=f"^{needed} is missing$"):
        td.studies.Study.from_dict(plain)


def test_a_changed_study_is_checked_too() -> None:
    for changes, message in (
        ({"methods": ["fancy"]}, "methods: small has no 'fancy'; it has fixed, greedy"),
        ({"grid": {"kappa": [1]}}, "grid: small has no 'kappa'; it has alpha, lam"),
        ({"points": 5000}, "points"),
    ):
        with pytest.raises(ValueError, match=message):
            small().but(**changes)
    with pytest.raises(TypeError, match="methods: 'm' must be a Method"):
        small(methods={"m": "TD"})


def test_an_unknown_argument_is_named_with_the_one_that_was_meant() -> None:
    study: Any = td.studies.Study
    with pytest.raises(TypeError, match=r"^Study has no argument seed; did you mean 'seeds'\?$"):
        study("x", "RingWorld-v0", METHODS, seed=3)
    with pytest.raises(TypeError, match=r"^Study has no argument seed; did you mean 'seeds'\?$"):
        small().but(seed=3)
    with pytest.raises(TypeError, match=r"^Method has no argument option; did you mean 'options'\?$"):
        td.studies.Method("TD", option={})  # type: ignore[call-arg]


def test_over_is_a_list_of_names() -> None:
    method: Any = td.studies.Method
    assert method("TD", over=["alpha"]).over == method("TD", over=iter(["alpha"])).over == ("alpha",)
    for wrong in ("alpha", {"alpha", "lam"}, 3, [3]):
        with pytest.raises(TypeError, match=r"^over must be a list of names; got "):
            method("TD", over=wrong)


def test_values_of_a_generator_are_not_lost() -> None:
    assert small(grid={"alpha": (k / 10 for k in (1, 2)), "lam": range(2)}).grid == {"alpha": [0.1, 0.2], "lam": [0, 1]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"name = ", "is not TOML"),
        (b"\xff\xfe", "is not TOML"),
        (b"PAR1", "is not TOML"),
        (b"", "^name is missing$"),
        (b'name = "x"\nname = "y"', "is not TOML"),
    ],
)
def test_a_file_that_is_no_study_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "study.toml"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        td.studies.Study.load(path)


def test_a_study_that_is_not_there_is_refused_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"nowhere\.toml.*choose from every-step-size, "):
        td.studies.Study.load(tmp_path / "nowhere.toml")
    with pytest.raises(ValueError, match=r"did you mean 'ringworld-0\.40-0\.35'"):
        td.studies.Study.load("ringworld-0.40-0.36")
    with pytest.raises(ValueError, match="neither a file nor a bundled study"):
        td.studies.Study.load(tmp_path)
    with pytest.raises(ValueError, match="holds no results"):
        load_study(tmp_path)
