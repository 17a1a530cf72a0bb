"""For students: TD(λ) in four lines of NumPy, and the effect of λ.

python examples/student.py
"""

# %% [markdown]
# # What λ does
#
# The task is a random walk over 19 states, as in Sutton & Barto (2018), example 12.1. Each episode starts in the middle
# and steps left or right with equal probability. Leaving on the left gives reward -1, on the right +1. The value of a
# state is the expected return from it.

# %%
import numpy as np

import tdlambda as td

walk = td.make("RandomWalk-v0", n=19)
truth = walk.exact.v()  # the solution of the Bellman equation, a linear system
print("true values", truth[1:20:3].round(2))

# %% [markdown]
# TD(λ) takes four lines of NumPy. The trace `e` remembers which states were visited recently, and each TD error `delta`
# is credited to all of them. The library's own TD(λ) gives the same weights on the same transitions.

# %%
alpha, lam = 0.1, 0.8
data = walk.sampler(seed=1).take(2000)
w, e, decay = np.zeros(21), np.zeros(21), 0.0
v = td.TD(walk.features, alpha, lam)
for s, reward, gamma, s_next in zip(data.obs, data.reward, data.gamma, data.next_obs, strict=True):
    delta = reward + gamma * w[s_next] - w[s]  # gamma is 0 at the end of an episode
    e = decay * e
    e[s] += 1
    w += alpha * delta * e
    decay = gamma * lam
v.update_many(data)
print("largest difference", np.abs(w - v.weights).max())

# %% [markdown]
# Next we vary λ and α, with 100 runs each, all on the same trajectories. λ = 0 bootstraps fully from its own estimates;
# λ = 1 uses the whole return. The best λ lies between. The bar shows the root mean square error over the first ten
# episodes.

# %%
lams = (0.0, 0.4, 0.8, 0.9, 0.95, 1.0)
alphas = (0.05, 0.1, 0.2, 0.4)
learners = {f"{lam} {alpha}": td.TrueOnlineTD(walk.features, alpha, lam) for lam in lams for alpha in alphas}
result = td.engine.run(walk, learners, seeds=100, episodes=10, score="rms", progress=False)
error = result.error.mean(axis=(1, 2)).reshape(len(lams), len(alphas))
for lam, row in zip(lams, error, strict=True):
    print(f"λ = {lam:4}  α = {alphas[row.argmin()]:4}  {row.min():.3f}  {'█' * round(100 * row.min())}")

# %% [markdown]
# You need not try all of them: `lam="auto"` adapts λ to the step size, and `td.AutoTD` needs neither α nor λ.

# %%
auto = td.AutoTD(walk.features)
auto.update_many(data)
values = auto.predict_many(range(1, 20))
print(f"AutoTD after {len(data.obs)} steps: error {np.sqrt(np.mean((values - truth[1:20]) ** 2)):.3f}")
