"""Agreement with other simulators: closed forms, and the cheap part of `phit validate`."""

import copy
import csv
import dataclasses
import itertools
import json
from pathlib import Path
from typing import Any

import phit
import pytest
from phit.document.experiment import Point
from phit.peers import booksim as peer
from phit.peers.booksim import latency_when_empty
from phit.peers.comparison import Case, Known, compare
from phit.peers.fogsim import router
from phit.peers.runs import answers
from phit.running import sweeping, workers
from phit.running.where import Where
from phit.store.quantities import MACHINE
from phit.studies.validation import Verdict, booksim, cases, document, fogsim, more_settings, reference, transient
from phit.studies.validation.run import simulate, transients
from phit.studies.validation.transient import PHASES, WARMUP, WINDOW, Transient

from .conftest import ROOT, Cli

REFERENCE = ROOT / "tests" / "reference"


def fogsim_between(offset: int) -> dict[str, Any]:
    """Almost no traffic from every endpoint to the one at a distance, in FOGSim's router."""
    return {
        "topology": {"kind": "dragonfly", "p": 4, "a": 8, "h": 4},
        "router": router(3),
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
        # Tornado goes three routers on in both dimensions.
        assert result["latency_p50"] == latency_when_empty(7, **settings), (settings, credit_delay)


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


def requests(outstanding: int | None = None, **changes: Any) -> dict[str, Any]:
    """Reads and writes on BookSim's mesh of 8x8, which answers in the cycle after a request has come."""
    sizes = {"read_request": 1, "read_reply": 5, "write_request": 5, "write_reply": 1}
    loop = {**sizes, "writes": 0.5, "service": 1, "think": 1, "source_queue": "together"}
    return {
        "topology": {"kind": "mesh", "dims": [8, 8]},
        "router": peer.router(),
        "routing": "dimension_order",
        "traffic": {"pattern": peer.UNIFORM, **changes, "requests": {**loop, "outstanding": outstanding}},
        "measure": {"warmup": 1000, "cycles": 4000},
    }


def test_booksim_answers_reads_and_writes_as_fast() -> None:
    rows = list(csv.DictReader((REFERENCE / "booksim_requests.csv").read_text(encoding="utf-8").splitlines()))
    for row in (row for row in rows if row["loop"] == "open"):
        result = phit.run(requests(load=float(row["offered_flits_node_cycle"])))
        assert result["accepted_load"] == pytest.approx(float(row["accepted_flits_node_cycle"]), rel=0.03)
        # Its replies count from the cycle in which the request came.
        assert result["latency_mean"] + 0.5 == pytest.approx(float(row["avg_packet_latency"]), rel=0.02)
    for row in (row for row in rows if row["loop"] == "closed"):
        scenario = requests(int(row["outstanding"]))
        if row["outstanding"] == "16":
            # The network is full: rates over 4,000 cycles differ by a percent from seed to seed, in BookSim, too.
            scenario["measure"]["cycles"] = 10_000
        rate = phit.run(scenario)["transaction_rate"]
        # A request and a reply make two packets.
        assert 2 * rate == pytest.approx(float(row["packets_node_cycle"]), rel=0.02), row


def test_the_cheap_comparisons_agree() -> None:
    # One seed of each case: limits belong to cases, for any number of seeds.
    chosen = [dataclasses.replace(case, seeds=1) for case in cases(REFERENCE, quick=True)]
    # Congestion control is judged by the scatter of seeds, for which one is not enough.
    chosen = [case for case in chosen if case.simulator != "BookSim-congestion"]
    assert {case.simulator for case in chosen} == {"FOGSim", "BookSim", "OutFlank", "merlin"}
    changes = transients(REFERENCE, quick=True)
    assert changes
    found, phases = simulate(chosen, changes, quick=True)
    judged = [c for c in found if c.verdict is not Verdict.SHOWN]
    assert len(judged) > 60
    differing = [document.row(c) for c in judged if c.verdict is Verdict.DIFFERS]
    differing += [document.transient_row(phase) for phase in phases if phase.verdict is Verdict.DIFFERS]
    assert not differing


@pytest.mark.parametrize("simulator", ["FOGSim", "BookSim"])
def test_threads_do_not_change_a_comparison(simulator: str) -> None:
    case = next(c for c in cases(REFERENCE) if c.simulator == simulator and ("VAL" in c.series or "8x8x8" in c.series))
    scenario = copy.deepcopy(case.scenario)
    scenario["measure"] |= {"warmup": 200, "cycles": 500}
    one, two = (phit.run(scenario, threads=threads) for threads in (1, 2))
    assert {k: v for k, v in one.items() if k not in MACHINE} == {k: v for k, v in two.items() if k not in MACHINE}


def test_every_case_is_a_valid_scenario() -> None:
    chosen = cases(REFERENCE)
    assert len(chosen) > 180
    scenarios = [scenario for case in chosen for scenario in case.scenarios(quick=True)] + [
        change.scenario for change in transients(REFERENCE)
    ]
    for scenario in scenarios:
        phit.complete(copy.deepcopy(scenario))


def test_every_row_of_fogsim_is_compared() -> None:
    tables = ("fogsim_h4_steady.csv", "fogsim_h4_sensitivity.csv", "fogsim_h8_steady.csv")
    found = [row for table in tables for row in reference.rows(REFERENCE, table)]
    compared = sum(len(case.theirs["accepted_load"]) for case in fogsim.cases(REFERENCE))
    assert compared == len(found)


def test_shares_of_packets_are_compared_absolutely() -> None:
    theirs = {"misrouted_globally": [0.01], "misrouted_locally": [0.0], "hops_mean": [2.0]}
    case = Case("Other", "a network", 0.3, {}, theirs, {**dict.fromkeys(theirs, 0.02), "hops_mean": 0.01})
    found = compare(case, [{"misrouted_globally": 0.025, "misrouted_locally": 0.021, "hops_mean": 2.03}])
    assert [c.verdict for c in found] == [Verdict.AGREES, Verdict.DIFFERS, Verdict.DIFFERS]
    assert document.row(found[0])[-3:] == ("+0.0150", "0.02", "agrees")
    assert document.row(found[1])[-3:] == ("+0.0210", "0.02", "**differs**")


def test_a_known_cause_explains_differences_up_to_its_limit() -> None:
    known = Known("because", {"hops_mean": 0.05})
    theirs = {"hops_mean": [2.0], "accepted_load": [0.3]}
    case = Case("Other", "a network", 0.3, {}, theirs, dict.fromkeys(theirs, 0.01), known=known)
    for hops, verdict in ((2.01, Verdict.AGREES), (2.09, Verdict.EXPLAINED), (2.11, Verdict.DIFFERS)):
        found = compare(case, [{"hops_mean": hops, "accepted_load": 0.31}])
        assert [c.verdict for c in found] == [verdict, Verdict.DIFFERS]
        explained = "* mean hops at 0.3: because." in document.section("a network", found)
        assert explained == (verdict is Verdict.EXPLAINED)


def change_of_traffic(windows: dict[int, float]) -> Transient:
    """A mean latency before and after a change, from four seeds."""
    return Transient("OLM", "a network", "a change", {}, {"latency_mean": windows}, their_seeds=4)


def series(windows: dict[int, float]) -> dict[str, Any]:
    """The answer of a run with these latencies."""
    cycles = [WARMUP + start for start in windows]
    return {"tables": {"series": {"cycle": cycles, "latency_mean": list(windows.values())}}}


def test_windows_agree_within_four_standard_errors_or_the_least_limit() -> None:
    starts = (-2 * WINDOW, -WINDOW, 0, WINDOW, PHASES["after"][0])
    theirs = change_of_traffic(dict.fromkeys(starts, 100.0))
    # Standard deviation 2 over 4 seeds on both sides: a standard error of 2 (1/4 + 1/4)^0.5 = 1.414.
    scatter = (-(3**0.5), -(3**0.5), 3**0.5, 3**0.5)
    offsets = dict(zip(starts, (0.0, 2.9, 5.6, 5.7, 5.6), strict=True))
    runs = [series({start: 100 + offsets[start] + of_seed for start in starts}) for of_seed in scatter]
    before, answer, after = transient.compare(theirs, runs)
    assert [phase.beyond for phase in (before, answer, after)] == [0, 1, 0]
    assert [phase.verdict for phase in (before, answer, after)] == [Verdict.AGREES, Verdict.DIFFERS, Verdict.AGREES]
    assert answer.worst.start == WINDOW
    assert answer.worst.limit == pytest.approx(4 * 2**0.5 / 100)
    cells = ("-300 to 0", "mean latency", "2", "0", "+1.45%", "+2.90% at -20", "5.66%", "agrees")
    assert document.transient_row(before) == ("OLM", *cells)


def test_seeds_that_do_not_scatter_leave_the_least_limit() -> None:
    theirs = change_of_traffic({-WINDOW: 100.0, 0: 100.0, 300: 100.0})
    found = transient.compare(theirs, [series({-WINDOW: 102.9, 0: 103.1, 300: 97.1})] * 4)
    assert [phase.verdict for phase in found] == [Verdict.AGREES, Verdict.DIFFERS, Verdict.AGREES]


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
    assert document.row(found[1])[-3:] == ("+4.00%", "2%", "**differs**")
    assert "* mean latency at 0.3: because." in document.section("a network", found)


def test_the_command_needs_the_reference_tables(cli: Cli, tmp_path: Path) -> None:
    status, _, err = cli("validate", "--quick", "--out", str(tmp_path), "--reference", str(tmp_path / "none"))
    assert status == 2
    assert "fogsim_h4_steady.csv: cannot be read" in err


def test_the_page_is_written(tmp_path: Path) -> None:
    scenario = booksim.empty_network()
    case = Case("BookSim", "a torus", 0.0, scenario, {"latency_p50": [30.0]}, {"latency_p50": 0.0}, setting="plain")
    found, phases = simulate([case], where=Where(workers=1))
    summary = document.write(found, phases, [], tmp_path / "validation.md", quick=True).read_text()
    assert "* [BookSim](agreement-booksim.md)" in summary
    assert "## Differences" not in summary
    page = (tmp_path / "agreement-booksim.md").read_text()
    head = "| setting | measure | theirs | Phit | difference | tolerance | verdict |"
    line = "| plain | latency | 30.00 | 30.00 | +0.00% | exact | agrees |"
    assert f"### a torus\n\n{head}\n| --- | --- | ---: | ---: | ---: | ---: | --- |\n{line}\n" in page
    assert json.loads(json.dumps(case.scenario)) == case.scenario
    wrong = Case("BookSim", "a torus", 0.0, scenario, {"latency_p50": [31.0]}, {"latency_p50": 0.0}, setting="plain")
    found, phases = simulate([wrong], where=Where(workers=1))
    summary = document.write(found, phases, [], tmp_path / "validation.md", quick=True).read_text()
    assert "| a torus | plain | latency | 31.00 | 30.00 | -3.23% | exact | **differs** |" in summary


def test_runs_that_are_kept_are_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = booksim.empty_network()
    case = Case("BookSim", "a torus", 0.0, scenario, {"latency_p50": [30.0]}, {"latency_p50": 0.0}, setting="plain")
    first = simulate([case], where=Where(workers=1), results=tmp_path / "kept")
    asked: list[Point] = []

    def counted(points: list[Point], *arguments: Any, **named: Any) -> workers.Answers:
        asked.extend(points)
        return workers.run_here(points, *arguments, **named)

    monkeypatch.setattr(sweeping, "run_here", counted)
    assert simulate([case], where=Where(workers=1), results=tmp_path / "kept") == first
    assert not asked
    answers([case], where=Where(workers=1), results=tmp_path / "other")
    assert len(asked) == len(case.scenarios(quick=False))


def test_every_setting_outside_the_first_tables_is_compared() -> None:
    tables = ("booksim_more_settings.csv", "fogsim_more_settings.csv")
    found = [row for table in tables for row in reference.rows(REFERENCE, table)]
    chosen = more_settings.cases(REFERENCE)
    whole = [case for case in chosen if case.series == more_settings.WHOLE]
    compared = {(case.setting, measure) for case in chosen if case not in whole for measure in case.theirs}
    assert compared == {(row["setting"], row["measure"]) for row in found}
    runs = sum(len(case.theirs["accepted_load"]) for case in whole)
    configured = ("booksim_configurations.csv", "fogsim_configurations.csv")
    assert runs == sum(len(reference.rows(REFERENCE, table)) for table in configured)


def test_whole_configurations_of_booksim_agree() -> None:
    chosen = [dataclasses.replace(case, seeds=2) for case in more_settings.cases(REFERENCE)]
    chosen = [case for case in chosen if case.series == more_settings.WHOLE and case.simulator == "BookSim"]
    assert len(chosen) > 20
    found, _ = simulate(chosen, [])
    assert len(found) > 2 * len(chosen)
    assert not [document.row(c) for c in found if c.verdict is not Verdict.AGREES]
