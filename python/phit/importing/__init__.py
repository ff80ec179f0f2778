"""Converts configurations of other simulators to scenarios in TOML, with a comment at every line.

Each simulator has a package or module. It declares its keys once, with the treatment of each; the guide's tables and
the refusals follow from these declarations.
"""

from phit.importing.found import Imported, RefusedError
from phit.importing.settings import Status
from phit.importing.simulators import SIMULATORS, read

__all__ = ["SIMULATORS", "Imported", "RefusedError", "Status", "read"]
