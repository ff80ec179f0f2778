"""Mechanisms written in Python: triggers, rules, traffic patterns and probes, compiled by `numba`.

A decorator makes a mechanism of a function, and `table` makes a table of a scenario of the mechanism:

>>> import phit
>>> @phit.trigger
... def crowded(view, packet, threshold=6):
...     return view.heads(view.minimal) > threshold
>>> scenario["routing"] = crowded.table(threshold=8)  # doctest: +SKIP

In a TOML file `file` and `function` name it; see the page "Mechanisms in Python" for what a `view` shows. What is
compiled is the function and what it needs of its file or notebook cell, nothing else of it. It is compiled when a run
begins, with ``pip install phit[numba]``.
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
"""Environment variable: if it is 1, scenarios may execute the Python functions that they name."""

_own: set[tuple[str, ...]] = set()
"""Sources of functions that this process has handed over itself."""


def trust_python() -> None:
    """Lets scenarios execute the Python functions that they name, in this process and in those that it starts.

    A function that is compiled for a run may do whatever its user may do. Functions that a program hands over itself,
    by `Mechanism.table`, need no such consent.
    """
    os.environ[CONSENT] = "1"


def is_trusted(source: tuple[str, ...]) -> bool:
    """Whether the function of this source text may be executed."""
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
        """Further functions, by what they answer."""

    def __call__(self, *arguments: Any, **parameters: Any) -> Any:
        """Calls the function as it is, not compiled: for tests with a view of one's own."""
        return self.function(*arguments, **parameters)

    def __repr__(self) -> str:
        return f"<phit.{self.kind.removeprefix('python_')} {self.__name__}>"

    def table(self, keys: Mapping[str, Any] | None = None, /, **parameters: float) -> dict[str, Any]:
        """The table of a scenario with this mechanism, and numbers for its parameters.

        Args:
            keys: further keys of the table, such as `hops` of a rule or `every` of a probe.
            parameters: the parameters of the function that shall not have their defaults.

        Raises:
            InputError: the source text of the function is not known, or it has no such parameter.
        """
        source = sources.of_function(self.function, self.kind)
        _own.add(source.lines)
        filled = source.filled(parameters, "parameters")
        table = {"kind": self.kind, "function": self.__name__, "source": list(source.lines), "parameters": filled}
        return {**table, **(keys or {})}


class Trigger(Mechanism):
    """Says when a packet of the in-transit adaptive family leaves its minimal route; see `trigger`."""

    kind = "python_trigger"

    def admits(self, function: Function) -> Function:
        """Decorates the function ``(view, packet, port, ...)`` that says whether a packet may leave for a port."""
        self.others["admits"] = function
        return function

    def minds(self, function: Function) -> Function:
        """Decorates the function ``(view, port, heads, ...)`` that says which steps of counters matter.

        It is asked whenever the number of heads that want a port changes between `heads` and one less. If it says no,
        no waiting packet is asked again because of that. It changes the speed of a run alone, if it is right.
        """
        self.others["minds"] = function
        return function


class Rule(Mechanism):
    """Says over which port a packet goes on; see `rule`."""

    kind = "python_rule"


class Pattern(Mechanism):
    """Says where packets go; see `pattern`."""

    kind = "python_pattern"


class Probe(Mechanism):
    """Looks at ports; see `probe`."""

    kind = "python_probe"


def trigger(function: Function) -> Trigger:
    """Makes a trigger of a function ``(view, packet, ...)`` that says whether a packet leaves its minimal route."""
    return Trigger(function)


def rule(function: Function) -> Rule:
    """Makes a rule of a function ``(view, packet, ...)`` that returns the port over which a packet goes on.

    It returns a port that ``view.permits(packet, port)``, or -1 for a packet that has to wait.
    """
    return Rule(function)


def pattern(function: Function) -> Pattern:
    """Makes a traffic pattern of a function ``(view, ...)`` that returns the endpoint to which a packet goes.

    It returns -1, always, for an endpoint that never sends.
    """
    return Pattern(function)


def probe(function: Function) -> Probe:
    """Makes a probe of a function ``(view, ...)`` that returns a whole number for a port, or -1 for none."""
    return Probe(function)


KINDS = frozenset(kind.kind for kind in Mechanism.__subclasses__())
"""The `kind` of tables that name Python functions."""


_LEAVES = frozenset({str, int, float, bool, type(None)})
"""Types of most values: to ask whether they are mappings takes long."""


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
    """Whether a document has such tables: many scenarios are asked this, and few have."""
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
    """The source of the function that the table at `path` names, by its file or its text."""
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
    """That a scenario wants to execute a function without consent."""
    return InputError(
        f'{path}.function = "{function}": this scenario executes Python code, which may do whatever you may do; if you '
        "know what it does, say so with --trust-python, or in Python with phit.trust_python()",
        f"{path}.function",
    )
