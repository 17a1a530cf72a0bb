"""Storage of a Horde: a zip of plain arrays with a JSON header, as for learners. Loading never executes anything.

header.json               questions, features, rules for rows, last rows, alarms; learners of one kind together
front.<name>.npy          scales of the features
place.<i>.<name>.npy      of the i-th stream: memory of the features, last observation, rows that wait, traces, errors
crew.<i>.<k>.<name>.npy   the arrays of the k-th kind of learner of the i-th stream (all of them, if shared), stacked
"""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tdlambda.core.memory import Episode
from tdlambda.features import Columns, Encoder, Network
from tdlambda.learners import storage
from tdlambda.learners.learner import LEARNERS, Array, Learner
from tdlambda.streams.batch import Batch, Schema
from tdlambda.streams.cell_kinds import TEXT
from tdlambda.streams.crew import Crew
from tdlambda.streams.following import Following
from tdlambda.streams.front import Alarm, Front
from tdlambda.streams.journal import Journal, Place, State
from tdlambda.streams.quality import Quality
from tdlambda.streams.question import Question
from tdlambda.streams.residuals import Errors, Open, Scales
from tdlambda.streams.windows import Waiting

if TYPE_CHECKING:
    from tdlambda.streams.horde import Horde


def save(horde: Horde, path: str | Path) -> None:
    """Save a Horde to exactly this path, atomically: on failure an existing file stays unchanged."""
    storage.write(path, *_written(horde))


# ---- writing -------------------------------------------------------------------------------------------------------


def _written(horde: Horde) -> tuple[dict[str, Any], dict[str, Array]]:
    state = horde._at_work("save")
    front = state.front
    questions = {name: _plain_question(name, question) for name, question in horde.questions.items()}
    features = front.given
    if isinstance(features, Columns):
        plain: Any = {"columns": features.get_params()}
    else:
        plain = {"encoder": storage.plain("features", features)}
    arrays = {f"front.{name}": array for name, array in front.arrays().items()}
    places = [_place(i, place, arrays) for i, place in enumerate(state.places.values())]
    crews = [[_cell(key), _crew(f"crew.{i}", crew, arrays)] for i, (key, crew) in enumerate(state.crews.items())]
    if horde.intervals:
        arrays |= {"scales.steps": state.scales.steps, "scales.stride": state.scales.stride}
    params = {
        "questions": questions, "features": plain, "following": asdict(state.following), "missing": horde.missing,
        "observed": front.observed, "watched": front.watched, "as_is": front.as_is, "share": horde.share,
        "values": list(front.values.values()), "intervals": horde.intervals,
        "schema": [[name, kind] for name, kind in state.schema.kinds.items()],
        "rows": state.rows, "stream": _cell(state.stream), "loaded": _cell(state.loaded),
        "streams": [_cell(key) for key in state.places], "places": places, "crews": crews,
        "alarms": [[alarm.row, alarm.name, alarm.kind, _cell(alarm.stream)] for alarm in state.alarms],
        "alarm_count": state.alarm_count, "quality": state.quality.to_dict(),
    }  # fmt: skip
    return {"horde": 2, "params": params}, arrays


def _place(i: int, place: Place, arrays: dict[str, Array]) -> dict[str, Any]:
    """The header of a stream's place; its arrays are added to `arrays`."""
    own = {"memory": place.memory, "obs": place.obs}
    if place.waiting is not None:
        own |= {f"waiting.{name}": array for name, array in place.waiting._asdict().items()}
    for what, some in (("open", place.open), ("errors", place.errors)):
        own |= {} if some is None else {f"{what}.{name}": array for name, array in some._asdict().items()}
    numbers = {}
    for q, episode in place.episodes.items():
        own |= {f"episode.{q}.{name}": row for name, row in episode.rows.items()}
        numbers[str(q)] = {name: float(value) for name, value in episode.numbers.items()}
    arrays |= {f"place.{i}.{name}": np.ascontiguousarray(array) for name, array in own.items()}
    last = place.last
    return {
        "fresh": place.fresh, "begun": place.begun, "plain": last.plain, "row": last.first, "episodes": numbers,
        "last": [[name, _cell(column[0])] for name, column in last.columns.items()],
    }  # fmt: skip


def _plain_question(name: str, question: Question) -> dict[str, Any]:
    params = question.get_params()
    for argument, value in params.items():
        if callable(value):
            raise TypeError(
                f"question {name!r}: its {argument} is a function, which cannot be saved; use a column instead"
            )
    return {argument: _plain_value(value) for argument, value in params.items()}


def _plain_value(value: Any) -> Any:
    if isinstance(value, timedelta):
        return f"{value.total_seconds()} s"
    return value.item() if isinstance(value, np.generic) else value


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

    if header["horde"] != 2:
        raise ValueError("it is a Horde of an earlier version, whose features were others; learn again from the rows")
    p = header["params"]
    questions = {name: Question(**params) for name, params in p["questions"].items()}
    allowance = max(storage.LEAST_ALLOWANCE, sum(array.nbytes for array in arrays.values()))
    features: Columns | Encoder | Network = (
        Columns.of_params(p["features"]["columns"])
        if "columns" in p["features"]
        else storage.part(p["features"]["encoder"], allowance)
    )
    if features.size > allowance:
        raise ValueError("its features need far more memory than the size of the file justifies")
    following = Following(**p["following"])
    horde = Horde(
        features, questions, by=following.by, share=p["share"], time=following.time, gap=following.gap,
        terminated=following.terminated, missing=p["missing"], observed=p["observed"] or None, intervals=p["intervals"],
    )  # fmt: skip
    front = Front(features, p["observed"], p["watched"], p["missing"], bool(p["as_is"]))
    front.restore(_under(arrays, "front."), p["values"])
    schema, rows, n = Schema(dict(p["schema"])), int(p["rows"]), len(questions)
    places = {}
    for i, (key, given) in enumerate(zip(p["streams"], p["places"], strict=True)):
        places[key] = _place_of(given, _under(arrays, f"place.{i}."), front, schema)
    fleet = following.by is not None and p["share"]
    crews = {key: _crew_of(given, f"crew.{i}", front, arrays, n) for i, (key, given) in enumerate(p["crews"])}
    alarms = tuple(Alarm(int(row), name, str(what), key) for row, name, what, key in p["alarms"])
    scales = _scales_of(arrays, places, n) if p["intervals"] else Scales(*np.ones((2, n), dtype=np.int64))
    if not places or (set(crews) != {None} if fleet or following.by is None else set(crews) != set(places)):
        raise ValueError("its learners do not match its streams")
    if p["stream"] not in places or not all(isinstance(place.last.first, int) for place in places.values()):
        raise ValueError("its last row does not match its streams")
    horde._journal = Journal(
        State(
            front,
            following,
            schema,
            crews,
            places,
            scales,
            rows,
            p["stream"],
            p["loaded"],
            alarms,
            int(p["alarm_count"]),
            Quality.of_dict(p["quality"]),
        )
    )
    return horde


def _under(arrays: dict[str, Array], prefix: str) -> dict[str, Array]:
    """The arrays whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _place_of(given: dict[str, Any], own: dict[str, Array], front: Front, schema: Schema) -> Place:
    columns = {name: _column(value, schema.kinds.get(name) == TEXT) for name, value in given["last"]}
    if set(columns) != set(schema.kinds):
        raise ValueError("its last row does not match its columns")
    last, obs = Batch(columns, schema.dates, int(given["row"]), bool(given["plain"])), own["obs"]
    front.encoder.encode_batch(obs)  # validates it
    if len(obs) != 1:
        raise ValueError("its last row does not match its columns")
    front.require_memory(own["memory"])
    episodes = {
        int(q): Episode(_under(own, f"episode.{q}."), {name: float(v) for name, v in numbers.items()})
        for q, numbers in given["episodes"].items()
    }
    waiting = Waiting(**_under(own, "waiting.")) if "waiting.X" in own else None
    if waiting is not None:
        lengths = {len(column) for column in waiting[:5]}
        if len(lengths) != 1 or not ((waiting.upto >= 0) & (waiting.upto <= len(waiting.X))).all():
            raise ValueError("its rows that wait for windows are not consistent")
    open_ = Open(**_under(own, "open.")) if "open.ring" in own else None
    errors = Errors(**_under(own, "errors.")) if "errors.ring" in own else None
    return Place(own["memory"], last, obs, bool(given["fresh"]), bool(given["begun"]), episodes, waiting, open_, errors)


def _scales_of(arrays: dict[str, Array], places: dict[Any, Place], n: int) -> Scales:
    scales = Scales(arrays["scales.steps"], arrays["scales.stride"])
    shapes = {name: (a.shape, a.dtype) for name, a in Errors.none(n)._asdict().items()}
    errors = [place.errors for place in places.values() if place.errors is not None]
    same = all({name: (a.shape, a.dtype) for name, a in own._asdict().items()} == shapes for own in errors)
    if not same or any((own.total < 0).any() for own in errors):
        raise ValueError("its errors of predictions do not match its questions")
    if not all(a.shape == (n,) and a.dtype == np.int64 and (a >= 1).all() for a in scales):
        raise ValueError("its errors of predictions do not match its questions")
    return scales


def _column(value: Any, text: bool) -> Array:
    return np.array([value], dtype=object) if text else np.array([np.nan if value is None else float(value)])


def _crew_of(given: dict[str, Any], prefix: str, front: Front, arrays: dict[str, Array], n: int) -> Crew:
    learners: list[Learner | None] = [None] * n
    encoder, seen = front.encoder, front.seen_by_learners
    for k, kind in enumerate(given["kinds"]):
        begin = f"{prefix}.{k}."
        stacked = {name.removeprefix(begin): array for name, array in arrays.items() if name.startswith(begin)}
        for place, q in enumerate(kind["of"]):
            state = {name: array[place].copy() for name, array in stacked.items()}
            learner = storage.build(kind, state)
            learner._restore(state)
            storage.require_finite(learner, state)
            if learner.features != seen:
                raise ValueError("its learners do not match its features")
            learner.features = seen
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
