"""What a study is: figures with the runs they need, and claims about their tables."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import polars as pl
from rich.console import RenderableType

from phit.errors import InputError
from phit.plots import Chart
from phit.scenario import Document, hint
from phit.studies.claims import Claim, Finding, judge
from phit.studies.plan import Case, Done
from phit.studies.scale import Scale

ALL = "all"
"""The name that stands for every figure."""

Tables = Mapping[str, pl.DataFrame]
"""The table of every figure, by the figure's name; empty if none of its runs is there."""


@dataclass(frozen=True)
class Figure:
    """A figure, or another group of runs that a claim needs."""

    name: str
    title: str
    caption: str
    cases: Callable[[Any, int | None], list[Case]]
    """The runs, of the study's setting and a number of seeds, if not the setting's own."""
    table: Callable[[pl.DataFrame, Done], pl.DataFrame]
    """The table, from the labels of the cases and the finished runs."""
    draw: Callable[[pl.DataFrame, Any], dict[str, Chart]]
    """Charts by file stem, from the table and the setting."""
    parts: tuple[str, ...] = ()
    """Further names: of its panels, if the paper counts these as figures, or one that it shares with other figures."""
    is_table: bool = False
    """The paper has it as a table: asked for by `--table`."""
    text: Callable[[pl.DataFrame, Any], str] = lambda table, setting: ""  # noqa: ARG005
    """What the page shows besides charts, in Markdown, from the table and the setting: a table of the paper, say."""


class Cost(Protocol):
    """What mechanisms cost in storage and control traffic."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""

    def to_rich(self) -> RenderableType:
        """For a terminal."""


READING = "reading"
"""The label that says by its name under which reading a run is made; a figure without it belongs to all of them."""


@dataclass(frozen=True)
class Reading:
    """A way to read what a paper says of its experiments. Claims are judged under each."""

    name: str
    words: str
    """What it is, in Markdown."""

    def of(self, tables: Tables) -> dict[str, pl.DataFrame]:
        """The tables of its runs."""
        return {
            name: table.filter(pl.col(READING) == self.name) if READING in table.columns else table
            for name, table in tables.items()
        }


@dataclass(frozen=True)
class Study:
    """A paper to reproduce."""

    name: str
    title: str
    source: str
    """The paper."""
    figures: Mapping[str, Figure]
    claims: Sequence[Claim]
    setting: Callable[[Scale], Any]
    """Network, loads, cycles and seeds of a scale."""
    network: Callable[[Any], Document]
    """The part of the scenarios that all runs of a setting share."""
    describe: Callable[[Any], str]
    """A setting's network in words."""
    options: Callable[[Any], str]
    """What the runs of a setting are, in Markdown: for the page."""
    evidence: Callable[[Tables, Any], Any]
    """What the claims' rules are given."""
    cost: Callable[[Document | None], Cost] | None
    """What the mechanisms cost on the routers of a scenario, or of the paper's network."""
    remarks: Mapping[str, str] = field(default_factory=dict)
    """By claim: why it differs at the paper's scale, under one reading or the other, in Markdown."""
    readings: Sequence[Reading] = ()
    """How the paper may be read, the nearest to its words first; none if there is but one way."""

    def judge(self, tables: Tables, setting: Any) -> list[Finding]:
        """All claims, under one reading after the other."""
        if not self.readings:
            return [judge(claim, self.evidence(tables, setting)) for claim in self.claims]
        return [
            replace(judge(claim, self.evidence(reading.of(tables), setting)), reading=reading.name)
            for reading in self.readings
            for claim in self.claims
        ]

    def named_tables(self, names: Sequence[str]) -> list[str]:
        """Names of the paper's tables; all of them for `all`."""
        known = {name.removeprefix("table"): name for name, figure in self.figures.items() if figure.is_table}
        for name in names:
            if name not in (*known, ALL):
                expected = f"expected one of {', '.join([*known, ALL])}" if known else "this study has no tables"
                raise InputError(f"--table {name}: {expected}")
        return list(known.values()) if ALL in names else [known[name] for name in names]

    def choose(self, names: Sequence[str]) -> list[Figure]:
        """The figures of those names; all of them for none or `all`."""
        if not names or ALL in names:
            return list(self.figures.values())
        named: dict[str, set[str]] = {}
        for figure in self.figures.values():
            for part in (figure.name, *figure.parts):
                named.setdefault(part, set()).add(figure.name)
        for name in names:
            if name not in named:
                known = [*named, ALL]
                raise InputError(f"--figure {name}: expected one of {', '.join(known)}{hint(name, known)}")
        chosen = set().union(*(named[name] for name in names))
        return [figure for name, figure in self.figures.items() if name in chosen]
