"""One colour for each method in every figure, safe for colour-blind eyes (Okabe & Ito; viridis for the fixed λ)."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib import colormaps
from matplotlib.colors import to_hex

_OWN = {
    "META": "#D55E00", "META_np": "#CC79A7", "META_derived": "#E69F00", "META_np_derived": "#F0A3C8",
    "META_default": "#009E73", "greedy": "#56B4E9", "fixed": "#4D4D4D", "fixed_gtd": "#999999",
    "greedy_published": "#56B4E9", "fixed_published": "#4D4D4D", "envelope": "#000000",
}  # fmt: skip
_OTHERS = ("#0072B2", "#CC79A7", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#F0E442", "#8C564B", "#17BECF")


def colour(method: str, methods: Sequence[str] = ()) -> str:
    """The colour of a method; one that is not known gets one by its place among the study's.

    >>> colour("META")
    '#D55E00'
    """
    if method in _OWN:
        return _OWN[method]
    strangers = [name for name in methods if name not in _OWN]
    return _OTHERS[(strangers.index(method) if method in strangers else 0) % len(_OTHERS)]


def shades(values: Sequence[float]) -> list[str]:
    """Colours for an ordered parameter, such as the fixed λ: from dark to light."""
    n = max(len(values) - 1, 1)
    return [to_hex(colormaps["viridis"](0.9 * k / n)) for k in range(len(values))]
