"""`tools/mutate.py` has something to change in every place, and tests that should notice."""

import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def mutate(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    yield __import__("mutate")
    for name in ("mutate", "mutants"):
        sys.modules.pop(name, None)


def test_every_mutant_changes_something_that_is_there(mutate: Any) -> None:
    missing = [mutant for mutant in mutate.MUTANTS if mutate.mutated(ROOT / "src", mutant) is None]
    assert missing == [], "renew tools/mutants.py"
    assert set(mutate.MUTANTS) >= mutate.EQUIVALENT
    assert len(set(mutate.MUTANTS)) == len(mutate.MUTANTS)


def test_the_tests_that_must_notice_exist(mutate: Any) -> None:
    for tests in mutate.TESTS.values():
        for test in tests:
            file, _, name = test.partition("::")
            assert (ROOT / file).exists(), file
            assert not name or f"def {name}(" in (ROOT / file).read_text(encoding="utf-8"), test
    assert all(mutate.tests_of(place) for place, _, _ in mutate.MUTANTS)
