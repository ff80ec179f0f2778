"""Sweeps that many processes share: shards, one folder or many, workers that are killed, and folders put together."""

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import phit
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from phit.running.sharding import shares
from phit.store.folder import ResultsFolder
from phit.store.quantities import MACHINE
from phit.store.stored import read_point, write_point

from .conftest import Cli, Write, tiny

POINTS, SHARDS, KILLS = (1_000, 4, 20) if os.environ.get("PHIT_SOAK") else (12, 3, 2)
CYCLES = 600 if os.environ.get("PHIT_SOAK") else 6_000
"""Measured cycles of a point that may be killed."""


def experiment(loads: int = 3, **changes: Any) -> dict[str, Any]:
    """Points of two seeds, with tables."""
    document = tiny(measure__histogram=True, measure__links=True, **changes)
    product = {"traffic.load": {"start": 0.1, "stop": 0.5, "count": loads}}
    return document | {"sweep": {"name": "shared", "seeds": 2, "product": product}}


def tables(folder: Path) -> dict[str, bytes | pl.DataFrame]:
    """The tables of a folder, bit for bit; points are compared without columns about the machine."""
    found: dict[str, bytes | pl.DataFrame] = {p.name: p.read_bytes() for p in folder.glob("*.parquet")}
    points = pl.read_parquet(folder / "points.parquet").drop(MACHINE, strict=False)
    return found | {"points.parquet": points.write_ipc(None).getvalue()}


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@dataclass(frozen=True)
class Job:
    """As much of a point as shares look at."""

    work: float
    hash: str


@given(st.lists(st.integers(1, 10**9)), st.integers(1, 40), st.randoms(use_true_random=False))
def test_every_point_is_in_one_share_and_no_share_is_longer_than_greed_makes_it(
    works: list[int], shards: int, order: random.Random
) -> None:
    jobs = [Job(float(work), f"{i:032x}") for i, work in enumerate(works)]
    found = shares(jobs, shards)
    assert len(found) == shards
    assert sorted(i for share in found for i in share) == list(range(len(jobs)))
    loads = [sum(jobs[i].work for i in share) for share in found]
    # The last that came to the longest share came when no other was shorter; work is compared by three digits.
    last = min((jobs[i].work for i in found[loads.index(max(loads))]), default=0.0)
    assert max(loads) <= 1.02 * (sum(loads) / shards + last)
    # Which share a point is in does not depend on the order in which points are listed.
    shuffled = list(jobs)
    order.shuffle(shuffled)
    again = shares(shuffled, shards)
    assert [{shuffled[i].hash for i in share} for share in again] == [{jobs[i].hash for i in share} for share in found]


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "a/b", "1/0", "-1/2", "1/2\n", "1/9999999", "٣/٤"])
def test_what_is_no_shard_is_refused(text: str, cli: Cli, write: Write, tmp_path: Path) -> None:
    status, out, err = cli("sweep", write(experiment()), "--out", tmp_path / "r", "--shard", text)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "phit: error: shard (--shard) = " in err
    assert not (tmp_path / "r").exists()


def test_shards_of_one_folder_or_of_many_give_the_tables_of_a_run_of_all(tmp_path: Path) -> None:
    phit.sweep(experiment(), tmp_path / "whole", workers=1)
    expected = tables(tmp_path / "whole")
    assert {"points.parquet", "histograms.parquet", "links.parquet"} <= expected.keys()
    parts = []
    for number in (2, 1, 3):
        there = tmp_path / "shared" / "points.parquet"
        assert not there.exists()
        parts.append(phit.sweep(experiment(), tmp_path / "shared", workers=1, shard=f"{number}/3"))
        shutil.copytree(tmp_path / "shared", tmp_path / f"part{number}")
    assert tables(tmp_path / "shared") == expected
    hashes = [hash_ for part in parts for hash_ in part["point"]]
    assert sorted(hashes) == sorted(pl.read_parquet(tmp_path / "whole" / "points.parquet")["point"])
    assert all(part.height == 2 for part in parts)
    # As folders that know nothing of one another; each is as it was when its shard had ended.
    before = contents(tmp_path / "part1")
    found = phit.merge(tmp_path / "merged", [tmp_path / f"part{number}" for number in (3, 1, 2)])
    assert (found.points.height, found.missing) == (6, 0)
    assert tables(tmp_path / "merged") == expected
    assert contents(tmp_path / "part1") == before
    assert phit.sweep(experiment(), tmp_path / "merged", workers=1).equals(found.points)


def test_what_is_missing_is_counted_and_run_by_a_sweep(cli: Cli, write: Write, tmp_path: Path) -> None:
    document = write(experiment())
    for number in (1, 3):
        status, _, err = cli("sweep", document, "--out", tmp_path / "r", "--shard", f"{number}/3", "--workers", 1)
        assert status == 0
        assert f"shard {number}/3: 2 points" in err
    status, out, err = cli("report", tmp_path / "r")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert f"`phit merge {tmp_path / 'r'}` makes it" in err
    status, _, err = cli("merge", tmp_path / "r")
    assert status == 1
    assert "4 of 6 points" in err
    assert "2 points are missing; `phit sweep` runs them" in err
    assert cli("report", tmp_path / "r")[0] == 0
    status, _, err = cli("sweep", document, "--out", tmp_path / "r", "--workers", 1)
    assert status == 0
    assert "2 points to run, 4 already there" in err
    assert cli("merge", tmp_path / "r")[0] == 0


def test_merging_writes_where_it_is_told(cli: Cli, tmp_path: Path) -> None:
    for number in (1, 2, 3):
        phit.sweep(experiment(), tmp_path / f"part{number}", workers=1, shard=f"{number}/3")
    parts = [tmp_path / f"part{number}" for number in (1, 2, 3)]
    for arguments in (["--out", tmp_path / "new", *parts], [tmp_path / "old", *parts]):
        status, _, err = cli("merge", *arguments)
        assert status == 0, err
        assert "6 of 6 points" in err
    assert tables(tmp_path / "new") == tables(tmp_path / "old")
    assert cli("merge", "--out", tmp_path / "new")[0] == 0
    assert "phit merge --out DIR IN" in cli("merge")[2]


def test_shards_share_a_folder_with_one_another_only(tmp_path: Path) -> None:
    def opened(shared: bool) -> ResultsFolder:
        return ResultsFolder(tmp_path / "r", pytest.fail, shared=shared)

    with opened(shared=True), opened(shared=True):
        leftover = tmp_path / "r" / "points" / f".{'0' * 32}.json.abcdefgh.tmp"
        leftover.write_text("half")
        with opened(shared=True):
            assert leftover.exists()
        with pytest.raises(phit.ResultsError, match="shards of a sweep are writing"), opened(shared=False):
            pass
    with opened(shared=False):
        assert not leftover.exists()
        with pytest.raises(phit.ResultsError, match=f"another phit \\(process {os.getpid()}\\)"), opened(shared=True):
            pass


def changed(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Changes a point of a folder as another machine might have written it."""
    path = min((folder / "points").glob("*.json"))
    point = read_point(path)
    change(point)
    write_point(path, point)


def test_folders_that_contradict_one_another_are_not_merged(tmp_path: Path) -> None:
    one, two, other = tmp_path / "one", tmp_path / "two", tmp_path / "other"
    phit.sweep(experiment(loads=1), one, workers=1)
    shutil.copytree(one, two)
    changed(two, lambda point: point["summary"].update(cpu_seconds=1e6))
    assert phit.merge(tmp_path / "fine", [one, two]).missing == 0
    changed(two, lambda point: point["summary"].update(latency_mean=1.0))
    with pytest.raises(phit.ResultsError, match="other results for this point"):
        phit.merge(tmp_path / "r", [one, two])
    phit.sweep(experiment(loads=1, topology__h=1), other, workers=1)
    with pytest.raises(phit.ResultsError, match=r"topology\.h is 2 there and 1 here"):
        phit.merge(tmp_path / "s", [one, other])
    with pytest.raises(phit.ResultsError, match="no such results folder"):
        phit.merge(tmp_path / "t", [one, tmp_path / "nowhere"])
    assert not (tmp_path / "t").exists()


def test_a_damaged_point_of_a_part_is_left_out(tmp_path: Path) -> None:
    phit.sweep(experiment(loads=1), tmp_path / "one", workers=1)
    path = min((tmp_path / "one" / "points").glob("*.json"))
    path.write_text(path.read_text()[:-9])
    before, warnings = contents(tmp_path / "one"), list[str]()
    found = phit.merge(tmp_path / "r", [tmp_path / "one"], warn=warnings.append)
    assert (found.points.height, found.missing) == (1, 1)
    (warning,) = warnings
    assert str(path) in warning
    assert contents(tmp_path / "one") == before


RUN = "import sys, phit; phit.sweep(sys.argv[1], sys.argv[2], shard=sys.argv[3], workers=1)"


def test_a_sweep_whose_workers_are_killed_gives_the_tables_of_an_undisturbed_one(write: Write, tmp_path: Path) -> None:
    document = write(experiment(loads=POINTS // 2, measure__cycles=CYCLES))
    phit.sweep(document, tmp_path / "whole")
    folder, chance = tmp_path / "r", random.Random()

    def start(number: int) -> "subprocess.Popen[bytes]":
        return subprocess.Popen([sys.executable, "-c", RUN, document, folder, f"{number}/{SHARDS}"])

    def there() -> int:
        return sum(1 for _ in (folder / "points").glob("*.json"))

    running = {number: start(number) for number in range(1, SHARDS + 1)}
    try:
        for kill in range(1, KILLS + 1):
            # While they write: each time there are some more points, and never all.
            while there() < POINTS * kill // (KILLS + 2) and any(one.poll() is None for one in running.values()):
                time.sleep(0.001)
            number = chance.choice([number for number, one in running.items() if one.poll() is None] or [1])
            running[number].kill()
            running[number].wait()
            running[number] = start(number)
        assert [one.wait() for one in running.values()] == [0] * SHARDS
    finally:
        for one in running.values():
            one.kill()
            one.wait()
    assert tables(folder) == tables(tmp_path / "whole")
    states = {entry["state"] for entry in json.loads((folder / "manifest.json").read_text())["points"]}
    assert states == {"done"}
    assert phit.merge(folder).missing == 0
    assert not list(folder.rglob("*.tmp"))
