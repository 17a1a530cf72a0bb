"""How many examples Hypothesis draws, in each of the profiles of tests/conftest.py."""

from hypothesis import settings


def examples(n: int) -> settings:
    """Draw n examples where Hypothesis draws 100 unless told otherwise; in proportion where a profile asks for more."""
    return settings(max_examples=n * settings().max_examples // 100)
