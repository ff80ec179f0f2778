"""What the rules of the claims look at."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from phit.studies.kit.claim import NotRunError
from phit.studies.kit.evidence import Curves as Steady
from phit.studies.tpr.setting import Setting

LOW = 0.2
"""Low load: at most this share of a mechanism's saturation throughput."""


BEHIND = 0.99
"""Who accepts less than this share of the offered load is beyond what it carries: noise is a third of that."""


class Curves(Steady):
    """Steady states of one pattern, by mechanism."""

    def throughput(self, mechanism: str) -> float:
        """Accepted load at the highest offered load, of a curve that falls behind the offered load there."""
        load, accepted = self.top(mechanism=mechanism)
        if accepted > BEHIND * load:
            raise NotRunError(f"{self._name}: {mechanism} carries its highest load {load:g}")
        return accepted

    def nonminimal(self, **where: Any) -> float:
        """Share of packets sent over Valiant routes."""
        return float(self._row(**where)["misrouted_globally"])

    def calm(self, *mechanisms: str) -> list[float]:
        """Loads that all of these mechanisms have run at and carry."""
        of_each = [
            {load for load in self.loads(mechanism=name) if not self.saturated(mechanism=name, load=load)}
            for name in mechanisms
        ]
        loads = sorted(set.intersection(*of_each))
        if not loads:
            raise NotRunError(f"{self._name}: no load that {' and '.join(mechanisms)} carry")
        return loads

    def low(self, mechanism: str) -> list[float]:
        """Low loads of a mechanism."""
        limit = LOW * self.throughput(mechanism)
        loads = [load for load in self.loads(mechanism=mechanism) if load <= limit + 1e-9]
        if not loads:
            raise NotRunError(f"{self._name}: no load of {mechanism} up to {limit:.3f}")
        return loads


@dataclass(frozen=True)
class Evidence:
    """The tables of all figures, and the setting that they were run in."""

    tables: Mapping[str, pl.DataFrame]
    setting: Setting

    def curves(self, figure: str) -> Curves:
        """A figure of steady states."""
        return Curves(self.tables.get(figure, pl.DataFrame()), f"figure {figure}")

    def counter(self, table: str, column: str, pattern: str, load: float) -> float:
        """A mean counter of tables I and II."""
        found = self.tables.get(table, pl.DataFrame())
        if found.is_empty():
            raise NotRunError(f"table {table} was not run")
        rows = found.filter(pl.col("pattern") == pattern, (pl.col("load") - load).abs() < 1e-9)
        if rows.height != 1 or rows[column].item() is None:
            raise NotRunError(f"table {table}: no run of {pattern} at {load:g}")
        return float(rows[column].item())
