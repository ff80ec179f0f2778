"""The command that traces single packets."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import phit
from phit.base import words
from phit.base.numbers import readable
from phit.cli.app import Settings, Trust, interruptible
from phit.cli.speaking import cell, out
from phit.cli.speaking import table as new_table
from phit.document.loading import load
from phit.document.paths import apply_settings
from phit.running.journeys import WAITS, Journey, Visit
from phit.running.reporters import run_progress

if TYPE_CHECKING:
    from rich.text import Text

commands = typer.Typer()


@commands.command("trace-packet")
def trace_packet(
    file: Annotated[Path, typer.Argument(help="Scenario: a TOML or JSON file.", show_default=False)],
    source: Annotated[
        str | None,
        typer.Option(
            metavar="ENDPOINT",
            help="Follow packets of this endpoint, by its number or name, instead of those with the highest latency.",
            show_default=False,
        ),
    ] = None,
    number: Annotated[int, typer.Option(help="With --source: the number of its first packet, counted from 0.")] = 0,
    count: Annotated[int, typer.Option(help="How many packets.")] = 1,
    settings: Settings = [],  # noqa: B006
    as_json: Annotated[bool, typer.Option("--json", help="Print the packets as a JSON list.")] = False,
    trust: Trust = False,  # noqa: ARG001
) -> None:
    """Follow single packets cycle by cycle: which routers they visit, when, and why they wait there."""
    document = apply_settings(load(file), settings)
    endpoint = int(source) if source is not None and re.fullmatch(r"-?[0-9]+", source) else source
    with interruptible(), run_progress() as progress:
        found = phit.trace_packet(document, source=endpoint, number=number, count=count, progress=progress)
    if as_json:
        out(json.dumps([journey.to_dict() for journey in found], ensure_ascii=False))
        return
    if not found:
        out("no packet arrived in the measured time")
    for index, journey in enumerate(found):
        if index:
            out("")
        _show(journey)


def _show(journey: Journey) -> None:
    size = f"{journey.size:,} phit{'s' * (journey.size != 1)}"
    source = words.endpoint(journey.source, journey.source_name)
    destination = words.endpoint(journey.destination, journey.destination_name)
    out(f"packet {journey.number:,} of {source}, {size} to {destination}")
    out(f"generated in cycle {readable_cycle(journey.generated)}, {_end(journey)}")
    waited = sum(journey.waited.values())
    parts = [(journey.sent - journey.generated, "at the source"), (waited, "waiting in routers")]
    if journey.latency is not None:
        parts.append((journey.latency - sum(part for part, _ in parts), "under way"))
    out(f"cycles: {', '.join(f'{readable_cycle(part)} {words}' for part, words in parts)}")
    table = new_table(box=None, padding=(0, 2, 0, 2))
    tail = ["tail out"] if journey.flits > 1 else []
    for column in ("router", "input", "link", "queue", "head in", "waited", "head out", *tail, "output", "VC"):
        table.add_column(column, justify="left" if column == "link" else "right", header_style="bold")
    table.add_column("waited for", header_style="bold")
    for visit in journey.visits:
        table.add_row(*_cells(visit, tail=bool(tail)), cell(_reasons(visit)))
    out(table)


def _end(journey: Journey) -> str:
    if journey.end is None or journey.latency is None:
        return "still on its way when the run ended"
    how = "lost on a failed link" if journey.lost else "delivered"
    return f"{how} in {readable_cycle(journey.end)}: {readable_cycle(journey.latency)} cycles"


def readable_cycle(cycle: float | None) -> str:
    """A cycle, or a number of cycles, with the fraction that a faster crossbar may give it."""
    return readable(None if cycle is None else int(cycle) if cycle == int(cycle) else round(cycle, 3))


def _cells(visit: Visit, *, tail: bool) -> "list[str | Text]":
    waited = sum(visit.waited.values())
    times = [readable_cycle(time) for time in (visit.entered, waited, visit.left, *([visit.tail] if tail else []))]
    router = readable(visit.router) if visit.router_name is None else cell(words.shown(visit.router_name))
    place = (router, _port(visit.input, visit.input_name), cell(visit.link), readable(visit.queue))
    return [*place, *times, _port(visit.output, visit.output_name), readable(visit.vc)]


def _port(number: int | None, name: str | None) -> "str | Text":
    return readable(None) if number is None else cell(words.port_alone(number, name))


def _reasons(visit: Visit) -> str:
    found = [f"{why} {readable_cycle(visit.waited[why])}" for why in WAITS if visit.waited[why]]
    return ", ".join(found)
