"""Notebooks of the examples: `# %%` begins a cell, `# %% [markdown]` one of text.

python tools/notebooks.py            writes examples/*.ipynb
"""

import argparse
import json
import re
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
NAMES = ("student", "researcher", "engineer")


def notebook(script: str) -> dict[str, Any]:
    """The cells of a script, without what stands before the first."""
    cells: list[dict[str, Any]] = []
    for part in re.split(r"^# %%", script, flags=re.MULTILINE)[1:]:
        head, _, body = part.partition("\n")
        text, about = body.strip(), dict[str, Any](id=f"cell-{len(cells)}", metadata={})
        if head.strip() == "[markdown]":
            text = re.sub(r"^# ?", "", text, flags=re.MULTILINE)
            cells.append({"cell_type": "markdown", **about, "source": text.splitlines(keepends=True)})
        else:
            about |= {"execution_count": None, "outputs": []}
            cells.append({"cell_type": "code", **about, "source": text.splitlines(keepends=True)})
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}


def written(name: str) -> str:
    """The file of an example's notebook."""
    script = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    return json.dumps(notebook(script), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    for name in NAMES:
        (EXAMPLES / f"{name}.ipynb").write_text(written(name), encoding="utf-8")
