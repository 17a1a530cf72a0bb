"""The equations on the pages, from the declarations themselves.

    .venv/bin/python docs/equations.py            renews them
    .venv/bin/python docs/equations.py --check    fails if a page differs

They stand between `<!-- equations: TrueOnlineTD -->` and `<!-- end -->`. What is named is an algorithm, a rule with its
default settings or, as `rules.moments`, a module of functions that rules call.
"""

import argparse
import ast
import inspect
import re
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import tdlambda as td
from tdlambda.algorithms.differential import MeanRewardTD
from tdlambda.algorithms.gtd import GradientTraceGTD
from tdlambda.algorithms.gtd2 import GradientTraceGTD2
from tdlambda.algorithms.td import DutchTD, ReplacingTD
from tdlambda.core import mathematics, source
from tdlambda.core.model import Model
from tdlambda.rules.return_moments import Moments

DOCS = Path(__file__).resolve().parent
BLOCK = re.compile(r"(<!-- equations: ([\w.]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def declared() -> dict[str, Any]:
    """Every algorithm and every rule that learns λ, as the package exports them."""
    algorithms = {name: getattr(td.algorithms, name) for name in td.algorithms.__all__}
    rules = {name: getattr(td.rules, name) for name in td.rules.__all__}
    found = {name: kind for name, kind in algorithms.items() if hasattr(kind, "step")}
    return found | {
        name: kind() for name, kind in rules.items()
        if isinstance(kind, type) and issubclass(kind, td.Rule) and kind.learns()
    }  # fmt: skip


SHOWN: dict[str, Any] = declared() | {
    "DutchTD": DutchTD, "ReplacingTD": ReplacingTD, "GradientTraceGTD": GradientTraceGTD,
    "GradientTraceGTD2": GradientTraceGTD2, "MeanRewardTD": MeanRewardTD,
    "VTD": Moments("vtd", "target", 0.9), "DirectVTD": Moments("direct", "target", 0.9),
    "rules.moments": import_module("tdlambda.rules.moments"),
}  # fmt: skip


def shown(name: str) -> str:
    """The equations of one of these as a block, and the estimates of a rule as a table."""
    what, table = SHOWN[name], ""
    if isinstance(what, ModuleType):
        text = functions(what)
    elif isinstance(what, td.Rule):
        text = mathematics.rule_equations(Model(td.TrueOnlineTD, what))
        if what.mixture:
            text += f"\nV = {' + '.join(f'{number} {name}' for name, number in what.mixture.items())}"
        table = f"\n{estimates(what)}\n" if len(what.estimates) > 1 else ""
    else:
        text = mathematics.equations(Model(what))
    return f"```text\n{text}\n```\n{table}"


def estimates(rule: td.Rule) -> str:
    """What each estimate learns from, as a Markdown table."""
    names = mathematics.SYMBOLS | {"one": "1"}
    rows = [("estimate", "reward", "discount", "ratio", "λ'", "step sizes times")]
    learning = {name: given for name, given in rule.estimates.items() if not (rule.mixture and name == "V")}
    for name, given in learning.items():
        rows.append((name, *(names.get(what, what) for what in [*given, "one"][:5])))
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * 6, *lines[1:]])


def functions(module: ModuleType) -> str:
    """The functions of a module; two results are a reward and a discount."""
    parts = []
    names = mathematics.SYMBOLS | {"v_next": "V'", "j": "J", "j_next": "J'"}
    for name, function in vars(module).items():
        if not inspect.isfunction(function) or function.__module__ != module.__name__:
            continue
        node = source.tree(function)
        *before, last = node.body
        assert isinstance(last, ast.Return)
        assert last.value is not None
        head = f"{name}({', '.join(names.get(argument.arg, argument.arg) for argument in node.args.args)}):"
        results = last.value.elts if isinstance(last.value, ast.Tuple) else [last.value]
        lines = [line for statement in before for line in assigned(statement, names)]
        labels = ("reward   = ", "discount = ") if len(results) > 1 else ("",)
        lines += [f"{label}{mathematics.written(x, names)}" for label, x in zip(labels, results, strict=True)]
        parts.append("\n".join([head, *(f"    {line}" for line in lines)]))
    return "\n".join(parts)


def assigned(statement: ast.stmt, names: dict[str, str]) -> list[str]:
    """An assignment, one line for each name."""
    assert isinstance(statement, ast.Assign)
    (target,), value = statement.targets, statement.value
    pairs = [(target, value)]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = list(zip(target.elts, value.elts, strict=True))
    return [f"{ast.unparse(left)} = {mathematics.written(right, names)}" for left, right in pairs]


def renewed(text: str) -> str:
    """A page with all its equations as they should be."""
    return BLOCK.sub(lambda found: f"{found[1]}\n{shown(found[2])}\n{found[3]}", text)


def pages() -> dict[Path, str]:
    """The pages that have equations, and what they should be."""
    found = {page: page.read_text(encoding="utf-8") for page in sorted(DOCS.rglob("*.md"))}
    return {page: renewed(text) for page, text in found.items() if BLOCK.search(text)}


def main() -> None:
    """Renew the pages, or name those that differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if a page differs")
    given = parser.parse_args()
    differ = [page for page, text in pages().items() if page.read_text(encoding="utf-8") != text]
    if given.check:
        sys.exit("\n".join(f"{page.relative_to(DOCS)} differs: run docs/equations.py" for page in differ) or 0)
    for page in differ:
        page.write_text(pages()[page], encoding="utf-8")


if __name__ == "__main__":
    main()
