"""Units keep their meaning: phits, loads and crossbars, whatever other links a network has."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import phit
import pytest
from phit import _phit
from phit.base.errors import InputError
from phit.document.experiment import Experiment, expand_range

SPEEDS = [
    "1xSDR",
    "4xDDR",
    "4xQDR",
    "4xFDR10",
    "4xFDR",
    "4xEDR",
    "2xHDR",
    "4xHDR",
    "4xNDR",
    "8xNDR",
    "12xNDR",
]


def fabric(hosts: list[str], spare: str) -> str:
    """A switch with hosts, and one without any that hangs on it by a spare cable."""
    last = len(hosts) + 1
    text = 'vendid=0x0\nswitchguid=0x3000(3000)\nSwitch\t12 "S-0000000000003000"\t\t# "main" base port 0 lid 1 lmc 0\n'
    for port, rate in enumerate(hosts, 1):
        text += f'[{port}]\t"H-{256 + port:016x}"[1]({256 + port:x}) \t\t# "host{port}" lid {port + 2} {rate}\n'
    text += f'[{last}]\t"S-0000000000003001"[1]\t\t# "spare" lid 2 {spare}\n'
    text += '\nswitchguid=0x3001(3001)\nSwitch\t12 "S-0000000000003001"\t\t# "spare" base port 0 lid 2 lmc 0\n'
    text += f'[1]\t"S-0000000000003000"[{last}]\t\t# "main" lid 1 {spare}\n'
    for port, rate in enumerate(hosts, 1):
        text += f'\ncaguid=0x{256 + port:x}\nCa\t1 "H-{256 + port:016x}"\t\t# "host{port}"\n'
        text += f'[1]({256 + port:x}) \t"S-0000000000003000"[{port}]\t\t# lid {port + 2} lmc 0 "main" lid 1 {rate}\n'
    return text


def scenario(path: Path, text: str, **traffic: Any) -> dict[str, Any]:
    path.write_text(text)
    return {
        "topology": {"kind": "infiniband", "file": str(path)},
        "router": {"links": {"default": {"vcs": 4, "buffer": 1024}}},
        "traffic": {"load": 0.5, "packet_size": 64} | traffic,
        "measure": {"warmup": 500, "cycles": 2000},
    }


def moved(result: phit.Result) -> dict[str, Any]:
    """The part of a result about traffic; links belong to another network."""
    left_out = {"link_utilisation", "scenario", "cpu_seconds", "wall_seconds", "peak_memory_bytes", "engine_bytes"}
    found = {key: value for key, value in result.items() if key not in left_out}
    # Results by class of links, whose name is the cable's speed.
    return found | {key: list(found[key].values()) for key in ("hops", "control_utilisation")}


@pytest.mark.parametrize("packet_size", [64, 1])
def test_a_cable_that_carries_nothing_changes_nothing(tmp_path: Path, packet_size: int) -> None:
    """Eight hosts at HDR that offer half of what their links carry, and a spare cable of any width and speed."""

    def of(spare: str) -> phit.Result:
        found = scenario(tmp_path / "net.txt", fabric(["4xHDR"] * 8, spare), packet_size=packet_size)
        # 4,000 packets of 64 phits: 0.02 is more than two standard errors of the random offered load.
        found["measure"]["cycles"] = 2000 if packet_size == 1 else 64_000
        return phit.run(found)

    even = of("4xHDR")
    assert even["accepted_load"] == pytest.approx(0.5, abs=0.02)
    for speed in SPEEDS:
        assert moved(of(speed)) == moved(even), speed


def test_hosts_of_two_speeds_share_a_switch(tmp_path: Path) -> None:
    """Each host at HDR and EDR offers half of its own link, or a rate."""
    text = fabric(["4xHDR"] * 4 + ["4xEDR"] * 2, "4xDDR")
    # From each to the next but one: two of EDR for each other.
    found = scenario(tmp_path / "net.txt", text, pattern={"kind": "shift", "offset": 1})
    # The 1,250 packets or more of a host: the bounds are three standard errors or more.
    found["measure"] |= {"cycles": 400_000, "endpoints": True}
    complete = phit.complete(found)
    assert complete["topology"]["endpoint_bandwidth"] == [1, 1, 1, 1, 0.5, 0.5]
    assert complete["router"]["links"]["DDR_4x"]["bandwidth"] == 0.08
    injected = phit.run(found).tables["endpoints"]["injected_load"].to_list()
    assert injected == pytest.approx([0.5] * 6, abs=0.05)
    found["traffic"]["load"] = "40 Gb/s"
    assert phit.complete(found)["traffic"]["load_unit"] == "phits"
    injected = phit.run(found).tables["endpoints"]["injected_load"].to_list()
    assert injected == pytest.approx([0.2] * 6, abs=0.03)


def test_a_fabric_has_times_and_sizes(tmp_path: Path) -> None:
    found = scenario(tmp_path / "net.txt", fabric(["4xHDR"] * 2, "4xFDR"), packet_size="4 KiB")
    found["router"] = {"latency": "100 ns", "links": {"default": {"vcs": 4, "buffer": "64 KiB", "latency": "50 ns"}}}
    found["measure"] = {"warmup": "10 us", "cycles": "100 us"}
    complete = phit.complete(found)
    # 163.84 ns for a packet at 200 Gb/s, 50 and 100 ns: 0.08 ns is 2 bytes.
    assert complete["units"] == {"cycle": "2/25 ns", "phit": "16 bit"}
    assert complete["router"]["links"]["FDR_4x"]["bandwidth"] == pytest.approx(0.2728)
    found["measure"]["cycles"] = 1000
    with pytest.raises(phit.ScenarioError, match=re.escape('write, for example, [units] cycle = "10 ps"')):
        phit.complete(found)


def counted(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every key of a schema whose description speaks of what units count, with the schema of its values."""
    words = re.compile(r"\b(cycles?|phits?|bytes|nanoseconds?|bits|time of|time for|time before)\b", re.IGNORECASE)
    waiting: list[Any] = [schema]
    while waiting:
        here = waiting.pop()
        if isinstance(here, list):
            waiting.extend(here)
        elif isinstance(here, dict):
            waiting.extend(here.values())
            for key, value in (here.get("properties") or {}).items():
                if isinstance(value, dict) and words.search(value.get("description", "")):
                    yield key, value


WITHOUT_UNIT = {
    # Numbers of other things, of which cycles, phits or bytes are told in passing.
    *("allocation_rounds", "batches", "chunks", "credit_threshold", "factor", "input_speedup", "output_speedup"),
    *("outstanding", "packets", "precision", "quantum", "speedup", "vcs", "weight", "injection_rate", "load_unit"),
    "exchanges",
    # Widths of what notifications carry.
    *("counter_bits", "destination_bits"),
    # Per cycle, of packets; rows of several numbers; a trace's own file of which the names have the unit.
    *("local_low", "global_low", "trace", "cycle_ns", "phit_bytes", "request_bytes", "start", "limit", "precompute"),
}

OPERATIONS = "Operations in a nanosecond"
"""Beginning of the description of `peak` in a workload; the `peak` of a burst is a load and takes a rate."""


def test_every_key_that_counts_takes_a_quantity() -> None:
    takes = re.compile(r"#/\$defs/(time|size|rate)")
    number = re.compile(r'"(integer|number)"')
    schema = json.loads(_phit.schema())
    without = {
        key
        for key, value in counted(schema)
        if not value["description"].startswith(OPERATIONS)
        and number.search(text := json.dumps(value))
        and not takes.search(text)
        and "$ref" not in value
    }
    assert without <= WITHOUT_UNIT


def test_programs_take_quantities() -> None:
    def complete(workload: dict[str, Any], **units: str) -> dict[str, Any]:
        document = {"topology": {"kind": "single", "endpoints": 4}, "workload": workload, "units": units}
        found: dict[str, Any] = phit.complete(document)["workload"]
        return found

    training = {"kind": "training", "layers": 2, "gradient_bytes": "1 MiB", "forward": "200 us", "optimizer": "1 ms"}
    found = complete(training, cycle="1 ns", phit="16 B")
    assert (found["forward"], found["optimizer"], found["gradient_bytes"]) == (200_000, 1_000_000, 1 << 20)
    # A program's own unit of time.
    found = complete(training | {"time_unit": "1 us"}, cycle="1 ns", phit="16 B")
    assert (found["forward"], found["time_unit"]) == (200, 1000)
    halo = {"kind": "halo", "dims": [2, 2], "bytes": "4 KiB", "calc": "5 us"}
    found = complete(halo, cycle="1 ns", phit="16 B")
    assert (found["bytes"], found["calc"]) == ([4096], 5000)
    assert complete(halo | {"bytes": 64, "calc": 5}, phit="16 B")["bytes"] == [64]
    assert complete(halo | {"bytes": ["1 KiB", "2 KiB"]}, cycle="1 ns", phit="16 B")["bytes"] == [1024, 2048]
    with pytest.raises(phit.ScenarioError, match=re.escape("a plain number of cycles beside workload.forward")):
        complete(training | {"optimizer": 5}, phit="16 B")


def test_times_and_sizes_without_a_rate_need_units() -> None:
    """What a link carries must not depend on which times and sizes a scenario happens to have."""
    document: dict[str, Any] = {
        "topology": {"kind": "mesh", "dims": [2, 2]},
        "router": {"latency": "20 ns", "links": {"default": {"latency": "200 ns", "buffer": "4 KiB"}}},
        "traffic": {"load": 0.2, "packet_size": "256 B"},
        "measure": {"warmup": "1 us", "cycles": "20 us"},
    }
    with pytest.raises(phit.ScenarioError, match=r"expected how long a cycle is: .* or give the links a rate"):
        phit.run(document)
    with pytest.raises(phit.ScenarioError, match="expected how large a phit is"):
        phit.run(document | {"units": {"cycle": "1 ns"}})

    def seconds(units: dict[str, str], **links: dict[str, str]) -> float:
        found = json.loads(json.dumps(document | {"units": units}))
        for name, values in links.items():
            found["router"]["links"].setdefault(name, {}).update(values)
        result = phit.run(found)
        return float((result.latency_mean or 0) * result["cycle_seconds"])

    rate = {"bandwidth": "128 Gb/s"}
    said = seconds({"cycle": "1 ns", "phit": "16 B"})
    assert seconds({}, default=rate) == pytest.approx(said, rel=0.02)
    # A class without a rate has that of the endpoints' links, however the phit is cut.
    for units in ({}, {"cycle": "1 ns"}, {"phit": "4 B"}, {"phit": "32 B"}):
        both = seconds(units, default=rate)
        assert seconds(units, endpoint=rate) == both


def test_ranges_of_quantities() -> None:
    def of(**table: Any) -> list[Any]:
        return list(expand_range("sweep.product.x", table))

    assert of(start="1 us", stop="2 us", step="250 ns") == ["1 us", "1.25 us", "1.5 us", "1.75 us", "2 us"]
    assert of(start="10 Gb/s", stop="40 Gb/s", count=3) == ["10 Gb/s", "25 Gb/s", "40 Gb/s"]
    assert of(start="1 KiB", stop="3 KiB", step="1024 B") == ["1 KiB", "2 KiB", "3 KiB"]
    cases: list[tuple[dict[str, Any], str]] = [
        ({"start": "1 us", "stop": "2 B", "count": 2}, "x.stop = '2 B': expected a time as for start"),
        ({"start": "1 us", "stop": 5, "count": 2}, "x.stop = 5: expected a time as for start"),
        ({"start": 1, "stop": "5 us", "count": 2}, "x.start = 1: expected a quantity such as"),
        ({"start": "2 us", "stop": "1 us", "step": "1 ns"}, "x.step = '1 ns': does not lead from 2 us to 1 us"),
    ]
    for wrong, message in cases:
        with pytest.raises(InputError, match=re.escape(message)):
            of(**wrong)
    links = {"default": {"bandwidth": "100 Gb/s", "latency": "200 ns", "buffer": "64 KiB"}}
    document = {
        "topology": {"kind": "single", "endpoints": 4},
        "units": {"cycle": "1 ns"},
        "router": {"links": links},
        "traffic": {"load": "10 Gb/s", "packet_size": "500 B"},
        "sweep": {"product": {"traffic.load": {"start": "20 Gb/s", "stop": "80 Gb/s", "step": "20 Gb/s"}}},
    }
    loads = [point.scenario["traffic"]["load"] for point in Experiment.read(document).points()]
    assert loads == pytest.approx([phits * loads[0] for phits in (1, 2, 3, 4)])


def test_the_length_of_a_run_sets_no_cycle() -> None:
    """All else counts cycles, by default or in rates, so a cycle of "5 us" would be a guess."""
    document = {"topology": {"kind": "single", "endpoints": 2}, "traffic": {"load": 0.1}, "measure": {"cycles": "5 us"}}
    words = 'measure.cycles = "5 us": the length of the run says nothing about that of a cycle'
    with pytest.raises(phit.PhitError, match=re.escape(words)):
        phit.complete(document)
    rates = {"router": {"links": {"endpoint": {"bandwidth": "100 Gb/s"}}}}
    with pytest.raises(phit.PhitError, match=re.escape(words)):
        phit.complete({**document, **rates})
    timed = {"units": {"cycle": "10 ns"}}
    assert phit.complete({**document, **timed})["measure"]["cycles"] == 500
