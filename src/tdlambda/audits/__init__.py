"""Audits: which of several critics is closer to the true values, without knowing the true values."""

from tdlambda.audits.judging import audit
from tdlambda.audits.outcome import Audit

__all__ = ["Audit", "audit"]
