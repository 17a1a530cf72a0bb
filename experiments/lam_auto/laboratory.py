"""The laboratory in which the mixture of λ was chosen: one learner with all variants, in one compiled function.

    python experiments/lam_auto/laboratory.py dev --kinds TD GTD --variants h=10 h=20,prior=0 mode=2,h=1,bterm=2

A variant is a list of options, those of `OPTIONS`; "lams=0:0.5:1" chooses the fixed λ, and "row=" what is shown in
place of the mixture (0): 1 … a lane, the last but one m, the last M. Lines have the final error / area over those of
the best fixed λ at α |x|² = 0.001 … 1.
"""

from __future__ import annotations

import argparse

import numba
import numpy as np
from tasks import LAMBDAS, POINTS, SETS, alphas, errors, matrix, score

from tdlambda.runner.truth import exact_truth

OPTIONS = {
    "h": 5.0,  # sharpness
    "window": 4.0,  # the last part of the stream that counts is 1/window
    "prior": 1.0,  # for λ near pmid
    "pmid": 0.8,
    "couple": 0.0,  # how fast lanes move to the mixture
    "doubt": 0.5,
    "rate": 0.1,
    "memory": 100.0,
    "mlam": 0.8,  # λ of the mean
    "every": 100.0,
    "veg": 1.0,  # whether value-error greedy is among the lanes
    "mode": 0.0,  # 0: distance to M; 1: its logarithm; 2: with B, as the first prototype
    "vegprior": 0.0,
    "cutlanes": 0.0,
    "gain": 0.0,  # a bound on |e| |x|
    "bterm": 0.0,  # 1: TD errors of M along the trace of differences, 2: along its expectation
    "pw": 1.0,
    "mpow": 0.5,
    "mfloor": 0.1,
    "w1": 0.0,  # the least rate, in units of α
    "zsh": 1.0,
    "eps": 0.0,  # M's variance, added to all distances
    "fmode": 0.0,  # how many times the largest possible value is a runaway; 0: 10
}


@numba.njit(error_model="numpy", fastmath={"nsz", "arcp", "contract", "afn", "reassoc"}, cache=True)
def run(S, S2, R, GA, RHO, TERM, X, gtd, alpha, lams, o, v, wt, points):
    (
        h_,
        window,
        prior,
        pmid,
        couple,
        doubt,
        rate,
        memory,
        mlam,
        every,
        veg,
        mode,
        vegprior,
        cutlanes,
        gainb,
        bterm,
        pw,
        mpow,
        mfloor,
        w1,
        zsh,
        eps,
        fmode,
    ) = o
    steps = S.size
    n, d = X.shape
    K = lams.size
    iV = K
    P = K + (1 if veg > 0 else 0)
    iM = K + 1
    L = K + 2
    W = np.zeros((d, L))
    E = np.zeros((d, L))
    H = np.zeros((d, L))
    EG = np.zeros((d, L))
    EH = np.zeros((d, L))
    WM = np.zeros(d)
    eb = np.zeros(d)
    decay = np.zeros(L)
    vold = np.zeros(L)
    al = np.full(L, alpha)
    lamn = np.zeros(L)
    en = np.zeros(L)
    V = np.zeros(L)
    VN = np.zeros(L)
    xe = np.zeros(L)
    hx = np.zeros(L)
    xh = np.zeros(L)
    gr = np.zeros(L)
    k1 = np.zeros(L)
    c1 = np.zeros(L)
    c2 = np.zeros(L)
    c3 = np.zeros(L)
    k2 = np.zeros(L)
    c4 = np.zeros(L)
    c5 = np.zeros(L)
    c6 = np.zeros(L)
    c7 = np.zeros(L)
    c = np.zeros(P)
    z = np.zeros(P)
    RK = np.zeros(P)
    BK = np.zeros(P)
    QK = np.zeros(P)
    CK = np.zeros(P)
    p = np.zeros(P)
    pr = np.zeros(P)
    cc = np.zeros(P)
    for k in range(K):
        pr[k] = prior * 4.0 * abs(lams[k] - pmid)
    if veg > 0:
        pr[iV] = vegprior
    p[:] = np.exp(-pr)
    p /= p.sum()
    visits = np.zeros(d)
    u_ = np.zeros(d)
    seen = np.zeros(d)
    sq = np.zeros(d)
    counted = np.zeros(d)
    Wt = np.zeros(d)
    Z = np.zeros(d)
    drift = np.zeros(d)
    power = np.zeros(d)
    since = 0
    first = True
    rhop = 1.0
    rmax, h, hmax, gmax = 0.0, 0.0, 1.0, 0.0
    resets = 0
    EE = 0.0
    near = fmode if fmode > 0.0 else 10.0
    err = np.zeros((2 + L, points))
    ph = np.zeros((points, P))
    pe = steps // points
    T = np.zeros((d, P))
    N = np.zeros(d)
    zh = np.zeros(P)
    for t in range(steps):
        x = X[S[t]]
        y = X[S2[t]]
        end = TERM[t]
        gn = 0.0 if end else GA[t]
        ro = RHO[t]
        r = R[t]
        if abs(r) > rmax:
            rmax = abs(r)
        if gn > gmax:
            gmax = gn
        h = 1.0 if first else h + 1.0
        if h > hmax:
            hmax = h
        capv = rmax * (min(1.0 / (1.0 - gmax), 10.0 * hmax) if gmax < 1.0 else 10.0 * hmax)
        norm = 0.0
        V[:] = 0.0
        VN[:] = 0.0
        xe[:] = 0.0
        Mx = 0.0
        Mn = 0.0
        for i in range(d):
            if x[i] != 0.0:
                norm += x[i] * x[i]
                Mx += WM[i] * x[i]
                for l in range(L):
                    V[l] += W[i, l] * x[i]
                    xe[l] += E[i, l] * x[i]
            if y[i] != 0.0 and not end:
                Mn += WM[i] * y[i]
                for l in range(L):
                    VN[l] += W[i, l] * y[i]
        # signal
        by = max(min(1.0, window / (t + 1.0)), w1 * min(1.0, alpha))
        u = 0.0
        for k in range(P):
            c[k] = min(capv, max(-capv, V[k]))
            u += p[k] * c[k]
        dl = ro * (r + gn * Mn - Mx)
        if first:
            z[:] = 0.0
        if eps > 0.0:
            ev = 0.0
            na = 0
            for i in range(d):
                if x[i] != 0.0:
                    na += 1
                    if counted[i] > 0:
                        ev += sq[i] / counted[i] / counted[i]
            if na > 0:
                ev /= na
            EE += by * (eps * ev - EE)
        for k in range(P):
            e = c[k] - Mx
            ck = c[k] - u
            if bterm > 0:
                z[k] += ck
                if bterm == 2.0:  # expected trace
                    pass
                else:
                    s = dl * z[k]
                    BK[k] += by * (s - BK[k])
                    QK[k] += by * (s * s - QK[k])
                    z[k] *= ro * gn
            CK[k] += by * (ck * ck - CK[k])
            RK[k] += by * (e * e - RK[k])
        if bterm == 2.0:
            zh[:] = 0.0
            for i in range(d):
                if x[i] != 0.0:
                    N[i] += x[i] * x[i] / norm
                    for k in range(P):
                        zh[k] += x[i] * T[i, k]
            for i in range(d):
                if x[i] != 0.0:
                    et = max(0.1, 1.0 / (N[i] + 1.0)) * x[i] / norm
                    for k in range(P):
                        T[i, k] += et * (z[k] - zh[k])
            zh[:] = 0.0
            for i in range(d):
                if x[i] != 0.0:
                    for k in range(P):
                        zh[k] += x[i] * T[i, k]
            for k in range(P):
                s = dl * zh[k]
                BK[k] += by * (s - BK[k])
                QK[k] += by * (s * s - QK[k])
                z[k] = ro * gn * zh[k]
        # lambdas
        cr = min(1.0, 1.0 / ro) if ro > 0.0 else 1.0
        for k in range(K):
            lamn[k] = lams[k]
        vis = 0.0
        act = 0
        for i in range(d):
            if x[i] != 0.0:
                visits[i] += 1
                seen[i] += 1
                vis += visits[i]
                act += 1
        an = min(1.0, alpha * norm)
        al[iM] = max(mfloor * an, 0.5 / (1.0 + 0.5 * vis / max(act, 1)) ** mpow) / norm if norm > 0 else alpha
        kept = ro * decay[iV] * xe[iV]
        cg = gn * (kept + ro * alpha * (1.0 - kept) * norm)
        gap = VN[iV] - Mn
        ab, we, va, act = 0.0, 0.0, 0.0, 0
        if not end:
            for i in range(d):
                if y[i] != 0.0:
                    rt = max(rate, 1.0 / (visits[i] + 1.0))
                    Z[i] += rt * (cg * gap * (V[iV] - Mx) - Z[i])
                    Wt[i] += rt * (cg * cg - Wt[i])
                    ab += Z[i]
                    we += Wt[i]
                    va += sq[i] / counted[i] if counted[i] > 0 else 0.0
                    act += 1
        va = va / act if act > 0 else 0.0
        be = we * (gap * gap + va)
        lamn[iV] = min(1.0, max(0.0, (ab - doubt * we * va) / be)) if be > 0 else 1.0
        lamn[iM] = mlam * cr
        if gainb > 0.0:  # bound on |e| |x|: cut lambda' where the trace moves a prediction by more than gainb
            for l in range(L):
                g = np.sqrt(en[l] * norm)
                if l > 0 and g > gainb:
                    lamn[l] *= gainb / g
        if cutlanes > 0:
            for l in range(K):
                lamn[l] *= cr
        dM = r + gn * Mn - Mx
        for i in range(d):
            eb[i] = ro * (decay[iV] * eb[i] + x[i])
            u_[i] += dM * eb[i]
        # learn
        if gtd:
            hx[:] = 0.0
            xh[:] = 0.0
            gr[:] = 0.0
            for i in range(d):
                if x[i] != 0.0:
                    for l in range(L):
                        hx[l] += H[i, l] * x[i]
                        xh[l] += EH[i, l] * x[i]
                for l in range(L):
                    gr[l] += H[i, l] * EG[i, l]
        for l in range(L):
            vo = V[l] if first else vold[l]
            kp = ro * decay[l]
            k1[l] = kp
            c1[l] = ro * al[l] * (1.0 - kp * xe[l])
            dd = r + gn * VN[l] - V[l]
            c2[l] = dd + V[l] - vo
            c3[l] = -(V[l] - vo) * al[l] * ro
            if gtd:
                kh = rhop * decay[l]
                k2[l] = kh
                c4[l] = al[l] * (1.0 - kh * xh[l])
                c5[l] = -al[l] * gn * (1.0 - lamn[l]) * (kp * gr[l] + ro * hx[l])
                c6[l] = ro * dd
                c7[l] = -al[l] * hx[l]
            vold[l] = VN[l]
            decay[l] = gn * lamn[l]
        if gtd:
            c6[iM] = 0.0
            c7[iM] = 0.0
        en[:] = 0.0
        for i in range(d):
            xi = x[i]
            yi = y[i]
            for l in range(L):
                e = k1[l] * E[i, l] + c1[l] * xi
                E[i, l] = e
                W[i, l] += c2[l] * e + c3[l] * xi
                en[l] += e * e
            if gtd:
                for l in range(L):
                    EG[i, l] = k1[l] * EG[i, l] + ro * xi
                    eh = k2[l] * EH[i, l] + c4[l] * xi
                    EH[i, l] = eh
                    W[i, l] += c5[l] * yi
                    H[i, l] += c6[l] * eh + c7[l] * xi
        rhop = ro
        for i in range(d):
            if x[i] != 0.0:
                rt = max(3.0 / (visits[i] + 3.0), an / memory)
                WM[i] += rt * (W[i, iM] - WM[i])
        since += 1
        if since >= (d if end else max(d, 1000)):
            since = 0
            for i in range(d):
                sq[i] += u_[i] ** 2
                counted[i] += seen[i]
                if seen[i] > 0:
                    drift[i] += 0.02 * (u_[i] - drift[i])
                    power[i] += 0.02 * (u_[i] ** 2 - power[i])
                    if drift[i] ** 2 > 25 * 0.01 * power[i]:
                        visits[i] = 0.0
                        drift[i] = 0.0
                u_[i] = 0.0
                seen[i] = 0.0
        first = end
        if end:
            E[:] = 0.0
            EG[:] = 0.0
            EH[:] = 0.0
            eb[:] = 0.0
            decay[:] = 0.0
        # runaways: at once
        for l in range(1, L):
            if not (abs(V[l]) <= near * capv + 1e-300 and abs(VN[l]) <= near * capv + 1e-300):
                resets += 1
                for i in range(d):
                    W[i, l] = W[i, 0]
                    E[i, l] = 0.0
                    EG[i, l] = 0.0
                    EH[i, l] = 0.0
                    H[i, l] = 0.0
                vold[l] = VN[0]
                decay[l] = 0.0
                if l == iM:
                    WM[:] = W[:, 0]
                    visits[:] = 0.0
        if (t + 1) % int(every) == 0:
            best = 1e300
            low = 1e300
            s2 = 0.0
            for k in range(P):
                low = min(low, RK[k])
                if CK[k] > 0:
                    s2 += p[k] * QK[k] / CK[k]
            for k in range(P):
                if mode == 0.0:
                    cc[k] = pr[k] + (h_ * ((RK[k] + EE) / (low + EE)) ** pw if low + EE > 0 else 0.0)
                elif mode == 1.0:
                    cc[k] = pr[k] + h_ * np.log(RK[k] + 1e-300)
                else:
                    sk = max(s2, QK[k] / CK[k]) if CK[k] > 0 else s2
                    b = BK[k]
                    nn = (t + 1.0) / window
                    bb = b * max(0.0, 1.0 - zsh * QK[k] / nn / (b * b + 1e-300))
                    if sk > 0:
                        cc[k] = pr[k] + h_ * nn * (RK[k] - low - 2 * bb) / (2 * sk)
                    else:
                        cc[k] = pr[k]
                best = min(best, cc[k])
            tot = 0.0
            for k in range(P):
                p[k] = np.exp(best - cc[k])
                tot += p[k]
            p /= tot
            if couple > 0:
                kap = min(1.0, couple * alpha * norm * every)
                for i in range(d):
                    um = 0.0
                    for k in range(P):
                        um += p[k] * W[i, k]
                    for k in range(1, P):
                        W[i, k] += kap * (um - W[i, k])
                if not first:
                    for k in range(1, P):
                        vv = 0.0
                        for i in range(d):
                            vv += W[i, k] * y[i]
                        vold[k] = vv
        if (t + 1) % pe == 0:
            j = (t + 1) // pe - 1
            for s in range(n):
                if wt[s] > 0:
                    uu = 0.0
                    mm = 0.0
                    for l in range(L):
                        vv = 0.0
                        for i in range(d):
                            vv += W[i, l] * X[s, i]
                        err[1 + l, j] += wt[s] * (vv - v[s]) ** 2
                        if l < P:
                            uu += p[l] * vv
                    for i in range(d):
                        mm += WM[i] * X[s, i]
                    err[0, j] += wt[s] * (uu - v[s]) ** 2
                    err[1 + L, j] += wt[s] * (mm - v[s]) ** 2
            ph[j] = p
    return err, ph, resets


def found(which: str, name: str, kind: str, options: dict[str, str], seeds: range, steps: int) -> np.ndarray:
    """Errors of a variant [α, seed, point]."""
    task, features = SETS[which][name]()
    X, truth = matrix(task, features), exact_truth(task)
    v, weight = np.zeros(len(X)), np.zeros(len(X))
    v[truth.observations], weight[truth.observations] = truth.values, truth.weights
    lams = np.array([float(lam) for lam in options.get("lams", "0:0.4:0.8:0.95:1").split(":")])
    numbers = np.array([float(options.get(option, usual)) for option, usual in OPTIONS.items()])
    out = []
    for seed in seeds:
        c = task.sampler(seed).take(steps)
        stream = (c.obs, c.next_obs, c.reward, c.gamma, c.rho, c.terminated, X, kind == "GTD")
        shown = int(options.get("row", "0"))
        out.append([run(*stream, alpha, lams, numbers, v, weight, POINTS)[0][shown] for alpha in alphas(X)])
    return np.swapaxes(np.array(out), 0, 1)


def main() -> None:
    """Print a line for each task, algorithm and variant."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", choices=SETS)
    parser.add_argument("--names", nargs="+", help="of tasks; all by default")
    parser.add_argument("--kinds", nargs="+", default=["TD"], choices=["TD", "GTD"])
    parser.add_argument("--variants", nargs="+", default=["h=20,prior=0,window=8,fmode=2,w1=0.001"])
    parser.add_argument("--seeds", nargs=2, type=int, default=[900, 3], help="the first, and how many")
    parser.add_argument("--steps", type=int, default=100_000)
    given = parser.parse_args()
    seeds = range(given.seeds[0], sum(given.seeds))
    for name in given.names or SETS[given.tasks]:
        for kind in given.kinds:
            least = [some.min(axis=0) for some in score(errors(given.tasks, name, kind, LAMBDAS, seeds, given.steps))]
            for variant in given.variants:
                options = dict(item.split("=") for item in variant.split(","))
                own = score(found(given.tasks, name, kind, options, seeds, given.steps))
                cells = [f"{f:.2f}/{a:.2f}" for f, a in zip(own[0] / least[0], own[1] / least[1], strict=True)]
                print(f"{name}, {kind}, {variant}: " + "  ".join(cells), flush=True)


if __name__ == "__main__":
    main()
