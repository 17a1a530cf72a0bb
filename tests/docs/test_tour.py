"""The tour's study, run by the commands of the tour: what the page shows is what comes out."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pages import ROOT, blocks

TOUR = ROOT / "docs" / "tour.md"
COMMAND = [sys.executable, "-c", "from tdlambda.lab.cli import main; main()"]


def run(where: Path, *arguments: str) -> str:
    """What a command prints."""
    done = subprocess.run([*COMMAND, *arguments], cwd=where, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_tours_study_says_what_the_page_says(tmp_path: Path) -> None:
    (study,) = (block.text for block in blocks("toml") if block.page == TOUR)
    table, headline, sure = (" ".join(block.text.split()) for block in blocks("text") if block.page == TOUR)
    (tmp_path / "tour.toml").write_text(study, encoding="utf-8")
    assert table in " ".join(run(tmp_path, "run", "tour.toml", "--workers", "1").split())
    (found,) = json.loads(run(tmp_path, "report", "results/tour", "--json"))["studies"]
    said = found["found"]["All methods"]["tail"]
    assert (said["headline"], said["sure"]["short"], said["sure"]["text"]) == (headline, "Sure", sure)
    assert (tmp_path / "results" / "tour" / "report.html").exists()
