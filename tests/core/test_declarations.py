# mypy: disable-error-code="no-untyped-def"
"""A declaration that cannot work is refused when the class is made, naming the name."""

from typing import Any

import pytest

import tdlambda as td
from tdlambda.arrays import positive
from tdlambda.core import source
from tdlambda.core.equations import bound, forms, parse, written


def declared(base: Any = td.Algorithm, **changes: Any) -> Any:
    """TD(λ), or ByError, with some parts changed."""

    def step(v, v_next, decay, alpha, reward, gamma_next, rho, lam_next):
        along = alpha * (reward + gamma_next * v_next - v)
        keep = rho * decay
        decay = gamma_next * lam_next
        return keep, along, decay

    parts: dict[str, Any] = {
        "dots": {"v": "w.x", "v_next": "w.x'"},
        "keeps": {"decay": 0.0},
        "updates": "e = keep e + rho x\nw += along e",
        "step": staticmethod(step),
    }
    return type("Mine", (base,), parts | changes)


def unknown_argument(v, momentum, decay, alpha):
    keep, along = decay, alpha * v * momentum
    return keep, along, decay


def loses_decay(v, alpha, rho):
    keep, along = rho, alpha * v
    return keep, along


def returns_an_expression(v, alpha, decay):
    keep = decay
    return keep, alpha * v, decay


def returns_early(v, alpha, decay):
    if v > 0:
        return v, alpha, decay
    keep, along = decay, alpha
    return keep, along, decay


def has_defaults(v, decay, alpha=0.5):
    keep, along = decay, alpha * v
    return keep, along, decay


def takes_self(self, v, decay, alpha):
    keep, along = decay, alpha * v
    return keep, along, decay


def reserved_result(v, decay, alpha):
    keep, along, lane = decay, alpha * v, 1.0
    return keep, along, decay, lane


def no_along(v, decay):
    keep = decay
    return keep, decay


def returns_twice(v, v_next, decay, alpha, reward, gamma_next, rho, lam_next):
    along = alpha * (reward + gamma_next * v_next - v)
    keep, decay = rho * decay, gamma_next * lam_next
    return keep, along, decay, keep


def at_feature(w, e, x, keep, rho, along):
    e = keep * e + rho * x
    w = w + along * e
    return w, e


def returns_a_number(w, e, x, keep, along):
    e, change = keep * e, along * x
    return w, e, change


def length(x):
    size = x * x
    return size


def length_ahead(x, x_next):
    size = x * x_next
    return size


def changes_what_is_summed(w, x, v):
    w = w + v * x
    return w


def of_a_result(x, along):
    size = x * along
    return size


def changes_a_row(e, x):
    e = e + x
    return e


def of_a_row(v, e, decay, alpha):
    keep, along = decay, alpha * v + e
    return keep, along, decay


FEATURE: dict[str, Any] = {"updates": "", "feature": staticmethod(at_feature)}
"""In place of the equations."""


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"step": staticmethod(unknown_argument)}, "step has an unknown argument 'momentum'"),
        ({"step": staticmethod(loses_decay)}, "step must return all numbers of keeps and holds; decay is missing"),
        ({"step": staticmethod(returns_an_expression)}, "list of distinct names"),
        ({"step": staticmethod(returns_twice)}, "; it returns keep twice"),
        ({"step": staticmethod(returns_early)}, "its only return"),
        ({"step": staticmethod(has_defaults)}, "no defaults"),
        ({"step": staticmethod(takes_self)}, "staticmethod"),
        ({"step": staticmethod(reserved_result)}, "'lane': generated code uses this name"),
        ({"step": staticmethod(no_along)}, "updates: unknown coefficient 'along'; return it from step"),
        ({"step": lambda v, decay: (v, decay)}, "plain function"),
        ({"updates": "e = keep * e + rho x\nw += along e"}, "cannot read"),
        ({"updates": "e keep e + rho x"}, "cannot read 'e keep e"),
        ({"updates": "q = keep e + rho x"}, "assigns to 'q', which is not a row"),
        ({"updates": "e = keep e\ne += rho x"}, "a second time"),
        ({"updates": "w += along z"}, "updates: z is for rules only"),
        ({"updates": ""}, "declare either updates (equations) or feature"),
        ({"dots": {"v": "w.x", "v_next": "w.y"}}, "cannot read 'v_next': 'w.y'"),
        ({"dots": {"v": "w.x", "v_next": "w.x'", "rho": "e.x"}}, "rho: declared twice, or the name of an input"),
        ({"keeps": {"decay": "nothing"}}, "keeps: 'decay' must start as"),
        ({"sizes": "alpha along"}, "along: a constant or an input, which step must not return"),
        ({"parameters": "keep"}, "keep: a constant or an input, which step must not return"),
        ({"weight_rows": "w w"}, "w: declared twice, or the name of an input"),
        ({"weight_rows": "w_"}, "'w_': a name must be a Python identifier without _"),
        ({"weight_rows": ""}, "weight_rows"),
        ({"sizes": "beta"}, "sizes must begin with alpha"),
        ({"trace_scale": "beta"}, "beta: must be among sizes"),
        ({"ranges": {"cap": positive}}, "ranges: unknown cap; the numbers besides alpha are none"),
        ({"ranges": {"cap": positive}, "parameters": "reg"}, "ranges: unknown cap; the numbers besides alpha are reg"),
        (
            {"ranges": {"alpha": positive}, "sizes": "alpha beta"},
            "ranges: unknown alpha; the numbers besides alpha are beta",
        ),
        ({"dots": {"v": "w.x", "v_next": "w.x'", "xx": "x.w"}}, "cannot read 'xx': 'x.w'; write row.x"),
        (
            {"dots": {"v": "w.x", "v_next": "w.x'", "xx": "x.x"}, "keeps": {"decay": "xx"}},
            "keeps: 'decay' must start as a number or a dot product of a row; got 'xx'",
        ),
        ({"dots": {"v": "w.x", "v_next": "w.x'", "yx": "x'.x"}}, "write row.x, row.x', row.row, x.x, x.x' or x'.x'"),
        ({"holds": {"mean": 0.0}}, "step must return all numbers of keeps and holds; mean is missing"),
        ({"holds": {"decay": 0.0}}, "decay: declared twice, or the name of an input"),
        ({"starts": {"e": 1.0}}, "e: lasting_rows and starts must be among weight_rows"),
        ({"lasting_rows": "u e"}, "e, u: lasting_rows and starts must be among weight_rows"),
        ({"feature": staticmethod(at_feature)}, "declare either updates (equations) or feature"),
        ({**FEATURE, "feature": staticmethod(returns_a_number)}, "feature must return rows only; got change"),
        ({"before": staticmethod(length)}, "before needs feature"),
        ({**FEATURE, "before": staticmethod(length), "before_at": "z"}, 'before_at must be "x" or "live"; got \'z\''),
        (
            {**FEATURE, "before": staticmethod(length_ahead)},
            'before has the argument x_next, which needs before_at = "live"',
        ),
        (
            {**FEATURE, "before": staticmethod(changes_what_is_summed)},
            "before must not have a dot product of a row that it returns: w",
        ),
        ({**FEATURE, "before": staticmethod(of_a_result)}, "before has an unknown argument 'along'"),
        (
            {**FEATURE, "before": staticmethod(changes_a_row), "step": staticmethod(of_a_row)},
            "step: e is no number; its arguments may be ",
        ),
    ],
)
def test_what_no_schedule_could_use_is_refused_by_name(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match="Mine: ") as caught:
        declared(**changes)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "changes",
    [
        {**FEATURE, "before": staticmethod(length)},
        {**FEATURE, "before": staticmethod(length_ahead), "before_at": "live"},
        {**FEATURE, "weight_rows": "w a", "starts": {"a": 1.0}, "lasting_rows": "a"},
        {"dots": {"v": "w.x", "v_next": "w.x'", "xx": "x.x", "xy": "x.x'", "yy": "x'.x'"}},
    ],
    ids=["before", "before, live", "starts", "dots"],
)
def test_what_a_schedule_can_use_is_not_refused(changes: dict[str, Any]) -> None:
    assert declared(**changes).row_names()[0] == "w"


def late(x):
    seen = x
    return seen


LATELY: dict[str, Any] = {"phases": {"step": "", "late": "after x"}, "late": staticmethod(late)}


def no_lambda(v, v_next):
    lam = v + v_next
    return lam


def plain_lambda(v_next):
    lam_next = min(max(v_next, 0.0), 1.0)
    return lam_next


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dots": {"v": "V.x", "v_next": "V.x'"}, "step": staticmethod(no_lambda)}, "must return lam_next"),
        ({"dots": {"v_next": "W.x'"}, "step": staticmethod(plain_lambda)}, "cannot read 'v_next': \"W.x'\""),
        ({"estimates": {"M": ("reward", "gamma_next", "rho", "lam_next")}}, "estimates must start with V"),
        ({"estimates": {"V": ("reward", "gamma_next", "rho")}}, "must have a reward"),
        ({"estimates": {"V": ("square", "gamma_next", "rho", "lam_next")}}, "estimates: V has unknown square; return"),
        ({"phases": {"step": "everywhere"}}, "phases: 'everywhere'"),
        ({"phases": {"step": "after x"}}, "lam_next: computed after the estimates have learned; return it earlier"),
        ({"phases": {"step": "", "late": "all"}, "late": staticmethod(late)}, 'phases: "all" needs closes'),
        ({**LATELY, "keeps": {"seen": 0.0}}, "seen: computed after the estimates have learned"),
    ],
)
def test_rules_are_refused_by_name_too(changes: dict[str, Any], message: str) -> None:
    parts: dict[str, Any] = {"dots": {"v_next": "V.x'"}, "step": staticmethod(plain_lambda)}
    with pytest.raises(TypeError, match="Mine: ") as caught:
        type("Mine", (td.Rule,), parts | changes)
    assert message in str(caught.value)


def test_a_rule_that_needs_what_the_algorithm_has_not_is_refused_when_they_meet() -> None:
    class WithoutDecay(td.Algorithm):
        dots = {"v": "w.x"}
        updates = "w += along x"
        trace_rows = ""

        @staticmethod
        def step(v, alpha, reward):
            along = alpha * (reward - v)
            return (along,)

    WithoutDecay(td.features.OneHot(3), alpha=0.5).update(0, 1.0, 1, gamma=1.0)
    message = "LambdaMixture needs 'e' of the algorithm, which WithoutDecay does not declare"
    with pytest.raises(TypeError, match=message):
        WithoutDecay(td.features.OneHot(3), alpha=0.5, lam="auto")


def test_equations_are_taken_apart() -> None:
    f = forms(parse("e = keep e + new x\nw += along e + back x - correct x'", ["w", "e"]))
    assert {row: written(e) for row, e in f.live.items()} == {"e": "keep * e", "w": "w + along * e"}
    assert {row: written(e) for row, e in f.at_x.items()} == {"e": "new", "w": "along * new + back"}
    assert {row: written(e) for row, e in f.at_next.items()} == {"w": "-correct"}
    assert f.decaying == ["e"]
    assert bound(f.tops["w"], "old_{}".format) == "old_w + abs(along) * e_top + abs(back) * x1_ + abs(correct) * y1_"
    assert set(f.coefficients) == {"keep", "new", "along", "back", "correct"}


def branches(a, b, c, kind, far):
    first, second = a + b, a * c
    if kind == "sum":
        third = first
    elif far:
        third = second + c
    else:
        third = second
    unused = b**2
    return first, third, unused


def test_constants_decide_branches_and_what_is_not_wanted_is_left_out() -> None:
    import ast

    text = ast.unparse(source.tree(branches, {"kind": "sum", "far": True}, ["third"]))
    assert text == "def branches(a, b):\n    first = a + b\n    third = first\n    return third"
    assert source.arguments(branches, {"kind": "product", "far": False}, ["third"]) == ["a", "c"]
    assert source.arguments(branches, {"kind": "product"}, ["third"]) == ["a", "c", "far"]


def test_two_helpers_of_one_name_stay_two() -> None:
    room: dict[str, Any] = {}
    for name, body in (("one", "return 1.0"), ("two", "return 2.0")):
        scope: dict[str, Any] = {}
        lines = [f"def helper(): {body}", f"def {name}(): return helper()"]
        import linecache

        file = f"<{name}>"
        linecache.cache[file] = (0, None, [f"{line}\n" for line in lines], file)
        exec(compile("\n".join(lines), file, "exec"), scope)
        room[name] = scope[name]
    done: dict[str, str] = {}
    for name, function in room.items():
        source.embed(function, name, done)
    scope = {"inlined": lambda f: f}
    exec("\n\n".join(done.values()), scope)
    assert (scope["one"](), scope["two"]()) == (1.0, 2.0)
