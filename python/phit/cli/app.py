"""Common parts of all commands: the application, its exit statuses, and its options."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

import phit
from phit.base.engine import OWN
from phit.base.errors import one_line
from phit.cli import completing
from phit.cli.speaking import INTERRUPTED, note, out

SIGNALLED = 128
"""Exit status of a command that a signal has ended, minus the number of the signal."""

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
        help="Set a key by its dotted path, for example traffic.load=0.4; repeatable.",
        autocompletion=completing.settings,
    ),
]

Force = Annotated[
    bool, typer.Option("--force", help="Run even if more memory is expected to be needed than the machine has.")
]


def _trust(given: bool) -> None:
    if given:
        phit.trust_python()


Trust = Annotated[
    bool,
    typer.Option(
        "--trust-python",
        callback=_trust,
        help="Execute the Python functions that the scenario names; they run with all your permissions.",
    ),
]

ResultsDir = Annotated[Path, typer.Argument(metavar="DIR", help="Results folder.", show_default=False)]


@contextmanager
def interruptible() -> Iterator[None]:
    """On Ctrl-C, prints what is kept and ends the program."""
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
