"""Feature encoders: they map an observation to the indices and values of its active features."""

from tdlambda.features.columns import Columns
from tdlambda.features.custom import Custom
from tdlambda.features.dense import Dense
from tdlambda.features.encoded import Encoded
from tdlambda.features.encoder import Encoder
from tdlambda.features.fourier import Fourier
from tdlambda.features.grid_tilings import GridTilings
from tdlambda.features.leading import Leading
from tdlambda.features.network import Network
from tdlambda.features.one_hot import OneHot
from tdlambda.features.pairs import Pairs
from tdlambda.features.random_features import RandomFourier, RandomReLU
from tdlambda.features.table import Table
from tdlambda.features.terms import Category, Cosines, Cycle, Difference, Lag, Mean, Number, Season, Tiles, Weekdays
from tdlambda.features.tile_coder import TileCoder

__all__ = [
    "Category", "Columns", "Cosines", "Custom", "Cycle", "Dense", "Difference", "Encoded", "Encoder", "Fourier",
    "GridTilings", "Lag", "Leading", "Mean", "Network", "Number", "OneHot", "Pairs", "RandomFourier", "RandomReLU",
    "Season", "Table", "TileCoder", "Tiles", "Weekdays",
]  # fmt: skip
