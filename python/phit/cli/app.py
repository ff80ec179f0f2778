"""What all commands share: the application, exit statuses, options, and how it speaks."""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import phit
from phit._engine import OWN
from phit.base.errors import failure, one_line
from phit.base.left_out import in_words
from phit.base.text import WIDTH, plain_lines
from phit.cli import completing

if TYPE_CHECKING:
    # It takes longer to import than many commands take.
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

FAILED, BAD_INPUT, INTERRUPTED, BROKEN_PIPE = 1, 2, 130, 141
SIGNALLED = 128
"""And the number of a signal."""

app = typer.Typer(
    name="phit",
    help="Fast, exact simulation of lossless interconnection networks.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


File = Annotated[Path, typer.Argument(help="Scenario or experiment: a TOML or JSON file.", show_default=False)]
Settings = Annotated[
    list[str],
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Set a key by its dotted path, as traffic.load=0.4; repeatable.",
        autocompletion=completing.settings,
    ),
]
Force = Annotated[
    bool, typer.Option("--force", help="Run also what is expected to take more memory than the machine has.")
]


def _trust(given: bool) -> None:
    if given:
        phit.trust_python()


Trust = Annotated[
    bool,
    typer.Option(
        "--trust-python",
        callback=_trust,
        help="Execute the Python functions that the scenario names; they may do whatever you may do.",
    ),
]
ResultsDir = Annotated[Path, typer.Argument(metavar="DIR", help="Results folder.", show_default=False)]


def out(text: "str | RenderableType") -> None:
    """Writes to standard output; ends quietly if nobody reads it any more."""
    if not isinstance(text, str):
        from phit.running.terminal import terminal

        console = terminal()
        if not console.is_terminal:
            console.width = WIDTH
        with console.capture() as capture:
            console.print(text)
        text = "\n".join(line.rstrip() for line in capture.get().rstrip("\n").split("\n"))
    else:
        text = plain_lines(text)
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(BROKEN_PIPE) from None
    except OSError as error:
        raise failure(f"standard output: cannot be written ({error.strerror})") from None


def table(**look: Any) -> "Table":
    """A table for `out`."""
    from rich.table import Table

    return Table(**look)


def cell(text: str) -> "Text":
    """A cell that is text, whatever it looks like."""
    from rich.text import Text

    return Text(text)


def note(text: str) -> None:
    """Writes a line to standard error."""
    with suppress(OSError):
        print(plain_lines(text), file=sys.stderr, flush=True)


def note_left_out(rows: Iterable[Mapping[str, Any]]) -> None:
    """Writes what the reader of a file has left out to standard error."""
    for line in in_words(rows):
        note(f"phit: warning: {line}")


@contextmanager
def interruptible() -> Iterator[None]:
    """Ends the program with a word on what is kept when Ctrl-C comes."""
    try:
        yield
    except KeyboardInterrupt as error:
        note(f"phit: {one_line(error) if isinstance(error, phit.Interrupted) else 'interrupted'}")
        raise typer.Exit(INTERRUPTED) from None


def _version(asked: bool) -> None:
    if asked:
        facts = [phit.commit(), None if phit.ENGINE == OWN else f"engine {phit.ENGINE}"]
        known = ", ".join(fact for fact in facts if fact)
        out(f"phit {phit.__version__} ({known})" if known else f"phit {phit.__version__}")
        raise typer.Exit


@app.callback()
def _phit(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Fast, exact simulation of lossless interconnection networks."""
