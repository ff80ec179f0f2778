"""Commands that examine a scenario without running it, and list its possible contents."""

import csv
import io
import json
import re
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

import phit
from phit.base import words
from phit.base.errors import InputError
from phit.base.left_out import in_numbers
from phit.base.nearest import hint
from phit.base.text import first_sentence, quoted
from phit.cli import completing, listing
from phit.cli.app import Settings, interruptible
from phit.cli.speaking import FAILED, cell, note_left_out, out
from phit.cli.speaking import table as new_table
from phit.document.inlining import names_of
from phit.document.keys import Key, keys, resolved
from phit.document.loading import load
from phit.document.paths import apply_settings
from phit.document.schema import described, of_kind
from phit.running.progress import waiting

commands = typer.Typer()


@commands.command()
def verify(
    file: Annotated[Path, typer.Argument(help="Scenario: a TOML or JSON file.", show_default=False)],
    settings: Settings = [],  # noqa: B006
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as one JSON object.")] = False,
) -> None:
    """Prove that the routes of a scenario cannot deadlock, or show a cycle; exit status 1 if they are not proved."""
    with interruptible(), waiting("following routes"):
        report = phit.verify(apply_settings(load(file), settings))
    note_left_out(report.get("left_out", ()))
    if not as_json and (network := report.get("network")):
        out(f"network: {in_numbers(network)}")
    if as_json:
        out(json.dumps(report, ensure_ascii=False))
    elif report["proved"]:
        out("proved: packets cannot wait for each other in a cycle")
        out(f"because {report['argument']}")
        out(f"{report['channels']:,} channels, {report['dependencies']:,} dependencies among them, no cycle")
    elif report.get("cycle"):
        out("not proved: packets in these channels can wait for each other in a cycle, the last for the first")
        for channel in report["cycle"]:
            name = channel.get("name") or words.port(channel["router"], channel["port"])
            out(f"  {name} VC {channel['vc']}")
    else:
        out(f"not proved: {report['reason']}")
        if report["proved"] is None and "argument" in report:
            out(f"no proof that {report['argument']}")
    if not as_json and "routes" in report:
        _say_routes(report["routes"])
    if not report["proved"]:
        raise typer.Exit(FAILED)


def _say_routes(routes: dict[str, Any]) -> None:
    """Prints statistics of the routes in routing tables."""
    out(f"{routes['pairs']:,} pairs of endpoints, {routes['reachable']:,} of them reached")
    longest = max((hops for hops, _ in routes["hops"]), default=0)
    out(
        f"links between routers on a route: {routes['hops_mean']:.2f} on average, {longest} at most; "
        f"{routes['nonminimal']:,} pairs take more than the minimum"
    )
    loads = [load for load, _ in routes["loads"]]
    unused = sum(links for load, links in routes["loads"] if load == 0)
    out(
        f"pairs on a link, in one direction: {routes['load_mean']:.1f} on average, {max(loads, default=0):,} at most; "
        f"{unused:,} links unused"
    )
    out(f"layers: {routes['layers']}, virtual channels: {routes['channels']}")


@commands.command()
def bound(
    file: Annotated[Path, typer.Argument(help="Scenario: a TOML or JSON file.", show_default=False)],
    settings: Settings = [],  # noqa: B006
    as_json: Annotated[bool, typer.Option("--json", help="Print the bounds as one JSON object.")] = False,
) -> None:
    """Prove how much of a scenario's traffic its links can carry, with any routing and with minimal routes."""
    with interruptible(), waiting("reading the network") as tell:
        found = phit.bound(apply_settings(load(file), settings), progress=tell)
    if as_json:
        out(json.dumps(found.to_dict(), ensure_ascii=False))
        return
    out(f"links of endpoints: {fraction(found.endpoints)} phits/(endpoint·cycle)")
    if found.any_routing is None:
        out("links between routers: no packet takes one")
        return
    for which, limit in (("any routing", found.any_routing), ("minimal routing", found.minimal)):
        if limit is None:
            out(f"links between routers, {which}: too many flows and too little symmetry")
            continue
        out(f"links between routers, {which}: {fraction(limit.load)} phits/(endpoint·cycle)")
        table = new_table(box=None, padding=(0, 2, 0, 2))
        named = any(price.names for price in limit.prices)
        for column in ("links", "class", "price", "phits/cycle", "worth", *(["such as"] if named else [])):
            left = column in ("class", "such as")
            table.add_column(column, justify="left" if left else "right", header_style="bold")
        for price in limit.prices:
            carries = f"{int(price.capacity):,}" if price.capacity.denominator == 1 else str(price.capacity)
            numbers = (str(price.price), carries, fraction(price.price * price.capacity))
            examples = [cell(", ".join(price.names))] if named else []
            table.add_row(f"{price.links:,}", cell(price.link_class), *numbers, *examples)
        out(table)
        costs = " to ".join(dict.fromkeys(fraction(cost) for cost in (limit.cheapest, limit.dearest)))
        out(
            f"  proof: the cheapest route of a packet costs {costs}; all packets of a cycle at load 1 pay "
            f"{fraction(limit.cost)}; all links are worth {fraction(limit.worth)}"
        )
        if not limit.tight:
            flow = "is known" if limit.flow is None else f"carries more than {limit.flow:.4g}"
            out(f"  no flow that {flow}: a lower bound may exist")


def fraction(value: Fraction) -> str:
    """`4/9 = 0.4444`. A whole number stands alone, and so does a decimal whose fraction would be unreadable."""
    if value.denominator == 1:
        return f"{value.numerator:,}"
    decimal = f"{float(value):.4g}"
    return decimal if value.denominator > READABLE else f"{value} = {decimal}"


READABLE = 10_000
"""The largest denominator that is printed."""


@commands.command()
def routes(
    file: Annotated[Path, typer.Argument(help="Scenario: a TOML or JSON file.", show_default=False)],
    settings: Settings = [],  # noqa: B006
) -> None:
    """Print the routing tables of a scenario as CSV: router, destination, port. `routing.file` reads such files.

    In a network with names, further columns have the names of routers and destinations.
    """
    document = apply_settings(load(file), settings)
    with interruptible():
        tables = phit.routes(document)
        names = names_of(document)
    routers, endpoints = names.get("routers"), names.get("endpoints")
    further = [("router_name", routers), ("destination_name", endpoints)]
    text = io.StringIO()
    write = csv.writer(text, lineterminator="\n").writerow
    write(["router", "destination", "port", *(column for column, given in further if given)])
    for router, ports in enumerate(tables):
        own = [routers[router]] if routers else []
        for to, port in enumerate(ports):
            write([router, to, port, *own, *([endpoints[to]] if endpoints else [])])
    out(text.getvalue().rstrip("\n"))


@commands.command("list")
def list_(
    name: Annotated[
        str | None,
        typer.Argument(
            help="A concept (topology, routing, pattern, ...), a section, quantities or tables.",
            show_default=False,
            autocompletion=completing.concepts,
        ),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Argument(
            help="One entry of the list: a kind, a quantity, ...", show_default=False, autocompletion=completing.kinds
        ),
    ] = None,
) -> None:
    """List everything that a scenario can name and that results contain, or describe one entry in full."""
    if name in listing.LISTS:
        listing.LISTS[name](kind)
        return
    concepts, sections = phit.catalogue(), _sections()
    if name is None:
        for concept, entries in concepts.items():
            _list_kinds(concept, entries)
        list_entries(
            "sections", ((f"[{section}]", _own_words(section, schema)) for section, schema in sections.items())
        )
        for show in listing.LISTS.values():
            show(None)
        return
    listed = list(dict.fromkeys([*concepts, *sections, *listing.LISTS]))
    if name not in listed:
        raise InputError(
            f"{quoted(name)}: no such concept or section; expected one of {', '.join(listed)}{hint(name, listed)}"
        )
    if kind is not None:
        if name not in concepts:
            raise InputError(f"{quoted(kind)}: the section {name} has no kinds; expected `phit list {name}`")
        kinds = {entry["kind"]: entry for entry in concepts[name]}
        if kind not in kinds:
            raise InputError(f"{quoted(kind)}: no such {name}; expected one of {', '.join(kinds)}{hint(kind, kinds)}")
        entry = kinds[kind]
        listed_keys = keys(of_kind(name, kind, entry["schema"]), described())
        list_keys(f'{name} kind = "{kind}"', entry["description"], listed_keys)
        return
    if name in concepts:
        _list_kinds(name, concepts[name])
    if name in sections:
        schema = sections[name]
        list_keys(f"[{name}]", _own_words(name, schema), keys(schema, described()))


def _sections() -> dict[str, dict[str, Any]]:
    """The sections whose keys do not depend on a kind."""
    schema = described()
    found = {name: resolved(section, schema) for name, section in schema["properties"].items()}
    return {name: section for name, section in found.items() if "properties" in section}


def _own_words(name: str, schema: dict[str, Any]) -> str:
    """The description of a section without its name in front."""
    text: str = schema["description"].removeprefix(f"`[{name}]`: ")
    return text[:1].upper() + text[1:]


def _list_kinds(concept: str, entries: list[dict[str, Any]]) -> None:
    list_entries(concept, ((entry["kind"], entry["description"]) for entry in entries))


def list_entries(heading: str, entries: Iterable[tuple[str, str]]) -> None:
    """Prints names, each with the first sentence of its description."""
    out(f"{heading}:")
    table = new_table(show_header=False, box=None, padding=(0, 2, 0, 2))
    for name, description in entries:
        table.add_row(cell(name), cell(first_sentence(description)))
    out(table)


def list_keys(heading: str, description: str, listed: Iterable[Key]) -> None:
    """Prints a description, and the keys as a table."""
    # Code blocks are indented, because Markdown's fences mean nothing on a terminal.
    blocks = re.sub(
        r"^```\w*\n(.*?)^```$",
        lambda block: re.sub("^", "    ", block[1].rstrip(), flags=re.M),
        description,
        flags=re.M | re.S,
    )
    out(f"{heading}\n\n{blocks.strip()}")
    table = new_table(box=None, padding=(0, 2, 0, 0))
    for column in ("key", "default", "unit", "meaning"):
        table.add_column(column, header_style="bold")
    for key in listed:
        names = (f'"{name}": {text}' for name, text in key.names)
        # As plain text, because brackets are no markup.
        cells = (key.path, key.default, key.unit, "\n".join((key.meaning, *names)))
        table.add_row(*(cell(text) for text in cells))
    if table.row_count:
        out("")
        out(table)


@commands.command()
def schema() -> None:
    """Print the JSON Schema of scenarios and experiments, for editors."""
    out(json.dumps(phit.schema(), indent=2, ensure_ascii=False))
