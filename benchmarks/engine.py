"""The engine beside bounds and peers measured in the same run: what `tdlambda bench` prints.

python benchmarks/engine.py [--quick] [--json]
"""

import typer

from tdlambda.lab.cli.bench import bench

if __name__ == "__main__":
    typer.run(bench)
