"""Commands that write templates for new code."""

from pathlib import Path
from typing import Annotated

import typer

from phit.cli.speaking import out
from phit.mechanisms import crates

commands = typer.Typer()


@commands.command("new-mechanism")
def new_mechanism(
    name: Annotated[
        str, typer.Argument(help="Name of the routing mechanism, for example my_routing.", show_default=False)
    ],
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="PATH", help="A checkout of Phit, or the address of its repository; by default the one in use."
        ),
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder of the crate; by default NAME.")
    ] = None,
) -> None:
    """Write a Rust crate that adds a routing mechanism to a full Phit, with tests."""
    target = folder or Path(name)
    for path in crates.write(name, target, engine):
        out(str(path))
    out(f"next: cd {target}, cargo test, pip install .")
