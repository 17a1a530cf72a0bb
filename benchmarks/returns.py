"""Returns against loops over time in NumPy and PyTorch, per-step arguments against one number, and the audit's time.

    python benchmarks/returns.py [--rounds 40]

Everything compared is run in turn, in one process and on one thread; a ratio is that of the shortest times. PyTorch is
measured if it is installed.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import tdlambda as td

GAMMA, LAM = 0.99, 0.95
SIZES = ((512, 64), (128, 4096))


def numpy_loop(r: Any, v: Any, w: Any, te: Any, tr: Any) -> Any:
    out, a = np.empty_like(r), np.zeros(r.shape[1], r.dtype)
    live, keep = (GAMMA * ~te).astype(r.dtype), (GAMMA * LAM * ~(te | tr)).astype(r.dtype)
    for t in range(len(r) - 1, -1, -1):
        a = r[t] + live[t] * w[t] - v[t] + keep[t] * a
        out[t] = a
    return out


def torch_loop(torch: Any, r: Any, v: Any, w: Any, te: Any, tr: Any) -> Any:
    out, a = torch.empty_like(r), torch.zeros(r.shape[1], dtype=r.dtype)
    live, keep = GAMMA * (~te).to(r.dtype), GAMMA * LAM * (~(te | tr)).to(r.dtype)
    delta = r + live * w - v
    for t in range(len(r) - 1, -1, -1):
        a = delta[t] + keep[t] * a
        out[t] = a
    return out


def shortest(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The shortest time of each in seconds, run in turn."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for k in range(rounds + 2):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            if k >= 2:
                times[name].append(time.perf_counter() - start)
    return {name: min(some) for name, some in times.items()}


def compare(T: int, N: int, dtype: Any, rounds: int) -> None:
    rng = np.random.default_rng(0)
    r, v = (rng.normal(size=(T, N)).astype(dtype) for _ in range(2))
    w, te, tr = np.roll(v, -1, axis=0), rng.random((T, N)) < 0.01, rng.random((T, N)) < 0.01
    steps: dict[str, Any] = {"reward": r, "value": v, "value_next": w, "terminated": te, "truncated": tr}
    vary = {name: rng.uniform(0.5, 1, size=(T, N)).astype(dtype) for name in ("gamma", "lam", "rho")}
    calls: dict[str, Callable[[], Any]] = {
        "ours": lambda: td.returns.gae(**steps, gamma=GAMMA, lam=LAM),
        "ours, per step": lambda: td.returns.gae(**steps, **vary),
        "ours, returns": lambda: td.returns.lambda_returns(**steps, gamma=GAMMA, lam=LAM),
        "NumPy": lambda: numpy_loop(r, v, w, te, tr),
    }
    if find_spec("torch"):
        import torch

        torch.set_num_threads(1)
        tensors = [torch.from_numpy(x) for x in (r, v, w, te, tr)]
        there = dict(zip(("reward", "value", "value_next", "terminated", "truncated"), tensors, strict=True))
        calls["PyTorch"] = lambda: torch_loop(torch, *tensors)
        calls["ours, from tensors"] = lambda: td.returns.lambda_returns(**there, gamma=GAMMA, lam=LAM)
    found = shortest(calls, rounds)
    said = f"{N} × {T}, {np.dtype(dtype).name}: {1e6 * found['ours, returns']:.0f} µs; NumPy loop"
    said += f" {found['NumPy'] / found['ours, returns']:.1f} ×, with advantages and targets"
    said += f" {found['NumPy'] / found['ours']:.1f} ×; γ, λ, ρ per step {found['ours, per step'] / found['ours']:.1f} ×"
    if "PyTorch" in found:
        said += f"; PyTorch loop {found['PyTorch'] / found['ours, from tensors']:.1f} × ours from tensors"
    print(said, flush=True)


def audits(steps: int, critics: int, rounds: int) -> None:
    walk: Any = td.make("RandomWalk-v0", "19")
    s, v, rng = walk.sampler(seed=1).take(steps), walk.exact.v(), np.random.default_rng(0)
    tables = [v + 0.1 * rng.normal(size=v.size) for _ in range(critics)]
    pairs = {f"critic {k}": (V[s.obs], V[s.next_obs]) for k, V in enumerate(tables)}
    options: Any = {"gamma": s.gamma, "terminated": s.terminated, "truncated": s.truncated}
    found = shortest({"audit": lambda: td.audit(pairs, s.reward, **options)}, rounds)
    print(f"audit of {steps:,} steps and {critics} critics: {found['audit']:.2f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40, help="runs of each")
    rounds = parser.parse_args().rounds
    for dtype in (np.float64, np.float32):
        for T, N in SIZES:
            compare(T, N, dtype, rounds)
    audits(100_000, 5, max(3, rounds // 8))


if __name__ == "__main__":
    main()
