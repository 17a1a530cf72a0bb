"""What must not matter does not: threads, blocks, neighbours, interruption; and what cannot be is refused first."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda.engine import trajectory as streams
from tdlambda.engine.block import Block
from tdlambda.engine.plan import plan
from tdlambda.lab.reproduction import PublishedMeta, PublishedTrueOnlineGTD


def some(task: Any, n: int = 37) -> dict[str, td.Learner]:
    """Learners of three kinds."""
    found: dict[str, td.Learner] = {}
    for k, alpha in enumerate(np.geomspace(1e-3, 0.1, n)):
        found[f"fixed {k}"] = td.TrueOnlineTD(task.features, alpha, k / n)
        found[f"meta {k}"] = td.TrueOnlineGTD(task.features, alpha / 4, td.rules.Meta(0.01))
        found[f"greedy {k}"] = td.TD(task.features, alpha / 2, td.rules.Greedy())
    return found


@pytest.mark.parametrize("name", ["RingWorld-v0", pytest.param("FrozenLake-v0", marks=pytest.mark.slow)])
def test_threads_and_blocks_do_not_matter_bit_for_bit(name: str) -> None:
    task = td.make(name)
    learners = some(task)
    runs = [
        td.engine.run(task, learners, seeds, 6000, points=7, threads=threads, width=width)
        for seeds, threads, width in (([1, 2], 1, 64), ([1, 2], 2, 64), ([1, 2], 2, 5), ([2, 1], 3, 17))
    ]
    for other in runs[1:]:
        order = [other.seeds.index(number) for number in runs[0].seeds]
        assert np.array_equal(runs[0].error, other.error[:, order])
        for a, b in zip(runs[0].weights + runs[0].lambdas, other.weights + other.lambdas, strict=True):
            assert np.array_equal(a, b[order])
    alone = td.engine.run(task, {"meta 3": learners["meta 3"]}, [2], 6000, points=7, threads=2)
    assert np.array_equal(alone.error[0, 0], runs[0].error[list(learners).index("meta 3"), 1])


def test_a_lane_that_diverges_is_marked_and_leaves_its_neighbours_alone() -> None:
    baird: Any = td.make("Baird-v0")
    start = {"initial": baird.initial_weights}
    calm = {f"calm {k}": td.TrueOnlineTD(baird.features, a, 0.5, **start) for k, a in enumerate((1e-5, 2e-5, 3e-5))}
    wild = {
        "wild": td.TrueOnlineTD(baird.features, 10.0, 0.5, **start),
        "slow": td.TrueOnlineTD(baird.features, 0.01, 0.0, **start),
    }
    mixed = {"calm 0": calm["calm 0"], **wild, "calm 1": calm["calm 1"], "calm 2": calm["calm 2"]}
    keep = ("weights", "learners")
    together = td.engine.run(baird, mixed, 2, 40_000, points=50, keep=keep)
    apart = td.engine.run(baird, calm, 2, 40_000, points=50, keep=keep)
    places = [list(mixed).index(name) for name in calm]
    assert np.array_equal(together.error[places], apart.error)
    assert np.isfinite(apart.error).all()
    for name in wild:
        k = list(mixed).index(name)
        for j, seed in enumerate(together.seeds):
            own: Any = wild[name].clone()
            with pytest.raises(td.Diverged):
                own.update_many(baird.sampler(seed).take(40_000))
            assert together.diverged_at[k, j] == own.diverged_at
            np.testing.assert_allclose(together.weights[k][j], own.weights, rtol=1e-6)
            ours: Any = together.learners[k][j]
            assert ours.diverged_at == own.diverged_at
            late = together.points >= own.diverged_at
            assert np.isinf(together.error[k, j, late]).all()
            assert np.isfinite(together.error[k, j, ~late]).all()
    assert (together.diverged_at[places] == -1).all()
    assert "4 diverged" in repr(together)


def test_a_small_bound_is_watched_at_every_step() -> None:
    ring = td.make("RingWorld-v0")
    learners = [td.TD(ring.features, 0.5, 0.9, bound=bound) for bound in (0.01, 0.02, 0.04, 1e3)]
    found = td.engine.run(ring, learners, [4], 3000)
    steps = ring.sampler(4).take(3000)
    for k, learner in enumerate(learners):
        with contextlib.suppress(td.Diverged):
            learner.update_many(steps)
        assert found.diverged_at[k, 0] == (learner.diverged_at or -1)
    assert (found.diverged_at >= 0).sum() >= 2


def test_a_weight_that_is_no_number_is_noticed_wherever_it_is() -> None:
    groups, _ = plan([td.TrueOnlineGTD(td.features.OneHot(5), 0.1, td.rules.Meta()) for _ in range(8)])
    for row, feature in ((0, 0), (0, 4), (5, 2), (16, 3)):
        block = Block(groups[0], share=False)
        block.memory.F[:, :2] = 1.0
        block.memory.F[feature, row, 3] = np.nan
        assert block.diverged().tolist() == [False] * 3 + [True] + [False] * 4
        block.freeze(3)
        assert not block.diverged().any()


def test_a_trajectory_is_made_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    ring = td.make("RingWorld-v0")
    sampler = type(ring.sampler())
    sizes: list[int] = []
    take = sampler.take

    def counted(self: Any, steps: int) -> td.mdp.Transitions:
        sizes.append(steps)
        return take(self, steps)

    monkeypatch.setattr(sampler, "take", counted)
    td.engine.run(ring, [td.TrueOnlineTD(ring.features, 0.1, 0.5)], 2, 50_000, threads=1)
    assert max(sizes) <= streams.CHUNK
    assert sum(sizes) >= 100_000


def test_control_c_keeps_what_is_finished() -> None:
    ring = td.make("RingWorld-v0")
    learners = [td.TrueOnlineTD(ring.features, 0.1, k / 64) for k in range(64)]
    td.engine.run(ring, learners, 1, 10)  # compile
    finished: list[int] = []

    def on_seed(result: td.engine.Result) -> None:
        finished.extend(result.seeds)
        if len(finished) == 2:
            threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT)).start()

    begun = time.perf_counter()
    with pytest.raises(td.Interrupted, match=r"\d+ of 10000 seeds were finished") as stopped:
        td.engine.run(ring, learners, 10_000, 100_000, threads=1, on_seed=on_seed)
    found = stopped.value.result
    assert isinstance(stopped.value, KeyboardInterrupt)
    assert time.perf_counter() - begun < 60
    assert found.interrupted
    assert sorted(found.seeds) == sorted(finished)
    assert 2 <= len(found.seeds) < 10_000
    again = td.engine.run(ring, learners, list(found.seeds)[:1], 100_000)
    assert np.array_equal(again.error[:, 0], found.error[:, 0])


def test_an_error_in_a_worker_is_raised() -> None:
    ring: Any = td.make("RingWorld-v0")
    ring.sampler = lambda seed: td.make("RingWorld-v0").sampler(seed) if seed == 0 else 1 / 0
    with pytest.raises(ZeroDivisionError):
        td.engine.run(ring, [td.TrueOnlineTD(ring.features, 0.1, 0.5)], [5, 6], 100)


BAD: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "task": ({"task": 3}, TypeError, "task"),
    "no learners": ({"learners": []}, ValueError, "learners"),
    "not a learner": ({"learners": [3]}, TypeError, "learners"),
    "other features": ({"learners": [td.TD(td.features.OneHot(5), 0.1)]}, ValueError, "learners"),
    "λ of other features": (
        {"learners": [td.TD(td.features.OneHot(11), 0.1, td.rules.Meta(features=td.features.OneHot(5)))]},
        ValueError,
        "learners",
    ),
    "λ of other states": (
        {"learners": [td.TD(td.features.Custom(lambda s: [s], 1), 0.1, [0.5] * 4)]},
        ValueError,
        "learners",
    ),
    "no seeds": ({"seeds": []}, ValueError, "seeds"),
    "repeated seeds": ({"seeds": [1, 2, 1]}, ValueError, "seeds"),
    "negative seed": ({"seeds": [-1]}, ValueError, "seeds"),
    "zero seeds": ({"seeds": 0}, ValueError, "seeds"),
    "no steps": ({"steps": 0}, ValueError, "steps"),
    "fraction of steps": ({"steps": 10.5}, TypeError, "steps"),
    "points beyond steps": ({"points": [5, 101]}, ValueError, "points"),
    "more points than steps": ({"points": 101}, ValueError, "points"),
    "points backwards": ({"points": [5, 4]}, ValueError, "points"),
    "no points": ({"points": []}, ValueError, "points"),
    "weights": ({"weights": [1.0] * 3}, ValueError, "weights"),
    "keep": ({"keep": ("weight",)}, ValueError, "keep"),
    "threads": ({"threads": 0}, ValueError, "threads"),
    "width": ({"width": 0}, ValueError, "width"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_configuration_is_refused_before_any_work(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    changes, error, name = BAD[case]
    work = []
    monkeypatch.setattr(td.engine.run_learners, "_work", lambda *_: work.append(1))
    arguments: dict[str, Any] = {
        "task": td.make("RingWorld-v0"), "learners": [td.TD(td.features.OneHot(11), 0.1)], "seeds": 2, "steps": 100,
    }  # fmt: skip
    with pytest.raises(error, match=name):
        td.engine.run(**(arguments | changes))
    assert not work


def test_a_diverged_learner_is_refused() -> None:
    learner = td.TD(td.features.OneHot(11), 1.0, bound=1e-3, on_divergence="flag")
    learner.update_many([0, 0], [1.0, 1.0], [0, 0], gamma=1.0)
    with pytest.raises(ValueError, match="has already diverged"):
        td.engine.run("RingWorld-v0", [learner], 1, 100)


def test_progress_is_shown_on_request(capfd: pytest.CaptureFixture[str]) -> None:
    td.engine.run("RingWorld-v0", [td.TD(td.features.OneHot(11), 0.1)], 2, 20_000, progress=True)
    assert "%" in capfd.readouterr().err
    td.engine.run("RingWorld-v0", [td.TD(td.features.OneHot(11), 0.1)], 2, 20_000)
    assert capfd.readouterr().err == ""


def test_sampled_truth_is_the_truth() -> None:
    lake = td.make("FrozenLake-v0")
    lake.features = td.features.OneHot(16)
    truth = td.engine.sampled_truth(lake, 300, 400_000)
    exact = lake.exact.v()[truth.observations]
    assert len(truth.observations) >= 8
    assert (np.abs(truth.values - exact) < 5 * truth.error).all()
    assert truth.error.max() < 0.05
    assert truth.weights.sum() == pytest.approx(1)
    with pytest.raises(ValueError, match="steps"):
        td.engine.sampled_truth(td.make("MountainCar-v0", limit=5), 10, 100)


def test_weights_of_choice() -> None:
    ring = td.make("RingWorld-v0")
    learner = td.TrueOnlineTD(ring.features, 0.05, 0.9)
    weights = np.arange(11.0)
    found = td.engine.run(ring, [learner], [1], 500, points=1, weights=weights)
    learner.update_many(ring.sampler(1).take(500))
    gap = (learner.weights - ring.exact.v()) ** 2
    assert found.error[0, 0, 0] == pytest.approx((weights * gap)[1:10].sum(), rel=1e-12)


SCRIPT = """
import sys
import tdlambda as td
ring = td.make("RingWorld-v0")
found = td.engine.run(ring, [td.TrueOnlineTD(ring.features, 0.1, 0.5)], 1, 1000)
(lanes,) = (module for name, module in sys.modules.items() if name.startswith("tdlambda.generated.lanes_"))
print(found.error.sum(), sum(lanes.advance.stats.cache_hits.values()))
"""


def test_where_nothing_can_be_written_beside_the_source_the_cache_goes_elsewhere_and_does_not_grow(
    tmp_path: Path,
) -> None:
    source = Path(td.__file__).parent
    target = tmp_path / "lib" / "tdlambda"
    for file in source.rglob("*"):
        if file.is_file() and "__pycache__" not in file.parts:
            copy = target / file.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(file.read_bytes())
    for folder in [target, *(path for path in target.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").touch()  # a file in its place: no cache can be made here, whoever runs this
    environment = {
        **os.environ,
        "PYTHONPATH": str(target.parent),
        "HOME": str(tmp_path),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    for name in ("NUMBA_CACHE_DIR", "TDLAMBDA_CACHE", "TDLAMBDA_QUIET"):
        environment.pop(name, None)
    environment["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    outcomes = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, timeout=600, check=True
        )
        outcomes.append((done.stdout.split(), "compiling" in done.stderr, len(list(tmp_path.rglob("*.nb[ic]")))))
    (first, announced, files), (second, again, later) = outcomes
    assert first[0] == second[0]
    assert (first[1], second[1]) == ("0", "1")
    assert (announced, again) == (True, False)
    assert files == later > 0


@pytest.mark.costly
def test_the_first_lane_of_a_block_may_diverge() -> None:
    """What a block has for all its lanes does not go with the lane that it is read from."""
    lake = td.make("FrozenLake-v0")

    def learner(alpha: float, lam: Any) -> td.Learner:
        return PublishedTrueOnlineGTD(lake.features, alpha, lam, last_discount=0.9, on_divergence="flag")

    for lam in (0.3, PublishedMeta(0.01, last_discount=0.9)):
        both = td.engine.run(lake, [learner(30.0, lam), learner(0.01, lam)], [1], 3000)
        alone = td.engine.run(lake, [learner(0.01, lam)], [1], 3000)
        assert both.diverged_at[0, 0] > 0
        assert np.array_equal(both.weights[1], alone.weights[0])
