"""BookSim's configurations as scenarios: the language, every key, and the networks that come of them."""

import csv
import json
import runpy
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any

import phit
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phit.document import Document
from phit.document.completing import complete
from phit.document.paths import get_path
from phit.importing import RefusedError, Status, read
from phit.importing.booksim import grammar, printed
from phit.importing.booksim.keys import KEYS
from phit.importing.settings import MEANING
from phit.importing.simulators import recognised

from .conftest import ROOT, Cli

MESH = {"topology": "mesh", "k": "4", "n": "2", "routing_function": "dor"}


def imported(folder: Path, **keys: Any) -> phit.importing.Imported:
    """The import of a configuration with these keys."""
    file = folder / "config"
    file.write_text("".join(f"{key} = {value};\n" for key, value in keys.items()), encoding="utf-8")
    return read("booksim", file)


def refused(folder: Path, **keys: Any) -> str:
    """The refusal of a configuration."""
    with pytest.raises(RefusedError) as error:
        imported(folder, **keys)
    return str(error.value)


# The language


def test_the_longest_token_counts() -> None:
    text = "a = {1,2}; // b = 1;\nb=-3;c = 1.5e-3;d= x/y-z.w;e = hotspot({3,5},{1,2});f = .5;\n"
    found = [(s.key, s.value, s.place) for s in grammar.settings(text, "f", Path("f"))]
    assert found == [
        ("a", "{1,2}", "f:1"),
        ("b", -3, "f:2"),
        ("c", 1.5e-3, "f:2"),
        ("d", "x/y-z.w", "f:2"),
        ("e", "hotspot({3,5},{1,2})", "f:2"),
        ("f", 0.5, "f:2"),
    ]
    assert grammar.elements("{{1,2},3}") == ["{1,2}", "3"]
    # Several parameters are a list, a single one stands by itself.
    assert grammar.called("hotspot({{3,5},{1,2}})") == ("hotspot", ["{3,5}", "{1,2}"])
    assert grammar.called("randperm(3)") == ("randperm", ["3"])


@pytest.mark.parametrize("text", ["k 8;", "k = ;", "k = 8", "= 8;", "k = 8 9;", "8 = k;", "k = ;;", "@"])
def test_what_is_no_setting_is_refused_with_its_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config"
    file.write_text(f"n = 2;\n{text}\n", encoding="utf-8")
    with pytest.raises(phit.InputError, match=r"config:2: .*expected `key = value;`"):
        read("booksim", file)


# Networks


NETWORKS: list[tuple[dict[str, Any], Document]] = [
    (MESH, {"kind": "mesh", "dims": [4, 4]}),
    ({"topology": "torus", "k": 5, "n": 3, "routing_function": "dim_order"}, {"kind": "torus", "dims": [5, 5, 5]}),
    (
        {"topology": "cmesh", "k": 4, "c": 4, "x": 4, "y": 4, "xr": 2, "yr": 2, "routing_function": "dor_no_express"},
        {"kind": "mesh", "dims": [4, 4], "endpoints_per_router": 4},
    ),
    (
        {"topology": "flatfly", "k": 4, "c": 9, "x": 4, "y": 4, "xr": 3, "yr": 3, "routing_function": "ran_min"},
        {"kind": "hyperx", "dims": [4, 4], "endpoints_per_router": 9, "lengths": [3, 3]},
    ),
    (
        {"topology": "fattree", "k": 4, "n": 3, "routing_function": "anca"},
        {"kind": "clos", "down": [4, 4, 4], "up": [4, 4]},
    ),
    ({"topology": "qtree", "k": 4, "n": 3, "routing_function": "nca"}, {"kind": "clos", "down": [4] * 3, "up": [1, 1]}),
    (
        {"topology": "dragonflynew", "k": 2, "n": 1, "routing_function": "min"},
        {"kind": "dragonfly", "p": 2, "a": 4, "h": 2, "arrangement": "consecutive"},
    ),
    ({"topology": "fly", "k": 10, "n": 1, "routing_function": "dest_tag"}, {"kind": "single", "endpoints": 10}),
]


@pytest.mark.parametrize(("keys", "topology"), NETWORKS, ids=[str(keys["topology"]) for keys, _ in NETWORKS])
def test_every_topology_runs(tmp_path: Path, keys: dict[str, Any], topology: Document) -> None:
    found = imported(tmp_path, **keys, injection_rate=0.05, sample_period=300)
    assert found.document["topology"] == topology
    assert tomllib.loads(found.to_toml()) == found.document
    assert phit.run(found.document)["accepted_load"] == pytest.approx(0.05, rel=0.25)


# In an empty network BookSim's latency is known: 3 cycles at the ends, its stages in every router, and the channels.
@pytest.mark.parametrize(
    ("keys", "hop", "ends"),
    [
        # Stages VA, SA, ST and a link of 1; a torus' links have 2 cycles, with a routing stage 3 + 1 + 2.
        ({**MESH, "routing_delay": 0, "traffic": "neighbor"}, 3 + 1, 3 + 3),
        ({"topology": "torus", "k": 4, "routing_function": "dim_order", "traffic": "neighbor"}, 4 + 2, 3 + 4),
        (
            {"topology": "torus", "k": 4, "routing_function": "dim_order", "traffic": "neighbor", "use_noc_latency": 0},
            4 + 1,
            3 + 4,
        ),
    ],
)
def test_an_empty_network_has_booksims_latency(tmp_path: Path, keys: dict[str, Any], hop: int, ends: int) -> None:
    found = imported(tmp_path, **keys, injection_rate=0.001, sample_period=2000)
    result = phit.run(found.document)
    # Shortest and longest of all: on a mesh the last router's neighbour is the first one.
    longest = 6 if keys["topology"] == "mesh" else 2
    assert result["latency_p50"] == (ends + 2 * hop)
    assert result.tables["histogram"]["latency"].max() == ends + longest * hop


def test_the_dragonflys_latencies_stand_in_its_source(tmp_path: Path) -> None:
    links = imported(tmp_path, **NETWORKS[6][0], num_vcs=3).document["router"]["links"]
    assert {name: (link["latency"], link["vcs"]) for name, link in links.items()} == {
        "endpoint": (1, 3),
        "local": (10, 2),
        "global": (100, 2),
    }


def test_anynet_becomes_a_graph_with_its_routes(tmp_path: Path) -> None:
    # Router 0 reaches router 2 over 1 in 2 cycles, not in 5; nodes are not in the order of routers.
    (tmp_path / "net").write_text("router 0 node 2 router 1 router 2 5\nrouter 1 node 0\nrouter 2 node 1 router 1\n")
    keys = {"topology": "anynet", "network_file": "net", "routing_function": "min", "num_vcs": 1}
    with pytest.raises(phit.InputError, match="the link from router 0 to 2 has 5 cycles, the link back 1"):
        imported(tmp_path, **keys)
    (tmp_path / "net").write_text(
        "router 0 node 2 router 1 router 2 5\nrouter 1 node 0\nrouter 2 node 1 router 1 router 0 5\n"
    )
    found = imported(tmp_path, **keys, injection_rate=0.01, traffic="neighbor", c=1, k=3, n=1)
    document = found.document
    assert document["topology"]["endpoints"] == [1, 1, 1]
    assert document["topology"]["links"] == [[0, 1, 0], [0, 2, 1], [1, 2, 0]]
    # Entries of router 0: to itself, and to the others over port 1.
    assert document["routing"]["entries"][:3] == [[0, 0, 0], [0, 1, 1], [0, 2, 1]]
    # BookSim's 0, 1, 2 stand at routers 1, 2, 0, and each sends to the next: routers 1 to 2, 2 to 0, 0 to 1.
    assert document["traffic"]["pattern"] == {"kind": "shift", "offset": 1}
    assert phit.run(document)["hops_mean"] == pytest.approx(4 / 3, abs=0.03)


# The router


def ring(folder: Path, **keys: Any) -> phit.Result:
    """A ring of 8 in which every router sends all it can to the next, with a channel for each side of the dateline."""
    network = {"topology": "torus", "k": 8, "n": 1, "routing_function": "dim_order", "use_noc_latency": 0}
    load = {"traffic": "neighbor", "injection_rate": 1.0, "injection_rate_uses_flits": 1, "sim_type": "throughput"}
    timing = {"num_vcs": 2, "routing_delay": 0, "credit_delay": 2, "sample_period": 2000}
    return phit.run(imported(folder, **network, **load, **{**timing, **keys}).document)


@pytest.mark.parametrize("packet", [1, 4, 8])
@pytest.mark.parametrize("credit_delay", [0, 2])
def test_a_channel_waits_for_the_tail_s_credit(tmp_path: Path, packet: int, credit_delay: int) -> None:
    # A flit's credit returns 5 cycles after its grant, and later by its delay. The head's channel at the next router
    # delays the tail by a cycle, and the next head takes a cycle for its channel here. BookSim: 0.111, 0.333, 0.5 and,
    # for 4 flits without delay, 0.4.
    period = packet - 1 + 5 + credit_delay + 2
    found = ring(tmp_path, packet_size=packet, wait_for_tail_credit=1, credit_delay=credit_delay)["accepted_load"]
    assert found == pytest.approx(packet / period, rel=0.005)


def test_two_channels_wait_apart(tmp_path: Path) -> None:
    # BookSim: 0.667.
    found = ring(tmp_path, packet_size=4, wait_for_tail_credit=1, num_vcs=4)["accepted_load"]
    assert found == pytest.approx(2 / 3, rel=0.01)


def test_links_of_a_flattened_butterfly_have_their_lengths(tmp_path: Path) -> None:
    keys = {"topology": "flatfly", "k": 4, "c": 4, "x": 4, "y": 4, "xr": 2, "yr": 2, "routing_function": "ran_min"}
    document = imported(tmp_path, **keys, routing_delay=0, injection_rate=0.002, sample_period=10_000).document
    links = {name: link["latency"] for name, link in document["router"]["links"].items()}
    assert links == {"endpoint": 1, "length2": 2, "length4": 4, "length6": 6}
    latencies = {int(latency) for latency, count in phit.run(document).tables["histogram"].rows() if count > 20}
    # 3 cycles at the ends, 3 in each router, and two links of these lengths or none.
    lengths = (0, 2, 4, 6)
    assert latencies == {3 + 3 * (1 + (a > 0) + (b > 0)) + a + b for a in lengths for b in lengths}


def test_lengths_of_a_cube_are_those_of_its_floor_plan(tmp_path: Path) -> None:
    # Planes stand below one another: from one to the next it is as far as there are rows.
    keys = {
        "topology": "flatfly",
        "k": 2,
        "n": 3,
        "c": 2,
        "x": 2,
        "y": 2,
        "xr": 2,
        "yr": 1,
        "routing_function": "ran_min",
    }
    document = imported(tmp_path, **keys).document
    assert document["topology"]["lengths"] == [2, 1, 2]
    links = {name: link["latency"] for name, link in document["router"]["links"].items()}
    assert links == {"endpoint": 1, "length1": 1, "length2": 2}
    assert "where x is not k" in refused(tmp_path, **{**keys, "x": 4, "y": 4})
    assert "7 can be expressed" in refused(tmp_path, **{**keys, "k": 6, "x": 6, "y": 6})


EXPRESS = {"topology": "cmesh", "k": 4, "c": 4, "x": 4, "y": 4, "xr": 2, "yr": 2, "routing_function": "dor"}


def test_express_channels_of_the_concentrated_mesh(tmp_path: Path) -> None:
    keys = {**EXPRESS, "use_noc_latency": 1, "injection_rate": 0.01, "sample_period": 5000}
    document = imported(tmp_path, **keys, routing_delay=0).document
    links = {name: link["latency"] for name, link in document["router"]["links"].items()}
    # Two cycles from router to router, and half of an edge of eight endpoints.
    assert links == {"endpoint": 1, "cycles2": 2, "cycles4": 4}
    # 24 links of the mesh, and two along each edge.
    assert sorted(link[2] for link in document["topology"]["links"]) == [0] * 24 + [1] * 8
    # BookSim, which counts routers: 3.122.
    assert phit.run(document)["hops_mean"] == pytest.approx(2.122, rel=0.01)
    assert phit.verify(document)["proved"]
    assert "k = 5: expected an even number, 4 at least" in refused(tmp_path, **{**keys, "k": 5})


LINE = {"topology": "flatfly", "k": 8, "n": 1, "c": 6, "x": 8, "y": 1, "xr": 6, "yr": 1, "routing_function": "ran_min"}


def test_a_line_of_routers_needs_no_square(tmp_path: Path) -> None:
    found = imported(tmp_path, **LINE, use_noc_latency=0, traffic="neighbor", injection_rate=0.1, sample_period=500)
    assert found.document["topology"] == {"kind": "hyperx", "dims": [8], "endpoints_per_router": 6}
    # A row of endpoints: each is its own number, and the next one of six is at another router.
    assert phit.run(found.document)["hops_mean"] == pytest.approx(1 / 6, rel=0.05)
    assert any("BookSim stops where x is not y" in str(warning) for warning in found.warnings)
    assert "c = 6: expected c = xr * yr" in refused(tmp_path, **{**LINE, "xr": 5})
    assert "x = 3: expected the 8 routers to fill rows of x" in refused(tmp_path, **{**LINE, "x": 3})


@pytest.mark.parametrize(("width", "hops"), [(2, 1.5), (4, 1.0), (8, 1.5)])
def test_rows_of_the_floor_plan_may_be_longer_or_shorter_than_those_of_the_routers(
    tmp_path: Path, width: int, hops: float
) -> None:
    keys = {
        "topology": "flatfly",
        "k": 4,
        "n": 2,
        "c": 4,
        "x": width,
        "y": width,
        "xr": 2,
        "yr": 2,
        "routing_function": "ran_min",
    }
    found = imported(tmp_path, **keys, use_noc_latency=0, traffic="neighbor", injection_rate=0.1, sample_period=2000)
    # BookSim, which counts routers: 2.506, 2.006 and 2.501.
    assert phit.run(found.document)["hops_mean"] == pytest.approx(hops, rel=0.01)


def test_a_switch_whose_inputs_choose_among_outputs(tmp_path: Path) -> None:
    keys = {"topology": "fly", "k": 10, "n": 1, "routing_function": "dest_tag", "num_vcs": 8, "routing_delay": 0}
    allocator = {"vc_allocator": "separable_input_first", "sw_allocator": "separable_input_first"}
    document = imported(tmp_path, **keys, **allocator, injection_rate=0.6, sample_period=8000).document
    # BookSim: 9.334; an arbiter that chooses among queues makes it 16.06.
    assert phit.run(document)["latency_mean"] == pytest.approx(9.334, rel=0.02)


ALLOCATORS: dict[str, Document] = {
    "islip": {"kind": "islip"},
    "islip(3)": {"kind": "islip", "iterations": 3},
    "select": {"kind": "islip"},
    "pim(2)": {"kind": "pim", "lots": "places", "iterations": 2},
    "separable_input_first": {"kind": "separable_input_first", "among": "outputs"},
    "separable_output_first(matrix)": {"kind": "separable_output_first", "arbiter": "least_recently_served"},
    "wavefront": {"kind": "wavefront"},
    "rr_wavefront": {"kind": "wavefront", "diagonal": "after_first"},
    "max_size": {"kind": "maximum_matching"},
    "loa": {"kind": "lonely_output"},
}


@pytest.mark.parametrize("name", ALLOCATORS)
def test_crossbar_and_channels_have_allocators_of_their_own(tmp_path: Path, name: str) -> None:
    both = {"sw_allocator": name, "vc_allocator": "wavefront"}
    router = imported(tmp_path, **MESH, **both).document["router"]
    assert (router["allocator"], router["vc_allocator"]) == (ALLOCATORS[name], {"kind": "wavefront"})
    both = {"sw_allocator": "wavefront", "vc_allocator": name}
    document = imported(tmp_path, **MESH, **both, injection_rate=0.1, sample_period=200).document
    router = document["router"]
    assert (router["allocator"], router["vc_allocator"]) == ({"kind": "wavefront"}, ALLOCATORS[name])
    assert phit.run(document)["accepted_load"] == pytest.approx(0.1, rel=0.2)


@pytest.mark.parametrize("name", ALLOCATORS)
def test_the_oldest_packet_goes_first_where_the_allocator_knows_priorities(tmp_path: Path, name: str) -> None:
    knows = not name.startswith(("islip", "pim", "loa", "max_size"))
    expected = ALLOCATORS[name] | ({"priority": "age"} if knows else {})
    found = imported(tmp_path, **MESH, priority="age", sw_allocator=name, vc_allocator=name)
    router = found.document["router"]
    assert (router["allocator"], router["vc_allocator"]) == (expected, expected)
    assert any("priority = age" in warning for warning in found.warnings) is not knows
    assert phit.run(found.document)["accepted_load"] == pytest.approx(0.1, rel=0.2)
    # A crossbar without priorities leaves its key out, channels have them by themselves.
    mixed = imported(tmp_path, **MESH, priority="age", sw_allocator="islip", vc_allocator=name)
    assert mixed.document["router"]["vc_allocator"] == expected
    assert any("priority = age" in warning for warning in mixed.warnings)


def test_age_changes_latencies_as_in_booksim(tmp_path: Path) -> None:
    # BookSim: 34.44 and 31.26. Input arbiters that choose the oldest packet choose the same output more often.
    keys: dict[str, Any] = {"num_vcs": 4, "packet_size": 4, "injection_rate": 0.13, "sample_period": 5000}
    keys |= dict.fromkeys(("sw_allocator", "vc_allocator"), "separable_input_first")
    for priority, latency in (("age", 34.44), ("none", 31.26)):
        document = imported(tmp_path, **MESH, **keys, priority=priority).document
        assert phit.run(document)["latency_mean"] == pytest.approx(latency, rel=0.025), priority


def test_other_priorities(tmp_path: Path) -> None:
    plain = imported(tmp_path, **MESH, sw_allocator="wavefront").document
    found = imported(tmp_path, **MESH, sw_allocator="wavefront", priority="class", class_priority=3)
    assert (found.document["router"], found.warnings) == (plain["router"], [])
    for name in ("network_age", "local_age", "queue_length", "hop_count", "sequence"):
        assert "priority = " in refused(tmp_path, **MESH, sw_allocator="wavefront", priority=name)


def test_an_allocator_that_cannot_be_expressed_is_refused(tmp_path: Path) -> None:
    for key in ("sw_allocator", "vc_allocator"):
        assert f"{key} = 'select(2)'" in refused(tmp_path, **MESH, **{key: "select(2)"}).replace('"', "'")
        assert key in refused(tmp_path, **MESH, **{key: "separable_input_first(tree2)"})


@pytest.mark.parametrize("name", ALLOCATORS)
def test_heads_speculate(tmp_path: Path, name: str) -> None:
    document = imported(tmp_path, **MESH, speculative=1, sw_allocator=name, vc_allocator=name).document
    router = document["router"]
    assert (router["vc_allocation"], router["vc_allocator"]) == ("speculative", ALLOCATORS[name])
    # These know no priorities.
    alike = name.startswith(("islip", "pim", "loa", "max_size"))
    assert router.get("speculation") == ("alike" if alike else None)
    assert phit.run(document)["accepted_load"] == pytest.approx(0.1, rel=0.2)


def test_speculation_in_other_ways_is_refused(tmp_path: Path) -> None:
    for keys in ({"spec_check_elig": 0}, {"spec_check_cred": 0}, {"spec_sw_allocator": "islip"}):
        (key,) = keys
        assert f"{key} = " in refused(tmp_path, **MESH, speculative=1, **keys)
        assert "spec" not in str(imported(tmp_path, **MESH, **keys).document)


def test_ports_have_several_paths(tmp_path: Path) -> None:
    router = imported(tmp_path, **MESH, input_speedup=2, output_speedup=3).document["router"]
    assert (router["input_speedup"], router["output_speedup"]) == (2, 3)
    assert "input_speedup" not in imported(tmp_path, **MESH).document["router"]
    assert "input_speedup" in refused(tmp_path, **MESH, input_speedup=0)


def test_ugal_on_a_flattened_butterfly(tmp_path: Path) -> None:
    keys = {"topology": "flatfly", "k": 4, "c": 4, "x": 4, "y": 4, "xr": 2, "yr": 2, "routing_function": "ugal"}
    routing = {"kind": "ugal_l", "stop": "between", "queue": "port"}
    assert imported(tmp_path, **keys).document["routing"] == routing | {"threshold": 2}
    # Without a routing stage the endpoint routes ahead.
    ahead = imported(tmp_path, **keys, routing_delay=0).document["routing"]
    assert ahead == routing | {"threshold": 2, "decide": "sending"}
    assert imported(tmp_path, **keys, packet_size=2).document["routing"] == routing | {"threshold": 1}
    assert "packet_size" in refused(tmp_path, **keys, packet_size=4)


def test_the_dragonfly_has_a_channel_for_each_phase(tmp_path: Path) -> None:
    keys = {"topology": "dragonflynew", "k": 2, "n": 1, "traffic": "uniform", "vc_buf_size": 256}
    document = imported(tmp_path, **keys, routing_function="min", num_vcs=2, sample_period=2000).document
    assert document["routing"] == {"kind": "dragonfly_phases", "adaptive": False}
    assert [document["router"]["links"][name]["vcs"] for name in ("local", "global")] == [2, 2]
    assert phit.run(document)["accepted_load"] == pytest.approx(0.1, rel=0.05)
    document = imported(tmp_path, **keys, routing_function="ugal", num_vcs=3).document
    assert document["routing"] == {"kind": "dragonfly_phases"}
    assert "num_vcs" in refused(tmp_path, **keys, routing_function="ugal", num_vcs=4)
    assert "num_vcs" in refused(tmp_path, **keys, routing_function="min", num_vcs=1)


def test_packets_of_anynet_take_any_channel(tmp_path: Path) -> None:
    (tmp_path / "net").write_text("router 0 node 0 router 1\nrouter 1 node 1\n")
    keys = {"topology": "anynet", "network_file": "net", "routing_function": "min", "num_vcs": 3, "traffic": "neighbor"}
    document = imported(tmp_path, **keys, k=2, n=1, injection_rate=0.8, sim_type="throughput").document
    assert document["routing"]["layer_width"] == 3
    # A single channel rests between packets, and would carry 1/3.
    assert phit.run(document)["accepted_load"] == pytest.approx(0.8, rel=0.03)


# Traffic


def destinations(pattern: Document, endpoints: int) -> list[int]:
    """Where each endpoint sends to, for patterns of shifts."""
    if pattern["kind"] == "shift":
        return [(e + pattern["offset"]) % endpoints for e in range(endpoints)]
    found = [-1] * endpoints
    for part in pattern["parts"]:
        for endpoint in part["endpoints"]:
            found[endpoint] = (endpoint + part["pattern"]["offset"]) % endpoints
    return found


def test_endpoints_of_a_floor_plan_are_renumbered(tmp_path: Path) -> None:
    keys = {"topology": "cmesh", "k": 2, "c": 4, "x": 2, "y": 2, "xr": 2, "yr": 2, "routing_function": "dor_no_express"}
    pattern = imported(tmp_path, **keys, traffic="transpose").document["traffic"]["pattern"]
    # A grid of 4 x 4 endpoints, 2 x 2 of them at each router: transposition of the grid changes routers 1 and 2, and
    # within each router its second and third endpoint.
    swapped = [0, 2, 1, 3]
    assert destinations(pattern, 16) == [4 * swapped[e // 4] + swapped[e % 4] for e in range(16)]
    pattern = imported(tmp_path, **keys, traffic="tornado").document["traffic"]["pattern"]
    # One place on in both dimensions of the grid of 4 x 4.
    assert destinations(pattern, 16)[:4] == [3, 6, 9, 12]


def test_loads_count_flits(tmp_path: Path) -> None:
    def load(**keys: Any) -> float:
        return float(imported(tmp_path, **MESH, **keys).document["traffic"]["load"])

    assert load(injection_rate=0.02, packet_size=5) == 0.1
    assert load(injection_rate=0.1, packet_size=5, injection_rate_uses_flits=1) == 0.1
    # Three quarters have 2 flits, a quarter 6.
    assert load(injection_rate=0.1, packet_size="{{2,6}}", packet_size_rate="{{3,1}}") == pytest.approx(0.3)
    # A read has 1 + 5 flits and a write 5 + 1 with their replies.
    sizes = {"read_reply_size": 5, "write_request_size": 5}
    ranges = {
        f"{kind}_{end}_vc": -1
        for kind in ("read_request", "write_request", "read_reply", "write_reply")
        for end in ("begin", "end")
    }
    assert load(use_read_write=1, injection_rate=0.3, injection_rate_uses_flits=1, **sizes, **ranges) == 0.3
    assert load(use_read_write=1, injection_rate=0.02, **sizes, **ranges) == pytest.approx(0.12)


def test_bursts(tmp_path: Path) -> None:
    def process(text: str) -> Any:
        keys: dict[str, Any] = {"injection_rate": 0.1, "packet_size": 2, "injection_process": text}
        return imported(tmp_path, **MESH, **keys).document["traffic"]["process"]

    # On a third of the time: the peak is three times the rate; phits, not packets.
    assert process("on_off({0.05,0.1})") == {"kind": "on_off", "burst": 10.0, "peak": pytest.approx(0.6)}
    assert process("on_off({0.05,-1,0.3})") == {"kind": "on_off", "burst": 10.0, "peak": pytest.approx(0.6)}


# Keys


def rows() -> list[dict[str, str]]:
    """The keys of BookSim, with their defaults."""
    with (ROOT / "tests" / "reference" / "booksim_keys.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_key_is_known_with_its_default() -> None:
    known = {name: key for name, key in KEYS.items() if key.status is not Status.STALE}
    assert known.keys() == {row["key"] for row in rows()}
    for row in rows():
        default = known[row["key"]].default
        assert str(default) == row["default"] or float(default) == float(row["default"]), row["key"]


@pytest.mark.parametrize("name", sorted(KEYS))
def test_a_key_at_its_default_changes_nothing(tmp_path: Path, name: str) -> None:
    key = KEYS[name]
    if name in MESH or key.default == "":
        return
    found = imported(tmp_path, **MESH, **{name: key.default})
    assert found.document == imported(tmp_path, **MESH).document
    spoken = {status for status, _ in found.notes}
    assert spoken <= {key.status} | {Status.IGNORED}
    assert key.status not in (Status.IGNORED, Status.STALE) or spoken == {key.status}


# For every key with an effect: a value and the place where it must arrive.
ARRIVES: dict[str, tuple[Any, str, Any]] = {
    "credit_delay": (3, "router.credit_delay", 3),
    "internal_speedup": (1.7, "router.speedup", 1.7),
    "speculative": (1, "router.vc_allocation", "speculative"),
    "hold_switch_for_packet": (1, "router.connection", "packet"),
    "num_vcs": (4, "router.links.default.vcs", 4),
    "wait_for_tail_credit": (1, "router.vc_reuse", "empty"),
    "vc_busy_when_full": (1, "router.vc_eligible", "with_room"),
    "vc_shuffle_requests": (1, "router.vc_turns", "queues"),
    "vc_buf_size": (5, "router.links.default.buffer", 5),
    "buf_size": (64, "router.links.default.buffer", 4),
    "routing_delay": (0, "router.allocation_delay", 0),
    "st_prepare_delay": (1, "router.latency", 3),
    "st_final_delay": (2, "router.latency", 3),
    "sw_allocator": ("islip(3)", "router.allocator.iterations", 3),
    "traffic": ("bitcomp", "traffic.pattern", "bit_complement"),
    "injection_rate": (0.2, "traffic.load", 0.2),
    "packet_size": (3, "traffic.packet_size", 3),
    "sim_type": ("throughput", "measure.count", "delivered"),
    "warmup_periods": (0, "measure.warmup", "auto"),
    "sample_period": (500, "measure.cycles", 1500),
    "max_samples": (4, "measure.cycles", 1000),
    "sim_count": (3, "sweep.seeds", 3),
    "seed": (7, "seed", 7),
    "use_read_write": (0, "traffic.requests", None),
    "classes": (1, "traffic.classes", None),
}


@pytest.mark.parametrize("name", sorted(ARRIVES))
def test_a_key_arrives(tmp_path: Path, name: str) -> None:
    value, path, expected = ARRIVES[name]
    found = imported(tmp_path, **MESH, **{name: value})
    assert get_path(found.document, path, None) == expected
    assert expected is None or any(f"{name} = " in text for text in found.comments.values())


def test_output_buffers_matter_where_several_flits_come_in_a_cycle(tmp_path: Path) -> None:
    plain = imported(tmp_path, **MESH, num_vcs=4).document
    for keys in ({"output_buffer_size": 1}, {"output_buffer_size": 32, "internal_speedup": 2.0}):
        found = imported(tmp_path, **MESH, **keys, num_vcs=4)
        assert found.document == plain | {"router": plain["router"] | {"speedup": keys.get("internal_speedup", 1)}}
        assert any(status is Status.IGNORED and "output_buffer_size" in text for status, text in found.notes)
    for keys in ({"internal_speedup": 2.0}, {"output_speedup": 2}, {"st_final_delay": 2}):
        said = refused(tmp_path, **MESH, **keys, num_vcs=4, output_buffer_size=31)
        assert "output_buffer_size = 31: cannot be expressed" in said
        assert "at least 32" in said
    assert "output_buffer_size = 0: expected -1" in refused(tmp_path, **MESH, output_buffer_size=0)


def test_stages_that_are_not_pipelined_are_said(tmp_path: Path) -> None:
    for keys in ({"st_final_delay": 2}, {"st_prepare_delay": 1}, {"routing_delay": 2}):
        (name,) = keys
        assert any(f"{name} = " in text and "pipelined" in text for text in imported(tmp_path, **MESH, **keys).warnings)
    (said,) = (text for text in imported(tmp_path, **MESH, st_final_delay=3).warnings if "pipelined" in text)
    assert said.endswith("elsewhere BookSim's latency is longer, by up to 2 cycles a router")


def test_empty_channels_are_preferred_where_priorities_are_known(tmp_path: Path) -> None:
    keys = {**MESH, "vc_prioritize_empty": 1}
    found = imported(tmp_path, **keys, vc_allocator="separable_input_first")
    assert found.document["router"]["vc_preferred"] == "empty"
    # To iSLIP all requests are alike, as in BookSim.
    found = imported(tmp_path, **keys)
    assert "vc_preferred" not in found.document["router"]
    assert any(status is Status.IGNORED and "vc_prioritize_empty" in text for status, text in found.notes)


MEMORY = ({"buffer_policy": "shared"}, {"limit": "none", "private": 1})


@pytest.mark.parametrize(
    ("keys", "sharing"),
    [
        MEMORY,
        ({"buffer_policy": "limited", "max_held_slots": 6}, {"limit": "fixed", "private": 1, "most": 6}),
        ({"buffer_policy": "limited"}, {"limit": "none", "private": 1}),
        ({"buffer_policy": "dynamic", "private_buf_size": 2}, {"limit": "even", "private": 2}),
        ({"buffer_policy": "shifting", "private_buf_size": -1}, {"limit": "halved", "private": 8}),
    ],
)
def test_channels_share_the_memory_of_a_port(tmp_path: Path, keys: dict[str, Any], sharing: dict[str, Any]) -> None:
    found = imported(tmp_path, **MESH, **keys)
    assert found.document["router"]["sharing"] == sharing
    assert "buffer_policy = " in found.comments["router.sharing"]


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ({"private_buf_size": 0}, "private_buf_size = 0"),
        ({"private_buf_size": 9}, "private_buf_size = 9"),
        ({"private_bufs": 3}, "private_bufs = 3"),
        ({"private_buf_start_vc": 1}, "private_buf_start_vc = 1"),
        ({"buf_size": 1001}, "buf_size = 1001"),
        ({"output_speedup": 2}, "output_speedup = 2"),
    ],
)
def test_parts_of_a_shared_memory_that_cannot_be_expressed(tmp_path: Path, keys: dict[str, Any], named: str) -> None:
    said = refused(tmp_path, **MESH, **{"buffer_policy": "shared", **keys})
    assert f"{named}: " in said
    assert "expected" in said


CLASSES = {
    "classes": 3,
    "traffic": "{uniform,transpose}",
    "injection_rate": "{0.1,0.2,0.1}",
    "packet_size": "{1,{1,5},2}",
    "injection_rate_uses_flits": 1,
}


def test_classes_have_a_stream_of_packets_each(tmp_path: Path) -> None:
    found = imported(tmp_path, **MESH, **CLASSES)
    traffic = found.document["traffic"]
    assert traffic["load"] == 0.4
    first, second, third = traffic["classes"]
    assert first == {
        "weight": 0.1,
        "pattern": {"kind": "uniform", "include_self": True},
        "process": "bernoulli",
        "packet_size": 1,
    }
    # If a list is too short, its last element counts.
    assert (second["pattern"], third["pattern"]) == ("transpose", "transpose")
    assert second["packet_size"] == {"kind": "choice", "sizes": [1, 5], "weights": [1, 1]}
    assert (second["weight"], third["weight"], third["packet_size"]) == (0.2, 0.1, 2)
    # Counted in packets, three times as many flits are of the second class.
    found = imported(tmp_path, **MESH, **{**CLASSES, "injection_rate_uses_flits": 0})
    assert [each["weight"] for each in found.document["traffic"]["classes"]] == [0.1, 0.6, 0.2]
    assert phit.run({**found.document, "measure": {"warmup": 10, "cycles": 50}}).tables["classes"].height == 3


def test_classes_have_priorities_where_those_of_classes_count(tmp_path: Path) -> None:
    keys = {**MESH, **CLASSES, "class_priority": "{2,0}", "sw_allocator": "separable_input_first"}
    found = imported(tmp_path, **keys, priority="class")
    assert [each["priority"] for each in found.document["traffic"]["classes"]] == [2, 0, 0]
    assert found.document["router"]["allocator"]["priority"] == "class"
    # To iSLIP all requests are alike.
    assert "priority" not in found.document["router"]["vc_allocator"]
    assert all("priority" not in each for each in imported(tmp_path, **keys).document["traffic"]["classes"])


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ({"use_read_write": "{0,1}"}, "use_read_write = "),
        ({"use_read_write": 2}, "use_read_write = "),
        ({"priority": "age"}, "priority = 'age'"),
        ({"priority": "class", "class_priority": "{0,256}"}, "class_priority = "),
        ({"injection_rate": "{0.1,3.5}"}, "injection_rate = "),
        ({"traffic": "{uniform,unifrom}"}, "traffic = "),
    ],
)
def test_classes_that_cannot_be_expressed(tmp_path: Path, keys: dict[str, Any], named: str) -> None:
    said = refused(tmp_path, **MESH, **{**CLASSES, **keys})
    assert named in said
    assert "expected" in said


def test_numbers_of_classes_are_of_all_packets(tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    before, _, numbers = PRINTED.partition("====== Traffic class 0 ======\n")
    of_class = "Accepted packet rate average = {rate} (1 samples)\n"
    blocks = [
        (numbers + of_class).format(latency=16, hops=3, rate=0.03),
        (numbers + of_class).format(latency=20, hops=4, rate=0.01),
    ]
    settings = before.replace("routing_delay = 0;", "routing_delay = 0;\nclasses = 2;")
    file.write_text(settings + "".join(blocks), encoding="utf-8")
    found = recognised(file).numbers
    assert found == pytest.approx({"accepted_load": 0.1, "latency_mean": 17, "hops_mean": 2.25})


AHEAD = {**MESH, "routing_delay": 0, "noq": 1}


@pytest.mark.parametrize(
    ("keys", "channels"),
    [
        (AHEAD, 5),
        ({**AHEAD, "topology": "torus", "routing_function": "dim_order"}, 10),
        ({**AHEAD, "topology": "cmesh", "c": 4, "xr": 2, "yr": 2, "routing_function": "dor_no_express"}, 8),
        ({**AHEAD, "topology": "flatfly", "c": 4, "xr": 2, "yr": 2, "x": 4, "y": 4, "routing_function": "ran_min"}, 10),
        ({**AHEAD, "topology": "fly", "k": 8, "n": 1, "routing_function": "dest_tag"}, 8),
    ],
)
def test_channels_are_shared_out_among_outputs(tmp_path: Path, keys: dict[str, Any], channels: int) -> None:
    found = imported(tmp_path, **keys, num_vcs=channels, injection_rate=0.05)
    assert found.document["queueing"] == {"kind": "noq"}
    assert found.comments["queueing"] == "noq = 1"
    complete(found.document)
    said = refused(tmp_path, **keys, num_vcs=channels - 1)
    assert f"num_vcs = {channels - 1}: expected at least {channels} with noq" in said


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ({"routing_delay": 1}, "routing_delay = 1: expected 0"),
        ({"routing_function": "valiant"}, "noq = 1: cannot be expressed with routing_function = valiant"),
        ({"use_read_write": 1}, "noq = 1: cannot be expressed with use_read_write"),
        ({"classes": 2}, "noq = 1: cannot be expressed with classes"),
    ],
)
def test_what_cannot_be_known_ahead_is_refused(tmp_path: Path, keys: dict[str, Any], named: str) -> None:
    assert named in refused(tmp_path, **{**AHEAD, "num_vcs": 16, **keys})


RINGS = {"topology": "torus", "k": "4", "n": "2", "routing_function": "dim_order_bal"}
PLANE = {"topology": "flatfly", "c": 1, "x": 4, "y": 4, "xr": 1, "yr": 1}


@pytest.mark.parametrize(
    ("keys", "routing"),
    [
        ({"routing_function": "xy_yx"}, {"kind": "o1turn"}),
        ({"routing_function": "adaptive_xy_yx"}, {"kind": "o1turn", "choice": "occupancy"}),
        ({"routing_function": "romm"}, {"kind": "valiant", "stop": "minimal"}),
        ({"routing_function": "min_adapt"}, {"kind": "minimal_adaptive", "ways": "lowest"}),
        ({"routing_function": "planar_adapt"}, {"kind": "dimension_order"}),
        (RINGS, {"kind": "dimension_order", "rings": "balanced"}),
        (PLANE | {"routing_function": "xyyx"}, {"kind": "o1turn"}),
        (PLANE | {"routing_function": "adaptive_xyyx"}, {"kind": "o1turn", "choice": "occupancy"}),
    ],
)
def test_routing_functions_of_grids(tmp_path: Path, keys: dict[str, Any], routing: Document) -> None:
    found = imported(tmp_path, **{**MESH, **keys}, num_vcs=4, injection_rate=0.05, sample_period=300)
    assert found.document["routing"] == routing
    result = phit.run(found.document)
    assert result["accepted_load"] == pytest.approx(0.05, rel=0.25)
    # All of them are minimal.
    mean = 2 * {"torus": 1, "flatfly": 0.75}.get(str(keys.get("topology")), 1.25)
    assert result["hops_mean"] == pytest.approx(mean, rel=0.05)


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ({"routing_function": "xy_yx", "num_vcs": 3}, "num_vcs = 3: expected an even number"),
        ({"routing_function": "romm", "num_vcs": 1}, "num_vcs = 1: expected an even number"),
        ({"routing_function": "min_adapt", "num_vcs": 1}, "num_vcs = 1: expected at least 2"),
        ({"routing_function": "valiant", "num_vcs": 3}, "num_vcs = 3: expected an even number"),
        ({"routing_function": "xy_yx", "num_vcs": 5}, "num_vcs = 5: expected an even number"),
        ({**PLANE, "routing_function": "valiant", "num_vcs": 7}, "num_vcs = 7: expected an even number"),
        ({**PLANE, "routing_function": "ugal", "num_vcs": 3}, "num_vcs = 3: expected an even number"),
        ({**RINGS, "routing_function": "valiant", "num_vcs": 6}, "num_vcs = 6: expected a multiple of 4"),
        ({**RINGS, "routing_function": "dim_order", "num_vcs": 1}, "num_vcs = 1: expected at least 2"),
        ({"routing_function": "adaptive_xy_yx", "use_read_write": 1}, "'adaptive_xy_yx': cannot be expressed with use"),
        ({**RINGS, "num_vcs": 3}, "num_vcs = 3: expected an even number"),
        ({**PLANE, "routing_function": "xyyx", "num_vcs": 3}, "num_vcs = 3: expected an even number"),
        ({**PLANE, "routing_function": "adaptive_xyyx", "use_read_write": 1}, "'adaptive_xyyx': cannot be expressed"),
        ({"routing_function": "planar_adapt", "num_vcs": 2}, "num_vcs = 2: expected at least 3"),
        ({"routing_function": "chaos"}, "routing_function = 'chaos': cannot be expressed"),
    ],
)
def test_routing_functions_with_what_they_are_not_expressed_with(
    tmp_path: Path, keys: dict[str, Any], named: str
) -> None:
    assert named in refused(tmp_path, **{**MESH, **keys})


@pytest.mark.parametrize("channels", range(2, 8))
def test_halves_of_an_odd_number_of_channels_overlap(tmp_path: Path, channels: int) -> None:
    keys = {**RINGS, "k": 5, "routing_function": "dim_order", "num_vcs": channels, "injection_rate": 0.05}
    found = imported(tmp_path, **keys, sample_period=200)
    odd = channels % 2 == 1
    overlapping: Document = {"kind": "dimension_order", "rings": "overlapping"}
    assert found.document["routing"] == (overlapping if odd else {"kind": "dimension_order"})
    # A shared middle channel closes cycles in rings of more than three routers.
    assert phit.verify(found.document)["proved"] is not odd
    assert any("num_vcs" in text and "not free of deadlock" in text for text in found.warnings) is odd
    assert phit.run(found.document)["accepted_load"] == pytest.approx(0.05, rel=0.3)


def test_halves_of_the_channels_of_requests_overlap_too(tmp_path: Path) -> None:
    kinds = {f"{kind}_{part}" for kind in ("read", "write") for part in ("request", "reply")}
    ends = {f"{kind}_{end}_vc": -1 for kind in kinds for end in ("begin", "end")}
    keys = {**RINGS, **ends, "use_read_write": 1, "injection_rate": 0.02, "sample_period": 200}
    for channels, rings in ((6, "overlapping"), (8, None)):
        found = imported(tmp_path, **{**keys, "routing_function": "dim_order", "num_vcs": channels})
        assert found.document["routing"].get("rings") == rings
        complete(found.document)
    mesh = {**MESH, **ends, "use_read_write": 1, "routing_function": "xy_yx", "num_vcs": 6}
    assert "num_vcs = 6: expected an even number for each kind of packets" in refused(tmp_path, **mesh)


@pytest.mark.parametrize(
    "keys",
    [
        {"routing_function": "adaptive_xy_yx"},
        PLANE | {"routing_function": "ugal", "n": 2},
        PLANE | {"routing_function": "adaptive_xyyx"},
        {"topology": "fattree", "routing_function": "anca", "num_vcs": 1},
        {"topology": "dragonflynew", "k": 1, "n": 1, "routing_function": "ugal", "num_vcs": 3, "vc_buf_size": 64},
    ],
)
def test_routing_compares_shared_buffers(tmp_path: Path, keys: dict[str, Any]) -> None:
    more = {"num_vcs": 4, "buffer_policy": "shared", "injection_rate": 0.1, "sample_period": 500}
    found = imported(tmp_path, **{**MESH, **more, **keys})
    assert "sharing" in found.document["router"]
    assert phit.run(found.document)["accepted_load"] == pytest.approx(0.1, rel=0.2)


def test_a_head_speculates_before_it_knows_whether_it_escapes(tmp_path: Path) -> None:
    keys = {**MESH, "routing_function": "min_adapt", "num_vcs": 2, "routing_delay": 0, "traffic": "neighbor"}
    found = imported(tmp_path, **keys, speculative=1, injection_rate=0.001, sample_period=2000)
    # Of the stages VA, SA and ST, the first two take one cycle: 3 at the ends, 2 in each router, 1 on each link.
    assert phit.run(found.document)["latency_p50"] == 3 + 2 + 2 * (2 + 1)


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ({**RINGS, "routing_function": "valiant", "num_vcs": 4}, "routing_function = valiant: BookSim itself stops"),
        ({**MESH, "sw_allocator": "max_size", "output_speedup": 2}, "output_speedup = 2: BookSim itself stops"),
    ],
)
def test_where_booksim_stops_it_is_said(tmp_path: Path, keys: dict[str, Any], named: str) -> None:
    assert any(named in text for text in imported(tmp_path, **keys).warnings)


def test_parallel_networks_are_planes(tmp_path: Path) -> None:
    keys = {**MESH, "packet_size": 4, "injection_rate_uses_flits": 1, "sample_period": 2000}
    found = imported(tmp_path, **keys, subnets=3, injection_rate=0.6)
    assert found.document["planes"] == {"count": 3, "injection": "serial"}
    assert "[planes]  # subnets = 3" in found.to_toml() or "count = 3  # subnets = 3" in found.to_toml()
    several, one = (phit.run(imported(tmp_path, **keys, subnets=n, injection_rate=0.6).document) for n in (3, 1))
    assert several["accepted_load"] == pytest.approx(0.6, rel=0.03)
    assert several["latency_mean"] < 0.8 * one["latency_mean"]
    # Requests and replies that all go over one of the networks leave the others empty.
    kinds = {f"{kind}_{part}_subnet": 1 for kind in ("read", "write") for part in ("request", "reply")}
    asked = imported(tmp_path, **keys, **kinds, subnets=2, use_read_write=1, injection_rate=0.1)
    assert "planes" not in asked.document
    assert any("subnets = 2" in text for text in asked.warnings)
    alone = imported(tmp_path, **keys, use_read_write=1, injection_rate=0.1)
    assert asked.document == alone.document


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ({"use_read_write": 1, "read_reply_subnet": 1}, "read_reply_subnet = 1: cannot be expressed"),
        ({"use_read_write": 1, "write_request_subnet": 2}, "write_request_subnet = 2: expected a network"),
        ({"classes": 2}, "subnets = 2: cannot be expressed with several classes"),
    ],
)
def test_parallel_networks_with_what_they_are_not_expressed_with(
    tmp_path: Path, keys: dict[str, Any], named: str
) -> None:
    assert named in refused(tmp_path, **MESH, subnets=2, **keys)


UNLIKE = {"subnets": 65, "link_failures": 1, "buffer_policy": "feedback", "router": "event", "classes": 9} | {
    "internal_speedup": 1.0625
}


@pytest.mark.parametrize("name", [*UNLIKE, "vc_priority_donation"])
def test_what_cannot_be_expressed_is_refused_by_key(tmp_path: Path, name: str) -> None:
    said = refused(tmp_path, **MESH, **{name: UNLIKE.get(name, 1)})
    assert f"config:5: {name} = " in said
    assert "expected" in said or "cannot be expressed" in said


def test_all_mistakes_are_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(RefusedError) as error:
        imported(tmp_path, **MESH, nun_vcs=4, subnets=0, vc_alloc_delay=2, k2="x")
    said = [str(one) for one in error.value.errors]
    assert len(said) == 4
    assert any("nun_vcs" in one and "num_vcs" in one for one in said), said


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    found = imported(tmp_path, **MESH, limit=64, sim_power=1, watch_out="-", alloc_iters=4, x=8)
    by_status = {status: [text for s, text in found.notes if s is status] for status in Status}
    assert len(by_status[Status.STALE]) == 1
    assert "limit = 64" in by_status[Status.STALE][0]
    assert len(by_status[Status.DROPPED]) == 2
    assert len(by_status[Status.IGNORED]) == 2
    assert len(found.warnings) == 3


# Whatever stands in a file

_WORD = st.sampled_from(["mesh", "torus", "flatfly", "anynet", "fly", "dor", "min", "islip", "uniform", "tornado"])
_PATTERN = st.sampled_from(["hotspot({1,2},{3,4})", "background({0})", "randperm(3)", "diagonal", "badperm_yarc"])
_LISTS = st.lists(st.integers(-3, 99), min_size=1, max_size=4).map(lambda each: f"{{{','.join(map(str, each))}}}")
_VALUES = st.one_of(
    st.integers(-5, 300), st.floats(-2, 5, allow_nan=False).map(lambda x: f"{x:.4f}"), _WORD, _PATTERN, _LISTS
)
_SETTINGS = st.dictionaries(st.sampled_from(sorted(KEYS)), _VALUES, max_size=12)
_BASES = st.sampled_from([keys for keys, _ in NETWORKS])


def read_or_refused(folder: Path, text: str) -> None:
    """Reads a configuration into a scenario that the engine takes, or that it refuses by key, or refuses it itself."""
    file = folder / "config"
    file.write_text(text, encoding="utf-8")
    with suppress(phit.InputError):
        found = read("booksim", file)
        assert tomllib.loads(found.to_toml()) == found.document
        with suppress(phit.ScenarioError):
            complete({key: value for key, value in found.document.items() if key != "sweep"})


@settings(max_examples=150)
@given(base=_BASES, keys=_SETTINGS)
def test_configurations_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, base: Any, keys: Any) -> None:
    text = "".join(f"{key} = {value};\n" for key, value in {**base, **keys}.items())
    read_or_refused(tmp_path_factory.getbasetemp(), text)


@settings(max_examples=150)
@given(text=st.text(alphabet="kntopology =;{},.()/-+019eE\n#\x00ä", max_size=80))
def test_texts_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    read_or_refused(tmp_path_factory.getbasetemp(), text)


# The command line

PRINTED = """BEGIN Configuration File: config
topology = mesh;
k = 4;
n = 2;
routing_function = dor;
routing_delay = 0;
sample_period = 2000;;END Configuration File: config
OVERRIDE Parameter: injection_rate=0.05
Accepted flit rate average= 0.9
throughput change = 1
Warmed up ...Time used is 6000 cycles
throughput change = 0.1
throughput change = 0.1
Draining all recorded packets ...
====== Overall Traffic Statistics ======
====== Traffic class 0 ======
Packet latency average = {latency} (1 samples)
Accepted flit rate average = 0.05 (1 samples)
Hops average = {hops} (1 samples)
"""


def test_a_printed_run_is_compared(tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / "out.txt"
    # Uniform traffic on a 4 x 4 mesh takes 2.5 hops in the mean: 6 cycles at the ends and 4 for each hop, and some
    # waiting.
    file.write_text(PRINTED.format(latency=16.1, hops=3.5), encoding="utf-8")
    status, out, err = cli("validate", "--against", file, "--seeds", 2, "--json")
    assert status == 0, err
    assert [row["measure"] for row in json.loads(out)] == ["accepted_load", "latency_mean", "hops_mean"]
    file.write_text(PRINTED.format(latency=20, hops=3.5), encoding="utf-8")
    status, out, _ = cli("validate", "--against", file, "--seeds", 3)
    assert status == 1
    assert "differs" in out


@pytest.mark.parametrize(("accepted", "verdict"), [(0.0485, "agrees"), (0.04, "differs")])
def test_few_packets_scatter_by_the_root_of_their_number(
    tmp_path: Path, cli: Cli, accepted: float, verdict: str
) -> None:
    # 16 endpoints in 4,000 cycles of the load 0.05: some 3,200 packets of one run, so 4 %.
    file = tmp_path / "out.txt"
    report = PRINTED.format(latency=16.1, hops=3.5).replace("rate average = 0.05", f"rate average = {accepted}")
    file.write_text(report, encoding="utf-8")
    _, out, _ = cli("validate", "--against", file, "--seeds", 8, "--json")
    row = json.loads(out)[0]
    assert row["verdict"] == verdict
    # Not less, however alike the eight runs are.
    assert 0.036 < row["limit"] < 0.08


def test_a_printed_run_is_as_long_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    file.write_text(PRINTED.format(latency=16.1, hops=3.5), encoding="utf-8")
    found = printed(file)
    assert found.imported.document["measure"] == {"warmup": 6000, "cycles": 4000, "count": "generated"}
    assert found.imported.document["traffic"]["load"] == 0.05
    # Links, not routers.
    assert found.numbers == {"accepted_load": 0.05, "latency_mean": 16.1, "hops_mean": 2.5}
    file.write_text("Nothing of the kind", encoding="utf-8")
    with pytest.raises(phit.InputError, match="expected the output"):
        recognised(file)


def test_what_was_printed_is_a_configuration(tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / "out.txt"
    file.write_text(PRINTED.format(latency=16.1, hops=3.5), encoding="utf-8")
    status, out, err = cli("import", "booksim", file, "k=8")
    assert status == 0, err
    document = tomllib.loads(out)
    # Keys on the recorded command line override the file, and keys on the current command line override both.
    assert (document["traffic"]["load"], document["topology"]["dims"]) == (0.05, [8, 8])


def test_import_prints_a_scenario_that_runs(tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / "config"
    file.write_text("".join(f"{k} = {v};\n" for k, v in MESH.items()) + "watch_out = -;\n", encoding="utf-8")
    status, out, err = cli("import", "booksim", file, "injection_rate=0.1", "sample_period=200")
    assert status == 0
    assert "watch_out" in err
    assert tomllib.loads(out)["traffic"]["load"] == 0.1
    status, out, err = cli("run", file, "--from", "booksim", "--set", "measure.cycles=100", "--json")
    assert status == 0, err
    assert cli("import", "booksym", file)[0] == 2
    status, _, err = cli("import", "booksim", file, "subnets=0", "classes=0")
    assert status == 2
    assert err.count("phit: error:") == 2


def test_the_guide_lists_every_key() -> None:
    table: str = runpy.run_path(str(ROOT / "docs" / "importing_tables.py"))["keys"]()
    assert [line.split("|")[1].strip(" `") for line in table.splitlines()[2:]] == list(KEYS)
    assert set(MEANING) == set(Status)


def test_a_run_that_booksim_gave_up_is_recognised(tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    report, _, _ = PRINTED.partition("====== Overall")
    file.write_text(f"{report}Simulation unstable, ending ...\n", encoding="utf-8")
    found = recognised(file)
    assert found.saturated
    assert found.numbers == {"accepted_load": 0.9}
    assert found.imported.document["measure"]["count"] == "delivered"


@pytest.mark.parametrize("periods", [1, 3])
def test_a_run_given_up_while_it_warmed_up_is_compared_with_its_last_period(tmp_path: Path, periods: int) -> None:
    file = tmp_path / "out.txt"
    front, _, _ = PRINTED.partition("Accepted flit")
    once = "Accepted flit rate average= 0.7\nthroughput change = 1\n"
    file.write_text(f"{front}{once * periods}Simulation unstable, ending ...\n", encoding="utf-8")
    measure = recognised(file).imported.document["measure"]
    assert (measure["warmup"], measure["cycles"]) == (2000 * (periods - 1), 2000)
