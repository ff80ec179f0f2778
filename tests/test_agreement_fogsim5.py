"""The comparison with FOGSim, version 5: rows become scenarios, or are left out with a reason."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import phit
import pytest
from phit.document import Document
from phit.peers import fogsim as peer
from phit.running.where import Where
from phit.studies.validation import Verdict, fogsim5, transient_figures
from phit.studies.validation.run import cases, left_out, simulate, transients, validate
from phit.studies.validation.transient import Phase, Window

from .conftest import Cli

KEYS = {
    **peer.COMMON,
    "P": "2",
    "A": "4",
    "H": "2",
    "MaxCycles": "5000",
    "WarmupCycles": "3000",
    "Traffic": "UN",
    "routing": "MIN",
    "VcUsage": "BASE",
}


def row(mechanism: str, seed: int, latency: float, **keys: str) -> dict[str, str]:
    """A row of a table; the numbers of version 5 for MIN under UN at 0.5."""
    settings = ";".join(f"{key}={value}" for key, value in {**KEYS, **keys}.items())
    numbers = {"accepted_load": "0.5007", "avg_packet_latency": str(latency), "frac_nonminimal": "0.0"}
    others = {"pattern": "UN", "offered_load": "0.5", "avg_hops": "2.344", "settings": settings, "status": "ok"}
    return {"mechanism": mechanism, "seed": str(seed), **numbers, **others}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with tables of all kinds."""

    def write(name: str, rows: list[dict[str, str]]) -> None:
        with (tmp_path / "fogsim5" / name).open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)

    (tmp_path / "fogsim5").mkdir()
    rows = [row("MIN", 1, 145.67), row("MIN", 2, 145.98), row("RLM", 1, 145.6, routing="RLM")]
    write("steady.csv", [*rows, row("CAR", 1, 260.0, routing="CAR")])
    write("crashes.csv", [{"mechanism": "RLM", "h": "2", "status": "aborts"}])
    change = {
        "Traffic": "TRANSIENT",
        "transientTrafficFirstPattern": "UN",
        "transientTrafficSecondPattern": "ADV_RANDOM_NODE",
        "transientTrafficNextDist": "1",
    }
    of_change = row("MIN", 1, 0.0, **change)
    names = {"first_pattern": "UN", "second_pattern": "ADV+1", "load": "0.05", "p": "2", "a": "4", "h": "2"}
    bins = [
        {"mechanism": "MIN", **names, "generation_cycle_bin_start": str(start), "bin_cycles": "10", "packets": "40",
         "latency_mean": "140", "misrouted_percent": "0", "seeds": "2", "settings": of_change["settings"]}
        for start in range(-50, 100, 10)
    ]  # fmt: skip
    write("transient.csv", bins)
    return tmp_path


def test_every_row_is_compared_or_left_out_with_a_reason(folder: Path) -> None:
    (case,) = cases(folder)
    assert case.theirs["latency_mean"] == [145.67, 145.98]
    assert case.scenario["router"]["credit_release"] == "allocation"
    assert case.scenario["measure"] == {"warmup": 3000, "cycles": 5000}
    reasons = {one.place: one.reason for one in left_out(folder)}
    assert set(reasons) == {"steady.csv:4", "steady.csv:5", "crashes.csv:2"}
    assert "routing = 'RLM'" in reasons["steady.csv:4"]
    assert "routing = 'CAR': packets may go back" in reasons["steady.csv:5"]


def test_minimal_routing_agrees(folder: Path) -> None:
    found, _ = simulate(cases(folder), where=Where(workers=1))
    assert {c.verdict for c in found} == {Verdict.AGREES}
    # Version 2 has another router: it accepts as much at this load, and takes 143 cycles instead of 146.
    (case,) = cases(folder)
    old = {**case.scenario["router"], "credit_release": "output"}
    old.pop("ejection")
    run = simulate([type(case)(**{**vars(case), "scenario": {**case.scenario, "router": old}})], where=Where(workers=1))
    (latency,) = (c for c in run[0] if c.measure == "latency_mean")
    assert latency.ours < 0.99 * latency.theirs


def test_a_change_of_traffic_becomes_a_scenario(folder: Path) -> None:
    (change,) = transients(folder)
    assert change.scenario["traffic"]["changes"][0]["cycle"] == 3000
    assert change.scenario["measure"]["warmup"] == 2950
    assert change.theirs["latency_mean"] == {-50: 140.0, 0: 140.0, 50: 140.0}
    assert change.simulator == fogsim5.SIMULATOR
    # FOGSim's run ends 5,000 cycles after the change, and the last window 100.
    assert change.scenario["measure"]["max_drain"] == 4900


@pytest.mark.parametrize(("accepted", "judged"), [("0.5007", True), ("0.51", True), ("0.512", False), ("0.45", True)])
def test_a_run_that_still_carries_packets_of_the_start_is_only_shown(folder: Path, accepted: str, judged: bool) -> None:
    table = folder / "fogsim5" / "steady.csv"
    table.write_text(table.read_text(encoding="utf-8").replace("0.5007", accepted), encoding="utf-8")
    (case,) = cases(folder)
    assert ("accepted_load" in case.tolerances) is judged
    assert ("latency_mean" in case.tolerances) is (judged and accepted != "0.45")


def test_a_mechanism_without_a_measure_has_no_panel(folder: Path) -> None:
    (change,) = transients(folder)
    steps = [Window(start, 140.0, 141.0, 1.0, 1.0, is_share=False) for start in (-50, 0, 50)]
    whole = [Phase(change, measure, "before", steps) for measure in ("latency_mean", "misrouted_globally")]
    latency_alone = Phase(replace(change, mechanism="PB_ACOR"), "latency_mean", "before", steps)
    phases = [*whole, latency_alone]
    assert "PB_ACOR" in json.dumps(transient_figures.figure(phases, "latency_mean").to_dict())
    assert "PB_ACOR" not in json.dumps(transient_figures.figure(phases, "misrouted_globally").to_dict())


def test_the_command_prints_what_is_left_out(folder: Path, cli: Cli, tmp_path: Path) -> None:
    status, out, err = cli("validate", "--reference", str(folder), "--out", str(tmp_path / "docs"))
    assert status in (0, 1), err
    assert "not compared" in out, err
    assert "crashes.csv:2" in out
    page = (tmp_path / "docs" / "agreement-fogsim5.md").read_text(encoding="utf-8")
    assert "## Not compared" in page


def test_shards_need_no_page(folder: Path, tmp_path: Path) -> None:
    report = validate(tmp_path / "docs", folder=folder, quick=True, where=Where(workers=1))
    assert not report.comparisons


@pytest.mark.parametrize(("implementation", "theirs", "longer"), [("BASE", 430, 1.2), ("FBCOMP", 683, 1.5)])
def test_sources_that_drop_packets_have_the_latency_of_fogsim(
    folder: Path, implementation: str, theirs: float, longer: float
) -> None:
    keys = (
        "LocalLinkChannels=5 GlobalChannels=3 MaxCycles=4000 WarmupCycles=6000 Traffic=ADV_RANDOM_NODE "
        "AdvTrafficDistance=1 routing=MIN_COND GlobalMisroutingPolicy=CRG CosLevels=2 CongestionManagement=QCNSW "
        "QCNSW_POLICY=AIMD QCN_Q_EQ=80 QCNSamplingInterval=50 QCN_BC_LIMIT=800 QCN_R_AI=1 QCN_MIN_RATE=1 QCN_W=0.5 "
        "QCN_GD=0.0078125 QCNThreshold1=0 QCNThreshold2=0 QCNCNMsPercent=100 "
        f"QCNSW_IMPLEMENTATION=QCNSW{implementation}"
    )
    of_row = row("QCN", 1, theirs, **dict(pair.split("=") for pair in keys.split()))
    table = folder / "fogsim5" / "qcn.csv"
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(of_row))
        writer.writeheader()
        writer.writerow({**of_row, "offered_load": "0.35"})
    (case,) = (case for case in fogsim5.compared(folder)[0] if ", QCN" in case.series)
    router = case.scenario["router"]

    def latency(more: Document, endpoint: Document) -> float:
        links = {**router["links"], "endpoint": {**router["links"]["endpoint"], **endpoint}}
        scenario = {**case.scenario, "router": {**router, **more, "links": links}}
        return fmean(phit.run({**scenario, "seed": seed}).summary["latency_mean"] for seed in (1, 2))

    # FOGSim's queue of 1,000 phits has all packets of an endpoint. Here each of its 8 destinations has a part of it.
    dropping = {"admittance": "per_destination", "admittance_room": 120}
    assert latency({}, {}) > longer * theirs
    assert latency(dropping, {"buffer": 16}) == pytest.approx(theirs, rel=0.1)
