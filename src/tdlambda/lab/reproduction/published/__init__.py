"""The numbers printed in Zhao (2020), as data: mean and standard deviation over 240 runs, for each cell."""

import csv
from collections.abc import Iterator
from importlib.resources import files
from typing import NamedTuple

TABLES = {
    "ringworld_04_035": "ringworld-0.40-0.35",
    "ringworld_03_025": "ringworld-0.30-0.25",
    "ringworld_02_015": "ringworld-0.20-0.15",
    "frozenlake": "frozenlake",
}
"""The study that remakes each table."""


class PublishedCell(NamedTuple):
    """One cell: the mean over runs of the value error late in learning (no ½), and its standard deviation."""

    table: str
    alpha: float
    method: str
    lam: float | None
    mean: float
    std: float


class FigureReading(NamedTuple):
    """A return read off the printed MountainCar figures, and how far off the reading may be.

    `figure` is "fig_mountaincar" (returns over α) or "fig_curves_mountaincar" (over `episode`, at one α).
    """

    figure: str
    alpha: float
    episode: int | None
    method: str
    lam: float | None
    value: float
    uncertainty: float


def mountaincar_figure() -> Iterator[FigureReading]:
    """Every point of the two MountainCar figures, as read by eye; of an older run than the thesis' text describes.

    >>> best = max((r for r in mountaincar_figure() if r.figure == "fig_mountaincar"), key=lambda r: r.value)
    >>> best.method, best.alpha < 1e-2
    ('META', True)
    """
    with files(__name__).joinpath("mountaincar_eyeballed.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            yield FigureReading(
                row["figure"], float(row["alpha"]), int(row["episode"]) if row["episode"] else None, row["method"],
                float(row["lambda"]) if row["lambda"] else None, float(row["return"]), float(row["uncertainty"]),
            )  # fmt: skip


def thesis_tables() -> Iterator[PublishedCell]:
    """Every cell of the four tables.

    >>> sum(1 for cell in thesis_tables())
    861
    """
    with files(__name__).joinpath("thesis_tables.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            lam = float(row["lambda"]) if row["lambda"] else None
            yield PublishedCell(
                row["table"], float(row["alpha"]), row["method"], lam, float(row["mean"]), float(row["std"])
            )
