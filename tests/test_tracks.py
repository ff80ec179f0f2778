"""Charts of ranks: tracks and times, and traces for Perfetto, whose sums equal those of the tables."""

import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import phit
import polars as pl
import pytest
from phit.drawing import perfetto, plots, tracks

from .conftest import Cli, Write, tiny
from .test_workloads import crossbar

INCAST = "num_ranks 4\nrank 0 {\ncalc 200\n" + "".join(f"recv 4096b from {i}\n" for i in (1, 2, 3)) + "}\n"
INCAST += "".join(f"rank {i} {{\na: calc {90 * i}\nb: send 4096b to 0\nb requires a\n}}\n" for i in (1, 2, 3))

ALL: dict[str, Any] = {
    **crossbar(goal=INCAST, host={"overhead": 30, "eager": 1024}),
    "units": {"phit": "8 B", "cycle": "1 ns"},
    "measure": {"tracks": True, "messages": True, "probes": [{"kind": "ports", "every": 64}]},
}


@pytest.fixture(scope="module")
def result() -> phit.Result:
    return phit.run(ALL)


def test_tracks_come_to_the_times_of_ranks(result: phit.Result) -> None:
    table = result.tables["tracks"].with_columns(time=pl.col("end") - pl.col("start"))
    ranks = result.tables["ranks"]
    for column, states in {"calc": ["calc"], "overhead": ["send", "receive"], "blocked": ["blocked"]}.items():
        sums = table.group_by("rank").agg(pl.col("time").filter(pl.col("state").is_in(states)).sum()).sort("rank")
        assert sums["time"].to_list() == ranks[column].to_list()
    assert table.group_by("rank").agg(pl.col("end").max()).sort("rank")["end"].to_list() == ranks["finish"].to_list()


def bars(chart: Any) -> list[dict[str, Any]]:
    description = chart.to_dict()
    (found,) = description["datasets"].values()
    assert isinstance(found, list)
    return found


def test_charts_show_all_ranks_and_times(result: phit.Result) -> None:
    shown = bars(tracks.of_tracks(result.tables["tracks"]))
    assert len(shown) == result.tables["tracks"].height
    blocked = sum(bar["end"] - bar["start"] for bar in shown if bar["doing"] == "blocked on the network")
    assert blocked == result.tables["ranks"]["blocked"].sum()
    shown = bars(tracks.of_ranks(result.tables["ranks"]))
    assert sum(bar["cycles"] for bar in shown) == result.tables["ranks"]["finish"].sum()


def of_ranks(ranks: int, each: int) -> pl.DataFrame:
    """Calculations of one cycle, with waits of two between them."""
    start = [3.0 * i + part for i in range(each) for part in (0, 1)]
    one = {"cpu": 0, "state": ["calc", "waiting"] * each, "start": start}
    frames = [pl.DataFrame({"rank": rank, **one}) for rank in range(ranks)]
    length = pl.when(pl.col("state") == "calc").then(1.0).otherwise(2.0)
    return pl.concat(frames).with_columns(end=pl.col("start") + length)


def test_many_bars_become_what_can_be_seen() -> None:
    many = of_ranks(2, 8000)
    shown = bars(tracks.of_tracks(many))
    # Each pixel has 32 cycles, two thirds of them waiting.
    assert {bar["doing"] for bar in shown} == {"waits"}
    assert [(bar["start"], bar["end"]) for bar in shown] == [(0, pytest.approx(24000))] * 2
    # A span longer than a pixel keeps its place, to a pixel.
    long = pl.DataFrame({"rank": 0, "cpu": 0, "state": "blocked", "start": [24000.0], "end": [48000.0]})
    shown = bars(tracks.of_tracks(pl.concat([many, long.cast(many.schema)])))
    (blocked,) = [bar for bar in shown if bar["doing"] == "blocked on the network"]
    assert blocked["start"] == pytest.approx(24000, abs=48000 / tracks.WIDTH)
    assert blocked["end"] == pytest.approx(48000)


@pytest.mark.parametrize(("ranks", "shown"), [(4, 4), (256, 256), (1000, 250)])
def test_few_and_many_ranks_can_be_read(ranks: int, shown: int) -> None:
    for chart in (tracks.of_tracks(of_ranks(ranks, 1)), tracks.of_ranks(times(ranks))):
        (panel,) = chart.to_dict()["vconcat"]
        axis = panel["encoding"]["y"]
        assert len(axis["scale"]["domain"]) == shown
        step = panel["height"] / shown
        assert step >= tracks.SMALLEST
        # Labels stand 12 pixels apart or more.
        assert (len(axis["axis"]["values"]) - 1) * 12 <= panel["height"]
        assert panel["height"] <= tracks.HEIGHT


def times(ranks: int) -> pl.DataFrame:
    return pl.DataFrame({"rank": range(ranks), "calc": 3.0, "overhead": 0.0, "waiting": 1.0, "blocked": 2.0})


def test_ranks_that_do_nothing_are_drawn_too() -> None:
    nothing = phit.run(crossbar(goal="num_ranks 2\nrank 0 {\n}\nrank 1 {\n}\n"), threads=1)
    assert nothing["completion"] == 0
    chart = tracks.of_ranks(nothing.tables["ranks"])
    assert "no rank takes any time" in chart.to_dict()["title"]["subtitle"]
    chart = tracks.of_tracks(phit.run({**ALL, "workload": nothing.scenario["workload"]}).tables["tracks"])
    assert "no rank takes any time" in chart.to_dict()["title"]["subtitle"]


def test_a_folder_of_a_workload_has_charts_of_its_ranks(tmp_path: Path, cli: Cli, write: Write) -> None:
    folder = tmp_path / "r"
    status, _, err = cli("run", write(ALL), "--out", folder)
    assert status == 0, err
    status, out, err = cli("plot", folder, "--format", "svg")
    assert status == 0, err
    assert {"ranks.svg", "tracks.svg"} <= {Path(line).name for line in out.splitlines()}
    picture = (folder / "plots" / "tracks.svg").read_text(encoding="utf-8")
    assert "blocked on the network" in picture
    # A cycle is 1 ns, and the run takes some thousand cycles.
    assert "Time (µs)" in picture


def parsed(path: Path) -> tuple[dict[int, Any], list[Any]]:
    """The tracks of a trace by number, and its events with their times."""
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

    trace = Trace()
    trace.ParseFromString(path.read_bytes())
    named = {p.track_descriptor.uuid: p.track_descriptor for p in trace.packet if p.HasField("track_descriptor")}
    return named, [packet for packet in trace.packet if packet.HasField("track_event")]


def test_a_trace_has_the_sums_of_the_tables(tmp_path: Path, result: phit.Result) -> None:
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TrackEvent

    path = tmp_path / "run.pftrace"
    perfetto.write(result, path)
    named, events = parsed(path)
    assert [packet.timestamp for packet in events] == sorted(packet.timestamp for packet in events)
    open_: dict[int, list[Any]] = defaultdict(list)
    sums: Counter[tuple[str, str]] = Counter()
    details: Counter[str] = Counter()
    flows: dict[int, list[tuple[str, int]]] = defaultdict(list)
    counted: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for packet in events:
        event, track = packet.track_event, named[packet.track_event.track_uuid]
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            open_[track.uuid].append((packet.timestamp, event.name))
            # Nothing overlaps on a track.
            assert len(open_[track.uuid]) == 1
        elif event.type == TrackEvent.TYPE_SLICE_END:
            start, name = open_[track.uuid].pop()
            sums[named[track.parent_uuid].name, name.split()[0] + track.name.split()[1]] += packet.timestamp - start
        elif event.type == TrackEvent.TYPE_COUNTER:
            assert track.counter.unit_name == "phits"
            counted[track.name].append((packet.timestamp, event.counter_value))
        for detail in event.debug_annotations:
            details[detail.name] += detail.int_value
        for flow in event.flow_ids:
            flows[flow].append(("leaves", packet.timestamp))
        for flow in event.terminating_flow_ids:
            flows[flow].append(("comes", packet.timestamp))
    assert not any(open_.values())
    for row in result.tables["ranks"].iter_rows(named=True):
        rank = row["rank"]
        for state, columns in {"calc": ["calc"], "waiting": ["waiting"], "blocked": ["blocked"]}.items():
            assert sums["ranks", f"{state}{rank}"] == sum(row[column] for column in columns)
        assert sums["ranks", f"send{rank}"] + sums["ranks", f"receive{rank}"] == row["overhead"]
    messages = result.tables["messages"]
    in_network = sum(time for (group, _), time in sums.items() if group.startswith("messages"))
    assert in_network == (messages["last"] - messages["posted"]).sum()
    assert details["bytes"] == messages["bytes"].sum()
    ends = list(zip(messages["posted"].to_list(), messages["matched"].to_list(), strict=True))
    assert sorted(flows.values()) == sorted([("leaves", posted), ("comes", matched)] for posted, matched in ends)
    held = result.tables["probes"].filter(pl.col("quantity") == "port phits")
    assert sum(value for values in counted.values() for _, value in values) == held["max"].sum() > 0
    # Ports are empty before and after all of it.
    assert all(values[0] == (0, 0) and values[-1][1] == 0 for values in counted.values())


def test_a_cycle_of_the_trace_is_as_long_as_it_is(tmp_path: Path) -> None:
    slow = phit.run({**ALL, "units": {"phit": "8 B", "cycle": "2.5 ns"}})
    perfetto.write(slow, tmp_path / "slow.pftrace")
    _, events = parsed(tmp_path / "slow.pftrace")
    messages = slow.tables["messages"]
    assert max(packet.timestamp for packet in events) >= 2.5 * slow["completion"] - 1
    assert sum(bool(packet.track_event.flow_ids) for packet in events) == messages.height


def test_the_command_line_writes_traces(tmp_path: Path, cli: Cli, write: Write) -> None:
    path = tmp_path / "run.pftrace"
    status, _, err = cli("run", write(crossbar(goal=INCAST)), "--perfetto", path)
    assert status == 0, err
    assert f"wrote {path}" in err
    named, _ = parsed(path)
    names = [track.name for track in named.values()]
    assert "rank 3 at endpoint 3" in names
    assert any(name.startswith("router 0 port") for name in names)
    # An ideal network has no ports, and a network without a workload no ranks.
    status, _, err = cli("run", write({**crossbar(), "router": {"kind": "ideal"}}), "--perfetto", path)
    assert status == 0, err
    assert not any(track.name.startswith("router") for track in parsed(path)[0].values())
    status, _, err = cli("run", write(tiny()), "--perfetto", path)
    assert status == 2
    assert "has no [workload]; --perfetto shows what its ranks do" in err
    with pytest.raises(phit.InputError, match=r"no table tracks; `measure\.tracks` asks for it"):
        perfetto.write(phit.run(crossbar()), path)


def test_a_trace_without_its_library_is_refused(
    tmp_path: Path, result: phit.Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "perfetto.trace_builder.proto_builder", None)
    with pytest.raises(phit.InputError, match=r"needs the package perfetto; `pip install 'phit\[perfetto\]'`"):
        perfetto.write(result, tmp_path / "run.pftrace")
    assert list(tmp_path.iterdir()) == []


def test_sizes_of_many_magnitudes_are_drawn_on_logarithmic_axes() -> None:
    sizes = [8, 4096, 1 << 26]
    rows = {"workload.bytes": sizes, "completion": [100, 900, 10_000_000], "routing": "minimal", "saturated": False}
    points = pl.DataFrame(rows)
    plot = {"x": "workload.bytes", "y": "completion", "log": True}
    chart = plots.load_curves(points, "completion", ["workload.bytes"], plot).to_dict()
    line = chart["hconcat"][0]["layer"][1]["encoding"]
    assert [line[axis]["scale"]["type"] for axis in "xy"] == ["log", "log"]
    assert [line[axis]["scale"]["domain"] for axis in "xy"] == [[8, 1 << 26], [100, 10_000_000]]
    nothing = points.with_columns(completion=pl.lit(0))
    with pytest.raises(phit.InputError, match=r"no point has a value of 'completion' above 0, as plot\.log needs"):
        plots.load_curves(nothing, "completion", ["workload.bytes"], plot)
