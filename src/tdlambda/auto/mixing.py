"""A look at the weights: what was seen since the last one joins the windows, and decides who is believed."""

import numpy as np

from tdlambda.arrays import Floats, Ints
from tdlambda.auto.layout import (
    AGE,
    BEST_ALPHA,
    BEST_LAMBDA,
    CHANGES,
    COUNT,
    DROPPED,
    ENERGY,
    EVERY,
    FAR_ALPHA,
    FAR_LAMBDA,
    FIRST_SCALE,
    GAIN,
    LONG,
    LOOKS,
    NOISE,
    PACE,
    RAW,
    RESTARTS,
    SCALE_RATIO,
    SCALES,
    SCORE,
    SHORT,
    SHORT_COUNT,
    SINCE,
    STEPS,
    SURE,
    SYNCED,
    TRACE,
    WEIGHT,
    WINDOW,
)
from tdlambda.compiled import inlined, kernel, lanewise
from tdlambda.engine.lanes import set_scaled
from tdlambda.memory import ALPHA, LIVE, N_LIVE, TRACE_LAM


@lanewise
def _join(total: Floats, new: Floats, keep: float) -> None:
    for l in range(total.size):
        total[l] = keep * total[l] + new[l]


@inlined
def _gather(D: Floats, N: Floats) -> None:
    """Let what was seen since the last look join every window."""
    finite = True
    for k in range(3):
        for l in range(D.shape[1]):
            finite &= abs(D[SINCE + k, l]) < np.inf
    if not finite:  # numbers beyond all bounds say nothing
        D[SINCE : SINCE + 3] = 0.0
    N[STEPS] += EVERY
    keep = (1.0 - EVERY / N[STEPS]) ** WINDOW
    N[COUNT] = keep * N[COUNT] + EVERY
    for k in range(3):
        _join(D[LONG + k], D[SINCE + k], keep)
    length = FIRST_SCALE
    for i in range(SCALES):
        keep = 1.0 - 1.0 / length
        N[SHORT_COUNT + i] = keep * N[SHORT_COUNT + i] + EVERY
        for k in range(3):
            _join(D[SHORT + 3 * i + k], D[SINCE + k], keep)
        length *= SCALE_RATIO
    D[SINCE : SINCE + 3] = 0.0


@inlined
def _loss(D: Floats, window: int, l: int) -> float:
    """Σ c² - 2 Σ δẑ: the error of an expert less that of the mixture, estimated."""
    return D[window + ENERGY, l] - 2 * D[window + GAIN, l]


@inlined
def _notice(D: Floats, N: Floats, J: Ints) -> None:
    """The shortest window in which some expert surely beats the mixture takes the long one's place.

    Before a change the mixture is about the best; so if it is surely beaten, what was seen long ago misleads.
    """
    for i in range(SCALES):
        window, beaten = SHORT + 3 * i, False
        if N[SHORT_COUNT + i] <= 0.3 * N[STEPS]:
            for l in range(D.shape[1]):
                sure = 2 * SURE * np.sqrt(D[window + NOISE, l])
                beaten |= -_loss(D, window, l) > sure and D[DROPPED, l] == 0.0
        if beaten:
            for k in range(3):
                set_scaled(D[LONG + k], D[window + k], 1.0)
            N[STEPS] = N[COUNT] = N[SHORT_COUNT + i]
            J[CHANGES] += 1
            return


@inlined
def _restart(Z: Floats, D: Floats, N: Floats, J: Ints, lanes: int) -> None:
    """A twin that is surely worse than its own learner, in some window within its life, begins anew from there."""
    for k in range(lanes):
        twin, worse = lanes + k, False
        for i in range(SCALES):
            window = SHORT + 3 * i
            sure = SURE * (np.sqrt(D[window + NOISE, twin]) + np.sqrt(D[window + NOISE, k]))
            worse |= _loss(D, window, twin) - _loss(D, window, k) > sure and N[SHORT_COUNT + i] < EVERY * D[AGE, k]
        if worse:
            D[AGE, k] = 0.0
            J[RESTARTS] += 1
            D[TRACE, twin] = D[TRACE, k]
            for slot in range(LONG, SCORE):
                D[slot, twin] = D[slot, k]
            for f in range(Z.shape[0]):
                Z[f, 0, twin] = Z[f, 0, k]
        D[AGE, k] += 1.0


@inlined
def averaged(w: float, twin: float, age: float, looks: int) -> float:
    """A twin's weight after so many looks, now that it has had `age` of them, at a w that did not change.

    At its i-th look a twin takes w̄ += min(1, 2/i) (w - w̄), so that what it saw at i weighs in proportion to i; the
    product of 1 - 2/i over the last looks is a(a-1) / (i(i-1)) with a = i - looks, and 0 where they reach back to 1.
    """
    before = age - looks
    if looks == 0:
        return twin
    return w + (twin - w) * (before * (before - 1.0) / (age * (age - 1.0)) if before > 1.0 else 0.0)


@inlined
def sync(F: Floats, T: Floats, D: Floats, J: Ints, f: int) -> None:
    """Average a feature's twins up to the last look; since the one before its w did not change, or it is done here."""
    behind = J[LOOKS] - J[SYNCED + f]
    if behind > 0:
        for k in range(T.shape[2]):
            T[f, 0, k] = averaged(F[f, 0, k], T[f, 0, k], D[AGE, k], behind)
        J[SYNCED + f] = J[LOOKS]


@kernel
def sync_all(F: Floats, T: Floats, D: Floats, J: Ints) -> None:
    """The same for every feature."""
    for f in range(F.shape[0]):
        sync(F, T, D, J, f)


@inlined
def prior(alpha: float, lam: float, twin: bool, steps: float, features: int) -> float:
    """-log of the preference for an expert before anything is seen of it."""
    best = min(BEST_ALPHA, PACE / np.sqrt(max(1.0, steps / features)))
    return FAR_ALPHA * abs(np.log(alpha / best)) + FAR_LAMBDA * abs(lam - BEST_LAMBDA) + (0.0 if twin else RAW)


@kernel
def weigh(M: Floats, D: Floats, N: Floats, features: int) -> None:
    """Weights p ∝ exp(-prior - loss / 2σ²), σ² the noise of the signal for each Σ c²."""
    lanes = M.shape[1]
    noise, seen = 0.0, 0.0
    for l in range(2 * lanes):
        if D[LONG + ENERGY, l] > 0 and D[DROPPED, l] == 0.0:
            noise += D[WEIGHT, l] * D[LONG + NOISE, l] / D[LONG + ENERGY, l]
            seen += D[WEIGHT, l]
    noise = noise / seen if seen > 0 else 0.0
    best = np.inf
    for l in range(2 * lanes):
        if D[DROPPED, l] == 0.0:
            k = l % lanes
            score = prior(M[ALPHA, k], M[TRACE_LAM, k], l >= lanes, N[STEPS], features)
            energy = D[LONG + ENERGY, l]
            own = max(noise, D[LONG + NOISE, l] / energy) if energy > 0 else noise
            if own > 0:
                score += _loss(D, LONG, l) / (2 * own)
            D[SCORE, l] = score
            best = min(best, score)
    total = 0.0
    for l in range(2 * lanes):
        D[WEIGHT, l] = np.exp(best - D[SCORE, l]) if D[DROPPED, l] == 0.0 else 0.0
        total += D[WEIGHT, l]
    if total > 0:
        for l in range(2 * lanes):
            D[WEIGHT, l] /= total


@kernel
def look(F: Floats, M: Floats, I: Ints, T: Floats, Z: Floats, D: Floats, N: Floats, J: Ints) -> None:
    """All of it."""
    _gather(D, N)
    _notice(D, N, J)
    _restart(Z, D, N, J, M.shape[1])
    J[LOOKS] += 1
    for k in range(I[N_LIVE]):
        sync(F, T, D, J, I[LIVE + k])
    weigh(M, D, N, F.shape[0])
