"""Studies: figures with the runs that they need, and claims about their tables.

A study is a folder. Its `paper.py` (or `question.py`, if no paper is reproduced) makes the `Study`. Its other modules
register their contents: a figure at the function that lists its runs (`Study.figure`), and a claim at the rule that
decides it (`Study.claim`). Its `__init__.py` lists these modules in order (`Study.consists_of`).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any, Generic, Protocol, TypeVar

import polars as pl
from rich.console import RenderableType

from phit.base.errors import InputError
from phit.base.nearest import hint
from phit.document import Document
from phit.studies.kit import tables
from phit.studies.kit.charts import Charts
from phit.studies.kit.claim import Claim, E, Fact, Finding, Judged, Revision, Rule, judged
from phit.studies.kit.evidence import Tables
from phit.studies.kit.plan import Case, Done
from phit.studies.kit.scale import S, Scale

ALL = "all"
"""The name for all figures."""

Cases = Callable[[S, int | None], list[Case]]
"""Lists the runs of a figure, given the study's setting and a number of seeds, or `None` for the setting's own."""

Table = Callable[[pl.DataFrame, Done], pl.DataFrame]
"""Makes the table of a figure, from the labels of its cases and the finished runs; empty if there are none."""

Draw = Callable[[pl.DataFrame, S], Charts]
"""Makes charts by file name without suffix, from a figure's table and the setting."""

Text = Callable[[pl.DataFrame, S], str]
"""Makes the page's text besides charts, in Markdown, from a figure's table and the setting; for example a table."""


class Figure(Generic[S]):
    """A figure, or another group of runs that a claim needs.

    `table`, `draw` and `text` attach functions, and return them unchanged.
    """

    def __init__(
        self,
        name: str,
        title: str,
        caption: str,
        cases: Cases[S],
        *,
        parts: Sequence[str] = (),
        is_table: bool = False,
        table: Table = tables.steady,
        draw: Draw[S] | None = None,
        text: Text[S] | None = None,
    ) -> None:
        self.name = name
        self.title = title
        self.caption = caption
        self.cases = cases
        """The runs."""
        self.parts = tuple(parts)
        """Further names: of its panels, if the paper counts them as figures, or names that it shares with other
        figures."""
        self.is_table = is_table
        """Whether it is a table in the paper, requested by `--table`."""
        self._table = table
        self._draw = draw
        self._text = text

    def table(self, function: Table) -> Table:
        """Attaches the function that makes the table; by default the table of steady states."""
        self._table = function
        return function

    def draw(self, function: Draw[S]) -> Draw[S]:
        """Attaches the function that draws charts; by default there are none."""
        self._draw = function
        return function

    def text(self, function: Text[S]) -> Text[S]:
        """Attaches the function that writes the page's text; by default there is none."""
        self._text = function
        return function

    def tabulate(self, labels: pl.DataFrame, done: Done) -> pl.DataFrame:
        """The table; empty if none of the runs exists."""
        return self._table(labels, done)

    def charts(self, table: pl.DataFrame, setting: S) -> Charts:
        """The charts of a table that is not empty."""
        return self._draw(table, setting) if self._draw else {}

    def prose(self, table: pl.DataFrame, setting: S) -> str:
        """The text of a table that is not empty, in Markdown."""
        return self._text(table, setting) if self._text else ""


class Cost(Protocol):
    """The cost of mechanisms in storage and control traffic."""

    def to_dict(self) -> dict[str, Any]:
        """The cost for JSON."""

    def to_rich(self) -> RenderableType:
        """The cost for a terminal."""


CostModel = Callable[[Document | None], Cost]
"""Computes the cost of the mechanisms on the routers of a scenario, or of the paper's network."""

C = TypeVar("C", bound=CostModel)

READING = "reading"
"""The label with the name of the reading under which a run is made; a figure without it belongs to all readings."""


@dataclass(frozen=True)
class Reading:
    """An interpretation of the paper's description of its experiments. Claims are judged under each reading."""

    name: str
    words: str
    """Its description in Markdown."""

    def of(self, tables: Tables) -> dict[str, pl.DataFrame]:
        """The tables of its runs."""
        return {
            name: table.filter(pl.col(READING) == self.name) if READING in table.columns else table
            for name, table in tables.items()
        }


@dataclass(frozen=True)
class Paper:
    """The paper that is reproduced."""

    authors: tuple[str, ...]
    title: str
    published: str
    """Place and time of publication, such as `IPDPS 2015`."""

    def __str__(self) -> str:
        """The paper with all authors."""
        *others, last = self.authors
        return self._cited(f"{', '.join(others)} and {last}" if others else last)

    @property
    def short(self) -> str:
        """The paper with its first author."""
        return self._cited(f"{self.authors[0]} et al." if len(self.authors) > 1 else self.authors[0])

    def _cited(self, who: str) -> str:
        return f'{who}, "{self.title}", {self.published}'


@dataclass(frozen=True)
class Question:
    """The question of a study without a paper."""

    text: str
    """A sentence without its full stop."""

    published: str = "a study of our own"
    """Replaces the publication of a paper."""

    def __str__(self) -> str:
        """The whole sentence."""
        return self.text

    @property
    def short(self) -> str:
        """The question for tables."""
        return f"{self.published}: {self.text[0].lower()}{self.text[1:]}"


@dataclass(frozen=True, kw_only=True)
class Study(Generic[S, E]):
    """A paper to reproduce or a question of our own, with a setting of type `S` and evidence of type `E`."""

    name: str
    """Its name, which is the name of its folder."""
    title: str
    paper: Paper | Question
    setting: Callable[[Scale], S]
    """Network, loads, cycles and seeds of a scale."""
    network: Callable[[S], Document]
    """The part of the scenarios that all runs of a setting share."""
    size: Callable[[S], str]
    """The size of a setting's network, such as `72 endpoints`."""
    describe: Callable[[S], str]
    """A setting's network in words."""
    options: Callable[[S], str]
    """The options of a setting's runs, in Markdown, for the page."""
    evidence: Callable[[Tables, S], E]
    """Makes the evidence for the claims' rules."""
    readings: Sequence[Reading] = ()
    """Readings of the paper, the most literal first; empty if there is only one."""
    _figures: dict[str, Figure[S]] = field(default_factory=dict, init=False, repr=False)
    _claims: dict[str, Claim[E]] = field(default_factory=dict, init=False, repr=False)
    _costs: list[CostModel] = field(default_factory=list, init=False, repr=False)

    def figure(
        self,
        name: str,
        *,
        title: str,
        caption: str,
        parts: Sequence[str] = (),
        is_table: bool = False,
        table: Table = tables.steady,
        draw: Draw[S] | None = None,
        text: Text[S] | None = None,
    ) -> Callable[[Cases[S]], Figure[S]]:
        """Registers a function that lists runs as a figure of this study.

        Args:
            name: the paper's number of the figure, such as `5b`, or a word for runs that the paper does not show.
            title: heading on the page.
            caption: content of the figure, in Markdown.
            parts: further names for the figure.
            is_table: whether it is a table in the paper.
            table: function that makes its table; by default that of steady states.
            draw: function that draws it, if any.
            text: function that writes its text, if any.
        """

        def register(cases: Cases[S]) -> Figure[S]:
            if name in self._figures:
                raise ValueError(f"study {self.name}: two figures {name!r}")
            found = Figure(
                name, title, caption, cases, parts=parts, is_table=is_table, table=table, draw=draw, text=text
            )
            self._figures[name] = found
            return found

        return register

    def claim(
        self,
        name: str,
        *,
        figure: str,
        statement: str,
        paper: str,
        remark: str = "",
        first: Revision[E] | None = None,
        fact: Callable[[E], Fact | None] | None = None,
    ) -> Callable[[Rule[E]], Rule[E]]:
        """Registers a rule as that of a claim of this study.

        Args:
            name: a letter and a number, `C7`; claims are listed by their numbers.
            figure: figure or section of the paper.
            statement: the statement of the paper.
            paper: the paper's value as the rule interprets it.
            remark: why the claim differs at the paper's scale, as far as it is known, in Markdown.
            first: the rule before its revision, if it was revised; the page shows both.
            fact: finds a fact why the claim cannot hold. It is called if the claim differs or was not run.
        """

        def register(rule: Rule[E]) -> Rule[E]:
            if name in self._claims:
                raise ValueError(f"study {self.name}: two claims {name!r}")
            self._claims[name] = Claim(name, figure, statement, paper, rule, remark, first, fact)
            return rule

        return register

    def cost_model(self, function: C) -> C:
        """Registers a function as the cost model of this study."""
        self._costs[:] = [function]
        return function

    def consists_of(self, *groups: ModuleType) -> None:
        """Lists the modules that hold figures, claims and the cost model; the page shows figures in this order."""
        places = {group.__name__: i for i, group in enumerate(groups)}
        homes = {f"figure {name}": _home(figure.cases) for name, figure in self._figures.items()}
        homes |= {f"claim {name}": _home(claim.check) for name, claim in self._claims.items()}
        if self.cost:
            homes["the cost model"] = _home(self.cost)
        for what, home in homes.items():
            if home not in places:
                raise ValueError(f"study {self.name}: {what} is in {home}, which is not listed")
        for unused in places.keys() - homes.values():
            raise ValueError(f"study {self.name}: no figure, claim or cost model in {unused}")
        figures = sorted(self._figures.items(), key=lambda item: places[_home(item[1].cases)])
        self._figures.clear()
        self._figures.update(figures)

    @property
    def source(self) -> str:
        """The paper, with all its authors, or the question."""
        return str(self.paper)

    @property
    def figures(self) -> Mapping[str, Figure[S]]:
        """All figures by their names, in the order of the page."""
        return self._figures

    @property
    def claims(self) -> list[Claim[E]]:
        """All claims, by their numbers."""
        return sorted(self._claims.values(), key=lambda claim: _parts(claim.id))

    @property
    def remarks(self) -> Mapping[str, str]:
        """For each claim, why it differs at the paper's scale."""
        return {claim.id: claim.remark for claim in self.claims if claim.remark}

    @property
    def cost(self) -> CostModel | None:
        """The cost model of the mechanisms, if the study has one."""
        return self._costs[0] if self._costs else None

    def judge(self, tables: Tables, setting: S) -> list[Finding]:
        """All claims judged under each reading in turn."""
        return [each.finding for each in self.judged(tables, setting)]

    def judged(self, tables: Tables, setting: S) -> list[Judged[E]]:
        """All claims judged under each reading in turn, with the deciding checks."""
        if not self.readings:
            evidence = self.evidence(tables, setting)
            return [judged(claim, evidence) for claim in self.claims]
        found = []
        for reading in self.readings:
            evidence = self.evidence(reading.of(tables), setting)
            for claim in self.claims:
                one = judged(claim, evidence)
                found.append(replace(one, finding=replace(one.finding, reading=reading.name)))
        return found

    def named_tables(self, names: Sequence[str]) -> list[str]:
        """Names of the paper's tables; all of them for `all`."""
        known = {name.removeprefix("table"): name for name, figure in self.figures.items() if figure.is_table}
        for name in names:
            if name not in (*known, ALL):
                expected = f"expected one of {', '.join([*known, ALL])}" if known else "this study has no tables"
                raise InputError(f"--table {name}: {expected}")
        return list(known.values()) if ALL in names else [known[name] for name in names]

    def choose(self, names: Sequence[str]) -> list[Figure[S]]:
        """The figures with these names; all of them without names or for `all`."""
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


def _home(function: Callable[..., Any]) -> str:
    """The module of a function."""
    return getattr(function, "__module__", "")


def _parts(name: str) -> tuple[str | int, ...]:
    """The letters and numbers of a claim's name, so that C10 comes after C9."""
    return tuple(int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name))


AnyStudy = Study[Any, Any]
"""A study whose types are unknown."""
