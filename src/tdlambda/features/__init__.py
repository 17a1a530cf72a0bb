"""Feature encoders: they map an observation to the indices and values of its active features."""

from tdlambda.features.base import Encoder
from tdlambda.features.columns import Category, Columns, Cycle, Difference, Lag, Number, Tiles
from tdlambda.features.custom import Custom
from tdlambda.features.dense import Dense
from tdlambda.features.encoded import Encoded
from tdlambda.features.fourier import Fourier
from tdlambda.features.grid_tilings import GridTilings
from tdlambda.features.one_hot import OneHot
from tdlambda.features.pairs import Pairs
from tdlambda.features.table import Table
from tdlambda.features.tile_coder import TileCoder

__all__ = [
    "Category", "Columns", "Custom", "Cycle", "Dense", "Difference", "Encoded", "Encoder", "Fourier", "GridTilings",
    "Lag", "Number", "OneHot", "Pairs", "Table", "TileCoder", "Tiles",
]  # fmt: skip
