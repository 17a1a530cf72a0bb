"""Settings for the tests here."""

import signal
import threading

from hypothesis import settings

# The first example may have to wait for the compiler, which says nothing about the code: no deadline.
settings.register_profile("same", deadline=None, derandomize=True)  # `make test` draws the same examples everywhere
settings.register_profile("search", deadline=None, max_examples=1000)  # `make slow`, with --hypothesis-profile=search
settings.load_profile("same")

# A job in the background is deaf to Ctrl-C, and so are its children: tests that press it would wait for ever.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
