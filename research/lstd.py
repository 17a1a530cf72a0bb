"""What least squares make of the same data: LSTD(λ)'s error beside that of the best fixed (α, λ), as a limit."""

import numpy as np, sys, tdlambda as td
from baselines import fixed, tasks, points

at = points(10**6)
for n in sys.argv[1:]:
    task = tasks()[n]
    seeds = list(range(1000, 1008))
    base = fixed(n, seeds, 10**6)
    v = task.mdp.v(task.target)
    d = np.where(task.mdp.terminal, 0, task.mdp.error_weights(task.target))
    for steps in (10**4, 10**5):
        near = (at > 0.9 * steps) & (at <= steps)
        ref = np.nanmin(base[..., near].mean(axis=(2, 3)))
        out = []
        for lam in (0, 0.4, 0.8, 0.95, 1.0):
            es = []
            for s in seeds:
                l = td.LSTD(task.features, lam, ridge=1e-6)
                l.update_many(task.sampler(s).take(steps))
                es.append(d @ (l.predict_many(np.arange(task.mdp.n_states)) - v) ** 2)
            out.append(np.mean(es) / ref)
        print(n, steps, "LSTD", np.round(out, 2), flush=True)
