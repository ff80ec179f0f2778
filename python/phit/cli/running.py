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
from phit.base.errors import InputError
from phit.base.left_out import counted, in_numbers
from phit.base.numbers import readable
from phit.base.times import CYCLES, TimeUnit, readable_time, unit_of
from phit.cli.app import File, Force, Settings, Trust, interruptible
from phit.cli.importing import From, document_of
from phit.cli.speaking import note, out
from phit.cli.speaking import table as new_table
from phit.document import Document
from phit.document.completing import complete
from phit.document.experiment import Experiment
from phit.document.loading import load
from phit.document.paths import apply_settings, get_path, set_path
from phit.drawing.hints import PAGE, hints, watched
from phit.running.fidelity import FLUID, KEPT, Fidelity, left_out, on_fluid
from phit.running.fidelity import fidelity as both_networks
from phit.running.letters import FLAG
from phit.running.reporters import run_progress
from phit.running.workloads import contention, contention_by_phase, without_contention
from phit.running.workloads import interference as jobs_alone_and_together
from phit.store.result import Result

if TYPE_CHECKING:
    from phit.running.mpi import Job

commands = typer.Typer()

MOST_RANKS = 20
"""Maximum number of ranks in the table of the cost of contention."""


class Against(StrEnum):
    """The run to compare with."""

    IDEAL = "ideal"


@commands.command()
def run(
    file: File,
    settings: Settings = [],  # noqa: B006
    threads: Annotated[int, typer.Option(min=1, help="Threads; they do not change the result.")] = 1,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary, and the tables asked for, as one JSON object.")
    ] = False,
    folder: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Keep results in this folder.")] = None,
    against: Annotated[
        Against | None, typer.Option(help="Also run the workload on an ideal network, to show the cost of contention.")
    ] = None,
    perfetto: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a trace of the workload for ui.perfetto.dev: ranks, messages, occupancy of ports.",
        ),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write the result as one self-contained HTML page."),
    ] = None,
    together: Annotated[
        bool,
        typer.Option(FLAG, help="Simulate it with all processes of an MPI job: mpirun -n 4 phit run FILE --mpi."),
    ] = False,
    fluid: Annotated[
        bool, typer.Option("--fluid", help="Run the workload on the fluid network, in place of exact routers.")
    ] = False,
    force: Force = False,
    simulator: From = None,
    trust: Trust = False,  # noqa: ARG001
) -> None:
    """Simulate one scenario."""
    job = _job() if together else None
    document = apply_settings(document_of(file, simulator), settings)
    without = _fluid_only(file, document) if fluid else []
    given = document
    if fluid:
        document = on_fluid(document)
    if "workload" not in document:
        if against is not None:
            raise InputError(f"{file}: has no [workload]; --against compares when programs end")
        if perfetto is not None:
            raise InputError(f"{file}: has no [workload]; --perfetto shows what its ranks do")
    if together and "sweep" in document:
        raise InputError(f"{file}: has a [sweep], so it is an experiment of several points; {FLAG} runs one scenario")
    if "sweep" in document:
        command = f"phit sweep {file}"
        if not (sys.stdin.isatty() and sys.stderr.isatty()) or as_json:
            raise InputError(f"{file}: has a [sweep], so it is an experiment of several points; use `{command}`")
        note(f"{file} is an experiment of several points, which `{command}` runs")
        typer.confirm("Run it?", default=True, abort=True, err=True)
        from phit.cli.sweeping import sweep

        sweep(file, folder, settings, force=force)
        return
    if against is not None:
        set_path(document, "measure.phases", True)
    if perfetto is not None:
        from phit.drawing import perfetto as traces

        document = traces.asked(document)
    with interruptible(), _left(as_json=as_json), _keys_of_routers(document), TemporaryDirectory() as temporary:
        if folder is None and page is None:
            # Hints are collected for people only; collecting them changes no number.
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
            scenario = document if folder else watched(_with_tables_of_a_page(document))
            result = _run_into(place, scenario, file.stem, threads, force, job)
            if page is not None and get_path(document, "router.kind") == "fluid":
                _keep_fidelity(both_networks(given, threads=threads), place)
            if page is not None:
                _write_page(place, page)
    if not as_json:
        _show_network(document, result)
    ideal = None if against is None else phit.run(without_contention(document), threads=threads, force=force)
    if as_json:
        beside = {} if ideal is None else {"ideal": ideal.with_tables()}
        out(json.dumps(result.with_tables() | beside, ensure_ascii=False))
    else:
        _show_result(result)
        _show_hints(result)
        if get_path(document, "router.kind") == "fluid":
            others = f", and of this scenario {', '.join(without)}" if without else ""
            note(f"the fluid network leaves out buffers and packets{others}; its error here: phit fidelity {file}")
        if ideal is not None:
            _show_cost(result, ideal)
    if job is not None and job.costs:
        sent = sum(cost["sent_bytes"] for cost in job.costs)
        note(f"{job.count} processes exchanged {readable(sent / 1e6)} MB in {job.costs[0]['rounds']:,} rounds")
    if perfetto is not None:
        from phit.drawing import perfetto as traces

        traces.write(result, perfetto)
        note(f"wrote {perfetto}")
    if page is not None:
        note(f"wrote {page}")
    if folder is not None:
        note(f"results in {folder}")


def _fluid_only(file: Path, document: Document) -> list[str]:
    """The keys of a scenario that a run with `--fluid` leaves out."""
    if "sweep" in document:
        raise InputError(f"{file}: has a [sweep], so it is an experiment of several points; --fluid runs one scenario")
    if "workload" not in document:
        raise InputError(f"{file}: has no [workload]; --fluid runs programs, whose messages are flows")
    return left_out(document)


@contextmanager
def _keys_of_routers(document: Document) -> Iterator[None]:
    """If a fluid network is refused, a note names the keys of exact routers that it was given."""
    try:
        yield
    except phit.ScenarioError:
        router = document.get("router")
        if isinstance(router, dict) and router.get("kind") == "fluid":
            other = [f"router.{key}" for key in router if key not in (*KEPT, *FLUID)]
            if other:
                words = 'without router.kind = "fluid", `phit run --fluid` leaves out what only exact routers have'
                note(f"{words}: {', '.join(other)}")
        raise


def _job() -> "Job":
    """The MPI job that this process belongs to."""
    from phit.running import mpi

    return mpi.join()


def _show_network(document: Document, result: Result) -> None:
    """Prints the size of the network that was read from a file."""
    topology, said = result.scenario["topology"], document.get("topology")
    if isinstance(said, dict) and "file" in said and topology.get("kind") == "graph":
        out(f"network: {in_numbers(counted(topology))}")


def _keep_fidelity(found: Fidelity, folder: Path) -> None:
    """Writes the error of the fluid network into a results folder, where its report finds it."""
    from phit.drawing.reporting.sections.fluid import FIDELITY
    from phit.store.folder import write_atomically

    text = json.dumps(found.to_dict(), ensure_ascii=False)
    write_atomically(folder / FIDELITY, lambda file: file.write(text.encode()))


def _write_page(folder: Path, page: Path) -> None:
    from phit.drawing import reporting

    reporting.write(reporting.Source.read(folder), page)


BINS = 100
"""Bins of the time series on a page, if the scenario asks for no series."""


def _with_tables_of_a_page(document: Document) -> Document:
    """The scenario with the tables that a page shows. None of them changes a result."""
    found = load(document)
    wanted: dict[str, Any] = {"histogram": True, "links": True}
    # The end of a program is unknown before the run.
    if "workload" in found:
        wanted["phases"] = True
    else:
        measure = complete(found)["measure"]
        # The run may determine the length of the warm-up, too.
        cycles = measure["cycles"] + (measure["warmup"] if isinstance(measure["warmup"], int) else 0)
        wanted["series"] = {"by": "window", "bin": max(1, cycles // BINS)}
    for key, value in wanted.items():
        if get_path(found, f"measure.{key}") is None:
            set_path(found, f"measure.{key}", value)
    return found


@contextmanager
def _left(as_json: bool) -> Iterator[None]:
    """On Ctrl-C, shows the measurements up to that moment."""
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
    folder: Path, document: dict[str, Any], name: str, threads: int, force: bool, job: "Job | None"
) -> Result:
    """Runs a scenario as an experiment of one point, so that its results are stored in a folder."""
    from phit.running.sweeping import consented
    from phit.store.folder import ResultsFolder

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
    for name, title, columns in PARTS:
        _show_parts(result, name, title, columns)


PARTS = (
    ("classes", "by class of packets", ("class", "offered_load", "accepted_load", "latency_mean", "latency_p99")),
    ("flows", "by flow", ("flow", "accepted_rate", "packets", "latency_mean", "latency_p99")),
)
"""Tables of parts of the traffic that are shown, with their titles and the columns that are shown."""


def _show_parts(result: Result, name: str, title: str, columns: tuple[str, ...]) -> None:
    """Prints a row for each part of the traffic, if the run has such parts."""
    parts = result.tables.get(name)
    if parts is None:
        return
    table = new_table(title=title, box=None, pad_edge=False, title_justify="left")
    for column in columns:
        table.add_column(column.replace("_", " "), justify="left" if column == columns[0] else "right")
    for row in parts.select(columns).iter_rows():
        table.add_row(*(readable(value) for value in row))
    out(table)


def _show_hints(result: Result) -> None:
    """Prints the reasons why the run is slow or saturated, each by its rule; nothing if it is neither."""
    found = hints(result.summary)
    if found:
        out(f"why (rules: {PAGE} of the guide)")
    for hint in found:
        out(f"- {hint}")


@commands.command()
def interference(
    file: File,
    settings: Settings = [],  # noqa: B006
    threads: Annotated[int, typer.Option(min=1, help="Threads; they do not change the result.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object for each job, in a list.")] = False,
    trust: Trust = False,  # noqa: ARG001
) -> None:
    """Run the jobs of a workload together and each alone, and show how much they slow each other down."""
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


@commands.command()
def fidelity(
    file: File,
    settings: Settings = [],  # noqa: B006
    threads: Annotated[int, typer.Option(min=1, help="Threads; the result is the same for any number.")] = 1,
    whole: Annotated[bool, typer.Option("--whole", help="Run the scenario itself, not a sample of it.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    trust: Trust = False,  # noqa: ARG001
) -> None:
    """Run a sample of a workload on exact routers and on the fluid network: how far the latter is off, and why."""
    with interruptible():
        found = both_networks(apply_settings(load(file), settings), threads=threads, whole=whole)
    if as_json:
        out(json.dumps(found.to_dict(), ensure_ascii=False))
        return
    _show_fidelity(found)


def _show_fidelity(found: Fidelity) -> None:
    """The error of the fluid network in completion, messages and phases, and its cause."""
    out("sample: " + (", ".join(found.sample) or "the whole scenario"))
    unit = unit_of(found.exact.get("cycle_seconds"), found.exact["completion"])
    out(f"completion {_completion(found.fluid)} in the fluid network, {_completion(found.exact)} on exact routers")
    out(f"error of the completion {100 * found.error:+.2f} %")
    late = f"{100 * found.message_error:.2f} %, of {found.messages.height:,} messages"
    out(f"mean error of the arrival of a message {late}")
    phases = found.phases
    if phases.height > 1:
        title = f"by phase: means over ranks{_in(unit)}"
        table = new_table(title=title, box=None, pad_edge=False, title_justify="left")
        for name in ("phase", "kind", "exact", "fluid", "error"):
            table.add_column(name, justify="left" if name == "kind" else "right")
        for phase, kind, exact, fluid, error in phases.head(MOST_RANKS).iter_rows():
            share = "" if error is None else f"{100 * error:+.2f} %"
            table.add_row(readable(phase), kind, readable(unit.of(exact)), readable(unit.of(fluid)), share)
        out(table)
        if phases.height > MOST_RANKS:
            out(f"and {phases.height - MOST_RANKS:,} phases more")
    if found.causes:
        table = new_table(title="with one property changed", box=None, pad_edge=False, title_justify="left")
        for name in ("property", "change", "error of the completion"):
            table.add_column(name, justify="right" if name.startswith("error") else "left")
        for cause in found.causes:
            table.add_row(cause.name, cause.change, f"{100 * cause.error:+.2f} %")
        out(table)
    out(f"cause: {found.cause}")


def _show_cost(result: Result, ideal: Result) -> None:
    """Prints the additional time of each rank compared with the ideal network, the slowest ranks first."""
    found = contention(result, ideal)
    unit = unit_of(result.get("cycle_seconds"), result["completion"])
    title = f"against the ideal network{_in(unit)}"
    table = new_table(title=title, box=None, pad_edge=False, title_justify="left")
    for name in ("rank", "finish", "ideal", "longer", "blocked", "blocked there"):
        table.add_column(name, justify="right")
    for rank, *times in found.head(MOST_RANKS).iter_rows():
        table.add_row(readable(rank), *(readable(unit.of(time)) for time in times))
    out(table)
    if found.height > MOST_RANKS:
        out(f"and {found.height - MOST_RANKS:,} ranks with no more additional time")
    _show_phases(result, ideal, unit)
    share = result["completion"] / ideal["completion"] - 1 if ideal["completion"] else 0.0
    took, least = (_completion(of) for of in (result, ideal))
    out(f"completion {took}, {abs(100 * share):.1f} % {'less' if share < 0 else 'more'} than {least}")


def _in(unit: TimeUnit) -> str:
    """The unit of a table's times, for its title; empty for cycles."""
    return "" if unit == CYCLES else f", times in {unit.name}"


def _completion(result: Result) -> str:
    """The completion time of a program, for a person."""
    cycle = result.get("cycle_seconds")
    cycles = f"{result['completion']:,} cycles"
    return cycles if cycle is None else f"{readable_time(result['completion'] * cycle)} ({cycles})"


def _show_phases(result: Result, ideal: Result, unit: TimeUnit) -> None:
    """Prints the additional time of each phase compared with the ideal network, over all ranks, costliest first."""
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
    title = f"by phase: means over ranks, and the largest additional time of a rank{_in(unit)}"
    table = new_table(title=title, box=None, pad_edge=False, title_justify="left")
    for name in ("phase", "kind", "time", "ideal", "longer", "most"):
        table.add_column(name, justify="left" if name == "kind" else "right")
    shown = phases.sort("longer", "phase", descending=[True, False]).head(MOST_RANKS).sort("phase")
    for phase, kind, *times in shown.select("phase", "kind", "time", "ideal", "longer", "most").iter_rows():
        table.add_row(readable(phase), kind, *(readable(unit.of(time)) for time in times))
    out(table)
    if phases.height > MOST_RANKS:
        out(f"and {phases.height - MOST_RANKS:,} phases that cost no more")
