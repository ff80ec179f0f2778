"""Traces: reading, refusals with line and column, and the built-in generator."""

import json
import math
import re
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import phit
import polars as pl
import pytest
from phit.base.errors import InputError
from phit.reading import traces

from .conftest import Cli

MESSAGES = "time,source,destination,bytes\n0,0,3,64\n10,1,2,200\n10.6,2,0,1\n"
BLOCK_IO = """Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime
100,b,0,Read,4096,8192,5
300,a,0,Write,0,512,5
"""


def file(folder: Path, text: str, name: str = "trace.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_messages_are_read(tmp_path: Path) -> None:
    path = file(tmp_path, MESSAGES)
    expected = [(0, 0, 3, 64), (10, 1, 2, 200), (11, 2, 0, 1)]
    assert traces.read(path, 4)[0] == expected
    pl.read_csv(path).write_parquet(tmp_path / "trace.parquet")
    assert traces.read(tmp_path / "trace.parquet", 4)[0] == expected
    # Microseconds, twice as fast, cycles of 2 ns, phits of 8 bytes, from cycle 100 on.
    found, _ = traces.read(path, 4, unit="us", compression=2, cycle_ns=2, phit_bytes=8, start=100, limit=2700)
    assert found == [(100, 0, 3, 8), (2600, 1, 2, 25)]


def test_block_io_becomes_messages(tmp_path: Path) -> None:
    found, skipped = traces.read(file(tmp_path, BLOCK_IO), 8, unit="100ns")
    # Hosts a and b are at 0 and 2, their disks at 1 and 3; 200 units are 20 microseconds.
    assert found == [(0, 2, 3, 64), (0, 3, 2, 8192), (20_000, 0, 1, 512), (20_000, 1, 0, 64)]
    assert skipped.lines == 0
    placed, _ = traces.read(
        file(tmp_path, BLOCK_IO), 8, unit="100ns", hosts={"a": 7, "b": 7}, disks={"a/0": 5, "b/0": 6}, request_bytes=32
    )
    assert placed[:2] == [(0, 7, 6, 32), (0, 6, 7, 8192)]


def test_columns_without_names_are_those_of_a_layout(tmp_path: Path) -> None:
    def nameless(text: str) -> Path:
        return file(tmp_path, text.split("\n", 1)[1], "nameless.csv")

    assert traces.read(nameless(MESSAGES), 4) == traces.read(file(tmp_path, MESSAGES), 4)
    assert traces.read(nameless(BLOCK_IO), 8, unit="us") == traces.read(file(tmp_path, BLOCK_IO), 8, unit="us")
    with pytest.raises(InputError, match="line 1: column destination: 'x'"):
        traces.read(file(tmp_path, "0,1,x,5\n"), 4)


@pytest.mark.parametrize(
    ("unit", "times"),
    [
        ("100ns", [128166372003061629 + 4 * i for i in range(5)]),  # Windows ticks: since 1601
        ("ns", [1700000000123456789 + 400 * i for i in range(5)]),  # since 1970
        ("s", [f"1700000000.{123456789 + 400 * i}" for i in range(5)]),
    ],
)
def test_times_are_read_with_all_their_digits(tmp_path: Path, unit: str, times: list[Any]) -> None:
    block = "".join(f"{time},h,0,Read,0,512\n" for time in times)
    plain = "time,source,destination,bytes\n" + "".join(f"{time},0,1,8\n" for time in times)
    for text, each in ((block, 2), (plain, 1)):
        found, _ = traces.read(file(tmp_path, text), 4, unit=unit)
        assert [cycle for cycle, *_ in found[::each]] == [0, 400, 800, 1200, 1600]
    pl.DataFrame({"time": times, "source": 0, "destination": 1, "bytes": 8}).write_parquet(tmp_path / "trace.parquet")
    found, _ = traces.read(tmp_path / "trace.parquet", 4, unit=unit, compression=0.1)
    assert [cycle for cycle, *_ in found] == [0, 4000, 8000, 12000, 16000]


def test_a_time_between_two_cycles_is_in_the_nearer_one(tmp_path: Path) -> None:
    times = ("1e3", "1000.4", "1000.5", "1000.6", "1001.5", "1e4")
    path = file(tmp_path, "time,source,destination,bytes\n" + "".join(f"{time},0,1,8\n" for time in times))
    assert [cycle for cycle, *_ in traces.read(path, 4)[0]] == [0, 0, 0, 1, 2, 9000]


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path: Path) -> None:
    for text, endpoints in ((MESSAGES, 4), (BLOCK_IO, 8), (BLOCK_IO.split("\n", 1)[1], 8)):
        expected = traces.read(file(tmp_path, text), endpoints, unit="us")
        assert traces.read(file(tmp_path, "\ufeff" + text, "marked.csv"), endpoints, unit="us") == expected


def test_parquet_is_known_by_its_name(tmp_path: Path) -> None:
    table = pl.read_csv(file(tmp_path, MESSAGES))
    for name in ("trace.pq", "trace.PARQUET"):
        table.write_parquet(tmp_path / name)
        assert traces.read(tmp_path / name, 4) == traces.read(tmp_path / "trace.csv", 4)
        whole = (tmp_path / name).read_bytes()
        for length in (0, 3, 10, len(whole) // 2, len(whole) - 1):
            (tmp_path / name).write_bytes(whole[:length])
            with pytest.raises(InputError, match=f"{name}: cannot be read"):
                traces.read(tmp_path / name, 4)
    with pytest.raises(InputError, match=r"none\.pq: no such file"):
        traces.read(tmp_path / "none.pq", 4)


@pytest.mark.parametrize(
    ("text", "options", "why"),
    [
        ("time,source,destination,bytes\n", {}, ""),
        (MESSAGES, {"limit": 0}, ""),
        (
            "time,source,destination,bytes\n1,2,3,x\n",
            {"skip_bad": True},
            " (1 line left out; the first is line 2: column bytes: 'x'; expected a number, 0 or more)",
        ),
    ],
    ids=["header", "limit", "bad"],
)
def test_a_trace_without_a_message_is_refused(tmp_path: Path, text: str, options: dict[str, Any], why: str) -> None:
    path = file(tmp_path, text)
    for run in (phit.run, phit.complete):
        with pytest.raises(InputError) as raised:
            run(scenario(trace={"file": str(path), **options}))
        expected = f'traffic.trace.file = "{path}": no message is left; expected at least one{why}'
        assert str(raised.value) == expected


def test_cycles_and_phits_beyond_32_bits_are_refused(tmp_path: Path) -> None:
    text = "time,source,destination,bytes\n0,0,1,8\n4294967295,0,1,4294967295\n"
    path = file(tmp_path, text)
    assert traces.read(path, 4)[0][1] == (2**32 - 1, 0, 1, 2**32 - 1)
    words = "trace.csv: line 3: column time: 4294967295 is cycle 4,294,967,296; expected at most 4,294,967,295 cycles"
    with pytest.raises(InputError, match=words):
        traces.read(path, 4, start=1)
    assert len(traces.read(path, 4, start=1, limit=1000)[0]) == 1
    words = "line 3: column bytes: 4294967295 bytes are 8,589,934,590 phits; expected at most 4,294,967,295"
    with pytest.raises(InputError, match=words):
        traces.read(path, 4, phit_bytes=0.5)
    block = file(tmp_path, BLOCK_IO.replace("8192", str(2**32)), "block.csv")
    with pytest.raises(InputError, match="line 2: column size: 4294967296 bytes are 4,294,967,296 phits"):
        traces.read(block, 8, unit="us")
    with pytest.raises(InputError, match="request_bytes = 4294967296: that is 4,294,967,296 phits"):
        traces.read(file(tmp_path, BLOCK_IO), 8, request_bytes=2**32)


BAD = [
    ("", "empty; expected a line with the names of the columns"),
    (
        "time,from,to\n",
        "line 1: the columns source, destination, bytes are missing; expected time, source, destination, bytes or",
    ),
    (MESSAGES + "11,3\n", "line 5: column 3: 2 fields; expected 4, as in the first line"),
    (MESSAGES + "11,3,0,5,9\n", "line 5: column 5: 5 fields; expected 4, as in the first line"),
    ("0,1,2\n", "line 1: 3 fields without names; expected time, source, destination, bytes or timestamp"),
    (MESSAGES + "11,3,x,5\n", "line 5: column destination: 'x'; expected a number, 0 or more"),
    (MESSAGES + "nan,3,0,5\n", "line 5: column time: 'nan'; expected a number, 0 or more"),
    (MESSAGES + "1e999999999,3,0,5\n", "line 5: column time: '1e999999999'; expected a number, 0 or more"),
    (MESSAGES + "-1,3,0,5\n", "line 5: column time: '-1'; expected a number, 0 or more"),
    (MESSAGES + "9,3,0,5\n", "line 5: column time: 9 after 10.6; expected ascending times"),
    (MESSAGES + "11,4,0,5\n", "line 5: column source: 4; expected an endpoint, 0 to 3"),
    (MESSAGES + "11,3,0.5,5\n", "line 5: column destination: 0.5; expected an endpoint, 0 to 3"),
    (MESSAGES + "11,3,0,0\n", "line 5: column bytes: 0; expected 1 or more"),
    (BLOCK_IO + "400,a,0,Trim,0,512,5\n", "line 4: column type: 'Trim'; expected Read or Write"),
    (BLOCK_IO + "200,a,0,Read,0,512,5\n", "line 4: column timestamp: 200 after 300; expected ascending times"),
]


@pytest.mark.parametrize(("text", "message"), BAD, ids=range(len(BAD)))
def test_what_cannot_be_read_is_refused_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    path = file(tmp_path, text)
    with pytest.raises(InputError) as raised:
        traces.read(path, 4, unit="us")
    assert message in str(raised.value)
    if "line 1" not in message and "empty" not in message:
        found, skipped = traces.read(path, 4, unit="us", skip_bad=True)
        assert skipped.lines == 1
        assert message.startswith(skipped.first)
        assert len(found) in (3, 4)


def test_lines_that_are_left_out_are_counted(tmp_path: Path, cli: Cli) -> None:
    file(tmp_path, MESSAGES + "11,3,x,5\n11,4,0,5\n")
    document: dict[str, Any] = {
        "topology": {"kind": "single", "endpoints": 4},
        "traffic": {"load": 0, "trace": {"file": "trace.csv", "skip_bad": True}},
        "measure": {"warmup": 0},
    }
    (tmp_path / "scenario.json").write_text(json.dumps(document))
    words = "trace.csv: 2 lines left out; the first is line 5: column destination: 'x'; expected a number, 0 or more"
    with pytest.warns(UserWarning, match=re.escape(words)):
        phit.run(tmp_path / "scenario.json")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        status, _, said = cli("run", tmp_path / "scenario.json")
    assert (status, said) == (0, f"phit: warning: {tmp_path}/{words}\n")


def test_a_quote_that_is_never_closed_is_refused_with_its_line(tmp_path: Path) -> None:
    path = file(tmp_path, MESSAGES + '11,3,0,"5\n' + "11,3,0,5\n" * 20_000)
    with pytest.raises(InputError, match=r"line \d+: field larger than field limit"):
        traces.read(path, 4, skip_bad=True)


def test_names_without_a_place_and_unknown_units_are_refused(tmp_path: Path) -> None:
    path = file(tmp_path, BLOCK_IO)
    microseconds: dict[str, Any] = {"unit": "us"}
    for options, message in (
        ({"unit": "h"}, "unit = 'h': expected one of s, ms, us, 100ns, ns"),
        ({"hosts": {"a": 0}}, "hosts: no endpoint is given for 'b'"),
        ({"hosts": {"a": 0, "b": 9}}, "hosts.b = 9: expected an endpoint, 0 to 7"),
        ({"compression": 0}, "compression = 0: expected a number more than 0"),
    ):
        given: dict[str, Any] = options
        with pytest.raises(InputError, match=message.replace("(", r"\(")):
            traces.read(path, 8, **microseconds | given)
    with pytest.raises(InputError, match="no such file"):
        traces.read(tmp_path / "none.csv", 8)


def scenario(**traffic: Any) -> dict[str, Any]:
    return {
        "topology": {"kind": "k_ary_n_tree", "arity": 2, "levels": 2},
        "routing": "table",
        "router": {"admittance": "per_destination", "links": {"default": {"vcs": 1, "buffer": 512}}},
        "queueing": {"kind": "dbbm", "queues": 4},
        "traffic": {"load": 0, "packet_size": 64, **traffic},
        "measure": {"warmup": 0, "cycles": 2000, "order": True, "endpoints": True},
    }


def test_a_scenario_names_a_trace(tmp_path: Path, cli: Cli) -> None:
    file(tmp_path, MESSAGES)
    path = file(tmp_path, json.dumps(scenario(trace="trace.csv")), "scenario.json")
    status, out, err = cli("run", path, "--json")
    assert status == 0, err
    summary = json.loads(out)
    # 64, 200 in four packets, 1.
    assert (summary["packets"], summary["out_of_order"]) == (6, 0)
    assert summary["accepted_load"] * 4 * 2000 == pytest.approx(265)
    assert summary["scenario"]["traffic"]["trace"] == [[0, 0, 3, 64], [10, 1, 2, 200], [11, 2, 0, 1]]
    path.write_text(json.dumps(scenario(trace={"file": "trace.csv", "speed": 2})))
    status, _, err = cli("run", path)
    assert status == 2
    assert "traffic.trace.speed: no such key; expected one of file, compression" in err


OPTIONS = [
    ("compression", "fast", "a number more than 0"),
    ("compression", 0, "a number more than 0"),
    ("unit", 3, "one of s, ms, us, 100ns, ns"),
    ("cycle_ns", 0, "a number of nanoseconds, more than 0"),
    ("phit_bytes", 0, "a number of bytes, more than 0"),
    ("start", "x", "a whole number of cycles"),
    ("limit", True, "a whole number of cycles"),
    ("hosts", 3, "a table with the endpoint of each host"),
    ("disks", {"a/0": -1}, "a table with the endpoint of each disk"),
    ("request_bytes", -1, "a whole number of bytes, 1 or more"),
    ("skip_bad", 7, "true or false"),
]


@pytest.mark.parametrize(("key", "value", "expected"), OPTIONS)
def test_options_of_another_kind_are_refused_by_name(tmp_path: Path, key: str, value: Any, expected: str) -> None:
    trace = {"file": str(file(tmp_path, MESSAGES)), key: value}
    with pytest.raises(InputError, match=re.escape(f"traffic.trace.{key} = {value!r}: expected {expected}")):
        phit.run(scenario(trace=trace))
    with pytest.raises(InputError, match=re.escape(f"{key} = {value!r}: expected {expected}")):
        traces.read(file(tmp_path, MESSAGES), 4, **{key: value})


def test_a_trace_is_in_the_units_of_its_scenario(tmp_path: Path) -> None:
    path = str(file(tmp_path, "time,source,destination,bytes\n0,0,1,512\n1500,1,2,100\n"))
    document = scenario(trace=path) | {"units": {"cycle": "1/60 ns"}}
    document["traffic"]["packet_size"] = "512 B"
    document["router"] = {
        "links": {"default": {"bandwidth": "20 Gb/s", "latency": "200 ns", "buffer": "4 KiB", "vcs": 1}}
    }
    # 20 Gb/s are 1/3 bit in a cycle, 1/15 bit the largest phit of which 100 bytes are not asked to be a whole number.
    found = phit.complete(document)
    phit_bits = Fraction(found["units"]["phit"].removesuffix(" bit"))
    sizes = [math.ceil(size * 8 / phit_bits) for size in (512, 100)]
    assert found["traffic"]["trace"] == [[0, 0, 1, sizes[0]], [90_000, 1, 2, sizes[1]]]
    assert found["traffic"]["packet_size"] == {"kind": "fixed", "phits": sizes[0]}
    # Keys of the trace itself take precedence.
    document["traffic"]["trace"] = {"file": path, "cycle_ns": 1, "phit_bytes": 8}
    assert phit.complete(document)["traffic"]["trace"] == [[0, 0, 1, 64], [1500, 1, 2, 13]]


def test_a_trace_takes_the_place_of_a_load() -> None:
    with pytest.raises(phit.ScenarioError, match=r"traffic\.load = 0\.5: expected 0"):
        phit.complete(scenario(trace=[[0, 0, 1, 5]], load=0.5))


def test_tables_are_printed_changed_and_read_again(tmp_path: Path, cli: Cli) -> None:
    path = file(tmp_path, json.dumps(scenario()), "scenario.json")
    status, out, err = cli("routes", path)
    assert status == 0, err
    lines = out.splitlines()
    assert lines[0] == "router,destination,port"
    assert len(lines) == 1 + 4 * 4
    assert "0,2,2" in lines
    file(tmp_path, "router,destination,port\n0,2,3\n", "routes.csv")
    changed = scenario() | {"routing": {"kind": "table", "file": "routes.csv"}}
    path.write_text(json.dumps(changed))
    status, out, err = cli("routes", path)
    assert status == 0, err
    assert set(lines) - set(out.splitlines()) == {"0,2,2"}
    for text, message in (
        (
            "router,destination,port\n0,2,1\n",
            "routing.entries[0] = [0, 2, 1]: expected a port on a minimal route: one of 2, 3",
        ),
        ("router,destination,port\n0,2,x\n", "line 2: '0,2,x'; expected 3 fields, the first two numbers or names"),
        ("router,destination,port\n0,x,1\n", 'routing.entries[0][1] = "x": expected the number of an endpoint'),
        ("a,b\n", "line 1: expected the columns router,destination,port"),
    ):
        file(tmp_path, text, "routes.csv")
        status, _, err = cli("routes", path)
        assert status == 2
        assert message in err
    status, _, err = cli("routes", path, "--set", 'routing="minimal"')
    assert status == 2


def test_bursty_io_is_the_same_for_a_seed_and_self_similar() -> None:
    first = traces.bursty(seed=3, seconds=0.02)
    assert first == traces.bursty(seed=3, seconds=0.02)
    assert first != traces.bursty(seed=4, seconds=0.02)
    assert [io.time for io in first] == sorted(io.time for io in first)
    # For independent requests, the variance of the mean over m bins falls like 1/m; for these it falls far more slowly.
    requests = traces.bursty(seed=1, hosts=64, seconds=0.2, rate=3000)
    bins = [0] * 4096
    for io in requests:
        bins[int(io.time / 0.2e9 * 4096)] += 1

    def variance(m: int) -> float:
        means = [sum(bins[i : i + m]) / m for i in range(0, len(bins), m)]
        mean = sum(means) / len(means)
        return sum((x - mean) ** 2 for x in means) / len(means)

    assert variance(64) > 3 * variance(1) / 64


def test_what_is_generated_can_be_written_and_read(tmp_path: Path) -> None:
    requests = traces.bursty(seed=1, seconds=0.001)
    traces.write(requests, tmp_path / "io.csv")
    found, skipped = traces.read(tmp_path / "io.csv", 64)
    assert skipped.lines == 0
    assert len(found) == 2 * len(requests)


def test_options_of_a_trace_can_be_set_and_swept(tmp_path: Path, cli: Cli) -> None:
    file(tmp_path, "time,source,destination,bytes\n0,0,3,8\n800,1,2,8\n")
    file(tmp_path, "time,source,destination,bytes\n0,0,9,64\n", "wrong.csv")
    scenario = tmp_path / "scenario.json"
    document: dict[str, Any] = {
        "topology": {"kind": "single", "endpoints": 4},
        "traffic": {"load": 0, "packet_size": 8, "trace": "trace.csv"},
        "measure": {"warmup": 0, "cycles": 600},
    }
    scenario.write_text(json.dumps(document))
    assert phit.run(scenario)["packets"] == 1
    status, printed, _ = cli("run", scenario, "--json", "--set", "traffic.trace.compression=2")
    assert (status, json.loads(printed)["packets"]) == (0, 2)
    status, _, said = cli("run", scenario, "--set", f"traffic.trace.file={tmp_path / 'wrong.csv'}")
    assert (status, "wrong.csv: line 2: column destination" in said) == (2, True)
    document["sweep"] = {"product": {"traffic.trace.compression": [1, 2]}}
    scenario.write_text(json.dumps(document))
    points = phit.sweep(scenario, workers=1)
    assert points["packets"].to_list() == [1, 2]
