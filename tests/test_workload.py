"""Programs of ranks: files, conversions, what is made by name, and what is refused with file, line and rank."""

import gzip
import json
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from phit import workload
from phit.errors import InputError
from phit.workload import ANY, Operation, Program

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
        for number in range(draw(st.integers(0, 6))):
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
    assert "w31_missing_dep.0.et: rank 0: node 6 (collective" in err
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
