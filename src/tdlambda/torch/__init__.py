"""Eligibility traces for parameters of PyTorch, which is imported when they are made."""

from tdlambda.torch.traces import Traces

__all__ = ["Traces"]
