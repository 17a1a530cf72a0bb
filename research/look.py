import numpy as np, bank, sys
from baselines import fixed

np.set_printoptions(precision=2, suppress=True, linewidth=150)
o = dict(bank.OPTIONS) | dict(prior=1, zhat=2, eta=0, zfloor=0.1)
for kv in sys.argv[2:]:
    k, v = kv.split("=")
    o[k] = float(v)
n = sys.argv[1]
seeds = list(range(1000, 1008))
base = fixed(n, seeds, 10**6)
for steps in (10**4, 10**5):
    e, each, p, r = bank.bank_errors(n, seeds, steps, o)
    near = bank.windows(steps)[f"{steps:.0e}"]
    ref = np.nanmin(base[..., near].mean(axis=(2, 3)))
    print(steps, "bank", e[:, near].mean(axis=1) / ref)
    m = each[:, near].mean(axis=(0, 1)) / ref
    print(np.c_[m[:24].reshape(6, 4), m[24:].reshape(6, 4)])
    pm = p.mean(axis=0)
    print(np.c_[pm[:24].reshape(6, 4), pm[24:].reshape(6, 4)])
    for i in (0, 1, 2):
        k = np.argsort(-p[i])[:5]
        print("seed", i, [(int(q), round(p[i][q], 2), round(each[i][near][:, q].mean() / ref, 2)) for q in k])
