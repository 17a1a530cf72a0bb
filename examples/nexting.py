"""Nexting: hundreds of predictions of a robot's own sensors at several time scales.

After Modayil, White & Sutton (2014), "Multi-timescale nexting in a reinforcement learning robot", with off-policy
questions as in Sutton et al. (2011), "Horde". A synthetic robot drives around a circular room past a lamp and sometimes
rests. It predicts twelve sensors at six horizons under three policies, all from the same rows: what it does, "if I kept
driving" and "if I rested".

    python examples/nexting.py [--steps 20000]
"""

import argparse
import time
from typing import Any

import numpy as np

import tdlambda as td

LAMPS, HORIZONS, DRIVES = 8, (1, 2, 5, 10, 20, 50), 0.7
STEP, TURN = 0.1, 2 * np.pi


def room(angle: Any) -> dict[str, Any]:
    """Return the noise-free sensor readings at an angle (radians)."""
    found = {f"light {k}": np.exp(2 * np.cos(angle - TURN * k / LAMPS) - 2) for k in range(LAMPS)}
    bumpy = (np.mod(angle, TURN) > 4.0) & (np.mod(angle, TURN) < 4.5)
    return found | {"bump": 1.0 * bumpy, "warmth": np.cos(angle), "slope": np.sin(2 * angle)}


def drive(steps: int, seed: int = 0) -> tuple[dict[str, Any], Any]:
    """Simulate the robot; return its rows of readings and its angles."""
    rng = np.random.default_rng(seed)
    moves = rng.random(steps) < DRIVES
    angle = np.concatenate([[0.0], np.cumsum(STEP * moves)[:-1]])
    rows = {name: value + 0.02 * rng.normal(size=steps) for name, value in room(angle).items()}
    rows["current"] = np.concatenate([[0.0], 1.0 * moves[:-1]]) + 0.02 * rng.normal(size=steps)
    rows["drives"], rows["rests"] = moves / DRIVES, (~moves) / (1 - DRIVES)  # ρ of "always drive" and "always rest"
    return rows, angle


def questions(sensors: list[str]) -> dict[str, td.Question]:
    """Return a question for every sensor, horizon and policy."""
    found = {}
    for sensor in sensors:
        for horizon in HORIZONS:
            for policy, rho in (("as it does", 1.0), ("driving", "drives"), ("resting", "rests")):
                name = f"{sensor}, {horizon}, {policy}"
                found[name] = td.Question(sensor, horizon=horizon, rho=rho, average=True)
    return found


def truth(sensor: str, horizon: float, angle: Any) -> Any:
    """Return the exact answer to "if I kept driving", from each angle."""
    gamma, k = 1 - 1 / horizon, np.arange(400)
    if sensor == "current":
        return np.ones(np.shape(angle))
    ahead = room(np.asarray(angle)[:, None] + STEP * (k + 1))[sensor]
    return (1 - gamma) * ahead @ gamma**k


def main() -> None:
    """Learn, and print R² on unseen rows."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", type=int, default=20_000)
    steps = parser.parse_args().steps
    rows, _ = drive(steps)
    sensors = [name for name in rows if name not in ("drives", "rests")]
    asked = questions(sensors)
    tiles = [td.features.Tiles(f"light {k}", f"light {(k + 2) % LAMPS}", tiles=6, tilings=4) for k in range(4)]
    features = td.features.Columns(*tiles)
    horde = td.Horde(features, asked, lambda x: td.TrueOnlineTD(x, 0.1 / 17, 0.8, correction="retrace"))
    horde.learn({name: column[:20] for name, column in rows.items()})  # compile before timing
    begun = time.process_time()
    horde.learn({name: column[20:] for name, column in rows.items()})
    each = 1e6 * (time.process_time() - begun) / (steps - 20)
    print(f"{len(asked)} predictions, {steps:,} rows: {each:.0f} µs of processor time a row")
    ahead, place = drive(2000, seed=1)
    said = horde.predict(ahead)
    print(f"{'R² on rows it has not seen':28}" + "".join(f"{h:>8}" for h in HORIZONS))
    for policy in ("as it does", "driving"):
        for sensor in ("light 0", "bump", "warmth"):
            line = []
            for horizon in HORIZONS:
                v = said[f"{sensor}, {horizon}, {policy}"]
                G = truth(sensor, horizon, place) if policy == "driving" else _returns(ahead[sensor], horizon)
                v, G = v[:-200], G[:-200]
                line.append(1 - np.mean((v - G) ** 2) / np.var(G))
            print(f"{sensor + ', ' + policy:28}" + "".join(f"{r:8.2f}" for r in line))


def _returns(y: Any, horizon: float) -> Any:
    G, total, gamma = np.zeros(len(y)), 0.0, 1 - 1 / horizon
    for t in range(len(y) - 2, -1, -1):
        total = (1 - gamma) * y[t + 1] + gamma * total
        G[t] = total
    return G


if __name__ == "__main__":
    main()
