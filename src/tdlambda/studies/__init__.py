"""Experiments: what their runs say, honestly."""

from tdlambda.studies.statistics import Comparison, Summary, choose, compare, hindsight, sensitivity, summary

__all__ = ["Comparison", "Summary", "choose", "compare", "hindsight", "sensitivity", "summary"]
