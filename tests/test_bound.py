"""Bounds of the throughput against closed forms, and their proofs in exact arithmetic."""

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import phit
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phit.base.errors import InputError
from phit.throughput import flow, symmetry
from phit.throughput.certificate import prove
from phit.throughput.network import read

from .conftest import Cli, Write

Document = dict[str, Any]

EVERYONE = {"kind": "uniform", "include_self": True}


def scenario(topology: Document, pattern: Any = "uniform", **router: Any) -> Document:
    return {"topology": topology, "router": router, "traffic": {"pattern": pattern}}


def torus(*sides: int, **more: Any) -> Document:
    return {"kind": "torus", "dims": list(sides), **more}


CASCADE = {"kind": "cascade", "rows": 6, "columns": 16, "column_links": 3, "endpoints_per_router": 18}


def test_adversarial_traffic_in_a_cascade_group() -> None:
    """Attacked row links at 1, other row links at 1/2, column links free: every route costs 1 or more."""
    found = phit.bound(scenario(CASCADE, {"kind": "adversarial", "offset": 1}))
    any_routing, minimal = found.any_routing, found.minimal
    assert any_routing is not None
    assert minimal is not None
    assert [found.load, found.minimal_load, found.endpoints] == [Fraction(8, 18), Fraction(1, 18), 1]
    assert any_routing.tight
    assert minimal.tight
    # 96 routers, each with 15 row links, 1 of them attacked, and 15 column links. The next router of the last one in
    # a row is in the next row: the route there takes a row link, too.
    priced = [(price.link_class, price.price, price.links) for price in any_routing.prices]
    assert priced == [("row", 1, 96), ("row", Fraction(1, 2), 96 * 14), ("column", 0, 96 * 15)]
    assert [any_routing.worth, any_routing.cost, any_routing.cheapest] == [96 * 8, 96 * 18, 1]


def test_slow_links_carry_their_part() -> None:
    """A ring whose links carry two phits in three cycles carries two thirds of one with faster links."""
    ring, pattern = torus(8), {"kind": "shift", "offset": 2}

    def of(**bandwidth: float) -> phit.Bounds:
        links = {name: {"bandwidth": width} for name, width in bandwidth.items()}
        return phit.bound(scenario(ring, pattern, links=links))

    whole, slow = of().minimal_load, of(dim0=0.6666666666666666)
    assert whole is not None
    assert slow.minimal_load == Fraction(2, 3) * whole
    assert slow.load == Fraction(2, 3) * of().load
    proof = slow.any_routing
    assert proof is not None
    assert proof.worth / proof.cost == slow.load
    assert sum(price.capacity for price in proof.prices) == Fraction(2, 3) * 16
    # Loads are shares of the endpoint's link, unless they are said to be phits.
    assert of(endpoint=0.1).load == 1
    in_phits = scenario(ring, pattern, links={"endpoint": {"bandwidth": 0.1}})
    in_phits["traffic"]["load_unit"] = "phits"
    assert phit.bound(in_phits).load == Fraction(1, 10)
    with pytest.raises(InputError, match="multiples of a common part"):
        phit.bound(scenario(torus(4, 4), links={"dim0": {"bandwidth": 0.001}, "dim1": {"bandwidth": 10**9}}))


def test_classes_of_packets_load_the_network_together() -> None:
    """A class that goes to the next router of a ring and one that goes two on: 3/2 links a packet."""
    shifts = [{"pattern": {"kind": "shift", "offset": offset}} for offset in (1, 2)]
    ring = torus(8)
    with_classes = {**scenario(ring), "traffic": {"classes": shifts}}
    parts = [{"weight": 1, **shift} for shift in shifts]
    mixed = phit.bound(scenario(ring, {"kind": "mix", "parts": parts}))
    assert phit.bound(with_classes).load == mixed.load
    assert phit.bound(with_classes).minimal_load == mixed.minimal_load == Fraction(2, 3)
    heavy = {**scenario(ring), "traffic": {"classes": [{**shifts[0], "weight": 3}, shifts[1]]}}
    assert phit.bound(heavy).minimal_load == Fraction(4, 5)


@pytest.mark.parametrize("h", [1, 2, 3])
def test_adversarial_traffic_in_a_dragonfly(h: int) -> None:
    """Between groups a packet takes the one attacked link, or two of the group's other a·h - 1.

    With prices 1 and 1/2 a group's links are worth (a·h + 1)/2, for the a·p packets that it sends.
    """
    a, p = 2 * h, h
    found = phit.bound(scenario({"kind": "dragonfly", "p": p, "a": a, "h": h}, {"kind": "adversarial", "offset": 1}))
    assert found.minimal_load == Fraction(1, a * p)
    assert found.load == Fraction(a * h + 1, 2 * a * p)
    assert found.any_routing is not None
    assert found.any_routing.tight


RINGS = [
    # Mean distance k/4 for even k over N pairs of links: 8/k; odd k: (k^2 - 1)/4k.
    (torus(16), EVERYONE, Fraction(1, 2)),
    (torus(5), EVERYONE, Fraction(8 * 5, 5**2 - 1)),
    (torus(16), "uniform", Fraction(1, 2) * Fraction(15, 16)),
    (torus(8, 4, 4), "uniform", Fraction(127, 128)),
    (torus(4, 6), EVERYONE, Fraction(8, 6)),
    # The link in the middle of a mesh: k/2 senders, half of their packets.
    ({"kind": "mesh", "dims": [6]}, EVERYONE, Fraction(4, 6)),
    # Tornado on a ring of 8: 5/8 of the packets take 3 links one way, 3/8 take 5 links the other way.
    (torus(8), "tornado", Fraction(8, 15)),
    # Half the roots that a leaf has endpoints.
    ({"kind": "clos", "down": [8, 4], "up": [4]}, "worst_case_uniform", Fraction(1, 2)),
]


@pytest.mark.parametrize(("topology", "pattern", "load"), RINGS)
def test_closed_forms(topology: Document, pattern: Any, load: Fraction) -> None:
    found = phit.bound(scenario(topology, pattern))
    assert found.any_routing is not None
    assert found.any_routing.load == load
    assert found.any_routing.tight
    assert found.minimal is not None
    assert found.minimal.load <= load


def test_minimal_routes_of_a_tornado_go_one_way() -> None:
    assert phit.bound(scenario(torus(8), "tornado")).minimal_load == Fraction(1, 3)


def test_a_clos_network_of_1024_endpoints_is_not_blocking() -> None:
    topology = {"kind": "clos", "down": [32, 32], "up": [32]}
    assert phit.bound(scenario(topology, "worst_case_uniform")).load == 1
    # Uniform: 992 of 1,023 packets leave a leaf, so that its links would carry more than its endpoints send.
    found = phit.bound(scenario(topology))
    assert found.any_routing is not None
    assert [found.load, found.any_routing.load] == [1, Fraction(1023, 992)]


def test_links_are_as_wide_as_the_scenario_says() -> None:
    wide = scenario(torus(16), EVERYONE, links={"dim0": {"bandwidth": 3}})
    limit = phit.bound(wide).any_routing
    assert limit is not None
    assert limit.load == Fraction(3, 2)
    assert [(price.links, price.capacity) for price in limit.prices] == [(32, Fraction(96))]


@pytest.mark.parametrize(("injection", "of_endpoints"), [("parallel", 3), ("serial", 1)])
def test_planes_carry_as_much_each(injection: str, of_endpoints: int) -> None:
    slow = scenario(torus(16), EVERYONE, links={"dim0": {"bandwidth": 0.3}})
    one = phit.bound(slow)
    assert one.any_routing is not None
    assert one.any_routing.load == Fraction(3, 20)
    several = phit.bound(slow | {"planes": {"count": 3, "injection": injection}})
    assert several.any_routing is not None
    assert several.any_routing.load == 3 * one.any_routing.load
    star = scenario({"kind": "single", "endpoints": 16}, "shift")
    assert phit.bound(star | {"planes": {"count": 3, "injection": injection}}).load == of_endpoints


def test_the_links_of_endpoints_bind() -> None:
    # 15 of 16 endpoints send half of their packets to endpoint 3, which itself sends to the others.
    hot = {"kind": "hotspot", "targets": [3], "share": 0.5}
    topology = {"kind": "single", "endpoints": 16}
    found = phit.bound(scenario(topology, hot))
    assert found.any_routing is None
    # 15 halves, and a fifteenth of the other halves.
    assert found.load == found.minimal_load == 1 / (Fraction(15, 2) + Fraction(1, 2))
    wide = scenario(topology, "shift", links={"endpoint": {"bandwidth": 4}})
    assert phit.bound(wide).load == 1
    wide["traffic"]["load_unit"] = "phits"
    assert phit.bound(wide).load == 4
    # Links of one, two and four phits: links of one phit are the busiest, because each receives as much as all others.
    own = {"kind": "graph", "routers": 1, "endpoints": 4, "links": [], "endpoint_bandwidth": [1, 1, 2, 4]}
    assert phit.bound(scenario(own, {"kind": "uniform", "include_self": True})).load == Fraction(4, 8)


@pytest.mark.parametrize("by", ["packet", "router"])
def test_the_demand_is_exact(by: str) -> None:
    parts = [{"weight": 0.1, "pattern": "uniform"}, {"weight": 0.2, "pattern": {"kind": "adversarial", "offset": 1}}]
    topology = {"kind": "cascade", "rows": 2, "columns": 3, "endpoints_per_router": 2}
    network = read({"topology": topology, "traffic": {"load": 0, "pattern": {"kind": "mix", "by": by, "parts": parts}}})
    rows = [sum(network.amounts[index] for index in row) for row in network.demand.tolist()]
    # One of 11 other endpoints is at the same router; a third of the traffic, or every third router, is uniform.
    uniform, adversarial = 2 * Fraction(10, 11), Fraction(2)
    if by == "packet":
        assert rows == [uniform / 3 + 2 * adversarial / 3] * 6
    else:
        assert sorted(rows) == sorted([uniform] * 2 + [adversarial] * 4)
    assert network.demand.diagonal().tolist() == [0] * 6


DRAWN = {"kind": "cascade", "rows": 2, "columns": 3, "endpoints_per_router": 2, "column_links": 2}


@pytest.mark.parametrize("pattern", ["uniform", "permutation", {"kind": "adversarial", "offset": 2}])
def test_symmetry_changes_no_bound(pattern: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    document = scenario(DRAWN, pattern)
    small = phit.bound(document).load

    def distinct(columns: symmetry.Columns) -> symmetry.Colours:
        own = np.random.default_rng(1).integers(1, 2**63, size=(len(columns.commodities), columns.network.routers))
        links = np.random.default_rng(2).integers(1, 2**63, size=len(columns.network.source))
        return symmetry.Colours(own.astype(np.uint64), links.astype(np.uint64))

    monkeypatch.setattr(flow, "refine", distinct)
    assert float(phit.bound(document).load) == pytest.approx(float(small), rel=1e-5)


def test_any_prices_prove_a_bound_and_the_dual_ones_the_best() -> None:
    network = read({"topology": DRAWN, "traffic": {"load": 0, "pattern": "permutation"}})
    best = flow.most(network)
    assert best is not None
    proved = float(prove(network, best.prices).load)
    assert proved == pytest.approx(best.load, rel=1e-6)
    rng = np.random.default_rng(1)
    drawn = (rng.integers(0, 5, len(network.source)) + np.float64(0.01) for _ in range(50))
    others = [float(prove(network, prices.astype(np.float64)).load) for prices in drawn]
    assert min(others) >= proved - 1e-12
    assert max(others) > 1.01 * proved


def test_what_has_no_bound_is_refused() -> None:
    changes = {"load": 0.1, "changes": [{"cycle": 5, "pattern": "shift"}]}
    with pytest.raises(phit.ScenarioError, match=r"^traffic.changes\[0\].pattern: a pattern that changes"):
        phit.bound({"topology": torus(4), "traffic": changes})
    with pytest.raises(phit.ScenarioError, match=r"^traffic.trace: the messages of a trace"):
        phit.bound({"topology": torus(4), "traffic": {"load": 0.0, "trace": [[0, 0, 1, 1]]}})
    silent = {"kind": "hotspot", "targets": [3], "share": 0.3, "background": {"kind": "by_endpoint", "parts": []}}
    with pytest.raises(phit.ScenarioError, match=r'^traffic.pattern.kind = "hotspot": this pattern'):
        phit.bound(scenario(torus(4), silent))
    with pytest.raises(InputError, match="no endpoint sends"):
        phit.bound(scenario(torus(4), {"kind": "by_endpoint", "parts": []}))
    with pytest.raises(InputError, match="sweep"):
        phit.bound({**scenario(torus(4)), "sweep": {"seeds": 2}})


def test_a_network_that_takes_too_long_is_refused_with_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow, "MOST_FLOWS", 100)
    # 16 destinations, 32 links.
    with pytest.raises(InputError, match=r"needs 512 flows \(destinations times links\); expected at most 100"):
        phit.bound(scenario(torus(16)))


def test_without_symmetry_a_bound_is_still_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    best = phit.bound(scenario(DRAWN, "permutation"))
    monkeypatch.setattr(flow, "MOST_COLUMNS", 3)
    found = phit.bound(scenario(DRAWN, "permutation"))
    assert best.any_routing is not None
    assert found.any_routing is not None
    assert (best.any_routing.tight, found.any_routing.tight, found.any_routing.flow) == (True, False, None)
    assert (found.minimal, found.minimal_load) == (None, None)
    assert found.any_routing.load >= best.any_routing.load


def test_the_command_prints_the_proof(cli: Cli, write: Write) -> None:
    file = write(scenario(torus(16), EVERYONE))
    status, text, _ = cli("bound", file)
    assert status == 0
    assert "any routing: 1/2 = 0.5 phits/(endpoint·cycle)" in text
    assert "all links are worth 32" in text
    status, text, _ = cli("bound", file, "--json", "--set", "traffic.pattern.include_self=false")
    found = json.loads(text)
    assert (status, found["exact"], found["any_routing"]["tight"]) == (0, "15/32", True)
    assert found["any_routing"]["prices"] == [{"class": "dim0", "price": "1", "links": 32, "capacity": 32}]


def test_saturation_stands_beside_the_bounds(cli: Cli, write: Write) -> None:
    document = {**scenario(torus(8), "tornado"), "measure": {"warmup": 0, "cycles": 200}}
    document["routing"] = {"kind": "dimension_order"}
    file = write(document)
    command = ("saturate", file, "--from", 0.1, "--to", 0.2)
    status, text, _ = cli(*command)
    assert (status, text.splitlines()[-1]) == (
        0,
        "bound in phits/(endpoint·cycle): any routing 0.5333, minimal routing 0.3333",
    )
    assert json.loads(cli(*command, "--json")[1])["bound"]["exact"] == "8/15"
    assert "bound" not in cli(*command, "--no-bound")[1]
    message = write({**document, "traffic": {"changes": [{"cycle": 5, "pattern": "shift"}]}}, "changes.json")
    status, text, _ = cli("saturate", message, "--from", 0.1, "--to", 0.2)
    assert status == 0
    assert text.splitlines()[-1].startswith(
        f"bound: none ({message}: traffic.changes[0].pattern: a pattern that changes"
    )


GRIDS = [
    torus(4),
    torus(5),
    torus(3, 3),
    torus(4, 4),
    {"kind": "hyperx", "dims": [4]},
    {"kind": "hyperx", "dims": [3, 3]},
]
DRAGONFLIES = [{"kind": "dragonfly", "p": 1, "a": 2, "h": 1}, {"kind": "dragonfly", "p": 2, "a": 4, "h": 2}]


@st.composite
def saturated(draw: st.DrawFn) -> Document:
    """A small network of equal endpoints, with traffic that fills it, and any routing.

    Unequal endpoints could send more than the bound, at which all send equal loads.
    """
    topology = draw(st.sampled_from([*GRIDS, *DRAGONFLIES]))
    is_ring = len(topology.get("dims", [])) == 1 and topology["kind"] == "torus"
    patterns: list[Any] = ["uniform"]
    patterns += [{"kind": "shift", "offset": 1}, {"kind": "shift", "offset": 2}, "tornado"] * is_ring
    patterns += [{"kind": "adversarial", "offset": 1}] * (topology["kind"] == "dragonfly")
    routings = ["minimal", "valiant", "ugal_l"] + ["dimension_order"] * ("dims" in topology)
    return {
        "seed": draw(st.integers(1, 99)),
        "topology": topology,
        "routing": draw(st.sampled_from(routings)),
        "router": {
            "speedup": 2,
            "links": {
                "default": {"vcs": 8, "buffer": 32, "bandwidth": draw(st.sampled_from([0.25, 0.5, 1, 2]))},
                "endpoint": {"vcs": 2, "bandwidth": 1},
            },
        },
        "traffic": {
            "pattern": draw(st.sampled_from(patterns)),
            "load": 1.0,
            "packet_size": draw(st.sampled_from([1, 4])),
        },
        "measure": {"warmup": 0, "cycles": 1500, "count": "generated", "endpoints": True},
    }


DEVIATIONS = 5
"""Standard deviations by which the destinations drawn for a run may be cheaper than those of its pattern."""


def by_chance(limit: phit.Limit, endpoints: int, packets: float) -> float:
    """The share by which the mean cost of this many packets may be below that of the pattern.

    Destinations are independent, and each packet costs between `cheapest` and `dearest`. So the variance of its cost is
    at most (dearest - mean) (mean - cheapest) (Bhatia and Davis, "A better bound on the variance", American
    Mathematical Monthly 107(4), 2000).
    """
    mean = limit.cost / endpoints
    variance = (limit.dearest - mean) * (mean - limit.cheapest)
    return DEVIATIONS * math.sqrt(variance / packets) / float(mean)


@settings(max_examples=20, deadline=None)
@given(saturated())
def test_no_run_accepts_more_than_the_bounds(document: Document) -> None:
    """An empty network gets the packets of 1,500 cycles, and is empty again after the time of its links at least.

    Both bounds are exact: no packet has paid for a link before the run, and none of those counted is still under way.
    """
    cycles = document["measure"]["cycles"]
    traffic = {**document["traffic"], "changes": [{"cycle": cycles, "load": 0.0}]}
    bounds, result = phit.bound(document), phit.run({**document, "traffic": traffic})
    assert result.converged
    endpoints = len(result.tables["endpoints"])
    time = cycles + result.drain_cycles
    sent, packets = result.offered_load * cycles / time, result.packets
    assert packets * document["traffic"]["packet_size"] == round(result.offered_load * cycles * endpoints)
    assert result.accepted_load <= float(bounds.endpoints)
    limits = [bounds.any_routing]
    if document["routing"] in ("minimal", "dimension_order"):
        limits.append(bounds.minimal)
    for limit in limits:
        assert limit is not None
        assert sent * (1 - by_chance(limit, endpoints, packets)) <= float(limit.load), document
        # Packets delivered in the 1,500 cycles may be the cheapest.
        assert result.accepted_load * endpoints * limit.cheapest <= limit.worth, document
    bisection = result.summary["bisection_load"]
    if bisection is not None and document["traffic"]["pattern"] == "uniform":
        # Endpoints do not send to themselves: a packet crosses the bisection with probability 1/2 * N / (N - 1).
        share = endpoints / (endpoints - 1) / 2
        chance = DEVIATIONS * math.sqrt((1 - share) / share / packets)
        assert sent * (1 - chance) <= bisection / (2 * share), document
