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
    """Reads configurations."""

    def __call__(self, files: Sequence[Path], settings: Iterable[str] = ()) -> Imported:
        """The scenario that the files mean together, with settings `KEY=VALUE` of the simulator's own on top."""


@dataclass(frozen=True)
class Simulator:
    """A simulator, whose package is named as it is."""

    name: str
    title: str
    mark: str | None = None
    """What stands in everything that it prints, if that can be compared."""

    @property
    def _package(self) -> Any:
        # Every command knows the names; few read a configuration.
        return import_module(f"phit.importing.{self.name}")

    @property
    def read(self) -> Reader:
        """Reads its configurations."""
        reader: Reader = self._package.read
        return reader

    @property
    def printed(self) -> "Callable[[Path], Printed]":
        """Reads what it prints, if it has a mark."""
        reader: Callable[[Path], Printed] = self._package.printed
        return reader


_ALL = (
    Simulator("booksim", "BookSim 2", "END Configuration File: "),
    Simulator("fogsim", "FOGSim", "Palm Tree Configuration: "),
    Simulator("caminos", "CAMINOS"),
)

SIMULATORS = {one.name: one for one in _ALL}
"""By the name on the command line."""


def recognised(path: Path) -> "Printed":
    """What one of the simulators has printed into a file: which one, the file shows."""
    text = text_of(path)
    for simulator in SIMULATORS.values():
        if simulator.mark is not None and simulator.mark in text:
            return simulator.printed(path)
    titles = " or ".join(one.title for one in SIMULATORS.values() if one.mark)
    raise InputError(f"{path}: expected what {titles} prints of a run, with its configuration")


def find(name: str) -> Simulator:
    """The simulator of that name."""
    if name not in SIMULATORS:
        known = list(SIMULATORS)
        raise InputError(f"{quoted(name)}: no such simulator; expected one of {', '.join(known)}{hint(name, known)}")
    return SIMULATORS[name]


def read(name: str, *files: Path | str, settings: Iterable[str] = ()) -> Imported:
    """A configuration of the simulator `name` as a scenario; of several files, later ones go before earlier ones.

    `settings` are the simulator's own, `KEY=VALUE`, as on its command line. What cannot be expressed is refused with
    `RefusedError`, which names every key.
    """
    return find(name).read([Path(file) for file in files], settings)
