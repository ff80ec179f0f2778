"""The engine's declarations of results: quantities of a summary, columns of tables, and records of probes.

Headlines, short tables, axis titles, intervals and the attributes of a result follow from these declarations.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import phit._phit as _phit

Shape = Literal[
    "number", "whole", "flag", "text", "parts", "by_class", "parts_by_class", "numbers_by_name", "wholes_by_name"
]
"""Form of a value: a number, a whole number, true or false, text, or a table of these by part, link class or name."""

Cell = Literal["number", "whole", "flag", "text", "wholes", "texts"]
"""Form of a cell in a table: `wholes` is a list of whole numbers, `texts` a list of words."""

SCALARS = ("number", "whole", "flag", "text")
"""Forms of quantities with one value."""


@dataclass(frozen=True)
class Named:
    """Any declared quantity, part or column."""

    name: str
    words: str
    """Its name in words; begins with a small letter."""
    unit: str
    """Its unit; empty for numbers of things."""
    description: str

    @property
    def title(self) -> str:
        """Words and unit, for an axis."""
        words = self.words[:1].upper() + self.words[1:]
        return f"{words} ({self.unit})" if self.unit else words


@dataclass(frozen=True)
class Quantity(Named):
    """A key of a summary."""

    of: Literal["scenario", "model", "machine"]
    """What it belongs to: the scenario (known before a run), the model (equal on every machine), or the machine."""
    shape: Shape
    parts: tuple[Named, ...]
    """The parts, for shapes with parts."""
    interval: str | None
    """The quantity with the half width of its confidence interval."""
    rank: int | None
    """Its rank among the headlines."""
    heading: str | None
    """Its heading in the short table of several runs."""
    time: bool
    """Whether it is also shown as a time, if the length of a cycle is known."""
    diverges: bool
    """Whether it grows without bound in saturation."""
    steady: bool
    """Whether it describes a steady state for any length of the run, so that a mean over several runs is meaningful."""
    there: str | None
    """When it has a value; `None` if always."""
    special: bool
    """Whether it has a value only in some networks, or on request. Without a value it is not shown."""

    @property
    def scalar(self) -> bool:
        """Whether it has one value, and so one column in a table of runs."""
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
    """When it exists; `None` if always."""
    columns: tuple[Column, ...]


def _named(entries: Iterable[Mapping[str, Any]]) -> tuple[Named, ...]:
    return tuple(Named(**entry) for entry in entries)


_DECLARED: dict[str, Any] = json.loads(_phit.quantities())

QUANTITIES: dict[str, Quantity] = {
    entry["name"]: Quantity(**{**entry, "parts": _named(entry["parts"])}) for entry in _DECLARED["quantities"]
}
"""Quantities by name, in the order of the summary."""

TABLES: dict[str, Table] = {
    entry["name"]: Table(**{**entry, "columns": tuple(Column(**column) for column in entry["columns"])})
    for entry in _DECLARED["tables"]
}
"""Tables by name."""

OBSERVABLES: dict[str, tuple[Named, ...]] = {
    probe: _named(entries) for probe, entries in _DECLARED["observables"].items()
}
"""Records of probes, by kind of the probe."""

TOTALS: tuple[Named, ...] = _named(_DECLARED["totals"])
"""Counts of managed queue organisations: the names in `queueing`."""

SATURATED_BELOW: float = _DECLARED["saturated_below"]
"""The rule of saturation: a run is saturated if it accepts less than this share of the offered load."""

MACHINE = tuple(q.name for q in QUANTITIES.values() if q.of == "machine")
"""Keys of a summary that depend on the machine and not on the scenario."""

HEADLINES = tuple(sorted((q for q in QUANTITIES.values() if q.rank is not None), key=lambda q: q.rank or 0))
"""The most important quantities, in order."""


def find(column: str) -> Named | None:
    """The declaration of a column of a table of runs: a quantity, a part of one by its dotted name, or `None`.

    The key `traffic.load` has the declaration of the offered load.
    """
    name, _, rest = ("offered_load" if column == "traffic.load" else column).partition(".")
    quantity = QUANTITIES.get(name)
    if quantity is None or bool(rest) == quantity.scalar:
        return None
    if not rest:
        return quantity
    # Classes of links precede the name of a part, and follow the name of a probe's record.
    group, _, last = rest.rpartition(".") if quantity.shape == "parts_by_class" else ("", "", rest)
    part = next((part for part in _parts(quantity) if part.name == last), None)
    if part is None and quantity.shape == "numbers_by_name":
        part = next((part for part in _parts(quantity) if rest.startswith(f"{part.name} ")), None)
        group = rest.removeprefix(part.name).strip() if part else ""
    if part is None:
        return Named(column, f"{quantity.words}, {rest}", quantity.unit, quantity.description)
    return Named(column, f"{part.words}, {group}" if group else part.words, part.unit, part.description)


def _parts(quantity: Quantity) -> tuple[Named, ...]:
    """The declarations of the values of a quantity with several values."""
    match quantity.shape:
        case "numbers_by_name":
            return tuple(observable for observables in OBSERVABLES.values() for observable in observables)
        case "wholes_by_name":
            return TOTALS
        case _:
            return quantity.parts


def title(column: str, table: str | None = None) -> str:
    """The axis title of a column of a table of runs, or of another table; the column's name if it is not declared."""
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
    """The error of a mean in a single run, from its summary."""

    half: float
    """Half width of the confidence interval."""
    standard: float
    """The standard error from which the interval was computed."""
    freedom: int
    """The degrees of freedom of the standard error."""


def error_of(summary: Mapping[str, Any], quantity: str) -> "Error | str":
    """The error of a mean of a run, or the reason in words why it has none."""
    name = interval(quantity)
    if name is None:
        return "only a mean over several seeds has an interval"
    half, batches = summary.get(name), summary.get(f"{name}_batches")
    if half is None or not batches or batches < 2:
        return str(summary.get(f"{name}_reason") or "its run has no interval")
    confidence = float(summary.get("confidence") or 0.95)
    from scipy import special

    t = float(special.stdtrit(batches - 1, (1 + confidence) / 2))
    return Error(float(half), float(half) / t, int(batches) - 1)


def reason_of(summary: Mapping[str, Any], quantity: str) -> str | None:
    """The reason why a mean of a run has no interval; `None` if it has one, or never has any."""
    name = interval(quantity)
    if name is None or summary.get(name) is not None or summary.get(quantity) is None:
        return None
    reason = summary.get(f"{name}_reason")
    return None if reason is None else str(reason)


def columns() -> list[str]:
    """Names of the columns of a table of runs that exist for every network, for completion."""
    found = [q.name for q in QUANTITIES.values() if q.scalar]
    for quantity in QUANTITIES.values():
        if quantity.shape in ("parts", "numbers_by_name", "wholes_by_name"):
            found += [f"{quantity.name}.{part.name}" for part in _parts(quantity)]
    return found
