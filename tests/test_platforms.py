"""Nothing of the package needs what only some systems have: it runs where that is missing."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from phit.base import machine, system
from phit.running import workers

from .conftest import Write, tiny

MISSING = """
import os, signal, sys, types
for module in ("fcntl", "resource"):
    sys.modules[module] = None
for name in ("SIGHUP", "pthread_sigmask"):
    delattr(signal, name)
for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "pread", "sched_getaffinity"):
    if hasattr(os, name):
        delattr(os, name)
sys.modules["msvcrt"] = types.ModuleType("msvcrt")
sys.modules["msvcrt"].LK_NBLCK, sys.modules["msvcrt"].LK_UNLCK = 2, 0
sys.modules["msvcrt"].locking = lambda handle, mode, count: None
"""
"""Takes away what Windows does not have, and locks as it does. The standard library keeps what it has imported."""

PRELUDE = "import multiprocessing.connection, multiprocessing.resource_tracker, subprocess, tempfile\n" + MISSING


def poorer(program: str, *arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PRELUDE + program, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=100)


def test_a_sweep_runs_where_posix_is_missing(write: Write, tmp_path: Path) -> None:
    file = write(tiny() | {"sweep": {"name": "poor", "product": {"traffic.load": [0.05, 0.1]}}})
    program = "from phit.cli import main; sys.exit(main(sys.argv[1:]))"
    done = poorer(program, "sweep", file, "--out", tmp_path / "r", "--workers", 2, cwd=tmp_path)
    assert (done.returncode, done.stderr.count("Traceback")) == (0, 0), done.stderr
    assert len(list((tmp_path / "r" / "points").glob("*.json"))) == 2
    again = poorer(program, "sweep", file, "--out", tmp_path / "r", cwd=tmp_path)
    assert again.returncode == 0, again.stderr


def test_every_module_is_imported_where_posix_is_missing(tmp_path: Path) -> None:
    program = """
import importlib, pkgutil, phit
optional = {"dask", "distributed", "submitit", "mpi4py", "numba", "otf2", "perfetto", "pydot", "llvmlite"}
for found in pkgutil.walk_packages(phit.__path__, "phit."):
    if not found.name.endswith("__main__") and ".crate" not in found.name:
        try:
            importlib.import_module(found.name)
        except ModuleNotFoundError as error:
            if error.name.partition(".")[0] not in optional:
                raise
print("all")
"""
    done = poorer(program, cwd=tmp_path)
    assert done.stdout == "all\n", done.stderr


class Bytes:
    """`msvcrt`, whose locks are of bytes: a process that has not locked one cannot."""

    LK_NBLCK, LK_UNLCK = 2, 0

    def __init__(self) -> None:
        self.locked: set[tuple[int, int]] = set()

    def locking(self, handle: int, mode: int, count: int) -> None:
        assert count == 1
        byte = (os.fstat(handle).st_ino, os.lseek(handle, 0, os.SEEK_CUR))
        if mode == self.LK_UNLCK:
            self.locked.remove(byte)
        elif byte in self.locked:
            raise PermissionError(13, "Permission denied")
        else:
            self.locked.add(byte)


def test_locks_of_bytes_keep_others_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "_fcntl", None)
    monkeypatch.setattr(system, "_msvcrt", Bytes())
    file = tmp_path / "lock"
    file.write_text("4711\n")
    first, second = os.open(file, os.O_RDWR), os.open(file, os.O_RDWR)
    try:
        system.lock(first, shared=False)
        with pytest.raises(BlockingIOError):
            system.lock(second, shared=False)
        assert system.first_bytes(second, 20) == b"4711\n"
        system.unlock(first)
        system.lock(second, shared=False)
        with pytest.raises(OSError, match="no shared locks"):
            system.lock(first, shared=True)
    finally:
        os.close(first)
        os.close(second)


@pytest.mark.parametrize(
    ("platform", "factor"), [("darwin", 1), ("linux", 1024)], ids=["macOS counts bytes", "Linux counts kilobytes"]
)
def test_the_peak_of_memory_has_the_unit_of_the_system(
    platform: str, factor: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage: Callable[[int], Any] = lambda _: SimpleNamespace(ru_maxrss=7)  # noqa: E731
    monkeypatch.setattr(system, "_resource", SimpleNamespace(getrusage=usage, RUSAGE_SELF=0))
    monkeypatch.setattr(sys, "platform", platform)
    assert system.peak_memory() == 7 * factor
    monkeypatch.setattr(system, "_resource", None)
    assert (system.peak_memory(), list(system.memory_limits())) == (None, [])


def test_without_proc_the_memory_is_unknown_and_workers_are_spawned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "PROC", tmp_path / "none")
    monkeypatch.setattr(machine, "GROUPS", tmp_path / "none")
    assert machine.memory() is None
    assert machine.described()["machine"]["processor"] is not None

    def missing(_: str) -> list[str]:
        raise FileNotFoundError

    monkeypatch.setattr(os, "listdir", missing)
    assert not workers._alone()
