"""TD(λ) that tunes its own λ: prediction with eligibility traces, and the exact answers to judge it by.

Names are imported on first use (PEP 562): `import tdlambda` takes little longer than `import gymnasium`; Numba, SciPy,
Polars and Altair are imported when something needs them.
"""

from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdlambda import registry
from tdlambda.interruption import postponed

with postponed():
    import gymnasium

if TYPE_CHECKING:  # for editors and type checkers; the same names as in `_NAMES`
    from tdlambda import (
        audits,
        charts,
        control,
        engine,
        features,
        learners,
        mdp,
        returns,
        rules,
        steps,
        streams,
        tasks,
        torch,
    )
    from tdlambda.algorithms import (
        ETD,
        GTD,
        GTD2,
        HTD,
        PGTD2,
        TD,
        TDRC,
        VTD,
        DifferentialTD,
        DirectVTD,
        TrueOnlineETD,
        TrueOnlineGTD,
        TrueOnlineTD,
    )
    from tdlambda.audits import audit
    from tdlambda.auto import AutoTD
    from tdlambda.control import ActorCritic, QLambda, Sarsa, train
    from tdlambda.engine import check_algorithm, check_rule
    from tdlambda.features import Encoder, Network
    from tdlambda.interruption import Interrupted
    from tdlambda.lab import report, reproduction, studies
    from tdlambda.learners import (
        LSPE,
        LSTD,
        Algorithm,
        Diverged,
        ExpectedTrace,
        LambdaReturn,
        Learner,
        MonteCarlo,
        NStepTD,
        RecursiveLSTD,
        check_learner,
    )
    from tdlambda.loading import load
    from tdlambda.mdp import FiniteMDP
    from tdlambda.returns import check_returns, check_rollout
    from tdlambda.rules import Rule
    from tdlambda.runner import learn
    from tdlambda.streams import Horde, Question
    from tdlambda.tasks import TabularTask, make

__version__ = "0.2.0"

_NAMES: dict[str, tuple[str, ...]] = {
    "algorithms": (
        "DifferentialTD", "DirectVTD", "ETD", "GTD", "GTD2", "HTD", "PGTD2", "TD", "TDRC",
        "TrueOnlineETD", "TrueOnlineGTD", "TrueOnlineTD", "VTD",
    ),
    "audits": ("audit",),
    "auto": ("AutoTD",),
    "charts": (),
    "control": ("ActorCritic", "QLambda", "Sarsa", "train"),
    "core": (),
    "engine": ("check_algorithm", "check_rule"),
    "features": ("Encoder", "Network"),
    "interruption": ("Interrupted",),
    "lab": ("report", "reproduction", "studies"),
    "learners": (
        "LSPE", "LSTD", "Algorithm", "Diverged", "ExpectedTrace", "LambdaReturn", "Learner", "MonteCarlo",
        "NStepTD", "RecursiveLSTD", "check_learner",
    ),
    "loading": ("load",),
    "mdp": ("FiniteMDP",),
    "returns": ("check_returns", "check_rollout"),
    "rules": ("Rule",),
    "runner": ("learn",),
    "steps": (),
    "streams": ("Horde", "Question"),
    "tasks": ("TabularTask", "make"),
    "torch": (),
}  # fmt: skip
"""The modules that are attributes of the package, and the names that the package offers from each."""
_HOME = {name: module for module, names in _NAMES.items() for name in names}
_TASKS = (
    "Aliased-v0", "Baird-v0", "Bifurcation-v0", "BoyanChain-v0", "CliffWalking-v0", "Collision-v0", "FrozenLake-v0",
    "Garnet-v0", "MountainCar-v0", "RandomMRP-v0", "RandomWalk-v0", "RingWorld-v0", "TwoChoice-v0", "TwoState-v0",
    "WindyGridworld-v0",
)  # fmt: skip
"""Registered with Gymnasium as "tdlambda/" + name on import; the tasks' modules are imported when one is made."""

__all__ = [
    "ETD",
    "GTD",
    "GTD2",
    "HTD",
    "LSPE",
    "LSTD",
    "PGTD2",
    "TD",
    "TDRC",
    "VTD",
    "ActorCritic",
    "Algorithm",
    "AutoTD",
    "DifferentialTD",
    "DirectVTD",
    "Diverged",
    "Encoder",
    "ExpectedTrace",
    "FiniteMDP",
    "Horde",
    "Interrupted",
    "LambdaReturn",
    "Learner",
    "MonteCarlo",
    "NStepTD",
    "Network",
    "QLambda",
    "Question",
    "RecursiveLSTD",
    "Rule",
    "Sarsa",
    "TabularTask",
    "TrueOnlineETD",
    "TrueOnlineGTD",
    "TrueOnlineTD",
    "audit",
    "audits",
    "charts",
    "check_algorithm",
    "check_learner",
    "check_returns",
    "check_rollout",
    "check_rule",
    "control",
    "engine",
    "features",
    "learn",
    "learners",
    "load",
    "make",
    "mdp",
    "report",
    "reproduction",
    "returns",
    "rules",
    "steps",
    "streams",
    "studies",
    "tasks",
    "torch",
    "train",
]

if not TYPE_CHECKING:  # with a module-level __getattr__, type checkers would accept every attribute

    def __getattr__(name: str) -> Any:
        if name in _NAMES:
            return import_module(f"tdlambda.{name}")
        if name not in _HOME:
            raise AttributeError(f"module 'tdlambda' has no attribute {name!r}{'' if name[0] == '_' else _where(name)}")
        home = f"tdlambda.{_HOME[name]}"
        found = import_module(f"{home}.{name}") if home == "tdlambda.lab" else getattr(import_module(home), name)
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return sorted(__all__)

    def _where(name: str) -> str:
        """A hint where a name is: in the __all__ of a module, which is not imported for it, or under a similar one."""
        folders = {**{module: module for module in _NAMES}, **{part: f"lab/{part}" for part in _NAMES["lab"]}}
        for module, folder in folders.items():
            if module not in __all__:
                continue
            text = Path(__file__).parent.joinpath(folder, "__init__.py").read_text(encoding="utf-8")
            if f'"{name}"' in text.partition("__all__ = [")[2]:
                return f"; it is td.{module}.{name}"
        hint: str = import_module("tdlambda.showing").hint(name, __all__)
        return hint


def _make(name: str, **options: Any) -> Any:
    return import_module("tdlambda.tasks").make(name, **options)


registry.MODULES[:] = [f"tdlambda.{_name}" for _name in ("steps", "algorithms", "auto", "lab.reproduction")]
for _name in _TASKS:
    if f"tdlambda/{_name}" not in gymnasium.registry:  # it is when a notebook reloads this module
        gymnasium.register(f"tdlambda/{_name}", entry_point=partial(_make, _name))
