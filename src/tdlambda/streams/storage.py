"""Storage of a Horde: a zip of plain arrays with a JSON header, as for learners. Loading never executes anything.

header.json            questions, features, rules for rows, the last row, alarms; learners of one kind together
front.<name>.npy       the state of the features
crew.<k>.<name>.npy    the arrays of the k-th kind of learner, stacked
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tdlambda.features import Columns, Encoder
from tdlambda.learners import storage
from tdlambda.learners.base import LEARNERS, Array, Learner
from tdlambda.streams.batch import Batch, Schema
from tdlambda.streams.crew import Crew
from tdlambda.streams.following import Following
from tdlambda.streams.front import Alarm, Front
from tdlambda.streams.journal import Journal, State
from tdlambda.streams.question import Question

if TYPE_CHECKING:
    from tdlambda.streams.horde import Horde


def save(horde: Horde, path: str | Path) -> None:
    """Save a Horde to exactly this path, atomically: on failure an existing file stays unchanged."""
    storage.write(path, *_written(horde))


# ---- writing -------------------------------------------------------------------------------------------------------


def _written(horde: Horde) -> tuple[dict[str, Any], dict[str, Array]]:
    state = horde._at_work("save")
    last, front = state.last, state.front
    assert last is not None
    assert state.obs is not None
    questions = {name: _plain_question(name, question) for name, question in horde.questions.items()}
    features = front.features
    if isinstance(features, Columns):
        plain: Any = {"columns": features.get_params()}
    else:
        plain = {"encoder": storage.plain("features", features)}
    arrays = {f"front.{name}": array for name, array in front.arrays().items()} | {"obs": state.obs}
    crews = {name: crew for name, crew in (("crew", state.crew), ("spread", state.spread)) if crew is not None}
    params = {
        "questions": questions, "features": plain, "following": asdict(state.following), "missing": horde.missing,
        "observed": front.observed, "watched": front.columns, "as_is": front.as_is,
        "values": list(front.values.values()), "variance": horde.variance,
        "schema": [[name, kind] for name, kind in state.schema.kinds.items()],
        "rows": state.rows, "fresh": state.fresh, "begun": state.begun, "plain": last.plain,
        "last": [[name, _cell(column[0])] for name, column in last.columns.items()],
        "alarms": [[alarm.row, alarm.name, alarm.kind] for alarm in state.alarms], "alarm_count": state.alarm_count,
        **{name: _crew(name, crew, arrays) for name, crew in crews.items()},
    }  # fmt: skip
    return {"horde": 1, "params": params}, arrays


def _plain_question(name: str, question: Question) -> dict[str, Any]:
    params = question.get_params()
    for argument, value in params.items():
        if callable(value):
            raise TypeError(
                f"question {name!r}: its {argument} is a function, which cannot be saved; use a column instead"
            )
    return {argument: value.item() if isinstance(value, np.generic) else value for argument, value in params.items()}


def _cell(value: Any) -> Any:
    return None if value is None or value != value else value if isinstance(value, str) else float(value)


def _crew(prefix: str, crew: Crew, arrays: dict[str, Array]) -> dict[str, Any]:
    """The header of a crew; its arrays are added to `arrays`."""
    kinds: dict[str, list[int]] = {}
    learners = [crew.learner(q) for q in range(crew.n)]
    for q, one in enumerate(learners):
        name = type(one).__name__
        if LEARNERS.get(name) is not type(one):
            raise TypeError(f"learner: {name} must be a registered class: a subclass of Learner with a unique name")
        params = {key: storage.plain(key, value) for key, value in one.get_params().items()}
        shapes = [[part, list(array.shape)] for part, array in one._state().items()]
        kinds.setdefault(json.dumps([name, params, shapes], allow_nan=False), []).append(q)
    for k, some in enumerate(kinds.values()):
        states = [learners[q]._state() for q in some]
        arrays |= {f"{prefix}.{k}.{part}": np.stack([state[part] for state in states]) for part in states[0]}
    for i, team in enumerate(crew.teams):
        arrays[f"{prefix}.order.{i}"] = team.order
    arrays[f"{prefix}.asleep"] = crew.asleep
    found = [{"learner": json.loads(key)[0], "params": json.loads(key)[1], "of": some} for key, some in kinds.items()]
    return {"kinds": found, "teams": [team.where for team in crew.teams]}


# ---- reading -------------------------------------------------------------------------------------------------------


def read(header: dict[str, Any], arrays: dict[str, Array]) -> Horde:
    """Read a Horde that `save` wrote."""
    from tdlambda.streams.horde import Horde

    p = header["params"]
    questions = {name: Question(**params) for name, params in p["questions"].items()}
    allowance = max(storage.LEAST_ALLOWANCE, sum(array.nbytes for array in arrays.values()))
    features: Columns | Encoder = (
        Columns.of_params(p["features"]["columns"])
        if "columns" in p["features"]
        else storage.part(p["features"]["encoder"], allowance)
    )
    if features.size > allowance:
        raise ValueError("its features need far more memory than the size of the file justifies")
    following = Following(**p["following"])
    horde = Horde(
        features, questions, by=following.by, time=following.time, gap=following.gap, terminated=following.terminated,
        missing=p["missing"], observed=p["observed"] or None, variance=p["variance"],
    )  # fmt: skip
    front = Front(features, p["observed"], p["watched"], p["missing"], bool(p["as_is"]))
    own = {name.removeprefix("front."): array for name, array in arrays.items() if name.startswith("front.")}
    front.restore(own, p["values"])
    crew = _crew_of(p["crew"], "crew", front.encoder, arrays, len(questions))
    spread = _crew_of(p["spread"], "spread", front.encoder, arrays, len(questions)) if "spread" in p else None
    schema, rows = Schema(dict(p["schema"])), int(p["rows"])
    alarms = tuple(Alarm(int(row), name, str(what)) for row, name, what in p["alarms"])
    columns = {name: _column(value, schema.kinds.get(name) == "text") for name, value in p["last"]}
    dates = frozenset(name for name, what in schema.kinds.items() if what == "dates")
    last, obs = Batch(columns, dates, rows - 1, bool(p["plain"])), arrays["obs"]
    front.encoder.encode_batch(obs)  # validates it
    if len(obs) != 1 or set(columns) != set(schema.kinds):
        raise ValueError("its last row does not match its columns")
    fresh, begun, count = bool(p["fresh"]), bool(p["begun"]), int(p.get("alarm_count", len(alarms)))
    horde._journal = Journal(
        State(front, following, crew, spread, schema, rows, last, obs, fresh, begun, alarms, count)
    )  # fmt: skip
    return horde


def _column(value: Any, text: bool) -> Array:
    return np.array([value], dtype=object) if text else np.array([np.nan if value is None else float(value)])


def _crew_of(given: dict[str, Any], prefix: str, encoder: Encoder, arrays: dict[str, Array], n: int) -> Crew:
    learners: list[Learner | None] = [None] * n
    for k, kind in enumerate(given["kinds"]):
        begin = f"{prefix}.{k}."
        stacked = {name.removeprefix(begin): array for name, array in arrays.items() if name.startswith(begin)}
        for place, q in enumerate(kind["of"]):
            state = {name: array[place].copy() for name, array in stacked.items()}
            learner = storage.build(kind, state)
            learner._restore(state)
            storage.require_finite(learner, state)
            if learner.features != encoder:
                raise ValueError("its learners do not match its features")
            learner.features = encoder
            learners[q] = learner
    if any(one is None for one in learners):
        raise ValueError("a question has no learner")
    teams = [(list(map(int, where)), arrays[f"{prefix}.order.{i}"]) for i, where in enumerate(given["teams"])]
    for where, order in teams:
        if len(set(where)) < len(where) or not all(0 <= q < n for q in where):
            raise ValueError("its lanes are not consistent")
        if len(set(order.tolist())) < order.size or not ((order >= 0) & (order < encoder.size)).all():
            raise ValueError("its list of live features is not consistent")
    crew = Crew(encoder, learners, teams)  # type: ignore[arg-type]  # None was excluded above
    asleep = arrays[f"{prefix}.asleep"]
    if asleep.shape != (n,) or asleep.dtype != np.bool_:
        raise ValueError("its flags of skipped questions do not match its questions")
    crew.asleep = asleep
    return crew
