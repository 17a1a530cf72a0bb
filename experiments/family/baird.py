"""Baird's counterexample (Sutton & Barto 2018, section 11.2): which algorithms diverge, and how fast.

    python experiments/family/baird.py              10 runs of 20,000 steps
    python experiments/family/baird.py --full       50 runs

Expected updates are computed exactly. Beside ours stand numbers computed independently from the same equations, for the
curves of the book's figures 11.2 (expected TD), 11.5 (expected TDC) and 11.6 (expected ETD). An algorithm's growth rate
is the largest real part of the eigenvalues of its expected update: errors change as exp(rate · α · steps).

The rate of sampled runs is the slope of ln √VE over the second half of the run, divided by α, mean over runs; beside it
stands the same slope where every step is the expected one. The two differ where steps depend on each other or α is not
small, and have to: what grows as the mean does need not grow so in a typical run.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import outside

import tdlambda as td
from tdlambda.mdp.stability import joint_matrix

STEPS = 20_000
TASK: Any = td.make("Baird-v0")
X = TASK.features.matrix(np.arange(7))
W0 = np.array(TASK.initial_weights)


def system(lam: float = 0.0, **options: Any) -> Any:
    """The expected update at λ."""
    return TASK.exact.linear_system(X, lam, **options)


def root_ve(w: Any) -> float:
    """√VE; all true values are 0."""
    return float(np.sqrt(np.mean((X @ w) ** 2)))


def root_pbe(w: Any) -> float:
    """√MSPBE at λ = 0."""
    return float(np.sqrt(system().mspbe(w)))


def expected_td(sweeps: int, alpha: float = 0.01) -> Any:
    """W after sweeps of w -= α A w."""
    return np.linalg.matrix_power(np.eye(8) - alpha * system().A, sweeps) @ W0


def expected_tdc(sweeps: int, alpha: float = 0.005, beta: float = 0.05) -> Any:
    """W after sweeps of w += α (-A w - (C - Aᵀ) h), h += β (-A w - C h)."""
    A, C = system().A, system().C
    move = np.block([[-alpha * A, alpha * (A.T - C)], [-beta * A, -beta * C]])
    return (np.linalg.matrix_power(np.eye(16) + move, sweeps) @ np.concatenate((W0, np.zeros(8))))[:8]


def expected_etd(sweeps: int, alpha: float = 0.03) -> tuple[Any, float]:
    """W and the emphasis F̄ after sweeps in which all states share the mean emphasis of the sweep before."""
    w, mean, solid = W0.copy(), 0.0, np.array([0, 0, 0, 0, 0, 0, 7.0])
    for _ in range(sweeps):
        emphasis = 1 + 0.99 * solid * mean  # ρ is 7 on the step into state 7, 0 on the others
        w = w + alpha * X.T @ (emphasis * (0.99 * X[6] @ w - X @ w)) / 7
        mean = float(emphasis.mean())
    return w, mean


def stable_from() -> float:
    """The λ above which expected TD(λ) converges, by bisection."""
    low, high = 0.0, 1.0
    while high - low > 1e-12:
        lam = (low + high) / 2
        low, high = (lam, high) if system(lam).growth_rate() > 0 else (low, lam)
    return high


def exact() -> list[tuple[str, float, float, float]]:
    """What, theirs, ours, and a unit of the last digit of theirs."""
    eigenvalues = np.sort(np.linalg.eigvals(system().A).real)
    w100, w1000 = expected_td(100), expected_td(1000)
    found = [
        ("√VE of the initial weights", 5.318432, root_ve(W0), 1e-6),
        ("√PBE of the initial weights", 8.221408, root_pbe(W0), 1e-6),
        ("A: least eigenvalue", -0.23925, eigenvalues[0], 1e-5),
        ("A: second eigenvalue", -0.022178, eigenvalues[1], 1e-6),
        ("A: largest eigenvalue", 0.571429, eigenvalues[-1], 1e-6),
        ("TD, α = 0.01: spectral radius of I - αA", 1.0023925, 1 - 0.01 * eigenvalues[0], 1e-7),
        ("TD, 100 sweeps: w₁", 3.894886, w100[0], 1e-6),
        ("TD, 100 sweeps: w₇", 9.971199, w100[6], 1e-6),
        ("TD, 100 sweeps: w₈", 9.627054, w100[7], 1e-6),
        ("TD, 1,000 sweeps: w₁", 114.433716, w1000[0], 1e-6),
        ("TD, 1,000 sweeps: w₇", 6.850030, w1000[6], 1e-6),
        ("TD, 1,000 sweeps: w₈", 335.001209, w1000[7], 1e-6),
        ("TD, 1,000 sweeps: √VE", 581.355, root_ve(w1000), 1e-3),
        ("TD(λ): stable from λ = 61/66 on", 61 / 66, stable_from(), 1e-9),
    ]
    for sweeps, ve, pbe in ((100, 3.32296, 2.77917), (500, 1.93627, 0.00830), (1000, 1.93546, 0.00738)):
        w = expected_tdc(sweeps)
        found += [(f"TDC, {sweeps:,} sweeps: √VE", ve, root_ve(w), 1e-5)]
        found += [(f"TDC, {sweeps:,} sweeps: √PBE", pbe, root_pbe(w), 1e-5)]
    w = expected_tdc(200_000)
    found += [("TDC, 200,000 sweeps: √VE", 1.890, root_ve(w), 1e-3), ("the same: √PBE", 0.0072, root_pbe(w), 1e-4)]
    for sweeps, ve, unit in ((10, 8.44, 1e-2), (100, 0.957, 1e-3), (300, 0.00085, 1e-5)):
        found += [(f"ETD, {sweeps:,} sweeps: √VE", ve, root_ve(expected_etd(sweeps)[0]), unit)]
    w, mean = expected_etd(1000)
    found += [("ETD, 1,000 sweeps: w₁", 1.6923, w[0], 1e-4), ("ETD, 1,000 sweeps: w₈", -3.3846, w[7], 1e-4)]
    found += [("ETD, 1,000 sweeps: mean emphasis", 100.0, mean, 1e-2)]
    follow_on = TASK.exact.emphasis(0.0).followon
    found += [("ETD: follow-on f of state 7", 99.142857, follow_on[6], 1e-6)]
    found += [("HTD(0): growth rate", 0.1133, system().growth_rate("htd"), 1e-4)]
    vtrace = system(correction="vtrace").growth_rate() / system().growth_rate()
    return [*found, ("V-trace(0): growth rate relative to TD's", 1 / 7, vtrace, 1e-9)]


def rates() -> dict[str, float]:
    """Growth rate of each expected update; β = α except where η is given."""
    zero = system()
    return {
        "TD(0) = Tree Backup(0) = Retrace(0)": zero.growth_rate(),
        "TD(0.9)": system(0.9).growth_rate(),
        "TD(0.95)": system(0.95).growth_rate(),
        "V-trace(0)": system(correction="vtrace").growth_rate(),
        "V-trace(0.9)": system(0.9, correction="vtrace").growth_rate(),
        "Retrace(0.9), state values": system(0.9, correction="retrace").growth_rate(),
        "Tree Backup(0.9)": system(0.9, correction="tree").growth_rate(),
        "HTD(0)": zero.growth_rate("htd"),
        "GTD(0), η = 10": zero.growth_rate("gtd", ratio=10),
        "GTD2(0), η = 10": zero.growth_rate("gtd2", ratio=10),
        "TDRC(0)": zero.growth_rate("tdrc"),
        "ETD(0)": system(method="etd").growth_rate(),
        "ETD(0, β = 0.5)": system(method="etd", beta=0.5).growth_rate(),
    }


def learners() -> dict[str, tuple[td.Learner, float, Any]]:
    """Name: the learner, its α, and the matrix that moves (w, h) in expectation at α = 1."""
    x, common = TASK.features, dict[str, Any](initial=W0, on_divergence="flag", bound=1e100)
    a, zero = 2.0**-8, system()

    def joint(name: Any, ratio: float = 1.0) -> Any:
        return joint_matrix(name, zero.A, zero.C, zero.A_of_behavior(), ratio, 1.0)

    return {
        "TD": (td.TD(x, a, 0.0, **common), a, -zero.A),
        "V-trace": (td.TD(x, a, 0.0, correction="vtrace", **common), a, -system(correction="vtrace").A),
        "HTD": (td.HTD(x, a, 0.0, **common), a, joint("htd")),
        "ETD": (td.ETD(x, a, 0.0, **common), a, -system(method="etd").A),
        "ETD(β = 0.5)": (td.ETD(x, a, 0.0, beta_f=0.5, **common), a, -system(method="etd", beta=0.5).A),
        "GTD, β = 0.05": (td.GTD(x, 0.005, 0.0, 0.05, **common), 0.005, joint("gtd", 10)),
        "GTD2, β = 0.05": (td.GTD2(x, 0.005, 0.0, 0.05, **common), 0.005, joint("gtd2", 10)),
        "PGTD2, β = 0.05": (td.PGTD2(x, 0.005, 0.0, 0.05, **common), 0.005, None),
        "TDRC": (td.TDRC(x, 2.0**-6, 0.0, **common), 2.0**-6, joint("tdrc")),
    }


def expected_slope(move: Any, alpha: float, first: int, last: int) -> str:
    """The slope of ln √VE between two steps, by α, if every step is the expected one."""
    if move is None:
        return "–"
    start = np.concatenate((W0, np.zeros(len(move) - 8)))
    step = np.eye(len(move)) + alpha * move
    early, late = (root_ve((np.linalg.matrix_power(step, n) @ start)[:8]) for n in (first, last))
    return "√VE is 0" if early < 1e-9 else f"{np.log(late / early) / (last - first) / alpha:.4f}"


def main() -> int:
    """Print tables and verdicts, and write what is asked for."""
    chosen = outside.options(__doc__)
    seeds = chosen.seeds or (50 if chosen.full else 10)
    compared = exact()
    outside.table("Expected updates", ["", "theirs", "ours", "agrees"], [
        [what, f"{theirs:.9g}", f"{ours:.9g}", "yes" if abs(ours - theirs) < unit else "**no**"]
        for what, theirs, ours, unit in compared])  # fmt: skip
    rate = rates()
    outside.table("Growth rates of expected updates", ["update", "rate", ""],
                  [[name, f"{x:.5f}", "diverges" if x > 1e-12 else "converges"]
                   for name, x in rate.items()])  # fmt: skip
    made = learners()
    given = {name: learner for name, (learner, _, _) in made.items()}
    run = td.engine.run(TASK, given, seeds, STEPS, score="rmsve", keep=(), threads=1)
    pbe = td.engine.run(TASK, given, seeds, STEPS, score="rmspbe", points=1, keep=(), threads=1).error[:, :, -1]
    half = run.points.size // 2
    slope = np.log(run.error[:, :, -1] / run.error[:, :, half - 1]) / (run.points[-1] - run.points[half - 1])
    measured = {name: slope[k] / alpha for k, (name, (_, alpha, _)) in enumerate(made.items())}
    rows = []
    for k, (name, (_, alpha, move)) in enumerate(made.items()):
        expected = expected_slope(move, alpha, int(run.points[half - 1]), STEPS)
        error = measured[name].std(ddof=1) / np.sqrt(seeds)
        rows.append([
            name, f"{alpha:g}", f"{np.median(run.error[k, :, -1]):.3g}", f"{np.median(pbe[k]):.3g}",
            f"{measured[name].mean():.4f} ± {error:.4f}", expected,
        ])  # fmt: skip
    outside.table(f"Sampled, λ = 0, {seeds} runs of {STEPS:,} steps (at first √VE is 5.32, √PBE 8.22)",
                  ["algorithm", "α", "√VE at the end, median", "√PBE at the end, median", "rate in runs",
                   "in expectation"], rows)  # fmt: skip
    good = outside.verdicts(_must_hold(compared, rate, dict(zip(made, run.error, strict=True)), pbe, list(made)))
    outside.write_json(chosen.json, {
        "seeds": seeds, "expected updates": {what: ours for what, _, ours, _ in compared}, "growth rates": rate,
        "rates in runs": {name: float(x.mean()) for name, x in measured.items()}})  # fmt: skip
    if chosen.figures:
        lines = {name: (run.points.tolist(), np.median(run.error[k], axis=0).tolist()) for k, name in enumerate(made)}
        outside.chart(chosen.figures / "baird.svg", lines, "step", "√VE, median of runs", 1e9, vertical="log")
    return 0 if good else 1


def _must_hold(compared: Any, rate: Any, error: Any, pbe: Any, names: list[str]) -> dict[str, bool]:
    tdc = {name: pbe[names.index(name)] for name in ("GTD, β = 0.05", "GTD2, β = 0.05", "PGTD2, β = 0.05", "TDRC")}
    diverging = {"TD(0) = Tree Backup(0) = Retrace(0)", "TD(0.9)", "V-trace(0)", "HTD(0)"}
    converging = {"TD(0.95)", "GTD(0), η = 10", "GTD2(0), η = 10", "TDRC(0)", "ETD(0)"}
    return {
        "every number of an expected update is theirs, within one unit of the last digit": all(
            abs(ours - theirs) < unit for _, theirs, ours, unit in compared
        ),
        "expected TD(0), TD(0.9), V-trace(0) and HTD(0) diverge": all(rate[name] > 0 for name in diverging),
        "expected TD(0.95), GTD, GTD2, TDRC and ETD(0) converge": all(rate[name] < 0 for name in converging),
        "every sampled run of TD, V-trace and HTD ends with a larger √VE than it began with": all(
            bool((error[name][:, -1] > 5.318432).all()) for name in ("TD", "V-trace", "HTD")
        ),
        "every sampled run of GTD, GTD2, PGTD2 and TDRC ends with a √PBE below 0.3": all(
            bool((x < 0.3).all()) for x in tdc.values()
        ),
    }


if __name__ == "__main__":
    sys.exit(main())
