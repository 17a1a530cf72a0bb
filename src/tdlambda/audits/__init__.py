"""Audits: which of several critics is closer to the true values, without knowing the true values."""

from tdlambda.audits.judging import audit
from tdlambda.audits.outcome import Audit
from tdlambda.audits.shipped import cartpole_rollout

__all__ = ["Audit", "audit", "cartpole_rollout"]
