"""Control: Sarsa(λ), Q(λ) and actor-critic agents, with any learner as the critic."""

from tdlambda.control.actor_critic import ActorCritic
from tdlambda.control.engine import run
from tdlambda.control.exploration import Boltzmann, EpsilonGreedy, Falling
from tdlambda.control.gaussian import Gaussian
from tdlambda.control.meta_assisted import meta_actor_critic
from tdlambda.control.policy import Policy
from tdlambda.control.q_lambda import QLambda
from tdlambda.control.sarsa import Sarsa
from tdlambda.control.softmax import Softmax
from tdlambda.control.training import train
from tdlambda.control.value_state import AGENTS
from tdlambda.learners.storage import PARTS
from tdlambda.runner.curve import LearningCurve
from tdlambda.runner.result import ControlResult

__all__ = [
    "AGENTS", "ActorCritic", "Boltzmann", "ControlResult", "EpsilonGreedy", "Falling", "Gaussian", "LearningCurve",
    "Policy",
    "QLambda", "Sarsa", "Softmax", "meta_actor_critic", "run", "train",
]  # fmt: skip

PARTS.update({kind.__name__: kind for kind in (Boltzmann, EpsilonGreedy, Falling, Gaussian, Softmax)})
