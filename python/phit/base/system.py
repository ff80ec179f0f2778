"""Differences between operating systems: signals, locks, flags of files, what a process has used.

Windows has no SIGHUP, no masks of signals, no `fcntl` and no `resource`, and flushes files but no folders. Everything
else of the package asks here and works everywhere.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType


def _module(name: str) -> ModuleType | None:
    """A module of the standard library, where this system has it."""
    try:
        return import_module(name)
    except ImportError:
        return None


_fcntl, _msvcrt, _resource = (_module(name) for name in ("fcntl", "msvcrt", "resource"))

ENDINGS: tuple[signal.Signals, ...] = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""Signals that ask a process to end, or say that its terminal has ended."""

BINARY, NEW_ONLY, WITHOUT_WAITING = (
    getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0),
    os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0),
    getattr(os, "O_NONBLOCK", 0),
)
"""Flags of files: bytes as they are; a file that was not there; a pipe without a writer is no reason to wait."""

NO_LINK: int = getattr(os, "O_NOFOLLOW", 0)
"""Flag of files: refuse a link."""

LOCKED_BYTE = 1 << 30
"""The byte of a file that is locked where a lock is one of bytes: beyond all content, which others may read."""


def lock(handle: int, *, shared: bool) -> None:
    """Locks an open file for this process, alone or among those that share it, until it is unlocked or closed.

    Raises:
        BlockingIOError: another process has locked it.
        OSError: the file system has no locks, or the system none that are shared.
    """
    if _fcntl is not None:
        _fcntl.flock(handle, (_fcntl.LOCK_SH if shared else _fcntl.LOCK_EX) | _fcntl.LOCK_NB)
    elif shared or _msvcrt is None:
        raise OSError("no shared locks on this system")
    else:
        os.lseek(handle, LOCKED_BYTE, os.SEEK_SET)
        try:
            _msvcrt.locking(handle, _msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError(error.errno, error.strerror) from None


def unlock(handle: int) -> None:
    """Unlocks what `lock` has locked."""
    if _fcntl is not None:
        _fcntl.flock(handle, _fcntl.LOCK_UN)
    elif _msvcrt is not None:
        os.lseek(handle, LOCKED_BYTE, os.SEEK_SET)
        _msvcrt.locking(handle, _msvcrt.LK_UNLCK, 1)


def first_bytes(handle: int, most: int) -> bytes:
    """The beginning of an open file."""
    os.lseek(handle, 0, os.SEEK_SET)
    return os.read(handle, most)


def sync(path: str | os.PathLike[str]) -> None:
    """Waits until what has been written to a file or folder has reached the disk, where the system can say so."""
    if _fcntl is None and os.path.isdir(path):
        return
    handle = os.open(path, os.O_RDONLY if _fcntl is not None else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def interrupt_held() -> Iterator[None]:
    """Processes and threads started inside never see Ctrl-C; one pressed meanwhile is delivered to us afterwards.

    Without masks of signals, processes that are started ignore Ctrl-C by themselves, a moment later.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def peak_memory() -> int | None:
    """The largest resident set of this process so far, in bytes; `None` where the system does not tell."""
    if _resource is None:
        return None
    peak: int = _resource.getrusage(_resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def memory_limits() -> Iterator[int]:
    """Limits on the memory of this process (`ulimit -v`, `ulimit -d`), in bytes."""
    if _resource is not None:
        for limit in (_resource.RLIMIT_AS, _resource.RLIMIT_DATA):
            soft, _ = _resource.getrlimit(limit)
            if soft != _resource.RLIM_INFINITY:
                yield soft


def page_size() -> int:
    """Bytes of a page of memory."""
    return 4096 if _resource is None else int(_resource.getpagesize())
