"""The Collision task (Ghiassian & Sutton 2021, arXiv 2106.00922): fixed points, and sensitivity to α of 11 algorithms.

    python experiments/family/collision.py              6 feature sets, 1,000 draws for the fixed points
    python experiments/family/collision.py --full       50 feature sets, 100,000 draws

Each run has a draw of the features and a trajectory of its own. The error is √VE before each of the 20,000 updates;
"AUC" is its mean over all of them, then over runs, at the best α of 2⁻¹ to 2⁻¹⁵ (chosen on the same runs). Beside ours
stand an independent simulation, whose 50 feature sets are others than ours, and what can be read off the paper's
figure, ± 0.01, which was made with 50 further sets. Most of the standard error comes from the draw of the features.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import outside

import tdlambda as td
from tdlambda.tasks.collision import drawn_features

STEPS, POINTS = 20_000, 100
EXPONENTS = tuple(range(1, 16))
"""α = 2⁻ˣ."""
LEVELS = {
    "best representable": ("", 0.0, 0.0708, 0.0002),
    "TD(1)": ("importance", 1.0, 0.0708, 0.0002),
    "ETD(0)": ("etd", 0.0, 0.1104, 0.0003),
    "TD(0), GTD(0), HTD(0), TDRC(0)": ("importance", 0.0, 0.3172, 0.0012),
    "TD(0.9)": ("importance", 0.9, 0.0740, 0.0002),
    "ETD(0.9)": ("etd", 0.9, 0.0750, 0.0002),
    "Tree Backup(0.9)": ("tree", 0.9, 0.1651, 0.0006),
    "V-trace(0.9), κ = ρ": ("retrace", 0.9, 0.1651, 0.0006),
    "Tree Backup(1)": ("tree", 1.0, 0.1513, 0.0006),
    "ABTD(ζ = 0.9)": ("abtd", 1.0, 0.1513, 0.0006),
}
"""Which expected update, λ, and the mean √VE over 20,000 other draws, ± its standard error."""
AT_0: dict[str, tuple[float | None, float | None]] = {
    "TD": (0.338, 0.33), "TDRC": (0.336, 0.33), "GTD, η = 1/16": (0.344, 0.33), "GTD, η = 1": (0.353, 0.345),
    "GTD, η = 16": (0.420, 0.42), "GTD2, η = 1/16": (0.355, 0.35), "GTD2, η = 1": (0.349, 0.34),
    "HTD, η = 1": (0.344, 0.335), "HTD, η = 16": (0.375, 0.37), "PGTD2, η = 1/16": (0.254, 0.21),
    "PGTD2, η = 1": (0.227, 0.18), "PGTD2, η = 16": (0.277, 0.26), "ETD": (0.123, 0.13),
    "ETD(β = 0.4)": (0.214, 0.21), "ETD(β = 0.8)": (0.126, 0.13), "V-trace, κ = ρ": (None, None),
    "Tree Backup": (None, None), "ABTD": (None, None),
}  # fmt: skip
"""λ = 0, AUC: an independent simulation, and the paper's figure."""
AT_9: dict[str, tuple[float | None, float | None]] = {
    "TD": (0.1035, 0.10), "TDRC": (0.1029, 0.10), "GTD, η = 1": (0.1030, 0.10), "GTD2, η = 1": (0.1114, None),
    "HTD, η = 1": (0.1153, 0.115), "PGTD2, η = 1": (0.1061, None), "ETD": (0.0973, 0.10),
    "ETD(β = 0.8)": (0.0976, None), "V-trace, κ = ρ": (0.1763, 0.176), "Tree Backup": (0.1763, 0.176),
    "ABTD": (0.1638, None),
}  # fmt: skip
"""λ = 0.9, and ζ = 0.9 for ABTD."""
CUT = ("V-trace, κ = ρ", "Tree Backup", "ABTD")
ELEVEN = ("TD", "GTD, η = 1", "GTD2, η = 1", "HTD, η = 1", "PGTD2, η = 1", "TDRC", "ETD", "ETD(β = 0.8)", *CUT)
LAMBDAS = (0.0, 0.3, 0.6, 0.8, 0.9, 0.95, 1.0)
"""For the sensitivity to λ."""


def key_matrix(kind: str, lam: float) -> Any:
    """K with A = Xᵀ K X and b = Xᵀ K v for any features X of the eight states."""
    task = td.make("Collision-v0")
    states = np.eye(9)[:, :8]
    if not kind:
        return np.diag(task.mdp.under(task.behavior).state_distribution()[:8])
    correction = td.mdp.TraceCorrection("abtd", zeta=0.9) if kind == "abtd" else kind
    options: dict[str, Any] = {"method": "etd"} if kind == "etd" else {"correction": correction}
    return task.exact.linear_system(states, lam, **options).A


def levels(draws: int) -> dict[str, Any]:
    """√VE of the fixed points, [draw], by level."""
    task = td.make("Collision-v0")
    d, v = key_matrix("", 0.0).diagonal(), task.exact.v()[:8]
    d = d / d.sum()
    X = np.array([drawn_features(k) for k in range(draws)])
    found = {}
    for name, (kind, lam, _, _) in LEVELS.items():
        K = key_matrix(kind, lam)
        A, b = X.mT @ K @ X, X.mT @ (K @ v)
        w = (np.linalg.pinv(A, rcond=1e-10) @ b[..., None])[..., 0]
        found[name] = np.sqrt(((X @ w[..., None])[..., 0] - v) ** 2 @ d)
    return found


def makers(lam: float) -> dict[str, Callable[[Any, float], td.Learner]]:
    """By name, from features and α."""

    def second(cls: Any, eta: float) -> Callable[[Any, float], td.Learner]:
        return lambda x, a: cls(x, a, lam, beta=eta * a, on_divergence="flag")

    def corrected(correction: Any, own: float = lam) -> Callable[[Any, float], td.Learner]:
        return lambda x, a: td.TD(x, a, own, correction=correction, on_divergence="flag")

    abtd = td.mdp.TraceCorrection("abtd", zeta=lam, psi_0=1.0, psi_max=2.0)
    found: dict[str, Callable[[Any, float], td.Learner]] = {
        "TD": lambda x, a: td.TD(x, a, lam, on_divergence="flag"),
        "TDRC": second(td.TDRC, 1),
        "ETD": lambda x, a: td.ETD(x, a, lam, on_divergence="flag"),
        "ETD(β = 0.4)": lambda x, a: td.ETD(x, a, lam, beta_f=0.4, on_divergence="flag"),
        "ETD(β = 0.8)": lambda x, a: td.ETD(x, a, lam, beta_f=0.8, on_divergence="flag"),
        "V-trace, κ = ρ": corrected("retrace"),
        "Tree Backup": corrected("tree"),
        "ABTD": corrected(abtd, 1.0),
        "ABTD, ζ = λ/2": corrected(td.mdp.TraceCorrection("abtd", zeta=lam / 2, psi_0=1.0, psi_max=2.0), 1.0),
    }
    for name, eta in (("η = 1/16", 1 / 16), ("η = 1", 1.0), ("η = 16", 16.0)):
        for cls in (td.GTD, td.GTD2, td.HTD, td.PGTD2):
            found[f"{cls.__name__}, {name}"] = second(cls, eta)
    return found


def curves(lam: float, names: Sequence[str], sets: int) -> Any:
    """Mean √VE over each hundredth of the steps, [name, α, set, point]."""
    make, found = makers(lam), []
    for k in range(sets):
        task = td.make("Collision-v0", features_seed=k)
        learners = [make[name](task.features, 2.0**-x) for name in names for x in EXPONENTS]
        run = td.engine.run(
            task, learners, [k], STEPS, points=POINTS, score="rmsve", average="before", keep=(), threads=1
        )
        found.append(run.error[:, 0].reshape(len(names), len(EXPONENTS), POINTS))
    return np.stack(found, axis=2)


def across(sets: int) -> dict[str, list[float]]:
    """Least AUC over α of each algorithm at each λ; print them."""
    found: dict[str, list[float]] = {name: [] for name in ELEVEN}
    for lam in LAMBDAS:
        with np.errstate(invalid="ignore"):
            least = curves(lam, ELEVEN, sets).mean(axis=(2, 3)).min(axis=1)
        for name, auc in zip(ELEVEN, least.tolist(), strict=True):
            found[name].append(auc)
    rows = [[name, *(f"{auc:.3f}" for auc in auc_of)] for name, auc_of in found.items()]
    outside.table(f"Least AUC over α at each λ, {sets} feature sets", ["", *(f"λ = {x:g}" for x in LAMBDAS)], rows)
    return found


class Sensitivity:
    """AUC of each algorithm at each α, and the best of them."""

    def __init__(self, lam: float, known: dict[str, tuple[float | None, float | None]], sets: int) -> None:
        self.known, self.sets, self.lam = known, sets, lam
        extra = [] if lam == 0 else ["ABTD, ζ = λ/2"]
        self.curves = dict(zip([*known, *extra], curves(lam, [*known, *extra], sets), strict=True))
        with np.errstate(invalid="ignore"):
            self.auc = {name: curve.mean(axis=2).mean(axis=1) for name, curve in self.curves.items()}
        self.at = {name: int(np.argmin(auc)) for name, auc in self.auc.items()}
        self.best = {name: float(self.auc[name][k]) for name, k in self.at.items()}
        self.error = {
            name: float(self.curves[name][k].mean(axis=1).std(ddof=1) / np.sqrt(sets)) for name, k in self.at.items()
        }

    def show(self) -> None:
        """Print ours beside theirs."""
        rows = []
        for name, (theirs, figure) in self.known.items():
            diverged = [x for x, auc in zip(EXPONENTS, self.auc[name], strict=True) if not np.isfinite(auc)]
            both = np.sqrt(1 + self.sets / 50) * self.error[name]  # theirs are 50 sets of the same spread
            z = None if theirs is None else (self.best[name] - theirs) / both
            rows.append([
                name, f"{self.best[name]:.3f} ± {self.error[name]:.3f}", f"2^-{EXPONENTS[self.at[name]]}",
                *(["–"] * 2 if theirs is None or z is None else [f"{theirs:.3f}", f"{z:+.1f}"]),
                "–" if figure is None else f"{figure:g}", f"2^-{max(diverged)}" if diverged else "–",
            ])  # fmt: skip
        outside.table(
            f"λ = {self.lam:g}: least AUC over α, {self.sets} feature sets", ["algorithm", "ours", "at α",
            "theirs", "z", "figure", "some run diverges at α ≥"], rows)  # fmt: skip

    def lines(self, names: Sequence[str]) -> dict[str, tuple[list[float], list[float]]]:
        """AUC over α, for a chart."""
        alphas = [2.0**-x for x in EXPONENTS]
        return {name: (alphas, self.auc[name].tolist()) for name in names}


def main() -> int:
    """Print tables and verdicts, and write what is asked for."""
    chosen = outside.options(__doc__)
    sets = chosen.seeds or (50 if chosen.full else 6)
    draws = 100_000 if chosen.full else 1000
    exact = levels(draws)
    rows, agree = [], True
    for name, (_, _, theirs, error) in LEVELS.items():
        own = exact[name].std(ddof=1) / np.sqrt(draws)
        z = (exact[name].mean() - theirs) / np.hypot(own, error)
        agree &= abs(z) < 4
        rows.append([name, f"{theirs:.4f} ± {error:.4f}", f"{exact[name].mean():.4f} ± {own:.4f}", f"{z:+.1f}"])
    outside.table(f"√VE of fixed points, mean over {draws:,} draws of the features", ["", "theirs", "ours", "z"], rows)
    zero, nine = Sensitivity(0.0, AT_0, sets), Sensitivity(0.9, AT_9, sets)
    zero.show()
    nine.show()
    by_lambda = across(min(sets, 12))
    good = outside.verdicts(_must_hold(exact, agree, zero, nine))
    outside.write_json(chosen.json, {
        "sets": sets, "draws": draws, "levels": {name: float(x.mean()) for name, x in exact.items()},
        "alphas": [2.0**-x for x in EXPONENTS],
        "lambdas": LAMBDAS, "least auc": by_lambda,
        "auc": {f"λ = {some.lam:g}": {name: auc.tolist() for name, auc in some.auc.items()} for some in (zero, nine)},
    })  # fmt: skip
    if chosen.figures:
        _draw(chosen.figures, zero, nine)
    return 0 if good else 1


def _draw(folder: Any, zero: Sensitivity, nine: Sensitivity) -> None:
    shown = ["TD", "TDRC", "GTD, η = 1", "GTD2, η = 1", "HTD, η = 1", "PGTD2, η = 1", "ETD", "ETD(β = 0.8)"]
    about = ("step size α", "√VE, mean over 20,000 steps", 0.7)
    outside.chart(folder / "collision-0.svg", zero.lines([*shown, "ETD(β = 0.4)"]), *about, logarithmic=True)
    outside.chart(folder / "collision-0.9.svg", nine.lines([*shown, *CUT[1:]]), *about, logarithmic=True)
    steps = list((np.arange(POINTS) + 0.5) * STEPS / POINTS)
    some = {"TD": 5, "TDRC": 4, "ETD": 8, "PGTD2, η = 1": 4, "PGTD2, η = 16": 7}
    over_time = {
        f"{name}, α = 2^-{x}": (steps, zero.curves[name][EXPONENTS.index(x)].mean(axis=0).tolist())
        for name, x in some.items()
    }
    outside.chart(folder / "collision-learning.svg", over_time, "step", "√VE at λ = 0", 0.7)


def _must_hold(exact: Any, agree: bool, zero: Sensitivity, nine: Sensitivity) -> dict[str, bool]:
    d, v = key_matrix("", 0.0).diagonal(), td.make("Collision-v0").mdp.v([1.0, 0.0])[:8]
    d = d / d.sum()
    visits = bool(np.allclose(d, np.array([2, 4, 6, 8, 8, 4, 2, 1]) / 35))
    pgtd2 = min(value for name, value in zero.best.items() if name.startswith("PGTD2"))
    rest = [value for name, value in zero.best.items() if not name.startswith(("PGTD2", "ETD"))]
    uncut = [value for name, value in nine.best.items() if not name.startswith((*CUT, "ABTD"))]
    passing = zero.curves["PGTD2, η = 16"][EXPONENTS.index(7)].mean(axis=0)
    return {
        "behaviour's d is (2, 4, 6, 8, 8, 4, 2, 1)/35, √VE of w = 0 is 0.689078":
            visits and bool(abs(np.sqrt(d @ v**2) - 0.689078) < 1e-6),
        "fixed points: every mean level is within four standard errors of theirs": agree,
        "fixed points: TD(1) is the best representable, Tree Backup(0.9) is V-trace(0.9), Tree Backup(1) is ABTD(0.9), "
        "draw by draw": all(np.allclose(exact[one], exact[other], atol=1e-9) for one, other in (
            ("TD(1)", "best representable"), ("Tree Backup(0.9)", "V-trace(0.9), κ = ρ"),
            ("Tree Backup(1)", "ABTD(ζ = 0.9)"))),
        "runs: Tree Backup(0.9) = V-trace(0.9, κ = ρ) = ABTD(ζ = 0.45) at every point, λ = 0 makes them TD":
            _same(nine, "Tree Backup", "V-trace, κ = ρ") and _same(nine, "Tree Backup", "ABTD, ζ = λ/2")
            and all(_same(zero, "TD", name) for name in CUT),
        "λ = 0: ETD < PGTD2 (best η) < all others but ETD(β)": zero.best["ETD"] < pgtd2 < min(rest),
        "λ = 0: PGTD2 with η = 16, α = 2^-7 passes its least error and rises again by 0.03 or more":
            bool(passing[-1] > passing.min() + 0.03),
        "λ = 0.9: all but V-trace, Tree Backup and ABTD are within 0.02 of each other": max(uncut) - min(uncut) < 0.02,
        "λ = 0.9: V-trace, Tree Backup and ABTD are worst": min(nine.best[name] for name in CUT) > max(uncut),
    }  # fmt: skip


def _same(some: Sensitivity, one: str, other: str) -> bool:
    """At all points of all runs, to rounding, as long as neither has diverged."""
    a, b = some.curves[one], some.curves[other]
    calm = np.isfinite(a) & (a < 10)
    return bool(np.allclose(a[calm], b[calm], rtol=1e-9))


if __name__ == "__main__":
    sys.exit(main())
