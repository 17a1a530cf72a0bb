"""Generated modules are, byte for byte, those that `module_digests.txt` stores."""

import module_digests
import pytest

HELP = "generated text changed; if that is intended, check it and run `python tests/core/module_digests.py --write`"
QUICK = 20
"""The quick run generates the modules of one model in this many."""


def compare(every: int) -> None:
    version, _ = module_digests.stored()
    if version != module_digests.VERSION:
        pytest.skip(f"the digests are of {version}; {module_digests.VERSION} may write functions differently")
    assert module_digests.changed(every) == [], HELP


def test_texts_of_some_models_are_the_stored_ones() -> None:
    compare(QUICK)


@pytest.mark.slow
def test_texts_of_all_models_are_the_stored_ones() -> None:
    compare(1)


def test_a_changed_text_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"one A given": ["1", "2"], "one B given": ["3"], "one C given": ["4"]}
    found = {"one A given": {"dense": "1", "sparse": "x"}, "one B given": {"dense": "3"}, "one D given": {"dense": "5"}}
    monkeypatch.setattr(module_digests, "stored", lambda: (module_digests.VERSION, known))
    monkeypatch.setattr(module_digests, "digests", lambda every=1: found)
    told = ["one A given, sparse", "one D given: not in the file", "one C given: no longer generated"]
    assert module_digests.changed() == told
