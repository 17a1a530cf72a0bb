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
TESTS = ["tests/learners/test_equivalences.py", "tests/learners/test_by_hand.py"]

MUTANTS = [
    # file, what is there, what is put in its place
    ("true_online_td", "gamma_lam = M[GAMMA] * M[LAM]", "gamma_lam = gamma_next * M[LAM]"),
    ("true_online_td", "gamma_lam = M[GAMMA] * M[LAM]", "gamma_lam = M[GAMMA] * lam_next"),
    ("true_online_td", "keep = rho * gamma_lam", "keep = gamma_lam"),
    ("true_online_td", "new = rho * alpha * (1 - keep * xe)", "new = alpha * (1 - keep * xe)"),
    ("true_online_td", "new = rho * alpha * (1 - keep * xe)", "new = rho * alpha * (1 + keep * xe)"),
    ("true_online_td", "new = rho * alpha * (1 - keep * xe)", "new = rho * alpha * (1 - gamma_lam * xe)"),
    ("true_online_td", "new = rho * alpha * (1 - keep * xe)", "new = rho * alpha"),
    ("true_online_td", "-(v - v_old) * alpha * rho", "(v - v_old) * alpha * rho"),
    ("true_online_td", "-(v - v_old) * alpha * rho", "-(v - v_old) * alpha"),
    ("true_online_td", "delta + v - v_old,", "delta - v + v_old,"),
    ("true_online_td", "delta + v - v_old,", "delta,"),
    ("true_online_td", "M[old] if I[UNDER_WAY] else v", "M[old]"),
    ("true_online_td", "M[old], M[DELTA] = v_next,", "M[old], M[DELTA] = dot(w, y, yv, n_next),"),
    ("td_lambda", "keep = rho * gamma * lam", "keep = gamma * lam"),
    ("td_lambda", "keep = rho * gamma * lam", "keep = rho * gamma_next * lam"),
    ("td_lambda", "else rho\n", "else 1.0\n"),
    ("td_lambda", "(1 - alpha * keep * xe)", "(1 + alpha * keep * xe)"),
    ("td_lambda", "gamma_next * v_next - v)", "gamma * v_next - v)"),
    ("td_lambda", "e[x[j]] = 0.0", "pass"),
    ("gtd_lambda", "keep = rho * gamma * lam", "keep = rho * gamma_next * lam"),
    ("gtd_lambda", "keep = rho * gamma * lam", "keep = gamma * lam"),
    ("gtd_lambda", "eh_new = keep * eh + rho * hx", "eh_new = keep * eh + hx"),
    ("gtd_lambda", "eh_new = keep * eh + rho * hx", "eh_new = eh"),
    ("gtd_lambda", "-alpha * gamma_next * (1 - lam_next)", "alpha * gamma_next * (1 - lam_next)"),
    ("gtd_lambda", "-alpha * gamma_next * (1 - lam_next)", "-alpha * gamma_next * (1 - lam)"),
    ("gtd_lambda", "-alpha * gamma_next * (1 - lam_next)", "-alpha * gamma * (1 - lam_next)"),
    ("gtd_lambda", "beta * delta, -beta * hx", "beta * delta, beta * hx"),
    ("gtd_lambda", "return keep, rho, alpha", "return keep, 1.0, alpha"),
    ("true_online_gtd", "keep = rho_prev * gamma * lam", "keep = rho * gamma * lam"),
    ("true_online_gtd", "keep = rho_prev * gamma * lam", "keep = rho_prev * gamma_next * lam"),
    ("true_online_gtd", "new = beta * (1 - keep * xh)", "new = beta * (1 + keep * xh)"),
    ("true_online_gtd", "new = beta * (1 - keep * xh)", "new = beta"),
    ("true_online_gtd", "rho * gamma * lam * grad + rho * hx", "gamma * lam * grad + rho * hx"),
    ("true_online_gtd", "rho * gamma * lam * grad + rho * hx", "rho * gamma * lam * grad + hx"),
    ("true_online_gtd", "-alpha * gamma_next * (1 - lam_next)", "alpha * gamma_next * (1 - lam_next)"),
    ("true_online_gtd", "-alpha * gamma_next * (1 - lam_next)", "-alpha * gamma_next * (1 - lam)"),
    ("true_online_gtd", "rho * delta, -beta * hx", "delta, -beta * hx"),
    ("true_online_gtd", "rho * delta, -beta * hx", "rho * delta, beta * hx"),
    ("true_online_gtd", "add(e_grad, rho,", "add(e_grad, 1.0,"),
    ("direct_vtd", "(1 - lam_next) * v_next", "lam_next * v_next"),
    ("direct_vtd", "+ gamma_lam_next * j_next - j", "+ gamma_lam_next * j_next + j"),
    ("direct_vtd", "+ gamma_lam_next * j_next - j", "+ gamma_lam * j_next - j"),
    ("direct_vtd", "gamma_lam_next**2, gamma_lam**2, rho", "gamma_lam_next**2, gamma_lam_next**2, rho"),
    ("direct_vtd", "gamma_lam_next**2, gamma_lam**2, rho", "gamma_lam_next**2, gamma_lam**2, 1.0"),
    ("direct_vtd", "(rho - 1) * j", "(1 - rho) * j"),
    ("direct_vtd", "(rho * gamma_lam_next) ** 2", "gamma_lam_next**2"),
    ("direct_vtd", "(rho_prev * gamma_lam) ** 2, 1.0", "(rho * gamma_lam) ** 2, 1.0"),
    ("vtd", "2 * gamma_lam_next * cumulant", "gamma_lam_next * cumulant"),
    ("vtd", "M[RHO_PREV] ** 2 * kept, 1.0", "kept, 1.0"),
    ("vtd", "rho**2 * square, rho**2 * discount", "rho * square, rho**2 * discount"),
    ("vtd", "cumulant * dot(F[1], y, yv, n_next)", "cumulant * dot(F[0], y, yv, n_next)"),
    ("vtd", "M[GAMMA] * M[LAM], gamma_next", "gamma_next * M[LAM], gamma_next"),
    ("driver", "gamma_next, n_next = 0.0, 0", "n_next = 0"),
    ("driver", "gamma_next, n_next = 0.0, 0", "gamma_next = 0.0"),
    ("driver", "gamma_next, n_next = 0.0, 0", "pass"),
    ("driver", "= gamma_next, lam_next, rho, 1", "= gamma_next, lam_next, 1.0, 1"),
    ("driver", "= gamma_next, lam_next, rho, 1", "= gamma_next, M[LAM], rho, 1"),
    ("driver", "= gamma_next, lam_next, rho, 1", "= M[GAMMA], lam_next, rho, 1"),
    ("driver", "if terminated or truncated:", "if terminated:"),
    ("memory", "visits[index[j]] += 1", "visits[index[j]] += 2"),
    ("memory", "I[UNDER_WAY] = 0", "pass"),
]  # fmt: skip
EQUIVALENT = {
    # on termination γ' = 0 and x' = 0 say the same thing; without either the tests fail, see the third
    ("driver", "gamma_next, n_next = 0.0, 0", "gamma_next = 0.0"),
    ("driver", "gamma_next, n_next = 0.0, 0", "n_next = 0"),
    # at an episode's start e = αρx, so the term with w⁻·x is 0 whatever w⁻ is; it is set so that rounding is the same
    ("true_online_td", "M[old] if I[UNDER_WAY] else v", "M[old]"),
    ("memory", "I[UNDER_WAY] = 0", "pass"),
}


def survives(mutant: tuple[str, str, str] | None) -> str | None:
    """None if the tests fail, as they should; else what they said."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "src"
        shutil.copytree(ROOT / "src", copy, ignore=shutil.ignore_patterns("__pycache__"))
        if mutant is not None:
            file = copy / "tdlambda" / "learners" / f"{mutant[0]}.py"
            text = file.read_text()
            if text.count(mutant[1]) < 1:
                return f"there is no {mutant[1]!r} in {mutant[0]}.py: renew this list"
            file.write_text(text.replace(mutant[1], mutant[2], 1))
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-x", "-q", "--hypothesis-seed=0", "-W", "ignore::RuntimeWarning", *TESTS],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(copy), "NUMBA_DISABLE_JIT": "1", "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode not in (0, 1):
            return done.stdout[-2000:] + done.stderr[-2000:]
        return None if done.returncode == 1 else "all tests pass"


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
            print(f"{mutant[0]:<16} {mutant[1]!r} -> {mutant[2]!r}: {verdict}", flush=True)
    print(f"{len(chosen)} mutants, {failed} not as they should be")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
