"""An engineer: a CSV file, nothing to tune, how good it is beside simple rivals, a chart and a saved predictor."""

import csv
import math

import tdlambda as td

with open("readings.csv", "w", newline="", encoding="utf-8") as file:
    out = csv.writer(file)
    out.writerow(["load", "temperature"])
    out.writerows([[round(math.sin(t / 12) + 2, 4), round(math.cos(t / 24), 4)] for t in range(1500)])

horde = td.Horde(None, {"load": td.Question("load", gamma=0.9)})
scores = td.streams.prequential(horde, "readings.csv")
print(scores)
scores.plot("scores.svg")
horde.save("horde")
assert td.load("horde").predict() is not None
