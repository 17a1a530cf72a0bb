"""A name in a declaration is refused, or the learner learns exactly what it learns with any other name."""

import ast
import builtins
import keyword
from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda.core import source
from tdlambda.core.model import Model
from tdlambda.core.schedules import lanes, one
from tdlambda.engine.block import Block
from tdlambda.engine.plan import plan

STEP = """
def step({dot}, v_next, {keep}, {hold}, {size}, {parameter}, alpha, reward, gamma_next, rho, lam_next):
    {result} = alpha * (reward + gamma_next * v_next - {dot}) * {parameter}
    back = {size} * {result} * 0.01 + 0.001 * {hold}
    more, {keep} = rho * {keep}, gamma_next * lam_next
    {hold} = {hold} * 0.5 + {result}
    return {result}, back, more, {keep}, {hold}
"""
USUAL = {"dot": "v", "keep": "decay", "hold": "mean", "size": "beta", "parameter": "scale", "result": "along"}
ROWS = {"weight": "w", "second": "h", "trace": "e"}
RULE_STEP = """
def step({dot}, {keep}, {hold}, {parameter}, reward, m_next):
    {result} = 0.1 * {parameter} * ({dot} + {hold})
    lam_next = min(max(0.5 + {result} + 0.01 * {keep} + 0.01 * m_next, 0.0), 1.0)
    {keep} = 0.5 * {keep} + reward
    {hold} = 0.5 * {hold} + 0.1 * reward
    return lam_next, {result}, {keep}, {hold}
"""
RULE = {"dot": "uz", "keep": "last", "hold": "slow", "parameter": "kappa", "result": "change", "row": "u"}
N = 4
rng = np.random.default_rng(0)
STATES, VECTORS = rng.integers(5, size=N + 1), rng.random((N + 1, 3))
REWARD, GAMMA, RHO, ENDED = rng.normal(size=N), rng.random(N), rng.random(N) + 0.5, np.arange(N) == 2


def algorithm(**changed: str) -> Any:
    """TD(λ) with a second row, and with names of our choice."""
    n = USUAL | ROWS | changed
    members = {
        "weight_rows": f"{n['weight']} {n['second']}", "trace_rows": n["trace"], "sizes": f"alpha {n['size']}",
        "parameters": n["parameter"], "dots": {n["dot"]: f"{n['weight']}.x", "v_next": f"{n['weight']}.x'"},
        "keeps": {n["keep"]: 0.0}, "holds": {n["hold"]: 0.0}, n["size"]: 0.3, n["parameter"]: 0.7,
        "updates": f"{n['trace']} = more {n['trace']} + rho x\n{n['weight']} += {n['result']} {n['trace']}\n"
        f"{n['second']} += back x",
        "step": staticmethod(source.function_from(STEP.format(**n), {}, "names")),
    }  # fmt: skip
    return type("Mine", (td.Algorithm,), members)


def rule(**changed: str) -> Any:
    """A rule with a further estimate, and with names of our choice."""
    n = RULE | changed
    inputs = ("reward", "gamma_next", "rho", "lam_next")
    members = {
        "estimates": {"V": inputs, "M": inputs}, "weight_rows": n["row"], "parameters": n["parameter"],
        "dots": {n["dot"]: f"{n['row']}.z", "m_next": "M.x'"}, "keeps": {n["keep"]: 0.0}, "holds": {n["hold"]: 0.0},
        "updates": f"{n['row']} -= {n['result']} z", n["parameter"]: 0.3,
        "step": staticmethod(source.function_from(RULE_STEP.format(**n), {}, "names")),
        "values": lambda self, seen: np.full(len(seen.index), 0.5),
    }  # fmt: skip
    return type("MyRule", (td.Rule,), members)


def weights(kind: Any, lam: Any) -> list[Any]:
    """What is learned alone and in lanes, one-hot and dense, with inputs for all lanes and for each."""
    found = []
    for features, obs in ((td.features.OneHot(5), STATES), (td.features.Dense(3), VECTORS)):
        one_by_one = kind(features, 0.1, lam() if isinstance(lam, type) else lam)
        for t in range(N):
            x, y = (int(o) if obs.ndim == 1 else o for o in (obs[t], obs[t + 1]))
            one_by_one.update(x, float(REWARD[t]), y, float(GAMMA[t]), float(RHO[t]), bool(ENDED[t]))
        found.append(np.array(one_by_one.weights))
        (group,), _ = plan([kind(features, 0.1, lam() if isinstance(lam, type) else lam)])
        x = tuple(map(np.ascontiguousarray, features.encode_batch(obs)))
        for per_lane in ((), ("reward", "gamma_next", "rho")):
            block = Block(group, share=False, per_lane=per_lane)
            columns = [REWARD, GAMMA, RHO]
            if per_lane:
                columns = [np.repeat(c[:, None], block.lanes, axis=1) for c in columns]
            at, never = np.arange(N), np.zeros(N, dtype=bool)
            block.advance(*x, *x, group.lam_table(obs), at, at + 1, *columns, ENDED, never, 0, N)
            found.append(np.array(block.learner(0).weights))
    return found


def generated_names() -> set[str]:
    """All that could clash: builtins, names in generated modules, and what such names are made from."""
    found = set(dir(builtins))
    for model in (Model(algorithm()), Model(algorithm(), rule()()), Model(td.TD, td.rules.Meta())):
        texts = [one.generate(model, sparse) for sparse in (False, True)]
        texts += [lanes.generate(model, hot, hot, given) for hot in (False, True) for given in ((), ("reward",))]
        for node in (node for text in texts for node in ast.walk(ast.parse(text))):
            name = getattr(node, "id", None) or getattr(node, "arg", None) or getattr(node, "name", None) or ""
            found |= {name, name.strip("_"), name.strip("_").lower()}
    return {n for n in found if n.isidentifier() and not keyword.iskeyword(n) and n.strip("_") == n}


SAMPLE = """
    abs range max min len float step before names one terminated at_live at_along own_alpha row_e w0 e0 w_x w_x_next
    w_at e_at e_at_x h_at_x w_h e_by w_top ALPHA BOUND SIZE LIMIT lane x1 beyond bound allowed here_dots update row norm
    dot most product learn apply clear prune mark fill copy square limit start scale beta index value V_w V_e M_w
    V_decay M_mean rule_step again mixed finite within fresh rows state numbers OK factor lam_next_0 all_count K theta ω
    largest out zeros td_error SCALE Beta squares dots turning xx zz most_reward
"""
"""Names that users may think of, and names that generated code has or makes from others."""


CASES: list[Any] = [(algorithm, role) for role in USUAL | ROWS] + [(rule, role) for role in RULE]


def learns_the_same_or_is_refused(build: Any, role: str, names: list[str]) -> None:
    """Try each name in a role."""
    usual = weights(*((build(), 0.9) if build is algorithm else (algorithm(), build())))
    taken = {"v_next", "m_next", "back", "more", *(USUAL | ROWS if build is algorithm else RULE).values()}
    for name in (name for name in names if name not in taken):
        try:
            kind = build(**{role: name})
            found = weights(*((kind, 0.9) if build is algorithm else (algorithm(), kind)))
        except (TypeError, SyntaxError) as error:  # SyntaxError: twice among the arguments of one function
            if name.lower() not in str(error).lower():
                raise AssertionError(f"{role} {name}") from error
            continue
        assert all(map(np.array_equal, found, usual)), f"{role} {name}: other numbers"


@pytest.mark.interpreted
@pytest.mark.parametrize(("build", "role"), CASES)
def test_likely_names(build: Any, role: str) -> None:
    """Each name in every fourth role; in all of them below."""
    learns_the_same_or_is_refused(build, role, SAMPLE.split()[CASES.index((build, role)) % 4 :: 4])


@pytest.mark.interpreted
@pytest.mark.parametrize("role", RULE)
def test_the_name_of_what_a_rule_returns(role: str) -> None:
    learns_the_same_or_is_refused(rule, role, ["lam_next"])


@pytest.mark.slow
@pytest.mark.interpreted
@pytest.mark.parametrize(("build", "role"), CASES)
def test_every_name_of_generated_code(build: Any, role: str) -> None:
    learns_the_same_or_is_refused(build, role, sorted(generated_names() | set(SAMPLE.split())))


@pytest.mark.parametrize("name", ["abs", "range", "RANGE", "max", "print", "float"])
@pytest.mark.parametrize("role", [*USUAL, *ROWS])
def test_builtins_are_refused_where_they_are_declared(role: str, name: str) -> None:
    with pytest.raises(TypeError, match=f"{name}'.*generated code uses this name itself; choose another"):
        algorithm(**{role: name})


@pytest.mark.parametrize(("name", "read"), [("ｂｏｕｎｄ", "bound"), ("ｓcale", "scale"), ("ﬁne", "fine"), ("x²", "")])
def test_names_are_compared_as_python_reads_them(name: str, read: str) -> None:
    given: list[dict[str, Any]] = [
        {"keeps": {name: 0.0}}, {"holds": {name: 0.0}}, {"parameters": name}, {"sizes": f"alpha {name}"}
    ]  # fmt: skip
    for changed in given:
        members = {"dots": {"v": "w.x"}, "updates": "w += along x", "step": staticmethod(_plain)} | changed
        with pytest.raises(TypeError, match=f"Python reads this name as '{read}'" if read else "Python identifier"):
            type("Mine", (td.Algorithm,), members)


@pytest.mark.parametrize("kind", [td.Algorithm, td.Rule, td.TD])
@pytest.mark.parametrize("name", ["./somewhere/escaped", '"""\nprint(1)\n"""', "a b", "", "a\0b"])
def test_the_name_of_a_class_is_an_identifier(kind: Any, name: str) -> None:
    with pytest.raises((TypeError, ValueError), match=r"must be a Python identifier|null character"):
        type(name, (kind,), {})


def test_an_estimate_of_a_rule_has_a_simple_name() -> None:
    inputs = ("reward", "gamma_next", "rho", "lam_next")
    for name, message in (("E_G", "must have no _"), ("abs", "generated code uses"), ("Ｍ", "Python reads this name")):
        with pytest.raises(TypeError, match=message):
            type("MyRule", (rule(),), {"estimates": {"V": inputs, "M": inputs, name: inputs}, "dots": rule().dots})


def test_names_that_differ_in_case_only_are_refused() -> None:
    with pytest.raises(TypeError, match="ALPHA, alpha: these names differ only in case"):
        algorithm(parameter="ALPHA")


def _plain(v, alpha, reward):  # type: ignore[no-untyped-def]
    along = alpha * (reward - v)
    return along
