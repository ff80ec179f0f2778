"""Extracts the source text of a mechanism: its function and everything that it needs from its file.

Nothing is executed here. A file is parsed, and its top-level statements are followed from name to name.
"""

import ast
import builtins
import inspect
import linecache
import textwrap
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from phit.base.errors import InputError
from phit.base.text import quoted

ROLES = {"trigger": 2, "rule": 2, "pattern": 1, "probe": 1}
"""Decorators, and the number of arguments of their functions before the parameters."""

OTHERS = {"admits": 3, "minds": 3}
"""Decorators of further functions of a trigger, and the number of their arguments before the parameters."""

_DEFINITIONS = (ast.FunctionDef, ast.Assign, ast.AnnAssign, ast.Import, ast.ImportFrom)


@dataclass(frozen=True)
class Source:
    """The source text of a mechanism, as scenarios and results store it."""

    kind: str
    function: str
    lines: tuple[str, ...]
    """The lines of the text."""
    defaults: Mapping[str, float]
    """Default of each parameter, in the order of names."""
    signatures: Mapping[str, tuple[str, ...]]
    """The parameters of each function, by the question that it answers: `""` for the first function."""
    attributes: frozenset[str]
    """Names of attributes in the text, which are the attributes of a view that it may read."""
    statements: tuple[tuple[str, ast.stmt], ...] = field(compare=False, repr=False)
    """The statements of the text, each with the name of its file and its line numbers in that file."""
    file: str = field(compare=False)
    """The name of the function's file."""

    @property
    def place(self) -> str:
        """The file and line of the function's definition."""
        for file, statement in self.statements:
            if isinstance(statement, ast.FunctionDef) and statement.name == self.function:
                return f"{file}:{statement.lineno}"
        return self.file

    def filled(self, given: Mapping[str, Any], path: str) -> dict[str, float]:
        """All parameters with defaults filled in, in the order of names; `path` is the path of the table."""
        for name, value in given.items():
            if name not in self.defaults:
                # Imported here, because that module depends on this one when scenarios are read.
                from phit.base.nearest import hint

                names = ", ".join(self.defaults) or "none: the function has no parameters"
                raise InputError(
                    f"{path}.{name}: {self.function} has no such parameter; expected one of {names}"
                    f"{hint(name, self.defaults)}",
                    f"{path}.{name}",
                )
            default = self.defaults[name]
            whole = isinstance(default, int)
            if not isinstance(value, int | float) or (whole and value != int(value)):
                expected = "a whole number" if whole else "a number"
                said = f"expected {expected}, like its default {default}"
                raise InputError(f"{path}.{name} = {quoted(value)}: {said}", f"{path}.{name}")
        # The engine stores floating-point numbers: 1 and 1.0 are equal.
        return {name: float(given.get(name, default)) for name, default in self.defaults.items()}


def of_file(path: Path, function: str, kind: str, key: str) -> Source:
    """The source of a function in a file; `key` is the path of the table that names it."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"{key}.file: {path}: no such file", f"{key}.file") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{key}.file: {path}: cannot be read ({reason})", f"{key}.file") from None
    return _remembered(_extracted(text, str(path), function, kind, key))


_origins: dict[tuple[str, ...], Source] = {}
"""Sources from files or functions of this process, whose lines errors can name."""


def _remembered(source: Source) -> Source:
    _origins[source.lines] = source
    return source


def of_lines(lines: tuple[str, ...], function: str, kind: str, key: str) -> Source:
    """The source of a function whose text is in a scenario."""
    known = _origins.get(lines)
    if known is not None and (known.function, known.kind) == (function, kind):
        return known
    return _of_lines(lines, function, kind, key)


@lru_cache(maxsize=64)
def _of_lines(lines: tuple[str, ...], function: str, kind: str, key: str) -> Source:
    text = "\n".join(lines)
    name = f"<{key}.source>"
    # Compiler messages quote this line.
    linecache.cache[name] = (len(text), None, [f"{line}\n" for line in lines], name)
    return _extracted(text, name, function, kind, key)


def of_function(function: Callable[..., Any], kind: str) -> Source:
    """The source of a function of this process, from its file or notebook cell."""
    file = function.__code__.co_filename
    text = "".join(linecache.getlines(file, function.__globals__))
    if not text:
        raise InputError(f"{function.__name__}: its source text is unknown; expected a function in a file or notebook")
    return _remembered(_extracted(text, file, function.__name__, kind, "", function.__globals__))


def _error(file: str, line: int, message: str, key: str) -> InputError:
    where = f"{key}: " if key else ""
    return InputError(f"{where}{file}:{line}: {message}", key or None)


def _parsed(text: str, file: str, key: str) -> list[ast.stmt]:
    try:
        return ast.parse(text, file).body
    except SyntaxError as error:
        raise _error(file, error.lineno or 0, f"not valid Python: {error.msg}", key) from None
    except (ValueError, RecursionError) as error:
        raise _error(file, 0, f"not valid Python: {error}", key) from None


def _extracted(
    text: str, file: str, function: str, kind: str, key: str, live: Mapping[str, Any] | None = None
) -> Source:
    """The statements of a text that a function needs; `live` are the definitions of other notebook cells."""
    body = _parsed(text, file, key)
    root = next((node for node in reversed(body) if isinstance(node, ast.FunctionDef) and node.name == function), None)
    if root is None:
        named = [node.name for node in body if isinstance(node, ast.FunctionDef) and _role(node)]
        listed = f"expected one of {', '.join(named)}" if named else "there is no function decorated by phit"
        raise InputError(f"{key}.function = {quoted(function)}: {file} has none of that name; {listed}", key or None)
    role = kind.removeprefix("python_")
    if _role(root) != role:
        found = f"a phit.{_role(root)}" if _role(root) else "not decorated"
        raise _error(file, root.lineno, f"{function} is {found}; expected a function decorated by phit.{role}", key)
    others = {what: node for node in body for what in [_other(node, function)] if what}
    signatures, defaults = {}, dict[str, float]()
    for what, node in {"": root, **others}.items():
        assert isinstance(node, ast.FunctionDef)
        own = _parameters(node, OTHERS.get(what, ROLES[role]), file, key)
        signatures[what] = tuple(own)
        for name, default in own.items():
            if repr(defaults.setdefault(name, default)) != repr(default):
                raise _error(file, node.lineno, f"{name} = {default}: the trigger has another default for it", key)
    needed = _needed(body, [root, *others.values()], file, key, live)
    lines = _lines(needed, text)
    attributes = frozenset(node.attr for stmt in needed for node in ast.walk(stmt) if isinstance(node, ast.Attribute))
    # Attributes may also be named by strings.
    texts = {n.value for stmt in needed for n in ast.walk(stmt) if isinstance(n, ast.Constant) and type(n.value) is str}
    in_order = {name: defaults[name] for name in sorted(defaults)}
    statements = tuple((getattr(stmt, "file", file), stmt) for stmt in needed)
    return Source(kind, function, lines, in_order, signatures, attributes | texts, statements, file)


def _role(node: ast.FunctionDef) -> str | None:
    """The name of a function's decorator: `phit.trigger` or `trigger`, ..."""
    for decorator in node.decorator_list:
        name = decorator.attr if isinstance(decorator, ast.Attribute) else getattr(decorator, "id", None)
        if name in ROLES:
            return str(name)
    return None


def _other(node: ast.stmt, function: str) -> str | None:
    """The question that a function answers which another mechanism decorates, as in `@mine.admits`."""
    for decorator in getattr(node, "decorator_list", ()):
        if (
            isinstance(decorator, ast.Attribute)
            and decorator.attr in OTHERS
            and isinstance(decorator.value, ast.Name)
            and decorator.value.id == function
        ):
            return decorator.attr
    return None


def _parameters(node: ast.FunctionDef, given: int, file: str, key: str) -> dict[str, float]:
    """The parameters of a function with their defaults; `given` arguments come before them."""
    arguments = node.args
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or len(names) < given:
        words = f"{node.name}: expected {given} argument{'s' * (given > 1)}, then parameters with numbers as defaults"
        raise _error(file, node.lineno, words, key)
    values = [None] * (len(names) - len(arguments.defaults)) + list(arguments.defaults)
    found = {}
    for name, value in zip(names[given:], values[given:], strict=True):
        try:
            number = None if value is None else ast.literal_eval(value)
        except ValueError:
            number = None
        if not isinstance(number, int | float):
            line = node.lineno if value is None else value.lineno
            raise _error(file, line, f"{node.name}: expected a number as default of the parameter {name}", key)
        found[name] = number
    return found


def _names(node: ast.AST) -> set[str]:
    """Names that a statement reads and does not define itself."""
    read, own = set[str](), set[str]()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            (read if isinstance(inner.ctx, ast.Load) else own).add(inner.id)
        elif isinstance(inner, ast.arg):
            own.add(inner.arg)
    decorators = {n.id for d in getattr(node, "decorator_list", ()) for n in ast.walk(d) if isinstance(n, ast.Name)}
    return (read - own) | decorators if isinstance(node, ast.FunctionDef) else read


def _defined(node: ast.stmt) -> Iterator[str]:
    """Names that a top-level statement defines."""
    if isinstance(node, ast.FunctionDef):
        yield node.name
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from ((alias.asname or alias.name).split(".")[0] for alias in node.names)
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        yield from (inner.id for target in targets for inner in ast.walk(target) if isinstance(inner, ast.Name))


def _needed(
    body: list[ast.stmt], roots: list[ast.stmt], file: str, key: str, live: Mapping[str, Any] | None
) -> list[ast.stmt]:
    """The statements that `roots` need, in the order of the file."""
    definers: dict[str, list[ast.stmt]] = {}
    for node in body:
        if isinstance(node, _DEFINITIONS):
            for name in _defined(node):
                definers.setdefault(name, []).append(node)
    found: dict[int, ast.stmt] = {}
    elsewhere: dict[str, ast.stmt] = {}
    waiting: list[ast.stmt] = list(roots)
    while waiting:
        node = waiting.pop()
        if id(node) in found:
            continue
        found[id(node)] = node
        for name in sorted(_names(node)):
            if name in definers:
                waiting += definers[name]
            elif name not in elsewhere and not hasattr(builtins, name):
                stand_in = None if live is None or name not in live else _from_live(name, live[name], file, key)
                if stand_in is None:
                    uses = (n.lineno for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == name)
                    line = next(uses, node.lineno)
                    raise _error(file, line, f"{name}: expected a name that the file defines or imports", key)
                elsewhere[name] = stand_in
                waiting.append(stand_in)
    of_others = [node for node in elsewhere.values() if id(node) in found]
    return of_others + [node for node in body if id(node) in found]


def _from_live(name: str, value: Any, file: str, key: str) -> ast.stmt | None:
    """A statement for a definition of another notebook cell: a module, a number, or a function."""
    function, first = getattr(value, "py_func", value), 1
    if isinstance(value, types.ModuleType):
        text = f"import {value.__name__} as {name}"
    elif isinstance(value, bool | int | float):
        text = f"{name} = {value!r}"
    elif inspect.isfunction(function):
        try:
            lines, first = inspect.getsourcelines(function)
        except OSError:
            return None
        text, file = textwrap.dedent("".join(lines)), function.__code__.co_filename
    else:
        return None
    [node] = _parsed(text, file, key)
    ast.increment_lineno(node, first - 1)
    node.stand_in, node.file = text, file  # type: ignore[attr-defined]
    return node


def _lines(needed: Iterable[ast.stmt], text: str) -> tuple[str, ...]:
    """The text of statements, with an empty line around functions."""
    whole, found = text.splitlines(), list[str]()
    for node in needed:
        stand_in = getattr(node, "stand_in", None)
        if stand_in is not None:
            part = stand_in.splitlines()
        else:
            decorators = [decorator.lineno for decorator in getattr(node, "decorator_list", ())]
            part = whole[min([node.lineno, *decorators]) - 1 : node.end_lineno]
        if found and isinstance(node, ast.FunctionDef):
            found += ["", ""]
        found += [line.rstrip() for line in part]
    return tuple(found)
