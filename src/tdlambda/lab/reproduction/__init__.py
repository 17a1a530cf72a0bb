"""Reproduction of Zhao (2020): its tables, and the variants behind its published numbers.

"The thesis" in these modules is Mingde Zhao (2020), "META-Learning Eligibility Traces for More Sample Efficient
Temporal Difference Learning", Master's thesis, McGill University.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tdlambda.lab.reproduction.agent import published_actor_critic
    from tdlambda.lab.reproduction.declarations import PublishedGreedy, PublishedMeta, PublishedTrueOnlineGTD
    from tdlambda.lab.reproduction.published import mountaincar_figure, thesis_tables
    from tdlambda.lab.reproduction.thesis_values import thesis_truth

__all__ = [
    "PublishedGreedy", "PublishedMeta", "PublishedTrueOnlineGTD", "mountaincar_figure", "published_actor_critic",
    "thesis_tables", "thesis_truth",
]  # fmt: skip

_HOME = {
    "mountaincar_figure": "published",
    "published_actor_critic": "agent",
    "thesis_tables": "published",
    "thesis_truth": "thesis_values",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """A name that is imported on first use; the names of the tables do not need Numba."""
        if name not in __all__:
            raise AttributeError(f"module 'tdlambda.lab.reproduction' has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOME.get(name, 'declarations')}"), name)

    def __dir__() -> list[str]:
        return sorted(__all__)
