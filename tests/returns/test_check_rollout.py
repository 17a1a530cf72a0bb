"""`td.check_rollout` names what a rollout records wrongly at the ends of episodes."""

import re
from typing import Any

import numpy as np
import pytest

import tdlambda as td

NAMES = ("reward", "value", "value_next", "terminated", "truncated")


def same_step(envs: Any, value: Any, steps: int, mistake: str = "") -> dict[str, Any]:
    """A rollout with same-step autoreset."""
    obs, rows = envs.reset()[0], []
    for _ in range(steps):
        after, reward, terminated, truncated, infos = envs.step(np.zeros(envs.num_envs, dtype=int))
        final = after.copy()
        if mistake != "after reset" and "final_obs" in infos:
            for k in np.flatnonzero(infos["_final_obs"]):
                final[k] = infos["final_obs"][k]
        rows.append((reward, value(after if mistake == "value" else obs), value(final), terminated, truncated))
        obs = after
    return recorded(rows, mistake)


def next_step(envs: Any, value: Any, steps: int, mistake: str = "") -> dict[str, Any]:
    """A rollout with next-step autoreset."""
    obs, rows, valid = envs.reset()[0], [], []
    over = np.zeros(envs.num_envs, dtype=bool)
    for _ in range(steps):
        after, reward, terminated, truncated, _ = envs.step(np.zeros(envs.num_envs, dtype=int))
        rows.append((reward, value(obs), value(after), terminated, truncated))
        valid.append(~over)
        obs, over = after, terminated | truncated
    out = recorded(rows, mistake)
    if mistake == "left out":
        valid[1] = np.zeros_like(valid[1])
    return out if mistake == "kept" else out | {"valid": np.array(valid)}


def single(env: Any, value: Any, steps: int, mistake: str = "") -> dict[str, Any]:
    """A rollout that resets the environment itself."""
    obs, rows = env.reset()[0], []
    for _ in range(steps):
        after, reward, terminated, truncated, _ = env.step(0)
        over = terminated or truncated
        new = env.reset()[0] if over and mistake != "no reset" else after
        seen = new if mistake == "after reset" else after
        rows.append((reward, value(obs), value(seen), terminated, truncated))
        obs = new
    return recorded(rows, mistake)


def recorded(rows: list[Any], mistake: str) -> dict[str, Any]:
    out = {name: np.array(column) for name, column in zip(NAMES, zip(*rows, strict=True), strict=True)}
    if mistake == "done":
        out["terminated"] = out["terminated"] | out["truncated"]
    elif mistake == "no truncation":
        out["truncated"] = np.zeros_like(out["truncated"])
    elif mistake == "all truncated":
        out["truncated"] = out["terminated"] | out["truncated"]
    elif mistake == "late":
        out["reward"] = np.roll(out["reward"], 1, axis=0)
    elif mistake == "early ends":
        out["terminated"] = np.roll(out["terminated"], -1, axis=0)
    elif mistake == "odd":
        out["reward"] = out["reward"] + 0.5
    elif mistake == "swapped":
        out = {name: column.T for name, column in out.items()}
    return out


ROLLOUTS: dict[str, Any] = {"same-step": same_step, "next-step": next_step, "single": single}
WRONG = {
    ("same-step", "after reset"): "same-step: value_next taken after the reset",
    ("single", "after reset"): "single: value_next taken after the reset",
    ("same-step", "value"): "same-step: value taken after the step",
    ("next-step", "kept"): "next-step: a step that only resets is kept as a transition: return valid, False there",
    ("next-step", "left out"): "next-step: a transition is left out",
    ("same-step", "done"): "same-step: truncation recorded as termination",
    ("next-step", "done"): "next-step: truncation recorded as termination",
    ("single", "no truncation"): "single: truncation is not recorded",
    ("next-step", "all truncated"): "next-step: termination recorded as truncation",
    ("same-step", "late"): "same-step: reward recorded one step late",
    ("same-step", "early ends"): "same-step: terminated recorded one step early",
    ("single", "odd"): "single: reward is wrong",
    ("single", "no reset"): "rollout must reset the environment after an episode has ended",
    ("same-step", "swapped"): "must have shape (14, 3) (time comes first); got (3, 14)",
}


@pytest.mark.parametrize("kind", ROLLOUTS)
def test_right_rollouts_pass(kind: str) -> None:
    td.check_rollout(ROLLOUTS[kind], autoreset=kind)
    td.check_rollout(ROLLOUTS[kind], autoreset=[kind], environments=1, steps=30)


@pytest.mark.parametrize(("kind", "mistake"), WRONG)
def test_the_mistake_is_named(kind: str, mistake: str) -> None:
    with pytest.raises(AssertionError, match=re.escape(WRONG[kind, mistake])) as error:
        td.check_rollout(lambda *given: ROLLOUTS[kind](*given, mistake), autoreset=kind)
    if mistake not in ("no reset", "swapped"):
        assert "three steps of environment" in str(error.value)
        assert "←" in str(error.value)


def test_a_rollout_for_one_kind_fails_with_the_other() -> None:
    with pytest.raises(AssertionError, match="next-step: a step that only resets is kept"):
        td.check_rollout(same_step)
    with pytest.raises(AssertionError, match="same-step: a transition is left out"):
        td.check_rollout(next_step)


def test_bad_input() -> None:
    with pytest.raises(ValueError, match='autoreset must be one of "next-step", "same-step", "single"'):
        td.check_rollout(single, autoreset="none")
    with pytest.raises(TypeError, match="rollout must be a function"):
        td.check_rollout(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="steps must be at least 10"):
        td.check_rollout(single, autoreset="single", steps=3)
    with pytest.raises(AssertionError, match=r"rollout must return a mapping with reward.*; got a mapping with reward"):
        td.check_rollout(lambda *_: {"reward": 1}, autoreset="single")
