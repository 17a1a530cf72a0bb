"""Break each kernel on purpose, one line at a time, and show that the tests notice.

    python tools/mutate.py [--list] [WORD ...]

Every mutant is a copy of the package with one expression changed: γ of the wrong state, a ρ dropped, a sign turned, a
correction left out. It is run, interpreted, against the tests that compare the learners with forward views, with the
papers' equations in plain NumPy and with small cases by hand. A mutant that passes them is an error (exit 1).
"""

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parent.parent
TESTS = [
    "tests/learners/test_by_hand.py",
    "tests/learners/test_equivalences.py",
    "tests/rules/test_adaptive_rules.py::test_greedy_is_its_equations",
    "tests/rules/test_adaptive_rules.py::test_meta_is_its_equations",
    "tests/rules/test_offline_meta.py::test_gradient_is_the_derivative_of_the_error_written_out",
]

OTHER_TESTS = {
    "engine/": ["tests/engine/test_few_steps.py"],
    "lambdas/value_error": [
        "tests/rules/test_value_error_greedy.py::test_same_as_its_equations",
        "tests/rules/test_value_error_greedy.py::test_best_lambda_is_least_in_error_one_update_ahead",
    ],
    "auto/": [
        "tests/auto/test_bank.py::test_it_is_what_plain_numpy_makes_of_the_page",
        "tests/auto/test_bank.py::test_with_many_features_as_with_few",
    ],
    "control/": ["tests/control/test_actor_equations.py"],
    "memory": [
        *TESTS,
        "tests/learners/test_divergence.py::test_the_bound_is_a_factor",
        "tests/learners/test_divergence.py::test_initial_weights_count_as_what_is_allowed",
    ],
}
"""For files whose names begin so."""

MUTANTS = [
    # file, what is there, what is put in its place
    ("memory", "return M[FACTOR] * scale", "return scale"),
    ("memory", "scale += M[START] * y1", "pass"),
    ("memory", "I[LENGTH] + 1 if I[UNDER_WAY] else 1", "1"),
    ("memory", "M[MOST_REWARD] * horizon(", "horizon("),
    ("learners/driver", "    if terminated:\n        gamma_next = 0.0\n", "    if terminated:\n"),
    ("engine/driver", "        if terminated[t]:\n            gamma_next = 0.0\n", "        if terminated[t]:\n"),
    ("learners/true_online_td", "keep = rho * gamma_lam", "keep = gamma_lam"),
    ("learners/true_online_td", "new = rho * alpha * (1 - keep * xe)", "new = alpha * (1 - keep * xe)"),
    ("learners/true_online_td", "new = rho * alpha * (1 - keep * xe)", "new = rho * alpha * (1 + keep * xe)"),
    ("learners/true_online_td", "new = rho * alpha * (1 - keep * xe)", "new = rho * alpha * (1 - gamma_lam * xe)"),
    ("learners/true_online_td", "new = rho * alpha * (1 - keep * xe)", "new = rho * alpha"),
    ("learners/true_online_td", "-(v - v_old) * alpha * rho", "(v - v_old) * alpha * rho"),
    ("learners/true_online_td", "-(v - v_old) * alpha * rho", "-(v - v_old) * alpha"),
    ("learners/true_online_td", "delta + v - v_old,", "delta - v + v_old,"),
    ("learners/true_online_td", "delta + v - v_old,", "delta,"),
    ("learners/true_online_td", "M[m + V_OLD] if I[UNDER_WAY] else v", "M[m + V_OLD]"),
    ("learners/true_online_td", "M[m + DECAY] = v_next,", "M[m + DECAY] = dot(w, y, yv, n_next),"),
    ("learners/true_online_td", "- v, gamma_next * lam_next", "- v, gamma_next"),
    ("learners/true_online_td", "- v, gamma_next * lam_next", "- v, M[m + DECAY]"),
    ("learners/td_lambda", "keep = rho * gamma_lam", "keep = gamma_lam"),
    ("learners/td_lambda", "else rho\n", "else 1.0\n"),
    ("learners/td_lambda", "(1 - alpha * keep * xe)", "(1 + alpha * keep * xe)"),
    ("learners/td_lambda", "delta = reward + gamma_next * v_next - v", "delta = reward + v_next - v"),
    ("learners/td_lambda", "e[x[j]] = 0.0", "pass"),
    ("learners/td_lambda", "delta, gamma_next * lam_next", "delta, gamma_next"),
    ("learners/td_lambda", "delta, gamma_next * lam_next", "delta, lam_next"),
    ("learners/gtd_lambda", "keep = rho * gamma_lam", "keep = gamma_lam"),
    ("learners/gtd_lambda", "eh_new = keep * eh + rho * hx", "eh_new = keep * eh + hx"),
    ("learners/gtd_lambda", "eh_new = keep * eh + rho * hx", "eh_new = eh"),
    ("learners/gtd_lambda", "-alpha * gamma_next * (1 - lam_next)", "alpha * gamma_next * (1 - lam_next)"),
    ("learners/gtd_lambda", "-alpha * gamma_next * (1 - lam_next)", "-alpha * gamma_next * lam_next"),
    ("learners/gtd_lambda", "-alpha * gamma_next * (1 - lam_next)", "-alpha * (1 - lam_next)"),
    ("learners/gtd_lambda", "beta * delta, -beta * hx", "beta * delta, beta * hx"),
    ("learners/gtd_lambda", "return keep, rho, alpha", "return keep, 1.0, alpha"),
    ("learners/gtd_lambda", "delta, gamma_next * lam_next", "delta, gamma_next"),
    ("learners/true_online_gtd", "keep = rho_prev * gamma_lam", "keep = rho * gamma_lam"),
    ("learners/true_online_gtd", "new = beta * (1 - keep * xh)", "new = beta * (1 + keep * xh)"),
    ("learners/true_online_gtd", "new = beta * (1 - keep * xh)", "new = beta"),
    ("learners/true_online_gtd", "rho * gamma_lam * grad + rho * hx", "gamma_lam * grad + rho * hx"),
    ("learners/true_online_gtd", "rho * gamma_lam * grad + rho * hx", "rho * gamma_lam * grad + hx"),
    ("learners/true_online_gtd", "-alpha * gamma_next * (1 - lam_next)", "alpha * gamma_next * (1 - lam_next)"),
    ("learners/true_online_gtd", "-alpha * gamma_next * (1 - lam_next)", "-alpha * gamma_next * lam_next"),
    ("learners/true_online_gtd", "rho * delta, -beta * hx", "delta, -beta * hx"),
    ("learners/true_online_gtd", "rho * delta, -beta * hx", "rho * delta, beta * hx"),
    ("learners/true_online_gtd", "add(e_grad, rho,", "add(e_grad, 1.0,"),
    ("learners/true_online_gtd", "gamma_next * lam_next, rho", "gamma_next, rho"),
    ("moments", "reward + gamma_next * (1 - lam_next) * v_next", "reward + gamma_next * lam_next * v_next"),
    ("moments", "v_next, gamma_next * lam_next", "v_next, gamma_next"),
    ("moments", "ahead + kept * j_next - j,", "ahead + kept * j_next + j,"),
    ("moments", "ahead + kept * j_next - j,", "ahead + j_next - j,"),
    ("moments", "(rho * kept) ** 2 if corrected", "kept**2 if corrected"),
    ("moments", "else kept**2, 1.0", "else kept, 1.0"),
    ("moments", "kept**2, 1.0 if corrected else rho", "kept**2, rho"),
    ("moments", "(rho - 1) * j", "(1 - rho) * j"),
    ("moments", "2 * kept * ahead * j_next", "kept * ahead * j_next"),
    ("moments", "rho**2 if corrected", "rho if corrected"),
    ("moments", "weight * kept**2, 1.0", "kept**2, 1.0"),
    ("learners/direct_vtd", "assign(M, 1, ahead, kept, rho", "assign(M, 1, ahead, kept, 1.0"),
    ("learners/vtd", "dot(F[rows], y, yv", "dot(F[0], y, yv"),
    ("lambdas/greedy", "variance -= mean_next**2", "variance += mean_next**2"),
    ("lambdas/greedy", "gamma_next, mean, mean_next, rho", "gamma_next, mean_next, mean, rho"),
    ("lambdas/meta", "-kappa * rho_acc * derivative", "-kappa * derivative"),
    ("lambdas/meta", "-kappa * rho_acc * derivative", "kappa * rho_acc * derivative"),
    ("lambdas/meta", "(lam - value) * per_norm if in_range", "(lam - value) if in_range"),
    ("lambdas/meta", "clip(value + step * norm)", "clip(value + step)"),
    ("engine/algorithms", "= d, gamma[l] * lam[l], v_next[l]", "= d, gamma[l], v_next[l]"),
    ("engine/algorithms", "back = _true_online_td(v, v_next[l], v_old[l]", "back = _true_online_td(v, v_next[l], v"),
    ("engine/algorithms", "e[l] = xe * k + n", "e[l] = xe + n"),
    ("engine/algorithms", "+ (a * n + back)", "+ a * n"),
    ("engine/algorithms", "a * n + back, back_next", "a * n, back_next"),
    ("engine/algorithms", "lanes.add(F, h, S[TO_X_H], x, xv, n)", "pass"),
    ("engine/algorithms", "S[TO_X_H], rho, I", "S[TO_X_H], S[NEW], I"),
    ("engine/lanes", "e_grad[l] * keep[l] + rho[l]", "e_grad[l] * keep_h[l] + rho[l]"),
    ("engine/lanes", "I[marks + index[j]] += MARK", "pass"),
    ("engine/algorithms", "S[KEEP], w, S[ALONG], I, x[0])", "S[KEEP], w, S[ALONG], I)"),
    ("engine/lanes", "y[0] != x[0]", "True"),
    ("engine/lanes", "I[LIVE + F.shape[0] + f] = 0\n    I[N_LIVE] = 0", "pass\n    I[N_LIVE] = 0"),
    ("engine/lanes", "fours = n - n % 4", "fours = n - n % 4 - 4 if n > 4 else 0"),
    ("engine/rules", "wz[l] -= by", "wz[l] += by"),
    ("engine/rules", "by = by if go else 0.0", "pass"),
    ("engine/rules", "now = rho_acc[l] * rho", "now = rho_acc[l]"),
    ("engine/rules", "spread -= mean_next[l] ** 2", "pass"),
    ("engine/rules", "_carry_one(y1[l], y2[l], c[l], delta[l])", "_carry_one(y2[l], y1[l], c[l], delta[l])"),
    ("engine/driver", "I[CORRECTED] and k == I[BLOCKS] - 1", "k > 0"),
    ("engine/driver", "I[CORRECTED] and k == I[BLOCKS] - 1", "k < 0"),
    ("engine/driver", "M[BETA, l] * S[ALPHA_T, l]", "M[BETA, l]"),
    ("engine/driver", "M[PACE, l] * S[ALPHA_T, l], M[PACE, l]", "S[ALPHA_T, l], M[PACE, l]"),
    ("engine/driver", "beyond += _learn(", "_learn("),
    ("learners/driver", "if terminated or truncated:", "if terminated:"),
    ("learners/driver", "1.0 if k == 0 else M[MEAN_PACE if own else PACE]", "1.0"),
    ("memory", "visits[index[j]] += 1", "visits[index[j]] += 2"),
    ("memory", "I[UNDER_WAY] = 0", "pass"),
    ("lambdas/greedy", "bias / below if below > 0", "max(variance, 0.0) / below if below > 0"),
    ("lambdas/meta", "sign = 1.0 if kind == DERIVED else -1.0", "sign = -1.0 if kind == DERIVED else 1.0"),
    ("lambdas/meta", "gamma_next**2 * (gap**2 + variance)", "gamma_next**2 * gap**2"),
    ("lambdas/meta", "reward + gamma_next * v - mean_here", "reward + gamma_next * v - mean"),
    ("lambdas/meta", "(1.0 if fresh else M[RHO_ACC]) * rho", "M[RHO_ACC] * rho"),
    ("lambdas/meta", "2 * (mean_lam - mean)", "2 * (mean - mean_lam)"),
    ("lambdas/meta", "c * y1 + 2 * delta * c * y2", "c * y1 + delta * c * y2"),
    ("lambdas/meta", "c**2 * y2", "c * y2"),
    ("lambdas/meta", "assign(M, 2, ahead, kept, rho, trace)", "assign(M, 2, ahead, gamma_next, rho, trace)"),
    ("lambdas/meta", "gamma_next * v_next - v, v, rho", "gamma_next * v_next - mean_lam, v, rho"),
    ("lambdas/stored_episodes", "2 * e * c[t] * d_next", "e * c[t] * d_next"),
    ("lambdas/stored_episodes", "p[t] * c[t] ** 2 * y2", "c[t] ** 2 * y2"),
    ("lambdas/stored_episodes", "(y1 + 2 * e * y2)", "(y1 + e * y2)"),
    ("lambdas/stored_episodes", "c[t] * (gap * d_next + q_next)", "c[t] * q_next"),
    ("lambdas/stored_episodes", "np.cumprod(rho[start:last])", "np.cumprod(rho[start + 1 : last + 1])"),
    ("lambdas/stored_episodes", "np.where(self.end, self.V_next, M_next)", "M_next"),
    ("lambdas/stored_episodes", "(1 - rho) * _values", "(rho - 1) * _values"),
    ("lambdas/value_error_greedy", "kept = rho * gamma_lam * xe", "kept = gamma_lam * xe"),
    ("lambdas/value_error_greedy", "kept + rho * alpha * (1 - kept) * norm", "kept + rho * alpha * norm"),
    ("lambdas/value_error_greedy", "max(0.1 * scaled,", "max(scaled,"),
    ("lambdas/value_error_greedy", "np.sqrt(1 + 0.5 * visits)", "(1 + 0.5 * visits)"),
    ("lambdas/value_error_greedy", "forgetting * scaled)", "forgetting)"),
    ("lambdas/value_error_greedy", "above - doubt * weight * variance", "above"),
    ("lambdas/value_error_greedy", "weight * (gap * gap + variance)", "weight * variance"),
    ("lambdas/value_error_greedy", "c * gap * (v - mean)", "c * gap * (mean - v)"),
    ("lambdas/value_error_greedy", "c * c - M[w]", "c - M[w]"),
    ("lambdas/value_error_greedy", "c = gamma_next * reach(", "c = reach("),
    ("lambdas/value_error_greedy", "M[TRACE_LAM] * cut(rho)", "M[TRACE_LAM]"),
    ("lambdas/value_error_greedy", "trace[x[j]] += rho * xv[j]", "trace[x[j]] += xv[j]"),
    ("lambdas/value_error_greedy", "SURE * SURE * RECENT / 2 * power", "SURE * RECENT / 2 * power"),
    ("lambdas/value_error_greedy", "(size if ended else max(", "(1 if ended else max("),
    ("auto/bank", "c * c", "c"),
    ("auto/bank", "trace[l] = keep * trace[l] + c", "trace[l] = trace[l] + c"),
    ("auto/bank", "N[RHO] * (N[REWARD] + N[GAMMA] * u_next - N[U])", "N[REWARD] + N[GAMMA] * u_next - N[U]"),
    ("auto/bank", "0.0 if fresh else N[RHO] * N[GAMMA])", "0.0 if fresh else N[GAMMA])"),
    ("auto/bank", "max(LEAST_STEP, 1.0 / (visits[x[j]] + 1.0))", "LEAST_STEP"),
    ("auto/bank", "M[TRACE_LAM], cut(rho))", "M[TRACE_LAM], 1.0)"),
    ("auto/bank", "1.0 / N[MOST_NORM] if", "1.0 if"),
    ("auto/mixing", "D[window + ENERGY, l] - 2 * D[window + GAIN, l]", "D[window + ENERGY, l] - D[window + GAIN, l]"),
    ("auto/mixing", "(1.0 - EVERY / N[STEPS]) ** WINDOW", "(1.0 - EVERY / N[STEPS])"),
    ("auto/mixing", "max(noise, D[LONG + NOISE, l] / energy)", "noise"),
    ("auto/mixing", "before * (before - 1.0) / (age * (age - 1.0))", "before / age"),
    ("auto/mixing", "abs(lam - BEST_LAMBDA)", "abs(lam)"),
    ("control/actor", "return emphasis * gamma_next", "return emphasis"),
    ("control/actor", "emphasis * rho * gamma_next +", "emphasis * gamma_next +"),
    ("control/actor", "return rho * gamma_lam, rho * emphasis * score", "return gamma_lam, rho * emphasis * score"),
    ("control/actor", "return rho * gamma_lam, rho * emphasis * score", "return rho * gamma_lam, emphasis * score"),
    ("control/actor", "return rho * gamma_lam, rho * emphasis * score", "return rho * gamma_lam, rho * score"),
    ("control/actor", "eta * tau * emphasis * entropy", "eta * tau * entropy"),
]  # fmt: skip
EQUIVALENT = {
    # on termination x' = 0 says it all
    ("learners/driver", "    if terminated:\n        gamma_next = 0.0\n", "    if terminated:\n"),
    ("engine/driver", "        if terminated[t]:\n            gamma_next = 0.0\n", "        if terminated[t]:\n"),
    # each lane reads x' before it writes x; only the compiler, told that rows do not overlap, might do otherwise
    ("engine/lanes", "y[0] != x[0]", "True"),
    # a remainder of fours that is taken one by one is summed all the same
    ("engine/lanes", "fours = n - n % 4", "fours = n - n % 4 - 4 if n > 4 else 0"),
    # at an episode's start e = αρx, so the term with w⁻·x is 0 whatever w⁻ is; it is set so that rounding is the same
    ("learners/true_online_td", "M[m + V_OLD] if I[UNDER_WAY] else v", "M[m + V_OLD]"),
}


def survives(mutant: tuple[str, str, str] | None) -> str | None:
    """None if the tests fail, as they should; else what they said."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "src"
        shutil.copytree(ROOT / "src", copy, ignore=shutil.ignore_patterns("__pycache__"))
        if mutant is not None:
            file = copy / "tdlambda" / f"{mutant[0]}.py"
            text = file.read_text()
            if text.count(mutant[1]) < 1:
                return f"there is no {mutant[1]!r} in {mutant[0]}.py: renew this list"
            file.write_text(text.replace(mutant[1], mutant[2], 1))
        every = [test for tests in (TESTS, *OTHER_TESTS.values()) for test in tests]
        tests = every if mutant is None else _tests_of(mutant[0])
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-x", "-q", "--hypothesis-seed=0", "-W", "ignore::RuntimeWarning", *tests],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(copy), "NUMBA_DISABLE_JIT": "1", "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode not in (0, 1):
            return done.stdout[-2000:] + done.stderr[-2000:]
        return None if done.returncode == 1 else "all tests pass"


def _tests_of(file: str) -> list[str]:
    return next((tests for begin, tests in OTHER_TESTS.items() if file.startswith(begin)), TESTS)


def main() -> None:
    """Run the mutants whose line has all the words given."""
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    chosen = [m for m in MUTANTS if all(word in " ".join(m) for word in words)]
    if "--list" in sys.argv:
        print("\n".join(f"{file}: {old!r} -> {new!r}" for file, old, new in chosen))
        return
    if survives(None) != "all tests pass":
        sys.exit("the tests do not pass without a mutation")
    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for mutant, said in zip(chosen, pool.map(survives, chosen), strict=True):
            equivalent = mutant in EQUIVALENT
            good = (said is None) != equivalent
            failed += not good
            verdict = "killed" if said is None else "equivalent, as known" if equivalent else f"SURVIVED: {said}"
            print(f"{mutant[0]:<24} {mutant[1]!r} -> {mutant[2]!r}: {verdict}", flush=True)
    print(f"{len(chosen)} mutants, {failed} not as they should be")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
