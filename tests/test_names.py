"""Networks with names: whatever speaks of a router or an endpoint says its name, and no number stands alone."""

import json
import random
import re
from pathlib import Path
from typing import Any

import networkx as nx
import phit
import pytest
from phit.base.errors import InputError, ScenarioError
from phit.reading.graphs import inlined
from phit.reading.graphs.names import distinct

from .conftest import Cli, Write

BARE = re.compile(r"\b(?:routers?|endpoints?|between) \d")
"""A router or an endpoint by its number. Counts stand before the noun: "72 endpoints"."""

INFINIBAND = Path(__file__).parent / "reference" / "infiniband"


def named(seed: int, routers: int = 7) -> "nx.Graph[str]":
    """A random connected graph of routers and hosts with names that numbers cannot be mistaken for."""
    draw = random.Random(seed)
    graph: nx.Graph[str] = nx.Graph()
    names = [f"sw-{draw.choice('abcdef')}{draw.randrange(100, 1000)}.{number}x" for number in range(routers)]
    draw.shuffle(names)
    graph.add_nodes_from(names, type="router")
    for place, name in enumerate(names):
        host = f"node{draw.randrange(100, 1000)}-{place}x"
        graph.add_node(host, type="host")
        if place:
            graph.add_edge(name, names[draw.randrange(place)])
        graph.add_edge(host, name)
    # A ring through all: routes close circles where one channel is all that there is.
    for a, b in zip(names, [*names[1:], names[0]], strict=True):
        graph.add_edge(a, b)
    return graph


def scenario(graph: "nx.Graph[str]", **more: Any) -> dict[str, Any]:
    topology = phit.graph(graph)
    return {
        "topology": topology | more.pop("topology", {}),
        "router": {"links": {"link": {"vcs": 8}}},
        "traffic": {"load": 0.2, "packet_size": 4},
        "measure": {"warmup": 100, "cycles": 300},
    } | more


def spoken(text: str) -> str:
    """The text, in which nothing is called by its number."""
    assert not BARE.search(text), text
    return text


@pytest.fixture(params=[1, 2, 3])
def graph(request: pytest.FixtureRequest) -> "nx.Graph[str]":
    return named(request.param)


def names_of(graph: "nx.Graph[str]", kind: str) -> list[str]:
    return [name for name, attributes in graph.nodes(data=True) if attributes["type"] == kind]


def test_a_graph_keeps_its_names(graph: "nx.Graph[str]", tmp_path: Path) -> None:
    names = phit.graph(graph)["names"]
    assert names["routers"] == names_of(graph, "router")
    assert sorted(names["endpoints"]) == sorted(names_of(graph, "host"))
    # An endpoint is numbered by its router.
    completed = phit.complete(scenario(graph))
    assert completed["topology"]["names"] == names
    for router, host in zip(names["routers"], names["endpoints"], strict=True):
        assert graph.has_edge(router, host)
    for write in (nx.write_graphml, lambda g, path: path.write_text(json.dumps(nx.node_link_data(g, edges="links")))):
        path = tmp_path / ("net.graphml" if write is nx.write_graphml else "net.json")
        write(graph, path)
        assert inlined({"kind": "graph", "file": str(path)})[0]["names"] == names


def test_labels_are_names_where_nodes_are_numbered() -> None:
    graph: nx.Graph[int] = nx.path_graph(3)
    assert "names" not in phit.graph(graph)
    nx.set_node_attributes(graph, {0: "Graz", 1: "Linz", 2: "Linz"}, "label")
    assert phit.graph(graph)["names"] == {"routers": ["Graz", "Linz (1)", "Linz (2)"]}
    # Numbers other than the routers' own are names, too.
    graph = nx.relabel_nodes(nx.path_graph(3), {0: 10, 1: 20, 2: 30})
    assert phit.graph(graph)["names"] == {"routers": ["10", "20", "30"]}
    assert distinct(["a", "a", "a (x)", "\x1b[2J"], ["x", "y", "z", "w"])[:3] == ["a (x) 0", "a (y)", "a (x)"]
    assert len(set(distinct(["a", "a", "a (x)"], ["x", "y", "z"]))) == 3


def test_proofs_speak_of_names(graph: "nx.Graph[str]", write: Write, cli: Cli) -> None:
    document = scenario(graph, routing={"kind": "valiant"}, router={"links": {"link": {"vcs": 1}}})
    report = phit.verify(document)
    known = set(document["topology"]["names"]["routers"])
    assert report["proved"] is False
    spoken(report["reason"])
    assert any(name in report["reason"] for name in known)
    status, out, _ = cli("verify", write(document))
    assert status != 0
    assert any(name in spoken(out) for name in known)
    for channel in report["cycle"]:
        assert channel["name"].partition(" port ")[0] in known


@pytest.mark.parametrize("said", ["has no entry for it", "at port", "comes back to"])
def test_flaws_of_tables_speak_of_names(graph: "nx.Graph[str]", said: str) -> None:
    document = scenario(graph, routing="up_down")
    tables = phit.routes(document)
    entries = [[router, to, port] for router, row in enumerate(tables) for to, port in enumerate(row)]
    # Every router has one endpoint, of its own number, at port 0.
    last = next(place for place in reversed(range(len(entries))) if entries[place][2])
    match said:
        case "has no entry for it":
            entries.pop(last)
        case "at port":
            entries[last][2] = 0
        case _:
            # Two neighbours send packets for a third router to each other.
            a, b, *_ = document["topology"]["links"][0]
            to = next(router for router in range(len(tables)) if router not in (a, b))
            for router, other in ((a, b), (b, a)):
                port = next(p for p in range(1, 9) if leads(document["topology"]["links"], router, p) == other)
                entries[router * len(tables) + to][2] = port
    report = phit.verify(document | {"routing": {"kind": "table", "entries": entries, "layers": []}})
    assert report["proved"] is False
    assert said in spoken(report["reason"])
    assert sum(name in report["reason"] for names in document["topology"]["names"].values() for name in names) >= 2


def leads(links: list[list[int]], router: int, port: int) -> int:
    """The router at the far end of a port that follows the only endpoint's port."""
    return [a + b - router for a, b, *_ in links if router in (a, b)][port - 1]


def test_errors_speak_of_names(graph: "nx.Graph[str]") -> None:
    routers, hosts = names_of(graph, "router"), phit.graph(graph)["names"]["endpoints"]
    cut = [[routers[0], other] for other in graph[routers[0]] if other in routers]
    for topology, words in (
        ({"faults": {"links": cut}}, f"no way is left from router {routers[0]} to router "),
        ({"faults": {"routers": [routers[2][:-1]]}}, f'did you mean "{routers[2]}"?'),
        ({"faults": {"endpoints": ["nobody"]}}, f"unknown endpoint; expected one of {hosts[0]}, "),
        ({"faults": {"links": [[routers[0], routers[0]]]}}, f'["{routers[0]}", "{routers[0]}"]: no (further) link'),
        ({"links": phit.graph(graph)["links"][:1]}, "no links lead from one to the other"),
    ):
        with pytest.raises(ScenarioError) as refused:
            phit.complete(scenario(graph, topology=topology))
        spoken(str(refused.value))
        assert words in str(refused.value)
    document = scenario(graph, workload=twice(hosts), units={"phit": "8 B"})
    program = {key: value for key, value in document.items() if key not in ("traffic", "measure")}
    with pytest.raises(ScenarioError) as refused_again:
        phit.run(program)
    assert f"ranks 0 and 1 at endpoint {hosts[0]}" in spoken(str(refused_again.value))


def twice(hosts: list[str]) -> dict[str, Any]:
    """A program with two ranks at one endpoint."""
    assert hosts
    placement = {"kind": "list", "endpoints": [0, 0]}
    return {"kind": "collective", "collective": "all_reduce", "bytes": 64, "ranks": 2, "placement": placement}


def test_faults_by_names_are_those_by_numbers(graph: "nx.Graph[str]") -> None:
    routers = names_of(graph, "router")
    a, b, *_ = phit.graph(graph)["links"][0]
    spare = phit.graph(graph)["names"]["endpoints"]
    loads = [
        phit.run(scenario(graph, topology={"faults": faults})).summary["packets"]
        for faults in (
            {"links": [[routers[a], routers[b]]], "endpoints": [spare[3]]},
            {"links": [[a, b]], "endpoints": [3]},
            {},
        )
    ]
    assert loads[0] == loads[1] != loads[2]


def test_tables_have_names_beside_numbers(graph: "nx.Graph[str]") -> None:
    probes = [{"kind": "ports", "every": 50}]
    measure = {"warmup": 0, "cycles": 200, "links": True, "endpoints": True, "probes": probes}
    result = phit.run(scenario(graph, traffic={"load": 1.0, "packet_size": 4}, measure=measure))
    names = phit.graph(graph)["names"]
    links = result.tables["links"]
    for row in links.iter_rows(named=True):
        assert row["router_name"] == names["routers"][row["router"]]
        kind, number = row["to"].split()
        assert row["to_name"] == names[f"{kind}s"][int(number)]
    assert result.tables["endpoints"]["endpoint_name"].to_list() == names["endpoints"]
    seen = result.tables["probes"].filter(result.tables["probes"]["router"].is_not_null())
    assert seen.height
    assert all(name == names["routers"][router] for router, name in seen.select("router", "router_name").iter_rows())
    busiest = result.summary["link_utilisation"]["link"]["busiest"]
    row = (
        links.filter(links["class"] == "link")
        .sort("utilisation", descending=True, maintain_order=True)
        .row(0, named=True)
    )
    assert busiest == f"{row['router_name']} port {row['port']}"


def test_networks_without_names_have_no_such_columns() -> None:
    bare = {"kind": "graph", "routers": 2, "links": [[0, 1]]}
    result = phit.run(
        {"topology": bare, "traffic": {"load": 0.1}, "measure": {"warmup": 0, "cycles": 50, "links": True}}
    )
    assert "router_name" not in result.tables["links"].columns
    assert "busiest" not in result.summary["link_utilisation"]["link"]


def test_commands_speak_of_names(graph: "nx.Graph[str]", write: Write, cli: Cli) -> None:
    names = phit.graph(graph)["names"]
    heavy = scenario(graph, traffic={"load": 1.0, "packet_size": 4})
    for command, words in (
        (("run",), names["routers"]),
        (("bound",), names["routers"]),
        (("trace-packet",), names["endpoints"]),
        (("trace-packet",), names["routers"]),
    ):
        status, out, err = cli(*command, write(heavy))
        assert status == 0, err
        assert any(word in spoken(out + err) for word in words), out + err


def test_a_deadlock_speaks_of_names(graph: "nx.Graph[str]") -> None:
    document = scenario(graph, routing="up_down")
    tables = phit.routes(document)
    size = len(tables)
    # All packets go around the ring, in one channel and one direction.
    ports: list[list[int]] = [[] for _ in tables]
    for a, b, *_ in document["topology"]["links"]:
        ports[a].append(b)
        ports[b].append(a)
    entries = [
        [router, to, 0 if router == to else 1 + ports[router].index((router + 1) % size)]
        for router in range(size)
        for to in range(size)
    ]
    stuck = document | {
        "routing": {"kind": "table", "entries": entries, "layers": []},
        "router": {"links": {"link": {"vcs": 1, "buffer": 4}}},
        "traffic": {"load": 1.0, "packet_size": 4, "pattern": {"kind": "shift", "offset": size - 1}},
        "measure": {"warmup": 0, "cycles": 50_000},
    }
    with pytest.raises(phit.SimulationError) as stopped:
        phit.run(stuck)
    text = spoken(str(stopped.value))
    assert "waits for" in text
    assert any(name in text for name in document["topology"]["names"]["routers"])
    assert any(name in text for name in document["topology"]["names"]["endpoints"])


def test_traces_and_pictures_speak_of_names(graph: "nx.Graph[str]") -> None:
    from phit.drawing import perfetto
    from phit.drawing.timelapse import of_probes

    measure = {"messages": True, "tracks": True, "probes": [{"kind": "ports", "every": 1}]}
    program = {"kind": "incast", "bytes": 4096}
    document = scenario(graph, units={"phit": "8 B", "cycle": "1 ns"}, workload=program, measure=measure)
    del document["traffic"]
    result = phit.run(document)
    tracks, _ = perfetto.contents(result)
    names = document["topology"]["names"]
    titles = [spoken(track.name) for track in tracks]
    assert any(f"at endpoint {names['endpoints'][0]}" in title for title in titles)
    assert any(title.partition(" port ")[0] in names["routers"] for title in titles)
    import polars as pl

    picture = of_probes(result.tables["probes"].with_columns(point=pl.lit("a")))
    assert picture is not None
    assert all(f"<title>{name}</title>" in picture.svg() for name in picture.routers.values())


def test_a_report_has_the_names(graph: "nx.Graph[str]", tmp_path: Path, cli: Cli, write: Write) -> None:
    document = scenario(graph, measure={"warmup": 0, "cycles": 100, "links": True}) | {
        "sweep": {"product": {"traffic.load": [0.1, 0.2]}}
    }
    status, _, err = cli("sweep", write(document), "--out", tmp_path / "out")
    assert status == 0, err
    status, _, err = cli("report", tmp_path / "out", "--html", tmp_path / "report.html")
    assert status == 0, err
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert all(name in page for name in document["topology"]["names"]["routers"])


def test_a_fabric_has_faults_by_its_names() -> None:
    fabric = {"kind": "infiniband", "file": str(INFINIBAND / "ibnetdiscover" / "ft2_full.txt")}
    whole = phit.complete({"topology": fabric, "routing": "minimal", "traffic": {"load": 0.1}})["topology"]
    names, (a, b, *_) = whole["names"], whole["links"][0]
    faults = {"links": [[names["routers"][a], names["routers"][b]]]}
    found = phit.complete({"topology": fabric | {"faults": faults}, "routing": "minimal", "traffic": {"load": 0.1}})
    assert found["topology"]["faults"]["links"] == faults["links"]
    with pytest.raises(ScenarioError, match="did you mean"):
        phit.complete(
            {
                "topology": fabric | {"faults": {"routers": [f"{names['routers'][0]}x"]}},
                "routing": "minimal",
                "traffic": {"load": 0.1},
            }
        )


def test_names_that_a_file_gives_are_not_given_again(tmp_path: Path) -> None:
    (tmp_path / "net.csv").write_text("source,target\na,b\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"topology\.names: the file gives it"):
        inlined({"kind": "graph", "file": str(tmp_path / "net.csv"), "names": {"routers": ["a", "b"]}})


def tables_by_names(document: dict[str, Any]) -> dict[str, Any]:
    """The tables of up*/down* routes, entry by entry."""
    ports = phit.routes(document | {"routing": "up_down"})
    names = document["topology"]["names"]
    entries = [
        [names["routers"][router], names["endpoints"][to], port]
        for router, row in enumerate(ports)
        for to, port in enumerate(row)
    ]
    return {"kind": "table", "entries": entries, "layers": [[names["endpoints"][0], names["endpoints"][1], 0]]}


def replaced(value: Any, names: list[str]) -> Any:
    """The value with the number of each of these names in its place."""
    if isinstance(value, dict):
        return {key: replaced(inner, names) for key, inner in value.items()}
    if isinstance(value, list):
        return [replaced(inner, names) for inner in value]
    return names.index(value) if value in names else value


ALL_REDUCE = {"kind": "collective", "collective": "all_reduce", "bytes": 64, "ranks": 3}

BY_NAME: dict[str, Any] = {
    "routing.root": lambda r, _: {"routing": {"kind": "up_down", "root": r[2]}},
    "routing.roots": lambda r, _: {"routing": {"kind": "up_down", "roots": [r[1], r[2]]}},
    "routing.channels": lambda r, _: {"routing": {"channels": [[r[0], 1, 2, [0]]]}},
    "traffic.pattern.targets": lambda _, e: {
        "traffic": {"load": 0.2, "pattern": {"kind": "hotspot", "targets": [e[4], e[1]], "share": 0.5}}
    },
    "traffic.pattern.parts.endpoints": lambda _, e: {
        "traffic": {
            "load": 0.2,
            "pattern": {"kind": "by_endpoint", "parts": [{"endpoints": e[1:3], "pattern": "shift"}]},
        }
    },
    "traffic.trace": lambda _, e: {"traffic": {"load": 0, "trace": [[110, e[3], e[1], 4], [190, e[0], e[2], 8]]}},
    "workload.placement.endpoints": lambda _, e: {
        "workload": {**ALL_REDUCE, "placement": {"kind": "list", "endpoints": [e[5], e[0], e[3]]}}
    },
    "workload.placement.first": lambda _, e: {
        "workload": {**ALL_REDUCE, "placement": {"kind": "linear", "first": e[3]}}
    },
    "workload.job.traffic.pattern.targets": lambda _, e: {
        "workload": {
            "kind": "jobs",
            "job": [
                {"name": "p", "program": ALL_REDUCE, "placement": {"kind": "list", "endpoints": e[:3]}},
                {
                    "name": "t",
                    "traffic": {"load": 0.1, "pattern": {"kind": "hotspot", "targets": [e[5]], "share": 0.5}},
                },
            ],
        }
    },
    "measure.probes.router": lambda r, _: {
        "routing": {"kind": "contention_graph"},
        "measure": {"warmup": 0, "cycles": 200, "probes": [{"kind": "counters", "every": 20, "router": r[1]}]},
    },
    "topology.faults.endpoints": lambda _, e: {"topology": {"faults": {"endpoints": [e[2]]}}},
}
"""A scenario that gives a router or an endpoint by name, for each key that can."""


@pytest.mark.parametrize("key", ["routing.entries", *BY_NAME])
def test_a_name_stands_wherever_a_number_can(graph: "nx.Graph[str]", key: str) -> None:
    names = phit.graph(graph)["names"]
    # A pattern of a job counts the job's endpoints: the last of all is the last but three of the others.
    numbers = names["endpoints"][3:] if key.startswith("workload.job") else names["endpoints"]
    if key in ("routing.entries", "routing.channels"):
        more = {"routing": tables_by_names(scenario(graph))}
        if key == "routing.channels":
            more["routing"] |= BY_NAME[key](names["routers"], names["endpoints"])["routing"]
    else:
        more = BY_NAME[key](names["routers"], names["endpoints"])
    document = scenario(graph, **more)
    if "workload" in document:
        document = {name: table for name, table in document.items() if name not in ("traffic", "measure")}
        document["units"] = {"phit": "8 B"}
    by_number = replaced(replaced(document | {"topology": None}, names["routers"]), numbers)
    by_number = replaced(by_number, names["endpoints"]) | {"topology": document["topology"]}
    if faults := document["topology"].get("faults"):
        by_number["topology"] = document["topology"] | {"faults": replaced(faults, names["endpoints"])}
    assert by_number != document
    runs = [phit.run(one) for one in (document, by_number)]
    assert runs[0]["packets"] == runs[1]["packets"] > 0
    for name in runs[0].tables:
        assert runs[0].tables[name].equals(runs[1].tables[name]), name
    # A name that nothing has is answered with the nearest one.
    wrong = json.loads(json.dumps(document).replace(f'"{names["endpoints"][1]}"', f'"{names["endpoints"][1]}?"'))
    wrong["topology"] = document["topology"]
    if wrong != document:
        with pytest.raises(ScenarioError, match="unknown endpoint"):
            phit.run(wrong)


def test_lists_of_jobs_and_lines_have_names_beside_numbers(graph: "nx.Graph[str]") -> None:
    names = phit.graph(graph)["names"]
    document = scenario(graph, **BY_NAME["workload.job.traffic.pattern.targets"](names["routers"], names["endpoints"]))
    document = {key: table for key, table in document.items() if key not in ("traffic", "measure")}
    jobs = phit.run(document | {"units": {"phit": "8 B"}}).tables["jobs"]
    for row in jobs.iter_rows(named=True):
        assert row["endpoint_names"] == [names["endpoints"][endpoint] for endpoint in row["endpoints"]]
    measure = {"warmup": 0, "cycles": 3000, "probes": [{"kind": "trees", "every": 20}]}
    spot = {"kind": "hotspot", "targets": [names["endpoints"][0]], "share": 0.9}
    queueing = {"queueing": "fbicm", "routing": "up_down"}
    busy = scenario(graph, traffic={"load": 1.0, "packet_size": 4, "pattern": spot}, measure=measure, **queueing)
    busy["router"]["admittance"] = "per_destination"
    busy["router"]["links"]["default"] = {"vcs": 1, "buffer": 1024}
    busy["router"]["links"]["link"] = {"vcs": 1, "buffer": 1024}
    probes = phit.run(busy).tables["probes"]
    seen = probes.filter(probes["destinations"].is_not_null())
    assert seen.height
    for row in seen.iter_rows(named=True):
        assert row["destination_names"] == [names["endpoints"][endpoint] for endpoint in row["destinations"]]


def test_routes_have_names_and_are_read_again(graph: "nx.Graph[str]", tmp_path: Path, write: Write, cli: Cli) -> None:
    names = phit.graph(graph)["names"]
    document = scenario(graph, routing="up_down")
    status, out, err = cli("routes", write(document))
    assert status == 0, err
    head, *rows = out.splitlines()
    assert head == "router,destination,port,router_name,destination_name"
    for row in rows:
        router, to, _, router_name, destination_name = row.split(",")
        assert (router_name, destination_name) == (names["routers"][int(router)], names["endpoints"][int(to)])
    # Both what was printed and a table that has names alone are read.
    (tmp_path / "routes.csv").write_text(out, encoding="utf-8")
    short = [f"{name},{to},{port}" for _, _, port, name, to in (row.split(",") for row in rows)]
    (tmp_path / "names.csv").write_text("\n".join(["router,destination,port", *short]), encoding="utf-8")
    for file in ("routes.csv", "names.csv"):
        table = {"kind": "table", "file": str(tmp_path / file), "layers": []}
        assert phit.routes(document | {"routing": table}) == phit.routes(document)


def test_ranks_are_placed_by_a_file_of_names(graph: "nx.Graph[str]", tmp_path: Path) -> None:
    hosts = phit.graph(graph)["names"]["endpoints"]
    file = tmp_path / "places"
    document = scenario(graph, units={"phit": "8 B"})
    document["workload"] = {**ALL_REDUCE, "placement": {"kind": "file", "file": str(file)}}
    document = {key: table for key, table in document.items() if key not in ("traffic", "measure")}
    file.write_text("\n".join([hosts[4], "1", hosts[2]]), encoding="utf-8")
    assert phit.run(document).tables["ranks"]["endpoint"].to_list() == [4, 1, 2]
    file.write_text("\n".join([hosts[4], "nobody", hosts[2]]), encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"line 2: .*the number or the name of an endpoint"):
        phit.run(document)


def test_packets_are_followed_from_an_endpoint_by_name(graph: "nx.Graph[str]", write: Write, cli: Cli) -> None:
    hosts = phit.graph(graph)["names"]["endpoints"]
    file = write(scenario(graph, traffic={"load": 0.5, "packet_size": 4}))
    answers = [cli("trace-packet", file, "--source", source) for source in (hosts[3], "3")]
    assert answers[0] == answers[1]
    assert answers[0][0] == 0
    assert hosts[3] in spoken(answers[0][1])
    status, _, err = cli("trace-packet", file, "--source", f"{hosts[3]}?")
    assert status != 0
    assert f'did you mean "{hosts[3]}"?' in err


SILENT = {
    "list", "schema", "new-mechanism", "validate", "reproduce", "cost", "import", "workload", "interference",
    "merge", "watch", "fidelity",
}  # fmt: skip
"""Commands that speak of no single router or endpoint."""


def test_every_command_speaks_of_names(graph: "nx.Graph[str]", tmp_path: Path, write: Write, cli: Cli) -> None:
    document = scenario(graph, routing="up_down", traffic={"load": 0.9, "packet_size": 4})
    document["measure"] |= {"links": True, "endpoints": True, "probes": [{"kind": "ports", "every": 100}]}
    file = write(document)
    sweep = write(document | {"sweep": {"product": {"traffic.load": [0.2, 0.9]}}}, "sweep.json")
    results = [tmp_path / name for name in ("one", "other", "sweep")]
    commands: dict[str, list[Any]] = {
        "run": [file, "--out", results[0]],
        "sweep": [sweep, "--out", results[2]],
        "saturate": [file, "--tolerance", "0.2"],
        "compare": [results[0], results[1]],
        "report": [results[2]],
        "plot": [results[2]],
        "verify": [file],
        "bound": [file],
        "routes": [file],
        "trace-packet": [file],
    }
    assert cli("run", file, "--set", "seed=2", "--out", results[1])[0] == 0
    status, help_, _ = cli("--help")
    listed = set(re.findall(r"^  ([a-z][a-z-]*)  +[A-Z]", help_, re.MULTILINE))
    assert commands.keys() | SILENT == listed, "every command of this test, or with a reason not to be"
    for command, arguments in commands.items():
        status, out, err = cli(command, *arguments)
        assert status == 0, (command, out, err)
        spoken(out + err)
