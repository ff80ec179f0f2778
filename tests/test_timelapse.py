"""Time-lapses: contents of frames, a self-contained picture, and the sources of frames."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import polars as pl
import pytest
from phit.drawing.timelapse import PALETTE, Row, Timelapse, holds, of_probes
from phit.store.frames import frame
from phit.store.quantities import TABLES

from .conftest import Cli, Write, tiny

SVG = "{http://www.w3.org/2000/svg}"


def rows(*entries: tuple[float, int, int, int, bool]) -> pl.DataFrame:
    return pl.DataFrame(entries, schema=["t", "router", "port", "phits", "marked"], orient="row")


PANEL = rows(
    (0.0, 0, 0, 128, False),
    (5.0, 0, 0, 64, True),
    (5.0, 1, 3, 65, False),
    (10.0, 1, 3, 1, False),
    (10.0, 1, 2, 0, True),
)


def frames(svg: str) -> dict[float, ET.Element]:
    groups = ET.fromstring(svg).iter(f"{SVG}g")
    return {float(group.attrib["data-t"]): group for group in groups if "data-t" in group.attrib}


def colours(frame: ET.Element) -> list[str]:
    return [path.attrib["stroke"] for path in frame.iter(f"{SVG}path") if path.get("class") == "l"]


def test_a_colour_is_twice_the_phits_of_the_one_before() -> None:
    shown = frames(Timelapse("ports", (), {"one": PANEL}, capacity=128).svg())
    assert list(shown) == [0.0, 5.0, 10.0]
    assert colours(shown[0.0]) == [PALETTE[7]]
    assert colours(shown[5.0]) == [PALETTE[6], PALETTE[7]], "64 is half of it, 65 more than that"
    assert colours(shown[10.0]) == [PALETTE[0]]


def test_ports_of_a_tree_are_framed_and_counted() -> None:
    shown = frames(Timelapse("ports", (), {"one": PANEL}, unit="µs", amount="bytes").svg())
    outlines = [[p.attrib["d"] for p in f.iter(f"{SVG}path") if p.get("class") == "t"] for f in shown.values()]
    assert [sum(d.count("z") for d in paths) for paths in outlines] == [0, 1, 1]
    said = ["".join(frame.itertext()) for frame in shown.values()]
    assert "t = 5 µs" in said[1]
    assert "129 bytes in all ports, 1 ports framed" in said[1]


def test_one_frame_is_seen_at_a_time_and_one_where_nothing_moves() -> None:
    lapse = Timelapse("ports", (), {"one": PANEL})
    svg = lapse.svg()
    delays = [float(d) for d in re.findall(r"animation-delay:(-?[\d.]+)s", svg)]
    assert delays == pytest.approx([-1.05, -0.7, -0.35])
    still = [t for t, frame in frames(svg).items() if "s" in frame.attrib["class"].split()]
    assert still == [lapse.still()] == [5.0]
    assert list(frames(lapse.svg(10.0))) == [10.0]
    assert "animation" not in lapse.svg(10.0)


def test_the_picture_stands_alone_and_says_what_is_told() -> None:
    title = "1 < 2 & 3"
    svg = Timelapse(
        title, ("a note",), {"<one>": PANEL}, rows=[Row("all", range(2))], busy=(2.0, 99.0), cause="why"
    ).svg()
    text = "".join(ET.fromstring(svg).itertext())
    assert all(said in text for said in (title, "a note", "<one>", "all", "why", "Time (cycles)"))
    assert not re.search(r"<script|href|url\(", svg)


def test_what_has_one_frame_or_holds_nothing_is_drawn() -> None:
    assert list(frames(Timelapse("t", (), {"a": rows((3.0, 0, 0, 0, False))}).svg())) == [3.0]


def probes(*entries: dict[str, object]) -> pl.DataFrame:
    columns = {column.name for column in TABLES["probes"].columns}
    assert all(entry.keys() <= columns for entry in entries)
    rows = {name: [entry.get(name) for entry in entries] for name in columns}
    return frame("probes", rows).with_columns(point=pl.lit("0123456789"))


def line(side: str, router: int, cycle: int, phits: int, hops: int, destinations: list[int]) -> dict[str, object]:
    where = {"router": router, "port": 1 - router, "vc": 0, "side": side, "line": 0, "hops": hops, "stopped": False}
    return {
        "probe": "trees", "quantity": "line phits", "cycle": cycle, "max": phits, "destinations": destinations, **where
    }  # fmt: skip


def test_frames_come_from_the_probes() -> None:
    lapse = of_probes(
        probes(
            {"probe": "ports", "quantity": "port phits", "cycle": 10, "router": 0, "port": 1, "max": 64},
            line("input", 0, 10, 64, 2, [3, 32]),
            line("input", 1, 20, 0, 1, [332]),
            line("output", 1, 20, 0, 1, [32]),
        )
    )
    assert lapse is not None
    found = lapse.panels["01234567"]
    assert found.select("t", "router", "port", "phits", "trees", "hops", "marked").rows() == [
        (10.0, 0, 1, 64, "3,32", 2, True),
        (20.0, 1, 0, 0, "332", 1, True),
    ]
    assert found.select(holds(32)).to_series().to_list() == [True, False]
    assert of_probes(probes({"probe": "queueing", "quantity": "cam on", "cycle": 10, "max": 1})) is None


def test_plot_draws_it_for_any_scenario_with_the_probe(cli: Cli, write: Write, tmp_path: Path) -> None:
    scenario = tiny(measure__probes=[{"kind": "ports", "every": 100}])
    assert cli("run", write(scenario), "--out", tmp_path / "r")[0] == 0
    status, out, err = cli("plot", tmp_path / "r")
    assert status == 0, err
    assert "timelapse.svg" in out
    assert len(frames((tmp_path / "r" / "plots" / "timelapse.svg").read_text())) == 6
    assert (tmp_path / "r" / "plots" / "timelapse.png").read_bytes().startswith(b"\x89PNG")
    assert "<script>" in (tmp_path / "r" / "plots" / "timelapse.html").read_text()
