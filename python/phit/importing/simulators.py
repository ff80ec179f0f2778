"""The simulators whose configurations can be read."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from phit.errors import InputError
from phit.importing import booksim, caminos, fogsim
from phit.importing.found import Imported
from phit.importing.printed import Printed
from phit.importing.text import text_of
from phit.scenario import hint
from phit.text import quoted


class Reader(Protocol):
    """Reads configurations."""

    def __call__(self, files: Sequence[Path], settings: Iterable[str] = ()) -> Imported:
        """The scenario that the files mean together, with settings `KEY=VALUE` of the simulator's own on top."""


@dataclass(frozen=True)
class Simulator:
    """A simulator."""

    name: str
    title: str
    read: Reader
    printed: Callable[[Path], Printed] | None = None
    """Reads what it prints, if that can be compared."""
    mark: str | None = None
    """What stands in everything that it prints."""


_ALL = (
    Simulator("booksim", "BookSim 2", booksim.read, booksim.printed, "END Configuration File: "),
    Simulator("fogsim", "FOGSim", fogsim.read, fogsim.printed, "Palm Tree Configuration: "),
    Simulator("caminos", "CAMINOS", caminos.read),
)

SIMULATORS = {one.name: one for one in _ALL}
"""By the name on the command line."""


def recognised(path: Path) -> Printed:
    """What one of the simulators has printed into a file: which one, the file shows."""
    text = text_of(path)
    for simulator in SIMULATORS.values():
        if simulator.mark is not None and simulator.printed is not None and simulator.mark in text:
            return simulator.printed(path)
    titles = " or ".join(one.title for one in SIMULATORS.values() if one.printed)
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
