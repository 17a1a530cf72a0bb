"""Every name that a page promises exists, and every public class and function has an example that runs."""

import inspect
import re
from operator import attrgetter
from pathlib import Path

import tdlambda as td

ROOT = Path(__file__).parent.parent.parent
WITHOUT_EXAMPLE = {
    "Learner", "Task", "VTD", "Policy", "Lam", "Adaptive", "WithEstimates", "Seen", "StepSize",
    # those above are shown by their subclasses
    "Category", "Cosines", "Cycle", "Difference", "Lag", "Mean", "Number", "Season", "Tiles", "Weekdays",  # by Columns
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


def test_names_in_backticks_exist() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py")]
    pages.remove(ROOT / "CHANGELOG.md")  # names of earlier versions
    view = "mdp.PolicyView."
    classes = {n: n for n in td.__all__ if inspect.isclass(getattr(td, n))} | {"PolicyView": view[:-1]}
    known = re.compile(rf"(?<![\w.])(?:td\.([\w.]*\w)|({'|'.join(classes)})\.([a-z_]\w*))")
    named: dict[str, list[str]] = {}
    for page in pages:
        for quoted in re.findall(r"`([^`\n]+)`", page.read_text(encoding="utf-8")):
            found = [top or f"{classes[name]}.{member}" for top, name, member in known.findall(quoted)]
            found += [view + member for member in re.findall(r"\bunder\([^()]*\)\.(\w+)", quoted)]
            for name in found:
                named.setdefault(name, []).append(page.relative_to(ROOT).as_posix())
    assert len(named) > 100
    assert {name: where for name, where in named.items() if not exists(name)} == {}


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
