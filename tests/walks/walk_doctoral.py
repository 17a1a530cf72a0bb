"""A doctoral student: methods compared, settings chosen on other seeds, one figure for the paper."""

import subprocess
import sys
from pathlib import Path

import tdlambda as td

STUDY = """
name = "paper"
task = "RandomWalk-v0"
seeds = 8
steps = 1500
points = 30
[grid]
alpha = [0.03, 0.1, 0.3]
lam = [0.0, 0.9]
[methods.TD]
learner = "TD"
over = ["alpha", "lam"]
[methods.TrueOnlineTD]
learner = "TrueOnlineTD"
over = ["alpha", "lam"]
[methods.auto]
learner = "TrueOnlineTD"
over = ["alpha"]
options = { lam = "auto" }
"""

Path("paper.toml").write_text(STUDY, encoding="utf-8")
for arguments in (["run", "paper.toml"], ["report", "results/paper", "--format", "pdf", "--width", "420"]):
    subprocess.run([sys.executable, "-m", "tdlambda", *arguments], check=True, timeout=900)
assert Path("results/paper/figures/each-method-at-its-best-tail.pdf").stat().st_size > 1000

results = td.studies.load_results("results/paper")
chosen = td.studies.choose(results, tuning=[0, 1])  # each method's settings by two seeds, errors of the six others
assert set(chosen["method"]) == {"TD", "TrueOnlineTD", "auto"}
assert set(chosen["seed"]) == {2, 3, 4, 5, 6, 7}
by = {str(name[0]): part["tail"].to_numpy() for name, part in chosen.group_by("method")}
print(td.studies.compare(by["auto"], by["TD"]))
view = td.report.load_overview("results/paper").only(["TD", "auto"])
view.plot("best", "best.svg")
