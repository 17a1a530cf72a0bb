"""Where λ comes from: a number, a table over states, or a rule."""

from tdlambda.lambdas.fixed import Fixed, PerState, Rule, as_rule

__all__ = ["Fixed", "PerState", "Rule", "as_rule"]
