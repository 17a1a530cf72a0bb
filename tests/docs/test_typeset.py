"""Formulas of the pages as MathML: nothing is lost, names and signs are what they were."""

import importlib
import re
from html import unescape
from typing import Any
from xml.etree import ElementTree

import pytest
from pages import ROOT

with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(str(ROOT / "docs"))
    made: Any = importlib.import_module("typeset")
is_formula, typeset = made.is_formula, made.typeset

BLOCK = re.compile(r"\n\n((?:    .*\n)+)")
PAGES = sorted((ROOT / "docs").rglob("*.md"))


def letters(text: str) -> str:
    """What is left of a formula without its layout."""
    plain = text.translate(str.maketrans("⁻⁺⁰¹²³⁴⁵⁶⁷⁸⁹ᵀᵏᵗⁿᵖ₀₁₂₃₄₅₆₇₈₉ₖₜₙ₊₋ᵢⱼ", "-+0123456789Tktnp0123456789ktn+-ij"))
    return re.sub(r"[\s_^{}]", "", plain).replace("−", "-").replace("′", "'").replace("’", "'").replace("*", "·")


def blocks() -> list[str]:
    found = []
    for page in PAGES:
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        found += [block for block in BLOCK.findall(text) if is_formula(block)]
    return found


def test_every_formula_of_the_pages_is_well_formed_and_whole() -> None:
    some = blocks()
    assert len(some) > 40
    for block in some:
        text = typeset(block)
        ElementTree.fromstring(text)
        assert letters(unescape(re.sub(r"<[^>]+>", "", text))) == letters(block)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("w_{k+1} = w_k", "<msub><mi>w</mi><mrow><mi>k</mi><mo>+</mo><mn>1</mn></mrow></msub>"),
        (
            'e = ρ (γλ e + x)      traces="replacing"',
            '<mtd class="note"><mtext>traces=&quot;replacing&quot;</mtext></mtd>',
        ),
        ("E[G²] = 1", "<msup><mi>G</mi><mrow><mn>2</mn></mrow></msup>"),
        ("w += α δ e", "<mo>+=</mo>"),
    ],
)
def test_parts(text: str, part: str) -> None:
    assert part in typeset(text)


@pytest.mark.parametrize("text", ["tdlambda run x.toml", "v = td.TD(1, alpha=0.5)  # λ", "$ make run", "│ λ │"])
def test_what_is_no_formula_stays_as_it_is(text: str) -> None:
    assert not is_formula(text)
