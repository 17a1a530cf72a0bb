"""Small studies like the thesis' first table and its MountainCar, run once for the tests here."""

from pathlib import Path

import pytest

import tdlambda as td


def small_ring(seeds: int = 8) -> td.studies.Study:
    grid = {"alpha": [1e-3, 1e-2, 5e-2], "lam": [0.0, 0.9], "kappa": [1e-3, 1e-2]}
    study = td.studies.Study.load("ringworld-0.40-0.35").small()
    methods = ["fixed", "greedy", "greedy_published", "META", "META_default"]
    return study.but(methods=methods, grid=grid, seeds=seeds, steps=2000, points=100)


@pytest.fixture(scope="session")
def car(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small study of control; not to be changed."""
    where = tmp_path_factory.mktemp("car")
    grid = {"alpha": [1e-5, 1e-4], "lam": [0.9], "kappa": [1e-3]}
    study = td.studies.Study.load("mountaincar").but(
        methods=["fixed", "greedy", "META"], grid=grid, seeds=8, steps=4000, points=20
    )
    td.studies.run_study(study, where, progress=False)
    return where


@pytest.fixture(scope="session")
def ring(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where its results are; not to be changed."""
    where = tmp_path_factory.mktemp("ring")
    td.studies.run_study(small_ring(), where, progress=False)
    return where
