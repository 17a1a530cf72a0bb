import sys, numpy as np, bank, os
from baselines import fixed

bank.K, bank.L = 32, 64
A = [0.3, 0.1, 0.05, 0.02, 0.01, 0.003, 0.001, 1e-4]
Z = [0, 0.4, 0.8, 0.95]
names = sys.argv[1:]
R = []
o = dict(bank.OPTIONS)
o["pace"] = float(os.environ.get("PACE", "2"))
seeds = list(range(1000, 1008))
for n in names:
    e, each, p, r = bank.bank_errors(n, seeds, 10**5, o, (A, Z))
    base = fixed(n, seeds, 10**6)
    w = bank.windows(10**5)
    row = []
    for k in ("1e+04", "1e+05"):
        near = w[k]
        ref = np.nanmin(base[..., near].mean(axis=(2, 3)))
        row.append(each[:, near].mean(axis=(0, 1)) / ref)
        print(n, k, "bank", e[:, near].mean() / ref, "best", row[-1].min(), flush=True)
    R.append(row)
R = np.array(R)  # task,hor,expert
for h, k in enumerate(("1e4", "1e5")):
    for half, nm in ((0, "raw"), (1, "twin")):
        for what, f in (("gmean", lambda m: np.exp(np.log(m).mean(axis=0))), ("max", lambda m: m.max(axis=0))):
            m = f(R[:, h, half * 32 : half * 32 + 32]).reshape(8, 4)
            print(k, nm, what)
            print(np.array2string(m, precision=2, suppress_small=True))
