"""Settings for the tests here."""

import signal
import threading

from hypothesis import settings

# The first example may have to wait for the compiler, which says nothing about the code.
settings.register_profile("compiled", deadline=None)
settings.load_profile("compiled")

# A job in the background is deaf to Ctrl-C, and so are its children: tests that press it would wait for ever.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
