"""The lists of quantities and tables in `phit list`."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

from phit.base.errors import InputError
from phit.base.nearest import hint
from phit.base.text import first_sentence, quoted
from phit.cli.speaking import cell, out
from phit.cli.speaking import table as new_table
from phit.store.quantities import OBSERVABLES, QUANTITIES, TABLES, TOTALS, Named, Quantity

if TYPE_CHECKING:
    from rich.table import Table

T = TypeVar("T")

Entries = Iterable[tuple[str, str, str]]


def grid(rows: Entries, *headings: str) -> "Table":
    """Rows of a name, a unit and a text."""
    table = new_table(box=None, padding=(0, 2, 0, 0 if headings else 2), show_header=bool(headings))
    for heading in headings or ("", "", ""):
        table.add_column(heading, header_style="bold")
    for row in rows:
        # As plain text, because brackets are no markup.
        table.add_row(*(cell(text) for text in row))
    return table


def chosen(name: str, of: Mapping[str, T], what: str) -> T:
    """The entry with this name."""
    if name not in of:
        raise InputError(f"{quoted(name)}: no such {what}; expected one of {', '.join(of)}{hint(name, of)}")
    return of[name]


def quantities(name: str | None) -> None:
    """All quantities of a summary, or one of them."""
    if name is None:
        out("quantities:")
        out(grid((q.name, q.unit, q.words) for q in QUANTITIES.values()))
        return
    quantity = chosen(name, QUANTITIES, "quantity")
    out(f"{quantity.name}: {quantity.words}\n\n{quantity.description}\n")
    out(grid(facts(quantity)))
    parts = {"numbers_by_name": [o for list_ in OBSERVABLES.values() for o in list_], "wholes_by_name": list(TOTALS)}
    if shown := parts.get(quantity.shape, list(quantity.parts)):
        out("")
        out(grid(((p.name, p.unit, p.description) for p in shown), "part", "unit", "meaning"))


OWNERS = {
    "scenario": "the scenario: known before a run",
    "model": "the model: equal on every machine",
    "machine": "the machine that ran it",
}


def facts(quantity: Quantity) -> Entries:
    """The other declared properties of a quantity."""
    if quantity.unit:
        yield "unit", "", quantity.unit
    yield "whose", "", OWNERS[quantity.of]
    yield "there", "", quantity.there or "always"
    if quantity.interval:
        yield "interval", "", f"{quantity.interval}, its half width"


def tables(name: str | None) -> None:
    """All tables of a result, or the columns of one."""
    if name is None:
        out("tables:")
        out(grid((table.name, table.there or "always", first_sentence(table.description)) for table in TABLES.values()))
        return
    table = chosen(name, TABLES, "table")
    there = f" There {table.there}." if table.there else ""
    out(f"{table.name}\n\n{table.description}{there}\n")
    out(grid(((c.name, c.unit, c.description) for c in table.columns), "column", "unit", "meaning"))
    if name == "probes":
        observed: list[tuple[str, Named]] = [(probe, o) for probe, list_ in OBSERVABLES.items() for o in list_]
        out("")
        rows = ((f"{probe}: {o.name}", o.unit, o.description) for probe, o in observed)
        out(grid(rows, "probe: quantity", "unit", "meaning"))


LISTS: dict[str, Callable[[str | None], None]] = {"quantities": quantities, "tables": tables}
"""Lists besides the concepts of a scenario."""
