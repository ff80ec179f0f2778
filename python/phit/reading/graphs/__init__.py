"""Networks that users bring: files and graph objects, as `[topology] kind = "graph"` writes them.

A graph's nodes become routers, its edges links in both directions. The order of nodes gives the numbers of routers,
unless all names are the numbers from 0 on. Names go with them, as `[topology.names]`.
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

    Or of a square, symmetric matrix, as an array of `numpy` or lists: the number of links between two routers.

    `endpoints` is the number at every router. If it is left out, nodes say it themselves by an attribute `endpoints`,
    or by `type = "endpoint"` for a node that is an endpoint of the network and has one edge, to its router; without
    either there is one at every router. Edges may have the attributes `class`, the name of the link's class, and
    `parallel`, a number of parallel links. `group` is the number of consecutive routers of a group.

    Raises `InputError` that names the node or edge. What is returned can be written into a scenario as it is; keys of
    `router.links` for attributes `latency`, `bandwidth` and `buffer` of edges are made only for graphs in files.
    """
    network = Network("the graph")
    network.add(graph)
    section, links = network.section(endpoints, group)
    if links:
        name = next(iter(links))
        raise InputError(f"edges of class {quoted(name)} have {', '.join(links[name])}; expected them in router.links")
    return section


def inlined(topology: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """A section `[topology]` with `file` replaced by the network in it, and what the file says for `router.links`."""
    if topology.get("kind") == INFINIBAND:
        return of_fabric(topology, infiniband.fabric(topology))
    for key in ("links", "routers", "classes", "names"):
        if key in topology:
            raise InputError(f"topology.{key}: the file says it; expected `file` or `{key}`", f"topology.{key}")
    endpoints, group = topology.get("endpoints"), topology.get("group", 1)
    network = read(Path(str(topology["file"])))
    rest = {key: value for key, value in topology.items() if key not in ("file", "endpoints", "group")}
    section, links = network.section(endpoints, group)
    return rest | section, links


def of_fabric(
    topology: Mapping[str, Any], fabric: infiniband.Fabric
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """The same of an InfiniBand fabric that has been read."""
    section, links = fabric.section(topology.get("group", 1))
    return section | ({"faults": topology["faults"]} if "faults" in topology else {}), links
