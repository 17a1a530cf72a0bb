"""Figures for a paper, from a study's results: Matplotlib figures, no display needed, one colour a method in all.

    from tdlambda.report.overview import overview
    from tdlambda.report.figures import u_curves, write_figures

    view = overview("results/ringworld-0.40-0.35")
    u_curves(view, measure="area").savefig("area.pdf")
    write_figures(view, Path("figures"), "pdf")             # all of them

A figure that a study has nothing for (κ of a study without one) raises `NothingToDrawError`; `write_figures` leaves it
out.
"""

from tdlambda.report.figures.comparing import comparisons
from tdlambda.report.figures.heat import divergence, heat_table
from tdlambda.report.figures.lambdas import lambda_motion, lambda_states
from tdlambda.report.figures.learning import learning_curves
from tdlambda.report.figures.sensitivity import alpha_sensitivity, kappa_sensitivity
from tdlambda.report.figures.style import NothingToDrawError
from tdlambda.report.figures.u_curves import u_curves
from tdlambda.report.figures.writing import write_figures

__all__ = [
    "NothingToDrawError", "alpha_sensitivity", "comparisons", "divergence", "heat_table", "kappa_sensitivity",
    "lambda_motion", "lambda_states", "learning_curves", "u_curves", "write_figures",
]  # fmt: skip
