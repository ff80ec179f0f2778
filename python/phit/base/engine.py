"""Which engine runs: the package's own, or an extension that somebody has built with kinds of their own.

Such an extension is a Rust crate outside the repository, written by ``phit new-mechanism``. Installed, it is found by
the entry point group `phit.engines`, and takes the place of the package's own extension wherever that is imported. To
import this module puts it there.
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
"""Of entry points: each names the module of an extension."""

CHOICE = "PHIT_ENGINE"
"""Environment variable: the name of the extension to use where there are several, or `phit` for the package's own."""

OWN = "phit"


def installed() -> "dict[str, EntryPoint]":
    """The extensions that are installed, by name."""
    if not any(map(_names_one, sys.path)):
        return {}
    # It takes longer to import than the package.
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group=GROUP)}


def _names_one(folder: str) -> bool:
    """Whether what is installed in a folder may name an extension."""
    for file in Path(folder).glob("*-info/entry_points.txt"):
        try:
            if GROUP.encode() in file.read_bytes():
                return True
        except OSError:
            continue
    return False


def version() -> str | None:
    """The version of this package; `None` of a checkout that is not installed."""
    from importlib import metadata

    try:
        return metadata.version(OWN)
    except metadata.PackageNotFoundError:
        return None


def chosen() -> "EntryPoint | None":
    """The extension to use instead of the package's own, if there is one.

    Raises:
        ImportError: there are several, and nobody has chosen; or there is none of the name that was chosen.
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
    """Puts the engine in its place, where ``phit._phit`` is imported from; returns its name.

    Raises:
        ImportError: it cannot be imported, or is of another version than the package, or as of `chosen`.
    """
    entry = chosen()
    if entry is None:
        return OWN
    try:
        module: ModuleType = import_module(entry.value)
    except ImportError as error:
        words = f"build it again, or set {CHOICE}={OWN} to do without"
        raise ImportError(f"the engine {entry.name} cannot be imported ({error}); {words}") from error
    there, here = getattr(module, "__version__", None), version()
    if here is not None and there != here:
        words = f"build it again with the engine of {here}, or set {CHOICE}={OWN} to do without"
        raise ImportError(f"the engine {entry.name} is of Phit {there}, and this package is Phit {here}: {words}")
    sys.modules["phit._phit"] = module
    return entry.name


NAME = install()
"""Name of the engine in use."""
