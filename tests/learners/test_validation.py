"""Nothing reaches compiled code that it would follow out of its arrays: columns, rules, encoders."""

from typing import Any

import numpy as np
import pytest
from pairing import cases

import tdlambda as td
from tdlambda.rules import Rule

N = 6
GOOD: dict[str, Any] = {
    "obs": np.arange(N) % 3, "action": np.zeros(N, dtype=np.int64), "reward": np.ones(N),
    "next_obs": (np.arange(N) + 1) % 3, "gamma": np.full(N, 0.9), "rho": np.ones(N),
    "terminated": np.zeros(N, dtype=bool), "truncated": np.zeros(N, dtype=bool),
}  # fmt: skip
LEARNERS: list[Any] = [
    td.TrueOnlineTD, td.TD, td.GTD, td.TrueOnlineGTD, td.VTD, td.DirectVTD, td.MonteCarlo, td.LambdaReturn,
    lambda x, _: td.NStepTD(x, 0.1, 2), lambda x, _: td.LSTD(x), lambda x, _: td.AutoTD(x),
    lambda x, _: td.RecursiveLSTD(x), lambda x, _: td.LSPE(x), td.ExpectedTrace,
]  # fmt: skip
EACH = cases(LEARNERS, [make for make in LEARNERS if make not in (td.GTD, td.TrueOnlineGTD, td.VTD, td.DirectVTD)])
"""Machine code that checks its arguments is the same for each declaration."""


def copies(learner: Any) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in learner._state().items()}


# ---- columns -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in GOOD if name != "reward"])
@pytest.mark.parametrize("n", [1, N - 1, N + 1])
def test_a_column_of_another_length_is_refused_where_transitions_are_made(name: str, n: int) -> None:
    with pytest.raises(ValueError, match=rf"{name} must have {N} rows, as many as reward"):
        td.mdp.Transitions(**GOOD | {name: np.resize(GOOD[name], n)})


@pytest.mark.parametrize("name", ["reward", "gamma", "rho", "terminated", "truncated"])
@pytest.mark.parametrize(
    "bad",
    [
        np.zeros((N, 2)), ["0.5"] * N, [b"1"] * N, [None] * N, 0.5, np.zeros(N, dtype=complex), {}, [[0.0]] * N,
        np.ma.masked_array(np.zeros(N), mask=[False] * (N - 1) + [True]), np.zeros(N, dtype="datetime64[s]"),
    ],
    ids=lambda bad: f"{type(bad).__name__}{np.shape(bad)}",
)  # fmt: skip
def test_what_is_no_column_is_refused_by_name(name: str, bad: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=name):
        td.mdp.Transitions(**GOOD | {name: bad})


def test_flags_are_true_or_false_and_nothing_else() -> None:
    for bad in ([2] * N, [0.5] * N, [np.nan] * N):
        with pytest.raises(ValueError, match="terminated must be True or False"):
            td.mdp.Transitions(**GOOD | {"terminated": bad})


def test_lists_and_odd_arrays_become_columns_that_are_learned_alike() -> None:
    odd = {
        "reward": [1] * N, "gamma": np.full(2 * N, 0.9)[::2], "rho": np.ones(N).astype(">f8"),
        "terminated": [0] * N, "truncated": np.broadcast_to(np.False_, N),
    }  # fmt: skip
    a, b = td.TrueOnlineTD(td.features.OneHot(3), 0.1), td.TrueOnlineTD(td.features.OneHot(3), 0.1)
    a.update_many(td.mdp.Transitions(**GOOD))
    b.update_many(td.mdp.Transitions(**GOOD | odd))
    assert copies(a) == copies(b)


@pytest.mark.parametrize("make", EACH)
def test_numbers_are_numbers_and_flags_flags_in_update_too(make: Any) -> None:
    v = make(td.features.OneHot(3), 0.1)
    v.update(0, 1.0, 1, 0.9)
    before = copies(v)
    text = ("0.5", b"0.5", np.str_("1"), bytearray(b"1"), np.array("0.5"), None, [0.5], np.ma.masked, np.ones(2))
    for name in ("reward", "gamma", "rho"):
        for bad in (*text, 10**400):
            with pytest.raises((TypeError, ValueError), match=name):
                v.update(**{"obs": 0, "reward": 1.0, "next_obs": 1, "gamma": 1.0, name: bad})
    for name in ("terminated", "truncated"):
        for wrong in ("False", b"", None, 2, 0.5, np.nan, [False], object()):
            with pytest.raises(TypeError, match=name):
                v.update(0, 1.0, 1, 1.0, **{name: wrong})
    with pytest.raises(ValueError, match="masked"):
        v.update_many(np.ma.masked_array([0, 1], mask=[True, False]), [1.0, 1.0], [1, 2], gamma=1.0)
    assert copies(v) == before
    v.update(0, np.float32(1), np.int64(1), np.array(0.9), 1, np.bool_(False), 1)
    assert v.steps == 2


# ---- rules ---------------------------------------------------------------------------------------------------------


class Odd(Rule):
    """A rule that may break its word."""

    def __init__(self, one: Any = 0.5, many: Any = None) -> None:
        self.one, self.many = one, many

    def at(self, obs: Any) -> Any:  # noqa: ARG002
        return self.one

    def at_many(self, observations: Any, n: int) -> Any:  # noqa: ARG002
        return np.full(n, 0.5) if self.many is None else self.many

    def get_params(self) -> dict[str, Any]:
        return {"one": self.one, "many": self.many}


@pytest.mark.parametrize("make", [td.TrueOnlineTD, td.TD, td.LambdaReturn, lambda x, _, lam: td.LSTD(x, lam)])
def test_a_rule_that_breaks_its_word_is_refused_before_anything_is_learned(make: Any) -> None:
    too_few = np.full(1, 0.5)
    for many in (too_few, np.full((N, 1), 0.5), [0.5] * (N + 1), ["a"] * N, None, np.full(N, np.nan), [1.5] * N, 0.5):
        rule = Odd(many=many)
        rule.at_many = lambda _observations, _n, many=many: many  # type: ignore[method-assign, misc]
        v = make(td.features.OneHot(3), 0.1, rule)
        with pytest.raises(ValueError, match="lam"):
            v.update_many(td.mdp.Transitions(**GOOD))
        assert v.steps == 0
    for one in ("0.5", None, 1.5, np.nan, [0.5, 0.5], 1j):
        v = make(td.features.OneHot(3), 0.1, Odd(one))
        with pytest.raises((TypeError, ValueError), match="lam"):
            v.update(0, 1.0, 1, gamma=1.0)
        assert v.steps == 0


@pytest.mark.parametrize(
    "features", [td.features.OneHot(5), td.features.Table(np.eye(5)), td.features.GridTilings((5,), [[[2]], [[3]]])]
)
@pytest.mark.parametrize("make", [td.TrueOnlineTD, td.LambdaReturn])
def test_a_table_of_lambdas_has_one_for_each_state_or_is_refused_at_once(features: td.Encoder, make: Any) -> None:
    make(features, 0.1, np.full(5, 0.5))
    for n in (1, 4, 6):
        with pytest.raises(ValueError, match="lam must have 5 numbers, one for each state"):
            make(features, 0.1, np.full(n, 0.5))


MESSAGES: dict[str, tuple[Any, str]] = {
    "a slip": ("atuo", r"got 'atuo'; did you mean 'auto'\?"),
    "another word": ("best", r'lam must be in \[0, 1\], "auto", "meta", "greedy" or a rule; got \'best\''),
    "a class": (td.rules.Meta, r"did you mean Meta\(\)\?"),
    "nothing": (None, "lam must be .* got None"),
    "too large": (1.5, r"lam must be in \[0, 1\].* got 1.5"),
    "text": (["0.5", "0.5", "0.5"], "lam must be numbers"),
}


@pytest.mark.parametrize("case", MESSAGES)
@pytest.mark.parametrize("make", [td.TrueOnlineTD, td.LambdaReturn])
def test_a_lambda_that_is_none_is_refused_with_what_to_write(case: str, make: Any) -> None:
    lam, message = MESSAGES[case]
    with pytest.raises((TypeError, ValueError), match=message):
        make(td.features.OneHot(3), 0.1, lam)


def test_rules_by_name() -> None:
    for name, rule in (("auto", td.rules.LambdaMixture()), ("meta", td.rules.Meta()), ("greedy", td.rules.Greedy())):
        assert td.TD(td.features.OneHot(3), 0.1, name).rule == rule  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"LambdaReturn cannot use Meta, .* pass a number, or use TD"):
        td.LambdaReturn(td.features.OneHot(3), 0.1, "meta")


# ---- encoders ------------------------------------------------------------------------------------------------------


class Lying(td.Encoder):
    """States as one feature each; what `lie` says instead at state 1, once it is told to."""

    size, active = 3, 1

    def __init__(self, lie: Any = None) -> None:
        self.lie = lie

    def encode(self, observation: Any) -> Any:
        return self.lie if self.lie is not None and observation == 1 else (np.array([int(observation)]), np.ones(1))

    def encode_batch(self, observations: Any) -> Any:
        if self.lie is not None:
            return np.asarray(self.lie[0])[None].repeat(len(observations), 0), np.ones((len(observations), 1))
        return np.asarray(observations)[:, None], np.ones((len(observations), 1))

    def get_params(self) -> dict[str, Any]:
        return {"lie": self.lie}


LIES: list[Any] = [
    (np.array([3]), np.ones(1)), (np.array([-1]), np.ones(1)), (np.array([10**9]), np.ones(1)),
    (np.zeros(2, dtype=np.int64), np.ones(2)), (np.zeros(0, dtype=np.int64), np.ones(0)), (np.array([0.5]), np.ones(1)),
    (np.array([2**63], dtype=np.uint64), np.ones(1)),
]  # fmt: skip
ODD_VALUES: list[Any] = [
    (np.zeros(1, dtype=np.int64), np.array([np.nan])), (np.zeros(1, dtype=np.int64), np.array([1e200])),
    (np.zeros(1, dtype=np.int64), np.array(["1"])), (np.zeros(1, dtype=np.int64), np.ones(2)), (np.zeros(1), None), 7,
]  # fmt: skip


@pytest.mark.parametrize("make", EACH)
def test_an_encoder_that_lies_is_refused_by_every_call(make: Any) -> None:
    features = Lying()
    v = make(features, 0.1)
    v.update(0, 1.0, 2, gamma=1.0)
    before = copies(v)
    for lie in LIES + ODD_VALUES:
        features.lie = lie
        calls: list[Any] = [
            lambda: v.update(1, 1.0, 0, gamma=1.0),
            lambda: v.update(0, 1.0, 1, gamma=1.0),
            lambda: v.predict(1),
        ]
        for call in calls:
            with pytest.raises((TypeError, ValueError), match=r"features: Lying\.encode must return"):
                call()
    for lie in LIES:
        features.lie = lie
        batches: list[Any] = [
            lambda: v.update_many([0, 1], [1.0, 1.0], [1, 2], gamma=1.0),
            lambda: v.predict_many([0, 1]),
        ]
        for many in batches:
            with pytest.raises((TypeError, ValueError), match=r"features: Lying\.encode_batch must return"):
                many()
    assert copies(v) == before


def test_features_of_lambda_are_validated_alike() -> None:
    for lie in LIES:
        features = Lying()
        v = td.TrueOnlineTD(td.features.OneHot(3), 0.1, td.rules.Meta(features=features))
        v.update(0, 1.0, 2, gamma=1.0)
        before, features.lie = copies(v), lie
        with pytest.raises((TypeError, ValueError), match="features: Lying"):
            v.update(0, 1.0, 1, gamma=1.0)
        with pytest.raises((TypeError, ValueError), match="features: Lying"):
            v.update_many([0], [1.0], [1], gamma=1.0)
        assert copies(v) == before


def test_the_kernels_check_features_of_lambda_themselves() -> None:
    """The second lock: an encoder of ours that was tampered with."""
    features = td.features.OneHot(5)
    v = td.TrueOnlineTD(td.features.OneHot(5), 0.1, td.rules.Meta(features=td.features.OneHot(2)))
    v.rule.features.size = 5  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="next_obs"):
        v.update(0, 1.0, 4, gamma=1.0)
    with pytest.raises(ValueError, match="next_obs"):
        v.update_many([0], [1.0], [4], gamma=1.0)
    assert features.states == 5


@pytest.mark.parametrize("make", [td.TrueOnlineTD, td.LSTD, td.RecursiveLSTD, td.LSPE, td.AutoTD])
def test_the_engine_validates_alike(make: Any) -> None:
    ring = td.make("RingWorld-v0")

    class Late(td.features.OneHot):
        """Right for all states at once, as a check before the run would ask, but not always."""

        calls = grace = 0

        def encode_batch(self, observations: Any) -> Any:
            index, value = super().encode_batch(observations)
            Late.calls += 1
            return index + (10**6 if Late.calls > self.grace else 0), value

    for grace in range(4):
        Late.calls, Late.grace = 0, grace
        options: dict[str, Any] = {"alpha": 0.1} if make is td.TrueOnlineTD else {}
        with pytest.raises(ValueError, match=r"features: Late\.encode_batch must return"):
            td.engine.run(ring, [make(Late(11), **options)], 1, 40_000, threads=1)


def test_a_class_between_is_validated_alike() -> None:
    class Mixed:
        def encode(self, observation: Any) -> Any:  # noqa: ARG002
            return np.array([99]), np.ones(1)

    class Both(Mixed, td.features.OneHot):
        pass

    class Child(Both):
        pass

    for kind in (Both, Child):
        with pytest.raises(ValueError, match="encode must return indices from 0 to 2"):
            td.TrueOnlineTD(kind(3), 0.1).update(0, 1.0, 1, gamma=1.0)
        with pytest.raises(ValueError, match="encode must return"):
            kind(3).dense(0)


@pytest.mark.parametrize("make", EACH)
def test_features_whose_square_overflows_are_refused(make: Any) -> None:
    v = make(td.features.Dense(2), 1e-3)
    v.update([1.0, 0.0], 1.0, [0.0, 1.0], 0.9)
    before = copies(v)
    for obs, next_obs in (([1e200, 0.0], [0.0, 0.0]), ([0.0, 0.0], [0.0, -1e200])):
        with pytest.raises(ValueError, match=r"\|x\|²"):
            v.update(obs, 1.0, next_obs, 0.9)
        with pytest.raises(ValueError, match=r"\|x\|²"):
            v.update_many([obs], [1.0], [next_obs], 0.9)
    assert copies(v) == before
    assert copies(v.clone()) == before


@pytest.mark.parametrize("make", [td.TrueOnlineTD, td.MonteCarlo])
@pytest.mark.parametrize("initial", [np.inf, 1e308, "1.0", [1.0, 2.0], None, ["1", "2", "3"]])
def test_initial_weights_that_cannot_be_are_refused(make: Any, initial: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="initial must be"):
        make(td.features.OneHot(3), 0.1, initial=initial)


@pytest.mark.parametrize("more", [{"reward": 1.0}, {"gamma": 0.5}, {"behavior": 0.5}])
def test_columns_beside_transitions_are_an_error(more: dict[str, Any]) -> None:
    v = td.TD(td.features.OneHot(4), alpha=0.1)
    (name,) = more
    with pytest.raises(TypeError, match=f"{name} must be left out, because Transitions contains all columns"):
        v.update_many(td.mdp.Transitions(**GOOD), **more)
    assert v.weights.sum() == 0
