"""A small study like the thesis' first table, run once for the tests here."""

from pathlib import Path

import pytest

import tdlambda as td


def small_ring(seeds: int = 8) -> td.Study:
    grid = {"alpha": [1e-3, 1e-2, 5e-2], "lam": [0.0, 0.9], "kappa": [1e-3, 1e-2]}
    study = td.Study.load("ringworld-0.40-0.35").small()
    methods = ["fixed", "greedy", "greedy_published", "META", "META_default"]
    return study.but(methods=methods, grid=grid, seeds=seeds, steps=2000, points=100)


@pytest.fixture(scope="session")
def ring(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where its results are; not to be changed."""
    where = tmp_path_factory.mktemp("ring")
    td.run_study(small_ring(), where, progress=False)
    return where
