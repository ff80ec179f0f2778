"""The command line. Bad input gets one line on standard error and exit status 2; Ctrl-C gives 130."""

import json
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, RenderableType
from rich.table import Table

import phit
from phit.errors import InputError, PhitError, ScenarioError, one_line
from phit.experiment import Experiment
from phit.progress import RunProgress
from phit.result import Result
from phit.scenario import apply_settings, hint, load

FAILED, BAD_INPUT, INTERRUPTED, BROKEN_PIPE = 1, 2, 130, 141

app = typer.Typer(
    name="phit",
    help="Fast, exact simulation of lossless interconnection networks.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


class Format(StrEnum):
    """A file format of plots."""

    png = "png"
    svg = "svg"
    html = "html"


File = Annotated[Path, typer.Argument(help="Scenario or experiment: a TOML or JSON file.", show_default=False)]
Settings = Annotated[
    list[str],
    typer.Option("--set", metavar="KEY=VALUE", help="Set a key by its dotted path, as traffic.load=0.4; repeatable."),
]
ResultsDir = Annotated[Path, typer.Argument(metavar="DIR", help="Results folder.", show_default=False)]


def out(text: str | RenderableType) -> None:
    """Writes to standard output; ends quietly if nobody reads it any more."""
    if not isinstance(text, str):
        console = Console(highlight=False)
        if not console.is_terminal:
            console.width = 160
        with console.capture() as capture:
            console.print(text)
        text = "\n".join(line.rstrip() for line in capture.get().rstrip("\n").split("\n"))
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(BROKEN_PIPE) from None
    except OSError as error:
        raise PhitError(f"standard output: cannot be written ({error.strerror})") from None


def note(text: str) -> None:
    """Writes a line to standard error."""
    with suppress(BrokenPipeError):
        print(text, file=sys.stderr, flush=True)


@contextmanager
def interruptible() -> Iterator[None]:
    """Ends the program with a word on what is kept when Ctrl-C comes."""
    try:
        yield
    except KeyboardInterrupt as error:
        note(f"phit: {one_line(error) if isinstance(error, phit.Interrupted) else 'interrupted'}")
        raise typer.Exit(INTERRUPTED) from None


def _version(asked: bool) -> None:
    if asked:
        out(f"phit {phit.__version__}")
        raise typer.Exit


@app.callback()
def _phit(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Fast, exact simulation of lossless interconnection networks."""


@app.command()
def run(
    file: File,
    settings: Settings = [],  # noqa: B006
    threads: Annotated[int, typer.Option(min=1, help="Threads; the result is the same for any number.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as one JSON object.")] = False,
    folder: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Keep results in this folder.")] = None,
) -> None:
    """Simulate one scenario."""
    document = apply_settings(load(file), settings)
    if "sweep" in document:
        raise InputError(f"{file}: has a [sweep], so it is an experiment of several points; use `phit sweep`")
    with interruptible():
        if folder is None:
            with RunProgress() as progress:
                result = phit.run(document, threads=threads, progress=progress)
        else:
            result = _run_into(folder, document, file.stem, threads)
    if as_json:
        out(result.to_json())
    else:
        _show_result(result)
    if folder is not None:
        note(f"results in {folder}")


def _run_into(folder: Path, document: dict[str, Any], name: str, threads: int) -> Result:
    """Runs a scenario as an experiment of one point, so that its results are a folder like any other."""
    from phit.results import ResultsFolder

    experiment = Experiment.read({**document, "sweep": {"name": name}})
    (point,) = experiment.points()
    with ResultsFolder(folder, lambda message: note(f"phit: warning: {message}")) as results:
        summary = results.adopt(experiment, [point]).get(point.hash)
        if summary is None:
            with RunProgress() as progress:
                result = phit.run(point.scenario, threads=threads, progress=progress)
            results.add(point, result.answer())
        else:
            result = Result(summary, {})
        results.consolidate()
    return result


def _show_result(result: Result) -> None:
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_column(style="dim")
    for row in result.headlines():
        table.add_row(*row)
    out(table)


@app.command()
def sweep(
    file: File,
    folder: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Results folder; by default results/NAME.")
    ] = None,
    settings: Settings = [],  # noqa: B006
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; by default one per core.")] = None,
    plot: Annotated[bool, typer.Option("--plot", help="Write plots and tables as well.")] = False,
) -> None:
    """Simulate every point of an experiment; resumes where an earlier run stopped."""
    experiment = Experiment.read(file, settings)
    target = folder or Path("results") / experiment.name
    with interruptible():
        points = phit.sweep(experiment, target, workers=workers, progress=True)
    from phit import report

    out(report.rich_table(points, experiment.keys))
    note(f"results in {target}")
    if plot:
        _write_all(target)


def _write_all(target: Path) -> None:
    from phit import report

    folder = report.Folder.read(target)
    for path in [*report.write_tables(folder), *report.write_figures(folder)]:
        note(f"wrote {path}")


@app.command()
def saturate(
    file: File,
    settings: Settings = [],  # noqa: B006
    first: Annotated[float, typer.Option("--from", help="Smallest load.")] = 0.05,
    last: Annotated[float, typer.Option("--to", help="Largest load.")] = 1.0,
    step: Annotated[
        float | None, typer.Option("--grid", metavar="STEP", help="Try loads upwards in such steps; else bisection.")
    ] = None,
    tolerance: Annotated[float, typer.Option(help="How close bisection comes.")] = 0.01,
    share: Annotated[float, typer.Option(help="Sustained if this share of the offered load is accepted.")] = 0.97,
    latency_factor: Annotated[
        float | None, typer.Option("--latency", metavar="FACTOR", help="And if latency is so many times the first's.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds of every load, all of which must sustain it.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")] = False,
) -> None:
    """Find the largest load that a scenario sustains."""
    from dataclasses import asdict

    from phit.saturation import Trial

    def tell(trial: Trial) -> None:
        word = "sustained" if trial.sustained else "not sustained"
        latency = "" if trial.latency is None else f", latency {trial.latency:,.1f} cycles"
        note(f"load {trial.load:.4g}: {word}, {100 * trial.accepted:.1f} % accepted{latency}")

    with interruptible():
        found = phit.saturate(
            apply_settings(load(file), settings),
            first=first,
            last=last,
            step=step,
            tolerance=tolerance,
            share=share,
            latency_factor=latency_factor,
            seeds=seeds,
            tell=tell,
        )
    if as_json:
        out(json.dumps(asdict(found)))
    elif found.sustained is None:
        out(f"not even a load of {found.saturated:.4g} is sustained")
    elif found.saturated is None:
        out(f"sustained: {found.sustained:.4g}, the largest load tried")
    else:
        out(f"sustained: {found.sustained:.4g}; not sustained: {found.saturated:.4g}")


@app.command()
def plot(
    folder: ResultsDir,
    x: Annotated[str | None, typer.Option(help="Column of the horizontal axis.")] = None,
    y: Annotated[str | None, typer.Option(help="Column of the vertical axis; only this plot is drawn.")] = None,
    colour: Annotated[str | None, typer.Option("--colour", "--color", help="Column that tells curves apart.")] = None,
    facet: Annotated[str | None, typer.Option(help="Column that tells panels apart.")] = None,
    formats: Annotated[
        list[Format] | None, typer.Option("--format", help="File format; repeatable. By default all three.")
    ] = None,
    into: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Folder; by default DIR/plots.")] = None,
) -> None:
    """Draw the results of a folder as PNG, SVG and interactive HTML."""
    from phit import report

    settings = {k: v for k, v in {"x": x, "y": y, "colour": colour, "facet": facet}.items() if v is not None}
    chosen = [f.value for f in formats or Format]
    for path in report.write_figures(report.Folder.read(folder), settings, chosen, into):
        out(str(path))


@app.command()
def report(
    folder: ResultsDir,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print the table in Markdown.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print all columns as CSV.")] = False,
) -> None:
    """Show the results of a folder as a table."""
    from phit import report

    found = report.Folder.read(folder)
    if as_csv:
        out(found.points.write_csv().rstrip("\n"))
    elif as_markdown:
        out(report.markdown(found.points, found.swept).rstrip("\n"))
    else:
        out(report.rich_table(found.points, found.swept))
    if found.planned:
        note(f"{found.planned} points of this experiment have not finished; `phit sweep` runs them")


@app.command()
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


@app.command()
def routes(
    file: Annotated[Path, typer.Argument(help="Scenario: a TOML or JSON file.", show_default=False)],
    settings: Settings = [],  # noqa: B006
) -> None:
    """Print the routing tables of a scenario as CSV: router, destination, port; `routing.file` reads such entries."""
    with interruptible():
        tables = phit.routes(apply_settings(load(file), settings))
    lines = (f"{router},{to},{port}" for router, ports in enumerate(tables) for to, port in enumerate(ports))
    out("\n".join(("router,destination,port", *lines)))


@app.command("list")
def list_(
    concept: Annotated[str | None, typer.Argument(help="topology, routing, pattern, ...", show_default=False)] = None,
    kind: Annotated[str | None, typer.Argument(help="One of the concept's kinds.", show_default=False)] = None,
) -> None:
    """List what a scenario can name, or the keys of one of these."""
    catalogue = phit.catalogue()
    if concept is not None and concept not in catalogue:
        known = ", ".join(catalogue)
        raise InputError(f"{concept!r}: no such concept; expected one of {known}{hint(concept, catalogue)}")
    if concept is None or kind is None:
        for name, entries in catalogue.items():
            if concept in (None, name):
                _list_kinds(name, entries)
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
    required = entry["schema"].get("required", [])
    for key, schema in entry["schema"].get("properties", {}).items():
        if key == "kind":
            continue
        default = "required" if key in required else json.dumps(schema.get("default"), ensure_ascii=False)
        table.add_row(key, default, " ".join(schema.get("description", "").split()))
    if table.row_count:
        out("")
        out(table)


@app.command()
def schema() -> None:
    """Print the JSON Schema of a scenario."""
    out(json.dumps(phit.schema(), indent=2, ensure_ascii=False))


@app.command()
def validate(
    quick: Annotated[bool, typer.Option("--quick", help="Only the cheap comparisons, with fewer seeds.")] = False,
    folder: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the page and its plots.")] = Path(
        "docs"
    ),
    reference: Annotated[
        Path, typer.Option("--reference", metavar="DIR", help="The other simulators' numbers.")
    ] = Path("tests/reference"),
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; by default one per core.")] = None,
    results: Annotated[
        Path | None, typer.Option("--results", metavar="DIR", help="Keep the runs there, and go on from there.")
    ] = None,
) -> None:
    """Compare Phit with other simulators; exit status 1 if something differs."""
    from phit.studies import validation
    from phit.studies.validation.summary import rich_table

    try:
        with interruptible():
            report = validation.validate(
                folder, folder=reference, quick=quick, workers=workers, progress=True, results=results
            )
    except OSError as error:
        raise InputError(f"{folder}: cannot write the page there ({error.strerror})") from None
    out(rich_table(report.comparisons, report.phases))
    for path in report.written:
        note(f"wrote {path}")
    if report.differs:
        raise typer.Exit(1)


@app.command()
def reproduce(
    study: Annotated[str, typer.Argument(help="clos, contention, fbicm, outflank or tpr.", show_default=False)],
    figure: Annotated[
        list[str] | None, typer.Option("--figure", metavar="FIGURE", help="As 5a; repeatable. By default all.")
    ] = None,
    table: Annotated[
        list[str] | None,
        typer.Option("--table", metavar="TABLE", help="As I; repeatable, or all of the paper's tables."),
    ] = None,
    scale: Annotated[str, typer.Option("--scale", help="smoke, small or paper.")] = "small",
    seeds: Annotated[int | None, typer.Option(min=1, help="Seeds of every run; by default the scale's own.")] = None,
    warmup: Annotated[int | None, typer.Option(min=1, help="Cycles of warm-up, if not the scale's own.")] = None,
    cycles: Annotated[int | None, typer.Option(min=1, help="Measured cycles, if not the scale's own.")] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--output", "--out", metavar="DIR", help="Results folder; by default results/STUDY-SCALE."),
    ] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", "--workers", min=1, help="Processes; one per core.")] = None,
    run: Annotated[
        bool, typer.Option("--run/--no-run", help="Run what is missing, or only show what is there.")
    ] = True,
    target: Annotated[
        Path | None, typer.Option("--publish", metavar="DIR", help="Also write the study's page into this folder.")
    ] = None,
) -> None:
    """Reproduce the figures of a paper and judge what it claims; resumes where an earlier run stopped."""
    from phit.studies import claims, registry
    from phit.studies import reproduce as reproducing
    from phit.studies.scale import scale_named

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
            workers=jobs,
            run=run,
            progress=True,
            say=note,
        )
    out(claims.rich_table(report.findings))
    note(f"figures, tables, {reproducing.CLAIMS} and {reproducing.PAGE} in {place}")
    if target is not None:
        for path in reproducing.publish(found, place, target):
            note(f"wrote {path}")
    if report.failure is not None:
        raise report.failure


@app.command()
def cost(
    study: Annotated[str, typer.Argument(help="The mechanisms of a paper: contention.", show_default=False)],
    file: Annotated[Path | None, typer.Argument(help="Scenario; by default the paper's network.")] = None,
    settings: Settings = [],  # noqa: B006
    as_json: Annotated[bool, typer.Option("--json", help="Print the costs as one JSON object.")] = False,
) -> None:
    """Show what a paper's mechanisms cost in storage and control bandwidth."""
    from phit.studies import registry

    model = registry.cost_model(study)
    document = None if file is None else apply_settings(load(file), settings)
    if document is None and settings:
        raise InputError("--set: there is no scenario whose keys could be set; name its file")
    if document is not None:
        for section in ("sweep", "plot"):
            document.pop(section, None)
    found = model(document)
    out(json.dumps(found.to_dict(), ensure_ascii=False) if as_json else found.to_rich())


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit status."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: note(f"phit: warning: {message}")
        return _main(arguments)


def _main(arguments: Sequence[str] | None) -> int:
    try:
        return app(args=None if arguments is None else list(arguments), standalone_mode=False) or 0
    except (ScenarioError, PhitError) as error:
        note(f"phit: error: {one_line(error)}")
        return FAILED if isinstance(error, phit.SimulationError) else BAD_INPUT
    except OSError as error:
        if error.filename is None:
            raise
        note(f"phit: error: {error.filename}: {error.strerror}")
        return BAD_INPUT
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except Exception as error:
        # Wrong options and arguments: the exceptions of click, which typer may carry inside itself.
        show = getattr(error, "show", None)
        if show is None:
            raise
        show()
        return int(getattr(error, "exit_code", BAD_INPUT))


if __name__ == "__main__":
    sys.exit(main())
