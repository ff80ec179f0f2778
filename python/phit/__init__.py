"""Phit: fast, exact simulation of lossless interconnection networks.

>>> import phit
>>> result = phit.run("scenario.toml")  # doctest: +SKIP
>>> points = phit.sweep("experiment.toml", "results/experiment")  # doctest: +SKIP
"""

import json
from typing import Any

from phit import _phit
from phit._phit import __version__
from phit.errors import InputError, PhitError, ResultsError, ScenarioError, SimulationError
from phit.experiment import Experiment, Point
from phit.result import Result, run
from phit.saturation import Saturation, saturate
from phit.scenario import complete, load, routes, verify
from phit.sections import schema
from phit.sweeping import Interrupted, sweep

__all__ = [
    "Experiment",
    "InputError",
    "Interrupted",
    "PhitError",
    "Point",
    "Result",
    "ResultsError",
    "Saturation",
    "ScenarioError",
    "SimulationError",
    "__version__",
    "catalogue",
    "complete",
    "load",
    "routes",
    "run",
    "saturate",
    "schema",
    "sweep",
    "verify",
]


def catalogue() -> dict[str, list[dict[str, Any]]]:
    """Everything that a scenario can name: by concept, a list of `kind`, `description` and `schema`."""
    found: dict[str, list[dict[str, Any]]] = json.loads(_phit.catalogue())
    return found
