"""One learner belongs to one thread at a time; many learners in many threads are safe."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import numpy as np
import pytest

import tdlambda as td

STEPS = td.make("RingWorld-v0").sampler(seed=1).take(400_000)
MAKERS: dict[str, Callable[[], Any]] = {
    "TD": lambda: td.TD(td.features.OneHot(11), 0.01), "auto": lambda: td.TrueOnlineTD(td.features.OneHot(11),
    0.01, "auto"),
    "MonteCarlo": lambda: td.MonteCarlo(td.features.OneHot(11), 0.01),
    "LambdaReturn": lambda: td.LambdaReturn(td.features.OneHot(11), 0.01),
    "NStepTD": lambda: td.NStepTD(td.features.OneHot(11), 0.01, 3), "LSTD": lambda: td.LSTD(td.features.OneHot(11)),
    "RecursiveLSTD": lambda: td.RecursiveLSTD(td.features.OneHot(11)),
    "LSPE": lambda: td.LSPE(td.features.OneHot(11), 0.9, 0.01),
    "ExpectedTrace": lambda: td.ExpectedTrace(td.features.OneHot(11), 0.01),
    "AutoTD": lambda: td.AutoTD(td.features.OneHot(11)),
}  # fmt: skip


class Slow(td.features.OneHot):
    """Waits in the middle of `update_many` until it is let go."""

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self.entered, self.go = threading.Event(), threading.Event()

    def encode_batch(self, observations: Any) -> Any:
        self.entered.set()
        assert self.go.wait(60)
        return super().encode_batch(observations)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: td.TrueOnlineTD(x, 0.1), lambda x: td.MonteCarlo(x, 0.1), lambda x: td.LambdaReturn(x, 0.1),
        lambda x: td.NStepTD(x, 0.1, 2), td.LSTD, td.RecursiveLSTD, td.LSPE,
        lambda x: td.ExpectedTrace(x, 0.1), td.AutoTD,
    ],
)  # fmt: skip
def test_a_second_thread_is_refused_while_the_first_is_at_work(make: Any) -> None:
    features = Slow(3)
    v = make(features)
    thread = threading.Thread(
        target=lambda: v.update_many([0, 1], [1.0, 1.0], [1, 2], gamma=1.0, terminated=[False, True])
    )
    thread.start()
    try:
        assert features.entered.wait(60)
        rows: Any = ([0], [1.0], [1], [1.0])
        for call in (lambda: v.update(0, 1.0, 1, gamma=1.0), lambda: v.update_many(*rows), v.reset):
            with pytest.raises(RuntimeError, match="in use by another thread"):
                call()
        assert v.steps == 0
        with ThreadPoolExecutor(3) as pool:
            copying = [pool.submit(copy) for copy in (v.clone, v.clone, lambda: v.__reduce__())]
            assert wait(copying, timeout=0.05).done == set()
            features.go.set()
            assert [future.result(60).steps for future in copying[:2]] == [2, 2]
    finally:
        features.go.set()
        thread.join(60)
    assert v.steps == 2
    v.update(0, 1.0, 1, gamma=1.0)
    assert v.clone().steps == v.steps == 3


@pytest.mark.parametrize("name", MAKERS)
def test_whatever_threads_do_no_step_is_lost_and_nothing_crashes(name: str) -> None:
    v, taken, lock = MAKERS[name](), [0], threading.Lock()
    end = time.monotonic() + 0.5

    def work(k: int) -> None:
        while time.monotonic() < end:
            n = 1 + k * 700
            part = {field: column[:n] for field, column in vars(STEPS).items()}
            try:
                if k:
                    v.update_many(td.mdp.Transitions(**part))
                else:
                    v.update(5, 0.0, 6, 0.9)
            except RuntimeError as error:
                if "in use by another thread" not in str(error):
                    raise
            else:
                with lock:
                    taken[0] += n

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert v.steps == taken[0] > 0
    assert np.isfinite(v.predict_many(range(11))).all()


def test_many_learners_in_many_threads_learn_what_they_learn_alone() -> None:
    def learn(make: Callable[[], Any]) -> Any:
        v = make()
        v.update_many(STEPS)
        return v.predict_many(range(11)).tobytes()

    alone = [learn(make) for make in MAKERS.values()]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(learn, list(MAKERS.values()) * 2)) == alone * 2


def test_an_agent_belongs_to_one_thread_at_a_time() -> None:
    features = Slow(3)
    features.go.set()
    agent = td.ActorCritic(td.TrueOnlineTD(features, 0.1), td.control.Softmax(2), 0.1)
    at_work, go = threading.Event(), threading.Event()

    def rule(obs: Any) -> Any:  # noqa: ARG001
        at_work.set()
        assert go.wait(60)
        return [0.5, 0.5]

    slow = td.ActorCritic(agent.critic, td.control.Softmax(2), 0.1, behavior=rule)
    thread = threading.Thread(target=lambda: slow.update(0, 1, 1.0, 1, gamma=1.0))
    thread.start()
    try:
        assert at_work.wait(60)
        with pytest.raises(RuntimeError, match="agent is in use by another thread"):
            slow.update(0, 1, 1.0, 1, gamma=1.0)
        with pytest.raises(RuntimeError, match="agent is in use by another thread"):
            slow.reset()
    finally:
        go.set()
        thread.join(60)
    assert slow.steps == 1
