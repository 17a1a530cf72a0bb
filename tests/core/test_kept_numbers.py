# mypy: disable-error-code="no-untyped-def"
"""A kept number that is set back at an episode's start, which no built-in algorithm needs: their traces are 0 there."""

import pytest

import tdlambda as td


class Emphatic(td.Algorithm):
    """Emphatic TD(λ), Sutton, Mahmood & White (2016): F = ργ F + 1 follows the episode, with ρ of the step before.

    e = ρ (γλ e + M x), M = λ + (1-λ) F, w += α δ e.
    """

    dots = {"v": "w.x", "v_next": "w.x'"}
    keeps = {"decay": 0.0, "reach": 0.0, "lam": 1.0}
    updates = """
        e  = keep e + new x
        w += along e
    """

    @staticmethod
    def step(v, v_next, decay, reach, lam, alpha, reward, gamma_next, rho, lam_next):
        follow = reach + 1
        keep, new = rho * decay, rho * (lam + (1 - lam) * follow)
        along = alpha * (reward + gamma_next * v_next - v)
        decay, reach, lam = gamma_next * lam_next, rho * gamma_next * follow, lam_next
        return keep, new, along, decay, reach, lam


@pytest.mark.interpreted
def test_every_schedule_sets_it_back() -> None:
    td.check_algorithm(Emphatic, lam=0.5, alpha=0.01)
