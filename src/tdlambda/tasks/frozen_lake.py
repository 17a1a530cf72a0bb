"""FrozenLake without a time limit, for off-policy prediction with few features (Zhao 2020, chapter 5)."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv

from tdlambda.features import Encoder, GridTilings, OneHot
from tdlambda.mdp import FiniteMDP
from tdlambda.mdp.policies import Policy
from tdlambda.tasks.task import TabularTask
from tdlambda.tasks.task_registry import register

TARGET = (0.2, 0.3, 0.3, 0.2)
"""Probabilities of left, down, right and up."""


@register(
    "FrozenLake-v0",
    {
        "off-policy": {},
        "on-policy": {"behavior": TARGET},
        "one-hot": {"features": "one-hot"},
        "8x8": {"map": "8x8"},
    },
)
class FrozenLake(TabularTask):
    """FrozenLake, a slippery lake with holes: reward 1 at the goal; only holes and the goal end an episode.

    Parameters
    ----------
    map
        "4x4", "8x8", or rows of letters S(tart), F(rozen), H(ole), G(oal).
    slippery
        Whether a move slips to either side with probability 1/3 each.
    discount
        Discount γ in [0, 1].
    target, behavior
        Target and behaviour policy: probabilities of left, down, right and up.
    features
        "tilings", the 12 binary features of Zhao (2020), 4 of them active (4x4 maps only), or "one-hot". By default
        tilings on 4x4 maps, else one-hot.

    Attributes
    ----------
    rows
        The map, rows of letters.

    Examples
    --------
    >>> lake = FrozenLake()
    >>> lake.features.size, lake.features.active, lake.exact.v()[0].round(4)
    (12, 4, np.float64(0.0102))
    """

    action_names = ("←", "↓", "→", "↑")

    def __init__(
        self,
        map: str | Sequence[str] = "4x4",  # noqa: A002, Gymnasium's own name for it
        slippery: bool = True,
        discount: float = 0.95,
        target: Policy = TARGET,
        behavior: Policy = (0.25, 0.25, 0.25, 0.25),
        features: Literal["tilings", "one-hot"] | None = None,
    ) -> None:
        if not isinstance(slippery, bool):
            raise TypeError(f"slippery must be True or False; got {slippery!r}")
        if isinstance(map, str):
            if map not in ("4x4", "8x8"):
                raise ValueError(f'map must be "4x4", "8x8" or rows of letters; got {map!r}')
            lake = FrozenLakeEnv(map_name=map, is_slippery=slippery)
        else:
            lake = FrozenLakeEnv(desc=_checked(map), is_slippery=slippery)
        self.rows = map_of(lake)
        mdp = FiniteMDP.from_table(lake, discount=discount)
        small = (lake.nrow, lake.ncol) == (4, 4)
        features = features or ("tilings" if small else "one-hot")
        if features not in ("tilings", "one-hot") or (features == "tilings" and not small):
            raise ValueError(f'features must be "one-hot", or "tilings" on a 4x4 map; got {features!r}')
        encoder: Encoder = GridTilings.frozen_lake() if features == "tilings" else OneHot(mdp.n_states)
        super().__init__(mdp, target, behavior, encoder)


def map_of(lake: FrozenLakeEnv) -> tuple[str, ...]:
    """The map as rows of letters, validated."""
    return tuple("".join(row) for row in np.asarray(lake.desc).astype(str))


def _checked(rows: Sequence[str]) -> list[str]:
    rows = [str(row) for row in rows]
    letters = "".join(rows)
    if len(letters) < 2 or len({len(row) for row in rows}) != 1 or set(letters) - set("SFHG") or "S" not in letters:
        raise ValueError(f"map must be rows of equal length of the letters S, F, H, G, with at least one S; got {rows}")
    return rows
