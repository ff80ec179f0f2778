"""Curves of mean lifetimes on the torus of the OutFlank paper, and the largest loads that they sustain."""

from dataclasses import dataclass
from typing import Any

import polars as pl

from phit.peers.outflank_author import CUT, FIRST, ROUTINGS, STEP
from phit.studies.kit.claim import NotRunError
from phit.studies.kit.evidence import Curves
from phit.studies.kit.margin import Check, all_of, any_of, below, not_
from phit.studies.kit.uncertain import Value, least, nominal


@dataclass(frozen=True)
class Sustained:
    """The largest sustained load of a curve."""

    load: float
    """The load; 0 if even the first load is not sustained."""
    bounded: bool
    """False if the curve ends at this load: the true value may be larger."""


class Lifetimes(Curves):
    """A table of mean lifetimes, `lifetime_us`, by `pattern`, `routing`, `k` and `load`."""

    def __init__(self, table: pl.DataFrame, name: str) -> None:
        super().__init__(table, name)
        self._sustained: dict[tuple[str, str, int], list[tuple[float, Check]]] = {}

    def rows(self, **where: Any) -> pl.DataFrame:
        """The rows with these labels, by load; there must be at least one."""
        found = self._rows(**where)
        if found.is_empty():
            raise NotRunError(f"{self._name}: no run of {', '.join(str(value) for value in where.values())}")
        return found.sort("load")

    def last(self, rows: pl.DataFrame, good: pl.Series) -> Sustained:
        """The load before the first bad one of a curve; the two must be neighbours on the grid."""
        last = 0.0
        for load, keep in zip(rows["load"], good, strict=True):
            if not keep:
                if last and load - last > STEP + 1e-6:
                    raise NotRunError(f"{self._name}: no run between loads {last:g} and {load:g}")
                return Sustained(last, bounded=True)
            last = load
        return Sustained(last, bounded=False)

    def sustained(self, pattern: str, routing: str, k: int) -> float:
        """gamma* by `CUT`, for a curve that continues beyond it."""
        rows = self.rows(pattern=pattern, k=k, routing=routing)
        found = self.last(rows, rows["lifetime_us"] <= CUT * nominal(self.lowest(pattern, k)))
        if not found.bounded:
            raise NotRunError(f"{self._name}: {pattern}, k={k}, {routing} is still sustained at {found.load:g}")
        return found.load

    def lowest(self, pattern: str, k: int) -> Value:
        """The smallest low-load lifetime of the three routings."""
        return least(self.value("lifetime_us", pattern=pattern, k=k, routing=name, load=FIRST) for name in ROUTINGS)

    def _good(self, pattern: str, routing: str, k: int) -> list[tuple[float, Check]]:
        """Whether each load of a curve is sustained."""
        key = (pattern, routing, k)
        if key not in self._sustained:
            low = self.lowest(pattern, k)
            rows = self.rows(pattern=pattern, k=k, routing=routing)
            one = Lifetimes(rows, f"{self._name}, {pattern}, k={k}, {routing}")
            self._sustained[key] = [
                (load, below(one.value("lifetime_us", load=load), CUT * low)) for load in rows["load"].to_list()
            ]
        return self._sustained[key]

    def carries(self, pattern: str, routing: str, k: int, load: float) -> Check:
        """Check that gamma* by `CUT` is at least `load`: all tested loads up to it are sustained."""
        return all_of(check for of_one, check in self._good(pattern, routing, k) if of_one <= load + 1e-6)

    def sustains(self, pattern: str, routing: str, k: int, load: float) -> Check:
        """Check that gamma* by `CUT` is `load`: it is sustained, and the next load of the grid is not."""
        carries = self.carries(pattern, routing, k, load)
        return all_of([carries, not_(self.carries(pattern, routing, k, load + STEP))])

    def sustains_more(self, pattern: str, routing: str, other: str, k: int) -> Check:
        """Check that a routing has a larger gamma* by `CUT` than another: it alone sustains some load."""
        loads = self.loads(pattern=pattern, k=k, routing=routing)
        return any_of(
            all_of([self.carries(pattern, routing, k, load), not_(self.carries(pattern, other, k, load))])
            for load in loads
        )
