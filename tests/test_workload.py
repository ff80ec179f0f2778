"""Programs of ranks: files, conversions, generators, and refusals with file, line and rank."""

import gzip
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal

import phit
import pytest
from hypothesis import given
from hypothesis import strategies as st
from phit.base.errors import InputError
from phit.reading import workload
from phit.reading.workload import ANY, Operation, Program

from .conftest import ROOT, Cli

SCHEDULES = ROOT / "crates" / "phit-workload" / "tests" / "goal"

PAIR = """num_ranks 2
rank 0 {
first: calc 1000
second: send 64b to 1 tag 7
second requires first
}
rank 1 {
recv 64b from -1 tag 7 cpu 1
}
"""


def written(folder: Path, text: str, name: str = "pair.goal") -> Path:
    path = folder / name
    path.write_text(text)
    return path


@st.composite
def programs(draw: st.DrawFn) -> Program:
    ranks = draw(st.integers(1, 4))
    program = Program(ranks)
    tags, small = st.integers(ANY, 2**32 - 2), st.integers(0, 254)
    amounts = st.one_of(st.integers(0, 100), st.integers(0, 2**64 - 1))
    for rank in range(ranks):
        # Without any operation it is no program.
        for number in range(draw(st.integers(0 if rank else 1, 6))):
            kind: Literal["calc", "send", "recv"] = draw(st.sampled_from(["calc", "send", "recv"]))
            is_calc = kind == "calc"
            peer = None if is_calc else draw(st.integers(ANY if kind == "recv" else 0, ranks - 1))
            waits = st.lists(st.integers(0, number - 1), max_size=3).map(tuple) if number else st.just(())
            one = Operation(
                kind,
                draw(amounts),
                peer,
                0 if is_calc else draw(tags),
                draw(small),
                0 if is_calc else draw(small),
                draw(waits),
                draw(waits),
            )
            program.add(rank, one)
    return program


def sorted_waits(program: Program) -> list[list[tuple[Any, ...]]]:
    """All that a program says; the order of what an operation waits for means nothing."""
    fields = ("kind", "amount", "peer", "tag", "cpu", "nic")
    return [
        [
            (*(getattr(one, field) for field in fields), sorted(one.after), sorted(one.after_start))
            for one in program.operations(rank)
        ]
        for rank in range(program.ranks)
    ]


@given(programs())
def test_every_form_says_the_same(tmp_path_factory: pytest.TempPathFactory, program: Program) -> None:
    folder = tmp_path_factory.mktemp("forms")
    before = folder / "0.goal"
    program.save(before)
    for name in ("1.bin", "2.goal.gz", "3.bin.gz", "4.goal"):
        workload.convert(before, folder / name)
        before = folder / name
        assert sorted_waits(workload.read(before)) == sorted_waits(program)
    assert workload.info(before) == workload.info(folder / "1.bin")
    # LogGOPSim reads text written from the binary form; what that is, is fixed.
    assert before.read_text().splitlines()[0] == f"num_ranks {program.ranks}"


def test_a_program_is_put_together_in_python(tmp_path: Path) -> None:
    program = Program(2)
    first = program.calc(0, 1000)
    program.send(0, 64, to=1, tag=7, after=[first])
    program.recv(1, 64, source=ANY, tag=7, cpu=1)
    assert workload.read(written(tmp_path, PAIR)) == program
    program.save(tmp_path / "pair.goal.gz")
    text = gzip.decompress((tmp_path / "pair.goal.gz").read_bytes()).decode()
    assert text == PAIR.replace("first", "l0").replace("second", "l1")


def test_ranks_in_another_order_are_put_in_order(tmp_path: Path) -> None:
    head, first, second = (
        PAIR.partition("rank 0")[0],
        PAIR[12:].partition("rank 1")[0],
        "rank 1" + PAIR.split("rank 1")[1],
    )
    path = written(tmp_path, head + second + first, "swapped.goal")
    for name in ("a.goal", "b.bin"):
        workload.convert(path, tmp_path / name)
        assert workload.read(tmp_path / name) == workload.read(written(tmp_path, PAIR))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (PAIR.replace("send", "sned"), 'line 4, rank 0: "sned": expected "calc", "send" or "recv"'),
        (PAIR.replace("to 1", "to 2"), 'line 4, rank 0: "2": expected a rank, 0 to 1'),
        (PAIR + "rank 1 {\n}\n", "line 10: rank 1 is given a second time"),
        (PAIR.replace("second requires", "first requires second\nsecond requires"), "line 3, rank 0: operations wait"),
        ("", 'expected "num_ranks"'),
    ],
)
def test_mistakes_are_named_with_file_line_and_rank(tmp_path: Path, cli: Cli, text: str, message: str) -> None:
    path = written(tmp_path, text, "wrong.goal")
    status, out, err = cli("workload", "info", path)
    assert (status, out) == (2, "")
    assert f"{path}: " in err
    assert message in err
    status, _, _ = cli("workload", "convert", path, tmp_path / "out.goal")
    assert status == 2
    assert [entry.name for entry in tmp_path.iterdir()] == ["wrong.goal"]


def test_what_cannot_be_put_together_is_refused() -> None:
    program = Program(2)
    for add, message in (
        (lambda: program.send(0, 8, to=2), "rank 0, operation 0: send with rank 2: expected 0 to 1"),
        (lambda: program.send(0, 8, to=ANY), "send with rank -1: expected 0 to 1"),
        (lambda: program.calc(2, 8), "rank 2: expected 0 to 1"),
        (lambda: program.calc(0, -1), "amount = -1: expected 0 to 18446744073709551615"),
        (lambda: program.recv(0, 8, source=1, cpu=255), "cpu = 255: expected 0 to 254"),
        (lambda: Program(0), "ranks = 0: expected 1 rank or more"),
    ):
        with pytest.raises(InputError, match=message):
            add()
    program.calc(1, 1, after=[3])
    with pytest.raises(InputError, match="rank 1: operations 3 and 0: it has 1"):
        program.save("never.goal")


def test_what_a_program_consists_of(cli: Cli) -> None:
    status, out, _ = cli("workload", "info", SCHEDULES / "m06_any_source.goal", "--json")
    found = json.loads(out)
    assert status == 0
    assert found == workload.info(SCHEDULES / "m06_any_source.goal")
    text = (SCHEDULES / "m06_any_source.goal").read_text()
    assert [found["sends"], found["receives"], found["calcs"]] == [
        sum(word in line.split() for line in text.splitlines()) for word in ("send", "recv", "calc")
    ]
    status, out, _ = cli("workload", "info", SCHEDULES / "training_ring_4_6l_small.goal.gz")
    assert status == 0
    assert "messages sent" in out


def test_programs_are_made_by_name(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "ring.goal.gz"
    made = ("workload", "make", "collective", "-o", path, "--set", "collective=all_reduce")
    status, out, _ = cli(*made, "--set", "bytes=1048576", "--ranks", 16, "--json")
    assert status == 0
    # Reduce-scatter and all-gather: 2(p - 1) messages a rank, of 1/p each.
    expected = {"ranks": 16, "sends": 16 * 30, "receives": 16 * 30, "bytes": 30 * 1048576, "calcs": 0}
    assert json.loads(out).items() >= expected.items()
    assert workload.info(path).items() >= expected.items()
    status, out, _ = cli(
        "workload", "make", "halo", "-o", tmp_path / "h.bin", "--set", "dims=[4,4]", "--set", "bytes=[8]"
    )
    assert (status, workload.info(tmp_path / "h.bin")["sends"]) == (0, 48)
    for arguments, message in (
        (made, "ranks: a number of ranks is required"),
        ((*made, "--ranks", 16, "--set", "algorithm=bruck"), "algorithm = bruck: does no all_reduce"),
        ((*made, "--ranks", 16, "--set", "algorithm=brook"), "unknown variant `brook`"),
        ((*made, "--ranks", 16, "--set", "byte=3"), "unknown field `byte`"),
        (("workload", "make", "colective", "-o", path), "did you mean"),
    ):
        status, _, err = cli(*arguments)
        assert status == 2
        assert message in err


def test_traces_are_converted(tmp_path: Path, cli: Cli) -> None:
    traces = ROOT / "crates" / "phit-workload" / "tests" / "astra" / "traces"
    source, target = traces / "w18_rs_then_ag", tmp_path / "trace.goal"
    assert cli("workload", "convert", source, target, "--option", "algorithms.all_gather=direct")[0] == 0
    # 8 ranks: a reduce-scatter of 1 MiB by a ring, then an all-gather.
    found = workload.info(target)
    assert (found["ranks"], found["sends"]) == (8, 2 * 8 * 7)
    assert found == workload.info(source / "w18_rs_then_ag.3.et", algorithms={"all_gather": "direct"})
    status, _, err = cli("workload", "info", traces / "w31_missing_dep")
    assert status == 2
    assert "w31_missing_dep.0.et: byte 38, rank 0: node 6 (collective" in err
    assert "waits for node 99, which is missing" in err
    status, _, err = cli("workload", "info", source, "--option", "chunk=2")
    assert status == 2
    assert "unknown field `chunk`" in err


def test_a_kind_can_be_made_of_each_that_is_listed(cli: Cli) -> None:
    status, out, _ = cli("workload", "kinds")
    assert status == 0
    for entry in workload.kinds():
        assert f"  {entry['kind']} " in out
        status, shown, _ = cli("workload", "kinds", entry["kind"])
        assert status == 0
        assert all(key in shown for key in entry["schema"]["properties"])


FEEDER = (
    {"workload_graph": [
        {"Id": 1, "Name": "work", "NodeType": 4, "data_deps": [], "runtime": 250, "is_cpu_op": True},
        {"Id": 2, "Name": "send", "NodeType": 5, "data_deps": [1], "comm_size": 4096, "comm_dst": 1, "comm_tag": 7},
    ]},
    {"workload_graph": [
        {"Id": 1, "Name": "receive", "NodeType": 6, "data_deps": [], "comm_size": 4096, "comm_src": 0, "comm_tag": 7},
    ]},
)  # fmt: skip
"""As Chakra's feeder reads it: a calculation of 250 us, then a message."""


def step(folder: Path, ranks: Iterable[Any], name: str = "step") -> Path:
    target = folder / name
    target.mkdir(exist_ok=True)
    for rank, document in enumerate(ranks):
        (target / f"{name}.{rank}.json").write_text(json.dumps(document), encoding="utf-8")
    return target


def test_the_json_that_chakras_feeder_reads(tmp_path: Path) -> None:
    found = workload.info(step(tmp_path, FEEDER))
    assert [found[key] for key in ("ranks", "calcs", "sends", "receives")] == [2, 1, 1, 1]
    assert [found["bytes"], found["calc_time"]] == [4096, 250_000]
    scenario = {
        "units": {"cycle": "1 ns", "phit": "8 B"},
        "topology": {"kind": "single", "endpoints": 2},
        "workload": {"kind": "chakra", "file": str(tmp_path / "step")},
    }
    result = phit.run(scenario)
    # The message of 512 phits leaves after the calculation.
    assert 250_000 + 512 <= result["completion"] <= 250_000 + 2 * 512


def on_stream(node: int, kind: int = 4, deps: Iterable[int] = ()) -> dict[str, Any]:
    return {"Id": node, "NodeType": kind, "data_deps": list(deps), "runtime": 10, "stream": 7, "is_cpu_op": False}


def test_streams_without_an_order_are_said_and_can_be_ordered(tmp_path: Path, cli: Cli) -> None:
    """The message is ready at once, unless operations of a stream wait for the one before."""
    late = {**on_stream(2, 5), "comm_size": 8, "comm_dst": 1}
    receiver = {"workload_graph": [{"Id": 1, "NodeType": 6, "comm_size": 8, "comm_src": 0, "data_deps": []}]}
    folder = step(tmp_path, [{"workload_graph": [on_stream(1), late]}, receiver])
    (said,) = workload.notes(folder)
    assert "do not wait for the one before on their stream: 1, on ranks: 1 (first: rank 0, node 2" in said
    assert workload.notes(folder, streams="in_order") == []
    assert workload.read(folder).operations(0)[0].after == ()
    assert [one.after for one in workload.read(folder, streams="in_order").operations(0)] == [(), (0,)]
    code, _, err = cli("workload", "info", folder)
    assert code == 0
    assert 'streams = "in_order"' in err
    scenario: dict[str, Any] = {
        "units": {"cycle": "1 ns", "phit": "8 B"},
        "topology": {"kind": "single", "endpoints": 2},
        "workload": {"kind": "chakra", "file": str(folder)},
    }
    with pytest.warns(UserWarning, match="they can overtake each other"):
        loose = phit.run(scenario)
    scenario["workload"]["options"] = {"streams": "in_order"}
    assert phit.run(scenario)["completion"] > 10_000
    assert loose["completion"] == 10_000


OTHERS = {
    "other.json": ('{"anything": [1, 2, 3]}', "has the key"),
    "pytorch.json": (
        '{"schema": "1.1.0-chakra.0.0.4", "nodes": [{"id": 1}]}',
        "chakra_trace_link, then chakra_converter",
    ),
    "kineto.json": ('{"traceEvents": [{"ph": "X"}]}', "chakra_trace_link, then chakra_converter"),
    "list.json": ("[[1]]", "is no table"),
    "empty.json": ("{}", "no operation of its only rank"),
    "graph.json": ('{"workload_graph": []}', "no operation of its only rank"),
    "metadata.json": ('{"version": "0.0.4"}', "no operation of its only rank"),
    "nothing.et": ("", "the file is empty"),
    "text.et": ("num_ranks 1\nrank 0 {\ncalc 1\n}\n", "message 0"),
    "zeros.et": ("\0\0", "no operation of its only rank"),
    "x-0.txt": ("a trace of something else\n", "no operation of its only rank"),
    "empty-0.txt": ("", "no operation of its only rank"),
    "empty.goal": ("", "num_ranks"),
    "idle.goal": ("num_ranks 2\nrank 0 {\n}\nrank 1 {\n}\n", "no operation of any of 2 ranks"),
    "json.goal": ("{}", "num_ranks"),
    "words.bin": ("words", "num_ranks"),
}
"""Files that are no program, by their names: how a program is written is known by them."""


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_program_is_no_empty_program(tmp_path: Path, name: str) -> None:
    text, expected = OTHERS[name]
    path = written(tmp_path, text, name)
    ways: tuple[Callable[[], object], ...] = (
        lambda: workload.info(path),
        lambda: workload.read(path),
        lambda: workload.convert(path, tmp_path / "out.goal"),
    )
    for way in ways:
        with pytest.raises(InputError) as caught:
            way()
        assert expected in str(caught.value)
        assert name in str(caught.value)
    assert not (tmp_path / "out.goal").exists()
    kind = "chakra" if path.suffix in (".et", ".json") else "trace" if path.suffix == ".txt" else "goal"
    scenario = {
        "units": {"cycle": "1 ns", "phit": "8 B"},
        "topology": {"kind": "single", "endpoints": 2},
        "workload": {"kind": kind, "file": str(path)},
    }
    with pytest.raises((phit.ScenarioError, InputError), match=re.escape(name)):
        phit.run(scenario)


def test_a_program_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    """Every format that says where it ends: text and binary GOAL, JSON of the feeder."""
    program = Program(2)
    sent = program.send(0, 4096, to=1, after=[program.calc(0, 1000)])
    program.calc(0, 5, after=[sent])
    program.recv(1, 4096, source=0)
    program.save(tmp_path / "whole.goal")
    program.save(tmp_path / "whole.bin")
    step(tmp_path, FEEDER[:1])
    for path in (tmp_path / "whole.goal", tmp_path / "whole.bin", tmp_path / "step" / "step.0.json"):
        content = path.read_bytes().rstrip()
        for end in range(len(content)):
            cut = tmp_path / f"cut{path.suffix}"
            cut.write_bytes(content[:end])
            with pytest.raises(InputError):
                workload.info(cut)
