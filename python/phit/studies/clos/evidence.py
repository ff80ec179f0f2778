"""What the rules of the claims look at."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from phit.studies.clos.setting import Setting
from phit.studies.kit.claim import NotRunError
from phit.studies.kit.evidence import Curves


@dataclass(frozen=True)
class Evidence:
    """The tables of all figures, and the setting that they were run in."""

    tables: Mapping[str, pl.DataFrame]
    setting: Setting

    def table(self, figure: str) -> pl.DataFrame:
        """The table of a figure."""
        found = self.tables.get(figure, pl.DataFrame())
        if found.is_empty():
            raise NotRunError(f"figure {figure} was not run")
        return found

    def curves(self, figure: str, **where: Any) -> Curves:
        """The steady states of a figure, or of a panel of it."""
        rows = self.table(figure)
        for key, value in where.items():
            rows = rows.filter(pl.col(key) == value) if key in rows.columns else rows.head(0)
        words = "".join(f", {key} {value}" for key, value in where.items())
        return Curves(rows, f"figure {figure}{words}")

    def saturation(self, figure: str, **where: Any) -> float:
        """The highest offered load of a curve below its first saturated one."""
        curves = self.curves(figure)
        loads = curves.loads(**where)
        calm = 0.0
        for load in loads:
            if curves.saturated(**where, load=load):
                if not calm:
                    raise NotRunError(f"figure {figure}: saturated at its lowest load")
                return calm
            calm = load
        return calm
