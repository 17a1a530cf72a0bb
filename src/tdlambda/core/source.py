"""Conversion of functions to source text and back.

A generated module contains the source of everything it calls, so that its machine code can never be stale: the file is
named by a digest of its text, of the runtime it imports and of Numba's version. Numba stores the machine code next to
the file, where other processes find it.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import inspect
import linecache
import os
import re
import sys
import tempfile
import textwrap
import threading
import types
from collections.abc import Callable, Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numba

from tdlambda.code_cache import clear_way, make_private, refusal, warn_uncached

PLAIN = (int, float, bool, tuple)
"""Types of global values that can be written into a generated module."""
_LONGEST = 100
"""Characters of a name that become part of a file name, which also holds a digest and what Numba adds."""
_loading, _parsing = threading.RLock(), threading.Lock()


def tree(
    function: Callable[..., Any] | str,
    constants: Mapping[str, Any] | None = None,
    wanted: Collection[str] | None = None,
) -> ast.FunctionDef:
    """A function's syntax tree without decorators, annotations and docstring.

    With `constants`, arguments of these names are replaced by their values, and branches that they decide are resolved.
    With `wanted`, only these results are returned, and statements and arguments that they do not need are removed.
    """
    text = function if isinstance(function, str) else _text(function)
    with _parsing:  # CPython 3.11 shares the recursion depth of parsers between threads, and may raise SystemError
        node = ast.parse(textwrap.dedent(text)).body[0]
    if not isinstance(node, ast.FunctionDef):
        raise TypeError(f"{text.strip().splitlines()[0]!r} must be a plain function (def …)")
    node.decorator_list, node.returns = [], None
    for argument in node.args.args:
        argument.annotation = None
    if ast.get_docstring(node):
        node.body = node.body[1:] or [ast.Pass()]
    if constants:
        node.args.args = [a for a in node.args.args if a.arg not in constants]
        node.args.kwonlyargs = [a for a in node.args.kwonlyargs if a.arg not in constants]
        node.args.kw_defaults = [None] * len(node.args.kwonlyargs)
        node = _Decided(constants).visit(node)
    if wanted is not None:
        node.body, needed = _live([*node.body[:-1], _chosen(node.body[-1], wanted)], set())
        node.args.args = [a for a in node.args.args if a.arg in needed]
    last = node.body[-1]
    if isinstance(last, ast.Return) and isinstance(last.value, ast.Tuple) and len(last.value.elts) == 1:
        node.body[-1] = ast.Return(last.value.elts[0])
    return node


@cache
def _text(function: Callable[..., Any]) -> str:
    """The source of a function; `inspect` reads the file's tokens each time."""
    return inspect.getsource(function)


def _chosen(statement: ast.stmt, wanted: Collection[str]) -> ast.stmt:
    """A return statement with only the wanted names."""
    assert isinstance(statement, ast.Return)
    items = statement.value.elts if isinstance(statement.value, ast.Tuple) else [statement.value]
    some: list[ast.expr] = [item for item in items if isinstance(item, ast.Name) and item.id in wanted]
    return ast.Return(ast.Tuple(some, ast.Load()))


def _names(*nodes: ast.AST | None) -> set[str]:
    return {n.id for node in nodes if node is not None for n in ast.walk(node) if isinstance(n, ast.Name)}


def _live(body: list[ast.stmt], live: set[str]) -> tuple[list[ast.stmt], set[str]]:
    """The statements that the names `live` depend on, and the names that these statements depend on.

    This is dead-code elimination: `live` are the names that are used after `body`.
    """
    kept: list[ast.stmt] = []
    for statement in reversed(body):
        if isinstance(statement, ast.If):
            then, before = _live(statement.body, set(live))
            other, before_other = _live(statement.orelse, set(live))
            if not then and not other:
                continue
            live = before | before_other | _names(statement.test)
            statement = ast.If(statement.test, then or [ast.Pass()], other)
        elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            if statement.targets[0].id not in live:
                continue
            live = (live - {statement.targets[0].id}) | _names(statement.value)
        elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Tuple):
            targets = statement.targets[0].elts
            if not _names(statement.targets[0]) & live:
                continue
            if isinstance(statement.value, ast.Tuple):
                pairs = [(t, v) for t, v in zip(targets, statement.value.elts, strict=True) if _names(t) & live]
                targets = [t for t, _ in pairs]
                value: ast.expr = ast.Tuple([v for _, v in pairs], ast.Load())
                target: ast.expr = ast.Tuple(targets, ast.Store())
                if len(pairs) == 1:
                    target, value = pairs[0]
                statement = ast.Assign([target], value, lineno=statement.lineno)
            live = (live - {n for t in targets for n in _names(t)}) | _names(statement.value)
        elif isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            if statement.target.id not in live:
                continue
            live = live | _names(statement.value)
        else:
            live = live | _names(statement)
        kept.append(statement)
    return kept[::-1], live


class _Decided(ast.NodeTransformer):
    """Replaces names by constants, and resolves the branches that they decide."""

    def __init__(self, constants: Mapping[str, Any]) -> None:
        self.constants = constants

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Constant(self.constants[node.id]) if node.id in self.constants else node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        return self._known(node, node.left, *node.comparators)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return self._known(node, node.operand) if isinstance(node.op, ast.Not) else node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        ends = isinstance(node.op, ast.Or)  # the operand that decides the result: True for `or`, False for `and`
        values = []
        for value in node.values:
            if not isinstance(value, ast.Constant):
                values.append(value)
            elif bool(value.value) is ends:
                return value if not values else node
        if not values:
            return ast.Constant(not ends)
        return values[0] if len(values) == 1 else ast.BoolOp(node.op, values)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.test, ast.Constant):
            return node.body if node.test.value else node.orelse
        return node

    def visit_If(self, node: ast.If) -> Any:
        self.generic_visit(node)
        if isinstance(node.test, ast.Constant):
            return node.body if node.test.value else node.orelse
        return node

    def _known(self, node: ast.expr, *parts: ast.expr) -> ast.expr:
        if not all(isinstance(part, ast.Constant) for part in parts):
            return node
        return ast.Constant(eval(compile(ast.fix_missing_locations(ast.Expression(node)), "", "eval"), {}))


def function_from(text: str, names: Mapping[str, Any], title: str) -> Callable[..., Any]:
    """A function from its source, with these global names; `inspect` can find the source."""
    file, namespace = f"<{title}: {hash(text)}>", dict(names)
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), namespace)
    found: Callable[..., Any] = namespace[tree(text).name]
    return found


def arguments(
    function: Callable[..., Any] | str,
    constants: Mapping[str, Any] | None = None,
    wanted: Collection[str] | None = None,
) -> list[str]:
    """The names of a function's arguments; see `tree` for `constants` and `wanted`."""
    return [argument.arg for argument in tree(function, constants, wanted).args.args]


def returned(function: Callable[..., Any] | str) -> list[str]:
    """The names in a function's only `return`, which must be the last statement and list only names."""
    return list(_returned(function))


@cache
def _returned(function: Callable[..., Any] | str) -> tuple[str, ...]:
    node = tree(function)
    name = node.name if isinstance(function, str) else function.__qualname__
    returns = [n for n in ast.walk(node) if isinstance(n, ast.Return)]
    value = returns[0].value if len(returns) == 1 and node.body[-1] is returns[0] else None
    items = value.elts if isinstance(value, ast.Tuple) else [value]
    names = [item.id for item in items if isinstance(item, ast.Name)]
    twice = sorted({each for each in names if names.count(each) > 1})
    if not names or len(names) < len(items) or twice:
        raise TypeError(
            f"{name} must end with its only return, a list of distinct names: `return keep, new, along`"
            + "".join(f"; it returns {each} twice" for each in twice)
        )
    return tuple(names)


def embed(
    function: Callable[..., Any] | str,
    name: str,
    done: dict[str, str],
    constants: Mapping[str, Any] | None = None,
    wanted: Collection[str] | None = None,
) -> None:
    """Add a function's source to `done`, after the functions, modules and numbers that it uses.

    Constants in capitals hold in the functions that it uses too.
    """
    node = tree(function, constants, wanted)
    everywhere = {name: value for name, value in (constants or {}).items() if name.isupper()}
    node.name = name
    outer = getattr(function, "py_func", function)
    known, renamed = getattr(outer, "__globals__", {}), {}
    for used in sorted(_names(node) & set(known)):
        what = known[used]
        if used == name:
            continue
        if isinstance(what, types.FunctionType) or hasattr(what, "py_func"):
            own: dict[str, str] = {}
            embed(what, used, own, everywhere)
        elif isinstance(what, types.ModuleType):
            own = {used: f"import {what.__name__} as {used}"}
        elif isinstance(what, PLAIN):
            own = {used: f"{used} = {what!r}"}
        else:
            continue
        if any(done.get(part, text) != text for part, text in own.items()):  # another file has a helper of this name
            renamed[used] = f"{name}_{used}"
            embed(what, renamed[used], done, everywhere) if callable(what) else done.update(
                {renamed[used]: f"{renamed[used]} = {what!r}"}
            )
        else:
            done |= {part: text for part, text in own.items() if part not in done}
    node = _Renamed(renamed).visit(node) if renamed else node
    decorator = getattr(function, "decorator", "lanewise" if getattr(function, "lanewise", False) else "inlined")
    done[name] = f"@{decorator}\n" + ast.unparse(ast.fix_missing_locations(node))


class _Renamed(ast.NodeTransformer):
    """Renames what a function uses."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self.names.get(node.id, node.id), node.ctx)


def load(name: str, text: str) -> types.ModuleType:
    """The module with this text, from this process or from disk; if it is new, it is written and imported.

    Its name begins with `name`, of which only ASCII letters, digits and _ are kept: it becomes the name of a file.
    """
    short = re.sub(r"\W", "_", name, flags=re.ASCII)[:_LONGEST]  # the digest tells apart what this makes equal
    full = f"tdlambda.generated.{short}_{hashlib.sha256((_runtime() + text).encode()).hexdigest()[:16]}"
    with _loading:
        if full in sys.modules:
            return sys.modules[full]
        module = types.ModuleType(full)
        path = _written(full.rpartition(".")[2], text)
        if path is not None:
            spec = importlib.util.spec_from_file_location(full, path)
            assert spec is not None
            module = importlib.util.module_from_spec(spec)
        sys.modules[full] = module
        try:
            exec(compile(text, str(path or f"<{full}>"), "exec"), module.__dict__)
        except BaseException:
            del sys.modules[full]
            raise
    return module


@cache
def _runtime() -> str:
    """The text that determines what generated code means: the runtime, how it is compiled, Numba and Python."""
    here = Path(__file__)
    files = [here.with_name("runtime.py"), here.with_name("tables.py")]
    files += [here.parent.parent / name for name in ("compiled.py", "lean_pipeline.py")]
    return numba.__version__ + sys.version + "".join(file.read_text(encoding="utf-8") for file in files)


def _written(name: str, text: str) -> Path | None:
    """The path of a file with this text; None if no folder is writable."""
    folder = folder_of_generated()
    if folder is None:
        return None
    path = folder / f"{name}.py"
    try:
        if not path.is_file() or path.read_bytes() != text.encode():
            clear_way(path)
            part = path.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
            part.write_text(text, encoding="utf-8")
            part.replace(path)
    except OSError:
        return None
    return path


@cache
def folder_of_generated() -> Path | None:
    """The folder of generated modules and their machine code: TDLAMBDA_CACHE, the user's cache, or a temporary one.

    None if none of them can be written, or if the first that can is not this user's alone.
    """
    given = os.environ.get("TDLAMBDA_CACHE") or os.environ.get("NUMBA_CACHE_DIR")
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    own = Path(tempfile.gettempdir()) / f"tdlambda-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
    for folder in (Path(given or home) / "tdlambda", own):
        try:
            make_private(folder)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError:
            continue
        why = refusal(str(folder))
        if why is None:
            return folder
        warn_uncached(why, "not ours alone")
        return None
    warn_uncached(f"neither {Path(given or home)} nor {own.parent} is writable", "unwritable")
    return None
