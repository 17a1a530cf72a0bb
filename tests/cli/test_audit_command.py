"""`tdlambda audit`: from a file to a sentence, JSON and a page."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from commands import tdlambda as run

import tdlambda as td


@pytest.fixture(name="columns")
def written() -> dict[str, Any]:
    walk: Any = td.make("RandomWalk-v0", "19")
    s, v = walk.sampler(seed=1).take(8000), walk.exact.v()
    out: dict[str, Any] = {"reward": s.reward, "terminated": s.terminated, "truncated": s.truncated}
    for name, V in {"near": v + 0.02, "far": v + 0.5 * np.cos(np.arange(v.size))}.items():
        out |= {name: V[s.obs], f"{name}_next": V[s.next_obs]}
    return out


def test_parquet_and_csv_say_the_same_as_the_function(tmp_path: Path, columns: dict[str, Any]) -> None:
    pl.DataFrame(columns).write_parquet(tmp_path / "steps.parquet")
    pl.DataFrame(columns).write_csv(tmp_path / "steps.csv")
    said = run("audit", "steps.parquet", "--gamma", "1", where=tmp_path).stdout
    assert said.startswith("near is closer to the true values than far (probability ")
    assert "wrote steps.html" in said
    assert "<svg" in (tmp_path / "steps.html").read_text(encoding="utf-8")
    ends = {name: columns[name] for name in ("terminated", "truncated")}
    pairs = {name: (columns[name], columns[f"{name}_next"]) for name in ("near", "far")}
    report = td.audit(pairs, columns["reward"], gamma=1.0, **ends, level=0.9)
    for file in ("steps.parquet", "steps.csv"):
        found = json.loads(run("audit", file, "--gamma", "1", "--level", "0.9", "--json", where=tmp_path).stdout)
        assert found["sentence"] == report.sentence
        assert found["low"][1][0] == pytest.approx(report.low[1, 0])
    assert not (tmp_path / "steps.csv.html").exists()
    run("audit", "steps.csv", "--gamma", "1", "--json", "--page", "other.html", where=tmp_path)
    assert (tmp_path / "other.html").exists()


def test_columns_of_the_file_are_used(tmp_path: Path, columns: dict[str, Any]) -> None:
    more = columns | {"gamma": np.full(8000, 0.5), "rho": np.full(8000, 1.0), "third": columns["near"], "note": "x"}
    pl.DataFrame(more).write_parquet(tmp_path / "steps.parquet")
    found = json.loads(run("audit", "steps.parquet", "--json", where=tmp_path).stdout)
    assert found["names"] == ["near", "far"]
    wrong = run("audit", "steps.parquet", "--gamma", "1", where=tmp_path, expect=2).stderr
    assert "--gamma: steps.parquet has a column gamma; leave one of them out" in wrong


WRONG: dict[str, tuple[dict[str, Any], list[str], str]] = {
    "no gamma": ({}, [], "--gamma is missing: steps.parquet has no column gamma"),
    "done": ({"truncated": None, "done": True}, [], "done cannot tell a truncation from a termination"),
    "one critic": ({"far": None}, ["--gamma", "1"], "must have two critics or more"),
    "another critic": ({}, ["--gamma", "1", "--critic", "nea"], "no columns nea and nea_next; did you mean 'near'?"),
}


@pytest.mark.parametrize("case", WRONG)
def test_mistakes(case: str, tmp_path: Path, columns: dict[str, Any]) -> None:
    change, options, message = WRONG[case]
    kept = {name: x for name, x in (columns | change).items() if x is not None}
    pl.DataFrame(kept).write_parquet(tmp_path / "steps.parquet")
    assert message in run("audit", "steps.parquet", *options, where=tmp_path, expect=2).stderr.replace("\n", " ")


def test_no_such_file(tmp_path: Path) -> None:
    assert "there is no file" in run("audit", "steps.parquet", "--gamma", "1", where=tmp_path, expect=2).stderr
