"""The machine: its description, its cores, and the memory that the system and the process's limits leave."""

import os
import platform
import shlex
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from phit.base import system
from phit.base.text import plain, shortened

PROC = Path("/proc")
GROUPS = Path("/sys/fs/cgroup")


def described() -> dict[str, Any]:
    """A description of work that has just ended: when, on which machine, and by which command.

    The command is `None` if Python code ran the work.
    """
    name = Path(sys.argv[0]).name if sys.argv else ""
    ours = name == "phit" or Path(sys.argv[0]).parts[-2:] == ("phit", "__main__.py") if name else False
    return {
        "ended": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": {"processor": plain(_processor()), "cores": os.cpu_count(), "system": plain(platform.platform())},
        "command": shortened(plain(shlex.join(["phit", *sys.argv[1:]]))) if ours else None,
    }


def _processor() -> str:
    with suppress(OSError):
        for line in (PROC / "cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return " ".join(line.partition(":")[2].split())
    return platform.processor() or platform.machine()


def cores() -> int:
    """The number of cores that this process may run on, which a scheduler or launcher may have restricted."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def memory(processes: int = 1) -> int | None:
    """The bytes that each of `processes` processes may still take; `None` if the system does not tell.

    This is the minimum of the free memory, the rest of the control groups' limits, and the rest of the process's own
    limits (`ulimit -v`).
    """
    shared = [*_free(), *_groups()]
    own = [*_limits()]
    left = [bytes_ // max(processes, 1) for bytes_ in shared] + own
    return max(min(left), 0) if left else None


def _number(path: Path, key: str = "") -> int | None:
    """The first number of the line that begins with `key`."""
    with suppress(OSError, ValueError, IndexError):
        for line in path.read_text(encoding="ascii").splitlines():
            if line.startswith(key):
                return int(line.removeprefix(key).split()[0])
    return None


def _free() -> Iterator[int]:
    free = _number(PROC / "meminfo", "MemAvailable:")
    swap = _number(PROC / "meminfo", "SwapFree:")
    if free is not None:
        yield 1024 * (free + (swap or 0))


def _groups() -> Iterator[int]:
    """The rest of the memory limit of each control group that this process is in, for versions 1 and 2."""
    with suppress(OSError):
        for line in (PROC / "self" / "cgroup").read_text(encoding="utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            old = "memory" in controllers.split(",")
            if not old and controllers:
                continue
            root = GROUPS / "memory" if old else GROUPS
            limit, used = (
                ("memory.limit_in_bytes", "memory.usage_in_bytes") if old else ("memory.max", "memory.current")
            )
            here = root / path.lstrip("/")
            for group in (here, *here.parents):
                most, now = _number(group / limit), _number(group / used)
                # Cached files count as used memory, but the system frees them on demand.
                read = _number(group / "memory.stat", "inactive_file ") or 0
                if most is not None and now is not None and most < 1 << 60:
                    yield most - now + read
                if group == root:
                    break


def _limits() -> Iterator[int]:
    pages = _number(PROC / "self" / "statm")
    for limit in system.memory_limits():
        if pages is not None:
            yield limit - pages * system.page_size()
