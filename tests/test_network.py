"""Networks that a caller drives: the times of a program, whoever sends its messages."""

import random
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import phit
import pytest

UNITS = {"phit": "2 B", "cycle": "1 ns"}

TORUS = {"topology": {"kind": "torus", "dims": [3, 3]}, "router": {"links": {"default": {"vcs": 2, "buffer": 24}}}}
DRAGONFLY = {
    "topology": {"kind": "dragonfly", "p": 2, "a": 4, "h": 2, "groups": 3},
    "router": {"latency": 3, "links": {"default": {"latency": 4, "vcs": 4, "buffer": 32}}},
    "routing": {"kind": "ugal_l"},
}
TREE = {"topology": {"kind": "clos", "down": [2, 3], "up": [2]}, "routing": {"kind": "clos"}}
NETWORKS: dict[str, dict[str, Any]] = {
    "torus": {**TORUS, "routing": {"kind": "dimension_order"}},
    "dragonfly": DRAGONFLY,
    "wormhole": {
        "topology": {"kind": "mesh", "dims": [4, 2]},
        "router": {"switching": "wormhole", "flit_size": 2, "links": {"default": {"vcs": 2, "buffer": 8}}},
        "routing": {"kind": "dimension_order"},
    },
    "crossbar clock": {**TREE, "router": {"clock": "crossbar", "speedup": 3, "output_buffer": 16}},
    "rails": {
        "topology": {"kind": "single", "endpoints": 8},
        "workload": {"host": {"rails": {"count": 2, "choice": "least_queued"}}},
    },
    "placed": {**TORUS, "routing": {"kind": "dimension_order"}, "workload": {"placement": "random", "header": 2}},
    "failing": {
        "topology": {
            "kind": "torus",
            "dims": [3, 3],
            "faults": {
                "later": [{"cycle": 60, "delay": 50, "until": 700, "links": [[0, 1], [3, 4]]}],
                "retransmit": {"timeout": 90},
            },
        },
        "router": {"links": {"default": {"vcs": 5, "latency": 2, "buffer": 32}}},
    },
    "constant": {**TREE, "router": {"kind": "ideal", "model": "constant", "latency": 40}},
    "zero load": {**TREE, "router": {"kind": "ideal"}, "routing": {"kind": "minimal"}},
    "endpoint links": {**TORUS, "router": {"kind": "ideal", "model": "endpoint_links"}},
    "store and forward": {**TORUS, "router": {"kind": "ideal", "model": "store_and_forward"}},
    "fluid": {**TORUS, "router": {"kind": "fluid"}},
    "fluid, shared sources": {**TORUS, "router": {"kind": "fluid", "sources": "shared", "sharing": "max_min"}},
}


@dataclass
class Message:
    """A message of a random program."""

    source: int
    destination: int
    bytes: int
    tag: int
    at: int
    """The cycle in which it is sent, or the cycles after the arrival of the message that it answers."""
    answers: list["Message"] = field(default_factory=list)


def drawn(seed: int, ranks: int, roots: int = 12, *, answers: bool = True) -> list[Message]:
    """Messages that are sent at drawn times, and messages that answer these: each has a tag of its own."""
    draw = random.Random(seed)
    count = 0

    def one(source: int, at: int, depth: int) -> Message:
        nonlocal count
        count += 1
        message = Message(source, draw.randrange(ranks), draw.choice([0, 1, 8, 40, 200]), count, at)
        if answers and depth < 4:
            for _ in range(draw.choice([0, 1, 1, 2])):
                message.answers.append(one(message.destination, draw.choice([0, 0, 5]), depth + 1))
        return message

    return [one(draw.randrange(ranks), draw.randrange(200), 0) for _ in range(roots)]


def everything(messages: list[Message]) -> Iterator[Message]:
    for message in messages:
        yield message
        yield from everything(message.answers)


def goal(roots: list[Message], ranks: int) -> str:
    """The program of the messages: all receives wait from the start, and every delay has a CPU of its own."""
    lines: dict[int, list[str]] = {rank: [] for rank in range(ranks)}
    cpus = dict.fromkeys(range(ranks), 0)

    def send(message: Message, after: str | None) -> None:
        own = lines[message.source]
        if message.at > 0:
            # Messages are sent and received on CPU 0, which no delay keeps busy.
            cpus[message.source] += 1
            own.append(f"c{message.tag}: calc {message.at} cpu {cpus[message.source]}")
            if after:
                own.append(f"c{message.tag} requires {after}")
            after = f"c{message.tag}"
        own.append(f"s{message.tag}: send {message.bytes}b to {message.destination} tag {message.tag}")
        if after:
            own.append(f"s{message.tag} requires {after}")
        lines[message.destination].append(
            f"r{message.tag}: recv {message.bytes}b from {message.source} tag {message.tag}"
        )
        for answer in message.answers:
            send(answer, f"r{message.tag}")

    for root in roots:
        send(root, None)
    programs = (f"rank {rank} {{\n" + "\n".join(own) + "\n}" for rank, own in lines.items())
    return f"num_ranks {ranks}\n" + "\n".join(programs) + "\n"


def by_file(scenario: dict[str, Any], file: Path, text: str) -> dict[int, float]:
    """When the message of each tag arrives, in a run of the program."""
    file.write_text(text)
    workload = {**scenario.get("workload", {}), "kind": "goal", "file": str(file)}
    table = phit.run({**scenario, "workload": workload, "measure": {"messages": True}}).tables["messages"]
    return dict(table.select("tag", "last").iter_rows())


def by_calls(network: phit.Network, roots: list[Message], draw: random.Random | None = None) -> dict[int, float]:
    """When the message of each tag completes, if a caller sends it, in the order of completion."""
    waiting: dict[int, Message] = {}
    found: dict[int, float] = {}

    def send(message: Message, at: float) -> None:
        waiting[network.send(message.source, message.destination, message.bytes, message.tag, at)] = message

    for root in roots:
        send(root, root.at)
    while waiting:
        if draw is None:
            assert network.advance_to_completion() is not None
        else:
            network.advance_to_completion(network.now + draw.randrange(30))
        for one in network.completed():
            message = waiting.pop(one.handle)
            assert (one.source, one.destination, one.bytes, one.tag) == (
                message.source,
                message.destination,
                message.bytes,
                message.tag,
            )
            assert one.time == network.now
            found[message.tag] = one.time
            for answer in message.answers:
                send(answer, one.time + answer.at)
    assert network.next_event() is None
    assert network.advance_to_completion() is None
    return found


def ranks_of(scenario: dict[str, Any]) -> int:
    return phit.Network(scenario).ranks


def scenario_of(name: str) -> dict[str, Any]:
    return {"seed": 3, "units": UNITS, **NETWORKS[name]}


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("seed", range(3))
def test_a_program_sent_by_a_caller_has_the_times_of_its_file(name: str, seed: int, tmp_path: Path) -> None:
    scenario = scenario_of(name)
    ranks = ranks_of(scenario)
    roots = drawn(seed, ranks)
    expected = by_file(scenario, tmp_path / "program.goal", goal(roots, ranks))
    assert len(expected) == sum(1 for _ in everything(roots))
    assert by_calls(phit.Network(scenario), roots) == expected
    assert by_calls(phit.Network(scenario), roots, random.Random(seed)) == expected


@pytest.mark.parametrize("name", ["torus", "dragonfly", "fluid, shared sources"])
def test_messages_of_one_tag_complete_in_the_order_of_sending(name: str, tmp_path: Path) -> None:
    scenario = scenario_of(name)
    ranks = ranks_of(scenario)
    roots = drawn(7, ranks, roots=60, answers=False)
    for message in roots:
        message.source, message.destination = message.source % 2, 2 + message.destination % 2
    expected = by_file(scenario, tmp_path / "program.goal", goal(roots, ranks))
    for message in roots:
        message.tag = 5
    network = phit.Network(scenario)
    handles = {network.send(m.source, m.destination, m.bytes, 5, m.at): number for number, m in enumerate(roots)}
    network.advance(100_000)
    found = {handles[one.handle]: one.time for one in network.completed()}
    # In the order of sending, each is complete when it and all before it have arrived.
    last: dict[tuple[int, int], float] = {}
    for number in sorted(found, key=lambda number: (roots[number].at, number)):
        pair = (roots[number].source, roots[number].destination)
        last[pair] = max(last.get(pair, 0), expected[number + 1])
        assert found[number] == last[pair]


def test_how_time_advances_changes_nothing() -> None:
    scenario = scenario_of("dragonfly")
    roots = drawn(11, ranks_of(scenario), roots=80, answers=False)

    def times(steps: list[int]) -> dict[int, float]:
        network = phit.Network(scenario)
        for message in roots:
            network.send(message.source, message.destination, message.bytes, message.tag, message.at)
        found = {}
        for step in steps:
            until = network.now + step
            next_event = network.next_event()
            network.advance(until)
            assert network.now == until
            for one in network.completed():
                assert next_event is not None
                assert next_event <= one.time <= until
                found[one.tag] = one.time
        return found

    draw = random.Random(1)
    whole = times([3000])
    assert len(whole) == 80
    assert times([1] * 3000) == whole
    assert times([draw.randrange(40) for _ in range(300)]) == whole


def test_the_next_event_of_an_idle_network_is_far_away() -> None:
    network = phit.Network(scenario_of("torus"))
    assert network.next_event() is None
    network.send(0, 4, 8, at=1_000_000)
    assert network.next_event() == 1_000_000
    assert network.advance_to_completion(500) == 500
    assert network.next_event() == 1_000_000
    now = network.advance_to_completion()
    assert now is not None
    assert 1_000_000 < now < 1_000_100
    # They are there until they are fetched.
    assert network.advance_to_completion() == now
    (message,) = network.completed()
    assert (message.time, message.handle) == (now, 0)
    assert network.advance_to_completion() is None
    assert network.now == now


def test_totals() -> None:
    network = phit.Network(scenario_of("torus"))
    assert network.stats()["latency_mean"] is None
    network.send(0, 1, 100)
    network.send(0, 8, "1 KiB", at="2 us")
    network.send(3, 3, 7)
    assert network.advance_to_completion() == 0
    (own,) = network.completed()
    assert (own.source, own.destination, own.bytes, own.time) == (3, 3, 7, 0)
    network.advance("5 us")
    near, far = network.completed()
    assert network.stats() == {
        "now": 5000,
        "sent": 3,
        "completed": 3,
        "bytes_sent": 1131,
        "bytes_completed": 1131,
        "latency_mean": pytest.approx((near.time + far.time - 2000) / 3),
        "latency_max": far.time - 2000,
    }
    assert network.cycle_seconds == pytest.approx(1e-9)
    assert repr(near) == f"Completion(handle=0, time={near.time}, source=0, destination=1, bytes=100, tag=0)"


def test_times_may_be_parts_of_cycles() -> None:
    network = phit.Network(scenario_of("crossbar clock"))
    network.send(0, 5, 33, at=7 / 3)
    part = network.next_event()
    assert part == 7 / 3
    network.send(1, 4, 33, at=part)
    network.advance(1000)
    assert len(network.completed()) == 2
    with pytest.raises(phit.InputError, match=r"at = 0\.1: expected a whole number of parts of cycles, .* has 3"):
        network.send(0, 1, 1, at=0.1)


def refused(*arguments: Any, **named: Any) -> str:
    network = phit.Network(scenario_of("torus"))
    network.advance(10)
    with pytest.raises(phit.InputError) as error:
        network.send(*arguments, **named)
    assert network.stats()["sent"] == 0
    return str(error.value)


def test_wrong_arguments_are_refused() -> None:
    assert refused(9, 0, 8) == "source = 9: expected a rank from 0 to 8"
    assert refused(0, 9, 8) == "destination = 9: expected a rank from 0 to 8"
    assert refused(-1, 9, 8) == "source = -1: expected the number of a rank"
    assert refused(0, True, 8) == "destination = True: expected the number of a rank"
    assert refused(0, 1, -8).startswith("bytes = -8: expected a number of bytes")
    assert refused(0, 1, 1.5).startswith("bytes = 1.5: expected a number of bytes")
    assert refused(0, 1, "1 bit").startswith('bytes = "1 bit": expected a whole number of bytes')
    assert refused(0, 1, "1 us").startswith('bytes = "1 us": expected a whole number of bytes')
    assert refused(0, 1, 8, 2**32 - 1).startswith("tag = 4294967295: expected a number from 0")
    assert refused(0, 1, 8, at=9) == "at = 9: expected 10, the present cycle, or later"
    assert refused(0, 1, 8, at="9 ns") == "at = 9: expected 10, the present cycle, or later"
    assert refused(0, 1, 8, at="1/3 ns").startswith('at = "1/3 ns": is 1/3 cycles; expected a whole number')
    assert refused(0, 1, 8, at=float("nan")).startswith("at = nan: expected a whole number of cycles")
    assert refused(0, 1, 8, at=[1]).startswith("at = [1]: expected a number of cycles")
    network = phit.Network(scenario_of("torus"))
    network.advance(10)
    with pytest.raises(phit.InputError, match="until = 9: expected 10, the present cycle, or later"):
        network.advance(9)
    with pytest.raises(phit.InputError, match="until = 2147483648: expected at most 2147483647"):
        network.advance_to_completion(2**31)
    bare = phit.Network({**TORUS, "units": {"phit": "2 B"}})
    with pytest.raises(phit.InputError, match=r"needs the length of a cycle: expected units\.cycle"):
        bare.send(0, 1, 8, at="1 us")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"traffic": {"load": 0.1}}, "traffic: the caller of a network sends its messages; expected no such section"),
        ({"measure": {"messages": True}}, "measure: the caller of a network measures"),
        ({"sweep": {"seeds": 2}}, "sweep: the caller of a network runs one scenario"),
        ({"workload": {"kind": "fft"}}, r'workload\.kind = "fft": the caller of a network is its program'),
        ({"workload": {"time_unit": 2}}, r"workload\.time_unit = 2: callers do not calculate; expected no such key"),
        (
            {"workload": {"host": {"gap": 3}}},
            r"workload\.host\.gap = 3: the caller of a network knows the times of its hosts",
        ),
        ({"workload": {"packet_sise": 2}}, 'did you mean "packet_size"'),
        ({"units": {}}, r"units\.phit"),
        ({"topology": {"kind": "tours"}}, 'did you mean "torus"'),
        ({"router": {"links": {"default": {"buffer": 1}}}}, "buffer"),
    ],
)
def test_scenarios_with_something_else_to_run_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(phit.ScenarioError, match=words):
        phit.Network({**scenario_of("torus"), **changes})


def test_routers_without_callers_are_refused() -> None:
    links = {"default": {"latency": 2, "vcs": 3, "buffer": 16}}
    node = {"router": {"node": {"answer": 1}, "links": links}, "routing": {"kind": "abr"}}
    with pytest.raises(phit.ScenarioError, match="router"):
        phit.Network({**scenario_of("torus"), **node})


def test_a_second_thread_is_refused_while_the_network_runs() -> None:
    network = phit.Network(scenario_of("dragonfly"))
    for number in range(4000):
        network.send(number % 24, (number * 7 + 1) % 24, 4096)
    runs = threading.Thread(target=lambda: network.advance(10_000_000))
    runs.start()
    words = ""
    while runs.is_alive() and not words:
        try:
            network.send(0, 1, 8)
        except phit.InputError as error:
            words = str(error)
    runs.join()
    assert words == "the network is in use by another thread; expected one call at a time"
    completed = network.stats()["completed"]
    assert completed is not None
    assert completed >= 4000


def test_lost_messages_end_the_wait() -> None:
    scenario = scenario_of("failing")
    scenario["topology"]["faults"] = {"later": [{"cycle": 30, "delay": 50, "links": [[0, 1]]}]}

    def lost() -> tuple[float, dict[str, Any]]:
        network = phit.Network(scenario)
        for _ in range(20):
            network.send(0, 1, 64)
        while network.advance_to_completion() is not None:
            network.completed()
        assert network.next_event() is None
        return network.now, network.stats()

    now, stats = lost()
    assert stats["completed"]
    assert stats["completed"] < stats["sent"]
    assert lost() == (now, stats)


def test_a_deadlock_names_who_waits() -> None:
    size = 6
    links = [[router, (router + 1) % size] for router in range(size)]
    ports: list[list[int]] = [[] for _ in range(size)]
    for a, b in links:
        ports[a].append(b)
        ports[b].append(a)
    entries = [
        [router, to, 0 if router == to else 1 + ports[router].index((router + 1) % size)]
        for router in range(size)
        for to in range(size)
    ]
    network = phit.Network(
        {
            "topology": {"kind": "graph", "routers": size, "links": links},
            "routing": {"kind": "table", "entries": entries, "layers": []},
            "router": {"links": {"link": {"vcs": 1, "buffer": 4}}},
            "units": UNITS,
            "workload": {"packet_size": 4},
        }
    )
    for rank in range(size):
        for _ in range(40):
            network.send(rank, (rank + size - 1) % size, 8)
    with pytest.raises(phit.SimulationError, match=r"deadlock: .* waits for"):
        network.advance(100_000)


def test_a_network_stays_in_its_process() -> None:
    import pickle

    with pytest.raises(ValueError, match="a network under way cannot be sent to another process"):
        pickle.dumps(phit.Network(scenario_of("torus")))
