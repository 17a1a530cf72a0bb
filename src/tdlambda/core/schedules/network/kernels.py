"""Passes over the layers of a network. `network.printer` copies their source into generated modules.

The parameters of a layer are a matrix W, then its biases. W is stored by inputs [n_in, n_out] in hidden layers and by
outputs [n_out, n_in] in the last one, so that every inner loop runs over contiguous numbers. `real_` is the type of
parameters and activations, which the generated module defines.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tdlambda.arrays import Array, Floats
from tdlambda.compiled import inlined, summing

real_ = np.float64
SLOPE = 0.01
"""Slope of the leaky ReLU below 0."""
EPSILON = 1e-5
"""Added to a layer's variance, as in PyTorch's LayerNorm."""
CLIP = 10.0
"""Standardised inputs are clipped to ± this."""
AVERAGED_OVER, AVERAGED_EVERY = 40, 10
"""Averaged parameters move by min(1, AVERAGED_OVER / (steps + AVERAGED_EVERY)) every AVERAGED_EVERY steps: they are a
mean over about the last quarter of the steps. Until then, they are the parameters themselves."""
AGREED, AT_MOST = 0.99, 2.0
"""Decay of the means by which changes of several questions to shared layers are weighed; how many equal ones count."""
CONSTANT = 1e-12
"""An input has not varied if its deviation is at most this fraction of its mean."""
LARGEST = 1e140
"""Inputs and rewards beyond ± this count as this, so that sums of their squares are finite."""


@summing
def affine(W: Array, b: Array, a: Array, z: Array) -> None:
    """z = b + aᵀ W, eight inputs at a time."""
    n_in, n, j = a.size, z.size, 0
    for i in range(n):
        z[i] = b[i]
    while j + 8 <= n_in:
        a0, a1, a2, a3, a4, a5, a6, a7 = a[j], a[j + 1], a[j + 2], a[j + 3], a[j + 4], a[j + 5], a[j + 6], a[j + 7]
        o = W[j * n : (j + 8) * n]
        r0, r1, r2, r3 = o[:n], o[n : 2 * n], o[2 * n : 3 * n], o[3 * n : 4 * n]
        r4, r5, r6, r7 = o[4 * n : 5 * n], o[5 * n : 6 * n], o[6 * n : 7 * n], o[7 * n :]
        for i in range(n):
            z[i] += (
                a0 * r0[i] + a1 * r1[i] + a2 * r2[i] + a3 * r3[i] + a4 * r4[i] + a5 * r5[i] + a6 * r6[i] + a7 * r7[i]
            )
        j += 8
    while j < n_in:
        a0, r0 = a[j], W[j * n : (j + 1) * n]
        for i in range(n):
            z[i] += a0 * r0[i]
        j += 1


@summing
def affine_both(W: Array, b: Array, a: Array, c: Array, z: Array, y: Array) -> None:
    """z = b + aᵀ W and y = b + cᵀ W, reading W once."""
    n_in, n, j = a.size, z.size, 0
    for i in range(n):
        z[i] = b[i]
        y[i] = b[i]
    while j + 4 <= n_in:
        a0, a1, a2, a3, c0, c1, c2, c3 = a[j], a[j + 1], a[j + 2], a[j + 3], c[j], c[j + 1], c[j + 2], c[j + 3]
        o = W[j * n : (j + 4) * n]
        r0, r1, r2, r3 = o[:n], o[n : 2 * n], o[2 * n : 3 * n], o[3 * n :]
        for i in range(n):
            z[i] += a0 * r0[i] + a1 * r1[i] + a2 * r2[i] + a3 * r3[i]
            y[i] += c0 * r0[i] + c1 * r1[i] + c2 * r2[i] + c3 * r3[i]
        j += 4
    while j < n_in:
        a0, c0, r0 = a[j], c[j], W[j * n : (j + 1) * n]
        for i in range(n):
            z[i] += a0 * r0[i]
            y[i] += c0 * r0[i]
        j += 1


@summing
def readout(W: Array, b: Array, a: Array, z: Array) -> None:
    """z = b + W a, with W by outputs."""
    n = a.size
    for i in range(z.size):
        row, total = W[i * n : (i + 1) * n], b[i]
        for j in range(n):
            total += row[j] * a[j]
        z[i] = total


@summing
def normalised(z: Array) -> Any:
    """Replace z by (z - mean)/σ; return 1/σ."""
    mean, square, n = real_(0.0), real_(0.0), real_(z.size)
    for i in range(z.size):
        mean += z[i]
    mean /= n
    for i in range(z.size):
        square += (z[i] - mean) * (z[i] - mean)
    inverse = real_(1.0) / math.sqrt(square / n + real_(EPSILON))
    for i in range(z.size):
        z[i] = (z[i] - mean) * inverse
    return inverse


@summing
def leaky_relu(y: Array, a: Array) -> None:
    """a = y where y > 0, and SLOPE y elsewhere."""
    for i in range(y.size):
        a[i] = y[i] if y[i] > real_(0.0) else real_(SLOPE) * y[i]


@summing
def leaky_relu_slope(y: Array, a: Array, d: Array) -> None:  # noqa: ARG001
    """Multiply d by the derivative at y."""
    for i in range(y.size):
        d[i] = d[i] if y[i] > real_(0.0) else real_(SLOPE) * d[i]


@summing
def tanh(y: Array, a: Array) -> None:
    """a = tanh y."""
    for i in range(y.size):
        a[i] = math.tanh(y[i])


@summing
def tanh_slope(y: Array, a: Array, d: Array) -> None:  # noqa: ARG001
    """Multiply d by the derivative, 1 - a²."""
    for i in range(a.size):
        d[i] *= real_(1.0) - a[i] * a[i]


@summing
def back_readout(W: Array, g: Array, d: Array) -> None:
    """d = Wᵀ g, with W by outputs."""
    n = d.size
    for j in range(n):
        d[j] = real_(0.0)
    for i in range(g.size):
        row, by = W[i * n : (i + 1) * n], g[i]
        if by != real_(0.0):
            for j in range(n):
                d[j] += by * row[j]


@summing
def back_affine(W: Array, g: Array, d: Array) -> None:
    """d = W g, four rows at a time."""
    n, j = g.size, 0
    while j + 4 <= d.size:
        o = W[j * n : (j + 4) * n]
        r0, r1, r2, r3 = o[:n], o[n : 2 * n], o[2 * n : 3 * n], o[3 * n :]
        s0, s1, s2, s3 = real_(0.0), real_(0.0), real_(0.0), real_(0.0)
        for i in range(n):
            s0 += r0[i] * g[i]
            s1 += r1[i] * g[i]
            s2 += r2[i] * g[i]
            s3 += r3[i] * g[i]
        d[j], d[j + 1], d[j + 2], d[j + 3] = s0, s1, s2, s3
        j += 4
    while j < d.size:
        r0, s0 = W[j * n : (j + 1) * n], real_(0.0)
        for i in range(n):
            s0 += r0[i] * g[i]
        d[j] = s0
        j += 1


@summing
def back_normalised(y: Array, d: Array, inverse: Any) -> None:
    """Replace d, the gradient with respect to y = LayerNorm(z), by that with respect to z."""
    s1, s2, n = real_(0.0), real_(0.0), real_(d.size)
    for i in range(d.size):
        s1 += d[i]
        s2 += d[i] * y[i]
    s1 /= n
    s2 /= n
    for i in range(d.size):
        d[i] = inverse * (d[i] - s1 - y[i] * s2)


@summing
def averaged(row: Array, w: Array, rate: Any) -> None:
    """Move a row towards w."""
    for i in range(w.size):
        row[i] += rate * (w[i] - row[i])


@summing
def added(w: Array, before: Array, total: Array) -> Any:
    """Add the change of w to a sum; return its square."""
    square = real_(0.0)
    for i in range(w.size):
        change = w[i] - before[i]
        total[i] += change
        square += change * change
    return square


@summing
def assign(w: Array, other: Array) -> None:
    """Set w to the first entries of another array."""
    for i in range(w.size):
        w[i] = other[i]


@summing
def moved(w: Array, total: Array, by: Any) -> None:
    """Add a multiple of a sum of changes."""
    for i in range(w.size):
        w[i] += by * total[i]


@inlined
def agreed(s: Any, apart: float, joint: float, count: int) -> float:
    """The factor on a sum of `count` changes, from running means of the sum of their squares and of its square.

    It is 1 for changes at right angles and AT_MOST/`count` for equal ones; sums that are not finite are not counted.
    """
    if not apart + joint < math.inf:
        return 1.0 / count
    s.apart, s.joint = AGREED * s.apart + (1.0 - AGREED) * apart, AGREED * s.joint + (1.0 - AGREED) * joint
    return min(1.0, AT_MOST * s.apart / s.joint) if s.joint > 0.0 else 1.0


@summing
def squares(a: Array) -> Any:
    """Σ a²."""
    total = real_(0.0)
    for i in range(a.size):
        total += a[i] * a[i]
    return total


@inlined
def observe(inputs: Floats, x: Floats, count: int) -> None:
    """Update the running mean and sum of squared deviations of each input; x is the `count`-th observation."""
    for i in range(x.size):
        v = min(max(x[i], -LARGEST), LARGEST)
        d = v - inputs[0, i]
        inputs[0, i] += d / count
        inputs[1, i] += d * (v - inputs[0, i])


@inlined
def place(inputs: Floats, x: Floats, count: int, out: Array) -> None:
    """Write the standardised inputs, clipped; an input that has not varied counts as 0."""
    for i in range(x.size):
        size = math.sqrt(inputs[1, i] / (count - 1)) if count > 1 else 1.0
        v = (x[i] - inputs[0, i]) / size if size > CONSTANT * abs(inputs[0, i]) else 0.0
        out[i] = min(max(v, -CLIP), CLIP)


@inlined
def copied(x: Floats, out: Array) -> None:
    """Write the inputs as they are, clipped where products would overflow."""
    for i in range(x.size):
        out[i] = min(max(x[i], -1e15), 1e15)


@inlined
def scaled(s: Any, reward: float, begins: bool) -> float:
    """The reward in units of the deviation of the discounted sum of rewards so far, which is updated first.

    The first reward, and those whose sum has hardly varied, are divided by multiples of its absolute value.
    """
    reward = min(max(reward, -LARGEST), LARGEST)
    s.rewards = reward if begins else min(max(s.rewards * s.reward_decay + reward, -LARGEST), LARGEST)
    s.reward_count += 1
    d = s.rewards - s.reward_mean
    s.reward_mean += d / s.reward_count
    s.reward_square += d * (s.rewards - s.reward_mean)
    least = 1.0 if s.reward_count == 1 else 1e-4
    size = max(math.sqrt(s.reward_square / max(s.reward_count - 1, 1)), least * abs(s.reward_mean))
    s.scale = size if size > 0.0 else 1.0
    return reward / s.scale


@inlined
def finite(x: Floats) -> bool:
    """Whether all inputs are finite."""
    total = 0.0
    for i in range(x.size):
        total += 0.0 * x[i]
    return total == 0.0
