"""A student of Sutton & Barto: traces by hand, forward and backward view, the U-curve, and a chart of each."""

import numpy as np

import tdlambda as td

x = td.features.OneHot(8)
v = td.TD(x, alpha=0.5, lam=0.8)
for state, following in [(3, 4), (4, 5), (5, 4), (4, 5), (5, 6)]:
    v.update(state, 0.0, following, gamma=1.0)
assert v.trace.round(2).tolist() == [0.0, 0.0, 0.0, 0.41, 1.31, 1.64, 0.0, 0.0]

# The book's offline λ-return algorithm is the default, and stays calm at α = 0.4 (RMS error over ten episodes).
walk = td.make("RandomWalk-v0", n=19)
some = {"offline": td.LambdaReturn(walk.features, 0.4, 0.8, on_divergence="flag"),
        "true online": td.TrueOnlineTD(walk.features, 0.4, 0.8)}  # fmt: skip
found = td.engine.run(walk, some, seeds=8, episodes=10, points=range(1, 11), score="rms")
assert found.error.mean(axis=(1, 2)).max() < 0.4, found.error.mean(axis=(1, 2))
found.plot("book.svg")

run = td.learn("tdlambda/RandomWalk-v0", td.TD(td.make("RandomWalk-v0").features, 0.1, 0.9), steps=300, seed=1)
run.plot("learn.svg")
assert np.isfinite(run.mean_reward)
