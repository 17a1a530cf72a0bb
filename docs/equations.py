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
from tdlambda.rules.variance import Moments

DOCS = Path(__file__).resolve().parent
BLOCK = re.compile(r"(<!-- equations: ([\w.]+) -->\n).*?(<!-- end -->)", re.DOTALL)
SHOWN: dict[str, Any] = {
    "TD": td.TD, "DutchTD": DutchTD, "ReplacingTD": ReplacingTD, "TrueOnlineTD": td.TrueOnlineTD, "GTD": td.GTD,
    "TrueOnlineGTD": td.TrueOnlineGTD, "GradientTraceGTD": GradientTraceGTD, "GTD2": td.GTD2,
    "GradientTraceGTD2": GradientTraceGTD2, "PGTD2": td.PGTD2,
    "DifferentialTD": td.DifferentialTD, "MeanRewardTD": MeanRewardTD, "TDRC": td.TDRC, "HTD": td.HTD, "ETD": td.ETD,
    "TrueOnlineETD": td.TrueOnlineETD, "Counting": td.rules.Counting(), "Greedy": td.rules.Greedy(),
    "Meta": td.rules.Meta(),
    "ValueErrorGreedy": td.rules.ValueErrorGreedy(), "LambdaMixture": td.rules.LambdaMixture(),
    "VTD": Moments("vtd", "target", 0.9), "DirectVTD": Moments("direct", "target", 0.9),
    "rules.moments": import_module("tdlambda.rules.moments"),
}  # fmt: skip


def shown(name: str) -> str:
    """The equations of one of these, as text."""
    what = SHOWN[name]
    if isinstance(what, ModuleType):
        return functions(what)
    further = isinstance(what, td.Rule) and len(what.estimates) > 1
    if isinstance(what, td.Rule):
        text = mathematics.rule_equations(Model(td.TrueOnlineTD, what))
        return text + (f"\n\n{estimates(what)}" if further else "")
    return mathematics.equations(Model(what))


def estimates(rule: td.Rule) -> str:
    """What each estimate learns from: a table, in columns."""
    names = mathematics.SYMBOLS | {"one": "1"}
    rows = [("estimate", "reward", "discount", "ratio", "λ'", "step sizes times")]
    learning = {name: given for name, given in rule.estimates.items() if not (rule.mixture and name == "V")}
    for name, given in learning.items():
        rows.append((name, *(names.get(what, what) for what in [*given, "one"][:5])))
    widths = [max(len(row[k]) for row in rows) for k in range(6)]
    mixed = (
        [f"V = {' + '.join(f'{number} {name}' for name, number in rule.mixture.items())}", ""] if rule.mixture else []
    )
    lines = ["  ".join(f"{cell:{w}s}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([*mixed, *lines])


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
    return BLOCK.sub(lambda found: f"{found[1]}\n```text\n{shown(found[2])}\n```\n\n{found[3]}", text)


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
