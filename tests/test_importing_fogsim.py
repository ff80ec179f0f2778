"""FOGSim's configurations as scenarios, and its printed results."""

import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any

import phit
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phit.document.completing import complete
from phit.document.paths import get_path
from phit.importing import RefusedError, Status, read
from phit.importing.fogsim.keys import KEYS
from phit.importing.fogsim.printed import LABELS, printed
from phit.peers import fogsim as peer

from .conftest import Cli

BASE = {
    "P": 2,
    "A": 4,
    "H": 2,
    "MaxCycles": 2000,
    "ArbiterIterations": 1,
    "InjectionQueueLength": 1000,
    "LocalQueueLength": 32,
    "GlobalQueueLength": 256,
    "LocalLinkTransmissionDelay": 10,
    "GlobalLinkTransmissionDelay": 100,
    "InjectionDelay": 1,
    "PacketSize": 8,
    "FlitSize": 8,
    "PalmTreeConfiguration": 1,
    "LocalLinkChannels": 3,
    "InjectionChannels": 3,
    "GlobalChannels": 2,
    "Switch": "IOQ_SW",
    "XbarDelay": 5,
    "InternalSpeedup": 2,
    "OutQueueLength": 32,
    "Traffic": "UN",
    "routing": "MIN",
    "deadlock_avoidance": "DALLY",
    "Probability": 10,
    "Seed": 1,
    "OutputFileName": "out",
}


def imported(folder: Path, **keys: Any) -> phit.importing.Imported:
    file = folder / "config"
    lines = "".join(f"{key}={value}\n" for key, value in {**BASE, **keys}.items() if value is not None)
    file.write_text(f"# A comment\n[CONFIG]\n{lines}[OTHER]\nP=9\n", encoding="utf-8")
    return read("fogsim", file)


def refused(folder: Path, **keys: Any) -> str:
    with pytest.raises(RefusedError) as error:
        imported(folder, **keys)
    return str(error.value)


def test_the_paper_s_parameters_are_those_of_the_comparison(tmp_path: Path) -> None:
    found = imported(tmp_path).document
    ours = {**peer.network(2, 4, 2, {"routing": "MIN"}), "traffic": peer.traffic("UN", 0.1)}
    theirs = {section: found[section] for section in ours}
    theirs["topology"].pop("arrangement")
    assert theirs == ours
    assert found["measure"] == {"warmup": 2000, "cycles": 2000}


@pytest.mark.parametrize("mechanism", peer.CONFIGURATION)
def test_every_mechanism_of_the_comparison_is_read(tmp_path: Path, mechanism: str) -> None:
    keys = dict(peer.configuration(mechanism, 4, {}))
    local = {"PercentLocalThreshold": keys.get("PercentGlobalThreshold")}
    found = imported(tmp_path, **{**local, **keys}).document
    assert found["routing"] == peer.routing(keys)
    assert found["router"]["links"]["local"]["vcs"] == peer.local_vcs(keys)
    complete(found)


@pytest.mark.parametrize("mechanism", ["Base", "Hybrid", "ECtN"])
def test_heads_leave_contention_counters_in_turn(tmp_path: Path, mechanism: str) -> None:
    keys = dict(peer.configuration(mechanism, 4, {}))
    local = {"PercentLocalThreshold": keys.get("PercentGlobalThreshold")}
    assert imported(tmp_path, **{**local, **keys}).document["routing"]["crossing"] == "fifo"


ARRIVES: dict[str, tuple[Any, str, Any]] = {
    "PalmTreeConfiguration": (0, "topology.arrangement", "consecutive"),
    "InjectionQueueLength": (500, "router.links.endpoint.buffer", 500),
    "LocalQueueLength": (64, "router.links.local.buffer", 64),
    "GlobalQueueLength": (512, "router.links.global.buffer", 512),
    "LocalLinkTransmissionDelay": (20, "router.links.local.latency", 20),
    "GlobalLinkTransmissionDelay": (200, "router.links.global.latency", 200),
    "LocalLinkChannels": (4, "router.links.local.vcs", 4),
    "GlobalChannels": (3, "router.links.global.vcs", 3),
    "InjectionChannels": (2, "router.links.endpoint.vcs", 2),
    "XbarDelay": (3, "router.latency", 3),
    "InternalSpeedup": (1, "router.speedup", 1),
    "OutQueueLength": (64, "router.output_buffer", 64),
    "Probability": (35, "traffic.load", 0.35),
    "Seed": (9, "seed", 9),
    "MaxCycles": (700, "measure.warmup", 700),
}


@pytest.mark.parametrize("key", ARRIVES)
def test_a_key_arrives(tmp_path: Path, key: str) -> None:
    value, path, expected = ARRIVES[key]
    assert get_path(imported(tmp_path, **{key: value}).document, path, None) == expected


def test_adversarial_traffic_of_the_same_index(tmp_path: Path) -> None:
    found = imported(tmp_path, Traffic="ADV", AdvTrafficDistance=1).document["traffic"]["pattern"]
    # 9 groups of 4 routers of 2 endpoints: endpoint 5 is the second of router 2 and sends to router 6.
    assert found["kind"] == "mix"
    targets = set()
    for part in found["parts"]:
        shifts = part["pattern"].get("parts", [{"endpoints": [5], "pattern": part["pattern"]}])
        (offset,) = (shift["pattern"]["offset"] for shift in shifts if 5 in shift["endpoints"])
        targets.add((5 + offset) % 72)
    assert targets == {12, 13}


def test_a_change_of_traffic_comes_after_the_warm_up(tmp_path: Path) -> None:
    change = {
        "transientTrafficFirstPattern": "UN",
        "transientTrafficSecondPattern": "ADV_RANDOM_NODE",
        "transientTrafficNextDist": 2,
        "transientTrafficCycle": 100,
    }
    traffic = imported(tmp_path, Traffic="TRANSIENT", **change).document["traffic"]
    assert traffic["changes"] == [{"cycle": 2100, "pattern": {"kind": "adversarial", "offset": 2}}]


@pytest.mark.parametrize(
    ("key", "value"),
    [("Switch", "BASE_SW"), ("FlitSize", 4), ("deadlock_avoidance", "RING"), ("routing", "OFAR"), ("Traffic", "TRACE"),
     ("P", "two"), ("P", None), ("NoSuchKey", 1), ("Probability", 101), ("forceMisrouting", 1)],
)  # fmt: skip
def test_what_cannot_be_expressed_is_refused_by_key(tmp_path: Path, key: str, value: Any) -> None:
    assert key in refused(tmp_path, **{key: value})


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    found = imported(tmp_path, RingInjectionBubble=1)
    assert [status for status, _ in found.notes].count(Status.DROPPED) == 1


def test_rounds_of_allocation_and_ugal_are_taken(tmp_path: Path) -> None:
    document = imported(tmp_path, ArbiterIterations=3, routing="UGAL", ugal_local_threshold=2).document
    assert document["router"]["allocation_rounds"] == 3
    routing = document["routing"]
    assert (routing["kind"], routing["via"], routing["threshold"]) == ("ugal_l", "group", 2)
    assert (routing["hop_count"], routing["decide"]) == ("consecutive", "until_nonminimal")
    assert "allocation_rounds" not in imported(tmp_path).document["router"]


def test_keys_of_version_5_choose_its_router(tmp_path: Path) -> None:
    found = imported(tmp_path, VcUsage="BASE", WarmupCycles=700, Probability=12.5).document
    assert found["router"]["credit_release"] == "allocation"
    assert found["router"]["ejection"] == "endpoint_idle"
    assert found["measure"] == {"warmup": 700, "cycles": 2000}
    assert found["traffic"]["load"] == 0.125
    complete(found)
    old = imported(tmp_path, WarmupCycles=700).document
    assert old["router"]["credit_release"] == "output"
    assert old["measure"] == {"warmup": 2000, "cycles": 2000}
    assert imported(tmp_path, Version=5).document["router"] == found["router"]
    assert "Version" in refused(tmp_path, Version=3)


LATER: dict[str, dict[str, Any]] = {
    "OBL": {"GlobalMisroutingPolicy": "CRG_L", "ValiantType": "FULL_RECOMP"},
    "ACOR": {"ValiantType": "SRCEXC_RECOMP", "acorStateManagement": "PACKETCGRS"},
    "SRC_ADP": {"GlobalMisroutingPolicy": "RRG", "CongestionDetection": "PER_PORT"},
    "PB_ACOR": {
        "ValiantType": "SRCEXC_RECOMP",
        "acorStateManagement": "SWITCHCSRS",
        "acorHystCycles": 50,
        "acorInc1Packets": 9,
        "acorDec1Packets": 4,
    },
    "MIN_COND": {"GlobalMisroutingPolicy": "CRG", "CongestionManagement": "PAUSE"},
}

NOTIFYING: dict[str, str | float] = {
    "routing": "MIN_COND",
    "GlobalMisroutingPolicy": "CRG",
    "CongestionManagement": "QCNSW",
    "CosLevels": 2,
    "LocalLinkChannels": 5,
    "GlobalChannels": 3,
    "QCNSW_IMPLEMENTATION": "QCNSWOUTFBCOMP",
    "QCNSW_POLICY": "MIAD",
    "QCN_Q_EQ": 20,
    "QCNSamplingInterval": 50,
    "QCN_BC_LIMIT": 800,
    "QCN_R_AI": 1,
    "QCN_MIN_RATE": 2,
    "QCN_GD": 0.5,
    "QCNCNMsPercent": 25,
    "QCNThreshold2": 3,
}


@pytest.mark.parametrize("routing", LATER)
def test_mechanisms_of_version_5_are_read(tmp_path: Path, routing: str) -> None:
    found = imported(tmp_path, routing=routing, LocalLinkChannels=4, **LATER[routing]).document
    assert found["router"]["ejection"] == "endpoint_idle"
    complete(found)
    expected: dict[str, dict[str, Any]] = {
        "OBL": {"kind": "oblivious", "reach": "router", "within": True, "own_group": True, "redraw": "every_cycle"},
        "ACOR": {"kind": "acor", "states": {"order": ["link_group", "any_router"], "per": "packet"}},
        "SRC_ADP": {"kind": "src_adp", "reach": "group", "within": False, "flag_queue": "port", "redraw": "never"},
        "PB_ACOR": {
            "kind": "pb_acor",
            "states": {"order": ["link_router", "any_router"], "per": "router", "period": 50, "up": [9], "down": [4]},
        },
        "MIN_COND": {"kind": "min_cond"},
    }
    assert expected[routing].items() <= found["routing"].items()


def test_notifications_of_version_5_are_read(tmp_path: Path) -> None:
    found = imported(tmp_path, **{**NOTIFYING, "QCN_R_AI": 1.5}).document
    expected = {
        "kind": "qcn_switch", "point": "output", "own": False, "set_point": 20, "sample_base": 50, "recovery": 800,
        "weight": 2.0, "notify": 0.25, "minimum": 0.02, "gain": 0.005, "decrease_by": "sum", "increase_by": "product",
        "increase": 1.5, "whole_percent": True, "notification": 8,
        "compare": {"keep": 0, "lower": 3, "below": "raise", "memory": 0},
    }  # fmt: skip
    assert found["routing"] == expected
    # The others are the channels of notifications.
    assert [found["router"]["links"][name]["vcs"] for name in ("local", "global")] == [3, 2]
    complete(found)
    own = imported(tmp_path, **{**NOTIFYING, "QCNSW_IMPLEMENTATION": "QCNSWSELF", "QCNSW_POLICY": "AIMD"}).document
    assert {"point": "input_and_link", "own": True, "increase": 0.01, "gain": 0.5}.items() <= own["routing"].items()
    assert "compare" not in own["routing"]


@pytest.mark.parametrize(
    ("key", "value"),
    [("LocalLinkChannels", 4), ("GlobalChannels", 2), ("CosLevels", 1), ("QCNSW_POLICY", "AAAA"), ("QCN_Q_EQ", 0),
     ("QCN_R_AI", 0.5), ("QCNThreshold1", 5), ("QCN_GD", 2)],
)  # fmt: skip
def test_notifications_that_cannot_be_are_refused_by_key(tmp_path: Path, key: str, value: str | float) -> None:
    with pytest.raises(RefusedError) as refused:
        imported(tmp_path, **{**NOTIFYING, key: value})
    assert key.replace("Threshold1", "Threshold2") in str(refused.value)


@pytest.mark.parametrize(
    ("detection", "queue"),
    [("PER_VC", None), ("PER_PORT", "port"), ("PER_VC_MIN", "minimal_channel"), ("PER_PORT_MIN", "minimal_port")],
)
def test_what_flags_count_is_read(tmp_path: Path, detection: str, queue: str | None) -> None:
    keys = {**LATER["SRC_ADP"], "CongestionDetection": detection}
    found = imported(tmp_path, routing="SRC_ADP", LocalLinkChannels=4, **keys).document
    assert found["routing"].get("flag_queue") == queue


@pytest.mark.parametrize(
    ("key", "value"),
    [("VcUsage", "RLM"), ("routing", "RLM"), ("routing", "CAR"), ("Traffic", "HOTREGION"), ("Buffer", "SHARED"),
     ("CongestionManagement", "QCNSW"), ("CosLevels", "2")],
)  # fmt: skip
def test_what_version_5_has_beyond_phit_is_refused_by_key(tmp_path: Path, key: str, value: str) -> None:
    assert key in refused(tmp_path, **{"Version": 5, key: value})


PRINTED = "\n".join(
    [
        "PARAMETERS",
        *(f"{label}: {BASE[key]}" for label, key in LABELS.items() if key in BASE),
        "Switch: IOQ",
        "Deadlock Avoidance Mechanism: Dally",
        "",
        "STATISTICS",
        "Accepted Load: 0.1 phits/(node*cycle)",
        "Average Distance: {hops}",
        "Average Total Packet Latency: {latency}",
    ]
)


def test_printed_results_are_compared(tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / "out"
    # Uniform traffic of 72 endpoints: of 35 other routers 3 are in the group and 32 outside, each with 1 to 3 links.
    file.write_text(PRINTED.format(hops=2.4, latency=137), encoding="utf-8")
    assert printed(file).numbers == {"accepted_load": 0.1, "hops_mean": 2.4, "latency_mean": 137}
    assert printed(file).imported.document["topology"] == imported(tmp_path).document["topology"]
    status, out, _ = cli("validate", "--against", file, "--seeds", 3)
    assert status in (0, 1)
    assert "mean hops" in out
    file.write_text(PRINTED.format(hops=4.0, latency=137), encoding="utf-8")
    assert cli("validate", "--against", file, "--seeds", 3)[0] == 1


_WORDS = st.sampled_from(["OLM", "PB", "CA", "HYBRID", "MIX", "ADV", "x", ""])
_VALUES = st.one_of(st.integers(-2, 300).map(str), _WORDS)


@settings(max_examples=100)
@given(keys=st.dictionaries(st.sampled_from(sorted(KEYS)), _VALUES, max_size=8))
def test_configurations_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, keys: dict[str, str]) -> None:
    with suppress(phit.InputError, phit.ScenarioError):
        found = imported(tmp_path_factory.getbasetemp(), **keys)
        assert tomllib.loads(found.to_toml()) == found.document
        complete(found.document)


def test_channels_that_hops_may_choose_are_read(tmp_path: Path) -> None:
    found = imported(tmp_path, VcUsage="TBFLEX", VcAllocation="RANDOM_VC", LocalLinkChannels=5).document
    assert found["queueing"] == {"kind": "flexvc", "highest": "position"}
    assert found["router"]["vc_choice"] == "random"
    complete(found)
    found = imported(tmp_path, VcUsage="FLEXIBLE").document
    assert found["queueing"] == {"kind": "flexvc", "highest": "group"}
    assert found["router"]["vc_choice"] == "roomiest_highest"
    assert "queueing" not in imported(tmp_path, VcUsage="BASE").document
    assert "VcAllocation" in refused(tmp_path, VcUsage="TBFLEX", VcAllocation="FIRST_VC")


def test_shared_buffers_are_those_of_a_port(tmp_path: Path) -> None:
    shared = {"Buffer": "DYNAMIC", "LocalQueueLength": 130, "GlobalQueueLength": 512, "LocalLinkChannels": 4}
    router = imported(tmp_path, ReservedBufferLocal=0, ReservedBufferGlobal=2, **shared).document["router"]
    links = router["links"]
    # 130 phits for four channels are four packets of eight phits for each.
    assert (links["local"]["buffer"], links["global"]["buffer"]) == (32, 256)
    assert router["sharing"] == {"private": 0}
    assert links["global"]["private"] == 16
    assert links["endpoint"]["private"] == links["endpoint"]["buffer"]
    complete(imported(tmp_path, ReservedBufferLocal=0, ReservedBufferGlobal=2, **shared).document)
    assert "ReservedBufferLocal" in refused(tmp_path, ReservedBufferLocal=5, ReservedBufferGlobal=2, **shared)
    beside = {"VcUsage": "TBFLEX", "ReservedBufferLocal": 1, "ReservedBufferGlobal": 1}
    assert "VcUsage" in refused(tmp_path, **beside, **shared)
    assert "ReservedBufferLocal" in refused(tmp_path, **shared)


def test_in_transit_routing_of_version_5_has_policies_and_channels(tmp_path: Path) -> None:
    def routing(**keys: Any) -> Any:
        trigger = {"PercentGlobalThreshold": 50, "PercentLocalThreshold": 50}
        found = imported(tmp_path, Version=5, MisroutingTrigger="CGA", **trigger, LocalLinkChannels=5, **keys).document
        complete(found)
        return found["routing"]

    par = routing(routing="PAR", GlobalMisroutingPolicy="MM_L")
    assert (par["kind"], par["misrouting"], "draw" in par) == ("olm", {"channels": "next"}, False)
    olm = routing(routing="OLM", GlobalMisroutingPolicy="CRG")
    assert (olm["draw"], olm["misrouting"]) == ("any", {"policy": "router"})
    assert "misrouting" not in routing(routing="OLM", GlobalMisroutingPolicy="MM_L")
    assert "routing" in refused(tmp_path, Version=2, routing="PAR")
    assert "GlobalMisroutingPolicy" in refused(tmp_path, Version=2, routing="OLM", GlobalMisroutingPolicy="CRG")
    assert "VcUsage" in refused(tmp_path, VcUsage="TBFLEX", routing="PAR", GlobalMisroutingPolicy="MM_L")


def test_requests_have_half_of_the_channels(tmp_path: Path) -> None:
    channels = {"LocalLinkChannels": 4, "GlobalChannels": 2}
    found = imported(tmp_path, Traffic="UN_RCTV", routing="MIN", MaxPetitionsOnFlight=5, **channels).document
    assert found["traffic"]["requests"] == {"outstanding": 5}
    assert found["traffic"]["pattern"] == {"kind": "uniform"}
    complete(found)
    assert imported(tmp_path, Traffic="UN_RCTV", routing="MIN", **channels).document["traffic"]["requests"] == {}
    assert "LocalLinkChannels" in refused(tmp_path, Traffic="UN_RCTV", routing="VAL_ANY", **channels)
    assert "Traffic" in refused(tmp_path, Traffic="UN_RCTV", routing="ACOR", **channels)
    channels = {"LocalLinkChannels": 5, "GlobalChannels": 3, "LocalResChannels": 3, "GlobalResChannels": 2}
    flexible = imported(tmp_path, Traffic="UN_RCTV", routing="MIN", VcUsage="TBFLEX", **channels).document
    assert flexible["traffic"]["requests"] == {"virtual_networks": False}
    replies = {"local": 3, "global": 2}
    assert flexible["queueing"] == {"kind": "flexvc", "highest": "position", "replies": replies}
    complete(flexible)
    del channels["LocalResChannels"]
    assert "LocalResChannels" in refused(tmp_path, Traffic="UN_RCTV", routing="MIN", VcUsage="TBFLEX", **channels)
    channels = {"LocalLinkChannels": 4, "GlobalChannels": 2}
    assert "Traffic" in refused(tmp_path, Version=2, Traffic="UN_RCTV", routing="MIN", **channels)
