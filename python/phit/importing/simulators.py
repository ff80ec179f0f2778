"""The simulators whose configurations can be read."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from phit.base.errors import InputError
from phit.base.nearest import hint
from phit.base.text import quoted
from phit.importing.found import Imported
from phit.importing.text import text_of

if TYPE_CHECKING:
    from phit.importing.printed import Printed


class Reader(Protocol):
    """Reads configurations of one simulator."""

    def __call__(self, files: Sequence[Path], settings: Iterable[str] = ()) -> Imported:
        """The scenario of all files together, overridden by the simulator's settings `KEY=VALUE`."""


@dataclass(frozen=True)
class Simulator:
    """A simulator; its package has its name."""

    name: str
    title: str
    mark: str | None = None
    """Text in all of its output, if that output can be compared."""

    @property
    def _package(self) -> Any:
        # Every command knows the names, but few read a configuration.
        return import_module(f"phit.importing.{self.name}")

    @property
    def read(self) -> Reader:
        """The reader of its configurations."""
        reader: Reader = self._package.read
        return reader

    @property
    def printed(self) -> "Callable[[Path], Printed]":
        """The reader of its printed output, if it has a mark."""
        reader: Callable[[Path], Printed] = self._package.printed
        return reader


_ALL = (
    Simulator("booksim", "BookSim 2", "END Configuration File: "),
    Simulator("fogsim", "FOGSim", "Palm Tree Configuration: "),
    Simulator("caminos", "CAMINOS"),
)

SIMULATORS = {one.name: one for one in _ALL}
"""Simulators by their names on the command line."""


def recognised(path: Path) -> "Printed":
    """The run in a simulator's printed output; the text of the file tells which simulator."""
    text = text_of(path)
    for simulator in SIMULATORS.values():
        if simulator.mark is not None and simulator.mark in text:
            return simulator.printed(path)
    titles = " or ".join(one.title for one in SIMULATORS.values() if one.mark)
    raise InputError(f"{path}: expected the output of {titles}, with its configuration")


def find(name: str) -> Simulator:
    """The simulator with this name."""
    if name not in SIMULATORS:
        known = list(SIMULATORS)
        raise InputError(f"{quoted(name)}: no such simulator; expected one of {', '.join(known)}{hint(name, known)}")
    return SIMULATORS[name]


def read(name: str, *files: Path | str, settings: Iterable[str] = ()) -> Imported:
    """A configuration of the simulator `name` as a scenario; of several files, later ones override earlier ones.

    `settings` are settings `KEY=VALUE` of the simulator, as on its command line. Settings that cannot be expressed are
    refused with `RefusedError`, which names every key.
    """
    return find(name).read([Path(file) for file in files], settings)
