"""Tracing of single packets on the command line and in Python. The engine's tests check the contents."""

import json
from typing import Any

import phit
import polars as pl
import pytest
from phit.base.errors import InputError
from phit.running.journeys import WAITS

from .conftest import Cli, Write

TORUS: dict[str, Any] = {
    "topology": {"kind": "torus", "dims": [4, 4]},
    "router": {"switching": "wormhole", "flit_size": 1, "links": {"default": {"vcs": 4, "buffer": 8}}},
    "traffic": {"load": 0.3, "packet_size": 4},
    "measure": {"warmup": 100, "cycles": 300},
}


def test_the_slowest_packet_is_the_one_that_the_run_has_counted() -> None:
    (slowest,) = phit.trace_packet(TORUS)
    histogram = phit.run(TORUS).tables["histogram"]
    assert slowest.latency == histogram["latency"].max()
    two = phit.trace_packet(TORUS, count=2)
    assert slowest in two
    assert max(journey.latency or 0 for journey in two) == slowest.latency
    again = phit.trace_packet(TORUS, source=slowest.source, number=slowest.number)
    assert again == [slowest]


def test_a_journey_adds_up_and_is_a_table() -> None:
    (journey,) = phit.trace_packet(TORUS, source=5, number=7)
    assert [journey.source, journey.number, journey.size, journey.flits, journey.lost] == [5, 7, 4, 4, False]
    table = journey.table()
    waited = [f"waited_{why}" for why in WAITS]
    assert table.height == len(journey.visits) > 1
    assert table.select(pl.sum_horizontal(waited)).to_series().to_list() == (table["left"] - table["entered"]).to_list()
    assert sum(journey.waited.values()) == table.select(pl.sum_horizontal(waited)).to_series().sum()
    assert table["link"][0] == "endpoint"
    assert set(table["link"][1:]) <= {"dim0", "dim1"}


def test_the_command_shows_the_way(cli: Cli, write: Write) -> None:
    file = str(write(TORUS))
    status, out, err = cli("trace-packet", file, "--source", "5", "--number", "7")
    assert status == 0, err
    (journey,) = phit.trace_packet(TORUS, source=5, number=7)
    lines = out.splitlines()
    assert lines[0] == f"packet 7 of endpoint 5, 4 phits to endpoint {journey.destination}"
    assert lines[1].endswith(f": {journey.latency:.0f} cycles")
    head = "router input link queue head in waited head out tail out output VC waited for"
    assert " ".join(lines[3].split()) == head
    assert [int(line.split()[0]) for line in lines[4:]] == [visit.router for visit in journey.visits]
    status, out, err = cli("trace-packet", file, "--count", "3", "--json")
    assert status == 0, err
    assert [found["latency"] for found in json.loads(out)] == [j.latency for j in phit.trace_packet(TORUS, count=3)]


def test_bad_input_is_named(cli: Cli, write: Write) -> None:
    file = str(write(TORUS))
    status, _, err = cli("trace-packet", file, "--source", "16")
    assert status == 2
    assert "source = 16: expected an endpoint, 0 to 15" in err
    status, _, err = cli("trace-packet", file, "--source", "1", "--number", "5000")
    assert status == 2
    assert "number = 5000: endpoint 1 sends" in err
    with pytest.raises(InputError, match="count = 0: expected a whole number of at least 1"):
        phit.trace_packet(TORUS, count=0)
    with pytest.raises(InputError, match="sweep: this document is an experiment"):
        phit.trace_packet({**TORUS, "sweep": {"axes": {"traffic.load": [0.1]}}})
    quiet = {**TORUS, "traffic": {**TORUS["traffic"], "load": 0.0}}
    assert phit.trace_packet(quiet) == []
    assert "no packet arrived" in cli("trace-packet", str(write(quiet, "quiet.json")))[1]
