# ruff: noqa: B905
# mypy: ignore-errors
"""Variants of a λ rule that minimises the value error, beside every fixed λ, on the same trajectories.

    python experiments/value_error_greedy/laboratory.py --tasks ring.4 lake walk --variants proto gn --seeds 1000 8

Final error (mean of the last tenth of the curve) / area under the curve, each over the best of the eight fixed λ at the
same α. A lane is one learner: all lanes see the same stream. This is a laboratory, not the library: see
experiments/how-we-chose.md for what came of it.
"""

import argparse
import os
from pathlib import Path

import numpy as np
from numba import njit

import tdlambda as td
from tdlambda.runner.truth import exact_truth

LAMS = (0.0, 0.4, 0.8, 0.9, 0.95, 0.975, 0.99, 1.0)
ALPHAS = (1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 1e-1)
FIXED, LOCAL, GLOBAL = 0, 1, 2
# numbers of a lane
(
    ALPHA,
    MODE,
    LAM,
    ORACLE,
    M_STEP,
    M_FLOOR,
    VAR_FACTOR,
    Z_RATE,
    WINDOW,
    BATCH,
    L_RATE,
    LOCAL_Z,
    START,
    KEEP_H,
    FRESH,
    VAR_FLOOR,
    MIX,
    OPT,
    PROJ,
    M_LAM,
    M_POWER,
    M_LEAST,
    VARL,
    NODELTA,
    QUAD,
    COVER,
    DRIFT,
    DRIFT_RATE,
) = range(28)
NUMBERS = 28

DEFAULT = {
    M_STEP: 0.02,
    M_FLOOR: 0.1,
    VAR_FACTOR: 1.5,
    Z_RATE: 0.3,
    WINDOW: 0.3,
    BATCH: 1e9,
    START: 1.0,
    FRESH: 3.0,
    M_LAM: 1.0,
    M_LEAST: 1.0,
}
LONG = {MODE: LOCAL, M_LAM: 0.8, M_STEP: 0.5, M_POWER: 0.6, M_FLOOR: 0.01}
W1 = LONG | {PROJ: 1, Z_RATE: 0.1, LOCAL_Z: 2, M_POWER: 0.5, NODELTA: 1, BATCH: 1000}
T = W1 | {VAR_FACTOR: 1, COVER: 0.5}
EXACT = {MODE: LOCAL, ORACLE: 1, PROJ: 1, Z_RATE: 0.1, LOCAL_Z: 2, NODELTA: 1, BATCH: 1000}
VARIANTS = {
    "o-e": {MODE: LOCAL, ORACLE: 1, PROJ: 1},
    "o-e-full": {MODE: LOCAL, ORACLE: 1, PROJ: 1, OPT: 1},
    "o-L": {MODE: LOCAL, ORACLE: 1, PROJ: 1, L_RATE: 0.1, MIX: 1.0},
    "o-L.5": {MODE: LOCAL, ORACLE: 1, PROJ: 1, L_RATE: 0.1, MIX: 0.5},
    "o-L.8": {MODE: LOCAL, ORACLE: 1, PROJ: 1, L_RATE: 0.1, MIX: 0.8},
    "o-L-fast": {MODE: LOCAL, ORACLE: 1, PROJ: 1, L_RATE: 0.5, MIX: 1.0},
    "o-L-full": {MODE: LOCAL, ORACLE: 1, PROJ: 1, L_RATE: 0.1, MIX: 1.0, OPT: 1},
    "o-e-z.1": {MODE: LOCAL, ORACLE: 1, PROJ: 1, Z_RATE: 0.1},
    "o-Lf-z.1": {MODE: LOCAL, ORACLE: 1, PROJ: 1, L_RATE: 0.5, MIX: 1.0, Z_RATE: 0.1},
    "o-Lf-r.3": {MODE: LOCAL, ORACLE: 1, PROJ: 1, L_RATE: 0.5, MIX: 1.0, LOCAL_Z: 1},
    "o-Lf-r.1": {MODE: LOCAL, ORACLE: 1, PROJ: 1, L_RATE: 0.5, MIX: 1.0, LOCAL_Z: 1, Z_RATE: 0.1},
    "o-Lf-r.03": {MODE: LOCAL, ORACLE: 1, PROJ: 1, L_RATE: 0.5, MIX: 1.0, LOCAL_Z: 1, Z_RATE: 0.03},
    "o-r.1": {MODE: LOCAL, ORACLE: 1, PROJ: 1, LOCAL_Z: 1, Z_RATE: 0.1},
    "Lf-r.1": LONG | {PROJ: 1, L_RATE: 0.5, MIX: 1.0, LOCAL_Z: 1, Z_RATE: 0.1},
    "Lf-r.1-m.02": LONG | {PROJ: 1, L_RATE: 0.5, MIX: 1.0, LOCAL_Z: 1, Z_RATE: 0.1, M_STEP: 0.02, M_POWER: 0.0},
    "Lf-r.1-p.5": LONG | {PROJ: 1, L_RATE: 0.5, MIX: 1.0, LOCAL_Z: 1, Z_RATE: 0.1, M_POWER: 0.5},
    "Lf-r.1-p.5-l.9": LONG | {PROJ: 1, L_RATE: 0.5, MIX: 1.0, LOCAL_Z: 1, Z_RATE: 0.1, M_POWER: 0.5, M_LAM: 0.9},
    "Lf-r.1-l1": LONG | {PROJ: 1, L_RATE: 0.5, MIX: 1.0, LOCAL_Z: 1, Z_RATE: 0.1, M_POWER: 0.5, M_LAM: 1.0},
    "oN": {MODE: LOCAL, ORACLE: 1, PROJ: 1, L_RATE: 0.5, MIX: 1.0, LOCAL_Z: 1, Z_RATE: 0.1, VARL: 1},
    "N": LONG | {PROJ: 1, L_RATE: 0.5, MIX: 1.0, LOCAL_Z: 1, Z_RATE: 0.1, M_POWER: 0.5, VARL: 1},
    "N.3": LONG | {PROJ: 1, L_RATE: 0.5, MIX: 1.0, LOCAL_Z: 1, Z_RATE: 0.3, M_POWER: 0.5, VARL: 1},
    "Nz.1": LONG | {PROJ: 1, L_RATE: 0.5, MIX: 1.0, Z_RATE: 0.1, M_POWER: 0.5, VARL: 1},
    "N-nod": LONG | {PROJ: 1, L_RATE: 0.5, MIX: 1.0, LOCAL_Z: 1, Z_RATE: 0.1, M_POWER: 0.5, VARL: 1, NODELTA: 1},
    "N.01": LONG | {PROJ: 1, L_RATE: 0.5, MIX: 1.0, LOCAL_Z: 1, Z_RATE: 0.01, M_POWER: 0.5, VARL: 1},
    "Nz.03": LONG | {PROJ: 1, L_RATE: 0.5, MIX: 1.0, Z_RATE: 0.03, M_POWER: 0.5, VARL: 1},
    "Nz.01": LONG | {PROJ: 1, L_RATE: 0.5, MIX: 1.0, Z_RATE: 0.01, M_POWER: 0.5, VARL: 1},
    "Nz.1-nod": LONG | {PROJ: 1, L_RATE: 0.5, MIX: 1.0, Z_RATE: 0.1, M_POWER: 0.5, VARL: 1, NODELTA: 1},
    "N-f5": LONG | {PROJ: 1, L_RATE: 0.5, MIX: 1.0, LOCAL_Z: 1, Z_RATE: 0.1, M_POWER: 0.5, VARL: 1, VAR_FACTOR: 5},
    "N-a": LONG | {PROJ: 0, L_RATE: 0.5, MIX: 1.0, Z_RATE: 0.1, M_POWER: 0.5, VARL: 1},
    "E1": LONG | {PROJ: 1, Z_RATE: 0.1, M_POWER: 0.5, NODELTA: 1, BATCH: 1000},
    "E1-f3": LONG | {PROJ: 1, Z_RATE: 0.1, M_POWER: 0.5, NODELTA: 1, BATCH: 1000, VAR_FACTOR: 3},
    "Q1": LONG | {PROJ: 1, L_RATE: 0.5, MIX: 1.0, Z_RATE: 0.1, M_POWER: 0.5, NODELTA: 1, BATCH: 1000},
    "Q1-f3": LONG | {PROJ: 1, L_RATE: 0.5, MIX: 1.0, Z_RATE: 0.1, M_POWER: 0.5, NODELTA: 1, BATCH: 1000, VAR_FACTOR: 3},
    "W1": W1,
    "W1-f3": LONG | {PROJ: 1, Z_RATE: 0.1, LOCAL_Z: 2, M_POWER: 0.5, NODELTA: 1, BATCH: 1000, VAR_FACTOR: 3},
    "W1-f3-10": LONG
    | {PROJ: 1, Z_RATE: 0.1, LOCAL_Z: 2, M_POWER: 0.5, NODELTA: 1, BATCH: 1000, VAR_FACTOR: 3, M_FLOOR: 0.1},
    "W1-z.03": LONG | {PROJ: 1, Z_RATE: 0.03, LOCAL_Z: 2, M_POWER: 0.5, NODELTA: 1, BATCH: 1000},
    "WL": LONG | {PROJ: 1, L_RATE: 0.5, MIX: 1.0, Z_RATE: 0.1, LOCAL_Z: 2, M_POWER: 0.5, NODELTA: 1, BATCH: 1000},
    "S": W1 | {QUAD: 1},
    "S-f3": W1 | {QUAD: 1, VAR_FACTOR: 3},
    "o-S": EXACT | {QUAD: 1},
    "o-W": EXACT,
    "T1-0.25": T | {COVER: 0.25},
    "T1-0.5": T,
    "T1-1": T | {COVER: 1},
    "T1.5-0.25": T | {COVER: 0.25, VAR_FACTOR: 1.5},
    "T1.5-0.5": T | {VAR_FACTOR: 1.5},
    "T1.5-1": T | {COVER: 1, VAR_FACTOR: 1.5},
    "T-l0": T | {M_LAM: 0.0},
    "T-l4": T | {M_LAM: 0.4},
    "T-l95": T | {M_LAM: 0.95},
    "T-l1": T | {M_LAM: 1.0},
    "T-s2": T | {M_STEP: 2.0},
    "T-p4": T | {M_POWER: 0.4},
    "T-fr10": T | {FRESH: 10.0},
    "T-fr1": T | {FRESH: 1.0},
    "T-f0": T | {M_FLOOR: 0.0},
    "T-least1": T | {M_LEAST: 0.1},
    "T-least03": T | {M_LEAST: 0.03},
    "T-least0": T | {M_LEAST: 0.0},
    "TS": T | {QUAD: 1},
    "D5": T | {M_LEAST: 0.1, DRIFT: 5.0, DRIFT_RATE: 0.05},
    "D4": T | {M_LEAST: 0.1, DRIFT: 4.0, DRIFT_RATE: 0.05},
    "D4-.02": T | {M_LEAST: 0.1, DRIFT: 4.0, DRIFT_RATE: 0.02},
    "D5-.02": T | {M_LEAST: 0.1, DRIFT: 5.0, DRIFT_RATE: 0.02},
    "O1-0.5-0": EXACT | {VAR_FACTOR: 1, COVER: 0.5},
    "O2-0-0": EXACT | {ORACLE: 2, VAR_FACTOR: 1},
    "O2-0.5-0": EXACT | {ORACLE: 2, VAR_FACTOR: 1, COVER: 0.5},
    "O2-0.5-1": EXACT | {ORACLE: 2, VAR_FACTOR: 1, COVER: 0.5, QUAD: 1},
    "O1-0.5-1": EXACT | {VAR_FACTOR: 1, COVER: 0.5, QUAD: 1},
    "long": LONG,
    "e": LONG | {PROJ: 1},
    "e-f1": LONG | {PROJ: 1, VAR_FACTOR: 1.0},
    "e-f3": LONG | {PROJ: 1, VAR_FACTOR: 3.0},
    "e-z.1": LONG | {PROJ: 1, Z_RATE: 0.1},
    "e-z1": LONG | {PROJ: 1, Z_RATE: 1.0},
    "e-full": LONG | {PROJ: 1, OPT: 1},
    "proto": {MODE: LOCAL},
    "proto-oracle": {MODE: LOCAL, ORACLE: 1},
    "m0": {MODE: LOCAL, M_LAM: 0.0},
    "m0s.1": {MODE: LOCAL, M_LAM: 0.0, M_STEP: 0.1},
    "m.8": {MODE: LOCAL, M_LAM: 0.8},
    "m.8s.1": {MODE: LOCAL, M_LAM: 0.8, M_STEP: 0.1},
    "m.9s.1": {MODE: LOCAL, M_LAM: 0.9, M_STEP: 0.1},
    "oracle-full": {MODE: LOCAL, ORACLE: 1, OPT: 1},
    "oracle-f1": {MODE: LOCAL, ORACLE: 1, VAR_FACTOR: 1.0},
    "oracle-f3": {MODE: LOCAL, ORACLE: 1, VAR_FACTOR: 3.0},
    "p": {MODE: LOCAL, M_LAM: 0.8, M_STEP: 0.5, M_POWER: 0.6},
    "p.7": {MODE: LOCAL, M_LAM: 0.8, M_STEP: 0.5, M_POWER: 0.75},
    "p-l0": {MODE: LOCAL, M_LAM: 0.0, M_STEP: 0.5, M_POWER: 0.6},
    "p-l.9": {MODE: LOCAL, M_LAM: 0.9, M_STEP: 0.5, M_POWER: 0.6},
    "p-long": {MODE: LOCAL, M_LAM: 0.8, M_STEP: 0.5, M_POWER: 0.6, M_FLOOR: 0},
    "p-long-least.1": {MODE: LOCAL, M_LAM: 0.8, M_STEP: 0.5, M_POWER: 0.6, M_FLOOR: 0, M_LEAST: 0.1},
    "p.03": {MODE: LOCAL, M_LAM: 0.8, M_STEP: 0.5, M_POWER: 0.6, M_FLOOR: 0.03},
    "p-full": {MODE: LOCAL, M_LAM: 0.8, M_STEP: 0.5, M_POWER: 0.6, OPT: 1},
    "gn": {MODE: GLOBAL},
    "gn-oracle": {MODE: GLOBAL, ORACLE: 1},
    "gn-w.1": {MODE: GLOBAL, WINDOW: 0.1},
    "gn-w1": {MODE: GLOBAL, WINDOW: 1.0},
    "gn-m.03": {MODE: GLOBAL, M_FLOOR: 0.03},
}


@njit(cache=True, nogil=True)
def run(s, s_next, reward, gamma, rho, ended, X, gtd, P, v, weight, points, errors, lambdas, flip):
    n, d = X.shape
    steps = s.size
    every = steps // points
    norm = (X * X).sum(axis=1)
    R = np.sqrt(weight)
    vp = X @ np.linalg.lstsq(np.expand_dims(R, 1) * X, R * v)[0]
    for lane in range(P.shape[0]):
        p = P[lane]
        alpha, mode = p[ALPHA], int(p[MODE])
        lam_next = p[LAM]
        w, h, e, eg, eh = np.zeros(d), np.zeros(d), np.zeros(d), np.zeros(d), np.zeros(d)
        m, em, M, visits = np.zeros(d), np.zeros(d), np.zeros(d), np.zeros(d)
        ebar, u, A, K, k_now, z, zd = (
            np.zeros(d),
            np.zeros(d),
            np.zeros(d),
            np.zeros(d),
            np.zeros(d),
            np.zeros(d),
            np.zeros(d),
        )
        g, de = np.zeros(d), np.zeros(d)
        S, zp, B = 0.0, np.zeros(d), np.zeros(d)
        drift, power, resets = np.zeros(d), np.zeros(d), 0
        theta = p[START]
        v_old, m_old, decay, decay_m, rho_prev, gamma_here = 0.0, 0.0, 0.0, 0.0, 1.0, 0.0
        fresh = True
        since = 0
        lam_sum = 0.0
        for t in range(steps):
            x, y = X[s[t]], X[s_next[t]]
            k = norm[s[t]]
            end = ended[t]
            gn = 0.0 if end else gamma[t]
            r, ro = reward[t], rho[t]
            V, Vn, xe, xem, mx, mn, Mx, Mn, gx, gy, xde = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            hx, xh, grad = 0.0, 0.0, 0.0
            for i in range(d):
                V += w[i] * x[i]
                xe += e[i] * x[i]
                if not end:
                    Vn += w[i] * y[i]
            if gtd:
                for i in range(d):
                    hx += h[i] * x[i]
                    xh += eh[i] * x[i]
                    grad += h[i] * eg[i]
            a = min(1.0, alpha * k)
            delta = r + gn * Vn - V
            if mode != FIXED:
                for i in range(d):
                    mx += m[i] * x[i]
                    xem += em[i] * x[i]
                    Mx += M[i] * x[i]
                    if not end:
                        mn += m[i] * y[i]
                        Mn += M[i] * y[i]
                if p[ORACLE] == 1:
                    Mx, Mn = v[s[t]], v[s_next[t]]
                if p[ORACLE] == 2:
                    Mx, Mn = vp[s[t]], vp[s_next[t]]
                # the mean: m by true online TD with its own step, M its average
                visited, active = 0.0, 0
                for i in range(d):
                    if x[i] != 0:
                        visits[i] += 1
                        visited += visits[i]
                        active += 1
                visited /= active
                am = p[M_STEP] / k
                if p[M_POWER] > 0:
                    am = max(p[M_LEAST] * a, p[M_STEP] / (1 + p[M_STEP] * visited) ** p[M_POWER]) / k
                if fresh:
                    m_old = mx
                dm = r + gn * mn - mx
                km = ro * decay_m
                nm = ro * am * (1 - km * xem)
                for i in range(d):
                    em[i] = km * em[i] + nm * x[i]
                    m[i] += (dm + mx - m_old) * em[i] - (mx - m_old) * am * ro * x[i]
                    if x[i] != 0:
                        rate = max(p[FRESH] / (visits[i] + p[FRESH]), p[M_FLOOR] * a)
                        M[i] += rate * (m[i] - M[i])
                m_old = mn
                decay_m = gn * p[M_LAM] * (min(1.0, 1.0 / ro) if ro > 0 else 1.0)
            if mode == LOCAL:
                lam_here, dB = lam_next, 0.0
                if not end:
                    D = Vn - Mn
                    if p[L_RATE] > 0:
                        By = 0.0
                        for i in range(d):
                            By += B[i] * y[i]
                        D = D - p[MIX] * By
                    gain = a * ro
                    if p[PROJ] == 1:
                        gain = ro * decay * xe + ro * alpha * (1 - ro * decay * xe) * k
                    e0 = V - Mx + (gain * delta if p[NODELTA] == 0 else 0.0)
                    zs, var, cnt, zds = 0.0, 0.0, 0, 0.0
                    for i in range(d):
                        if y[i] != 0:
                            if gain > 0:
                                aim = D * e0 / (a * gn) if p[PROJ] == 0 else D * e0 / (gain * gn)
                                z[i] += max(p[Z_RATE], 1 / (visits[i] + 1)) * (aim - z[i])
                            zs += z[i]
                            zds += zd[i]
                            var += A[i] / K[i] if K[i] > 0 else 0.0
                            cnt += 1
                    zs /= cnt
                    var /= cnt
                    below = (ro if p[PROJ] == 0 else 1.0) * (D * D + p[VAR_FACTOR] * var)
                    if p[LOCAL_Z] == 1:
                        zs, zds = 0.0, 0.0
                        for i in range(d):
                            if y[i] != 0:
                                rate = max(p[Z_RATE], 1 / (visits[i] + 1))
                                if gain > 0:
                                    zp[i] += rate * (gain * D * e0 / gn - zp[i])
                                    zd[i] += rate * (gain * gain * (D * D + p[VAR_FACTOR] * var) - zd[i])
                                zs += zp[i]
                                zds += zd[i]
                        below = zds
                    if p[LOCAL_Z] == 2:
                        zs, zds, c = 0.0, 0.0, gain * gn
                        G, H = c * e0, c * c
                        if p[QUAD] == 1:
                            G, H = 0.0, 0.0
                            kept, added = ro * decay, ro * alpha * (1 - ro * decay * xe)
                            for j in range(n):
                                if weight[j] > 0:
                                    ex, err = 0.0, 0.0
                                    for i in range(d):
                                        ex += (kept * e[i] + added * x[i]) * X[j, i]
                                        err += (w[i] - M[i]) * X[j, i]
                                    if p[ORACLE] >= 1:
                                        err = -v[j] if p[ORACLE] == 1 else -vp[j]
                                        for i in range(d):
                                            err += w[i] * X[j, i]
                                    G += weight[j] * gn * ex * err
                                    H += weight[j] * (gn * ex) ** 2
                        for i in range(d):
                            if y[i] != 0:
                                rate = max(p[Z_RATE], 1 / (visits[i] + 1))
                                zp[i] += rate * (G * D - zp[i])
                                zd[i] += rate * (H - zd[i])
                                zs += zp[i]
                                zds += zd[i]
                        below = zds * (D * D + p[VAR_FACTOR] * var)
                        zs -= p[COVER] * zds * var
                    lam_next = min(1.0, max(0.0, zs / below)) if below > 0 else 1.0
                if p[L_RATE] > 0:
                    Bx, By = 0.0, 0.0
                    for i in range(d):
                        Bx += B[i] * x[i]
                        if not end:
                            By += B[i] * y[i]
                    dB = gn * ((1 - lam_next) * (Vn - Mn) + lam_next * By) - Bx
                    for i in range(d):
                        B[i] += max(p[L_RATE], 1 / visited) / k * ro * dB * x[i]
                dM = r + gn * Mn - Mx
                if p[VARL] == 1:
                    dM += dB
                for i in range(d):
                    ebar[i] = (
                        ro * (gamma_here * lam_here * ebar[i] + x[i])
                        if p[OPT] == 0
                        else ro * (gamma_here * ebar[i] + x[i])
                    )
                    u[i] += dM * ebar[i]
                    if x[i] != 0:
                        k_now[i] += 1
                since += 1
                if end or since >= p[BATCH]:
                    since = 0
                    for i in range(d):
                        if k_now[i] > 0:
                            A[i] += u[i] ** 2
                            K[i] += k_now[i]
                            if p[DRIFT] > 0:
                                drift[i] += p[DRIFT_RATE] * (u[i] - drift[i])
                                power[i] += p[DRIFT_RATE] * (u[i] ** 2 - power[i])
                                if drift[i] ** 2 > p[DRIFT] ** 2 * p[DRIFT_RATE] / 2 * power[i]:
                                    visits[i], drift[i], resets = 0.0, 0.0, resets + 1
                        u[i], k_now[i] = 0.0, 0.0
            elif mode == GLOBAL:
                # e, g are before this step's update: g = dw/dλ
                for i in range(d):
                    gx += g[i] * x[i]
                    xde += de[i] * x[i]
                    if not end:
                        gy += g[i] * y[i]
                eta = p[WINDOW] * a * visited / (t + 1)
                S = (1 - eta) * S + gx * gx
                if S > 0:
                    theta = min(1.0, max(0.0, theta - (V - Mx) * gx / S))
                keep = ro * decay
                # de: derivative of the trace, before e itself moves
                dd = gn * gy - gx
                for i in range(d):
                    de[i] = (
                        ro * (decay * de[i] + gamma_here * e[i])
                        - ro * alpha * ro * (gamma_here * xe + decay * xde) * x[i]
                    )
            if fresh:
                v_old = V
            keep = ro * decay
            new = ro * alpha * (1 - keep * xe)
            if mode == GLOBAL:
                lam_next = theta
            if gtd:
                keep_h = rho_prev * decay
                new_h = alpha * (1 - keep_h * xh)
                gnew = keep * grad + ro * hx
                for i in range(d):
                    e[i] = keep * e[i] + new * x[i]
                    eg[i] = keep * eg[i] + ro * x[i]
                    eh[i] = keep_h * eh[i] + new_h * x[i]
                    w[i] += delta * e[i] + (V - v_old) * (e[i] - alpha * ro * x[i])
                    if not end:
                        w[i] -= alpha * gn * (1 - lam_next) * gnew * y[i]
                    h[i] += ro * delta * eh[i] - alpha * hx * x[i]
            else:
                for i in range(d):
                    e[i] = keep * e[i] + new * x[i]
                    w[i] += delta * e[i] + (V - v_old) * (e[i] - alpha * ro * x[i])
            if mode == GLOBAL:
                for i in range(d):
                    g[i] = g[i] + dd * e[i] + (delta + V - v_old) * de[i]
                    if gtd and not end:
                        g[i] += alpha * gn * gnew * y[i]
            v_old, decay, rho_prev, gamma_here = Vn, gn * lam_next, ro, gn
            lam_sum += lam_next
            fresh = False
            if end:
                for i in range(d):
                    e[i] = eg[i] = eh[i] = em[i] = ebar[i] = de[i] = 0.0
                fresh = True
                gamma_here = decay = decay_m = 0.0
            if (t + 1) % every == 0:
                total = 0.0
                for j in range(n):
                    if weight[j] > 0:
                        value = 0.0
                        for i in range(d):
                            value += w[i] * X[j, i]
                        total += weight[j] * (value - (-v[j] if t >= flip else v[j])) ** 2
                errors[lane, (t + 1) // every - 1] = total
                lambdas[lane, (t + 1) // every - 1] = lam_sum / every
                lam_sum = 0.0


TASKS = {
    "ring.4": (lambda: td.make("RingWorld-v0", preset="0.4/0.35"), False),
    "ring.3": (lambda: td.make("RingWorld-v0", preset="0.3/0.25"), False),
    "ring.2": (lambda: td.make("RingWorld-v0", preset="0.2/0.15"), False),
    "lake": (lambda: td.make("FrozenLake-v0", preset="off-policy"), True),
    "walk": (lambda: td.make("RandomWalk-v0", n=19), False),
    "garnet": (lambda: td.make("Garnet-v0", seed=1), False),
    "garnet-on": (lambda: td.make("Garnet-v0", seed=2, on_policy=True), False),
    "garnet-end": (lambda: td.make("Garnet-v0", seed=3, terminal=2, discount=1.0), False),
    "ring.4-flip": (lambda: td.make("RingWorld-v0", preset="0.4/0.35"), False),
    "walk-flip": (lambda: td.make("RandomWalk-v0", n=19), False),
    "boyan": (lambda: td.make("BoyanChain-v0", n=13), False),
}


def simulate(name, seed, P, steps, points=200):
    make, gtd = TASKS[name]
    task = make()
    truth = exact_truth(task)
    n = task.mdp.n_states
    index, value = task.features.encode_batch(np.arange(n))
    X = np.zeros((n, task.features.size))
    for j in range(n):
        np.add.at(X[j], index[j], value[j])
    v, weight = np.zeros(n), np.zeros(n)
    v[truth.observations], weight[truth.observations] = truth.values, truth.weights
    c = task.sampler(seed).take(steps)
    errors, lambdas = np.zeros((len(P), points)), np.zeros((len(P), points))
    flip = steps // 2 if name.endswith("-flip") else steps
    reward = c.reward.copy()
    reward[flip:] *= -1  # the target moves: from here on v is -v
    run(c.obs, c.next_obs, reward, c.gamma, c.rho, c.terminated, X, gtd, P, v, weight, points, errors, lambdas, flip)
    return errors, lambdas


def lanes(options):
    P = np.zeros((len(ALPHAS), NUMBERS))
    for slot, value in {**DEFAULT, **options}.items():
        P[:, slot] = value
    P[:, ALPHA] = ALPHAS
    return P


def fixed(name, seed, steps):
    cache = Path(os.environ.get("VEG_CACHE", "/tmp/veg")) / f"{name}-{seed}-{steps}-{'-'.join(map(str, ALPHAS))}.npy"
    if not cache.exists():
        cache.parent.mkdir(exist_ok=True)
        P = np.concatenate([lanes({MODE: FIXED, LAM: lam}) for lam in LAMS])
        np.save(cache, simulate(name, seed, P, steps)[0])
    return np.load(cache).reshape(len(LAMS), len(ALPHAS), -1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", default=["ring.4", "ring.2", "lake", "walk"])
    parser.add_argument("--variants", nargs="+", default=["proto", "gn"])
    parser.add_argument("--seeds", nargs=2, type=int, default=[1000, 4])
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--alphas", nargs="+", type=float)
    parser.add_argument("--lam", action="store_true", help="print the mean λ of the last tenth too")
    o = parser.parse_args()
    global ALPHAS
    ALPHAS = tuple(o.alphas or ALPHAS)
    print("| task, variant | " + " | ".join(f"{a:g}" for a in ALPHAS) + " | worst | mean AUC |")
    for name in o.tasks:
        seeds = range(o.seeds[0], o.seeds[0] + o.seeds[1])
        base = np.mean([fixed(name, seed, o.steps) for seed in seeds], axis=0)
        base[~np.isfinite(base)] = np.inf
        best, best_area = base[:, :, -20:].mean(axis=2).min(axis=0), base.mean(axis=2).min(axis=0)
        which = base[:, :, -20:].mean(axis=2).argmin(axis=0)
        print(f"| {name} best λ | " + " | ".join(f"{LAMS[i]:g} {b:.1e}" for i, b in zip(which, best)) + " |")
        P = np.concatenate([lanes(VARIANTS[one]) for one in o.variants])
        runs = [simulate(name, seed, P, o.steps) for seed in seeds]
        curves = np.mean([run_[0] for run_ in runs], axis=0).reshape(len(o.variants), len(ALPHAS), -1)
        lams = np.mean([run_[1] for run_ in runs], axis=0).reshape(len(o.variants), len(ALPHAS), -1)
        for one, curve, lam in zip(o.variants, curves, lams):
            final, area = curve[:, -20:].mean(axis=1) / best, curve.mean(axis=1) / best_area
            cells = [
                f"{f:.2f}/{q:.2f}" + (f" ({l:.2f})" if o.lam else "")
                for f, q, l in zip(final, area, lam[:, -20:].mean(axis=1))
            ]
            print(
                f"| {name} {one} | " + " | ".join(cells) + f" | {np.nanmax(final):.2f} | {area.mean():.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
