"""Evidence for rules of claims: the tables of all figures, queried one value at a time.

A query for a missing run raises `NotRunError`, and a query for a latency beyond saturation raises `SaturatedError`, so
rules need not check either.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Generic, overload

import polars as pl

from phit.studies.kit import uncertain
from phit.studies.kit.claim import NotRunError, SaturatedError
from phit.studies.kit.scale import S
from phit.studies.kit.tables import EACH, HALF, RUNS, SEEDS
from phit.studies.kit.uncertain import Source, Value, greatest, jackknife, nominal, over_seeds

Tables = Mapping[str, pl.DataFrame]
"""The table of every figure, by name; empty if none of its runs exists."""


class Curves:
    """A table of steady states, queried one value at a time; `where` selects rows by their labels."""

    def __init__(self, table: pl.DataFrame, name: str) -> None:
        """`name` is the name of the table in messages, such as `figure 5b`."""
        self._table = table
        self._name = name
        self._by: dict[tuple[str, ...], dict[tuple[Any, ...], list[int]]] = {}
        self._found: dict[int, dict[str, Any]] = {}

    def _numbers(self, where: Mapping[str, Any]) -> Sequence[int]:
        """Numbers of the rows with these labels, from an index, because rules query thousands of times."""
        if self._table.is_empty():
            raise NotRunError(f"{self._name} was not run")
        unknown = [key for key in where if key not in self._table.columns]
        if unknown:
            raise NotRunError(f"{self._name} has no {', '.join(unknown)}")
        if not where:
            return range(self._table.height)
        by = self._by.setdefault(tuple(where), {})
        if not by:
            columns = [self._table[key].to_list() for key in where]
            for number, labels in enumerate(zip(*columns, strict=True)):
                by.setdefault(labels, []).append(number)
        wanted = tuple(where.values())
        if None not in wanted and wanted in by:
            return by[wanted]
        return [n for labels, numbers in by.items() if all(map(_is, labels, wanted)) for n in numbers]

    def _rows(self, **where: Any) -> pl.DataFrame:
        return self._table[self._numbers(where)]

    def _row(self, **where: Any) -> dict[str, Any]:
        numbers = self._numbers(where)
        if not numbers:
            raise NotRunError(f"{self._name}: no run of {_words(where)}")
        if len(numbers) > 1:
            raise ValueError(f"{self._name}: {len(numbers)} rows for {_words(where)}")
        if numbers[0] not in self._found:
            self._found[numbers[0]] = self._table.row(numbers[0], named=True)
        return self._found[numbers[0]]

    def loads(self, **where: Any) -> list[float]:
        """Offered loads of a curve."""
        rows = self._rows(**where)
        if rows.is_empty():
            raise NotRunError(f"{self._name}: no run of {_words(where)}")
        return [float(load) for load in rows["load"].unique().sort()]

    def values(self, column: str, **where: Any) -> list[Any]:
        """The values of a label."""
        rows = self._rows(**where)
        if column not in rows.columns:
            raise NotRunError(f"{self._name} has no {column}")
        return rows[column].unique().sort().to_list()

    def value(self, column: str, **where: Any) -> Value:
        """A quantity of the only row with these labels, with its error if the table has one."""
        row = self._row(**where)
        if row.get(column) is None:
            raise NotRunError(f"{self._name}: no {column} at {_words(where)}")
        return uncertain.measured(row[column], row.get(f"{column}{HALF}"), self.source(column, **where))

    def source(self, column: str, **where: Any) -> Source:
        """The runs of the only row with these labels, for a value computed from them."""
        return Source(tuple(self._row(**where).get(RUNS) or ()), f"{self._name}, {_words(where)}", column)

    def latency(self, **where: Any) -> Value:
        """Mean packet latency in cycles of a run that is not saturated."""
        if self.saturated(**where):
            raise SaturatedError(f"{self._name}: saturated at {_words(where)}")
        if self._row(**where)["latency_mean"] is None:
            raise NotRunError(f"{self._name}: no packet was delivered at {_words(where)}")
        return self.value("latency_mean", **where)

    def latency_ratios(self, upper: str, lower: str, loads: Sequence[float]) -> list[Value]:
        """Ratios of the mean latencies of two mechanisms, at each load."""
        return [self.latency(mechanism=upper, load=load) / self.latency(mechanism=lower, load=load) for load in loads]

    def accepted(self, **where: Any) -> Value:
        """Accepted load in phits/(endpoint·cycle)."""
        return self.value("accepted_load", **where)

    def saturated(self, **where: Any) -> bool:
        """True if the run accepts less than the offered load."""
        return bool(self._row(**where)["saturated"])

    def top(self, **where: Any) -> tuple[float, Value]:
        """The highest offered load of a curve, and the accepted load there."""
        load = self.loads(**where)[-1]
        return load, self.accepted(**where, load=load)

    def peak(self, **where: Any) -> Value:
        """The largest accepted load of a curve."""
        return greatest(self.accepted(**where, load=load) for load in self.loads(**where))

    def saturation(self, **where: Any) -> Value:
        """The largest accepted load of a curve that continues into saturation."""
        load = self.loads(**where)[-1]
        if not self.saturated(**where, load=load):
            raise NotRunError(f"{self._name}: {_words(where)} is not saturated at its highest load {load:g}")
        return self.peak(**where)


Series = tuple[list[float], list[float]]
"""Cycles from the change (the start of each bin), and values."""


class Responses:
    """A table of transients, queried one mechanism at a time."""

    def __init__(self, table: pl.DataFrame, name: str) -> None:
        """`name` is the name of the table in messages, such as `figure 7`."""
        self._table = table
        self._name = name

    def _rows(self, mechanism: str, column: str) -> pl.DataFrame:
        if self._table.is_empty():
            raise NotRunError(f"{self._name} was not run")
        rows = self._table.filter(pl.col("mechanism") == mechanism).sort("t").drop_nulls(column)
        if rows.is_empty():
            raise NotRunError(f"{self._name}: no run of {mechanism}")
        return rows

    def series(self, mechanism: str, column: str = "latency_mean") -> Series:
        """The mean over seeds in every bin."""
        rows = self._rows(mechanism, column)
        return rows["t"].to_list(), rows[column].to_list()

    def by_seed(self, mechanism: str, column: str = "latency_mean") -> list[Series]:
        """The series of each seed, for values that are no means over bins: see `uncertain.jackknife`."""
        rows = self._rows(mechanism, column)
        found: dict[int, Series] = {}
        for t, seeds, values in rows.select("t", SEEDS, f"{column}{EACH}").iter_rows():
            for seed, value in zip(seeds, values, strict=True):
                if value is not None:
                    times, of_one = found.setdefault(seed, ([], []))
                    times.append(t)
                    of_one.append(value)
        return [found[seed] for seed in sorted(found)]

    @overload
    def of_mean(
        self,
        function: Callable[[Sequence[float], Sequence[float]], float],
        mechanism: str,
        column: str = ...,
        *,
        what: str = ...,
        resolution: float = ...,
    ) -> Value: ...

    @overload
    def of_mean(
        self,
        function: Callable[[Sequence[float], Sequence[float]], float | None],
        mechanism: str,
        column: str = ...,
        *,
        what: str = ...,
        resolution: float = ...,
    ) -> Value | None: ...

    def of_mean(
        self,
        function: Callable[[Sequence[float], Sequence[float]], float | None],
        mechanism: str,
        column: str = "latency_mean",
        *,
        what: str = "",
        resolution: float = 0.0,
    ) -> Value | None:
        """A number computed from the mean series over seeds, with its jackknife error.

        Args:
            function: computes the number from times and values, or `None`; see the requirements of
                `uncertain.jackknife`.
            mechanism: the mechanism of the series.
            column: the quantity.
            what: distinguishes numbers of one column.
            resolution: steps in which the function varies.
        """
        source = self.source(mechanism, column, what)
        of_seeds = self.by_seed(mechanism, column)
        return jackknife(lambda some: function(*_mean_series(some)), of_seeds, source, resolution=resolution)

    def source(self, mechanism: str, column: str = "latency_mean", what: str = "") -> Source:
        """The runs of a mechanism, for a value computed from them; `what` distinguishes values of one column."""
        rows = self._rows(mechanism, column)
        runs = sorted({run for of_bin in rows[RUNS] for run in of_bin}) if RUNS in rows.columns else []
        return Source(tuple(runs), f"{self._name}, {mechanism}", f"{column} {what}".strip())

    def mean(self, mechanism: str, begin: float, end: float, column: str = "latency_mean") -> Value:
        """Mean over the bins that start in `begin..end` cycles from the change.

        The bins of one run are not independent. So the error is computed from one mean per seed over the whole window;
        the error of a single run is unknown.
        """
        chosen = _within(self.series(mechanism, column), begin, end)
        if not chosen:
            raise NotRunError(f"{self._name}: no bin of {mechanism} in {begin} to {end} cycles")
        source = self.source(mechanism, column, f"{begin} to {end}")
        each = [fmean(values) for series in self.by_seed(mechanism, column) if (values := _within(series, begin, end))]
        return over_seeds(each, source)


def _mean_series(of_seeds: Sequence[Series]) -> Series:
    """The mean over seeds in every bin that any seed has."""
    found: dict[float, list[float]] = {}
    for times, values in of_seeds:
        for t, value in zip(times, values, strict=True):
            found.setdefault(t, []).append(value)
    return sorted(found), [fmean(found[t]) for t in sorted(found)]


def _within(series: Series, begin: float, end: float) -> list[float]:
    return [value for t, value in zip(*series, strict=True) if begin <= t < end]


@dataclass(frozen=True)
class Evidence(Generic[S]):
    """The tables of all figures, and the setting that they were run in.

    A study whose rules need more extends this class.
    """

    tables: Tables
    setting: S

    def rows(self, figure: str, **where: Any) -> pl.DataFrame:
        """The rows of a figure with these labels; an empty table if the figure was not run."""
        found = self.tables.get(figure, pl.DataFrame())
        for key, value in where.items():
            found = found.filter(pl.col(key) == value) if key in found.columns else found.head(0)
        return found

    def table(self, figure: str) -> pl.DataFrame:
        """The table of a figure that must have been run."""
        found = self.rows(figure)
        if found.is_empty():
            raise NotRunError(f"figure {figure} was not run")
        return found

    def curves(self, figure: str, **where: Any) -> Curves:
        """The steady states of a figure, or of a panel of it."""
        return Curves(self.rows(figure, **where), self.name(figure, **where))

    def responses(self, figure: str, **where: Any) -> Responses:
        """The transients of a figure, or of a panel of it."""
        return Responses(self.rows(figure, **where), self.name(figure, **where))

    def name(self, figure: str, **where: Any) -> str:
        """The name of a figure's rows in messages. A figure that was not run has no panels."""
        panel = where if self.rows(figure).height else {}
        return f"figure {figure}" + "".join(f", {key} {value}" for key, value in panel.items())


def _is(label: Any, value: Any) -> bool:
    """Whether a label has the requested value. Loads are computed, so they may differ in their last digits."""
    return label is not None and (abs(label - value) < 1e-9 if isinstance(value, float) else bool(label == value))


def _words(where: Mapping[str, Any]) -> str:
    return ", ".join(f"{value:g}" if isinstance(value, float) else f"{value}" for value in where.values())


def span(values: Iterable[Value | float], pattern: str = "{:.3g}") -> str:
    """The smallest and the largest value: `1.2 to 3.4`."""
    found = [nominal(value) for value in values]
    low, high = pattern.format(min(found)), pattern.format(max(found))
    return low if low == high else f"{low} to {high}"


def percent(ratios: Iterable[Value | float]) -> str:
    """The range of ratios as differences from 1 in percent: `-0.1 to +2.3 %`."""
    return f"{span([100 * (nominal(ratio) - 1) for ratio in ratios], '{:+.1f}')} %"
