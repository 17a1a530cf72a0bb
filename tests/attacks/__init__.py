"""Attacks on the library, in numbered cases that can be repeated: `python tests/attacks --help`."""
