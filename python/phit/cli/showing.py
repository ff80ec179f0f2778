"""Commands that show results."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from phit.base.text import csv_text
from phit.cli.app import ResultsDir
from phit.cli.speaking import note, out

commands = typer.Typer()


class Format(StrEnum):
    """A file format of plots."""

    png = "png"
    svg = "svg"
    html = "html"
    pdf = "pdf"
    csv = "csv"


DRAWN = (Format.png, Format.svg, Format.html)
"""Formats that are written by default."""


def columns(incomplete: str) -> list[tuple[str, str]]:
    """Shell completion of columns, each with its title."""
    from phit.store import quantities

    found = (name for name in quantities.columns() if name.startswith(incomplete))
    return [(name, quantities.title(name)) for name in found]


@commands.command()
def plot(
    folder: ResultsDir,
    x: Annotated[
        str | None,
        typer.Option(
            help="Column of the horizontal axis: a swept key, a quantity, or cycle for a time series.",
            autocompletion=columns,
            metavar="COLUMN",
        ),
    ] = None,
    y: Annotated[
        str | None,
        typer.Option(
            help="Column of the vertical axis; only this plot is drawn. `phit list quantities` lists quantities; "
            "name a part of a quantity as in fairness.jain.",
            autocompletion=columns,
            metavar="COLUMN",
        ),
    ] = None,
    colour: Annotated[str | None, typer.Option("--colour", "--color", help="Column that tells curves apart.")] = None,
    facet: Annotated[str | None, typer.Option(help="Column that tells panels apart.")] = None,
    formats: Annotated[
        list[Format] | None,
        typer.Option(
            "--format",
            help="File format; repeatable. By default png, svg and html; csv is a table of the means and intervals of "
            "every curve.",
        ),
    ] = None,
    into: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Folder; by default DIR/plots.")] = None,
) -> None:
    """Draw the results of a folder as PNG, SVG, PDF and interactive HTML, or tabulate its curves."""
    from phit.drawing import report

    settings = {k: v for k, v in {"x": x, "y": y, "colour": colour, "facet": facet}.items() if v is not None}
    chosen = [f.value for f in formats or DRAWN]
    for path in report.write_figures(report.Folder.read(folder), settings, chosen, into):
        out(str(path))


@commands.command()
def report(
    folder: ResultsDir,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print the table in Markdown.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print all columns as CSV.")] = False,
    page: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write everything as one self-contained HTML page."),
    ] = None,
) -> None:
    """Show the results of a folder as a table, or as a page."""
    from phit.drawing import report

    if page is not None:
        from phit.drawing import reporting

        reporting.write(reporting.Source.read(folder), page)
        note(f"wrote {page}")
        return
    found = report.Folder.read(folder)
    if as_csv:
        out(csv_text(found.points).rstrip("\n"))
    elif as_markdown:
        out(report.markdown(found.points, found.swept).rstrip("\n"))
    else:
        from phit.drawing.short import short_table

        out(short_table(found.points, found.swept))
    if found.partial:
        note("a partial result: the run was stopped, and the table covers the time before; `phit run` runs it in full")
    elif found.planned:
        note(f"{found.planned} points of this experiment have not finished; `phit sweep` runs them")
