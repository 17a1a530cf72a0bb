"""What follows from equations: against the equations themselves, with numbers and vectors at random."""

from typing import Any

import numpy as np
import pytest

from tdlambda.core.equations import forms, parse, written

ROWS = ["w", "h", "e", "m"]
EQUATIONS = [
    "e = keep e + new x\nw += along e + back x",
    "e = keep e + new x - half x\nw += along e",  # a sum, times a coefficient
    "e = keep e - new x + half x'\nm = keep m - along e\nw -= back m + new x\nh += m - half e",
    "w += back e\ne = keep e + new x\nm = e\nh = new x'",  # rows of before, and rows that forget themselves
    "e = keep e + x\nw += e",  # 1 times 1
    "e = keep e - x\nw -= back e + e",
]
NAMES = ("keep", "new", "half", "along", "back")


@pytest.mark.parametrize("text", EQUATIONS)
def test_live_features_then_x_then_the_next_give_what_the_lines_say(text: str) -> None:
    rng = np.random.default_rng(3)
    numbers = dict(zip(NAMES, rng.normal(size=len(NAMES)), strict=True))
    vectors: dict[str, Any] = {name: rng.normal(size=5) for name in [*ROWS, "x", "x'"]}
    lines, f = parse(text, ROWS), forms(parse(text, ROWS))
    plain = dict(vectors)
    for line in lines:
        new = {"": 1.0, "0": 0.0}.get(line.own, numbers.get(line.own, 0.0)) * plain[line.row]
        for term in line.terms:
            size = numbers[term.coefficient] if term.coefficient else 1.0
            new = new + (size if term.sign == "+" else -size) * plain[term.vector]
        plain[line.row] = new
    room = {name: vectors[name] for name in ROWS} | numbers
    for row, value in f.live.items():
        room[row] = eval(written(value), room)
    by = {"x": f.at_x, "x'": f.at_next}
    found = {r: room[r] + sum(eval(written(at.get(r, 0.0)), room) * vectors[x] for x, at in by.items()) for r in ROWS}
    for row in ROWS:
        np.testing.assert_allclose(found[row], plain[row], rtol=1e-12, err_msg=f"{row} of {text!r}")
    assert set(f.coefficients) >= {name for name in NAMES if name in text.split()}
