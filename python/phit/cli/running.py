"""Commands that run scenarios and experiments."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

import phit
from phit import mpi
from phit.cli.app import FAILED, File, Force, Settings, Trust, interruptible, note, out
from phit.cli.app import table as new_table
from phit.cli.importing import From, document_of
from phit.cli.where import shared_out
from phit.errors import InputError, one_line
from phit.experiment import Experiment, heading
from phit.hints import PAGE, hints, watched
from phit.progress import run_progress
from phit.quantities import SATURATED_BELOW
from phit.result import Result, readable
from phit.scenario import Document, apply_settings, complete, get_path, load, set_path
from phit.where import ASKED, Asked
from phit.workloads import contention, contention_by_phase, without_contention
from phit.workloads import interference as jobs_alone_and_together

if TYPE_CHECKING:
    import polars as pl

commands = typer.Typer()

MOST_RANKS = 20
"""Ranks in the table of what contention costs."""


class Against(StrEnum):
    """What a run is compared with."""

    IDEAL = "ideal"


@commands.command()
def run(
    file: File,
    settings: Settings = [],  # noqa: B006
    threads: Annotated[int, typer.Option(min=1, help="Threads; the result is the same for any number.")] = 1,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary, and the tables asked for, as one JSON object.")
    ] = False,
    folder: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Keep results in this folder.")] = None,
    against: Annotated[
        Against | None, typer.Option(help="Run the workload on an ideal network, too: what contention costs.")
    ] = None,
    perfetto: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a trace of the workload for ui.perfetto.dev: ranks, messages, how full ports are.",
        ),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write the result as one page for a browser, to read and pass on."),
    ] = None,
    together: Annotated[
        bool,
        typer.Option(mpi.FLAG, help="Simulate it with all processes of an MPI job: mpirun -n 4 phit run FILE --mpi."),
    ] = False,
    force: Force = False,
    simulator: From = None,
    trust: Trust = False,  # noqa: ARG001
) -> None:
    """Simulate one scenario."""
    job = mpi.join() if together else None
    document = apply_settings(document_of(file, simulator), settings)
    if "workload" not in document:
        if against is not None:
            raise InputError(f"{file}: has no [workload]; --against compares when programs end")
        if perfetto is not None:
            raise InputError(f"{file}: has no [workload]; --perfetto shows what its ranks do")
    if together and "sweep" in document:
        raise InputError(
            f"{file}: has a [sweep], so it is an experiment of several points; {mpi.FLAG} runs one scenario"
        )
    if "sweep" in document:
        command = f"phit sweep {file}"
        if not (sys.stdin.isatty() and sys.stderr.isatty()) or as_json:
            raise InputError(f"{file}: has a [sweep], so it is an experiment of several points; use `{command}`")
        note(f"{file} is an experiment of several points, which `{command}` runs")
        typer.confirm("Run it?", default=True, abort=True, err=True)
        sweep(file, folder, settings, force=force)
        return
    if against is not None:
        set_path(document, "measure.phases", True)
    if perfetto is not None:
        from phit import perfetto as traces

        document = traces.asked(document)
    with interruptible(), _left(as_json=as_json), TemporaryDirectory() as temporary:
        if folder is None and page is None:
            # A person is told why: what hints look at besides changes no number.
            with run_progress() as progress:
                result = phit.run(
                    document if as_json else watched(document),
                    threads=threads,
                    progress=progress,
                    force=force,
                    among=job,
                )
        else:
            place = folder or Path(temporary)
            scenario = document if folder else watched(_looked_at(document))
            result = _run_into(place, scenario, file.stem, threads, force, job)
            if page is not None:
                _write_page(place, page)
    ideal = None if against is None else phit.run(without_contention(document), threads=threads, force=force)
    if as_json:
        beside = {} if ideal is None else {"ideal": ideal.with_tables()}
        out(json.dumps(result.with_tables() | beside, ensure_ascii=False))
    else:
        _show_result(result)
        _show_hints(result)
        if ideal is not None:
            _show_cost(result, ideal)
    if job is not None and job.costs:
        sent = sum(cost["sent_bytes"] for cost in job.costs)
        note(f"{job.count} processes exchanged {readable(sent / 1e6)} MB in {job.costs[0]['rounds']:,} rounds")
    if perfetto is not None:
        from phit import perfetto as traces

        traces.write(result, perfetto)
        note(f"wrote {perfetto}")
    if page is not None:
        note(f"wrote {page}")
    if folder is not None:
        note(f"results in {folder}")


def _write_page(folder: Path, page: Path) -> None:
    from phit import reporting

    reporting.write(reporting.Source.read(folder), page)


BINS = 100
"""Of the time series that a page shows, if the scenario asks for none."""


def _looked_at(document: Document) -> Document:
    """The scenario with the tables that a page shows; none of them changes a result."""
    found = load(document)
    wanted: dict[str, Any] = {"histogram": True, "links": True}
    # When a program ends nobody knows before.
    if "workload" not in found:
        measure = complete(found)["measure"]
        # How long the warm-up takes may be left to the run, too.
        cycles = measure["cycles"] + (measure["warmup"] if isinstance(measure["warmup"], int) else 0)
        wanted["series"] = {"by": "window", "bin": max(1, cycles // BINS)}
    for key, value in wanted.items():
        if get_path(found, f"measure.{key}") is None:
            set_path(found, f"measure.{key}", value)
    return found


@contextmanager
def _left(as_json: bool) -> Iterator[None]:
    """Shows what had been measured when Ctrl-C came."""
    try:
        yield
    except KeyboardInterrupt as error:
        partial = getattr(error, "partial", None)
        if isinstance(partial, Result):
            if as_json:
                out(partial.to_json(tables=True))
            else:
                _show_result(partial)
            if partial.scenario.get("workload"):
                of = "cycles of the program"
            else:
                of = f"of {partial.scenario['measure']['cycles']:,} measured cycles"
            note(f"phit: partial result, of the first {partial['cycles']:,} {of}")
        raise


def _run_into(
    folder: Path, document: dict[str, Any], name: str, threads: int, force: bool, job: mpi.Job | None
) -> Result:
    """Runs a scenario as an experiment of one point, so that its results are a folder like any other."""
    from phit.results import ResultsFolder
    from phit.sweeping import consented

    document = load(document)
    document["sweep"] = {"name": name}
    experiment = Experiment.read(document)
    (point,) = experiment.points()
    consented([point], folder)
    with ResultsFolder(folder, lambda message: note(f"phit: warning: {message}")) as results:
        summary = results.adopt(experiment, [point]).get(point.hash)
        if summary is None:
            try:
                with run_progress() as progress:
                    result = phit.run(point.scenario, threads=threads, progress=progress, force=force, among=job)
            except KeyboardInterrupt as error:
                partial = getattr(error, "partial", None)
                if isinstance(partial, Result):
                    results.leave(point, partial.answer())
                    results.consolidate()
                    note(f"phit: the partial result is in {folder}; the same command runs the scenario from its start")
                raise
            results.add(point, result.answer())
        else:
            answer = results.answer(point)
            result = Result(answer["summary"], answer["tables"])
        results.consolidate()
    return result


def _show_result(result: Result) -> None:
    table = new_table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_column(style="dim")
    for row in result.headlines():
        table.add_row(*row)
    out(table)
    _show_classes(result)


CLASSES = ("class", "offered_load", "accepted_load", "latency_mean", "latency_p99")
"""Of each class of packets, what is shown: columns of the table."""


def _show_classes(result: Result) -> None:
    """A row for each class of packets, if there are several."""
    if not result.scenario.get("traffic", {}).get("classes"):
        return
    table = new_table(title="by class of packets", box=None, pad_edge=False, title_justify="left")
    for name in CLASSES:
        table.add_column(name.replace("_", " "), justify="left" if name == "class" else "right")
    for row in result.tables["classes"].select(CLASSES).iter_rows():
        table.add_row(*(readable(value) for value in row))
    out(table)


def _show_hints(result: Result) -> None:
    """Why the run is slow or saturated, each by its rule; nothing if it is neither."""
    found = hints(result.summary)
    if found:
        out(f"why (rules: {PAGE} of the guide)")
    for hint in found:
        out(f"- {hint}")


@commands.command()
def interference(
    file: File,
    settings: Settings = [],  # noqa: B006
    threads: Annotated[int, typer.Option(min=1, help="Threads; the result is the same for any number.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object for each job, in a list.")] = False,
    trust: Trust = False,  # noqa: ARG001
) -> None:
    """Run the jobs of a workload together and each alone: what they do to one another."""
    with interruptible():
        found = jobs_alone_and_together(apply_settings(load(file), settings), threads=threads)
    if as_json:
        out(json.dumps(found.to_dicts()))
        return
    table = new_table(box=None, pad_edge=False)
    for name in found.columns:
        table.add_column(name, justify="left" if name == "job" else "right")
    for row in found.iter_rows():
        table.add_row(*(readable(value) for value in row))
    out(table)


def _show_cost(result: Result, ideal: Result) -> None:
    """What each rank takes longer than on the ideal network: the slowest ranks first."""
    found = contention(result, ideal)
    table = new_table(title="against the ideal network", box=None, pad_edge=False, title_justify="left")
    for name in ("rank", "finish", "ideal", "longer", "blocked", "blocked there"):
        table.add_column(name, justify="right")
    for row in found.head(MOST_RANKS).iter_rows():
        table.add_row(*(readable(value) for value in row))
    out(table)
    if found.height > MOST_RANKS:
        out(f"and {found.height - MOST_RANKS:,} ranks that take no longer than these")
    _show_phases(result, ideal)
    share = result["completion"] / ideal["completion"] - 1 if ideal["completion"] else 0.0
    out(f"completion {result['completion']:,} cycles, {100 * share:.1f} % more than {ideal['completion']:,}")


def _show_phases(result: Result, ideal: Result) -> None:
    """What each phase takes longer than on the ideal network, over all ranks: those that cost most."""
    import polars as pl

    found = contention_by_phase(result, ideal)
    phases = found.group_by("phase", "kind").agg(
        pl.col("time").mean(),
        pl.col("ideal").mean(),
        pl.col("longer").mean().alias("longer"),
        most=pl.col("longer").max(),
    )
    if phases.height < 2:
        return
    title = "by phase: means over ranks, and the most that it takes a rank longer"
    table = new_table(title=title, box=None, pad_edge=False, title_justify="left")
    for name in ("phase", "kind", "time", "ideal", "longer", "most"):
        table.add_column(name, justify="left" if name == "kind" else "right")
    shown = phases.sort("longer", "phase", descending=[True, False]).head(MOST_RANKS).sort("phase")
    for row in shown.select("phase", "kind", "time", "ideal", "longer", "most").iter_rows():
        table.add_row(*(readable(value) for value in row))
    out(table)
    if phases.height > MOST_RANKS:
        out(f"and {phases.height - MOST_RANKS:,} phases that cost no more than these")


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
    from phit.sweeping import sweep_into

    experiment = Experiment.read(file, settings)
    if plot and asked.shard is not None:
        raise InputError("--plot: a shard has some of the points; expected `phit plot` when all are there")
    target = folder or Path("results") / experiment.name
    with interruptible():
        points = sweep_into(experiment, target, asked, progress=True, force=force)
    from phit import report

    out(report.rich_table(points, experiment.keys))
    note(f"results in {target}")
    if asked.shard is not None:
        later = "when all shards have ended, `phit merge` makes what tables lack"
        note(f"shard {asked.shard}: {points.height} points; {later}")
    if plot:
        _write_all(target)


@commands.command()
def merge(
    folder: Annotated[Path, typer.Argument(metavar="OUT", help="Results folder.", show_default=False)],
    sources: Annotated[
        list[Path] | None, typer.Argument(metavar="IN", help="Folders of shards, or other parts.", show_default=False)
    ] = None,
) -> None:
    """Put folders of one experiment into one, and make its tables; exit status 1 if points are missing."""
    with interruptible():
        found = phit.merge(folder, sources or (), warn=lambda message: note(f"phit: warning: {message}"))
    there = found.points.height
    note(f"results in {folder}: {there} of {there + found.missing} points")
    if found.missing:
        note(f"phit: {found.missing} points are missing; `phit sweep` runs them")
        raise typer.Exit(FAILED)


def _write_all(target: Path) -> None:
    from phit import report

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
        float | None, typer.Option("--grid", metavar="STEP", help="Try loads upwards in such steps; else bisection.")
    ] = None,
    tolerance: Annotated[float, typer.Option(help="How close bisection comes.")] = 0.01,
    share: Annotated[
        float, typer.Option(help="Sustained if this share of the offered load is accepted.")
    ] = SATURATED_BELOW,
    latency_factor: Annotated[
        float | None,
        typer.Option("--latency", metavar="FACTOR", help="And if latency is at most so many times the first's."),
    ] = None,
    latency_limit: Annotated[
        float | None,
        typer.Option("--latency-limit", metavar="CYCLES", help="And if latency is at most so many cycles."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds of every load, all of which must sustain it.")] = 1,
    bounds: Annotated[bool, typer.Option("--bound/--no-bound", help="Also print what no routing can exceed.")] = True,
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

    from phit.saturated_curves import saturations_of
    from phit.saturation import Rule, Trial, saturation_of

    document = apply_settings(load(file), settings)
    rule = Rule(first, last, step, tolerance, share, latency_factor, latency_limit)
    if "sweep" in document or folder is not None or asked.executor is not None or asked.shard is not None:
        if plot and (folder is None or asked.shard is not None):
            raise InputError("--plot: expected --out DIR, where the bars are written when all curves are known")
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
        latency = "" if trial.latency is None else f", latency {trial.latency:,.1f} cycles"
        note(f"load {trial.load:.4g}: {word}, {100 * trial.accepted:.1f} % accepted{latency}")

    with interruptible():
        found = saturation_of(document, rule, seeds, tell=tell, force=force)
        limit = _bound(document) if bounds else None
    if as_json:
        out(json.dumps({**asdict(found), "bound": limit.to_dict() if isinstance(limit, phit.Bounds) else None}))
    elif found.sustained is None:
        out(f"not even a load of {found.saturated:.4g} is sustained")
    elif found.saturated is None:
        out(f"sustained: {found.sustained:.4g}, the largest load tried")
    else:
        out(f"sustained: {found.sustained:.4g}; not sustained: {found.saturated:.4g}")
    if not as_json and limit is not None:
        out(limit if isinstance(limit, str) else _bounds_line(limit))


def _show_saturations(found: "pl.DataFrame", *, as_json: bool) -> None:
    """One line for each curve."""
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
    from phit import plots, saturated_curves

    for path in plots.save(saturated_curves.bars(found), folder / "plots" / "saturation"):
        note(f"wrote {path}")


def _bound(document: Document) -> "phit.Bounds | str":
    """The bounds of a scenario, or why there are none."""
    try:
        return phit.bound(document)
    except (phit.ScenarioError, phit.InputError) as error:
        return f"bound: none ({one_line(error)})"


def _bounds_line(limit: "phit.Bounds") -> str:
    minimal = f", minimal routing {float(limit.minimal_load):.4g}" if limit.minimal_load is not None else ""
    return f"bound in phits/(endpoint·cycle): any routing {float(limit.load):.4g}{minimal}"
