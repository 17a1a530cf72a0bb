"""Networks: gradients, the declarations on gradients, what is refused, averages."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plain_network import Normaliser, gradient, transitions, value

import tdlambda as td
from tdlambda.core.interpreter import Interpreter
from tdlambda.core.source import arguments, returned

SMALL: Any = {"hidden": (5, 4), "dtype": "float64", "averaged": False}
STEPS: dict[str, Any] = {
    "constant": lambda: 0.01, "by steps": lambda: td.steps.OneOver("steps", 0.1, 10.0, 0.5),
    "ObGD": lambda: td.steps.ObGD(0.5), "Intentional": lambda: td.steps.Intentional(0.2),
    "IntentionalRMS": lambda: td.steps.IntentionalRMS(0.2, 0.9), "AdaGrad": lambda: td.steps.AdaGrad(0.01),
    "TIDBD": lambda: td.steps.TIDBD(1e-3, 1e-3, "semi"),
    "Implicit": lambda: td.steps.Implicit(0.1),
}  # fmt: skip


class Clipped(td.Algorithm):
    """TD(λ) with clipped errors, as a user declares it, with a mean of δ that is kept."""

    parameters, cap = "cap", 0.5
    dots = {"v": "w.x", "v_next": "w.x'", "size": "x.x", "ee": "e.e"}
    keeps = {"decay": 0.0}
    holds = {"mean": 0.0}
    updates = """
        e  = keep e + rho x
        w += along e
    """

    @staticmethod
    def step(v, v_next, size, ee, decay, mean, cap, alpha, reward, gamma_next, rho, lam_next):  # type: ignore[no-untyped-def]
        delta = reward + gamma_next * v_next - v
        mean = 0.9 * mean + 0.1 * delta
        along = alpha * min(max(delta, -cap), cap) / (1.0 + size + ee)
        keep, decay = rho * decay, gamma_next * lam_next
        return keep, along, decay, mean


class TraceRule(td.Rule):
    """A λ that reads a trace of V."""

    dots = {"ex": "V.e.x"}

    @staticmethod
    def step(ex):  # type: ignore[no-untyped-def]
        lam_next = 1.0 / (1.0 + ex * ex)
        return lam_next


class ByError(td.Rule):
    """A λ that is high where the last errors were large; without estimates."""

    dots = {"v": "V.x", "v_next": "V.x'"}
    keeps = {"recent": 0.0}

    @staticmethod
    def step(v, v_next, recent, reward, gamma_next):  # type: ignore[no-untyped-def]
        recent = recent + 0.3 * (abs(reward + gamma_next * v_next - v) - recent)
        lam_next = recent / (1.0 + recent)
        return lam_next, recent


class Varying(td.Rule):
    """A λ that differs at every observation."""

    def at(self, obs: Any) -> float:
        return float(abs(np.sin(1e3 * np.asarray(obs)[0])))


def follows_its_declaration(kind: Any, alpha: Any, **options: Any) -> None:
    """A learner and the interpreter of its declaration on gradients: x = ∇V, and δ from forward passes."""
    network = td.Network(3, **SMALL | options)
    v = kind(network, alpha, Varying())
    plain = Interpreter(v.model, network.size, v.memory.numbers())
    plain.rows["V_w"] = network.initial()
    seen, zero = Normaliser(network), np.zeros(network.size)
    for x, reward, y, gamma, rho, terminated, truncated, begins in transitions(60, 3, seed=1):
        v.update(x, reward, y, gamma, rho, terminated, truncated)
        w, (a, b) = plain.rows["V_w"], seen.pair(x, y, begins)
        r = seen.scaled(reward, 0.0 if terminated else gamma, begins)
        g = gradient(w, network, a)
        ahead = 0.0 if terminated else gamma * float(value(w, network, b)[0])
        # the linear δ is r̃ - w·x, so this r̃ makes it r + γ' V(s') - V(s)
        given = r + ahead - float(value(w, network, a)[0]) + w @ g
        plain.learn(g, zero, given, gamma, rho, Varying().at(y), terminated, truncated)
        for name, row in plain.rows.items():
            np.testing.assert_allclose(v.row(name), row, rtol=1e-6, atol=1e-9, err_msg=name)
        expected = seen.scale * float(value(plain.rows["V_w"], network, seen.place(y))[0])
        assert v.predict(y) == pytest.approx(expected, rel=1e-6, abs=1e-9)


FORMS: list[dict[str, Any]] = [
    {}, {"activation": "tanh"}, {"layer_norm": False}, {"normalize_inputs": False, "scale_rewards": False},
    {"hidden": (6,)}, {"hidden": (3, 4, 3), "sparsity": 0.0},
]  # fmt: skip


@pytest.mark.interpreted
def test_every_step_size() -> None:
    for name, make in STEPS.items():
        try:
            follows_its_declaration(td.TD, make())
        except AssertionError as error:
            raise AssertionError(name) from error


@pytest.mark.interpreted
def test_every_form() -> None:
    for options in FORMS:
        follows_its_declaration(Clipped, 0.3, **options)


def test_compiled_as_declared() -> None:
    follows_its_declaration(td.TD, td.steps.IntentionalRMS(0.2, 0.9), hidden=(9, 10))


@pytest.mark.interpreted
@pytest.mark.parametrize("rule", [td.rules.Meta(kappa=0.3), td.rules.Meta.thesis(0.1), td.rules.Greedy(), ByError()])
def test_rules_on_the_last_hidden_layer(rule: Any) -> None:
    """λ' from estimates that are linear in h(x) and a constant, and from the network's own V; then TD(λ) with it."""
    network, alpha = td.Network(3, **SMALL, sparsity=0.9), 0.02
    v, w, seen = td.TD(network, alpha, rule), network.initial(), Normaliser(network)
    # weights, trace, its decay
    rows: dict[str, list[Any]] = {k: [np.zeros(5), 0.0, 0.0] for k in rule.estimates if k != "V"}
    u, e, decay, kept, most = np.zeros(5), 0.0, 0.0, dict(rule.keeps), 0.0
    for x, reward, y, gamma, rho, terminated, truncated, begins in transitions(60, 3, seed=12):
        v.update(x, reward, y, gamma, rho, terminated, truncated)
        gamma = 0.0 if terminated else gamma
        inputs = seen.pair(x, y, begins)
        reward = seen.scaled(reward, gamma, begins)
        most = max(most, abs(reward))
        h, z = (np.append(value(w, network, at, hidden=True), 1.0) for at in inputs)
        after, values = z * (not terminated), [float(value(w, network, at)[0]) for at in inputs]
        values[1] *= not terminated
        known: dict[str, Any] = {"reward": reward, "gamma_next": gamma, "rho": rho, "ready": not terminated}
        known |= {"most_reward": most, "zz": z @ z, "one": 1.0} | rule.numbers(alpha) | kept | rule.constants()
        for name, dot in rule.dots.items():
            k, at = dot.split(".")
            known[name] = u @ z if k == "u" else values[at == "x'"] if k == "V" else rows[k][0] @ (h, after)[at == "x'"]
        made = dict(
            zip(returned(rule.step), rule.step(**{n: known.get(n, 0.0) for n in arguments(rule.step)}), strict=True)
        )
        known |= made
        for k, (weights, trace, fade) in rows.items():
            r, g, p, lam, _ = (known[n] for n in rule.estimates[k])
            trace = p * (fade * trace + h)
            rows[k] = [weights + 2 * alpha * (r + g * weights @ after - weights @ h) * trace, trace, g * lam]
        u = u - made.get("change", 0.0) * z
        e = rho * (decay * e + gradient(w, network, inputs[0]))
        w = w + alpha * (reward + gamma * values[1] - values[0]) * e
        decay, kept = gamma * made["lam_next"], {n: made[n] for n in rule.keeps}
        if terminated or truncated:
            e, decay, kept = 0.0, 0.0, dict(rule.keeps)
            rows = {k: [row[0], 0.0, 0.0] for k, row in rows.items()}
        np.testing.assert_allclose(v.row("V_w"), w, rtol=1e-6, atol=1e-9)
        for k, row in rows.items():
            np.testing.assert_allclose(v.row(f"{k}_w"), row[0], rtol=1e-6, atol=1e-9, err_msg=k)
        assert v.memory["last_lam"] == pytest.approx(made["lam_next"], abs=1e-8)
    assert 0 < made["lam_next"] < 1
    at = seen.place(y)
    h = np.append(value(w, network, at, hidden=True), 1.0)
    expected = np.array([value(w, network, at)[0], *(row[0] @ h for row in rows.values())])
    unit = np.array([seen.scale ** (1 + (k in rule.squares)) for k in rule.estimates])
    np.testing.assert_allclose(v.estimates([y])[:, 0], expected * unit, rtol=1e-6)
    if "u" in rule.weight_rows:
        assert v.lambda_at(y) == pytest.approx(np.clip(1 - u @ h, 0, 1), abs=1e-8)


@pytest.mark.interpreted
def test_copies_and_files_of_rules(tmp_path: Path) -> None:
    settings: list[Any] = [("meta", td.steps.IntentionalRMS(0.3)), ("greedy", td.steps.ObGD())]
    for rule, alpha in settings:
        v = td.TD(td.Network(3, (6,)), alpha, rule)
        for k, (x, reward, y, gamma, rho, *ends, _) in enumerate(transitions(40, 3, seed=13)):
            if k == 20:
                v.save(tmp_path / "v")
                others = [td.load(tmp_path / "v"), v.clone()]
                others[1].memory.reset()
                others[1].memory.resume(v.memory.episode())
            for one in [v, *others] if k >= 20 else [v]:
                one.update(x, reward, y, gamma, rho, *ends)
        for other in others:
            assert {n: a.tobytes() for n, a in other._state().items()} == {
                n: a.tobytes() for n, a in v._state().items()
            }
            assert other.lambda_at(y) == v.lambda_at(y)
        state = v._state() | {"heads.rows": np.zeros((2, 3))}
        with pytest.raises(ValueError, match="does not fit"):
            v._restore(state)


@pytest.mark.interpreted
def test_finite_differences() -> None:
    network = td.Network(3, hidden=(5, 4), dtype="float64", normalize_inputs=False)
    w, x = network.initial() + 0.1, np.array([0.3, -1.0, 2.0])

    def at(parameters: Any) -> float:
        return td.TD(network, 1e-9, initial=parameters).predict(x)

    v = td.TD(network, 1e-9, 0.9, initial=w)
    v.update(x, 1.0, x, 0.9, rho=0.7)
    bumps = 1e-6 * np.eye(len(w))
    numeric = [(at(w + bump) - at(w - bump)) / 2e-6 for bump in bumps]
    np.testing.assert_allclose(v.row("V_e"), 0.7 * np.array(numeric), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("dtype", [pytest.param("float32", marks=pytest.mark.slow), "float64"])
def test_contract_of_learners(dtype: Any) -> None:
    td.check_learner(lambda: td.TD(td.Network(3, (8, 8), dtype=dtype), td.steps.IntentionalRMS(0.1), 0.8))


@pytest.mark.interpreted
def test_refused() -> None:
    net: Any = td.Network(3, (4,))
    for make, said in [
        (lambda: td.TrueOnlineTD(net, 0.1), "TrueOnlineTD cannot run on a network: keeps: 'v_old': 'v' is a pred"),
        (lambda: td.TD(net, 0.1, traces="dutch"), "'e = keep e [+] new x', new depends on e.x, as in Dutch traces"),
        (lambda: td.GTD(net, 0.1), "cannot run on a network: .* the gradient at the next state"),
        (lambda: td.TDRC(net, 0.1), "cannot run on a network: .*the gradient at the next state"),
        (lambda: td.LSTD(net), "LSTD needs a value that is linear in features"),
        (lambda: td.MonteCarlo(net, 0.1), "MonteCarlo needs a value that is linear in features"),
        (lambda: td.TD(net, 0.1, td.rules.Meta(features=td.features.OneHot(3))), "features must be None on a network"),
        (lambda: td.TD(net, 0.1, TraceRule()), "'V.e.x' is not a prediction of V"),
        (lambda: td.QLambda(td.Network(3), 2, lam="auto"), "must not be learned with a network of action values"),
        (lambda: td.TD(net, 0.1, traces="replacing"), 'traces: "replacing" is for binary features'),
        (lambda: td.TD(net, 0.1).weights, "a network has no vector of weights"),
        (lambda: td.TD(net, td.steps.OneOver("visits")), "a schedule by visits counts features"),
        (lambda: td.TD(net, 0.1).to_c("x"), "a network cannot be written in C"),
        (lambda: td.TD(net, 0.1, initial=1.0), "initial must be left out, or be all 21 parameters"),
        (lambda: td.TD(net, 0.1, initial=np.zeros(3)), "initial must be a number"),
        (lambda: td.Network(0), "inputs must be"),
        (lambda: td.Network(3, ()), "hidden must have at least one layer"),
        (lambda: td.Network(3, None), "hidden must be an integer; got None"),
        (lambda: td.Network(3, np.float64(2.5)), "hidden must be an integer; got "),
        (lambda: td.Network(3, sparsity=1.0), "sparsity must be below 1"),
        (lambda: td.Network(3, activation="relu"), 'activation must be "leaky_relu" or "tanh"'),  # type: ignore[arg-type]
        (lambda: td.Network(3, hiden=(3,)), "did you mean 'hidden'"),  # type: ignore[call-arg]
        (lambda: td.TD(net, 0.1).update([1.0, 2.0], 0.0, [1.0, 2.0, 3.0], 0.9), r"obs must have the shape \(3,\)"),
        (lambda: td.TD(net, 0.1).predict([1.0, np.nan, 2.0]), r"must be finite; got nan"),
    ]:  # fmt: skip
        with pytest.raises((TypeError, ValueError, AttributeError), match=said):
            make()  # type: ignore[no-untyped-call]


def test_initial_parameters() -> None:
    for inputs in (1, 2, 30):
        (first, begun), (_, later), _ = td.TD(td.Network(inputs, (50, 20)), 0.1).layers
        assert (first != 0).all()
        assert 0 < abs(begun).min() < abs(begun).max() < 1 / np.sqrt(inputs)
        assert not later.any()
        for network in (td.Network(inputs, (50, 20), sparsity=0.9), td.Network(inputs, (50, 20)).with_outputs(1)):
            layers = td.TD(network, 0.1).layers
            assert ((layers[0][0] != 0).sum(axis=0) == max(1, inputs - int(np.ceil(0.9 * inputs)))).all()
            assert not any(biases.any() for _, biases in layers)
    a, b = (td.Network(3, seed=seed).initial() for seed in (0, 1))
    assert not np.array_equal(a, b)
    assert repr(td.Network(3, (8,), seed=2)) == "Network(inputs=3, hidden=[8], seed=2)"
    assert td.Network(3) == td.Network(3)


@pytest.mark.interpreted
def test_averages() -> None:
    """Predictions are those of parameters that are averaged every ten steps."""
    network = td.Network(3, **SMALL | {"averaged": True})
    v, seen, mean = td.TD(network, td.steps.Intentional(0.2), 0.5), Normaliser(network), network.initial()
    for t, (x, reward, y, gamma, rho, ended, cut, begins) in enumerate(transitions(130, 3, seed=6), 1):
        v.update(x, reward, y, gamma, rho, ended, cut)
        seen.pair(x, y, begins)
        seen.scaled(reward, 0.0 if ended else gamma, begins)
        if t <= 40 or t % 10 == 0:
            mean = mean + min(1.0, 40 / (t + 10)) * (v.row("V_w") - mean)
        expected = seen.scale * float(value(mean, network, seen.place(y))[0])
        assert v.predict(y) == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert abs(mean - v.row("V_w")).max() > 1e-3


@pytest.mark.interpreted
def test_predictions_leave_the_learner_alone() -> None:
    v = td.TD(td.Network(3, **SMALL), td.steps.Intentional(0.2), 0.5)
    for x, reward, y, gamma, *_ in transitions(20, 3, seed=11):
        v.update(x, reward, y, gamma)
    before = {name: array.tobytes() for name, array in v._state().items()}
    assert v.predict(100 * y) == v.predict_many([100 * y])[0]
    assert before == {name: array.tobytes() for name, array in v._state().items()}
