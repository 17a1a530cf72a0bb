"""Declarations are read by several threads at once."""

import gc
import sys
import threading

from tdlambda.core import source
from tdlambda.rules.meta import Meta


class Cycle:
    """Garbage whose end lets another thread run, in the middle of a parse."""

    def __init__(self) -> None:
        self.me = self

    def __del__(self) -> None:
        for _ in range(50):
            pass


def _litter(*_given: object) -> None:
    for _again in range(3):
        Cycle()


def test_threads_may_parse_at_once() -> None:
    wrong: list[SystemError] = []

    def read() -> None:
        try:
            for _ in range(30):
                source.tree(Meta.step)
        except SystemError as error:  # CPython 3.11: "AST constructor recursion depth mismatch"
            wrong.append(error)

    before, often = sys.getswitchinterval(), gc.get_threshold()
    gc.callbacks.append(_litter)
    try:
        sys.setswitchinterval(1e-6)
        gc.set_threshold(5)
        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        gc.callbacks.remove(_litter)
        gc.set_threshold(*often)
        sys.setswitchinterval(before)
    assert not wrong
