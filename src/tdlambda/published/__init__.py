"""The numbers that the thesis printed, as data: mean and standard deviation over 240 runs, for each cell."""

import csv
from collections.abc import Iterator
from importlib.resources import files
from typing import NamedTuple


class PublishedCell(NamedTuple):
    """One cell: the mean over runs of the value error late in learning (no ½), and its standard deviation."""

    table: str
    alpha: float
    method: str
    lam: float | None
    mean: float
    std: float


def thesis_tables() -> Iterator[PublishedCell]:
    """Every cell of the four tables.

    >>> sum(1 for cell in thesis_tables())
    861
    """
    with files("tdlambda.published").joinpath("thesis_tables.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            lam = float(row["lambda"]) if row["lambda"] else None
            yield PublishedCell(
                row["table"], float(row["alpha"]), row["method"], lam, float(row["mean"]), float(row["std"])
            )
