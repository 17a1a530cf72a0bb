"""Experiments: declare, run and resume them, and summarise their results."""

from tdlambda.lab.studies.execution import Outcome, Plan, run_study
from tdlambda.lab.studies.method import Method
from tdlambda.lab.studies.statistics import Comparison, Summary, choose, compare, hindsight, sensitivity, summary
from tdlambda.lab.studies.store import load_results, load_study
from tdlambda.lab.studies.study import Study, bundled

__all__ = [
    "Comparison", "Method", "Outcome", "Plan", "Study", "Summary", "bundled", "choose", "compare", "hindsight",
    "load_results", "load_study", "run_study", "sensitivity", "summary",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
