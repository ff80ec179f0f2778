"""Commands that run experiments: all of their points, or the points of a search."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import phit
from phit.base.errors import InputError, one_line
from phit.base.numbers import readable
from phit.cli.app import File, Force, Settings, Trust, interruptible
from phit.cli.speaking import FAILED, note, out
from phit.cli.speaking import table as new_table
from phit.cli.where import shared_out
from phit.document import Document
from phit.document.experiment import Experiment, heading
from phit.document.loading import load
from phit.document.paths import apply_settings
from phit.running.where import ASKED, Asked
from phit.store.quantities import SATURATED_BELOW

if TYPE_CHECKING:
    import polars as pl

commands = typer.Typer()


@commands.command()
@shared_out
def sweep(
    file: File,
    folder: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Results folder; by default results/NAME.")
    ] = None,
    settings: Settings = [],  # noqa: B006
    plot: Annotated[bool, typer.Option("--plot", help="Write plots and tables as well.")] = False,
    force: Force = False,
    trust: Trust = False,  # noqa: ARG001
    asked: Asked = ASKED,
) -> None:
    """Simulate every point of an experiment; resumes where an earlier run stopped."""
    from phit.running.sweeping import sweep_into

    experiment = Experiment.read(file, settings)
    if plot and asked.shard is not None:
        raise InputError("--plot: a shard has only some of the points; use `phit plot` when all shards have ended")
    target = folder or Path("results") / experiment.name
    with interruptible():
        points = sweep_into(experiment, target, asked, progress=True, force=force)
    from phit.drawing.short import short_table, without_interval

    out(short_table(points, experiment.keys))
    for line in without_interval(points):
        out(line)
    note(f"results in {target}")
    if asked.shard is not None:
        later = "when all shards have ended, `phit merge` completes the tables"
        note(f"shard {asked.shard}: {points.height} points; {later}")
    if plot:
        _write_all(target)


@commands.command()
def merge(
    sources: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[OUT] IN...", help="Folders of shards, or other parts.", show_default=False),
    ] = None,
    into: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Results folder; by default the first folder named.")
    ] = None,
) -> None:
    """Combine several folders of one experiment and make its tables; exit status 1 if points are missing."""
    # Without --out, the first folder is the one that is written, as in `phit merge OUT IN...`.
    folder, *others = [*([into] if into is not None else []), *(sources or ())] or [None]
    if folder is None:
        raise InputError(
            "merge: expected the results folder and the folders of shards, as in `phit merge --out DIR IN...`"
        )
    with interruptible():
        found = phit.merge(folder, others, warn=lambda message: note(f"phit: warning: {message}"))
    there = found.points.height
    note(f"results in {folder}: {there} of {there + found.missing} points")
    if found.missing:
        note(f"phit: {found.missing} points are missing; `phit sweep` runs them")
        raise typer.Exit(FAILED)


def _write_all(target: Path) -> None:
    from phit.drawing import report

    folder = report.Folder.read(target)
    for path in [*report.write_tables(folder), *report.write_figures(folder)]:
        note(f"wrote {path}")


@commands.command()
@shared_out
def saturate(
    file: File,
    settings: Settings = [],  # noqa: B006
    first: Annotated[float, typer.Option("--from", help="Smallest load.")] = 0.05,
    last: Annotated[float, typer.Option("--to", help="Largest load.")] = 1.0,
    step: Annotated[
        float | None,
        typer.Option("--grid", metavar="STEP", help="Try loads upwards in steps of STEP; by default, bisect."),
    ] = None,
    tolerance: Annotated[float, typer.Option(help="Precision of the bisection.")] = 0.01,
    share: Annotated[
        float, typer.Option(help="A load is sustained if at least this share of it is accepted.")
    ] = SATURATED_BELOW,
    latency_factor: Annotated[
        float | None,
        typer.Option(
            "--latency", metavar="FACTOR", help="And if latency is at most FACTOR times that at the first load."
        ),
    ] = None,
    latency_limit: Annotated[
        float | None,
        typer.Option("--latency-limit", metavar="CYCLES", help="And if latency is at most CYCLES."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds of every load, all of which must sustain it.")] = 1,
    bounds: Annotated[
        bool, typer.Option("--bound/--no-bound", help="Also print the load that no routing can exceed.")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")] = False,
    force: Force = False,
    trust: Trust = False,  # noqa: ARG001
    folder: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Keep all runs and the table in this folder.")
    ] = None,
    plot: Annotated[bool, typer.Option("--plot", help="Draw a bar for each curve, with --out.")] = False,
    asked: Asked = ASKED,
) -> None:
    """Find the largest load that a scenario sustains, or each curve of an experiment."""
    from dataclasses import asdict

    from phit.running.saturated_curves import saturations_of
    from phit.running.saturation import LONGER, Rule, Trial, saturation_of

    document = apply_settings(load(file), settings)
    rule = Rule(first, last, step, tolerance, share, latency_factor, latency_limit)
    if "sweep" in document or folder is not None or asked.executor is not None or asked.shard is not None:
        if plot and (folder is None or asked.shard is not None):
            raise InputError("--plot: expected --out DIR, the folder for the bars")
        document.setdefault("sweep", {}).setdefault("name", file.stem)
        with interruptible():
            experiment = Experiment.read(document)
            table = saturations_of(experiment, folder, rule, seeds, asked, progress=True, force=force)
        _show_saturations(table, as_json=as_json)
        if plot and folder is not None:
            _write_bars(table, folder)
        return

    def tell(trial: Trial) -> None:
        word = "sustained" if trial.sustained else "not sustained"
        if not trial.decided:
            word = (
                f"{'not steady' if trial.steady == 'no' else 'not known to be steady'}: repeated {LONGER} times as long"
            )
        latency = "" if trial.latency is None else f", latency {trial.latency:,.1f} cycles"
        note(f"load {trial.load:.4g}: {word}, {100 * trial.accepted:.1f} % accepted{latency}")

    with interruptible():
        found = saturation_of(document, rule, seeds, tell=tell, force=force)
        limit = _bound(document) if bounds else None
    if as_json:
        out(json.dumps({**asdict(found), "bound": limit.to_dict() if isinstance(limit, phit.Bounds) else None}))
    elif found.sustained is None:
        out(f"the smallest load tried, {found.saturated:.4g}, is not sustained")
    elif found.saturated is None:
        out(f"sustained: {found.sustained:.4g}, the largest load tried")
    else:
        out(f"sustained: {found.sustained:.4g}; not sustained: {found.saturated:.4g}")
    if not as_json and limit is not None:
        out(limit if isinstance(limit, str) else _bounds_line(limit))


def _show_saturations(found: "pl.DataFrame", *, as_json: bool) -> None:
    """Prints one line for each curve."""
    if as_json:
        out(json.dumps(found.to_dicts(), ensure_ascii=False))
        return
    table = new_table(box=None, pad_edge=False)
    for name in found.columns:
        table.add_column(heading(name), justify="right" if found[name].dtype.is_numeric() else "left")
    for row in found.iter_rows():
        table.add_row(*(readable(value) for value in row))
    out(table)


def _write_bars(found: "pl.DataFrame", folder: Path) -> None:
    from phit.drawing import plots, saturations

    for path in plots.save(saturations.bars(found), folder / "plots" / "saturation"):
        note(f"wrote {path}")


def _bound(document: Document) -> "phit.Bounds | str":
    """The bounds of a scenario, or the reason why there are none."""
    try:
        return phit.bound(document)
    except (phit.ScenarioError, phit.InputError) as error:
        return f"bound: none ({one_line(error)})"


def _bounds_line(limit: "phit.Bounds") -> str:
    minimal = f", minimal routing {float(limit.minimal_load):.4g}" if limit.minimal_load is not None else ""
    return f"bound in phits/(endpoint·cycle): any routing {float(limit.load):.4g}{minimal}"
