"""Networks from files and from graph objects."""

import gzip
import json
import lzma
import re
import tempfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import phit
import pytest
from hypothesis import given
from hypothesis import strategies as st
from phit.base import left_out
from phit.base.errors import InputError
from phit.reading.graphs import inlined
from phit.reading.graphs.reading import read

from .conftest import Cli, Write


def section(path: Path, **keys: Any) -> dict[str, Any]:
    return inlined({"kind": "graph", "file": str(path), **keys})[0]


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@st.composite
def networks(draw: st.DrawFn) -> "nx.Graph[int]":
    """A connected graph of routers with endpoints, classes and parallel links."""
    routers = draw(st.integers(2, 12))
    graph: nx.Graph[int] = nx.Graph()
    for router in range(routers):
        graph.add_node(router, endpoints=draw(st.integers(0, 3)))
    pairs = [(draw(st.integers(0, router - 1)), router) for router in range(1, routers)]
    pairs += draw(st.lists(st.tuples(st.integers(0, routers - 1), st.integers(0, routers - 1)), max_size=12))
    for a, b in pairs:
        if a != b and not graph.has_edge(a, b):
            attributes = {"class": draw(st.sampled_from(["link", "long"])), "parallel": draw(st.integers(1, 3))}
            graph.add_edge(a, b, **attributes)
    return graph


def links(topology: dict[str, Any]) -> set[tuple[int, int, str, int]]:
    """Links by their ends and class, each with how often it is there."""
    names = topology.get("classes", ["link"])
    rows = [(*sorted(row[:2]), names[row[2] if len(row) > 2 else 0]) for row in topology["links"]]
    return {(a, b, name, rows.count((a, b, name))) for a, b, name in rows}


@given(networks())
def test_every_way_of_writing_a_network_gives_the_same(graph: "nx.Graph[int]") -> None:
    expected = phit.graph(graph)
    assert expected["routers"] == len(graph)
    assert sum(expected["endpoints"]) == sum(graph.nodes[router]["endpoints"] for router in graph)
    with tempfile.TemporaryDirectory() as folder:
        nx.write_graphml(graph, Path(folder) / "net.graphml")
        for key in ("links", "edges"):
            text = json.dumps(nx.node_link_data(graph, edges=key))
            assert links(section(written(Path(folder) / "net.json", text))) == links(expected)
        assert section(Path(folder) / "net.graphml")["endpoints"] == expected["endpoints"]
        assert links(section(Path(folder) / "net.graphml")) == links(expected)
        rows = [f"{a},{b},{d['class']},{d['parallel']}" for a, b, d in graph.edges(data=True)]
        path = written(Path(folder) / "net.csv", "\n".join(["source,target,class,parallel", *rows]))
        assert links(section(path, endpoints=2)) == links(expected)


def test_a_graph_may_be_of_rustworkx_or_a_matrix() -> None:
    expected = {"kind": "graph", "routers": 3, "endpoints": 4, "links": [[0, 1], [0, 1], [1, 2]]}
    matrix = [[0, 2, 0], [2, 0, 1], [0, 1, 0]]
    assert phit.graph(matrix, endpoints=4) == phit.graph(np.array(matrix), endpoints=4) == expected

    class Indexed:
        """As much of a `rustworkx.PyGraph` as is asked."""

        def node_indices(self) -> list[int]:
            return [0, 1, 2]

        def __getitem__(self, index: int) -> str:
            return f"node {index}"

        def weighted_edge_list(self) -> list[tuple[int, int, Any]]:
            return [(0, 1, {"parallel": 2}), (1, 2, 1.0)]

    assert phit.graph(Indexed(), endpoints=4) == expected
    with pytest.raises(InputError, match="links from 0 to 1: 1, and back: 0; expected equal numbers"):
        phit.graph([[0, 1], [0, 0]])
    with pytest.raises(InputError, match="row 1 of the matrix has 1 values; expected 2"):
        phit.graph([[0, 1], [1]])
    with pytest.raises(InputError, match="int: expected a graph of networkx or rustworkx, or a matrix of links"):
        phit.graph(7)


def test_endpoints_may_be_nodes_of_the_graph() -> None:
    graph: nx.Graph[str] = nx.path_graph(["s0", "s1", "s2"])
    for host, switch in [("a", "s0"), ("b", "s0"), ("c", "s2")]:
        graph.add_node(host, type="host")
        graph.add_edge(host, switch)
    assert phit.graph(graph) == {
        "kind": "graph", "routers": 3, "endpoints": [2, 0, 1], "links": [[0, 1], [1, 2]],
        "names": {"routers": ["s0", "s1", "s2"], "endpoints": ["a", "b", "c"]},
    }  # fmt: skip
    graph.add_edge("a", "s1")
    with pytest.raises(InputError, match="endpoint 'a' has several links; expected one: a host with several"):
        phit.graph(graph)


def test_links_may_say_what_they_are(tmp_path: Path) -> None:
    path = written(tmp_path / "net.csv", "source,target,latency,bandwidth\nx,y,10,\ny,z,,2\nz,x,,\n")
    topology, keys = inlined({"kind": "graph", "file": str(path)})
    assert topology["classes"] == ["link latency=10", "link bandwidth=2", "link"]
    assert topology["links"] == [[0, 1], [1, 2, 1], [2, 0, 2]]
    assert keys == {"link latency=10": {"latency": 10}, "link bandwidth=2": {"bandwidth": 2}}


def test_an_adjacency_list_may_name_a_link_at_both_ends(tmp_path: Path) -> None:
    path = written(tmp_path / "net.adjlist", "# a triangle\n0 1 2\n1 0 2\n2 0 1\n")
    assert section(path)["links"] == [[0, 1], [0, 2], [1, 2]]


HEAD = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">\n'
TWO_GRAPHS = f'{HEAD}<node id="a"/></graph><graph edgedefault="undirected"><node id="b"/></graph></graphml>'
TWICE_ONE_ID = (
    '<node id="a"/><node id="b"/><edge id="e" source="a" target="b"/><edge id="e" source="a" target="b"/>'
    "</graph></graphml>"
)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.csv", "source,target\n0,1\n1,0\n1,2\n", "line 4: '1' to '2' is listed in one direction, others in both"),
        ("a.csv", "source,target\n0,1\n2,3\n", "line 3: no links lead from router '2' to '0' (2 of 4 routers"),
        ("a.csv", "source,target\n0,1,2\n", "line 2: 3 values; expected 2"),
        ("a.csv", "source,target\n0,\n", "line 2: the name of a router is missing"),
        ("a.csv", "source,target,latancy\n0,1,9\n", "line 1: column 'latancy'; expected the columns source, target"),
        ("a.csv", "x,y\n0,1\n", "line 1: x,y; expected the columns source, target"),
        ("a.csv", "source,target,parallel\n0,1,1.5\n", "line 2: parallel = '1.5'; expected a whole number of 1"),
        ("a.csv", "source,target,latency\n0,1,-3\n", "line 2: latency = '-3'; expected a whole number of 0"),
        ("a.csv", "source,target\n", "no links; expected a network"),
        ("a.json", "[]", "expected node-link JSON"),
        ("a.json", "{", "not valid JSON"),
        ("a.json", '{"nodes": [{"id": 0}], "links": [{"source": 0, "target": 9}]}', "links[0]: there is no node '9'"),
        ("a.json", '{"nodes": [{}], "links": []}', "nodes[0]: {}; expected a table with `id`"),
        ("a.graphml", "<graph>", "not valid GraphML"),
        (
            "a.net",
            "graph {}",
            "expected a file that ends in .csv, .graphml, .gml, .dot, .gv, .json, .yaml, .yml, .adjlist",
        ),
        ("a.adjlist", "0 1 1 2\n1 0\n", "line 1: links between '0' and '1'"),
        ("a.graphml", TWO_GRAPHS, "2 graphs; expected one"),
        (
            "a.graphml",
            HEAD + '<node id="a"/>\n<node id="a"/></graph></graphml>',
            "line 3: node 'a' is already defined in line 2",
        ),
        ("a.graphml", HEAD + TWICE_ONE_ID, "2 nodes and 1 edges were read, and 2 and 2 stand there"),
        ("a.gml", "graph [ node [ id 0 ] edge [ source 0 target 1 ] ]", "not valid GML"),
    ],
)
def test_mistakes_are_named_with_file_and_line(tmp_path: Path, name: str, text: str, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        section(written(tmp_path / name, text))
    assert expected in str(caught.value)
    assert name in str(caught.value)


def test_too_many_kinds_of_links_are_refused(tmp_path: Path) -> None:
    rows = [f"{i},{i + 1},{i}" for i in range(9)]
    path = written(tmp_path / "net.csv", "\n".join(["source,target,latency", *rows]))
    with pytest.raises(InputError, match="line 9: another class of links, 'link latency=7'; expected at most 7"):
        section(path)


def test_what_the_file_says_cannot_be_said_again(tmp_path: Path) -> None:
    path = written(tmp_path / "net.csv", "source,target\n0,1\n")
    with pytest.raises(InputError, match=r"topology\.links: the file gives it"):
        section(path, links=[[0, 1]])
    with pytest.raises(InputError, match=r"no such file"):
        read(tmp_path / "none.csv")


def infragraph() -> dict[str, Any]:
    """Hosts of two interfaces, each at one leaf, and spines that all leaves are linked to."""
    leaves, spines = 4, 3
    server = {"name": "server", "components": [{"name": "nic", "choice": "nic", "count": 2}, xpu(2)]}
    switch = {"name": "switch", "components": [{"name": "asic", "choice": "switch"}, port(16)]}
    edges = [edge("slow", f"host[{i}]", "nic", f"leaf[{i}]", "port[0:2]") for i in range(leaves)]
    pairs = [(leaf, spine) for leaf in range(leaves) for spine in range(spines)]
    edges += [edge("fast", f"leaf[{a}]", f"port[{2 + b}]", f"spine[{b}]", f"port[{a}]") for a, b in pairs]
    counts = [("host", "server", leaves), ("leaf", "switch", leaves), ("spine", "switch", spines)]
    return {
        "name": "fabric",
        "devices": [server, switch],
        "instances": [{"name": name, "device": device, "count": count} for name, device, count in counts],
        "links": [rate("slow", 100), rate("fast", 400)],
        "edges": edges,
    }


def xpu(count: int) -> dict[str, Any]:
    return {"name": "xpu", "choice": "xpu", "count": count}


def port(count: int) -> dict[str, Any]:
    return {"name": "port", "choice": "port", "count": count}


def rate(name: str, gigabits: int) -> dict[str, Any]:
    return {"name": name, "physical": {"bandwidth": {"gigabits_per_second": gigabits}}}


def edge(link: str, a: str, part_a: str, b: str, part_b: str, scheme: str = "one2one") -> dict[str, Any]:
    ends = [{"instance": a, "component": part_a}, {"instance": b, "component": part_b}]
    return {"scheme": scheme, "link": link, "ep1": ends[0], "ep2": ends[1]}


def test_infragraph_names_instances_and_components(tmp_path: Path) -> None:
    def read_as(document: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        return inlined({"kind": "graph", "file": str(written(tmp_path / "net.json", json.dumps(document)))})

    document = infragraph()
    topology, keys = read_as(document)
    assert topology["routers"] == 7
    assert topology["endpoints"] == [2, 2, 2, 2, 0, 0, 0]
    assert topology["links"] == [[leaf, 4 + spine] for leaf in range(4) for spine in range(3)]
    assert keys == {"fast bandwidth=400 Gb/s": {"bandwidth": "400 Gb/s"}, "endpoint": {"bandwidth": "100 Gb/s"}}
    # Instances in the order of their numbers; components as far as both sides have one, or each to all.
    document["edges"][:4] = [edge("slow", "host", "nic", "leaf[0:4]", "port")]
    assert read_as(document) == (topology, keys)
    document["edges"][1:] = [edge("fast", "leaf[0:3]", "port[2:4]", "spine[::-1]", "port[0:2]", "many2many")]
    document["edges"] += [edge("fast", "leaf[3]", "port[7]", f"leaf[{i}]", "port[7]") for i in range(3)]
    many = read_as(document)[0]
    assert [row for row in many["links"] if row[1] > 3] == [[leaf, 6 - leaf] for leaf in range(3) for _ in range(4)]


@pytest.mark.skipif(find_spec("yaml") is None, reason="needs PyYAML")
def test_infragraph_is_read_as_yaml(tmp_path: Path) -> None:
    """JSON is YAML, too; documents with aliases, which can stand for more than any memory, are refused."""
    text = json.dumps(infragraph())
    blocks = import_module("yaml").safe_dump(json.loads(text))
    as_json = section(written(tmp_path / "net.json", text))
    assert section(written(tmp_path / "net.yaml", text)) == as_json
    assert section(written(tmp_path / "net.yml", blocks)) == as_json
    for wrong, words in (
        ("a: &x [1]\nb: *x\n", "net.yaml: an alias (`*name`)"),
        ("a: [1\n", "net.yaml: not valid YAML: "),
        ("a: 1\n", "net.yaml: expected InfraGraph, a table of `devices`, `instances` and `edges`"),
    ):
        with pytest.raises(InputError, match=re.escape(words)):
            read(written(tmp_path / "net.yaml", wrong))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"instance": "host[4]"}, "edges[0].ep1.instance: index '4'; expected a number below 4"),
        ({"instance": "guest"}, "edges[0].ep1: there is no instance 'guest'"),
        ({"component": "fan"}, "edges[0].ep1: there is no component 'fan' in 'host'"),
        ({"component": "nic[0"}, "edges[0].ep1.component: 'nic[0'; expected a name, or a name with indices"),
        ({"instance": "host"}, "edges[0]: 4 instances at ep1 and 1 at ep2; expected equal numbers"),
    ],
)
def test_mistakes_in_infragraph_are_named(tmp_path: Path, change: dict[str, str], expected: str) -> None:
    document = infragraph()
    document["edges"][0]["ep1"] |= change
    with pytest.raises(InputError) as caught:
        section(written(tmp_path / "net.json", json.dumps(document)))
    assert expected in str(caught.value)


def test_every_endpoint_has_the_bandwidth_of_its_own_link(tmp_path: Path) -> None:
    document = infragraph()
    document["edges"][0]["link"] = "fast"
    file = {"kind": "graph", "file": str(written(tmp_path / "net.json", json.dumps(document)))}
    topology, keys = inlined(file)
    assert topology["endpoint_bandwidth"] == ["400 Gb/s"] * 2 + ["100 Gb/s"] * 6
    assert keys["endpoint"] == {"bandwidth": "100 Gb/s"}
    # A key of the scenario for all endpoints overrides the file.
    complete = phit.complete({"topology": file, "router": LINKS, "traffic": {"load": 0.1}})
    assert "endpoint_bandwidth" in complete["topology"]
    said = {"links": LINKS["links"] | {"endpoint": {"bandwidth": "200 Gb/s"}}}
    complete = phit.complete({"topology": file, "router": said, "traffic": {"load": 0.1}})
    assert "endpoint_bandwidth" not in complete["topology"]


def test_links_of_endpoints_have_one_latency(tmp_path: Path) -> None:
    nodes = [{"id": name, "type": "host"} for name in "ab"] + [{"id": "s"}]
    links = [{"source": name, "target": "s", "latency": latency} for name, latency in (("a", 1), ("b", 2))]
    text = json.dumps({"nodes": nodes, "links": links})
    with pytest.raises(InputError, match="links of endpoints of two kinds: latency = 2 here and latency = 1 at"):
        section(written(tmp_path / "net.json", text))


LINKS: dict[str, Any] = {"links": {"default": {"vcs": 4}}}


def test_links_of_a_file_may_have_quantities(tmp_path: Path) -> None:
    rows = "x,y,200 ns,100 Gb/s,64 KiB\ny,z,0.2 us,50 Gb/s,64 KiB\n"
    path = written(tmp_path / "net.csv", f"source,target,latency,bandwidth,buffer\n{rows}")
    endpoint = {"bandwidth": "100 Gb/s", "latency": "100 ns", "buffer": "64 KiB"}
    document = {
        "topology": {"kind": "graph", "file": str(path)},
        "router": {"links": {"default": {"vcs": 2}, "endpoint": endpoint}, "latency": "100 ns"},
        "traffic": {"load": 0.2, "packet_size": "4 KiB"},
        "measure": {"warmup": "10 us", "cycles": "100 us"},
    }
    complete = phit.complete(document)
    links = complete["router"]["links"]
    found = [links[name]["bandwidth"] for name in complete["topology"]["classes"]]
    assert (found, links["endpoint"]["bandwidth"]) == ([1, 0.5], 1)
    with pytest.raises(
        InputError, match="line 2: latency = '200 Gs'; expected a whole number of 0 or more, or \"200 ns\""
    ):
        section(written(tmp_path / "net.csv", "source,target,latency\nx,y,200 Gs\n"))


DOT = 'graph { node [shape=box]; a; subgraph cluster { b -- c; a -- b }; b:west -- a; "c" -- a }'


def test_multigraphs_have_parallel_links(tmp_path: Path) -> None:
    """As many links between a and b as the file has edges, however it is written; the matrix says the same."""
    edges = [("a", "b"), ("a", "b"), ("b", "c"), ("c", "a")]
    expected = {"kind": "graph", "routers": 3, "endpoints": 1, "links": [[0, 1], [0, 1], [1, 2], [2, 0]]}
    graph: nx.MultiGraph[str] = nx.MultiGraph(edges)
    assert links(phit.graph(graph, endpoints=1)) == links(expected)
    assert links(phit.graph([[0, 2, 1], [2, 0, 1], [1, 1, 0]], endpoints=1)) == links(expected)
    lines = "\n".join(f'<edge id="e{i}" source="{a}" target="{b}"/>' for i, (a, b) in enumerate(edges))
    nodes = "".join(f'<node id="{name}"/>' for name in "abc")
    texts = {
        "net.graphml": f"{HEAD}{nodes}\n{lines}</graph></graphml>",
        "net.gml": "graph [\n" + "".join(f"node [ id {i} label \"{name}\" ]\n" for i, name in enumerate("abc"))
        + "".join(f"edge [ source {'abc'.index(a)} target {'abc'.index(b)} ]\n" for a, b in edges) + "]\n",
        "net.json": json.dumps(nx.node_link_data(graph, edges="links")),
        "net.csv": "source,target\n" + "".join(f"{a},{b}\n" for a, b in edges),
        "net.adjlist": "a b b c\nb c\n",
    }  # fmt: skip
    if find_spec("pydot"):
        texts["net.dot"] = DOT
    for name, text in texts.items():
        found = section(written(tmp_path / name, text), endpoints=1)
        assert links(found) == links(expected), name
        assert "left_out" not in found, name
    # Parallel links may be of several kinds.
    text = "source,target,class,latency\na,b,fast,1\na,b,slow,9\nb,a,slow,9\nb,a,fast,1\n"
    assert links(section(written(tmp_path / "kinds.csv", text))) == {
        (0, 1, "fast latency=1", 1), (0, 1, "slow latency=9", 1),
    }  # fmt: skip


@given(networks())
def test_what_is_counted_is_what_the_file_has(graph: "nx.Graph[int]") -> None:
    """Links, links from a router to itself and routers without links add up to the file's edges and nodes."""
    many: nx.MultiGraph[int] = nx.MultiGraph(graph)
    many.add_node(len(graph), endpoints=0)
    many.add_edges_from([(0, 0), (0, 0)], parallel=1)
    many.add_edges_from(list(graph.edges)[:2], parallel=1)
    total = sum(int(attributes["parallel"]) for *_, attributes in many.edges(data=True))
    with tempfile.TemporaryDirectory() as folder:
        nx.write_graphml(many, Path(folder) / "net.graphml")
        directed = nx.DiGraph(graph)
        nx.write_graphml(directed, Path(folder) / "both.graphml")
        found, both = (section(Path(folder) / name) for name in ("net.graphml", "both.graphml"))
    left = {row["what"]: row["count"] for row in found["left_out"]}
    assert left == {"links from a router to itself": 2, "routers without a link": 1}
    assert len(found["links"]) == total - 2
    assert found["routers"] == many.number_of_nodes() - 1
    assert left_out.counted(found)["endpoints"] == sum(many.nodes[node]["endpoints"] for node in many)
    # Each link in both directions is one link.
    assert links(both) == links(phit.graph(graph))
    (row,) = both["left_out"]
    assert row["what"] == "second directions of links that are listed in both"
    assert row["count"] == len(both["links"])


# In the style of the Internet Topology Zoo (S. Knight et al., "The Internet Topology Zoo", IEEE JSAC 2011). It has the
# Zoo's attributes, types from a map's legend, two edges of one pair, and a node without links.
ZOO = """<?xml version="1.0" encoding="utf-8"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key attr.name="LinkSpeedRaw" attr.type="double" for="edge" id="d4" />
  <key attr.name="id" attr.type="string" for="edge" id="d3" />
  <key attr.name="type" attr.type="string" for="node" id="d2" />
  <key attr.name="Country" attr.type="string" for="node" id="d1" />
  <key attr.name="label" attr.type="string" for="node" id="d0" />
  <graph edgedefault="undirected">
    <node id="0"><data key="d2">Green Node</data><data key="d0">Ahaus</data></node>
    <node id="1"><data key="d2">PoP</data><data key="d1">Nowhere</data><data key="d0">Bedburg</data></node>
    <node id="2"><data key="d0">Celle</data></node>
    <node id="3"><data key="d0">Dahlem</data></node>
    <edge source="0" target="1"><data key="d3">e1</data><data key="d4">1e9</data></edge>
    <edge source="0" target="1"><data key="d3">e3</data></edge>
    <edge source="1" target="2"><data key="d3">e5</data></edge>
  </graph></graphml>
"""


# As the editor yEd writes it: what stands at a line of the drawing is a label within the edge's graphics.
YED = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com/xml/graphml">
  <key for="edge" id="d9" yfiles.type="edgegraphics"/>
  <graph edgedefault="undirected" id="G">
    <node id="n0"/><node id="n1"/><node id="n2"/>
    <edge id="e0" source="n0" target="n1">
      <data key="d9"><y:PolyLineEdge><y:EdgeLabel>LABEL</y:EdgeLabel></y:PolyLineEdge></data>
    </edge>
    <edge id="e1" source="n1" target="n2"/>
  </graph></graphml>
"""


@pytest.mark.parametrize("label", ["100G", "10 GbE", "400 Gb/s", "2.5 Gbps", "800g"])
def test_speeds_in_labels_of_links_are_left_out_and_counted(tmp_path: Path, label: str) -> None:
    found, _ = read(written(tmp_path / "net.graphml", YED.replace("LABEL", label))).section(None, 1)
    assert [(row["what"], row["count"], row["first"]) for row in found["left_out"]] == [
        ("speeds of links that are not given as `bandwidth`", 1, "line 6 (edge 'e0')")
    ]


def test_other_labels_of_links_are_names(tmp_path: Path) -> None:
    found, _ = read(written(tmp_path / "net.graphml", YED.replace("LABEL", "uplink 3"))).section(None, 1)
    assert "left_out" not in found


def test_attributes_and_types_of_others_are_left_out_and_counted(tmp_path: Path) -> None:
    network = read(written(tmp_path / "net.graphml", ZOO))
    assert [node.label for node in network.nodes.values()] == ["Ahaus", "Bedburg", "Celle", "Dahlem"]
    found, _ = network.section(None, 1)
    assert found["links"] == [[0, 1], [0, 1], [1, 2]]
    assert [(row["what"], row["count"], row["first"]) for row in found["left_out"]] == [
        ("speeds of links that are not given as `bandwidth`", 1, "line 12"),
        ("types of nodes that name neither a router nor an endpoint", 2, "line 8"),
        ("routers without a link", 1, "line 11"),
        ("attributes that Phit does not use (Country, LinkSpeedRaw)", 2, "line 9"),
    ]
    # The engine keeps it with the scenario, and phit.verify says it.
    scenario = {"topology": {"kind": "graph", "file": str(tmp_path / "net.graphml")}, "traffic": {"load": 0.1}}
    report = phit.verify(scenario)
    assert report["network"] == {"routers": 3, "endpoints": 3, "links": 3}
    assert report["left_out"] == found["left_out"]
    assert phit.complete(scenario)["topology"]["left_out"] == found["left_out"]


@pytest.mark.filterwarnings("default")
def test_what_is_left_out_is_said_where_it_runs(tmp_path: Path, cli: Cli, write: Write) -> None:
    file = written(tmp_path / "net.graphml", ZOO)
    scenario = {
        "topology": {"kind": "graph", "file": str(file)}, "router": {"links": {"default": {"vcs": 2}}},
        "traffic": {"load": 0.1}, "measure": {"warmup": 10, "cycles": 100},
    }  # fmt: skip
    path = write(scenario)
    for command in ("verify", "run"):
        code, out, err = cli(command, path)
        assert code == 0, err
        assert "network: 3 routers, 3 endpoints, 3 links between routers" in out
        assert "left out: routers without a link: 1 (first: line 11)" in err
    page = tmp_path / "page.html"
    assert cli("run", path, "--html", page)[0] == 0
    assert "left out: routers without a link: 1" in page.read_text(encoding="utf-8")
    with pytest.warns(UserWarning, match=r"left out: routers without a link: 1 \(first: line 11\)"):
        phit.run(path)


def test_a_type_that_may_be_an_endpoints_is_refused() -> None:
    graph: nx.Graph[str] = nx.path_graph(["s0", "s1", "s2"])
    graph.nodes["s1"]["type"] = "spine"
    graph.add_node("a", type="host")
    graph.add_edge("a", "s0")
    assert phit.graph(graph)["endpoints"] == [1, 0, 0]
    graph.add_node("b", type="gpu")
    graph.add_edge("b", "s2")
    with pytest.raises(InputError, match="type = 'gpu' of 'b', which has 1 link: a router or an endpoint"):
        phit.graph(graph)


def test_a_router_with_endpoints_and_no_link_is_refused() -> None:
    graph: nx.Graph[str] = nx.path_graph(["a", "b"])
    graph.add_node("c", endpoints=2)
    with pytest.raises(InputError, match="router 'c' has no link; expected links, or no endpoints"):
        phit.graph(graph)


def test_a_processor_in_a_switch_is_its_chip(tmp_path: Path) -> None:
    """The generic switch of the package `infragraph` is a box of ports with a chip of the choice `cpu`."""
    document = infragraph()
    document["devices"][1]["components"][0]["choice"] = "cpu"
    document["devices"][1]["edges"] = [{"ep1": {"component": "asic"}, "ep2": {"component": "port"}}]
    own = section(written(tmp_path / "net.json", json.dumps(document)))
    assert [own["routers"], sum(own["endpoints"]), len(own["links"])] == [7, 8, 12]
    assert own["left_out"] == [{"what": "edges inside devices", "count": 1, "first": "devices[1]"}]
    # In de Bruijn graphs some switches are linked to themselves.
    document["edges"].append(edge("fast", "spine[0]", "port[8]", "spine[0]", "port[9]"))
    looped = section(written(tmp_path / "net.json", json.dumps(document)))
    assert looped["links"] == own["links"]
    assert {"what": "links from a router to itself", "count": 1, "first": "edges[16]"} in looped["left_out"]


def test_every_file_that_is_no_network_is_refused(tmp_path: Path) -> None:
    """Empty, cut off, or of another format: never an empty network."""
    graph: nx.Graph[int] = nx.cycle_graph(6)
    texts = {
        ".graphml": "\n".join(nx.generate_graphml(graph)),
        ".gml": "\n".join(nx.generate_gml(graph)),
        ".json": json.dumps(nx.node_link_data(graph, edges="links"), indent=1),
        ".csv": "source,target\n" + "".join(f"{a},{b}\n" for a, b in graph.edges),
        ".adjlist": "\n".join(nx.generate_adjlist(graph)),
    }
    for suffix in texts:
        for text in ("", "\n\n", "\x00\x01\x02", "{}", "[]", "<html></html>", *texts.values()):
            # Any words are an adjacency list.
            if text != texts[suffix] and not (suffix == ".adjlist" and text[:1].isalnum()):
                with pytest.raises(InputError):
                    section(written(tmp_path / f"net{suffix}", text))
        whole = section(written(tmp_path / f"net{suffix}", texts[suffix]))
        assert [whole["routers"], len(whole["links"])] == [6, 6]
        if suffix not in (".csv", ".adjlist"):
            for end in range(1, len(texts[suffix]) - 1, 7):
                with pytest.raises(InputError):
                    section(written(tmp_path / f"net{suffix}", texts[suffix][:end]))


def test_dot_is_read_as_graphviz_means_it(tmp_path: Path) -> None:
    pytest.importorskip("pydot")

    def found(text: str) -> set[tuple[int, int, str, int]]:
        return links(section(written(tmp_path / "net.gv", text), endpoints=1))

    ring = {(0, 1, "link", 1), (1, 2, "link", 1), (0, 2, "link", 1)}
    assert found('graph { a -- b -- "c" -- a:p0:n }') == ring
    # An end may be a set of nodes; in a strict graph an edge is there once; each edge of a digraph, or both ways.
    assert found("graph { a -- {b c}; b -- c }") == ring
    assert found("strict graph { a -- b; b -- a; b -- c -- a; a -- c }") == ring
    assert found("digraph { a -> b -> c -> a }") == found("digraph { a -> b -> c -> a -> c -> b -> a }") == ring
    assert found("graph { a -- b -- c -- a [class=fast, latency=3] }") == {
        (a, b, "fast latency=3", 1) for a, b, *_ in ring
    }  # fmt: skip
    for text, expected in [
        ("graph { a -- b ", "not valid DOT"),
        ("graph { a -- b } graph { c -- d }", "2 graphs; expected one"),
        ("graph { node [type=host]; a -- b }", "node: a default for type; expected it at each node"),
        ("digraph { a -> b -> a; b -> c }", "is listed in one direction, others in both"),
    ]:
        with pytest.raises(InputError, match=re.escape(expected)):
            found(text)


@pytest.mark.parametrize("name", ["net.csv", "net.json", "net.gml", "net.dot", "net.adjlist", "net.graphml"])
def test_a_mark_of_the_encoding_in_front_is_left_out(name: str, tmp_path: Path) -> None:
    """Programs on Windows write one into files of text."""
    graph = nx.path_graph(["a", "b", "c"])
    texts = {
        "csv": "source,target\na,b\nb,c\n",
        "json": json.dumps(nx.node_link_data(graph, edges="links")),
        "gml": "\n".join(nx.generate_gml(graph)),
        "dot": "graph { a -- b -- c }",
        "adjlist": "a b\nb c\n",
        "graphml": "\n".join(nx.generate_graphml(graph)),
    }
    plain, marked = tmp_path / f"plain_{name}", tmp_path / name
    plain.write_text(texts[name.rpartition(".")[2]], encoding="utf-8")
    marked.write_text(plain.read_text(encoding="utf-8"), encoding="utf-8-sig")
    assert section(marked)["links"] == section(plain)["links"]
    assert section(marked).get("names") == section(plain).get("names")


def test_a_scenario_can_begin_with_a_mark_of_its_encoding(tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text('[topology]\nkind = "single"\nendpoints = 3\n[traffic]\nload = 0.1\n', encoding="utf-8-sig")
    assert phit.complete(path)["topology"]["endpoints"] == 3


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("net.csv", "source,target\na,b\n".encode("utf-16"), "text in UTF-16: save it as UTF-8 first"),
        ("fabric.txt", "Switch 4 S-1\n".encode("utf-16"), "text in UTF-16: save it as UTF-8 first"),
        ("net.json", gzip.compress(b"{}"), "compressed by gzip: decompress it first"),
        ("net.graphml", gzip.compress(b"<graphml/>"), "compressed by gzip: decompress it first"),
        ("net.csv.xz", lzma.compress(b"source,target\na,b\n"), "compressed by xz: decompress it first"),
        ("fabric.txt", b"PK\x03\x04", "a zip archive: unpack it first"),
    ],
    ids=["csv-utf16", "fabric-utf16", "json-gzip", "graphml-gzip", "csv-xz", "fabric-zip"],
)
def test_files_in_other_forms_are_named(tmp_path: Path, name: str, content: bytes, why: str) -> None:
    """A network is never read from the bytes of another form, and the message says which form it is."""
    path = tmp_path / name
    path.write_bytes(content)
    kind = "infiniband" if name == "fabric.txt" else "graph"
    document = {"topology": {"kind": kind, "file": str(path)}, "traffic": {"load": 0.1}}
    with pytest.raises(phit.PhitError, match=re.escape(f"{name}: cannot be read ({why})")):
        phit.complete(document)


def test_a_scenario_in_another_form_is_named(tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_bytes('[topology]\nkind = "single"\n'.encode("utf-16"))
    with pytest.raises(phit.PhitError, match="text in UTF-16"):
        phit.complete(path)


def test_labels_of_an_editor_are_names(tmp_path: Path) -> None:
    """The editor yEd numbers nodes (`n0`, in groups `n0::n1`) and keeps what people write in labels."""
    node = '<node id="{}"><data key="d6"><y:ShapeNode><y:NodeLabel>{}</y:NodeLabel></y:ShapeNode></data></node>'
    nodes = "".join(node.format(*pair) for pair in [("n0", "spine"), ("n1", "leaf 1"), ("n2", "leaf 2")])
    edges = '<edge id="e0" source="n0" target="n1"/><edge id="e1" source="n0" target="n2"/>'
    text = f"""<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com/xml/graphml">
<key for="node" id="d6" yfiles.type="nodegraphics"/><graph edgedefault="undirected">{nodes}{edges}</graph></graphml>"""
    assert section(written(tmp_path / "net.graphml", text))["names"]["routers"] == ["spine", "leaf 1", "leaf 2"]
