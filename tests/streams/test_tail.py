"""A file that grows, is rotated, truncated, rewritten or deleted: every row once, and what happened is said."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tdlambda.streams.tail import tail

HEAD = "flow,note\n"


class Followed:
    """A followed file, and the rows read so far."""

    def __init__(self, path: Path, skip: int = 0) -> None:
        self.path, self.said, self.rows = path, [""] * 0, [""] * 0
        path.write_text(HEAD + "0,a\n1,b\n")
        self.source: Iterator[Any] = tail(path, skip, 0.0, self.said.append)
        self.look()

    def look(self) -> list[str]:
        """The rows that are new."""
        found: list[str] = []
        for _ in range(4):
            batch = next(self.source)
            if batch is not None:
                flow, note = batch.columns["flow"], batch.columns["note"]
                found += [f"{float(a):g}{b}" for a, b in zip(flow.tolist(), note.tolist(), strict=True)]
        self.rows += found
        return found

    def add(self, text: str) -> None:
        with open(self.path, "a", newline="") as file:
            file.write(text)


@pytest.fixture
def followed(tmp_path: Path) -> Followed:
    return Followed(tmp_path / "rows.csv")


def test_rows_are_read_when_they_are_complete(followed: Followed) -> None:
    assert followed.rows == ["0a", "1b"]
    followed.add("2,")
    assert followed.look() == []
    followed.add("c\n3,d\n4")
    assert followed.look() == ["2c", "3d"]
    followed.add(",é\n")
    assert followed.look() == ["4é"]
    with open(followed.path, "ab") as file:
        file.write("5,é\n".encode("latin-1"))
    assert followed.look() == ["5é"]
    assert followed.said == []


def test_a_quoted_line_break_that_is_split_over_two_looks(followed: Followed) -> None:
    followed.add('2,"first\n')
    assert followed.look() == []
    followed.add('second""\n')
    assert followed.look() == []
    followed.add('third"\n3,5" pipe\n')
    assert followed.look() == ['2first\nsecond"\nthird', '35" pipe']


def test_a_file_that_begins_with_an_unfinished_quoted_cell(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(HEAD + '0,a\n1,"b\n')
    source = tail(path, 0, 0.0, print)
    assert [len(batch) for batch in (next(source), next(source)) if batch is not None] == [1]
    with open(path, "a") as file:
        file.write('c"\n')
    (batch,) = [batch for batch in (next(source), next(source)) if batch is not None]
    assert batch.columns["note"].tolist() == ["b\nc"]


@pytest.mark.parametrize("header", [HEAD, ""])
@pytest.mark.parametrize("more", [1, 50])
def test_rotation_by_rename(followed: Followed, header: str, more: int) -> None:
    followed.add("2,c\n")
    os.rename(followed.path, followed.path.with_suffix(".1"))
    followed.path.write_text(header + "".join(f"{k},x\n" for k in range(3, 3 + more)))
    assert followed.look() == ["2c", *(f"{k}x" for k in range(3, 3 + more))]
    assert [word for word in followed.said if "is a new file" in word]
    assert len(followed.said) == 1
    followed.add("99,y\n")
    assert followed.look() == ["99y"]


def test_the_new_file_may_have_its_columns_in_another_order(followed: Followed) -> None:
    os.rename(followed.path, followed.path.with_suffix(".1"))
    followed.path.write_text("note,flow\nc,2\n")
    assert followed.look() == ["2c"]


def test_an_unfinished_row_of_a_rotated_file_is_left_out_and_said(followed: Followed) -> None:
    followed.add("2")
    followed.look()
    os.rename(followed.path, followed.path.with_suffix(".1"))
    followed.path.write_text(HEAD + "3,d\n")
    assert followed.look() == ["3d"]
    assert "is not complete and is left out" in followed.said[0]


def test_truncation(followed: Followed) -> None:
    followed.path.write_text(HEAD)
    assert followed.look() == []
    followed.add("2,c\n")
    assert followed.look() == ["2c"]
    (said,) = followed.said
    assert said.endswith("has become shorter; reading it from its first row")


@pytest.mark.parametrize("text", ["7,x\n8,y\n", "7,x\n8,y\n9,z\n", "0,a\n8,y\n9,z\n"])
def test_a_rewrite_in_place_is_read_from_its_first_row(followed: Followed, text: str) -> None:
    followed.path.write_text(HEAD + text)
    assert followed.look() == text.replace(",", "").split()
    (said,) = followed.said
    assert said.endswith("was rewritten; reading it from its first row")


def test_a_long_file_that_is_rewritten(followed: Followed) -> None:
    followed.add("".join(f"{k},{'long' * 20}\n" for k in range(200)))
    assert len(followed.look()) == 200
    lines = followed.path.read_text().splitlines(keepends=True)
    followed.path.write_text("".join([*lines[:-1], "7,other\n", "8,another and longer row\n" * 9]))
    assert len(followed.look()) == 2 + 200 + 9
    assert len(followed.said) == 1


def test_a_deleted_file_is_waited_for_and_said_once(followed: Followed) -> None:
    followed.path.unlink()
    assert followed.look() == followed.look() == []
    (said,) = followed.said
    assert said.endswith("is gone; waiting until it exists again")
    followed.path.write_text(HEAD + "2,c\n")
    assert followed.look() == ["2c"]
    assert len(followed.said) == 2


def test_rows_that_were_learned_before_are_skipped(tmp_path: Path) -> None:
    followed = Followed(tmp_path / "rows.csv", skip=1)
    assert followed.rows == ["1b"]
    with pytest.raises(ValueError, match=r"rows\.csv has 2 rows, but the Horde has learned 5: it is another file"):
        Followed(tmp_path / "rows.csv", skip=5)


def test_random_growth_rotation_and_deletion(tmp_path: Path) -> None:
    """Whatever happens between looks, each row that was completed is read once and in order."""
    rng = np.random.default_rng(0)
    followed, n = Followed(tmp_path / "rows.csv"), 2
    for _ in range(400):
        what = rng.random()
        if what < 0.1:
            os.rename(followed.path, tmp_path / "old.csv")
            followed.path.write_text(HEAD)
        elif what < 0.2:
            followed.path.unlink()
            followed.look()
            followed.path.write_text(HEAD)
        elif what < 0.3:
            followed.path.write_text(HEAD)
            followed.look()
        text = "".join(f'{k},"x{chr(10) * (k % 3)}y"\n' for k in range(n, n + int(rng.integers(0, 4))))
        n += text.count('"\n')
        cut = int(rng.integers(len(text) + 1))
        followed.add(text[:cut])
        if rng.random() < 0.5:
            followed.look()
        followed.add(text[cut:])
        followed.look()
    assert [int(row.split("x")[0].rstrip("ab")) for row in followed.rows] == list(range(n))
