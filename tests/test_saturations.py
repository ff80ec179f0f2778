"""The saturation of the curves of an experiment."""

import json
from pathlib import Path
from typing import Any

import phit
import polars as pl
import pytest
from phit.drawing.saturations import bars
from phit.running.saturation import Rule

from .conftest import Cli, Write, tiny

RULE = Rule(first=0.1, last=0.7, tolerance=0.2)
LOADS = ("--from", 0.1, "--to", 0.7, "--tolerance", 0.2)


def curves(**changes: Any) -> dict[str, Any]:
    document = tiny(measure__warmup=400, measure__cycles=1500, **changes)
    patterns = ["uniform", {"kind": "adversarial", "offset": 1}]
    product = {"traffic.pattern": patterns, "routing.kind": ["minimal", "valiant"], "traffic.load": [0.1, 0.9]}
    return document | {"sweep": {"name": "curves", "product": product}}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pl.DataFrame]:
    folder = tmp_path_factory.mktemp("saturations") / "r"
    return folder, phit.saturations(curves(), folder, rule=RULE, workers=1)


def test_every_curve_has_the_saturation_of_its_scenario(found: tuple[Path, pl.DataFrame]) -> None:
    folder, table = found
    assert table.select("traffic.pattern", "routing.kind").rows() == [
        (pattern, routing) for pattern in ("uniform", "adversarial offset=1") for routing in ("minimal", "valiant")
    ]
    for row, routing in zip(
        table.filter(pl.col("traffic.pattern") == "uniform").iter_rows(named=True), ("minimal", "valiant"), strict=True
    ):
        alone = phit.saturate(
            tiny(measure__warmup=400, measure__cycles=1500, routing__kind=routing), first=0.1, last=0.7, tolerance=0.2
        )
        assert (row["sustained"], row["not sustained"]) == (alone.sustained, alone.saturated)
        assert row["loads"] == sum(trial.decided for trial in alone.trials)
    # One link for the eight endpoints of a group.
    minimal = table.row(
        by_predicate=(pl.col("traffic.pattern") != "uniform") & (pl.col("routing.kind") == "minimal"), named=True
    )
    assert minimal["sustained"] <= 1 / 8 < minimal["not sustained"]
    assert pl.read_parquet(folder / "saturation.parquet").equals(table)


def test_runs_that_are_kept_are_not_repeated(found: tuple[Path, pl.DataFrame], cli: Cli, write: Write) -> None:
    folder, table = found
    before = {path: path.stat().st_mtime_ns for path in (folder / "points").iterdir()}
    status, out, err = cli("saturate", write(curves()), *LOADS, "--out", folder, "--json", "--workers", 1)
    assert status == 0, err
    assert json.loads(out) == table.to_dicts()
    assert {path: path.stat().st_mtime_ns for path in (folder / "points").iterdir()} == before


def test_shards_of_curves_are_merged(found: tuple[Path, pl.DataFrame], tmp_path: Path) -> None:
    parts = [phit.saturations(curves(), tmp_path / f"{i}", rule=RULE, workers=1, shard=f"{i}/2") for i in (1, 2)]
    assert [part.height for part in parts] == [2, 2]
    assert phit.merge(tmp_path / "r", [tmp_path / "1", tmp_path / "2"]).missing == 0
    before = len(list((tmp_path / "r" / "points").iterdir()))
    assert phit.saturations(curves(), tmp_path / "r", rule=RULE, workers=1).equals(found[1])
    assert len(list((tmp_path / "r" / "points").iterdir())) == before


def test_a_load_counts_with_all_seeds(tmp_path: Path) -> None:
    document = curves()
    document["sweep"] = {"name": "seeds", "seeds": [5, 9], "product": {"traffic.load": [0.5]}}
    table = phit.saturations(document, tmp_path, rule=Rule(first=0.1, last=0.2), workers=1)
    assert table.columns == ["sustained", "not sustained", "latency_mean", "loads"]
    assert table.row(0)[:2] == (0.2, None)
    points = pl.read_parquet(tmp_path / "points.parquet")
    assert sorted(points.select("traffic.load", "seed").rows()) == [(0.1, 5), (0.1, 9), (0.2, 5), (0.2, 9)]
    assert table["latency_mean"].item() == points.filter(pl.col("traffic.load") == 0.2)["latency_mean"].max()


def test_what_cannot_be_looked_for_is_refused(cli: Cli, write: Write, tmp_path: Path) -> None:
    status, _, err = cli("saturate", write(curves()), *LOADS, "--plot")
    assert (status, err) == (
        2,
        "phit: error: --plot: expected --out DIR, the folder for the bars\n",
    )
    status, _, err = cli("saturate", write(curves()), "--from", 0.5, "--to", 0.2)
    assert (status, err.count("first (--from) = 0.5")) == (2, 1)
    with pytest.raises(phit.InputError, match="routing"):
        phit.saturations(curves() | {"sweep": {"product": {"routing.kind": ["minimal", "fast"]}}}, tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_bars_stand_along_the_key_with_most_values(found: tuple[Path, pl.DataFrame]) -> None:
    table = found[1]
    assert bars(table).to_dict()["encoding"]["xOffset"]["field"] == "curve"
    assert "xOffset" not in bars(table.head(1)).to_dict()["encoding"]
