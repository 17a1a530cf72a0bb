"""`tdlambda show`: any algorithm, rule or step size by its name."""

from pathlib import Path

import pytest
from commands import as_json
from commands import tdlambda as run

MINE = '''
import tdlambda as td

class SoftETD(td.Algorithm):
    """Emphatic TD with a softened follow-on trace."""

    parameters = "soft"
    dots = {"v": "w.x", "v_next": "w.x'"}
    keeps = {"decay": 0.0, "F": 0.0, "rho_old": 1.0, "gamma": 1.0}
    updates = """
        e  = keep e + new x
        w += along e
    """

    @staticmethod
    def step(v, v_next, decay, F, rho_old, gamma, soft, alpha, reward, gamma_next, rho, lam_next):
        F = soft * rho_old * gamma * F + 1.0
        along = alpha * (reward + gamma_next * v_next - v)
        keep, new = rho * decay, rho * F
        decay = gamma_next * lam_next
        rho_old, gamma = rho, gamma_next
        return keep, new, along, decay, F, rho_old, gamma
'''


@pytest.mark.parametrize(
    ("name", "parts", "words"),
    [
        ("Meta", {"rule", "rule_equations"}, "offset         = γ' Δ (r' + γ' V(x') - M(x))"),
        ("meta", {"rule", "rule_equations"}, "Zhao (2020), chapter 4"),
        ("PublishedMeta", {"rule", "rule_equations"}, "ρ_acc"),
        ("PublishedTrueOnlineGTD", {"algorithm", "equations", "generated"}, "w ← w"),
        ("Autostep", {"step_size", "equations"}, "Mahmood"),
        ("TrueOnlineTD", {"algorithm", "equations", "generated"}, "w ← w"),
        ("LSTD", {"algorithm"}, "class LSTD"),
        ("AutoTD", {"algorithm"}, "class AutoTD"),
    ],
)
def test_any_declaration_by_its_name(name: str, parts: set[str], words: str) -> None:
    found = as_json("show", name)
    assert set(found) == parts
    assert words in "\n".join(found.values())


def test_the_code_of_a_rule_is_shown_on_request() -> None:
    assert "def learn" in as_json("show", "Meta", "--code")["generated"]


def test_an_unknown_name_is_told_with_the_nearest() -> None:
    assert "did you mean 'Meta'?" in run("show", "Metta", expect=2).stderr.replace("\n", " ")
    assert "is a rule itself" in run("show", "Meta", "--rule", "Greedy", expect=2).stderr.replace("\n", " ")


def test_numbers_are_shown_in_the_order_in_which_they_are_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine_soft.py").write_text(MINE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    lines = as_json("show", "mine_soft:SoftETD")["equations"].splitlines()
    places = {line.split()[0]: k for k, line in enumerate(lines)}
    assert places["F"] < places["new"] < places["e"] < places["w"]
    assert places["keep"] < places["γλ"]  # the old decay is used before it changes
