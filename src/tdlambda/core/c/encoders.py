"""Encoders in C: one-hot, dense and tile coding, as their kernels compute them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tdlambda.core.c.functions import NoCError, literal
from tdlambda.features import Dense, Encoder, OneHot, TileCoder

ONE_HOT = """static int {function}(int32_t obs, int32_t *index, double *value)
{{
    if (obs < 0 || obs >= {size}) return 1;
    index[0] = obs;
    value[0] = 1.0;
    return 0;
}}
"""

DENSE = """static int {function}(const double *obs, int32_t *index, double *value)
{{
    double norm = 0.0;
    for (int32_t i = 0; i < {size}; i++) norm += obs[i] * obs[i];
    if (!(norm < INFINITY)) return 1;
    for (int32_t i = 0; i < {size}; i++) {{
        index[i] = i;
        value[i] = obs[i];
    }}
    return 0;
}}
"""

# The order of the loops, and a tile as a double until it is added, are those of `features.tiling`.
TILES = """/* {dimensions} dimensions: least and most accepted, low, high */
static const double {function}_bounds[{dimensions}][4] = {{
{bounds}}};
/* tiles along each dimension, then the offset of each tiling */
static const double {function}_tiles[{dimensions}][{columns}] = {{
{tiles}}};

static int {function}(const double *obs, int32_t *index, double *value)
{{
    int64_t tile[{active}];
    for (int32_t i = 0; i < {dimensions}; i++)
        if (!({function}_bounds[i][0] <= obs[i] && obs[i] <= {function}_bounds[i][1])) return 1;
    for (int32_t i = 0; i < {dimensions}; i++) {{
        const double low = {function}_bounds[i][2], high = {function}_bounds[i][3], tiles = {function}_tiles[i][0];
        const double point = (td_min(td_max(obs[i], low), high) - low) / (high - low);
        for (int32_t k = 0; k < {active}; k++) {{
            const double cell = td_min(td_max(floor(point * tiles + {function}_tiles[i][1 + k]), 0.0), tiles - 1.0);
            tile[k] = (i > 0 ? tile[k] : (int64_t)k) * (int64_t)tiles + (int64_t)cell;
        }}
    }}
    for (int32_t k = 0; k < {active}; k++) {{
        {placed}
        value[k] = 1.0;
    }}
    return 0;
}}
"""
HASH = """static int32_t {function}_slot(int64_t tile)
{{
    uint64_t z = (uint64_t)tile;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    z = z ^ (z >> 31);
    return (int32_t)(z % {slots});
}}

"""
MOST = 2**31 - 1
"""Indices are of 32 bits."""


class CEncoder(NamedTuple):
    """An encoder in C."""

    text: str
    obs: str
    """The declaration of an observation, with `{}` for its name."""
    dimensions: int
    """Numbers of an observation that is a vector; 0 if it is a state."""


def c_encoder(features: Encoder, function: str) -> CEncoder:
    """An encoder as a C function of this name; TypeError if there is none."""
    if features.size > MOST:
        raise NoCError(f"features: at most {MOST} features, because indices have 32 bits; got {features.size}")
    if type(features) is OneHot:
        return CEncoder(ONE_HOT.format(function=function, size=features.size), "int32_t {}", 0)
    if type(features) is Dense:
        return CEncoder(DENSE.format(function=function, size=features.size), "const double *{}", features.size)
    if type(features) is TileCoder:
        return CEncoder(_tiles(features, function), "const double *{}", len(features.tiles))
    raise NoCError(
        f"features: C has encoders for OneHot, Dense and TileCoder; got {type(features).__name__}. Encode in the "
        "program, and export a learner with Dense features of the same size"
    )


def _tiles(features: TileCoder, function: str) -> str:
    kernel = features.loop_kernel
    assert kernel is not None
    dimensions, active = kernel.dimensions, features.active
    bounds = kernel.numbers[: 4 * dimensions].reshape(dimensions, 4)
    tiles = kernel.numbers[4 * dimensions :][: dimensions * (1 + active)].reshape(dimensions, 1 + active)
    placed, hashed = "index[k] = (int32_t)tile[k];", ""
    if features.hash_size is not None:
        hashed = HASH.format(function=function, slots=features.hash_size)
        placed = f"index[k] = k < {features.tilings} ? {function}_slot(tile[k]) : {features.hash_size};"
    return hashed + TILES.format(
        function=function, dimensions=dimensions, active=active, columns=1 + active, placed=placed,
        bounds=_rows(bounds), tiles=_rows(tiles),
    )  # fmt: skip


def _rows(table: np.ndarray) -> str:
    return "".join(f"    {{{', '.join(map(literal, row))}}},\n" for row in table.tolist())
