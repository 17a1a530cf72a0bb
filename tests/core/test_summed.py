"""Products of two rows that lanes sum on the way: an algorithm for which every step of an episode reads them."""

from typing import Any

import pytest

import tdlambda as td


class Product(td.Algorithm):
    """Nonsense that needs e·h and h·h from the first step of an episode on, and changes h at x' too."""

    weight_rows = "w h"
    dots = {"v": "w.x", "v_next": "w.x'", "eh": "e.h", "hh": "h.h"}
    keeps = {"decay": 0.0}
    updates = """
        e  = keep e + rho x
        w += along e
        h  = half h + along e + pull x'
    """

    @staticmethod
    def step(v, v_next, eh, hh, decay, alpha, reward, gamma_next, rho, lam_next):  # type: ignore[no-untyped-def]
        along = alpha * (reward + gamma_next * v_next - v + 0.3 * eh + 0.1 * hh)
        keep, decay = rho * decay, gamma_next * lam_next
        half, pull = 0.9, 0.2 * along
        return keep, along, half, pull, decay


CONVENTIONS: Any = ("rho", "credit", "gamma", "reset")


@pytest.mark.interpreted
def test_every_schedule_is_the_interpreter() -> None:
    td.check_algorithm(Product, skip=CONVENTIONS)
