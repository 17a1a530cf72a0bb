"""For engineers: predict the future of a sensor, online, and evaluate the predictions.

python examples/engineer.py
"""

# %% [markdown]
# # How much water flows in the next day?
#
# A pump logs its flow and temperature every hour. At each row, we predict the mean flow over about the next 24 hours.
# There is nothing to tune, and each prediction is made before learning from the row.

# %%
import numpy as np

import tdlambda as td

rng, hours = np.random.default_rng(0), np.arange(3000)
demand = 20 + 4 * np.sin(2 * np.pi * hours / 24) + 2 * np.sin(2 * np.pi * hours / 168)
log = {
    "time": np.datetime64("2026-01-05T00") + hours.astype("timedelta64[h]"),
    "flow": demand + rng.normal(0, 0.5, hours.size),
    "temperature": 12 + 6 * np.sin(2 * np.pi * (hours - 8) / 24) + rng.normal(0, 1, hours.size),
}
log["flow"][700] = 400.0  # one spike of the meter
log["temperature"][2000:2050] = np.nan  # the probe failed for two days

# %% [markdown]
# A `Horde` learns the answers to questions about the rows. `horizon=24` sets γ = 1 - 1/24; `average=True` gives the
# answer in the unit of the flow. `td.streams.prequential` learns from the rows and scores each prediction against the
# realised return.

# %%
questions = {
    "flow, next day": td.Question("flow", horizon=24, average=True),
    "flow, next hours": td.Question("flow", horizon=4, average=True),
}
horde = td.Horde(questions=questions, time="time", missing="hold", intervals=True)
scores = td.streams.prequential(horde, log, baselines=["running mean", "last value"], progress=False)
for name in questions:
    print(f"{name}: R² {scores[name].late.r2:.2f}, 90 % intervals held {scores[name].coverage:.2f}")

# %% [markdown]
# In production, update the Horde one row at a time, and save it to resume after a restart.

# %%
horde.save("pump.horde")
again = td.load("pump.horde")
row = {"time": log["time"][-1] + np.timedelta64(1, "h"), "flow": 21.0, "temperature": 14.0}
again.update(row)
print({name: round(float(value), 2) for name, value in again.predict().items()})
