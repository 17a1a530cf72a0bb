"""The experts of an AutoTD: their memory, their program, and what they say of themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tdlambda.arrays import Array, Floats, Ints, aligned
from tdlambda.auto import changes, errors, expert_table, readings
from tdlambda.auto.coordinates import ROWS as MOMENTS
from tdlambda.auto.coordinates import SCALE
from tdlambda.auto.explanation import Expert, Explanation, mean_lam
from tdlambda.auto.families import linear, observations
from tdlambda.auto.families.observations import OBSERVATIONS
from tdlambda.auto.mixture import (
    ENERGY,
    LONG,
    NUMBERS,
    POWER,
    POWER_OF_VECTORS,
    SCALES,
    SHORT,
    WITHIN_EPISODE,
    Mixture,
    signal,
    weigh,
)
from tdlambda.auto.modules import module_of
from tdlambda.auto.readings import HELD, MORE, REFITS, Readings
from tdlambda.auto.transition import BankMemory, ObservationColumns, TransitionColumns
from tdlambda.compiled import entry
from tdlambda.core.memory import Episode
from tdlambda.core.records import named
from tdlambda.core.tables import table
from tdlambda.features import Dense, Encoder, OneHot
from tdlambda.features.random_features import frequencies

_CONSTANT = (
    "mixture.own", "mixture.value", "mixture.prior", "systems.lam", "systems.growth", "systems.stride", "systems.start",
    "systems.of", "systems.prior", "systems.leading", "systems.ridge", "systems.scratch", "changes.recent",
    "means.window", "lanes.U", "lanes.visits", "lanes.N", "lanes.state", "observations.x",
    "observations.xv", "readings.directions", "readings.x", "readings.positions", "readings.scratch", "readings.moved",
)  # fmt: skip
"""Arrays that are constant or scratch space; of `lanes.N` and `lanes.state`, some rows are saved."""
_COUNTERS = ("under_way", "n_live", "steps")
"""Counters of the lanes that a file must hold."""


class Bank:
    """All experts of an AutoTD.

    Parameters
    ----------
    features
        Encoder of observations.
    algorithm
        Algorithm of the learners with traces; None if there are none.
    cosines
        Number of random cosines of vectors of readings.
    own
        Name and λ of each of the user's own experts; NaN for a λ that is not fixed.
    built_in
        Whether there are other experts than those.
    """

    def __init__(
        self, features: Encoder, algorithm: Any, cosines: int, own: Sequence[tuple[str, float]], built_in: bool = True
    ) -> None:
        self.is_table = isinstance(features, OneHot)
        self.vectors, self.own, self.algorithm = isinstance(features, Dense), own, algorithm
        size = self.size = features.size
        self.shared = built_in and not self.vectors and features.active > 1 and size <= expert_table.MANY
        """Whether there are systems of sparse features of which several are active."""
        self.module: Any = module_of(algorithm, self.vectors, self.shared)
        self.systems = expert_table.systems_of(size, self.vectors, cosines, self.shared) if built_in else []
        n = max([size + self.vectors, *(s.size for s in self.systems)])
        mean_arrays, prior = expert_table.first_means(size, expert_table.MEANS if built_in else expert_table.MEANS[:1])
        prior = [p for s in self.systems for _, _, p in s.experts] + prior
        self.first_lane = len(prior)
        lanes: Any = (
            () if algorithm is None else expert_table.first_lanes(algorithm, self.module, n if self.vectors else size)
        )
        prior += [(expert_table.OF_LEARNERS * self.vectors, 0.0, 1.0)] * (2 * len(linear.PAIRS) if lanes else 0)
        prior += [(0.0, 0.0, 1.0)] * len(own)
        active = n if self.vectors else features.active
        self.memory: Any = BankMemory(
            _first_mixture(np.array(prior), 0 if self.vectors else n, active, len(own)),
            expert_table.first_systems(self.systems, self.vectors, n), mean_arrays, lanes,
            expert_table.first_observations(features.active, self.shared),
            expert_table.first_changes(size * bool(self.systems), features.active, len(own), self.vectors, self.shared),
            _first_readings(size, n - size - 1, len(own)) if self.vectors else (),
        )  # fmt: skip
        self._table, self._codes = table(self.memory), dict[str, Any]()
        self._first_weights()

    def _first_weights(self) -> None:
        m = self.memory.mixture
        m.absent[self.first_lane - 1] = 1.0  # the constant 0, before the end of an episode; or the only mean
        view = m._replace(number=m.number.view(np.recarray))
        if self.memory.lanes:
            linear.prefer(self.memory.lanes, view, self.first_lane)
        weigh(view)

    @property
    def own_weights(self) -> Floats:
        """Weights of the user's own experts in the mixture."""
        weight: Floats = self.memory.mixture.weight
        return weight[weight.size - len(self.own) :]

    # ---- predictions ------------------------------------------------------------------------------------------

    def predict(self, index: Ints, value: Floats, own: Floats) -> Floats:
        """The mixture's predictions at observations at which the user's own experts predict `own`."""
        return self.each(index, value, own)[0]

    def each(self, index: Ints, value: Floats, own: Floats) -> tuple[Floats, Floats]:
        """The predictions of the mixture and of every expert [observation, expert]."""
        out, each = np.empty(len(value)), np.empty((len(value), self.memory.mixture.weight.size))
        x, xv, own = np.ascontiguousarray(index, np.int64), np.ascontiguousarray(value, np.float64), own.copy()
        self.asking(ObservationColumns(x, xv, own, self._phi(), each, out))(-1)
        return out, each

    def _phi(self) -> Floats:
        return np.empty(self.memory.readings.positions.size if self.vectors else 0)

    def asking(self, columns: ObservationColumns) -> Callable[[int], float]:
        """Machine code that predicts at these observations, or at a state; see `transition.predict_rows`."""
        given = table(columns)
        return partial(self._code("predict_rows", given, 0), self._table, given)

    def asking_one(self, x: Ints, xv: Floats, own: Floats) -> Callable[[int], float]:
        """Machine code that predicts at the observation in these rows, or at a state; `own` as in `predict`."""
        each = np.empty((1, self.memory.mixture.weight.size))
        return self.asking(ObservationColumns(x, xv, own, self._phi(), each, np.empty(1)))

    def _code(self, name: str, *examples: Any) -> Any:
        """The machine code of an entry point, compiled when it is first used."""
        if name not in self._codes:
            self._codes[name] = entry(getattr(self.module, name), self._table, *examples)
        return self._codes[name]

    @property
    def coefficients(self) -> Array:
        """The weights Σ p w of the features, without the user's own experts; of readings, the slope in each."""
        m, p = self.memory, self.memory.mixture.weight
        w = p[: m.systems.of.size] @ m.systems.w if self.systems else np.zeros(0)
        n = self.size if not self.vectors else m.readings.positions.size
        w = np.append(w, np.zeros(max(0, n - w.size)))[:n]
        if m.lanes:
            lanes = len(linear.PAIRS)
            shares = p[self.first_lane : self.first_lane + 2 * lanes]
            w = w + np.hstack([m.lanes.F[:, 0], self.copies()]) @ shares
        if not self.vectors:
            return w
        scale = m.readings.moments[SCALE, :-1]
        return np.divide(w[1 : 1 + scale.size], scale, out=np.zeros(scale.size), where=scale > 0)

    def copies(self) -> Floats:
        """The weights of the averaged copies [feature, lane]."""
        from tdlambda.auto.families.averaged import averaged

        q = self.memory.lanes
        behind = q.counts[linear.UPDATES] - q.synced
        found = q.copies[:, 0].copy()
        for f in np.flatnonzero(behind > 0):
            for k in range(found.shape[1]):
                found[f, k] = averaged(q.F[f, 0, k], found[f, k], q.lane[linear.AGE, k], behind[f])
        return found

    # ---- learning ---------------------------------------------------------------------------------------------

    def learning(self, columns: TransitionColumns) -> Callable[..., int]:
        """Machine code that learns from these columns, or from numbers; see `transition.learn_rows`."""
        given = table(columns)
        return partial(self._code("learn_rows", given, 0, 0, 0.0, 0.0, 0.0, 0), self._table, given)

    def learn(self, columns: TransitionColumns) -> int:
        """Learn from columns of transitions; return 0, or 1 + the first row that is invalid."""
        return self.learning(columns)(0, 0, 0.0, 0.0, 0.0, -1)

    def end(self) -> None:
        """Discard the current episode."""
        self._code("end")(self._table)

    def episode(self) -> Episode:
        """A copy of the traces and numbers of the current episode; empty while transitions are held back.

        It is empty with learners too, whose traces then start anew.
        """
        m = self.memory
        if m.lanes or m.readings.number["held"][0] < HELD:
            return Episode({}, {})
        rows = {"z": m.systems.z.copy(), "trace": m.mixture.trace.copy(), "mean": m.means.trace.copy()}
        numbers = {name: float(m.mixture.number[0][name]) for name in WITHIN_EPISODE}
        return Episode(rows, numbers | {"error": float(m.mixture.errors[errors.TRACE])})

    def resume(self, episode: Episode) -> None:
        """Go on with an episode; start a new one if there is nothing in it."""
        m = self.memory
        if m.lanes or "z" not in episode.rows or m.readings.number["held"][0] < HELD:
            self.end()
            return
        for name, array in (("z", m.systems.z), ("trace", m.mixture.trace), ("mean", m.means.trace)):
            array[:] = episode.rows[name]
        for name in WITHIN_EPISODE:
            m.mixture.number[0][name] = episode.numbers[name]
        m.mixture.errors[errors.TRACE] = episode.numbers["error"]

    # ---- errors -----------------------------------------------------------------------------------------------

    def variance(self, index: Ints, value: Floats) -> Floats:
        """The variance of v around each prediction: least-squares uncertainty plus expert disagreement."""
        out, each = self.each(index, value, np.zeros((len(value), len(self.own))))
        known = each.shape[1] - len(self.own)
        p = self.memory.mixture.weight[:known]
        spread: Floats = ((each[:, :known] - out[:, None]) ** 2) @ p
        if self.vectors and self.memory.readings.number["held"][0] < HELD:
            return spread
        if self.knows_observations:
            first = self._leading
            later = first + len(expert_table.RIDGES)  # the same ridge, λ = .8
            spread = np.maximum(spread, (each[:, first] - out) ** 2) + (each[:, later] - each[:, first]) ** 2
        return spread + self._left_open(self._features(index, value)) + self._approximation()

    @property
    def knows_observations(self) -> bool:
        """Whether each distinct observation has a feature of its own."""
        return self.shared and self.memory.observations.total[0] <= OBSERVATIONS

    @property
    def scope(self) -> str:
        """What the uncertainty of values includes: a key of `explanation.SCOPES`; "" for a table."""
        if self.shared:
            return "each observation" if self.knows_observations else "rough"
        return "" if self.is_table else "span"

    @property
    def _leading(self) -> int:
        """The expert of LSTD(0) with the most weight, of those that know each observation if there are any."""
        first = int(self.knows_observations) * len(expert_table.LAMBDAS)
        some = np.flatnonzero(self.memory.systems.of == first)
        return int(some[np.argmax(self.memory.mixture.weight[some])])

    def _approximation(self) -> float:
        """An estimate of the squared approximation error of shared sparse features: APPROXIMATION · E[(V₁ - V₀)²].

        V₀ and V₁ are LSTD(0) and LSTD(1), which differ in the limit only if no weights represent v. 0 for tables,
        readings, and as long as each distinct observation has a feature of its own.
        """
        m, q = self.memory.mixture, self.memory.systems
        if not self.shared or self.knows_observations:
            return 0.0
        first, last = (int(np.flatnonzero(q.of == k)[1]) for k in (0, len(expert_table.LAMBDAS) - 1))
        gap = ((q.w[last] - q.w[first])[m.recent] * m.recent_value).sum(axis=1)
        return float(expert_table.APPROXIMATION * np.mean(gap**2))

    def _features(self, index: Ints, value: Floats) -> Floats:
        """The features of observations that the spread of LSTD(0) is known of [observation, feature]."""
        o = self.memory.observations
        X = np.zeros((len(value), self.systems[0].size if self.systems else 0))
        if self.vectors and self.systems:
            f, phi = self.memory.readings, np.empty(self.memory.readings.positions.size)
            for t, row in enumerate(value):
                readings.place(f, row, phi)
                X[t] = phi[: X.shape[1]]
        elif self.systems:
            np.add.at(X, (np.arange(len(value))[:, None], index), value)
        if self.knows_observations:
            count = int(o.total[0])
            known = [observations.find(o, *row) for row in zip(index, value, strict=True)]
            own = np.zeros((len(value), min(count + 1, OBSERVATIONS)))
            own[np.arange(len(value)), [k if k >= 0 else own.shape[1] - 1 for k in known]] = 1.0
            X = np.hstack([X, own])
        return X

    def _left_open(self, X: Floats) -> Floats:
        """The variance of w·x for these features, from LSTD(0) with its leading ridge: noise and bias."""
        q, s = self.memory.systems, self.memory.mixture.number[0]
        n = X.shape[1]
        if not n:
            return np.zeros(len(X))
        k, ahead = self._leading, slice(q.filled[1], q.filled[0])
        system, ridge = q.of[k], q.ridge[k] * q.q[:n]
        stride = q.stride[system]
        A = q.A[q.start[system] :][: n * stride].reshape(n, stride)[:, :n]
        if self.vectors:
            A = A + q.block[0, ahead, :n].T @ q.block[1, ahead, :n]
        Y = np.linalg.lstsq(A / q.weight[system] + np.diag(ridge), X.T, rcond=None)[0]
        size = float(np.mean(q.w[0, 1:n] ** 2)) if self.vectors else float(s["value"]) / max(float(s["norm"]), 1e-300)
        found: Floats = np.einsum("it,it->t", Y, q.S[:n, :n] @ Y) + ridge**2 * size @ Y**2
        return np.maximum(found, 0.0)

    @property
    def return_error(self) -> float | None:
        """See `errors.return_error`."""
        return errors.return_error(self.memory.mixture.errors)

    @property
    def value_error(self) -> float | None:
        """Estimate of √E[(v - u)²] at recent observations; None without least squares."""
        m = self.memory.mixture
        if m.number["steps"][0] < errors.RECENT * errors.SKIPPED or not self.systems:
            return None
        if not self.vectors:
            return float(np.sqrt(self.variance(m.recent, m.recent_value).mean()))
        X = np.zeros((errors.RECENT, max(m.recent.max() + 1, self.systems[0].size)))
        np.add.at(X, (np.arange(errors.RECENT)[:, None], m.recent), m.recent_value)
        return float(np.sqrt(self._left_open(X[:, : self.systems[0].size]).mean()))

    # ---- words ------------------------------------------------------------------------------------------------

    @property
    def lam(self) -> float:
        """The weighted mean λ of the experts."""
        return mean_lam(self.experts())

    def experts(self) -> tuple[Expert, ...]:
        """All experts that take part, sorted by weight."""
        m, kinds = self.memory.mixture, list[Any]()
        for s in self.systems:
            for leading, ridge, _ in s.experts:
                more = {"cosines" if self.vectors else "observations": leading - self.systems[0].size}
                kinds.append({"kind": "LSTD", "lam": s.lam, "window": s.window, "ridge": ridge} | more)
        kinds += [{"lam": 1.0, "kind": "mean" if w else "zero", "window": float(w)} for w in self.memory.means.window]
        if self.memory.lanes:
            pairs = [(float(a), float(z)) for a, z in self.memory.lanes.lane[[linear.ALPHA, linear.LAM]].T]
            kinds += [{"alpha": a, "lam": z, "averaged": copy} for copy in (False, True) for a, z in pairs]
        kinds += [{"kind": name, "lam": lam} for name, lam in self.own]
        count = max(1.0, float(m.number["count"][0]))
        signals = np.array([signal(m, LONG, k) for k in range(len(kinds))]).T
        loss = (m.sums[LONG, ENERGY] - 2 * signals[0]) / count
        power = POWER_OF_VECTORS if self.vectors else POWER
        # Σ (δz)² is kept with the window's weights, but the variance of a weighted sum needs their squares.
        error = 2 * np.sqrt((power + 1) / (2 * power + 1) * signals[1]) / count
        found = [Expert(float(m.weight[k]), float(loss[k]), float(error[k]), **kind) for k, kind in enumerate(kinds)]
        return tuple(sorted((e for k, e in enumerate(found) if not m.absent[k]), key=lambda e: -e.weight))

    def explain(self, steps: int) -> Explanation:
        """An explanation of the current weights."""
        s, lanes = self.memory.mixture.number[0], self.memory.lanes
        drops, moves = (int(lanes.counts[k]) if lanes else 0 for k in (linear.DROPS, linear.MOVES))
        behind = steps - round(float(s["updated"]))
        clips = int(self.memory.readings.number["clips"][0]) if self.vectors else 0
        return Explanation(
            self.experts(), steps, min(steps, round(float(s["window"])) + behind), int(s["changes"]),
            int(s["restarts"]), drops, moves, clipped=clips, value_error=self.value_error,
            scope=self.scope, return_error=self.return_error,
        )  # fmt: skip

    # ---- storage ----------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Array]:
        """The arrays of the state, by family and name."""
        found = {}
        for family, arrays in self.memory._asdict().items():
            for name in getattr(arrays, "_fields", ()):
                if f"{family}.{name}" not in _CONSTANT:
                    array = getattr(arrays, name)
                    found[f"{family}.{name}"] = array if array.dtype.names is None else array.view(np.float64)
        if self.memory.lanes:
            q = self.memory.lanes
            found |= {f"lanes.{name}": q.N[self.module.NAMES.index(name)] for name in self.module.KEPT}
            found |= {f"lanes.{name}": q.state[name] for name in _COUNTERS}
        return found

    def require_sense(self, new: dict[str, Array], seen: int) -> None:
        """Validate a restored state: indices must be within bounds and numbers within range."""
        if self.memory.lanes:
            n, listed = int(new["lanes.n_live"][0]), np.zeros_like(new["lanes.listed"])
            live = new["lanes.order"][: max(0, n)]
            good = 0 <= n <= listed.size and bool(((live >= 0) & (live < listed.size)).all())
            if good:
                listed[live] = 1
            if not good or listed.sum() != n or not np.array_equal(listed, new["lanes.listed"]):
                raise ValueError("state: the list of live features is not consistent")
            synced, updates = new["lanes.synced"], new["lanes.counts"][linear.UPDATES]
            if not ((new["lanes.under_way"] >= 0).all() and (synced >= 0).all() and (synced <= updates).all()):
                raise ValueError("state: the counts of the learners are not consistent")
        s, weight = new["mixture.number"].view(NUMBERS)[0], new["mixture.weight"]
        steps = seen if not self.vectors or seen >= HELD else 0
        size, recent, filled = 0 if self.vectors else self.size, new["mixture.recent"], new["systems.filled"]
        sizes, known = new["systems.size"], int(new["observations.total"][0])
        self._require_changes(new)
        if not (
            s["steps"] == steps
            and (weight >= 0).all()
            and abs(weight.sum() - 1) < 1e-6
            and 0 <= s["gamma"] <= s["most_gamma"] <= 1
            and min(s["rho"], s["longest"], s["window"], s["count"], s["updated"], *s["short_count"]) >= 0
            and (new["mixture.visits"] >= 0).all()
            and (new["mixture.sums"][:, ENERGY::2] >= 0).all()
            and np.isin(new["mixture.absent"], (0, 1)).all()
            and ((recent >= 0) & (recent < (size or recent.shape[1]))).all()
            and 0 <= filled.min() <= filled.max() == filled[0] < max(1, self.memory.systems.block.shape[1])
            and (new["systems.weight"] > 0).all()
            and 0 <= known <= 1 + OBSERVATIONS
            and ((sizes >= 0) & (sizes <= self.memory.systems.stride)).all()
        ):
            raise ValueError("state does not fit this learner: its counts, weights or discounts are not consistent")
        if self.vectors:
            held = new["readings.number"].view(readings.NUMBERS)[0]
            if held["held"] != min(seen, len(new["readings.past"]) - 1) or not held["rebase"] >= 8:
                raise ValueError("state does not fit this learner: the number of transitions held is not consistent")

    def _require_changes(self, new: dict[str, Array]) -> None:
        """Validate the transitions that are kept."""
        index, counts, past = (new[f"changes.{name}"] for name in ("rows", "counts", "past"))
        states = self.memory.changes.before.shape[1]
        ended = past[:, changes.PAST_ENDED]
        if not (
            ((index[:, :1] >= 0) & (index[:, :1] < max(1, states))).all()
            and ((index[:, 1:] >= 0) & (index[:, 1:] < self.size)).all()
            and 0 <= counts[changes.SINCE_START] <= counts[changes.NOTED]
            and counts[changes.CHECKS] >= 0
            and np.isin(ended, range(5)).all()
            and np.isfinite(past).all()
        ):
            raise ValueError("state does not fit this learner: the transitions that it keeps are not consistent")


def _first_mixture(prior: Floats, size: int, active: int, own: int) -> Mixture:
    """The arrays of an untrained mixture; `size` is 0 if there are no features for the expected trace."""
    K, traces = len(prior), 2 if size else 1
    return Mixture(
        value=aligned(np.zeros(K)), trace=aligned(np.zeros((traces, K))),
        sums=aligned(np.zeros((SHORT + SCALES, 1 + 2 * traces, K))),
        weight=aligned(np.full(K, 1.0 / K)), prior=aligned(prior.T), absent=np.zeros(K),
        expected=aligned(np.zeros((size, 1, K))), visits=np.zeros(size), own=np.zeros((2, own)),
        errors=np.zeros(errors.ROWS), recent=np.zeros((errors.RECENT, active), dtype=np.int64),
        recent_value=np.zeros((errors.RECENT, active)), number=np.zeros(1, named(NUMBERS)),
    )  # fmt: skip


def _first_readings(d: int, cosines: int, own: int) -> Readings:
    """The arrays of readings not seen yet."""
    number = np.zeros(1, named(readings.NUMBERS))
    number["rebase"] = 8
    room = REFITS[-1] if cosines else HELD
    return Readings(
        moments=np.zeros((MOMENTS, d + 1)), past=np.zeros((room + 1, 2 * d + MORE + 2 * own)),
        directions=aligned(frequencies(d, cosines, 0).T / (2 * np.pi)), fixed=np.zeros((2, d)), moved=np.zeros((2, d)),
        x=aligned(np.zeros((2, d + 1 + cosines))), scratch=np.zeros(HELD), positions=np.arange(d + 1 + cosines),
        number=number,
    )  # fmt: skip
