"""Archives of OTF2 give the same programs as DUMPI's text of the same calls; unknown contents are named."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import phit
import pytest
from phit.document.inlining import to_json
from phit.reading import workload

from .conftest import Cli

otf2 = pytest.importorskip("otf2")

Record = Callable[["Rank"], None]


class Rank:
    """Writes the calls of a rank: each takes two nanoseconds, one before its events and one after."""

    def __init__(self, trace: Any, writer: Any, world: Any, other: Any) -> None:
        self.trace, self.writer, self.world, self.other = trace, writer, world, other
        self.time = 0

    def call(self, name: str, *events: tuple[str, Any], paradigm: str = "MPI") -> None:
        """Writes a call with its events: their names, and their attributes besides a time and a communicator."""
        region = self.trace.definitions.region(name, paradigm=getattr(otf2.Paradigm, paradigm))
        self.writer.enter(self.time, region)
        self.time += 1
        for event, values in events:
            getattr(self.writer, event)(self.time, **values)
        self.time += 1
        self.writer.leave(self.time, region)

    def message(self, peer: int, size: int, **more: Any) -> dict[str, Any]:
        """The attributes of a message's events."""
        key = "sender" if more.pop("comes", False) else "receiver"
        return {key: peer, "communicator": self.world, "msg_tag": 7, "msg_length": size, **more}

    def collective(self, operation: str, sent: int, received: int, root: int = 0) -> tuple[str, dict[str, Any]]:
        """The event of a collective."""
        op = getattr(otf2.CollectiveOp, operation)
        sizes = {"size_sent": sent, "size_received": received}
        return "mpi_collective_end", {"collective_op": op, "communicator": self.world, "root": root, **sizes}


def archive(folder: Path, *ranks: Record, resolution: int = 10**9) -> Path:
    """An archive in which ranks do this."""
    with otf2.writer.open(str(folder / "archive"), timer_resolution=resolution) as trace:
        node = trace.definitions.system_tree_node("node")
        places = []
        for rank in range(len(ranks)):
            group = trace.definitions.location_group(f"rank {rank}", system_tree_parent=node)
            places.append(trace.definitions.location("thread", group=group))
        kinds = otf2.GroupType
        mpi = {"paradigm": otf2.Paradigm.MPI}
        trace.definitions.group("places", group_type=kinds.COMM_LOCATIONS, members=places, **mpi)
        groups = [
            trace.definitions.group("", group_type=kinds.COMM_GROUP, members=own, **mpi) for own in (places, places[:1])
        ]
        comms = [
            trace.definitions.comm(name, group=own)
            for name, own in zip(("MPI_COMM_WORLD", "half"), groups, strict=True)
        ]
        for place, record in zip(places, ranks, strict=True):
            record(Rank(trace, trace.event_writer_from_location(place), *comms))
    return folder / "archive" / "traces.otf2"


def printed(folder: Path, *ranks: str) -> Path:
    """The calls of ranks as DUMPI prints them: `NAME START END key=value ...`, a line each."""
    for number, calls in enumerate(ranks):
        lines = []
        for call in calls.strip().splitlines():
            name, start, end, *values = call.split()
            clock = ", cputime 0.0 seconds in thread 0."
            lines.append(f"{name} entering at walltime 0.{int(start):09d}{clock}")
            lines += (f"int {value}" for value in (*values, "comm=2 (MPI_COMM_WORLD)"))
            lines.append(f"{name} returning at walltime 0.{int(end):09d}{clock}")
        text = "\n".join(lines) + "\n"
        for count in ("", "send", "recv"):
            text = text.replace(f"int {count}count=", f"int {count or 'data'}type=2 (MPI_BYTE)\nint {count}count=")
        (folder / f"calls-{number}.txt").write_text(text)
    return folder / "calls-0.txt"


def test_messages_are_those_of_dumpi(tmp_path: Path) -> None:
    def first(rank: Rank) -> None:
        rank.call("MPI_Init")
        rank.time += 10
        rank.call("MPI_Send", ("mpi_send", rank.message(1, 100)))
        rank.call("inner", paradigm="USER")
        rank.call("MPI_Isend", ("mpi_isend", rank.message(1, 200, request_id=5)))
        rank.time += 3
        rank.call("MPI_Wait", ("mpi_isend_complete", {"request_id": 5}))
        rank.call("MPI_Sendrecv", ("mpi_send", rank.message(1, 8)), ("mpi_recv", rank.message(1, 16, comes=True)))
        rank.call("MPI_Send")

    def second(rank: Rank) -> None:
        rank.call("MPI_Init")
        for number in (8, 9):
            rank.call("MPI_Irecv", ("mpi_irecv_request", {"request_id": number}))
        ends = [
            ("mpi_irecv", rank.message(0, size, comes=True, request_id=number)) for number, size in ((9, 200), (8, 100))
        ]
        rank.time += 5
        rank.call("MPI_Waitall", *ends)
        rank.call("MPI_Sendrecv", ("mpi_recv", rank.message(0, 8, comes=True)), ("mpi_send", rank.message(0, 16)))
        rank.call("MPI_Waitall")

    calls = printed(
        tmp_path,
        """
        MPI_Init 0 2
        MPI_Send 12 14 count=100 dest=1 tag=7
        MPI_Isend 16 18 count=200 dest=1 tag=7 request=[1]
        MPI_Wait 21 23 request=[1]
        MPI_Sendrecv 23 25 sendcount=8 dest=1 sendtag=7 recvcount=16 source=1 recvtag=7
        MPI_Wtime 25 27
        """,
        """
        MPI_Init 0 2
        MPI_Irecv 2 4 count=100 source=0 tag=7 request=[1]
        MPI_Irecv 4 6 count=200 source=0 tag=7 request=[2]
        MPI_Waitall 11 13 requests=[2,1]
        MPI_Sendrecv 13 15 sendcount=16 dest=0 sendtag=7 recvcount=8 source=0 recvtag=7
        MPI_Wtime 15 17
        """,
    )
    assert workload.read(archive(tmp_path, first, second)) == workload.read(calls)


@pytest.mark.parametrize("resolution", [10**9, 10**6])
def test_collectives_have_the_sizes_that_score_p_counts(tmp_path: Path, resolution: int) -> None:
    def record(rank: Rank, number: int) -> None:
        root = number == 1
        for call, event in (
            ("MPI_Barrier", rank.collective("BARRIER", 0, 0)),
            ("MPI_Allreduce", rank.collective("ALLREDUCE", 3 * 64, 3 * 64)),
            # In place: without its own.
            ("MPI_Allreduce", rank.collective("ALLREDUCE", 2 * 65, 2 * 65)),
            ("MPI_Allgather", rank.collective("ALLGATHER", 3 * 8, 3 * 8)),
            ("MPI_Alltoall", rank.collective("ALLTOALL", 3 * 16, 3 * 16)),
            ("MPI_Bcast", rank.collective("BCAST", 3 * 40 * root, 40, root=1)),
            ("MPI_Scatter", rank.collective("SCATTER", 2 * 24 * root, 24 * (not root), root=1)),
            ("MPI_Reduce", rank.collective("REDUCE", 56, 3 * 56 * root, root=1)),
            ("MPI_Gather", rank.collective("GATHER", 32 * (not root), 2 * 32 * root, root=1)),
        ):
            rank.call(call, event)

    calls = """
        MPI_Barrier 0 2
        MPI_Allreduce 2 4 count=64
        MPI_Allreduce 4 6 count=65
        MPI_Allgather 6 8 sendcount=8
        MPI_Alltoall 8 10 sendcount=16
        MPI_Bcast 10 12 count=40 root=1
        MPI_Scatter 12 14 recvcount=24 root=1
        MPI_Reduce 14 16 count=56 root=1
        MPI_Gather 16 18 sendcount=32 root=1
        """
    records = [lambda rank, number=number: record(rank, number) for number in range(3)]
    path = archive(tmp_path, *records, resolution=resolution)
    options: dict[str, Any] = {"algorithms": {"all_reduce": "recursive_doubling"}, "delay": 3}
    assert workload.read(path, **options) == workload.read(printed(tmp_path, calls, calls, calls), **options)


def test_times_are_nanoseconds(tmp_path: Path) -> None:
    def record(rank: Rank) -> None:
        rank.time = 1000
        rank.call("MPI_Init")
        rank.time += 5
        rank.call("MPI_Finalize")

    program = workload.read(archive(tmp_path, record, resolution=10**6))
    assert [operation.amount for operation in program.operations(0)] == [5000]


def test_archives_are_converted_and_run(tmp_path: Path, cli: Cli) -> None:
    def record(rank: Rank) -> None:
        rank.call("MPI_Allreduce", rank.collective("ALLREDUCE", 128, 128))

    path = archive(tmp_path, record, record)
    status, _, error = cli("workload", "convert", path, tmp_path / "run.goal")
    assert status == 0, error
    assert workload.info(tmp_path / "run.goal")["bytes"] == workload.info(path)["bytes"] > 0


def scenario(file: Path, **workload: Any) -> dict[str, Any]:
    """A router with three endpoints, which execute a trace."""
    return {
        "units": {"cycle": "1 ns", "phit": "8 B"},
        "topology": {"kind": "single", "endpoints": 3},
        "workload": {"kind": "trace", "file": str(file), "packet_size": 8, **workload},
    }


def test_a_scenario_executes_an_archive(tmp_path: Path) -> None:
    def record(rank: Rank) -> None:
        rank.call("MPI_Init")
        rank.time += 500
        rank.call("MPI_Allreduce", rank.collective("ALLREDUCE", 3 * 4096, 3 * 4096))

    calls = """
        MPI_Init 0 2
        MPI_Allreduce 502 504 count=4096
    """
    path = archive(tmp_path, record, record, record)
    options = {"algorithms": {"all_reduce": "ring"}}
    ran = phit.run(scenario(path, options=options))
    same = phit.run(scenario(printed(tmp_path, calls, calls, calls), options=options))
    assert ran["completion"] == same["completion"] > 500
    assert ran.tables["ranks"].equals(same.tables["ranks"])
    said = ran["scenario"]["workload"]
    assert said["file"] == str(path)
    # The identity of results covers the whole archive, because the anchor does not depend on the events.
    path.with_suffix("").joinpath("0.evt").write_bytes(b"other")
    changed = to_json(scenario(path))
    assert json.loads(changed)["workload"]["digest"] != said["digest"]


def test_a_scenario_names_what_its_archive_has_wrong(tmp_path: Path) -> None:
    def record(rank: Rank) -> None:
        rank.call("MPI_Init")
        rank.call("MPI_Comm_split")

    def waits(rank: Rank) -> None:
        rank.call("MPI_Init")
        rank.call("MPI_Recv", ("mpi_recv", rank.message(1, 8, comes=True)))

    path = archive(tmp_path / "unknown", record, lambda rank: rank.call("MPI_Init"))
    message = rf'workload\.file = "{path}": .*traces\.otf2: rank 0, 2 ns after the first event: MPI_Comm_split: '
    with pytest.raises(phit.ScenarioError, match=message):
        phit.run(scenario(path))
    path = archive(tmp_path / "waits", waits, lambda rank: rank.call("MPI_Init"))
    with pytest.raises(phit.SimulationError, match=r"rank 0\b.*2 ns after the first event.*recv 8b from 1"):
        phit.run(scenario(path))
    with pytest.raises(phit.InputError, match=r"workload\.file: .*none\.otf2: no such file"):
        phit.run(scenario(tmp_path / "none.otf2"))


def refused(rank: Rank) -> dict[str, list[tuple[str, tuple[tuple[str, Any], ...]]]]:
    """Calls that are refused, by a part of the message."""
    message = rank.message(0, 8)
    return {
        r"0 ns after the first event: MPI_Comm_split: this call is not known": [("MPI_Comm_split", ())],
        r"1 ns .*: MPI_Send: communicator half: expected one of all ranks": [
            ("MPI_Send", (("mpi_send", {**message, "communicator": rank.other}),))
        ],
        r"1 ns .*: MPI_Wait: request 4 ends, and has not begun": [
            ("MPI_Wait", (("mpi_isend_complete", {"request_id": 4}),))
        ],
        r"rank 0, 0 ns .*: a receive never ends": [("MPI_Irecv", (("mpi_irecv_request", {"request_id": 4}),))],
        r"MPI_Cancel: MpiRequestCancelled is not known": [
            ("MPI_Cancel", (("mpi_request_cancelled", {"request_id": 4}),))
        ],
        r"MPI_Allgatherv: collective ALLGATHERV: expected one of ALLGATHER, ": [
            ("MPI_Allgatherv", (rank.collective("ALLGATHERV", 8, 8),))
        ],
        r"MPI_Alltoall: 7 bytes: expected as many for each of 3 ranks": [
            ("MPI_Alltoall", (rank.collective("ALLTOALL", 7, 7),))
        ],
        r"rank 0, 0 ns after the first event: MPI_Send: tag = 4294967295 ": [
            ("MPI_Send", (("mpi_send", {**message, "msg_tag": 2**32 - 1}),))
        ],
        r"rank 1: comes to the end, and rank 0 to barrier with root 0": [
            ("MPI_Barrier", (rank.collective("BARRIER", 0, 0),))
        ],
    }


@pytest.mark.parametrize("place", range(9))
def test_what_is_not_known_is_named(tmp_path: Path, place: int) -> None:
    messages = []

    def record(rank: Rank) -> None:
        message, calls = list(refused(rank).items())[place]
        messages.append(message)
        for name, events in calls:
            rank.call(name, *events)

    path = archive(tmp_path, record, lambda rank: rank.call("MPI_Init"), lambda rank: rank.call("MPI_Init"))
    with pytest.raises(phit.InputError, match=messages[0]) as caught:
        workload.info(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert caught.value.file == path


def test_what_is_no_archive_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "none.otf2"
    with pytest.raises(phit.InputError, match=r"none\.otf2: no such file"):
        workload.info(path)
    path.write_text("nothing")
    with pytest.raises(phit.InputError, match=r"none\.otf2: no archive that can be read"):
        workload.info(path)
    monkeypatch.setitem(sys.modules, "otf2", None)
    with pytest.raises(phit.InputError, match=r"needs the package otf2; `pip install 'phit\[otf2\]'`"):
        workload.info(path)
