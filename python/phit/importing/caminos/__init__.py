"""CAMINOS: its configurations as scenarios and experiments."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from phit.base.errors import InputError
from phit.importing.caminos import grammar
from phit.importing.caminos.sweeps import experiment
from phit.importing.found import Imported
from phit.importing.text import text_of

__all__ = ["read"]


def read(files: Sequence[Path], settings: Iterable[str] = ()) -> Imported:
    """The scenario of a configuration, with a `[sweep]` if it lists experiments."""
    if len(files) != 1 or list(settings):
        raise InputError("caminos: expected one configuration file, and no settings")
    return experiment(grammar.parse(text_of(files[0]), str(files[0])), files)
