"""Networks that users bring: files and graph objects, as `[topology] kind = "graph"` writes them.

A graph's nodes become routers, its edges links in both directions. Routers are numbered in the order of nodes, unless
the names of all nodes are the numbers from 0 on. Names are kept, as `[topology.names]`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from phit.base.errors import InputError
from phit.base.text import quoted
from phit.reading.fabrics import INFINIBAND
from phit.reading.graphs import infiniband
from phit.reading.graphs.network import Network
from phit.reading.graphs.reading import read

__all__ = ["graph", "infiniband", "inlined", "of_fabric"]


def graph(graph: Any, endpoints: int | None = None, group: int = 1) -> dict[str, Any]:
    """The `[topology]` section of a graph of `networkx` or `rustworkx`: `{"topology": phit.graph(g, endpoints=4)}`.

    `graph` may also be a square, symmetric matrix, as an array of `numpy` or as lists: the number of links between two
    routers.

    `endpoints` is the number of endpoints at every router. Without it, nodes may have an attribute `endpoints`, or a
    node may be an endpoint itself, by `type = "endpoint"` and one edge to its router. Without either, every router has
    one endpoint. If it is left out, nodes say it themselves by an attribute `endpoints`, or by `type = "endpoint"` for
    a node that is an endpoint of the network and has one edge, to its router; without either there is one at every
    router. Edges may have the attributes `class`, the name of the link's class, and `parallel`, a number of parallel
    links. `group` is the number of consecutive routers of a group.

    Raises `InputError`, which names the node or edge. The returned section can be written into a scenario. Attributes
    `latency`, `bandwidth` and `buffer` of edges become keys of `router.links` for graphs in files only.
    """
    network = Network("the graph")
    network.add(graph)
    section, links = network.section(endpoints, group)
    if links:
        name = next(iter(links))
        raise InputError(f"edges of class {quoted(name)} have {', '.join(links[name])}; expected them in router.links")
    return section


def inlined(topology: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """A `[topology]` section with the network in place of `file`, and the file's properties for `router.links`."""
    if topology.get("kind") == INFINIBAND:
        return of_fabric(topology, infiniband.fabric(topology))
    for key in ("links", "routers", "classes", "names"):
        if key in topology:
            raise InputError(f"topology.{key}: the file gives it; expected `file` or `{key}`", f"topology.{key}")
    endpoints, group = topology.get("endpoints"), topology.get("group", 1)
    network = read(Path(str(topology["file"])))
    rest = {key: value for key, value in topology.items() if key not in ("file", "endpoints", "group")}
    section, links = network.section(endpoints, group)
    return rest | section, links


def of_fabric(
    topology: Mapping[str, Any], fabric: infiniband.Fabric
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """The `[topology]` section of an InfiniBand fabric, and its properties for `router.links`."""
    section, links = fabric.section(topology.get("group", 1))
    return section | ({"faults": topology["faults"]} if "faults" in topology else {}), links
