"""The result of one run."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from phit.base.numbers import readable, readable_half
from phit.base.times import readable_time
from phit.document import Document
from phit.store._results import Quantities
from phit.store.frames import frame
from phit.store.quantities import HEADLINES, Quantity, reason_of

if TYPE_CHECKING:
    # Most commands need no tables, and start in half the time without this library.
    import polars as pl


_BEGIN, _BETWEEN = re.compile(r'\{ *"summary" *: *'), re.compile(r' *, *"tables" *: *')
"""The text before the summary, and before the tables, of an answer."""


class Result(Quantities, Mapping[str, Any]):
    """The summary of a run as a mapping (and by attribute), with its tables and its complete scenario.

    The attributes are the quantities of `phit list quantities`, with their types.

    >>> result["accepted_load"], result.latency_mean, result.tables["histogram"]  # doctest: +SKIP
    """

    def __init__(self, summary: Mapping[str, Any], tables: Mapping[str, Mapping[str, list[Any]]] | str) -> None:
        """Takes tables as columns or as JSON text, which is parsed when a table is first requested."""
        self.summary: dict[str, Any] = dict(summary)
        self._given = tables

    @classmethod
    def of_answer(cls, text: str) -> "Result":
        """Reads the summary of the engine's answer, `{"summary": .., "tables": ..}`, and keeps its tables as text."""
        if (begin := _BEGIN.match(text)) is not None:
            summary, end = json.JSONDecoder().raw_decode(text, begin.end())
            if (between := _BETWEEN.match(text, end)) is not None:
                return cls(summary, text[between.end() : -1])
        raise ValueError("the engine's answer has no summary and tables")

    @cached_property
    def _columns(self) -> dict[str, Mapping[str, list[Any]]]:
        return dict(json.loads(self._given) if isinstance(self._given, str) else self._given)

    def __getitem__(self, key: str) -> Any:
        return self.summary[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.summary)

    def __len__(self) -> int:
        return len(self.summary)

    @property
    def version(self) -> str:
        """The version of Phit that ran the scenario."""
        version: str = self.summary["version"]
        return version

    @property
    def scenario(self) -> Document:
        """The scenario with every default filled in."""
        scenario: Document = self.summary["scenario"]
        return scenario

    @cached_property
    def tables(self) -> "dict[str, pl.DataFrame]":
        """The tables that the scenario requested, by name; see `phit list tables`."""
        return {name: frame(name, columns) for name, columns in self._columns.items()}

    def to_json(self, indent: int | None = None, *, tables: bool = False) -> str:
        """The summary as one JSON object. With `tables`, it includes the tables, as `with_tables` does."""
        return json.dumps(self.with_tables() if tables else self.summary, indent=indent, ensure_ascii=False)

    def with_tables(self) -> dict[str, Any]:
        """The summary with the key `tables`: each table by name.

        A table has a list of values for each column; all lists have equal lengths.
        """
        return self.summary | {"tables": self._columns}

    def answer(self) -> dict[str, Any]:
        """Summary and tables as the engine returned them."""
        return {"summary": self.summary, "tables": self._columns}

    def headlines(self) -> list[tuple[str, str, str]]:
        """`(name, value, unit)` of the most important quantities."""
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
    """A value and its unit, as people read them."""
    if quantity.unit == "s" and value is not None:
        number, _, unit = readable_time(value).partition(" ")
        return number, unit
    if quantity.time and cycle is not None and value is not None:
        return readable(value), f"{quantity.unit} ({readable_time(value * cycle)})"
    return readable(value), quantity.unit
