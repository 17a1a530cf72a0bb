"""Cost of an update of a network, beside PyTorch and JAX and a bare pass over the same arrays.

    python benchmarks/networks.py [--sizes 64 128 256] [--agents] [--cold]

One thread. The numbers are processor times in this run, alternating, the best of several rounds. "bound" is a pass that
reads and writes as many numbers as an update must: the parameters three times, the traces twice, both written once. Its
arrays begin at a cache line, as those of learners do.
With --agents, the actor-critic in Gymnasium beside the same algorithm in PyTorch, the environment's own time included,
and in a compiled world; with --cold, the first update of a fresh process without a cache.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numba  # noqa: E402, after the number of threads
import numpy as np  # noqa: E402

import tdlambda as td  # noqa: E402
from tdlambda.arrays import aligned  # noqa: E402

INPUTS, GAMMA, LAM = 17, 0.99, 0.8
TORCH = "torch==2.13.0"


@numba.njit(fastmath=True)
def bare(w: Any, e: Any, times: int) -> Any:
    """What must be moved: w read three times, e twice, both written once."""
    total = np.float32(0.0)
    for _ in range(times):
        for _ in range(3):
            for i in range(w.size):
                total += w[i]
        for i in range(w.size):
            total += abs(e[i])
        for i in range(w.size):
            e[i] = np.float32(0.9) * e[i] + np.float32(1e-3)
            w[i] += np.float32(1e-9) * e[i]
    return total


def ours(units: int, alpha: Any) -> tuple[Callable[[int], None], Callable[[int], None]]:
    """Functions that make n updates, one by one and at once."""
    v, X = td.TD(td.Network(INPUTS, (units, units)), alpha, LAM), np.random.default_rng(0).normal(size=(5001, INPUTS))
    R = np.ones(5000)

    def one(n: int) -> None:
        for i in range(n):
            v.update(X[i], 1.0, X[i + 1], GAMMA)

    return one, lambda n: v.update_many(X[:n], R[:n], X[1 : n + 1], GAMMA)


def pytorch(units: int) -> Callable[[int], None]:
    """The same update as a user of PyTorch writes it: autograd, then loops over the tensors."""
    import torch

    torch.set_num_threads(1)
    layers: list[Any] = []
    for n_in in (INPUTS, units):
        layers += [torch.nn.Linear(n_in, units), torch.nn.LayerNorm(units, elementwise_affine=False)]
        layers += [torch.nn.LeakyReLU()]
    net = torch.nn.Sequential(*layers, torch.nn.Linear(units, 1))
    params: list[Any] = list(net.parameters())
    X = np.random.default_rng(0).normal(size=(5001, INPUTS))
    traces = [torch.zeros_like(p) for p in params]
    mean, p2, count = np.zeros(INPUTS), np.zeros(INPUTS), 0

    def update(x: Any, reward: float, y: Any) -> None:
        nonlocal mean, p2, count
        count += 1
        d = x - mean
        mean = mean + d / count
        p2 = p2 + d * (x - mean)
        sd = np.sqrt(p2 / max(1, count - 1) + 1e-8)
        a, b = (torch.from_numpy(((z - mean) / sd).astype(np.float32)) for z in (x, y))
        v, ahead = net(a), net(b)
        delta = (reward + GAMMA * ahead - v).item()
        for p in params:
            p.grad = None
        v.backward()
        with torch.no_grad():
            total = 0.0
            for p, e in zip(params, traces, strict=True):
                e.mul_(GAMMA * LAM).add_(p.grad)
                total += e.abs().sum().item()
            step = 1 / max(1.0, 2.0 * max(abs(delta), 1.0) * total)
            for p, e in zip(params, traces, strict=True):
                p.add_(e, alpha=step * delta)

    def one(n: int) -> None:
        for i in range(n):
            update(X[i], 1.0, X[i + 1])

    return one


def jax_scan(units: int) -> Callable[[int], None]:
    """The same update in `lax.scan`, over the whole stream at once."""
    from importlib import import_module

    jax: Any = import_module("jax")
    jnp: Any = import_module("jax.numpy")

    def value(ps: Any, x: Any) -> Any:
        for W, b in ps[:-1]:
            x = x @ W + b
            x = jax.nn.leaky_relu((x - x.mean()) / jnp.sqrt(x.var() + 1e-5))
        return (x @ ps[-1][0] + ps[-1][1])[0]

    def update(state: Any, given: Any) -> Any:
        ps, es, mean, p2, count = state
        x, reward, y = given
        count = count + 1
        d = x - mean
        mean = mean + d / count
        p2 = p2 + d * (x - mean)
        sd = jnp.sqrt(p2 / jnp.maximum(1.0, count - 1) + 1e-8)
        x, y = (x - mean) / sd, (y - mean) / sd
        v, g = jax.value_and_grad(value)(ps, x)
        delta = reward + GAMMA * value(ps, y) - v
        es = jax.tree.map(lambda e, g: GAMMA * LAM * e + g, es, g)
        total = sum(jnp.abs(e).sum() for e in jax.tree.leaves(es))
        step = delta / jnp.maximum(1.0, 2.0 * jnp.maximum(jnp.abs(delta), 1.0) * total)
        return (jax.tree.map(lambda w, e: w + step * e, ps, es), es, mean, p2, count), v

    widths = (INPUTS, units, units, 1)
    rng = np.random.default_rng(0)
    ps = [(jnp.array(rng.uniform(-1, 1, (a, b)) / np.sqrt(a), jnp.float32), jnp.zeros(b)) for a, b in pairwise(widths)]
    state = (ps, jax.tree.map(jnp.zeros_like, ps), jnp.zeros(INPUTS), jnp.zeros(INPUTS), 0.0)
    run = jax.jit(lambda s, xs: jax.lax.scan(update, s, xs))
    X = jnp.array(rng.normal(size=(5001, INPUTS)), jnp.float32)

    def many(n: int) -> None:
        jax.block_until_ready(run(state, (X[:n], jnp.ones(n), X[1 : n + 1])))

    return many


def alternating(functions: dict[str, tuple[Callable[[int], Any], int]], rounds: int = 7) -> dict[str, float]:
    """µs of processor time per update, the best of the rounds."""
    found: dict[str, float] = {}
    for _ in range(rounds + 1):  # the first round compiles
        for name, (run, n) in functions.items():
            begun = time.process_time()
            run(n)
            found[name] = min(found.get(name, np.inf), (time.process_time() - begun) / n * 1e6)
    return found


def updates(sizes: list[int]) -> None:
    """Print the cost of updates by size."""
    print("| units | parameters | bound | update | update_many | of the bound | PyTorch | ratio | lax.scan | ratio |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for units in sizes:
        one, many = ours(units, td.steps.ObGD())
        size = td.Network(INPUTS, (units, units)).size
        w, e = aligned(np.ones(size, np.float32)), aligned(np.zeros(size, np.float32))
        functions: dict[str, Any] = {"bound": (lambda n, w=w, e=e: bare(w, e, n), 2000)}
        functions |= {"update": (one, 3000), "update_many": (many, 3000)}
        for name, make, n, package in (("PyTorch", pytorch, 200, TORCH), ("lax.scan", jax_scan, 2000, "jax")):
            try:
                functions[name] = (make(units), n)
            except ImportError:
                print(f"{name} is left out: pip install {package}", file=sys.stderr)
        t = alternating(functions)
        torch_ratio = f"{t['PyTorch']:.0f} | {t['PyTorch'] / t['update']:.0f}" if "PyTorch" in t else "- | -"
        scan = f"{t['lax.scan']:.1f} | {t['lax.scan'] / t['update_many']:.1f}" if "lax.scan" in t else "- | -"
        cells = [f"{units} × {units}", f"{size:,}", *(f"{t[n]:.2f} µs" for n in ("bound", "update", "update_many"))]
        cells += [f"{t['bound'] / t['update_many']:.0%}", torch_ratio, scan]
        print(f"| {' | '.join(cells)} |", flush=True)


def torch_agent(d: int, n: int, units: int, continuous: bool) -> Any:
    """(act, update): the streaming actor-critic as a user of PyTorch writes it."""
    import torch
    from torch.distributions import Categorical, Normal

    torch.set_num_threads(1)

    def net(outputs: int) -> Any:
        layers: list[Any] = []
        for n_in in (d, units):
            layers += [torch.nn.Linear(n_in, units), torch.nn.LayerNorm(units, elementwise_affine=False)]
            layers += [torch.nn.LeakyReLU()]
        return torch.nn.Sequential(*layers, torch.nn.Linear(units, outputs))

    nets = [net(1), net(n * (1 + continuous))]
    traces = [[torch.zeros_like(p) for p in one.parameters()] for one in nets]
    seen: list[Any] = [np.zeros(d), np.zeros(d), 0]

    def placed(x: Any) -> Any:
        seen[2] += 1
        away = x - seen[0]
        seen[0] = seen[0] + away / seen[2]
        seen[1] = seen[1] + away * (x - seen[0])
        return torch.from_numpy(((x - seen[0]) / np.sqrt(seen[1] / max(1, seen[2] - 1) + 1e-8)).astype(np.float32))

    def policy(x: Any) -> Any:
        out = nets[1](x)
        return Normal(out[:n], torch.nn.functional.softplus(out[n:]) + 1e-6) if continuous else Categorical(logits=out)

    def act(x: Any) -> Any:
        with torch.no_grad():
            return policy(x).sample()

    def update(x: Any, action: Any, reward: float, y: Any, ended: bool, over: bool) -> None:
        v = nets[0](x)
        delta = (reward + (0.0 if ended else GAMMA * nets[0](y).detach()) - v).item()
        v.backward()
        pi = policy(x)
        (pi.log_prob(action).sum() + 0.01 * np.sign(delta) * pi.entropy().sum()).backward()
        for one, own, kappa in zip(nets, traces, (2.0, 3.0), strict=True):
            with torch.no_grad():
                total = 0.0
                for p, e in zip(one.parameters(), own, strict=True):
                    e.mul_(GAMMA * LAM).add_(p.grad)
                    total += e.abs().sum().item()
                    p.grad = None
                step = 1 / max(1.0, kappa * max(abs(delta), 1.0) * total)
                for p, e in zip(one.parameters(), own, strict=True):
                    p.add_(e, alpha=step * delta)
                    if over:
                        e.zero_()

    return placed, act, update


def in_gymnasium(name: str, units: int) -> None:
    """Print the cost of a step of the actor-critic in an environment."""
    import gymnasium as gym

    try:
        env: Any = gym.make(name)
    except gym.error.Error as error:
        print(f'| {name} | {error}; or pip install -e ".[environments]" |')
        return
    d, box = env.observation_space.shape[0], hasattr(env.action_space, "low")
    n = int(env.action_space.shape[0] if box else env.action_space.n)
    agent = td.ActorCritic.for_env(env, td.Network(d, (units, units)))

    def train(steps: int) -> None:
        td.train(env, agent, steps, seed=0, gamma=GAMMA, progress=False)

    placed, act, update = torch_agent(d, n, units, box)

    def script(steps: int) -> None:
        x = placed(env.reset(seed=0)[0])
        for _ in range(steps):
            a = act(x)
            taken = np.clip(a.numpy(), env.action_space.low, env.action_space.high) if box else int(a)
            obs, reward, ended, cut, _ = env.step(taken)
            y = placed(obs)
            update(x, a, float(reward), y, ended, ended or cut)
            x = placed(env.reset()[0]) if ended or cut else y

    t = alternating({"ours": (train, 1000), "PyTorch": (script, 150)}, rounds=4)
    cells = [name, f"{units} × {units}", f"{t['ours']:.0f} µs", f"{t['PyTorch']:.0f} µs"]
    print(f"| {' | '.join(cells)} | {t['PyTorch'] / t['ours']:.1f} |", flush=True)


def in_a_world() -> None:
    """Print the pace of the actor-critic in compiled CartPole."""
    import gymnasium as gym

    agent = td.ActorCritic.for_env(gym.make("CartPole-v1"), td.Network(4, (32, 32)))

    def run(steps: int) -> None:
        td.control.run("CartPole-v1", [agent], seeds=1, steps=steps, gamma=GAMMA, threads=1, progress=False, points=1)

    t = alternating({"world": (run, 50_000)}, rounds=3)
    print(f"\ncompiled CartPole, 32 × 32: {1e6 / t['world']:,.0f} steps per second")


COLD = """
import time; begun = time.process_time()
import tdlambda as td
v = td.TD(td.Network(17), td.steps.ObGD(), 0.8)
v.update([0.0] * 17, 1.0, [1.0] * 17, 0.99)
print(f"first update, without a cache: {time.process_time() - begun:.1f} s of processor time, imports included")
"""


def main() -> None:
    about = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    about.add_argument("--sizes", type=int, nargs="*", default=[64, 128, 256])
    about.add_argument("--agents", action="store_true")
    about.add_argument("--cold", action="store_true")
    given = about.parse_args()
    if given.cold:
        with tempfile.TemporaryDirectory() as folder:
            own = {"TDLAMBDA_CACHE": folder, "NUMBA_CACHE_DIR": folder, "TDLAMBDA_QUIET": "1"}
            subprocess.run([sys.executable, "-c", COLD], env=os.environ | own, check=True)
    elif given.agents and find_spec("torch") is None:
        sys.exit(f"--agents compares with PyTorch, which is not installed: pip install {TORCH}")
    elif given.agents:
        print("| environment | units | ours + environment | PyTorch + environment | ratio |")
        print("| --- | --- | --- | --- | --- |")
        for name, units in (("CartPole-v1", 64), ("LunarLander-v3", 64), ("Hopper-v5", 128)):
            in_gymnasium(name, units)
        in_a_world()
    else:
        updates(given.sizes)


if __name__ == "__main__":
    main()
