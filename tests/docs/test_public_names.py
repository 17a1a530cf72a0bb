"""Every name that a page promises exists, and every public class and function has an example that runs."""

import inspect
import re
from operator import attrgetter
from pathlib import Path

import tdlambda as td

ROOT = Path(__file__).parent.parent.parent
WITHOUT_EXAMPLE = {
    "Learner", "Task", "VTD", "Policy", "Lam", "Adaptive", "WithEstimates", "Seen", "StepSize",  # shown by their subclasses
    "Category", "Cycle", "Difference", "Lag", "Number", "Tiles",  # shown by Columns
    "ControlResult", "BestLambda", "DifferentialFixedPoint", "DistributionMismatch", "Emphasis", "Alarm", "Prequential",
    "Comparison", "Outcome", "Plan", "Summary", "load_study",  # shown by what returns them
}  # fmt: skip


def test_pages_name_only_what_exists() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    named = {
        name
        for page in pages
        for name in re.findall(r"[^-\w/]td\.([a-z]+\.[A-Za-z]\w*|[A-Za-z]\w*)", page.read_text(encoding="utf-8"))
    }
    assert len(named) > 50
    named -= {"md", "svg"}  # of a page called td
    assert {name for name in named if not exists(name)} == set()


def exists(name: str) -> bool:
    try:
        attrgetter(name)(td)
    except AttributeError:
        return False
    return True


def test_every_public_name_has_an_example() -> None:
    modules = (td, td.control, td.features, td.learners, td.mdp, td.report, td.rules, td.steps, td.streams, td.studies)
    named = {n: getattr(module, n) for module in modules for n in module.__all__ if n not in WITHOUT_EXAMPLE}
    documented = {n: x for n, x in named.items() if inspect.isclass(x) or callable(x)}
    assert {name for name, x in documented.items() if ">>>" not in (inspect.getdoc(x) or "")} == set()
