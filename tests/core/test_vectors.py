# mypy: disable-error-code="no-untyped-def"
"""Vectors of numbers in declarations: rewritten functions compute what NumPy does; what has no meaning is refused."""

from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda.arrays import fraction
from tdlambda.core.names import words
from tdlambda.core.source import arguments, returned
from tdlambda.core.vectors import elements, expanded, rewritten

SIZES = {"p": 4, "r": 4, "lam": 3}


def weigh(p, r, a, turning):
    if turning and sum(r) > a:
        least = min(r)
        far = (r - least) ** 2 + max(p[1], a)
        p = np.exp(-far)
        p = p / sum(p)
    else:
        p, a = p[::-1] * r, a + max(p)
    a += sum(r[1:3]) - r[-1]
    return p, a


def mixed(p, lam, a):
    lam_next = sum(p[:3] * lam) + p[3] * a if a > min(lam) else sum(lam)
    return lam_next


def shifted(p, r):
    p, r = r, np.abs(p - max(r))
    p -= 1.0
    return p, r


@pytest.mark.parametrize("function", [weigh, mixed, shifted])
@pytest.mark.parametrize("seed", range(5))
def test_it_computes_what_numpy_does(function: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    given: dict[str, Any] = {
        name: rng.normal(size=SIZES[name]) if name in SIZES else rng.normal() for name in arguments(function)
    }
    given |= {"turning": bool(seed % 2)} if "turning" in given else {}
    new = rewritten(function, SIZES)
    flat = {f"{n}{k}": x for n, v in given.items() if n in SIZES for k, x in enumerate(v)}
    flat |= {n: v for n, v in given.items() if n not in SIZES}
    truth = function(**given)
    expected = [x for part in (truth if isinstance(truth, tuple) else (truth,)) for x in np.atleast_1d(part)]
    np.testing.assert_allclose(np.atleast_1d(new(**flat)), expected, rtol=1e-14)
    assert len(returned(new)) == len(expected)


def test_a_function_without_vectors_stays_as_it_is() -> None:
    assert rewritten(mixed, {"q": 2}) is mixed
    assert rewritten(mixed, SIZES) is not mixed


def test_names() -> None:
    assert words("rate lam[3] last") == ["rate", "lam0", "lam1", "lam2", "last"]
    assert elements("p[2]") == ["p0", "p1"]
    assert expanded({"L[2]": ("reward", "lam[k]"), "m": ("one",)}) == {
        "L0": ("reward", "lam0"), "L1": ("reward", "lam1"), "m": ("one",),
    }  # fmt: skip


def wrong_length(p, lam):
    p = p + lam
    return p


def wrong_index(p):
    lam_next = p[4]
    return lam_next


def by_a_number(p, a):
    lam_next = p[a]
    return lam_next


def a_number_for_a_vector(p, a):
    p = a
    return p


def taken(p, far0):
    far = p + far0
    p = far
    return p


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (wrong_length, r"'p \+ lam' has vectors of 3 and 4 numbers"),
        (wrong_index, r"'p\[4\]': the index must be a constant below 4"),
        (by_a_number, r"'p\[a\]': the index must be a constant below 4"),
        (a_number_for_a_vector, "p is a vector; 'p = a' assigns a number to it"),
        (taken, "far0: a number of the vector far has this name"),
    ],
)
def test_what_has_no_meaning_is_refused(function: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        rewritten(function, SIZES)


def test_a_class_that_declares_a_number_twice_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="Mine: p1: declared twice"):
        type("Mine", (td.Rule,), {"holds": {"p1": 0.0, "p[2]": 0.0}, "step": staticmethod(mixed)})


class Several(td.Algorithm):
    """TD(λ) with the mean of three step sizes that are kept."""

    parameters = "part[3]"
    ranges = {"part[3]": fraction}
    dots = {"v": "w.x", "v_next": "w.x'"}
    keeps = {"decay": 0.0}
    holds = {"size[3]": 0.1}
    updates = """
        e  = keep e + rho x
        w += along e
    """

    @staticmethod
    def step(v, v_next, decay, size, part, alpha, reward, gamma_next, rho, lam_next):
        size = size + part * (alpha - size)
        along = sum(size) / 3 * (reward + gamma_next * v_next - v)
        keep, decay = rho * decay, gamma_next * lam_next
        return keep, along, decay, size


def test_a_users_algorithm_with_a_vector() -> None:
    v = Several(td.features.OneHot(3), alpha=0.4, part0=0.0, part1=0.5, part2=1.0)
    v.update(0, 1.0, 1, gamma=1.0)
    assert v.predict(0) == pytest.approx((0.1 + 0.25 + 0.4) / 3)
    with pytest.raises(ValueError, match="part1 must be"):
        Several(td.features.OneHot(3), alpha=0.4, part0=0.0, part1=1.5, part2=1.0)
