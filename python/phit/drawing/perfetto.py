"""Traces of a run for Perfetto (ui.perfetto.dev): ranks as tracks, messages as flows, occupancy of ports as counters.

A unit of time in the trace is a nanosecond, or a cycle if the length of a cycle is unknown.
"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from phit.base import words
from phit.base.errors import InputError
from phit.base.files import write_atomically
from phit.base.text import plain
from phit.document import Document
from phit.document.paths import get_path, set_path

if TYPE_CHECKING:
    from phit.store.result import Result

EVERY = 100
"""Default cycles between two observations of ports."""

TABLES = ("tracks", "messages")
"""Tables of a run that its trace needs."""

PACKAGE = "perfetto"
"""The library that writes the traces."""

RANKS, MESSAGES, PORTS, FIRST = 1, 2, 3, 4
"""Numbers of the three parent tracks, and of the first other track."""

SEQUENCE = 1
"""All packets of a trace have one writer."""


def asked(document: Document) -> Document:
    """The scenario with the tables that a trace needs: tracks, messages, and occupancy of ports."""
    found = copy.deepcopy(document)
    for table in TABLES:
        set_path(found, f"measure.{table}", True)
    measure = found["measure"]
    probes = measure.get("probes", [])
    if get_path(found, "router.kind") == "ideal" or not isinstance(probes, list):
        return found
    if not any((probe.get("kind") if isinstance(probe, dict) else probe) == "ports" for probe in probes):
        measure["probes"] = [*probes, {"kind": "ports", "every": EVERY}]
    return found


@dataclass(frozen=True)
class Event:
    """An event on a track."""

    time: int
    place: int
    """Order among events of one time: ends come first, instants last."""
    track: int
    name: str = ""
    flow: int | None = None
    """The number of the message that leaves here."""
    flow_end: int | None = None
    """The number of the message that arrives here."""
    value: int | None = None
    """The value of a counter."""
    details: tuple[tuple[str, int], ...] = ()


END, BEGIN, INSTANT, COUNTER = range(4)


@dataclass(frozen=True)
class Track:
    """A row of the trace."""

    uuid: int
    parent: int | None
    name: str
    place: int = 0
    unit: str | None = None
    """The unit of a counter."""


def write(result: "Result", path: Path) -> None:
    """Writes the trace of a run from its tables `tracks` and `messages`, and from the probe `ports` if it has one.

    Raises:
        InputError: the package `perfetto` is not installed, or the run lacks these tables.
        ResultsError: the file cannot be written.
    """
    for table in TABLES:
        if table not in result.tables:
            raise InputError(f"--perfetto: the run has no table {table}; `measure.{table}` asks for it")
    try:
        from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder
    except ImportError:
        raise InputError(f"--perfetto: needs the package {PACKAGE}; `pip install 'phit[{PACKAGE}]'`") from None
    tracks, events = contents(result)

    def fill(file: IO[bytes]) -> None:
        builder = StreamingTraceProtoBuilder(file)
        for packet in packets(tracks, events, builder.create_packet):
            builder.write_packet(packet)

    write_atomically(path, fill)


def contents(result: "Result") -> tuple[list[Track], list[Event]]:
    """The tracks of a run and their events, in the order of time."""
    cycle = result.get("cycle_seconds")
    length = 1.0 if cycle is None else cycle * 1e9
    tracks = [Track(RANKS, None, "ranks", 0), Track(MESSAGES, None, "messages in the network", 1)]
    events: list[Event] = []
    numbers = iter(range(FIRST, 1 << 62))
    rows = _rank_tracks(result, numbers)
    tracks += rows.values()
    for stretch in result.tables["tracks"].iter_rows(named=True):
        track = rows[stretch["rank"], stretch["cpu"]].uuid
        start, end = round(stretch["start"] * length), round(stretch["end"] * length)
        events += _slice(track, start, end, stretch["state"])
    added, more = _messages(result, rows, length, numbers)
    tracks += added
    events += more
    added, more = _ports(result, length, numbers)
    tracks += added
    events += more
    return tracks, sorted(events, key=lambda event: (event.time, event.place))


def _slice(track: int, start: int, end: int, name: str, **what: Any) -> list[Event]:
    """A span of time on a track; a span too short for the clock becomes an instant."""
    if start >= end:
        return [Event(start, INSTANT, track, name, **what)]
    return [Event(start, BEGIN, track, name, **what), Event(end, END, track)]


def _rank_tracks(result: "Result", numbers: Iterator[int]) -> dict[tuple[int, int], Track]:
    """A track for each CPU of each rank."""
    ranks = result.tables["ranks"].sort("rank")
    cpus = int(result.tables["tracks"]["cpu"].max() or 0) + 1  # type: ignore[arg-type]
    found: dict[tuple[int, int], Track] = {}
    for row in ranks.iter_rows(named=True):
        job = f", job {plain(row['job'])}" if row["job"] is not None else ""
        for cpu in range(cpus):
            there = words.endpoint(row["endpoint"], row.get("endpoint_name"))
            name = f"rank {row['rank']}{f' CPU {cpu}' * (cpus > 1)} at {plain(there)}{job}"
            found[row["rank"], cpu] = Track(next(numbers), RANKS, name, len(found))
    return found


def _messages(
    result: "Result", ranks: dict[tuple[int, int], Track], length: float, numbers: Iterator[int]
) -> tuple[list[Track], list[Event]]:
    """Spans of messages, from posting to the arrival of the last phit, with flows to the receives that take them.

    Messages of one rank that are on their way at the same time are on separate tracks.
    """
    tracks: list[Track] = []
    events: list[Event] = []
    free: dict[int, list[tuple[int, Track]]] = {}
    for number, row in enumerate(result.tables["messages"].iter_rows(named=True), 1):
        source, destination = row["source"], row["destination"]
        start = round(row["posted"] * length)
        end = max(start, round(row["last"] * length))
        lanes = free.setdefault(source, [])
        place = next((i for i, (until, _) in enumerate(lanes) if until <= start), None)
        if place is None:
            tracks.append(Track(next(numbers), MESSAGES, f"sent by rank {source}", source))
            place = len(lanes)
            lanes.append((end, tracks[-1]))
        track = lanes[place][1]
        lanes[place] = (end, track)
        details = [("bytes", row["bytes"]), ("source", source), ("destination", destination), ("tag", row["tag"])]
        events += _slice(track.uuid, start, end, f"to rank {destination}", flow=number, details=tuple(details))
        if row["matched"] is not None:
            at = max(start, round(row["matched"] * length))
            name = f"has the message of rank {source}"
            events.append(Event(at, INSTANT, ranks[destination, 0].uuid, name, flow_end=number))
    return tracks, events


def _ports(result: "Result", length: float, numbers: Iterator[int]) -> tuple[list[Track], list[Event]]:
    """Phits in the queues of each port that has ever held any, at each observation."""
    import polars as pl

    if "probes" not in result.tables:
        return [], []
    probes = result.tables["probes"]
    full = probes.filter(pl.col("quantity") == "port phits")
    if full.is_empty():
        return [], []
    # An observation leaves out empty ports.
    last, every = int(full["cycle"].max() or 0), _every(result)  # type: ignore[arg-type]
    tracks = [Track(PORTS, None, "ports: phits in all queues", 2)]
    events: list[Event] = []
    for (router, port), rows in full.sort("cycle").group_by("router", "port", maintain_order=True):
        first = rows.row(0, named=True)
        name = words.port(int(router), int(port), first.get("router_name"), first.get("port_name"))
        track = Track(next(numbers), PORTS, plain(name), len(tracks), "phits")
        tracks.append(track)
        held = dict(zip(rows["cycle"].to_list(), rows["max"].to_list(), strict=True))
        shown = sorted({0, *held, *(cycle + every for cycle in held)})
        values = [(cycle, held.get(cycle, 0)) for cycle in shown if cycle <= last + every]
        events += (Event(round(cycle * length), COUNTER, track.uuid, value=int(value)) for cycle, value in values)
    return tracks, events


def _every(result: "Result") -> int:
    """Cycles between two observations of ports."""
    probes = result.scenario["measure"].get("probes", [])
    return next((int(probe["every"]) for probe in probes if probe["kind"] == "ports"), EVERY)


def packets(tracks: list[Track], events: list[Event], create: Any) -> Iterator[Any]:
    """The packets of the trace, each made by `create`."""
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket, TrackDescriptor, TrackEvent

    types = {
        END: TrackEvent.TYPE_SLICE_END,
        BEGIN: TrackEvent.TYPE_SLICE_BEGIN,
        INSTANT: TrackEvent.TYPE_INSTANT,
        COUNTER: TrackEvent.TYPE_COUNTER,
    }
    for number, track in enumerate(tracks):
        packet = create()
        packet.trusted_packet_sequence_id = SEQUENCE
        if number == 0:
            packet.sequence_flags = TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        described = packet.track_descriptor
        described.uuid = track.uuid
        described.name = track.name
        described.sibling_order_rank = track.place
        described.child_ordering = TrackDescriptor.EXPLICIT
        if track.parent is not None:
            described.parent_uuid = track.parent
        if track.unit is not None:
            described.counter.unit_name = track.unit
        yield packet
    for event in events:
        packet = create()
        packet.trusted_packet_sequence_id = SEQUENCE
        packet.timestamp = event.time
        told = packet.track_event
        told.type = types[event.place]
        told.track_uuid = event.track
        if event.name:
            told.name = event.name
        if event.flow is not None:
            told.flow_ids.append(event.flow)
        if event.flow_end is not None:
            told.terminating_flow_ids.append(event.flow_end)
        if event.value is not None:
            told.counter_value = event.value
        for key, value in event.details:
            detail = told.debug_annotations.add()
            detail.name, detail.int_value = key, value
        yield packet
