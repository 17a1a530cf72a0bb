"""A student: TD(λ) as its equations, and what λ does.

python examples/student.py
"""

# %% [markdown]
# # What λ does
#
# A random walk over 19 states, as in Sutton & Barto (2018), example 12.1: from the middle, a step left or right with
# equal chances; leaving on the left pays -1, on the right +1. The value of a state is the reward one can expect there.

# %%
import numpy as np

import tdlambda as td

walk = td.make("RandomWalk-v0", n=19)
truth = walk.exact.v()  # exact, by a linear system
print("true values", truth[1:20:3].round(2))

# %% [markdown]
# TD(λ) in four lines of NumPy. The trace `e` remembers which states were visited lately; each TD error `delta` is
# credited to all of them. Below it is the library's own TD(λ) on the same transitions: the same numbers.

# %%
alpha, lam = 0.1, 0.8
data = walk.sampler(seed=1).take(2000)
w, e, decay = np.zeros(21), np.zeros(21), 0.0
v = td.TD(walk.features, alpha, lam)
for s, reward, gamma, s_next in zip(data.obs, data.reward, data.gamma, data.next_obs, strict=True):
    delta = reward + gamma * w[s_next] - w[s]  # γ' is 0 where the episode ends
    e = decay * e
    e[s] += 1
    w += alpha * delta * e
    decay = gamma * lam
v.update_many(data)
print("largest difference", np.abs(w - v.weights).max())

# %% [markdown]
# Now λ and α together, 100 runs each, all on the same trajectories. λ = 0 believes its own guesses, λ = 1 waits for the
# end of the episode; between them is the best. The bar is the root mean square error after ten episodes.

# %%
lams = (0.0, 0.4, 0.8, 0.9, 0.95, 1.0)
alphas = (0.05, 0.1, 0.2, 0.4)
learners = {f"{lam} {alpha}": td.TrueOnlineTD(walk.features, alpha, lam) for lam in lams for alpha in alphas}
result = td.engine.run(walk, learners, seeds=100, episodes=10, score="rms", progress=False)
error = result.error.mean(axis=(1, 2)).reshape(len(lams), len(alphas))
for lam, row in zip(lams, error, strict=True):
    print(f"λ = {lam:4}  α = {alphas[row.argmin()]:4}  {row.min():.3f}  {'█' * round(100 * row.min())}")

# %% [markdown]
# Nobody has to try them all: `lam="auto"` adapts λ to the step size, and `td.AutoTD` chooses both.

# %%
auto = td.AutoTD(walk.features)
auto.update_many(data)
values = auto.predict_many(range(1, 20))
print(f"AutoTD after {len(data.obs)} steps: error {np.sqrt(np.mean((values - truth[1:20]) ** 2)):.3f}")
