"""Every file that a scenario can name, and every configuration that can be imported, holding something else.

Whatever a reader does not understand, it refuses: nothing counts as empty. A new key that names a file comes here.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import phit
import pytest
from phit.base.errors import InputError
from phit.importing import SIMULATORS
from phit.importing import read as import_

from .conftest import ROOT

LISTING = ROOT / "tests" / "reference" / "infiniband" / "ibnetdiscover" / "ft2_full.txt"

OTHERS = {
    "nothing": "",
    "blank lines": "\n\n",
    "hidden characters": "\x00\x01\x02",
    "an empty table": "{}",
    "an empty list": "[]",
    "words": "hello, world\nthese are words\n",
    "a page": "<html><body></body></html>\n",
    "an edge list": "source,target\na,b\nb,c\n",
    "GraphML": "\n".join(nx.generate_graphml(nx.path_graph(3))),
    "GOAL": "num_ranks 1\nrank 0 {\ncalc 5\n}\n",
    "a scenario": '[topology]\nkind = "single"\nendpoints = 4\n',
    "a trace": "time,source,destination,bytes\n0,0,1,64\n",
    "a fabric": LISTING.read_text(encoding="utf-8"),
    "columns of a trace": "time,source,destination,bytes\n",
    "columns of tables": "router,destination,port\n",
    "columns of layers": "source,destination,layer\n",
    "columns of levels": "source,destination,sl\n",
}
"""Contents of files by their description."""

UNITS = {"cycle": "1 ns", "phit": "8 B"}
TORUS = {"kind": "torus", "dims": [4]}


def of_program(kind: str, path: Path) -> dict[str, Any]:
    return {"topology": TORUS, "units": UNITS, "workload": {"kind": kind, "file": str(path)}}


def of_fabric(key: str, path: Path) -> dict[str, Any]:
    folder = LISTING.parent.parent
    topology = {"kind": "infiniband", "file": str(LISTING), "tables": str(folder / "lfts" / "ft2_minhop.txt")}
    return {"topology": {**topology, key: str(path)}, "routing": "infiniband"}


def of_placement(path: Path) -> dict[str, Any]:
    program = {"kind": "collective", "collective": "all_reduce", "bytes": 64, "algorithm": "ring"}
    placement = {"kind": "file", "file": str(path)}
    return {"topology": TORUS, "units": UNITS, "workload": {**program, "placement": placement}}


def of_graph(path: Path) -> dict[str, Any]:
    return {"topology": {"kind": "graph", "file": str(path)}}


def of_table(key: str, path: Path) -> dict[str, Any]:
    return {"topology": TORUS, "routing": {"kind": "table", key: str(path)}}


def of_trace(path: Path) -> dict[str, Any]:
    return {"topology": TORUS, "traffic": {"packet_size": 8, "trace": {"file": str(path)}}}


Scenario = Callable[[Path], dict[str, Any]]

READERS: dict[str, tuple[str, Scenario, frozenset[str]]] = {
    "edge list": (
        "x.csv",
        of_graph,
        frozenset({"an edge list"}),
    ),
    "GraphML": ("x.graphml", of_graph, frozenset({"GraphML"})),
    "GML": ("x.gml", of_graph, frozenset()),
    "JSON": ("x.json", of_graph, frozenset()),
    "listing": ("x.txt", lambda path: of_fabric("file", path), frozenset({"a fabric"})),
    "forwarding tables": ("x.txt", lambda path: of_fabric("tables", path), frozenset()),
    "service levels": ("x.txt", lambda path: of_fabric("service_levels", path), frozenset()),
    "virtual lanes": ("x.txt", lambda path: of_fabric("virtual_lanes", path), frozenset()),
    "tables": ("x.csv", lambda path: of_table("file", path), frozenset()),
    "layers": (
        "x.csv",
        lambda path: of_table("layers", path),
        frozenset(),
    ),
    "trace": (
        "x.csv",
        of_trace,
        frozenset({"a trace"}),
    ),
    "Parquet": (
        "x.parquet",
        of_trace,
        frozenset(),
    ),
    "GOAL": ("x.goal", lambda path: of_program("goal", path), frozenset({"GOAL"})),
    "Chakra": ("x.et", lambda path: of_program("chakra", path), frozenset()),
    "Chakra as JSON": ("x.json", lambda path: of_program("chakra", path), frozenset()),
    "DUMPI": ("x-0.txt", lambda path: of_program("trace", path), frozenset()),
    "OTF2": ("x.otf2", lambda path: of_program("trace", path), frozenset()),
    "placement": ("x.txt", of_placement, frozenset()),
}
"""Readers, each with a file name, a scenario that names the file, and the contents above that it can read."""


@pytest.mark.parametrize("reader", READERS)
def test_nothing_counts_as_empty(tmp_path: Path, reader: str) -> None:
    name, scenario, readable = READERS[reader]
    path = tmp_path / name
    for what, text in OTHERS.items():
        path.write_text(text, encoding="utf-8")
        document = {"traffic": {"load": 0.1}, "measure": {"warmup": 0, "cycles": 20}, **scenario(path)}
        if "workload" in document:
            document.pop("traffic"), document.pop("measure")
        if what in readable:
            phit.run(document)
            continue
        with pytest.raises((phit.ScenarioError, InputError)) as caught:
            phit.run(document)
        # It is the file that is refused, not what else the scenario says.
        assert name in str(caught.value) or "placement.file" in str(caught.value), what


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_what_is_no_configuration_is_not_imported(tmp_path: Path, simulator: str) -> None:
    path = tmp_path / "x.cfg"
    for text in OTHERS.values():
        path.write_text(text, encoding="utf-8")
        with pytest.raises(phit.PhitError):
            import_(simulator, path)
