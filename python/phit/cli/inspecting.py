"""Commands that look at a scenario without running it, and at what a scenario can name."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

import phit
from phit.cli import listing
from phit.cli.app import FAILED, Settings, interruptible, out
from phit.errors import InputError
from phit.keys import keys
from phit.scenario import apply_settings, hint, load

commands = typer.Typer()


@commands.command()
def verify(
    file: Annotated[Path, typer.Argument(help="Scenario: a TOML or JSON file.", show_default=False)],
    settings: Settings = [],  # noqa: B006
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as one JSON object.")] = False,
) -> None:
    """Prove the routes of a scenario free of deadlock, or show why not; exit status 1 if they are not proved."""
    with interruptible():
        report = phit.verify(apply_settings(load(file), settings))
    if as_json:
        out(json.dumps(report, ensure_ascii=False))
    elif report["proved"]:
        out("proved: no packets can wait for one another for ever")
        out(f"because {report['argument']}")
        out(f"{report['channels']:,} channels, {report['dependencies']:,} dependencies among them, no cycle")
    elif report.get("cycle"):
        out("not proved: packets in these channels can wait, each for the next and the last for the first")
        for channel in report["cycle"]:
            out(f"  router {channel['router']} port {channel['port']} VC {channel['vc']}")
    else:
        out(f"not proved: {report['reason']}")
        if report["proved"] is None and "argument" in report:
            out(f"the argument would be that {report['argument']}")
    if not report["proved"]:
        raise typer.Exit(FAILED)


@commands.command()
def routes(
    file: Annotated[Path, typer.Argument(help="Scenario: a TOML or JSON file.", show_default=False)],
    settings: Settings = [],  # noqa: B006
) -> None:
    """Print the routing tables of a scenario as CSV: router, destination, port; `routing.file` reads such entries."""
    with interruptible():
        tables = phit.routes(apply_settings(load(file), settings))
    lines = (f"{router},{to},{port}" for router, ports in enumerate(tables) for to, port in enumerate(ports))
    out("\n".join(("router,destination,port", *lines)))


@commands.command("list")
def list_(
    concept: Annotated[
        str | None, typer.Argument(help="topology, routing, pattern, ..., quantities, tables.", show_default=False)
    ] = None,
    kind: Annotated[str | None, typer.Argument(help="One of the concept's kinds.", show_default=False)] = None,
) -> None:
    """List what a scenario can name and what results consist of, or one of these with all that is said of it."""
    if concept in listing.LISTS:
        listing.LISTS[concept](kind)
        return
    catalogue = phit.catalogue()
    if concept is not None and concept not in catalogue:
        names = [*catalogue, *listing.LISTS]
        raise InputError(f"{concept!r}: no such concept; expected one of {', '.join(names)}{hint(concept, names)}")
    if concept is None or kind is None:
        for name, entries in catalogue.items():
            if concept in (None, name):
                _list_kinds(name, entries)
        if concept is None:
            for show in listing.LISTS.values():
                show(None)
        return
    kinds = {entry["kind"]: entry for entry in catalogue[concept]}
    if kind not in kinds:
        raise InputError(f"{kind!r}: no such {concept}; expected one of {', '.join(kinds)}{hint(kind, kinds)}")
    _list_keys(concept, kinds[kind])


def _list_kinds(concept: str, entries: list[dict[str, Any]]) -> None:
    out(f"{concept}:")
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 2))
    for entry in entries:
        table.add_row(entry["kind"], first_sentence(entry["description"]))
    out(table)


def first_sentence(text: str) -> str:
    """The first sentence of a description."""
    line = " ".join(text.split())
    return line.split(". ")[0].rstrip(".")


def _list_keys(concept: str, entry: dict[str, Any]) -> None:
    out(f'{concept} kind = "{entry["kind"]}"\n\n{entry["description"].strip()}')
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("key", "default", "meaning"):
        table.add_column(heading, header_style="bold")
    for key in keys(entry["schema"]):
        names = (f'"{name}": {text}' for name, text in key.names)
        # As plain text: brackets are no markup.
        table.add_row(*(Text(cell) for cell in (key.path, key.default, "\n".join((key.meaning, *names)))))
    if table.row_count:
        out("")
        out(table)


@commands.command()
def schema() -> None:
    """Print the JSON Schema of a scenario."""
    out(json.dumps(phit.schema(), indent=2, ensure_ascii=False))
