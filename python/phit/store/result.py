"""One run and its result."""

import json
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from phit.base import left_out, machine
from phit.base.errors import InputError, SimulationError
from phit.base.times import readable_time
from phit.document import Document, Source
from phit.document.inlining import to_json
from phit.document.loading import load
from phit.document.named_files import program_notes
from phit.document.origins import located
from phit.document.sections import leave_out
from phit.mechanisms import running
from phit.store._results import Quantities
from phit.store.quantities import HEADLINES, TABLES, Quantity, reason_of

if TYPE_CHECKING:
    # Most commands need no tables, and start in half of the time without it.
    import polars as pl

    from phit.running.mpi import Job


def readable(value: Any) -> str:
    """A number with four significant digits, integers whole, booleans as yes and no."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    return str(value)


def readable_half(half: float) -> str:
    """Half the width of an interval with two significant digits."""
    return readable(half) if half >= 100 else f"{half:.2g}"


class Result(Quantities, Mapping[str, Any]):
    """The summary of a run as a mapping (and by attribute), with its tables and its complete scenario.

    The attributes are the quantities of `phit list quantities`, with their types.

    >>> result["accepted_load"], result.latency_mean, result.tables["histogram"]  # doctest: +SKIP
    """

    def __init__(self, summary: Mapping[str, Any], tables: Mapping[str, Mapping[str, list[Any]]]) -> None:
        self.summary: dict[str, Any] = dict(summary)
        self._columns = dict(tables)

    def __getitem__(self, key: str) -> Any:
        return self.summary[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.summary)

    def __len__(self) -> int:
        return len(self.summary)

    @property
    def version(self) -> str:
        """The version of Phit that ran it."""
        version: str = self.summary["version"]
        return version

    @property
    def scenario(self) -> Document:
        """The scenario with every default filled in."""
        scenario: Document = self.summary["scenario"]
        return scenario

    @cached_property
    def tables(self) -> "dict[str, pl.DataFrame]":
        """The tables that the scenario asked for, by name, as `phit list quantities` has them."""
        return {name: frame(name, columns) for name, columns in self._columns.items()}

    def to_json(self, indent: int | None = None, *, tables: bool = False) -> str:
        """The summary as one JSON object; with `tables` as `with_tables` has it."""
        return json.dumps(self.with_tables() if tables else self.summary, indent=indent, ensure_ascii=False)

    def with_tables(self) -> dict[str, Any]:
        """The summary, and under `tables` each table by name: a list of values for each column, of equal lengths."""
        return self.summary | {"tables": self._columns}

    def answer(self) -> dict[str, Any]:
        """Summary and tables as the engine gave them."""
        return {"summary": self.summary, "tables": self._columns}

    def headlines(self) -> list[tuple[str, str, str]]:
        """`(name, value, unit)` of what a person wants to see first."""
        cycle = self.get("cycle_seconds")
        shown = (q for q in HEADLINES if q.name in self and not (q.special and self[q.name] is None))
        return [(q.words, *self._headline(q, cycle)) for q in shown]

    def _headline(self, quantity: Quantity, cycle: float | None) -> tuple[str, str]:
        value, unit = _shown(quantity, self[quantity.name], cycle)
        half = self.get(quantity.interval) if quantity.interval else None
        if half is not None:
            return f"{value} ± {readable_half(half)}", unit
        reason = reason_of(self, quantity.name)
        return value, unit if reason is None else f"{unit}; no interval: {reason}"

    def __repr__(self) -> str:
        width = max((len(name) for name, _, _ in self.headlines()), default=0)
        lines = (f"  {name:<{width}}  {value} {unit}".rstrip() for name, value, unit in self.headlines())
        return "\n".join(("phit.Result", *lines))

    def _repr_html_(self) -> str:
        import html

        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th><td style='text-align:right'>{html.escape(value)}"
            f"</td><td style='text-align:left'>{html.escape(unit)}</td></tr>"
            for name, value, unit in self.headlines()
        )
        return f"<table>{rows}</table>"


def _shown(quantity: Quantity, value: Any, cycle: float | None) -> tuple[str, str]:
    """A value and its unit, for a person."""
    if quantity.unit == "s" and value is not None:
        number, _, unit = readable_time(value).partition(" ")
        return number, unit
    if quantity.time and cycle is not None and value is not None:
        return readable(value), f"{quantity.unit} ({readable_time(value * cycle)})"
    return readable(value), quantity.unit


@cache
def _cells() -> "dict[str, pl.DataType]":
    """Types of the columns of tables."""
    import polars as pl

    return {
        "number": pl.Float64(),
        "whole": pl.Int64(),
        "flag": pl.Boolean(),
        "text": pl.String(),
        "wholes": pl.List(pl.Int64()),
    }


def frame(table: str, columns: Mapping[str, list[Any]]) -> "pl.DataFrame":
    """A table of a run, with the types that the engine declares, whatever is in it."""
    import polars as pl

    declared = {c.name: _cells()[c.cell] for c in TABLES[table].columns} if table in TABLES else {}
    types = {name: type_ for name, type_ in declared.items() if name in columns}
    return pl.DataFrame(columns, schema_overrides=types, strict=False)


def unmeasured(summary: Mapping[str, Any]) -> str:
    """That a trace lies outside of what was measured, in words; empty if it does not."""
    trace = summary["scenario"].get("traffic", {}).get("trace")
    if not trace or summary.get("packets") != 0:
        return ""
    first, last, start = trace[0][0], trace[-1][0], summary["warmup_cycles"]
    return (
        f"traffic.trace: no packet of it was measured: its messages are of the cycles {first:,} to {last:,}, and "
        f"measure.warmup and measure.cycles measure those from {start:,} to {start + summary['cycles']:,}"
    )


def run(
    scenario: Source,
    *,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
    force: bool = False,
    among: "Job | None" = None,
) -> Result:
    """Simulates one scenario: the path of a TOML or JSON file, or the document itself.

    The result does not depend on `threads`. `progress(cycles_done, cycles_planned)` is called a few times a second. A
    network that is expected to take more memory than the machine has left is refused, unless `force` is true. With
    `among`, the processes of an MPI job simulate it together (`phit.mpi`), each with so many threads.

    What Ctrl-C leaves of the measurement is the attribute `partial` of the `KeyboardInterrupt`: a `Result` of the
    cycles up to there, whose ``["stopped"]`` is true; `None` if there is nothing yet.

    Raises:
        ScenarioError: the scenario cannot be simulated, or needs more memory than there is.
        InputError: the document cannot be read, or is no scenario, or names a Python function that cannot be compiled
            or may not be executed (`trust_python`).
        SimulationError: the run came to a deadlock, or its program can never end, or a Python function has raised.
    """
    document = load(scenario)
    if "sweep" in document:
        raise InputError("sweep: this document is an experiment of several points; run it with `phit sweep`")
    leave_out(document)
    with located(document):
        text = to_json(document)
        try:
            limit = None if force else machine.memory()
            simulate = running.run if among is None else among.run
            answer = json.loads(simulate(text, threads=threads, progress=progress, memory=limit))
        except KeyboardInterrupt as error:
            found = getattr(error, "partial", None)
            partial = None if found is None else json.loads(found)
            error.partial = None if partial is None else Result(**partial)  # type: ignore[attr-defined]
            raise
        except RuntimeError as error:
            # What a valid scenario runs into: a deadlock, or a program that can never end.
            raise SimulationError(str(error)) from None
    if words := unmeasured(answer["summary"]):
        warnings.warn(words, stacklevel=2)
    left_out.warn([answer["summary"]["scenario"]["topology"]])
    for words in program_notes(document):
        warnings.warn(words, stacklevel=2)
    return Result(answer["summary"], answer["tables"])
