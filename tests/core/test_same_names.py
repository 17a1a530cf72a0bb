"""An algorithm or step size and a rule for λ that declare numbers of the same names."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda.steps.obgd import ObGDTD


class OtherwiseNamed(td.steps.ObGD):
    """ObGD whose κ has another name in the declaration."""

    class Declared(ObGDTD):
        parameters = "overshoot"
        dots, keeps, before_at, before, feature = (
            ObGDTD.dots, ObGDTD.keeps, "live", staticmethod(ObGDTD.before), staticmethod(ObGDTD.feature),
        )  # fmt: skip

        @staticmethod
        def step(v, v_next, decay, size, alpha, overshoot, reward, gamma_next, rho, lam_next):  # type: ignore[no-untyped-def]
            delta = reward + gamma_next * v_next - v
            along = alpha / max(1.0, alpha * overshoot * max(abs(delta), 1.0) * size) * delta
            keep, decay = rho * decay, gamma_next * lam_next
            return keep, along, decay

    forms = {td.TD: Declared}

    def numbers(self) -> dict[str, float]:
        return {"alpha": self.alpha, "overshoot": self.kappa}


class Pulled(td.Algorithm):
    """TD(λ) with a second step size `floor` and a parameter `M_rate`: a parameter of META, and a name of E[G]'s."""

    sizes, parameters = "alpha floor", "M_rate"
    dots = {"v": "w.x", "v_next": "w.x'"}
    keeps = {"decay": 0.0}
    updates = """
        e  = keep e + rho x
        w += along e - M_rate w
    """

    @staticmethod
    def step(v, v_next, decay, alpha, floor, M_rate, reward, gamma_next, rho, lam_next):  # type: ignore[no-untyped-def]
        delta = reward + gamma_next * v_next - v
        along = (alpha + floor) * delta / (1.0 + M_rate)
        keep, decay = rho * decay, gamma_next * lam_next
        return keep, along, decay


def learned(features: Any, alpha: Any, rule: Any, begin: Any = None) -> Any:
    v, rng = begin or td.TD(features, alpha, rule), np.random.default_rng(1)
    for _ in range(60):
        x, y, gamma, rho, *ends = rng.normal(size=(2, 3)).tolist() + rng.random(4).tolist()
        v.update(x, float(rng.normal()), y, gamma, 1.5 * rho, ends[0] < 0.1, ends[1] < 0.1)
    return v


FEATURES: dict[str, Any] = {"linear": td.features.Dense(3), "network": td.Network(3, (4,), dtype="float64")}
RULES: dict[str, Any] = {"exact": td.rules.Meta(kappa=0.4), "thesis": td.rules.Meta.thesis(0.05)}


@pytest.mark.interpreted
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("features", FEATURES)
def test_meta_with_obgd(features: Any, rule: Any, tmp_path: Path) -> None:
    """The same bits as with a κ of another name; each κ is its owner's."""
    a, b = (learned(FEATURES[features], kind(0.5, kappa=3.0), RULES[rule]) for kind in (td.steps.ObGD, OtherwiseNamed))
    for name in ("V_w", "V_e", "u"):
        np.testing.assert_array_equal(a.row(name), b.row(name), err_msg=name)
    assert abs(a.row("u")).max() > 0
    plain = learned(FEATURES[features], td.steps.ObGD(0.5, kappa=RULES[rule].kappa), RULES[rule])
    assert not np.array_equal(plain.row("V_w"), a.row("V_w"))
    a.save(tmp_path / "a")
    c = learned(None, None, None, td.load(tmp_path / "a"))
    assert c.alpha == td.steps.ObGD(0.5, kappa=3.0)
    np.testing.assert_array_equal(learned(None, None, None, a).row("V_w"), c.row("V_w"))


@pytest.mark.interpreted
def test_every_schedule() -> None:
    td.check_rule(td.rules.Meta(kappa=0.2), td.TD, alpha=td.steps.ObGD(0.5, 3.0))
    td.check_rule(td.rules.Meta(kappa=0.2), Pulled, floor=0.01, M_rate=0.02)
    v = Pulled(td.features.OneHot(3), 0.1, td.rules.Meta(floor=0.5), floor=0.01, M_rate=0.02)
    assert v.model.renamed == {"floor": "algorithm_floor", "M_rate": "algorithm_M_rate"}
    assert [v.memory[name] for name in ("floor", "algorithm_floor", "algorithm_M_rate")] == [0.5, 0.01, 0.02]
    plain = td.TD(td.features.OneHot(3), 0.1, "meta")
    assert "algorithm" not in f"{plain.module.__doc__}{v.get_params()}"
