"""The Python interface: results and plots."""

import json
from pathlib import Path
from typing import Any

import phit
import polars as pl
import pytest
from phit import _phit
from phit.base.times import readable_time
from phit.document.inlining import to_json
from phit.drawing import plots
from phit.drawing.report import Folder, write_figures
from phit.store.result import Result

from .conftest import tiny


def test_a_result_is_a_mapping_with_attributes_and_tables() -> None:
    told: list[tuple[int, int]] = []
    result = phit.run(tiny(measure__histogram=True), progress=lambda done, planned: told.append((done, planned)))
    assert result["latency_mean"] == result.latency_mean == result.summary["latency_mean"]
    assert set(result) == set(result.summary)
    assert result.scenario == phit.complete(tiny(measure__histogram=True))
    assert result.tables["histogram"].columns[:2] == ["latency", "packets"]
    assert result.tables["histogram"]["packets"].sum() == result.packets
    assert "accepted load" in repr(result)
    assert "<table>" in result._repr_html_()
    assert all(0 <= done <= planned for done, planned in told)
    with pytest.raises(AttributeError, match="latency_men"):
        getattr(result, "latency_men")  # noqa: B009


def test_tables_are_read_when_they_are_asked_for() -> None:
    text = _phit.run(to_json(tiny(measure__histogram=True, measure__endpoints=True, measure__links=True)))
    answer = json.loads(text)
    result = Result.of_answer(text)
    assert result.summary == answer["summary"]
    assert "_columns" not in vars(result)
    assert result.with_tables()["tables"] == result.answer()["tables"] == answer["tables"]
    assert set(result.tables) == {"batches", "histogram", "endpoints", "links"}
    for name, columns in answer["tables"].items():
        assert result.tables[name].to_dict(as_series=False) == columns
    # As other processes write it.
    assert Result.of_answer(json.dumps(answer)).answer() == answer
    for strange in ("", "null", text[1:], text.replace('"tables"', '"table"', 1)):
        with pytest.raises(ValueError, match=r"the engine.s answer|Expecting"):
            Result.of_answer(strange)


def test_every_name_is_there_when_it_is_asked_for_and_listed_before() -> None:
    assert set(phit.__all__) <= set(dir(phit))
    assert all(getattr(phit, name).__doc__ for name in phit.__all__)
    with pytest.raises(AttributeError, match="module 'phit' has no attribute 'sweeps'"):
        getattr(phit, "sweeps")  # noqa: B009


def test_names_of_the_catalogue_and_the_schema_agree() -> None:
    assert {"topology", "routing", "queueing", "pattern", "process"} <= phit.catalogue().keys()
    assert {"seed", "topology", "traffic"} <= phit.schema()["properties"].keys()


def test_every_plot_of_a_folder_is_drawn(tmp_path: Path) -> None:
    asked = {"series": {"by": "generation", "bin": 50}, "histogram": True, "links": True, "warmup": 200, "cycles": 600}
    sweep = {"seeds": 2, "product": {"traffic.load": [0.1, 0.3]}}
    phit.sweep({**tiny(measure=asked), "sweep": sweep}, tmp_path / "r", workers=1)
    written = {path.name for path in write_figures(Folder.read(tmp_path / "r"), formats=["png"])}
    assert {"latency.png", "throughput.png", "histogram.png", "time_series.png", "links.png"} <= written
    assert all((tmp_path / "r" / "plots" / name).read_bytes().startswith(b"\x89PNG") for name in written)


def test_an_interactive_plot_needs_no_network(tmp_path: Path) -> None:
    points = phit.sweep(tiny() | {"sweep": {"product": {"traffic.load": [0.1, 0.2]}}}, workers=1)
    (page,) = plots.save(plots.load_curves(points), tmp_path / "page", ["html"])
    assert "<script src=" not in page.read_text()


def drawn(rows: list[tuple[float, float, float, bool]]) -> pl.DataFrame:
    schema = ["offered_load", "accepted_load", "latency_mean", "saturated"]
    return plots.series_of(pl.DataFrame(rows, schema=schema, orient="row"), [], {})


def test_seeds_become_a_mean_with_students_interval() -> None:
    points = drawn([(0.1, 0.1, 100.0, False), (0.1, 0.1, 104.0, False), (0.1, 0.1, 102.0, False)])
    (row,) = plots.curves(points, "latency_mean").to_dicts()
    assert row["y"] == 102
    # Standard deviation 2, t of two degrees of freedom 4.303.
    assert row["half"] == pytest.approx(4.303 * 2 / 3**0.5)


def test_a_latency_axis_ends_above_saturation() -> None:
    points = drawn([(0.1, 0.1, 100.0, False), (0.5, 0.5, 200.0, False), (0.9, 0.6, 9000.0, True)])
    rows = plots.curves(points, "latency_mean")
    limit = plots.latency_limit(rows)
    assert 200 < limit < 1000
    (crossing,) = plots.crossings(rows, limit).to_dicts()
    assert crossing["x"] == pytest.approx(0.5 + 0.4 * (limit - 200) / 8800)


def test_dask(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    with distributed.Client(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as client:
        experiment = tiny() | {"sweep": {"seeds": 2}}
        assert phit.sweep(experiment, tmp_path / "r", executor=client.get_executor()).height == 2


def test_headlines_have_times_where_a_cycle_has_a_length() -> None:
    scenario: dict[str, Any] = {
        "topology": {"kind": "single", "endpoints": 4},
        "router": {"links": {"default": {"latency": "200 ns", "bandwidth": "20 Gb/s", "buffer": "4 KiB"}}},
        "traffic": {"load": 0.1, "packet_size": "512 B"},
        "measure": {"warmup": 0, "cycles": "10 us"},
    }
    result = phit.run(scenario)
    rows = {name: (value, unit) for name, value, unit in result.headlines()}
    assert rows["length of a cycle"] == ("1.6", "ns")
    assert rows["measured time"] == ("6,250", "cycles (10 µs)")
    nanoseconds = 1.6 * result["latency_mean"]
    assert rows["mean packet latency"][1].startswith(f"cycles ({nanoseconds:.4g} ns)")
    assert "length of a cycle" in repr(result)
    # Numbers of cycles alone say nothing of their length.
    scenario["router"]["links"]["default"] = {"latency": 1}
    scenario["traffic"]["packet_size"] = 8
    scenario["measure"]["cycles"] = 100
    rows = {name: (value, unit) for name, value, unit in phit.run(scenario).headlines()}
    assert "length of a cycle" not in rows
    assert rows["mean packet latency"][1].startswith("cycles; no interval: ")


def test_times_are_shown_in_a_unit_of_their_size() -> None:
    shown = [readable_time(seconds) for seconds in (0.0, 1.6e-9, 9.99996e-7, 1.255e-4, 0.0156, 2.5)]
    assert shown == ["0 ns", "1.6 ns", "1 µs", "125.5 µs", "15.6 ms", "2.5 s"]


def test_a_text_in_a_plot_does_not_end_the_script_of_its_page(tmp_path: Path) -> None:
    points = pl.DataFrame({"traffic.load": [0.1, 0.2], "latency_mean": [10.0, 11.0], "saturated": [False, False]})
    chart = plots.load_curves(points, "latency_mean", ["traffic.load"], {"title": "</script><b>bold</b>"})
    (page,) = plots.save(chart, tmp_path / "plot", ["html"])
    text = page.read_text(encoding="utf-8")
    assert "bold" in text
    assert "</script><b>" not in text
