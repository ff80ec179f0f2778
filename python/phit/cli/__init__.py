"""The command line. Every failure gets one line on standard error and an exit status.

The status is 2 for bad input, 1 for other failures, 130 for Ctrl-C, and 143 for a request to end.
"""

import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from types import FrameType

import typer

import phit
from phit.base import system
from phit.base.errors import PhitError, each_line, one_line
from phit.cli.app import SIGNALLED, app
from phit.cli.speaking import BAD_INPUT, FAILED, INTERRUPTED, note
from phit.running.letters import FLAG

__all__ = ["main"]

DEBUG = "PHIT_DEBUG"
"""Environment variable: if it is set, unexpected errors are shown with a traceback."""

MODULES = {
    "running": ("run", "interference", "fidelity"),
    "sweeping": ("sweep", "merge", "saturate"),
    "showing": ("plot", "report"),
    "comparing": ("compare", "watch"),
    "inspecting": ("verify", "bound", "routes", "list", "schema"),
    "following": ("trace-packet",),
    "making": ("new-mechanism",),
    "programming": ("workload",),
    "studying": ("reproduce", "validate", "cost"),
    "importing": ("import",),
}
"""Modules and their commands, in the order of the help text."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit status."""
    with warnings.catch_warnings(), _ended_as_interrupted() as received:
        warnings.showwarning = lambda message, *_, **__: note(f"phit: warning: {message}")
        status = _main(arguments)
        # Other processes of an MPI job end after all output is written.
        if (mpi := sys.modules.get("phit.running.mpi")) is not None:
            with suppress(Exception):
                mpi.end(status)
        return SIGNALLED + received[0] if received and status == INTERRUPTED else status


@cache
def _add(module: str) -> None:
    app.add_typer(import_module(f"phit.cli.{module}").commands)


def _add_what_is_asked_for(arguments: Sequence[str]) -> None:
    """Adds only the module of the given command, so that commands start sooner. Without a command, adds all modules."""
    asked = [module for module, names in MODULES.items() if arguments and arguments[0] in names]
    for module in asked or MODULES:
        _add(module)


@contextmanager
def _ended_as_interrupted() -> Iterator[list[int]]:
    """Treats a request to end, or the end of the terminal, as one Ctrl-C; yields the signals that arrived."""
    received: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        received.append(number)
        signal.signal(number, signal.SIG_DFL)
        raise KeyboardInterrupt

    # A signal that is already ignored, for example by `nohup`, stays ignored.
    ours = threading.current_thread() is threading.main_thread()
    held = [s for s in system.ENDINGS if ours and signal.getsignal(s) is signal.SIG_DFL]
    for number in held:
        signal.signal(number, interrupt)
    try:
        yield received
    finally:
        for number in held:
            signal.signal(number, signal.SIG_DFL)


def _main(arguments: Sequence[str] | None) -> int:
    try:
        given = sys.argv[1:] if arguments is None else arguments
        # Only the first process of an MPI job reads its arguments and prints; the others serve it.
        if FLAG in given:
            from phit.running import mpi

            if (job := mpi.join()).rank > 0:
                return job.serve()
        _add_what_is_asked_for(given)
        return app(args=None if arguments is None else list(arguments), standalone_mode=False) or 0
    except PhitError as error:
        for line in each_line(error):
            note(f"phit: error: {line}")
        return FAILED if isinstance(error, phit.SimulationError) else BAD_INPUT
    except OSError as error:
        place = f"{error.filename}: " if error.filename is not None else ""
        note(f"phit: error: {place}{error.strerror or one_line(error)}")
        return BAD_INPUT
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except (SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        # Wrong options and arguments raise exceptions of click, which typer may bundle.
        show = getattr(error, "show", None)
        if show is not None:
            show()
            return int(getattr(error, "exit_code", BAD_INPUT))
        # A panic of a Rust library is no `Exception`.
        if os.environ.get(DEBUG):
            traceback.print_exception(error)
        what = "not enough memory" if isinstance(error, MemoryError) else f"{type(error).__name__}: {one_line(error)}"
        note(f"phit: error: unexpected failure: {what} (set {DEBUG}=1 to see where)")
        return FAILED
