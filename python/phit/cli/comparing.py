"""Commands that watch results arrive and compare results."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from phit.cli.app import ResultsDir, interruptible
from phit.cli.showing import columns
from phit.cli.speaking import note, out

if TYPE_CHECKING:
    from phit.drawing.comparing import Comparison

commands = typer.Typer()

MOST_ROWS = 60
"""Maximum number of points in a table on a terminal."""

COLOURS = {"higher": "red", "lower": "blue", "open": "dim", "same": "dim", "undecided": "dim"}


@commands.command()
def compare(
    a: Annotated[Path, typer.Argument(help="Results folder, or a scenario, which is run.", show_default=False)],
    b: Annotated[Path, typer.Argument(help="Results folder or scenario to compare A with.", show_default=False)],
    quantities: Annotated[
        list[str] | None,
        typer.Option(
            "--y",
            metavar="QUANTITY",
            help="Compare this quantity; repeatable. By default accepted load and mean latency.",
            autocompletion=columns,
        ),
    ] = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads of a run.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as one JSON object.")] = False,
) -> None:
    """Compare two results: differences of their scenarios, and of their numbers with significance."""
    from phit.drawing import comparing

    wanted = quantities or ["accepted_load", "latency_mean"]
    with interruptible():
        found = comparing.compare(a, b, wanted, threads=threads)
    if as_json:
        out(json.dumps(found.to_dict(), ensure_ascii=False))
        return
    _show_scenarios(found)
    for name in wanted:
        _show_quantity(found, name)
    lost = [f"{count:,} points of {side}" for count, side in zip(found.unmatched, ("A", "B"), strict=True) if count]
    if lost:
        note(f"{' and '.join(lost)} have no counterpart")


def _show_scenarios(found: "Comparison") -> None:
    from rich import box
    from rich.table import Table

    from phit.drawing.comparing import listed

    if not found.scenario:
        out("The scenarios are the same.")
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="The scenarios differ in", title_justify="left")
    for name in ("key", "A", "B"):
        table.add_column(name, header_style="bold")
    for difference in found.scenario:
        table.add_row(difference.key, listed(difference.a), listed(difference.b))
    out(table)


def _show_quantity(found: "Comparison", name: str) -> None:
    import polars as pl
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from phit.base.numbers import readable
    from phit.document.experiment import heading
    from phit.drawing.comparing import LEVEL, WORDS
    from phit.store.quantities import QUANTITIES

    rows = found.results.filter(pl.col("quantity") == name)
    words = QUANTITIES[name].title
    if rows.is_empty():
        out(f"{words}: no point of A that has it matches a point of B that has it")
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=words, title_justify="left")
    for key in found.keys:
        table.add_column(heading(key), header_style="bold")
    for column in ("A", "B", "B - A", "± (95 %)", "in %"):
        table.add_column(column, justify="right", header_style="bold", no_wrap=True)
    table.add_column("", no_wrap=True)
    for row in rows.head(MOST_ROWS).iter_rows(named=True):
        relative = "–" if row["relative"] is None else f"{100 * row['relative']:+.1f}"
        numbers = [readable(row[key]) for key in ("a", "b", "difference", "half_width")]
        verdict = Text(WORDS[row["verdict"]], style=COLOURS[row["verdict"]])
        table.add_row(*(row[key] for key in found.keys), *numbers, relative, verdict)
    out(table)
    if rows.height > MOST_ROWS:
        out(f"and {rows.height - MOST_ROWS:,} more points; --json has all")
    counts = ", ".join(f"{WORDS[verdict]} at {count:,}" for verdict, count in found.tally(name).items())
    out(f"of {rows.height:,} points {counts} ({100 * LEVEL:.0f} % over all of them)")
    undecided = rows.filter(pl.col("verdict") == "undecided")["reason"].drop_nulls().value_counts(sort=True)
    for reason, count in undecided.iter_rows():
        out(f"no interval at {count:,}: {reason}")


@commands.command()
def watch(
    folder: ResultsDir,
    interval: Annotated[float, typer.Option(min=0.2, help="Seconds between two updates.")] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Show the state and end.")] = False,
) -> None:
    """Watch a running sweep: points, rates and curves as they arrive. Ends with the sweep, or by Ctrl-C."""
    import time

    from rich.console import Group
    from rich.live import Live

    from phit.base.terminal import terminal
    from phit.drawing.watching import Watched

    watched = Watched(folder)
    watched.look()
    console = terminal()
    if once or not console.is_terminal:
        out(Group(*watched.shown()))
        return
    with interruptible(), Live(Group(*watched.shown()), console=console, auto_refresh=False) as live:
        while not watched.over:
            time.sleep(interval)
            watched.look()
            live.update(Group(*watched.shown()), refresh=True)
