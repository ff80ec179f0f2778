"""Commands on programs of ranks: to examine, convert and make them."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from phit.base.errors import InputError
from phit.base.nearest import hint
from phit.base.text import quoted
from phit.cli.app import interruptible
from phit.cli.inspecting import list_entries, list_keys
from phit.cli.speaking import note, out
from phit.cli.speaking import table as new_table
from phit.document.keys import keys
from phit.document.paths import apply_settings
from phit.reading import workload

commands = typer.Typer()
group = typer.Typer(help="Examine, convert and make programs of ranks: GOAL, traces, collectives, patterns.")
commands.add_typer(group, name="workload")

Options = Annotated[
    list[str],
    typer.Option(
        "--option",
        metavar="KEY=VALUE",
        help="How a trace is read: algorithms.all_reduce=direct, dependencies=data_and_control, chunks=4, ... "
        "(repeatable).",
        show_default=False,
    ),
]

WORDS = {
    "ranks": "ranks",
    "cpus": "CPUs of a rank",
    "nics": "interfaces of a rank",
    "operations": "operations",
    "most_operations": "  of the largest rank",
    "calcs": "calculations",
    "sends": "messages sent",
    "receives": "messages received",
    "dependencies": "dependencies",
    "bytes": "bytes sent",
    "most_bytes": "  by the rank that sends most",
    "largest_message": "  in the largest message",
    "calc_time": "time of calculations",
    "most_calc_time": "  of the rank that computes longest",
}
"""Names of a program's numbers in the table."""


@group.command()
def info(
    file: Annotated[Path, typer.Argument(help="GOAL, or a trace: its file or its folder.", show_default=False)],
    options: Options = [],  # noqa: B006
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers as one JSON object.")] = False,
) -> None:
    """Show the size of a program: ranks, operations, messages, bytes, computation time."""
    with interruptible():
        given = apply_settings({}, options)
        found = workload.info(file, **given)
        for text in workload.notes(file, **given):
            note(f"phit: warning: {file}: {text}")
    _show(found, as_json)


@group.command()
def convert(
    source: Annotated[Path, typer.Argument(help="GOAL, or a trace: its file or its folder.", show_default=False)],
    target: Annotated[
        Path,
        typer.Argument(help="The file to write: NAME.goal or NAME.bin, either also with .gz.", show_default=False),
    ],
    options: Options = [],  # noqa: B006
) -> None:
    """Write a program as GOAL: as text, or in the binary form if the name ends in .bin; compressed if .gz follows."""
    with interruptible():
        workload.convert(source, target, **apply_settings({}, options))


@group.command()
def make(
    kind: Annotated[str, typer.Argument(help="Kind of program; `phit workload kinds` lists all.", show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.", show_default=False)],
    settings: Annotated[
        list[str],
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A key of the kind, for example bytes=1048576 (repeatable).",
            show_default=False,
        ),
    ] = [],  # noqa: B006
    ranks: Annotated[int | None, typer.Option(min=1, help="Number of ranks.", show_default=False)] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of random choices.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers as one JSON object.")] = False,
) -> None:
    """Make a program by name, and write it as GOAL: a collective, a training step, a pattern of one phase."""
    known = [entry["kind"] for entry in workload.kinds()]
    if kind not in known:
        raise InputError(f"{quoted(kind)}: no such program; expected one of {', '.join(known)}{hint(kind, known)}")
    parameters: dict[str, Any] = {**apply_settings({}, settings), "kind": kind}
    with interruptible():
        found = workload.make(parameters, output, ranks=ranks, seed=seed)
    _show(found, as_json)


@group.command("kinds")
def kinds_(
    kind: Annotated[str | None, typer.Argument(help="Describe this kind and its keys.", show_default=False)] = None,
) -> None:
    """List the programs that can be made, or one of them with all its keys."""
    entries = {entry["kind"]: entry for entry in workload.kinds()}
    if kind is None:
        list_entries("programs", ((name, entry["description"]) for name, entry in entries.items()))
        return
    if kind not in entries:
        raise InputError(f"{quoted(kind)}: no such program; expected one of {', '.join(entries)}{hint(kind, entries)}")
    entry = entries[kind]
    list_keys(f'program kind = "{kind}"', entry["description"], keys(entry["schema"]))


def _show(found: dict[str, int], as_json: bool) -> None:
    if as_json:
        out(json.dumps(found))
        return
    table = new_table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column()
    table.add_column(justify="right")
    for name, words in WORDS.items():
        table.add_row(words, f"{found[name]:,}")
    out(table)
