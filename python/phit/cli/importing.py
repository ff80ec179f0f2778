"""Commands that read configurations of other simulators."""

from pathlib import Path
from typing import Annotated

import typer

from phit.base.errors import InputError
from phit.cli.speaking import note, out
from phit.document import Document
from phit.document.loading import load
from phit.importing import SIMULATORS, Imported
from phit.importing.simulators import find

commands = typer.Typer()

NAMES = ", ".join(SIMULATORS)

From = Annotated[
    str | None,
    typer.Option("--from", metavar="SIMULATOR", help=f"The file is a configuration of another simulator: {NAMES}."),
]


def imported(simulator: str, *arguments: str) -> Imported:
    """The scenario of another simulator's files and `KEY=VALUE` settings. Warns of settings that were left out."""
    files = [Path(argument) for argument in arguments if not _is_setting(argument)]
    if not files:
        raise InputError(f"{simulator}: expected at least one configuration file")
    found = find(simulator).read(files, [argument for argument in arguments if _is_setting(argument)])
    for warning in found.warnings:
        note(f"phit: warning: {warning}")
    return found


def document_of(file: Path, simulator: str | None) -> Document:
    """The document in a file: a scenario, or a configuration of another simulator."""
    return load(file) if simulator is None else load(imported(simulator, str(file)).document)


def _is_setting(argument: str) -> bool:
    return "=" in argument and not Path(argument).exists()


@commands.command("import")
def import_(
    simulator: Annotated[str, typer.Argument(help=f"{NAMES}.", show_default=False)],
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE... [KEY=VALUE]...",
            help="Configuration files, of which later ones override earlier ones; then settings, which override files.",
            show_default=False,
        ),
    ],
) -> None:
    """Print another simulator's configuration as a scenario, in which each line names the settings it comes from."""
    out(imported(simulator, *arguments).to_toml().rstrip("\n"))
