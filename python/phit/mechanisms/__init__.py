"""Mechanisms written in Python: triggers, rules, traffic patterns and probes, compiled by `numba`.

A decorator turns a function into a mechanism, and `table` returns a scenario's table for the mechanism:

>>> import phit
>>> @phit.trigger
... def crowded(view, packet, threshold=6):
...     return view.heads(view.minimal) > threshold
>>> scenario["routing"] = crowded.table(threshold=8)  # doctest: +SKIP

In a TOML file, `file` and `function` name the function. The page "Mechanisms in Python" describes the `view`. Only the
function and the parts of its file or notebook cell that it needs are compiled. It is compiled when a run begins, with
``pip install phit[numba]``.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, TypeGuard

from phit.base.errors import InputError
from phit.base.text import quoted
from phit.mechanisms import sources

__all__ = ["Mechanism", "Pattern", "Probe", "Rule", "Trigger", "pattern", "probe", "rule", "trigger", "trust_python"]

Function = Callable[..., Any]

CONSENT = "PHIT_TRUST_PYTHON"
"""Environment variable: with value 1, scenarios may execute the Python functions that they name."""

_own: set[tuple[str, ...]] = set()
"""Sources of functions that this process itself has put into tables."""


def trust_python() -> None:
    """Lets scenarios execute the Python functions that they name, in this process and in its child processes.

    A function that is compiled for a run has all permissions of its user. Functions that a program puts into tables
    itself, by `Mechanism.table`, need no such consent.
    """
    os.environ[CONSENT] = "1"


def is_trusted(source: tuple[str, ...]) -> bool:
    """Whether the function with this source text may be executed."""
    return source in _own or os.environ.get(CONSENT) == "1"


class Mechanism:
    """A function that the engine calls: the base of `Trigger`, `Rule`, `Pattern` and `Probe`."""

    kind: ClassVar[str]
    """The `kind` of its tables."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.others: dict[str, Function] = {}
        """Further functions, by the question that each answers."""

    def __call__(self, *arguments: Any, **parameters: Any) -> Any:
        """Calls the function without compiling it: for tests with a view of one's own."""
        return self.function(*arguments, **parameters)

    def __repr__(self) -> str:
        return f"<phit.{self.kind.removeprefix('python_')} {self.__name__}>"

    def table(self, keys: Mapping[str, Any] | None = None, /, **parameters: float) -> dict[str, Any]:
        """A scenario's table for this mechanism, with values for its parameters.

        Args:
            keys: further keys of the table, such as `hops` of a rule or `every` of a probe.
            parameters: values of parameters that replace their defaults.

        Raises:
            InputError: the source text of the function is unknown, or the function has no such parameter.
        """
        source = sources.of_function(self.function, self.kind)
        _own.add(source.lines)
        filled = source.filled(parameters, "parameters")
        table = {"kind": self.kind, "function": self.__name__, "source": list(source.lines), "parameters": filled}
        return {**table, **(keys or {})}


class Trigger(Mechanism):
    """Decides when a packet of the in-transit adaptive family leaves its minimal route; see `trigger`."""

    kind = "python_trigger"

    def admits(self, function: Function) -> Function:
        """Decorates the function ``(view, packet, port, ...)`` that decides whether a packet may leave for a port."""
        self.others["admits"] = function
        return function

    def minds(self, function: Function) -> Function:
        """Decorates the function ``(view, port, heads, ...)`` that decides which changes of counters matter.

        It is called whenever the number of heads that request a port changes between `heads` and one less. If it
        returns false, waiting packets do not decide again because of this change. A correct function changes only the
        speed of a run.
        """
        self.others["minds"] = function
        return function


class Rule(Mechanism):
    """Chooses the output port of a packet; see `rule`."""

    kind = "python_rule"


class Pattern(Mechanism):
    """Chooses destinations; see `pattern`."""

    kind = "python_pattern"


class Probe(Mechanism):
    """Observes ports; see `probe`."""

    kind = "python_probe"


def trigger(function: Function) -> Trigger:
    """Makes a trigger from a function ``(view, packet, ...)``.

    The function decides whether a packet leaves its minimal route.
    """
    return Trigger(function)


def rule(function: Function) -> Rule:
    """Makes a rule from a function ``(view, packet, ...)`` that returns the output port of a packet.

    It returns a port for which ``view.permits(packet, port)`` is true, or -1 for a packet that has to wait.
    """
    return Rule(function)


def pattern(function: Function) -> Pattern:
    """Makes a traffic pattern from a function ``(view, ...)`` that returns the destination of a packet.

    For an endpoint that never sends, it always returns -1.
    """
    return Pattern(function)


def probe(function: Function) -> Probe:
    """Makes a probe from a function ``(view, ...)`` that returns a whole number for a port, or -1 for none."""
    return Probe(function)


KINDS = frozenset(kind.kind for kind in Mechanism.__subclasses__())
"""The `kind` of tables that name Python functions."""


_LEAVES = frozenset({str, int, float, bool, type(None)})
"""Types of most values: the test for a mapping takes long."""


def is_table(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether a value is a table that names a Python function."""
    return isinstance(value, dict) and isinstance(kind := value.get("kind"), str) and kind in KINDS


def tables(value: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """The tables of a document that name Python functions, each with its path."""
    if isinstance(value, Mapping):
        if is_table(value):
            yield path, value
        for key, inner in value.items():
            yield from tables(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and value and isinstance(value[0], Mapping):
        for number, inner in enumerate(value):
            yield from tables(inner, f"{path}[{number}]")


def names_any(document: Mapping[str, Any]) -> bool:
    """Whether a document has such tables. Many scenarios are tested, and few have any."""
    waiting: list[Any] = [document]
    while waiting:
        here = waiting.pop()
        if isinstance(here, Mapping):
            if is_table(here):
                return True
            waiting += [inner for inner in here.values() if type(inner) not in _LEAVES]
        elif isinstance(here, list) and here and isinstance(here[0], Mapping):
            waiting += here
    return False


def source_of(path: str, table: Mapping[str, Any]) -> sources.Source:
    """The source of the function that the table at `path` names by a file or contains as text."""
    function, file, lines = table.get("function"), table.get("file"), table.get("source")
    if not isinstance(function, str) or not function:
        said = "this key is missing" if function is None else f"{quoted(function)}"
        raise InputError(f"{path}.function: {said}; expected the name of a Python function", f"{path}.function")
    if file is not None and lines:
        raise InputError(f"{path}.file: the table has a `source`; leave one of the two out", f"{path}.file")
    if isinstance(file, str):
        return sources.of_file(Path(file), function, table["kind"], path)
    if file is not None:
        raise InputError(f"{path}.file = {quoted(file)}: expected the name of a file", f"{path}.file")
    if not lines:
        raise InputError(f"{path}.file: this key is missing; expected the file of the function", f"{path}.file")
    if not isinstance(lines, list) or not all(isinstance(line, str) and "\n" not in line for line in lines):
        raise InputError(f"{path}.source: expected a list of lines", f"{path}.source")
    return sources.of_lines(tuple(lines), function, table["kind"], path)


def completed(path: str, table: Mapping[str, Any]) -> dict[str, Any]:
    """The source text of the function that the table at `path` names, and all of its parameters."""
    source = source_of(path, table)
    given = table.get("parameters", {})
    if not isinstance(given, Mapping):
        raise InputError(f"{path}.parameters = {quoted(given)}: expected a table", f"{path}.parameters")
    return {"source": list(source.lines), "parameters": source.filled(given, f"{path}.parameters")}


def refusal(path: str, function: str) -> InputError:
    """The error for a scenario that would execute a function without consent."""
    return InputError(
        f'{path}.function = "{function}": this scenario executes Python code, which has all your permissions; if you '
        "trust it, add --trust-python, or call phit.trust_python() in Python",
        f"{path}.function",
    )
