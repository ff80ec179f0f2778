"""Phit: fast, exact simulation of lossless interconnection networks.

`run` simulates a scenario, and `sweep` simulates the points of an experiment. `saturate` searches for the load at which
a network saturates. `bound` proves an upper limit of that load. `trace_packet` follows single packets. `load`,
`complete`, `verify` and `routes` examine a scenario without running it. `schema` and `catalogue` list everything that a
scenario may contain. `trigger`, `rule`, `pattern` and `probe` turn Python functions into mechanisms. Bad input raises a
`PhitError`, which is a `ValueError`: a `ScenarioError` for a scenario that cannot be simulated.

>>> import phit
>>> result = phit.run("scenario.toml")  # doctest: +SKIP
>>> points = phit.sweep("experiment.toml", "results/experiment")  # doctest: +SKIP
"""

import json
from importlib import import_module
from typing import TYPE_CHECKING, Any

# This import installs the chosen engine as `phit._phit`, before any other module imports it.
from phit.base import engine as _engine

# isort: split
from phit import _phit
from phit._phit import __version__
from phit.base.errors import InputError, PhitError, ResultsError, ScenarioError, SimulationError

if TYPE_CHECKING:
    from phit._phit import Completion
    from phit.document.completing import complete, routes, verify
    from phit.document.experiment import Experiment, Point
    from phit.document.loading import load
    from phit.document.schema import schema
    from phit.drawing.comparing import Comparison, compare
    from phit.mechanisms import pattern, probe, rule, trigger, trust_python
    from phit.reading.graphs import graph
    from phit.running.journeys import Journey, trace_packet
    from phit.running.network import Network
    from phit.running.run import run
    from phit.running.saturated_curves import saturations
    from phit.running.saturation import Saturation, saturate
    from phit.running.sweeping import Interrupted, sweep
    from phit.store.merging import Merged, merge
    from phit.store.result import Result
    from phit.throughput import Bounds, Limit, bound
else:
    # Imported on first use. Processes of a sweep only simulate, and so start in a fifth of the time.
    _LATER = {
        name: module
        for module, names in {
            "drawing.comparing": ("Comparison", "compare"),
            "document.experiment": ("Experiment", "Point"),
            "reading.graphs": ("graph",),
            "_phit": ("Completion",),
            "running.journeys": ("Journey", "trace_packet"),
            "running.network": ("Network",),
            "store.merging": ("Merged", "merge"),
            "store.result": ("Result",),
            "running.run": ("run",),
            "mechanisms": ("pattern", "probe", "rule", "trigger", "trust_python"),
            "running.saturation": ("Saturation", "saturate"),
            "running.saturated_curves": ("saturations",),
            "document.completing": ("complete", "routes", "verify"),
            "document.loading": ("load",),
            "document.schema": ("schema",),
            "running.sweeping": ("Interrupted", "sweep"),
            "throughput": ("Bounds", "Limit", "bound"),
        }.items()
        for name in names
    }

    def __getattr__(name: str) -> Any:
        if name not in _LATER:
            raise AttributeError(f"module 'phit' has no attribute {name!r}")
        found = globals()[name] = getattr(import_module(f"phit.{_LATER[name]}"), name)
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


ENGINE = _engine.NAME
"""Name of the engine: `phit`, or the name of an extension that adds kinds."""

__all__ = [
    "Bounds",
    "Comparison",
    "Completion",
    "Experiment",
    "InputError",
    "Interrupted",
    "Journey",
    "Limit",
    "Merged",
    "Network",
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
    "commit",
    "compare",
    "complete",
    "graph",
    "load",
    "merge",
    "pattern",
    "probe",
    "routes",
    "rule",
    "run",
    "saturate",
    "saturations",
    "schema",
    "sweep",
    "trace_packet",
    "trigger",
    "trust_python",
    "verify",
]


def commit() -> str | None:
    """The commit from which the engine was built; `None` if it was not built from a checkout."""
    from pathlib import Path

    file = Path(__file__).with_name("_commit.txt")
    return file.read_text(encoding="ascii").strip() or None if file.is_file() else None


def catalogue() -> dict[str, list[dict[str, Any]]]:
    """Everything that a scenario can name, by concept (`"topology"`, `"routing"`, ...).

    Each list has one table for each kind: its `kind`, a `description` in Markdown and the JSON `schema` of its keys.
    """
    found: dict[str, list[dict[str, Any]]] = json.loads(_phit.catalogue())
    from phit.document.schema import add_python_file, own_kinds
    from phit.mechanisms import KINDS

    for kind in (kind for kinds in found.values() for kind in kinds if kind["kind"] in KINDS):
        add_python_file(kind["schema"])
    for concept, kind in own_kinds().items():
        found[concept].append(kind)
    return found
