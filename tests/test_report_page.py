"""The report as a page: one file, with its contents, limits and size."""

import base64
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import phit
import polars as pl
import pytest
from phit.base.errors import InputError
from phit.base.times import CYCLES, unit_of
from phit.document.happenings import happenings
from phit.document.labels import NAMES, label_of
from phit.drawing import plots, reporting
from phit.drawing.report import Folder
from phit.drawing.reporting.saturation import curve_of
from phit.drawing.reporting.sections import claims, series, timelapse, workload
from phit.drawing.reporting.sections.points import BINS, binned
from phit.drawing.tracks import PARTS

from .conftest import Cli, Write, tiny
from .hostile import small


class Page(HTMLParser):
    """The elements of a page with their attributes, its words, and the data of its sections."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self._within = ""
        self._data = ""
        self.feed(text)
        self.data: dict[str, Any] = json.loads(self._data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._within = "data" if dict(attrs).get("id") == "data" else tag

    def handle_data(self, data: str) -> None:
        if self._within == "data":
            self._data += data
        elif self._within not in ("script", "style"):
            self.words += data

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002
        self._within = ""


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two curves of two seeds, one of them saturated at its second load, with all tables."""
    folder = tmp_path_factory.mktemp("swept") / "r"
    document = tiny(
        measure__histogram=True,
        measure__links=True,
        measure__series={"by": "window", "bin": 100},
        traffic__pattern={"kind": "adversarial", "offset": 1},
    )
    sweep = {"seeds": 2, "product": {"routing.kind": ["minimal", "valiant"], "traffic.load": [0.05, 0.3]}}
    phit.sweep(document | {"sweep": {"name": "two curves", **sweep}}, folder, workers=1)
    return folder


@pytest.fixture(scope="module")
def page(swept: Path) -> Page:
    return Page(reporting.html(reporting.Source.read(swept)))


def test_the_page_is_one_file_that_may_load_nothing(page: Page) -> None:
    for tag, attributes in page.elements:
        assert tag not in ("link", "iframe", "object", "embed", "base")
        assert all(re.match(r"#|data:", attributes.get(name) or "#") for name in ("src", "href"))
        assert not [name for name in attributes if name.startswith("on")], "handlers stand in the script alone"
    (policy,) = [a["content"] or "" for tag, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert re.search(r"script-src 'sha256-[\w+/=]{44}' 'unsafe-eval';", policy), "one script, by its digest"


def test_every_point_is_there_with_its_numbers(page: Page, swept: Path) -> None:
    data = page.data["points"]["data"]
    points = Folder.read(swept).points
    assert len(data["rows"]) == points.height == 8
    names = [column["name"] for column in data["columns"]]
    assert names[:3] == ["routing", "load", "seed"]
    column = names.index("latency")
    assert [row[column] for row in data["rows"]] == pytest.approx(points["latency_mean"].to_list(), rel=1e-5)
    units = {column["name"]: column["unit"] for column in data["columns"]}
    assert (units["latency"], units["load"]) == ("cycles", "phits/(endpoint·cycle)")


def test_a_point_of_a_curve_leads_to_its_runs(page: Page, swept: Path) -> None:
    charts = page.data["curves"]["charts"]
    assert set(charts) == {"latency_mean-0", "accepted_load-0"}
    points = Folder.read(swept).points
    rows = [row for rows in charts["accepted_load-0"]["datasets"].values() for row in rows if "points" in row]
    assert len(rows) == 4
    for row in rows:
        own = points[[int(at) for at in row["points"].split()]]
        assert own["seed"].to_list() == [1, 2]
        assert own["accepted_load"].mean() == pytest.approx(row["y"])
        assert own["traffic.load"].unique().to_list() == [row["x"]]


def test_scenarios_are_what_points_share_and_by_what_they_differ(page: Page, swept: Path) -> None:
    data = page.data["points"]["data"]
    source = reporting.Source.read(swept)
    for at, scenario in enumerate(source.scenarios):
        assert data["differences"][at]["routing.kind"] == scenario["routing"]["kind"]
        assert data["differences"][at]["seed"] == scenario["seed"]
        assert data["common"]["topology"]["kind"] == "dragonfly"
        assert "load" not in data["common"]["traffic"]


def test_distributions_count_every_packet_but_the_last_thousandth() -> None:
    rows = pl.DataFrame({"latency": [10, 11, 57, 300, 9000], "packets": [5, 5, 9984, 5, 1]})
    found = binned(rows.with_columns(at=7))[7]
    assert found["total"] == 10000
    assert sum(found["packets"]) == 9994
    assert (found["first"], found["width"], len(found["packets"])) == (10, 1, 48)
    assert found["packets"][:2] + found["packets"][-1:] == [5, 5, 9984]
    flat = pl.DataFrame({"latency": list(range(1000)), "packets": [1] * 1000, "at": 0})
    both = binned(pl.concat([flat, pl.DataFrame({"latency": [7], "packets": [2], "at": 3})]))
    wide = both[0]
    assert len(wide["packets"]) <= BINS
    assert sum(wide["packets"]) == 999
    assert both[3] == {"first": 7, "width": 1, "packets": [2], "total": 2}


def test_saturation_is_where_any_seed_no_longer_accepts_what_is_offered() -> None:
    columns = {"x": [0.1, 0.1, 0.2, 0.2, 0.3, 0.3], "accepted_load": [0.1, 0.1, 0.2, 0.1, 0.15, 0.15]}
    own = pl.DataFrame({**columns, "saturated": [False, False, False, True, False, False]})
    row = curve_of("", "a", own)
    assert (row.sustained, row.saturated) == (0.1, 0.2)
    assert row.accepted == pytest.approx(0.15)
    assert row.words == "between 0.1 and 0.2"
    assert curve_of("", "a", own.filter(pl.col("x") == 0.2)).words == "saturated at every load, from 0.2"
    assert "the largest load" in curve_of("", "a", own.filter(pl.col("x") == 0.1)).words


def test_curves_without_a_finite_point_are_named() -> None:
    loads, saturated = [0.1, 0.2], [True, True]
    columns = {
        "traffic.load": loads * 2,
        "latency_mean": [None, 900.0, 10.0, 11.0],
        "saturated": [*saturated, False, False],
    }
    points = pl.DataFrame({**columns, "routing": ["ugal_l"] * 2 + ["minimal"] * 2})
    chart = plots.load_curves(points).to_dict()
    assert chart["title"]["subtitle"][-1] == "saturated at every load shown: UGAL-L from 0.1"


def test_panels_of_a_figure_share_their_axis() -> None:
    columns = {"traffic.load": [0.1, 0.2] * 2, "accepted_load": [0.1, 0.2, 0.1, 0.9], "saturated": [False] * 4}
    points = pl.DataFrame({**columns, "pattern": ["uniform"] * 2 + ["tornado"] * 2})
    left, right = plots.load_curves(points, "accepted_load").to_dict()["hconcat"]
    domains = [panel["layer"][-1]["encoding"]["y"]["scale"]["domain"] for panel in (left, right)]
    assert domains[0] == domains[1] == [0, pytest.approx(0.9 * 1.06)]


def test_what_happens_on_the_way_is_marked() -> None:
    changes = [{"cycle": 700, "load": 0.5}]
    repaired = {"cycle": 400, "delay": 20, "until": 600, "links": [[0, 9]]}
    faults = {"later": [{"cycle": 300, "count": 2}, {"cycle": "soon"}, repaired]}
    scenario = {"measure": {"warmup": 100}, "topology": {"faults": faults}, "traffic": {"changes": changes}}
    found = [(mark.cycle, mark.kind) for mark in happenings(scenario)]
    assert found == [
        (100, "measured from here"),
        (300, "fault"),
        (400, "fault"),
        (420, "routing knows"),
        (600, "recovery"),
        (620, "routing knows"),
        (700, "change of traffic"),
    ]
    words = [mark.words for mark in happenings(scenario)]
    assert words[1] == "fault: 2 random links"
    assert words[4:6] == ["recovery: link 0 to 9", "routing knows of the recovery: link 0 to 9"]
    assert list(happenings({"measure": {"warmup": 0}, "topology": {"faults": None}})) == []


def test_time_series_are_plotted_with_what_happened_and_as_times() -> None:
    faults = {"later": [{"cycle": 40, "until": 80, "routers": [3]}]}
    marks = list(happenings({"topology": {"faults": faults}}))
    table = pl.DataFrame({"cycle": [0, 50, 100], "latency_mean": [5.0, 9.0, 5.0]})
    line, rule = plots.time_series(table, marks=marks, unit=unit_of(2e-8, 100)).to_dict()["layer"]
    assert line["encoding"]["x"]["title"] == rule["encoding"]["x"]["title"] == "Time (µs)"
    chart = plots.time_series(table, marks=marks).to_dict()
    rows = next(rows for rows in chart["datasets"].values() if "kind" in rows[0])
    assert [(row["time"], row["kind"]) for row in rows] == [(40, "fault"), (80, "recovery")]
    assert chart["layer"][0]["encoding"]["x"]["title"] == "Cycle"
    assert "layer" not in plots.time_series(table).to_dict(), "nothing happened"


def unpacked(text: str, kind: str) -> Any:
    return np.frombuffer(base64.b64decode(text), dtype=f"<{kind}")


def test_links_are_those_of_the_table(page: Page, swept: Path) -> None:
    data = page.data["links"]["data"]
    (network,) = data["networks"]
    table = pl.read_parquet(swept / "links.parquet")
    points = Folder.read(swept).points["point"].to_list()
    assert len(data["points"]) == 8
    for point in data["points"]:
        own = table.filter(pl.col("point") == points[point["at"]])
        assert unpacked(network["router"], "u4").tolist() == own["router"].to_list()
        assert unpacked(network["port"], "u2").tolist() == own["port"].to_list()
        classes = [network["classes"][i] for i in unpacked(network["class"], "u1")]
        assert classes == own["class"].to_list()
        far = [f"router {to}" if to >= 0 else None for to in unpacked(network["to"], "i4")]
        assert far == [to if to.startswith("router") else None for to in own["to"]]
        use = unpacked(point["use"], "u1") / data["finest"]
        # Half a step, which is where uses such as 0.31 are, and what numbers are rounded by.
        assert use == pytest.approx(own["utilisation"].to_numpy(), abs=0.5 / data["finest"] + 1e-12)
    assert network["layout"]["groups"]
    assert len(network["layout"]["blocks"]) == 9


def test_frames_are_those_of_the_probe() -> None:
    rows = pl.DataFrame(
        {"cycle": [10, 10, 30], "router": [0, 7, 7], "port": [1, 2, 2], "phits": [64, 1, 0], "lines": [0, 1, 1]}
    )
    found = timelapse._frames(rows, 1000)
    assert found["cycles"] == [10, 30], "looks at unequal distances are frames of their own"
    assert (found["counts"], found["totals"]) == ([2, 1], [65, 0])
    assert unpacked(found["router"], "u4").tolist() == [0, 7, 7]
    # 64 phits have the darkest shade, 1 phit has the shade of a 64th, and ports with a line have 16 more.
    assert unpacked(found["shade"], "u1").tolist() == [8, 2 + 16, 0 + 16]
    assert timelapse._frames(rows.with_columns(phits=pl.lit(5)), 1)["cycles"] == [10]


def test_claims_are_texts_whatever_they_are(tmp_path: Path) -> None:
    path = tmp_path / "claims.json"
    good = {"id": "C1", "statement": "a < b", "verdict": "holds", "margin": 3.14, "exact": False}
    path.write_text(json.dumps([good, {"verdict": ["x"], "id": {"a": 1}, "margin": "z"}, 7, None]))
    first, second = claims._claims(path)
    assert (first["verdict"], first["margin"]) == ("holds", "+3.1 standard errors")
    assert (second["verdict"], second["id"], second["margin"]) == ("not run", "{'a': 1}", "")
    for broken in ("{", "{}", "7", "[" * 9999):
        path.write_text(broken)
        assert claims._claims(path) == []


def test_a_study_shows_its_claims_and_figures(swept: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(swept, tmp_path / "study"))
    (folder / "claims.json").write_text(
        json.dumps([{"id": "C9", "statement": "<b>it rises</b>", "verdict": "differs"}])
    )
    (folder / "figures").mkdir()
    (folder / "figures" / "a.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>")
    (folder / "figures" / "b.svg").symlink_to(folder / "manifest.json")
    found = Page(reporting.html(reporting.Source.read(folder)))
    assert "<b>it rises</b>" in found.words
    images = [attributes["src"] or "" for tag, attributes in found.elements if tag == "img"]
    assert len(images) == 1
    assert images[0].startswith("data:image/svg+xml;base64,")


def test_reasons_are_the_hints(page: Page) -> None:
    assert "saturated" in page.words
    assert any("data-open" in attributes for _, attributes in page.elements)


def test_long_series_are_brought_together_by_packets() -> None:
    several = 3
    count = series.MOST_BINS * several
    table = pl.DataFrame(
        {"cycle": range(count), "packets": [1, 3, 0] * (count // 3), "latency_mean": [10.0, 20.0, None] * (count // 3)}
    ).with_columns(accepted_load=pl.Series([0.1, 0.3, 0.2] * (count // 3)))
    bins = list(series._bins(4, table))
    assert len(bins) == series.MOST_BINS
    assert bins[1] == {"at": 4, "cycle": 3, "latency_mean": 17.5, "accepted_load": 0.2}


def test_the_commands_write_it(swept: Path, cli: Cli, write: Write, tmp_path: Path) -> None:
    status, out, err = cli("report", swept, "--html", tmp_path / "deep" / "report.html")
    assert (status, out) == (0, "")
    assert "wrote" in err
    assert "two curves" in (tmp_path / "deep" / "report.html").read_text()
    status, out, err = cli("run", write(small()), "--html", tmp_path / "run.html")
    assert status == 0, err
    assert "accepted load" in out
    page = Page((tmp_path / "run.html").read_text())
    assert page.data["points"]["data"]["distributions"]["0"]["total"] > 0, "a page asks for what it shows"
    assert (
        list(tmp_path.iterdir()) == [tmp_path / "deep", tmp_path / "scenario.json", tmp_path / "run.html"]
        or len(list(tmp_path.iterdir())) == 3
    )
    assert "phit run scenario.json" in page.words


def test_runs_whose_length_is_not_known_have_pages(cli: Cli, write: Write, tmp_path: Path) -> None:
    program = {"kind": "collective", "collective": "barrier"}
    machine = {"topology": {"kind": "single", "endpoints": 4}, "units": {"phit": "8 B"}, "workload": program}
    for document in (machine, small(measure={"warmup": "auto", "cycles": 200})):
        status, _, err = cli("run", write(document, "other.json"), "--html", tmp_path / "other.html")
        assert (status, (tmp_path / "other.html").stat().st_size > 10_000) == (0, True), err


def test_a_single_run_says_what_ran(cli: Cli, write: Write, tmp_path: Path) -> None:
    assert cli("run", write(tiny(routing__kind="minimal")), "--out", tmp_path / "r")[0] == 0
    _, out, _ = cli("report", tmp_path / "r")
    headings, *_, row = [line for line in out.splitlines() if line.strip()][:3]
    assert headings.split()[:3] == ["routing", "pattern", "offered"]
    assert row.split()[:2] == ["minimal", "uniform"]


def test_series_are_plotted_by_column(swept: Path, cli: Cli, tmp_path: Path) -> None:
    status, _, _ = cli("plot", swept, "--x", "cycle", "--y", "accepted_load", "--format", "svg", "--out", tmp_path)
    assert status == 0
    assert "Accepted load" in (tmp_path / "time_series_accepted_load.svg").read_text()
    status, _, err = cli("plot", swept, "--x", "cycle", "--y", "latency", "--format", "svg")
    assert (status, "it has point, " in err) == (2, True)


def test_nothing_to_report_is_said(tmp_path: Path, swept: Path) -> None:
    (tmp_path / "manifest.json").write_text((swept / "manifest.json").read_text())
    pl.DataFrame().write_parquet(tmp_path / "points.parquet")
    with pytest.raises(InputError, match="nothing to report"):
        reporting.Source.read(tmp_path)


def test_a_thousand_points_stay_below_five_megabytes(swept: Path, tmp_path: Path) -> None:
    """Made from one point's files: tables as long as those of 1,000 runs, with longer distributions."""
    many, copies = tmp_path / "many", 125
    many.mkdir()
    manifest = json.loads((swept / "manifest.json").read_text())
    points = pl.read_parquet(swept / "points.parquet")
    stacked = [
        points.with_columns(pl.col("point").str.slice(4) + f"{i:04x}", seed=pl.col("seed") + 2 * i)
        for i in range(copies)
    ]
    whole = pl.concat(stacked)
    whole.write_parquet(many / "points.parquet")
    hashes = pl.DataFrame({"point": whole["point"]})
    lengthy = pl.DataFrame({"latency": range(50, 450), "packets": [1 + i % 97 for i in range(400)]})
    hashes.join(lengthy, how="cross").write_parquet(many / "histograms.parquet")
    for file in ("series.parquet", "links.parquet"):
        one = pl.read_parquet(swept / file).filter(pl.col("point") == points["point"][0]).drop("point")
        hashes.join(one, how="cross").write_parquet(many / file)
    entries = [
        {"hash": row["point"], "values": {k: row[k] for k in ("routing.kind", "traffic.load", "seed")}, "state": "done"}
        for row in whole.iter_rows(named=True)
    ]
    (many / "manifest.json").write_text(json.dumps(manifest | {"points": entries}))
    text = reporting.html(reporting.Source.read(many))
    assert 1_000_000 < len(text.encode()) < 5_000_000
    assert len(Page(text).data["points"]["data"]["distributions"]) == 1000


def test_kinds_have_the_names_of_the_literature() -> None:
    words = {
        "ugal_l": "UGAL-L",
        "adversarial+1": "ADV+1",
        "adversarial offset=-2": "ADV-2",
        "worst_case_uniform": "wc-UR",
    }
    words |= {"virtual_channels": "virtual channels", "0.35": "0.35", "My_curve": "My_curve", "a b_c": "a b_c"}
    assert {value: label_of(value) for value in words} == words
    known = {entry["kind"] for entries in phit.catalogue().values() for entry in entries}
    assert NAMES.keys() <= known, "no name outlives its kind"


def test_a_workload_shows_its_ranks_phases_and_jobs(tmp_path: Path) -> None:
    exchange = {"kind": "collective", "collective": "all_reduce", "bytes": 4096, "ranks": 4}
    sequence = {"kind": "sequence", "steps": [{"kind": "calc", "time": 400}, exchange], "times": 2}
    # Any number of ranks may calculate: the sequence comes last, and has the endpoints that are left.
    jobs = [{"name": "other", "program": exchange}, {"name": "training", "program": sequence}]
    document = {
        "units": {"phit": "8 B", "cycle": "100 ns"},
        "topology": {"kind": "single", "endpoints": 8},
        "workload": {"kind": "jobs", "job": jobs},
        "measure": {"phases": True},
        "sweep": {"name": "jobs"},
    }
    phit.sweep(document, tmp_path / "r", workers=1)
    source = reporting.Source.read(tmp_path / "r")
    page = Page(reporting.html(source))
    words = " ".join(page.words.split())
    assert "Times of ranks" in words
    assert "training" in words
    assert "all_reduce" in words
    # 400 cycles of a phase, of 100 ns each.
    assert "40" in words
    chart = page.data["workload"]["charts"]["ranks-0"]
    ranks = source.table("ranks")
    assert ranks is not None
    unit = source.time_unit(ranks["finish"])
    assert unit.name == "µs"
    sums = dict.fromkeys(range(8), 0.0)
    for row in chart["data"]["values"]:
        sums[row["first"]] += row["time"]
    assert sums == pytest.approx({rank: finish * 0.1 for rank, finish in ranks.select("rank", "finish").iter_rows()})
    (completion,) = source.points["completion"]
    assert unit.of(completion) == pytest.approx(completion / 10)


def test_of_many_ranks_each_bar_is_the_mean_of_several() -> None:
    count = 2 * workload.MOST_RANKS
    columns = {part: [float(rank) for rank in range(count)] for part in PARTS}
    bars = workload._of_ranks(pl.DataFrame({"rank": range(count), **columns}), CYCLES)["data"]["values"]
    assert len({row["first"] for row in bars}) == workload.MOST_RANKS
    assert [row["time"] for row in bars if row["first"] == 2] == [2.5] * len(PARTS)


def test_times_stand_in_the_unit_in_which_they_read_best() -> None:
    assert unit_of(None, 1000) == CYCLES
    assert unit_of(1e-9, None) == CYCLES
    units = {unit_of(1e-9, cycles).name: unit_of(1e-9, cycles).of(cycles) for cycles in (7, 7e3, 7e6, 7e9)}
    assert units == pytest.approx(dict.fromkeys(("ns", "µs", "ms", "s"), 7))
