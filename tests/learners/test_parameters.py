# mypy: disable-error-code="no-untyped-def, override"
"""Every parameter of an algorithm is in its signature, in `get_params` and in copies, and numbers are within range."""

import inspect
from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda.arrays import fraction

COMMON = ["correction", "centering", "initial", "trace_tolerance", "bound", "on_divergence", "dtype"]


class Capped(td.TD):
    """TD(λ) with errors cut at ±cap."""

    parameters, cap, ranges = "cap", 0.5, {"cap": fraction}

    @staticmethod
    def step(v, v_next, decay, cap, alpha, reward, gamma_next, rho, lam_next):
        along = alpha * min(max(reward + gamma_next * v_next - v, -cap), cap)
        keep, decay = rho * decay, gamma_next * lam_next
        return keep, along, decay


class Named(td.GTD):
    """With a parameter that is no number; α is given by the class."""

    def __init__(self, features: td.Encoder, label: str, **options: Any) -> None:
        self.label = label
        super().__init__(features, 0.1, **options)


class Wrapped(Capped):
    """Passes on what it is given."""

    def __init__(self, *given: Any, label: str = "", **options: Any) -> None:
        self.label = label
        super().__init__(*given, **options)


class Closed(Capped):
    """Takes nothing but its own."""

    def __init__(self, n: int) -> None:
        super().__init__(td.features.OneHot(n), 0.1)


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (td.TrueOnlineTD, ["features", "alpha", "lam", *COMMON]),
        (td.TD, ["features", "alpha", "lam", "traces", *COMMON]),
        (td.HTD, ["features", "alpha", "lam", "beta", *COMMON]),
        (td.TDRC, ["features", "alpha", "lam", "beta", *COMMON, "reg"]),
        (td.GTD, ["features", "alpha", "lam", "beta", "form", *COMMON]),
        (td.TrueOnlineETD, ["features", "alpha", "lam", "interest", "beta_f", *COMMON]),
        (td.DifferentialTD, ["features", "alpha", "lam", "rate", *COMMON, "eta"]),
        (td.VTD, ["features", "alpha", "lam", "of", "trace_lam", *COMMON]),
        (Capped, ["features", "alpha", "lam", "traces", *COMMON, "cap"]),
        (Named, ["features", "label", "lam", "beta", "form", *COMMON]),
        (Wrapped, ["label", "features", "alpha", "lam", "traces", *COMMON, "cap"]),
        (Closed, ["n"]),
    ],
)
def test_signatures_show_every_parameter(kind: type[td.Algorithm], names: list[str]) -> None:
    assert list(inspect.signature(kind).parameters) == names


def test_defaults_are_shown() -> None:
    shown = inspect.signature(td.TDRC).parameters
    assert (shown["lam"].default, shown["beta"].default, shown["reg"].default) == (0.9, None, 1.0)
    assert shown["alpha"].default is inspect.Parameter.empty


@pytest.mark.costly
def test_a_subclass_keeps_its_own_parameters() -> None:
    v: Any
    for v in (
        Capped(td.features.OneHot(2), 0.5, cap=0.25),
        Wrapped(td.features.OneHot(2), 0.5, label="mine", cap=0.25),
    ):
        for one in (v, v.clone(), type(v)(**v.get_params())):
            one.update(0, 10.0, 1, gamma=1.0)
            assert one.predict(0) == 0.125
            assert "cap=0.25" in repr(one)
            assert one.get_params() == v.get_params()
    assert td.TD(td.features.OneHot(2), 0.5, traces="dutch").get_params()["traces"] == "dutch"


@pytest.mark.costly
def test_a_subclass_of_an_emphatic_method_is_itself() -> None:
    class Halved(td.ETD):
        @staticmethod
        def step(v, v_next, interest, decay, follow, lam, alpha, reward, gamma_next, rho, lam_next):
            along = alpha / 2 * (reward + gamma_next * v_next - v)
            keep, new = rho * decay, rho * (interest + (1 - lam) * follow)
            decay, lam = gamma_next * lam_next, lam_next
            return keep, new, along, decay, follow, lam

    v = Halved(td.features.OneHot(2), 0.5)
    v.update(0, 1.0, 1, gamma=1.0)
    assert v.predict(0) == 0.25


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: td.TDRC(td.features.OneHot(2), 0.1, reg=-1.0), "reg must be finite and not negative; got -1.0"),
        (lambda: td.TDRC(td.features.OneHot(2), 0.1, reg=float("inf")), "reg must be finite and not negative; got inf"),
        (lambda: td.DifferentialTD(td.features.OneHot(2), 0.1, eta=0.0), "eta must be positive and finite; got 0.0"),
        (lambda: td.DifferentialTD(td.features.OneHot(2), 0.1, eta=0.0, rate="mean"), "eta must be positive"),
        (lambda: Capped(td.features.OneHot(2), 0.1, cap=2), r"cap must be in \[0, 1\]; got 2"),
        (
            lambda: type("Wide", (Capped,), {"cap": 2.0})(td.features.OneHot(2), 0.1),
            r"cap must be in \[0, 1\]; got 2.0",
        ),
    ],
)
def test_numbers_out_of_range_are_refused(build: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()


def test_a_range_of_no_number_is_refused_when_the_class_is_made() -> None:
    with pytest.raises(TypeError, match="Odd: ranges: unknown top; the numbers besides alpha are cap"):
        type("Odd", (Capped,), {"ranges": {"top": fraction}})


def test_a_range_must_return_the_number() -> None:
    forgets = type("Forgets", (Capped,), {"ranges": {"cap": lambda value, name: None}})  # noqa: ARG005
    with pytest.raises(TypeError, match="cap must be a number; got None"):
        forgets(td.features.OneHot(2), 0.1)


@pytest.mark.parametrize("kind", [td.Sarsa, td.QLambda])
def test_agents_name_the_common_parameters_with_the_same_defaults(kind: type[Any]) -> None:
    its, common = inspect.signature(kind).parameters, inspect.signature(td.Algorithm).parameters
    for name in COMMON[1:]:
        assert its[name].default == common[name].default, name


@pytest.mark.parametrize("kind", [td.Sarsa, td.QLambda])
def test_agents_pass_them_to_the_algorithm(kind: type[Any]) -> None:
    given: dict[str, Any] = {"centering": 0.1, "trace_tolerance": 0.0, "bound": 7.0, "on_divergence": "flag"}
    agent = kind(td.features.OneHot(3), 2, 0.1, algorithm=td.TD, traces="dutch", initial=2.0, dtype="float32", **given)
    assert {name: getattr(agent.learner, name) for name in given} == given
    assert agent.weights.dtype == "float32"
    assert (agent.weights == 2).all()
    assert agent.clone().learner.traces == "dutch"
    assert "traces='dutch'" in repr(agent)


def test_subclasses_of_agents_and_algorithms_may_have_defaults_of_their_own() -> None:
    class Optimistic(td.Sarsa):
        """Other defaults, which its constructor passes on."""

        def __init__(self, features: Any, actions: Any, initial: float = 1.0, bound: float = 10.0) -> None:
            super().__init__(features, actions, 0.1, initial=initial, bound=bound)

    class Loose(td.TD):
        """A larger bound, and no choice of dtype."""

        def __init__(self, features: Any, alpha: Any, lam: Any = 0.9, bound: float = 50.0, initial: Any = 5.0) -> None:
            super().__init__(features, alpha, lam, bound=bound, initial=initial)

    x = td.features.OneHot(3)
    own = Optimistic(x, 2)
    assert (own.q(0) == 1).all()
    assert own.learner.bound == 10
    agent = td.Sarsa(x, 2, 0.1, algorithm=Loose)  # the agent's own defaults, as its signature says
    assert agent.learner.bound == agent.get_params()["bound"] == agent.clone().learner.bound == 1000
    assert (agent.q(0) == 0).all()
    with pytest.raises(TypeError, match="Sarsa with Loose has no argument dtype; its arguments are"):
        td.Sarsa(x, 2, 0.1, algorithm=Loose, dtype="float32")


def test_initial_weights_of_agents_are_a_table_like_their_weights() -> None:
    initial = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    agent = td.QLambda(td.features.OneHot(3), 2, 0.1, initial=initial)
    for one in (agent, agent.clone()):
        assert one.weights.tolist() == initial == one.get_params()["initial"]
        assert one.q(1).tolist() == [2.0, 5.0]
    for wrong in (np.ones((3, 2)), np.ones(6)):
        with pytest.raises(ValueError, match=r"initial must be a number, or \[action, feature\] of shape \(2, 3\)"):
            td.Sarsa(td.features.OneHot(3), 2, 0.1, initial=wrong)


def test_reprs_of_agents_are_the_calls() -> None:
    x = td.features.OneHot(3)
    assert repr(td.Sarsa(x, actions=2)) == "Sarsa(features=OneHot(n=3), actions=2)"
    assert (
        repr(td.QLambda(x, 2, lam="meta", bound=5)) == "QLambda(features=OneHot(n=3), actions=2, lam=Meta(), bound=5.0)"
    )
    critic, softmax = td.TD(x, alpha=0.1), td.control.Softmax(2)
    assert repr(td.ActorCritic(critic, softmax, 0.1)) == (
        "ActorCritic(critic=TD(features=OneHot(n=3), alpha=0.1), policy=Softmax(actions=2), eta=0.1)"
    )
    lams: Any = (("critic", "'critic'"), (0.5, "0.5"), (None, "None"))
    for lam, shown in lams:
        agent = td.ActorCritic(critic, softmax, 0.1, lam)
        assert repr(agent).endswith(f", eta=0.1, lam={shown})")
        assert repr(agent.clone()) == repr(agent)
