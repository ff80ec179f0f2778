"""Files of charts: every format, any number of rows, and the tables behind curves."""

import csv
from pathlib import Path

import altair as alt
import phit
import polars as pl
import pytest
from phit.base.statistics import half_width
from phit.document.labels import label_of
from phit.drawing import plots, tracks
from phit.drawing.short import short_rows
from phit.running import progress

from .conftest import Cli, tiny


def test_charts_of_many_rows_are_written(tmp_path: Path) -> None:
    # More than altair takes by itself, and fewer bars than are drawn one by one.
    rows = 7_000
    table = pl.DataFrame(
        {
            "rank": [n % 4 for n in range(rows)],
            "cpu": [0] * rows,
            "state": ["calc" if n % 8 < 4 else "send" for n in range(rows)],
            "start": [n // 4 for n in range(rows)],
            "end": [n // 4 + 1 for n in range(rows)],
        }
    )
    assert alt.data_transformers.options.get("max_rows", 5000) == 5000
    (path,) = plots.save(tracks.of_tracks(table), tmp_path / "tracks", ("svg",))
    assert path.stat().st_size > rows
    # A user's setting is not changed.
    assert alt.data_transformers.options.get("max_rows", 5000) == 5000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sweep = {"product": {"routing.kind": ["minimal", "ugal_l"], "traffic.load": [0.1, 0.2]}, "seeds": 2}
    place = tmp_path_factory.mktemp("drawn") / "r"
    phit.sweep(tiny(measure__cycles=300) | {"sweep": {"name": "drawn"} | sweep}, place, workers=1)
    return place


def test_pictures_are_written_as_pdf(folder: Path, tmp_path: Path, cli: Cli) -> None:
    status, _, err = cli("plot", folder, "--y", "latency_mean", "--format", "pdf", "--out", tmp_path)
    assert status == 0, err
    assert (tmp_path / "latency_mean.pdf").read_bytes().startswith(b"%PDF")


def test_curves_are_written_as_tables(folder: Path, tmp_path: Path, cli: Cli) -> None:
    status, out, err = cli("plot", folder, "--format", "csv", "--out", tmp_path)
    assert status == 0, err
    assert sorted(Path(line).name for line in out.split()) == ["latency.csv", "throughput.csv"]
    rows = list(csv.DictReader((tmp_path / "latency.csv").read_text(encoding="utf-8").splitlines()))
    assert [(row["curve_number"], row["curve"], float(row["x"])) for row in rows] == [
        ("1", "minimal", 0.1),
        ("1", "minimal", 0.2),
        ("2", "UGAL-L", 0.1),
        ("2", "UGAL-L", 0.2),
    ]
    table = pl.read_parquet(folder / "points.parquet")
    own = table.filter(pl.col("routing") == "minimal", pl.col("traffic.load") == 0.1)["latency_mean"].to_list()
    assert float(rows[0]["mean"]) == pytest.approx(sum(own) / 2)
    assert float(rows[0]["half_width"]) == pytest.approx(half_width(own))
    assert float(rows[0]["high"]) - float(rows[0]["low"]) == pytest.approx(2 * float(rows[0]["half_width"]))
    assert rows[0]["runs"] == "2"


def test_a_mechanism_has_one_name_wherever_people_read(folder: Path, cli: Cli) -> None:
    headings, rows = short_rows(pl.read_parquet(folder / "points.parquet"), ["routing.kind", "traffic.load"])
    assert {row[headings.index("routing")] for row in rows} == {"minimal", "UGAL-L"}
    assert "ugal_l" not in cli("report", folder)[1]
    assert label_of("ugal_l threshold=3") == "UGAL-L threshold=3"
    assert label_of("graph of mine") == "graph of mine"


def test_whoever_waits_is_told_what_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "QUIET", 0.01)
    with progress.waiting("following routes") as tell:
        import time

        time.sleep(0.1)
        tell("something else")
        time.sleep(0.1)
    lines = capsys.readouterr().err.splitlines()
    assert any(line.startswith("following routes: ") for line in lines)
    assert any(line.startswith("something else: ") for line in lines)


def test_nobody_is_told_of_a_moment(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.waiting("following routes"):
        pass
    assert not capsys.readouterr().err
