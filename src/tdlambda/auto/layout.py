"""How a bank lies in memory, and the constants it was settled with (docs/how-we-chose.md).

F [feature, row, lane], M, S, I   the learners, as a block of the engine's lanes (`engine.lanes`)
T [feature, 1, lane]              their twins: the learners' weights, averaged over time
Z [feature, 1, expert]            expected trace: weights of ẑ(s) = E[z | s]
V [feature]                       visits of a feature, in shares of |x|²
D [slot, expert]                  numbers of each expert: first all learners, then all twins
N [slot]                          numbers of the whole bank
J [slot]                          integers; then, for each feature, the look up to which its twins are averaged
"""

SCALES = 6
"""Windows that end now, beside the long one."""

# D: weight p; prediction at x, then its distance c from the mixture; ẑ of x; 1 for an expert that was dropped
WEIGHT, VALUE, TRACE, DROPPED = range(4)
# D: Σ c², Σ δẑ, Σ (δẑ)² since the last look; over the long window; over each short one
ENERGY, GAIN, NOISE = range(3)
SINCE, LONG, SHORT = 4, 7, 10
SCORE = SHORT + 3 * SCALES
AGE = SCORE + 1
"""D: looks since a twin began, in its learner's place too."""
EXPERT_SLOTS = AGE + 1

# N: the mixture's prediction at x and what followed it: ρ, R, γ'; the largest |R|, γ and |x|² so far; the discounted
# length of the episode and its largest; steps in the long window; their weights' sum; those of the short windows
U, RHO, REWARD, GAMMA, MOST_REWARD, MOST_GAMMA, MOST_NORM, LENGTH, LONGEST, STEPS, COUNT = range(11)
SHORT_COUNT = 11
BANK_SLOTS = SHORT_COUNT + SCALES

# J: looks so far, twins restarted, changes noticed, learners dropped
LOOKS, RESTARTS, CHANGES, DROPS, SYNCED = range(5)

ALPHAS = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
"""Step sizes, of |x|² = 1."""
LAMBDAS = (0.0, 0.4, 0.8, 0.95)
EVERY = 100
"""Steps between looks at the weights."""
WINDOW = 4.0
"""What was seen at step s weighs (s/t)^WINDOW at step t."""
SURE = 6.0
"""Standard errors at which a twin begins anew, or a short window takes over."""
FIRST_SCALE, SCALE_RATIO = 5, 4
"""The windows' lengths in looks: 5, 20, 80, …"""
LEAST_STEP = 0.1
"""Of the regression of z on the features."""
BEST_LAMBDA, BEST_ALPHA, PACE = 0.4, 0.1, 2.0
"""Preferred, other things equal: a twin, this λ, and α = PACE / √(steps/features), at most BEST_ALPHA."""
RAW, FAR_ALPHA, FAR_LAMBDA = 2.0, 2.0, 8.0
"""What counts against an expert: that it is no twin; a factor e in α; a difference of 1 in λ."""
BOUND = 1e100
"""A learner with a weight beyond this is dropped."""
