"""Chooses the engine: the package's own extension module, or an installed one with additional kinds.

An additional engine is a Rust crate outside the repository, written by ``phit new-mechanism``. An installed one is
found by the entry point group `phit.engines`. It replaces the package's own extension wherever `phit._phit` is
imported. Importing this module makes the replacement.
"""

import os
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "phit.engines"
"""Group of entry points; each names the module of an extension."""

CHOICE = "PHIT_ENGINE"
"""Environment variable that names the extension to use if there are several, or `phit` for the package's own."""

OWN = "phit"


def installed() -> "dict[str, EntryPoint]":
    """The installed extensions, by name."""
    if not any(map(_names_one, sys.path)):
        return {}
    # This import takes longer than the import of the whole package.
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group=GROUP)}


def _names_one(folder: str) -> bool:
    """Whether a distribution in this folder may declare an extension."""
    for file in Path(folder).glob("*-info/entry_points.txt"):
        try:
            if GROUP.encode() in file.read_bytes():
                return True
        except OSError:
            continue
    return False


def version() -> str | None:
    """The version of this package; `None` in a checkout that is not installed."""
    from importlib import metadata

    try:
        return metadata.version(OWN)
    except metadata.PackageNotFoundError:
        return None


def chosen() -> "EntryPoint | None":
    """The extension that replaces the package's own engine, or `None`.

    Raises:
        ImportError: several are installed and none is chosen, or the chosen one is not installed.
    """
    found = installed()
    name = os.environ.get(CHOICE, "")
    if name == OWN or (not name and not found):
        return None
    if name:
        if name not in found:
            known = ", ".join([OWN, *found])
            raise ImportError(f"{CHOICE}={name}: no such engine is installed; expected one of {known}")
        return found[name]
    if len(found) > 1:
        known = ", ".join(found)
        raise ImportError(f"several engines are installed: {known}; set {CHOICE} to one of them, or to {OWN}")
    return next(iter(found.values()))


def install() -> str:
    """Installs the engine as ``phit._phit`` and returns its name.

    Raises:
        ImportError: the engine cannot be imported, belongs to another version of the package, or cannot be chosen
            (see `chosen`).
    """
    entry = chosen()
    if entry is None:
        return OWN
    try:
        module: ModuleType = import_module(entry.value)
    except ImportError as error:
        words = f"build it again, or set {CHOICE}={OWN} to use the package's own engine"
        raise ImportError(f"the engine {entry.name} cannot be imported ({error}); {words}") from error
    there, here = getattr(module, "__version__", None), version()
    if here is not None and there != here:
        words = f"build it again with the engine of {here}, or set {CHOICE}={OWN} to use the package's own engine"
        raise ImportError(
            f"the engine {entry.name} was built for Phit {there}, but this package is Phit {here}: {words}"
        )
    sys.modules["phit._phit"] = module
    return entry.name


NAME = install()
"""Name of the engine in use."""
