"""Sweeps of many short runs: common work done once, batches, lost processes, stacked tables."""

import contextlib
import io
import json
import os
import random
import re
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import phit
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from phit import _phit, cli
from phit.cli.speaking import out
from phit.document.completing import complete
from phit.document.experiment import Experiment, Point
from phit.document.identity import canonical, engine_version, hashed
from phit.document.inlining import to_json
from phit.drawing import short
from phit.running import workers
from phit.store.frames import frame
from phit.store.quantities import MACHINE
from phit.store.stacking import Stack
from phit.store.stored import Keeper, read_point

from .conftest import Cli, Start, Write, tiny
from .test_sweeps import SLOW_POINTS, slow, wait_for_points


def seeds(*found: Any, **changes: Any) -> dict[str, Any]:
    return tiny(**changes) | {"sweep": {"name": "many", "product": {"seed": list(found)}}}


def test_points_that_differ_in_their_seed_are_those_that_are_completed_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    complete_one = _phit.complete

    def counted(text: str) -> str:
        asked.append(text)
        return complete_one(text)

    monkeypatch.setattr(_phit, "complete", counted)
    loads = {"traffic.load": [0.1, 0.2]}
    document = tiny() | {"sweep": {"seeds": [5, 7, 2**64 - 1], "product": loads}}
    experiment = Experiment.read(document)
    points = experiment.points()
    assert len(asked) == 2
    assert [point.values for point in points] == list(experiment.combinations())
    for point in points:
        alone = complete(experiment.document(point.values))
        assert point.scenario == alone
        assert json.loads(point.text) == json.loads(to_json(alone))
        assert point.hash == Point(point.values, alone).hash
        assert point.hash == hashed(canonical({"engine": engine_version(), "scenario": alone}))


@pytest.mark.parametrize("wrong", [-1, 2**64, True, "two", 0.5])
def test_a_seed_that_is_none_is_refused_as_that_of_a_single_run(wrong: Any) -> None:
    with pytest.raises(phit.ScenarioError) as alone:
        complete(tiny(seed=wrong))
    with pytest.raises(phit.InputError) as swept:
        Experiment.read(seeds(1, 2, wrong)).points()
    assert str(alone.value).splitlines()[0] in str(swept.value)
    assert f"seed = {wrong}" in str(swept.value) or f'seed = "{wrong}"' in str(swept.value)


def test_what_is_drawn_with_each_seed_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    points = Experiment.read(seeds(1, 2, 3)).points()
    with pytest.raises(phit.ScenarioError, match="load"):
        _phit.check_seeds(to_json(tiny(traffic__load=7.0)), [1])
    looked: list[list[int]] = []

    def refused(text: str, found: list[int]) -> None:
        looked.append(found)
        _phit.complete(json.dumps(json.loads(text) | {"topology": 3}))

    monkeypatch.setattr(_phit, "check_seeds", refused)
    # Which seed is refused, and why, is found when each scenario is completed.
    assert Experiment.read(seeds(1, 2, 3)).points() == points
    assert looked == [[2, 3]]


def test_short_points_are_handed_out_many_at_a_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sent: list[int] = []
    send = workers._Process.send

    def counted(worker: Any, tasks: list[workers.Task]) -> None:
        sent.append(len(tasks))
        send(worker, tasks)

    monkeypatch.setattr(workers._Process, "send", counted)
    document = seeds(*range(400), measure__warmup=10, measure__cycles=50)
    points = phit.sweep(document, tmp_path / "r", workers=2)
    assert sum(sent) >= 400
    assert len(sent) < 100
    assert points["seed"].to_list() == list(range(400))
    assert points.drop(MACHINE, strict=False).equals(phit.sweep(document, workers=1).drop(MACHINE, strict=False))


class Ears:
    """The end of a connection to a process that does not exist."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.said: list[Any] = []

    def send(self, content: Any) -> None:
        self.sent.append([task.index for task in content])

    def recv(self) -> Any:
        return self.said.pop(0)


def test_what_a_process_has_not_begun_is_given_to_one_that_has_nothing_to_do() -> None:
    points = Experiment.read(seeds(*range(6))).points()
    found = workers.Workers(points, 2, lambda _: None)
    ears = [Ears(), Ears()]
    one, two = found._workers = [workers._Process(cast(Any, None), cast(Any, end), ready=True) for end in ears]
    one.seconds = two.seconds = 0.1
    found._hand_out()
    assert [end.sent for end in ears] == [[[0, 1]], [[2]]]
    # One has come to a long point, and the other has done all the rest.
    for done in ([2], [3], [4], [5]):
        ears[1].said.append((workers.ANSWERS, ([(i, '{"summary": {}}') for i in done], 0.1)))
        assert [i for i, _ in found._hear(two)] == done
    assert ears[0].sent == [[0, 1], []]
    ears[0].said.append((workers.BACK, [1]))
    assert not list(found._hear(one))
    assert (list(one.doing), list(two.doing)) == ([0], [1])
    assert ears[1].sent[-1] == [1]


def children(process: "subprocess.Popen[str]") -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


def test_a_process_that_is_killed_is_replaced(start: Start, write: Write, tmp_path: Path) -> None:
    folder = tmp_path / "r"
    process = start("sweep", write(slow()), "--out", folder, "--workers", 2)
    wait_for_points(folder, process)
    os.kill(children(process)[0], signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert pl.read_parquet(folder / "points.parquet").height == SLOW_POINTS
    assert not list(folder.rglob("*.tmp"))


CURSED = """
import os, sys
import phit
from phit.running import workers

simulate = workers.simulate

def cursed(task, memory, tell):
    if task.values["seed"] == 3:
        os._exit(7)
    return simulate(task, memory, tell)

workers.simulate = cursed
workers._alone = lambda: True  # all are copies of this process, which has what is cursed
phit.sweep(sys.argv[1], sys.argv[2], workers=2)
"""


def test_a_point_that_no_process_survives_fails_and_the_others_are_run(write: Write, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-c", CURSED, str(write(seeds(1, 2, 3, 4, 5))), str(tmp_path / "r")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert "SimulationError: 1 of 5 points failed" in ended.stderr
    assert "seed=3: 3 processes in succession were lost with it (exit status 7)" in ended.stderr
    assert sorted(pl.read_parquet(tmp_path / "r" / "points.parquet")["seed"]) == [1, 2, 4, 5]


STILLBORN = """
import sys, threading
import phit

threading.Thread(target=threading.Event().wait, daemon=True).start()
phit.sweep(sys.argv[1], workers=2)
"""


def test_a_program_that_its_processes_run_again_is_told_so(write: Write, tmp_path: Path) -> None:
    # Without `if __name__ == "__main__"` each fresh process begins with a sweep of its own.
    program = tmp_path / "program.py"
    program.write_text(STILLBORN)
    command = [sys.executable, str(program), str(write(seeds(1, 2, 3)))]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 1
    assert "3 processes of the sweep ended before they did anything (exit status 1)" in ended.stderr


GONE = """
import shutil, sys
import phit
from phit.running import workers

of = workers.Task.of

def gone(index, point):
    shutil.rmtree(sys.argv[2] + "/points", ignore_errors=True)
    return of(index, point)

workers.Task.of = gone
phit.sweep(sys.argv[1], sys.argv[2], workers=2)
"""


def test_a_process_that_cannot_keep_its_points_ends_the_sweep(write: Write, tmp_path: Path) -> None:
    command = [sys.executable, "-c", GONE, str(write(seeds(1, 2, 3))), str(tmp_path / "r")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 1
    assert re.search(r"ResultsError: .*: cannot be written \(No such file or directory\)$", ended.stderr, re.MULTILINE)
    assert "points failed" not in ended.stderr


def test_a_point_is_kept_as_it_was_answered(tmp_path: Path) -> None:
    (point,) = Experiment.read(tiny(measure__histogram=True)).points()
    text = _phit.run(point.text)
    for known in (text, None):
        keeper = Keeper(tmp_path)
        keeper.keep(point.hash, point.values, json.loads(text), known)
        kept = read_point(keeper.path(point.hash))
        assert {key: kept[key] for key in ("summary", "tables")} == json.loads(text)
        assert "digest" in kept


def stacked(ids: dict[str, Any], table: str, columns: dict[str, list[Any]]) -> pl.DataFrame:
    """The rows of one point by themselves."""
    own = frame(table, columns)
    literals = [pl.lit(value).alias(key) for key, value in ids.items() if key not in columns]
    return own.select(*(literal.repeat_by(own.height).explode() for literal in literals), *columns) if literals else own


IDS = st.fixed_dictionaries(
    {"load": st.floats(0, 1), "kind": st.sampled_from(["a", "b"])},
    optional={"seed": st.integers(0, 2**40), "on": st.booleans(), "none": st.none()},
)


@given(st.lists(st.tuples(IDS, st.integers(0, 5), st.booleans()), min_size=1, max_size=30), st.randoms())
def test_tables_are_the_same_in_whatever_order_points_come(found: list[Any], order: random.Random) -> None:
    points = {}
    for i, (ids, rows, wide) in enumerate(found):
        columns: dict[str, list[Any]] = {"latency": list(range(i, i + rows)), "packets": [i] * rows}
        points[f"{i:032x}"] = ({"point": f"{i:032x}", **ids}, columns | ({"share": [0.5] * rows} if wide else {}))
    expected = pl.concat(
        [stacked(ids, "histogram", columns) for ids, columns in points.values()], how="diagonal_relaxed"
    )
    hashes = list(points)
    order.shuffle(hashes)
    stack = Stack("histogram")
    for hash_ in hashes:
        stack.add(hash_, *points[hash_])
    assert stack.frame(points).equals(expected)
    assert stack.frame(points).schema == expected.schema
    # If a point comes again, the last one counts; points that are not requested do not count.
    again = hashes[0]
    stack.add(again, points[again][0], {"latency": [7], "packets": [8]})
    assert stack.frame([again])["packets"].to_list() == [8]


def test_the_short_table_is_that_of_a_terminal(cli: Cli, write: Write, tmp_path: Path) -> None:
    document = tiny() | {"sweep": {"product": {"traffic.pattern": ["uniform", "tornado"]}, "seeds": 2}}
    status, shown, _ = cli("sweep", write(document), "--out", tmp_path / "r", "--workers", 1)
    assert status == 0
    points, keys = pl.read_parquet(tmp_path / "r" / "points.parquet"), ["traffic.pattern", "seed"]
    headings, rows = short.short_rows(points, keys)
    right = [points[column].dtype.is_numeric() for column, _ in short.short_columns(points, keys)]
    reasons = "".join(f"{line}\n" for line in short.without_interval(points))
    assert reasons.count("saturated") == 1
    assert f"{short._text(headings, rows, right)}\n{reasons}" == shown
    assert _printed(short._table(headings, rows, right)) + reasons == shown
    # Text with wide characters, or wider than a line, is left to the table library.
    assert short._text(headings, [["表"] * len(headings)], right) is None
    assert short._text(["x" * 161], [], [False]) is None


def _printed(table: Any) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        out(table)
    return shown.getvalue()


def test_every_command_is_known_before_its_module_is_imported() -> None:
    for module, names in cli.MODULES.items():
        commands = import_module(f"phit.cli.{module}").commands
        found = [one.name or one.callback.__name__ for one in commands.registered_commands]
        found += [one.name or one.typer_instance.info.name for one in commands.registered_groups]
        assert sorted(found) == sorted(names), module
    program = "import sys; from phit.cli import main; main(['sweep', 'nowhere.toml']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "phit.cli.sweeping" in loaded
    assert not {"phit.cli.studying", "phit.cli.running", "rich", "polars", "phit.reading.graphs"} & loaded
