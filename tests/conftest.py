"""Hypothesis settings for the tests here."""

from hypothesis import settings

# The first example may have to wait for the compiler, which says nothing about the code.
settings.register_profile("compiled", deadline=None)
settings.load_profile("compiled")
