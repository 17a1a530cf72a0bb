"""A bank of learners with averaged copies, mixed by an estimate of relative value error: the prototype and variants.

    python experiments/auto_td/bank.py --seeds 1000 8 --steps 1000000 --tasks ring4 walk "" "zhat=1 window=3"

prints, for each task, the ratio of the bank's error to that of the best fixed (α, λ) of the thesis' 168 in hindsight,
at 10⁴, 10⁵, … steps and in area under the curve; and beside it the same for the best single expert of the bank.
Standalone: one compiled function, tabular or sparse features, nothing shared with the library but its tasks.
"""

import argparse
import time
from typing import Any

import numba
import numpy as np
from baselines import fixed, points, tasks

OPTIONS = {
    "every": 100.0,  # steps between looks at the weights
    "window": 4.0,  # statistics of time s weigh (s/t)^window
    "shrink": 1.0,  # loss is shrink·A - 2B
    "heat": 1.0,  # factor on the temperature s²
    "zhat": 2.0,  # 0: the trace z itself; 1: its regression on the features, before this visit; 2: with this visit
    "zfloor": 0.1,  # least step of that regression
    "pace": 2.0,  # averaged copies: w̄ += min(1, pace·M/n) (w - w̄)
    "restart": 6.0,  # standard errors at which an averaged copy restarts
    "detect": 1.0,  # 1: statistics at several scales; the short ones take over when they say so
    "cut": 0.0,  # 1: ratios beyond 1 are cut in z
    "bounded": 1.0,  # 1: λ is divided by a ratio beyond 1, so that traces never grow
    "prior": 2.0,  # strength of the preference at the start for the averaged copy of α = 0.1, λ = 0.4
    "centre": 2.0,  # the preferred α is centre / √(steps / features), at most 0.3; 0: always 0.1
    "top": 0.1,  # the largest α preferred
    "eta": 0.0,  # share of the trace itself in what the regression bootstraps from (1: plain regression of z)
}
NAMES = list(OPTIONS)
SCALES = 4
K, L = 24, 48


@numba.njit(error_model="numpy", fastmath={"nsz", "arcp", "contract", "afn", "reassoc"})
def run(
    alpha, lam, index, value, state, reward, next_state, gamma, rho, terminated, points, truth, weight, o, beta
):  # fmt: skip
    n = int(index.max()) + 1
    every = int(o[0])
    window, shrink, heat, use_zhat, zfloor, pace, restart, detect, cut = (
        o[1],
        o[2],
        o[3],
        o[4],
        o[5],
        o[6],
        o[7],
        o[8],
        o[9],
    )
    bounded, prior, centre, top, eta_z = o[10], o[11], o[12], o[13], o[14]
    pr = np.zeros(L)
    for k in range(K):
        pr[k] = pr[K + k] = prior * (abs(np.log(alpha[k] / 0.1)) + 4.0 * abs(lam[k] - 0.4))
        pr[k] += prior
    W, E = np.zeros((n, L)), np.zeros((n, K))
    T, N = np.zeros((n, L)), np.zeros(n)  # regression of z, visits
    decay, v_old = np.zeros(K), np.zeros(K)
    V, c, z, zh = np.zeros(L), np.zeros(L), np.zeros(L), np.zeros(L)
    A, B, Q = np.zeros(L), np.zeros(L), np.zeros(L)
    a, b, q = np.zeros(L), np.zeros(L), np.zeros(L)
    SA, SB, SQ = np.zeros((SCALES, L)), np.zeros((SCALES, L)), np.zeros((SCALES, L))
    SN = np.zeros(SCALES)
    # losses of the averaged copy minus those of the learner since its window began, and the variances
    tw_loss, tw_q, tw_n = np.zeros(K), np.zeros(K), np.zeros(K)
    p = np.zeros(L)
    age = np.zeros(K)
    dead = np.zeros(L, dtype=np.bool_)
    low = alpha.min()
    for k in range(K):
        if prior > 0.0:
            p[k], p[K + k] = np.exp(-pr[k]), np.exp(-pr[K + k])
        elif alpha[k] == low:
            p[k] = p[K + k] = 1.0
    p /= p.sum()
    r_max, h, h_max, g_max = 0.0, 0.0, 1.0, 0.0
    t_eff = 0.0
    first, u_prev, x2 = True, 0.0, 1e-12
    errors, each = np.zeros(points.size), np.zeros((points.size, L))
    restarts = np.zeros(points.size)
    n_restarts, n_detect = 0, 0
    point = 0
    vs, vn, xe = np.zeros(K), np.zeros(K), np.zeros(K)
    for t in range(state.size):
        x, xv, y, yv = index[state[t]], value[state[t]], index[next_state[t]], value[next_state[t]]
        norm = 0.0
        for j in range(x.size):
            norm += xv[j] * xv[j]
        x2 = max(x2, norm)
        r_max = max(r_max, abs(reward[t]))
        g = 0.0 if terminated[t] else gamma[t]
        g_max = max(g_max, g)
        h = 1.0 if first else h * gamma[t - 1] + 1.0
        h_max = max(h_max, h)
        cap = r_max * (min(1.0 / (1.0 - g_max), 10.0 * h_max) if g_max < 1.0 else 10.0 * h_max)
        # predictions
        V[:] = 0.0
        for j in range(x.size):
            for l in range(L):
                V[l] += xv[j] * W[x[j], l]
        u = 0.0
        for l in range(L):
            v = min(cap, max(-cap, V[l]))
            if dead[l]:
                v = 0.0
            c[l] = v
            u += p[l] * v
        if not first:
            keep = min(1.0, rho[t - 1]) if cut > 0 else rho[t - 1]
            d = rho[t - 1] * (reward[t - 1] + gamma[t - 1] * u - u_prev)
            for l in range(L):
                s = d * (zh[l] if use_zhat > 0 else z[l])
                b[l] += s
                q[l] += s * s
                z[l] = keep * gamma[t - 1] * (zh[l] + eta_z * (z[l] - zh[l]) if use_zhat > 0 else z[l])
        else:
            z[:] = 0.0
        for l in range(L):
            c[l] -= u
            z[l] += c[l]
            a[l] += c[l] * c[l]
        if use_zhat > 0:
            zh[:] = 0.0
            for j in range(x.size):
                N[x[j]] += xv[j] * xv[j] / norm
                for l in range(L):
                    zh[l] += xv[j] * T[x[j], l]
            for j in range(x.size):
                eta = max(zfloor, 1.0 / (N[x[j]] + 1.0)) * xv[j] / norm
                for l in range(L):
                    T[x[j], l] += eta * (z[l] - zh[l])
            if use_zhat > 1:
                zh[:] = 0.0
                for j in range(x.size):
                    for l in range(L):
                        zh[l] += xv[j] * T[x[j], l]
        u_prev = u
        if terminated[t]:
            d = rho[t] * (reward[t] - u)
            for l in range(L):
                s = d * (zh[l] if use_zhat > 0 else z[l])
                b[l] += s
                q[l] += s * s
        # raw learners: true online TD
        vn[:] = 0.0
        if not terminated[t]:
            for j in range(y.size):
                for l in range(K):
                    vn[l] += yv[j] * W[y[j], l]
        xe[:] = 0.0
        for j in range(x.size):
            for l in range(K):
                xe[l] += xv[j] * E[x[j], l]
        for l in range(K):
            step = alpha[l] / x2
            old = V[l] if first else v_old[l]
            k = rho[t] * decay[l]
            vs[l] = reward[t] + g * vn[l] - old  # along
            xe[l] = rho[t] * step * (1.0 - k * xe[l])  # new
            c[l] = vs[l] * xe[l] - (V[l] - old) * step * rho[t]  # to x
            E_k = k
            v_old[l] = vn[l]
            decay[l] = g * lam[l] * (min(1.0, 1.0 / rho[t]) if bounded > 0 and rho[t] > 0 else 1.0)
            V[l] = E_k
        for f in range(n):
            for l in range(K):
                e = E[f, l] * V[l]
                E[f, l] = e
                W[f, l] += vs[l] * e
        for j in range(x.size):
            for l in range(K):
                E[x[j], l] += xe[l] * xv[j]
                W[x[j], l] += c[l] * xv[j]
        first = terminated[t]
        if first:
            E[:] = 0.0
            decay[:] = 0.0
        # weights
        if (t + 1) % every == 0:
            t_eff += every
            f = max(0.0, 1.0 - every / t_eff) ** window
            for l in range(L):
                A[l] = f * A[l] + a[l]
                B[l] = f * B[l] + b[l]
                Q[l] = f * f * Q[l] + q[l] if window < 0 else f * Q[l] + q[l]
            if detect > 0:
                for i in range(SCALES):
                    f = 1.0 - 1.0 / (5.0 * 4.0**i)
                    SN[i] = f * SN[i] + every
                    for l in range(L):
                        SA[i, l] = f * SA[i, l] + a[l]
                        SB[i, l] = f * SB[i, l] + b[l]
                        SQ[i, l] = f * SQ[i, l] + q[l]
                done = False
                for i in range(SCALES):
                    if done or SN[i] > 0.3 * t_eff:
                        continue
                    for l in range(L):
                        if not dead[l] and 2 * SB[i, l] - SA[i, l] > 2 * restart * np.sqrt(SQ[i, l]) and SA[i, l] > 0:
                            done = True
                    if done:
                        n_detect += 1
                        t_eff = SN[i]
                        for l in range(L):
                            A[l], B[l], Q[l] = SA[i, l], SB[i, l], SQ[i, l]
            for k in range(K):  # averaged copies
                r = K + k
                tw_loss[k] += (a[r] - 2 * b[r]) - (a[k] - 2 * b[k])
                tw_q[k] += (np.sqrt(q[r]) + np.sqrt(q[k])) ** 2
                tw_n[k] += every
                whole = tw_n[k] >= max(10 * every, age[k] / 10.0)
                bad = whole and tw_loss[k] > restart * np.sqrt(tw_q[k])
                if detect > 0:
                    for i in range(SCALES):
                        gap = (SA[i, r] - 2 * SB[i, r]) - (SA[i, k] - 2 * SB[i, k])
                        if gap > restart * (np.sqrt(SQ[i, r]) + np.sqrt(SQ[i, k])) and SN[i] < age[k]:
                            bad = True
                if bad and age[k] > 0:
                    age[k] = 0.0
                    n_restarts += 1
                    A[r], B[r], Q[r] = A[k], B[k], Q[k]
                    for i in range(SCALES):
                        SA[i, r], SB[i, r], SQ[i, r] = SA[i, k], SB[i, k], SQ[i, k]
                    for f_ in range(n):
                        T[f_, r] = T[f_, k]
                    z[r] = z[k]
                if bad or whole:
                    tw_loss[k] = tw_q[k] = tw_n[k] = 0.0
                age[k] += every
                by = min(1.0, pace * every / age[k])
                for f_ in range(n):
                    W[f_, r] += by * (W[f_, k] - W[f_, r])
            a[:] = 0.0
            b[:] = 0.0
            q[:] = 0.0
            for l in range(L):
                for f_ in range(n):
                    if not abs(W[f_, l]) < 1e6 * (cap + 1e-300) and r_max > 0:
                        dead[l] = True
            s2, seen = 0.0, 0.0
            for l in range(L):
                if A[l] > 0 and not dead[l]:
                    s2 += p[l] * Q[l] / A[l]
                    seen += p[l]
            if seen > 0 and s2 > 0:
                s2 /= seen
                if centre > 0:
                    middle = min(top, centre / np.sqrt(t_eff / n))
                    for k in range(K):
                        pr[K + k] = prior * (abs(np.log(alpha[k] / middle)) + 4.0 * abs(lam[k] - 0.4))
                        pr[k] = pr[K + k] + prior
                best = 1e300
                for l in range(L):
                    c[l] = 1e300
                    if not dead[l]:
                        s2_l = max(s2, Q[l] / A[l]) if A[l] > 0 else s2
                        c[l] = (shrink * A[l] - 2 * B[l]) / (2 * heat * s2_l) + pr[l]
                        best = min(best, c[l])
                total = 0.0
                for l in range(L):
                    p[l] = np.exp(best - c[l]) if not dead[l] else 0.0
                    total += p[l]
                p /= total
        if point < points.size and t + 1 == points[point]:
            for s in range(truth.size):
                if weight[s] > 0:
                    u = 0.0
                    for l in range(L):
                        v = 0.0
                        for j in range(index.shape[1]):
                            v += value[s, j] * W[index[s, j], l]
                        v = min(cap, max(-cap, v))
                        each[point, l] += weight[s] * (v - truth[s]) ** 2
                        if not dead[l]:
                            u += p[l] * v
                    errors[point] += weight[s] * (u - truth[s]) ** 2
            restarts[point] = n_restarts + 1000 * n_detect
            point += 1
    return errors, each, p, restarts


ALPHAS, LAMBDAS = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001), (0.0, 0.4, 0.8, 0.95)


def bank_errors(name: str, seeds: list[int], steps: int, options: dict[str, float], grid: Any = None) -> Any:
    """Errors [seed, point] of the mixture, and of each expert [seed, point, expert]."""
    task = tasks()[name]
    alphas, lambdas = grid or (ALPHAS, LAMBDAS)
    pairs = np.array([(a, z) for a in alphas for z in lambdas])
    mdp = task.mdp
    index, value = task.features.encode_batch(np.arange(mdp.n_states))
    d = np.where(mdp.terminal, 0.0, mdp.under(task.target).error_weights())
    o = np.array([float(options[k]) for k in NAMES])
    found = []
    for seed in seeds:
        c = task.sampler(seed).take(steps)
        found.append(run(
            pairs[:, 0].copy(), pairs[:, 1].copy(), np.ascontiguousarray(index), np.ascontiguousarray(value),
            c.obs, c.reward, c.next_obs, c.gamma, c.rho, c.terminated, points(10**6), mdp.v(task.target), d, o, 0.0,
        ))  # fmt: skip
    return tuple(np.array([f[i] for f in found]) for i in range(4))


def windows(steps: int) -> dict[str, np.ndarray]:
    """Which points make up each number that is reported."""
    at = points(10**6)
    powers = [10**k for k in range(4, 8) if 10**k <= steps]
    even = np.isin(at, np.arange(1, 101) * 10**4) & (at <= steps)
    return {f"{p:.0e}": (at > 0.9 * p) & (at <= p) for p in powers} | {"AUC": even}


def report(
    names: list[str], seeds: list[int], steps: int, options: dict[str, float], label: str, grid: Any = None
) -> None:
    """Print the ratios of one variant."""
    began = time.perf_counter()
    rows, best = [], []
    for name in names:
        error, each, _, restarts = bank_errors(name, seeds, steps, options, grid)
        base = fixed(name, seeds, 10**6)
        ratios, oracle = [], []
        for near in windows(steps).values():
            reference = np.nanmin(base[..., near].mean(axis=(2, 3)))
            ratios.append(error[:, near].mean() / reference)
            oracle.append(each[:, near].mean(axis=(0, 1)).min() / reference)
        rows.append(ratios)
        best.append(oracle)
        text = " / ".join(f"{r:.2f}" for r in ratios), " / ".join(f"{r:.2f}" for r in oracle)
        print(f"  {name:9s} {text[0]:34s} best expert {text[1]}  restarts {restarts[:, -1].mean():.1f}", flush=True)
    mean = np.exp(np.log(rows).mean(axis=0))
    print(f"{label:40s} geometric mean {' / '.join(f'{r:.2f}' for r in mean)}   worst "
          f"{np.max(rows):.2f}  ({time.perf_counter() - began:.0f} s)", flush=True)  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", nargs=2, type=int, default=(1000, 8))
    parser.add_argument("--steps", type=int, default=10**6)
    parser.add_argument("--tasks", nargs="*", default=["ring4", "ring2", "lake", "walk", "garnet0"])
    parser.add_argument("variants", nargs="*", help='such as "zhat=1 window=3"')
    parser.add_argument("--alphas", nargs="*", type=float, default=list(ALPHAS))
    parser.add_argument("--lambdas", nargs="*", type=float, default=list(LAMBDAS))
    options = parser.parse_args()
    first, many = options.seeds
    for variant in options.variants or [""]:
        chosen = OPTIONS | {k: float(v) for k, v in (pair.split("=") for pair in variant.split())}
        grid = (options.alphas, options.lambdas)
        report(options.tasks, list(range(first, first + many)), options.steps, chosen, variant or "as it stands", grid)
