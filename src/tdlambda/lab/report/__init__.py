"""Reports: record a learner's progress, summarise and plot the results of a study."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tdlambda.extras import need
from tdlambda.lab.report.history import History, follow

if TYPE_CHECKING:
    from tdlambda.lab.report.overview import Overview

__all__ = ["History", "follow", "load_overview"]


def load_overview(directory: str | Path) -> Overview:
    """Summarise the results of a study, finished or not, to plot them and to compare its methods.

    Parameters
    ----------
    directory
        Results directory written by `td.studies.run_study`.

    Returns
    -------
    An overview: `plot` draws any chart of the study's page, `best` and `compare` give the numbers behind its text.

    Examples
    --------
    >>> import tdlambda as td, tempfile
    >>> study = td.studies.Study(
    ...     "walk", "RandomWalk-v0", {"fixed": td.studies.Method("TrueOnlineTD", over=("alpha", "lam"))},
    ...     grid={"alpha": [0.01, 0.1], "lam": [0.0, 0.9]}, seeds=4, steps=1000)
    >>> with tempfile.TemporaryDirectory() as out:
    ...     outcome = td.studies.run_study(study, out)
    ...     view = td.report.load_overview(out)
    >>> chart = view.plot()                     # error against α; also view.plot("learning", alpha=0.1)
    >>> view.best("fixed").settings
    {'alpha': 0.1, 'lam': 0.9}
    """
    need("results of studies", "studies")
    from tdlambda.lab.report.overview import overview  # Polars is slow to import

    return overview(directory)


def __dir__() -> list[str]:
    return sorted(__all__)
