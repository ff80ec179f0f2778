"""What results consist of, as the engine declares it: quantities of a summary, columns of tables, what probes record.

Headlines, short tables, axis titles, intervals and the attributes of a result follow from what stands here.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import phit._phit as _phit

Shape = Literal[
    "number", "whole", "flag", "text", "parts", "by_class", "parts_by_class", "numbers_by_name", "wholes_by_name"
]
"""What a value looks like: a number, a whole number, true or false, words, or a table of these by part, class of links
or name."""

Cell = Literal["number", "whole", "flag", "text", "wholes"]
"""What a cell of a table holds: `wholes` is a list of whole numbers."""

SCALARS = ("number", "whole", "flag", "text")
"""Shapes of quantities that are one value."""


@dataclass(frozen=True)
class Named:
    """Anything that is declared."""

    name: str
    words: str
    """What it is called; begins with a small letter."""
    unit: str
    """Empty for numbers of things."""
    description: str

    @property
    def title(self) -> str:
        """For an axis: words and unit."""
        words = self.words[:1].upper() + self.words[1:]
        return f"{words} ({self.unit})" if self.unit else words


@dataclass(frozen=True)
class Quantity(Named):
    """A key of a summary."""

    of: Literal["scenario", "model", "machine"]
    """Whose it is: known before anything has run; the same on every machine; or how the run was executed."""
    shape: Shape
    parts: tuple[Named, ...]
    """Of the shapes with parts."""
    interval: str | None
    """The quantity that is the half width of its confidence interval."""
    rank: int | None
    """Its place among the headlines."""
    heading: str | None
    """In the short table of several runs."""
    time: bool
    """Shown as a time besides, where the length of a cycle is known."""
    diverges: bool
    """Grows without bound in saturation."""
    steady: bool
    """Describes a steady state, whatever the length of the run: its mean over several runs says something."""
    there: str | None
    """When it has a value; `None` if always."""
    special: bool
    """Has a value only of networks that have one, or if it is asked for: not shown where it has none."""

    @property
    def scalar(self) -> bool:
        """Whether it is one value, and so one column of a table of runs."""
        return self.shape in SCALARS


@dataclass(frozen=True)
class Column(Named):
    """A column of a table."""

    cell: Cell


@dataclass(frozen=True)
class Table:
    """A table of a result."""

    name: str
    description: str
    there: str | None
    """When it is there; `None` if always."""
    columns: tuple[Column, ...]


def _named(entries: Iterable[Mapping[str, Any]]) -> tuple[Named, ...]:
    return tuple(Named(**entry) for entry in entries)


_DECLARED: dict[str, Any] = json.loads(_phit.quantities())

QUANTITIES: dict[str, Quantity] = {
    entry["name"]: Quantity(**{**entry, "parts": _named(entry["parts"])}) for entry in _DECLARED["quantities"]
}
"""By name, in the order of the summary."""

TABLES: dict[str, Table] = {
    entry["name"]: Table(**{**entry, "columns": tuple(Column(**column) for column in entry["columns"])})
    for entry in _DECLARED["tables"]
}
"""By name."""

OBSERVABLES: dict[str, tuple[Named, ...]] = {
    probe: _named(entries) for probe, entries in _DECLARED["observables"].items()
}
"""What probes record, by kind of the probe."""

TOTALS: tuple[Named, ...] = _named(_DECLARED["totals"])
"""What managed queue organisations count: the names in `queueing`."""

SATURATED_BELOW: float = _DECLARED["saturated_below"]
"""The rule of saturation: a run is saturated if it accepts less than this share of the load that is offered."""

MACHINE = tuple(q.name for q in QUANTITIES.values() if q.of == "machine")
"""Keys of a summary that depend on the machine and not on the scenario."""

HEADLINES = tuple(sorted((q for q in QUANTITIES.values() if q.rank is not None), key=lambda q: q.rank or 0))
"""What a person wants to see first, in order."""


def find(column: str) -> Named | None:
    """What a column of a table of runs is: a quantity, or by a dotted name a part of one; `None` if it is none.

    A key of the scenario that is offered as a load is called what it becomes.
    """
    name, _, rest = ("offered_load" if column == "traffic.load" else column).partition(".")
    quantity = QUANTITIES.get(name)
    if quantity is None or bool(rest) == quantity.scalar:
        return None
    if not rest:
        return quantity
    # Classes of links stand before the name of a part, and after the name of what a probe records.
    group, _, last = rest.rpartition(".") if quantity.shape == "parts_by_class" else ("", "", rest)
    part = next((part for part in _parts(quantity) if part.name == last), None)
    if part is None and quantity.shape == "numbers_by_name":
        part = next((part for part in _parts(quantity) if rest.startswith(f"{part.name} ")), None)
        group = rest.removeprefix(part.name).strip() if part else ""
    if part is None:
        return Named(column, f"{quantity.words}, {rest}", quantity.unit, quantity.description)
    return Named(column, f"{part.words}, {group}" if group else part.words, part.unit, part.description)


def _parts(quantity: Quantity) -> tuple[Named, ...]:
    """What the values of a quantity with several are."""
    match quantity.shape:
        case "numbers_by_name":
            return tuple(observable for observables in OBSERVABLES.values() for observable in observables)
        case "wholes_by_name":
            return TOTALS
        case _:
            return quantity.parts


def title(column: str, table: str | None = None) -> str:
    """The axis title of a column of a table of runs, or of another table; the name itself if nobody declares it."""
    found: Named | None
    columns = TABLES[table].columns if table is not None else ()
    found = find(column) if table is None else next((c for c in columns if c.name == column), None)
    return column if found is None else found.title


def diverges(column: str) -> bool:
    """Whether a column grows without bound in saturation."""
    return column in QUANTITIES and QUANTITIES[column].diverges


def interval(column: str) -> str | None:
    """The column with the half width of a column's confidence interval from a single run."""
    return QUANTITIES[column].interval if column in QUANTITIES else None


@dataclass(frozen=True)
class Error:
    """How well a single run knows a mean, as its summary says."""

    half: float
    """Half width of the confidence interval."""
    standard: float
    """The standard error that the interval has been made from."""
    freedom: int
    """The degrees of freedom that it is known with."""


def error_of(summary: Mapping[str, Any], quantity: str) -> "Error | str":
    """The error of a mean of a run, or in words why it has none."""
    name = interval(quantity)
    if name is None:
        return "only a mean over several seeds has an interval"
    half, batches = summary.get(name), summary.get(f"{name}_batches")
    if half is None or not batches or batches < 2:
        return str(summary.get(f"{name}_reason") or "its run has none")
    confidence = float(summary.get("confidence") or 0.95)
    from scipy import special

    t = float(special.stdtrit(batches - 1, (1 + confidence) / 2))
    return Error(float(half), float(half) / t, int(batches) - 1)


def reason_of(summary: Mapping[str, Any], quantity: str) -> str | None:
    """Why a mean of a run has no interval; `None` if it has one, or never has any."""
    name = interval(quantity)
    if name is None or summary.get(name) is not None or summary.get(quantity) is None:
        return None
    reason = summary.get(f"{name}_reason")
    return None if reason is None else str(reason)


def columns() -> list[str]:
    """Names of the columns of a table of runs that are the same in every network, for completion."""
    found = [q.name for q in QUANTITIES.values() if q.scalar]
    for quantity in QUANTITIES.values():
        if quantity.shape in ("parts", "numbers_by_name", "wholes_by_name"):
            found += [f"{quantity.name}.{part.name}" for part in _parts(quantity)]
    return found
