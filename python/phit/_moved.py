"""Modules under the names that they had before they moved into rooms."""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

MOVED = {
    "_results": "store._results",
    "amounts": "base.amounts",
    "comparing": "drawing.comparing",
    "crates": "mechanisms.crates",
    "dask": "running.dask",
    "durations": "base.durations",
    "errors": "base.errors",
    "executors": "running.executors",
    "experiment": "document.experiment",
    "files": "base.files",
    "graphs": "reading.graphs",
    "happenings": "document.happenings",
    "keys": "document.keys",
    "labels": "document.labels",
    "layout": "drawing.layout",
    "lazily": "base.lazily",
    "left_out": "base.left_out",
    "machine": "base.machine",
    "markdown": "base.markdown",
    "merging": "store.merging",
    "mpi_transport": "running.mpi_transport",
    "origins": "document.origins",
    "otf2": "reading.otf2",
    "perfetto": "drawing.perfetto",
    "plots": "drawing.plots",
    "progress": "running.progress",
    "quantities": "store.quantities",
    "report": "drawing.report",
    "result": "store.result",
    "results": "store.folder",
    "saturated_curves": "running.saturated_curves",
    "scenario": "document.scenario",
    "sections": "document.sections",
    "sharding": "running.sharding",
    "short": "drawing.short",
    "slips": "document.slips",
    "slurm": "running.slurm",
    "stacking": "store.stacking",
    "stored": "store.stored",
    "studies.peers": "peers",
    "studies.validation.comparison": "peers.comparison",
    "sweeping": "running.sweeping",
    "terminal": "running.terminal",
    "text": "base.text",
    "times": "base.times",
    "tracks": "drawing.tracks",
    "watching": "drawing.watching",
    "where": "running.where",
    "words": "base.words",
    "workers": "running.workers",
}


class _Same(Loader):
    def __init__(self, name: str) -> None:
        self._name = name
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:  # noqa: ARG002
        module = import_module(self._name)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec


class _Finder(MetaPathFinder):
    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        name = fullname.removeprefix("phit.")
        old = next((old for old in MOVED if name == old or name.startswith(f"{old}.")), None)
        if name == fullname or old is None:
            return None
        return ModuleSpec(fullname, _Same(f"phit.{MOVED[old]}{name[len(old) :]}"))


def install() -> None:
    """Finds modules under their former names."""
    sys.meta_path.append(_Finder())
