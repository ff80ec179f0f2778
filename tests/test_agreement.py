"""Agreement with other simulators: closed forms, and the cheap part of `phit validate`."""

import copy
import itertools
import json
from pathlib import Path
from typing import Any

import phit
import pytest
from phit.result import MACHINE_KEYS
from phit.studies.validation import Verdict, booksim, cases, document, fogsim
from phit.studies.validation.comparison import Case, Comparison, compare
from phit.studies.validation.run import simulate

from .conftest import ROOT, Cli

REFERENCE = ROOT / "tests" / "reference"


def fogsim_between(offset: int) -> dict[str, Any]:
    """Almost no traffic from every endpoint to the one at a distance, in FOGSim's router."""
    return {
        "topology": {"kind": "dragonfly", "p": 4, "a": 8, "h": 4},
        "router": fogsim.router(3),
        "traffic": {"pattern": {"kind": "shift", "offset": offset}, "load": 0.0005, "packet_size": 8},
        "measure": {"warmup": 0, "cycles": 3000, "count": "generated"},
    }


def latencies(scenario: dict[str, Any]) -> set[int]:
    """The latencies that occur among many packets; rare ones are of packets that met others."""
    counts = {int(latency): int(packets) for latency, packets in phit.run(scenario).tables["histogram"].rows()}
    return {latency for latency, packets in counts.items() if packets > 0.02 * sum(counts.values())}


def test_fogsim_latencies_of_an_empty_dragonfly() -> None:
    # 1 cycle to inject, 5 for each router, 10 and 100 for the links, 8 for the packet's phits.
    same, local, across = 1 + 5 + 8, 1 + 2 * 5 + 10 + 8, 1 + 2 * 5 + 100 + 8
    assert (same, local) == (14, 29)
    # The next endpoint is on the same router or the next one of the group; seldom in the next group.
    assert latencies(fogsim_between(1)) >= {same, local}
    # A group further: a local hop of 15 cycles at neither, one or both ends.
    assert {across + 15, across + 30} == {134, 149}
    assert {134, 149} <= latencies(fogsim_between(32)) <= {across, 134, 149}


@pytest.mark.parametrize("allocator", ["islip", "separable_input_first"])
def test_booksim_latency_of_an_empty_torus_in_every_setting(allocator: str) -> None:
    # A 10-flit packet needs as many flits of buffer as a credit's loop has cycles, so buffers are ample here.
    grid = itertools.product((1, 4, 10), (1, 2, 5), (0, 1), (1, 2, 3, 4), (0, 2), (False, True))
    for packet, channel, routing_delay, speedup, credit_delay, speculative in grid:
        settings: dict[str, Any] = {
            "packet": packet,
            "channel": channel,
            "routing_delay": routing_delay,
            "speedup": speedup,
            "speculative": speculative,
        }
        scenario = booksim.empty_network(**settings, allocator=allocator, credit_delay=credit_delay, buffer=32)
        scenario["measure"]["cycles"] = 1500
        result = phit.run(scenario)
        assert result["latency_p50"] == booksim.latency_when_empty(**settings), (settings, credit_delay)


@pytest.mark.parametrize(("credit_delay", "loop"), [(0, 5), (2, 7)])
@pytest.mark.parametrize("buffer", [1, 2, 4])
def test_a_buffer_carries_its_share_of_a_credit_loop(buffer: int, credit_delay: int, loop: int) -> None:
    scenario = booksim.saturated_ring(packet=64, buffer=buffer, credit_delay=credit_delay)
    scenario["measure"] = {"warmup": 4000, "cycles": 20_000}
    # A packet's head loses a cycle in VC allocation, in which the loop of the tail's credit goes on.
    assert phit.run(scenario)["accepted_load"] == pytest.approx(buffer / loop, rel=0.02)


@pytest.mark.parametrize("routing_delay", [0, 1])
@pytest.mark.parametrize("packet", [1, 2, 4, 8])
def test_a_single_channel_rests_between_packets(packet: int, routing_delay: int) -> None:
    scenario = booksim.saturated_ring(packet=packet, routing_delay=routing_delay)
    scenario["measure"] = {"warmup": 4000, "cycles": 12_000}
    # The next head enters its first stage the cycle after the tail's grant: stages of [routing,] channel, switch.
    assert phit.run(scenario)["accepted_load"] == pytest.approx(packet / (packet + 1 + routing_delay), rel=0.005)


def test_the_cheap_comparisons_agree() -> None:
    chosen = cases(REFERENCE, quick=True)
    assert {case.simulator for case in chosen} == {"FOGSim", "BookSim"}
    found = simulate(chosen, quick=True)
    judged = [c for c in found if c.verdict is not Verdict.SHOWN]
    assert len(judged) > 30
    differing = [document.row(c) for c in judged if c.verdict is Verdict.DIFFERS]
    assert not differing


@pytest.mark.parametrize("simulator", ["FOGSim", "BookSim"])
def test_threads_do_not_change_a_comparison(simulator: str) -> None:
    case = next(c for c in cases(REFERENCE) if c.simulator == simulator and ("VAL" in c.series or "8x8x8" in c.series))
    scenario = copy.deepcopy(case.scenario)
    scenario["measure"] |= {"warmup": 200, "cycles": 500}
    one, two = (phit.run(scenario, threads=threads) for threads in (1, 2))
    assert {k: v for k, v in one.items() if k not in MACHINE_KEYS} == {
        k: v for k, v in two.items() if k not in MACHINE_KEYS
    }


def test_every_case_is_a_valid_scenario() -> None:
    chosen = cases(REFERENCE)
    assert len(chosen) > 80
    for case in chosen:
        phit.complete(copy.deepcopy(case.scenario))


def test_a_difference_is_shown_with_its_explanation() -> None:
    case = Case(
        simulator="Other",
        series="a network",
        load=0.3,
        scenario={},
        theirs={"accepted_load": [0.3, 0.3], "latency_mean": [100.0]},
        tolerances={"accepted_load": 0.01, "latency_mean": 0.02},
        notes={"latency_mean": "because"},
    )
    found = compare(
        case, [{"accepted_load": 0.301, "latency_mean": 103.0}, {"accepted_load": 0.3, "latency_mean": 105}]
    )
    assert [c.verdict for c in found] == [Verdict.AGREES, Verdict.DIFFERS]
    assert "+4.00% | 2% | **differs**" in document.row(found[1])
    assert "* mean latency at 0.3: because." in "\n".join(document.section("a network", found))


def test_the_command_needs_the_reference_tables(cli: Cli, tmp_path: Path) -> None:
    status, _, err = cli("validate", "--quick", "--out", str(tmp_path), "--reference", str(tmp_path / "none"))
    assert status == 2
    assert "fogsim_h4_steady.csv: cannot be read" in err


def test_the_page_is_written(tmp_path: Path) -> None:
    scenario = booksim.empty_network()
    case = Case("BookSim", "a torus", 0.0, scenario, {"latency_p50": [30.0]}, {"latency_p50": 0.0}, setting="plain")
    found: list[Comparison] = simulate([case], workers=1)
    page = document.write(found, [], tmp_path / "validation.md", quick=True).read_text()
    assert "| plain | latency | 30.00 | 30.00 | +0.00% | exact | agrees |" in page
    assert json.loads(json.dumps(case.scenario)) == case.scenario
