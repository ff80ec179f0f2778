"""Configurations of other simulators as scenarios: their keys in, TOML with a comment at every line out.

One package or module for each simulator. Each declares its keys once, with what becomes of them; the guide's tables and
the refusals follow from that.
"""

from phit.importing.found import Imported, RefusedError
from phit.importing.settings import Status
from phit.importing.simulators import SIMULATORS, read

__all__ = ["SIMULATORS", "Imported", "RefusedError", "Status", "read"]
