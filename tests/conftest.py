"""Settings for the tests here."""

import signal
import threading

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

# Scripts, which --doctest-modules would run in every process that collects tests.
collect_ignore = ["typing", "walks"]

# The first example may have to wait for the compiler, or for a busy machine: no deadline.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
patient = settings.get_profile("patient")
settings.register_profile("same", patient, derandomize=True)  # `make test` draws the same examples everywhere
settings.register_profile("search", patient, max_examples=1000)  # `make slow`, with --hypothesis-profile=search
settings.load_profile("same")


def pytest_configure(config: pytest.Config) -> None:
    """Let `make test` draw no constants of the source: they vary with what is imported, and reading them takes 12 s."""
    if not config.getoption("--hypothesis-profile"):
        providers.is_local_module_file = lambda _: False  # type: ignore[assignment, attr-defined, unused-ignore]


# A job in the background is deaf to Ctrl-C, and so are its children: tests that press it would wait for ever.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
