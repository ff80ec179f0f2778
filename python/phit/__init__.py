"""Phit: fast, exact simulation of lossless interconnection networks.

>>> import phit
>>> result = phit.run("scenario.toml")  # doctest: +SKIP
>>> points = phit.sweep("experiment.toml", "results/experiment")  # doctest: +SKIP
"""

import json
from importlib import import_module
from typing import TYPE_CHECKING, Any

from phit import _phit
from phit._phit import __version__
from phit.errors import InputError, PhitError, ResultsError, ScenarioError, SimulationError

if TYPE_CHECKING:
    from phit.experiment import Experiment, Point
    from phit.graphs import graph
    from phit.result import Result, run
    from phit.saturation import Saturation, saturate
    from phit.scenario import complete, load, routes, verify
    from phit.sections import schema
    from phit.sweeping import Interrupted, sweep
    from phit.throughput import Bounds, Limit, bound
else:
    # Imported when first asked for: the processes of a sweep, which only simulate, start in a fifth of the time.
    def __getattr__(name: str) -> Any:
        if name in __all__:
            homes = ("scenario", "graphs", "sections", "experiment", "result", "saturation", "sweeping", "throughput")
            for home in homes:
                if (found := getattr(import_module(f"phit.{home}"), name, None)) is not None:
                    globals()[name] = found
                    return found
        raise AttributeError(f"module 'phit' has no attribute {name!r}")


__all__ = [
    "Bounds",
    "Experiment",
    "InputError",
    "Interrupted",
    "Limit",
    "PhitError",
    "Point",
    "Result",
    "ResultsError",
    "Saturation",
    "ScenarioError",
    "SimulationError",
    "__version__",
    "bound",
    "catalogue",
    "complete",
    "graph",
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
    from phit.sections import own_kinds

    for concept, kind in own_kinds().items():
        found[concept].append(kind)
    return found
