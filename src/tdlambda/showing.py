"""`repr` of objects and of results, and messages about names and arguments that do not exist."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable
from dataclasses import fields
from difflib import get_close_matches
from functools import partial, wraps
from typing import Any, TypeVar, cast

import numpy as np

_ELSEWHERE = {
    "gamma": "pass gamma to update, td.learn or td.train",
    "alpha": "it needs no step size (td.TrueOnlineTD(features, alpha=0.1) takes one)",
    "lam": "it needs no λ (td.TrueOnlineTD(features, alpha=0.1, lam=0.9) takes one)",
    "done": "pass terminated and truncated, because at a truncation the return goes on with value_next",
    "epsilon": "exploration is a policy or behavior, such as td.control.EpsilonGreedy(0.1)",
}
_SYNONYMS = {
    "gamma": "discount", "discount": "gamma", "lr": "alpha", "learning_rate": "alpha", "step_size": "alpha",
    "lambda_": "lam", "eps": "epsilon", "coverage": "level", "seed": "seeds",
    "next_value": "value_next", "next_values": "value_next", "lambda_critic": "lam_critic",
}  # fmt: skip
"""Names of arguments that others use for ours."""
_NONE = inspect.Parameter.empty
_Kind = TypeVar("_Kind")
_Function = TypeVar("_Function", bound=Callable[..., Any])
_LONG, _MANY = 16, 40
"""Lists of more numbers are not written out, and lists of more names not in full."""


def call(thing: Any, arguments: dict[str, Any], always: Collection[str] = ()) -> str:
    """The call that builds an equal object: required arguments, those of `always`, and those unlike the defaults."""
    defaults = {name: p.default for name, p in inspect.signature(type(thing)).parameters.items()}
    differ = {k: v for k, v in arguments.items() if k in always or not same(v, defaults.get(k, _NONE))}
    return f"{type(thing).__name__}({', '.join(f'{k}={_argument(v)}' for k, v in differ.items())})"


def _argument(value: Any) -> str:
    """An argument of a call; a long list of numbers by its length and range."""
    if isinstance(value, list) and len(value) > _LONG and all(isinstance(one, float) for one in value):
        return f"<{_summary(np.array(value))}>"
    return value.__name__ if isinstance(value, type) else repr(value)


def hint(name: object, known: Iterable[str], otherwise: str = "") -> str:
    """The end of a message about an unknown name: the nearest known one, or else what to do; {} lists the known ones.

    >>> hint("atuo", ["auto", "meta"]), hint("mine", ["auto", "meta"], "choose from {}")
    ("; did you mean 'auto'?", '; choose from auto, meta')
    """
    text, words = str(name), [*known]
    folded = {word.lower(): word for word in words}
    near = [_SYNONYMS[text]] if _SYNONYMS.get(text) in words else get_close_matches(text, words, n=1, cutoff=0.65)
    near = near or [folded[word] for word in get_close_matches(text.lower(), folded, n=1, cutoff=0.65)]
    begun = [word for word in words if word.lower().startswith(text.lower())] if len(text) > 2 else []
    near = near or sorted(begun, key=len)
    if near or not otherwise:
        return f"; did you mean {near[0]!r}?" if near else ""
    listed = ", ".join(words[:_MANY]) + (", …" if len(words) > _MANY else "")
    return f"; {otherwise}".replace("{}", listed or "none")


def visible(text: str) -> str:
    """A text for a terminal, in which control characters, such as those of a column's name, are escaped.

    >>> visible("flow" + chr(27) + "[31m, in m³/s")
    'flow\\\\x1b[31m, in m³/s'
    """
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def counted(n: int, what: str) -> str:
    """A number of things.

    >>> counted(1, "seed"), counted(2000, "seed")
    ('1 seed', '2,000 seeds')
    """
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def likely(p: float) -> str:
    """Format a probability with two digits, and more near 1.

    >>> likely(0.5), likely(0.9731), likely(0.99951), likely(1.0)
    ('0.50', '0.97', '0.9995', '> 0.9999')
    """
    return "> 0.9999" if p > 0.9999 else f"{p:.2f}" if p < 0.99 else f"{p:.3f}" if p < 0.999 else f"{p:.4f}"


def no_argument(owner: str, name: str, known: Collection[str]) -> str:
    """The message for an argument that does not exist."""
    if name in _ELSEWHERE and _SYNONYMS.get(name) not in known:
        return f"{owner} has no argument {name}; {_ELSEWHERE[name]}"
    return f"{owner} has no argument {name}{hint(name, known, 'its arguments are {}')}"


def says_arguments(kind: type[_Kind]) -> type[_Kind]:
    """Make the constructor of a class name the argument that is missing or does not exist."""
    init: Callable[..., None] | None = vars(kind).get("__init__")
    if init is None:
        return kind

    @wraps(init)
    def checked(self: Any, *given: Any, **named: Any) -> None:
        try:
            init(self, *given, **named)
        except TypeError:
            owner = type(self) if type(self).__init__ is checked else kind  # a subclass may call it wrongly itself
            if wrong := wrong_arguments(owner.__name__, partial(init, self), named, len(given)):
                raise TypeError(wrong) from None
            raise

    kind.__init__ = checked  # type: ignore[method-assign]
    return kind


def names_arguments(function: _Function) -> _Function:
    """Make a function name the argument that is missing or does not exist."""

    @wraps(function)
    def checked(*given: Any, **named: Any) -> Any:
        try:
            return function(*given, **named)
        except TypeError:
            if wrong := wrong_arguments(function.__name__, function, named, len(given)):
                raise TypeError(wrong) from None
            raise

    return cast(_Function, checked)


def wrong_arguments(owner: str, build: Callable[..., Any], named: Collection[str], given: int = 0) -> str:
    """What is wrong with arguments, of which the first `given` have no names; nothing if they fit."""
    parameters = inspect.signature(build).parameters.values()
    known = {p.name: p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    if not any(p.kind is p.VAR_KEYWORD for p in parameters):
        for name in named:
            if name not in known:
                return no_argument(owner, name, known)
    missing = [n for n, p in [*known.items()][given:] if p.default is p.empty and n not in named]
    return f"{owner} needs {missing[0]}: pass {missing[0]}=…" if missing else ""


def same(value: Any, default: Any) -> bool:
    """Whether an argument has its default value."""
    if isinstance(value, list | np.ndarray) and isinstance(default, int | float):  # one default for all
        return bool((np.asarray(value) == default).all())
    value = tuple(value) if isinstance(value, list) and isinstance(default, tuple) else value
    return type(value) is type(default) and repr(value) == repr(default)


class PrintedTable:
    """A dataclass that prints as a table, one field per line; arrays are shown by shape and range.

    Declare the dataclass with `repr=False`.
    """

    def __repr__(self) -> str:
        """The table as text."""
        rows = [(f.name, _summary(getattr(self, f.name))) for f in fields(self) if f.repr]  # type: ignore[arg-type]
        width = max(len(name) for name, _ in rows)
        return "\n".join([type(self).__name__, *(f"  {name:{width}}  {text}".rstrip() for name, text in rows)])


def _summary(value: Any) -> str:
    if isinstance(value, np.ndarray):
        sizes = " × ".join(map(str, value.shape))
        if value.size == 0 or value.dtype.kind not in "fiub":
            return f"[{sizes}]"
        if value.dtype.kind == "b":
            return f"[{sizes}]  {int(value.sum())} true"
        return f"[{sizes}]  {value.min():.4g} to {value.max():.4g}"
    if isinstance(value, float):
        return f"{value:.6g}"
    return repr(value)
