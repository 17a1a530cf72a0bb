"""Break declarations and generators on purpose, one line at a time, and show that the tests notice.

    python tools/mutate.py [--list] [WORD ...]

Every mutant is a copy of the package with one expression changed: γ of the wrong state, a ρ dropped, a sign turned, a kept
number that an episode's start does not set back, a branch folded the wrong way. It is run, interpreted, against the tests
that compare learners with forward views, with the papers' equations in plain NumPy and with small cases by hand, and
against those that compare generated schedules with the interpreter of declarations. A mutant that passes them is an error
(exit 1). With words, only the mutants whose line has all of them.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
Mutant = tuple[str, str, str]

PAPERS = ["tests/learners/test_by_hand.py", "tests/learners/test_equivalences.py"]
RULES = [
    "tests/rules/test_adaptive_rules.py::test_greedy_is_its_equations",
    "tests/rules/test_adaptive_rules.py::test_meta_is_its_equations",
]
CHECKS = [
    "tests/core/test_checks.py::test_what_is_right_passes",
    "tests/core/test_checks.py::test_rules_pass",
    "tests/core/test_checks.py::test_other_traces_pass",
]
FEW_STEPS = ["tests/engine/test_few_steps.py"]
PUBLISHED = [
    "tests/reproduction/test_published_rules.py::test_greedy_is_its_equations",
    "tests/reproduction/test_published_rules.py::test_meta_is_its_equations",
    "tests/reproduction/test_last_discount.py::test_the_correction_at_terminal_features",
]
VALUE_ERROR = [
    "tests/rules/test_value_error_greedy.py::test_same_as_its_equations",
    "tests/rules/test_value_error_greedy.py::test_best_lambda_is_least_in_error_one_update_ahead",
]
DIVERGENCE = [
    "tests/learners/test_divergence.py::test_the_bound_is_a_factor",
    "tests/learners/test_divergence.py::test_initial_weights_count_as_what_is_allowed",
    "tests/learners/test_divergence.py::test_predictions_beyond_all_reason_are_divergence",
    "tests/learners/test_divergence.py::test_variances_of_corrected_returns_may_be_as_large_as_ratios_make_them",
]
TESTS: dict[str, list[str]] = {
    "algorithms/": PAPERS,
    "rules/value_error": VALUE_ERROR,
    "rules/stored": ["tests/rules/test_offline_meta.py::test_gradient_is_the_derivative_of_the_error_written_out"],
    "rules/counting": ["tests/rules/test_counting.py"],
    "rules/base": [*RULES, "tests/rules/test_aux_alpha.py"],
    "rules/": [*RULES, *PAPERS],
    "reproduction/": PUBLISHED,
    "core/equations": ["tests/core/test_declarations.py", *RULES, *PAPERS, *CHECKS],
    "core/source": ["tests/core/test_declarations.py", *RULES, *CHECKS],
    "core/declare": ["tests/core/test_declarations.py", *PUBLISHED, *CHECKS],
    "core/schedules/one": [*PAPERS, *CHECKS, *PUBLISHED, *DIVERGENCE],
    "core/schedules/lanes": [*CHECKS, *FEW_STEPS],
    "core/schedules/lazy": ["tests/core/test_lazy.py"],
    "core/linear": ["tests/core/test_lazy.py"],
    "core/runtime": [*PAPERS, *CHECKS, *FEW_STEPS, *DIVERGENCE],
    "engine/checks": ["tests/core/test_checks.py", "tests/core/test_wrong_code.py"],
    "engine/": FEW_STEPS,
    "auto/": [
        "tests/auto/test_bank.py::test_it_is_what_plain_numpy_makes_of_the_page",
        "tests/auto/test_bank.py::test_with_many_features_as_with_few",
    ],
    "control/": ["tests/control/test_actor_equations.py"],
}
"""The tests of a place: of the first that its name begins with."""

MUTANTS: list[Mutant] = [
    # a file, or a folder of which one file has it; what is there; what is put in its place
    #
    # ---- algorithms: the scalar step, then the equations
    ("algorithms/true_online_td", "keep = rho * decay", "keep = decay"),
    ("algorithms/true_online_td", "new = rho * alpha * (1 - keep * ex)", "new = alpha * (1 - keep * ex)"),
    ("algorithms/true_online_td", "new = rho * alpha * (1 - keep * ex)", "new = rho * alpha * (1 + keep * ex)"),
    ("algorithms/true_online_td", "new = rho * alpha * (1 - keep * ex)", "new = rho * alpha * (1 - decay * ex)"),
    ("algorithms/true_online_td", "new = rho * alpha * (1 - keep * ex)", "new = rho * alpha"),
    ("algorithms/true_online_td", "-(v - v_old) * alpha * rho", "(v - v_old) * alpha * rho"),
    ("algorithms/true_online_td", "-(v - v_old) * alpha * rho", "-(v - v_old) * alpha"),
    ("algorithms/true_online_td", "along, back = delta + v - v_old,", "along, back = delta - v + v_old,"),
    ("algorithms/true_online_td", "along, back = delta + v - v_old,", "along, back = delta,"),
    ("algorithms/true_online_td", "v_old = gamma_next * lam_next, v_next", "v_old = gamma_next, v_next"),
    ("algorithms/true_online_td", "v_old = gamma_next * lam_next, v_next", "v_old = gamma_next * lam_next, v"),
    ("algorithms/true_online_td", '"v_old": "v"', '"v_old": 0.0'),
    ("algorithms/true_online_td", '"v_next": "w.x\'"', '"v_next": "w.x"'),
    ("algorithms/true_online_td", "w += along e + back x", "w += along e"),
    ("algorithms/true_online_td", "e  = keep e + new x", "e  = e + new x"),
    ("algorithms/td", "keep = rho * decay", "keep = decay"),
    ("algorithms/td", "along = alpha * (reward + gamma_next * v_next - v)", "along = alpha * (reward + v_next - v)"),
    ("algorithms/td", "decay = gamma_next * lam_next", "decay = gamma_next"),
    ("algorithms/td", "decay = gamma_next * lam_next", "decay = lam_next"),
    ("algorithms/td", "e  = keep e + rho x", "e  = keep e + x"),
    ("algorithms/td", "(1 - alpha * keep * ex)", "(1 + alpha * keep * ex)"),
    ("algorithms/td", "new = rho * (1", "new = (1"),
    ("algorithms/td", "e = rho * x if x != 0 else keep * e", "e = keep * e + rho * x"),
    ("algorithms/td", "e = rho * x if x != 0 else keep * e", "e = x if x != 0 else keep * e"),
    ("algorithms/td", "w = w + along * e", "w = w + along * x"),
    ("algorithms/gtd", "keep = rho * decay", "keep = decay"),
    ("algorithms/gtd", "(keep * eh + rho * hx)", "(keep * eh + hx)"),
    ("algorithms/gtd", "(keep * eh + rho * hx)", "eh"),
    ("algorithms/gtd", "-alpha * gamma_next * (1 - lam_next)", "alpha * gamma_next * (1 - lam_next)"),
    ("algorithms/gtd", "-alpha * gamma_next * (1 - lam_next)", "-alpha * gamma_next * lam_next"),
    ("algorithms/gtd", "-alpha * gamma_next * (1 - lam_next)", "-alpha * (1 - lam_next)"),
    ("algorithms/gtd", "beta * delta, -beta * hx", "beta * delta, beta * hx"),
    ("algorithms/gtd", "decay = gamma_next * lam_next", "decay = gamma_next"),
    ("algorithms/gtd", "e  = keep e + rho x", "e  = keep e + x"),
    ("algorithms/gtd", "w += along e + correct x'", "w += along e + correct x"),
    ("algorithms/gtd", "h += along_h e + back_h x", "h += along_h e"),
    ("algorithms/true_online_gtd", "rho * decay, rho_old * decay", "rho * decay, rho * decay"),
    ("algorithms/true_online_gtd", "beta * (1 - keep_h * ex_h)", "beta * (1 + keep_h * ex_h)"),
    ("algorithms/true_online_gtd", "beta * (1 - keep_h * ex_h)", "beta"),
    ("algorithms/true_online_gtd", "(keep * hg + rho * hx)", "(decay * hg + rho * hx)"),
    ("algorithms/true_online_gtd", "(keep * hg + rho * hx)", "(keep * hg + hx)"),
    ("algorithms/true_online_gtd", "-alpha * gamma_next * (1 - lam_next)", "alpha * gamma_next * (1 - lam_next)"),
    ("algorithms/true_online_gtd", "-alpha * gamma_next * (1 - lam_next)", "-alpha * gamma_next * lam_next"),
    ("algorithms/true_online_gtd", "rho * delta, -beta * hx", "delta, -beta * hx"),
    ("algorithms/true_online_gtd", "rho * delta, -beta * hx", "rho * delta, beta * hx"),
    ("algorithms/true_online_gtd", "= gamma_next * lam_next, v_next, rho", "= gamma_next, v_next, rho"),
    ("algorithms/true_online_gtd", "g   = keep g + rho x", "g   = keep g + x"),
    ("algorithms/true_online_gtd", "g   = keep g + rho x", "g   = keep_h g + rho x"),
    ("algorithms/true_online_gtd", "along_h e_h + back_h x", "along_h e + back_h x"),
    ("algorithms/true_online_gtd", " + back x + correct x'", " + back x"),
    #
    # ---- rules, and the moments that they learn
    ("rules/moments", "reward + gamma_next * (1 - lam_next) * v_next", "reward + gamma_next * lam_next * v_next"),
    ("rules/moments", "v_next, gamma_next * lam_next", "v_next, gamma_next"),
    ("rules/moments", "ahead + kept * j_next - j, j", "ahead + kept * j_next + j, j"),
    ("rules/moments", "ahead + kept * j_next - j, j", "ahead + j_next - j, j"),
    ("rules/moments", "(rho * kept) ** 2 if corrected", "kept**2 if corrected"),
    ("rules/moments", "if corrected else kept**2", "if corrected else kept"),
    ("rules/moments", "(rho - 1) * j", "(1 - rho) * j"),
    ("rules/moments", "2 * kept * ahead * j_next", "kept * ahead * j_next"),
    ("rules/moments", "rho**2 if corrected", "rho if corrected"),
    ("rules/moments", "weight * kept**2", "kept**2"),
    ("rules/variance", '"J": ("ahead", "kept", "rho"', '"J": ("ahead", "kept", "one"'),
    ("rules/variance", '"S": ("square", "shrink", "one"', '"S": ("square", "shrink", "rho"'),
    ("rules/variance", '"j_next": "J.x\'"', '"j_next": "V.x\'"'),
    ("rules/base", 'discount, "one", lam, pace)', 'discount, "rho", lam, pace)'),
    ("rules/base", "self.aux_alpha / alpha", "self.aux_alpha * alpha"),
    ("rules/counting", "visits = visits + 1", "visits = visits + 2"),
    ("rules/counting", "seen / visit_count", "seen"),
    ("rules/greedy", "spread = s_next - m_next**2", "spread = s_next + m_next**2"),
    ("rules/greedy", "gamma_next, m, m_next, rho", "gamma_next, m_next, m, rho"),
    ("rules/greedy", "bias / below if below > 0", "max(spread, 0.0) / below if below > 0"),
    ("rules/greedy", '"M": ("reward", "gamma_next", "rho", "trace_lam"', '"M": ("reward", "gamma_next", "rho", "lam_next"'),
    ("rules/meta", "-kappa * rho_acc * derivative", "-kappa * derivative"),
    ("rules/meta", "-kappa * rho_acc * derivative", "kappa * rho_acc * derivative"),
    ("rules/meta", "rho_acc = min(rho_acc * rho, rho_clip)", "rho_acc = min(rho, rho_clip)"),
    ("rules/meta", 'else {"rho_acc": 1.0}', 'else {"rho_acc": 0.5}'),
    ("rules/meta", "by = (after - value) * per_norm", "by = after - value"),
    ("rules/meta", "clip(value + by * zz)", "clip(value + by)"),
    ("rules/meta", "gamma_next**2 * (gap**2 + s_next)", "gamma_next**2 * gap**2"),
    ("rules/meta", "(reward + gamma_next * v_next - m)", "(reward + gamma_next * v_next - m_next)"),
    ("rules/meta", "offset = gamma_next**2 * gap * (v_next - m_next)", "offset = -(gamma_next**2) * gap * (v_next - m_next)"),
    ("rules/meta", "(c * worth + 2 * delta * c * spread)", "(c * worth + delta * c * spread)"),
    ("rules/meta", "2 * (l - m) + (c * worth", "2 * (m - l) + (c * worth"),
    ("rules/meta", "1.0 + c**2 * spread", "1.0 + c * spread"),
    ("rules/meta", "worth * gain / 2 + spread", "worth * gain + spread"),
    ("rules/meta", "lam_next = after if go else lam", "lam_next = lam"),
    ("rules/meta", "change = by if go else 0.0", "change = by"),
    ("rules/meta", "u -= change z", "u += change z"),
    ("rules/meta", '"L": ("ahead", "kept",', '"L": ("ahead", "gamma_next",'),
    ("rules/meta", "c * worth{k} + 2 * delta * c * spread{k}, c**2", "c * worth{k} + delta * c * spread{k}, c**2"),
    ("rules/meta", "worth{k}, spread{k} = worth{k - 1}, spread{k - 1}", "worth{k} = worth{k - 1}"),
    ("rules/stored_episodes", "2 * e * c[t] * d_next", "e * c[t] * d_next"),
    ("rules/stored_episodes", "p[t] * c[t] ** 2 * y2", "c[t] ** 2 * y2"),
    ("rules/stored_episodes", "(y1 + 2 * e * y2)", "(y1 + e * y2)"),
    ("rules/stored_episodes", "c[t] * (gap * d_next + q_next)", "c[t] * q_next"),
    ("rules/stored_episodes", "np.cumprod(rho[start:last])", "np.cumprod(rho[start + 1 : last + 1])"),
    ("rules/stored_episodes", "np.where(self.end, self.V_next, M_next)", "M_next"),
    ("rules/stored_episodes", "(1 - rho) * _values", "(rho - 1) * _values"),
    ("rules/value_error_greedy", "kept = rho * decay * ex", "kept = decay * ex"),
    ("rules/value_error_greedy", "rho * alpha * (1 - kept) * xx if carries_alpha", "rho * alpha * xx if carries_alpha"),
    ("rules/value_error_greedy", "max(0.1 * min(1.0, scaled),", "max(min(1.0, scaled),"),
    ("rules/value_error_greedy", "0.5 / np.sqrt(1 + 0.5", "0.5 / (1 + 0.5"),
    ("rules/value_error_greedy", "forgetting * min(1.0, alpha * xx)", "forgetting"),
    ("rules/value_error_greedy", "above - doubt * total * spread", "above"),
    ("rules/value_error_greedy", "total * (gap * gap + spread)", "total * spread"),
    ("rules/value_error_greedy", "c * (v_next - mu_next) * (v - mu)", "c * (v_next - mu_next) * (mu - v)"),
    ("rules/value_error_greedy", "by * (c * c - weight)", "by * (c - weight)"),
    ("rules/value_error_greedy", "c = gamma_next * reach", "c = reach"),
    ("rules/value_error_greedy", "trace_lam * (1.0 / rho if rho > 1.0 else 1.0)", "trace_lam"),
    ("rules/value_error_greedy", "trace  = keep trace + rho x", "trace  = keep trace + x"),
    ("rules/value_error_greedy", "SURE * SURE * RECENT / 2 * power", "SURE * RECENT / 2 * power"),
    ("rules/value_error_greedy", "(size if ended else max(", "(1 if ended else max("),
    ("rules/value_error_greedy", '"leave": "after x"', '"leave": "x"'),
    ("rules/value_error_greedy", '"rho", "mean_lam", "mean_pace")', '"rho", "mean_lam")'),
    ("reproduction/declarations", "offset = -1.0 * reach**2", "offset = reach**2"),
    ("reproduction/declarations", "reach = gamma_next if gamma_next > 0.0 else reach_at_end", "reach = gamma_next"),
    ("reproduction/declarations", 'pins = {"S.decay": 1.0}', "pins = {}"),
    ("reproduction/declarations", "reach = last_discount if gamma_next == 0.0 else gamma_next", "reach = gamma_next"),
    #
    # ---- the equations' parser, and what is made of the equations
    ("core/equations", 'own, terms = ("" if how != "=" else "0"), []', 'own, terms = "", []'),
    ("core/equations", 'flipped=how == "-="', "flipped=False"),
    ("core/equations", '"-" if (sign == "-") != flipped else "+"', '"+"'),
    ("core/equations", "if row in [line.row for line in lines]:", "if False:"),
    ("core/equations", 'or (term.vector == "z" and vector == "x")', ""),
    ("core/equations", "gathered.append((term.sign, times(term.coefficient, parts[term.vector])))", "pass"),
    ("core/equations", 'f"{a} * ({b})" if re.search(r"[+-]", b)', 'f"{a} * {b}" if re.search(r"[+-]", b)'),
    ("core/equations", "if rows or line.own:", "if rows:"),
    ("core/equations", "out.used += [c for c in [line.own, *", "out.used += [c for c in [*"),
    #
    # ---- from functions to text and back
    (
        "core/source",
        "def visit_If(self, node: ast.If) -> Any:\n        self.generic_visit(node)\n"
        "        if isinstance(node.test, ast.Constant):\n            return node.body if node.test.value",
        "def visit_If(self, node: ast.If) -> Any:\n        self.generic_visit(node)\n"
        "        if isinstance(node.test, ast.Constant):\n            return node.body if not node.test.value",
    ),
    (
        "core/source",
        "def visit_IfExp(self, node: ast.IfExp) -> ast.AST:\n        self.generic_visit(node)\n"
        "        if isinstance(node.test, ast.Constant):\n            return node.body if node.test.value",
        "def visit_IfExp(self, node: ast.IfExp) -> ast.AST:\n        self.generic_visit(node)\n"
        "        if isinstance(node.test, ast.Constant):\n            return node.body if not node.test.value",
    ),
    ("core/source", "live = before | before_other | _names(statement.test)", "live = before | _names(statement.test)"),
    ("core/source", "live = (live - {statement.targets[0].id}) | _names(statement.value)", "live = live - {statement.targets[0].id}"),
    ("core/source", "if any(done.get(part, text) != text", "if False and any(done.get(part, text) != text"),
    ("core/source", "len(set(names)) < len(names)", "False"),
    ("core/declare", "lost = [name for name in cls.keeps if name not in results]", "lost = []"),
    ("core/declare", '"0.0" if name in words(self.algorithm.of_value) and estimate != "V" else name', "name"),
    ("core/declare", "_require_free(names, IN_LANES)", "pass"),
    #
    # ---- the schedule of one learner
    ("core/schedules/one", "    if terminated_:\n        gamma_next = 0.0\n", "    if terminated_:\n        pass\n"),
    ("core/schedules/one", '"        n_next_ = 0\\n"', '"        pass\\n"'),
    ("core/schedules/one", 'lines = ["s_ = state_[0]", "s_.under_way = 0"]', 'lines = ["s_ = state_[0]"]'),
    ("core/schedules/one", 'lines += [f"{r}[:] = 0.0" for r in rows]', "lines += []"),
    ("core/schedules/one", "if terminated_ or truncated_:\n        clear(", "if terminated_:\n        clear("),
    ("core/schedules/one", 'f"{begin} if fresh_ else s_.{k}_{keep}" if pin', 'f"s_.{k}_{keep}" if pin'),
    ("core/schedules/one", "if pin is None else repr(pin))", "if True else repr(pin))"),
    ("core/schedules/one", 'f"{keep} = {float(start)!r} if fresh_ else s_.{keep}"', 'f"{keep} = s_.{keep}"'),
    ("core/schedules/one", 'else f"{pace} * {size}_"', 'else f"{size}_"'),
    ("core/schedules/one", 'f"{size}_ = s_.{size} * alpha_" for size', 'f"{size}_ = s_.{size}" for size'),
    ("core/schedules/one", 'at in ((f.at_x, "x_", "xv_", "n_"), ', "at in ("),
    ("core/schedules/one", ', (f.at_next, "y_", "yv_", "n_next_")', ","),
    ("core/schedules/one", 'f"{name} += {row}[f_] * {k}_{right}[f_]"', 'f"{name} += {row}[f_] * {row}[f_]"'),
    ("core/schedules/one", "value_ = gathered(x_, xv_, j_, n_)", "value_ = xv_[j_]"),
    ("core/schedules/one", 'f"        if max({largest}) <= least_:"', 'f"        if max({largest}) <= 1e6 * least_ + 1e-3:"'),
    ("core/schedules/one", "limit = f\"allowed_square(limit_, ", "limit = f\"min(limit_, "),
    ("core/schedules/one", 'visit += [f"{name} += {name}_one" for name in sums]', 'visit += [f"{name} = {name}_one" for name in sums]'),
    #
    # ---- the schedule of lanes
    ("core/schedules/lanes", 'lines += ["if terminated_:", f"    gamma_next = {zeros}"]', "pass"),
    ("core/schedules/lanes", "'0 if terminated_ else 1'", "'1'"),
    ("core/schedules/lanes", "'0 if terminated_ else len(y_)'", "'len(y_)'"),
    ("core/schedules/lanes", 'lines = ["if fresh_:"]', 'lines = ["if s_.steps == 1:"]'),
    ("core/schedules/lanes", "values[name] = values[name] if pin is None else repr(pin)", "pass"),
    ("core/schedules/lanes", '(f" + {r}_at_x" if r in at_x else "")', '""'),
    ("core/schedules/lanes", '" + {r}_at_x_[lane_] * by_" if r in f.at_x', '" + {r}_at_x_[lane_]" if r in f.at_x'),
    ("core/schedules/lanes", "for row in f.at_next:", "for row in ():"),
    ("core/schedules/lanes", '"        listed_[x_[j_]] += 2"]', '"        pass"]'),
    ("core/schedules/lanes", '"if not repeated(x_, j_):"', '"if True:"'),
    ("core/schedules/lanes", 'zero_rows=each(traces, "fill(F_[f_, row_], 0.0)", 8)', 'zero_rows=""'),
    ("core/schedules/lanes", "if terminated_ or truncated_:\n        clear(", "if terminated_:\n        clear("),
    ("core/schedules/lanes", 'f"product({to}, {self.of_all(given.pace)}, {of})"', 'f"copy({to}, {of})"'),
    ("core/schedules/lanes", "'+=' if n in sums else '='", "'='"),
    ("core/schedules/lanes", '"x\'": "y_", "z": "z_", "all"', '"x\'": "x_", "z": "z_", "all"'),
    ("core/schedules/lanes", "if p.where in (\"after x\", \"all\") for line", "if p.where in (\"after x\",) for line"),
    ("core/schedules/lanes", 'f"{row}_row_[lane_] += {coefficient}"', 'f"{row}_row_[lane_] -= {coefficient}"'),
    ("core/schedules/lanes", 'f"{r}_[lane_] += ({e}) * by_"', 'f"{r}_[lane_] += ({e})"'),
    ("core/schedules/lanes", '"        if n_next_ > 0:"', '"        if True:"'),
    #
    # ---- loops that no declaration changes
    ("core/runtime", "return s.factor * scale", "return scale"),
    ("core/runtime", "scale += s.start * y1", "pass"),
    ("core/runtime", "s.length + 1 if s.under_way else 1", "1"),
    ("core/runtime", "s.most_reward * horizon(", "horizon("),
    ("core/runtime", "visits[index[j]] += 1", "visits[index[j]] += 2"),
    ("core/runtime", "(limit * max(1.0, rho)) ** 2", "limit * max(1.0, rho)"),
    ("core/runtime", "fours = n - n % 4", "fours = n - n % 4 - 4 if n > 4 else 0"),
    ("core/runtime", "out[l] += a[l] * b[l]", "out[l] += a[l]"),
    ("core/runtime", "if index[i] == index[j]:\n            total += value[i]", "if True:\n            total += value[i]"),
    #
    # ---- the checks themselves, and what the engine does with lanes
    ("engine/checks", "_TOLERANCE = 1e-9", "_TOLERANCE = 1e9"),
    ("engine/checks", 'for name in CONVENTIONS:\n            if name not in skip:', "for name in ():\n            if name not in skip:"),
    ("engine/checks", '_require(0 <= lam <= 1, f"lam_next', '_require(True, f"lam_next'),
    ("engine/", "return factor * float(record[own])", "return float(record[own])"),
    #
    # ---- AutoTD and control
    ("auto/bank", "z * c", "z"),
]  # fmt: skip

EQUIVALENT: set[Mutant] = {
    # at an episode's start e = αρx, so the term with w⁻·x is 0 whatever w⁻ is; it is set so that rounding is the same
    ("algorithms/true_online_td", '"v_old": "v"', '"v_old": 0.0'),
    # a remainder of fours that is taken one by one is summed all the same
    ("core/runtime", "fours = n - n % 4", "fours = n - n % 4 - 4 if n > 4 else 0"),
}
"""What cannot be noticed, and why."""


def places(source: Path, place: str) -> list[Path]:
    """The files of a place."""
    package = source / "tdlambda" / place
    if place.endswith("/") or package.is_dir():
        return sorted(package.glob("*.py"))
    return [source / "tdlambda" / f"{place}.py"]


def mutated(source: Path, mutant: Mutant) -> tuple[Path, str] | None:
    """The file that has what is to be changed, and its text after the change."""
    place, old, new = mutant
    for file in places(source, place):
        text = file.read_text(encoding="utf-8")
        if old in text:
            return file, text.replace(old, new, 1)
    return None


def survives(source: Path, mutant: Mutant) -> str | None:
    """None if the tests fail, as they should; else what they said."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "src"
        shutil.copytree(source, copy)
        found = mutated(copy, mutant)
        if found is None:
            return f"there is no {mutant[1]!r} in {mutant[0]}: renew this list"
        found[0].write_text(found[1], encoding="utf-8")
        return passes(copy, tests_of(mutant[0]))


def passes(source: Path, tests: list[str]) -> str | None:
    """What tests say that pass on this source, interpreted; None if some fail, or the package cannot be imported."""
    own = {"PYTHONPATH": str(source), "NUMBA_DISABLE_JIT": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    own |= {"TDLAMBDA_CACHE": str(source.parent / "cache"), "TDLAMBDA_QUIET": "1"}
    options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--hypothesis-seed=0", "-W", "ignore::RuntimeWarning"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *tests],
        cwd=ROOT, env={**os.environ, **own}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode in (1, 2):  # 2: a declaration that is refused when it is made
        return None
    return "all tests pass" if done.returncode == 0 else done.stdout[-2000:] + done.stderr[-2000:]


def tests_of(place: str) -> list[str]:
    """The tests that must notice a mutant of this place."""
    return next(tests for begin, tests in TESTS.items() if place.startswith(begin))


def main() -> None:
    """Run the mutants whose line has all the words given."""
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    chosen = [m for m in MUTANTS if all(word in " ".join(m) for word in words)]
    if "--list" in sys.argv:
        print("\n".join(f"{place}: {old!r} -> {new!r}" for place, old, new in chosen))
        return
    with tempfile.TemporaryDirectory() as folder:  # the tree may be edited meanwhile
        source = Path(folder) / "src"
        shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            sys.exit(run(source, chosen, pool))


def run(source: Path, chosen: list[Mutant], pool: ThreadPoolExecutor) -> int:
    """Run mutants, two at a time; how many are not as they should be."""

    @cache
    def sound(place: str) -> bool:
        return passes(source, tests_of(place)) == "all tests pass"

    begins = [next(begin for begin in TESTS if place.startswith(begin)) for place, _, _ in chosen]
    groups = list(dict.fromkeys(begins))
    broken = [begin for begin, good in zip(groups, pool.map(sound, groups), strict=True) if not good]
    failed = len(broken)
    for begin in broken:
        print(f"{begin}: its tests do not pass without a mutation", flush=True)
    able = [mutant for mutant, begin in zip(chosen, begins, strict=True) if begin not in broken]
    for mutant, said in zip(able, pool.map(lambda m: survives(source, m), able), strict=True):
        equivalent = mutant in EQUIVALENT
        failed += (said is None) == equivalent
        verdict = "killed" if said is None else "equivalent, as known" if equivalent else f"SURVIVED: {said}"
        print(f"{mutant[0]:<28} {mutant[1]!r} -> {mutant[2]!r}: {verdict}", flush=True)
    print(f"{len(able)} mutants, {failed} not as they should be")
    return min(failed, 1)


if __name__ == "__main__":
    main()
