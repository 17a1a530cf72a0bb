"""The index of all experiments and benchmarks, from their docstrings.

python experiments > experiments/README.md
"""

import argparse
import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ABOUT = {
    "experiments/thesis": "The tables and figures of Zhao (2020), and rules that tune λ on its tasks",
    "experiments/auto_td": "`td.AutoTD`: comparisons, and the prototype on which its constants were chosen",
    "experiments/lam_auto": '`lam="auto"`: comparisons with fixed λ, and the laboratory in which it was chosen',
    "experiments/value_error_greedy": "`td.rules.ValueErrorGreedy`: the laboratory in which it was chosen",
    "experiments/audit": "`td.audit`: coverage and picks beside other methods, and the rollout that is shipped",
    "experiments/streams": "Real data streams: AutoTD and Horde",
    "experiments/control": "Learning to act",
    "experiments/family": "Published results of other algorithms of the family",
    "experiments/figures": "Figures and measured tables of the documentation",
    "experiments/statistics": "Intervals and comparisons",
    "benchmarks": "Speed",
}
"""What the experiments of a folder are about; folders that are not named here are listed after these."""
COMMAND = re.compile(r"^ *((?:\.venv/bin/)?python (?:experiments|benchmarks)\S*.*|sh experiments\S*.*)$", re.MULTILINE)


def scripts() -> dict[str, list[Path]]:
    """All files that are run as commands, by folder."""
    folders = [*ABOUT, *sorted({str(p.parent.relative_to(ROOT)) for p in ROOT.glob("experiments/*/*.py")} - {*ABOUT})]
    files = {folder: sorted((ROOT / folder).glob("*.py")) for folder in folders}
    return {
        folder: [p for p in found if "__main__" in p.read_text(encoding="utf-8")] for folder, found in files.items()
    }


def entry(path: Path) -> tuple[str, str]:
    """What a script answers, in a sentence, and its command."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    command = COMMAND.search(text)
    if command is None:
        raise ValueError(f"{path.relative_to(ROOT)}: its docstring has no line with the command that runs it")
    answer = " ".join(text.split("\n\n")[0].split())
    return answer, re.split(r" {2,}| > ", command[1].removeprefix(".venv/bin/"))[0]


def index() -> str:
    """The page."""
    lines = [
        "# Experiments and benchmarks\n",
        "`experiments/` asks how well methods learn, `benchmarks/` how fast the library is. Each script answers one",
        "question; the documentation quotes what it prints. `--help`, or its docstring, explains the options.\n",
        "This page is made by `python experiments > experiments/README.md`.",
    ]
    for folder, files in scripts().items():
        lines += [f"\n## {ABOUT.get(folder, folder)}\n", "| command | answers |", "| --- | --- |"]
        for path in files:
            answer, command = entry(path)
            lines.append(f"| `{command}` | {answer.removesuffix('.').replace('|', chr(92) + '|')} |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    print(index())
