"""Commands about papers and other simulators."""

import json
from pathlib import Path
from typing import Annotated

import typer

from phit.base.errors import InputError
from phit.cli import completing
from phit.cli.app import Settings, interruptible
from phit.cli.speaking import note, out
from phit.cli.where import shared_out
from phit.document.loading import load
from phit.document.paths import apply_settings
from phit.document.sections import SECTIONS
from phit.running.where import ASKED, Asked
from phit.studies import registry

commands = typer.Typer()


def _words(names: list[str]) -> str:
    """Names in a sentence: `a, b or c`."""
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


@commands.command()
@shared_out
def validate(
    quick: Annotated[bool, typer.Option("--quick", help="Only the cheap comparisons, with fewer seeds.")] = False,
    folder: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the page and its plots.")] = Path(
        "docs"
    ),
    reference: Annotated[
        Path, typer.Option("--reference", metavar="DIR", help="The other simulators' numbers.")
    ] = Path("tests/reference"),
    results: Annotated[
        Path | None, typer.Option("--results", metavar="DIR", help="Keep the runs in this folder, and resume from it.")
    ] = None,
    printed: Annotated[
        Path | None,
        typer.Option(
            "--against", metavar="FILE", help="Compare with a run whose output another simulator has printed."
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds of Phit's runs, with --against.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with --against.")] = False,
    asked: Asked = ASKED,
) -> None:
    """Compare Phit with other simulators; exit status 1 if something differs."""
    if printed is not None:
        _against(printed, seeds, asked.workers, as_json)
        return
    from phit.studies import validation
    from phit.studies.validation.summary import left_out_table, rich_table

    try:
        with interruptible():
            report = validation.validate(
                folder,
                folder=reference,
                quick=quick,
                where=asked.where(),
                progress=True,
                results=results,
            )
    except OSError as error:
        raise InputError(f"{folder}: cannot write the page there ({error.strerror})") from None
    if asked.shard is not None:
        note(f"shard {asked.shard} is in {results}; when all have ended, the same command without --shard compares")
        return
    out(rich_table(report.comparisons, report.phases))
    if report.left_out:
        out(left_out_table(report.left_out))
    for path in report.written:
        note(f"wrote {path}")
    if report.differs:
        raise typer.Exit(1)


def _against(printed: Path, seeds: int, workers: int | None, as_json: bool) -> None:
    """Compares with one run whose output another simulator has printed."""
    from phit.importing import agreement

    with interruptible():
        found = agreement.against(printed, seeds=seeds, workers=workers, progress=not as_json)
    for warning in found.imported.warnings:
        note(f"phit: warning: {warning}")
    out(json.dumps(found.to_dict(), ensure_ascii=False) if as_json else found.to_rich())
    if found.differs:
        raise typer.Exit(1)


@commands.command()
@shared_out
def reproduce(
    study: Annotated[
        str,
        typer.Argument(help=f"{_words(registry.names())}.", show_default=False, autocompletion=completing.studies),
    ],
    figure: Annotated[
        list[str] | None, typer.Option("--figure", metavar="FIGURE", help="For example 5a; repeatable. By default all.")
    ] = None,
    table: Annotated[
        list[str] | None,
        typer.Option("--table", metavar="TABLE", help="For example I, or all; repeatable."),
    ] = None,
    scale: Annotated[str, typer.Option("--scale", help="smoke, small or paper.")] = "small",
    seeds: Annotated[int | None, typer.Option(min=1, help="Seeds of every run; by default those of the scale.")] = None,
    warmup: Annotated[int | None, typer.Option(min=1, help="Cycles of warm-up; by default those of the scale.")] = None,
    cycles: Annotated[int | None, typer.Option(min=1, help="Measured cycles; by default those of the scale.")] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--output", "--out", metavar="DIR", help="Results folder; by default results/STUDY-SCALE."),
    ] = None,
    run: Annotated[
        bool, typer.Option("--run/--no-run", help="Run missing points, or only show existing results.")
    ] = True,
    budget: Annotated[
        str | None,
        typer.Option("--budget", metavar="TIME", help="For example 2h: more seeds for undecided claims."),
    ] = None,
    target: Annotated[
        Path | None, typer.Option("--publish", metavar="DIR", help="Also write the study's page into this folder.")
    ] = None,
    asked: Asked = ASKED,
) -> None:
    """Reproduce the figures of a paper and judge its claims; resumes where an earlier run stopped."""
    from phit.studies.kit import budget as budgets
    from phit.studies.kit import claim
    from phit.studies.kit import reproduce as reproducing
    from phit.studies.kit.scale import scale_named

    found, size = registry.find(study), scale_named(scale)
    place = folder or reproducing.default_folder(found.name, size)
    with interruptible():
        report = reproducing.reproduce(
            found,
            [*(figure or ()), *found.named_tables(table or ())],
            size,
            seeds=seeds,
            warmup=warmup,
            cycles=cycles,
            out=place,
            where=asked.where(),
            run=run,
            budget=None if budget is None else budgets.seconds(budget),
            progress=True,
            say=note,
        )
    if asked.shard is not None:
        later = "when all have ended, the same command without --shard makes the figures"
        note(f"shard {asked.shard} is in {place}; {later}")
        if report.failure is not None:
            raise report.failure
        return
    shown = claim.about(report.findings, [*(figure or ()), *(table or ())])
    if shown:
        out(claim.rich_table(shown))
    if left := len({finding.id for finding in report.findings} - {finding.id for finding in shown}):
        note(f"{left} claims belong to figures that have not been run")
    note(f"figures, tables, {reproducing.CLAIMS} and {reproducing.PAGE} in {place}")
    if target is not None:
        for path in reproducing.publish(found, place, target):
            note(f"wrote {path}")
    if report.failure is not None:
        raise report.failure


@commands.command()
def cost(
    study: Annotated[
        str, typer.Argument(help=f"The mechanisms of a paper: {_words(registry.with_costs())}.", show_default=False)
    ],
    file: Annotated[Path | None, typer.Argument(help="Scenario; by default the paper's network.")] = None,
    settings: Settings = [],  # noqa: B006
    as_json: Annotated[bool, typer.Option("--json", help="Print the costs as one JSON object.")] = False,
) -> None:
    """Show the cost of a paper's mechanisms in storage and control bandwidth."""
    model = registry.cost_model(study)
    document = None if file is None else apply_settings(load(file), settings)
    if document is None and settings:
        raise InputError("--set: expected the file of a scenario whose keys to set")
    if document is not None:
        for section in SECTIONS:
            document.pop(section, None)
    found = model(document)
    out(json.dumps(found.to_dict(), ensure_ascii=False) if as_json else found.to_rich())
