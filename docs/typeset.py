"""Formulas as they stand in Markdown and docstrings, typeset as MathML, which browsers draw by themselves.

    δ  = r' + γ' w·x' - w·x
    e  = ρ (γλ e + x)                    traces="accumulating"

A line is one formula; what follows three spaces or more is a note. Letters are variables, each Greek letter one of its
own; words such as `keep` are names. _ and _{…} lower, ^ and ^{…} raise. Lines are aligned at their =, ← or +=.
"""

import re
from html import escape

RELATION = re.compile(r"(\+=|-=|=|←|≈|≤|≥|→)")
NAME = re.compile(r"^(\s*[A-Za-z]{2,}(?:, [A-Z]+)?)\s{2,}(\S.*)$")
NOTE = re.compile(r"^(\s*\S.*?)\s{3,}(\S.*)$")
TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<raised>[⁻⁺⁰¹²³⁴⁵⁶⁷⁸⁹ᵀᵏᵗⁿᵖ†]+)|(?P<lowered>[₀₁₂₃₄₅₆₇₈₉ₖₜₙ₊₋ᵢⱼ]+)|(?P<number>\d+(?:\.\d+)?)"
    r"|(?P<word>[A-Za-z]{2,}(?:_[a-z]{2,})*[0-9]?)|(?P<letter>[^\W\d_][\u0300-\u036f]?)|(?P<prime>['’′]+)|(?P<down>_)|(?P<up>\^)|(?P<sign>.)"
)
RAISED = str.maketrans("⁻⁺⁰¹²³⁴⁵⁶⁷⁸⁹ᵀᵏᵗⁿᵖ", "−+0123456789Tktnp")
LOWERED = str.maketrans("₀₁₂₃₄₅₆₇₈₉ₖₜₙ₊₋ᵢⱼ", "0123456789ktn+−ij")
PLAIN = {"if", "else", "and", "or", "at", "each", "for", "of", "the", "with", "where", "otherwise", "is", "in", "while"}
NO_FORMULA = re.compile(
    r"^\s*(\$|tdlambda|make|pip|\.venv|python|>>>|from |import |#|\||class |def |.*[─│┌└├]|DIR/|.*\btd\.|.* --)",
    re.MULTILINE,
)
SIGNS = re.compile(r"[·αβγδηθκλμπρσφωεξψΣ∇√∞Δ²←∈ᵀᵢ]|\+=")
OPENING, CLOSING = "([{", ")]}"


def is_formula(text: str) -> bool:
    """Whether a block is formulas, rather than something to type or a table.

    >>> is_formula("e = ρ (γλ e + x)"), is_formula("tdlambda run x.toml"), is_formula("v.update(1, 2)")
    (True, False, False)
    """
    return bool(SIGNS.search(text)) and not NO_FORMULA.search(text) and '"""' not in text


def typeset(text: str) -> str:
    """A block of formulas as MathML, aligned."""
    rows = "".join(_row(line) for line in text.splitlines() if line.strip())
    return f'<div class="formula"><math display="block"><mtable displaystyle="true">{rows}</mtable></math></div>'


def _row(line: str) -> str:
    found, note = _relation(line), ""
    left, sign, right = (line[: found.start()], found[1], line[found.end() :]) if found else ("", "", line)
    noted = NOTE.match(right) if found else NAME.match(right)
    if found is None and line.rstrip().endswith(":") and re.search(r"[a-z]{2,} [a-z]{2,}", line):
        return f'<mtr><mtd columnspan="4" class="words"><mtext>{escape(line.strip())}</mtext></mtd></mtr>'
    if noted and found:
        right, note = noted[1], noted[2]
    elif noted:  # a name, and what it is
        left, right = noted[1], noted[2]
    said = f"<mtext>{escape(note)}</mtext>" if note else ""
    cells = [formula(left), f"<mo>{escape(sign)}</mo>" if sign else "", formula(right), said]
    places = zip(("left", "sign", "right", "note"), cells, strict=True)
    return "<mtr>" + "".join(f'<mtd class="{place}">{cell}</mtd>' for place, cell in places) + "</mtr>"


def _relation(line: str) -> re.Match[str] | None:
    """The first relation that stands in no brackets."""
    for found in RELATION.finditer(line):
        before = line[: found.start()]
        if all(before.count(a) == before.count(b) for a, b in zip(OPENING, CLOSING, strict=True)):
            return found
    return None


def formula(text: str) -> str:
    """A formula as MathML.

    >>> formula("of_mean(x)")[:37]
    '<mi mathvariant="normal">of_mean</mi>'
    >>> formula("w·x'")
    '<mi>w</mi><mo>·</mo><mrow><mi>x</mi><mo lspace="0" rspace="0">′</mo></mrow>'
    """
    out: list[str] = []
    tokens = [(m.lastgroup or "", m[0]) for m in TOKEN.finditer(text.strip())]
    k = 0
    while k < len(tokens):
        kind, value = tokens[k]
        k += 1
        if kind == "space":
            out += ['<mspace width="0.22em"/>'] if out and k < len(tokens) else []
        elif kind in ("down", "up") and out and k < len(tokens):
            inner, k = _group(tokens, k)
            _attach(out, "msub" if kind == "down" else "msup", inner)
        elif kind == "prime" and out:
            out.append(f'<mrow>{out.pop()}<mo lspace="0" rspace="0">{"′" * len(value)}</mo></mrow>')
        elif kind in ("raised", "lowered") and out:
            table = RAISED if kind == "raised" else LOWERED
            _attach(out, "msup" if kind == "raised" else "msub", f"<mrow>{formula(value.translate(table))}</mrow>")
        elif kind == "number":
            out.append(f"<mn>{value}</mn>")
        elif kind == "letter":
            out.append(f"<mi>{value}</mi>")
        elif kind == "word":
            out.append(f"<mtext>{value}</mtext>" if value in PLAIN else f'<mi mathvariant="normal">{value}</mi>')
        else:
            fence = ' stretchy="false"' if value in f"{OPENING}{CLOSING}|" else ""
            out.append(f"<mo{fence}>{escape({'-': '−', '*': '·'}.get(value, value))}</mo>")
    return "".join(out)


def _group(tokens: list[tuple[str, str]], k: int) -> tuple[str, int]:
    """What is lowered or raised: one thing, or what stands in braces."""
    if tokens[k][1] != "{":
        return f"<mrow>{formula(tokens[k][1])}</mrow>", k + 1
    depth, end = 1, k + 1
    while end < len(tokens) and depth:
        depth += {"{": 1, "}": -1}.get(tokens[end][1], 0)
        end += 1
    return f"<mrow>{formula(''.join(value for _, value in tokens[k + 1 : end - 1]))}</mrow>", end


def _attach(out: list[str], tag: str, inner: str) -> None:
    """Lower or raise something beside the last thing; what is lowered may be raised too."""
    last = out.pop()
    if tag == "msup" and last.startswith("<msub>"):
        out.append(f"<msubsup>{last[6:-7]}{inner}</msubsup>")
    else:
        out.append(f"<{tag}>{last}{inner}</{tag}>")
