"""Reproduction of Zhao (2020): its tables, and the variants behind its published numbers.

"The thesis" in these modules is Mingde Zhao (2020), "META-Learning Eligibility Traces for More Sample Efficient
Temporal Difference Learning", Master's thesis, McGill University.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tdlambda.reproduction.declarations import PublishedGreedy, PublishedMeta, PublishedTrueOnlineGTD
    from tdlambda.reproduction.truth import thesis_truth

__all__ = ["PublishedGreedy", "PublishedMeta", "PublishedTrueOnlineGTD", "thesis_truth"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """A name that is imported on first use; the names of the tables do not need Numba."""
        if name not in __all__:
            raise AttributeError(f"module 'tdlambda.reproduction' has no attribute {name!r}")
        return getattr(
            import_module(f"tdlambda.reproduction.{'truth' if name == 'thesis_truth' else 'declarations'}"), name
        )
