"""Charts: functions from tidy data to Altair charts, for pages, papers and notebooks.

from tdlambda import charts

chart = charts.u_curves(rows)          # rows: a data frame, or mappings, with series, alpha, mean, low, high
chart.properties(width=400)            # an Altair chart, so everything can be changed
charts.save(chart, "u-curves.pdf")     # or .svg, .png
"""

from typing import TYPE_CHECKING, Any

from tdlambda.extras import missing, need

__all__ = [
    "at_best", "critics", "divergence", "error_table", "lambda_in_time", "lambda_map", "lambda_states",
    "learning_curves", "lines", "median_in_time", "paired", "panels", "policy_states", "policy_tiles",
    "predictions", "runs", "save", "sensitivity", "stretches", "u_curves",
]  # fmt: skip

if TYPE_CHECKING or not missing("charts"):
    from tdlambda.charts.at_best import at_best
    from tdlambda.charts.control_policy import policy_states, policy_tiles
    from tdlambda.charts.critics import critics
    from tdlambda.charts.divergence import divergence
    from tdlambda.charts.error_table import error_table
    from tdlambda.charts.lambdas import lambda_in_time, lambda_map, lambda_states, median_in_time, panels
    from tdlambda.charts.learning_curves import learning_curves
    from tdlambda.charts.lines import lines
    from tdlambda.charts.paired import paired
    from tdlambda.charts.predictions import predictions
    from tdlambda.charts.runs import runs
    from tdlambda.charts.saving import offline, save
    from tdlambda.charts.sensitivity import sensitivity, stretches
    from tdlambda.charts.u_curves import u_curves

    offline()
else:

    def __getattr__(name: str) -> Any:
        if name in __all__:
            need("charts", "charts")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
