"""One run and its result."""

import html
import json
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

import polars as pl

from phit import _phit
from phit.errors import InputError
from phit.origins import located
from phit.scenario import Document, Source, load, to_json

MACHINE_KEYS = ("threads", "partitions", "cpu_seconds", "wall_seconds", "peak_memory_bytes", "engine_bytes")
"""Keys of a summary that depend on the machine and not on the scenario."""

HEADLINES = (
    ("offered_load", "offered load", "phits/(endpoint·cycle)"),
    ("accepted_load", "accepted load", "phits/(endpoint·cycle)"),
    ("bisection_load", "load that saturates the bisection", "phits/(endpoint·cycle)"),
    ("latency_mean", "mean latency", "cycles"),
    ("latency_p50", "median latency", "cycles"),
    ("latency_p99", "99th percentile of latency", "cycles"),
    ("network_latency_mean", "mean latency in the network", "cycles"),
    ("hops_mean", "mean hops", "links between routers"),
    ("misrouted", "misrouted", "share of packets"),
    ("packets", "packets measured", ""),
    ("cycles", "cycles measured", ""),
    ("cycle_seconds", "length of a cycle", "ns"),
    ("saturated", "saturated", ""),
    ("cpu_seconds", "CPU time", "s"),
)
"""`(key, name, unit)` of what a person wants to see first."""

OF_SOME = ("bisection_load", "cycle_seconds")
"""Those that are shown only of networks that have them, and of scenarios whose units are known."""

IN_CYCLES = ("latency_mean", "latency_p50", "latency_p99", "network_latency_mean", "cycles")
"""Those that are shown as times, too, where the length of a cycle is known."""


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


def readable_time(seconds: float) -> str:
    """A time in the unit in which it is from 1 to 1,000: "125.5 µs"."""
    for unit, length in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if float(f"{seconds:.4g}") >= length:
            return f"{readable(seconds / length)} {unit}"
    return f"{readable(seconds * 1e9)} ns"


class Result(Mapping[str, Any]):
    """The summary of a run as a mapping (and by attribute), with its tables and its complete scenario.

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

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in self.__dict__.get("summary", {}):
            return self.summary[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.summary})

    @property
    def scenario(self) -> Document:
        """The scenario with every default filled in."""
        scenario: Document = self.summary["scenario"]
        return scenario

    @cached_property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables that the scenario asked for: series, histogram, links, endpoints, batches."""
        return {name: pl.DataFrame(columns, strict=False) for name, columns in self._columns.items()}

    def to_json(self, indent: int | None = None) -> str:
        """The summary as one JSON object."""
        return json.dumps(self.summary, indent=indent, ensure_ascii=False)

    def answer(self) -> dict[str, Any]:
        """Summary and tables as the engine gave them."""
        return {"summary": self.summary, "tables": self._columns}

    def headlines(self) -> list[tuple[str, str, str]]:
        """`(name, value, unit)` of what a person wants to see first."""
        absent = {key for key in OF_SOME if self.get(key) is None}
        cycle = self.get("cycle_seconds")
        rows = []
        for key, name, unit in HEADLINES:
            if key not in self or key in absent:
                continue
            value = self[key]
            if key in IN_CYCLES and None not in (cycle, value):
                unit = f"{unit} ({readable_time(value * cycle)})".lstrip()
            rows.append((name, readable(1e9 * value if key == "cycle_seconds" else value), unit))
        return rows

    def __repr__(self) -> str:
        width = max((len(name) for name, _, _ in self.headlines()), default=0)
        lines = (f"  {name:<{width}}  {value} {unit}".rstrip() for name, value, unit in self.headlines())
        return "\n".join(("phit.Result", *lines))

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th><td style='text-align:right'>{html.escape(value)}"
            f"</td><td style='text-align:left'>{html.escape(unit)}</td></tr>"
            for name, value, unit in self.headlines()
        )
        return f"<table>{rows}</table>"


def run(scenario: Source, *, threads: int = 1, progress: Callable[[int, int], None] | None = None) -> Result:
    """Simulates one scenario: the path of a TOML or JSON file, or the document itself.

    The result does not depend on `threads`. `progress(cycles_done, cycles_planned)` is called a few times a second.
    """
    document = load(scenario)
    if "sweep" in document:
        raise InputError("sweep: this document is an experiment of several points; run it with `phit sweep`")
    document.pop("plot", None)
    with located(document):
        answer = json.loads(_phit.run(to_json(document), threads=threads, progress=progress))
    return Result(answer["summary"], answer["tables"])
