"""The paths of the files that a document names."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import phit._phit as _phit
from phit import mechanisms
from phit.base.errors import InputError
from phit.document import Document
from phit.document.paths import get_path, set_path

_FILES = {
    "topology": ("file", "tables", "service_levels", "virtual_lanes"),
    "routing": ("file", "layers", "roots"),
}
"""Keys that may name a file, by section."""


def with_files(document: Document, folder: Path) -> Document:
    """The document with all paths relative to `folder`: data files, Python functions and swept files."""
    for _, named in _functions(document):
        named["file"] = str(folder / named["file"])
    document = _with_data(document, folder)
    if isinstance(sweep := document.get("sweep"), dict):
        _sweep_with_files(sweep, folder)
    return document


def _with_data(document: Document, folder: Path) -> Document:
    """The document with the paths of data files relative to `folder`.

    These are `topology.file` and a fabric's other files, `routing.file`, `routing.layers`, `traffic.trace`, the `file`
    of programs and placements in `workload` and its jobs, the `expert_shares` of training steps, and the `trace` of
    inference.
    """
    traffic = document.get("traffic")
    for _, named, key in shares(document):
        named[key] = str(folder / named[key])
    for _, named in [*programs(document), *_placements(document)]:
        named["file"] = str(folder / named["file"])
    for section, keys in _FILES.items():
        table = document.get(section)
        for key in keys:
            if isinstance(table, dict) and isinstance(table.get(key), str) and not mechanisms.is_table(table):
                table[key] = str(folder / table[key])
    if isinstance(traffic, dict) and isinstance(trace := traffic.get("trace"), str | dict):
        trace = {"file": trace} if isinstance(trace, str) else trace
        if isinstance(trace.get("file"), str):
            traffic["trace"] = {**trace, "file": str(folder / trace["file"])}
    return document


def _sweep_with_files(sweep: Document, folder: Path) -> None:
    """Makes the paths of swept data files relative to `folder`. Python functions were found with all others."""

    def found(key: str, value: Any) -> Any:
        document: Document = {}
        try:
            set_path(document, key, value)
        except InputError:
            # The path is no key; a later check reports it.
            return value
        there = get_path(_with_data(document, folder), key)
        # A trace may be given as the path of its file.
        return there["file"] if isinstance(value, str) and isinstance(there, dict) else there

    tables = [sweep.get("product"), *_tables_of(sweep, "zip"), *_tables_of(sweep, "curves")]
    for table in tables:
        for key, values in table.items() if isinstance(table, dict) else ():
            table[key] = [found(key, value) for value in values] if isinstance(values, list) else found(key, values)


def _tables_of(sweep: Document, name: str) -> list[Any]:
    return tables if isinstance(tables := sweep.get(name), list) else []


def _jobs(document: Document) -> Iterator[tuple[str, Document]]:
    """The jobs of a workload, each with its dotted path."""
    workload = document.get("workload")
    jobs = workload.get("job") if isinstance(workload, dict) else None
    for number, job in enumerate(jobs if isinstance(jobs, list) else ()):
        if isinstance(job, dict):
            yield f"workload.job[{number}]", job


def programs(document: Document) -> Iterator[tuple[str, Document]]:
    """The programs that are read from files, each with its dotted path."""
    yield from _with_file([("workload", document.get("workload"))])
    yield from _with_file((f"{path}.program", job.get("program")) for path, job in _jobs(document))


def shares(document: Document) -> Iterator[tuple[str, Document, str]]:
    """The programs with a table of numbers that is read from a file, each with its dotted path and the table's key."""
    jobs = ((f"{path}.program", job.get("program")) for path, job in _jobs(document))
    tables = (("workload", document.get("workload")), *jobs)
    keys = {"training": "expert_shares", "inference": "trace"}
    for path, table in _steps(tables):
        key = keys.get(str(table.get("kind")))
        if key is not None and isinstance(table.get(key), str):
            yield path, table, key


def _steps(tables: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Document]]:
    """The tables of programs, and those of the steps of sequences, each with its dotted path."""
    for path, table in tables:
        if isinstance(table, dict):
            yield path, table
            steps = table.get("steps")
            yield from _steps(
                (f"{path}.steps[{number}]", step)
                for number, step in enumerate(steps if isinstance(steps, list) else ())
            )


def program_notes(document: Document) -> Iterator[str]:
    """Remarks about the Chakra traces that a document names, each with the dotted path of its table."""
    for path, program in programs(document):
        if program.get("kind") == "chakra":
            options = program.get("options", {})
            for text in _phit.workload_notes(Path(program["file"]), json.dumps(options)):
                yield f"{path}: {program['file']}: {text}"


def _placements(document: Document) -> Iterator[tuple[str, Document]]:
    """The placements that are read from files, each with its dotted path."""
    workload = document.get("workload")
    if isinstance(workload, dict):
        yield from _with_file([("workload.placement", workload.get("placement"))])
    yield from _with_file((f"{path}.placement", job.get("placement")) for path, job in _jobs(document))


def _functions(document: Document) -> Iterator[tuple[str, Document]]:
    """The tables of Python functions in files, each with its dotted path."""
    return _with_file(mechanisms.tables(document))


def _with_file(tables: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Document]]:
    return ((path, table) for path, table in tables if isinstance(table, dict) and isinstance(table.get("file"), str))
