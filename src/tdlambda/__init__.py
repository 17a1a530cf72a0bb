"""TD(λ) that tunes its own λ: prediction with eligibility traces, and the exact answers to judge it by.

Names are imported on first use (PEP 562): `import tdlambda` takes little longer than `import gymnasium`; Numba, SciPy,
Polars and Altair are imported when something needs them.
"""

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import gymnasium

if TYPE_CHECKING:  # for editors and type checkers; the same names as in `_NAMES`
    from tdlambda import charts, engine, features, rules, steps, streams, studies
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
    from tdlambda.auto import AutoTD
    from tdlambda.control import (
        ActorCritic,
        Boltzmann,
        EpsilonGreedy,
        Falling,
        Gaussian,
        LearningCurve,
        QLambda,
        Sarsa,
        Softmax,
        meta_actor_critic,
        train,
    )
    from tdlambda.engine import check_algorithm, check_rule
    from tdlambda.features import Custom, Dense, Encoder, Fourier, GridTilings, OneHot, Table, TileCoder
    from tdlambda.interruption import Interrupted
    from tdlambda.learners import (
        LSPE,
        LSTD,
        Algorithm,
        Diverged,
        Evaluation,
        ExpectedTrace,
        LambdaChoice,
        LambdaDiscrepancy,
        LambdaReturn,
        Learner,
        MonteCarlo,
        NStepTD,
        OneOver,
        RecursiveLSTD,
        check_learner,
        choose_lambda,
        evaluate,
        from_log,
        lambda_returns,
        load,
    )
    from tdlambda.mdp import (
        AverageReward,
        FiniteMDP,
        LambdaMoments,
        LinearSystem,
        TabularPolicy,
        TraceCorrection,
        TraceOperator,
        Transitions,
    )
    from tdlambda.randomness import uniform
    from tdlambda.report import History, follow, load_overview
    from tdlambda.rules import (
        Counting,
        Fixed,
        Greedy,
        LambdaMixture,
        Meta,
        OfflineMeta,
        PerState,
        Rule,
        ValueErrorGreedy,
        offline_meta,
    )
    from tdlambda.streams import Horde, Question, prequential
    from tdlambda.studies import Method, Study, load_results, run_study
    from tdlambda.tasks import TASKS, Task, World, make, states, task

__version__ = "0.2.0"

_NAMES: dict[str, tuple[str, ...]] = {
    "algorithms": (
        "ETD", "GTD", "GTD2", "HTD", "PGTD2", "TD", "TDRC", "VTD", "DifferentialTD", "DirectVTD", "TrueOnlineETD",
        "TrueOnlineGTD", "TrueOnlineTD",
    ),
    "arrays": (),
    "auto": ("AutoTD",),
    "charts": (),
    "compiled": (),
    "control": (
        "ActorCritic", "Boltzmann", "EpsilonGreedy", "Falling", "Gaussian", "LearningCurve", "QLambda", "Sarsa",
        "Softmax", "meta_actor_critic", "train",
    ),
    "core": (),
    "engine": ("check_algorithm", "check_rule"),
    "features": ("Custom", "Dense", "Encoder", "Fourier", "GridTilings", "OneHot", "Table", "TileCoder"),
    "interruption": ("Interrupted",),
    "learners": (
        "LSPE", "LSTD", "Algorithm", "Diverged", "Evaluation", "ExpectedTrace", "LambdaChoice", "LambdaDiscrepancy",
        "LambdaReturn",
        "Learner", "MonteCarlo", "NStepTD", "OneOver", "RecursiveLSTD", "check_learner", "choose_lambda", "evaluate",
        "from_log", "lambda_returns", "load",
    ),
    "mdp": (
        "AverageReward", "FiniteMDP", "LambdaMoments", "LinearSystem", "TabularPolicy", "TraceCorrection",
        "TraceOperator", "Transitions",
    ),
    "randomness": ("uniform",),
    "report": ("History", "follow", "load_overview"),
    "reproduction": (),
    "rules": (
        "Counting", "Fixed", "Greedy", "LambdaMixture", "Meta", "OfflineMeta", "PerState", "Rule", "ValueErrorGreedy",
        "offline_meta",
    ),
    "steps": (),
    "streams": ("Horde", "Question", "prequential"),
    "studies": ("Method", "Study", "load_results", "run_study"),
    "tasks": ("TASKS", "Task", "World", "make", "states", "task"),
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
    "TASKS",
    "TD",
    "TDRC",
    "VTD",
    "ActorCritic",
    "Algorithm",
    "AutoTD",
    "AverageReward",
    "Boltzmann",
    "Counting",
    "Custom",
    "Dense",
    "DifferentialTD",
    "DirectVTD",
    "Diverged",
    "Encoder",
    "EpsilonGreedy",
    "Evaluation",
    "ExpectedTrace",
    "Falling",
    "FiniteMDP",
    "Fixed",
    "Fourier",
    "Gaussian",
    "Greedy",
    "GridTilings",
    "History",
    "Horde",
    "Interrupted",
    "LambdaChoice",
    "LambdaDiscrepancy",
    "LambdaMixture",
    "LambdaMoments",
    "LambdaReturn",
    "Learner",
    "LearningCurve",
    "LinearSystem",
    "Meta",
    "Method",
    "MonteCarlo",
    "NStepTD",
    "OfflineMeta",
    "OneHot",
    "OneOver",
    "PerState",
    "QLambda",
    "Question",
    "RecursiveLSTD",
    "Rule",
    "Sarsa",
    "Softmax",
    "Study",
    "Table",
    "TabularPolicy",
    "Task",
    "TileCoder",
    "TraceCorrection",
    "TraceOperator",
    "Transitions",
    "TrueOnlineETD",
    "TrueOnlineGTD",
    "TrueOnlineTD",
    "ValueErrorGreedy",
    "World",
    "charts",
    "check_algorithm",
    "check_learner",
    "check_rule",
    "choose_lambda",
    "engine",
    "evaluate",
    "features",
    "follow",
    "from_log",
    "lambda_returns",
    "load",
    "load_overview",
    "load_results",
    "make",
    "meta_actor_critic",
    "offline_meta",
    "prequential",
    "rules",
    "run_study",
    "states",
    "steps",
    "streams",
    "studies",
    "task",
    "train",
    "uniform",
]

if not TYPE_CHECKING:  # with a module-level __getattr__, type checkers would accept every attribute

    def __getattr__(name: str) -> Any:
        if name in _NAMES:
            return import_module(f"tdlambda.{name}")
        if name not in _HOME:
            raise AttributeError(f"module 'tdlambda' has no attribute {name!r}")
        globals()[name] = found = getattr(import_module(f"tdlambda.{_HOME[name]}"), name)
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *_NAMES, *_HOME})


def _make(name: str, **options: Any) -> Any:
    return import_module("tdlambda.tasks").make(name, **options)


for _name in _TASKS:
    if f"tdlambda/{_name}" not in gymnasium.registry:  # it is when a notebook reloads this module
        gymnasium.register(f"tdlambda/{_name}", entry_point=partial(_make, _name))
