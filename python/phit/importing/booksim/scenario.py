"""Configurations of BookSim as scenarios."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from phit.importing.booksim.configuration import Configuration
from phit.importing.booksim.measure import measure
from phit.importing.booksim.network import network
from phit.importing.booksim.router import router
from phit.importing.booksim.traffic import traffic
from phit.importing.found import Findings, Imported
from phit.importing.settings import Setting

NAME = "booksim"


def read(files: Sequence[Path], settings: Iterable[str] = ()) -> Imported:
    """The scenario of configuration files, read one after another, and then of settings `KEY=VALUE`."""
    findings = Findings()
    return _imported(Configuration.of_files(files, settings, findings), files)


def of_settings(settings: Iterable[Setting], folder: Path = Path()) -> Imported:
    """The scenario of settings; files that they name are in `folder`."""
    return _imported(Configuration(settings, Findings(), folder), ())


def _imported(given: Configuration, files: Sequence[Path]) -> Imported:
    measure(given)
    # Other parts need properties of the network, such as the number of endpoints.
    found = network(given)
    if found is not None:
        router(given, found)
        traffic(given, found)
    if not given.findings.errors or found is not None:
        given.about_the_rest()
    return given.findings.finished(NAME, files)
