"""A deep-RL practitioner: Gymnasium's own environments, my returns checked, a learner watched on CartPole."""

import gymnasium as gym
import numpy as np

import tdlambda as td

features = td.features.TileCoder([-1.2, -0.07], [0.6, 0.07], tilings=4, tiles=4)
curve = td.train("MountainCar-v0", td.Sarsa(features, actions=3), steps=400, seed=1, gamma=1.0)
assert curve.lengths.max() == 200  # Gymnasium's limit
curve.plot("car.svg")

vector = gym.make_vec("CartPole-v1", 2, vectorization_mode="sync")
pole = td.features.TileCoder([-2.4, -3, -0.21, -3], [2.4, 3, 0.21, 3], tilings=4, tiles=4)
try:
    td.learn(vector, td.TD(pole, 0.1), 10, policy=[0.5, 0.5], gamma=0.99)  # type: ignore[arg-type]
    said = ""
except TypeError as error:
    said = str(error)
assert "td.train" in said, "a vector of environments was taken for one"

history = td.report.follow("CartPole-v1", td.TrueOnlineTD(pole, 0.02, 0.9), 500, policy=[0.5, 0.5], gamma=0.99)
assert np.isfinite(history.values).all()
history.plot("pole.svg")
